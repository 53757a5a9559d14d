#include "stableaa/experiment/sweep/run_progress.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/descriptor.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/base/text/csv_cells.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace fs = std::filesystem;
namespace {

constexpr double kSecondsToKnow = 1;  // of learning, to know its rate

// The first line, and the complete lines at the end of the file.
struct CsvEnds {
  std::string header;
  std::string rows;

  CsvEnds(const fs::path& path, std::size_t max_bytes) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return;  // a pipe would block until someone writes
    std::ifstream file(path, std::ios::binary);
    if (!std::getline(file, header)) return;
    const std::streamoff begin = file.tellg();
    file.seekg(0, std::ios::end);
    const std::streamoff end = file.tellg();
    const std::streamoff from = std::max(begin, end - static_cast<std::streamoff>(max_bytes));
    if (begin < 0 || end <= from) return;
    rows.resize(static_cast<std::size_t>(end - from));
    file.seekg(from);
    file.read(rows.data(), end - from);
    rows.resize(static_cast<std::size_t>(file.gcount()));
    rows.resize(rows.rfind('\n') + 1);  // npos + 1 is 0
    if (from > begin) rows.erase(0, rows.find('\n') + 1);
  }
};

std::size_t Column(const std::vector<std::string>& names, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

// Nothing for a cell that is empty, missing or not a finite number.
std::optional<double> Number(const std::vector<std::string>& cells, std::size_t column) {
  if (column >= cells.size()) return std::nullopt;
  const std::optional<double> number = NumberOf(cells[column]);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

bool IsLocked(const fs::path& directory) {
  const Descriptor opened(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened.is_open() && !TryLock(opened);
}

}  // namespace

RunMetrics ReadRunMetrics(const fs::path& run, const MetricsQuestion& question) {
  const CsvEnds csv(run / "metrics.csv", question.max_bytes);
  std::vector<std::string> names;
  SplitLine(csv.header, names);
  const std::size_t step_column = Column(names, "step"), update_column = Column(names, "update"),
                    seconds_column = Column(names, "wall_seconds"),
                    rate_column = Column(names, "wall_steps_per_second"),
                    eval_column = Column(names, "eval_return_mean");
  RunMetrics metrics;
  std::vector<std::string> cells;
  std::optional<RunMetrics> learning;  // its first row here
  for (std::string_view rows = csv.rows; !rows.empty();) {
    const std::size_t end = rows.find('\n');
    const bool whole = SplitLine(rows.substr(0, end), cells) && cells.size() == names.size();
    rows.remove_prefix(end + 1);
    const std::optional<double> step = whole ? Number(cells, step_column) : std::nullopt;
    if (!step || *step < 0 || *step > 0x1p62) continue;
    const auto whole_step = static_cast<std::int64_t>(*step);
    if (question.last_step && whole_step > *question.last_step) break;
    metrics.step = whole_step;
    metrics.wall_seconds = Number(cells, seconds_column).value_or(metrics.wall_seconds);
    metrics.steps_per_second = Number(cells, rate_column).value_or(metrics.steps_per_second);
    if (!learning && Number(cells, update_column).value_or(0) > 0) learning = metrics;
    const std::optional<double> eval = Number(cells, eval_column);
    if (!eval) continue;
    metrics.eval_return = eval;
    if (question.eval_return && !metrics.reached_step && *eval >= *question.eval_return) {
      metrics.reached_step = whole_step;
      metrics.reached_return = eval;
    }
  }
  if (learning && metrics.step > learning->step &&
      metrics.wall_seconds - learning->wall_seconds >= kSecondsToKnow) {
    metrics.learning_steps_per_second = static_cast<double>(metrics.step - learning->step) /
                                        (metrics.wall_seconds - learning->wall_seconds);
  }
  return metrics;
}

std::optional<CheckpointHead> ReadRunCheckpoint(const fs::path& run) {
  const fs::path file = run / "checkpoint" / "state.bin";
  try {
    const std::vector<std::byte> head =
        PeekCheckedFile(file, kCheckpointKind, kCheckpointVersion, CheckpointHead::kBytes);
    ByteReader in(head, file.string());
    return CheckpointHead::Read(in);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool RunIsLocked(const fs::path& run) {
  return IsLocked(run) ||
         IsLocked(run.parent_path() / fmt::format(".{}.tmp", run.filename().string()));
}

}  // namespace stableaa
