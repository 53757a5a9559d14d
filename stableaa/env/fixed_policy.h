// Policies that need no learning, for watching an environment, measuring it and comparing agents
// with.
#ifndef STABLEAA_ENV_FIXED_POLICY_H_
#define STABLEAA_ENV_FIXED_POLICY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/env/environment.h"

namespace stableaa {

// By name:
//   random       uniform over the actions; over a box, where its bounds are finite, else normal
//   noop         the action that does nothing, if the environment has one
//   constant:K   always action K; K for every element of a box
//   scripted     MinAtar: simple players that know the rules (minatar/scripted_policy.h)
class FixedPolicy {
 public:
  // Draws from the seed's stream "policy". Throws BadInput for a name that does not exist or that
  // the environment does not allow.
  FixedPolicy(const std::string& name, const EnvironmentSpec& spec, std::uint64_t seed);

  // One action per environment. Valid until the next call.
  Actions Act(const Observations& observations);

 private:
  void SetConstant(const std::string& name, double value);
  void ActRandomly(std::size_t count);

  enum class Kind { kRandom, kConstant, kScripted };
  const EnvironmentSpec spec_;
  Kind kind_ = Kind::kRandom;
  double constant_ = 0;
  std::function<std::int32_t(std::span<const std::uint8_t>)> script_;
  RandomStream random_;
  std::vector<std::int32_t> indices_;
  std::vector<float> values_;
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_FIXED_POLICY_H_
