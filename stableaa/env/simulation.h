// One native environment: the rules of a game or the physics of a system, without episodes, limits
// and batches, which NativeEnvironment adds. The base for environments of a program's own, too,
// which RegisterEnvironment (registry.h) makes known by a name.
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
  // Valid by the action space: an index, or the elements of a box.
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

  // Draws a start state. All randomness comes from `random`, here and in Step.
  virtual void Reset(RandomStream& random) = 0;
  virtual Outcome Step(Action action, RandomStream& random) = 0;
  // Writes every element.
  virtual void Observe(Observation out) const = 0;

  // The present state as a picture, always of the same size. Without it, a BadInput where pictures
  // are asked for.
  virtual void Draw(Picture& picture) const;

  // The whole state. Load trusts nothing: BadInput (in.Wrong) for whatever a simulation cannot have
  // reached in a way that would break a later Step, Observe or Draw.
  virtual void Save(ByteWriter& out) const = 0;
  virtual void Load(ByteReader& in) = 0;
};

using MakeSimulation = std::function<std::unique_ptr<Simulation>()>;

}  // namespace stableaa

#endif  // STABLEAA_ENV_SIMULATION_H_
