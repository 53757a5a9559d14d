// How fast a long piece of work advances, and whether that tells how long it will still take.
//
//   Pace pace({.steady_from = 5000, .pause_intervals = {10'000}}, Now());
//   pace.Add({.seconds = Now(), .done = 12'000, .paused = {1.5}});
//   if (pace.is_known()) left = (total - 12'000) / pace.rate();
//
// Work may begin with a part that says nothing about the rest: training plays at random before it
// learns. It may also pause after every so many units: for an evaluation, a checkpoint. If the
// latest stretch has no pause in it, it looks too fast, and with one too slow. So the rate is that
// of the last ten to twenty seconds of steady work, and each kind of pause is added in proportion,
// as long as the last one was.
#ifndef STABLEAA_BASE_TERMINAL_PACE_H_
#define STABLEAA_BASE_TERMINAL_PACE_H_

#include <cstdint>
#include <vector>

namespace stableaa {

struct PaceOptions {
  std::uint64_t start = 0;                          // done before, at another time
  std::uint64_t steady_from = 0;                    // work up to here says nothing about the rest
  std::vector<std::uint64_t> pause_intervals = {};  // units from one pause to the next, by kind
};

// Not thread-safe.
class Pace {
 public:
  struct Moment {
    double seconds = 0;  // from any origin
    std::uint64_t done = 0;
    std::vector<double> paused = {};  // seconds so far, by kind; none means 0
  };

  Pace(PaceOptions options, double seconds);

  void Add(const Moment& now);

  // Units per second, at the last Add: recently, pauses included in proportion.
  double rate() const { return rate_; }
  // Whether this is the rate of steady work.
  bool is_known() const { return is_known_; }

  // Units per second over all steady work until now, or over all work if none was steady. Pauses
  // count.
  double Average(double seconds, std::uint64_t done) const;

 private:
  struct Mark {
    double seconds = 0;  // without pauses
    std::uint64_t done = 0;
  };

  double Unpaused(const Moment& now) const;
  void AddPauses(const Moment& now);

  const PaceOptions options_;
  bool is_steady_, is_known_;
  double rate_ = 0;
  const Mark start_;
  Moment begin_;  // of the steady part
  Moment last_;
  Mark older_, newer_;                 // the rate is measured since `older_`
  std::vector<double> pause_seconds_;  // per unit, by kind
};

}  // namespace stableaa

#endif  // STABLEAA_BASE_TERMINAL_PACE_H_
