#include "stableaa/rl/value/weight_fitter.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "stableaa/bellman/policy.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/value/bootstrap.h"

namespace stableaa {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSumTolerance = 1e-6;  // rounding, when weights cancel

// Without a penalty there is nothing to choose.
bool EtaIsGiven(const AgentOptions& options) {
  return options.weights.eta == EtaChoice::kFixed || options.mixer == MixerKind::kAnderson;
}

std::vector<double> Candidates(const AgentOptions& options) {
  if (EtaIsGiven(options)) return {options.eta.At(0)};
  return {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10};
}

void RequireFinite(const FrozenValues& values) {
  for (const float value : values.values) {
    if (!std::isfinite(value)) {
      throw WorkFailed(fmt::format("a target network's value is {}", value));
    }
  }
}

}  // namespace

void Mixing::Save(ByteWriter& out) const {
  out.U64(alpha.size());
  out.F64s(alpha);
  for (const double value : {tau_norm, lambda, eta, condition, gain, gain_held_out, residual}) {
    out.F64(value);
  }
  out.Bool(fallback);
}

void Mixing::Load(ByteReader& in) {
  const std::uint64_t count = in.U64();
  if (count < 1 || count > 64) {
    throw in.Wrong(fmt::format("expected 1 to 64 mixing weights, found {}", count));
  }
  alpha.resize(count);
  in.F64s(alpha);
  double sum = 0, size = 1;
  for (const double weight : alpha) {
    sum += weight;
    size += std::abs(weight);
  }
  if (!(std::isfinite(size) && std::abs(sum - 1) <= kSumTolerance * size)) {
    throw in.Wrong(fmt::format("expected mixing weights that sum to 1, found a sum of {}", sum));
  }
  for (double* value : {&tau_norm, &lambda, &eta, &condition, &gain, &gain_held_out, &residual}) {
    *value = in.F64();
    if (*value < 0) {
      throw in.Wrong(
          fmt::format("expected what tells of mixing to be 0 or more, found {}", *value));
    }
  }
  fallback = in.Bool();
}

WeightFitter::WeightFitter(const AgentOptions& options)
    : options_(options), etas_(Candidates(options)) {
  for (const double eta : etas_) solvers_.emplace_back(options.WeightsFor(eta));
}

void WeightFitter::ComputeResiduals(const ReplayBatch& sample, const FrozenValues& values,
                                    std::int64_t time) {
  RequireFinite(values);
  const Backup backup = options_.BackupAt(time);
  const StatePlaces places(sample);
  const std::size_t n = sample.count(), m = values.networks;
  residuals_.assign(m, std::vector<double>(n));
  differences_.assign(m - 1, std::vector<double>(n));
  for (std::size_t j = 0; j < n; ++j) {
    if (!std::isfinite(sample.rewards[j])) {
      throw WorkFailed(
          fmt::format("the reward of transition {} is {}", sample.ids[j], sample.rewards[j]));
    }
    const auto action = static_cast<std::size_t>(sample.actions[j]);
    const std::size_t state = places.State(j);
    int best = -1;
    if (options_.backup == AgentBackup::kDouble && sample.discounts[j] != 0) {
      best = static_cast<int>(GreedyAction(values.Of(m - 1, places.Next(j))));
    }
    for (std::size_t i = 0; i < m; ++i) {
      const auto q = static_cast<double>(values.Of(i, state)[action]);
      double backed_up = sample.rewards[j];
      if (sample.discounts[j] != 0) {
        backed_up += static_cast<double>(sample.discounts[j]) *
                     NextValue(backup, values.Of(i, places.Next(j)), best);
      }
      residuals_[i][j] = backed_up - q;
      if (i > 0) {
        differences_[i - 1][j] = q - static_cast<double>(values.Of(i - 1, state)[action]);
      }
    }
  }
}

// Computes weights from transitions [begin, end) of the present sample.
const MixingWeights& WeightFitter::Solve(std::size_t candidate, std::size_t begin,
                                         std::size_t end) {
  residual_spans_.clear();
  difference_spans_.clear();
  for (const auto& column : residuals_) {
    residual_spans_.push_back(std::span(column).subspan(begin, end - begin));
  }
  for (const auto& column : differences_) {
    difference_spans_.push_back(std::span(column).subspan(begin, end - begin));
  }
  return solvers_[candidate].Solve(residual_spans_, difference_spans_);
}

// ‖Σ α_i e_i‖ over transitions [begin, end).
double WeightFitter::ResidualNorm(std::span<const double> alpha, std::size_t begin,
                                  std::size_t end) const {
  double squares = 0;
  for (std::size_t j = begin; j < end; ++j) {
    double mixed = 0;
    for (std::size_t i = 0; i < alpha.size(); ++i) mixed += alpha[i] * residuals_[i][j];
    squares += mixed * mixed;
  }
  return std::sqrt(squares);
}

double WeightFitter::NewestResidual(const ReplayBatch& sample, const FrozenValues& values,
                                    std::int64_t time) {
  ComputeResiduals(sample, values, time);
  const std::vector<double> newest = {1};
  residuals_.erase(residuals_.begin(), residuals_.end() - 1);
  return ResidualNorm(newest, 0, sample.count()) / std::sqrt(static_cast<double>(sample.count()));
}

Mixing WeightFitter::Fit(const ReplayBatch& sample, const FrozenValues& values, std::int64_t time,
                         std::int64_t step) {
  ComputeResiduals(sample, values, time);
  const double eta = options_.eta.At(step);
  if (EtaIsGiven(options_)) {
    etas_[0] = eta;
    solvers_[0].SetEta(eta);
  }
  const std::size_t n = sample.count(), half = n / 2;
  std::vector<double> newest(values.networks, 0.0);
  newest.back() = 1;
  Mixing mixing{.alpha = newest, .eta = eta};
  mixing.residual = ResidualNorm(newest, 0, n) / std::sqrt(static_cast<double>(n));
  if (values.networks == 1) return mixing;

  // Fitted on the first half, judged on the second.
  const bool splits = half > 0;
  const double newest_norm = splits ? ResidualNorm(newest, half, n) : kNaN;
  double best_norm = std::numeric_limits<double>::infinity();
  std::size_t best = etas_.size() - 1;  // the strongest penalty, if there is nothing to judge by
  if (splits) {
    for (std::size_t candidate = 0; candidate < etas_.size(); ++candidate) {
      const double norm = ResidualNorm(Solve(candidate, 0, half).alpha, half, n);
      if (norm < best_norm) {
        best_norm = norm;
        best = candidate;
      }
    }
  }
  mixing.eta = etas_[best];
  mixing.gain_held_out = newest_norm > 0 ? best_norm / newest_norm : 1;

  // Use the weights that were judged; if nothing depends on the judgement, use all transitions.
  const bool judged = options_.weights.safeguard || options_.weights.eta == EtaChoice::kAuto;
  const MixingWeights& weights = Solve(best, 0, judged && splits ? half : n);
  mixing.tau_norm = weights.TauNorm();
  mixing.lambda = weights.lambda;
  mixing.condition = weights.condition;
  mixing.gain = weights.gain;
  mixing.fallback = options_.weights.safeguard && !(mixing.gain_held_out < 1);
  if (mixing.fallback) {  // those weights are not used
    mixing.gain = 1;
    mixing.tau_norm = 0;
    mixing.lambda = 0;
    mixing.condition = 1;
  } else {
    mixing.alpha = weights.alpha;
  }
  return mixing;
}

}  // namespace stableaa
