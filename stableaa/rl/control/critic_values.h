// Values of pairs (s, a) by frozen critics. Where two critics learn side by side, the value is the
// smaller of both (Fujimoto et al. 2018), so that errors of one alone do not spread as hopes.
#ifndef STABLEAA_RL_CONTROL_CRITIC_VALUES_H_
#define STABLEAA_RL_CONTROL_CRITIC_VALUES_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/nn/network.h"

namespace stableaa {

// The critics that learn side by side, or copies of them from one moment: one or two.
using CriticSet = std::vector<Parameters>;

// States and actions, row by row; borrowed.
struct StateActions {
  std::size_t count = 0;
  std::span<const float> states;   // count × elements of an observation
  std::span<const float> actions;  // count × elements of an action, in [−1, 1]

  StateActions Part(std::size_t begin, std::size_t part) const;
};

// What networks of two parts take.
NetworkInput InputOf(const StateActions& pairs);

// Not thread-safe.
class CriticValues {
 public:
  CriticValues(const std::shared_ptr<const Plan>& plan, int threads);

  // out[i · pairs.count + j] = the value of pair j by set i. NaN if that of one critic is. Each value
  // is the same whatever else is computed with it.
  void Compute(std::span<const CriticSet* const> sets, const StateActions& pairs,
               std::span<float> out);

  // Multiplications and additions in all passes so far.
  double multiply_adds() const { return multiply_adds_; }

  // Bytes of its networks.
  static std::uint64_t Bytes(const Plan& plan, int threads);

 private:
  void ComputePart(const CriticSet& set, const StateActions& pairs, std::size_t thread,
                   std::span<float> out);

  const int threads_;
  std::vector<std::unique_ptr<Network>> networks_;  // one per thread
  std::vector<std::vector<float>> others_;          // values by the second critic; one per thread
  double multiply_adds_ = 0;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_CONTROL_CRITIC_VALUES_H_
