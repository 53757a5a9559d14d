// A tiny simulation for tests of registered environments.
#ifndef STABLEAA_ENV_LAMP_TEST_H_
#define STABLEAA_ENV_LAMP_TEST_H_

#include <memory>
#include <string>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/env/registry.h"
#include "stableaa/env/simulation.h"

namespace stableaa {

// Pays 1 for the action that the lamp asks for.
class Lamp : public Simulation {
 public:
  void Reset(RandomStream& random) override { lit_ = random.Bernoulli(0.5); }
  Outcome Step(Action action, RandomStream& random) override {
    const bool right = (action.index == 1) == lit_;
    lit_ = random.Bernoulli(0.5);
    return {.reward = right ? 1.0 : 0.0};
  }
  void Observe(Observation out) const override { out.floats[0] = lit_ ? 1 : -1; }
  void Save(ByteWriter& out) const override { out.Bool(lit_); }
  void Load(ByteReader& in) override { lit_ = in.Bool(); }

 private:
  bool lit_ = false;
};

// A Lamp, or a class made from it. Episodes have 20 steps.
template <typename Kind>
void RegisterLamp(const std::string& id) {
  RegisterEnvironment({.id = id,
                       .observation = Space::Floats({1}, {-1}, {1}),
                       .action = Space::Discrete(2),
                       .max_episode_steps = 20},
                      [] { return std::make_unique<Kind>(); });
}

}  // namespace stableaa

#endif  // STABLEAA_ENV_LAMP_TEST_H_
