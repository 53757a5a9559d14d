#include "stableaa/rl/metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "stableaa/base/binary_io.h"

namespace stableaa {
namespace {

// Groups as TensorBoard shows them.
std::string TagOf(const std::string& column) {
  for (const std::string prefix : {"eval_", "wall_"}) {
    if (column.starts_with(prefix)) {
      return fmt::format("{}/{}", prefix.substr(0, prefix.size() - 1),
                         column.substr(prefix.size()));
    }
  }
  if (column.starts_with("alpha_") || column == "gain" || column == "gain_held_out" ||
      column == "tau_norm" || column == "lambda" || column == "eta" || column == "condition" ||
      column == "residual" || column == "fallbacks" || column == "restarts" ||
      column == "targets") {
    return fmt::format("mixing/{}", column);
  }
  return fmt::format("train/{}", column);
}

// Before the first of them is cut.
RunLogs::Sizes Checked(const RunDirectory& directory, const RunLogs::Sizes& sizes) {
  RunLog::Require(directory.metrics(), sizes.metrics);
  RunLog::Require(directory.episodes(), sizes.episodes);
  RunLog::Require(directory.events(), sizes.events);
  return sizes;
}

}  // namespace

void MetricSums::Save(ByteWriter& out) const {
  for (const RunningMean& mean : {loss, td_abs, q_mean, episode_return, episode_length}) {
    out.F64(mean.sum);
    out.I64(mean.count);
  }
}

void MetricSums::Load(ByteReader& in) {
  for (RunningMean* mean : {&loss, &td_abs, &q_mean, &episode_return, &episode_length}) {
    mean->sum = in.F64();
    mean->count = in.I64();
    if (mean->count < 0) throw in.Wrong("expected a count of at least 0");
  }
}

RunLogs::RunLogs(const RunDirectory& directory, const Sizes& sizes)
    : metrics_(directory.metrics(), Checked(directory, sizes).metrics),
      episodes_(directory.episodes(), sizes.episodes),
      events_(directory.events(), sizes.events) {}

void RunLogs::Begin(const MetricRow& row) {
  std::string line;
  for (const auto& [column, value] : row.cells) {
    line += fmt::format("{}{}", line.empty() ? "" : ",", column);
  }
  metrics_.Append(line + '\n');
  episodes_.Append("episode,step,return,length,terminated,truncated\n");
}

void RunLogs::Add(const MetricRow& row, std::int64_t step) {
  std::string line;
  bool first = true;
  std::vector<Scalar> scalars;
  for (const auto& [column, value] : row.cells) {
    if (!first) line += ',';
    first = false;
    if (!value || std::isnan(*value)) continue;
    line += fmt::format("{}", *value);
    if (column != "step") scalars.push_back({TagOf(column), *value});
  }
  line += '\n';
  metrics_.Append(line);
  events_.Add(step, SecondsSince1970(), scalars);
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
