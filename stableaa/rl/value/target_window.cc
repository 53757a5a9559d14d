#include "stableaa/rl/value/target_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/saved_number.h"
#include "stableaa/rl/value/bootstrap.h"

namespace stableaa {

TargetWindow::TargetWindow(const AgentOptions& agent, int stack, TargetNetworks networks)
    : agent_(agent),
      stack_(stack),
      networks_(std::move(networks)),
      fitter_(agent),
      refitter_(agent) {
  if (agent.mixes()) {
    mixing_.alpha.assign(static_cast<std::size_t>(networks_.count()), 0.0);
    mixing_.alpha.back() = 1;
  }
  mixing_.eta = agent.eta.At(0);
}

void TargetWindow::Evaluate(DrawnBatch& drawn) {
  CollectStates(drawn.batch, stack_, agent_.targets_need_states(), drawn.states);
  networks_.Evaluate(drawn.states, drawn.values);
  if (drawn.sample_ids.empty()) return;
  CollectStates(drawn.sample, stack_, true, drawn.states);
  networks_.Evaluate(drawn.states, drawn.sample_values);
  drawn.mixing = fitter_.Fit(drawn.sample, drawn.sample_values, time(), drawn.step);
}

void TargetWindow::UseWeights(const DrawnBatch& drawn, std::int64_t step) {
  if (!agent_.FitsAt(WeightRefresh::kUpdate)) return;
  if (agent_.eta.At(step) == agent_.eta.At(drawn.step)) {
    mixing_ = drawn.mixing;
  } else {
    mixing_ = refitter_.Fit(drawn.sample, drawn.sample_values, time(), step);
  }
  counts_.fallbacks += mixing_.fallback ? 1 : 0;
}

std::int64_t TargetWindow::last_update() const {
  const std::int64_t interval = agent_.target_interval_updates;
  return (counts_.updates / interval + 1) * interval;
}

void TargetWindow::Shift(const Parameters& online, TransitionSampler& sampler, std::int64_t step) {
  networks_.Push(online);
  ++counts_.shifts;
  const bool has_window = agent_.window() > 1;
  if (agent_.restart == WindowRestart::kInterval && has_window &&
      counts_.updates - restarted_at_ >= agent_.restart_interval_updates) {
    Restart();
    restarted_at_ = counts_.updates;
  }
  const bool watches = agent_.restart == WindowRestart::kGrowth && has_window;
  if (agent_.FitsAt(WeightRefresh::kSync) || watches) Refresh(sampler, step);
}

void TargetWindow::Restart() {
  networks_.KeepNewest();
  ++counts_.restarts;
}

// Examines the new window through a sample: has the residual grown, and which weights fit best?
void TargetWindow::Refresh(TransitionSampler& sampler, std::int64_t step) {
  std::vector<std::int64_t> ids;
  sampler.DrawSample(agent_.weights_batch(), ids);
  ReplayBatch sample;
  sampler.replay().Read(ids, sample);
  std::vector<FrozenState> states;
  CollectStates(sample, stack_, true, states);
  FrozenValues values;
  networks_.Evaluate(states, values);
  if (agent_.restart == WindowRestart::kGrowth) {
    const double residual = fitter_.NewestResidual(sample, values, time());
    const bool has_grown = best_residual_ > 0 && residual > agent_.restart_growth * best_residual_;
    if (has_grown) {
      Restart();
      networks_.Evaluate(states, values);
    }
    if (has_grown || best_residual_ == 0 || residual < best_residual_) best_residual_ = residual;
  }
  if (!agent_.FitsAt(WeightRefresh::kSync)) return;
  mixing_ = fitter_.Fit(sample, values, time(), step);
  counts_.fallbacks += mixing_.fallback ? 1 : 0;
}

void TargetWindow::Save(ByteWriter& out) const {
  networks_.Save(out);
  mixing_.Save(out);
  for (const std::int64_t count :
       {counts_.updates, counts_.shifts, counts_.restarts, counts_.fallbacks, restarted_at_}) {
    out.I64(count);
  }
  out.F64(best_residual_);
}

void TargetWindow::Load(ByteReader& in, std::int64_t updates) {
  networks_.Load(in);
  mixing_.Load(in);
  CheckMixing(in);
  LoadCounts(in, updates);
}

// Checks against the target networks and the options.
void TargetWindow::CheckMixing(const ByteReader& in) const {
  const std::size_t found = mixing_.alpha.size();
  const auto networks = static_cast<std::size_t>(networks_.count());
  if (!agent_.mixes()) {
    ExpectCount(in, "mixing weights of an agent that mixes nothing", 1, found);
  } else if (!agent_.FitsAt(WeightRefresh::kUpdate)) {
    ExpectCount(in, "mixing weights (one per target network)", networks, found);
  } else if (const int window = agent_.window();  // one may have been added since the last update
             found > static_cast<std::size_t>(window)) {
    throw in.Wrong(fmt::format("expected 1 to {} mixing weights, found {}", window, found));
  }
}

// Checks each against what the counts before it allow.
void TargetWindow::LoadCounts(ByteReader& in, std::int64_t updates) {
  counts_.updates = in.I64();
  if (counts_.updates != updates) {
    throw in.Wrong(fmt::format("expected the {} updates of the optimiser, found {}", updates,
                               counts_.updates));
  }
  counts_.shifts = in.I64();
  const std::int64_t shifts = updates / agent_.target_interval_updates;
  if (counts_.shifts != shifts) {
    throw in.Wrong(fmt::format("expected {} shifts of target networks after {} updates, found {}",
                               shifts, updates, counts_.shifts));
  }
  if (networks_.untrained() != (shifts == 0) ||
      networks_.count() > std::max<std::int64_t>(1, shifts)) {
    throw in.Wrong(
        fmt::format("expected at most one target network per shift, {} in all, found {}{}", shifts,
                    networks_.count(), networks_.untrained() ? " from before training" : ""));
  }
  counts_.restarts = LoadCount(in, "restarts of the window", shifts);
  counts_.fallbacks = LoadCount(in, "fallbacks to the newest network", updates);
  restarted_at_ = LoadCount(in, "updates before a restart", updates);
  best_residual_ = LoadNumber(in, "a residual of 0 or more", 0);
}

}  // namespace stableaa
