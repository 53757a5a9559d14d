#include "stableaa/nn/squashed_gaussian.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "stableaa/core/error.h"

namespace stableaa {
namespace {

constexpr double kHalfLogTwoPi = 0.918938533204672741780;

// Keeps NaN.
double Clamped(float log_deviation) {
  return std::clamp<double>(log_deviation, kLeastLogDeviation, kMostLogDeviation);
}

struct Squashed {
  double tanh;
  double log_slope;  // log(1 − tanh²)
};

// Both from one exponential of a number that is never positive, so that nothing overflows or
// cancels.
Squashed Squash(double u) {
  const double size = std::abs(u);
  const double shrunk = std::expm1(-2 * size);  // exp(−2|u|) − 1
  return {.tanh = std::copysign(shrunk / (2 + shrunk), u),
          .log_slope = 2 * (std::numbers::ln2 - size - std::log(2 + shrunk))};
}

void CheckGaussianSize(const char* what, std::size_t size, std::size_t expected) {
  if (size != expected) {
    throw BadInput(
        fmt::format("squashed Gaussian: expected {} {}, found {}", expected, what, size));
  }
}

void CheckGaussian(std::size_t elements, std::size_t samples, std::span<const float> outputs,
                   std::span<const float> noise, std::span<const float> actions) {
  if (elements == 0) throw BadInput("squashed Gaussian: expected at least one element");
  CheckGaussianSize("outputs", outputs.size(), samples * 2 * elements);
  CheckGaussianSize("numbers of noise", noise.size(), samples * elements);
  CheckGaussianSize("numbers of actions", actions.size(), samples * elements);
}

}  // namespace

void SampleSquashedGaussian(std::size_t elements, std::span<const float> outputs,
                            std::span<const float> noise, std::span<float> actions,
                            std::span<double> log_densities) {
  CheckGaussian(elements, log_densities.size(), outputs, noise, actions);
  const float* mean = outputs.data();
  const float* log_deviations = mean + elements;
  std::size_t at = 0;
  for (double& log_density : log_densities) {
    double sum = 0;
    for (std::size_t k = 0; k < elements; ++k, ++at) {
      const double log_deviation = Clamped(log_deviations[k]);
      const double e = noise[at];
      const Squashed squashed = Squash(mean[k] + std::exp(log_deviation) * e);
      actions[at] = static_cast<float>(squashed.tanh);
      sum -= e * e / 2 + log_deviation + kHalfLogTwoPi + squashed.log_slope;
    }
    log_density = sum;
    mean += 2 * elements;
    log_deviations += 2 * elements;
  }
}

void SquashedGaussianGradient(std::size_t elements, std::span<const float> outputs,
                              std::span<const float> noise, std::span<const float> actions,
                              std::span<const float> action_slopes,
                              std::span<const double> log_density_slopes,
                              std::span<float> gradients) {
  CheckGaussian(elements, log_density_slopes.size(), outputs, noise, actions);
  CheckGaussianSize("action slopes", action_slopes.size(), actions.size());
  CheckGaussianSize("gradients", gradients.size(), outputs.size());
  std::size_t row = 0;
  std::size_t at = 0;
  for (const double density_slope : log_density_slopes) {
    for (std::size_t k = 0; k < elements; ++k, ++at) {
      const float given = outputs[row + elements + k];
      const double log_deviation = Clamped(given);
      const double a = actions[at];
      const double slope = action_slopes[at] * ((1 - a) * (1 + a)) + 2 * density_slope * a;
      gradients[row + k] = static_cast<float>(slope);
      const bool clamped = given < kLeastLogDeviation || given > kMostLogDeviation;
      gradients[row + elements + k] =
          clamped ? 0.0F
                  : static_cast<float>(slope * std::exp(log_deviation) * noise[at] - density_slope);
    }
    row += 2 * elements;
  }
}

}  // namespace stableaa
