#include "stableaa/base/config/config.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "stableaa/base/config/config_options_test.h"

namespace stableaa::config_text_test {

using config_test::Describe;
using config_test::Options;
using config_test::WeightRule;

TEST(ConfigToToml, GroupsTheKeysInTablesWithMeaningAndRange) {
  Config config;
  int memory = 5;
  std::string python = "a\"b";
  double eta = 1e-10;
  std::uint64_t seed = 3;
  config.Int("anderson.memory", &memory, {0, 100}, "Differences in the window.");
  config.Text("env.python", &python, "Interpreter.");
  config.Real("anderson.eta", &eta, {.at_least = 0}, "Size of the ridge.");
  config.Int("seed", &seed, {0, 9}, "Randomness.");
  EXPECT_EQ(config.ToToml(), R"(# Randomness. [0, 9]
seed = 3

[anderson]
# Differences in the window. [0, 100]
memory = 5
# Size of the ridge. [0, inf)
eta = 1e-10

[env]
# Interpreter.
python = "a\"b"
)");
  EXPECT_EQ(config.ToToml(false),
            "seed = 3\n\n[anderson]\nmemory = 5\neta = 1e-10\n\n[env]\npython = \"a\\\"b\"\n");
}

TEST(ConfigToToml, WrapsLongMeanings) {
  Config config;
  bool on = true;
  std::string meaning;
  for (int i = 0; i < 100; ++i) meaning += "word\n";
  config.Bool("on", &on, meaning);
  std::istringstream lines(config.ToToml());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u);
}

// Values of any bit pattern: denormals, huge values and both zeros.
double AnyReal(std::mt19937_64& random) {
  constexpr double kSpecial[] = {0.0,     -0.0,   5e-324, -5e-324, 2.2250738585072011e-308,
                                 1.7e308, 1e-310, 1e22,   0.1,     123456789012345680.0};
  if (random() % 4 == 0) return kSpecial[random() % std::size(kSpecial)];
  return std::bit_cast<double>(random());
}

std::string AnyText(std::mt19937_64& random) {
  const std::string pieces[] = {"\"",     "\\",     "\n",   "\r\n", "\t",   "'", "'''",
                                "\"\"\"", "#",      "\x01", "\x1f", "\x7f", "é", "漢",
                                "🎲",      "\u2028", "=",    "[a]",  " ",    "x"};
  std::string text;
  for (auto length = random() % 8; length > 0; --length) {
    text += pieces[random() % std::size(pieces)];
  }
  return text;
}

TEST(ConfigToToml, ReadsBackToExactlyTheSameValues) {
  struct Values {
    double real = 0;
    std::vector<double> reals;
    std::string text;
    std::vector<std::string> texts;
    std::int64_t integer = 0;
    std::uint64_t seed = 0;
    bool flag = false;
    WeightRule rule = WeightRule::kRaa;
  };
  const auto describe = [](Config& config, Values& values) {
    const RealRange any = {.infinite = true};
    config.Real("a.real", &values.real, any, "");
    config.List("a.b.reals", &values.reals, any, "");
    config.Text("text", &values.text, "");
    config.List("b.texts", &values.texts, "");
    config.Int("a.integer", &values.integer, {}, "");
    config.Int("seed", &values.seed, {}, "");
    config.Bool("flag", &values.flag, "");
    config.Choice("b.rule", &values.rule,
                  {{"raa", WeightRule::kRaa}, {"stable", WeightRule::kStable}}, "");
  };
  std::mt19937_64 random(1);
  const auto real = [&] {
    double value = AnyReal(random);
    while (std::isnan(value)) value = AnyReal(random);
    return value;
  };
  for (int trial = 0; trial < 2000; ++trial) {
    Values written;
    written.real = real();
    for (auto i = random() % 4; i > 0; --i) written.reals.push_back(real());
    written.text = AnyText(random);
    for (auto i = random() % 4; i > 0; --i) written.texts.push_back(AnyText(random));
    written.integer = static_cast<std::int64_t>(random());
    written.seed = random();
    written.flag = random() % 2 == 0;
    written.rule = random() % 2 == 0 ? WeightRule::kRaa : WeightRule::kStable;
    Config out;
    describe(out, written);

    Values read;
    Config in;
    describe(in, read);
    in.LoadText(out.ToToml(trial % 2 == 0), "config.toml");
    EXPECT_EQ(std::bit_cast<std::uint64_t>(read.real), std::bit_cast<std::uint64_t>(written.real));
    ASSERT_EQ(read.reals.size(), written.reals.size());
    for (std::size_t i = 0; i < read.reals.size(); ++i) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(read.reals[i]),
                std::bit_cast<std::uint64_t>(written.reals[i]));
    }
    EXPECT_EQ(read.text, written.text);
    EXPECT_EQ(read.texts, written.texts);
    EXPECT_EQ(read.integer, written.integer);
    EXPECT_EQ(read.seed, written.seed);
    EXPECT_EQ(read.flag, written.flag);
    EXPECT_EQ(read.rule, written.rule);
    EXPECT_EQ(in.ToToml(), out.ToToml());
    for (const ConfigKey& key : out.Keys()) in.Set(key.key + "=" + key.value);
    EXPECT_EQ(in.ToToml(), out.ToToml()) << "overrides read the same literals";
  }
}

}  // namespace stableaa::config_text_test
