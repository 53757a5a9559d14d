// The history behind an Accelerator: the newest m differences of iterates and residuals, and the
// two passes over them that make up one step.
//
// Append (first pass) reads x, g(x), the previous pair and the stored residual differences, and
// computes their inner products; Mix (second pass) reads the stored step differences and writes the
// next iterate. Only H and Δ + βH are kept, because the update
//
//     x_{k+1} = x_k + β e_k − (Δ + βH) τ                                     (Proposition 1)
//
// needs no more: 2m + 4 vectors of memory; per step 2m + 5 vectors are read and 5 written.
//
// All sums run over blocks of fixed size in a fixed order, so the result does not depend on the
// number of threads. Columns are stored multiplied by a power of two derived from the first
// residual, so neither tiny nor huge problems leave the range of float or of squares.
#ifndef STABLEAA_ANDERSON_WINDOW_H_
#define STABLEAA_ANDERSON_WINDOW_H_

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "stableaa/anderson/weights.h"

namespace stableaa {

class ByteReader;
class ByteWriter;

enum class HistoryPrecision {
  kDouble,
  kFloat,  // half the memory and traffic of the history; weights are as good as 24 bits allow
};

// For callers whose vectors are spread over several processes. Every rank runs its own Accelerator
// on its own slice; every sum over components goes through `sum`.
struct Reduction {
  int rank = 0;
  int ranks = 1;
  // Replaces each entry by its sum over all ranks. Must produce the same bits on every rank
  // (MPI_Allreduce with MPI_SUM does). Not called when ranks == 1.
  std::function<void(std::span<double>)> sum = {};
};

class Window {
 public:
  static constexpr int kMaxMemory = 1000;

  struct Shape {
    std::size_t size = 0;  // n, components on this rank
    int memory = 0;        // m, differences kept
    double damping = 1;    // β
    HistoryPrecision precision = HistoryPrecision::kDouble;
    int threads = 1;
  };

  enum class Outcome {
    kFirst,       // no previous iterate yet: only the residual is known
    kExtended,    // one more difference; the oldest one was dropped if the window was full
    kOutOfRange,  // the pair does not fit the window's scale: Clear and Append again
    kNonFinite,   // NaN or infinity in a first pair, here or on another rank
  };

  // Throws WorkFailed if the memory is not available.
  Window(const Shape& shape, const Reduction& reduction);

  // Adds the pair (x, g(x)). REQUIRES: both have the window's size.
  Outcome Append(std::span<const double> x, std::span<const double> image);

  // x ← x + β e − (Δ + βH) τ. REQUIRES: x as given to the last Append, τ.size() ≤ columns().
  void Mix(std::span<const double> tau, std::span<double> x) const;

  // x ← x_{k−1} + β e_{k−1}: the plain step from the pair before the last one appended, even if
  // that one was out of range and appended again. REQUIRES: there was one.
  void StepBack(std::span<double> x) const;

  // Forgets everything except what StepBack needs; keeps the memory.
  void Clear();

  // Forgets the differences but not the last pair, from which the next difference starts.
  void DropColumns();

  // The number of differences currently held.
  int columns() const { return columns_; }

  // ‖e_k‖ of the last Append, in the caller's units.
  double ResidualNorm() const;

  // Inner products of the columns; valid until the next Append.
  WindowProducts Products() const;

  // The R of a QR factorisation of the columns: one more pass over H. Valid until the next call.
  WindowTriangle Triangle();

  // The exact state. Load throws BadInput, leaving the window unchanged, unless the bytes come from
  // a window of the same size, memory, damping and precision with at least `least_columns` columns.
  void Save(ByteWriter& writer) const;
  void Load(ByteReader& reader, int least_columns);

 private:
  template <typename T>
  struct Storage {
    std::vector<T> residual_differences;  // H, one column per slot
    std::vector<T> step_differences;      // Δ + βH
  };

  template <typename Work>  // work(storage) for the precision in use
  void WithStorage(Work work);
  template <typename Work>
  void WithStorage(Work work) const;
  // Runs work(chunk, begin, end) on the threads for each chunk of [0, n), each `size` long except
  // the last.
  template <typename Work>
  void ForEachChunk(std::size_t size, Work work) const;

  std::size_t Slot(int age) const;
  void StoreFirst(std::span<const double> x, std::span<const double> image);
  void StoreNext(std::span<const double> x, std::span<const double> image, std::size_t slot,
                 int others);
  void SumOverChunksAndRanks(std::size_t count);
  void Rotate(int others);
  bool InRange(double square) const;
  bool Streams() const;  // whether a step goes through memory rather than the caches

  Shape shape_;
  Reduction reduction_;
  Storage<double> doubles_;
  Storage<float> floats_;
  std::vector<double> iterate_;            // x_k
  std::vector<double> residual_;           // e_k
  std::vector<double> previous_iterate_;   // x_{k−1}
  std::vector<double> previous_residual_;  // e_{k−1}
  bool has_previous_ = false;
  double scale_ = 1;
  int columns_ = 0;
  std::size_t newest_ = 0;  // slot of the newest column; the older ones follow, wrapping around

  // Inner products in scaled units, newest column first.
  double residual_squared_ = 0;
  std::vector<double> gram_;           // columns_ × columns_
  std::vector<double> cross_;          // columns_
  std::vector<double> steps_squared_;  // ‖x_j − x_{j−1}‖², columns_

  std::vector<double> sums_;        // for one Append
  std::vector<double> chunk_sums_;  // the same per chunk, before adding
  std::vector<double> triangle_;
};

}  // namespace stableaa

#endif  // STABLEAA_ANDERSON_WINDOW_H_
