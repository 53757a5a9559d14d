// stableaa train: starts a new run or resumes one.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "stableaa/base/files/directories.h"
#include "stableaa/base/process/child_process.h"
#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/terminal/progress.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/print_plain.h"
#include "stableaa/cli/program.h"
#include "stableaa/cli/settings.h"
#include "stableaa/core/error.h"
#include "stableaa/experiment/suite/suite.h"
#include "stableaa/nn/parameters.h"
#include "stableaa/nn/spec.h"
#include "stableaa/rl/run/idle_keys.h"
#include "stableaa/rl/run/json_log.h"
#include "stableaa/rl/run/run_directory.h"
#include "stableaa/rl/run/trainer.h"
#include "stableaa/rl/run/trust.h"

namespace stableaa {
namespace {

struct TrainFlags {
  SettingsFlags settings;
  std::optional<std::int64_t> steps;
  std::uint64_t seed = 1;
  bool has_seed = false;
  std::optional<int> threads;
  std::optional<std::string> out, from, resume;
  bool trust = false;  // with resume
  std::optional<double> enough_return;
  std::optional<std::int64_t> parent;
  std::optional<std::string> log_json;
};

// The configuration of a new run, with the warnings it deserves.
class NewRun {
 public:
  explicit NewRun(const TrainFlags& flags) {
    Describe(config_, settings_);
    // A run always has an environment and a preset, so their defaults count as chosen.
    const TrainOptions defaults;
    before_ = flags.settings.Apply(config_, {.env = defaults.env, .preset = defaults.preset});
    const auto set = [this](const std::string& key, auto value, const std::string& flag) {
      SetByFlag(config_, key, std::to_string(value), flag);
    };
    if (flags.steps) set("train.steps", *flags.steps, "--steps");
    if (flags.has_seed) set("train.seed", flags.seed, "--seed");
    if (flags.threads) set("train.threads", *flags.threads, "--threads");
  }

  const RunOptions& options() const { return settings_.run; }
  void WarnOfIdleKeys(const Plan& network) const {
    std::vector<IdleKey> idle = IdleKeys(settings_.run);
    const bool is_known = std::ranges::find(idle, "network.hidden", &IdleKey::key) != idle.end();
    // Whether a Gymnasium environment shows pictures is known only from its observations.
    if (!network.spec.input.is_vector() && !is_known) {
      idle.push_back({"network.hidden", fmt::format("{} shows pictures", options().train.env)});
    }
    stableaa::WarnOfIdleKeys(before_, config_, idle);
  }

 private:
  Settings settings_;
  Config config_;
  std::vector<ConfigKey> before_;
};

void LogNetwork(const Trainer& trainer) {
  const NetworkSpec& spec = trainer.plan().spec;
  const bool is_chosen = !spec.input.is_vector() && trainer.options().agent.layers.empty();
  LogInfo(fmt::format("network: {}; {} parameters{}", ToText(spec), ParameterCount(trainer.plan()),
                      is_chosen
                          ? fmt::format("; chosen for images of {}x{}, network.layers overrides it",
                                        spec.input.shape.height, spec.input.shape.width)
                          : ""));
}

std::string ProgressNote(const TrainProgress& progress) {
  std::string note;
  if (progress.episode_return) note += fmt::format("return {:.4g}", *progress.episode_return);
  if (progress.eval_return) note += fmt::format("  eval {:.4g}", *progress.eval_return);
  if (progress.loss) note += fmt::format("  loss {:.3g}", *progress.loss);
  return note;
}

// Rows for `log`, which must outlive the listener.
RowListener ListenerOf(std::optional<JsonLog>& log) {
  if (!log) return {};
  return {.metrics = [&log](const MetricRow& row) { log->Add(row); },
          .episode = [&log](const EpisodeRow& row) { log->Add(row); }};
}

// Random play before learning says nothing about the time that learning takes.
ProgressOptions ProgressOf(const Trainer& trainer) {
  const RunOptions& options = trainer.options();
  const TrainOptions& train = options.train;
  const auto count = [](std::int64_t steps) { return static_cast<std::uint64_t>(steps); };
  const bool learns = options.replay.start < train.steps;
  return {.label = fmt::format("{} {}", train.env, train.preset),
          .unit = "steps",
          .total = count(options.last_step()),
          .start = count(trainer.step()),
          .steady_from = learns ? count(options.replay.start) : 0,
          .pauses = {{count(options.eval.interval_steps),
                      [&trainer] { return trainer.times().evaluation; }},
                     {count(train.checkpoint_interval_steps),
                      [&trainer] { return trainer.times().checkpoint; }}}};
}

void RunToTheEnd(Trainer& trainer, const TrainFlags& flags) {
  const TrainOptions& train = trainer.options().train;
  std::optional<JsonLog> log;
  if (flags.log_json) {
    log.emplace(*flags.log_json, flags.resume ? JsonLog::Part::kLater : JsonLog::Part::kFirst);
    log->AddRun(trainer.options(), trainer.directory(), trainer.step());
  }
  const bool stdout_is_taken = log && log->is_stdout();
  ProgressOptions shown = ProgressOf(trainer);
  if (stdout_is_taken && ::isatty(STDOUT_FILENO) == 1) {
    shown.mode = ProgressOptions::Mode::kSilent;  // rows on a terminal leave no place for a bar
  }
  Progress progress(shown);
  const InterruptGuard interrupt;
  const std::int64_t note_interval = std::max<std::int64_t>(1, train.steps / 10'000);
  const bool complete =
      trainer.Run({.stop = [&interrupt] { return interrupt.requested(); },
                   .enough_return = flags.enough_return,
                   .progress =
                       [&](const TrainProgress& now) {
                         if (now.step % note_interval < trainer.options().env.num_envs)
                           progress.Note(ProgressNote(now));
                         progress.Set(static_cast<std::uint64_t>(now.step));
                       },
                   .rows = ListenerOf(log)});
  const std::string directory = trainer.directory().string();
  if (complete) {
    progress.Finish();
    const bool is_enough = flags.enough_return && trainer.best_return() >= *flags.enough_return;
    const std::string done = fmt::format(
        "{}: {} steps done{}", directory, trainer.step(),
        is_enough ? fmt::format(", an evaluation has {:.6g}", trainer.best_return()) : "");
    stdout_is_taken ? LogInfo(done) : PrintPlain("{}\n", done);
  } else {
    LogInfo(fmt::format("stopped in step {}; go on with: stableaa train --resume {}{}",
                        trainer.step(), ShellWord(directory),
                        ForeignCodeOf(trainer.options()).any() ? " --trust" : ""));
  }
}

std::string WhatToDo(const UnusableRunPath& error) {
  using Reason = UnusableRunPath::Reason;
  if (error.reason() == Reason::kNoName) return fmt::format("--out: {}", error.what());
  const std::string otherwise = error.reason() == Reason::kHoldsRun
                                    ? fmt::format(", or go on with: stableaa train --resume {}",
                                                  ShellWord(error.path().string()))
                                    : "";
  return fmt::format("{}; choose another --out{}", error.what(), otherwise);
}

std::string DirectoryOf(const TrainFlags& flags, const RunOptions& options) {
  return flags.out.value_or("runs/" + RunName(options.train));
}

// A log may be in the run's directory, which is made before the log is opened.
void RequireNewLog(const std::string& log, const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::optional<fs::path> inside;
  if (!log.empty() && log != "-" && !fs::is_other(log, error)) {
    inside = PathWithin(log, directory);
    if (inside == "." || (PathWithin(directory, log) && !fs::exists(log, error))) {
      throw BadInput(fmt::format("--log-json: '{}' would be a directory: the run is made in {}",
                                 Shorten(log), ShownPath(directory)));
    }
    if (inside && IsWrittenByRuns(*inside)) {
      throw BadInput(fmt::format("--log-json: '{}' is a file of the run", Shorten(log)));
    }
  }
  const bool comes_with_run = inside && !inside->has_parent_path() && !fs::exists(directory, error);
  if (!comes_with_run) JsonLog::Require(log, JsonLog::Part::kFirst);
}

std::unique_ptr<Trainer> StartTrainer(const TrainFlags& flags, const RunOptions& options) {
  try {
    return Trainer::Start(DirectoryOf(flags, options), options, flags.from);
  } catch (const UnusableRunPath& error) {
    throw BadInput(WhatToDo(error));
  }
}

void StartRun(const TrainFlags& flags) {
  const NewRun run(flags);
  const RunOptions& options = run.options();
  if (flags.log_json) RequireNewLog(*flags.log_json, DirectoryOf(flags, options));
  if (flags.from && flags.from->empty()) {
    throw BadInput("--from: expected a file or the directory of a run, found nothing");
  }
  const std::unique_ptr<Trainer> trainer = StartTrainer(flags, options);
  run.WarnOfIdleKeys(trainer->plan());
  LogNetwork(*trainer);
  LogInfo(fmt::format("training {} on {}, seed {}, in {}", options.train.preset, options.train.env,
                      options.train.seed, trainer->directory().string()));
  RunToTheEnd(*trainer, flags);
}

std::unique_ptr<Trainer> ResumeTrainer(const TrainFlags& flags) {
  try {
    return Trainer::Resume(*flags.resume,
                           {.steps = flags.steps, .threads = flags.threads, .trust = flags.trust});
  } catch (const UntrustedCode& error) {
    throw BadInput(fmt::format("{}; to run it: stableaa train --resume {} --trust", error.what(),
                               ShellWord(*flags.resume)));
  }
}

void RequireLogOf(const std::string& run, const std::string& log) {
  JsonLog::Require(log, JsonLog::Part::kLater);
  RequireNoFileOfRun({"--log-json", log});
  const std::filesystem::path config = std::filesystem::path(run) / "config.toml";
  std::error_code error;  // what is no run is refused when it is opened
  if (!std::filesystem::is_regular_file(config, error)) return;
  JsonLog::RequireSameRun(log, ReadRunOptions(config), run);
}

void ResumeRun(const TrainFlags& flags) {
  if (flags.log_json) RequireLogOf(*flags.resume, *flags.log_json);
  const std::unique_ptr<Trainer> trainer = ResumeTrainer(flags);
  if (!trainer) {
    LogInfo(fmt::format("{} is complete; --steps N would go on to step N", *flags.resume));
    return;
  }
  LogNetwork(*trainer);
  LogInfo(fmt::format("resuming {} in step {}", trainer->directory().string(), trainer->step()));
  RunToTheEnd(*trainer, flags);
}

void EndWithParentFlag(std::int64_t parent) {
  try {
    EndWithParent(parent);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("--end-with-parent: {}", error.what()));
  }
}

}  // namespace

void AddTrainCommand(CLI::App& program) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* train = program.add_subcommand("train", "Train an agent, or go on with a run");
  flags->settings.AddPresetTo(*train);
  flags->settings.AddTo(*train, KeyUse::Runs());
  train->add_option("--steps", flags->steps, "Steps of the whole run (default: train.steps)")
      ->transform(WholeBetween(0, std::uint64_t{1} << 40))
      ->type_name("N in [0, 2^40]");
  AddSeedFlag(*train, &flags->seed, "Seed of everything random (default: train.seed, 1)");
  train
      ->add_option("--threads", flags->threads,
                   "Threads; the result does not depend on it (default: all cores)")
      ->transform(WholeBetween(1, 1024))
      ->type_name("N in [1, 1024]");
  CLI::Option* const out = train
                               ->add_option("--out", flags->out,
                                            "Directory of the run (default: "
                                            "runs/<env>-<preset>-<seed>)")
                               ->type_name("DIR");
  CLI::Option* const from =
      train
          ->add_option(
              "--from", flags->from,
              "Begin with these weights: a file, of other programs too, or a run's latest; "
              "the network must have the same shape")
          ->type_name("FILE.safetensors|DIR");
  CLI::Option* const resume =
      train
          ->add_option("--resume", flags->resume,
                       "Go on with the run in DIR; only --steps and --threads may change")
          ->type_name("DIR")
          ->excludes(out)
          ->excludes(from);
  AddTrustFlag(*train, &flags->trust)->needs(resume);
  train
      ->add_option("--until-return", flags->enough_return,
                   "End at the first evaluation whose mean return is at least R")
      ->type_name("R");
  train
      ->add_option("--end-with-parent", flags->parent,
                   "Make a checkpoint and end, as by Ctrl-C, when the process that started this "
                   "one ends, even by kill -9; PID is that process (in a shell: $$)")
      ->transform(WholeBetween(0, std::numeric_limits<std::int64_t>::max()))
      ->type_name("PID");
  train
      ->add_option("--log-json", flags->log_json,
                   "Rows of metrics.csv and episodes.csv as they are logged, one JSON object per "
                   "line, to a new file, a pipe or - (stdout); with --resume to the end of a file")
      ->type_name("-|FILE");
  for (const char* const fixed : {"--preset", "--env", "--config", "--set", "--seed"}) {
    resume->excludes(train->get_option(fixed));
  }
  train->footer(
      "Ctrl-C makes a checkpoint and ends, exit code 0; a second one ends at once. Nothing saved "
      "is ever lost, "
      "and a\n"
      "run that was stopped or killed goes on to the same result as one that was not.\n"
      "With --from, the optimiser, the replay and exploration begin anew, and run.json says where "
      "the weights are from.\n"
      "Example: stableaa train --preset stable-aa --env minatar/breakout --steps 200000 --seed 3\n"
      "         stableaa train --resume runs/minatar-breakout-stable-aa-3 --steps 1000000\n"
      "         stableaa train --env classic/cartpole --steps 20000 --log-json - | tail -1\n");
  train->callback([flags, train] {
    if (flags->parent) EndWithParentFlag(*flags->parent);
    if (flags->enough_return && std::isnan(*flags->enough_return)) {
      throw BadInput("--until-return: expected a number, found nan");
    }
    flags->has_seed = train->count("--seed") > 0;
    flags->resume ? ResumeRun(*flags) : StartRun(*flags);
  });
}

}  // namespace stableaa
