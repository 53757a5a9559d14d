// A number that may change in the course of training: a learning rate, an exploration rate, a
// damping. It is a function of the run's step, counted in steps of the environment from 0.
//
//   0.001                                  the same in all steps
//   linear(1e-3, 1e-5, 1e6)                from, to, over so many steps; constant from then on
//   cosine(1e-3, 0, 1e6)                   the same by half a cosine: slow, fast, slow
//   exponential(1, 0.05, 1e5)              the same by a constant factor per step; both above 0
//   steps(1e-3, 1e5: 3e-4, 5e5: 1e-4)      a value, and others from these steps on
//
// With x = step / STEPS in [0, 1]: linear is FROM + (TO − FROM) x, cosine FROM + (TO − FROM)
// (1 − cos πx)/2, exponential FROM (TO/FROM)^x.
#ifndef STABLEAA_BASE_CONFIG_SCHEDULE_H_
#define STABLEAA_BASE_CONFIG_SCHEDULE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stableaa {

class Schedule {
 public:
  enum class Kind { kConstant, kLinear, kCosine, kExponential, kSteps };

  struct Point {
    std::int64_t step = 0;
    double value = 0;

    bool operator==(const Point&) const = default;
  };

  // Every number is a schedule. NOLINTNEXTLINE(google-explicit-constructor)
  Schedule(double value = 0) : points_{{0, value}} {}

  // Reads the text form, with optional blanks and numbers as everywhere in a configuration. Throws
  // BadInput that says what was expected and found.
  static Schedule Parse(std::string_view text);

  // The value in step `step`, at least 0. Does not allocate.
  double At(std::int64_t step) const;

  // The step where each part begins or ends, and its value. Between them no value is smaller than
  // the smallest of these or larger than the largest.
  std::span<const Point> points() const { return points_; }
  Kind kind() const { return kind_; }
  // Whether it is 0 in all steps.
  bool is_zero() const;

  // The text form; Parse reads back exactly the same schedule.
  std::string Text() const;

  bool operator==(const Schedule&) const = default;

 private:
  Schedule(Kind kind, std::vector<Point> points) : kind_(kind), points_(std::move(points)) {}

  Kind kind_ = Kind::kConstant;
  std::vector<Point> points_;  // never empty, steps increasing from 0
};

// The forms and their meanings, a few lines for people.
std::string_view ScheduleForms();

}  // namespace stableaa

#endif  // STABLEAA_BASE_CONFIG_SCHEDULE_H_
