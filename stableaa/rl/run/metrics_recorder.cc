#include "stableaa/rl/run/metrics_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/saved_number.h"
#include "stableaa/rl/run/checkpoint_head.h"

namespace stableaa {
namespace {

constexpr double kRecent = 20;  // episodes that recent_return averages over

// How many rows metrics.csv has: one per train.log_interval_steps and one per evaluation; a shared
// step gets one row. Which steps are shared is simple to tell for one environment only.
struct RowCounts {
  std::int64_t least = 0, most = 0;
};

RowCounts MetricRows(const RunOptions& options, std::int64_t logged_step,
                     std::int64_t evaluated_step) {
  const std::int64_t log = options.train.log_interval_steps, eval = options.eval.interval_steps;
  const std::int64_t envs = options.env.num_envs;
  // Several that fall due in one round of steps are one.
  const auto count = [envs](std::int64_t step, std::int64_t interval) {
    return interval == 0 ? 0 : step / std::max(interval, envs);
  };
  const std::int64_t logged = count(logged_step, log), evaluated = count(evaluated_step, eval);
  if (envs > 1 || eval == 0) return {std::max(logged, evaluated), logged + evaluated};
  const std::int64_t rows = logged + evaluated - evaluated / (log / std::gcd(log, eval));
  return {rows, rows};
}

}  // namespace

MetricsRecorder::MetricsRecorder(const RunDirectory& directory, const RunOptions& options,
                                 const Agent& agent)
    : directory_(directory),
      options_(options),
      agent_(agent),
      sums_(agent.update_metrics().size()),
      under_way_(static_cast<std::size_t>(options.env.num_envs)) {}

void MetricsRecorder::Begin() {
  Open({});
  logs_->Begin(Row({}, {}));
}

void MetricsRecorder::Open(const RunLogs::Rows& rows) {
  logs_ = std::make_unique<RunLogs>(directory_, rows);
}

void MetricsRecorder::AddUpdate(std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) sums_.updates[i].Add(values[i]);
}

void MetricsRecorder::AddStep(int i, const Step& step) {
  EpisodeSoFar& episode = under_way_[static_cast<std::size_t>(i)];
  episode.sum += step.reward;
  ++episode.length;
  if (!step.terminated && !step.truncated) return;

  ++episodes_;
  const EpisodeRow row{episodes_,      step.step,       episode.sum,
                       episode.length, step.terminated, step.truncated};
  logs_->Add(row);
  if (listener_.episode) listener_.episode(row);
  sums_.episode_return.Add(episode.sum);
  sums_.episode_length.Add(static_cast<double>(episode.length));
  ++recent_episodes_;
  recent_return_ +=
      (episode.sum - recent_return_) / std::min(kRecent, static_cast<double>(recent_episodes_));
  episode = {};
}

std::optional<double> MetricsRecorder::recent_return() const {
  return recent_episodes_ > 0 ? std::optional(recent_return_) : std::nullopt;
}

bool MetricsRecorder::RowIsDue(std::int64_t step, bool evaluated) const {
  const bool due = IsDueStep(options_.train.log_interval_steps, options_.env.num_envs, step);
  return (due || evaluated) && step != logged_step_;
}

void MetricsRecorder::AddRow(const Moment& now, const std::optional<EvaluationResult>& evaluation) {
  const MetricRow row = Row(now, evaluation);
  logs_->Add(row, now.step);
  Report(row);
  last_loss_ = sums_.loss();
  sums_.Clear();
  logged_step_ = now.step;
}

void MetricsRecorder::AddEndRow(const Moment& now, const EvaluationResult& evaluation) {
  const MetricRow row = Row(now, evaluation);
  logs_->AddUncounted(row, now.step);
  Report(row);
  last_loss_ = sums_.loss();
}

void MetricsRecorder::Report(const MetricRow& row) const {
  if (listener_.metrics) listener_.metrics(row);
}

MetricRow MetricsRecorder::Row(const Moment& now,
                               const std::optional<EvaluationResult>& evaluation) {
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const auto of_evaluation = [&evaluation](double EvaluationResult::*member) {
    return evaluation ? std::optional((*evaluation).*member) : std::nullopt;
  };
  const AgentMetrics agent = agent_.Metrics(now.step);
  const std::vector<std::string> of_updates = agent_.update_metrics();
  MetricRow row;
  row.Add("step", number(now.step));
  row.Add("update", number(agent_.updates()));
  row.Append(agent.exploration);
  for (std::size_t i = 0; i < of_updates.size(); ++i) {
    row.Add(of_updates[i], sums_.updates[i].Mean());
  }
  row.Append(agent.learning);
  row.Add("episodes", number(episodes_));
  row.Add("return_mean", sums_.episode_return.Mean());
  row.Add("length_mean", sums_.episode_length.Mean());
  row.Add("eval_return_mean", of_evaluation(&EvaluationResult::return_mean));
  row.Add("eval_return_std", of_evaluation(&EvaluationResult::return_std));
  row.Add("eval_length_mean", of_evaluation(&EvaluationResult::length_mean));
  row.Append(agent.memory);
  row.Add("wall_seconds", now.seconds);
  row.Add("wall_steps_per_second",
          now.seconds > rated_.seconds
              ? std::optional(number(now.step - rated_.step) / (now.seconds - rated_.seconds))
              : std::nullopt);
  row.Add("wall_memory_bytes", static_cast<double>(ResidentBytes()));
  row.Append(agent.wall);
  rated_ = now;
  return row;
}

void MetricsRecorder::Save(ByteWriter& out) const {
  logs_->rows().Save(out);
  out.I64(episodes_);
  for (const EpisodeSoFar& episode : under_way_) {
    out.F64(episode.sum);
    out.I64(episode.length);
  }
  out.I64(logged_step_);
  sums_.Save(out);
}

RunLogs::Rows MetricsRecorder::Load(ByteReader& in, std::int64_t step,
                                    std::int64_t evaluated_step) {
  RunLogs::Rows logged;
  logged.Load(in);
  episodes_ = LoadCount(in, "episodes", step);
  ExpectCount(in, "lines of episodes.csv", static_cast<std::uint64_t>(episodes_) + 1,
              logged.episodes.count());
  std::int64_t left = step - episodes_;  // every episode took a step
  for (EpisodeSoFar& episode : under_way_) {
    episode.sum = LoadNumber(in, "a finite return", std::numeric_limits<double>::lowest());
    episode.length = LoadCount(in, "steps of the present episode",
                               std::min(left, step / std::ssize(under_way_)));
    left -= episode.length;
  }
  LoadLoggedStep(in, step, evaluated_step);
  const RowCounts rows = MetricRows(options_, logged_step_, evaluated_step);
  const auto found = static_cast<std::int64_t>(logged.metrics.count());
  ExpectCount(in, "lines of metrics.csv",
              static_cast<std::uint64_t>(std::clamp(found, rows.least + 1, rows.most + 1)),
              logged.metrics.count());
  ExpectCount(in, "records for TensorBoard", logged.metrics.count(), logged.events.count());
  sums_.Load(in, step - logged_step_);
  return logged;
}

void MetricsRecorder::LoadLoggedStep(ByteReader& in, std::int64_t step,
                                     std::int64_t evaluated_step) {
  logged_step_ = in.I64();
  // A stopped evaluation, and the one at the end, come before the row of their step.
  const int envs = options_.env.num_envs;
  const auto last_row = [&](std::int64_t at) {
    return std::max(LastDueStep(options_.train.log_interval_steps, envs, at), evaluated_step);
  };
  if (logged_step_ == last_row(step) ||
      logged_step_ == last_row(std::max<std::int64_t>(step - envs, 0))) {
    return;
  }
  throw in.Wrong(fmt::format("expected {} as the last step with a row of metrics.csv, found {}",
                             last_row(step), logged_step_));
}

}  // namespace stableaa
