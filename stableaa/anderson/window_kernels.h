// The two hot loops of a Window, over one chunk of the vectors.
//
// Both go through the chunk block by block, so that a block of every vector stays in the
// first-level caches while it is combined with all columns: each vector is read from memory once.
//
// That makes more streams, with shorter runs of each, than processors prefetch in time by
// themselves. So if the vectors do not fit in the caches (`streams`), the loops prefetch the next
// block while working on the current one, which saves up to a third of a step on a processor with
// high bandwidth.
#ifndef STABLEAA_ANDERSON_WINDOW_KERNELS_H_
#define STABLEAA_ANDERSON_WINDOW_KERNELS_H_

#include <cstddef>
#include <span>

namespace stableaa {

// Positions of a chunk's sums; from kOthers on, (h·H_j, e·H_j) for each older column.
enum WindowSum : std::size_t { kResidual, kNewStep, kNewColumn, kCross, kOthers };

// Pointers to the chunk's first elements. T is the type in which columns are stored: double or
// float.
template <typename T>
struct AppendChunk {
  std::size_t size;
  const double* x;
  const double* image;
  const double* previous_iterate;   // x_{k−1}
  const double* previous_residual;  // e_{k−1}
  double* iterate;                  // out: x_k
  double* residual;                 // out: e_k
  T* new_h;                         // out: scale · (e_k − e_{k−1})
  T* new_w;                         // out: scale · (x_k − x_{k−1}) + damping · new_h
  std::span<const T* const> older;
  double scale;
  double damping;
  bool streams;
  double* sums;  // out: kOthers + 2·older.size() entries

  void Run() const;
};

template <typename T>
struct MixChunk {
  std::size_t size;
  double* x;  // in: x_k, out: x_k + damping · residual − Σ weights_j columns_j
  const double* residual;
  std::span<const T* const> columns;
  const double* weights;
  double damping;
  bool streams;

  void Run() const;
};

}  // namespace stableaa

#endif  // STABLEAA_ANDERSON_WINDOW_KERNELS_H_
