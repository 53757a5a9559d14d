// Shows on stderr how far a long piece of work has come.
//
//   Progress progress({.label = "train", .unit = "steps", .total = 1'000'000});
//   for (...) { ...; progress.Advance(); progress.Note("return 12.5"); }
//   progress.Finish();
//
// On a terminal it is one line, redrawn in place at most ten times a second,
//
//   train  45% |█████████▍           | 450k/1M steps  850/s  10m47s left  return 12.5
//
// which leaves a plain summary line behind. Anywhere else (a file, a pipe, TERM=dumb) it prints a
// plain line at most every ten seconds, and the summary:
//
//   train: 1M steps in 19m36s, 850/s, return 12.5
//
// Without a unit the count is only a fraction of the work, and neither it nor its rate is shown:
//
//   solve  45% |█████████▍           | 12s elapsed  8.3s left  134 sweeps, gap 3.2e-04
//
// Control characters in the label and the note are shown escaped (plain_text.h).
//
// Any thread may call it. Advance costs an atomic addition and a read of a coarse clock, some ten
// nanoseconds, so it is fine in a loop of a million iterations per second.
#ifndef STABLEAA_BASE_TERMINAL_PROGRESS_H_
#define STABLEAA_BASE_TERMINAL_PROGRESS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "stableaa/base/terminal/pace.h"

namespace stableaa {

struct ProgressOptions {
  std::string label;
  std::string unit = "steps";  // empty: the count means nothing to people
  std::uint64_t total = 0;     // 0: unknown, so no percentage and no remaining time
  std::uint64_t start = 0;     // done before this run (when resuming); not part of the rate

  // If work up to here says nothing about the rest (training plays at random before it learns), the
  // rate is measured from here on, and the remaining time is unknown until a few seconds later.
  std::uint64_t steady_from = 0;

  // Work that is done once per `interval` and counts as none: evaluations, checkpoints. It enters
  // the rate in proportion (pace.h). `seconds`: spent on it so far; only asked in Advance and Set.
  struct Pause {
    std::uint64_t interval = 0;  // 0: never
    std::function<double()> seconds = {};
  };
  std::vector<Pause> pauses = {};

  // Redraws from its own thread, for work that has no loop to call from.
  bool by_itself = false;

  enum class Mode { kAuto, kTerminal, kPlain, kSilent };
  Mode mode = Mode::kAuto;  // kAuto asks isatty() and TERM
  std::FILE* stream = stderr;

  // For tests. Columns: 0 asks the terminal before each redraw. Clock: seconds from any origin.
  int columns = 0;
  std::function<double()> clock = {};
};

// True if these options give a line that is redrawn in place.
bool IsOnTerminal(const ProgressOptions& options);

class Progress {
 public:
  explicit Progress(ProgressOptions options);
  // Without Finish (an exception, an early return) the line disappears and no summary is written.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Advance(std::uint64_t count = 1);
  void Set(std::uint64_t done);
  // A short text shown at the end of the line from the next redraw on, such as "gap 1e-3".
  void Note(std::string_view note);
  // Ends the display with the summary. Later calls do nothing.
  void Finish();

 private:
  void RedrawUntil(const std::stop_token& end);
  void ShowIfDue();
  void Show(double now);
  void NoteSteady();
  Pace::Moment MomentOf(double now) const;
  std::string Summary(double now) const;

  const ProgressOptions options_;
  const bool terminal_;
  const double interval_;  // seconds between two displays
  std::atomic<std::uint64_t> done_;
  std::atomic<double> due_;
  std::atomic<std::uint64_t> steady_after_;  // still to be noted; the largest number afterwards
  const double begin_;                       // seconds

  std::mutex mutex_;  // guards the members below
  std::string note_;
  bool finished_ = false;
  Pace pace_;

  std::condition_variable_any woken_;  // by the end, for redraws_
  std::jthread redraws_;
};

// For people: 0.25, 999, 1.2k, 45M, 1.2G.
std::string HumanCount(double count);
// 0.4s, 12s, 3m12s, 5h07m, 2d03h.
std::string HumanDuration(double seconds);

}  // namespace stableaa

#endif  // STABLEAA_BASE_TERMINAL_PROGRESS_H_
