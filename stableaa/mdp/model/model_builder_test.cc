#include "stableaa/mdp/model/model_builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/mdp/model/model_rows_test.h"
#include "stableaa/mdp/model/random_model_test.h"
#include "stableaa/testing/message.h"

namespace stableaa::model_builder_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr std::uint64_t kTwoTo32 = std::uint64_t{1} << 32;

using Transitions = std::vector<std::pair<std::uint64_t, double>>;

// One state per row, each with one action whose reward is its number.
Model Build(const std::vector<Transitions>& rows) {
  ModelBuilder builder([] { return std::string("here"); });
  for (const Transitions& row : rows) {
    builder.BeginState();
    for (const auto& [next, probability] : row) builder.Transition(next, probability);
    builder.EndRow(static_cast<double>(builder.rows()));
  }
  return builder.Finish(std::nullopt);
}

std::string RefusalOfRow(const Transitions& row) {
  return MessageOf([&] { Build({row}); });
}

Model Rebuilt(const Model& model) {
  ModelBuilder builder([] { return std::string("again"); });
  if (model.wide()) builder.UseWideColumns();
  for (std::uint64_t s = 0; s < model.states(); ++s) {
    builder.BeginState();
    for (std::uint64_t row = model.state_rows()[s]; row < model.state_rows()[s + 1]; ++row) {
      for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1];
           ++k) {
        builder.Transition(model.column(k), model.probabilities()[k]);
      }
      builder.EndRow(model.rewards()[row]);
    }
  }
  return builder.Finish(model.discount());
}

TEST(ModelBuilder, SumsRepetitionsSortsAndDropsZeros) {
  const Model model = Build({{{2, 0.25}, {0, 0.125}, {1, 0}, {2, 0.5}, {0, 0.125}, {3, -0.0}},
                             {{0, 1}},
                             {{0, 1}},
                             {{3, 1}, {0, 0}}});
  EXPECT_EQ(NextStates(model, 0, 0), (Distribution{{0, 0.25}, {2, 0.75}}));
  EXPECT_EQ(NextStates(model, 3, 0), (Distribution{{3, 1}}));
  EXPECT_EQ(model.transitions(), 5);
  EXPECT_EQ(model.column(0), 0);
  EXPECT_EQ(model.column(1), 2);
}

TEST(ModelBuilder, KeepsActionsAndRewardsInTheOrderGiven) {
  ModelBuilder builder([] { return std::string("here"); });
  for (const std::vector<double>& rewards : {std::vector<double>{3, -1, 2}, {7}, {0, 5}}) {
    builder.BeginState();
    for (const double reward : rewards) {
      builder.Transition(1, 1);
      builder.EndRow(reward);
    }
  }
  EXPECT_EQ(builder.states(), 3);
  EXPECT_EQ(builder.rows(), 6);
  const Model model = builder.Finish(0.5);
  EXPECT_EQ(model.states(), 3);
  EXPECT_EQ(model.rows(), 6);
  EXPECT_EQ(model.actions(0), 3);
  EXPECT_EQ(model.actions(1), 1);
  EXPECT_EQ(model.most_actions(), 3);
  EXPECT_EQ(RewardOf(model, 0, 1), -1);
  EXPECT_EQ(RewardOf(model, 2, 1), 5);
  EXPECT_EQ(model.discount(), 0.5);
}

TEST(ModelBuilder, SumsWithinABillionthBecomeOne) {
  for (const double off : {-9e-10, -1e-12, 1e-12, 9e-10}) {
    const Model model = Build({{{0, 0.25 + off}, {1, 0.75}}, {{1, 1 + off}}});
    const Distribution next = NextStates(model, 0, 0);
    EXPECT_NEAR(next.at(0) + next.at(1), 1, kEpsilon) << off;
    EXPECT_NEAR(next.at(0), (0.25 + off) / (1 + off), kEpsilon) << off;
    EXPECT_EQ(NextStates(model, 1, 0).at(1), 1) << off;
  }
}

TEST(ModelBuilder, SumsThatDifferByRoundingOnlyKeepTheirBits) {
  const double third = 1.0 / 3;
  const Model model = Build({{{0, 0.1}, {1, 0.2}, {2, 0.7 - 2e-16}},
                             {{0, third}, {1, third}, {2, third}},
                             {{2, 1 - kEpsilon}}});
  EXPECT_EQ(NextStates(model, 0, 0), (Distribution{{0, 0.1}, {1, 0.2}, {2, 0.7 - 2e-16}}));
  EXPECT_EQ(NextStates(model, 1, 0).at(1), third);
  EXPECT_EQ(NextStates(model, 2, 0).at(2), 1 - kEpsilon);
}

// A self-loop above 1 would make 1 − γ p negative for the largest discounts.
TEST(ModelBuilder, NoProbabilityIsAboveOne) {
  const Model model = Build({{{0, 1 + 2 * kEpsilon}, {1, 1e-300}}, {{1, 1 + kEpsilon}}});
  for (const double probability : model.probabilities()) EXPECT_LE(probability, 1);
  EXPECT_EQ(Rebuilt(model), model);
}

TEST(ModelBuilder, BuildingAgainGivesTheSameBits) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Model model = RandomModel(seed, 12, 0.9);
    ASSERT_EQ(Rebuilt(model), model) << seed;
  }
}

// Long rows whose sums are off by as much as is allowed.
TEST(ModelBuilder, BuildingAgainGivesTheSameBitsWhereRowsWereNormalised) {
  RandomStream random(1, "rows");
  for (int trial = 0; trial < 100; ++trial) {
    const std::uint64_t states = 1 + random.Below(trial < 90 ? 40 : 5000);
    Transitions row;
    double sum = 0;
    for (std::uint64_t s = 0; s < states; ++s) {
      row.emplace_back(s, std::pow(random.Uniform(), 8));
      sum += row.back().second;
    }
    const double wanted = 1 + random.Uniform(-9e-10, 9e-10);
    for (auto& transition : row) transition.second *= wanted / sum;
    std::vector<Transitions> rows(states, Transitions{{0, 1}});
    rows[0] = row;
    const Model model = Build(rows);
    EXPECT_NO_THROW(CheckCanonical(model.arrays(), "model", 1));
    ASSERT_EQ(Rebuilt(model), model) << trial;
  }
}

TEST(ModelBuilder, RefusesBadProbabilities) {
  for (const double bad : {-1e-300, -0.5, 1.00000001, kInfinity, -kInfinity, kNan}) {
    const std::string message = RefusalOfRow({{0, 0.5}, {0, bad}});
    EXPECT_TRUE(
        message.starts_with("here: state 0, action 0: expected a probability in [0, 1], found "))
        << message;
  }
}

TEST(ModelBuilder, RefusesBadSumsNamingStateActionAndSum) {
  EXPECT_EQ(RefusalOfRow({{0, 0.5}, {0, 0.25}}),
            "here: state 0, action 0: the probabilities sum to 0.75 instead of 1");
  EXPECT_EQ(RefusalOfRow({{0, 0.75}, {0, 0.5}}),
            "here: state 0, action 0: the probabilities sum to 1.25 instead of 1");
  EXPECT_NE(RefusalOfRow({{0, 1 - 1.1e-9}}), "no error");
  EXPECT_NE(RefusalOfRow({{0, 0.5}, {0, 0.5 + 1.1e-9}}), "no error");
}

TEST(ModelBuilder, RefusesRowsWithoutTransitions) {
  EXPECT_EQ(RefusalOfRow({}), "here: state 0, action 0: the probabilities sum to 0 instead of 1");
  EXPECT_EQ(RefusalOfRow({{0, 0}}),
            "here: state 0, action 0: the probabilities sum to 0 instead of 1");
}

TEST(ModelBuilder, RefusesRewardsThatAreNotFinite) {
  for (const double bad : {kInfinity, -kInfinity, kNan}) {
    ModelBuilder builder([] { return std::string("model.csv:7"); });
    builder.BeginState();
    builder.Transition(0, 1);
    builder.EndRow(0);
    builder.Transition(0, 1);
    EXPECT_TRUE(MessageOf([&] {
                  builder.EndRow(bad);
                }).starts_with("model.csv:7: state 0, action 1: expected a finite reward, found "));
  }
}

TEST(ModelBuilder, AsksWhereOnlyWhenSomethingIsWrong) {
  int asked = 0;
  int line = 0;
  ModelBuilder builder([&] {
    ++asked;
    return "file:" + std::to_string(line);
  });
  for (line = 1; line <= 5; ++line) {
    builder.BeginState();
    builder.Transition(0, 1);
    builder.EndRow(0);
  }
  EXPECT_EQ(asked, 0);
  builder.BeginState();
  builder.Transition(0, 2);
  EXPECT_TRUE(MessageOf([&] { builder.EndRow(0); }).starts_with("file:6: state 5, action 0: "));
  EXPECT_EQ(asked, 1);
}

TEST(ModelBuilder, RefusesStatesWithoutAnAction) {
  ModelBuilder builder([] { return std::string("here"); });
  builder.BeginState();
  builder.Transition(0, 1);
  builder.EndRow(0);
  builder.BeginState();
  const std::string message = "here: state 1 has no action; give it at least one";
  EXPECT_EQ(MessageOf([&] { builder.BeginState(); }), message);
  EXPECT_EQ(MessageOf([&] { builder.Finish(std::nullopt); }), message);
}

TEST(ModelBuilder, RefusesModelsWithoutStates) {
  ModelBuilder builder([] { return std::string("empty.csv"); });
  EXPECT_EQ(MessageOf([&] { builder.Finish(std::nullopt); }), "empty.csv: the model has no state");
}

TEST(ModelBuilder, RefusesNextStatesThatAreNotThere) {
  EXPECT_EQ(RefusalOfRow({{1, 1}}),
            "here: a transition leads to state 1, but there are only 1 states");
}

// Truncated to 32 bits, these would be states 0 and 1, which exist.
TEST(ModelBuilder, NextStatesOfMoreThan32BitsAreNotCut) {
  for (const std::uint64_t next : {kTwoTo32, kTwoTo32 + 1, ~std::uint64_t{0}}) {
    const std::string message = MessageOf([&] { Build({{{1, 1}}, {{0, 0.5}, {next, 0.5}}}); });
    EXPECT_EQ(message, "here: a transition leads to state " + std::to_string(next) +
                           ", but there are only 2 states");
  }
  // Zeros are left out, wherever they lead.
  EXPECT_FALSE(Build({{{0, 1}, {kTwoTo32, 0}}}).wide());
}

TEST(ModelBuilder, WideColumnsHoldTheSameModel) {
  ModelBuilder builder([] { return std::string("here"); });
  builder.UseWideColumns();
  builder.Reserve(2, 2, 3);
  builder.BeginState();
  builder.Transition(1, 0.5);
  builder.Transition(0, 0.5);
  builder.EndRow(0);
  EXPECT_THROW(builder.UseWideColumns(), std::logic_error);
  builder.BeginState();
  builder.Transition(0, 1);
  builder.EndRow(1);
  const Model wide = builder.Finish(std::nullopt);
  const Model narrow = Build({{{1, 0.5}, {0, 0.5}}, {{0, 1}}});
  EXPECT_TRUE(wide.wide());
  EXPECT_FALSE(narrow.wide());
  EXPECT_FALSE(wide == narrow);
  EXPECT_EQ(wide.bytes(), narrow.bytes() + 4 * narrow.transitions());
  for (std::uint64_t k = 0; k < 3; ++k) EXPECT_EQ(wide.column(k), narrow.column(k));
  EXPECT_NO_THROW(CheckCanonical(wide.arrays(), "wide", 1));
  EXPECT_EQ(Rebuilt(wide), wide);
}

TEST(ModelBuilder, EndingARowBeforeTheFirstStateIsAMistakeInTheProgram) {
  ModelBuilder builder([] { return std::string("here"); });
  EXPECT_THROW(builder.EndRow(0), std::logic_error);
}

TEST(Model, TakesTwelveBytesPerTransitionSixteenPerRowEightPerState) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Model model = RandomModel(seed);
    EXPECT_EQ(model.bytes(),
              12 * model.transitions() + 16 * model.rows() + 8 * (model.states() + 2));
  }
}

TEST(Model, CopiesShareTheirArraysAndOutliveTheOriginal) {
  std::optional<Model> model = RandomModel(3, 12, 0.9);
  const Model copy = *model;
  EXPECT_EQ(copy.probabilities().data(), model->probabilities().data());
  const Model other = copy.WithRewards(std::vector<double>(copy.rows(), 2.0));
  EXPECT_EQ(other.probabilities().data(), copy.probabilities().data());
  const Model expected = Rebuilt(*model);
  model.reset();
  EXPECT_EQ(copy, expected);
  EXPECT_EQ(other.WithRewards({copy.rewards().begin(), copy.rewards().end()}), expected);
}

TEST(Model, OtherRewardsOrAnotherDiscountLeaveTheRest) {
  const Model model = RandomModel(7, 12, 0.9);
  const Model paid = model.WithRewards(std::vector<double>(model.rows(), 2.0));
  EXPECT_EQ(std::vector<double>(paid.rewards().begin(), paid.rewards().end()),
            std::vector<double>(model.rows(), 2.0));
  EXPECT_EQ(paid.discount(), 0.9);
  EXPECT_FALSE(paid == model);
  EXPECT_EQ(model.WithDiscount(0.5).discount(), 0.5);
  EXPECT_EQ(model.WithDiscount(std::nullopt).discount(), std::nullopt);
  EXPECT_EQ(model.WithDiscount(0.5).WithDiscount(0.9), model);
}

// Arrays that a test may damage.
struct Damaged {
  ModelStorage storage;

  explicit Damaged(const Model& model) {
    const ModelArrays& arrays = model.arrays();
    storage.state_rows.assign(arrays.state_rows.begin(), arrays.state_rows.end());
    storage.row_transitions.assign(arrays.row_transitions.begin(), arrays.row_transitions.end());
    storage.narrow_columns.assign(arrays.narrow_columns.begin(), arrays.narrow_columns.end());
    storage.wide_columns.assign(arrays.wide_columns.begin(), arrays.wide_columns.end());
    storage.probabilities.assign(arrays.probabilities.begin(), arrays.probabilities.end());
    storage.rewards.assign(arrays.rewards.begin(), arrays.rewards.end());
  }
  Model model() const { return MakeModel(storage, std::nullopt); }
};

TEST(Model, EqualityLooksAtEveryArrayBitByBit) {
  const Model model = RandomModel(7);
  const auto differs = [&](const std::function<void(ModelStorage&)>& change) {
    Damaged other(model);
    EXPECT_EQ(other.model(), model);
    change(other.storage);
    return !(other.model() == model);
  };
  EXPECT_TRUE(differs([](ModelStorage& s) { ++s.state_rows[1]; }));
  EXPECT_TRUE(differs([](ModelStorage& s) { ++s.row_transitions[1]; }));
  EXPECT_TRUE(differs([](ModelStorage& s) { ++s.narrow_columns[0]; }));
  EXPECT_TRUE(differs([](ModelStorage& s) { s.wide_columns = {1}; }));
  EXPECT_TRUE(
      differs([](ModelStorage& s) { s.probabilities[0] = std::nextafter(s.probabilities[0], 0); }));
  EXPECT_TRUE(differs([](ModelStorage& s) { s.rewards[0] = s.rewards[0] == 0 ? -0.0 : 0; }));
  EXPECT_TRUE(differs([](ModelStorage& s) { s.rewards.push_back(0); }));
  EXPECT_FALSE(model.WithDiscount(0.5) == model);
}

TEST(CheckCanonical, AcceptsWhatTheBuilderMakes) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    ASSERT_NO_THROW(CheckCanonical(RandomModel(seed).arrays(), "model", 1)) << seed;
  }
}

class CheckCanonicalOfDamage : public testing::Test {
 protected:
  // State 0 with two actions, then two states with one.
  static Model Sound() {
    ModelBuilder builder([] { return std::string("sound"); });
    builder.BeginState();
    builder.Transition(0, 0.5);
    builder.Transition(2, 0.5);
    builder.EndRow(1);
    builder.Transition(1, 1);
    builder.EndRow(2);
    for (int s = 1; s < 3; ++s) {
      builder.BeginState();
      builder.Transition(0, 0.25);
      builder.Transition(1, 0.25);
      builder.Transition(2, 0.5);
      builder.EndRow(3);
    }
    return builder.Finish(std::nullopt);
  }

  static std::string Fault(const std::function<void(ModelStorage&)>& damage) {
    Damaged arrays(Sound());
    damage(arrays.storage);
    return MessageOf([&] { CheckCanonical(arrays.model().arrays(), "model.mdp", 2); });
  }
};

TEST_F(CheckCanonicalOfDamage, SaysWhatAndWhere) {
  EXPECT_TRUE(Fault([](ModelStorage& s) {
                s.probabilities[0] = 0.25;
              }).starts_with("model.mdp: row 0: expected "));
  EXPECT_TRUE(Fault([](ModelStorage& s) {
                s.rewards[3] = kNan;
              }).starts_with("model.mdp: row 3: expected "));
}

TEST_F(CheckCanonicalOfDamage, SeesBadOffsets) {
  for (std::size_t i = 0; i < 4; ++i) {
    for (const std::uint64_t value : {0, 1, 2, 3, 4, 5, 1000}) {
      if (Sound().state_rows()[i] == value) continue;
      // A different assignment of rows to states is just as valid.
      if (i == 1 && (value == 1 || value == 2)) continue;
      if (i == 2 && value == 3) continue;
      EXPECT_NE(Fault([&](ModelStorage& s) { s.state_rows[i] = value; }), "no error") << i << value;
    }
    EXPECT_NE(Fault([&](ModelStorage& s) { s.state_rows[i] = ~std::uint64_t{0}; }), "no error");
  }
  for (std::size_t i = 0; i < 5; ++i) {
    for (const std::uint64_t value : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1000}) {
      if (Sound().row_transitions()[i] == value) continue;
      EXPECT_NE(Fault([&](ModelStorage& s) { s.row_transitions[i] = value; }), "no error")
          << i << value;
    }
    EXPECT_NE(Fault([&](ModelStorage& s) { s.row_transitions[i] = ~std::uint64_t{0}; }),
              "no error");
  }
}

TEST_F(CheckCanonicalOfDamage, SeesBadNextStates) {
  EXPECT_NE(Fault([](ModelStorage& s) { s.narrow_columns[1] = 3; }), "no error");  // does not exist
  EXPECT_NE(Fault([](ModelStorage& s) { s.narrow_columns[8] = 0xffffffff; }), "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s.narrow_columns[0] = 2; }), "no error");  // repeated
  EXPECT_NE(Fault([](ModelStorage& s) { std::swap(s.narrow_columns[3], s.narrow_columns[4]); }),
            "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { std::swap(s.narrow_columns[7], s.narrow_columns[8]); }),
            "no error");
}

TEST_F(CheckCanonicalOfDamage, SeesBadNumbers) {
  for (std::size_t k = 0; k < 9; ++k) {
    for (const double bad : {0.0, -0.25, 0.3, 1e300, kInfinity, -kInfinity, kNan}) {
      EXPECT_NE(Fault([&](ModelStorage& s) { s.probabilities[k] = bad; }), "no error") << k << bad;
    }
  }
  for (std::size_t row = 0; row < 4; ++row) {
    for (const double bad : {kInfinity, -kInfinity, kNan}) {
      EXPECT_NE(Fault([&](ModelStorage& s) { s.rewards[row] = bad; }), "no error") << row << bad;
    }
  }
  // The sum is right.
  EXPECT_NE(Fault([](ModelStorage& s) {
              s.probabilities[3] = -0.25;
              s.probabilities[4] = 0.75;
            }),
            "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s.probabilities[2] = 1 + kEpsilon; }), "no error");
}

TEST_F(CheckCanonicalOfDamage, SeesArraysOfTheWrongLength) {
  EXPECT_NE(Fault([](ModelStorage& s) { s.state_rows.clear(); }), "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s.state_rows = {4}; }), "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s.state_rows.push_back(4); }), "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s.state_rows.pop_back(); }), "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s.row_transitions.clear(); }), "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s.row_transitions = {0, 9}; }), "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s.row_transitions = {0, 1, 2, 3, 4, 5, 6, 7, 9}; }),
            "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s.narrow_columns.pop_back(); }), "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s.narrow_columns.push_back(2); }), "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s.probabilities.pop_back(); }), "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s.rewards.pop_back(); }), "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s.rewards.push_back(0); }), "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s.wide_columns = {0}; }), "no error");
  // Both kinds of columns.
  EXPECT_NE(Fault([](ModelStorage& s) {
              s.wide_columns.assign(s.narrow_columns.begin(), s.narrow_columns.end());
            }),
            "no error");
  EXPECT_NE(Fault([](ModelStorage& s) { s = {}; }), "no error");
  EXPECT_NE(Fault([](ModelStorage& s) {
              s = {};
              s.state_rows = {0};
              s.row_transitions = {0};
            }),
            "no error");
}

TEST(CheckCanonical, FindsTheOneBadRowOfManyBlocks) {
  constexpr std::uint64_t kStates = 200'000;
  ModelBuilder builder([] { return std::string("many"); });
  for (std::uint64_t s = 0; s < kStates; ++s) {
    builder.BeginState();
    builder.Transition(s, 1);
    builder.EndRow(0);
  }
  Damaged arrays(builder.Finish(std::nullopt));
  EXPECT_NO_THROW(CheckCanonical(arrays.model().arrays(), "many", 3));
  for (const std::size_t row : {std::size_t{0}, std::size_t{65536}, std::size_t{kStates - 1}}) {
    Damaged one = arrays;
    one.storage.rewards[row] = kInfinity;
    EXPECT_TRUE(MessageOf([&] {
                  CheckCanonical(one.model().arrays(), "many", 3);
                }).starts_with("many: row " + std::to_string(row) + ":"));
  }
}

TEST(CheckDiscount, IsAtLeastZeroAndBelowOne) {
  EXPECT_NO_THROW(CheckDiscount(0, "x"));
  EXPECT_NO_THROW(CheckDiscount(std::nextafter(1.0, 0.0), "x"));
  EXPECT_EQ(MessageOf([] { CheckDiscount(1, "model.drn:3"); }),
            "model.drn:3: a discount of 1 (undiscounted models) is not supported; it must be below "
            "1");
  for (const double bad : {-1e-300, std::nextafter(1.0, 2.0), 7.0, kInfinity, kNan}) {
    EXPECT_TRUE(MessageOf([&] {
                  CheckDiscount(bad, "discount");
                }).starts_with("discount: expected a discount in [0, 1), found "));
  }
}

}  // namespace stableaa::model_builder_test
