#include "stableaa/rl/run/metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

#include "stableaa/core/binary_io.h"

namespace stableaa {
namespace {

// Puts the column into a group of TensorBoard's display.
std::string TagOf(const std::string& column) {
  for (const std::string prefix : {"eval_", "wall_"}) {
    if (column.starts_with(prefix)) {
      return fmt::format("{}/{}", prefix.substr(0, prefix.size() - 1),
                         column.substr(prefix.size()));
    }
  }
  if (column.starts_with("alpha_") || column == "damping" || column == "gain" ||
      column == "gain_held_out" || column == "tau_norm" || column == "lambda" || column == "eta" ||
      column == "condition" || column == "residual" || column == "fallbacks" ||
      column == "restarts" || column == "targets") {
    return fmt::format("mixing/{}", column);
  }
  return fmt::format("train/{}", column);
}

std::string LineOf(const MetricRow& row) {
  std::string line;
  bool first = true;
  for (const auto& [column, value] : row.cells) {
    if (!first) line += ',';
    first = false;
    if (value && !std::isnan(*value)) line += fmt::format("{}", *value);
  }
  return line + '\n';
}

std::vector<Scalar> ScalarsOf(const MetricRow& row) {
  std::vector<Scalar> scalars;
  for (const auto& [column, value] : row.cells) {
    if (value && !std::isnan(*value) && column != "step") {
      scalars.push_back({TagOf(column), *value});
    }
  }
  return scalars;
}

}  // namespace

void MetricSums::Save(ByteWriter& out) const {
  const auto save = [&out](const RunningMean& mean) {
    out.F64(mean.sum);
    out.I64(mean.count);
  };
  for (const RunningMean& mean : updates) save(mean);
  save(episode_return);
  save(episode_length);
}

void MetricSums::Load(ByteReader& in, std::int64_t steps) {
  const auto load = [&in, steps](RunningMean& mean) {
    mean.sum = in.F64();
    mean.count = in.I64();
    if (mean.count < 0 || mean.count > steps || !std::isfinite(mean.sum) ||
        (mean.count == 0 && mean.sum != 0)) {
      throw in.Wrong(
          fmt::format("expected a finite sum of at most {} numbers, found {} as that of {}", steps,
                      mean.sum, mean.count));
    }
  };
  for (RunningMean& mean : updates) load(mean);
  load(episode_return);
  load(episode_length);
  std::vector<std::int64_t> counts;
  for (const RunningMean& mean : updates) counts.push_back(mean.count);
  if (std::ranges::count(counts, counts.front()) != std::ssize(counts) ||
      episode_length.count != episode_return.count) {
    throw in.Wrong(fmt::format(
        "expected sums over the same updates and the same episodes, found {} and {}, {} of them",
        fmt::join(counts, ", "), episode_return.count, episode_length.count));
  }
}

void RunLogs::Rows::Save(ByteWriter& out) const {
  for (const LogRows* rows : {&metrics, &episodes, &events}) rows->Save(out);
}

void RunLogs::Rows::Load(ByteReader& in) {
  for (LogRows* rows : {&metrics, &episodes, &events}) rows->Load(in);
}

void RunLogs::Require(const RunDirectory& directory, const Rows& rows) {
  RunLog::Require(directory.metrics(), rows.metrics, RunLog::Kind::kCsv);
  RunLog::Require(directory.episodes(), rows.episodes, RunLog::Kind::kCsv);
  RunLog::Require(directory.events(), rows.events, RunLog::Kind::kRecords);
}

RunLogs::RunLogs(const RunDirectory& directory, const Rows& rows)
    : metrics_(directory.metrics(), rows.metrics),
      episodes_(directory.episodes(), rows.episodes),
      events_(directory.events(), rows.events) {}

void RunLogs::Begin(const MetricRow& row) {
  std::string line;
  for (const auto& [column, value] : row.cells) {
    line += fmt::format("{}{}", line.empty() ? "" : ",", column);
  }
  metrics_.Append(line + '\n');
  episodes_.Append("episode,step,return,length,terminated,truncated\n");
}

void RunLogs::Add(const MetricRow& row, std::int64_t step) {
  metrics_.Append(LineOf(row));
  events_.Add(step, SecondsSince1970(), ScalarsOf(row));
}

void RunLogs::AddUncounted(const MetricRow& row, std::int64_t step) {
  metrics_.AppendUncounted(LineOf(row));
  events_.AddUncounted(step, SecondsSince1970(), ScalarsOf(row));
}

void RunLogs::Add(const EpisodeRow& row) {
  episodes_.Append(fmt::format("{},{},{},{},{:d},{:d}\n", row.episode, row.step, row.episode_return,
                               row.length, row.terminated, row.truncated));
}

void RunLogs::Sync() {
  metrics_.Sync();
  episodes_.Sync();
  events_.Sync();
}

std::uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace stableaa
