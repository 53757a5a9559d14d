// Theorem 3, Proposition 2 and "the regularisation vanishes": what Section 3.1 says about the
// stable regularisation, τ = argmin ‖e − Hτ‖² + λ‖τ‖² with λ = η(‖Δ‖²_F + ‖H‖²_F).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "stableaa/theory/accelerated_run.h"
#include "stableaa/theory/claims.h"
#include "stableaa/theory/dense_algebra.h"
#include "stableaa/theory/residual_window.h"
#include "stableaa/theory/update_matrix.h"

namespace stableaa {
namespace {

constexpr long double kEpsilon = std::numeric_limits<long double>::epsilon();

struct RegularisedWindow {
  ResidualWindow window;
  double eta = 1;
  double damping = 1;  // for Theorem 3 only
};

RegularisedWindow ChooseRegularised(Choices& choices, std::string* description) {
  RegularisedWindow chosen;
  chosen.window = ChooseWindow(choices, description);
  chosen.eta = choices.LogUniform(1e-5, 1e3);
  if (description != nullptr) *description += fmt::format(", eta {:.4g}", chosen.eta);
  return chosen;
}

RegularisedWindow ChooseDamped(Choices& choices, std::string* description) {
  RegularisedWindow chosen = ChooseRegularised(choices, description);
  chosen.damping = choices.Chance(0.2) ? 1 : choices.Uniform();
  if (description != nullptr) *description += fmt::format(", damping {:.4g}", chosen.damping);
  return chosen;
}

// H and Δ with one column each, given number by number.
RegularisedWindow OneColumn(const LongVector& delta, const LongVector& h, const LongVector& e,
                            double eta, double damping) {
  ResidualWindow window{.iterates = delta, .residuals = h, .x = {}, .residual = e};
  window.x = LongVector::Zero(e.size());
  return {std::move(window), eta, damping};
}

LongVector Unit(Eigen::Index n, Eigen::Index i) { return LongVector::Unit(n, i); }

// ---- Theorem 3 ----

TrialOutcome CheckTheorem3a(const RegularisedWindow& of) {
  const long double norm = UpdateNorm(of.window, of.damping, of.eta);
  const long double allowance = 100 * kEpsilon * (norm + of.damping);
  return {.printed = Inequality{norm, PrintedNormBound(of.eta, of.damping), allowance},
          .corrected = Inequality{norm, CorrectedNormBound(of.eta, of.damping), allowance}};
}

TrialOutcome TryTheorem3a(Choices& choices, std::string* description) {
  return CheckTheorem3a(ChooseDamped(choices, description));
}

constexpr FixedInstance kTheorem3aInstances[] = {
    {"n = 2, m = 1, Δ = (1, 0), H = (0, 1), β = 1, η = 2",
     [] { return CheckTheorem3a(OneColumn(Unit(2, 0), Unit(2, 1), Unit(2, 0), 2, 1)); }},
    {"n = 1, m = 1, Δ = −10000, H = 1, β = 0, η = 1e-8: almost the root bound", [] {
       return CheckTheorem3a(OneColumn(-1e4L * Unit(1, 0), Unit(1, 0), Unit(1, 0), 1e-8, 0));
     }}};

// If H is too close to singular, there is no G to compare with.
constexpr long double kWorstCondition = 1e6L;

TrialOutcome CheckTheorem3b(const RegularisedWindow& of) {
  const long double condition = ConditionNumber(of.window.residuals);
  if (of.window.memory() > of.window.size() || !(condition < kWorstCondition)) return {};
  const long double ridge = of.window.Ridge(of.eta);
  const LongMatrix plain = UpdateCorrection(of.window, of.damping, 0);
  const LongMatrix regularised = UpdateCorrection(of.window, of.damping, ridge);

  TrialOutcome outcome;
  const LongMatrix whole = WithPlainStep(regularised, of.damping);
  const long double inverse_condition = ConditionNumber(whole);
  if (of.damping > 0 && inverse_condition < kWorstCondition) {
    const long double quotient = SpectralNorm(SolveSquare(whole, WithPlainStep(plain, of.damping)));
    outcome.printed =
        Inequality{quotient, 1, 100 * kEpsilon * inverse_condition * condition * quotient};
  }
  const long double top = SpectralNorm(of.window.residuals);
  const long double bound = SpectralNorm(plain) * top * top / (top * top + ridge);
  outcome.corrected =
      Inequality{SpectralNorm(regularised), bound, 100 * kEpsilon * condition * bound};
  return outcome;
}

TrialOutcome TryTheorem3b(Choices& choices, std::string* description) {
  return CheckTheorem3b(ChooseDamped(choices, description));
}

constexpr FixedInstance kTheorem3bInstances[] = {
    {"n = 2, m = 1, Δ = (1, 0), H = (0, 1), β = 1, η = 1",
     [] { return CheckTheorem3b(OneColumn(Unit(2, 0), Unit(2, 1), Unit(2, 0), 1, 1)); }}};

// ---- Proposition 2 ----

TrialOutcome CheckProposition2First(const RegularisedWindow& of) {
  const long double ridge = of.window.Ridge(of.eta);
  if (!(ridge > 0)) return {};
  const long double left = AlphaOf(SolveTau(of.window, ridge)).squaredNorm();
  const long double residual = of.window.residual.squaredNorm();
  // The ridge bounds the condition of the least-squares problem by √(1 + 1/η).
  const long double allowance = 100 * kEpsilon * std::sqrt(1 + 1 / of.eta) * left;
  return {.printed = Inequality{left, 4 * (1 + residual / (of.eta * of.eta)), allowance},
          .corrected = Inequality{left, 4 * (1 + residual / (4 * ridge)), allowance}};
}

TrialOutcome TryProposition2First(Choices& choices, std::string* description) {
  return CheckProposition2First(ChooseRegularised(choices, description));
}

constexpr FixedInstance kProposition2FirstInstances[] = {
    {"n = 1, m = 1, g(x) = .9x, Δ = .001, so H = −.0001, e = 1, η = 1", [] {
       return CheckProposition2First(
           OneColumn(1e-3L * Unit(1, 0), -1e-4L * Unit(1, 0), Unit(1, 0), 1, 1));
     }}};

// The condition number of A, where α = A(1, τ).
long double ConditionOfA(Eigen::Index m) {
  LongMatrix a(m + 1, m + 1);
  for (Eigen::Index j = 0; j <= m; ++j) {
    LongVector tau = LongVector::Zero(m);
    if (j > 0) tau[j - 1] = 1;
    a.col(j) = AlphaOf(tau);
    if (j > 0) a(m, j) -= 1;  // AlphaOf includes the leading 1
  }
  return ConditionNumber(a);
}

TrialOutcome CheckProposition2Second(const RegularisedWindow& of) {
  const ResidualWindow& window = of.window;
  const long double condition = ConditionNumber(window.residuals);
  if (window.memory() > window.size() || !(condition < kWorstCondition)) return {};
  const LongVector plain = AlphaOf(SolveTau(window, 0));
  const LongVector regularised = AlphaOf(SolveTau(window, window.Ridge(of.eta)));
  const auto m = static_cast<long double>(window.memory());
  const long double condition_of_a = ConditionOfA(window.memory());
  return {.printed = Inequality{
              (regularised - plain).squaredNorm(),
              condition_of_a * condition_of_a * plain.squaredNorm() - (2 * m + 1) / (m + 1),
              100 * kEpsilon * condition * condition * (1 + plain.squaredNorm())}};
}

TrialOutcome TryProposition2Second(Choices& choices, std::string* description) {
  return CheckProposition2Second(ChooseRegularised(choices, description));
}

// ---- The ridge ----

// "Vanished" means at most this fraction of its value at the start of the run.
constexpr long double kVanished = 0.01L;
constexpr AcceleratedRunOptions kRidgeRun = {
    .weights = {.rule = WeightRule::kStable}, .steps = 120, .reduction = 1e-6L};

TrialOutcome CheckRidge(const AcceleratedRun& run) {
  TrialOutcome outcome;
  const long double eta = run.eta;
  const long double discount = run.map.discount;
  const long double root = std::sqrt(static_cast<long double>(run.map.model.rows()));
  const long double low = 1 + discount * root;     // ‖h‖₂ ≤ low ‖δ‖₂
  const long double high = root / (1 - discount);  // ‖δ‖₂ ≤ high ‖h‖₂
  std::optional<long double> first;
  long double last = 0;
  for (std::size_t k = 1; k < run.steps.size(); ++k) {
    const LongMatrix h = run.Residuals(k);
    const long double size = h.squaredNorm();
    if (!(size > 0)) continue;
    const long double relative = eta * (1 + run.Iterates(k).squaredNorm() / size);  // λ/‖H‖²
    if (!first) first = relative;
    last = relative;
    // H is a difference of residuals, which are differences of iterates and images.
    const long double allowance =
        10 * kEpsilon * relative * (1 + run.steps[k].x.norm() / std::sqrt(size));
    KeepWorse(outcome.corrected, {eta * (1 + 1 / (low * low)), relative, allowance});
    KeepWorse(outcome.corrected, {relative, eta * (1 + high * high), allowance});
  }
  const bool converged = SupNorm(run.steps.back().residual) <=
                         kRidgeRun.reduction * SupNorm(run.steps.front().residual);
  if (first && converged) outcome.printed = Inequality{last, kVanished * *first, kEpsilon * last};
  return outcome;
}

TrialOutcome TryRidge(Choices& choices, std::string* description) {
  return CheckRidge(ChooseRun(choices, kRidgeRun, description));
}

AcceleratedRunOptions SlowModeRun() {
  AcceleratedRunOptions options = kRidgeRun;
  options.weights.eta = 0.1;
  return options;
}

constexpr FixedInstance kRidgeInstances[] = {
    {"one state that stays, r = 1, γ = .9, m = 1, β = 1, η = .1: λ/‖H‖² = 10.1 in every step",
     [] { return CheckRidge(RunOneState(SlowModeRun())); }}};

constexpr Claim kStabilityClaims[] = {
    {.id = "thm3a",
     .title = "Theorem 3, first part: the regularised update is bounded",
     .printed = "‖G̃‖₂ ≤ |2/η − β|,  G̃ = −βI + (Δ + βH)(HᵀH + η(‖Δ‖²_F + ‖H‖²_F)I)⁻¹Hᵀ",
     .why = "The proof puts |−β + ‖X‖| for ‖−βI + X‖, and then grows the inside of the absolute\n"
            "value, which makes it smaller where it is negative. At η = 2/β the bound is 0, but\n"
            "G̃ is not.",
     .corrected = "‖G̃‖₂ ≤ β + 1/(2√η)  and  ‖G̃‖₂ ≤ β + (β + √(1+β²))/(2η),  0 ≤ β",
     .derivation =
         "−βI + βH(HᵀH + λI)⁻¹Hᵀ has norm at most β. The rest is Δ(HᵀH + λI)⁻¹Hᵀ, with\n"
         "σ/(σ² + λ) ≤ 1/(2√λ) and ‖Δ‖ ≤ √(λ/η): the first bound. Or ‖Δ + βH‖ ‖H‖/λ with\n"
         "‖Δ‖ = r cos φ, ‖H‖ = r sin φ: (sin φ cos φ + β sin²φ)/η, at most\n"
         "(β + √(1+β²))/(2η).",
     .trial = TryTheorem3a,
     .fixed = kTheorem3aInstances},
    {.id = "thm3b",
     .title = "Theorem 3, second part: the regularised update is the smaller one",
     .printed = "‖G̃⁻¹G‖₂ < 1,  G the same matrix without regularisation  (tested: ≤ 1)",
     .why = "Where Hᵀ vanishes, both matrices are −βI and their quotient is the identity. That\n"
            "is so somewhere whenever m < n, the usual case: the norm is 1 or more for every\n"
            "β > 0.",
     .corrected = "‖G̃ + βI‖₂ ≤ ‖G + βI‖₂ · ‖H‖²/(‖H‖² + λ) ≤ ‖G + βI‖₂/(1 + η)\n"
                  "with λ = η(‖Δ‖²_F + ‖H‖²_F): what is added to the plain step −βI gets smaller.",
     .derivation =
         "G̃ + βI = (Δ + βH)(HᵀH + λI)⁻¹Hᵀ = (G + βI)·H(HᵀH + λI)⁻¹Hᵀ, and the last factor is\n"
         "symmetric with eigenvalues σ²/(σ² + λ), σ ≤ ‖H‖, and λ ≥ η‖H‖².",
     .trial = TryTheorem3b,
     .fixed = kTheorem3bInstances},
    {.id = "prop2-first",
     .title = "Proposition 2, first inequality: the regularised weights are bounded",
     .printed = "‖α_reg‖² ≤ 4 (1 + ‖e‖²/η²)",
     .why = "In the proof ‖(HᵀH + λI)⁻¹‖² ≤ 1/λ² loses the square of ‖Δ‖²_F + ‖H‖²_F. The units\n"
            "do not match, either: shrink Δ and H, and the left side grows while the right one\n"
            "stays.",
     .corrected = "‖α_reg‖² ≤ 4 (1 + ‖e‖²/(4η(‖Δ‖²_F + ‖H‖²_F)))",
     .derivation = "α = A(1, τ) with ‖A‖² < 4, and τ = (HᵀH + λI)⁻¹Hᵀe has\n"
                   "‖τ‖ ≤ ‖e‖·max σ/(σ² + λ) ≤ ‖e‖/(2√λ).",
     .trial = TryProposition2First,
     .fixed = kProposition2FirstInstances},
    {.id = "prop2-second",
     .title = "Proposition 2, second inequality: what it does to the weights",
     .printed = "‖α_reg − α_non‖² ≤ cond(A)² ‖α_non‖² − (2m+1)/(m+1),  α = A(1, τ)",
     .derivation =
         "τ_reg − τ_non = −λ(HᵀH + λI)⁻¹ τ_non is no longer than τ_non,\n"
         "‖τ_non‖² = ‖A⁻¹α_non‖² − 1, and ‖A‖² is at least the mean square of A's singular\n"
         "values, ‖A‖²_F/(m+1) = (2m+1)/(m+1).",
     .trial = TryProposition2Second},
    {.id = "ridge-vanishes",
     .title = "Section 3.1: the regularisation vanishes as the iteration converges",
     .printed =
         "λ_k = η(‖Δ_k‖²_F + ‖H_k‖²_F) → 0, so the method becomes plain Anderson mixing\n"
         "(tested: when the residual has fallen by 1e6, λ/‖H‖²_F is at most .01 of its first)",
     .why = "λ has to be compared with HᵀH, which goes to 0 as fast. Their quotient stays where\n"
            "it is, and along a slow mode it is large, η(1 + 1/(1−γ)²): the reason of eta-rule.",
     .corrected = "η(1 + 1/(1 + γ√n)²) ≤ λ_k/‖H_k‖²_F ≤ η(1 + n/(1−γ)²) in every step",
     .derivation =
         "λ/‖H‖² = η(1 + ‖Δ‖²/‖H‖²). A column is h = (J − I)δ with J a mean of derivatives of\n"
         "T, γ times a stochastic matrix: ‖J‖₂ ≤ γ√n gives ‖h‖₂ ≤ (1 + γ√n)‖δ‖₂, and\n"
         "(1−γ)‖δ‖∞ ≤ ‖h‖∞ gives ‖δ‖₂ ≤ √n‖h‖₂/(1−γ).",
     .trial = TryRidge,
     .fixed = kRidgeInstances},
};

}  // namespace

std::span<const Claim> StabilityClaims() { return kStabilityClaims; }

}  // namespace stableaa
