// One native environment: the rules of a game or the physics of a system, without episodes, limits
// and batches, which NativeEnvironment adds. Also the base class for a program's own environments,
// which RegisterEnvironment (registry.h) makes available by name.
#ifndef STABLEAA_ENV_SIMULATION_H_
#define STABLEAA_ENV_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "stableaa/env/picture.h"

namespace stableaa {

class ByteReader;
class ByteWriter;
class RandomStream;

class Simulation {
 public:
  struct Outcome {
    double reward = 0;
    bool terminated = false;
  };
  // Valid in the action space: an index, or the elements of a box.
  struct Action {
    int index = 0;
    std::span<const float> values = {};
  };
  // Room for one observation, of the type that the observation space names.
  struct Observation {
    std::span<std::uint8_t> bytes = {};
    std::span<float> floats = {};
  };

  virtual ~Simulation() = default;

  // Draws an initial state. All randomness comes from `random`, here and in Step.
  virtual void Reset(RandomStream& random) = 0;
  virtual Outcome Step(Action action, RandomStream& random) = 0;
  // Writes every element.
  virtual void Observe(Observation out) const = 0;

  // Draws the present state, always at the same size. If not overridden, asking for pictures throws
  // BadInput.
  virtual void Draw(Picture& picture) const;

  // The whole state. Load must trust nothing: it throws BadInput (in.Wrong) for anything that a
  // simulation cannot have reached and that would break a later Step, Observe or Draw.
  virtual void Save(ByteWriter& out) const = 0;
  virtual void Load(ByteReader& in) = 0;
};

using MakeSimulation = std::function<std::unique_ptr<Simulation>()>;

}  // namespace stableaa

#endif  // STABLEAA_ENV_SIMULATION_H_
