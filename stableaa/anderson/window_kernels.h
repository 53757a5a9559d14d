// The two hot loops of a Window, over one chunk of the vectors.
//
// Both go through the chunk block by block, so that a block of every vector stays in the
// first-level caches while all columns are combined with it: each vector is read from memory once.
//
// These are more streams, and shorter runs of each, than processors fetch by themselves in time. So
// where the vectors do not fit the caches (`streams`), the loops ask for the next block while they
// work on one, which saves up to a third of a step on a processor with much bandwidth.
#ifndef STABLEAA_ANDERSON_WINDOW_KERNELS_H_
#define STABLEAA_ANDERSON_WINDOW_KERNELS_H_

#include <cstddef>
#include <span>

namespace stableaa {

// Where the sums of one chunk stand; from kOthers on, (h·H_j, e·H_j) for each older column.
enum WindowSum : std::size_t { kResidual, kNewStep, kNewColumn, kCross, kOthers };

// Pointers to the chunk's first elements. T is the type in which columns are kept: double or float.
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
  double* sums;  // out: kOthers + 2·older.size() of them

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
