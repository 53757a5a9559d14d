// Configuration from arbitrary bytes: either a BadInput, or values that survive a round trip
// through ToToml. The first byte chooses between a file (even) and an override (odd).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/accepts.h"
#include "stableaa/base/config/config.h"
#include "stableaa/base/config/schedule.h"

namespace stableaa {
namespace {

enum class Color { kRed, kGreen };

struct Options {
  bool flag = false;
  int small = 0;
  std::int64_t large = 0;
  std::uint64_t seed = 0;
  double real = 1;
  double any = 0;
  Schedule rate = 0.5;
  std::optional<Schedule> epsilon;
  std::string text;
  std::vector<double> reals;
  std::vector<std::string> texts;
  std::string table = "{}";
  Color color = Color::kRed;
};

void Describe(Config& config, Options& options) {
  config.Bool("flag", &options.flag, "");
  config.Int("a.small", &options.small, {-5, 5}, "");
  config.Int("a.large", &options.large, {}, "");
  config.Int("seed", &options.seed, {}, "");
  config.Real("a.b.real", &options.real, {.above = 0, .at_most = 2}, "");
  config.Real("any", &options.any, {.infinite = true}, "");
  config.Scheduled("a.rate", &options.rate, {.at_least = 0, .at_most = 1}, "");
  config.Scheduled("epsilon", &options.epsilon, {}, "");
  config.Text("text", &options.text, "");
  config.List("a.reals", &options.reals, {}, "");
  config.List("texts", &options.texts, "");
  config.Table("a.table", &options.table, "");
  config.Choice("color", &options.color, {{"red", Color::kRed}, {"green", Color::kGreen}}, "");
}

// No value lies outside those at the points, in any step.
void RequireWithinPoints(const Schedule& schedule) {
  double low = schedule.points()[0].value, high = low;
  for (const auto& [step, value] : schedule.points()) {
    low = std::min(low, value);
    high = std::max(high, value);
    Require(schedule.At(step) == value);
  }
  const std::int64_t last = schedule.points().back().step;
  for (const std::int64_t step : {std::int64_t{1}, last / 3, last / 2, last - 1, last + 1}) {
    const double value = schedule.At(std::max<std::int64_t>(step, 0));
    Require(std::isfinite(value) && value >= low && value <= high);
  }
}

void Try(std::string_view text, bool as_override) {
  Options options;
  options.table = R"({"former":[1,{"x":true}]})";  // overrides change its members
  Config config;
  Describe(config, options);
  const std::string before = config.ToToml();
  const bool accepted = Accepts([&] {
    if (as_override) {
      config.Set(text);
    } else {
      config.LoadText(text, "fuzz.toml");
    }
  });
  if (!accepted) {
    Require(config.ToToml() == before);
    return;
  }
  Options again;
  Config reader;
  Describe(reader, again);
  reader.LoadText(config.ToToml(), "again.toml");
  Require(reader.ToToml() == config.ToToml());
  // As the struct's own check sees it.
  Options copy = options;
  Config checker;
  Describe(checker, copy);
  Require(checker.ToToml() == config.ToToml());
  RequireWithinPoints(options.rate);
  if (options.epsilon) RequireWithinPoints(*options.epsilon);
  for (const ConfigKey& key : config.Keys()) reader.Set(key.key + "=" + key.value);
  Require(reader.ToToml() == config.ToToml());
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  stableaa::Try(text, data[0] % 2 == 1);
  return 0;
}
