#include "stableaa/env/native_environment.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

constexpr std::size_t kMaxId = 256;
constexpr std::int64_t kMaxSteps = std::int64_t{1} << 62;  // for an episode without a limit

}  // namespace

void Simulation::Draw(Picture& /*picture*/) const {
  throw BadInput("this environment draws no pictures");
}

NativeEnvironment::NativeEnvironment(EnvironmentSpec spec, int num_envs, const MakeSimulation& make,
                                     bool render)
    : Environment(std::move(spec), num_envs),
      make_(make),
      row_size_(this->spec().observation.size()),
      action_size_(this->spec().action.size()) {
  const auto count = static_cast<std::size_t>(num_envs);
  if (this->spec().observation.type == ElementType::kUint8) {
    bytes_.resize(count * row_size_);
    final_bytes_.resize(count * row_size_);
  } else {
    floats_.resize(count * row_size_);
    final_floats_.resize(count * row_size_);
  }
  reward_store_.resize(count);
  terminated_store_.resize(count);
  truncated_store_.resize(count);
  if (render) {
    frames_.resize(count);
    final_frames_.resize(count);
  }
  slots_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) slots_.push_back(NewSlot(i));
  observations_ = {bytes_, floats_};
  final_observations_ = {final_bytes_, final_floats_};
  rewards_ = reward_store_;
  terminated_ = terminated_store_;
  truncated_ = truncated_store_;
}

NativeEnvironment::Slot NativeEnvironment::NewSlot(std::size_t i) const {
  return {make_(), RandomStream(seed_, fmt::format("env/{}", i))};
}

Simulation::Observation NativeEnvironment::Row(std::size_t i) {
  if (!bytes_.empty()) return {.bytes = std::span(bytes_).subspan(i * row_size_, row_size_)};
  return {.floats = std::span(floats_).subspan(i * row_size_, row_size_)};
}

Simulation::Observation NativeEnvironment::FinalRow(std::size_t i) {
  if (!final_bytes_.empty()) {
    return {.bytes = std::span(final_bytes_).subspan(i * row_size_, row_size_)};
  }
  return {.floats = std::span(final_floats_).subspan(i * row_size_, row_size_)};
}

void NativeEnvironment::DoReset(std::uint64_t seed) {
  seed_ = seed;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i] = NewSlot(i);
    slots_[i].simulation->Reset(slots_[i].random);
    slots_[i].simulation->Observe(Row(i));
    if (renders()) slots_[i].simulation->Draw(frames_[i]);
    reward_store_[i] = 0;
    terminated_store_[i] = truncated_store_[i] = 0;
  }
}

void NativeEnvironment::DoSend(Actions actions) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (spec().action.kind == Space::Kind::kDiscrete) {
      StepOne(i, {.index = actions.indices[i]});
    } else {
      StepOne(i, {.values = actions.values.subspan(i * action_size_, action_size_)});
    }
  }
}

void NativeEnvironment::StepOne(std::size_t i, Simulation::Action action) {
  Slot& slot = slots_[i];
  Simulation& simulation = *slot.simulation;
  const Simulation::Outcome outcome = simulation.Step(action, slot.random);
  ++slot.steps;
  const std::int64_t limit = spec().max_episode_steps;
  const bool truncated = limit > 0 && slot.steps >= limit && !outcome.terminated;
  reward_store_[i] = outcome.reward;
  terminated_store_[i] = outcome.terminated ? 1 : 0;
  truncated_store_[i] = truncated ? 1 : 0;
  if (outcome.terminated || truncated) {
    simulation.Observe(FinalRow(i));
    if (renders()) simulation.Draw(final_frames_[i]);
    slot.steps = 0;
    simulation.Reset(slot.random);
  }
  simulation.Observe(Row(i));
  if (renders()) simulation.Draw(frames_[i]);
}

// Text id, U64 environments, U64 seed; then for each its stream, I64 steps and simulation.
void NativeEnvironment::Save(ByteWriter& out) const {
  if (!is_ready()) throw std::logic_error("Environment::Save before Reset");
  out.Text(spec().id);
  out.U64(slots_.size());
  out.U64(seed_);
  for (const Slot& slot : slots_) {
    slot.random.Save(out);
    out.I64(slot.steps);
    slot.simulation->Save(out);
  }
}

void NativeEnvironment::Load(ByteReader& in) {
  if (const std::string id = in.Text(kMaxId); id != spec().id) {
    throw in.Wrong(
        fmt::format("expected the state of {}, found that of '{}'", spec().id, Shorten(id)));
  }
  if (const std::uint64_t count = in.U64(); count != slots_.size()) {
    throw in.Wrong(
        fmt::format("expected the state of {} environments, found {}", slots_.size(), count));
  }
  const std::uint64_t seed = in.U64();
  const std::uint64_t former_seed = std::exchange(seed_, seed);
  std::vector<Slot> loaded;
  try {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Slot slot = NewSlot(i);
      slot.random.Load(in);
      slot.steps = in.I64();
      const std::int64_t limit =
          spec().max_episode_steps > 0 ? spec().max_episode_steps : kMaxSteps;
      if (slot.steps < 0 || slot.steps >= limit) {
        throw in.Wrong(fmt::format("expected fewer steps than {}, found {}", limit, slot.steps));
      }
      slot.simulation->Load(in);
      loaded.push_back(std::move(slot));
    }
  } catch (...) {
    seed_ = former_seed;
    throw;
  }
  slots_ = std::move(loaded);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].simulation->Observe(Row(i));
    if (renders()) slots_[i].simulation->Draw(frames_[i]);
    reward_store_[i] = 0;
    terminated_store_[i] = truncated_store_[i] = 0;
  }
  set_ready();
}

}  // namespace stableaa
