#include "stableaa/nn/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/testing/message.h"

namespace stableaa::optimizer_test {

std::shared_ptr<const Plan> SmallPlan() {
  return std::make_shared<const Plan>(MakePlan(ParseSpec("vector(3) linear(20) tanh linear(2)")));
}

// Sets the same elements in every tensor: element i to f(i).
void Fill(Parameters& parameters, const std::function<float(std::size_t)>& f) {
  std::size_t next = 0;
  for (const ParameterTensor& tensor : ParameterTensors(parameters.plan())) {
    std::vector<float> values(tensor.size());
    for (float& value : values) value = f(next++);
    parameters.Set(tensor, values);
  }
}

std::vector<float> Elements(const Parameters& parameters) {
  std::vector<float> all;
  for (const ParameterTensor& tensor : ParameterTensors(parameters.plan())) {
    std::vector<float> values(tensor.size());
    parameters.Get(tensor, values);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

float Gradient(std::size_t i, int step) {
  return static_cast<float>(std::sin(0.7 * static_cast<double>(i) + 1.3 * step)) / 3;
}

// The textbook update of one parameter, in double.
using Update = std::function<double(double gradient, int step)>;

void ExpectUpdates(const OptimizerOptions& options, const std::function<Update()>& make_update) {
  const auto plan = SmallPlan();
  Optimizer optimizer(plan, options);
  Parameters parameters(plan);
  Parameters gradients(plan);
  Fill(parameters, [](std::size_t i) { return 0.1F * static_cast<float>(i % 7); });
  const std::vector<float> start = Elements(parameters);
  std::vector<double> expected(start.begin(), start.end());
  std::vector<Update> updates;
  for (std::size_t i = 0; i < expected.size(); ++i) updates.push_back(make_update());
  for (int step = 1; step <= 5; ++step) {
    Fill(gradients, [&](std::size_t i) { return Gradient(i, step); });
    optimizer.Step(gradients, parameters);
    const std::vector<float> found = Elements(parameters);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] -= updates[i](Gradient(i, step), step);
      ASSERT_NEAR(found[i], expected[i], 2e-6) << "element " << i << ", step " << step;
    }
  }
  double moved = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) moved += std::abs(expected[i] - start[i]);
  EXPECT_GT(moved, 1e-3 * static_cast<double>(expected.size())) << "too little to show anything";
}

TEST(Rmsprop, FollowsPyTorchsForm) {
  ExpectUpdates({.learning_rate = 0.01, .alpha = 0.9, .epsilon = 0.02}, [] {
    return [v = 0.0](double g, int) mutable {
      v = 0.9 * v + 0.1 * g * g;
      return 0.01 * g / (std::sqrt(v) + 0.02);
    };
  });
}

TEST(Rmsprop, WithEpsilonInsideTheRootFollowsMnihEtAl) {
  ExpectUpdates({.learning_rate = 0.01, .alpha = 0.9, .epsilon = 0.02, .epsilon_inside = true}, [] {
    return [v = 0.0](double g, int) mutable {
      v = 0.9 * v + 0.1 * g * g;
      return 0.01 * g / std::sqrt(v + 0.02);
    };
  });
}

TEST(CentredRmsprop, SubtractsTheSquaredMean) {
  for (const bool inside : {false, true}) {
    ExpectUpdates({.kind = OptimizerKind::kCentredRmsprop,
                   .learning_rate = 0.01,
                   .alpha = 0.9,
                   .epsilon = 0.02,
                   .epsilon_inside = inside},
                  [inside] {
                    return [inside, v = 0.0, m = 0.0](double g, int) mutable {
                      v = 0.9 * v + 0.1 * g * g;
                      m = 0.9 * m + 0.1 * g;
                      const double variance = v - m * m;
                      return 0.01 * g /
                             (inside ? std::sqrt(variance + 0.02) : std::sqrt(variance) + 0.02);
                    };
                  });
  }
}

TEST(CentredRmsprop, StaysFiniteWhenGradientsNeverChange) {
  const auto plan = SmallPlan();
  Optimizer optimizer(plan, {.kind = OptimizerKind::kCentredRmsprop, .alpha = 0.5});
  Parameters parameters(plan);
  Parameters gradients(plan);
  Fill(gradients, [](std::size_t i) { return 0.1F + static_cast<float>(i); });
  for (int step = 0; step < 200; ++step) optimizer.Step(gradients, parameters);
  for (const float value : Elements(parameters)) EXPECT_TRUE(std::isfinite(value));
}

TEST(Adam, FollowsKingmaAndBa) {
  ExpectUpdates({.kind = OptimizerKind::kAdam, .learning_rate = 0.01, .epsilon = 1e-8}, [] {
    return [m = 0.0, v = 0.0](double g, int step) mutable {
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      const double mean = m / (1 - std::pow(0.9, step));
      const double square = v / (1 - std::pow(0.999, step));
      return 0.01 * mean / (std::sqrt(square) + 1e-8);
    };
  });
}

TEST(Clipping, ScalesGradientsAboveTheNormAndNoOthers) {
  const auto plan = SmallPlan();
  Parameters gradients(plan);
  Fill(gradients, [](std::size_t i) { return Gradient(i, 1); });
  double square = 0;
  for (const float g : Elements(gradients)) square += static_cast<double>(g) * g;
  const double norm = std::sqrt(square);
  for (const double limit : {0.5 * norm, 2 * norm}) {
    const OptimizerOptions options{.learning_rate = 0.1, .max_gradient_norm = limit};
    Optimizer clipping(plan, options);
    Parameters clipped(plan);
    const OptimizerReport report = clipping.Step(gradients, clipped);
    EXPECT_NEAR(report.gradient_norm, norm, 1e-6 * norm);
    EXPECT_EQ(report.clipped, limit < norm);

    Parameters scaled(plan);
    const double factor = std::min(1.0, limit / norm);
    Fill(scaled, [&](std::size_t i) { return static_cast<float>(factor * Gradient(i, 1)); });
    Optimizer plain(plan, {.learning_rate = 0.1});
    Parameters expected(plan);
    plain.Step(scaled, expected);
    const std::vector<float> found = Elements(clipped);
    const std::vector<float> wanted = Elements(expected);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-6);
  }
}

TEST(Clipping, RefusesGradientsThatAreNotFiniteAndChangesNothing) {
  const auto plan = SmallPlan();
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Optimizer optimizer(plan, {.max_gradient_norm = 1});
    Parameters parameters(plan);
    Parameters gradients(plan);
    Fill(gradients, [&](std::size_t i) { return i == 40 ? bad : 1; });
    const std::string message =
        MessageOf([&] { optimizer.Step(gradients, parameters); }, Error::Kind::kWorkFailed);
    EXPECT_NE(message.find("update 1"), std::string::npos) << message;
    for (const float value : Elements(parameters)) EXPECT_EQ(value, 0);
    EXPECT_EQ(optimizer.steps(), 0);
  }
}

TEST(Optimizer, GivesTheSameBytesForAnyNumberOfThreads) {
  const auto plan = std::make_shared<const Plan>(MakePlan(NamedSpec("minatar-dueling", 6)));
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    Optimizer optimizer(plan, {.max_gradient_norm = 1}, threads);
    RandomStream random(3, "optimizer_test");
    Parameters parameters(plan);
    Parameters gradients(plan);
    parameters.Initialise(random);
    for (int step = 0; step < 3; ++step) {
      gradients.Initialise(random);
      optimizer.Step(gradients, parameters);
    }
    results.push_back(Elements(parameters));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Optimizer, AveragesOfDeadUnitsBecomeZeroAndNotDenormal) {
  const auto plan = SmallPlan();
  for (const OptimizerKind kind : {OptimizerKind::kRmsprop, OptimizerKind::kCentredRmsprop}) {
    Optimizer optimizer(plan, {.kind = kind});
    Parameters parameters(plan);
    Parameters gradients(plan);
    Fill(gradients, [](std::size_t) { return 1; });
    optimizer.Step(gradients, parameters);
    Fill(gradients, [](std::size_t) { return 0; });
    for (int step = 0; step < 2000; ++step) optimizer.Step(gradients, parameters);
    ByteWriter state;
    optimizer.Save(state);
    Optimizer fresh(plan, {.kind = kind});
    ByteWriter zeros;
    fresh.Save(zeros);
    const std::size_t behind_steps = 1 + 8 + ToText(plan->spec).size() + 8;
    EXPECT_TRUE(std::ranges::equal(state.bytes().subspan(behind_steps),
                                   zeros.bytes().subspan(behind_steps)));
  }
}

class OptimizerState : public testing::TestWithParam<OptimizerKind> {};

// Against an optimiser per update, each with that update's rate.
TEST_P(OptimizerState, AScheduledRateIsThatOfTheStep) {
  const auto plan = SmallPlan();
  const Schedule schedule = Schedule::Parse("linear(0.1, 0, 50)");
  Optimizer scheduled(plan, {.kind = GetParam(), .learning_rate = schedule});
  Parameters found(plan), expected(plan), gradients(plan), former(plan);
  ByteWriter state;
  for (int update = 1; update <= 6; ++update) {
    const std::int64_t step = 10 * update;
    Fill(gradients, [&](std::size_t i) { return Gradient(i, update); });
    former.CopyFrom(found);
    scheduled.Step(gradients, found, step);
    Optimizer constant(plan, {.kind = GetParam(), .learning_rate = schedule.At(step)});
    if (update > 1) {
      ByteReader in(state.bytes(), "state");
      constant.Load(in);
    }
    constant.Step(gradients, expected);
    state = ByteWriter();
    constant.Save(state);
    EXPECT_EQ(Elements(found), Elements(expected));
    EXPECT_EQ(Elements(found) == Elements(former), step >= 50) << "a rate of 0 changes nothing";
  }
}

TEST_P(OptimizerState, ContinuesToTheSameBytes) {
  const auto plan = SmallPlan();
  const OptimizerOptions options{.kind = GetParam(), .learning_rate = 0.01};
  Optimizer whole(plan, options);
  Parameters parameters(plan);
  Parameters gradients(plan);
  const auto step = [&](Optimizer& optimizer, Parameters& into, int number) {
    Fill(gradients, [&](std::size_t i) { return Gradient(i, number); });
    optimizer.Step(gradients, into);
  };
  for (int number = 1; number <= 3; ++number) step(whole, parameters, number);

  ByteWriter out;
  whole.Save(out);
  Optimizer resumed(plan, options);
  ByteReader in(out.bytes(), "state");
  resumed.Load(in);
  in.ExpectEnd();
  EXPECT_EQ(resumed.steps(), 3);
  Parameters copy(plan);
  copy.CopyFrom(parameters);
  for (int number = 4; number <= 6; ++number) {
    step(whole, parameters, number);
    step(resumed, copy, number);
  }
  EXPECT_EQ(Elements(parameters), Elements(copy));

  ByteWriter again;
  resumed.Save(again);
  // A state truncated anywhere is refused and leaves the optimiser as it was.
  for (std::size_t size = 0; size < out.bytes().size(); size += 3) {
    ByteReader cut(out.bytes().first(size), "cut");
    EXPECT_THROW(resumed.Load(cut), Error);
  }
  ByteWriter unchanged;
  resumed.Save(unchanged);
  EXPECT_TRUE(std::ranges::equal(again.bytes(), unchanged.bytes()));
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerState,
                         testing::Values(OptimizerKind::kRmsprop, OptimizerKind::kCentredRmsprop,
                                         OptimizerKind::kAdam));

TEST(SavedOptimizer, OfAnotherKindOrNetworkIsRefused) {
  const auto plan = SmallPlan();
  const auto relu =
      std::make_shared<const Plan>(MakePlan(ParseSpec("vector(3) linear(20) relu linear(2)")));
  const Optimizer adam(plan, {.kind = OptimizerKind::kAdam});
  ByteWriter out;
  adam.Save(out);
  Optimizer rmsprop(plan, {});
  Optimizer centred(plan, {.kind = OptimizerKind::kCentredRmsprop});
  Optimizer elsewhere(relu, {.kind = OptimizerKind::kAdam});
  for (Optimizer* other : {&rmsprop, &centred, &elsewhere}) {
    ByteReader in(out.bytes(), "state");
    EXPECT_THROW(other->Load(in), Error);
  }
}

TEST(SavedOptimizer, WithAnImpossibleNumberOfUpdatesIsRefused) {
  const auto plan = SmallPlan();
  Optimizer optimizer(plan, {});
  ByteWriter out;
  optimizer.Save(out);
  for (const int high : {0x7F, 0xFF}) {
    std::vector<std::byte> bytes(out.bytes().begin(), out.bytes().end());
    bytes[1 + 8 + ToText(plan->spec).size() + 7] = static_cast<std::byte>(high);
    ByteReader in(bytes, "state");
    EXPECT_THROW(optimizer.Load(in), Error);
  }
}

TEST(Optimizer, RefusesOptionsOutOfRangeAndOtherNetworks) {
  const auto plan = SmallPlan();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const OptimizerOptions& options :
       {OptimizerOptions{.learning_rate = -1}, OptimizerOptions{.learning_rate = nan},
        OptimizerOptions{.learning_rate = Schedule::Parse("linear(1, -1, 5)")},
        OptimizerOptions{.alpha = 1}, OptimizerOptions{.beta2 = -0.1},
        OptimizerOptions{.epsilon = 0}, OptimizerOptions{.max_gradient_norm = -1}}) {
    EXPECT_THROW(Optimizer(plan, options), Error);
  }
  EXPECT_THROW(Optimizer(plan, {}, 0), Error);
  const auto other = std::make_shared<const Plan>(MakePlan(ParseSpec("vector(3) linear(2)")));
  Optimizer optimizer(plan, {});
  Parameters mine(plan);
  Parameters others(other);
  EXPECT_THROW(optimizer.Step(others, mine), Error);
  EXPECT_THROW(optimizer.Step(mine, others), Error);
  EXPECT_THROW(optimizer.Step(mine, mine), Error);
}

}  // namespace stableaa::optimizer_test
