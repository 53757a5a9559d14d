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

namespace stableaa {
namespace {

constexpr double kRecent = 20;  // episodes that recent_return averages over

// Rows of metrics.csv: one per train.log_interval_steps and one per evaluation; a shared step gets
// one row.
std::uint64_t MetricRows(const RunOptions& options, std::int64_t logged_step,
                         std::int64_t evaluated_step) {
  const std::int64_t log = options.train.log_interval_steps, eval = options.eval.interval_steps;
  std::int64_t rows = logged_step / log;
  if (eval != 0) {
    const std::int64_t evaluations = evaluated_step / eval;
    rows += evaluations - evaluations / (log / std::gcd(log, eval));
  }
  return static_cast<std::uint64_t>(rows);
}

}  // namespace

MetricsRecorder::MetricsRecorder(const RunDirectory& directory, const RunOptions& options,
                                 const Agent& agent)
    : directory_(directory),
      options_(options),
      agent_(agent),
      sums_(agent.update_metrics().size()) {}

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

void MetricsRecorder::AddStep(std::int64_t step, double reward, bool terminated, bool truncated) {
  episode_return_ += reward;
  ++episode_length_;
  if (!terminated && !truncated) return;

  ++episodes_;
  const EpisodeRow row{episodes_, step, episode_return_, episode_length_, terminated, truncated};
  logs_->Add(row);
  if (listener_.episode) listener_.episode(row);
  sums_.episode_return.Add(episode_return_);
  sums_.episode_length.Add(static_cast<double>(episode_length_));
  ++recent_episodes_;
  recent_return_ +=
      (episode_return_ - recent_return_) / std::min(kRecent, static_cast<double>(recent_episodes_));
  episode_return_ = 0;
  episode_length_ = 0;
}

std::optional<double> MetricsRecorder::recent_return() const {
  return recent_episodes_ > 0 ? std::optional(recent_return_) : std::nullopt;
}

bool MetricsRecorder::RowIsDue(std::int64_t step, bool evaluated) const {
  return (step % options_.train.log_interval_steps == 0 || evaluated) && step != logged_step_;
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
  out.F64(episode_return_);
  out.I64(episode_length_);
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
  episode_return_ = LoadNumber(in, "a finite return", std::numeric_limits<double>::lowest());
  episode_length_ = LoadCount(in, "steps of the present episode", step - episodes_);
  LoadLoggedStep(in, step, evaluated_step);
  const std::uint64_t rows = MetricRows(options_, logged_step_, evaluated_step);
  ExpectCount(in, "lines of metrics.csv", rows + 1, logged.metrics.count());
  ExpectCount(in, "records for TensorBoard", rows + 1, logged.events.count());
  sums_.Load(in, step - logged_step_);
  return logged;
}

void MetricsRecorder::LoadLoggedStep(ByteReader& in, std::int64_t step,
                                     std::int64_t evaluated_step) {
  logged_step_ = in.I64();
  // A stopped evaluation, and the one at the end, come before the row of their step.
  const std::int64_t interval = options_.train.log_interval_steps;
  const auto last_row = [&](std::int64_t at) {
    return std::max(at - at % interval, evaluated_step);
  };
  if (logged_step_ == last_row(step) ||
      logged_step_ == last_row(std::max<std::int64_t>(step - 1, 0))) {
    return;
  }
  throw in.Wrong(fmt::format("expected {} as the last step with a row of metrics.csv, found {}",
                             last_row(step), logged_step_));
}

}  // namespace stableaa
