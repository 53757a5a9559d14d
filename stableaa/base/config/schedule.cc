#include "stableaa/base/config/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <variant>

#include "stableaa/base/config/toml_values.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/base/text/whole_number.h"
#include "stableaa/core/error.h"
#include "stableaa/core/option_table.h"

namespace stableaa {
namespace {

using Kind = Schedule::Kind;
using Point = Schedule::Point;

constexpr std::int64_t kLastStep = std::int64_t{1} << 40;

struct Form {
  Kind kind;
  std::string_view name, arguments;
};

constexpr std::array<Form, 4> kForms = {{
    {Kind::kLinear, "linear", "FROM, TO, STEPS"},
    {Kind::kCosine, "cosine", "FROM, TO, STEPS"},
    {Kind::kExponential, "exponential", "FROM, TO, STEPS"},
    {Kind::kSteps, "steps", "VALUE, STEP: VALUE, ..."},
}};

// The parts between separators, without blanks around them.
std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(Trim(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

double ReadValue(std::string_view text) {
  const TomlValue value = ReadOverride(text, false, false);
  double number = std::numeric_limits<double>::quiet_NaN();
  if (const auto* real = std::get_if<double>(&value.is)) number = *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value.is)) {
    number = static_cast<double>(*whole);
  }
  if (const auto* large = std::get_if<std::uint64_t>(&value.is)) {
    number = static_cast<double>(*large);
  }
  if (!std::isfinite(number)) {
    throw BadInput(fmt::format("expected a number, found '{}'", Shorten(text)));
  }
  return number;
}

// A step after `former`.
std::int64_t ReadStep(std::string_view text, std::int64_t former) {
  const std::optional<WholeNumber> number = ReadWholeNumber(text);
  const auto* step = number ? std::get_if<std::int64_t>(&*number) : nullptr;
  if (step == nullptr || *step <= former || *step > kLastStep) {
    throw BadInput(
        fmt::format("expected a whole number of steps above {}, at most 2^40, found '{}'", former,
                    Shorten(text)));
  }
  return *step;
}

Error WrongArguments(const Form& form, std::string_view text) {
  return BadInput(
      fmt::format("expected {}({}), found '{}'", form.name, form.arguments, Shorten(text)));
}

std::vector<Point> ReadPoints(const Form& form, std::string_view arguments, std::string_view text) {
  const std::vector<std::string_view> parts = Split(arguments, ',');
  std::vector<Point> points = {{0, ReadValue(parts[0])}};
  if (form.kind != Kind::kSteps) {
    if (parts.size() != 3) throw WrongArguments(form, text);
    points.push_back({ReadStep(parts[2], 0), ReadValue(parts[1])});
    return points;
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::vector<std::string_view> pair = Split(parts[i], ':');
    if (pair.size() != 2) throw WrongArguments(form, text);
    points.push_back({ReadStep(pair[0], points.back().step), ReadValue(pair[1])});
  }
  return points;
}

void RequirePositive(std::span<const Point> points) {
  for (const auto& [step, value] : points) {
    if (value > 0) continue;
    throw BadInput(fmt::format("exponential: expected values above 0, found {} at step {}",
                               RealLiteral(value), step));
  }
}

}  // namespace

Schedule Schedule::Parse(std::string_view text) {
  text = Trim(text);
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) {
    try {
      return ReadValue(text);
    } catch (const Error&) {
      throw BadInput(
          fmt::format("expected a number or a schedule such as linear(1e-3, 1e-5, 1e6), found '{}'",
                      Shorten(text)));
    }
  }
  const std::string_view name = Trim(text.substr(0, open));
  const auto form = std::ranges::find(kForms, name, &Form::name);
  if (form == kForms.end()) {
    throw BadInput(
        fmt::format("expected a number or linear(...), cosine(...), exponential(...) or "
                    "steps(...), found '{}'",
                    Shorten(text)));
  }
  if (!text.ends_with(')')) throw WrongArguments(*form, text);
  const std::string_view arguments = text.substr(open + 1, text.size() - open - 2);
  Schedule schedule(form->kind, ReadPoints(*form, arguments, text));
  if (form->kind == Kind::kExponential) RequirePositive(schedule.points_);
  return schedule;
}

double Schedule::At(std::int64_t step) const {
  if (kind_ == Kind::kSteps) {
    const auto next = std::ranges::upper_bound(points_, step, {}, &Point::step);
    return next == points_.begin() ? points_.front().value : (next - 1)->value;
  }
  const auto& [last, to] = points_.back();
  if (step >= last) return to;
  const double from = points_.front().value;
  if (step <= 0) return from;
  const double share = static_cast<double>(step) / static_cast<double>(last);
  switch (kind_) {
    case Kind::kCosine:
      return std::lerp(from, to, (1 - std::cos(std::numbers::pi * share)) / 2);
    case Kind::kExponential: {
      // By logarithms, because TO/FROM may overflow. Rounding must not leave the range.
      const double value = std::exp(std::lerp(std::log(from), std::log(to), share));
      return std::clamp(value, std::min(from, to), std::max(from, to));
    }
    default:
      return std::lerp(from, to, share);
  }
}

bool Schedule::is_zero() const {
  return std::ranges::all_of(points_, [](const Point& point) { return point.value == 0; });
}

std::string Schedule::Text() const {
  std::string first = RealLiteral(points_.front().value);
  if (kind_ == Kind::kConstant) return first;
  const auto form = std::ranges::find(kForms, kind_, &Form::kind);
  if (kind_ != Kind::kSteps) {
    return fmt::format("{}({}, {}, {})", form->name, first, RealLiteral(points_.back().value),
                       points_.back().step);
  }
  std::string text = fmt::format("{}({}", form->name, first);
  for (std::size_t i = 1; i < points_.size(); ++i) {
    text += fmt::format(", {}: {}", points_[i].step, RealLiteral(points_[i].value));
  }
  return text + ')';
}

std::string_view ScheduleForms() {
  return "A schedule is a number, or one of these; steps are those of the environment, from 0:\n"
         "    linear(FROM, TO, STEPS)         in a straight line, constant after STEPS\n"
         "    cosine(FROM, TO, STEPS)         the same by half a cosine\n"
         "    exponential(FROM, TO, STEPS)    the same by a constant factor per step\n"
         "    steps(VALUE, STEP: VALUE, ...)  other values from these steps on\n";
}

}  // namespace stableaa
