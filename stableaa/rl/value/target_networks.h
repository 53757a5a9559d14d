// The target networks: the latest frozen copies of the online network, and their values, each
// computed only once.
//
// A target network never changes, so its values Q(s, ·) for a stored state are cached under the
// state's id until the network is dropped. Cached and computed values agree bit for bit.
#ifndef STABLEAA_RL_VALUE_TARGET_NETWORKS_H_
#define STABLEAA_RL_VALUE_TARGET_NETWORKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/nn/network.h"
#include "stableaa/rl/replay/observation_layout.h"

namespace stableaa {

class ByteReader;
class ByteWriter;

// Values of several networks for several states.
struct FrozenValues {
  std::size_t networks = 0, states = 0, actions = 0;
  std::vector<float> values;  // networks × states × actions, oldest network first

  void Resize(std::size_t networks_now, std::size_t states_now, std::size_t actions_now);
  std::span<const float> Of(std::size_t network, std::size_t state) const {
    return std::span(values).subspan((network * states + state) * actions, actions);
  }
  std::span<float> Of(std::size_t network, std::size_t state) {
    return std::span(values).subspan((network * states + state) * actions, actions);
  }
};

// A stored state.
struct FrozenState {
  std::int64_t id = 0;
  std::span<const std::uint8_t* const> frames;  // borrowed
};

// Not thread-safe.
class TargetNetworks {
 public:
  // Holds at most `window` networks. `cached_states`: how many states' values are kept per network;
  // 0 for none.
  TargetNetworks(std::shared_ptr<const Plan> plan, const ObservationLayout& layout, int window,
                 std::int64_t cached_states);

  // Drops all networks and starts with this one.
  void Begin(const Parameters& first);

  // Adds a copy as the newest. Drops the oldest if there are `window` already, and always the one
  // from Begin, whose untrained values are noise.
  void Push(const Parameters& newest);

  // Drops all but the newest.
  void KeepNewest();

  int count() const { return static_cast<int>(order_.size()); }
  // Whether the network from Begin is still there.
  bool untrained() const { return untrained_; }
  const Parameters& newest() const { return slots_[order_.back()].parameters; }

  // Runs a network only for states whose values are not cached.
  void Evaluate(std::span<const FrozenState> states, FrozenValues& out);

  // The cache: one value per action of a state, which Evaluate then need not compute. Networks are
  // numbered from 0, the oldest.
  bool Knows(int network, std::int64_t id) const;
  void Remember(int network, std::int64_t id, std::span<const float> values);

  // How many values were requested, and for how many of them a network had to be run.
  struct Counts {
    std::int64_t asked = 0, computed = 0;
  };
  const Counts& counts() const { return counts_; }

  // Memory in use, parameters included.
  static std::uint64_t Bytes(const Plan& plan, int window, std::int64_t cached_states);

  // Covers the networks but not the cache, which only saves time. Load throws BadInput for anything
  // that does not fit.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

 private:
  struct Slot {
    Parameters parameters;
    // Which state is cached in place id % cached_states: id / cached_states + 1, or 0 for none.
    std::vector<std::uint32_t> tags;
    std::unique_ptr<float[]> cache;
  };

  std::size_t FreeSlot() const;
  const float* Cached(const Slot& slot, std::int64_t id) const;
  void Cache(Slot& slot, std::int64_t id, std::span<const float> values) const;
  void EvaluateOne(std::size_t network, std::span<const FrozenState> states, FrozenValues& out);

  const std::shared_ptr<const Plan> plan_;
  const std::size_t actions_;
  const std::size_t window_;
  const std::int64_t cached_states_;
  std::vector<Slot> slots_;         // window_ of them
  std::vector<std::size_t> order_;  // slots in use, oldest first
  bool untrained_ = true;           // the network from Begin is still there
  std::unique_ptr<Network> network_;
  StateGatherer gatherer_;
  std::vector<std::size_t> misses_;
  std::vector<float> outputs_;
  Counts counts_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_TARGET_NETWORKS_H_
