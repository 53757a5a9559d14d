#include "stableaa/rl/control/critic_values.h"

#include <algorithm>
#include <cmath>

#include "stableaa/rl/control/parallel_tasks.h"

namespace stableaa {
namespace {

// Pairs that go through a network together: enough to use each weight often, and few enough for the
// values between its layers to stay in the nearest caches.
constexpr std::size_t kPart = 128;

NetworkOptions PartOptions() {
  return {.batch = static_cast<int>(kPart), .threads = 1, .training = false};
}

float Smaller(float a, float b) { return std::isnan(a) || b >= a ? a : b; }

}  // namespace

StateActions StateActions::Part(std::size_t begin, std::size_t part) const {
  const std::size_t of_state = states.size() / count, of_action = actions.size() / count;
  return {part, states.subspan(begin * of_state, part * of_state),
          actions.subspan(begin * of_action, part * of_action)};
}

NetworkInput InputOf(const StateActions& pairs) {
  return {.count = static_cast<int>(pairs.count),
          .vectors = pairs.states,
          .second_vectors = pairs.actions};
}

CriticValues::CriticValues(const std::shared_ptr<const Plan>& plan, int threads)
    : threads_(threads), others_(static_cast<std::size_t>(threads)) {
  for (int k = 0; k < threads; ++k) networks_.push_back(CompileNetwork(plan, PartOptions()));
  for (auto& values : others_) values.resize(kPart);
}

std::uint64_t CriticValues::Bytes(const Plan& plan, int threads) {
  return static_cast<std::uint64_t>(threads) * NetworkBytes(plan, PartOptions());
}

void CriticValues::Compute(std::span<const CriticSet* const> sets, const StateActions& pairs,
                           std::span<float> out) {
  if (sets.empty() || pairs.count == 0) return;
  const std::size_t parts = (pairs.count + kPart - 1) / kPart;
  ForEachTask(threads_, static_cast<int>(sets.size() * parts), [&](int task, int thread) {
    const std::size_t set = static_cast<std::size_t>(task) / parts;
    const std::size_t begin = static_cast<std::size_t>(task) % parts * kPart;
    const std::size_t count = std::min(kPart, pairs.count - begin);
    ComputePart(*sets[set], pairs.Part(begin, count), static_cast<std::size_t>(thread),
                out.subspan(set * pairs.count + begin, count));
  });
  multiply_adds_ += static_cast<double>(sets.size() * sets.front()->size() * pairs.count) *
                    networks_.front()->plan().multiply_adds;
}

void CriticValues::ComputePart(const CriticSet& set, const StateActions& pairs, std::size_t thread,
                               std::span<float> out) {
  const std::span<float> others = std::span(others_[thread]).first(out.size());
  networks_[thread]->Forward(set.front(), InputOf(pairs), out);
  for (std::size_t c = 1; c < set.size(); ++c) {
    networks_[thread]->Forward(set[c], InputOf(pairs), others);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = Smaller(out[j], others[j]);
  }
}

}  // namespace stableaa
