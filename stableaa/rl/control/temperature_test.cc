#include "stableaa/rl/control/temperature.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/saved_bytes.h"

namespace stableaa::temperature_test {

constexpr int kElements = 3;

OptimizerOptions Optimizer() {
  return {.kind = OptimizerKind::kAdam, .learning_rate = .01, .epsilon = 1e-8};
}

TEST(Temperature, FollowsAdamOnItsLogarithm) {
  const ControlOptions options = {.first_temperature = .5};
  Temperature temperature(options, Optimizer(), kElements);
  RandomStream random(1, "entropies");
  double log = std::log(.5), m = 0, v = 0;
  EXPECT_NEAR(temperature.At(0), .5, 1e-15);
  for (int t = 1; t <= 200; ++t) {
    const double entropy = -2 + random.Normal();
    const double gradient = entropy + kElements;  // the target is -kElements
    m = .9 * m + .1 * gradient;
    v = .999 * v + .001 * gradient * gradient;
    log -= .01 * (m / (1 - std::pow(.9, t))) / (std::sqrt(v / (1 - std::pow(.999, t))) + 1e-8);
    temperature.Learn(entropy, t);
    ASSERT_NEAR(temperature.At(t), std::exp(log), 1e-12) << t;
  }
  EXPECT_EQ(temperature.steps(), 200);
}

TEST(Temperature, FallsWhileTheEntropyIsAboveItsTargetAndRisesBelow) {
  const ControlOptions options = {.target_entropy = 1.5};
  Temperature falls(options, Optimizer(), kElements), rises(options, Optimizer(), kElements);
  for (int k = 0; k < 10; ++k) {
    falls.Learn(1.6, k);
    rises.Learn(1.4, k);
  }
  EXPECT_LT(falls.At(0), .95);
  EXPECT_GT(rises.At(0), 1.05);
}

TEST(Temperature, TakesItsOwnLearningRateAndTargetFromSchedules) {
  const ControlOptions options = {
      .target_entropy = Schedule::Parse("steps(0, 10: 4)"),
      .temperature_learning_rate = Schedule::Parse("steps(0.1, 10: 0.2)")};
  Temperature temperature(options, Optimizer(), kElements);
  temperature.Learn(1, 9);  // Adam's first step is the rate
  EXPECT_NEAR(std::log(temperature.At(9)), -.1, 1e-8);
  Temperature later(options, Optimizer(), kElements);
  later.Learn(1, 10);
  EXPECT_NEAR(std::log(later.At(10)), .2, 1e-8);
}

TEST(Temperature, IsNotLearntIfItIsGiven) {
  const ControlOptions options = {.temperature = Schedule::Parse("linear(0.4, 0.2, 100)")};
  Temperature temperature(options, Optimizer(), kElements);
  temperature.Learn(5, 0);
  temperature.Learn(std::nan(""), 0);
  EXPECT_DOUBLE_EQ(temperature.At(0), .4);
  EXPECT_DOUBLE_EQ(temperature.At(50), .3);
  EXPECT_EQ(temperature.steps(), 0);
}

TEST(Temperature, ThatDivergesIsAFailure) {
  Temperature temperature({}, Optimizer(), kElements);
  EXPECT_EQ(MessageOf([&] { temperature.Learn(std::nan(""), 1); }, Error::Kind::kWorkFailed),
            "the temperature has become nan");
  const ControlOptions fast = {.temperature_learning_rate = 1e3};
  Temperature grows(fast, Optimizer(), kElements);
  EXPECT_EQ(MessageOf([&] { grows.Learn(-1e3, 1); }, Error::Kind::kWorkFailed),
            "the temperature has become inf");
}

TEST(Temperature, LoadedItGoesOnTheSame) {
  Temperature temperature({}, Optimizer(), kElements), loaded({}, Optimizer(), kElements);
  for (int k = 0; k < 5; ++k) temperature.Learn(k, k);
  LoadBytes(loaded, SavedBytes(temperature));
  for (int k = 0; k < 5; ++k) {
    temperature.Learn(-k, k);
    loaded.Learn(-k, k);
    EXPECT_EQ(loaded.At(k), temperature.At(k));
  }
}

TEST(Temperature, StatesThatCannotBeAreRefused) {
  const auto complaint_of = [](double log, double mean, double square, std::int64_t steps) {
    ByteWriter out;
    out.F64(log);
    out.F64(mean);
    out.F64(square);
    out.I64(steps);
    Temperature temperature({}, Optimizer(), kElements);
    return MessageOf([&] { LoadBytes(temperature, out.bytes()); });
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(complaint_of(-1, -2, 3, 4), "no error");
  for (const double log : {710.0, kInfinity, -kInfinity, std::nan("")}) {
    EXPECT_NE(complaint_of(log, 0, 0, 0).find("temperature"), std::string::npos) << log;
  }
  EXPECT_NE(complaint_of(0, std::nan(""), 0, 0).find("gradients"), std::string::npos);
  EXPECT_NE(complaint_of(0, 0, -1, 0).find("squared"), std::string::npos);
  EXPECT_NE(complaint_of(0, 0, 0, -1).find("steps"), std::string::npos);
}

}  // namespace stableaa::temperature_test
