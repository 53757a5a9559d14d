#include "stableaa/experiment/sweep/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "stableaa/base/terminal/live_line.h"
#include "stableaa/base/terminal/progress.h"

namespace stableaa {
namespace {

// ECMA-48: erase to the end of the line, and of the screen.
constexpr std::string_view kEraseLine = "\x1b[K";
constexpr std::string_view kEraseBelow = "\x1b[J";

struct TerminalSize {
  std::size_t columns = 80, rows = 24;

  explicit TerminalSize(std::FILE* stream) {
    winsize size{};
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0) return;
    if (size.ws_col > 0) columns = size.ws_col;
    if (size.ws_row > 0) rows = size.ws_row;
  }
};

// Long names lose their beginning, which they share.
std::string RunRow(const SweepRun& run, std::size_t name_width) {
  std::string name = run.run->name;
  if (name.size() > name_width) name = ".." + name.substr(name.size() - name_width + 2);
  std::string row =
      fmt::format("{:<{}}  {:>3}%", name, name_width, static_cast<int>(100 * run.Share()));
  row += run.steps_per_second > 0 ? fmt::format("  {:>5}/s", HumanCount(run.steps_per_second))
                                  : std::string(9, ' ');
  if (run.eval_return) row += fmt::format("  eval {:.4g}", *run.eval_return);
  row.resize(row.find_last_not_of(' ') + 1);
  return row;
}

}  // namespace

std::string SweepSummary(std::span<const SweepRun> runs, std::optional<double> seconds_left) {
  const SweepCounts counts = Count(runs);
  std::string summary = fmt::format("{} of {} done", counts.done, runs.size());
  if (counts.failed > 0) summary += fmt::format(", {} failed", counts.failed);
  if (counts.stopped > 0) summary += fmt::format(", {} stopped", counts.stopped);
  if (counts.running > 0) summary += fmt::format(", {} running", counts.running);
  if (counts.pending > 0) summary += fmt::format(", {} waiting", counts.pending);
  if (seconds_left) summary += fmt::format(", {} left", HumanDuration(*seconds_left));
  return summary;
}

std::vector<std::string> SweepRows(std::span<const SweepRun> runs,
                                   std::optional<double> seconds_left, std::size_t columns,
                                   std::size_t rows) {
  std::vector<const SweepRun*> running;
  std::size_t name_width = 0;
  for (const SweepRun& run : runs) {
    if (run.state != SweepState::kRunning) continue;
    running.push_back(&run);
    name_width = std::max(name_width, run.run->name.size());
  }
  std::vector<std::string> lines;
  const std::size_t room = rows > 1 ? rows - 1 : 0;  // besides the summary
  const bool all_fit = running.size() <= room;
  const std::size_t shown = all_fit ? running.size() : std::max<std::size_t>(room, 1) - 1;
  constexpr std::size_t kNumbers = 30, kShortest = 8;  // columns
  const std::size_t most = std::max(columns, kNumbers + kShortest) - kNumbers;
  for (std::size_t i = 0; i < shown; ++i) {
    lines.push_back(RunRow(*running[i], std::min(name_width, most)));
  }
  if (!all_fit && room > 0) {
    lines.push_back(fmt::format("... and {} more", running.size() - shown));
  }
  lines.push_back(SweepSummary(runs, seconds_left));
  for (std::string& line : lines) line.resize(std::min(line.size(), columns));
  return lines;
}

std::string AsLiveLine(const std::vector<std::string>& rows) {
  std::string text = fmt::format("{}{}{}", fmt::join(rows, fmt::format("{}\n", kEraseLine)),
                                 kEraseLine, kEraseBelow);
  if (rows.size() > 1) text += fmt::format("\x1b[{}A", rows.size() - 1);
  return text + '\r';
}

void SweepTable::Draw(std::span<const SweepRun> runs, std::optional<double> seconds_left) {
  const TerminalSize size(stream_);
  // Filling the last column or row would scroll.
  DrawLiveLine(stream_, this,
               AsLiveLine(SweepRows(runs, seconds_left, std::max<std::size_t>(size.columns, 2) - 1,
                                    std::max<std::size_t>(size.rows, 2) - 1)));
  drawn_ = true;
}

void SweepTable::Erase() {
  if (!drawn_) return;
  DrawLiveLine(stream_, this, std::string(kEraseBelow));
  EraseLiveLine(this);
  drawn_ = false;
}

}  // namespace stableaa
