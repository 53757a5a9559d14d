#include "stableaa/nn/squashed_gaussian.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/nn/finite_difference_test.h"
#include "stableaa/testing/message.h"

namespace stableaa::squashed_gaussian_test {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

struct Sampled {
  Floats actions;
  Doubles log_densities;
};

Sampled Sample(std::size_t elements, const Floats& outputs, const Floats& noise) {
  Sampled sampled{Floats(noise.size()), Doubles(noise.size() / elements)};
  SampleSquashedGaussian(elements, outputs, noise, sampled.actions, sampled.log_densities);
  return sampled;
}

// Of one element.
Sampled Sample(float mean, float log_deviation, float noise) {
  return Sample(1, {mean, log_deviation}, {noise});
}

Floats Gradient(std::size_t elements, const Floats& outputs, const Floats& noise,
                const Floats& action_slopes, const Doubles& log_density_slopes) {
  Floats gradients(outputs.size());
  SquashedGaussianGradient(elements, outputs, noise, Sample(elements, outputs, noise).actions,
                           action_slopes, log_density_slopes, gradients);
  return gradients;
}

// --- written from the definition

double NormalDensity(double u, double mean, double deviation) {
  const double z = (u - mean) / deviation;
  return std::exp(-z * z / 2) / (deviation * std::sqrt(2 * std::numbers::pi));
}

// Loses digits with |u|, and all of them at 19.
double LogDensity(double mean, double log_deviation, double noise) {
  const double deviation = std::exp(log_deviation);
  const double u = mean + deviation * noise;
  const double a = std::tanh(u);
  return std::log(NormalDensity(u, mean, deviation)) - std::log(1 - a * a);
}

struct Gaussian {
  float mean;
  float log_deviation;

  double deviation() const { return std::exp(static_cast<double>(log_deviation)); }
};

constexpr Gaussian kGaussians[] = {{0, 0},           {0.5F, -1},  {-1.5F, -0.5F},
                                   {2.5F, -0.3125F}, {-0.25F, 1}, {0.875F, -4}};

// The mean of f(u) over the normal distribution, by the trapezoidal rule, which is exact to rounding
// for smooth functions that vanish at both ends.
template <typename Function>
double MeanOf(const Gaussian& gaussian, const Function& f) {
  constexpr int kSteps = 4000;
  double sum = 0;
  for (int i = -kSteps; i <= kSteps; ++i) {
    const double u = gaussian.mean + gaussian.deviation() * i * (10.0 / kSteps);
    sum += f(u) * NormalDensity(u, gaussian.mean, gaussian.deviation());
  }
  return sum * gaussian.deviation() * (10.0 / kSteps);
}

// --- the density

TEST(SquashedGaussian, HasTheDensityOfItsDefinition) {
  RandomStream random(1, "squashed Gaussian");
  for (int i = 0; i < 2000; ++i) {
    const auto mean = static_cast<float>(random.Uniform(-3, 3));
    const auto log_deviation = static_cast<float>(random.Uniform(-5, 0));
    const auto noise = static_cast<float>(random.Uniform(-2, 2));
    const Sampled sampled = Sample(mean, log_deviation, noise);
    const double u = mean + std::exp(static_cast<double>(log_deviation)) * noise;
    EXPECT_EQ(sampled.actions[0], static_cast<float>(std::tanh(u)));
    EXPECT_NEAR(sampled.log_densities[0], LogDensity(mean, log_deviation, noise), 1e-10) << u;
  }
}

// The integral is over actions: the factor by which tanh stretches u cannot cancel.
TEST(SquashedGaussian, DensityIntegratesToOne) {
  for (const Gaussian& gaussian : kGaussians) {
    constexpr float kStep = 1.0F / 1024;
    double integral = 0;
    double mean_action = 0;
    double last_action = -1;
    double last_density = 0;
    for (float noise = -8; noise <= 8; noise += kStep) {
      const double density =
          std::exp(Sample(gaussian.mean, gaussian.log_deviation, noise).log_densities[0]);
      const double action = std::tanh(gaussian.mean + gaussian.deviation() * noise);
      const double slice = (density + last_density) / 2 * (action - last_action);
      integral += slice;
      mean_action += slice * (action + last_action) / 2;
      last_action = action;
      last_density = density;
    }
    EXPECT_NEAR(integral, 1, 1e-5) << gaussian.mean;
    EXPECT_NEAR(mean_action, MeanOf(gaussian, [](double u) { return std::tanh(u); }), 1e-5);
  }
}

// The entropy is the mean of −log π. A comparison at 6 standard errors fails by chance once in
// 5e8; there are 12, and the seed is fixed.
TEST(SquashedGaussian, SamplesHaveTheMeanAndTheEntropyOfQuadrature) {
  constexpr std::size_t kSamples = 100'000;
  RandomStream random(2, "squashed Gaussian");
  for (const Gaussian& gaussian : kGaussians) {
    Floats outputs;
    Floats noise;
    for (std::size_t i = 0; i < kSamples; ++i) {
      outputs.insert(outputs.end(), {gaussian.mean, gaussian.log_deviation});
      noise.push_back(static_cast<float>(random.Normal()));
    }
    const Sampled sampled = Sample(1, outputs, noise);
    const auto log_one_minus_square = [](double u) { return -2 * std::log(std::cosh(u)); };
    const double entropy = std::log(gaussian.deviation()) +
                           std::log(2 * std::numbers::pi * std::numbers::e) / 2 +
                           MeanOf(gaussian, log_one_minus_square);
    const auto expect_mean = [&](const auto& values, double expected) {
      double sum = 0;
      double squares = 0;
      for (const double value : values) {
        sum += value - expected;
        squares += (value - expected) * (value - expected);
      }
      const auto n = static_cast<double>(kSamples);
      EXPECT_LT(std::abs(sum / n), 6 * std::sqrt(squares) / n) << expected;
      EXPECT_GT(squares, 0);
    };
    expect_mean(sampled.actions, MeanOf(gaussian, [](double u) { return std::tanh(u); }));
    Doubles surprises = sampled.log_densities;
    for (double& surprise : surprises) surprise = -surprise;
    expect_mean(surprises, entropy);
  }
}

TEST(SquashedGaussian, ElementsAreIndependent) {
  const Floats noise = {0.5F, -1.25F, 2};
  const Floats outputs = {0.25F, -1, 3, -0.5F, 0.75F, -2};
  const Sampled together = Sample(3, outputs, noise);
  double sum = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const Sampled alone = Sample(outputs[k], outputs[3 + k], noise[k]);
    EXPECT_EQ(together.actions[k], alone.actions[0]);
    sum += alone.log_densities[0];
  }
  EXPECT_NEAR(together.log_densities[0], sum, 1e-14);
}

TEST(SquashedGaussian, MirroredOutputsAndNoiseMirrorTheAction) {
  for (const float mean : {0.0F, 0.1F, 3.0F, 30.0F, 1e3F, kLargest}) {
    for (const float noise : {0.0F, 1e-6F, 0.5F, 6.0F}) {
      const Sampled one = Sample(mean, 0.5F, noise);
      const Sampled other = Sample(-mean, 0.5F, -noise);
      EXPECT_EQ(one.actions[0], -other.actions[0]);
      EXPECT_EQ(one.log_densities[0], other.log_densities[0]) << mean << ", " << noise;
    }
  }
}

// --- extremes

// log(1 − tanh²u) = −2 log cosh u, which is accurate up to |u| of 700.
TEST(SquashedGaussian, DensityIsExactWhereTheActionRoundsToTheBound) {
  for (const float mean : {-600.0F, -100.0F, -20.0F, -9.5F, 9.5F, 15.0F, 19.5F, 100.0F, 600.0F}) {
    for (const float noise : {-6.0F, 0.0F, 6.0F}) {
      const double u = mean + std::exp(2.0) * noise;
      const double expected =
          -noise * noise / 2 - 2 - std::log(2 * std::numbers::pi) / 2 + 2 * std::log(std::cosh(u));
      EXPECT_NEAR(Sample(mean, 2, noise).log_densities[0], expected,
                  1e-13 * (std::abs(expected) + 10))
          << mean << ", " << noise;
    }
    EXPECT_EQ(Sample(mean, -5, 0).actions[0], mean > 0 ? 1 : -1);
  }
}

TEST(SquashedGaussian, IsFiniteAndWithinBoundsForEveryFiniteOutput) {
  for (const float mean : {-kLargest, -1e3F, -9.0F, -1e-40F, 0.0F, 1.0F, 8.9F, 1e3F, kLargest}) {
    for (const float log_deviation :
         {-kLargest, -25.0F, -20.0F, -3.0F, 0.0F, 2.0F, 2.5F, 100.0F, kLargest}) {
      for (const float noise : {-6.0F, -1e-40F, 0.0F, 6.0F}) {
        const Sampled sampled = Sample(mean, log_deviation, noise);
        EXPECT_LE(std::abs(sampled.actions[0]), 1);
        EXPECT_TRUE(std::isfinite(sampled.log_densities[0])) << mean << ", " << log_deviation;
        for (const float gradient : Gradient(1, {mean, log_deviation}, {noise}, {100}, {-100.0})) {
          EXPECT_LT(std::abs(gradient), 1e6F) << mean << ", " << log_deviation << ", " << noise;
        }
      }
    }
  }
}

TEST(SquashedGaussian, LogDeviationsAreClamped) {
  for (const float noise : {-1.5F, 0.5F}) {
    for (const auto& [beyond, bound] :
         {std::pair(-20.5F, -20.0F), {-1e30F, -20.0F}, {2.125F, 2.0F}, {kInfinity, 2.0F}}) {
      const Sampled sampled = Sample(0.25F, beyond, noise);
      const Sampled at_bound = Sample(0.25F, bound, noise);
      EXPECT_EQ(sampled.actions, at_bound.actions);
      EXPECT_EQ(sampled.log_densities, at_bound.log_densities);
      const Floats gradients = Gradient(1, {0.25F, beyond}, {noise}, {0.75F}, {0.5});
      const Floats inside = Gradient(1, {0.25F, bound}, {noise}, {0.75F}, {0.5});
      EXPECT_EQ(gradients[0], inside[0]);
      EXPECT_EQ(gradients[1], 0);
      EXPECT_NE(inside[1], 0);
    }
  }
}

TEST(SquashedGaussian, NumbersThatAreNotFiniteStayInTheirSample) {
  const Floats noise = {0.5F, -1, 0.25F, 0.75F, -0.5F, 1};
  const Floats good = {0.25F, -0.5F, -1, -2, 0.5F, 1, 0, -0.5F, -1, 0.75F, -3, 1};
  const Sampled expected = Sample(2, good, noise);
  const Floats slopes = {1, 2, 3, 4, 5, 6};
  const Floats expected_gradients = Gradient(2, good, noise, slopes, {1, 2, 3});
  for (const std::size_t wrong : {4UL, 6UL}) {  // the second sample's first mean and log-deviation
    Floats outputs = good;
    outputs[wrong] = kNaN;
    const Sampled found = Sample(2, outputs, noise);
    const Floats gradients = Gradient(2, outputs, noise, slopes, {1, 2, 3});
    EXPECT_TRUE(std::isnan(found.actions[2]));
    EXPECT_TRUE(std::isnan(found.log_densities[1]));
    for (const std::size_t i : {0UL, 1UL, 3UL, 4UL, 5UL}) {
      EXPECT_EQ(found.actions[i], expected.actions[i]);
    }
    EXPECT_EQ(found.log_densities[0], expected.log_densities[0]);
    EXPECT_EQ(found.log_densities[2], expected.log_densities[2]);
    for (std::size_t i = 0; i < good.size(); ++i) {
      if (i == 4 || i == 6) {
        EXPECT_TRUE(std::isnan(gradients[i])) << i;
      } else {
        EXPECT_EQ(gradients[i], expected_gradients[i]) << i;
      }
    }
  }
  EXPECT_EQ(Sample(kInfinity, 0, 1).actions[0], 1);
  EXPECT_EQ(Sample(-kInfinity, 0, 1).actions[0], -1);
  EXPECT_EQ(Sample(-kInfinity, 0, 1).log_densities[0], kInfinity);
}

// --- the gradient

struct Batch {
  Floats outputs, noise, action_slopes;
  Doubles log_density_slopes;
};

// Of moderate numbers, where the definition is accurate.
Batch RandomBatch(std::size_t samples, std::size_t elements, RandomStream& random) {
  Batch batch{Floats(samples * 2 * elements), Floats(samples * elements),
              Floats(samples * elements), Doubles(samples)};
  random.FillUniform(batch.outputs, -2, 0.25F);
  random.FillUniform(batch.noise, -2, 2);
  random.FillUniform(batch.action_slopes, -3, 3);
  for (double& slope : batch.log_density_slopes) slope = random.Uniform(-1, 1);
  return batch;
}

TEST(SquashedGaussianGradient, IsThatOfFiniteDifferences) {
  RandomStream random(3, "squashed Gaussian");
  for (const std::size_t elements : {1UL, 2UL, 6UL}) {
    constexpr std::size_t kSamples = 50;
    const Batch batch = RandomBatch(kSamples, elements, random);
    const Floats found = Gradient(elements, batch.outputs, batch.noise, batch.action_slopes,
                                  batch.log_density_slopes);
    Doubles outputs(batch.outputs.begin(), batch.outputs.end());
    for (std::size_t n = 0; n < kSamples; ++n) {
      const auto loss = [&] {
        double sum = 0;
        for (std::size_t k = 0; k < elements; ++k) {
          const double mean = outputs[2 * n * elements + k];
          const double log_deviation = outputs[(2 * n + 1) * elements + k];
          const double noise = batch.noise[n * elements + k];
          sum += batch.action_slopes[n * elements + k] *
                     std::tanh(mean + std::exp(log_deviation) * noise) +
                 batch.log_density_slopes[n] * LogDensity(mean, log_deviation, noise);
        }
        return sum;
      };
      for (std::size_t i = 2 * n * elements; i < 2 * (n + 1) * elements; ++i) {
        EXPECT_NEAR(found[i], CentralDifference(outputs[i], loss), 2e-6) << i;
      }
    }
  }
}

// Of the gradient by the outputs, which is stable far out: at the bound, only the density pulls.
TEST(SquashedGaussianGradient, PullsBackFromTheBounds) {
  for (const float mean : {-1e3F, -50.0F, 50.0F, 1e3F}) {
    const Floats gradients = Gradient(1, {mean, -1}, {0.5F}, {10}, {0.25});
    EXPECT_EQ(gradients[0], mean > 0 ? 0.5F : -0.5F);
    EXPECT_NEAR(gradients[1], gradients[0] * std::exp(-1.0) * 0.5 - 0.25, 1e-7);
  }
}

TEST(SquashedGaussianGradient, OfASampleDoesNotDependOnTheOthers) {
  constexpr std::size_t kElements = 3;
  RandomStream random(4, "squashed Gaussian");
  const Batch batch = RandomBatch(40, kElements, random);
  const Sampled all = Sample(kElements, batch.outputs, batch.noise);
  const Floats all_gradients = Gradient(kElements, batch.outputs, batch.noise, batch.action_slopes,
                                        batch.log_density_slopes);
  const auto part = [](const Floats& values, std::size_t first, std::size_t count) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    return Floats(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  for (std::size_t n = 0; n < 40; ++n) {
    const Floats outputs = part(batch.outputs, 2 * kElements * n, 2 * kElements);
    const Floats noise = part(batch.noise, kElements * n, kElements);
    const Sampled alone = Sample(kElements, outputs, noise);
    EXPECT_EQ(alone.actions, part(all.actions, kElements * n, kElements));
    EXPECT_EQ(alone.log_densities[0], all.log_densities[n]);
    EXPECT_EQ(
        Gradient(kElements, outputs, noise, part(batch.action_slopes, kElements * n, kElements),
                 {batch.log_density_slopes[n]}),
        part(all_gradients, 2 * kElements * n, 2 * kElements));
  }
}

TEST(SquashedGaussian, SizesHaveToFit) {
  const auto sampled = [](std::size_t elements, std::size_t outputs, std::size_t noise,
                          std::size_t actions) {
    const Floats given(20);
    Floats written(20);
    Doubles log_densities(2);
    return MessageOf([&] {
      SampleSquashedGaussian(elements, std::span(given).first(outputs),
                             std::span(given).first(noise), std::span(written).first(actions),
                             log_densities);
    });
  };
  EXPECT_EQ(sampled(3, 12, 6, 6), "no error");
  EXPECT_EQ(sampled(0, 0, 0, 0), "squashed Gaussian: expected at least one element");
  EXPECT_EQ(sampled(3, 6, 6, 6), "squashed Gaussian: expected 12 outputs, found 6");
  EXPECT_EQ(sampled(3, 12, 12, 6), "squashed Gaussian: expected 6 numbers of noise, found 12");
  EXPECT_EQ(sampled(3, 12, 6, 5), "squashed Gaussian: expected 6 numbers of actions, found 5");

  const auto differentiated = [](std::size_t action_slopes, std::size_t written) {
    const Floats given(20);
    Floats gradients(20);
    return MessageOf([&] {
      SquashedGaussianGradient(3, std::span(given).first(12), std::span(given).first(6),
                               std::span(given).first(6), std::span(given).first(action_slopes),
                               Doubles(2), std::span(gradients).first(written));
    });
  };
  EXPECT_EQ(differentiated(6, 12), "no error");
  EXPECT_EQ(differentiated(2, 12), "squashed Gaussian: expected 6 action slopes, found 2");
  EXPECT_EQ(differentiated(6, 6), "squashed Gaussian: expected 12 gradients, found 6");
}

}  // namespace stableaa::squashed_gaussian_test
