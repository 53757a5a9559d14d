// Shared by the tests of the formats: random models, files, errors and speed.
#ifndef STABLEAA_MDP_FORMATS_TEXT_FORMAT_TEST_H_
#define STABLEAA_MDP_FORMATS_TEXT_FORMAT_TEST_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "stableaa/core/median.h"
#include "stableaa/core/random.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/mdp/formats/model_file.h"
#include "stableaa/mdp/model/annotations.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa {

inline void WriteText(const std::filesystem::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
}

inline std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The one-line message of the BadInput that `work` throws; empty if it throws none.
template <typename Work>
std::string BadInputOf(const Work& work) {
  const std::string message = MessageOf(work);
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message == "no error" ? "" : message;
}

// True for a model, false for BadInput; other exceptions propagate.
template <typename Work>
bool Parses(const Work& work) {
  return BadInputOf(work).empty();
}

inline std::string Replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// Varying numbers of actions, rows with one transition and with many, tiny probabilities, rewards
// of all magnitudes and signs, including zero and minus zero.
inline Model AwkwardModel(std::uint64_t seed, std::uint64_t states) {
  RandomStream random(seed, "text format test");
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  ModelBuilder builder([] { return std::string("random model"); });
  for (std::uint64_t state = 0; state < states; ++state) {
    builder.BeginState();
    for (std::uint64_t action = 0, actions = 1 + below(4); action < actions; ++action) {
      std::vector<double> weights(1 + below(below(5) == 0 ? 40 : 4));
      double sum = 0;
      for (double& weight : weights) {
        weight = uniform() + 1e-6;
        if (below(6) == 0) weight *= 1e-300;
        sum += weight;
      }
      if (sum < 1e-6) sum += weights[0] = 1;
      for (const double weight : weights) builder.Transition(below(states), weight / sum);
      const double rewards[] = {0.0, -0.0, 1.0, -uniform(), uniform() * 1e300, -uniform() * 1e-310};
      builder.EndRow(rewards[below(std::size(rewards))]);
    }
  }
  return builder.Finish(std::nullopt);
}

// Like AwkwardModel, but with the same number of actions everywhere.
inline Model EvenAwkwardModel(std::uint64_t seed, std::uint64_t states) {
  RandomStream random(seed, "even");
  const Model ragged = AwkwardModel(seed, states);
  ModelBuilder builder([] { return std::string("even model"); });
  for (std::uint64_t state = 0; state < states; ++state) {
    builder.BeginState();
    for (std::uint64_t action = 0; action < 2; ++action) {
      const std::uint64_t row = random.Below(ragged.rows());
      for (std::uint64_t k = ragged.row_transitions()[row]; k < ragged.row_transitions()[row + 1];
           ++k) {
        builder.Transition(ragged.column(k), ragged.probabilities()[k]);
      }
      builder.EndRow(ragged.rewards()[row]);
    }
  }
  return builder.Finish(std::nullopt);
}

// Some rows' rewards: of the kinds that AwkwardModel has.
inline SharedArray<double> AwkwardRewards(RandomStream& random, std::uint64_t rows) {
  std::vector<double> rewards(rows);
  for (double& reward : rewards) {
    const double uniform = static_cast<double>(random() >> 11) * 0x1p-53;
    const double values[] = {0.0, -0.0, 1.0, -uniform, uniform * 1e300, -uniform * 1e-310};
    reward = values[random() % std::size(values)];
  }
  return SharedArray(std::move(rewards));
}

// Annotations that every format with annotations can hold: labels with odd names, initial states
// anywhere, one to four reward structures, names of some actions or none.
inline ModelAnnotations AwkwardAnnotations(std::uint64_t seed, const Model& model) {
  RandomStream random(seed, "annotations test");
  const auto some_states = [&] {
    std::vector<std::uint64_t> states;
    for (std::uint64_t state = 0; state < model.states(); ++state) {
      if (random() % 3 == 0) states.push_back(state);
    }
    if (states.empty()) states.push_back(random() % model.states());
    return SharedArray(std::move(states));
  };
  ModelAnnotations annotations;
  for (const char* name : {"!x", "(s = 2)", "//c", "0", "[odd]", "a", "deadlock", "initial",
                           "two words", "{7}", "ü"}) {
    if (random() % 2 == 0) annotations.labels.push_back({name, some_states()});
  }
  annotations.initial = some_states();
  const char* const names[] = {"steps", "coins", "1", "r[0]"};
  annotations.rewards.push_back(
      {names[0], SharedArray(model.rewards(), std::make_shared<const Model>(model))});
  for (std::uint64_t i = 1; i <= random() % 4; ++i) {
    annotations.rewards.push_back({names[i], AwkwardRewards(random, model.rows())});
  }
  if (random() % 3 == 0) return annotations;
  std::vector<std::uint32_t> rows(model.rows());
  const char* const pool[] = {"go", "q\"r", "[z]", "#5", "ö", "-1"};
  std::map<std::uint64_t, std::uint32_t> numbers;
  for (std::uint32_t& row : rows) {
    const std::uint64_t name = random() % 8;
    if (name >= std::size(pool)) continue;  // none
    const auto [found, added] =
        numbers.emplace(name, static_cast<std::uint32_t>(numbers.size() + 1));
    if (added) annotations.actions.names.emplace_back(pool[name]);
    row = found->second;
  }
  if (!numbers.empty()) annotations.actions.rows = SharedArray(std::move(rows));
  return annotations;
}

// Four actions per state, each with five transitions of 16 or 17 digits.
inline Model LargeModel(std::uint64_t states) {
  RandomStream random(7, "text format speed");
  ModelBuilder builder([] { return std::string("large model"); });
  for (std::uint64_t row = 0; row < 4 * states; ++row) {
    if (row % 4 == 0) builder.BeginState();
    double weights[5];
    double sum = 0;
    for (double& weight : weights) sum += weight = static_cast<double>((random() >> 11) + 1);
    for (const double weight : weights) builder.Transition(random() % states, weight / sum);
    builder.EndRow(static_cast<double>(random() >> 11) * 0x1p-53);
  }
  return builder.Finish(std::nullopt);
}

// The yardstick of reading: converts every number in a text, and does nothing else.
inline double SumOfNumbers(std::string_view text) {
  double sum = 0;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    double number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error == std::errc()) sum += number;
    at = error == std::errc() ? stop : at + 1;
  }
  return sum;
}

// How many times as long as that reading the files takes. The two are measured in turns, so that a
// slow or busy machine slows both: the median of five turns, and the best of a few medians.
template <typename Read>
double TimesTheYardstick(const std::vector<std::filesystem::path>& files, double enough,
                         const Read& read) {
  std::string text;
  for (const std::filesystem::path& file : files) text += ReadText(file);
  double best = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < 6 && best > enough; ++attempt) {
    std::vector<double> ratios;
    for (int turn = 0; turn < 5; ++turn) {
      const Stopwatch reading;
      const LoadedModel loaded = read();
      const double seconds = reading.Seconds();
      const Stopwatch yardstick;
      EXPECT_GT(SumOfNumbers(text), 0);
      ratios.push_back(seconds / yardstick.Seconds());
    }
    best = std::min(best, Median(ratios));
  }
  return best;
}

// Measured: 0.7 to 0.95, on an idle machine and with ten other programs on two cores.
constexpr double kMostTimesTheYardstick = 1.3;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr bool kOptimised = false;
#else
constexpr bool kOptimised = true;
#endif

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_TEXT_FORMAT_TEST_H_
