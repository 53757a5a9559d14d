// env.wrappers and images of any size through the whole program: train, resume, eval, play and env
// rollout with sample_wrappers_test.py.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/cli/train_runs_test.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::wrapped_environments_test {

namespace fs = std::filesystem;

const std::string kPixels = "gymnasium/sample_wrappers_test:Pixels-v0";
const std::string kStack = R"-(env.wrappers=["FrameStackObservation(stack_size=2)"])-";

class WrappedEnvironments : public TrainCommand {
 protected:
  void SetUp() override {
    if (!HasAtari()) GTEST_SKIP() << "scripts/atari makes a Python with Gymnasium";
    ::setenv("PYTHONPATH", STABLEAA_WRAPPERS_PATH, 1);
    ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  }
  void TearDown() override { ::unsetenv("PYTHONPATH"); }

  // A short run that checkpoints and evaluates.
  static Arguments Short(const std::string& env, const std::vector<std::string>& sets, int steps) {
    return Arguments{"--env", env, "--steps", std::to_string(steps)} +
           Sets({kPython, "network.hidden=[16]", "train.batch=4", "replay.start=20",
                 "replay.size=300", "agent.weights.batch=8", "train.update_interval_steps=4",
                 "agent.target_interval_updates=10", "eval.interval_steps=60", "eval.episodes=1",
                 "train.log_interval_steps=20", "checkpoint.interval_steps=20",
                 "env.max_episode_steps=15"}) +
           Sets(sets);
  }

  nlohmann::json RunJson(const fs::path& run) const {
    return nlohmann::json::parse(FileContent(run / "run.json"));
  }

  // Kills a run after its first checkpoints, resumes it and compares it with one left alone.
  void ExpectAKillToChangeNothing(const std::string& env, const std::vector<std::string>& sets) {
    const fs::path straight = Start("straight", Short(env, sets, 150));
    const fs::path killed = Path("killed");
    {
      Training training(Short(env, sets, 150) + kOneThread + Arguments{"--out", killed.string()});
      training.Until([&] { return fs::exists(killed / "metrics.csv") && StepOf(killed) >= 40; });
      training.Signal(SIGKILL);
      training.Wait();
    }
    ExpectDone(Train({"--resume", killed.string(), "--trust", "--threads", "2"}));
    ExpectSameResults(killed, straight);
  }
};

TEST_F(WrappedEnvironments, TrainResumeEvaluateAndPlayWithTheSameWrappers) {
  ExpectAKillToChangeNothing("gymnasium/CartPole-v1", {kStack});
  const nlohmann::json description = RunJson(Path("straight"));
  EXPECT_EQ(description["observation"], "float 2x4");
  EXPECT_EQ(description["protocol"], "as Gymnasium's, in FrameStackObservation(stack_size=2)");
  EXPECT_NE(FileContent(Path("straight/config.toml"))
                .find(R"-(wrappers = ["FrameStackObservation(stack_size=2)"])-"),
            std::string::npos);
  // Gymnasium's own wrappers need no --trust; the tests' Python may.
  const Arguments python = Sets({kPython});
  for (const std::string& agent :
       {Path("straight"), Path("straight") + "/weights/latest.safetensors"}) {
    const Outcome eval = Stableaa(Arguments{"eval", agent, "--episodes", "2", "--json"} + python);
    EXPECT_EQ(eval.exit_code, 0) << eval.err;
    const Outcome without = Stableaa(Arguments{"eval", agent, "--set", "env.wrappers=[]"} + python);
    ExpectWords(ErrorOf(without, 2), {"the network takes 8 numbers", "shows 4 numbers"});
  }
}

TEST_F(WrappedEnvironments, TakePartInRollouts) {
  const Outcome rollout =
      Stableaa(Arguments{"env", "rollout", "gymnasium/CartPole-v1", "--episodes", "3", "--json",
                         "--set", "env.wrappers=TimeLimit(max_episode_steps=4)"} +
               Sets({kPython}));
  EXPECT_EQ(rollout.exit_code, 0) << rollout.err;
  EXPECT_EQ(nlohmann::json::parse(rollout.out)["length_mean"], 4);
}

TEST_F(WrappedEnvironments, ShowImagesOfAnySizeToANetworkThatFits) {
  ExpectAKillToChangeNothing(kPixels, {});
  const nlohmann::json description = RunJson(Path("straight"));
  EXPECT_EQ(description["network"],
            "frames(3, 40, 60, 255) conv(32, 4, 2) relu conv(64, 4, 2) relu conv(64, 3, 1) relu "
            "flatten dueling{linear(512) relu linear(1) | linear(512) relu linear(2)}");
  const Outcome play = Stableaa(
      Arguments{"play", Path("straight"), "--episodes", "1", "--trust", "--gif", Path("v.gif")});
  EXPECT_EQ(play.exit_code, 0) << play.err;
}

TEST_F(WrappedEnvironments, ShowImagesOfFloatsToo) {
  ExpectAKillToChangeNothing(kPixels,
                             {"env.kwargs={shape=[30, 30], floats=true}", "agent.head=plain"});
  EXPECT_EQ(RunJson(Path("straight"))["network"],
            "images(1, 30, 30, 1) conv(32, 4, 2) relu conv(64, 4, 2) relu conv(64, 3, 1) relu "
            "flatten linear(512) relu linear(2)");
  const Outcome eval = Stableaa({"eval", Path("straight") + "/weights/latest.safetensors",
                                 "--trust", "--set", kPython, "--episodes", "1"});
  EXPECT_EQ(eval.exit_code, 0) << eval.err;
}

TEST_F(WrappedEnvironments, AnnounceTheNetworkOfImages) {
  const auto said = [&](const std::vector<std::string>& sets) {
    fs::remove_all(Path("run"));
    return Train(Short(kPixels, sets, 10) + kOneThread + Arguments{"--out", Path("run")}).err;
  };
  EXPECT_NE(said({}).find("chosen for images of 40x60, network.layers overrides it"),
            std::string::npos);
  const std::string own = said({"network.layers=conv(4, 8, 8) relu flatten"});
  EXPECT_EQ(own.find("chosen for"), std::string::npos) << own;
  EXPECT_NE(own.find("conv(4, 8, 8) relu flatten dueling"), std::string::npos) << own;
  const std::string two = said({"env.kwargs={shape=[2, 9, 3]}"});
  EXPECT_NE(two.find("frames(3, 2, 9, 255) flatten"), std::string::npos) << two;
}

TEST_F(WrappedEnvironments, ThatCannotBeAreOneLineAndNothingIsWritten) {
  const auto refused = [&](const std::string& env, const std::vector<std::string>& sets) {
    const std::string message =
        ExpectError(Train(Short(env, sets, 10) + kOneThread + Arguments{"--out", Path("run")}), 2);
    EXPECT_EQ(Names(), std::set<std::string>{}) << message;
    return message;
  };
  const std::string pole = "gymnasium/CartPole-v1";
  ExpectWords(refused(pole, {"env.wrappers=FrameStak"}), {"did you mean 'FrameStackObservation'?"});
  ExpectWords(refused(pole, {"env.wrappers=nowhere.Crop"}), {"nowhere", "cannot be imported"});
  ExpectWords(refused(pole, {"env.wrappers=sample_wrappers_test.Raises"}),
              {"ValueError: no init at all; raised at "});
  ExpectWords(refused(pole, {R"-(env.wrappers=["sample_wrappers_test.Raises('reset')"])-"}),
              {"no episode can begin with env.wrappers: ValueError: no reset at all"});
  ExpectWords(refused(pole, {"env.wrappers=sample_wrappers_test.Unlike"}), {"Sequence"});
  ExpectWords(refused(pole, {"env.wrappers=ResizeObservation(shape=(84, 84))"}),
              {"env.wrappers: expected wrappers such as", "each in quotes"});
  ExpectWords(refused(pole, {"env.wrappers=5"}), {"env.wrappers"});
  ExpectWords(refused("classic/cartpole", {"env.wrappers=ClipReward"}),
              {"classic/cartpole takes no wrappers, only gymnasium/"});
  ExpectWords(refused("atari/pong", {"env.wrappers=ClipReward"}), {"takes no wrappers"});
}

TEST_F(WrappedEnvironments, ThatFailLaterAreAFailureOfTheWork) {
  const Outcome outcome =
      Train(Short("gymnasium/CartPole-v1",
                  {R"-(env.wrappers=["sample_wrappers_test.Raises(where='step')"])-"}, 10) +
            kOneThread + Arguments{"--out", Path("run")});
  ExpectWords(ErrorOf(outcome, 1), {"ValueError: no step at all; raised at "});
}

TEST_F(WrappedEnvironments, ThatNormaliseGetAWarningAndCannotBeResumed) {
  for (const std::string name : {"NormalizeObservation", "NormalizeReward"}) {
    const Outcome outcome = Train(Short("gymnasium/CartPole-v1", {"env.wrappers=" + name}, 60) +
                                  kOneThread + Arguments{"--out", Path(name)});
    ExpectDone(outcome);
    ExpectWords(outcome.err, {"warning: env.wrappers: gymnasium.wrappers." + name +
                              ": this run cannot be resumed, and evaluations normalise by "
                              "themselves"});
    ExpectWords(ExpectError(Train({"--resume", Path(name), "--steps", "90"}), 1),
                {"gymnasium.wrappers." + name + " has statistics of earlier episodes"});
  }
  const Outcome plain = Train(Short("gymnasium/CartPole-v1", {kStack}, 10) + kOneThread +
                              Arguments{"--out", Path("plain")});
  EXPECT_EQ(plain.err.find("cannot be resumed"), std::string::npos) << plain.err;
}

TEST_F(WrappedEnvironments, ThatLackAPackageAreAFailureOfTheWork) {
  const Outcome outcome =
      Train(Short("gymnasium/CartPole-v1", {"env.wrappers=sample_wrappers_test.NeedsPackage"}, 10) +
            kOneThread + Arguments{"--out", Path("run")});
  ExpectWords(ExpectError(outcome, 1), {"NeedsPackage: paint is not installed"});
  EXPECT_EQ(Names(), std::set<std::string>{});
}

// A suite that names what is not there is refused before anything is written.
TEST_F(WrappedEnvironments, OfASuiteMustExist) {
  const auto sweep = [this](const std::string& setting) {
    WriteContent(Path("suite.toml"),
                 fmt::format("env = \"gymnasium/CartPole-v1\"\nseeds = 2\nstop.steps = 20\n[set]\n"
                             "env.python = \"{}\"\nnetwork.hidden = [8]\n{}\n",
                             STABLEAA_ATARI_PYTHON, setting));
    return Stableaa({"sweep", Path("suite.toml"), "--out", Path("out"), "--no-estimate"});
  };
  ExpectWords(ExpectError(sweep("env.wrappers = [\"nomod.X\"]"), 2),
              {"gymnasium/CartPole-v1: env.wrappers: nomod.X cannot be imported"});
  EXPECT_FALSE(fs::exists(Path("out")));
  ExpectWords(ExpectError(sweep("env.kwargs.foo = 1"), 2), {"env.kwargs {\"foo\": 1}"});
  EXPECT_FALSE(fs::exists(Path("out")));
}

TEST_F(WrappedEnvironments, OfOthersAreRunOnlyIfTrusted) {
  const std::vector<std::string> sets = {R"-(env.wrappers=["sample_wrappers_test.Scale(by=2)"])-"};
  const fs::path run = Start("run", Short("gymnasium/CartPole-v1", sets, 30));
  const Arguments python = Sets({kPython});
  for (const std::string& agent :
       {run.string(), (run / "weights" / "latest.safetensors").string()}) {
    const Arguments eval = Arguments{"eval", agent, "--episodes", "1"} + python;
    ExpectWords(
        ExpectError(Stableaa(eval), 2),
        {"names the wrapper 'sample_wrappers_test.Scale' (env.wrappers), whose code is not run",
         R"-(name it yourself: --set 'env.wrappers=["sample_wrappers_test.Scale(by=2)"]')-"});
    EXPECT_EQ(Stableaa(eval + Arguments{"--trust"}).exit_code, 0);
    EXPECT_EQ(Stableaa(eval + Sets(sets)).exit_code, 0);
  }
  ExpectWords(ExpectError(Train({"--resume", run.string(), "--steps", "40"}), 2),
              {"the wrapper 'sample_wrappers_test.Scale'", "--trust"});
  ExpectDone(Train({"--resume", run.string(), "--steps", "40", "--trust"}));
}

}  // namespace stableaa::wrapped_environments_test
