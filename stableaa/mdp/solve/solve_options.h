// The options of a solve and a single description of them: the checks in Validate(), the flags of
// `stableaa solve`, their help and their ranges all come from DescribeSolveOptions().
//
// How options combine is settled here as well: the method that auto stands for, which methods use
// an option, and which weights cannot gain much.
#ifndef STABLEAA_MDP_SOLVE_SOLVE_OPTIONS_H_
#define STABLEAA_MDP_SOLVE_SOLVE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stableaa/anderson/accelerator.h"
#include "stableaa/bellman/backup.h"
#include "stableaa/core/option_label.h"
#include "stableaa/core/option_table.h"

namespace stableaa {

enum class SolveMethod { kAuto, kVi, kJacobi, kMpi, kGs, kIpi, kPi };

// "auto", "vi", "jacobi", "mpi", "gs", "ipi", "pi".
std::string_view Name(SolveMethod method);

// The order in which gs, ipi and pi visit the states of a component. The states are renumbered into
// it.
enum class StateOrder {
  kModel,  // as numbered in the model
  kBfs,    // by steps to the absorbing states, or else to those with the best reward
};
std::string_view Name(StateOrder order);

enum class InnerSolver { kBicgstab, kGmres };
std::string_view Name(InnerSolver solver);

enum class Preconditioner {
  kIlu,          // incomplete LU factorisation without fill
  kGaussSeidel,  // one symmetric Gauss–Seidel pass; needs no factorisation
};
std::string_view Name(Preconditioner preconditioner);

// Stands for a missing number.
inline constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// The state of a solve after a pass or another kind of step.
struct SolveStep {
  double iterations = 0;  // row updates so far ÷ rows of the model
  std::int64_t inner_iterations = 0;
  double seconds = 0;
  double residual = 0;  // largest change of the last pass, of any kind; NaN if there was none
  double lower = 0;     // bounds on V* − V from a plain backup; NaN if this step was not one
  double upper = 0;
  const AcceleratorStatistics* acceleration = nullptr;  // only with `anderson`
};

struct SolveOptions {
  SolveMethod method = SolveMethod::kAuto;

  // γ, [0, 1). Overrides the model's own; required if the model has none.
  std::optional<double> discount = {};

  // The guaranteed bound on |V* − V|, > 0. If it is below the rounding floor (about |V|·ε/(1−γ)),
  // the solve stops at the floor without converging.
  double tolerance = 1e-6;

  // Rewards are costs: the smallest value is best. Values and bounds are those of the costs.
  bool minimize = false;

  // How action values become a state's value; anything but max works only with vi. mellowmax: the
  // certificate is for its own fixed point, and bias_bound says how far that is from V*. boltzmann:
  // stops when the residual is at most the tolerance, and has no certificate. dynamic-boltzmann:
  // certified by max.
  Backup backup = {};

  // Anderson acceleration of vi's or mpi's map.
  bool anderson = false;
  AcceleratorOptions acceleration = {};

  StateOrder order = StateOrder::kBfs;  // gs, ipi, pi

  // The most passes of a policy between two improvements, [0, 1e6]; fewer if the policy's values
  // are close enough. Not set: 40 for mpi (accelerated: always 5), 20 for gs. 0 gives the classic
  // gs.
  std::optional<int> evaluation_sweeps = {};

  InnerSolver inner = InnerSolver::kBicgstab;            // ipi, auto
  Preconditioner preconditioner = Preconditioner::kIlu;  // ipi, auto

  // [1, 1024]. The result does not depend on it. Gauss–Seidel passes and factorisations use one.
  int threads = 1;

  // Reaching one of these ends the solve with the best result so far, its honest bounds, and
  // `converged` false. Iterations are row updates ÷ rows, including the last backup: at least 1.
  double max_seconds = std::numeric_limits<double>::infinity();
  double max_iterations = std::numeric_limits<double>::infinity();

  // Called after each pass; returning false ends the solve as a limit does. `stop` is polled more
  // often, and true has the same effect.
  //
  // Watching takes time, which counts against max_seconds, but changes nothing else: the result has
  // the same bits with and without on_step. For it gs, ipi and pi, whose own passes prove no
  // bounds, make a plain backup every 25 iterations, counted only in `watch_backups`.
  std::function<bool(const SolveStep&)> on_step = {};
  std::function<bool()> stop = {};

  // Whether the result will have a certificate; only boltzmann has none.
  bool certified() const { return backup.kind != BackupKind::kBoltzmann; }

  // Throws BadInput naming the option, its value and its range.
  void Validate() const;
};

// ---- The description ----

// One option as users see it. An OptionTable (core/option_table.h) would not do: some options can
// be unset, and not every method uses all of them.
struct SolveOption {
  // A field that is false unless the option is given.
  struct Switch {
    std::function<void(SolveOptions&)> turn_on;
  };
  struct Number {
    std::string symbol;  // "N" of "N in [0, 1000000]"
    RealRange range;
    bool whole = false;
    std::function<std::optional<double>(const SolveOptions&)> get;
    std::function<void(SolveOptions&, double)> set;
  };
  struct Choice {
    std::vector<std::string> names;
    std::function<std::size_t(const SolveOptions&)> get;  // an index into `names`
    std::function<void(SolveOptions&, std::size_t)> set;
  };

  std::string name;  // the field; "operator" and "omega" for those of `backup`
  std::variant<Switch, Number, Choice> value;
  std::string meaning;                  // one line
  std::string by_default = {};          // "5", "40 for mpi, 20 for gs"; empty for a switch
  std::vector<SolveMethod> users = {};  // empty: every method

  // "N in [0, 1000000]", "E > 0", "model|bfs"; empty for a switch.
  std::string TypeText() const;
};

// All options that have a name, except `acceleration`, which has a Describe() of its own.
const std::vector<SolveOption>& DescribeSolveOptions();

// ---- What options mean together ----

// With auto, an operator other than max or Anderson acceleration settles the method: only vi has
// the operators, and it is the plain one among the methods that can be accelerated. Sets the method
// and returns the reason ("vi: …"), or an empty text if nothing is settled.
std::string SettleAuto(SolveOptions& options, const OptionLabel& label = NameAsLabel);

// An option that would have no effect is an error. Throws BadInput for the first option `given` by
// the user that the method or the operator does not use.
void CheckUse(const SolveOptions& options, std::span<const std::string> given,
              const OptionLabel& label = NameAsLabel);

// The penalty of the paper's weights does not vanish at convergence (docs/anderson.md). Returns a
// warning if the possible speed-up is less than twofold, otherwise an empty text.
std::string SlowWeightsWarning(const SolveOptions& options, double discount,
                               const OptionLabel& label = NameAsLabel);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_SOLVE_OPTIONS_H_
