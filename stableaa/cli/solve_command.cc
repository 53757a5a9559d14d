// stableaa solve: the values of a model's states, a policy, and bounds on their error.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "stableaa/anderson/accelerator.h"
#include "stableaa/anderson/window.h"
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
#include "stableaa/cli/option_flag.h"
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
  std::optional<std::string> reward;
  // By the names in DescribeSolveOptions().
  std::map<std::string, std::optional<double>> numbers;
  std::map<std::string, std::optional<std::string>> choices;
  std::map<std::string, bool> switches;
  int threads = 1;
  // For the accelerator.
  std::optional<int> memory;
  std::optional<std::string> weights;
  std::optional<double> eta, damping;
  std::vector<std::string> overrides;  // --set
  std::optional<std::string> evaluate;
  std::optional<std::string> values, policy, bounds, trace, plot;
  bool append = false;
  bool json = false;
};

// ---- From flags to options ----

std::size_t IndexOf(const std::string& text, const std::vector<std::string>& names,
                    const std::string& flag) {
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  throw BadInput(fmt::format("{}: expected one of {}, found '{}'{}", flag, list, Shorten(text),
                             DidYouMean(text, names)));
}

void CheckNeeds(const SolveFlags& flags) {
  const std::pair<bool, std::string_view> accelerator[] = {{flags.memory.has_value(), "--memory"},
                                                           {flags.weights.has_value(), "--weights"},
                                                           {flags.eta.has_value(), "--eta"},
                                                           {flags.damping.has_value(), "--damping"},
                                                           {!flags.overrides.empty(), "--set"}};
  for (const auto& [given, flag] : accelerator) {
    if (given && !flags.switches.at("anderson")) {
      throw BadInput(fmt::format("{}: needs --anderson", flag));
    }
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

// What the user asked for.
struct Request {
  SolveMethod method = SolveMethod::kAuto;
  SolveOptions options;            // the method may change: see SettleAuto
  std::string choice;              // why
  std::vector<std::string> given;  // names of the options set by flags

  bool Has(std::string_view option) const {
    return std::ranges::find(given, option) != given.end();
  }
};

// Sets the option if its flag was given. Returns whether it was.
bool Take(const SolveFlags& flags, const SolveOption& option, SolveOptions& options) {
  if (const auto* const number = std::get_if<SolveOption::Number>(&option.value)) {
    const auto flag = flags.numbers.find(option.name);
    if (flag == flags.numbers.end() || !flag->second) return false;
    number->set(options, *flag->second);
    return true;
  }
  if (const auto* const choice = std::get_if<SolveOption::Choice>(&option.value)) {
    const std::optional<std::string>& text = flags.choices.at(option.name);
    if (!text) return false;
    choice->set(options, IndexOf(*text, choice->names, FlagOf(option.name)));
    return true;
  }
  if (!flags.switches.at(option.name)) return false;
  std::get<SolveOption::Switch>(option.value).turn_on(options);
  return true;
}

Request ParseRequest(const SolveFlags& flags) {
  CheckNeeds(flags);
  Request request;
  SolveOptions& options = request.options;
  options.threads = flags.threads;
  for (const SolveOption& option : DescribeSolveOptions()) {
    if (Take(flags, option, options)) request.given.push_back(option.name);
  }
  if (options.anderson) options.acceleration = ParseAccelerator(flags);
  request.method = options.method;
  request.choice = SettleAuto(options, FlagOf);
  CheckUse(options, request.given, FlagOf);
  if (options.discount) CheckDiscount(*options.discount, "--discount");
  options.Validate();
  if (flags.bounds && !options.certified()) {
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
  // A PRISM model has several files.
  for (const char* const ending : {".srew", ".trew", ".sta", ".lab"}) {
    taken.emplace_back("a file of the model",
                       std::filesystem::path(flags.model).replace_extension(ending).string());
  }
  if (flags.evaluate) taken.emplace_back("--evaluate", *flags.evaluate);
  for (const FlagAndPath& output : OutputPaths(flags)) {
    RequireAnotherFile(output, taken);
    RequireNoFileOfRun(output);
    CheckWritable(output.second);
    taken.push_back(output);
  }
}

// "mpi+anderson grid.drn", which distinguishes runs in a trace or plot.
std::string RunLabel(const SolveFlags& flags, const Request& request) {
  const SolveOptions& options = request.options;
  std::string label(Name(request.method));
  if (options.backup.kind != BackupKind::kMax) {
    label += fmt::format(" {}", BackupName(options.backup.kind));
  }
  if (options.anderson) label += "+anderson";
  if (request.Has("order")) label += fmt::format(" {}", Name(options.order));
  const std::string name = std::filesystem::path(flags.model).filename().string();
  return fmt::format("{} {}", label, Shorten(name));
}

// With --append: what --trace and --plot already contain.
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

// Records the solve for --trace and --plot.
class Recording {
 public:
  Recording(const SolveFlags& flags, const Request& request, const FormerRuns& former)
      : tolerance_(request.options.tolerance),
        curves_(former.curves),
        recorder_(UnusedLabel(RunLabel(flags, request), former.curves)) {
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
  const std::vector<RewardStructure>& structures = reading.loaded.annotations.rewards;
  object["reward"] = structures.empty() ? Json() : Json(structures.front().name);
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
  if (!request.options.certified()) {
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

// Why the answer is not what was requested, and what can be done.
std::string Shortfall(const SolveOptions& options, const Solution& s) {
  const std::string reached = options.certified()
                                  ? fmt::format("the certified error is {:.3g}", s.error)
                                  : fmt::format("the residual is {:.3g}", s.residual);
  const std::string asked = fmt::format("{}, asked for {:.3g}", reached, options.tolerance);
  switch (s.end) {
    case SolveEnd::kTime:
      return fmt::format("not converged within --max-seconds {}: {}", options.max_seconds, asked);
    case SolveEnd::kIterations:
      return fmt::format("not converged within --max-iterations {}: {}", options.max_iterations,
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

// Costs negated on reading and again by --minimize would be maximised.
void CheckCosts(const SolveFlags& flags, const Request& request, const LoadedModel& loaded) {
  if (request.options.minimize && loaded.from_costs) {
    throw BadInput(fmt::format(
        "--minimize: the values of {} are costs already, read as negative rewards; leave it out",
        Shorten(flags.model, 200)));
  }
}

// Says which reward structure was taken if nobody chose.
void NoteReward(const SolveFlags& flags, const ModelAnnotations& annotations) {
  const std::vector<RewardStructure>& structures = annotations.rewards;
  if (flags.reward || structures.size() < 2) return;
  LogInfo(fmt::format("{}: uses reward structure '{}' of {} ({}); --reward picks another",
                      Shorten(flags.model, 200), Shorten(structures.front().name),
                      structures.size(), RewardNames(annotations)));
}

double DiscountOf(const SolveFlags& flags, const Request& request, const Model& model) {
  const std::optional<double> discount = DiscountFor(model, request.options);
  if (!discount) {
    throw BadInput(
        fmt::format("{}: the file has no discount; pass --discount G", Shorten(flags.model, 200)));
  }
  return *discount;
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
  // Some methods prove intermediate bounds only if on_step is set. That costs time and changes
  // nothing else.
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
  const ReadingResult reading = ReadModelShowingProgress(flags.model, flags.threads, flags.reward);
  NoteReward(flags, reading.loaded.annotations);
  CheckCosts(flags, request, reading.loaded);
  const Model& model = reading.loaded.model;
  const double discount = DiscountOf(flags, request, model);
  const std::string warning = SlowWeightsWarning(request.options, discount, FlagOf);
  if (!warning.empty()) LogWarning(warning);

  const InterruptGuard interrupt;  // the best result so far is an answer too
  SolutionFiles files({.values = flags.values, .policy = flags.policy, .bounds = flags.bounds});
  Recording recording(flags, request, former);
  const Result result = SolveShowingProgress(flags, request, model, discount, interrupt, recording);
  flags.json ? PrintJson(request, reading, result) : PrintSummary(flags, request, reading, result);
  std::fflush(stdout);
  files.Write(result.solution);
  recording.Finish();
  if (!flags.json) PrintFiles(flags);
  if (!result.solution.converged()) {
    throw WorkFailed(Shortfall(request.options, result.solution));
  }
}

// ---- Help ----

// Larger whole numbers are not exact as doubles.
constexpr std::uint64_t kMostExactWhole = std::uint64_t{1} << 53;

void AddOptionFlag(CLI::App& solve, const SolveOption& option, SolveFlags& flags) {
  const std::string flag = FlagOf(option.name);
  const std::string meaning =
      option.by_default.empty()
          ? option.meaning
          : fmt::format("{} (default: {})", option.meaning, option.by_default);
  const auto* const number = std::get_if<SolveOption::Number>(&option.value);
  if (option.name == "threads") {
    AddThreadsFlag(solve, &flags.threads, option.meaning);  // the command line has its own default
  } else if (number != nullptr) {
    CLI::Option* const added =
        solve.add_option(flag, flags.numbers[option.name], meaning)->type_name(option.TypeText());
    if (number->whole) {
      const double most = std::min(number->range.at_most, static_cast<double>(kMostExactWhole));
      added->transform(WholeBetween(static_cast<std::int64_t>(number->range.at_least),
                                    static_cast<std::uint64_t>(most)));
    }
  } else if (std::holds_alternative<SolveOption::Choice>(option.value)) {
    solve.add_option(flag, flags.choices[option.name], meaning)->type_name(option.TypeText());
  } else {
    solve.add_flag(flag, flags.switches[option.name], meaning);
  }
}

void AddAcceleratorFlags(CLI::App& solve, SolveFlags& flags) {
  const AcceleratorOptions defaults;
  const auto add = [&solve](const char* flag, auto& value, const char* meaning,
                            const auto& by_default) {
    return solve.add_option(flag, value, fmt::format("{} (default: {})", meaning, by_default));
  };
  add("--memory", flags.memory, "Differences that it mixes", defaults.memory)
      ->transform(WholeBetween(0, Window::kMaxMemory))
      ->type_name(fmt::format("M in [0, {}]", Window::kMaxMemory));
  add("--weights", flags.weights, "Its penalty on the weights", Name(defaults.weights.rule))
      ->type_name("vanilla|raa|stable|relative");
  add("--eta", flags.eta, "Strength of the penalty", defaults.weights.eta)
      ->type_name("E in [0, 1e100]");
  add("--damping", flags.damping, "Share of the images in the mix", defaults.damping)
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
  AddRewardFlag(*solve, &flags->reward);
  for (const SolveOption& option : DescribeSolveOptions()) {
    AddOptionFlag(*solve, option, *flags);
    if (option.name == "anderson") AddAcceleratorFlags(*solve, *flags);
    if (option.name == "minimize") {
      solve
          ->add_option("--evaluate", flags->evaluate,
                       "Value of this policy instead of the best one")
          ->type_name("POLICY.csv");
    }
  }
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
