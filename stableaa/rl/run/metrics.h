// What a run reports about itself as it goes: metrics.csv, episodes.csv and TensorBoard's events.
//
// metrics.csv has one row per train.log_interval_steps and per evaluation. Means are over the time
// since the previous row; cells that do not apply are empty. Columns that may differ between equal
// runs begin with wall_.
#ifndef STABLEAA_RL_RUN_METRICS_H_
#define STABLEAA_RL_RUN_METRICS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "stableaa/rl/run/metric_row.h"
#include "stableaa/rl/run/run_directory.h"
#include "stableaa/rl/run/run_log.h"
#include "stableaa/rl/run/tensorboard_log.h"

namespace stableaa {

class ByteReader;
class ByteWriter;

// A mean to which values can be added.
struct RunningMean {
  double sum = 0;
  std::int64_t count = 0;

  void Add(double value) {
    sum += value;
    ++count;
  }
  std::optional<double> Mean() const {
    return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
  }
};

// What has to be carried from one row to the next.
struct MetricSums {
  std::vector<RunningMean> updates;  // as Agent::update_metrics names them; the first is the loss
  RunningMean episode_return, episode_length;

  explicit MetricSums(std::size_t update_metrics) : updates(update_metrics) {}

  std::optional<double> loss() const { return updates.front().Mean(); }
  void Clear() { *this = MetricSums(updates.size()); }

  void Save(ByteWriter& out) const;
  // Throws BadInput for sums that cannot result from `steps` steps since the last row.
  void Load(ByteReader& in, std::int64_t steps);
};

struct EpisodeRow {
  std::int64_t episode = 0;  // from 1
  std::int64_t step = 0;     // of the run, at the episode's end
  double episode_return = 0;
  std::int64_t length = 0;
  bool terminated = false, truncated = false;
};

// Called with every row once it is in its file.
struct RowListener {
  std::function<void(const MetricRow&)> metrics = {};
  std::function<void(const EpisodeRow&)> episode = {};
};

// The three files.
class RunLogs {
 public:
  // The files' contents; empty rows make new files.
  struct Rows {
    LogRows metrics, episodes, events;

    void Save(ByteWriter& out) const;
    void Load(ByteReader& in);
  };

  // Throws BadInput, without changing anything, if a file is shorter or has other rows.
  static void Require(const RunDirectory& directory, const Rows& rows);
  // Cuts off whatever follows these rows. Throws BadInput for a file that is shorter.
  RunLogs(const RunDirectory& directory, const Rows& rows);

  // Writes the column names to new files. All rows of a run have the columns of this one.
  void Begin(const MetricRow& row);
  void Add(const MetricRow& row, std::int64_t step);
  void Add(const EpisodeRow& row);
  // Adds the last row of metrics.csv and of the events, which is not part of rows().
  void AddUncounted(const MetricRow& row, std::int64_t step);
  void Sync();
  Rows rows() const { return {metrics_.rows(), episodes_.rows(), events_.records()}; }

 private:
  RunLog metrics_, episodes_;
  TensorboardLog events_;
};

// Bytes of memory that this process is using.
std::uint64_t ResidentBytes();

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_METRICS_H_
