#include "stableaa/theory/figure_data.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <numbers>
#include <utility>

#include "stableaa/anderson/accelerator.h"
#include "stableaa/bellman/backup.h"
#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/solve/passes.h"
#include "stableaa/theory/dense_algebra.h"
#include "stableaa/theory/one_state_example.h"
#include "stableaa/theory/update_matrix.h"

namespace stableaa {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kThreads = 1;

Model FigureModel(std::uint64_t seed) {
  return GenerateModel({.kind = "garnet",
                        .seed = seed,
                        .states = kFigureStates,
                        .actions = kFigureActions,
                        .branching = kFigureBranching});
}

// One backup of a run: the iterate, its residual, and what the accelerator made of them. A plain
// run has memory 0.
struct RunStep {
  std::int64_t backup = 0;
  const VectorXd& values;
  const VectorXd& residual;
  const Differences& differences;
  const Accelerator& accelerator;
  StepKind kind;
};

// Makes backups until the residual is at most `target`; calls `watch` after each step of the
// accelerator.
void VisitRun(const Model& model, const Backup& backup, const AcceleratorOptions& options,
              double target, std::int64_t most_backups,
              const std::function<void(const RunStep&)>& watch) {
  const auto size = static_cast<std::size_t>(model.states());
  VectorXd values = VectorXd::Zero(static_cast<Eigen::Index>(size));
  VectorXd image = values;
  Accelerator accelerator(size, options);
  for (std::int64_t k = 1; k <= most_backups; ++k) {
    const Differences differences = OperatorPass(
        model, kFigureDiscount, backup, {values.data(), size}, {image.data(), size}, kThreads);
    const VectorXd before = values;
    const VectorXd residual = image - values;
    const StepReport report = accelerator.Step({values.data(), size}, {image.data(), size});
    watch({k, before, residual, differences, accelerator, report.kind});
    if (differences.magnitude() <= target) return;
  }
}

AcceleratorOptions StableOptions(int memory, double damping, double eta) {
  return {
      .memory = memory, .damping = damping, .weights = {.rule = WeightRule::kStable, .eta = eta}};
}

}  // namespace

// ---- Residual against backups ----

std::optional<std::int64_t> ResidualCurve::BackupsTo(double target) const {
  const auto found = std::ranges::find_if(residuals, [&](double r) { return r <= target; });
  if (found == residuals.end()) return std::nullopt;
  return found - residuals.begin() + 1;
}

double EtaRule(double eta, double discount) { return 1 + (1 - discount) / eta; }

ResidualCurves ComputeResidualCurves(std::uint64_t seed) {
  constexpr std::int64_t kMostBackups = 10'000;
  const Model model = FigureModel(seed);
  ResidualCurves result;
  const auto run = [&](const AcceleratorOptions& options, auto residual_of) {
    std::vector<double> residuals;
    VisitRun(model, {.kind = BackupKind::kMax}, options, result.target, kMostBackups,
             [&](const RunStep& step) { residuals.push_back(residual_of(step.differences)); });
    return residuals;
  };
  const auto plain = [](const Differences& d) { return d.magnitude(); };
  const auto shifted = [](const Differences& d) { return d.span() / 2; };

  result.curves.push_back({.name = "vi", .residuals = run({.memory = 0}, plain)});
  ResidualCurve& span = result.curves.emplace_back(
      ResidualCurve{.name = "span-vi", .residuals = run({.memory = 0}, shifted)});
  span.residuals.resize(
      static_cast<std::size_t>(span.BackupsTo(result.target).value_or(kMostBackups)));

  static_assert(kFigureDiscount == 0.99, "the formulas stand for these numbers");
  for (const auto& [eta, formula] : {std::pair{0.1, "10(1−γ)"}, std::pair{0.01, "1−γ"},
                                     std::pair{0.001, "10(1−γ)²"}, std::pair{0.0001, "(1−γ)²"}}) {
    result.curves.push_back({.name = "stable",
                             .eta = eta,
                             .eta_formula = formula,
                             .residuals = run(StableOptions(result.memory, 1, eta), plain)});
  }
  const AcceleratorOptions relative = {.memory = result.memory};
  result.curves.push_back(
      {.name = "relative", .eta = relative.weights.eta, .residuals = run(relative, plain)});
  return result;
}

// ---- The gain θ ----

GainCurves ComputeGainCurves(std::uint64_t seed) {
  constexpr double kTarget = 1e-8;
  const Model model = FigureModel(seed);
  GainCurves result;
  for (const int memory : {1, 2, 5}) {
    GainCurve& curve = result.curves.emplace_back(GainCurve{.memory = memory, .steps = {}});
    std::deque<VectorXd> window;  // residuals, oldest first
    const AcceleratorOptions options = {
        .memory = memory, .weights = {.rule = WeightRule::kVanilla}, .safeguard = false};
    VisitRun(model, {BackupKind::kMellowmax, result.omega}, options, kTarget, result.most_backups,
             [&](const RunStep& step) {
               window.push_back(step.residual);
               if (std::ssize(window) > memory + 1) window.pop_front();
               if (step.kind != StepKind::kAccelerated) return;
               VectorXd mixed = VectorXd::Zero(step.residual.size());
               const std::vector<double>& alpha = step.accelerator.weights().alpha;
               for (std::size_t i = 0; i < alpha.size(); ++i) mixed += alpha[i] * window[i];
               curve.steps.push_back({.backup = step.backup,
                                      .two_norm = mixed.norm() / step.residual.norm(),
                                      .sup_norm = mixed.lpNorm<Eigen::Infinity>() /
                                                  step.residual.lpNorm<Eigen::Infinity>()});
             });
  }
  return result;
}

// ---- The update matrix and its bounds ----

namespace {

// The differences of a window, newest first (weights.h).
struct WindowDifferences {
  MatrixXd iterates;   // Δ
  MatrixXd residuals;  // H
};

// (HᵀH + η(‖Δ‖²_F + ‖H‖²_F)I)⁻¹Hᵀ B.
MatrixXd SolveRidge(const WindowDifferences& window, double eta, const MatrixXd& b) {
  const MatrixXd& h = window.residuals;
  MatrixXd normal = h.transpose() * h;
  normal.diagonal().array() += eta * (window.iterates.squaredNorm() + h.squaredNorm());
  return SolveSymmetric(normal, MatrixXd(h.transpose() * b));
}

double UpdateNorm(const WindowDifferences& window, double damping, double eta) {
  const ResidualWindow differences{.iterates = window.iterates.cast<long double>(),
                                   .residuals = window.residuals.cast<long double>(),
                                   .x = {},
                                   .residual = {}};
  return static_cast<double>(UpdateNorm(differences, damping, eta));
}

// The other m of its n eigenvalues (AB and BA have the same nonzero eigenvalues).
Eigen::VectorXcd UpdateEigenvalues(const WindowDifferences& window, double damping, double eta) {
  MatrixXd reduced = SolveRidge(window, eta, window.iterates + damping * window.residuals);
  reduced.diagonal().array() -= damping;
  return EigenvaluesOf(reduced);
}

// The last model mixes fast; the update matrices of the others have complex eigenvalues.
std::vector<std::pair<std::string, Model>> WindowModels(std::uint64_t seed) {
  return {{"forest", GenerateModel({.kind = "forest", .seed = seed, .states = 50})},
          {"maze", GenerateModel({.kind = "maze", .seed = seed, .width = 31, .height = 31})},
          {"Garnet", FigureModel(seed)}};
}

// Calls `watch` with every full window of a run with the weights `stable`.
void VisitWindows(const Model& model, int memory, double damping, double eta,
                  std::int64_t most_backups,
                  const std::function<void(std::int64_t, const WindowDifferences&)>& watch) {
  // Far enough above the rounding of the values for accurate differences of residuals.
  constexpr double kTarget = 1e-8;
  std::deque<VectorXd> values;
  std::deque<VectorXd> residuals;  // both newest first
  VisitRun(model, {.kind = BackupKind::kMax}, StableOptions(memory, damping, eta), kTarget,
           most_backups, [&](const RunStep& step) {
             values.push_front(step.values);
             residuals.push_front(step.residual);
             if (std::ssize(values) <= memory) return;
             WindowDifferences window = {MatrixXd(step.values.size(), memory),
                                         MatrixXd(step.values.size(), memory)};
             for (int i = 0; i < memory; ++i) {
               const auto newer = static_cast<std::size_t>(i);
               window.iterates.col(i) = values[newer] - values[newer + 1];
               window.residuals.col(i) = residuals[newer] - residuals[newer + 1];
             }
             values.pop_back();
             residuals.pop_back();
             watch(step.backup, window);
           });
}

// Δ and H have normal entries, with H at any scale relative to Δ and more or less along −Δ, where
// G̃ is large.
WindowDifferences RandomWindow(RandomStream& random) {
  const auto rows = static_cast<Eigen::Index>(random.Integer(1, 6));
  const auto columns = static_cast<Eigen::Index>(random.Integer(1, 4));
  const auto normal = [&] {
    return MatrixXd::NullaryExpr(rows, columns, [&] { return random.Normal(); }).eval();
  };
  const MatrixXd iterates = normal();
  const double along = random.Uniform(-1, 1);
  const double scale = std::pow(10.0, random.Uniform(-2.5, 1));
  return {iterates, scale * (along * iterates + (1 - std::abs(along)) * normal())};
}

// The largest ‖G̃‖₂ over windows of one column: Δ of length 1, H of length `ratio` at `angle` to
// it.
double WorstSingleColumnNorm(double damping, double eta) {
  constexpr int kRatios = 300;
  constexpr int kAngles = 90;
  double worst = 0;
  for (int i = 0; i <= kRatios; ++i) {
    const double ratio = std::pow(10.0, -3 + 5.0 * i / kRatios);
    for (int j = 0; j <= kAngles; ++j) {
      const double angle = std::numbers::pi * j / kAngles;
      // In the plane they span, with H along the first axis, G̃ = [[a, 0], [b, −β]].
      const double weight = ratio / (ratio * ratio + eta * (1 + ratio * ratio));
      const double a = (std::cos(angle) + damping * ratio) * weight - damping;
      const double b = std::sin(angle) * weight;
      const double squares = a * a + b * b + damping * damping;
      const double determinant = a * damping;
      worst = std::max(
          worst, std::sqrt((squares + std::sqrt(std::max(0.0, squares * squares -
                                                                  4 * determinant * determinant))) /
                           2));
    }
  }
  return worst;
}

}  // namespace

StabilityData ComputeStabilityData(std::uint64_t seed) {
  constexpr int kRandomWindows = 2000;
  constexpr int kWorstPoints = 61;
  constexpr double kLeastExponent = -4;
  constexpr double kMostExponent = 2;
  constexpr std::int64_t kMostBackups = 60;
  StabilityData data;

  RandomStream random(seed, "theory figure stability");
  for (int i = 0; i < kRandomWindows; ++i) {
    const double eta = std::pow(10.0, random.Uniform(kLeastExponent, kMostExponent));
    data.random.push_back({eta, UpdateNorm(RandomWindow(random), data.damping, eta)});
  }
  for (const auto& [name, model] : WindowModels(seed)) {
    for (double exponent = kLeastExponent; exponent <= kMostExponent; exponent += 0.5) {
      const double eta = std::pow(10.0, exponent);
      VisitWindows(model, data.memory, data.damping, eta, kMostBackups,
                   [&](std::int64_t, const WindowDifferences& window) {
                     data.runs.push_back({eta, UpdateNorm(window, data.damping, eta)});
                   });
    }
  }
  for (int i = 0; i < kWorstPoints; ++i) {
    const double eta =
        std::pow(10.0, kLeastExponent + (kMostExponent - kLeastExponent) * i / (kWorstPoints - 1));
    data.worst.push_back({eta, WorstSingleColumnNorm(data.damping, eta)});
  }
  return data;
}

EigenvalueClouds ComputeEigenvalueClouds(std::uint64_t seed) {
  constexpr std::array kEtas = {1e-4, 1e-2};
  const auto models = WindowModels(seed);
  EigenvalueClouds result;
  for (const double eta : kEtas) {
    for (const auto& [name, model] : models) {
      EigenvalueCloud cloud{.eta = eta, .model = name, .values = {}};
      VisitWindows(model, result.memory, result.damping, eta, result.most_backups,
                   [&](std::int64_t backup, const WindowDifferences& window) {
                     for (const auto& eigenvalue : UpdateEigenvalues(window, result.damping, eta)) {
                       cloud.values.push_back({backup, eigenvalue});
                     }
                   });
      result.clouds.push_back(std::move(cloud));
    }
  }
  return result;
}

// ---- An operator with three fixed points ----

namespace {

OperatorMap MapOf(const Backup& backup, double largest_value) {
  constexpr int kPieces = 650;
  OperatorMap map;
  map.name = BackupName(backup.kind);
  for (int i = 0; i <= kPieces; ++i) {
    const double value = largest_value * i / kPieces;
    const double image = OneStateImage(backup, value);
    if (i > 0 && (image > value) != (map.images.back() > map.values.back())) {
      // Where image − v falls through zero, the slope of the image is below 1.
      map.fixed_points.push_back(
          {OneStateFixedPoint(backup, map.values.back(), value), image <= value});
    }
    map.values.push_back(value);
    map.images.push_back(image);
  }
  return map;
}

}  // namespace

OperatorMaps ComputeOperatorMaps() {
  OperatorMaps result;
  for (const BackupKind kind : {BackupKind::kBoltzmann, BackupKind::kMellowmax}) {
    result.maps.push_back(MapOf({kind, result.omega}, result.largest_value));
  }
  return result;
}

}  // namespace stableaa
