// Anderson acceleration of any fixed-point iteration x ← g(x).
//
//     Accelerator accelerator(x.size(), {.memory = 5});
//     while (residual is too large) {
//       g(x, gx);                       // your map: gx = g(x)
//       accelerator.Step(x, gx);        // x becomes the next iterate
//     }
//
// Instead of g(x_k), each step takes the combination of the last m+1 iterates and images with the
// smallest residual (Eq. 2 and 3 of the paper):
//
//     x_{k+1} = (1−β) Σ α_i x_i + β Σ α_i g(x_i)  =  x_k + β e_k − (Δ + βH) τ.
//
// weights.h explains the notation and the rules for α and τ. Deviations from the paper: a safeguard
// that takes back steps that made things worse, weights that survive a singular window, and a
// default regularisation that does not slow down the final phase.
//
// When it helps: g contracts slowly and close to linearly. When it does not: g already converges in
// a few dozen steps, or each evaluation is noisy (then use damping below 1 and a larger eta).
#ifndef STABLEAA_ANDERSON_ACCELERATOR_H_
#define STABLEAA_ANDERSON_ACCELERATOR_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "stableaa/anderson/weights.h"
#include "stableaa/anderson/window.h"

namespace stableaa {

class OptionTable;

enum class RestartRule {
  kNever,
  kEvery,     // after every `restart_interval` steps
  kOnGrowth,  // when the residual exceeds `restart_growth` times the smallest since a restart
};

struct AcceleratorOptions {
  // Differences kept, [0, 1000]; 0 turns acceleration off. 2–10 is usual: more is faster on linear
  // maps, but each costs 2 vectors of memory, and old differences mislead on nonlinear maps. May
  // exceed the dimension.
  int memory = 5;

  // β, (0, 2]: the share of the images relative to the iterates. Below 1 steadies noisy or
  // oscillating maps; above 1 over-relaxes. Also scales the plain step, x + βe.
  double damping = 1;

  WeightOptions weights = {};

  // Accelerates only every p-th step, [1, 1e6]; the others are plain but still enter the window.
  // Larger than 1 is often better when g is cheap and strongly nonlinear.
  int interval = 1;

  // Takes back an accelerated step whose residual exceeds `safeguard_factor` times the smallest so
  // far: the next iterate is then the plain step from the previous iterate. The window is kept,
  // including the failed attempt, so nothing learnt is lost. Costs the one evaluation of g that
  // showed the failure. "So far" starts over with the plain step after a rejection, and with a
  // restart, so that a map that has changed is not judged by its past.
  bool safeguard = true;

  // (0, 1e100]. Larger is more aggressive but less stable. With at most 1, every accepted step sets
  // a new minimum, so the iteration converges wherever the plain one contracts in the 2-norm.
  double safeguard_factor = 2;

  // Steps with ‖τ‖ above this are not tried, (0, 1e100]; the plain step is taken instead.
  double max_weight_norm = 1e10;

  // When to empty the window and start over. With kEvery, an interval of 1 leaves nothing to
  // accelerate with.
  RestartRule restart = RestartRule::kNever;
  int restart_interval = 50;   // [1, 1e9], for kEvery
  double restart_growth = 10;  // [1, 1e100], for kOnGrowth

  // The precision in which the window's columns are stored.
  HistoryPrecision history = HistoryPrecision::kDouble;

  // Threads for the two passes over the window, [1, 1024]. The result does not depend on it.
  int threads = 1;

  // Throws BadInput naming the option, its value and its range.
  void Validate() const;
};

// Adds the fields of `options` to the table as `anderson.*`.
void Describe(OptionTable& table, AcceleratorOptions& options);

// What one step did.
enum class StepKind {
  kPlain,        // x + βe: empty window, between accelerated steps, or unusable weights
  kAccelerated,  // the mixed step
  kRejected,     // the safeguard took back the previous step
};

struct StepReport {
  StepKind kind = StepKind::kPlain;
  double residual_norm = 0;  // ‖g(x) − x‖₂ of the given x
  double gain = 1;           // predicted ‖Σ α_i e_i‖ / ‖e_k‖; 1 unless accelerated
};

// Counters since construction or the last Reset. steps = accelerated + plain_* + rejected.
struct AcceleratorStatistics {
  std::int64_t steps = 0;
  std::int64_t accelerated = 0;
  std::int64_t plain_no_window = 0;  // first step, or first after a restart, or memory 0
  std::int64_t plain_interval = 0;   // between accelerated steps
  std::int64_t plain_weights = 0;    // ‖τ‖ above max_weight_norm or not finite
  std::int64_t rejected = 0;         // by the safeguard
  std::int64_t restarts_scheduled = 0;
  std::int64_t restarts_growth = 0;
  std::int64_t restarts_range = 0;   // the residual changed by more than 1e±100 (1e±25 in float)
  std::int64_t qr_solves = 0;        // windows too ill-conditioned for the normal equations
  std::int64_t columns_dropped = 0;  // dependent columns left out, summed over steps
  double best_residual_norm = 0;  // smallest ‖g(x) − x‖₂ seen; infinity before the first step
};

// Not thread-safe: one caller at a time. Movable.
class Accelerator {
 public:
  // For vectors of `size` ≥ 1 components (on this rank, see Reduction). Allocates its window here:
  // 8·size·(2·memory + 4) bytes, or 8·size·(memory + 4) with float history. Throws BadInput for bad
  // options and WorkFailed if memory runs out.
  explicit Accelerator(std::size_t size, const AcceleratorOptions& options = {},
                       const Reduction& reduction = {});

  // Given x_k and image = g(x_k), replaces x by x_{k+1}. NaN or infinity in either is an Error
  // (WorkFailed) that names the step and the component. After this or any other exception (from
  // Reduction::sum, say) x is unchanged, the window is empty, and stepping can continue.
  StepReport Step(std::span<double> x, std::span<const double> image);

  // Resets to the newly constructed state, except for weights().
  void Reset();

  // The exact state: an Accelerator with the same options that loads it continues bit for bit. Load
  // throws BadInput, changing nothing, unless the bytes were saved by an Accelerator of the same
  // size, memory, damping and history; the other options may differ.
  void Save(ByteWriter& writer) const;
  void Load(ByteReader& reader);

  const AcceleratorStatistics& statistics() const { return statistics_; }
  const AcceleratorOptions& options() const { return options_; }

  // The weights of the last step that computed any, even if ‖τ‖ was above max_weight_norm.
  const MixingWeights& weights() const { return solver_.weights(); }

 private:
  StepReport Advance(std::span<double> x, std::span<const double> image);
  void Append(std::span<const double> x, std::span<const double> image);
  void ForgetResiduals();
  bool RestartDue(double residual_norm);
  bool StepGotWorse(double residual_norm) const;
  bool WorthAccelerating();
  bool SolveWeights();

  std::size_t size_;
  AcceleratorOptions options_;
  Window window_;
  WeightSolver solver_;
  AcceleratorStatistics statistics_;
  bool last_accelerated_ = false;
  std::int64_t since_restart_ = 0;  // steps
  double best_since_restart_;       // smallest ‖e‖
  double reference_;  // smallest ‖e‖ since a rejection or restart, for the safeguard
};

}  // namespace stableaa

#endif  // STABLEAA_ANDERSON_ACCELERATOR_H_
