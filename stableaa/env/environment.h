// Batches of environments in the sense of Gymnasium.
//
//   auto env = MakeEnvironment("minatar/breakout", {.num_envs = 8});   // registry.h
//   env->Reset(seed);
//   for (...) {
//     Choose(env->observations(), actions);    // one per environment
//     env->Step(actions);
//     // env->rewards(), env->terminated(), env->truncated(), env->final_observations()
//   }
//
// An episode ends because it is over (`terminated`: there is nothing to bootstrap from) or because
// it was cut off (`truncated`: there is); the two are never mixed. An environment whose episode
// ends in a step begins the next one in the same step: observations() then holds the first
// observation of the new episode, on which the next action is based, and final_observations() the
// true last one of the old. No step's action is ever ignored.
//
// All randomness comes from the seed given to Reset: the same seed and actions give the same
// trajectory, and environment i of a batch behaves the same whatever the size of the batch.
#ifndef STABLEAA_ENV_ENVIRONMENT_H_
#define STABLEAA_ENV_ENVIRONMENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stableaa/env/picture.h"

namespace stableaa {

class ByteReader;
class ByteWriter;

enum class ElementType { kUint8, kFloat };

// A space described as data. Discrete: the numbers 0 to n-1. Box: an array of `shape`, row-major.
struct Space {
  enum class Kind { kDiscrete, kBox };
  Kind kind = Kind::kDiscrete;
  int n = 0;  // for a discrete space

  // For a box.
  ElementType type = ElementType::kFloat;
  std::vector<int> shape = {};
  // Inclusive bounds, possibly infinite: one per element, or one for all of them.
  std::vector<float> low = {}, high = {};

  static Space Discrete(int n);
  static Space Bytes(std::vector<int> shape, float high = 255);
  static Space Floats(std::vector<int> shape, std::vector<float> low, std::vector<float> high);

  // Number of elements in a value: the product of the shape; 1 for a discrete space.
  std::size_t size() const;
  float LowOf(std::size_t element) const { return low[low.size() == 1 ? 0 : element]; }
  float HighOf(std::size_t element) const { return high[high.size() == 1 ? 0 : element]; }

  bool operator==(const Space&) const = default;
};

// "6 actions", "uint8 10x10x4 in [0, 1]", "float 4".
std::string Describe(const Space& space);

// What one environment of a batch looks like.
struct EnvironmentSpec {
  std::string id;     // "minatar/breakout"
  Space observation;  // always a box
  Space action;
  // Which axis of the observation's shape counts channels. -1: it is not an image. The number of
  // axes, that is one more than there are: an image of one channel without an axis for it. A stack
  // of images has four axes, the first for the stack.
  int channel_axis = -1;
  // Whether the first axis is a stack of images of which the next observation shows all but the
  // oldest again.
  bool is_stack = false;
  std::vector<std::string> channel_names = {};  // one per channel, or none
  std::vector<std::string> action_names = {};   // one per discrete action, or none
  // Episodes are truncated after this many steps; 0: never.
  std::int64_t max_episode_steps = 0;
  // The discrete action, or the value of every element of a box action, that does nothing.
  std::optional<double> noop = {};
  // How fast to show it to people.
  double frames_per_second = 15;
  // Other settings, for people and run.json: "sticky .1, ramping, 6 actions".
  std::string protocol = {};

  int channels() const;  // 0: none
  // The name of discrete action `number`, or the number itself.
  std::string action_name(int number) const;
};

// Observations of a batch, one environment after another; the span of the other type is empty.
struct Observations {
  std::span<const std::uint8_t> bytes = {};
  std::span<const float> floats = {};
};

// Actions of a batch: indices of a discrete space, or the elements of a box.
struct Actions {
  std::span<const std::int32_t> indices = {};
  std::span<const float> values = {};
};

// Not thread-safe, but any thread may use it, one at a time. Views are valid until the next call
// that changes the environment.
class Environment {
 public:
  virtual ~Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  const EnvironmentSpec& spec() const { return spec_; }
  int num_envs() const { return num_envs_; }

  // Starts over, just like a new object, whatever happened before.
  void Reset(std::uint64_t seed);

  // Steps every environment. Throws BadInput unless there are num_envs() valid actions. After an
  // Error in the environment itself only Reset may be called; if a worker has died, that fails too.
  void Step(Actions actions);

  // Step in two halves. In between, environments in other processes do their work, and the caller
  // can do something else.
  void Send(Actions actions);
  void Recv();

  // Valid after Reset, Step or Recv.
  Observations observations() const { return observations_; }
  std::span<const double> rewards() const { return rewards_; }
  std::span<const std::uint8_t> terminated() const { return terminated_; }  // 0 or 1
  std::span<const std::uint8_t> truncated() const { return truncated_; }
  bool ended(int i) const;
  // Whether the episode of environment i has just ended and the game with it. Differs from ended(i)
  // only where a lost life ends the episode but the game goes on in the next one (Atari's protocols
  // authors and nature).
  virtual bool game_ended(int i) const { return ended(i); }
  // Rows of environments whose episode did not end in the last step are unspecified.
  Observations final_observations() const { return final_observations_; }

  // Whether frames are drawn; see EnvironmentOptions::render.
  bool renders() const { return !frames_.empty(); }
  // Pictures of environment i at observations() and, if its episode has just ended, at
  // final_observations(). Needs renders().
  const Picture& frame(int i) const;
  const Picture& final_frame(int i) const;

  // Save writes everything the future depends on. After Load, an environment with the same id,
  // options and num_envs continues on the same trajectory. Load throws BadInput for anything that
  // is not such a state; the environment is then unchanged or, if it lives in another process, must
  // be Reset. An environment that cannot save its state is rebuilt from its seed and actions, which
  // takes time.
  virtual void Save(ByteWriter& out) const = 0;
  virtual void Load(ByteReader& in) = 0;

 protected:
  Environment(EnvironmentSpec spec, int num_envs);

  virtual void DoReset(std::uint64_t seed) = 0;
  virtual void DoSend(Actions actions) = 0;
  virtual void DoRecv() = 0;

  // The memory behind the views; set once by the derived class.
  Observations observations_, final_observations_;
  std::span<const double> rewards_;
  std::span<const std::uint8_t> terminated_, truncated_;
  std::vector<Picture> frames_, final_frames_;  // one per environment, or none at all
  // For the derived class to call after Load: observations() and Step may then be used.
  void set_ready() { phase_ = Phase::kReady; }
  void set_unready() { phase_ = Phase::kNew; }
  bool is_ready() const { return phase_ == Phase::kReady; }

 private:
  enum class Phase { kNew, kReady, kSent };
  void CheckActions(const Actions& actions) const;

  const EnvironmentSpec spec_;
  const int num_envs_;
  const std::size_t action_numbers_;  // in the whole batch
  Phase phase_ = Phase::kNew;
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_ENVIRONMENT_H_
