#include "stableaa/bellman/backup.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "stableaa/bellman/arguments.h"
#include "stableaa/bellman/softmax.h"
#include "stableaa/core/concat.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

using internal::Exponent;
using internal::FirstMaximum;
using internal::HalfGap;

// In enumeration order.
constexpr std::array<std::string_view, 4> kNames = {"max", "mellowmax", "boltzmann",
                                                    "dynamic-boltzmann"};

// Below this omega * (max - min) the next term in the expansion of mellowmax, of relative size
// omega^2 (max - min)^2, is less than the rounding error.
constexpr double kTinySpread = 1e-8;

template <typename T>
double Maximum(std::span<const T> q) {
  return q[FirstMaximum(q)];
}

// The mean of scale * q. The second pass corrects the rounding of the first, so that equal values
// give exactly that value.
template <typename T>
double ScaledMean(std::span<const T> q, double scale) {
  const double n = static_cast<double>(q.size());
  double sum = 0;
  for (const T value : q) sum += scale * value;
  const double mean = sum / n;
  if (!std::isfinite(mean)) return mean;
  double error = 0;
  for (const T value : q) error += scale * value - mean;
  return mean + error / n;
}

template <typename T>
double Mean(std::span<const T> q) {
  const double mean = ScaledMean(q, 1);
  if (std::isfinite(mean)) return mean;
  // The sum may overflow even if the mean does not. Scaling by a power of two rounds nothing at
  // that size.
  const double scale = 0.5 / static_cast<double>(std::bit_ceil(q.size()));
  return ScaledMean(q, scale) / scale;
}

// mean + omega variance / 2. The root of omega goes inside the square, because with a denormal
// omega the exponents omega q have no digits left; uses halves, because q - mean may overflow.
template <typename T>
double MellowmaxNearMean(std::span<const T> q, double omega) {
  const double mean = Mean(q);
  const double root = std::sqrt(omega);
  double sum = 0;
  for (const T value : q) {
    const double deviation = root * HalfGap(value, mean);
    sum += deviation * deviation;
  }
  return mean + 2 * sum / static_cast<double>(q.size());
}

template <typename T>
double Mellowmax(std::span<const T> q, double omega) {
  const double max = Maximum(q);
  if (!std::isfinite(max)) return max;
  const double min = *std::min_element(q.begin(), q.end());
  if (min == max) return max;
  if (-Exponent(min, max, omega) < kTinySpread) return std::min(MellowmaxNearMean(q, omega), max);

  internal::LogMeanExp log_mean_exp;
  for (const T value : q) log_mean_exp.Add(Exponent(value, max, omega));
  // The distance below the maximum can be twice the largest double; the fused sum fits again.
  return std::fma(2.0, 0.5 * log_mean_exp.Result() / omega, max);
}

template <typename T>
double Boltzmann(std::span<const T> q, double omega) {
  const double max = Maximum(q);
  if (!std::isfinite(max)) return max;
  const double n = static_cast<double>(q.size());
  double sum = 0;
  double weighted_gap = 0;  // divided by 2n, so that the sum of n gaps fits
  for (const T value : q) {
    const double weight = std::exp(Exponent(value, max, omega));
    if (weight == 0) continue;  // the gap may be infinite
    sum += weight;
    weighted_gap += weight * (HalfGap(value, max) / n);
  }
  return std::fma(2 * n, weighted_gap / sum, max);
}

Error NoIteration() {
  return BadInput("backup dynamic-boltzmann has no value of its own: ask for At(t), t >= 1, first");
}

template <typename T>
double ValueOf(const Backup& backup, std::span<const T> q) {
  internal::RequireActions(q.size());
  const bool is_mean = backup.omega == 0;
  switch (backup.kind) {
    case BackupKind::kMax:
      return Maximum(q);
    case BackupKind::kMellowmax:
      return is_mean ? Mean(q) : Mellowmax(q, backup.omega);
    case BackupKind::kBoltzmann:
      return is_mean ? Mean(q) : Boltzmann(q, backup.omega);
    case BackupKind::kDynamicBoltzmann:
      break;
  }
  throw NoIteration();
}

// p_a (1 + z_a - E_p[z]), where z_a = omega (q_a - max): the maximum cancels, and an action with
// p_a > 0 has a finite z_a however large omega and q are.
template <typename T>
void BoltzmannGradient(std::span<const T> q, double max, double omega, std::span<T> gradient) {
  const double sum = internal::SumExp(q, max, omega);
  const auto probability = [&](double z) { return std::exp(z) / sum; };
  double mean = 0;
  for (const T value : q) {
    const double z = Exponent(value, max, omega);
    const double p = probability(z);
    if (p > 0) mean += p * z;
  }
  for (std::size_t a = 0; a < q.size(); ++a) {
    const double z = Exponent(q[a], max, omega);
    const double p = probability(z);
    gradient[a] = static_cast<T>(p > 0 ? p * (1 + (z - mean)) : 0);
  }
}

template <typename T>
void GradientOf(const Backup& backup, std::span<const T> q, std::span<T> gradient) {
  internal::RequireActions(q.size());
  internal::RequireSize("gradient", gradient.size(), q.size());
  if (backup.kind == BackupKind::kDynamicBoltzmann) throw NoIteration();

  const std::size_t best = FirstMaximum(q);
  const bool is_max = backup.kind == BackupKind::kMax;
  if (std::isnan(q[best]) || (std::isinf(q[best]) && !is_max)) {
    std::fill(gradient.begin(), gradient.end(), std::numeric_limits<T>::quiet_NaN());
  } else if (is_max) {
    std::fill(gradient.begin(), gradient.end(), T{0});
    gradient[best] = T{1};
  } else if (backup.kind == BackupKind::kMellowmax) {
    internal::Softmax(q, q[best], backup.omega, gradient);
  } else {
    BoltzmannGradient<T>(q, q[best], backup.omega, gradient);
  }
}

template <typename T>
void ValuesOf(const Backup& backup, std::span<const T> q, std::size_t actions,
              std::span<T> values) {
  internal::RequireRows(q.size(), values.size(), actions);
  for (std::size_t row = 0; row < values.size(); ++row) {
    values[row] = static_cast<T>(ValueOf(backup, q.subspan(row * actions, actions)));
  }
}

template <typename T>
void GradientsOf(const Backup& backup, std::span<const T> q, std::size_t actions,
                 std::span<T> gradients) {
  internal::RequireSize("gradients", gradients.size(), q.size());
  internal::RequireWholeRows(q.size(), actions);
  for (std::size_t start = 0; start < q.size(); start += actions) {
    GradientOf(backup, q.subspan(start, actions), gradients.subspan(start, actions));
  }
}

}  // namespace

std::string_view BackupName(BackupKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

BackupKind ParseBackupKind(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) {
    std::string known;
    for (const std::string_view one : kNames)
      known += (known.empty() ? "" : ", ") + std::string(one);
    throw BadInput(Concat("backup is '", name, "': expected ", known));
  }
  return static_cast<BackupKind>(found - kNames.begin());
}

void Backup::Validate() const {
  internal::RequireOmega(Concat("backup ", BackupName(kind)), omega);
}

Backup Backup::At(std::int64_t t) const {
  if (kind != BackupKind::kDynamicBoltzmann) return *this;
  if (t < 1) throw BadInput(Concat("iteration of dynamic-boltzmann is ", t, ": expected >= 1"));
  const double iteration = static_cast<double>(t);
  return {BackupKind::kBoltzmann, omega * (iteration * iteration)};
}

double Backup::Value(std::span<const double> q) const { return ValueOf(*this, q); }
double Backup::Value(std::span<const float> q) const { return ValueOf(*this, q); }

void Backup::Gradient(std::span<const double> q, std::span<double> gradient) const {
  GradientOf(*this, q, gradient);
}
void Backup::Gradient(std::span<const float> q, std::span<float> gradient) const {
  GradientOf(*this, q, gradient);
}

void Backup::Values(std::span<const double> q, std::size_t actions,
                    std::span<double> values) const {
  ValuesOf(*this, q, actions, values);
}
void Backup::Values(std::span<const float> q, std::size_t actions, std::span<float> values) const {
  ValuesOf(*this, q, actions, values);
}

void Backup::Gradients(std::span<const double> q, std::size_t actions,
                       std::span<double> gradients) const {
  GradientsOf(*this, q, actions, gradients);
}
void Backup::Gradients(std::span<const float> q, std::size_t actions,
                       std::span<float> gradients) const {
  GradientsOf(*this, q, actions, gradients);
}

double MellowmaxBiasBound(std::size_t actions, double omega, double discount) {
  internal::RequireActions(actions);
  internal::RequireOmega("mellowmax", omega);
  if (!(discount >= 0 && discount < 1)) {
    throw BadInput(Concat("discount is ", discount, ": expected a number in [0, 1)"));
  }
  if (actions == 1) return 0;
  return std::log(static_cast<double>(actions)) / (omega * (1 - discount));
}

}  // namespace stableaa
