// Compares backups that leave out actions with plain ones, whatever the values do in between.
#include "stableaa/mdp/solve/lazy_backup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/mdp/model/random_model_test.h"
#include "stableaa/mdp/solve/solver.h"
#include "stableaa/mdp/solve/solver_variants_test.h"

namespace stableaa::lazy_backup_test {

// Many actions, so that leaving them out pays; among them copies of others, and others that differ
// in the last bits of their reward.
Model ModelWithTies(std::uint64_t seed) {
  RandomStream random(seed, "ties");
  const std::uint64_t states = 2 + random.Below(8);
  ModelBuilder builder([] { return std::string("ties"); });
  for (std::uint64_t s = 0; s < states; ++s) {
    builder.BeginState();
    const std::uint64_t next = random.Below(states);
    const std::uint64_t other = random.Below(states);
    const std::uint64_t actions = 1 + random.Below(8);
    for (std::uint64_t a = 0; a < actions; ++a) {
      const bool copy = a > 0 && random.Bernoulli(0.3);
      builder.Transition(copy ? next : random.Below(states), 0.5);
      builder.Transition(copy ? other : random.Below(states), 0.5);
      const double step = random.Bernoulli(0.3) ? 0x1p-50 : 0.25;
      builder.EndRow(1 + step * static_cast<double>(random.Below(4)));
    }
  }
  return builder.Finish(std::nullopt);
}

// The true action values, nearly.
long double ActionValue(const Model& model, double discount, std::uint64_t row,
                        const std::vector<double>& values) {
  long double sum = 0;
  for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1]; ++k) {
    sum += static_cast<long double>(model.probabilities()[k]) * values[model.column(k)];
  }
  return model.rewards()[row] + discount * sum;
}

// A series of backups of one model.
struct Series {
  Series(const Model& given, double discount)
      : model(given),
        certifier(given, discount),
        backup(model, certifier),
        values(given.states()),
        image(given.states()),
        actions(given.states()) {}

  CountedBackup Pass(int threads = 1) { return backup.Pass(rows, values, image, actions, threads); }

  void MoveTo(const std::vector<double>& next) {
    backup.Moved(DifferencesOf(values, next, 1));
    values = next;
  }

  Model model;
  Certifier certifier;
  LazyBackup backup;
  PolicyRows rows;
  std::vector<double> values;
  std::vector<double> image;
  std::vector<std::uint32_t> actions;
};

// What a certificate allows for in a backed-up value.
double Rounding(const Series& series) {
  double largest = 0;
  for (const double value : series.values) largest = std::max(largest, std::abs(value));
  return (1 - series.certifier.discount()) * series.certifier.Floor(largest);
}

void ExpectFullBackup(const Series& series, const Differences& found) {
  const double discount = series.certifier.discount();
  const double rounding = Rounding(series);
  Differences expected{HUGE_VAL, -HUGE_VAL, 0};
  for (std::uint64_t s = 0; s < series.model.states(); ++s) {
    long double best = -HUGE_VALL;
    const std::uint64_t first = series.model.state_rows()[s];
    for (std::uint64_t row = first; row < series.model.state_rows()[s + 1]; ++row) {
      best = std::max(best, ActionValue(series.model, discount, row, series.values));
    }
    const long double chosen =
        ActionValue(series.model, discount, first + series.actions[s], series.values);
    ASSERT_LE(std::abs(series.image[s] - best), rounding) << s;
    ASSERT_LE(best - chosen, 2 * rounding) << s;
    expected.least = std::min(expected.least, series.image[s] - series.values[s]);
    expected.largest = std::max(expected.largest, series.image[s] - series.values[s]);
    expected.values = std::max(expected.values, std::abs(series.values[s]));
  }
  EXPECT_EQ(found.least, expected.least);
  EXPECT_EQ(found.largest, expected.largest);
  EXPECT_EQ(found.values, expected.values);
}

// Values that move at random: far, a little, hardly, or all by the same.
std::vector<double> Moved(std::vector<double> values, RandomStream& random) {
  const double scale = std::pow(10.0, random.Uniform(-17, 1));
  const double shift = random.Bernoulli(0.3) ? random.Uniform(-100, 100) : 0;
  for (double& value : values) value += shift + scale * random.Uniform(-1, 1);
  return values;
}

TEST(LazyBackup, IsTheBackupOverAllActions) {
  std::uint64_t evaluated = 0;
  std::uint64_t rows = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Model model = seed % 3 == 0 ? RandomModel(seed) : ModelWithTies(seed);
    RandomStream random(seed, "moves");
    Series series(model, seed % 2 == 0 ? 0.9 : 0.9999);
    for (int pass = 0; pass < 12; ++pass) {
      const CountedBackup backup = series.Pass();
      ExpectFullBackup(series, backup.differences);
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << ", pass " << pass;
      ASSERT_LE(backup.rows, model.rows());
      evaluated += backup.rows;
      rows += model.rows();
      series.MoveTo(random.Bernoulli(0.3) ? series.image : Moved(series.values, random));
    }
  }
  EXPECT_LT(evaluated, rows * 8 / 10);  // so it does leave out some
}

TEST(LazyBackup, EvaluatesOneRowPerStateOnceTheValuesStand) {
  const Model model = GenerateModel({.kind = "garnet", .states = 500});
  Series series(model, 0.9);
  EXPECT_EQ(series.Pass().rows, model.rows());
  EXPECT_EQ(series.Pass().rows, model.states());
  series.MoveTo(std::vector<double>(model.states(), 1000));  // the span of the change is 0
  EXPECT_EQ(series.Pass().rows, model.states());
  series.backup.Moved({-10, 10});
  EXPECT_EQ(series.Pass().rows, model.rows());
}

TEST(LazyBackup, AlwaysEvaluatesActionsThatRoundingCannotTellApart) {
  for (const double lead : {0.0, 0x1p-52, 0x1p-30}) {
    ModelBuilder builder([] { return std::string("equal"); });
    for (std::uint64_t s = 0; s < 4; ++s) {
      builder.BeginState();
      for (int a = 0; a < 5; ++a) {
        builder.Transition((s + 1) % 4, 1);
        builder.EndRow(s == 0 && a > 2 ? (a == 3 ? 1 + lead : 1) : -a);  // in state 0 the last two
      }
    }
    Series series(builder.Finish(std::nullopt), 0.5);
    series.Pass();
    EXPECT_EQ(series.actions, (std::vector<std::uint32_t>{3, 0, 0, 0}));
    EXPECT_EQ(series.Pass().rows, lead > 0x1p-40 ? 4 : 4 + 5) << lead;
    EXPECT_EQ(series.actions, (std::vector<std::uint32_t>{3, 0, 0, 0}));
  }
}

TEST(LazyBackup, HasTheSameBitsForAnyNumberOfThreads) {
  const Model model = GenerateModel({.kind = "garnet", .states = 60'000});
  std::vector<Series> all;
  all.reserve(3);  // a backup refers to its series
  for (int i = 0; i < 3; ++i) all.emplace_back(model, 0.99);
  for (int pass = 0; pass < 12; ++pass) {
    const CountedBackup expected = all[0].Pass(1);
    for (const int threads : {2, 3}) {
      Series& series = all[static_cast<std::size_t>(threads) - 1];
      const CountedBackup found = series.Pass(threads);
      EXPECT_EQ(found.rows, expected.rows);
      EXPECT_EQ(found.differences.least, expected.differences.least);
      EXPECT_EQ(found.differences.largest, expected.differences.largest);
      EXPECT_EQ(series.image, all[0].image);
      EXPECT_EQ(series.actions, all[0].actions);
    }
    for (Series& series : all) series.MoveTo(std::vector<double>(series.image));
  }
  EXPECT_LT(all[0].Pass(1).rows, model.rows() / 2);
}

// mpi, which uses it, against the solution by elimination.
TEST(LazyBackup, LeavesOutNoOptimalAction) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Model model = seed % 3 == 0 ? RandomModel(seed) : ModelWithTies(seed);
    const double discount = seed % 2 == 0 ? 0.9 : 0.999;
    for (const double tolerance : {1.0, 1e-6, 1e-15}) {
      const Solution solution =
          Solve(model, {.method = SolveMethod::kMpi, .discount = discount, .tolerance = tolerance});
      ExpectHonest(model, solution, ExactValues(model, discount), "seed " + std::to_string(seed));
      ASSERT_FALSE(testing::Test::HasFailure()) << tolerance;
    }
  }
}

}  // namespace stableaa::lazy_backup_test
