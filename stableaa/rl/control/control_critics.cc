#include "stableaa/rl/control/control_critics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/control/parallel_tasks.h"

namespace stableaa {
namespace {

constexpr int kActionPart = 1;  // of a critic's input

CriticSet FirstCritics(const ControlCriticsOptions& options,
                       const std::shared_ptr<const Plan>& plan) {
  CriticSet critics;
  for (int c = 0; c < options.critics; ++c) {
    RandomStream random(options.seed, fmt::format("critic {}", c + 1));
    critics.emplace_back(plan).Initialise(random);
  }
  return critics;
}

NetworkOptions LaneOptions(const ControlCriticsOptions& options) {
  return {.batch = options.batch, .threads = 1, .training = true, .input_gradients = true};
}

}  // namespace

ControlCritics::ControlCritics(const ControlCriticsOptions& options,
                               const std::shared_ptr<const Plan>& plan)
    : options_(options),
      critics_(FirstCritics(options, plan)),
      averages_(FirstCritics(options, plan)) {
  for (int c = 0; c < options.critics; ++c) {
    optimizers_.emplace_back(plan, options.optimizer);
    lanes_.push_back(
        {.network = CompileNetwork(plan, LaneOptions(options)), .gradients = Parameters(plan)});
  }
}

std::uint64_t ControlCritics::Bytes(const ControlCriticsOptions& options, const Plan& plan) {
  constexpr std::uint64_t kCopies = 5;  // with averages, gradients and the optimiser's averages
  return static_cast<std::uint64_t>(options.critics) *
         (kCopies * plan.parameters * sizeof(float) + NetworkBytes(plan, LaneOptions(options)));
}

ControlCritics::Report ControlCritics::Learn(const StateActions& pairs,
                                             std::span<const float> targets,
                                             std::span<const float> importance, std::int64_t step) {
  const std::size_t count = pairs.count;
  first_.assign(count, 0);
  ForEachTask(options_.threads, options_.critics, [&](int critic, int) {
    const auto c = static_cast<std::size_t>(critic);
    Lane& lane = lanes_[c];
    for (auto* values : {&lane.outputs, &lane.output_gradients, &lane.errors}) {
      values->resize(count);
    }
    lane.network->Forward(critics_[c], InputOf(pairs), lane.outputs);
    lane.loss = LossGradient(options_.loss,
                             {.actions = 1,
                              .outputs = lane.outputs,
                              .chosen = first_,
                              .targets = targets,
                              .weights = importance},
                             lane.output_gradients, lane.errors);
    lane.network->Backward(critics_[c], lane.output_gradients, lane.gradients);
    optimizers_[c].Step(lane.gradients, critics_[c], step);
  });
  const Plan& plan = lanes_.front().network->plan();
  multiply_adds_ += static_cast<double>(critics_.size() * count) *
                    (plan.multiply_adds + plan.backward_multiply_adds);
  Report report;
  mean_errors_.assign(count, 0);
  const auto critics = static_cast<double>(critics_.size());
  const double share = 1 / (critics * static_cast<double>(count));
  for (const Lane& lane : lanes_) {
    report.loss += lane.loss / critics;
    for (std::size_t j = 0; j < count; ++j) {
      report.td_abs += share * std::abs(static_cast<double>(lane.errors[j]));
      report.q_mean += share * static_cast<double>(lane.outputs[j]);
      mean_errors_[j] += std::abs(lane.errors[j]) / static_cast<float>(critics);
    }
  }
  return report;
}

double ControlCritics::AddSlopes(const CriticSet& set, SlopeOf of, const StateActions& pairs,
                                 double scale, std::span<float> slopes) {
  const std::size_t count = pairs.count;
  const int used = of == SlopeOf::kFirst ? 1 : static_cast<int>(set.size());
  ForEachTask(options_.threads, used, [&](int critic, int) {
    Lane& lane = lanes_[static_cast<std::size_t>(critic)];
    lane.outputs.resize(count);
    lane.network->Forward(set[static_cast<std::size_t>(critic)], InputOf(pairs), lane.outputs);
  });
  double sum = 0;
  for (std::size_t j = 0; j < count; ++j) {
    std::size_t smallest = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(used); ++c) {
      const float value = lanes_[c].outputs[j];
      if (!std::isfinite(value)) {
        throw WorkFailed(fmt::format("a critic's value of the actor's action is {}", value));
      }
      if (value < lanes_[smallest].outputs[j]) smallest = c;
    }
    sum += static_cast<double>(lanes_[smallest].outputs[j]);
    for (std::size_t c = 0; c < static_cast<std::size_t>(used); ++c) {
      lanes_[c].output_gradients.resize(count);
      lanes_[c].output_gradients[j] = c == smallest ? static_cast<float>(scale) : 0.0F;
    }
  }
  ForEachTask(options_.threads, used, [&](int critic, int) {
    Lane& lane = lanes_[static_cast<std::size_t>(critic)];
    lane.slopes.resize(slopes.size());
    lane.network->BackwardToInput(set[static_cast<std::size_t>(critic)], lane.output_gradients,
                                  kActionPart, lane.slopes);
  });
  for (std::size_t c = 0; c < static_cast<std::size_t>(used); ++c) {
    for (std::size_t k = 0; k < slopes.size(); ++k) slopes[k] += lanes_[c].slopes[k];
  }
  const Plan& plan = lanes_.front().network->plan();
  multiply_adds_ += static_cast<double>(used) * static_cast<double>(count) *
                    (plan.multiply_adds + plan.InputMultiplyAdds(kActionPart));
  return sum / static_cast<double>(count);
}

void ControlCritics::MoveAverages(double polyak) {
  for (std::size_t c = 0; c < critics_.size(); ++c) averages_[c].MoveTowards(critics_[c], polyak);
}

bool ControlCritics::IsFinite() const {
  return std::ranges::all_of(critics_, &Parameters::AllFinite) &&
         std::ranges::all_of(averages_, &Parameters::AllFinite);
}

void ControlCritics::Save(ByteWriter& out) const {
  for (std::size_t c = 0; c < critics_.size(); ++c) {
    critics_[c].Save(out);
    averages_[c].Save(out);
    optimizers_[c].Save(out);
  }
}

void ControlCritics::Load(ByteReader& in) {
  for (std::size_t c = 0; c < critics_.size(); ++c) {
    critics_[c].Load(in);
    averages_[c].Load(in);
    if (!critics_[c].AllFinite() || !averages_[c].AllFinite()) {
      throw in.Wrong("expected finite weights of critics");
    }
    optimizers_[c].Load(in);
    if (optimizers_[c].steps() != updates()) {
      throw in.Wrong("expected critics with equally many updates");
    }
  }
}

}  // namespace stableaa
