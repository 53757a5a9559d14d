// Theorems 1 and 2, and the gain θ_k between 0 and 1 on which they rest (Section 2.3).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "stableaa/anderson/weights.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/theory/accelerated_run.h"
#include "stableaa/theory/claims.h"
#include "stableaa/theory/residual_window.h"

namespace stableaa {
namespace {

constexpr long double kDoubleEpsilon = std::numeric_limits<double>::epsilon();

using Step = AcceleratedRun::Step;

// (1 − β) + γβ: the contraction factor of a plain damped step.
long double Contraction(const AcceleratedRun& run) {
  return 1 - static_cast<long double>(run.damping) +
         static_cast<long double>(run.map.discount) * run.damping;
}

// Rounding of ‖e_k‖: from the iterate, and from probabilities that sum only approximately to 1.
long double ResidualAllowance(const AcceleratedRun& run, std::size_t k) {
  return (1 + run.map.discount) * run.steps[k - 1].defect +
         kDoubleEpsilon *
             (SupNorm(run.steps[k].residual) + SupNorm(run.steps[k - 1].mixed_residual));
}

// θ_k ((1−β) + γβ) ‖e_{k−1}‖, the first term of both theorems as printed.
long double PrintedFirstOrder(const AcceleratedRun& run, std::size_t k) {
  const long double norm = SupNorm(run.steps[k].residual);
  const long double gain = norm > 0 ? SupNorm(run.steps[k].mixed_residual) / norm : 1;
  return gain * Contraction(run) * SupNorm(run.steps[k - 1].residual);
}

// The same with θ_{k−1}: ‖e^α_{k−1}‖ = θ_{k−1} ‖e_{k−1}‖.
long double CorrectedFirstOrder(const AcceleratedRun& run, std::size_t k) {
  return Contraction(run) * SupNorm(run.steps[k - 1].mixed_residual);
}

// ‖e_k‖ ≤ (first-order term) + (second-order term), in all steps of a run. Affine maps attain the
// first term, so the corrected form is judged by what the second one has to cover.
using SecondTerm = long double (*)(const AcceleratedRun& run, std::size_t k);
TrialOutcome CheckSteps(const AcceleratedRun& run, SecondTerm printed, SecondTerm corrected) {
  TrialOutcome outcome;
  for (std::size_t k = 1; k < run.steps.size(); ++k) {
    const long double left = SupNorm(run.steps[k].residual);
    const long double allowance = ResidualAllowance(run, k);
    if (run.steps[k].tau.size() > 0) {  // otherwise there is no θ_k
      KeepWorse(outcome.printed, {.left = left,
                                  .right = PrintedFirstOrder(run, k) + printed(run, k),
                                  .allowance = allowance});
    }
    const long double first = CorrectedFirstOrder(run, k);
    KeepWorse(outcome.corrected, {.left = left,
                                  .right = first + corrected(run, k),
                                  .allowance = allowance,
                                  .common = first});
  }
  return outcome;
}

// ---- Theorem 1 ----

// The second-order sums. Both forms have one term for each i = 1 … m,
//   c2 (‖δ_k‖ + ‖δ_{k−i}‖ + 2 Σ_{l=1}^{i−1} ‖δ_{k−?}‖) |τ_i| ‖δ_{k−i}‖.
long double SecondOrder(const AcceleratedRun& run, std::size_t k, const LongVector& tau,
                        bool inner_sum_over_l) {
  long double sum = 0;
  for (std::size_t i = 1; i <= static_cast<std::size_t>(tau.size()); ++i) {
    long double distances = run.Distance(k) + run.Distance(k - i);
    for (std::size_t l = 1; l < i; ++l) {
      distances += 2 * run.Distance(inner_sum_over_l ? k - l : k - i);
    }
    sum += distances * std::abs(tau[static_cast<Eigen::Index>(i) - 1]) * run.Distance(k - i);
  }
  return run.map.curvature() * sum;
}

long double PrintedSecondOrder1(const AcceleratedRun& run, std::size_t k) {
  // The text defines τ_i = Σ_{j<m−i} α_j of the same step, so τ_m is an empty sum.
  const LongVector& all = run.steps[k].tau;
  const LongVector tau = all.tail(all.size() - 1);
  return SecondOrder(run, k, tau, false);
}

long double CorrectedSecondOrder1(const AcceleratedRun& run, std::size_t k) {
  return SecondOrder(run, k, run.steps[k - 1].tau, true);
}

TrialOutcome CheckTheorem1(const AcceleratedRun& run) {
  return CheckSteps(run, PrintedSecondOrder1, CorrectedSecondOrder1);
}

TrialOutcome TryTheorem1(Choices& choices, std::string* description) {
  return CheckTheorem1(ChooseRun(choices, {}, description));
}

// A counterexample to Theorems 1 and 2, with rewards of any size.
AcceleratedRun TwoStateRun(double scale) {
  ModelBuilder builder([] { return std::string("two states"); });
  constexpr double kProbabilities[2][2] = {{0.9, 0.1}, {0.2, 0.8}};
  for (std::uint64_t s = 0; s < 2; ++s) {
    builder.BeginState();
    for (std::uint64_t next = 0; next < 2; ++next) {
      builder.Transition(next, kProbabilities[s][next]);
    }
    builder.EndRow(s == 0 ? scale : 0);
  }
  return RunAccelerated({.model = builder.Finish({}), .discount = 0.9}, LongVector::Zero(2),
                        {.memory = 1, .steps = 2});
}

constexpr FixedInstance kTheorem1Instances[] = {
    {"one action, P = [[.9, .1], [.2, .8]], r = (1, 0), γ = .9, m = 1, β = 1, x_0 = 0, k = 1",
     [] { return CheckTheorem1(TwoStateRun(1)); }},
    {"one state that stays, r = 1, γ = .9, m = 1, β = 1, x_0 = 0, k = 1: e_1 = .9, θ_1 = 0",
     [] { return CheckTheorem1(RunOneState({.memory = 1, .steps = 2})); }}};

// ---- Theorem 2 ----

long double SquaredSup(const AcceleratedRun& run, std::size_t k) {
  const long double norm = SupNorm(run.steps[k].residual);
  return norm * norm;
}

// The constant hidden in the printed O(·). Any would do: the form is violated for every one.
constexpr long double kPrintedConstant = 1e6L;

long double PrintedSecondOrder2(const AcceleratedRun& run, std::size_t k) {
  long double squares = 0;
  const auto m = static_cast<std::size_t>(run.steps[k].tau.size());
  for (std::size_t j = 1; j <= m && j <= k; ++j) squares += SquaredSup(run, k - j);
  return kPrintedConstant * squares;
}

long double CorrectedSecondOrder2(const AcceleratedRun& run, std::size_t k) {
  const Step& before = run.steps[k - 1];
  const auto m = static_cast<std::size_t>(before.tau.size());
  const long double tau_sum = before.tau.lpNorm<1>();
  const long double factor =
      before.alpha.lpNorm<1>() / 2 + tau_sum + 2 * static_cast<long double>(m) - 1;
  long double largest = 0;  // squared, over the window and the step before it
  for (std::size_t j = 1; j <= m + 1 && j <= k; ++j) {
    largest = std::max(largest, SquaredSup(run, k - j));
  }
  const long double gap = 1 - static_cast<long double>(run.map.discount);
  const long double constant = 4 * run.map.curvature() * tau_sum * factor / (gap * gap);
  return constant * largest;
}

TrialOutcome CheckTheorem2(const AcceleratedRun& run) {
  return CheckSteps(run, PrintedSecondOrder2, CorrectedSecondOrder2);
}

TrialOutcome TryTheorem2(Choices& choices, std::string* description) {
  return CheckTheorem2(ChooseRun(choices, {}, description));
}

constexpr FixedInstance kTheorem2Instances[] = {
    {"the counterexample to Theorem 1 with r = (1e-9, 0), a constant of 1e6 for the O(·)",
     [] { return CheckTheorem2(TwoStateRun(1e-9)); }},
    {"the same with r = (1e-12, 0)", [] { return CheckTheorem2(TwoStateRun(1e-12)); }}};

// ---- The gain ----

struct Gain {
  long double mixed_two, newest_two;  // ‖e^α‖₂, ‖e_k‖₂
  long double mixed_sup, newest_sup;
  long double size;       // n
  long double allowance;  // for the mixed residual's components
};

// The weights are the library's, on columns rounded to double as it receives them.
Gain GainOf(const ResidualWindow& window) {
  const auto n = static_cast<std::size_t>(window.size());
  const auto m = static_cast<std::size_t>(window.memory());
  std::vector<std::vector<double>> columns(m + 1, std::vector<double>(n));
  LongVector residual = window.residual;
  for (std::size_t age = 0; age <= m; ++age) {
    if (age > 0) residual -= window.residuals.col(static_cast<Eigen::Index>(age - 1));
    for (std::size_t i = 0; i < n; ++i) {
      columns[m - age][i] = static_cast<double>(residual[static_cast<Eigen::Index>(i)]);
    }
  }
  const std::vector<std::span<const double>> spans(columns.begin(), columns.end());
  WeightSolver solver({.rule = WeightRule::kVanilla});
  const MixingWeights& weights = solver.Solve(spans, {});

  // e_k − Σ τ_i h_i rather than Σ α_i e_i: the weights sum to 1 only up to rounding.
  const auto as_long = [&](std::size_t column) {
    return Eigen::Map<const Eigen::VectorXd>(columns[column].data(), window.size())
        .cast<long double>()
        .eval();
  };
  LongVector mixed = as_long(m);
  long double terms = mixed.norm();
  for (std::size_t i = 0; i < m; ++i) {
    const LongVector change = as_long(m - i) - as_long(m - i - 1);
    mixed -= weights.tau[i] * change;
    terms += std::abs(weights.tau[i]) * change.norm();
  }
  const LongVector newest = as_long(m);
  return {.mixed_two = mixed.norm(),
          .newest_two = newest.norm(),
          .mixed_sup = SupNorm(mixed),
          .newest_sup = SupNorm(newest),
          .size = static_cast<long double>(n),
          .allowance = kDoubleEpsilon * terms};
}

TrialOutcome CheckTwoNormGain(const ResidualWindow& window) {
  const Gain gain = GainOf(window);
  return {.printed = Inequality{gain.mixed_two, gain.newest_two, gain.allowance}};
}

TrialOutcome CheckSupGain(const ResidualWindow& window) {
  const Gain gain = GainOf(window);
  const long double factor = (1 + std::sqrt(gain.size)) / 2;
  return {.printed = Inequality{gain.mixed_sup, gain.newest_sup, gain.allowance},
          .corrected = Inequality{gain.mixed_sup, factor * gain.newest_sup, gain.allowance}};
}

TrialOutcome TryTwoNormGain(Choices& choices, std::string* description) {
  return CheckTwoNormGain(ChooseWindow(choices, description));
}

TrialOutcome TrySupGain(Choices& choices, std::string* description) {
  return CheckSupGain(ChooseWindow(choices, description));
}

// e = (1, …, 1), e_k − e_{k−1} = (first, 1, …, 1): the difference is concentrated in one component,
// so that projecting it out of e makes that component large.
ResidualWindow LeaningWindow(int n, long double first) {
  ResidualWindow window;
  window.x = LongVector::Zero(n);
  window.residual = LongVector::Ones(n);
  window.residuals = LongMatrix::Ones(n, 1);
  window.residuals(0, 0) = first;
  window.iterates = -window.residuals;
  return window;
}

constexpr FixedInstance kSupGainInstances[] = {
    {"n = 100, e_k = (1, …, 1), e_k − e_{k−1} = 0.1·(−10, 1, …, 1), m = 1",
     [] { return CheckSupGain(LeaningWindow(100, -10)); }},
    {"n = 4, e_k = (1, 1, 1, 1), e_k − e_{k−1} = (−1, 1, 1, 1), m = 1: the bound is attained",
     [] { return CheckSupGain(LeaningWindow(4, -1)); }}};

constexpr Claim kConvergenceClaims[] = {
    {.id = "thm1",
     .title = "Theorem 1: the residual after an accelerated step",
     .printed =
         "‖e_k‖ ≤ θ_k ((1−β) + c1 β) ‖e_{k−1}‖ + c2 (‖δ_k‖ + ‖δ_{k−1}‖) |τ_1| ‖δ_{k−1}‖\n"
         "      + c2 Σ_{i=2..m} (‖δ_k‖ + ‖δ_{k−i}‖ + 2 Σ_{l=1..i−1} ‖δ_{k−i}‖) |τ_i| ‖δ_{k−i}‖\n"
         "where ‖T'‖ ≤ c1, ‖T''‖ ≤ c2, δ_k = Q_k − Q_{k−1}, τ_i = Σ_{j<m−i} α_j; sup norms.",
     .why = "e_k comes out of the step taken at k−1, with the weights of that step: its gain\n"
            "is θ_{k−1}. θ_k is the gain of the step to come, which e_k cannot know. For the same\n"
            "reason the τ_i are those of step k−1, and the inner sum has a slip: it should run\n"
            "over δ_{k−l}.",
     .corrected =
         "‖e_k‖ ≤ θ_{k−1} ((1−β) + γβ) ‖e_{k−1}‖\n"
         "      + γω Σ_{i=1..m} (‖δ_k‖ + ‖δ_{k−i}‖ + 2 Σ_{l=1..i−1} ‖δ_{k−l}‖) |τ_i| ‖δ_{k−i}‖\n"
         "with τ_i = Σ_{l≤m−i} α_l, α of step k−1; c1 = γ and c2 = γω are those of mellowmax\n"
         "(c2 = 0 for one action).",
     .derivation =
         "Let e^α = Σ α_i e_i of step k−1, z_j(t) = Q_{j−1} + tδ_j and τ_0 = 1. Because Σα = 1,\n"
         "Σ_i τ_i δ_{k−i} = Q_k − Σ α_i Q_i = β e^α, and in the same way\n"
         "e_k = (1−β) e^α + Σ_i τ_i ∫ T'(z_{k−i}(t)) δ_{k−i} dt.\n"
         "Moving every T' to z_k costs ∫ T''·(z_l − z_{l+1}) per step l, which is at most\n"
         "c2 (‖δ_l‖ + ‖δ_{l+1}‖). (The integral over t would even give half of it.) What remains\n"
         "is ∫ T'(z_k) β e^α dt, at most γβ ‖e^α‖, and ‖e^α‖ = θ_{k−1} ‖e_{k−1}‖.\n"
         "Any weights that sum to 1 will do. mm'' is ω times a covariance, at most ω ‖u‖ ‖v‖.",
     .trial = TryTheorem1,
     .fixed = kTheorem1Instances},
    {.id = "theta-2norm",
     .title = "0 ≤ θ_k ≤ 1 in the 2-norm, in which the weights are chosen",
     .printed = "‖Σ α_i e_i‖₂ ≤ ‖e_k‖₂",
     .derivation = "α = (0, …, 0, 1) is among the weights over which the minimum is taken, and it\n"
                   "gives e_k.",
     .trial = TryTwoNormGain},
    {.id = "theta-sup",
     .title = "0 ≤ θ_k ≤ 1 in the sup norm, in which the paper defines it",
     .printed = "‖Σ α_i e_i‖∞ ≤ ‖e_k‖∞",
     .why = "α minimises the 2-norm, not the sup norm. What it gains in most components it may\n"
            "pay for in one: the largest can grow by a factor of order √n.",
     .corrected = "‖Σ α_i e_i‖∞ ≤ (1 + √n)/2 · ‖e_k‖∞, and no smaller factor will do",
     .derivation =
         "Σ α_i e_i = E e_k, with E the orthogonal projector that removes the columns of H.\n"
         "With q = E_ii = Σ_j E_ij², row i has Σ_j |E_ij| ≤ q + √((n−1)(q − q²)) by\n"
         "Cauchy–Schwarz. With q = (1 + cos φ)/2 that is (1 + cos φ + √(n−1) sin φ)/2, at\n"
         "most (1 + √n)/2.",
     .trial = TrySupGain,
     .fixed = kSupGainInstances},
    {.id = "thm2",
     .title = "Theorem 2: the same with residuals only",
     .printed = "‖e_k‖ ≤ θ_k ((1−β) + c1 β) ‖e_{k−1}‖ + O(Σ_{j=1..m} ‖e_{k−j}‖²), sup norms\n"
                "(tested with a constant of 1e6 in the O-term)",
     .why = "θ_k for θ_{k−1}, as in Theorem 1, and no constant mends it: scale the rewards of an\n"
            "affine map by s, and the left side scales by s, the O-term by s². Besides, δ_{k−m}\n"
            "needs e_{k−m−1}: the window reaches back one step further than the sum.",
     .corrected =
         "‖e_k‖ ≤ θ_{k−1} ((1−β) + γβ) ‖e_{k−1}‖ + K max_{1≤j≤m+1} ‖e_{k−j}‖²\n"
         "K = 4γω T (‖α‖₁/2 + T + 2m − 1)/(1−γ)², T = Σ|τ_i|, α and τ of step k−1, 0 ≤ β ≤ 1",
     .derivation = "Let M = max_{1≤j≤m+1} ‖e_{k−j}‖. For k−m ≤ j < k the contraction gives\n"
                   "‖δ_j‖ ≤ ‖e_j − e_{j−1}‖/(1−γ) ≤ 2M/(1−γ), and δ_k = β e^α − Σ τ_i δ_{k−i} has\n"
                   "‖δ_k‖ ≤ ‖α‖₁ M + T·2M/(1−γ) ≤ (‖α‖₁/2 + T)·2M/(1−γ).\n"
                   "Into the corrected Theorem 1, with i ≤ m: that is K M².",
     .trial = TryTheorem2,
     .fixed = kTheorem2Instances},
};

}  // namespace

std::span<const Claim> ConvergenceClaims() { return kConvergenceClaims; }

}  // namespace stableaa
