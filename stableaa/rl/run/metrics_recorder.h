// Records a run as it goes: keeps sums over steps and updates and turns them into rows of
// metrics.csv and episodes.csv when these are due.
#ifndef STABLEAA_RL_RUN_METRICS_RECORDER_H_
#define STABLEAA_RL_RUN_METRICS_RECORDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "stableaa/rl/agent.h"
#include "stableaa/rl/run/evaluation.h"
#include "stableaa/rl/run/metrics.h"
#include "stableaa/rl/run/run_directory.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {

class MetricsRecorder {
 public:
  // The moment at which a row is made.
  struct Moment {
    std::int64_t step = 0;
    double seconds = 0;  // taken by all parts of the run
  };

  // All must outlive it.
  MetricsRecorder(const RunDirectory& directory, const RunOptions& options, const Agent& agent);

  // Starts new files, or opens those that hold `rows` and cuts off whatever follows.
  void Begin();
  void Open(const RunLogs::Rows& rows);
  // Reopens the files under the directory's present name, so that errors name it.
  void Reopen() { Open(logs_->rows()); }

  // From now on, or until the next call.
  void ReportTo(const RowListener& listener) { listener_ = listener; }

  // Adds the numbers from an Agent::Update.
  void AddUpdate(std::span<const double> values);
  // Adds a step of environment i.
  struct Step {
    std::int64_t step = 0;  // of the run, counted from 1
    double reward = 0;
    bool terminated = false;
    bool truncated = false;
  };
  void AddStep(int i, const Step& step);

  bool RowIsDue(std::int64_t step, bool evaluated) const;
  // Adds a row and starts new sums.
  void AddRow(const Moment& now, const std::optional<EvaluationResult>& evaluation);
  // Adds a row for the evaluation at the end, which a resumed run forgets.
  void AddEndRow(const Moment& now, const EvaluationResult& evaluation);

  std::int64_t episodes() const { return episodes_; }  // finished ones
  std::optional<double> recent_return() const;         // mean over the last episodes
  std::optional<double> last_loss() const { return last_loss_; }

  void Sync() { logs_->Sync(); }
  void Save(ByteWriter& out) const;
  // Returns the rows that the files must have. Throws BadInput for numbers that no run with these
  // options has after `step` steps.
  RunLogs::Rows Load(ByteReader& in, std::int64_t step, std::int64_t evaluated_step);
  // Steps per second are counted from this moment on.
  void RateFrom(const Moment& now) { rated_ = now; }

 private:
  MetricRow Row(const Moment& now, const std::optional<EvaluationResult>& evaluation);
  void Report(const MetricRow& row) const;
  void LoadLoggedStep(ByteReader& in, std::int64_t step, std::int64_t evaluated_step);

  const RunDirectory& directory_;
  const RunOptions& options_;
  const Agent& agent_;
  std::unique_ptr<RunLogs> logs_;
  RowListener listener_;
  MetricSums sums_;
  std::int64_t episodes_ = 0;
  struct EpisodeSoFar {
    double sum = 0;  // of its rewards
    std::int64_t length = 0;
  };
  std::vector<EpisodeSoFar> under_way_;  // by environment
  std::int64_t logged_step_ = 0;
  Moment rated_;

  // Only shown while the run goes on, not part of its state.
  double recent_return_ = 0;
  std::int64_t recent_episodes_ = 0;
  std::optional<double> last_loss_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_METRICS_RECORDER_H_
