// stableaa sweep: all runs of a suite, several in parallel.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "stableaa/base/files/directories.h"
#include "stableaa/base/machine.h"
#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/terminal/progress.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/option_flag.h"
#include "stableaa/cli/program.h"
#include "stableaa/cli/settings.h"
#include "stableaa/core/error.h"
#include "stableaa/experiment/suite/suite.h"
#include "stableaa/experiment/sweep/estimate.h"
#include "stableaa/experiment/sweep/sweep.h"

namespace stableaa {
namespace {

struct SweepFlags {
  std::string suite;
  std::optional<int> jobs, threads;
  std::optional<std::string> out;
  std::vector<std::string> overrides;
  bool dry_run = false;
  bool no_estimate = false;
  bool json = false;
};

// Longer lists are cut.
constexpr std::size_t kRunsListed = 24;
constexpr std::size_t kLongestMessage = 500;

// ---- What will run ----

std::string Bytes(double bytes) { return HumanCount(bytes) + "B"; }

std::string Runs(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "run" : "runs");
}

// "100k steps", or "10k to 100k steps".
std::string StepsOf(const Suite& suite) {
  const auto steps = [](const SuiteRun& run) { return run.options.train.steps; };
  const auto [least, most] = std::ranges::minmax(suite.runs, {}, steps);
  const std::string last = HumanCount(static_cast<double>(steps(most)));
  if (steps(least) == steps(most)) return fmt::format("{} steps", last);
  return fmt::format("{} to {} steps", HumanCount(static_cast<double>(steps(least))), last);
}

std::string StateOf(const SweepRun& run) {
  if (run.state == SweepState::kDone) return "  done";
  if (run.state == SweepState::kFailed) {
    return fmt::format("  failed: {}", Shorten(run.message, kLongestMessage));
  }
  if (run.steps > 0) return fmt::format("  at {}%", static_cast<int>(100 * run.Share()));
  return "";
}

void PrintPlan(const Suite& suite, const Sweep& sweep, const SweepOptions& options) {
  const int threads = suite.runs.front().options.train.threads;
  fmt::print("{}{}{} of {}, {} at a time with {} {} each, in {}\n", Shorten(suite.title, 200),
             suite.title.empty() ? "" : ": ", Runs(suite.runs.size()), StepsOf(suite), options.jobs,
             threads, threads == 1 ? "thread" : "threads", ShownPath(options.out));
  for (const SuiteAxis& axis : suite.axes) {
    std::vector<std::string> values = axis.values;
    for (std::string& value : values) value = value.empty() ? "\"\"" : Shorten(value);
    fmt::print("  {:<24}  {}\n", axis.key, fmt::join(values, ", "));
  }
  fmt::print("  {:<24}  {}\n", "seeds", fmt::join(suite.seeds, ", "));
  if (suite.stop.eval_return) {
    fmt::print("  {:<24}  {:g}\n", "until an evaluation has", *suite.stop.eval_return);
  }
  if (suite.stop.minutes) {
    fmt::print("  {:<24}  {:g} minutes each\n", "for at most", *suite.stop.minutes);
  }
  if (const SearchProgress* search = sweep.search()) {
    for (const std::string& line : SearchLines(*suite.search)) fmt::print("  {}\n", line);
    for (const std::string& line : search->FirstDraws(kRunsListed)) fmt::print("{}\n", line);
  }
  const std::size_t listed = suite.runs.size() <= kRunsListed ? suite.runs.size() : 3;
  for (std::size_t i = 0; i < listed; ++i) {
    fmt::print("  {}{}\n", suite.runs[i].name, StateOf(sweep.runs()[i]));
  }
  if (listed < suite.runs.size()) {
    fmt::print("  ... {} more (--dry-run --json lists all)\n", suite.runs.size() - listed);
  }
  const std::size_t done = Count(sweep.runs()).done;
  const auto begun = std::ranges::count_if(sweep.runs(), [](const SweepRun& run) {
    return run.state == SweepState::kPending && run.steps > 0;
  });
  if (done > 0 || begun > 0) fmt::print("there already: {} done, {} begun\n", done, begun);
}

void PrintEstimate(const SweepEstimate& estimate) {
  fmt::print("measured{}:\n",
             estimate.variants > estimate.measured.size()
                 ? fmt::format(" {} of {} variants", estimate.measured.size(), estimate.variants)
                 : "");
  std::size_t width = 0;
  const auto shown = [](const VariantSpeed& speed) { return Shorten(speed.name, 200); };
  for (const VariantSpeed& speed : estimate.measured) width = std::max(width, shown(speed).size());
  for (const VariantSpeed& speed : estimate.measured) {
    fmt::print("  {:<{}}  {:>5} steps/s\n", shown(speed), width,
               HumanCount(speed.steps_per_second));
  }
  fmt::print("estimate: {}, {} on disk\n", HumanDuration(estimate.seconds), Bytes(estimate.bytes));
}

void WarnIfTheDiskIsTooSmall(const SweepEstimate& estimate, const std::filesystem::path& out) {
  std::filesystem::path there = std::filesystem::absolute(out);
  std::error_code error;
  while (!std::filesystem::exists(there, error) && there.has_relative_path()) {
    there = there.parent_path();
  }
  const auto space = std::filesystem::space(there, error);
  if (error || estimate.bytes <= static_cast<double>(space.available)) return;
  LogWarning(fmt::format("the runs may need {} on disk, {} are free", Bytes(estimate.bytes),
                         Bytes(static_cast<double>(space.available))));
}

// Nothing, with the reason on stderr, if measuring fails.
std::optional<SweepEstimate> Estimate(const SweepFlags& flags, const Suite& suite,
                                      const Sweep& sweep, const SweepOptions& options,
                                      const InterruptGuard& interrupt) {
  if (flags.no_estimate || Count(sweep.runs()).pending == 0) return std::nullopt;
  try {
    Progress progress({.label = "measuring", .unit = "", .by_itself = true});
    return EstimateSweep(sweep.runs(), suite.stop,
                         {.train = options.train,
                          .jobs = options.jobs,
                          .later_steps = sweep.search() ? sweep.search()->LaterSteps() : 0,
                          .interrupted = [&interrupt] { return interrupt.requested(); }});
  } catch (const Error& error) {
    if (!interrupt.requested()) {
      LogInfo(fmt::format("no estimate: {}", Shorten(error.what(), kLongestMessage)));
    }
    return std::nullopt;
  }
}

// ---- The sweep ----

// `stableaa train` by this very program, even if its file has been replaced since.
std::vector<std::string> TrainingCommand(const TrainTask& task) {
  std::vector<std::string> words = {"/proc/self/exe", "train"};
  if (task.config.empty()) {
    words.insert(words.end(), {"--resume", task.run.string(), "--steps", std::to_string(task.steps),
                               "--threads", std::to_string(task.threads)});
    if (task.trust) words.emplace_back("--trust");
  } else {
    words.insert(words.end(), {"--config", task.config.string(), "--out", task.run.string()});
  }
  if (task.enough_return) words.push_back(fmt::format("--until-return={}", *task.enough_return));
  words.insert(words.end(), {"--end-with-parent", std::to_string(::getpid())});
  return words;
}

void PrintJson(const Sweep& sweep, const SweepOptions& options, bool planned,
               const std::optional<SweepEstimate>& estimate) {
  for (std::size_t i = 0; i < sweep.runs().size(); ++i) {
    RunJsonOptions how{.directory = options.out, .planned = planned};
    if (estimate) how.estimate = estimate->runs[i];
    fmt::print("{}\n", RunJson(sweep.runs()[i], how));
  }
}

// WorkFailed if a run failed.
void Conclude(const SweepFlags& flags, const Sweep& sweep, const SweepOptions& options,
              bool complete) {
  if (flags.json) PrintJson(sweep, options, false, std::nullopt);
  const std::string out = ShownPath(options.out);
  const SweepCounts counts = Count(sweep.runs());
  if (!flags.json && sweep.search() != nullptr) {
    for (const std::string& line : sweep.search()->BestDraws()) fmt::print("{}\n", line);
  }
  if (!flags.json) fmt::print("{}: {}\n", out, SweepSummary(sweep.runs(), std::nullopt));
  if (!complete) LogInfo("stopped; the same command goes on");
  if (counts.failed == 0) return;
  for (const SweepRun& run : sweep.runs()) {
    if (run.state != SweepState::kFailed) continue;
    LogWarning(fmt::format("{}: {}", run.run->name, Shorten(run.message, kLongestMessage)));
  }
  throw WorkFailed(
      fmt::format("{} of {} failed; {}/logs has what they said, the same command "
                  "tries again, and without its directory a run begins anew",
                  counts.failed, Runs(sweep.runs().size()), out));
}

void RunSweep(const SweepFlags& flags) {
  if (flags.out && flags.out->empty()) {
    throw BadInput("--out: expected a directory, found an empty name");
  }
  std::vector<ConfigSource> overrides;
  for (const std::string& assignment : flags.overrides) {
    overrides.push_back(ConfigSource::FromOverride(assignment));
    RequireUse(overrides.back(), "sweep", KeyUse::Runs());
  }
  Suite suite = ReadSuite(flags.suite, overrides);
  const InterruptGuard interrupt;  // not earlier: reading the suite may wait for a pipe's writer
  if (flags.threads) suite.SetThreads(*flags.threads);
  const int threads = suite.runs.front().options.train.threads;
  const SweepOptions options{
      .train = TrainingCommand,
      .out = flags.out ? std::filesystem::path(*flags.out)
                       : std::filesystem::path("runs") / std::filesystem::path(flags.suite).stem(),
      .label = FlagOf,
      .jobs = flags.jobs.value_or(std::max(1, CoreCount() / threads))};
  Sweep sweep(suite, options);
  if (!flags.dry_run) sweep.Open();
  if (!flags.json) PrintPlan(suite, sweep, options);
  std::fflush(stdout);

  const std::optional<SweepEstimate> estimate = Estimate(flags, suite, sweep, options, interrupt);
  if (estimate) WarnIfTheDiskIsTooSmall(*estimate, options.out);
  if (estimate && !flags.json) PrintEstimate(*estimate);
  std::fflush(stdout);
  if (flags.dry_run) {
    if (flags.json) PrintJson(sweep, options, true, estimate);
    return;
  }
  const bool complete = sweep.Run([&interrupt] { return interrupt.requested(); });
  Conclude(flags, sweep, options, complete);
}

}  // namespace

void AddSweepCommand(CLI::App& program) {
  auto flags = std::make_shared<SweepFlags>();
  CLI::App* sweep = program.add_subcommand("sweep", "Train all runs of a suite");
  sweep->add_option("SUITE", flags->suite, "TOML file: environments, presets, keys, seeds")
      ->required()
      ->type_name("SUITE.toml");
  sweep->add_option("--jobs", flags->jobs, "Runs at a time (default: cores / threads, at least 1)")
      ->transform(WholeBetween(1, 1024))
      ->type_name("N in [1, 1024]");
  sweep
      ->add_option("--threads", flags->threads,
                   "Threads of each run (default: the suite's, else 1)")
      ->transform(WholeBetween(1, 1024))
      ->type_name("N in [1, 1024]");
  sweep->add_option("--out", flags->out, "Directory of all runs (default: runs/<name of SUITE>)")
      ->type_name("DIR");
  sweep
      ->add_option("--set", flags->overrides,
                   "Value for one key, for all runs ('stableaa config keys' lists them); may be "
                   "repeated, wins over the suite; not for keys that vary in it")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  sweep->add_flag("--dry-run", flags->dry_run,
                  "Only say what would be run, how long it would take and how much disk it needs");
  sweep->add_flag("--no-estimate", flags->no_estimate,
                  "Begin at once, without measuring how long it will take");
  sweep->add_flag("--json", flags->json, "One JSON object per run, at the end");
  sweep->footer(
      "A suite names axes, and every combination is run with every seed:\n"
      "  seeds = [1, 2, 3]\n"
      "  stop.steps = 100_000                 # also eval_return, minutes\n"
      "  set.eval.interval_steps = 5_000      # any keys ('stableaa config keys'), for all runs\n"
      "  axes.env = [\"minatar/breakout\", \"minatar/asterix\"]\n"
      "  axes.preset = [\"raa\", \"stable-aa\"]    # zip.* advance together instead\n"
      "  axes.variant = [{ label = \"m = 3\", agent.targets = 3 }, { preset = \"my.toml\" }]\n"
      "With [search], each combination is run at points drawn from ranges, and with halving only\n"
      "the best of them go on: DIR/search.csv has all draws, the end of the sweep shows the best.\n"
      "  search.draws = 16\n"
      "  search.halving = { rungs = 3, factor = 3 }\n"
      "  search.ranges.optimizer.learning_rate = { low = 1e-5, high = 1e-2, scale = \"log\" }\n"
      "Runs that are in DIR already are kept if they are done and resumed if they are not, so the\n"
      "same command goes on after Ctrl-C (exit code 0, every run makes a checkpoint), a kill or a\n"
      "failure, to the same results. A run that fails does not end the others; the exit code is 1\n"
      "then. DIR/sweep.json has the status of all runs, DIR/logs what they said.\n"
      "Example: stableaa sweep configs/minatar/figure1.toml --jobs 2 --out runs/figure1\n"
      "         stableaa sweep configs/paper/figure1.toml --dry-run --out runs/paper\n"
      "         stableaa sweep configs/search/minatar.toml --set agent.n_step=3 --dry-run\n");
  sweep->callback([flags] { RunSweep(*flags); });
}

}  // namespace stableaa
