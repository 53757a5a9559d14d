#include "stableaa/rl/value/mixing_fit.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"

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

// ‖Σ α_i e_i‖ over transitions [begin, end).
double ResidualNorm(const SampledColumns& columns, std::span<const double> alpha, std::size_t begin,
                    std::size_t end) {
  double squares = 0;
  for (std::size_t j = begin; j < end; ++j) {
    double mixed = 0;
    for (std::size_t i = 0; i < alpha.size(); ++i) mixed += alpha[i] * columns.residuals[i][j];
    squares += mixed * mixed;
  }
  return std::sqrt(squares);
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

MetricRow MixingMetrics(const AgentOptions& options, const Mixing& mixing, int networks,
                        std::int64_t fallbacks, std::int64_t restarts, std::int64_t step) {
  const bool mixes = options.mixes();
  const auto if_mixing = [mixes](double value) {
    return mixes ? std::optional(value) : std::nullopt;
  };
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  MetricRow row;
  // The current weights; right after a shift they may still be those of the former window.
  row.Add("targets", mixes ? number(std::ssize(mixing.alpha)) : number(networks));
  row.Add("damping", if_mixing(options.BetaAt(step)));
  row.Add("gain", if_mixing(mixing.gain));
  row.Add("gain_held_out", if_mixing(mixing.gain_held_out));
  row.Add("residual", if_mixing(mixing.residual));
  row.Add("tau_norm", if_mixing(mixing.tau_norm));
  row.Add("lambda", if_mixing(mixing.lambda));
  row.Add("eta", if_mixing(mixing.eta));
  row.Add("condition", if_mixing(mixing.condition));
  // alpha_m always belongs to the newest network.
  const auto window = static_cast<std::size_t>(options.window());
  for (std::size_t k = 0; mixes && k < window; ++k) {
    const std::size_t missing = window - mixing.alpha.size();
    row.Add(fmt::format("alpha_{}", k + 1),
            k >= missing ? std::optional(mixing.alpha[k - missing]) : std::nullopt);
  }
  row.Add("fallbacks", if_mixing(number(fallbacks)));
  row.Add("restarts", number(restarts));
  return row;
}

void SampledColumns::Resize(std::size_t networks, std::size_t transitions) {
  residuals.resize(networks);
  differences.resize(networks - 1);
  for (auto& column : residuals) column.resize(transitions);
  for (auto& column : differences) column.resize(transitions);
}

MixingFit::MixingFit(const AgentOptions& options) : options_(options), etas_(Candidates(options)) {
  for (const double eta : etas_) solvers_.emplace_back(options.WeightsFor(eta));
}

// Computes weights from transitions [begin, end).
const MixingWeights& MixingFit::Solve(const SampledColumns& columns, std::size_t candidate,
                                      std::size_t begin, std::size_t end) {
  residual_spans_.clear();
  difference_spans_.clear();
  for (const auto& column : columns.residuals) {
    residual_spans_.push_back(std::span(column).subspan(begin, end - begin));
  }
  for (const auto& column : columns.differences) {
    difference_spans_.push_back(std::span(column).subspan(begin, end - begin));
  }
  return solvers_[candidate].Solve(residual_spans_, difference_spans_);
}

double MixingFit::NewestResidual(const SampledColumns& columns) {
  const std::vector<double>& newest = columns.residuals.back();
  double squares = 0;
  for (const double residual : newest) squares += residual * residual;
  return std::sqrt(squares) / std::sqrt(static_cast<double>(newest.size()));
}

void MixingFit::Fit(const SampledColumns& columns, std::int64_t step, Mixing& mixing) {
  const double eta = options_.eta.At(step);
  if (EtaIsGiven(options_)) {
    etas_[0] = eta;
    solvers_[0].SetEta(eta);
  }
  const std::size_t networks = columns.residuals.size();
  const std::size_t n = columns.residuals.front().size(), half = n / 2;
  newest_.assign(networks, 0.0);
  newest_.back() = 1;
  std::vector<double> alpha = std::move(mixing.alpha);  // for its memory
  alpha = newest_;
  mixing = {.alpha = std::move(alpha), .eta = eta};
  mixing.residual = ResidualNorm(columns, newest_, 0, n) / std::sqrt(static_cast<double>(n));
  if (networks == 1) return;

  // Fitted on the first half, judged on the second.
  const bool splits = half > 0;
  const double newest_norm = splits ? ResidualNorm(columns, newest_, half, n) : kNaN;
  double best_norm = std::numeric_limits<double>::infinity();
  std::size_t best = etas_.size() - 1;  // the strongest penalty, if there is nothing to judge by
  if (splits) {
    for (std::size_t candidate = 0; candidate < etas_.size(); ++candidate) {
      const double norm = ResidualNorm(columns, Solve(columns, candidate, 0, half).alpha, half, n);
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
  const MixingWeights& weights = Solve(columns, best, 0, judged && splits ? half : n);
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
}

}  // namespace stableaa
