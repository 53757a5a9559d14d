// The expected reward of a row, from the rewards of its transitions: Σ p·r / Σ p.
//
// If all transitions have the same reward, it is exactly that reward: so formats that keep rewards
// per transition lose nothing of a model that keeps them per row.
#ifndef STABLEAA_MDP_FORMATS_EXPECTED_REWARD_H_
#define STABLEAA_MDP_FORMATS_EXPECTED_REWARD_H_

#include <bit>
#include <cstdint>

namespace stableaa {

class ExpectedReward {
 public:
  // Transitions with probability 0 do not count.
  void Add(double probability, double reward) {
    if (probability == 0) return;
    if (probability_ == 0) first_ = reward;
    equal_ &= std::bit_cast<std::uint64_t>(reward) == std::bit_cast<std::uint64_t>(first_);
    probability_ += probability;
    weighted_ += probability * reward;
  }

  // The expected reward of everything added since the last call; 0 if nothing was.
  double Take() {
    const double mean = equal_ ? first_ : weighted_ / probability_;
    *this = {};
    return mean;
  }

 private:
  double first_ = 0;
  bool equal_ = true;
  double probability_ = 0;
  double weighted_ = 0;
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_EXPECTED_REWARD_H_
