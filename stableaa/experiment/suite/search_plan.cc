#include "stableaa/experiment/suite/search_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "stableaa/base/config/config.h"
#include "stableaa/base/text/nearest_name.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {
namespace {

constexpr std::int64_t kMostDraws = 10'000;
constexpr std::int64_t kMostRungs = 20;
constexpr std::int64_t kLargestFactor = 100;
constexpr std::size_t kTriesPerDraw = 100;  // for points that differ from all before

// As many keys as there are.
constexpr std::array<std::uint64_t, 32> kPrimes = {2,  3,  5,  7,   11,  13,  17,  19,  23,  29, 31,
                                                   37, 41, 43, 47,  53,  59,  61,  67,  71,  73, 79,
                                                   83, 89, 97, 101, 103, 107, 109, 113, 127, 131};

[[noreturn]] void RefuseAt(const std::string& place, const std::string& message) {
  throw BadInput(fmt::format("{}: {}", place, message));
}

[[noreturn]] void RefuseTypeAt(const std::string& place, const std::string& key,
                               const std::string& wants, const TomlValue& value) {
  RefuseAt(place, fmt::format("{} wants {}, found {}", key, wants, WhatIs(value)));
}

std::int64_t WholeIn(const std::string& place, const std::string& key, const TomlValue& value,
                     std::int64_t low, std::int64_t high) {
  const TomlValue number = WholeRealToInteger(value);
  const auto* whole = std::get_if<std::int64_t>(&number.is);
  if (whole == nullptr || *whole < low || *whole > high) {
    RefuseTypeAt(place, key, fmt::format("an integer in [{}, {}]", low, high), value);
  }
  return *whole;
}

std::optional<double> FiniteNumber(const TomlValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.is)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value.is);
  return real != nullptr && std::isfinite(*real) ? std::optional(*real) : std::nullopt;
}

std::string Unknown(const std::string& key, const std::vector<std::string>& known,
                    std::string_view kind, std::string_view where) {
  const std::string suggestion = DidYouMean(key, known);
  return fmt::format(
      "unknown {} '{}'{}", kind, Shorten(key),
      suggestion.empty() ? fmt::format("; {} {}", where, fmt::join(known, ", ")) : suggestion);
}

// ---- Which keys may vary ----

// Empty if it may, else the reason why not.
std::string WhyFixed(const std::string& key) {
  static const std::map<std::string, std::string> kReasons = {
      {"train.seed", "seeds says it"},
      {"train.steps", "stop.steps says it, and the rungs"},
      {"train.threads", "it has no effect on results"},
      {"train.env", "it can be an axis"},
      {"train.preset", "it can be an axis"},
      {"train.log_interval_steps", "it has no effect on results"},
      {"checkpoint.interval_steps", "it has no effect on results"},
      {"checkpoint.keep_weights", "it has no effect on results"},
      {"env.python", "it has no effect on results"},
      {"env.workers", "it has no effect on results"},
      {"env.timeout_seconds", "it has no effect on results"}};
  if (const auto reason = kReasons.find(key); reason != kReasons.end()) return reason->second;
  return key.starts_with("eval.") ? "draws are judged by equal evaluations" : "";
}

// BadInput, as Config has it, for an unknown key or a value that it cannot have.
void CheckValue(const std::string& key, const TomlValue& value, const std::string& place) {
  RunOptions options;
  Config config;
  Describe(config, options);
  config.Apply(ConfigSource::FromValue(key, value, place));
}

// Nothing for an unknown key. "member" for one below a free-form table.
std::optional<std::string> TypeOf(const std::string& key) {
  for (const ConfigKey& known : AllKeys({})) {
    if (known.key == key) return known.type;
    if (known.type == "table" && key.starts_with(known.key + '.')) return "member";
  }
  return std::nullopt;
}

// ---- Points ----

// A Halton sequence in one base.
class ScrambledSequence {
 public:
  ScrambledSequence(std::uint64_t base, std::uint64_t seed, const std::string& key) : base_(base) {
    for (double place = 1; place > 0x1p-53; place /= static_cast<double>(base)) {
      std::vector<std::uint64_t>& digits = permuted_.emplace_back(base);
      for (std::uint64_t i = 0; i < base; ++i) digits[i] = i;
      RandomStream random(seed, fmt::format("search, digit {} of {}", permuted_.size(), key));
      for (std::uint64_t i = base; i > 1; --i) std::swap(digits[i - 1], digits[random.Below(i)]);
    }
  }

  // In [0, 1). Zeros beyond the number's own digits are permuted too.
  double At(std::uint64_t number) const {
    double sum = 0, place = 1;
    for (const std::vector<std::uint64_t>& digits : permuted_) {
      place /= static_cast<double>(base_);
      sum += static_cast<double>(digits[number % base_]) * place;
      number /= base_;
    }
    return std::min(sum, std::nextafter(1., 0.));
  }

 private:
  std::uint64_t base_;
  std::vector<std::vector<std::uint64_t>> permuted_;  // by digit, the first after the point first
};

// How many values it can take, at most.
double ValueCount(const SearchKey& key) {
  if (key.scale != SearchKey::Scale::kChoice) {
    if (key.low == key.high) return 1;
    return key.is_whole ? key.high - key.low + 1 : std::numeric_limits<double>::infinity();
  }
  std::set<std::string> values;
  for (const TomlValue& value : key.values) values.insert(ShortLiteral(value));
  return static_cast<double>(values.size());
}

std::string RangeText(const SearchKey& key) {
  if (key.scale != SearchKey::Scale::kChoice) {
    return fmt::format("{} to {}{}", key.low, key.high,
                       key.scale == SearchKey::Scale::kLog ? ", log" : "");
  }
  std::vector<std::string> values;
  for (const TomlValue& value : key.values) values.push_back(ShortLiteral(value));
  return fmt::format("{}", fmt::join(values, ", "));
}

}  // namespace

TomlValue SearchKey::At(double u) const {
  if (scale == Scale::kChoice) {
    const auto count = static_cast<double>(values.size());
    return values[std::min(values.size() - 1, static_cast<std::size_t>(u * count))];
  }
  // Whole numbers are equally likely, or fill equal parts of the logarithmic scale.
  const double above = is_whole ? high + 1 : high;
  const double value = scale == Scale::kLog
                           ? std::exp(std::log(low) + u * (std::log(above) - std::log(low)))
                           : low + u * (above - low);
  if (is_whole) return {static_cast<std::int64_t>(std::clamp(std::floor(value), low, high))};
  // Few digits are easier to read and the same with every libm.
  return {std::clamp(std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr), low, high)};
}

std::size_t SearchPlan::Kept(std::size_t draws_now) const {
  const std::size_t factor = halving ? static_cast<std::size_t>(halving->factor) : 1;
  return std::max<std::size_t>(1, draws_now / factor);
}

std::vector<std::vector<TomlValue>> DrawPoints(const SearchPlan& plan) {
  const auto refuse = [&plan](double count) {
    RefuseAt(plan.place, fmt::format("search.draws: expected at most the {} different points of "
                                     "search.ranges, found {}",
                                     count, plan.draws));
  };
  double count = 1;
  std::vector<ScrambledSequence> sequences;
  for (std::size_t k = 0; k < plan.keys.size(); ++k) {
    count *= ValueCount(plan.keys[k]);
    sequences.emplace_back(kPrimes[k], plan.seed, plan.keys[k].key);
  }
  if (count < static_cast<double>(plan.draws)) refuse(count);

  std::vector<std::vector<TomlValue>> points;
  std::set<std::string> seen;
  for (std::uint64_t number = 1; points.size() < plan.draws; ++number) {
    if (number > kTriesPerDraw * (plan.draws + 10)) refuse(static_cast<double>(points.size()));
    std::vector<TomlValue> point;
    std::string text;
    for (std::size_t k = 0; k < plan.keys.size(); ++k) {
      const SearchKey& key = plan.keys[k];
      const std::string stream = fmt::format("search, point {} of {}", number, key.key);
      point.push_back(key.At(plan.method == SearchPlan::Method::kHalton
                                 ? sequences[k].At(number)
                                 : RandomStream(plan.seed, stream).Uniform()));
      text += ShortLiteral(point.back()) + '\n';
    }
    if (seen.insert(text).second) points.push_back(std::move(point));
  }
  return points;
}

void SetRungs(SearchPlan& plan, std::int64_t steps) {
  plan.rung_steps = {steps};
  if (!plan.halving) return;
  const SearchHalving& halving = *plan.halving;
  if (halving.first_steps) {
    plan.rung_steps.clear();
    for (std::int64_t rung = *halving.first_steps; rung < steps; rung *= halving.factor) {
      plan.rung_steps.push_back(rung);
    }
    plan.rung_steps.push_back(steps);
    if (plan.rung_steps.size() < 2) {
      RefuseAt(halving.place, fmt::format("search.halving.first_steps: expected less than the {} "
                                          "steps of the runs, found {}",
                                          steps, *halving.first_steps));
    }
  } else {
    for (std::int64_t rung = 1; rung < *halving.rungs; ++rung) {
      const std::int64_t next = plan.rung_steps.front();
      plan.rung_steps.insert(plan.rung_steps.begin(), (next + halving.factor - 1) / halving.factor);
      if (plan.rung_steps.front() >= next) {
        RefuseAt(halving.place, fmt::format("search.halving: {} rungs by a factor of {} do not fit "
                                            "into {} steps",
                                            *halving.rungs, halving.factor, steps));
      }
    }
  }
  std::size_t least = 1;
  for (std::size_t rung = 1; rung < plan.rung_steps.size(); ++rung) {
    least *= static_cast<std::size_t>(halving.factor);
    if (least <= plan.draws) continue;
    RefuseAt(halving.place,
             fmt::format("search.halving: {} rungs by a factor of {} want more draws than {}",
                         plan.rung_steps.size(), halving.factor, plan.draws));
  }
}

std::vector<std::string> SearchLines(const SearchPlan& plan) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{:<24}  {} draws, {}, seed {}", "search", plan.draws,
                              plan.method == SearchPlan::Method::kHalton ? "halton" : "random",
                              plan.seed));
  for (const SearchKey& key : plan.keys) {
    lines.push_back(fmt::format("{:<24}  {}", key.key, Shorten(RangeText(key), 200)));
  }
  if (!plan.halving) return lines;
  std::vector<std::string> rungs;
  std::size_t draws = plan.draws;
  for (const std::int64_t steps : plan.rung_steps) {
    rungs.push_back(fmt::format("{} to step {}", draws, steps));
    draws = plan.Kept(draws);
  }
  lines.push_back(fmt::format("{:<24}  {}", "draws by rung", fmt::join(rungs, ", ")));
  return lines;
}

// ---- Reading ----

void SearchReader::Take(const std::string& key, const TomlValue& value, const std::string& place) {
  place_ = place;
  if (!plan_) plan_.emplace().place = place;
  const std::vector<std::string> parts = SplitKey(key);
  const bool is_table = std::holds_alternative<TomlValue::Table>(value.is);
  if (parts.size() == 1 || (parts.size() == 2 && (parts[1] == "halving" || parts[1] == "ranges"))) {
    if (!is_table) RefuseTypeAt(place_, key, "a table", value);
    if (parts.size() == 2 && parts[1] == "halving") plan_->halving.emplace().place = place_;
  } else if (parts[1] == "ranges") {
    TakeRange({parts.begin() + 2, parts.end()}, value);
  } else if (parts[1] == "halving" && parts.size() == 3) {
    TakeHalving(parts[2], value);
  } else {
    TakeHead(key.substr(key.find('.') + 1), value);
  }
}

void SearchReader::TakeHead(const std::string& name, const TomlValue& value) {
  const std::string key = "search." + name;
  if (name == "method") {
    const auto* text = std::get_if<std::string>(&value.is);
    if (text == nullptr || (*text != "random" && *text != "halton")) {
      RefuseTypeAt(place_, key, "\"random\" or \"halton\"", value);
    }
    plan_->method = *text == "random" ? SearchPlan::Method::kRandom : SearchPlan::Method::kHalton;
  } else if (name == "draws") {
    plan_->draws = static_cast<std::size_t>(WholeIn(place_, key, value, 1, kMostDraws));
  } else if (name == "seed") {
    plan_->seed = static_cast<std::uint64_t>(
        WholeIn(place_, key, value, 0, std::numeric_limits<std::int64_t>::max()));
  } else {
    RefuseAt(place_, Unknown(key,
                             {"search.method", "search.draws", "search.seed", "search.halving",
                              "search.ranges"},
                             "key", "[search] has"));
  }
}

void SearchReader::TakeHalving(const std::string& name, const TomlValue& value) {
  if (!plan_->halving) plan_->halving.emplace().place = place_;
  SearchHalving& halving = *plan_->halving;
  const std::string key = "search.halving." + name;
  if (name == "rungs") {
    halving.rungs = WholeIn(place_, key, value, 2, kMostRungs);
  } else if (name == "first_steps") {
    halving.first_steps = WholeIn(place_, key, value, 1, std::int64_t{1} << 40);
  } else if (name == "factor") {
    halving.factor = WholeIn(place_, key, value, 2, kLargestFactor);
  } else {
    RefuseAt(place_,
             Unknown(name, {"rungs", "first_steps", "factor"}, "field", "search.halving has"));
  }
}

void SearchReader::TakeRange(const std::vector<std::string>& path, const TomlValue& value) {
  const std::vector<std::string> fields = {"low", "high", "scale", "values"};
  const std::string whole = fmt::format("{}", fmt::join(path, "."));
  const std::string above =
      whole.substr(0, whole.size() - path.back().size() - (path.size() > 1 ? 1 : 0));
  const bool is_field = path.size() > 1 && std::ranges::find(fields, path.back()) != fields.end();
  if (!is_field) {
    if (TypeOf(above).value_or("member") != "member") {
      RefuseAt(place_, Unknown(path.back(), fields, "field", above + " has"));
    }
    if (!TypeOf(whole)) CheckValue(whole, value, place_);  // says what is wrong with the key
    RefuseTypeAt(place_, "search.ranges." + Shorten(whole),
                 "{ low = ..., high = ... } or { values = [...] }", value);
  }
  auto range = std::ranges::find_if(ranges_, [&](const auto& r) { return r.first == above; });
  if (range == ranges_.end()) range = ranges_.insert(ranges_.end(), {above, {place_, {}}});
  if (!range->second.fields.try_emplace(path.back(), value).second) {
    RefuseAt(place_, fmt::format("{} of {} stands in {} already", path.back(), Shorten(above),
                                 range->second.place));
  }
}

SearchKey SearchReader::FinishKey(const std::string& key) const {
  const auto found = std::ranges::find_if(ranges_, [&](const auto& r) { return r.first == key; });
  const Range& range = found->second;
  const std::string name = "search.ranges." + Shorten(key);
  const auto field = [&](const char* of) -> const TomlValue* {
    const auto given = range.fields.find(of);
    return given == range.fields.end() ? nullptr : &given->second;
  };
  SearchKey search{.key = key, .place = range.place};
  const std::optional<std::string> type = TypeOf(key);
  if (!type) CheckValue(key, range.fields.begin()->second, range.place);
  if (const std::string why = WhyFixed(key); !why.empty()) {
    RefuseAt(range.place, fmt::format("{} cannot be searched: {}", key, why));
  }
  const TomlValue *low = field("low"), *high = field("high"), *scale = field("scale"),
                  *values = field("values");
  if (values != nullptr) {
    if (range.fields.size() > 1) {
      RefuseAt(range.place, fmt::format("{} has values and so no low, high or scale", name));
    }
    const auto* list = std::get_if<TomlValue::List>(&values->is);
    if (list == nullptr || list->empty()) {
      RefuseTypeAt(range.place, name + ".values", "a list of at least one value", *values);
    }
    search.scale = SearchKey::Scale::kChoice;
    search.values = *list;
    for (const TomlValue& value : *list) CheckValue(key, value, range.place);
    return search;
  }
  if (type != "integer" && type != "real" && type != "schedule" && type != "member") {
    RefuseAt(range.place, fmt::format("{} is a {}: expected {{ values = [...] }}", key, *type));
  }
  if (low == nullptr || high == nullptr) {
    RefuseAt(range.place, fmt::format("{} wants low and high, or values", name));
  }
  for (const TomlValue* end : {low, high}) {
    if (!FiniteNumber(*end)) RefuseTypeAt(range.place, name, "numbers for low and high", *end);
    CheckValue(key, *end, range.place);
  }
  search.low = *FiniteNumber(*low);
  search.high = *FiniteNumber(*high);
  search.is_whole =
      type == "integer" || (type == "member" && std::holds_alternative<std::int64_t>(low->is) &&
                            std::holds_alternative<std::int64_t>(high->is));
  if (search.low > search.high) {
    RefuseAt(range.place, fmt::format("{}: expected low at most high, found {} and {}", name,
                                      search.low, search.high));
  }
  if (search.is_whole && std::max(-search.low, search.high) >= kInexactReals) {
    RefuseAt(range.place, fmt::format("{}: expected whole numbers below 2^53", name));
  }
  if (!std::isfinite(search.high - search.low)) {
    RefuseAt(range.place, fmt::format("{}: expected a range of finite width", name));
  }
  if (scale != nullptr) {
    const auto* text = std::get_if<std::string>(&scale->is);
    if (text == nullptr || (*text != "log" && *text != "linear")) {
      RefuseTypeAt(range.place, name + ".scale", "\"linear\" or \"log\"", *scale);
    }
    if (*text == "log") search.scale = SearchKey::Scale::kLog;
  }
  if (search.scale == SearchKey::Scale::kLog && search.low <= 0) {
    RefuseAt(range.place,
             fmt::format("{}: a log scale wants low above 0, found {}", name, search.low));
  }
  return search;
}

std::optional<SearchPlan> SearchReader::Finish() {
  if (!plan_) return std::nullopt;
  if (ranges_.empty()) {
    RefuseAt(plan_->place, "search.ranges: expected at least one key, found none");
  }
  if (ranges_.size() > kPrimes.size()) {
    RefuseAt(plan_->place, fmt::format("search.ranges: expected at most {} keys, found {}",
                                       kPrimes.size(), ranges_.size()));
  }
  for (const auto& [key, range] : ranges_) plan_->keys.push_back(FinishKey(key));
  if (const auto& halving = plan_->halving) {
    if (halving->rungs.has_value() == halving->first_steps.has_value()) {
      RefuseAt(halving->place, fmt::format("search.halving wants rungs or first_steps, found {}",
                                           halving->rungs ? "both" : "neither"));
    }
    if (plan_->draws < static_cast<std::size_t>(halving->factor)) {
      RefuseAt(halving->place,
               fmt::format("search.halving.factor = {} wants at least so many draws, found {}",
                           halving->factor, plan_->draws));
    }
  }
  return std::move(plan_);
}

}  // namespace stableaa
