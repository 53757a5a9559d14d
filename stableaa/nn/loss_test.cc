#include "stableaa/nn/loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/nn/finite_difference_test.h"
#include "stableaa/nn/reference_network.h"
#include "stableaa/testing/message.h"

namespace stableaa::loss_test {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

constexpr LossOptions kSquared{.kind = LossKind::kSquared};
LossOptions Huber(double delta) { return {.kind = LossKind::kHuber, .huber_delta = delta}; }

// Numbers that a float represents exactly, as it does their neighbours at ±kStep.
constexpr float kStep = 1.0F / 1024;
float Dyadic(RandomStream& random) {
  return static_cast<float>(random.Integer(-4096, 4096)) * kStep;
}

// A batch that owns its memory.
struct Batch {
  int actions = 1;
  Floats outputs;
  std::vector<int> chosen;
  Floats targets;
  Floats weights = {};

  LossBatch view() const { return {actions, outputs, chosen, targets, weights}; }
};

Batch RandomBatch(std::size_t samples, int actions, std::uint64_t seed) {
  RandomStream random(seed, "loss");
  Batch batch{.actions = actions,
              .outputs = Floats(samples * static_cast<std::size_t>(actions)),
              .chosen = std::vector<int>(samples),
              .targets = Floats(samples),
              .weights = Floats(samples)};
  for (float& output : batch.outputs) output = Dyadic(random);
  for (int& action : batch.chosen) action = static_cast<int>(random.Integer(0, actions - 1));
  for (float& target : batch.targets) target = Dyadic(random);
  random.FillUniform(batch.weights, 0, 3);
  return batch;
}

struct Result {
  double loss = 0;
  Floats gradients;
  Floats errors;
};

Result Evaluate(const LossOptions& options, const Batch& batch) {
  // Old contents must be overwritten.
  Result result{.gradients = Floats(batch.outputs.size(), 9.0F),
                .errors = Floats(batch.targets.size(), 9.0F)};
  result.loss = LossGradient(options, batch.view(), result.gradients, result.errors);
  return result;
}

// A single sample of one action with error d.
Result At(const LossOptions& options, float d) {
  return Evaluate(options, {.outputs = {d}, .chosen = {0}, .targets = {0}});
}

// --- values

TEST(Loss, SquaredIsThatOfPyTorchWithoutAHalf) {
  for (const float d : {-3.0F, -0.5F, 0.0F, 2.0F}) {
    EXPECT_EQ(At(kSquared, d).loss, d * d);
    EXPECT_EQ(At(kSquared, d).gradients[0], 2 * d);
  }
}

TEST(Loss, HuberIsHalfASquareWithinDeltaAndALineBeyond) {
  for (const double delta : {0.25, 1.0, 2.0}) {
    for (const float d : {-3.0F, -1.0F, -0.125F, 0.0F, 0.25F, 1.5F}) {
      const double size = std::abs(double{d});
      const double expected = size <= delta ? size * size / 2 : delta * (size - delta / 2);
      EXPECT_EQ(At(Huber(delta), d).loss, expected);
      EXPECT_EQ(At(Huber(delta), d).gradients[0], std::clamp(double{d}, -delta, delta));
    }
  }
}

TEST(Loss, HuberIsContinuousAtDelta) {
  const float inside = std::nextafter(1.0F, 0.0F);
  const float outside = std::nextafter(1.0F, 2.0F);
  EXPECT_NEAR(At(Huber(1), outside).loss, At(Huber(1), inside).loss, 2e-7);
  EXPECT_NEAR(At(Huber(1), outside).gradients[0], At(Huber(1), inside).gradients[0], 2e-7);
}

TEST(Loss, HuberOfALargeDeltaIsHalfTheSquaredLoss) {
  const Batch batch = RandomBatch(16, 3, 1);
  const Result huber = Evaluate(Huber(1e6), batch);
  const Result squared = Evaluate(kSquared, batch);
  EXPECT_DOUBLE_EQ(2 * huber.loss, squared.loss);
  for (std::size_t i = 0; i < huber.gradients.size(); ++i) {
    EXPECT_FLOAT_EQ(2 * huber.gradients[i], squared.gradients[i]);
  }
}

TEST(Loss, ErrorsAreOutputsOfTheChosenActionsMinusTargets) {
  const Batch batch{.actions = 3,
                    .outputs = {1, 2, 3, 4, 5, 6},
                    .chosen = {2, 0},
                    .targets = {0.5F, 7},
                    .weights = {0, 10}};
  const Result result = Evaluate(Huber(1), batch);
  EXPECT_EQ(result.errors, (Floats{2.5F, -3}));
  EXPECT_EQ(result.gradients, (Floats{0, 0, 0, -5, 0, 0}));
  EXPECT_EQ(result.loss, 10 * 2.5 / 2);
}

TEST(Loss, NeedsNoPlaceForErrors) {
  const Batch batch = RandomBatch(16, 3, 2);
  Floats gradients(batch.outputs.size());
  const double loss = LossGradient(kSquared, batch.view(), gradients);
  EXPECT_EQ(loss, Evaluate(kSquared, batch).loss);
  EXPECT_EQ(gradients, Evaluate(kSquared, batch).gradients);
}

// --- weights

TEST(Loss, NoWeightsAreWeightsOfOne) {
  Batch batch = RandomBatch(16, 3, 3);
  batch.weights.assign(16, 1.0F);
  const Result ones = Evaluate(kSquared, batch);
  batch.weights.clear();
  EXPECT_EQ(Evaluate(kSquared, batch).loss, ones.loss);
  EXPECT_EQ(Evaluate(kSquared, batch).gradients, ones.gradients);
}

TEST(Loss, ScalesWithTheWeightsAndNotByTheirSum) {
  Batch batch = RandomBatch(16, 3, 4);
  const Result before = Evaluate(Huber(1), batch);
  for (float& weight : batch.weights) weight *= 4;
  const Result after = Evaluate(Huber(1), batch);
  EXPECT_EQ(after.loss, 4 * before.loss);
  EXPECT_EQ(after.errors, before.errors);
  for (std::size_t i = 0; i < before.gradients.size(); ++i) {
    EXPECT_EQ(after.gradients[i], 4 * before.gradients[i]);
  }
}

TEST(Loss, ABatchGivenTwiceHasTheSameLossAndHalfTheGradientPerSample) {
  const Batch once = RandomBatch(8, 2, 5);
  Batch twice = once;
  const auto repeat = [](auto& values) {
    const auto copy = values;
    values.insert(values.end(), copy.begin(), copy.end());
  };
  repeat(twice.outputs);
  repeat(twice.chosen);
  repeat(twice.targets);
  repeat(twice.weights);
  EXPECT_DOUBLE_EQ(Evaluate(Huber(1), twice).loss, Evaluate(Huber(1), once).loss);
  EXPECT_EQ(Evaluate(Huber(1), twice).gradients[0], Evaluate(Huber(1), once).gradients[0] / 2);
}

// --- gradients

// Central differences are exact for parabolas and lines. A step of 2^-10, which loses no bits of
// these outputs, leaves only the gradient's own rounding to float.
TEST(LossGradients, AreThoseOfFiniteDifferences) {
  for (const LossOptions& options : {kSquared, Huber(1), Huber(0.3), Huber(3)}) {
    Batch batch = RandomBatch(40, 3, 6);
    const Result result = Evaluate(options, batch);
    int compared = 0;
    for (std::size_t i = 0; i < batch.outputs.size(); ++i) {
      const bool at_kink = options.kind == LossKind::kHuber &&
                           std::abs(std::abs(double{result.errors[i / 3]}) - options.huber_delta) <=
                               2 * double{kStep};
      if (at_kink) continue;
      const float middle = batch.outputs[i];
      batch.outputs[i] = middle + kStep;
      const double above = Evaluate(options, batch).loss;
      batch.outputs[i] = middle - kStep;
      const double below = Evaluate(options, batch).loss;
      batch.outputs[i] = middle;
      const double expected = (above - below) / (2 * double{kStep});
      EXPECT_NEAR(result.gradients[i], expected, 1e-7 * std::abs(expected) + 1e-11) << i;
      if (expected != 0) ++compared;
    }
    EXPECT_GE(compared, 35);  // the chosen action of nearly each of 40 samples
  }
}

// From the parameters of a network to the loss, as in a real training step: with float outputs and
// float gradients in between. Dyadic parameters make those exact.
TEST(LossGradients, ContinueThroughANetwork) {
  const auto plan = std::make_shared<const Plan>(
      MakePlan(ParseSpec("vector(3) linear(4) relu dueling{linear(1) | linear(4)}")));
  ReferenceNetwork<double> network(plan);
  RandomStream random(7, "network and loss");
  const auto quarter = [&] { return static_cast<double>(random.Integer(-8, 8)) / 4 + 0.125; };
  Doubles parameters(network.parameters());
  for (double& parameter : parameters) parameter = quarter();
  Floats vectors(24);
  for (float& component : vectors) component = static_cast<float>(quarter());
  Batch batch{.actions = 4,
              .outputs = Floats(32),
              .chosen = {0, 1, 2, 3, 0, 1, 2, 3},
              .targets = {0.5, 1, -2, 3, 0, -1, 4, 1},
              .weights = {1, 0.5, 0.25, 2, 0, 1, 0.75, 1.5}};

  for (const LossOptions& options : {kSquared, Huber(1), Huber(4)}) {
    Doubles outputs(32);
    const auto loss = [&] {
      network.Forward(parameters, {.count = 8, .vectors = vectors}, outputs);
      double sum = 0;
      for (std::size_t i = 0; i < 8; ++i) {
        const double d =
            outputs[4 * i + static_cast<std::size_t>(batch.chosen[i])] - batch.targets[i];
        const double size = std::abs(d);
        const double delta = options.huber_delta;
        const double huber = size <= delta ? d * d / 2 : delta * (size - delta / 2);
        sum += batch.weights[i] * (options.kind == LossKind::kSquared ? d * d : huber);
      }
      return sum / 8;
    };
    const double before = loss();
    batch.outputs.assign(outputs.begin(), outputs.end());
    const Result result = Evaluate(options, batch);
    EXPECT_DOUBLE_EQ(result.loss, before);
    Doubles gradients(parameters.size());
    network.Backward(parameters, Doubles(result.gradients.begin(), result.gradients.end()),
                     gradients);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_NEAR(gradients[i], CentralDifference(parameters[i], loss), 1e-7) << "parameter " << i;
    }
    EXPECT_GT(std::ranges::count_if(gradients, [](double g) { return std::abs(g) > 1e-3; }), 20);
  }
}

// --- what is refused

std::string BadInputOf(const LossOptions& options, const Batch& batch) {
  return MessageOf([&] { Evaluate(options, batch); });
}

std::string WorkFailedOf(const LossOptions& options, const Batch& batch) {
  return MessageOf([&] { Evaluate(options, batch); }, Error::Kind::kWorkFailed);
}

TEST(BadLoss, DeltaHasToBeAboveZeroAndFinite) {
  const Batch batch = RandomBatch(4, 2, 8);
  for (const double delta : {0.0, -1.0, double{kNaN}, double{kInfinity}}) {
    EXPECT_NE(BadInputOf(Huber(delta), batch).find("loss: huber_delta is"), std::string::npos);
  }
  // It has no effect there.
  EXPECT_NO_THROW(Evaluate({.kind = LossKind::kSquared, .huber_delta = 0}, batch));
}

TEST(BadLoss, SizesHaveToFit) {
  const Batch batch = RandomBatch(4, 2, 9);
  const auto changed = [&](const std::function<void(Batch&)>& change) {
    Batch other = batch;
    change(other);
    // The results have the right size, so that only the change counts.
    Floats gradients(8);
    return MessageOf([&] { LossGradient(kSquared, other.view(), gradients); });
  };
  EXPECT_EQ(changed([](Batch&) {}), "no error");
  EXPECT_EQ(changed([](Batch& b) { b.outputs.pop_back(); }), "loss: expected 8 outputs, found 7");
  EXPECT_EQ(changed([](Batch& b) { b.targets.pop_back(); }), "loss: expected 4 targets, found 3");
  EXPECT_EQ(changed([](Batch& b) { b.weights.pop_back(); }), "loss: expected 4 weights, found 3");
  EXPECT_EQ(changed([](Batch& b) { b.chosen.pop_back(); }), "loss: expected 6 outputs, found 8");
  EXPECT_EQ(changed([](Batch& b) { b.actions = 0; }),
            "loss: expected at least one action, found 0");
  EXPECT_EQ(BadInputOf(kSquared, {}), "loss: expected at least one sample");

  Floats gradients(7);
  EXPECT_THROW(LossGradient(kSquared, batch.view(), gradients), Error);
  gradients.resize(8);
  Floats errors(3);
  EXPECT_THROW(LossGradient(kSquared, batch.view(), gradients, errors), Error);
}

TEST(BadLoss, ActionsHaveToBeInRange) {
  for (const int action : {-1, 2, 1000}) {
    Batch batch = RandomBatch(4, 2, 10);
    batch.chosen[3] = action;
    EXPECT_EQ(BadInputOf(kSquared, batch),
              "loss: expected an action of 0 to 1 for sample 3, found " + std::to_string(action));
  }
}

TEST(BadLoss, WeightsHaveToBeFiniteAndNotNegative) {
  for (const float weight : {-1.0F, kNaN, kInfinity}) {
    Batch batch = RandomBatch(4, 2, 11);
    batch.weights[2] = weight;
    EXPECT_NE(BadInputOf(kSquared, batch).find("for sample 2"), std::string::npos);
  }
}

TEST(DivergedLoss, IsReportedWithItsSample) {
  for (const float value : {kNaN, kInfinity, -kInfinity}) {
    Batch batch = RandomBatch(4, 2, 12);
    batch.targets[1] = value;
    EXPECT_NE(WorkFailedOf(kSquared, batch).find("the target of sample 1 is"), std::string::npos);
    // An action that is not chosen counts too.
    for (const std::size_t action : {0, 1}) {
      batch = RandomBatch(4, 2, 12);
      batch.outputs[6 + action] = value;
      EXPECT_NE(WorkFailedOf(Huber(1), batch).find("an output of sample 3 is"), std::string::npos);
    }
  }
}

TEST(DivergedLoss, IsAlsoAResultThatNoFloatHolds) {
  const Batch batch{.outputs = {kLargest}, .chosen = {0}, .targets = {-kLargest}};
  EXPECT_NE(WorkFailedOf(kSquared, batch).find("the gradient of sample 0"), std::string::npos);
  EXPECT_NE(WorkFailedOf(Huber(1), batch).find("the error of sample 0"), std::string::npos);
}

TEST(Loss, LargeErrorsDoNotOverflowTheSum) {
  const Batch batch{.outputs = {1e30F, -1e30F}, .chosen = {0, 0}, .targets = {0, 0}};
  EXPECT_NEAR(Evaluate(kSquared, batch).loss / 1e60, 1, 1e-6);
  EXPECT_EQ(Evaluate(Huber(1), batch).gradients, (Floats{0.5F, -0.5F}));
}

}  // namespace stableaa::loss_test
