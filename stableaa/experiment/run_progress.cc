#include "stableaa/experiment/run_progress.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/base/binary_io.h"
#include "stableaa/base/csv_cells.h"
#include "stableaa/base/descriptor.h"
#include "stableaa/base/error.h"

namespace stableaa {
namespace fs = std::filesystem;
namespace {

// Before the payload of a checked file (base/atomic_file.h); then fingerprint, step and evaluated
// step as Trainer::Checkpoint writes them.
constexpr std::size_t kFrame = 28;
constexpr std::size_t kHead = 4 + 8 + 8;
constexpr std::string_view kKind = "STABLEAArun";

// The first line, and whole lines from the end of the file.
struct CsvEnds {
  std::string header;
  std::string rows;

  CsvEnds(const fs::path& path, std::size_t max_bytes) {
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

// Nothing for a cell that is empty, missing or no finite number.
std::optional<double> Number(const std::vector<std::string>& cells, std::size_t column) {
  if (column >= cells.size()) return std::nullopt;
  const std::optional<double> number = NumberOf(cells[column]);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

bool IsLocked(const fs::path& directory) {
  const Descriptor opened(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened.is_open() && flock(opened.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace

RunMetrics ReadRunMetrics(const fs::path& run, const MetricsQuestion& question) {
  const CsvEnds csv(run / "metrics.csv", question.max_bytes);
  std::vector<std::string> names;
  SplitLine(csv.header, names);
  const std::size_t step_column = Column(names, "step"),
                    seconds_column = Column(names, "wall_seconds"),
                    rate_column = Column(names, "wall_steps_per_second"),
                    eval_column = Column(names, "eval_return_mean");
  RunMetrics metrics;
  std::vector<std::string> cells;
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
    const std::optional<double> eval = Number(cells, eval_column);
    if (!eval) continue;
    metrics.eval_return = eval;
    if (question.eval_return && !metrics.reached_step && *eval >= *question.eval_return) {
      metrics.reached_step = whole_step;
      metrics.reached_return = eval;
    }
  }
  return metrics;
}

bool RunCheckpoint::IsComplete(const RunOptions& options) const {
  const std::int64_t steps = options.train.steps, interval = options.eval.interval_steps;
  const bool evaluation_is_due = interval != 0 && step % interval == 0 && step != evaluated_step;
  return step > steps || (step == steps && !evaluation_is_due);
}

std::optional<RunCheckpoint> ReadRunCheckpoint(const fs::path& run) {
  std::ifstream file(run / "checkpoint" / "state.bin", std::ios::binary);
  std::array<char, kFrame + kHead> bytes = {};
  if (!file.read(bytes.data(), bytes.size())) return std::nullopt;
  if (!std::string_view(bytes.data(), bytes.size()).starts_with(kKind)) return std::nullopt;
  ByteReader head(std::as_bytes(std::span(bytes)).subspan(kFrame), run.string());
  RunCheckpoint checkpoint;
  checkpoint.fingerprint = head.U32();
  checkpoint.step = head.I64();
  checkpoint.evaluated_step = head.I64();
  return checkpoint;
}

bool RunIsLocked(const fs::path& run) {
  return IsLocked(run) ||
         IsLocked(run.parent_path() / fmt::format(".{}.tmp", run.filename().string()));
}

}  // namespace stableaa
