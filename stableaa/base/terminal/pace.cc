#include "stableaa/base/terminal/pace.h"

#include <cstddef>
#include <numeric>
#include <utility>

namespace stableaa {
namespace {

constexpr double kMarkSeconds = 10;  // between two marks
constexpr double kKnownSeconds = 3;  // of steady work after a part that was not

}  // namespace

Pace::Pace(PaceOptions options, double seconds)
    : options_(std::move(options)),
      is_steady_(options_.steady_from == 0 || options_.start > options_.steady_from),
      is_known_(options_.steady_from == 0),
      start_{seconds, options_.start},
      begin_{.seconds = seconds, .done = options_.start},
      last_(begin_),
      older_(start_),
      newer_(start_),
      pause_seconds_(options_.pause_intervals.size()) {}

double Pace::Unpaused(const Moment& now) const {
  return now.seconds - std::accumulate(now.paused.begin(), now.paused.end(), 0.);
}

// The pauses since the last moment took equally long.
void Pace::AddPauses(const Moment& now) {
  for (std::size_t kind = 0; kind < now.paused.size(); ++kind) {
    const std::uint64_t interval = options_.pause_intervals[kind];
    const double seconds = now.paused[kind] - (last_.paused.empty() ? 0 : last_.paused[kind]);
    if (interval == 0 || seconds <= 0 || now.done / interval <= last_.done / interval) continue;
    const std::uint64_t pauses = now.done / interval - last_.done / interval;
    pause_seconds_[kind] = seconds / static_cast<double>(pauses * interval);
  }
}

void Pace::Add(const Moment& now) {
  AddPauses(now);
  const Mark mark = {Unpaused(now), now.done};
  const double seconds = mark.seconds - older_.seconds;
  rate_ = 0;
  if (seconds > 0 && mark.done > older_.done) {
    rate_ = static_cast<double>(mark.done - older_.done) / seconds;
    const double pauses = std::accumulate(pause_seconds_.begin(), pause_seconds_.end(), 0.);
    if (pauses > 0) rate_ = 1 / (1 / rate_ + pauses);
  }
  if (!is_steady_ && now.done > options_.steady_from) {
    is_steady_ = true;
    begin_ = now;
    older_ = newer_ = mark;
  } else if (mark.seconds - newer_.seconds >= kMarkSeconds) {
    older_ = std::exchange(newer_, mark);
  }
  is_known_ = is_known_ || (is_steady_ && mark.seconds - Unpaused(begin_) >= kKnownSeconds);
  last_ = now;
}

double Pace::Average(double seconds, std::uint64_t done) const {
  const bool has_steady = seconds > begin_.seconds && done > begin_.done;
  const Mark since = has_steady ? Mark{begin_.seconds, begin_.done} : start_;
  if (seconds <= since.seconds || done <= since.done) return 0;
  return static_cast<double>(done - since.done) / (seconds - since.seconds);
}

}  // namespace stableaa
