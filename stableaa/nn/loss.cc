#include "stableaa/nn/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "stableaa/core/error.h"

namespace stableaa {
namespace {

struct ValueAndSlope {
  double value = 0;
  double slope = 0;
};

ValueAndSlope LossOf(const LossOptions& options, double error) {
  if (options.kind == LossKind::kSquared) return {error * error, 2 * error};
  const double delta = options.huber_delta;
  const double size = std::abs(error);
  if (size <= delta) return {error * error / 2, error};
  return {delta * (size - delta / 2), std::copysign(delta, error)};
}

void CheckLossSize(const char* what, std::size_t size, std::size_t expected) {
  if (size != expected) {
    throw BadInput(fmt::format("loss: expected {} {}, found {}", expected, what, size));
  }
}

void CheckSample(const LossBatch& batch, std::size_t sample) {
  if (const int action = batch.chosen[sample]; action < 0 || action >= batch.actions) {
    throw BadInput(fmt::format("loss: expected an action of 0 to {} for sample {}, found {}",
                               batch.actions - 1, sample, action));
  }
  if (!batch.weights.empty()) {
    const float weight = batch.weights[sample];
    if (!(weight >= 0) || !std::isfinite(weight)) {
      throw BadInput(fmt::format(
          "loss: expected a finite weight of at least 0 for sample {}, found {}", sample, weight));
    }
  }
}

// Checks all actions: one that is not chosen now will be later.
void CheckFinite(const LossBatch& batch, std::size_t sample) {
  const auto actions = static_cast<std::size_t>(batch.actions);
  for (const float output : batch.outputs.subspan(sample * actions, actions)) {
    if (!std::isfinite(output)) {
      throw WorkFailed(
          fmt::format("loss: training has diverged, an output of sample {} is {}", sample, output));
    }
  }
  if (!std::isfinite(batch.targets[sample])) {
    throw WorkFailed(fmt::format("loss: training has diverged, the target of sample {} is {}",
                                 sample, batch.targets[sample]));
  }
}

float ToFloat(const char* what, std::size_t sample, double value) {
  if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) {
    throw WorkFailed(
        fmt::format("loss: training has diverged, the {} of sample {} is {}", what, sample, value));
  }
  return static_cast<float>(value);
}

void Check(const LossOptions& options, const LossBatch& batch,
           std::span<const float> output_gradients, std::span<const float> errors) {
  options.Validate();
  const std::size_t samples = batch.chosen.size();
  if (samples == 0) throw BadInput("loss: expected at least one sample");
  if (batch.actions < 1) {
    throw BadInput(fmt::format("loss: expected at least one action, found {}", batch.actions));
  }
  const std::size_t outputs = samples * static_cast<std::size_t>(batch.actions);
  CheckLossSize("outputs", batch.outputs.size(), outputs);
  CheckLossSize("targets", batch.targets.size(), samples);
  CheckLossSize("weights", batch.weights.size(), batch.weights.empty() ? 0 : samples);
  CheckLossSize("output gradients", output_gradients.size(), outputs);
  CheckLossSize("errors", errors.size(), errors.empty() ? 0 : samples);
  for (std::size_t i = 0; i < samples; ++i) CheckSample(batch, i);
  for (std::size_t i = 0; i < samples; ++i) CheckFinite(batch, i);
}

}  // namespace

void LossOptions::Validate() const {
  if (kind == LossKind::kSquared) return;
  if (!(huber_delta > 0) || !std::isfinite(huber_delta)) {
    throw BadInput(
        fmt::format("loss: huber_delta is {}: expected a finite number above 0", huber_delta));
  }
}

double LossGradient(const LossOptions& options, const LossBatch& batch,
                    std::span<float> output_gradients, std::span<float> errors) {
  Check(options, batch, output_gradients, errors);
  std::ranges::fill(output_gradients, 0.0F);
  const std::size_t samples = batch.chosen.size();
  const auto n = static_cast<double>(samples);
  double sum = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    const std::size_t at =
        i * static_cast<std::size_t>(batch.actions) + static_cast<std::size_t>(batch.chosen[i]);
    const double error = double{batch.outputs[at]} - double{batch.targets[i]};
    const double weight = batch.weights.empty() ? 1.0 : double{batch.weights[i]};
    const auto [value, slope] = LossOf(options, error);
    sum += weight * value;
    output_gradients[at] = ToFloat("gradient", i, weight * slope / n);
    if (!errors.empty()) errors[i] = ToFloat("error", i, error);
  }
  return sum / n;
}

}  // namespace stableaa
