// A sweep on the terminal: a line per running run and a summary below, redrawn in place.
//
//   minatar-breakout-stable-aa-1   45%   812/s  eval 3.2
//   minatar-breakout-raa-1         12%   903/s
//   12 of 45 done, 2 running, 31 left  1h12m left
//
// It is a live line (base/terminal/live_line.h) with several rows: messages go above it.
#ifndef STABLEAA_EXPERIMENT_SWEEP_TABLE_H_
#define STABLEAA_EXPERIMENT_SWEEP_TABLE_H_

#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stableaa/experiment/sweep/status.h"

namespace stableaa {

// "12 of 45 done, 1 failed, 2 running, 30 left". `seconds_left` is for all of them.
std::string SweepSummary(std::span<const SweepRun> runs, std::optional<double> seconds_left);

// At most `rows` lines, each at most `columns` wide; the last one is the summary.
std::vector<std::string> SweepRows(std::span<const SweepRun> runs,
                                   std::optional<double> seconds_left, std::size_t columns,
                                   std::size_t rows);

// The lines as DrawLiveLine expects them: the cursor is left where the first line begins, so that
// erasing a line and writing another in its place moves all of them down.
std::string AsLiveLine(const std::vector<std::string>& rows);

class SweepTable {
 public:
  explicit SweepTable(std::FILE* stream = stderr) : stream_(stream) {}
  ~SweepTable() { Erase(); }
  SweepTable(const SweepTable&) = delete;
  SweepTable& operator=(const SweepTable&) = delete;

  void Draw(std::span<const SweepRun> runs, std::optional<double> seconds_left);
  void Erase();

 private:
  std::FILE* stream_;
  bool drawn_ = false;
};

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SWEEP_TABLE_H_
