#include "stableaa/env/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "stableaa/core/error.h"

namespace stableaa {

Space Space::Discrete(int n) { return {.kind = Kind::kDiscrete, .n = n}; }

Space Space::Bytes(std::vector<int> shape, float high) {
  return {.kind = Kind::kBox,
          .type = ElementType::kUint8,
          .shape = std::move(shape),
          .low = {0},
          .high = {high}};
}

Space Space::Floats(std::vector<int> shape, std::vector<float> low, std::vector<float> high) {
  return {.kind = Kind::kBox,
          .type = ElementType::kFloat,
          .shape = std::move(shape),
          .low = std::move(low),
          .high = std::move(high)};
}

std::size_t Space::size() const {
  std::size_t product = 1;
  for (const int extent : shape) product *= static_cast<std::size_t>(extent);
  return product;
}

std::string Describe(const Space& space) {
  if (space.kind == Space::Kind::kDiscrete) return fmt::format("{} actions", space.n);
  std::string text = fmt::format("{} {}", space.type == ElementType::kUint8 ? "uint8" : "float",
                                 fmt::join(space.shape, "x"));
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (space.low.size() == 1 && space.high.size() == 1 && is_finite(space.low[0]) &&
      is_finite(space.high[0])) {
    text += fmt::format(" in [{:g}, {:g}]", space.low[0], space.high[0]);
  }
  return text;
}

int EnvironmentSpec::channels() const {
  if (channel_axis < 0) return 0;
  const auto axis = static_cast<std::size_t>(channel_axis);
  return axis < observation.shape.size() ? observation.shape[axis] : 1;
}

std::string EnvironmentSpec::action_name(int number) const {
  const auto index = static_cast<std::size_t>(number);
  return index < action_names.size() ? action_names[index] : std::to_string(number);
}

Environment::Environment(EnvironmentSpec spec, int num_envs)
    : spec_(std::move(spec)),
      num_envs_(num_envs),
      action_numbers_(static_cast<std::size_t>(num_envs) * spec_.action.size()) {
  if (num_envs < 1) {
    throw BadInput(
        fmt::format("{}: expected at least one environment, found {}", spec_.id, num_envs));
  }
}

bool Environment::ended(int i) const {
  const auto row = static_cast<std::size_t>(i);
  return terminated_[row] != 0 || truncated_[row] != 0;
}

const Picture& Environment::frame(int i) const {
  if (!renders()) throw std::logic_error("Environment::frame without render");
  return frames_[static_cast<std::size_t>(i)];
}

const Picture& Environment::final_frame(int i) const {
  if (!renders()) throw std::logic_error("Environment::final_frame without render");
  return final_frames_[static_cast<std::size_t>(i)];
}

void Environment::Reset(std::uint64_t seed) {
  phase_ = Phase::kNew;
  DoReset(seed);
  phase_ = Phase::kReady;
}

void Environment::Step(Actions actions) {
  Send(actions);
  Recv();
}

void Environment::Send(Actions actions) {
  if (phase_ != Phase::kReady) {
    throw std::logic_error(phase_ == Phase::kSent ? "Environment::Send before Recv"
                                                  : "Environment::Send before Reset");
  }
  CheckActions(actions);
  phase_ = Phase::kNew;  // in case DoSend throws
  DoSend(actions);
  phase_ = Phase::kSent;
}

void Environment::Recv() {
  if (phase_ != Phase::kSent) throw std::logic_error("Environment::Recv without Send");
  phase_ = Phase::kNew;
  DoRecv();
  phase_ = Phase::kReady;
}

void Environment::CheckActions(const Actions& actions) const {
  const Space& space = spec_.action;
  const bool discrete = space.kind == Space::Kind::kDiscrete;
  const std::size_t found = discrete ? actions.indices.size() : actions.values.size();
  const std::size_t others = discrete ? actions.values.size() : actions.indices.size();
  if (others > 0) {
    throw BadInput(fmt::format("{}: expected {} as actions", spec_.id,
                               discrete ? "indices only" : "real numbers only"));
  }
  if (found != action_numbers_) {
    throw BadInput(fmt::format("{}: expected {} numbers as actions, found {}", spec_.id,
                               action_numbers_, found));
  }
  if (discrete) {
    for (const std::int32_t action : actions.indices) {
      if (action < 0 || action >= space.n) {
        throw BadInput(fmt::format("{}: expected an action from 0 to {}, found {}", spec_.id,
                                   space.n - 1, action));
      }
    }
  } else if (!std::ranges::all_of(actions.values, [](float v) { return std::isfinite(v); })) {
    throw BadInput(fmt::format("{}: expected finite actions", spec_.id));
  }
}

}  // namespace stableaa
