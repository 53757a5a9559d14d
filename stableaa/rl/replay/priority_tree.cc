#include "stableaa/rl/replay/priority_tree.h"

#include <bit>

namespace stableaa {

PriorityTree::PriorityTree(std::size_t leaves)
    : first_leaf_(std::bit_ceil(leaves)), nodes_(2 * first_leaf_) {}

void PriorityTree::Set(std::size_t leaf, double priority) {
  std::size_t node = first_leaf_ + leaf;
  nodes_[node] = priority;
  for (node /= 2; node > 0; node /= 2) nodes_[node] = nodes_[2 * node] + nodes_[2 * node + 1];
}

std::size_t PriorityTree::Find(double prefix) const {
  std::size_t node = 1;
  while (node < first_leaf_) {
    const double left = nodes_[2 * node];
    const double right = nodes_[2 * node + 1];
    // Rounding may push the prefix beyond the last leaf with a priority.
    const bool goes_left = left > 0 && (prefix < left || !(right > 0));
    if (!goes_left) prefix -= left;
    node = 2 * node + (goes_left ? 0 : 1);
  }
  return node - first_leaf_;
}

std::uint64_t PriorityTree::EstimateBytes(std::uint64_t leaves) {
  return 2 * std::bit_ceil(leaves) * sizeof(double);
}

}  // namespace stableaa
