// stableaa solve: the values of a model's states, a policy, and how far off they can be.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/base/machine.h"
#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/terminal/progress.h"
#include "stableaa/base/text/nearest_name.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/json_text.h"
#include "stableaa/cli/model_reading.h"
#include "stableaa/cli/print_plain.h"
#include "stableaa/cli/program.h"
#include "stableaa/cli/settings.h"
#include "stableaa/core/error.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/mdp/solve/solver.h"
#include "stableaa/mdp/watch/solve_output.h"
#include "stableaa/mdp/watch/solve_plot.h"
#include "stableaa/mdp/watch/solve_progress.h"
#include "stableaa/mdp/watch/solve_trace.h"

namespace stableaa {
namespace {

using Json = nlohmann::ordered_json;

struct SolveFlags {
  std::string model;
  std::optional<double> discount, tolerance;
  std::string method = "auto";
  bool anderson = false;
  std::optional<int> memory;
  std::optional<std::string> weights;
  std::optional<double> eta, damping;
  std::vector<std::string> overrides;  // --set
  std::string backup = "max";
  std::optional<double> omega;
  std::optional<std::string> order, inner, preconditioner;
  std::optional<int> evaluation_sweeps;
  bool minimize = false;
  std::optional<std::string> evaluate;
  int threads = 1;
  std::optional<double> max_seconds, max_iterations;
  std::optional<std::string> values, policy, bounds, trace, plot;
  bool append = false;
  bool json = false;
};

// ---- From flags to options ----

// The value of an enumeration by the name that Name() gives it.
template <typename Enum, typename NameOf>
Enum Parse(std::string_view flag, const std::string& text, std::initializer_list<Enum> choices,
           const NameOf& name_of) {
  std::vector<std::string> names;
  std::string list;
  for (const Enum choice : choices) {
    if (name_of(choice) == text) return choice;
    names.emplace_back(name_of(choice));
    list += fmt::format("{}{}", list.empty() ? "" : ", ", name_of(choice));
  }
  throw BadInput(fmt::format("{}: expected one of {}, found '{}'{}", flag, list, Shorten(text),
                             DidYouMean(text, names)));
}

template <typename Enum>
Enum Parse(std::string_view flag, const std::string& text, std::initializer_list<Enum> choices) {
  return Parse(flag, text, choices, [](Enum choice) { return Name(choice); });
}

SolveMethod ParseMethod(const std::string& text) {
  using enum SolveMethod;
  return Parse("--method", text, {kAuto, kVi, kGs, kJacobi, kPi, kMpi, kIpi});
}

Backup ParseOperator(const SolveFlags& flags) {
  using enum BackupKind;
  Backup backup;
  backup.kind = Parse("--operator", flags.backup, {kMax, kMellowmax, kBoltzmann, kDynamicBoltzmann},
                      BackupName);
  if (flags.omega && backup.kind == kMax) {
    throw BadInput("--omega: needs --operator mellowmax, boltzmann or dynamic-boltzmann");
  }
  backup.omega = flags.omega.value_or(backup.omega);
  return backup;
}

// A flag that would change nothing is an error.
void CheckUse(bool given, std::string_view flag, SolveMethod method,
              std::initializer_list<SolveMethod> users) {
  if (!given || std::ranges::find(users, method) != users.end()) return;
  std::string names;
  for (const SolveMethod user : users) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", Name(user));
  }
  throw BadInput(
      fmt::format("{}: --method {} does not use it; these do: {}", flag, Name(method), names));
}

void CheckNeeds(const SolveFlags& flags) {
  const std::pair<bool, std::string_view> accelerator[] = {{flags.memory.has_value(), "--memory"},
                                                           {flags.weights.has_value(), "--weights"},
                                                           {flags.eta.has_value(), "--eta"},
                                                           {flags.damping.has_value(), "--damping"},
                                                           {!flags.overrides.empty(), "--set"}};
  for (const auto& [given, flag] : accelerator) {
    if (given && !flags.anderson) throw BadInput(fmt::format("{}: needs --anderson", flag));
  }
  if (flags.append && !flags.trace && !flags.plot) {
    throw BadInput("--append: needs --trace or --plot, the files to add to");
  }
}

AcceleratorOptions ParseAccelerator(const SolveFlags& flags) {
  AcceleratorOptions options;
  Config config;
  Describe(config, options);
  const KeyUse use = {.used = {"anderson."},
                      .except = {{{"anderson.threads"}, "--threads says that"}}};
  for (const std::string& assignment : flags.overrides) {
    const ConfigSource source = ConfigSource::FromOverride(assignment);
    RequireUse(source, "solve", use);
    config.Apply(source);
  }
  const auto set = [&config](const std::string& key, const auto& value, const std::string& flag) {
    if (value) SetByFlag(config, key, fmt::format("{}", *value), flag);
  };
  set("anderson.memory", flags.memory, "--memory");
  set("anderson.weights", flags.weights, "--weights");
  set("anderson.eta", flags.eta, "--eta");
  set("anderson.damping", flags.damping, "--damping");
  return options;
}

// What the user asked for, and with auto what that settles: only vi has other operators than max,
// and of the methods that can be accelerated it is the plain one.
struct Request {
  SolveMethod method = SolveMethod::kAuto;
  SolveOptions options;
  std::string choice;
};

Request ParseRequest(const SolveFlags& flags) {
  CheckNeeds(flags);
  Request request;
  request.method = ParseMethod(flags.method);
  SolveOptions& options = request.options;
  options.method = request.method;
  options.backup = ParseOperator(flags);
  options.anderson = flags.anderson;
  if (flags.anderson) options.acceleration = ParseAccelerator(flags);
  if (request.method == SolveMethod::kAuto && options.backup.kind != BackupKind::kMax) {
    options.method = SolveMethod::kVi;
    request.choice = fmt::format("vi: the one method for --operator {}", flags.backup);
  } else if (request.method == SolveMethod::kAuto && flags.anderson) {
    options.method = SolveMethod::kVi;
    request.choice = "vi: --anderson was asked for; mpi is the other method that takes it";
  }

  using enum SolveMethod;
  const SolveMethod method = options.method;
  CheckUse(flags.order.has_value(), "--order", method, {kGs, kIpi, kPi, kAuto});
  CheckUse(flags.inner.has_value(), "--inner", method, {kIpi, kAuto});
  CheckUse(flags.preconditioner.has_value(), "--preconditioner", method, {kIpi, kAuto});
  CheckUse(flags.evaluation_sweeps.has_value(), "--evaluation-sweeps", method, {kMpi, kGs});
  if (flags.order) {
    options.order = Parse("--order", *flags.order, {StateOrder::kModel, StateOrder::kBfs});
  }
  if (flags.inner) {
    options.inner = Parse("--inner", *flags.inner, {InnerSolver::kBicgstab, InnerSolver::kGmres});
  }
  if (flags.preconditioner) {
    options.preconditioner = Parse("--preconditioner", *flags.preconditioner,
                                   {Preconditioner::kIlu, Preconditioner::kGaussSeidel});
  }
  options.evaluation_sweeps = flags.evaluation_sweeps;

  if (flags.discount) CheckDiscount(*flags.discount, "--discount");
  options.discount = flags.discount;
  options.tolerance = flags.tolerance.value_or(options.tolerance);
  options.minimize = flags.minimize;
  options.threads = flags.threads;
  options.max_seconds = flags.max_seconds.value_or(options.max_seconds);
  options.max_iterations = flags.max_iterations.value_or(options.max_iterations);
  options.Validate();
  if (flags.bounds && options.backup.kind == BackupKind::kBoltzmann) {
    throw BadInput("--bounds: --operator boltzmann has no certificate, so there are no bounds");
  }
  return request;
}

// ---- Files ----

std::vector<FlagAndPath> OutputPaths(const SolveFlags& flags) {
  std::vector<FlagAndPath> paths;
  const auto add = [&](std::string_view flag, const std::optional<std::string>& path) {
    if (path) paths.emplace_back(flag, *path);
  };
  add("--values", flags.values);
  add("--policy", flags.policy);
  add("--bounds", flags.bounds);
  add("--trace", flags.trace);
  add("--plot", flags.plot);
  return paths;
}

// Before anything is read: a mistyped path must not cost the time of the solve, nor the model.
void CheckOutputPaths(const SolveFlags& flags) {
  CheckEnding(flags.plot, "--plot", ".svg");
  std::vector<FlagAndPath> taken = {{"the model", flags.model}};
  // Of PRISM's files the model is only one.
  for (const char* const ending : {".srew", ".trew", ".sta", ".lab"}) {
    taken.emplace_back("a file of the model",
                       std::filesystem::path(flags.model).replace_extension(ending).string());
  }
  if (flags.evaluate) taken.emplace_back("--evaluate", *flags.evaluate);
  for (const FlagAndPath& output : OutputPaths(flags)) {
    RequireAnotherFile(output, taken);
    CheckWritable(output.second);
    taken.push_back(output);
  }
}

// "mpi+anderson grid.drn", to tell runs in a trace or plot apart.
std::string RunLabel(const SolveFlags& flags) {
  std::string label = flags.method;
  if (flags.backup != "max") label += fmt::format(" {}", flags.backup);
  if (flags.anderson) label += "+anderson";
  if (flags.order) label += fmt::format(" {}", *flags.order);
  const std::string name = std::filesystem::path(flags.model).filename().string();
  return fmt::format("{} {}", label, Shorten(name));
}

// With --append, what --trace and --plot have already.
struct FormerRuns {
  SolveTrace trace;
  std::vector<SolveCurve> curves;  // of both
};

FormerRuns ReadFormerRuns(const SolveFlags& flags) {
  FormerRuns former;
  if (!flags.append) return former;
  if (flags.plot) former.curves = ReadPlot(*flags.plot);
  if (flags.trace) former.trace = ReadTrace(*flags.trace);
  for (const SolveCurve& curve : former.trace.curves) {
    const bool is_new = UnusedLabel(curve.label, former.curves) == curve.label;
    if (is_new) former.curves.push_back(curve);
  }
  return former;
}

// --trace and --plot: what happens during the solve.
class Recording {
 public:
  Recording(const SolveFlags& flags, double tolerance, const FormerRuns& former)
      : tolerance_(tolerance),
        curves_(former.curves),
        recorder_(UnusedLabel(RunLabel(flags), former.curves)) {
    if (flags.trace) trace_.emplace(*flags.trace, former.trace, recorder_.label());
    if (flags.plot) plot_.emplace(*flags.plot);
  }

  bool wanted() const { return trace_ || plot_; }

  void Add(const SolveStep& step) {
    if (trace_) trace_->Add(step);
    if (plot_) recorder_.Add(PointOf(step));
  }

  void Finish() {
    if (trace_) trace_->Commit();
    if (!plot_) return;
    curves_.push_back(recorder_.Finish());
    plot_->Draw(curves_, tolerance_);
  }

 private:
  const double tolerance_;
  std::vector<SolveCurve> curves_;
  CurveRecorder recorder_;
  std::optional<SolveTraceWriter> trace_;
  std::optional<SolvePlot> plot_;
};

// ---- The answer ----

struct Result {
  Solution solution;
  double seconds = 0;
};

Json StoppedBy(SolveEnd end) {
  switch (end) {
    case SolveEnd::kTime:
      return "time";
    case SolveEnd::kIterations:
      return "iterations";
    case SolveEnd::kStopped:
      return "interrupt";
    case SolveEnd::kRounding:
      return "rounding";
    case SolveEnd::kConverged:
      break;
  }
  return {};
}

std::string Choice(const Request& request, const Solution& solution) {
  return request.choice.empty() ? solution.choice : request.choice;
}

void PrintJson(const Request& request, const ReadingResult& reading, const Result& result) {
  const Solution& s = result.solution;
  const Model& model = reading.loaded.model;
  Json object = {{"requested", Name(request.method)},
                 {"method", Name(s.method)},
                 {"choice", Choice(request, s)},
                 {"converged", s.converged()},
                 {"iterations", s.iterations},
                 {"inner_iterations", s.inner_iterations},
                 {"seconds", result.seconds},
                 {"load_seconds", reading.seconds},
                 {"lower", s.lower},
                 {"upper", s.upper},
                 {"error", s.error},
                 {"policy_error", s.policy_error},
                 {"residual", s.residual}};
  if (s.bias_bound) object["bias_bound"] = *s.bias_bound;
  object["threads"] = request.options.threads;
  object["bytes_per_second"] = s.bytes_per_second;
  object["version"] = LibraryVersion();
  object["states"] = model.states();
  object["rows"] = model.rows();
  object["transitions"] = model.transitions();
  object["discount"] = s.discount;
  object["tolerance"] = request.options.tolerance;
  object["stopped"] = StoppedBy(s.end);
  object["rounding"] = s.rounding;
  object["watch_backups"] = s.watch_backups;
  object["not_read"] = reading.loaded.dropped;
  if (s.acceleration) {
    const AcceleratorStatistics& a = *s.acceleration;
    object["anderson"] = {{"steps", a.steps},
                          {"accelerated", a.accelerated},
                          {"plain", a.plain_no_window + a.plain_interval + a.plain_weights},
                          {"rejected", a.rejected},
                          {"restarts", a.restarts_scheduled + a.restarts_growth + a.restarts_range},
                          {"qr_solves", a.qr_solves},
                          {"columns_dropped", a.columns_dropped}};
  }
  fmt::print("{}\n", JsonText(object));
}

void PrintSummary(const SolveFlags& flags, const Request& request, const ReadingResult& reading,
                  const Result& result) {
  const Solution& s = result.solution;
  const std::string choice = Choice(request, s);
  PrintPlain("{}, discount {}, read in {:.3g} s\n", ModelSummary(flags.model, reading.loaded.model),
             s.discount, reading.seconds);
  for (const std::string& dropped : reading.loaded.dropped) PrintPlain("not read  {}\n", dropped);
  PrintPlain("method    {}\n", choice.empty() ? std::string(Name(s.method)) : choice);
  PrintPlain("work      {:.6g} sweeps{}, {:.3g} s, {:.3g} GB/s, {} {}\n", s.iterations,
             s.inner_iterations > 0 ? fmt::format(", {} inner iterations", s.inner_iterations) : "",
             result.seconds, 1e-9 * s.bytes_per_second, request.options.threads,
             request.options.threads == 1 ? "thread" : "threads");
  if (s.acceleration) {
    PrintPlain("anderson  {} of {} steps accelerated, {} taken back\n", s.acceleration->accelerated,
               s.acceleration->steps, s.acceleration->rejected);
  }
  const auto [least, most] = std::ranges::minmax(s.values);
  PrintPlain("values    {:.9g} to {:.9g}, state 0: {:.9g}\n", least, most, s.values.front());
  if (request.options.backup.kind == BackupKind::kBoltzmann) {
    PrintPlain("residual  {:.3g}; boltzmann has no certificate\n", s.residual);
    return;
  }
  PrintPlain("error     at most {:.3g} in every state, certified\n", s.error);
  if (s.bias_bound) {
    PrintPlain("bias      of mellowmax against max, besides: at most {:.3g}\n", *s.bias_bound);
  } else if (!flags.evaluate) {
    PrintPlain("policy    loses at most {:.3g} in any state\n", s.policy_error);
  }
}

void PrintFiles(const SolveFlags& flags) {
  std::string list;
  for (const auto& [flag, path] : OutputPaths(flags)) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", Shorten(path, 200));
  }
  if (!list.empty()) PrintPlain("written   {}\n", list);
}

// Why the answer is not what was asked for, and what can be done.
std::string Shortfall(const SolveFlags& flags, const Request& request, const Solution& s) {
  const std::string reached = request.options.backup.kind == BackupKind::kBoltzmann
                                  ? fmt::format("the residual is {:.3g}", s.residual)
                                  : fmt::format("the certified error is {:.3g}", s.error);
  const std::string asked = fmt::format("{}, asked for {:.3g}", reached, request.options.tolerance);
  switch (s.end) {
    case SolveEnd::kTime:
      return fmt::format("not converged within --max-seconds {}: {}", *flags.max_seconds, asked);
    case SolveEnd::kIterations:
      return fmt::format("not converged within --max-iterations {}: {}", *flags.max_iterations,
                         asked);
    case SolveEnd::kRounding:
      return fmt::format(
          "not converged: {}; rounding keeps it from becoming smaller ({:.3g} at least): ask for a "
          "--tolerance of {:.1g} or more",
          asked, s.rounding, 2 * s.error);
    case SolveEnd::kStopped:
    case SolveEnd::kConverged:
      break;
  }
  return fmt::format("interrupted: {}", asked);
}

// ---- The run ----

// Negated on reading and again for --minimize, costs would be maximised.
void CheckCosts(const SolveFlags& flags, const LoadedModel& loaded) {
  if (flags.minimize && loaded.from_costs) {
    throw BadInput(fmt::format(
        "--minimize: the values of {} are costs already, read as negative rewards; leave it out",
        Shorten(flags.model, 200)));
  }
}

double DiscountOf(const SolveFlags& flags, const Model& model) {
  const std::optional<double> discount = flags.discount ? flags.discount : model.discount();
  if (!discount) {
    throw BadInput(
        fmt::format("{}: the file has no discount; pass --discount G", Shorten(flags.model, 200)));
  }
  return *discount;
}

// The paper's penalty does not vanish at convergence (docs/anderson.md).
void WarnOfSlowWeights(const Request& request, double discount) {
  const WeightOptions& weights = request.options.acceleration.weights;
  if (!request.options.anderson || weights.rule != WeightRule::kStable) return;
  if (weights.eta < 1 - discount) return;
  LogWarning(fmt::format(
      "--weights stable with eta = {} and discount {}: the gain over plain iteration is at most "
      "about 1 + (1 - discount)/eta = {:.3g}; it is full for eta up to (1 - discount)^2 = {:.2g}",
      weights.eta, discount, 1 + (1 - discount) / weights.eta, (1 - discount) * (1 - discount)));
}

// The line on the terminal is gone when this returns.
Result SolveShowingProgress(const SolveFlags& flags, const Request& request, const Model& model,
                            double discount, const InterruptGuard& interrupt,
                            Recording& recording) {
  std::vector<std::uint32_t> policy;
  if (flags.evaluate) policy = ReadPolicy(*flags.evaluate, model);
  SolveOptions options = request.options;
  options.stop = [&interrupt] { return interrupt.requested(); };
  const ProgressOptions display{
      .label = Shorten(std::filesystem::path(flags.model).filename().string()),
      .unit = "",
      .by_itself = true};
  std::optional<SolveProgress> course;
  std::optional<Progress> clock;
  // Some methods prove bounds on the way only for those who watch, which takes time, nothing else.
  if (recording.wanted() || IsOnTerminal(display)) {
    course.emplace(display, discount, request.options.tolerance);
    options.on_step = [&](const SolveStep& step) {
      recording.Add(step);
      course->Add(step);
      return true;
    };
  } else {
    clock.emplace(display);
  }
  const Stopwatch watch;
  Solution solution =
      flags.evaluate ? EvaluatePolicy(model, policy, options) : Solve(model, options);
  return {.solution = std::move(solution), .seconds = watch.Seconds()};
}

void RunSolve(const SolveFlags& flags) {
  const Request request = ParseRequest(flags);
  CheckOutputPaths(flags);
  const FormerRuns former = ReadFormerRuns(flags);
  const ReadingResult reading = ReadModelShowingProgress(flags.model, flags.threads);
  CheckCosts(flags, reading.loaded);
  const Model& model = reading.loaded.model;
  const double discount = DiscountOf(flags, model);
  WarnOfSlowWeights(request, discount);

  const InterruptGuard interrupt;  // the best so far is an answer, too
  SolutionFiles files({.values = flags.values, .policy = flags.policy, .bounds = flags.bounds});
  Recording recording(flags, request.options.tolerance, former);
  const Result result = SolveShowingProgress(flags, request, model, discount, interrupt, recording);
  flags.json ? PrintJson(request, reading, result) : PrintSummary(flags, request, reading, result);
  std::fflush(stdout);
  files.Write(result.solution);
  recording.Finish();
  if (!flags.json) PrintFiles(flags);
  if (!result.solution.converged()) {
    throw WorkFailed(Shortfall(flags, request, result.solution));
  }
}

// ---- Help ----

void AddMethodFlags(CLI::App& solve, SolveFlags& flags) {
  solve.add_option("--method", flags.method, "Method (default: auto, which chooses and says why)")
      ->type_name("auto|vi|gs|jacobi|pi|mpi|ipi");
  solve
      .add_option("--operator", flags.backup,
                  "How the values of actions become that of a state; other than max with vi only "
                  "(default: max)")
      ->type_name("max|mellowmax|boltzmann|dynamic-boltzmann");
  solve
      .add_option("--omega", flags.omega,
                  "Inverse temperature of the operator; for dynamic-boltzmann c of c*t^2 "
                  "(default: 5)")
      ->type_name("W >= 0");
  solve
      .add_option("--order", flags.order,
                  "Order of the states in gs, ipi, pi: as numbered, or by steps to the goal "
                  "(default: bfs)")
      ->type_name("model|bfs");
  solve
      .add_option("--evaluation-sweeps", flags.evaluation_sweeps,
                  "Most sweeps of a policy between improvements, in mpi and gs (default: 40 for "
                  "mpi, 20 for gs)")
      ->transform(WholeBetween(0, 1'000'000))
      ->type_name("N in [0, 1000000]");
  solve.add_option("--inner", flags.inner, "Krylov method of ipi and auto (default: bicgstab)")
      ->type_name("bicgstab|gmres");
  solve.add_option("--preconditioner", flags.preconditioner, "Of ipi and auto (default: ilu)")
      ->type_name("ilu|gs");
}

void AddAndersonFlags(CLI::App& solve, SolveFlags& flags) {
  solve.add_flag("--anderson", flags.anderson, "Anderson acceleration of vi (the default) or mpi");
  solve.add_option("--memory", flags.memory, "Differences that it mixes (default: 5)")
      ->transform(WholeBetween(0, 1000))
      ->type_name("M in [0, 1000]");
  solve.add_option("--weights", flags.weights, "Its penalty on the weights (default: relative)")
      ->type_name("vanilla|raa|stable|relative");
  solve.add_option("--eta", flags.eta, "Strength of the penalty (default: 1e-10)")
      ->type_name("E in [0, 1e100]");
  solve.add_option("--damping", flags.damping, "Share of the images in the mix (default: 1)")
      ->type_name("B in (0, 2]");
  solve
      .add_option("--set", flags.overrides,
                  "Value for another key anderson.* ('stableaa config keys' lists them); may be "
                  "repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
}

void AddOutputFlags(CLI::App& solve, SolveFlags& flags) {
  const auto add = [&solve](const char* flag, std::optional<std::string>& path, const char* meaning,
                            const char* type) {
    solve.add_option(flag, path, meaning)->type_name(type);
  };
  add("--values", flags.values, "Write state,value", "FILE.csv");
  add("--policy", flags.policy, "Write state,action", "FILE.csv");
  add("--bounds", flags.bounds, "Write state,lower,upper: bounds of the optimal value", "FILE.csv");
  add("--trace", flags.trace, "Write a line per sweep: time, residual, bounds, acceleration",
      "FILE.csv");
  add("--plot", flags.plot, "Draw the bound on the error against time (needs gnuplot)", "FILE.svg");
  solve.add_flag("--append", flags.append, "Keep the runs that --trace and --plot have already");
  solve.add_flag("--json", flags.json, "One JSON object with the result");
}

}  // namespace

void AddSolveCommand(CLI::App& program) {
  auto flags = std::make_shared<SolveFlags>();
  CLI::App* solve =
      program.add_subcommand("solve", "Solve a model: values, a policy, and certified bounds");
  solve->add_option("MODEL", flags->model, "Model file: .tra .drn .csv .mdp .pomdp .npz .bin")
      ->required()
      ->type_name("FILE");
  solve
      ->add_option("--discount", flags->discount,
                   "Discount; wins over the file's (default: that of the file)")
      ->type_name("G in [0, 1)");
  solve
      ->add_option("--tolerance", flags->tolerance,
                   "Guaranteed bound on the error of every value (default: 1e-6)")
      ->type_name("E > 0");
  AddMethodFlags(*solve, *flags);
  AddAndersonFlags(*solve, *flags);
  solve->add_flag("--minimize", flags->minimize, "Rewards are costs: the smallest value is best");
  solve->add_option("--evaluate", flags->evaluate, "Value of this policy instead of the best one")
      ->type_name("POLICY.csv");
  AddThreadsFlag(*solve, &flags->threads, "Threads; the result does not depend on it");
  solve
      ->add_option("--max-seconds", flags->max_seconds,
                   "Stop after this time with the best so far (default: none)")
      ->type_name("S >= 0");
  solve
      ->add_option("--max-iterations", flags->max_iterations,
                   "Stop after so many sweeps with the best so far (default: none)")
      ->transform(WholeBetween(1, std::uint64_t{1} << 53))
      ->type_name("N >= 1");
  AddOutputFlags(*solve, *flags);
  solve->footer(
      "Methods: vi value iteration, gs Gauss-Seidel, jacobi vi with self-loops solved out, pi\n"
      "policy iteration, mpi modified and ipi inexact policy iteration. All end on the same\n"
      "certificate. Ctrl-C or a limit ends with the best so far and its bounds, exit code 1; so\n"
      "does a tolerance below what rounding allows.\n"
      "Examples: stableaa solve grid.drn --discount 0.99 --values v.csv --policy p.csv\n"
      "          stableaa solve grid.drn --discount 0.99 --method vi --plot p.svg --append\n");
  solve->callback([flags] { RunSolve(*flags); });
}

}  // namespace stableaa
