// Compares passes with the same formulas written plainly, in long double.
#include "stableaa/mdp/solve/passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/mdp/model/random_model_test.h"
#include "stableaa/mdp/solve/policy_rows.h"

namespace stableaa::passes_test {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

struct Row {
  long double elsewhere = 0;  // Σ p V over the other states
  long double stay = 0;       // p_ss
};

Row SumOfRow(const Model& model, std::uint64_t state, std::uint64_t row,
             const std::vector<double>& values) {
  Row sum;
  for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1]; ++k) {
    if (model.column(k) == state) {
      sum.stay = model.probabilities()[k];
    } else {
      sum.elsewhere += static_cast<long double>(model.probabilities()[k]) * values[model.column(k)];
    }
  }
  return sum;
}

// The action values of a state.
std::vector<long double> ActionValues(const Model& model, double discount, std::uint64_t state,
                                      const std::vector<double>& values) {
  std::vector<long double> q;
  for (std::uint64_t row = model.state_rows()[state]; row < model.state_rows()[state + 1]; ++row) {
    const Row sum = SumOfRow(model, state, row, values);
    q.push_back(model.rewards()[row] +
                static_cast<long double>(discount) * (sum.elsewhere + sum.stay * values[state]));
  }
  return q;
}

std::vector<double> RandomValues(std::uint64_t seed, std::size_t states, double scale = 10) {
  RandomStream random(seed, "values");
  std::vector<double> values(states);
  for (double& value : values) value = scale * random.Uniform(-1, 1);
  return values;
}

// The same model with 64 bits for next states.
Model Widened(const Model& model) {
  ModelStorage storage;
  const ModelArrays& arrays = model.arrays();
  storage.state_rows.assign(arrays.state_rows.begin(), arrays.state_rows.end());
  storage.row_transitions.assign(arrays.row_transitions.begin(), arrays.row_transitions.end());
  storage.wide_columns.assign(arrays.narrow_columns.begin(), arrays.narrow_columns.end());
  storage.probabilities.assign(arrays.probabilities.begin(), arrays.probabilities.end());
  storage.rewards.assign(arrays.rewards.begin(), arrays.rewards.end());
  return MakeModel(std::move(storage), model.discount());
}

// Rows of 1 to `longest` transitions: covers both ways of summing and every remainder modulo four.
Model ModelOfManyLengths(std::uint64_t seed, std::uint64_t states, std::uint64_t longest) {
  RandomStream random(seed, "lengths");
  ModelBuilder builder([] { return std::string("lengths"); });
  for (std::uint64_t s = 0; s < states; ++s) {
    builder.BeginState();
    for (std::uint64_t a = 0; a < 1 + s % 3; ++a) {
      const std::uint64_t length = 1 + random.Below(longest);
      for (std::uint64_t i = 0; i < length; ++i) {
        builder.Transition(random.Below(states), 1 / static_cast<double>(length));
      }
      builder.EndRow(random.Uniform(-1, 1));
    }
  }
  return builder.Finish(std::nullopt);
}

// Several blocks of states, more transitions than one thread handles, and prefetching, which must
// not read past the end.
std::vector<Model> LargeModels() {
  return {ModelOfManyLengths(1, 5'000, 40),
          GenerateModel({.kind = "garnet", .states = 3'000, .actions = 2}),
          GenerateModel({.kind = "garnet", .states = 60'000, .actions = 2, .branching = 6}),
          GenerateModel({.kind = "grid", .shuffle = true, .width = 300, .height = 250}),
          ModelOfManyLengths(2, 51'000, 30)};
}

struct Result {
  Differences differences;
  std::vector<double> image;
  std::vector<std::uint32_t> actions;

  bool operator==(const Result& other) const {
    return differences.least == other.differences.least &&
           differences.largest == other.differences.largest &&
           differences.values == other.differences.values && image == other.image &&
           actions == other.actions;
  }
};

Result BackupOf(const Model& model, double discount, const std::vector<double>& values,
                int threads = 1) {
  Result result{{}, std::vector<double>(values.size()), std::vector<std::uint32_t>(values.size())};
  result.differences = BackupPass(model, discount, values, result.image, result.actions, threads);
  return result;
}

void ExpectDifferences(const Differences& found, const std::vector<double>& values,
                       const std::vector<double>& image) {
  Differences expected{image[0] - values[0], image[0] - values[0], 0};
  for (std::size_t s = 0; s < values.size(); ++s) {
    expected.least = std::min(expected.least, image[s] - values[s]);
    expected.largest = std::max(expected.largest, image[s] - values[s]);
    expected.values = std::max(expected.values, std::abs(values[s]));
  }
  EXPECT_EQ(found.least, expected.least);
  EXPECT_EQ(found.largest, expected.largest);
  EXPECT_EQ(found.values, expected.values);
  EXPECT_EQ(found.span(), expected.largest - expected.least);
  EXPECT_EQ(found.magnitude(), std::max(std::abs(expected.least), std::abs(expected.largest)));
}

void ExpectPlainBackup(const Model& model, double discount, const std::vector<double>& values,
                       const Result& result) {
  const double rounding = kEpsilon * (static_cast<double>(model.most_transitions()) + 4) *
                          (*std::ranges::max_element(model.rewards()) + 20);
  for (std::uint64_t s = 0; s < model.states(); ++s) {
    const std::vector<long double> q = ActionValues(model, discount, s, values);
    const auto best = static_cast<double>(*std::ranges::max_element(q));
    ASSERT_NEAR(result.image[s], best, rounding) << s;
    ASSERT_LT(result.actions[s], q.size()) << s;
    ASSERT_NEAR(static_cast<double>(q[result.actions[s]]), best, 2 * rounding) << s;
  }
  ExpectDifferences(result.differences, values, result.image);
}

TEST(BackupPass, IsThePlainFormulaOnSmallModels) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Model model = RandomModel(seed);
    const std::vector<double> values = RandomValues(seed, model.states());
    for (const double discount : {0.0, 0.5, 0.999}) {
      const Model tamed =
          model.WithRewards(RandomValues(seed + 1000, model.rows(), 1));  // scale of `rounding`
      ExpectPlainBackup(tamed, discount, values, BackupOf(tamed, discount, values));
      if (HasFailure()) return;
    }
  }
}

TEST(BackupPass, IsThePlainFormulaOnLargeModels) {
  for (const Model& model : LargeModels()) {
    const std::vector<double> values = RandomValues(1, model.states());
    ExpectPlainBackup(model, 0.9, values, BackupOf(model, 0.9, values));
    if (HasFailure()) return;
  }
}

TEST(BackupPass, HasTheSameBitsForAnyNumberOfThreads) {
  for (const Model& model : LargeModels()) {
    ASSERT_GE(model.transitions(), 20'000);
    ASSERT_GT(model.states(), 2048);
    const std::vector<double> values = RandomValues(1, model.states());
    const Result one = BackupOf(model, 0.9, values);
    for (const int threads : {2, 3}) EXPECT_TRUE(BackupOf(model, 0.9, values, threads) == one);
  }
}

TEST(BackupPass, HasTheSameBitsForWideColumns) {
  for (const Model& model : LargeModels()) {
    const std::vector<double> values = RandomValues(1, model.states());
    const Model wide = Widened(model);
    ASSERT_TRUE(wide.wide());
    EXPECT_TRUE(BackupOf(wide, 0.9, values) == BackupOf(model, 0.9, values));
    EXPECT_TRUE(BackupOf(wide, 0.9, values, 3) == BackupOf(model, 0.9, values));
  }
}

TEST(BackupPass, WithoutActionsGivesTheSameImage) {
  for (const Model& model : LargeModels()) {
    const std::vector<double> values = RandomValues(1, model.states());
    Result expected = BackupOf(model, 0.9, values);
    Result found{{}, std::vector<double>(values.size()), expected.actions};
    found.differences = BackupPass(model, 0.9, values, found.image, {}, 1);
    EXPECT_TRUE(found == expected);
  }
}

TEST(BackupPass, TakesTheFirstOfEqualActions) {
  ModelBuilder builder([] { return std::string("equals"); });
  for (const std::vector<double>& rewards :
       {std::vector<double>{1, 1, 1}, {0, 2, 1, 2}, {-1, -2}, {-3, -2, -2}}) {
    builder.BeginState();
    for (const double reward : rewards) {
      builder.Transition(0, 1);
      builder.EndRow(reward);
    }
  }
  const Model model = builder.Finish(std::nullopt);
  const Result result = BackupOf(model, 0.5, {4, 0, 0, 0});
  EXPECT_EQ(result.actions, (std::vector<std::uint32_t>{0, 1, 0, 1}));
  EXPECT_EQ(result.image, (std::vector<double>{3, 4, 1, 0}));
  EXPECT_EQ(result.differences.least, -1);
  EXPECT_EQ(result.differences.largest, 4);
  EXPECT_EQ(result.differences.values, 4);
}

TEST(RewardPass, IsTheBackupOfZero) {
  std::vector<Model> models = LargeModels();
  for (std::uint64_t seed = 0; seed < 100; ++seed) models.push_back(RandomModel(seed));
  for (const Model& model : models) {
    const Result expected = BackupOf(model, 0.9, std::vector<double>(model.states()));
    for (const int threads : {1, 3}) {
      Result found = expected;
      std::ranges::fill(found.image, 0);
      std::ranges::fill(found.actions, 0);
      found.differences = RewardPass(model, found.image, found.actions, threads);
      EXPECT_TRUE(found == expected);
    }
  }
}

TEST(BackupPassWithLeads, MeasuresTheDistanceToTheSecondBestAction) {
  std::vector<Model> models = LargeModels();
  for (std::uint64_t seed = 0; seed < 100; ++seed) models.push_back(RandomModel(seed));
  for (const Model& model : models) {
    const std::vector<double> values = RandomValues(1, model.states());
    const Result expected = BackupOf(model, 0.9, values);
    Result found = expected;
    std::vector<float> leads(model.states());
    found.differences =
        BackupPassWithLeads(model, 0.9, values, found.image, found.actions, leads, 1);
    EXPECT_TRUE(found == expected);
    for (std::uint64_t s = 0; s < model.states(); ++s) {
      std::vector<long double> q = ActionValues(model, 0.9, s, values);
      std::ranges::sort(q, std::ranges::greater());
      if (q.size() == 1) {
        ASSERT_EQ(leads[s], std::numeric_limits<float>::infinity());
        continue;
      }
      const auto lead = static_cast<double>(q[0] - q[1]);
      const double rounding = 100 * kEpsilon * (10 + static_cast<double>(std::abs(q[0])));
      ASSERT_LE(leads[s], lead + rounding) << s;
      ASSERT_GE(leads[s], lead * (1 - 0x1p-21) - rounding) << s;
    }
    std::vector<float> threaded(model.states());
    BackupPassWithLeads(model, 0.9, values, found.image, found.actions, threaded, 3);
    EXPECT_EQ(threaded, leads);
  }
}

TEST(DifferencesOf, AreTheExtremes) {
  const std::vector<double> before = {1, 2, -3};
  ExpectDifferences(DifferencesOf(before, std::vector<double>{2, 5, -7}, 1), before, {2, 5, -7});
}

TEST(BackupPass, DifferencesAreNotFiniteWhereValuesOverflow) {
  ModelBuilder builder([] { return std::string("huge"); });
  for (std::uint64_t s = 0; s < 3; ++s) {
    builder.BeginState();
    builder.Transition(s, 1);
    builder.EndRow(s == 1 ? 1.5e308 : 0);
  }
  const Model model = builder.Finish(std::nullopt);
  EXPECT_EQ(BackupOf(model, 0.9, {0, 1.5e308, 0}).differences.magnitude(),
            std::numeric_limits<double>::infinity());
}

TEST(JacobiPass, SolvesTheSelfLoopOut) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Model model = RandomModel(seed).WithRewards(
        RandomValues(seed, static_cast<std::size_t>(RandomModel(seed).rows()), 1));
    const std::vector<double> values = RandomValues(seed, model.states());
    const double discount = seed % 2 == 0 ? 0.9 : 0.0;
    std::vector<double> image(model.states());
    const Differences differences = JacobiPass(model, discount, values, image, 1);
    for (std::uint64_t s = 0; s < model.states(); ++s) {
      long double best = -std::numeric_limits<long double>::infinity();
      for (std::uint64_t row = model.state_rows()[s]; row < model.state_rows()[s + 1]; ++row) {
        const Row sum = SumOfRow(model, s, row, values);
        best = std::max(best, (model.rewards()[row] + discount * sum.elsewhere) /
                                  (1 - static_cast<long double>(discount) * sum.stay));
      }
      ASSERT_NEAR(image[s], static_cast<double>(best), 1e-13) << seed << ", " << s;
    }
    ExpectDifferences(differences, values, image);
    if (HasFailure()) return;
  }
}

TEST(OperatorPass, IsTheOperatorOfTheActionValues) {
  const std::vector<Backup> backups = {{BackupKind::kMax, 0},
                                       {BackupKind::kMellowmax, 2},
                                       {BackupKind::kMellowmax, 0},
                                       {BackupKind::kBoltzmann, 3}};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Model model = RandomModel(seed).WithRewards(
        RandomValues(seed, static_cast<std::size_t>(RandomModel(seed).rows()), 1));
    const std::vector<double> values = RandomValues(seed, model.states(), 1);
    for (const Backup& backup : backups) {
      std::vector<double> image(model.states());
      const Differences differences = OperatorPass(model, 0.9, backup, values, image, 1);
      for (std::uint64_t s = 0; s < model.states(); ++s) {
        const std::vector<long double> wide = ActionValues(model, 0.9, s, values);
        const std::vector<double> q(wide.begin(), wide.end());
        ASSERT_NEAR(image[s], backup.Value(q), 1e-13) << seed << ", " << s;
      }
      ExpectDifferences(differences, values, image);
      if (HasFailure()) return;
    }
  }
}

TEST(OperatorPass, AndJacobiPassHaveTheSameBitsForAnyThreadsAndColumns) {
  for (const Model& model : LargeModels()) {
    const std::vector<double> values = RandomValues(1, model.states());
    const Model wide = Widened(model);
    const Backup mellowmax{BackupKind::kMellowmax, 5};
    const auto passes = [&](const Model& given, int threads) {
      std::vector<Result> both(2, {{}, std::vector<double>(values.size()), {}});
      both[0].differences = JacobiPass(given, 0.9, values, both[0].image, threads);
      both[1].differences = OperatorPass(given, 0.9, mellowmax, values, both[1].image, threads);
      return both;
    };
    const std::vector<Result> expected = passes(model, 1);
    EXPECT_TRUE(passes(model, 2) == expected);
    EXPECT_TRUE(passes(model, 3) == expected);
    EXPECT_TRUE(passes(wide, 1) == expected);
    EXPECT_TRUE(passes(wide, 3) == expected);
  }
}

// The model in which every state has only the policy's action.
Model Restricted(const Model& model, const std::vector<std::uint32_t>& policy) {
  ModelBuilder builder([] { return std::string("restricted"); });
  for (std::uint64_t s = 0; s < model.states(); ++s) {
    const std::uint64_t row = model.state_rows()[s] + policy[s];
    builder.BeginState();
    for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1];
         ++k) {
      builder.Transition(model.column(k), model.probabilities()[k]);
    }
    builder.EndRow(model.rewards()[row]);
  }
  return builder.Finish(std::nullopt);
}

std::vector<std::uint32_t> RandomPolicy(const Model& model, std::uint64_t seed) {
  RandomStream random(seed, "policy");
  std::vector<std::uint32_t> policy(model.states());
  for (std::uint64_t s = 0; s < model.states(); ++s) {
    policy[s] = static_cast<std::uint32_t>(random.Below(model.actions(s)));
  }
  return policy;
}

TEST(PolicyRows, AreTheBackupRestrictedToThePolicy) {
  std::vector<Model> models = LargeModels();
  for (std::uint64_t seed = 0; seed < 100; ++seed) models.push_back(RandomModel(seed));
  for (const Model& model : models) {
    const std::vector<double> values = RandomValues(1, model.states());
    double largest = 10;
    for (const double reward : model.rewards()) largest = std::max(largest, std::abs(reward));
    // One after another into the same rows: a different policy, one that differs in a few states,
    // in none, and a different one again.
    std::vector<std::vector<std::uint32_t>> policies(2, RandomPolicy(model, 2));
    for (std::uint64_t s = 0; s < model.states(); s += 100) policies[1][s] = 0;
    policies.push_back(policies[1]);
    policies.push_back(RandomPolicy(model, 3));
    PolicyRows rows;
    for (const std::vector<std::uint32_t>& policy : policies) {
      const Model restricted = Restricted(model, policy);
      rows.Gather(model, 0.9, policy, 1);
      std::vector<double> image(values.size());
      const Differences differences = rows.Pass(values, image, 1);
      for (std::uint64_t s = 0; s < model.states(); ++s) {
        const auto expected = static_cast<double>(ActionValues(restricted, 0.9, s, values).front());
        ASSERT_NEAR(image[s], expected, 40 * kEpsilon * largest) << s;
      }
      ExpectDifferences(differences, values, image);
      if (HasFailure()) return;
    }
  }
}

TEST(PolicyRows, HaveTheSameBitsForAnyThreadsAndColumns) {
  for (const Model& model : LargeModels()) {
    const std::vector<double> values = RandomValues(1, model.states());
    const std::vector<std::uint32_t> policy = RandomPolicy(model, 2);
    const auto swept = [&](const Model& given, int threads) {
      PolicyRows rows;
      rows.Gather(given, 0.9, policy, threads);
      Result result{{}, std::vector<double>(values.size()), {}};
      result.differences = rows.Pass(values, result.image, threads);
      return result;
    };
    const Result expected = swept(model, 1);
    EXPECT_TRUE(swept(model, 2) == expected);
    EXPECT_TRUE(swept(model, 3) == expected);
    EXPECT_TRUE(swept(Widened(model), 1) == expected);
    EXPECT_TRUE(swept(Widened(model), 3) == expected);
  }
}

}  // namespace stableaa::passes_test
