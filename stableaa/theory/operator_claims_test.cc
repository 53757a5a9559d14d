#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/theory/claims.h"
#include "stableaa/theory/trials.h"

namespace stableaa::operator_claims_test {

using LongValues = std::vector<long double>;

// ---- The formulas once more, literally ----

long double Mellowmax(const LongValues& q, long double omega) {
  long double sum = 0;
  for (const long double value : q) sum += std::exp(omega * (value - q[0]));
  return q[0] + std::log(sum / static_cast<long double>(q.size())) / omega;
}

long double Boltzmann(const LongValues& q, long double omega) {
  long double sum = 0;
  long double weighted = 0;
  for (const long double value : q) {
    const long double weight = std::exp(omega * (value - q[0]));
    sum += weight;
    weighted += weight * value;
  }
  return weighted / sum;
}

long double Range(const LongValues& q) {
  const auto [least, most] = std::ranges::minmax(q);
  return most - least;
}

long double Distance(const LongValues& a, const LongValues& b) {
  long double distance = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    distance = std::max(distance, std::abs(a[i] - b[i]));
  }
  return distance;
}

// ---- Instances, from their descriptions ----

// The numbers after `name` in "omega 2, q = (1, 2), q' = (3, 4)": a list in parentheses or a single
// one.
LongValues Described(const std::string& description, std::string_view name) {
  LongValues numbers;
  std::size_t at = description.find(name);
  if (at == std::string::npos) return numbers;
  at += name.size();
  const std::size_t end = description.find_first_of(name == "omega " ? "," : ")", at);
  for (std::string rest = description.substr(at, end - at); !rest.empty();) {
    std::size_t used = 0;
    numbers.push_back(std::stold(rest, &used));
    rest = rest.substr(std::min(rest.size(), used + 2));
  }
  return numbers;
}

struct Drawn {
  TrialOutcome outcome;
  long double omega = 0;
  LongValues q;
  LongValues moved;

  // Descriptions have 6 digits: enough if the vectors are far apart compared to their entries and
  // to 1/ω.
  bool Telling() const {
    if (q.empty() || moved.size() != q.size()) return false;
    const LongValues origin(q.size(), 0);
    const long double entries = std::max(Distance(q, origin), Distance(moved, origin));
    return Distance(q, moved) > 0.1L * entries && omega * entries < 30;
  }
};

Drawn Draw(const Claim& claim, RandomStream& stream) {
  Choices choices(&stream);
  std::string description;
  Drawn drawn;
  drawn.outcome = claim.trial(choices, &description);
  if (const LongValues omega = Described(description, "omega "); !omega.empty()) {
    drawn.omega = omega[0];
  }
  drawn.q = Described(description, ", q = (");
  drawn.moved = Described(description, "q' = (");
  return drawn;
}

TEST(OperatorClaims, ComeWithTheIdsOfTheContract) {
  std::vector<std::string_view> ids;
  for (const Claim& claim : OperatorClaims()) ids.push_back(claim.id);
  EXPECT_EQ(
      ids, (std::vector<std::string_view>{"mellowmax-nonexpansive", "mellowmax-c2",
                                          "boltzmann-expansive", "maxent-root", "mellowmax-bias"}));
}

TEST(OperatorClaims, HoldAsPrintedAndAsCorrected) {
  for (const Claim& claim : OperatorClaims()) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const ClaimResult result = TestClaim(claim, {.trials = 200, .seed = seed});
      const Verdict printed = claim.printed.empty() ? Verdict::kNone : Verdict::kHolds;
      EXPECT_EQ(result.printed.verdict, printed) << claim.id << result.printed.instance;
      EXPECT_EQ(result.corrected.verdict, Verdict::kHolds) << claim.id << result.corrected.instance;
    }
  }
}

TEST(OperatorClaims, WouldBeFoundViolatedWithATenthLess) {
  for (const std::string_view id :
       {"mellowmax-nonexpansive", "mellowmax-c2", "boltzmann-expansive", "mellowmax-bias"}) {
    Claim claim = FindClaim(id);
    claim.fixed = {};  // so that the search must find one itself
    EXPECT_GT(TestClaim(claim, {.trials = 200}).corrected.worst, 0.95) << id;
    const ClaimResult less = TestClaim(claim, {.trials = 200, .bound_factor = 0.9});
    EXPECT_EQ(less.corrected.verdict, Verdict::kViolated) << id;
  }
}

// The trials of mellowmax-c2 for its inequality `which`, which is their first choice.
template <int which>
TrialOutcome TryDerivative(Choices& choices, std::string* description) {
  const TrialOutcome outcome = FindClaim("mellowmax-c2").trial(choices, description);
  return static_cast<int>(4 * choices.Taken()[0]) == which ? outcome : TrialOutcome{};
}

TEST(OperatorClaims, EachInequalityOfTheDerivativesWouldBeFoundViolated) {
  Claim claim = FindClaim("mellowmax-c2");
  claim.fixed = {};
  // The last is attained up to .77 of its bound.
  const std::pair<Trial, double> inequalities[] = {{TryDerivative<0>, 0.9},
                                                   {TryDerivative<1>, 0.9},
                                                   {TryDerivative<2>, 0.9},
                                                   {TryDerivative<3>, 0.7}};
  for (const auto& [trial, factor] : inequalities) {
    claim.trial = trial;
    EXPECT_EQ(TestClaim(claim, {.trials = 200}).printed.verdict, Verdict::kHolds);
    EXPECT_EQ(TestClaim(claim, {.trials = 200, .bound_factor = factor}).printed.verdict,
              Verdict::kViolated);
  }
}

TEST(OperatorClaims, HaveInstancesThatDoNotDependOnTheirDescription) {
  for (const Claim& claim : OperatorClaims()) {
    RandomStream stream(1, "test");
    for (int i = 0; i < 20; ++i) {
      Choices choices(&stream);
      std::string description;
      const TrialOutcome first = claim.trial(choices, &description);
      EXPECT_FALSE(description.empty());
      Choices again(choices.Taken(), nullptr);  // no further number may be requested
      const TrialOutcome second = claim.trial(again, nullptr);
      for (const auto form : {&TrialOutcome::printed, &TrialOutcome::corrected}) {
        ASSERT_EQ((first.*form).has_value(), (second.*form).has_value());
        if (first.*form) {
          EXPECT_EQ((first.*form)->left, (second.*form)->left) << claim.id;
        }
      }
    }
  }
}

TEST(MellowmaxNonexpansive, ComparesWhatItDescribes) {
  RandomStream stream(1, "test");
  int told = 0;
  for (int i = 0; i < 500; ++i) {
    const Drawn drawn = Draw(FindClaim("mellowmax-nonexpansive"), stream);
    if (!drawn.Telling()) continue;
    ++told;
    const Inequality& printed = *drawn.outcome.printed;
    const long double distance = Distance(drawn.q, drawn.moved);
    const long double change =
        std::abs(Mellowmax(drawn.moved, drawn.omega) - Mellowmax(drawn.q, drawn.omega));
    EXPECT_NEAR(static_cast<double>(printed.right / distance), 1, 1e-4);
    EXPECT_NEAR(static_cast<double>(printed.left / distance),
                static_cast<double>(change / distance), 1e-4);
  }
  EXPECT_GT(told, 50);
}

TEST(MellowmaxNonexpansive, IsAnEqualityForAConstantShift) {
  const TrialOutcome shift = FindClaim("mellowmax-nonexpansive").fixed[0].evaluate();
  EXPECT_DOUBLE_EQ(static_cast<double>(shift.printed->left), 0.5);
  EXPECT_DOUBLE_EQ(static_cast<double>(shift.printed->right), 0.5);
}

// Finite differences of finite differences, which involve no softmax.
TEST(MellowmaxC2, HasTheSecondDerivativeOfItsFixedInstance) {
  constexpr long double kOmega = 10;
  constexpr long double kStep = 1e-4L;
  const auto along = [](long double t) { return Mellowmax({t, -t}, kOmega); };
  const long double second = (along(kStep) - 2 * along(0) + along(-kStep)) / (kStep * kStep);
  const TrialOutcome equal = FindClaim("mellowmax-c2").fixed[0].evaluate();
  // uᵀC v with u = d = 0.001·(1, −1) and v = (1, −1).
  EXPECT_NEAR(static_cast<double>(equal.printed->left), static_cast<double>(0.001L * second), 1e-7);
  EXPECT_NEAR(static_cast<double>(equal.printed->right), 0.01, 1e-15);
}

TEST(MellowmaxC2, FailsWithHalfOfOmega) {
  const ClaimResult half =
      TestClaim(FindClaim("mellowmax-c2"), {.trials = 100, .bound_factor = 0.5});
  EXPECT_EQ(half.printed.verdict, Verdict::kViolated);
  EXPECT_NEAR(half.printed.worst, 2, 1e-6);
}

TEST(BoltzmannExpansive, ComparesWhatItDescribes) {
  RandomStream stream(1, "test");
  int told = 0;
  for (int i = 0; i < 500; ++i) {
    const Drawn drawn = Draw(FindClaim("boltzmann-expansive"), stream);
    if (!drawn.Telling()) continue;
    ++told;
    const long double distance = Distance(drawn.q, drawn.moved);
    const long double change =
        std::abs(Boltzmann(drawn.moved, drawn.omega) - Boltzmann(drawn.q, drawn.omega));
    const long double scaled = drawn.omega * std::max(Range(drawn.q), Range(drawn.moved));
    const long double constant = scaled < 1 ? 1 : (scaled * scaled + 1) / (2 * scaled);
    EXPECT_NEAR(static_cast<double>(drawn.outcome.printed->right / distance), 1, 1e-4);
    EXPECT_NEAR(static_cast<double>(drawn.outcome.printed->left / distance),
                static_cast<double>(change / distance), 1e-3);
    EXPECT_NEAR(static_cast<double>(drawn.outcome.corrected->right / distance / constant), 1, 1e-3);
  }
  EXPECT_GT(told, 50);
}

TEST(BoltzmannExpansive, HasThreeFixedPointsAndKeepsTheDistanceOfTheOuterTwo) {
  const auto rise = [](long double v) {
    return Boltzmann({0.05L + 0.98L * 0.2L * v, 0.033L + 0.98L * 0.99L * v}, 10) - v;
  };
  std::vector<long double> roots;
  constexpr int kCells = 2000;
  for (int cell = 0; cell < kCells; ++cell) {
    long double low = 2.0L * cell / kCells;
    long double high = 2.0L * (cell + 1) / kCells;
    if ((rise(low) > 0) == (rise(high) > 0)) continue;
    for (int halving = 0; halving < 80; ++halving) {
      const long double middle = (low + high) / 2;
      ((rise(middle) > 0) == (rise(low) > 0) ? low : high) = middle;
    }
    roots.push_back(low);
  }
  ASSERT_EQ(roots.size(), 3U);
  EXPECT_NEAR(static_cast<double>(roots[0]), 0.176, 5e-4);
  EXPECT_NEAR(static_cast<double>(roots[1]), 0.258, 5e-4);
  EXPECT_NEAR(static_cast<double>(roots[2]), 1.101, 5e-4);

  const TrialOutcome outcome = FindClaim("boltzmann-expansive").fixed[0].evaluate();
  const long double distance = roots[2] - roots[0];
  EXPECT_NEAR(static_cast<double>(outcome.printed->left), static_cast<double>(distance), 1e-12);
  EXPECT_NEAR(static_cast<double>(outcome.printed->right),
              static_cast<double>(0.98L * 0.99L * distance), 1e-12);
  EXPECT_GT(outcome.printed->Ratio(), 1);
  EXPECT_LT(outcome.corrected->Ratio(), 1);
}

TEST(BoltzmannExpansive, WouldBeFoundOutIfItWereSaidNotToExpand) {
  Claim claim = FindClaim("boltzmann-expansive");
  claim.printed_is_existence = false;
  EXPECT_EQ(TestClaim(claim, {.trials = 100}).printed.verdict, Verdict::kViolated);
}

TEST(MaxentRoot, FindsTheRootThatBisectionFinds) {
  const TrialOutcome outcome = FindClaim("maxent-root").fixed[0].evaluate();
  const LongValues q = {3, 0, 0, 0, 0, 0, 0, 0};
  const long double mm = Mellowmax(q, 1);
  long double low = 0;
  long double high = 1;
  for (int halving = 0; halving < 80; ++halving) {
    const long double rho = (low + high) / 2;
    long double sum = 0;
    for (const long double value : q) sum += std::exp(rho * (value - mm)) * (value - mm);
    (sum < 0 ? low : high) = rho;
  }
  EXPECT_NEAR(static_cast<double>(outcome.corrected->left), static_cast<double>(low), 1e-12);
  EXPECT_EQ(outcome.corrected->right, 1);
}

TEST(MaxentRoot, FailsWithHalfOfOmega) {
  const ClaimResult half =
      TestClaim(FindClaim("maxent-root"), {.trials = 100, .bound_factor = 0.5});
  EXPECT_EQ(half.corrected.verdict, Verdict::kViolated);
}

TEST(MellowmaxBias, IsAnEqualityWithOneActionFarAboveTheOthers) {
  const TrialOutcome outcome = FindClaim("mellowmax-bias").fixed[0].evaluate();
  // V = 1 − log 4/100 + .9 V
  EXPECT_NEAR(static_cast<double>(outcome.corrected->left), std::log(4.0) / 10, 1e-7);
  EXPECT_NEAR(static_cast<double>(outcome.corrected->right), std::log(4.0) / 10, 1e-15);
}

TEST(FullOperatorClaims, HoldForManySeeds) {
  for (const Claim& claim : OperatorClaims()) {
    for (std::uint64_t seed = 11; seed <= 20; ++seed) {
      const ClaimResult result = TestClaim(claim, {.trials = 1000, .seed = seed});
      EXPECT_EQ(result.corrected.verdict, Verdict::kHolds)
          << claim.id << " seed " << seed << ": " << result.corrected.instance;
    }
  }
}

}  // namespace stableaa::operator_claims_test
