#include "stableaa/rl/value/target_networks.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "stableaa/core/binary_io.h"

namespace stableaa {
namespace {

constexpr int kForwardBatch = 128;

}  // namespace

void FrozenValues::Resize(std::size_t networks_now, std::size_t states_now,
                          std::size_t actions_now) {
  networks = networks_now;
  states = states_now;
  actions = actions_now;
  values.resize(networks * states * actions);
}

TargetNetworks::TargetNetworks(std::shared_ptr<const Plan> plan, const ObservationLayout& layout,
                               int window, std::int64_t cached_states)
    : plan_(std::move(plan)),
      actions_(static_cast<std::size_t>(plan_->outputs())),
      window_(static_cast<std::size_t>(window)),
      cached_states_(cached_states),
      network_(CompileNetwork(plan_, {.batch = kForwardBatch, .threads = 1, .training = false})),
      gatherer_(layout) {
  const auto states = static_cast<std::size_t>(cached_states);
  for (std::size_t k = 0; k < window_; ++k) {
    slots_.push_back({Parameters(plan_), std::vector<std::uint32_t>(states),
                      std::make_unique_for_overwrite<float[]>(states * actions_)});
  }
}

std::uint64_t TargetNetworks::Bytes(const Plan& plan, int window, std::int64_t cached_states) {
  const auto states = static_cast<std::uint64_t>(cached_states);
  const auto actions = static_cast<std::uint64_t>(plan.outputs());
  return static_cast<std::uint64_t>(window) *
             (sizeof(float) * (plan.parameters + states * actions) +
              sizeof(std::uint32_t) * states) +
         NetworkBytes(plan, {.batch = kForwardBatch, .threads = 1, .training = false});
}

void TargetNetworks::Begin(const Parameters& first) {
  order_.clear();
  Push(first);
  untrained_ = true;
}

std::size_t TargetNetworks::FreeSlot() const {
  std::size_t slot = 0;
  while (std::ranges::find(order_, slot) != order_.end()) ++slot;
  return slot;
}

void TargetNetworks::Push(const Parameters& newest) {
  if (!order_.empty() && (untrained_ || order_.size() == window_)) order_.erase(order_.begin());
  untrained_ = false;
  order_.push_back(FreeSlot());
  Slot& slot = slots_[order_.back()];
  slot.parameters.CopyFrom(newest);
  std::ranges::fill(slot.tags, 0);
}

void TargetNetworks::KeepNewest() { order_.erase(order_.begin(), order_.end() - 1); }

// The state's values, or null if they are not cached.
const float* TargetNetworks::Cached(const Slot& slot, std::int64_t id) const {
  if (cached_states_ == 0) return nullptr;
  const auto place = static_cast<std::size_t>(id % cached_states_);
  const auto tag = static_cast<std::uint32_t>(id / cached_states_ + 1);
  return slot.tags[place] == tag ? slot.cache.get() + place * actions_ : nullptr;
}

void TargetNetworks::Cache(Slot& slot, std::int64_t id, std::span<const float> values) const {
  if (cached_states_ == 0) return;
  const auto place = static_cast<std::size_t>(id % cached_states_);
  slot.tags[place] = static_cast<std::uint32_t>(id / cached_states_ + 1);
  std::ranges::copy(values, slot.cache.get() + place * actions_);
}

bool TargetNetworks::Knows(int network, std::int64_t id) const {
  return Cached(slots_[order_[static_cast<std::size_t>(network)]], id) != nullptr;
}

void TargetNetworks::Remember(int network, std::int64_t id, std::span<const float> values) {
  Cache(slots_[order_[static_cast<std::size_t>(network)]], id, values);
}

void TargetNetworks::Evaluate(std::span<const FrozenState> states, FrozenValues& out) {
  if (order_.empty()) throw std::logic_error("TargetNetworks::Evaluate before Begin");
  out.Resize(order_.size(), states.size(), actions_);
  for (std::size_t network = 0; network < order_.size(); ++network) {
    EvaluateOne(network, states, out);
  }
}

void TargetNetworks::EvaluateOne(std::size_t network, std::span<const FrozenState> states,
                                 FrozenValues& out) {
  Slot& slot = slots_[order_[network]];
  misses_.clear();
  for (std::size_t j = 0; j < states.size(); ++j) {
    if (const float* const values = Cached(slot, states[j].id)) {
      std::copy_n(values, actions_, out.Of(network, j).data());
    } else {
      misses_.push_back(j);
    }
  }
  counts_.asked += static_cast<std::int64_t>(states.size());
  counts_.computed += static_cast<std::int64_t>(misses_.size());

  for (std::size_t begin = 0; begin < misses_.size(); begin += kForwardBatch) {
    const auto part = std::span(misses_).subspan(
        begin, std::min<std::size_t>(kForwardBatch, misses_.size() - begin));
    gatherer_.Clear();
    for (const std::size_t j : part) gatherer_.Add(states[j].frames);
    outputs_.resize(part.size() * actions_);
    network_->Forward(slot.parameters, gatherer_.Input(0, gatherer_.count()), outputs_);
    for (std::size_t k = 0; k < part.size(); ++k) {
      const auto values = std::span<const float>(outputs_).subspan(k * actions_, actions_);
      std::ranges::copy(values, out.Of(network, part[k]).data());
      Cache(slot, states[part[k]].id, values);
    }
  }
}

void TargetNetworks::Save(ByteWriter& out) const {
  out.Bool(untrained_);
  out.U64(order_.size());
  for (const std::size_t slot : order_) slots_[slot].parameters.Save(out);
}

void TargetNetworks::Load(ByteReader& in) {
  const bool untrained = in.Bool();
  const std::uint64_t count = in.U64();
  const std::size_t most = untrained ? 1 : window_;
  if (count < 1 || count > most) {
    throw in.Wrong(
        fmt::format("expected 1 to {} target networks, as agent.targets says{}, found {}", most,
                    untrained ? " before training" : "", count));
  }
  order_.clear();
  for (std::uint64_t k = 0; k < count; ++k) {
    order_.push_back(k);
    slots_[k].parameters.Load(in);
    if (!slots_[k].parameters.AllFinite()) {
      throw in.Wrong(fmt::format("expected finite weights of target network {}", k + 1));
    }
    std::ranges::fill(slots_[k].tags, 0);
  }
  untrained_ = untrained;
}

}  // namespace stableaa
