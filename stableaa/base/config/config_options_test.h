// Options of every type and a configuration that describes them, for the tests of Config.
#ifndef STABLEAA_BASE_CONFIG_CONFIG_OPTIONS_TEST_H_
#define STABLEAA_BASE_CONFIG_CONFIG_OPTIONS_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"

namespace stableaa::config_test {

enum class WeightRule { kVanilla, kRaa, kStable };

struct Options {
  int memory = 5;
  double damping = 1;
  double eta = 0.1;
  double bound = 1;
  WeightRule weights = WeightRule::kVanilla;
  bool safeguard = true;
  std::int64_t steps = 1000;
  std::uint64_t seed = 0;
  std::string python = "python3";
  std::vector<double> levels = {0.5};
  std::vector<std::string> games;
  std::string word = "even";
  std::vector<double> pair = {1, 2};

  bool operator==(const Options&) const = default;
};

inline void Describe(Config& config, Options& options) {
  config.Int("seed", &options.seed, {}, "Where all randomness comes from.");
  config.Int("anderson.memory", &options.memory, {0, 100}, "Differences in the window.");
  config.Real("anderson.damping", &options.damping, {.above = 0, .at_most = 2}, "Step length.");
  config.Real("anderson.eta", &options.eta, {.at_least = 0, .below = 10}, "Size of the ridge.");
  config.Choice("anderson.weights.rule", &options.weights,
                {{"vanilla", WeightRule::kVanilla},
                 {"raa", WeightRule::kRaa},
                 {"stable", WeightRule::kStable}},
                "How the mixing weights are found.");
  config.Bool("anderson.safeguard", &options.safeguard, "Reject steps that make it worse.");
  config.Int("train.steps", &options.steps, {.at_least = 1}, "Environment steps.");
  config.Text("env.python", &options.python, "Interpreter for the worker.");
  config.Real("anderson.bound", &options.bound, {.at_least = 0, .infinite = true}, "May be inf.");
  config.List("report.levels", &options.levels, {.above = 0, .below = 1}, "Quantiles.");
  config.List("report.games", &options.games, "Games to show.", [](const auto& games) {
    if (games.size() > 3) throw BadInput("report.games: expected at most 3");
  });
  config.Text("report.word", &options.word, "Has an even number of letters.", [](const auto& word) {
    if (word.size() % 2 != 0) throw BadInput("report.word: expected an even length");
  });
  config.List("report.pair", &options.pair, {}, "Two numbers.", [](const auto& pair) {
    if (pair.size() != 2) throw BadInput("report.pair: expected 2 numbers");
  });
}

// A configuration with its options; each test changes its own.
class ConfigTest : public testing::Test {
 protected:
  ConfigTest() { Describe(config_, options_); }

  // The error message from loading `text` as my.toml, which must change no field.
  std::string LoadError(const std::string& text) {
    return ErrorOf([&] { config_.LoadText(text, "my.toml"); });
  }
  std::string SetError(const std::string& assignment) {
    return ErrorOf([&] { config_.Set(assignment); });
  }

  ConfigKey Key(const std::string& name) const {
    for (const ConfigKey& key : config_.Keys()) {
      if (key.key == name) return key;
    }
    throw std::out_of_range(name);
  }

  Options options_;
  Config config_;

 private:
  template <typename Change>
  std::string ErrorOf(const Change& change) {
    const Options before = options_;
    const std::string message = MessageOf(change);
    if (message != "no error") {
      EXPECT_EQ(options_, before) << "a bad source changed a field";
    }
    return message;
  }
};

}  // namespace stableaa::config_test

#endif  // STABLEAA_BASE_CONFIG_CONFIG_OPTIONS_TEST_H_
