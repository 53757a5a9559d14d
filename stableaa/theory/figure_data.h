// The numbers behind the figures of `stableaa theory --figures` (figures.h draws them).
//
// Everything here is computed from the seed, in one thread, within a second or two.
#ifndef STABLEAA_THEORY_FIGURE_DATA_H_
#define STABLEAA_THEORY_FIGURE_DATA_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace stableaa {

// The model of the figures that show runs: Garnet(kFigureStates, kFigureActions, kFigureBranching)
// with this discount, starting from zero values.
inline constexpr int kFigureStates = 1000;
inline constexpr int kFigureActions = 4;
inline constexpr int kFigureBranching = 5;
inline constexpr double kFigureDiscount = 0.99;

// ---- Residual against backups ----

struct ResidualCurve {
  std::string name;  // "vi", "span-vi", "stable", "relative"
  // The weights' η; NaN for runs without one.
  double eta = std::numeric_limits<double>::quiet_NaN();
  std::string eta_formula = {};        // "10(1−γ)", if it has one
  std::vector<double> residuals = {};  // [i]: ‖TV − V‖∞ after backup i + 1

  // The number of the first backup with a residual of at most `target`; none if there is no such
  // backup.
  std::optional<std::int64_t> BackupsTo(double target) const;
};

struct ResidualCurves {
  int memory = 5;
  double target = 1e-8;  // where every run ends
  std::vector<ResidualCurve> curves;
};

// 1 + (1−γ)/η, the largest speed-up over plain value iteration that the weights `stable` allow.
double EtaRule(double eta, double discount);

// Value iteration with the maximum: plain (the first curve), its span form, and accelerated by the
// weights `stable` at four η and by `relative`.
//
// The span form has the same iterates as the plain one, but judges them by the residual that
// remains after the best constant shift: V + c has the residual e − (1−γ)c, e = TV − V, whose
// largest entry is smallest at c = (max e + min e)/(2(1−γ)), where it is (max e − min e)/2.
ResidualCurves ComputeResidualCurves(std::uint64_t seed);

// ---- The gain θ ----

struct GainCurve {
  struct Step {
    std::int64_t backup = 0;  // the one with residual e_k
    double two_norm = 0;      // ‖Σ α_i e_i‖ / ‖e_k‖ in this norm
    double sup_norm = 0;
  };
  int memory = 0;
  std::vector<Step> steps;  // the accelerated ones
};

struct GainCurves {
  double omega = 5;
  std::int64_t most_backups = 40;  // runs that have not converged by then are cut off
  std::vector<GainCurve> curves;
};

// Mellowmax backups with the weights `vanilla`, undamped and without the safeguard, for several
// memories. These weights minimise the 2-norm, so the gain in that norm is at most 1; the other
// need not be.
GainCurves ComputeGainCurves(std::uint64_t seed);

// ---- The update matrix and its bounds ----
//
// G̃ of Theorem 3 (update_matrix.h).

struct NormPoint {
  double eta = 0;
  double norm = 0;  // ‖G̃‖₂
};

struct StabilityData {
  double damping = 1;
  int memory = 5;                 // of the runs
  std::vector<NormPoint> random;  // windows with normal entries; 1 to 6 rows, 1 to 4 columns
  std::vector<NormPoint> runs;    // windows from the first 60 accelerated backups
  std::vector<NormPoint> worst;   // by ascending η, the largest for a window of one column
};

// Runs with the weights `stable` on three models: a forest, a maze and the figures' Garnet.
StabilityData ComputeStabilityData(std::uint64_t seed);

// The eigenvalues of G̃ along a run, other than −β, which accounts for at least n − m of the n.
struct EigenvalueCloud {
  struct Value {
    std::int64_t backup = 0;  // of the window's newest residual
    std::complex<double> eigenvalue;
  };
  double eta = 0;
  std::string model;  // "forest", "maze", "Garnet"
  std::vector<Value> values;
};

struct EigenvalueClouds {
  double damping = 1;
  int memory = 5;
  std::int64_t most_backups = 200;
  std::vector<EigenvalueCloud> clouds;  // by η, then model
};

// The same runs at two η.
EigenvalueClouds ComputeEigenvalueClouds(std::uint64_t seed);

// ---- An operator with three fixed points ----

// The backup of the model in one_state_example.h.
struct OperatorMap {
  struct FixedPoint {
    double value = 0;
    bool attracts = false;  // the map's slope there is between −1 and 1
  };
  std::string name;  // "boltzmann", "mellowmax"
  std::vector<double> values;
  std::vector<double> images;
  std::vector<FixedPoint> fixed_points;  // ascending
};
struct OperatorMaps {
  double omega = 10;
  double largest_value = 1.3;  // the maps are shown from 0 to here
  std::vector<OperatorMap> maps;
};
OperatorMaps ComputeOperatorMaps();

}  // namespace stableaa

#endif  // STABLEAA_THEORY_FIGURE_DATA_H_
