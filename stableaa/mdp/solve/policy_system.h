// The linear system whose solution is the value of a policy, and ways to solve it.
//
// Within one component, with the self-loops solved out, a policy's values satisfy
//
//   x = c + W x,    W_ij = γ p_ij/(1 − γ p_ii) for i ≠ j and 0 for i = j,
//
// so the matrix is A = I − W: diagonally dominant by rows, an M-matrix, for which an incomplete
// factorisation without pivoting exists and is stable.
#ifndef STABLEAA_MDP_SOLVE_POLICY_SYSTEM_H_
#define STABLEAA_MDP_SOLVE_POLICY_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/mdp/solve/solver.h"

namespace stableaa {

// W by rows, columns ascending.
struct SparseRows {
  std::vector<std::uint64_t> offsets = {0};
  std::vector<std::uint32_t> columns;
  std::vector<double> weights;

  std::size_t size() const { return offsets.size() - 1; }
  std::size_t entries() const { return offsets.back(); }
};

// y ← (I − W) x. The same bits for any number of threads.
void Multiply(const SparseRows& rows, std::span<const double> x, std::span<double> y, int threads);

// LU ≈ I − W with L and U as sparse as W; exact if elimination creates no new entries (chains,
// trees).
class TriangularFactors {
 public:
  // ILU(0).
  void Factor(const SparseRows& rows);
  // (I − lower part of W)(I − upper part of W): the symmetric Gauss–Seidel preconditioner.
  void TakeParts(const SparseRows& rows);

  // x ← (LU)⁻¹ b. Both may be the same span.
  void Solve(std::span<const double> b, std::span<double> x) const;

 private:
  void Take(const SparseRows& rows);

  SparseRows rows_;                   // L and U, without the unit diagonal of L
  std::vector<std::uint64_t> upper_;  // where the entries right of the diagonal begin
  std::vector<double> inverse_;       // of U's diagonal
  std::vector<std::uint64_t> place_;  // of a column in the row being processed
};

struct KrylovOptions {
  // Done when ‖b − Ax‖₂ ≤ relative·‖b‖₂, or ‖b − Ax‖∞ ≤ absolute.
  double relative = 0.1;
  double absolute = 0;
  int max_iterations = 500;
  int threads = 1;
  std::function<bool()> stop = {};  // polled after each iteration
};

struct KrylovResult {
  // Each multiplies by A twice (BiCGSTAB, the last perhaps once) or once (GMRES).
  int iterations = 0;
  double reduction = 1;  // ‖b − Ax‖₂ / ‖b‖₂ of the returned x, by the recurrence
};

// x ← approximately A⁻¹ b, starting from 0. Vectors are kept between calls.
class KrylovSolver {
 public:
  KrylovResult Bicgstab(const SparseRows& rows, const TriangularFactors& factors,
                        std::span<const double> b, std::span<double> x,
                        const KrylovOptions& options);
  // Restarted every 30 iterations.
  KrylovResult Gmres(const SparseRows& rows, const TriangularFactors& factors,
                     std::span<const double> b, std::span<double> x, const KrylovOptions& options);

 private:
  // Not a std::vector, which would write zeros first whether needed or not.
  struct Vector {
    std::unique_ptr<double[]> values;
    std::size_t size = 0;
  };
  std::span<double> Work(std::size_t number, std::size_t size);

  std::vector<Vector> work_;
};

// x ← A⁻¹ b by sparse LU. False, with x untouched, if the factors would not fit: large systems with
// entries far from the diagonal.
bool SolveDirectly(const SparseRows& rows, std::span<const double> b, std::span<double> x);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_POLICY_SYSTEM_H_
