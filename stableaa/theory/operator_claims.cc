// Mellowmax and Boltzmann softmax, as functions of action values and as backups of a model.
//
// The numbers compared are the library's (bellman/, mdp/), in double. Differences of nearly equal
// numbers use long double instead, and the library is compared with that separately. Allowances
// bound the rounding for the few actions that instances have.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/bellman/backup.h"
#include "stableaa/bellman/policy.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/mdp/solve/passes.h"
#include "stableaa/mdp/solve/solver.h"
#include "stableaa/theory/chosen_model.h"
#include "stableaa/theory/claims.h"
#include "stableaa/theory/one_state_example.h"

namespace stableaa {
namespace {

using Values = std::vector<double>;
using LongValues = std::vector<long double>;

constexpr long double kDoubleRounding = std::numeric_limits<double>::epsilon();
constexpr long double kLongEpsilon = std::numeric_limits<long double>::epsilon();

constexpr int kMostActions = 8;

// ---- Vectors ----

long double LargestMagnitude(std::span<const double> values) {
  long double norm = 0;
  for (const double value : values) norm = std::max<long double>(norm, std::abs(value));
  return norm;
}

LongValues Difference(std::span<const double> from, std::span<const double> to) {
  LongValues difference(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    difference[i] = static_cast<long double>(to[i]) - from[i];
  }
  return difference;
}

long double Distance(std::span<const double> from, std::span<const double> to) {
  long double distance = 0;
  for (const long double d : Difference(from, to)) distance = std::max(distance, std::abs(d));
  return distance;
}

// max − min.
long double Range(std::span<const double> values) {
  const auto [least, most] = std::ranges::minmax(values);
  return static_cast<long double>(most) - least;
}

long double Mean(const LongValues& values, const LongValues& probabilities) {
  long double mean = 0;
  for (std::size_t i = 0; i < values.size(); ++i) mean += probabilities[i] * values[i];
  return mean;
}

// "(1, 2.5)". Not fmt::join, for which GCC 12 falsely warns of an overflow.
std::string List(const Values& values) {
  std::string list;
  for (const double value : values) {
    list += list.empty() ? "(" : ", ";
    list += fmt::format("{:.6g}", value);
  }
  return list + ")";
}

// ---- Instances ----

// A vector of magnitude about `scale`: only levels 0 and 1, where most extreme cases are, or
// anything, with zeros and ties; sometimes far from 0.
Values ChooseVector(Choices& choices, std::size_t size, double scale) {
  const bool two_levels = choices.Chance(0.5);
  const bool far = choices.Chance(0.2);
  const double offset = choices.Uniform(-100, 100);
  Values values;
  for (std::size_t i = 0; i < size; ++i) {
    const double u = choices.Uniform();
    double value = choices.Normal();
    if (two_levels) {
      value = u < 0.5 ? 0 : 1;
    } else if (u < 0.1) {
      value = 0;
    }
    values.push_back(scale * (value + (far ? offset : 0)));
    if (!two_levels && i > 0 && u > 0.9) values[i] = values[i - 1];
  }
  return values;
}

// Another vector, at most `distance` away in the sup norm: shifted as a whole, entry by entry up or
// down, in one entry, or at random.
Values ChooseMoved(Choices& choices, const Values& values, double distance) {
  const int kind = choices.Integer(0, 3);
  const int place = choices.Integer(0, static_cast<int>(values.size()) - 1);
  Values moved = values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double u = choices.Uniform(-1, 1);
    const double one_place = static_cast<int>(i) == place ? 1 : 0;
    const double direction[] = {1, u < 0 ? -1.0 : 1.0, one_place, u};
    moved[i] += distance * direction[kind];
  }
  return moved;
}

// Two vectors of action values, and an inverse temperature.
struct ValuePair {
  double omega = 0;
  Values q;
  Values moved;
  long double distance = 0;  // in the sup norm

  // The largest magnitude in either.
  long double magnitude() const { return std::max(LargestMagnitude(q), LargestMagnitude(moved)); }
};

ValuePair MakePair(double omega, Values q, Values moved) {
  const long double distance = Distance(q, moved);
  return {.omega = omega, .q = std::move(q), .moved = std::move(moved), .distance = distance};
}

std::string Describe(const ValuePair& pair) {
  return fmt::format("omega {:.6g}, q = {}, q' = {}", pair.omega, List(pair.q), List(pair.moved));
}

// ω times the range of q and ω times the distance are mostly between `least_step` and 100.
ValuePair ChoosePair(Choices& choices, double least_step) {
  const double omega = choices.LogUniform(1e-3, 1e3);
  const auto actions = static_cast<std::size_t>(choices.Integer(2, kMostActions));
  const Values q = ChooseVector(choices, actions, choices.LogUniform(1e-3, 100) / omega);
  return MakePair(omega, q, ChooseMoved(choices, q, choices.LogUniform(least_step, 100) / omega));
}

// A model with a discount and an inverse temperature.
struct MellowmaxModel {
  Model model;
  double discount = 0;
  double omega = 1;

  Backup backup() const { return {BackupKind::kMellowmax, omega}; }
};

MellowmaxModel ChooseMellowmaxModel(Choices& choices, std::string* description) {
  const double discount = choices.Chance(0.05) ? 0 : choices.Uniform(0, 0.98);
  const double omega = choices.LogUniform(1e-2, 1e3);
  MellowmaxModel chosen{ChooseModel(choices), discount, omega};
  if (description != nullptr) {
    *description = fmt::format("states {}, pairs {}, discount {:.6g}, omega {:.6g}",
                               chosen.model.states(), chosen.model.rows(), discount, omega);
  }
  return chosen;
}

// ---- Mellowmax is a non-expansion ----

Inequality CompareValues(const Backup& backup, const ValuePair& pair, long double constant) {
  const long double change =
      static_cast<long double>(backup.Value(pair.moved)) - backup.Value(pair.q);
  return {.left = std::abs(change),
          .right = constant * pair.distance,
          .allowance = 4 * kDoubleRounding * pair.magnitude()};
}

Inequality CompareBackups(Choices& choices, std::string* description) {
  const MellowmaxModel chosen = ChooseMellowmaxModel(choices, description);
  const std::size_t states = chosen.model.states();
  const Values values = ChooseVector(choices, states, choices.LogUniform(1e-2, 1e2));
  const Values moved = ChooseMoved(choices, values, choices.LogUniform(1e-2, 1e2));
  const auto image = [&](const Values& of) {
    Values backed_up(states);
    OperatorPass(chosen.model, chosen.discount, chosen.backup(), of, backed_up, 1);
    return backed_up;
  };
  if (description != nullptr) {
    *description += fmt::format(", V = {}, V' = {}", List(values), List(moved));
  }
  const long double magnitude = LargestMagnitude(chosen.model.rewards()) +
                                std::max(LargestMagnitude(values), LargestMagnitude(moved));
  return {.left = Distance(image(values), image(moved)),
          .right = chosen.discount * Distance(values, moved),
          .allowance = 4 * kDoubleRounding * magnitude};
}

TrialOutcome TestNonexpansive(Choices& choices, std::string* description) {
  if (choices.Chance(0.5)) return {.printed = CompareBackups(choices, description)};
  const ValuePair pair = ChoosePair(choices, 1e-3);
  if (description != nullptr) *description = Describe(pair);
  return {.printed = CompareValues({BackupKind::kMellowmax, pair.omega}, pair, 1)};
}

TrialOutcome ShiftedValues() {
  const ValuePair pair = MakePair(5, {0, 1, 3}, {0.5, 1.5, 3.5});
  return {.printed = CompareValues({BackupKind::kMellowmax, pair.omega}, pair, 1)};
}

// ---- Mellowmax is twice continuously differentiable ----

// mm_ω(q) = max − below, and its gradient.
struct ExactMellowmax {
  long double max = 0;
  long double below = 0;
  LongValues gradient;  // softmax(ωq)

  long double value() const { return max - below; }
};

ExactMellowmax ComputeExactly(const Values& q, long double omega) {
  ExactMellowmax exact;
  exact.max = *std::ranges::max_element(q);
  long double sum = 0;
  long double mean_minus_one = 0;
  for (const double value : q) {
    const long double z = omega * (value - exact.max);
    exact.gradient.push_back(std::exp(z));
    sum += exact.gradient.back();
    mean_minus_one += std::expm1(z) / static_cast<long double>(q.size());
  }
  for (long double& p : exact.gradient) p /= sum;
  exact.below = -std::log1p(mean_minus_one) / omega;
  return exact;
}

// The library's value and gradient against those in long double; the gradient is a distribution.
void CompareLibrary(const Values& q, double omega, const ExactMellowmax& exact,
                    std::optional<Inequality>& worst) {
  const Backup backup{BackupKind::kMellowmax, omega};
  Values gradient(q.size());
  backup.Gradient(q, gradient);
  long double error = 0;
  long double sum = 0;
  long double least = 0;
  for (std::size_t a = 0; a < q.size(); ++a) {
    error += std::abs(gradient[a] - exact.gradient[a]);
    sum += gradient[a];
    least = std::min<long double>(least, gradient[a]);
  }
  // A probability has the rounding of a sum, a quotient and an exponential, plus its share of that
  // of the exponents z, at most ε E|z| ≤ ε log(actions) in total.
  const long double rounding = 10 * kDoubleRounding;
  KeepWorse(worst, {.left = error, .right = 0, .allowance = rounding});
  KeepWorse(worst, {.left = std::abs(sum - 1), .right = 0, .allowance = rounding});
  KeepWorse(worst, {.left = -least, .right = 0, .allowance = 0});
  KeepWorse(worst, {.left = std::abs(backup.Value(q) - exact.value()),
                    .right = 0,
                    .allowance = 4 * kDoubleRounding * LargestMagnitude(q)});
}

// The four inequalities, in long double. `direction` is a second direction for the Hessian.
std::array<Inequality, 4> CompareExpansion(const ValuePair& pair, const ExactMellowmax& exact,
                                           const LongValues& direction) {
  const long double omega = pair.omega;
  const ExactMellowmax moved = ComputeExactly(pair.moved, omega);
  const LongValues step = Difference(pair.q, pair.moved);
  const LongValues& p = exact.gradient;
  const long double mean_step = Mean(step, p);
  const long double mean_direction = Mean(direction, p);
  long double gradient_change = 0;
  long double gradient_remainder = 0;
  long double covariance = 0;
  long double direction_norm = 0;
  for (std::size_t a = 0; a < step.size(); ++a) {
    const long double change = moved.gradient[a] - p[a];
    gradient_change += std::abs(change);
    gradient_remainder += std::abs(change - omega * p[a] * (step[a] - mean_step));
    covariance += p[a] * (step[a] - mean_step) * (direction[a] - mean_direction);
    direction_norm = std::max(direction_norm, std::abs(direction[a]));
  }
  const long double value_remainder =
      (moved.max - exact.max) - (moved.below - exact.below) - mean_step;

  const long double length = pair.distance;
  const long double scaled = omega * length;
  return {{{.left = std::abs(value_remainder),
            .right = omega * length * length / 2,
            .allowance = 10 * kLongEpsilon * (pair.magnitude() + 1 / omega)},
           {.left = gradient_change, .right = scaled, .allowance = 20 * kLongEpsilon},
           {.left = omega * std::abs(covariance),
            .right = scaled * direction_norm,
            .allowance = 20 * kLongEpsilon * scaled * direction_norm},
           {.left = gradient_remainder,
            .right = scaled * scaled / 2,
            .allowance = 20 * kLongEpsilon * (1 + scaled)}}};
}

// Tests one of the four per instance: taken together, those that are easily attained would hide the
// others from the search.
TrialOutcome TestDerivatives(Choices& choices, std::string* description) {
  const int which = choices.Integer(0, 3);
  const ValuePair pair = ChoosePair(choices, 1e-4);
  if (description != nullptr) {
    *description = fmt::format("inequality {}, {}", which + 2, Describe(pair));
  }
  const Values origin(pair.q.size(), 0);
  const LongValues direction = Difference(origin, ChooseMoved(choices, origin, 1));
  const ExactMellowmax exact = ComputeExactly(pair.q, pair.omega);
  TrialOutcome outcome;
  CompareLibrary(pair.q, pair.omega, exact, outcome.printed);
  KeepWorse(outcome.printed,
            CompareExpansion(pair, exact, direction)[static_cast<std::size_t>(which)]);
  return outcome;
}

TrialOutcome TwoEqualActions() {
  const ValuePair pair = MakePair(10, {0, 0}, {0.001, -0.001});
  TrialOutcome outcome;
  for (const Inequality& inequality :
       CompareExpansion(pair, ComputeExactly(pair.q, pair.omega), {1, -1})) {
    KeepWorse(outcome.printed, inequality);
  }
  return outcome;
}

// ---- Boltzmann softmax expands ----

// Its Lipschitz constant over vectors of range up to R: max(1, (L + 1/L)/2) with L = ωR.
long double BoltzmannConstant(const ValuePair& pair) {
  const long double scaled = pair.omega * std::max(Range(pair.q), Range(pair.moved));
  return scaled <= 1 ? 1 : (scaled + 1 / scaled) / 2;
}

TrialOutcome CompareBoltzmann(const ValuePair& pair) {
  const Backup backup{BackupKind::kBoltzmann, pair.omega};
  return {.printed = CompareValues(backup, pair, 1),
          .corrected = CompareValues(backup, pair, BoltzmannConstant(pair))};
}

// Removes the common part of the move, so that its extremes are opposite: B(q + c) = B(q) + c is an
// equality that would hide everything else.
ValuePair WithoutShift(const ValuePair& pair) {
  const auto [down, up] = std::ranges::minmax(Difference(pair.q, pair.moved));
  Values moved = pair.moved;
  for (double& value : moved) value -= static_cast<double>((down + up) / 2);
  return MakePair(pair.omega, pair.q, moved);
}

TrialOutcome TestBoltzmann(Choices& choices, std::string* description) {
  const ValuePair pair = WithoutShift(ChoosePair(choices, 1e-3));
  if (description != nullptr) *description = Describe(pair);
  return CompareBoltzmann(pair);
}

// The map preserves the distance between two of its fixed points, although γ brings the action
// values closer.
TrialOutcome TwoFixedPoints() {
  constexpr Backup kBackup{BackupKind::kBoltzmann, 10};
  const auto values_at = [&](double low, double high) {
    const auto q = OneStateActionValues(OneStateFixedPoint(kBackup, low, high));
    return Values(q.begin(), q.end());
  };
  return CompareBoltzmann(MakePair(kBackup.omega, values_at(0, 0.2), values_at(0.5, 2)));
}

// ---- The root of the maximum-entropy policy ----

// Σ exp(ρ(q_a − mm))(q_a − mm), divided by the sum of the terms' magnitudes: in [−1, 1], with the
// sign of the root equation.
long double RootEquation(const Values& q, const ExactMellowmax& exact, long double rho) {
  long double sum = 0;
  long double sizes = 0;
  for (const double value : q) {
    const long double gap = value - exact.max;  // without the common factor exp(ρ(max − mm))
    const long double term = std::exp(rho * gap) * (gap + exact.below);
    sum += term;
    sizes += std::abs(term);
  }
  return sizes > 0 ? sum / sizes : 0;
}

TrialOutcome CompareRoot(const Values& q, double omega) {
  const ExactMellowmax exact = ComputeExactly(q, omega);
  Values policy(q.size());
  const long double rho = MaxEntropyPolicy(q, omega, policy).rho;
  long double surplus = 0;  // Σ p_a q_a − mm
  for (std::size_t a = 0; a < q.size(); ++a) {
    surplus += policy[a] * (q[a] - exact.max + exact.below);
  }
  // The probabilities are off by 10 ε in total, and the root balances the two sides of the equation
  // to within the rounding of their logarithms, which are about as large as ρR and log(1 + ωR).
  const long double range = Range(q);
  const long double rounding =
      kDoubleRounding * range * (10 + 2 * std::log1p(omega * range) + 2 * rho * range);
  constexpr long double kAside = 1e-6L;
  TrialOutcome outcome;
  KeepWorse(outcome.corrected, {.left = rho, .right = omega, .allowance = 0});
  KeepWorse(outcome.corrected, {.left = -rho, .right = 0, .allowance = 0});
  KeepWorse(outcome.corrected, {.left = std::abs(surplus), .right = 0, .allowance = rounding});
  for (const int side : {-1, 1}) {
    KeepWorse(outcome.corrected, {.left = -side * RootEquation(q, exact, rho * (1 + side * kAside)),
                                  .right = 0,
                                  .allowance = 10 * kLongEpsilon});
  }
  return outcome;
}

TrialOutcome TestRoot(Choices& choices, std::string* description) {
  const double omega = choices.LogUniform(1e-3, 1e3);
  const auto actions = static_cast<std::size_t>(choices.Integer(1, kMostActions));
  const Values q = ChooseVector(choices, actions, choices.LogUniform(1e-6, 1e3) / omega);
  if (description != nullptr) {
    *description = fmt::format("omega {:.6g}, q = {}", omega, List(q));
  }
  return CompareRoot(q, omega);
}

TrialOutcome OneGoodAction() { return CompareRoot({3, 0, 0, 0, 0, 0, 0, 0}, 1); }

// ---- The bias of mellowmax ----

TrialOutcome CompareBias(const MellowmaxModel& instance) {
  const double bound =
      MellowmaxBiasBound(instance.model.most_actions(), instance.omega, instance.discount);
  SolveOptions options;
  options.discount = instance.discount;
  options.tolerance = std::max(1e-7 * bound, 1e-12);
  const Solution best = Solve(instance.model, options);
  options.method = SolveMethod::kVi;
  options.backup = instance.backup();
  const Solution soft = Solve(instance.model, options);
  // What is certain about the bias: the values minus what their certificates leave open.
  const long double open = static_cast<long double>(best.error) + soft.error;
  const long double rounding = 4 * kDoubleRounding * bound;
  TrialOutcome outcome;
  for (std::size_t s = 0; s < best.values.size(); ++s) {
    const long double bias = static_cast<long double>(best.values[s]) - soft.values[s];
    KeepWorse(outcome.corrected, {.left = bias - open, .right = bound, .allowance = rounding});
    KeepWorse(outcome.corrected, {.left = -bias - open, .right = 0, .allowance = rounding});
  }
  return outcome;
}

TrialOutcome TestBias(Choices& choices, std::string* description) {
  return CompareBias(ChooseMellowmaxModel(choices, description));
}

TrialOutcome OnePayingAction() {
  ModelBuilder builder([] { return std::string("theory"); });
  builder.BeginState();
  for (const double reward : {1, 0, 0, 0}) {
    builder.Transition(0, 1);
    builder.EndRow(reward);
  }
  return CompareBias({builder.Finish({}), 0.9, 100});
}

// ---- The claims ----

constexpr FixedInstance kShift[] = {
    {"ω = 5, q = (0, 1, 3), q' = q + 0.5: equal, both sides are 0.5", ShiftedValues}};
constexpr FixedInstance kTwoEqual[] = {
    {"ω = 10, q = (0, 0), d = (0.001, −0.001), u = v = (1, −1): the second to fourth are equal,\n"
     "to 0.004 %",
     TwoEqualActions}};
constexpr FixedInstance kThreeFixedPoints[] = {
    {"one state, γ = .98, action a: reward .05, stays with .2; b: reward .033, stays with .99;\n"
     "the rest ends. ω = 10 has the fixed points .176, .258 and 1.101. Between the outer two B\n"
     "keeps the distance .925 while the action values are nearer by γ·.99: .897",
     TwoFixedPoints}};
constexpr FixedInstance kOneGoodAction[] = {{"ω = 1, q = (3, 0, 0, 0, 0, 0, 0, 0)", OneGoodAction}};
constexpr FixedInstance kOnePayingAction[] = {
    {"one state, four actions that stay and pay 1, 0, 0, 0; γ = .9, ω = 100: equal, V* = 10,\n"
     "V_mm = 10 − log 4/(ω(1−γ)) = 9.861",
     OnePayingAction}};

constexpr Claim kOperatorClaims[] = {
    {
        .id = "mellowmax-nonexpansive",
        .title = "Assumption 2: mellowmax does not expand, and its backup contracts by γ",
        .printed = "|mm_ω(q) − mm_ω(q')| ≤ max_a |q_a − q'_a| for all q and q', and so the\n"
                   "backup T with mellowmax contracts: ‖TV − TV'‖∞ ≤ γ ‖V − V'‖∞.",
        .why = "",
        .corrected = "",
        .derivation =
            "With c = max_a |q_a − q'_a| no q'_a exceeds q_a + c. mm_ω grows with each entry,\n"
            "and mm_ω(q + c) = mm_ω(q) + c: so mm_ω(q') ≤ mm_ω(q) + c, and the same with q and\n"
            "q' exchanged. Action values r + γ Σ p V differ by γ Σ p |V − V'| ≤ γ ‖V − V'‖∞ at\n"
            "most, to which the first part applies. Adding a constant gives equality in both.",
        .trial = TestNonexpansive,
        .fixed = kShift,
    },
    {
        .id = "mellowmax-c2",
        .title = "Assumption 1: mellowmax is C² with derivatives bounded by 1 and ω",
        .printed = "mm_ω is twice continuously differentiable; its first derivative is bounded by\n"
                   "1 and its second by ω (c1 = γ and c2 = γω for the backup). Tested without\n"
                   "limits, for all q, d, u, v, with p = ∇mm_ω(q) and C = ∇²mm_ω(q):\n"
                   "  p_a ≥ 0 and Σ p_a = 1\n"
                   "  |mm_ω(q+d) − mm_ω(q) − p·d| ≤ ω ‖d‖∞²/2\n"
                   "  ‖∇mm_ω(q+d) − p‖₁ ≤ ω ‖d‖∞\n"
                   "  |uᵀC v| ≤ ω ‖u‖∞ ‖v‖∞\n"
                   "  ‖∇mm_ω(q+d) − p − C d‖₁ ≤ ω² ‖d‖∞²/2",
        .why = "",
        .corrected = "",
        .derivation =
            "The gradient is p = softmax(ωq), a distribution, so ‖p‖₁ = 1. The second derivative\n"
            "is C = ω(diag p − p pᵀ): uᵀC v = ω Cov_p(u, v) ≤ ω ‖u‖∞ ‖v‖∞, as a standard\n"
            "deviation is at most the sup norm. The third is ω² E_p[ũ ṽ w̃] of the centred\n"
            "variables. It is linear in each, so largest at u, v, w = ±1, where E|ũ|³ = 1 − ū⁴:\n"
            "by Hölder at most ω², so C is continuous. Taylor's formula gives the rest.\n"
            "The paper's own proof does not hold: an equality on the way to (A1) takes\n"
            "log Σ exp(ω(Q+Δ)) − log Σ exp(ωQ) to be log Σ exp(ωΔ), which is false already for\n"
            "Δ = 0 (0 against log|A|). What it is meant to show is true.",
        .trial = TestDerivatives,
        .fixed = kTwoEqual,
    },
    {
        .id = "boltzmann-expansive",
        .title = "Boltzmann softmax B_ω(q) = Σ q_a softmax(ωq)_a is not a non-expansion",
        .printed = "There are q and q' with |B_ω(q) − B_ω(q')| > ‖q − q'‖∞.",
        .why = "",
        .corrected =
            "It expands by a bounded factor, and not at all where ω times the range is small:\n"
            "  |B_ω(q) − B_ω(q')| ≤ κ ‖q − q'‖∞ with κ = (L + 1/L)/2 if L > 1, otherwise κ = 1,\n"
            "where L = ωR and R is the larger of max q − min q and max q' − min q'.",
        .derivation =
            "∂B/∂q_a = p_a(1 + y_a) with y_a = ω(q_a − B), p = softmax(ωq): so E_p[y] = 0, and y\n"
            "has a range of at most L. ‖∇B‖₁ = E|1 + y| = 1 + 2 E max(0, −1 − y) is largest, for\n"
            "this mean and range, with two values −sL and (1−s)L of probability 1−s and s:\n"
            "1 + 2(1−s)(sL − 1), at s = (L+1)/(2L) equal to (L + 1/L)/2; and 1 if sL ≤ 1.\n"
            "Between q and q' the range is convex, so no larger than at one of the ends.",
        .trial = TestBoltzmann,
        .fixed = kThreeFixedPoints,
        .printed_is_existence = true,
    },
    {
        .id = "maxent-root",
        .title = "The maximum-entropy policy of mellowmax (Asadi & Littman 2017) exists",
        .printed = "",
        .why = "",
        .corrected =
            "Σ exp(ρ(q_a − mm))(q_a − mm) = 0 with mm = mm_ω(q) has a root ρ in [0, ω], and\n"
            "the policy p = softmax(ρq) has the value Σ p_a q_a = mm_ω(q).",
        .derivation =
            "Divided by Σ exp(ρ(q_a − mm)) the left side is E(ρ) − mm, E(ρ) = Σ q_a "
            "softmax(ρq)_a.\n"
            "E's derivative is a variance: it grows with ρ, unless all q_a are equal. At ρ = 0\n"
            "it is the mean of q, at most mm by Jensen. ω mm_ω(q) = ∫ E(ρ) dρ over [0, ω], so mm\n"
            "is an average of E there, and E(ω) ≥ mm. At the root the sum is the second part.",
        .trial = TestRoot,
        .fixed = kOneGoodAction,
    },
    {
        .id = "mellowmax-bias",
        .title = "How far the fixed point of mellowmax is below the optimal values",
        .printed = "",
        .why = "",
        .corrected = "0 ≤ V*(s) − V_mm(s) ≤ log|A| / (ω(1−γ)) in every state s.",
        .derivation =
            "One term of the mean is exp(ω max q)/|A|, so max q − log|A|/ω ≤ mm_ω(q) ≤ max q.\n"
            "With T for max and M for mellowmax: TV − log|A|/ω ≤ MV ≤ TV. Both are monotone, and\n"
            "a constant c added to V adds γc to their images, so after k backups from one start\n"
            "the distance is in [0, (1 + γ + … + γᵏ⁻¹) log|A|/ω]; let k grow.",
        .trial = TestBias,
        .fixed = kOnePayingAction,
    },
};

}  // namespace

std::span<const Claim> OperatorClaims() { return kOperatorClaims; }

}  // namespace stableaa
