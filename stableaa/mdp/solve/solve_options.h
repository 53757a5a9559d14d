// What a solve is asked for, and one description of it: the checks of Validate(), the flags of
// `stableaa solve`, their help and their ranges all come from DescribeSolveOptions().
//
// What the options mean together is settled here as well: the method that auto stands for, which
// methods use an option, and which weights cannot gain much.
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
#include "stableaa/mdp/option_label.h"

namespace stableaa {

enum class SolveMethod { kAuto, kVi, kJacobi, kMpi, kGs, kIpi, kPi };

// "auto", "vi", "jacobi", "mpi", "gs", "ipi", "pi".
std::string_view Name(SolveMethod method);

// The order in which gs, ipi and pi go through the states of a component. The states are renumbered
// into it.
enum class StateOrder {
  kModel,  // as numbered in the model
  kBfs,    // by the number of steps to the absorbing states, or else to those with the best reward
};
std::string_view Name(StateOrder order);

enum class InnerSolver { kBicgstab, kGmres };
std::string_view Name(InnerSolver solver);

enum class Preconditioner {
  kIlu,          // incomplete LU factorisation without fill
  kGaussSeidel,  // one symmetric Gauss–Seidel pass; needs no factorisation
};
std::string_view Name(Preconditioner preconditioner);

// Stands for a number that does not exist.
inline constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// What a solve is doing, after a pass or a step of its own kind.
struct SolveStep {
  double iterations = 0;  // row updates so far ÷ rows of the model
  std::int64_t inner_iterations = 0;
  double seconds = 0;
  double residual = 0;  // largest change of the last pass, of any kind; NaN if there was none
  double lower = 0;     // bounds of V* − V by a plain backup; NaN if this step was none
  double upper = 0;
  const AcceleratorStatistics* acceleration = nullptr;  // with `anderson` only
};

struct SolveOptions {
  SolveMethod method = SolveMethod::kAuto;

  // γ, [0, 1). Wins over the model's own; needed where the model has none.
  std::optional<double> discount = {};

  // The guaranteed bound on |V* − V|, > 0. Below the rounding floor (about |V|·ε/(1−γ)) the solve
  // stops at the floor, not converged.
  double tolerance = 1e-6;

  // Rewards are costs: the smallest value is the best. Values and bounds are those of the costs.
  bool minimize = false;

  // How action values become a state's value; other than max for vi only. mellowmax: the
  // certificate is for its own fixed point, and bias_bound tells how far that is from V*.
  // boltzmann: stops when the residual is at most the tolerance, and has no certificate.
  // dynamic-boltzmann: certified by max.
  Backup backup = {};

  // Anderson acceleration of the map of vi or mpi.
  bool anderson = false;
  AcceleratorOptions acceleration = {};

  StateOrder order = StateOrder::kBfs;  // gs, ipi, pi

  // Most passes of a policy between two improvements, [0, 1e6]; fewer when the policy's values are
  // near enough. Not set: 40 for mpi (accelerated: always 5), 20 for gs. 0 makes gs the classic
  // method.
  std::optional<int> evaluation_sweeps = {};

  InnerSolver inner = InnerSolver::kBicgstab;            // ipi, auto
  Preconditioner preconditioner = Preconditioner::kIlu;  // ipi, auto

  // [1, 1024]. The result does not depend on it. Gauss–Seidel passes and factorisations use one.
  int threads = 1;

  // Reaching one of these ends the solve with the best it has, its honest bounds, and `converged`
  // false. Iterations are row updates ÷ rows, the last backup included: at least 1.
  double max_seconds = std::numeric_limits<double>::infinity();
  double max_iterations = std::numeric_limits<double>::infinity();

  // Called after each pass; false ends the solve as a limit does. `stop` is asked more often, and
  // true has the same effect.
  //
  // Watching takes time, which counts against max_seconds, but changes nothing else: the result has
  // the same bits with on_step and without. gs, ipi and pi, whose own passes prove no bounds, make
  // a plain backup for it every 25 iterations, counted in `watch_backups` and nowhere else.
  std::function<bool(const SolveStep&)> on_step = {};
  std::function<bool()> stop = {};

  // Whether the result will have a certificate; boltzmann alone has none.
  bool certified() const { return backup.kind != BackupKind::kBoltzmann; }

  // Throws BadInput naming the option, its value and its range.
  void Validate() const;
};

// ---- The description ----

// An end at infinity includes it unless it is open.
struct OptionRange {
  double least = 0;
  bool least_open = false;
  double most = std::numeric_limits<double>::infinity();
  bool most_open = false;

  bool Contains(double number) const;
};

// One option as users meet it.
struct SolveOption {
  // A field that is false until it is named.
  struct Switch {
    std::function<void(SolveOptions&)> turn_on;
  };
  struct Number {
    std::string symbol;  // "N" of "N in [0, 1000000]"
    OptionRange range;
    bool whole = false;
    std::function<std::optional<double>(const SolveOptions&)> get;
    std::function<void(SolveOptions&, double)> set;
  };
  struct Choice {
    std::vector<std::string> names;
    std::function<std::size_t(const SolveOptions&)> get;  // an index into names
    std::function<void(SolveOptions&, std::size_t)> set;
  };

  std::string name;  // the field; "operator" and "omega" for those of `backup`
  std::variant<Switch, Number, Choice> value;
  std::string meaning;                  // one line
  std::string by_default = {};          // "40 for mpi, 20 for gs"; empty for a switch
  std::vector<SolveMethod> users = {};  // empty: every method

  // "N in [0, 1000000]", "E > 0", "model|bfs"; empty for a switch.
  std::string TypeText() const;
};

// All that have a name, `acceleration` apart, which Describe(Config&, AcceleratorOptions&) covers.
const std::vector<SolveOption>& DescribeSolveOptions();

// ---- What options mean together ----

// With auto, another operator than max and Anderson acceleration both settle the method: only vi has
// the operators, and of the methods that can be accelerated it is the plain one. Sets the method
// and returns the reason ("vi: …"); empty where nothing is settled.
std::string SettleAuto(SolveOptions& options, const OptionLabel& label = NameAsLabel);

// An option that would change nothing is an error. Throws BadInput for the first of the options
// `given` by the user that the method or the operator does not use.
void CheckUse(const SolveOptions& options, std::span<const std::string> given,
              const OptionLabel& label = NameAsLabel);

// The penalty of the paper's weights does not vanish at convergence (docs/anderson.md). A warning
// where it leaves less than twice the speed; else empty.
std::string SlowWeightsWarning(const SolveOptions& options, double discount,
                               const OptionLabel& label = NameAsLabel);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_SOLVE_OPTIONS_H_
