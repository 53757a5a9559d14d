// An exact sparse LU factorisation of a policy's system A = I − W, as long as it stays cheap.
//
// A is a diagonally dominant M-matrix: elimination needs no pivots, whatever the order, and is
// stable. The order is the one given; in components numbered outwards from their exits, elimination
// creates few new entries, and in a cycle or a tree hardly any. Where it would create many, it is
// given up after the number of operations that it was allowed.
#ifndef STABLEAA_MDP_SOLVE_DIRECT_FACTORS_H_
#define STABLEAA_MDP_SOLVE_DIRECT_FACTORS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "stableaa/mdp/solve/policy_system.h"

namespace stableaa {

class DirectFactors {
 public:
  // False if it takes more than `most_operations` (multiplications with an entry of U).
  bool Factor(const SparseRows& rows, std::uint64_t most_operations);

  // x ← A⁻¹ x. REQUIRES: Factor has succeeded.
  void Solve(std::span<double> x) const;

  std::uint64_t operations() const { return operations_; }  // of the last Factor
  std::uint64_t entries() const { return lower_.columns.size() + upper_.columns.size(); }

 private:
  void BeginRow(const SparseRows& rows, std::uint32_t row);
  void AddTo(std::uint32_t row, std::uint32_t column, double value);

  SparseRows lower_;             // L without its unit diagonal
  SparseRows upper_;             // U without its diagonal, columns in any order
  std::vector<double> inverse_;  // of U's diagonal
  std::uint64_t operations_ = 0;

  // The row being eliminated.
  std::vector<double> entry_;               // by column
  std::vector<std::uint32_t> seen_;         // by column: 1 + the last row that had an entry there
  std::vector<std::uint32_t> left_;         // columns below the row's number, a heap, least on top
  std::vector<std::uint32_t> right_;        // columns above it
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_DIRECT_FACTORS_H_
