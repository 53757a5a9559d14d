#include "stableaa/env/rollout.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <stdexcept>

#include "stableaa/core/moments.h"

namespace stableaa {
namespace {

// Adds up the elements of each channel.
class ChannelSums {
 public:
  explicit ChannelSums(const EnvironmentSpec& spec)
      : sums_(static_cast<std::size_t>(spec.channels())) {
    // An element's channel is (its index / stride) modulo the number of channels.
    const std::vector<int>& shape = spec.observation.shape;
    for (int axis = spec.channel_axis + 1; axis < static_cast<int>(shape.size()); ++axis) {
      stride_ *= static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
    }
  }

  void Add(const Observations& observation) {
    if (sums_.empty()) return;
    ++count_;
    AddElements(observation.bytes);
    AddElements(observation.floats);
  }

  // Over all elements of all observations.
  std::vector<double> Means(std::size_t size) const {
    std::vector<double> means;
    for (const double sum : sums_) {
      means.push_back(sum * static_cast<double>(sums_.size()) /
                      (static_cast<double>(size) * count_));
    }
    return means;
  }

 private:
  template <typename T>
  void AddElements(std::span<const T> elements) {
    for (std::size_t begin = 0; begin < elements.size();) {
      for (double& sum : sums_) {
        double part = 0;
        for (std::size_t k = 0; k < stride_; ++k) part += static_cast<double>(elements[begin + k]);
        sum += part;
        begin += stride_;
      }
    }
  }

  std::vector<double> sums_;
  std::size_t stride_ = 1;
  double count_ = 0;
};

}  // namespace

RolloutSummary Rollout(Environment& environment, FixedPolicy& policy, std::int64_t episodes,
                       std::uint64_t seed, const std::function<void(const RolloutStep&)>& on_step) {
  if (environment.num_envs() != 1) throw std::logic_error("Rollout takes one environment");
  const bool renders = environment.renders();
  ChannelSums channels(environment.spec());
  std::vector<double> returns, lengths;
  double episode_return = 0, length = 0;
  std::int64_t step = 0;
  environment.Reset(seed);
  while (static_cast<std::int64_t>(returns.size()) < episodes) {
    const Actions action = policy.Act(environment.observations());
    environment.Step(action);
    const bool ended = environment.ended(0);
    const Observations seen = ended ? environment.final_observations() : environment.observations();
    episode_return += environment.rewards()[0];
    length += 1;
    ++step;
    channels.Add(seen);
    if (on_step) {
      const Picture* frame = nullptr;
      if (renders) frame = ended ? &environment.final_frame(0) : &environment.frame(0);
      on_step({.step = step,
               .episode = static_cast<std::int64_t>(returns.size()) + 1,
               .action = action,
               .reward = environment.rewards()[0],
               .terminated = environment.terminated()[0] != 0,
               .truncated = environment.truncated()[0] != 0,
               .observation = seen,
               .frame = frame,
               .return_so_far = episode_return});
    }
    if (ended) {
      returns.push_back(episode_return);
      lengths.push_back(length);
      episode_return = length = 0;
    }
  }
  const Moments of_returns = MomentsOf(returns), of_lengths = MomentsOf(lengths);
  return {.episodes = episodes,
          .return_mean = of_returns.mean,
          .return_std = of_returns.standard_deviation,
          .length_mean = of_lengths.mean,
          .length_std = of_lengths.standard_deviation,
          .channel_mean = channels.Means(environment.spec().observation.size())};
}

TraceWriter::TraceWriter(const std::string& path, const EnvironmentSpec& spec) : file_(path) {
  line_ = "step";
  if (spec.action.kind == Space::Kind::kDiscrete || spec.action.size() == 1) {
    line_ += ",action";
  } else {
    for (std::size_t k = 0; k < spec.action.size(); ++k) line_ += fmt::format(",action_{}", k);
  }
  line_ += ",reward,terminated,truncated";
  for (std::size_t k = 0; k < spec.observation.size(); ++k) line_ += fmt::format(",obs_{}", k);
  line_ += '\n';
  file_.Write(line_);
}

// Writes real numbers in the shortest form that reads back exactly.
void TraceWriter::Add(const RolloutStep& step) {
  line_.clear();
  auto out = std::back_inserter(line_);
  fmt::format_to(out, FMT_COMPILE("{}"), step.step);
  for (const std::int32_t index : step.action.indices) {
    fmt::format_to(out, FMT_COMPILE(",{}"), index);
  }
  for (const float value : step.action.values) fmt::format_to(out, FMT_COMPILE(",{}"), value);
  fmt::format_to(out, FMT_COMPILE(",{},{:d},{:d}"), step.reward, step.terminated, step.truncated);
  for (const std::uint8_t byte : step.observation.bytes) {
    fmt::format_to(out, FMT_COMPILE(",{}"), byte);
  }
  for (const float value : step.observation.floats) {
    fmt::format_to(out, FMT_COMPILE(",{}"), value);
  }
  line_ += '\n';
  file_.Write(line_);
}

void TraceWriter::Finish() { file_.Commit(); }

}  // namespace stableaa
