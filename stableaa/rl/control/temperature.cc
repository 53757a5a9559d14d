#include "stableaa/rl/control/temperature.h"

#include <fmt/format.h>

#include <cmath>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/saved_number.h"

namespace stableaa {
namespace {

constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;

}  // namespace

Temperature::Temperature(const ControlOptions& options, const OptimizerOptions& optimizer,
                         int elements)
    : options_(options),
      optimizer_(optimizer),
      elements_(elements),
      log_(std::log(options.first_temperature)) {}

double Temperature::At(std::int64_t step) const {
  return options_.temperature ? options_.temperature->At(step) : std::exp(log_);
}

void Temperature::Learn(double entropy, std::int64_t step) {
  if (options_.temperature) return;
  const double target =
      options_.target_entropy ? options_.target_entropy->At(step) : -static_cast<double>(elements_);
  const double rate = options_.temperature_learning_rate
                          ? options_.temperature_learning_rate->At(step)
                          : optimizer_.learning_rate.At(step);
  const double gradient = entropy - target;
  ++steps_;
  const auto t = static_cast<double>(steps_);
  mean_ += (1 - optimizer_.beta1) * (gradient - mean_);
  square_ += (1 - optimizer_.beta2) * (gradient * gradient - square_);
  const double mean = mean_ / (1 - std::pow(optimizer_.beta1, t));
  const double root = std::sqrt(square_ / (1 - std::pow(optimizer_.beta2, t)));
  log_ -= rate * mean / (root + optimizer_.epsilon);
  if (!std::isfinite(std::exp(log_))) {
    throw WorkFailed(fmt::format("the temperature has become {}", std::exp(log_)));
  }
}

void Temperature::Save(ByteWriter& out) const {
  out.F64(log_);
  out.F64(mean_);
  out.F64(square_);
  out.I64(steps_);
}

void Temperature::Load(ByteReader& in) {
  constexpr double kAny = -1e308;
  log_ = LoadNumber(in, "a logarithm of the temperature", kAny);
  mean_ = LoadNumber(in, "an average of gradients", kAny);
  square_ = LoadNumber(in, "an average of squared gradients of 0 or more", 0);
  steps_ = LoadCount(in, "steps of the temperature", kMostSteps);
  if (!std::isfinite(std::exp(log_))) {
    throw in.Wrong(fmt::format("expected a finite temperature, found {}", std::exp(log_)));
  }
}

}  // namespace stableaa
