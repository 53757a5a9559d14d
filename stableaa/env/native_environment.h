// Turns simulations in this process into a batch of environments: adds episodes, limits and exact
// saved state.
#ifndef STABLEAA_ENV_NATIVE_ENVIRONMENT_H_
#define STABLEAA_ENV_NATIVE_ENVIRONMENT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/env/environment.h"
#include "stableaa/env/simulation.h"

namespace stableaa {

class NativeEnvironment : public Environment {
 public:
  // With `render`, draws frames in every step.
  NativeEnvironment(EnvironmentSpec spec, int num_envs, const MakeSimulation& make,
                    bool render = false);

  void Save(ByteWriter& out) const override;
  void Load(ByteReader& in) override;

 private:
  struct Slot {
    std::unique_ptr<Simulation> simulation;
    RandomStream random;
    std::int64_t steps = 0;  // in this episode
  };

  void DoReset(std::uint64_t seed) override;
  void DoSend(Actions actions) override;
  void DoRecv() override {}

  Slot NewSlot(std::size_t i) const;
  // Rows in the batch's arrays.
  Simulation::Observation Row(std::size_t i);
  Simulation::Observation FinalRow(std::size_t i);
  void StepOne(std::size_t i, Simulation::Action action);

  const MakeSimulation make_;
  const std::size_t row_size_, action_size_;
  std::uint64_t seed_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::uint8_t> bytes_, final_bytes_;
  std::vector<float> floats_, final_floats_;
  std::vector<double> reward_store_;
  std::vector<std::uint8_t> terminated_store_, truncated_store_;
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_NATIVE_ENVIRONMENT_H_
