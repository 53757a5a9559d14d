// Which configuration a run gets, and what it says and writes about itself.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/cli/train_runs_test.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::train_command_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// --- Configuration -------------------------------------------------------------------------------

// Without comments and without the keys of other commands.
std::vector<std::string> ConfigLines(const std::string& toml) {
  std::vector<std::string> lines;
  bool of_runs = true;
  for (const std::string& line : Lines(toml)) {
    if (line.starts_with('[')) of_runs = !line.starts_with("[anderson");
    if (of_runs && !line.empty() && !line.starts_with('#')) lines.push_back(line);
  }
  return lines;
}

TEST_F(TrainCommand, TheRunHasTheConfigurationThatIsShown) {
  WriteContent(Path("mine.toml"), "[agent]\nomega = 2.5\ndamping = 0.25\n[replay]\nsize = 777\n");
  int number = 0;
  for (const Arguments& flags :
       std::vector<Arguments>{{"--preset", "stable-aa", "--env", "classic/cartpole"},
                              {"--preset", "deepmellow", "--env", "minatar/freeway"},
                              {"--preset", "averaged-dqn", "--env", "Classic/Mountain-Car",
                               "--config", Path("mine.toml"), "--set", "replay.size=888"}}) {
    const fs::path run = Path(std::to_string(++number));
    ExpectDone(Train(flags + Arguments{"--set", "train.steps=0", "--out", run.string()}));
    const std::string shown = ExpectOutput(
        Stableaa(Arguments{"config", "show"} + flags + Arguments{"--set", "train.steps=0"}));
    EXPECT_EQ(ConfigLines(FileContent(run / "config.toml")), ConfigLines(shown));
  }
}

TEST_F(TrainCommand, SetBeatsConfigBeatsPresetBeatsFamilyBeatsDefault) {
  WriteContent(Path("mine.toml"),
               "[agent]\nomega = 2.5\ndamping = 0.25\n[replay]\nstart = 77\n[train]\nseed = 9\n");
  const std::string out = Path("run");
  ExpectDone(
      Train({"--preset", "stable-aa", "--env", "classic/cartpole", "--config", Path("mine.toml"),
             "--set", "agent.omega=1.5", "--set", "train.steps=4", "--steps", "3", "--out", out}));
  const std::string config = FileContent(out + "/config.toml");
  ExpectWords(config, {"\nomega = 1.5\n",         // --set over --config over preset
                       "\ndamping = 0.25\n",      // --config over preset
                       "\nstart = 77\n",          // --config over family
                       "\nhead = \"dueling\"\n",  // preset over default
                       "\nloss = \"huber\"\n",    // family over default
                       "\nkind = \"adam\"\n", "\nseed = 9\n",
                       "\nsteps = 3\n",  // a flag over --set
                       "\nn_step = 1\n"});
  const Json description = Json::parse(FileContent(out + "/run.json"));
  EXPECT_EQ(description["seed"], 9);
  EXPECT_EQ(description["env"], "classic/cartpole");
  for (const char* const key : {"version", "machine", "units", "protocol"}) {
    EXPECT_TRUE(description.contains(key)) << key;
  }
}

TEST_F(TrainCommand, AConfigFileCanChooseEnvironmentAndPreset) {
  WriteContent(Path("mine.toml"),
               "[train]\nenv = \"classic/acrobot\"\npreset = \"double-dqn\"\nsteps = 0\n");
  const std::string out = Path("run");
  ExpectDone(Train({"--config", Path("mine.toml"), "--out", out}));
  ExpectWords(FileContent(out + "/config.toml"),
              {"classic/acrobot", "\nbackup = \"double\"\n", "\nkind = \"adam\"\n"});
  // 6 inputs, two layers of 128 units, 3 actions.
  EXPECT_EQ(Json::parse(FileContent(out + "/run.json"))["parameters"],
            7 * 128 + 129 * 128 + 129 * 3);
  // A run's own configuration makes the same run again.
  ExpectDone(Train({"--config", out + "/config.toml", "--out", Path("again")}));
  EXPECT_EQ(FileContent(Path("again/config.toml")), FileContent(out + "/config.toml"));
}

// The rest of each line on stderr that begins with this.
std::vector<std::string> Said(const Outcome& outcome, const std::string& start) {
  std::vector<std::string> said;
  for (const std::string& line : Lines(outcome.err)) {
    if (line.starts_with(start)) said.push_back(line.substr(start.size()));
  }
  return said;
}

std::vector<std::string> Warnings(const Outcome& outcome) {
  ExpectDone(outcome);
  return Said(outcome, "stableaa: warning: ");
}

TEST_F(TrainCommand, AFlagWinsOverSetWithAWarning) {
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"--env", "classic/cartpole", "train.env=\"classic/acrobot\""},
      {"--preset", "dqn", "train.preset=\"raa\""},
      {"--steps", "10", "train.steps=20"},
      {"--seed", "1", "train.seed=2"},
      {"--threads", "1", "train.threads=2"}};
  Arguments arguments = {"--out", Path("run")};
  std::vector<std::string> warnings;
  for (const auto& [flag, value, setting] : cases) {
    arguments = arguments + Arguments{flag, value, "--set", setting};
    warnings.push_back(setting + " (--set) has no effect: " + flag + " says " + value);
  }
  EXPECT_EQ(Warnings(Train(arguments)), warnings);
  ExpectWords(FileContent(Path("run/config.toml")),
              {"\nenv = \"classic/cartpole\"\n", "\npreset = \"dqn\"\n", "\nsteps = 10\n"});
  // The same value in another spelling, or an empty one, causes no warning.
  const Outcome same =
      Train({"--env", "classic/cartpole", "--set", "train.env=Classic/CartPole", "--steps", "10",
             "--set", "train.steps=1e1", "--set", "train.preset=", "--out", Path("same")});
  EXPECT_EQ(Warnings(same), std::vector<std::string>());
  ExpectWords(FileContent(Path("same/config.toml")),
              {"\nenv = \"classic/cartpole\"\n", "\npreset = \"stable-aa\"\n"});
}

TEST_F(TrainCommand, AConfigurationFromAPipeCounts) {
  WriteContent(Path("mine.toml"),
               "[train]\nenv = \"classic/acrobot\"\npreset = \"double-dqn\"\nsteps = 0\n");
  const std::string out = Path("run");
  ExpectDone(RunCommand({"bash", "-c",
                         fmt::format("{} train --config <(cat '{}') --out '{}'",
                                     STABLEAA_PROGRAM_PATH, Path("mine.toml"), out)}));
  ExpectWords(FileContent(out + "/config.toml"),
              {"classic/acrobot", "\nbackup = \"double\"\n", "\nkind = \"adam\"\n"});
}

// The user may name a pipe that nobody writes to; Ctrl-C ends the wait for it.
TEST_F(TrainCommand, WaitingForAPipeCanBeInterrupted) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  Training training({"--config", Path("pipe"), "--out", Path("run")});
  SleepFor(0.3);
  EXPECT_TRUE(training.IsRunning());
  training.Signal(SIGINT);
  EXPECT_EQ(training.Wait().exit_code, -SIGINT);
  EXPECT_FALSE(fs::exists(Path("run")));
}

TEST_F(TrainCommand, KeysWithoutEffectGetOneWarning) {
  const Arguments base = {"--env", "classic/cartpole", "--preset", "dqn", "--steps", "0", "--out"};
  const auto warnings = [&](const std::string& out, const Arguments& more) {
    return Warnings(Train(base + Arguments{Path(out)} + more));
  };
  using Messages = std::vector<std::string>;
  EXPECT_EQ(warnings("none", {}), Messages());
  EXPECT_EQ(warnings("eta", Sets({"agent.eta=0.5"})),
            Messages{"agent.eta (--set) has no effect: agent.mixer = \"single\""});
  // Even its default value warns: whoever sets it expects an effect.
  EXPECT_EQ(warnings("default", Sets({"agent.eta=0.1"})),
            Messages{"agent.eta (--set) has no effect: agent.mixer = \"single\""});
  EXPECT_EQ(warnings("twice", Sets({"agent.eta=0.5", "agent.eta=0.6"})).size(), 1U);
  EXPECT_EQ(warnings("kwargs", Sets({"env.kwargs.size=5"})),
            Messages{"env.kwargs (--set) has no effect: classic/cartpole does not use it"});
  WriteContent(Path("mine.toml"),
               "[agent]\neta = 0.5\ndamping = 0.1\ntargets = 7\n[env]\nprotocol = \"machado\"\n"
               "sticky = -1\n[optimizer]\nalpha = 0.5\n");
  // A file counts only where it differs.
  EXPECT_EQ(
      warnings("file", {"--config", Path("mine.toml")}),
      (Messages{fmt::format("env.protocol ({}:6) has no effect: classic/cartpole does not use "
                            "it",
                            Path("mine.toml")),
                fmt::format("agent.targets ({0}:4), agent.eta ({0}:2) have no effect: "
                            "agent.mixer = \"single\"",
                            Path("mine.toml")),
                fmt::format("optimizer.alpha ({}:9) has no effect: optimizer.kind = \"adam\"",
                            Path("mine.toml"))}));
  // Values from presets and families are not the user's settings.
  EXPECT_EQ(Warnings(Train({"--env", "minatar/breakout", "--steps", "0", "--out", Path("plain")})),
            Messages());
}

TEST_F(TrainCommand, ARunsOwnConfigurationGivesNoWarnings) {
  for (const char* const env : {"classic/cartpole", "minatar/breakout"}) {
    for (const char* const preset : {"dqn", "stable-aa"}) {
      const std::string out = Path(fmt::format("{}{}", env, preset));
      ExpectDone(Train({"--env", env, "--preset", preset, "--steps", "0", "--out", out}));
      const std::string again = out + "again";
      EXPECT_TRUE(Warnings(Train({"--config", out + "/config.toml", "--out", again})).empty());
      EXPECT_EQ(FileContent(again + "/config.toml"), FileContent(out + "/config.toml"));
    }
  }
}

TEST_F(TrainCommand, NumbersMayHaveAnExponentAndSeparators) {
  WriteContent(Path("mine.toml"), "[eval]\ninterval_steps = 1e3\n[replay]\nsize = 2.5e3\n");
  const std::string out = Path("run");
  ExpectDone(Train({"--env", "classic/cartpole", "--steps", "1e1", "--seed",
                    "9_007_199_254_740_993", "--threads", "1e0", "--config", Path("mine.toml"),
                    "--set", "checkpoint.interval_steps=1e5", "--out", out}));
  ExpectWords(FileContent(out + "/config.toml"),
              {"\nsteps = 10\n", "\nseed = 9007199254740993\n", "\nthreads = 1\n",
               "\ninterval_steps = 1000\n", "\nsize = 2500\n", "\ninterval_steps = 100000\n"});
  ExpectDone(Train({"--resume", out, "--steps", "2e1"}));
  EXPECT_EQ(StepOf(out), 20);
}

TEST_F(TrainCommand, ArgumentsOfTheEnvironmentAreKept) {
  const std::string out = Path("run");
  ExpectDone(Train({"--env", "classic/cartpole", "--steps", "0", "--set",
                    "env.kwargs={size=5, names=[\"a\"], deep={x=1.5}}", "--out", out}));
  ExpectWords(FileContent(out + "/config.toml"),
              {"\nkwargs = {deep = {x = 1.5}, names = [\"a\"], size = 5}\n"});
  ExpectDone(Train({"--resume", out, "--steps", "1"}));
}

// --- What a run prints ---------------------------------------------------------------------------

TEST_F(TrainCommand, TheNetworkIsTold) {
  const std::string out = Path("run"), start = "stableaa: network: ";
  const Outcome begun = Train({"--env", "classic/cartpole", "--preset", "dqn", "--set",
                               "network.hidden=[16]", "--steps", "0", "--out", out});
  ExpectDone(begun);
  const std::vector<std::string> told = Said(begun, start);
  ASSERT_EQ(told.size(), 1U) << begun.err;
  EXPECT_EQ(told[0], "vector(4) linear(16) relu linear(2); 114 parameters");
  const Outcome resumed = Train({"--resume", out, "--steps", "1"});
  ExpectDone(resumed);
  EXPECT_EQ(Said(resumed, start), told);
}

TEST_F(TrainCommand, MetricsTellWhatHappened) {
  const fs::path run = Start("run", kCartpole + Sets({"train.log_interval_steps=140"}));
  const Table metrics(run / "metrics.csv"), episodes(run / "episodes.csv");
  for (const char* const column :
       {"step", "update", "epsilon", "loss", "td_abs", "q_mean", "learning_rate", "damping", "gain",
        "tau_norm", "condition", "alpha_1", "alpha_5", "eval_return_mean", "eval_return_std",
        "wall_steps_per_second", "wall_memory_bytes"}) {
    EXPECT_NE(metrics.Find(column), nullptr) << column;
  }
  std::vector<std::string> names;
  for (const auto& [name, cells] : episodes.columns()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"episode", "step", "return", "length", "terminated",
                                             "truncated"}));

  std::set<int> steps;
  for (int step = 140; step <= 1500; step += 140) steps.insert(step);
  for (int step = 300; step <= 1500; step += 300) steps.insert(step);
  ASSERT_EQ(metrics.rows(), steps.size());
  std::size_t row = 0, episode = 0;
  for (const int step : steps) {
    EXPECT_EQ(metrics["step"][row], std::to_string(step));
    EXPECT_EQ(metrics["update"][row], std::to_string(step - 100));
    EXPECT_NEAR(std::stod(metrics["epsilon"][row]), 1 - .95 * std::min(1., step / 500.), 1e-12);
    EXPECT_EQ(metrics["eval_return_mean"][row] != "", step % 300 == 0) << step;
    EXPECT_EQ(metrics["eval_return_std"][row] != "", step % 300 == 0) << step;
    EXPECT_TRUE(std::isfinite(std::stod(metrics["loss"][row])));
    const int shifts = (step - 100) / 100;
    double alphas = 0;
    for (int k = 1; k <= 5; ++k) {
      const std::string& alpha = metrics[fmt::format("alpha_{}", k)][row];
      const bool exists = k > 5 - std::max(1, std::min(5, shifts));
      EXPECT_TRUE(exists || alpha.empty()) << step << ' ' << k;
      if (!alpha.empty()) alphas += std::stod(alpha);
    }
    if (shifts > 0) {
      EXPECT_NEAR(alphas, 1, 1e-9) << step;
    }

    // The episodes since the previous row.
    double returns = 0, count = 0;
    for (; episode < episodes.rows() && std::stoi(episodes["step"][episode]) <= step; ++episode) {
      returns += std::stod(episodes["return"][episode]);
      ++count;
    }
    EXPECT_EQ(metrics["episodes"][row], std::to_string(episode));
    if (count == 0) {
      EXPECT_EQ(metrics["return_mean"][row], "");
    } else {
      EXPECT_NEAR(std::stod(metrics["return_mean"][row]), returns / count, 1e-9);
    }
    ++row;
  }

  int end = 0;
  for (std::size_t i = 0; i < episodes.rows(); ++i) {
    EXPECT_EQ(episodes["episode"][i], std::to_string(i + 1));
    end += std::stoi(episodes["length"][i]);
    EXPECT_EQ(std::stoi(episodes["step"][i]), end);
    EXPECT_EQ(episodes["return"][i], episodes["length"][i]) << "CartPole pays 1 per step";
    EXPECT_NE(episodes["terminated"][i], episodes["truncated"][i]);
  }
  EXPECT_GT(episodes.rows(), 10U);
  EXPECT_EQ(EventRecords(run / "events.out.tfevents.0.stableaa"),
            static_cast<int>(metrics.rows()) + 1);
}

TEST_F(TrainCommand, TheBestWeightsAreThoseOfTheBestEvaluation) {
  const fs::path run = Start("run", kCartpole);
  const Table metrics(run / "metrics.csv");
  double best = -1;
  std::string step;
  for (std::size_t row = 0; row < metrics.rows(); ++row) {
    const std::string& value = metrics["eval_return_mean"][row];
    if (value.empty() || std::stod(value) <= best) continue;
    best = std::stod(value);
    step = metrics["step"][row];
  }
  EXPECT_NE(FileContent(run / "weights/best.safetensors")
                .find(fmt::format("\"stableaa.step\":\"{}\"", step)),
            std::string::npos);
  EXPECT_NE(FileContent(run / "weights/latest.safetensors").find("\"stableaa.step\":\"1500\""),
            std::string::npos);
}

}  // namespace stableaa::train_command_test
