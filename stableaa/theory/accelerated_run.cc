#include "stableaa/theory/accelerated_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "stableaa/anderson/accelerator.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/theory/chosen_model.h"

namespace stableaa {
namespace {

using Index = Eigen::Index;

long double Mellowmax(const long double* q, std::uint64_t actions, long double omega) {
  const long double most = *std::max_element(q, q + actions);
  long double sum = 0;
  for (std::uint64_t a = 0; a < actions; ++a) sum += std::exp(omega * (q[a] - most));
  return most + std::log(sum / static_cast<long double>(actions)) / omega;
}

// Σ α_i column_i over the window that ends with step k.
LongVector Mix(const std::vector<AcceleratedRun::Step>& steps, std::size_t k,
               LongVector AcceleratedRun::Step::*column) {
  const LongVector& alpha = steps[k].alpha;
  LongVector sum = LongVector::Zero((steps[k].*column).size());
  for (Index i = 0; i < alpha.size(); ++i) {
    sum += alpha[i] * (steps[k - static_cast<std::size_t>(alpha.size() - 1 - i)].*column);
  }
  return sum;
}

// The rounding of the two sums in long double itself, which matters where weights are huge.
long double MixRounding(const std::vector<AcceleratedRun::Step>& steps, std::size_t k) {
  const LongVector& alpha = steps[k].alpha;
  long double sum = 0;
  for (Index i = 0; i < alpha.size(); ++i) {
    const AcceleratedRun::Step& step = steps[k - static_cast<std::size_t>(alpha.size() - 1 - i)];
    sum += std::abs(alpha[i]) * (SupNorm(step.x) + SupNorm(step.residual));
  }
  return std::numeric_limits<long double>::epsilon() * sum;
}

}  // namespace

LongVector AlphaOf(const LongVector& tau) {
  const Index m = tau.size();
  LongVector alpha(m + 1);
  for (Index i = 0; i <= m; ++i) {
    alpha[i] = (i == m ? 1 : tau[m - 1 - i]) - (i == 0 ? 0 : tau[m - i]);
  }
  return alpha;
}

LongVector MellowmaxMap::operator()(const LongVector& q) const {
  std::vector<long double> values(model.states());
  for (std::uint64_t s = 0; s < model.states(); ++s) {
    values[s] = Mellowmax(q.data() + model.state_rows()[s], model.actions(s), omega);
  }
  LongVector image(q.size());
  for (std::uint64_t row = 0; row < model.rows(); ++row) {
    long double sum = 0;
    for (std::uint64_t t = model.row_transitions()[row]; t < model.row_transitions()[row + 1];
         ++t) {
      sum += static_cast<long double>(model.probabilities()[t]) * values[model.column(t)];
    }
    image[static_cast<Index>(row)] = model.rewards()[row] + discount * sum;
  }
  return image;
}

double MellowmaxMap::curvature() const { return model.most_actions() > 1 ? discount * omega : 0; }

LongMatrix AcceleratedRun::Iterates(std::size_t k) const { return Differences(k, &Step::x); }

LongMatrix AcceleratedRun::Residuals(std::size_t k) const {
  return Differences(k, &Step::residual);
}

LongMatrix AcceleratedRun::Differences(std::size_t k, LongVector Step::*column) const {
  LongMatrix columns(steps[k].x.size(), steps[k].tau.size());
  for (Index i = 0; i < columns.cols(); ++i, --k) {
    columns.col(i) = steps[k].*column - steps[k - 1].*column;
  }
  return columns;
}

AcceleratedRun RunAccelerated(const MellowmaxMap& map, const LongVector& start,
                              const AcceleratedRunOptions& options) {
  AcceleratedRun run{.map = map, .damping = options.damping, .eta = options.weights.eta};
  const auto n = static_cast<std::size_t>(start.size());
  // Without the library's additions to the paper: the steps are exactly Eq. 2.
  Accelerator accelerator(n, {.memory = options.memory,
                              .damping = options.damping,
                              .weights = options.weights,
                              .safeguard = false,
                              .max_weight_norm = 1e100});
  std::vector<double> x(n);
  std::vector<double> image(n);
  const auto as_double = [&](std::vector<double>& v) {
    return Eigen::Map<Eigen::VectorXd>(v.data(), start.size());
  };
  as_double(x) = start.cast<double>();
  for (int k = 0; k < options.steps; ++k) {
    AcceleratedRun::Step step;
    step.x = as_double(x).cast<long double>();
    const LongVector exact = map(step.x);
    step.residual = exact - step.x;
    as_double(image) = exact.cast<double>();
    const StepReport report = accelerator.Step(x, image);
    if (report.kind == StepKind::kAccelerated) {
      const std::vector<double>& tau = accelerator.weights().tau;
      step.tau = Eigen::Map<const Eigen::VectorXd>(tau.data(), std::ssize(tau)).cast<long double>();
    }
    step.alpha = AlphaOf(step.tau);
    run.steps.push_back(std::move(step));
    AcceleratedRun::Step& last = run.steps.back();
    const std::size_t at = run.steps.size() - 1;
    last.mixed_residual = Mix(run.steps, at, &AcceleratedRun::Step::residual);
    const LongVector next = Mix(run.steps, at, &AcceleratedRun::Step::x) +
                            static_cast<long double>(options.damping) * last.mixed_residual;
    last.defect = SupNorm(as_double(x).cast<long double>() - next) + MixRounding(run.steps, at);
    const long double first = SupNorm(run.steps.front().residual);
    if (SupNorm(last.residual) <= options.reduction * first) break;
  }
  return run;
}

AcceleratedRun RunOneState(const AcceleratedRunOptions& options) {
  ModelBuilder builder([] { return std::string("one state"); });
  builder.BeginState();
  builder.Transition(0, 1);
  builder.EndRow(1);
  return RunAccelerated({.model = builder.Finish({}), .discount = 0.9}, LongVector::Zero(1),
                        options);
}

AcceleratedRun ChooseRun(Choices& choices, AcceleratedRunOptions options,
                         std::string* description) {
  const bool has_eta = options.weights.rule != WeightRule::kVanilla;
  MellowmaxMap map{.model = ChooseModel(choices)};
  map.discount = choices.Chance(0.3) ? choices.Uniform(0.9, 0.999) : choices.Uniform(0, 0.95);
  map.omega = choices.LogUniform(1e-2, 1e2);
  options.memory = choices.Integer(1, 5);
  options.damping = choices.Chance(0.3) ? 1 : choices.Uniform(0.05, 1);
  options.weights.eta = has_eta ? choices.LogUniform(1e-6, 1e2) : 0;
  LongVector start = LongVector::Zero(static_cast<Index>(map.model.rows()));
  if (choices.Chance(0.7)) {
    const double scale = choices.LogUniform(1e-2, 1e2);
    for (long double& entry : start) entry = scale * choices.Normal();
  }
  if (description != nullptr) {
    *description =
        fmt::format("states {}, pairs {}, discount {:.4g}, omega {:.4g}, memory {}, damping {:.4g}",
                    map.model.states(), map.model.rows(), map.discount, map.omega, options.memory,
                    options.damping);
    if (has_eta) *description += fmt::format(", eta {:.4g}", options.weights.eta);
  }
  return RunAccelerated(map, start, options);
}

}  // namespace stableaa
