// Sampling in proportion to priorities that change: a binary tree of sums.
#ifndef STABLEAA_RL_REPLAY_PRIORITY_TREE_H_
#define STABLEAA_RL_REPLAY_PRIORITY_TREE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stableaa {

// Every inner node is recomputed as the sum of its two children, never updated by differences. So
// the tree's bits depend only on the leaves, not on their history, and errors do not accumulate.
class PriorityTree {
 public:
  // All priorities are 0.
  explicit PriorityTree(std::size_t leaves);

  // Finite and at least 0. O(log leaves).
  void Set(std::size_t leaf, double priority);
  double operator[](std::size_t leaf) const { return nodes_[first_leaf_ + leaf]; }
  double total() const { return nodes_[1]; }

  // The leaf i with sum(0..i-1) <= prefix < sum(0..i), up to rounding; never one of priority 0.
  // Needs total() > 0.
  std::size_t Find(double prefix) const;

  std::uint64_t bytes() const { return nodes_.capacity() * sizeof(double); }
  static std::uint64_t EstimateBytes(std::uint64_t leaves);

 private:
  std::size_t first_leaf_;     // a power of 2
  std::vector<double> nodes_;  // the children of i are 2 i and 2 i + 1, the root is 1
};

}  // namespace stableaa

#endif  // STABLEAA_RL_REPLAY_PRIORITY_TREE_H_
