#include "stableaa/base/terminal/progress.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "stableaa/base/terminal/live_line.h"
#include "stableaa/base/text/plain_text.h"

namespace stableaa {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kPlainSeconds = 10;
constexpr std::size_t kMaxBar = 40;
constexpr std::size_t kMinBar = 8;

// The coarse clock ticks every few milliseconds and is read without entering the kernel.
double CoarseSeconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

double Interval(const ProgressOptions& options, bool terminal) {
  if (options.mode == ProgressOptions::Mode::kSilent) {
    return std::numeric_limits<double>::infinity();
  }
  return terminal ? kRedrawSeconds : kPlainSeconds;
}

ProgressOptions Prepared(ProgressOptions options) {
  if (!options.clock) options.clock = CoarseSeconds;
  options.label = PlainText(options.label);
  options.unit = PlainText(options.unit);
  return options;
}

bool NamesUtf8(std::string_view locale) {
  for (const std::string_view spelling : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
    if (locale.find(spelling) != std::string_view::npos) return true;
  }
  return false;
}

// The program may never have called setlocale(), so check the environment too.
bool TerminalIsUtf8() {
  if (NamesUtf8(nl_langinfo(CODESET))) return true;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = Environment(name);
    if (!locale.empty()) return NamesUtf8(locale);
  }
  return false;
}

std::size_t Columns(const ProgressOptions& options) {
  if (options.columns > 0) return static_cast<std::size_t>(options.columns);
  winsize size{};
  const bool known = ioctl(fileno(options.stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), StartsCharacter));
}

// The first `columns` characters.
std::string Cut(std::string_view text, std::size_t columns) {
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (!StartsCharacter(text[i])) continue;
    if (columns == 0) break;
    --columns;
  }
  return std::string(text.substr(0, i));
}

// |████▌   | in eighths of a character, or |####    |.
std::string Bar(double fraction, std::size_t width) {
  static const bool utf8 = TerminalIsUtf8();
  constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const std::size_t steps = utf8 ? 8 : 1;
  const auto filled = static_cast<std::size_t>(fraction * static_cast<double>(width * steps));
  std::string bar;
  for (std::size_t i = 0; i < filled / steps; ++i) bar += utf8 ? "█" : "#";
  bar += kEighths[filled % steps];
  return '|' + bar + std::string(width - Width(bar), ' ') + '|';
}

struct Snapshot {
  std::uint64_t done = 0;
  double rate = 0;
  bool rate_is_known = false;  // and will stay about the same
  double elapsed = 0;
  std::string note;
};

PaceOptions PaceOf(const ProgressOptions& options) {
  PaceOptions pace = {.start = options.start, .steady_from = options.steady_from};
  for (const ProgressOptions::Pause& pause : options.pauses) {
    pace.pause_intervals.push_back(pause.interval);
  }
  return pace;
}

double Fraction(const ProgressOptions& options, std::uint64_t done) {
  return std::min(1.0, static_cast<double>(done) / static_cast<double>(options.total));
}

// Rounded down: 100% means done.
std::string Percentage(const ProgressOptions& options, std::uint64_t done) {
  return fmt::format("{}%", static_cast<int>(100 * Fraction(options, done)));
}

std::string DoneOfTotal(const ProgressOptions& options, std::uint64_t done) {
  const std::string count = HumanCount(static_cast<double>(done));
  if (options.total == 0) return count + ' ' + options.unit;
  return fmt::format("{}/{} {}", count, HumanCount(static_cast<double>(options.total)),
                     options.unit);
}

bool RemainingTimeIsKnown(const ProgressOptions& options, const Snapshot& now) {
  return options.total > 0 && now.done < options.total && now.rate > 0 && now.rate_is_known;
}

std::string RemainingTime(const ProgressOptions& options, const Snapshot& now) {
  if (options.total == 0) return HumanDuration(now.elapsed) + " elapsed";
  if (now.done >= options.total) return HumanDuration(0) + " left";
  if (!RemainingTimeIsKnown(options, now)) return "? left";
  return HumanDuration(static_cast<double>(options.total - now.done) / now.rate) + " left";
}

// Used where the count is not shown.
std::string Times(const ProgressOptions& options, const Snapshot& now, std::string_view separator) {
  std::string times = HumanDuration(now.elapsed) + " elapsed";
  if (RemainingTimeIsKnown(options, now)) {
    times.append(separator) += RemainingTime(options, now);
  }
  return times;
}

std::string PlainLine(const ProgressOptions& options, const Snapshot& now) {
  std::string line = options.label + ": ";
  if (options.total > 0) line += Percentage(options, now.done) + ", ";
  line += options.unit.empty() ? Times(options, now, ", ")
                               : fmt::format("{}, {}/s, {}", DoneOfTotal(options, now.done),
                                             HumanCount(now.rate), RemainingTime(options, now));
  return now.note.empty() ? line : line + ", " + now.note;
}

// What does not fit is dropped in this order: the bar's length, the bar, the end of the line.
std::string LiveLine(const ProgressOptions& options, const Snapshot& now) {
  // A full last column would move the cursor to the next line.
  const std::size_t columns = std::max<std::size_t>(Columns(options), 2) - 1;
  const std::string tail =
      options.unit.empty()
          ? fmt::format(" {}{}{}", Times(options, now, "  "), now.note.empty() ? "" : "  ",
                        now.note)
          : fmt::format(" {}  {}/s  {}{}{}", DoneOfTotal(options, now.done), HumanCount(now.rate),
                        RemainingTime(options, now), now.note.empty() ? "" : "  ", now.note);
  if (options.total == 0) return Cut(options.label + ' ' + tail, columns);
  const std::string head = fmt::format("{} {:>4}", options.label, Percentage(options, now.done));
  const std::size_t used = Width(head) + Width(tail) + 3;
  if (used + kMinBar > columns) return Cut(head + ' ' + tail, columns);
  const std::size_t width = std::min(kMaxBar, columns - used);
  return head + ' ' + Bar(Fraction(options, now.done), width) + tail;
}

}  // namespace

bool IsOnTerminal(const ProgressOptions& options) {
  using Mode = ProgressOptions::Mode;
  if (options.mode != Mode::kAuto) return options.mode == Mode::kTerminal;
  const std::string_view term = Environment("TERM");
  return isatty(fileno(options.stream)) == 1 && !term.empty() && term != "dumb";
}

Progress::Progress(ProgressOptions options)
    : options_(Prepared(std::move(options))),
      terminal_(IsOnTerminal(options_)),
      interval_(Interval(options_, terminal_)),
      done_(options_.start),
      steady_after_(options_.steady_from > 0 && options_.steady_from >= options_.start
                        ? options_.steady_from
                        : std::numeric_limits<std::uint64_t>::max()),
      begin_(options_.clock()),
      pace_(PaceOf(options_), begin_) {
  due_ = begin_ + interval_;
  if (options_.by_itself && options_.mode != ProgressOptions::Mode::kSilent) {
    redraws_ = std::jthread([this](const std::stop_token& end) { RedrawUntil(end); });
  }
}

Progress::~Progress() {
  redraws_ = {};  // joins
  EraseLiveLine(this);
}

void Progress::RedrawUntil(const std::stop_token& end) {
  while (!end.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      woken_.wait_for(lock, end, std::chrono::duration<double>(interval_), [] { return false; });
    }
    ShowIfDue();
  }
}

void Progress::Advance(std::uint64_t count) {
  done_.fetch_add(count, std::memory_order_relaxed);
  ShowIfDue();
}

void Progress::Set(std::uint64_t done) {
  done_.store(done, std::memory_order_relaxed);
  ShowIfDue();
}

void Progress::Note(std::string_view note) {
  const std::lock_guard lock(mutex_);
  note_ = PlainText(note);
}

void Progress::Finish() {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  finished_ = true;
  EraseLiveLine(this);
  if (options_.mode != ProgressOptions::Mode::kSilent) {
    WriteLine(options_.stream, Summary(options_.clock()));
  }
}

void Progress::ShowIfDue() {
  if (done_.load(std::memory_order_relaxed) > steady_after_.load(std::memory_order_relaxed)) {
    NoteSteady();
  }
  const double now = options_.clock();
  double due = due_.load(std::memory_order_relaxed);
  if (now < due) return;
  // If several threads arrive at once, only one draws.
  if (due_.compare_exchange_strong(due, now + interval_)) Show(now);
}

void Progress::Show(double now) {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  const Pace::Moment moment = MomentOf(now);
  pace_.Add(moment);
  const Snapshot snapshot = {moment.done, pace_.rate(), pace_.is_known(), now - begin_, note_};
  if (terminal_) {
    DrawLiveLine(options_.stream, this, LiveLine(options_, snapshot));
  } else {
    WriteLine(options_.stream, PlainLine(options_, snapshot));
  }
}

// The exact moment counts, not that of the next display.
void Progress::NoteSteady() {
  const std::lock_guard lock(mutex_);
  steady_after_.store(std::numeric_limits<std::uint64_t>::max(), std::memory_order_relaxed);
  pace_.Add(MomentOf(options_.clock()));
}

Pace::Moment Progress::MomentOf(double now) const {
  Pace::Moment moment = {.seconds = now, .done = done_.load(std::memory_order_relaxed)};
  for (const ProgressOptions::Pause& pause : options_.pauses) {
    moment.paused.push_back(pause.seconds());
  }
  return moment;
}

std::string Progress::Summary(double now) const {
  const std::uint64_t done = done_.load(std::memory_order_relaxed);
  const double seconds = now - begin_;
  if (options_.unit.empty()) {
    const std::string line = fmt::format("{}: {}", options_.label, HumanDuration(seconds));
    return note_.empty() ? line : line + ", " + note_;
  }
  std::string line =
      fmt::format("{}: {} {} in {}", options_.label, HumanCount(static_cast<double>(done)),
                  options_.unit, HumanDuration(seconds));
  if (seconds > 0 && done >= options_.start) {
    line += fmt::format(", {}/s", HumanCount(pace_.Average(now, done)));
  }
  return note_.empty() ? line : line + ", " + note_;
}

std::string HumanCount(double count) {
  if (count > 0 && count < 0.95) return fmt::format("{:.2g}", count);
  constexpr std::string_view kSuffix[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t thousands = 0;
  // 999.5 would print as 1000.
  while (count >= 999.5 && thousands + 1 < std::size(kSuffix)) {
    count /= 1000;
    ++thousands;
  }
  std::string digits = fmt::format("{:.{}f}", count, count < 9.95 ? 1 : 0);
  if (digits.ends_with(".0")) digits.resize(digits.size() - 2);
  return digits.append(kSuffix[thousands]);
}

std::string HumanDuration(double seconds) {
  if (!(seconds < 1e9)) return "ages";
  if (seconds < 9.95) return fmt::format("{:.1f}s", std::max(seconds, 0.0));
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  const std::int64_t minutes = whole / 60;
  const std::int64_t hours = minutes / 60;
  if (minutes == 0) return fmt::format("{}s", whole);
  if (hours == 0) return fmt::format("{}m{:02}s", minutes, whole % 60);
  if (hours < 24) return fmt::format("{}h{:02}m", hours, minutes % 60);
  return fmt::format("{}d{:02}h", hours / 24, hours % 24);
}

}  // namespace stableaa
