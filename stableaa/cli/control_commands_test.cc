// Agents with continuous actions in all commands: eval, play, export, train --from, sweep, bench; and
// what they refuse.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/cli/train_runs_test.h"
#include "stableaa/core/random.h"
#include "stableaa/nn/parameters.h"
#include "stableaa/nn/plan.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/nn/spec.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::control_commands_test {

using Json = nlohmann::json;

const Arguments kSmall =
    Arguments{"--env", "classic/pendulum", "--steps", "300", "--threads", "1"} +
    Sets({"network.hidden=[6,5]", "train.batch=8", "replay.start=100", "agent.weights.batch=24",
          "agent.target_interval_updates=40", "eval.interval_steps=150", "eval.episodes=2",
          "env.max_episode_steps=50", "train.log_interval_steps=50"});

// A tensor of another program's file, of numbers that do not matter.
struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
};

void WriteForeign(const std::string& path, const std::vector<Tensor>& tensors) {
  Json header;
  std::string data;
  for (const Tensor& tensor : tensors) {
    std::int64_t bytes = 4;
    for (const std::int64_t side : tensor.shape) bytes *= side;
    header[tensor.name] = {{"dtype", "F32"},
                           {"shape", tensor.shape},
                           {"data_offsets", {data.size(), data.size() + bytes}}};
    for (std::int64_t k = 0; k < bytes; k += 4) {
      const auto value = static_cast<float>((k / 4 + 3 * tensor.shape[0]) % 7 - 3) / 8;
      data.append(reinterpret_cast<const char*>(&value), 4);
    }
  }
  const std::string text = header.dump();
  const auto size = static_cast<std::uint64_t>(text.size());
  WriteContent(path, std::string(reinterpret_cast<const char*>(&size), 8) + text + data);
}

class ControlCommands : public TrainCommand {
 protected:
  std::string Trained(const std::string& preset, const Arguments& more = {}) const {
    const std::string out = Path(preset);
    ExpectDone(Train(kSmall + Arguments{"--preset", preset, "--out", out} + more));
    return out;
  }
  static Json Eval(const Arguments& arguments) {
    const Outcome outcome = Stableaa(Arguments{"eval"} + arguments + Arguments{"--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  }
  // Of a command that makes nothing.
  std::string Refusal(const Arguments& arguments) const {
    const Snapshot before = SnapshotOf(folder_.path());
    const std::string message = ErrorOf(Stableaa(arguments), 2);
    ExpectUnchanged(folder_.path(), before);
    return message;
  }
};

TEST_F(ControlCommands, AnAgentPlaysTheSameFromItsRunAndFromItsWeightsAlone) {
  for (const std::string preset : {"td3", "sac", "td3-stable"}) {
    SCOPED_TRACE(preset);
    const std::string run = Trained(preset);
    const Json of_run = Eval({run, "--episodes", "3"});
    EXPECT_EQ(of_run["epsilon"], 0);
    EXPECT_EQ(of_run["env"], "classic/pendulum");
    EXPECT_EQ(of_run["weights_step"], 300);
    const Json alone = Eval({run + "/weights/latest.safetensors", "--episodes", "3", "--set",
                             "env.max_episode_steps=50"});
    EXPECT_EQ(alone["returns"], of_run["returns"]);
    EXPECT_EQ(alone["epsilon"], 0);
    EXPECT_NE(Eval({run, "--episodes", "3", "--epsilon", "1"})["returns"], of_run["returns"]);
    EXPECT_EQ(Stableaa({"play", run, "--gif", Path("game.gif"), "--episodes", "1"}).exit_code, 0);
    EXPECT_TRUE(FileContent(Path("game.gif")).starts_with("GIF89a"));
    ExpectOutput(
        Stableaa({"eval", run, "--episodes", "1", "--trace", Path("trace.npz"), "--json"}));
    const std::string trace = FileContent(Path("trace.npz"));
    EXPECT_NE(trace.find("actions.npy"), std::string::npos);
    EXPECT_EQ(trace.find("q_values"), std::string::npos);
  }
}

TEST_F(ControlCommands, ExportWritesAModelOfActions) {
  const std::string run = Trained("sac");
  const std::string out = ExpectOutput(Stableaa({"export", run, "--onnx", Path("a.onnx")}));
  ExpectWords(out, {"observation  float32 [batch, 3]\n", "actions      float32 [batch, 1]\n"});
  const Json json =
      Json::parse(ExpectOutput(Stableaa({"export", run, "--onnx", Path("b.onnx"), "--json"})));
  EXPECT_EQ(json["output"], "actions");
  EXPECT_EQ(json["action_shape"], Json::array({1}));
  EXPECT_FALSE(json.contains("actions"));
  const std::string model = FileContent(Path("a.onnx"));
  EXPECT_TRUE(model == FileContent(Path("b.onnx")));
  ExpectWords(model, {"actions", "Tanh", "Slice", "stableaa.preset", "classic/pendulum"});
  EXPECT_EQ(model.find("q_values"), std::string::npos);
}

TEST_F(ControlCommands, WeightsOfAnotherBoxAreRefused) {
  const std::string td3 = Trained("td3"), sac = Trained("sac");
  ExpectWords(Refusal({"eval", td3, "--env", "classic/cartpole"}),
              {"the network takes 3 numbers and gives continuous actions (1)",
               "classic/cartpole shows 4 numbers and has 2 actions"});
  ExpectWords(Refusal({"export", td3, "--env", "minatar/breakout", "--onnx", Path("x.onnx")}),
              {"the network takes 3 numbers"});
  // As the first weights of another agent.
  const Arguments train = Arguments{"train"} + kSmall + Arguments{"--out", Path("out")};
  ExpectWords(Refusal(train + Arguments{"--preset", "td3", "--from", sac}),
              {"expected shape [1, 5]", "tanh"});
  ExpectWords(Refusal(train + Arguments{"--preset", "sac", "--from", td3}),
              {"expected shape [2, 5]"});
  ExpectWords(
      Refusal(train + Arguments{"--preset", "td3", "--from", td3} + Sets({"network.hidden=[6,4]"})),
      {"layers.2.weight", "[5, 6]", "[4, 6]"});
  ExpectDone(Train(kSmall + Arguments{"--preset", "ddpg", "--from", td3, "--out", Path("out")}));
}

// SAC's actor of one element has the shape of a network of values of two actions.
TEST_F(ControlCommands, ActorsAreNotTakenForNetworksOfValues) {
  const std::string file = Path("weights.safetensors");
  Parameters parameters(
      std::make_shared<const Plan>(MakePlan(ParseSpec("vector(4) linear(6) relu linear(2)"))));
  RandomStream random(1, "weights");
  parameters.Initialise(random);
  const auto write = [&](const WeightsMetadata& metadata) {
    std::filesystem::remove(file);
    WriteWeights(file, parameters, metadata);
  };
  const Arguments eval = {"eval", file, "--env", "classic/cartpole", "--episodes", "1"};
  const Arguments train =
      Arguments{"train", "--env", "classic/cartpole", "--preset", "dqn", "--steps", "5", "--from",
                file,    "--out", Path("out")} +
      Sets({"network.hidden=[6]"});
  write({{"stableaa.preset", "sac"}, {"stableaa.algorithm", "sac"}});
  ExpectWords(Refusal(eval), {"gives continuous actions (1)", "has 2 actions"});
  ExpectWords(Refusal(eval + Sets({"agent.algorithm=dqn"})), {"says itself which network"});
  ExpectWords(Refusal(train),
              {"expected a network of values", "agent.algorithm = dqn", "an actor"});
  write({{"stableaa.preset", "dqn"}});
  ExpectWords(Refusal(eval + Sets({"agent.algorithm=sac"})), {"says itself which network"});
  EXPECT_EQ(Eval({file, "--env", "classic/cartpole", "--episodes", "1"})["episodes"], 1);
  // Of another program, which does not say what it is.
  write({});
  EXPECT_EQ(Eval({file, "--env", "classic/cartpole", "--episodes", "1"})["episodes"], 1);
  ExpectWords(Refusal(eval + Sets({"agent.algorithm=sac"})), {"gives continuous actions (1)"});
  ExpectDone(Stableaa(train));
}

TEST_F(ControlCommands, FirstWeightsAreWhereTheActorBegins) {
  const std::string td3 = Trained("td3");
  Arguments none = kSmall;
  *(std::ranges::find(none, "--steps") + 1) = "90";  // before learning
  ExpectDone(Train(none + Arguments{"--preset", "td3-raa", "--from", td3, "--out", Path("from")}));
  EXPECT_EQ(Eval({Path("from"), "--episodes", "2"})["returns"],
            Eval({td3, "--episodes", "2"})["returns"]);
}

// Names as Stable-Baselines3 and CleanRL have them.
TEST_F(ControlCommands, ActorsOfOtherProgramsPlay) {
  const std::string file = Path("foreign.safetensors");
  const Arguments with = {"--env", "classic/pendulum",    "--episodes", "1",
                          "--set", "network.hidden=[6,5]"};
  const auto evaluated = [&](const std::string& algorithm) {
    return Arguments{"eval", file, "--set", "agent.algorithm=" + algorithm} + with;
  };
  WriteForeign(file, {{"actor.mu.0.weight", {6, 3}},
                      {"actor.mu.0.bias", {6}},
                      {"actor.mu.2.weight", {5, 6}},
                      {"actor.mu.2.bias", {5}},
                      {"actor.mu.4.weight", {1, 5}},
                      {"actor.mu.4.bias", {1}}});
  const Outcome played = Stableaa(evaluated("td3"));
  EXPECT_EQ(played.exit_code, 0) << played.err;
  ExpectWords(played.err, {"actor.mu.0 as layers.0", "actor.mu.4 as layers.4"});
  ExpectWords(played.out, {"epsilon 0,"});
  ExpectDone(Train(kSmall + Arguments{"--preset", "td3", "--from", file, "--out", Path("out")}));
  // Without a word on whose they are, of another kind, or of another size.
  ExpectWords(Refusal(Arguments{"eval", file} + with),
              {"does not say whose actor it is", "set agent.algorithm to ddpg, td3 or sac"});
  ExpectWords(Refusal(evaluated("sac")), {"'actor.mu.4.", "linear(2)"});
  ExpectWords(Refusal({"eval", file, "--set", "agent.algorithm=td3", "--env", "classic/pendulum",
                       "--set", "network.hidden=[7,5]"}),
              {"actor.mu.0", "7"});

  WriteForeign(file, {{"fc1.weight", {6, 3}},
                      {"fc1.bias", {6}},
                      {"fc2.weight", {5, 6}},
                      {"fc2.bias", {5}},
                      {"fc_mu.weight", {1, 5}},
                      {"fc_mu.bias", {1}}});
  EXPECT_EQ(Stableaa(evaluated("ddpg")).exit_code, 0);
  // CleanRL's SAC has two layers where ours has one.
  WriteForeign(file, {{"fc1.weight", {6, 3}},
                      {"fc1.bias", {6}},
                      {"fc2.weight", {5, 6}},
                      {"fc2.bias", {5}},
                      {"fc_mean.weight", {1, 5}},
                      {"fc_mean.bias", {1}},
                      {"fc_logstd.weight", {1, 5}},
                      {"fc_logstd.bias", {1}}});
  ExpectWords(Refusal(evaluated("sac")), {"fc_", "does not fit"});
}

TEST_F(ControlCommands, PresetsAndEnvironmentsThatDoNotFitAreRefusedInOneLine) {
  const std::string fit_continuous = "presets that fit: ddpg, sac, sac-raa, sac-stable, td3";
  const std::string fit_numbered = "presets that fit: averaged-dqn, deepmellow, double-dqn, dqn";
  const Arguments out = {"--out", Path("out")};
  for (const std::string preset : {"dqn", "stable-aa"}) {
    ExpectWords(Refusal(Arguments{"train", "--preset", preset, "--env", "classic/pendulum"} + out),
                {"classic/pendulum has continuous actions", preset, fit_continuous});
  }
  for (const std::string preset : {"td3", "sac-stable"}) {
    for (const std::string env : {"classic/cartpole", "minatar/breakout"}) {
      ExpectWords(Refusal(Arguments{"train", "--preset", preset, "--env", env} + out),
                  {env + " has numbered actions", preset, fit_numbered});
    }
  }
  // A single key decides too.
  ExpectWords(Refusal(Arguments{"train", "--preset", "dqn", "--env", "classic/cartpole", "--set",
                                "agent.algorithm=sac"} +
                      out),
              {"classic/cartpole has numbered actions", "agent.algorithm = sac"});
  ExpectDone(Train(kSmall + Arguments{"--preset", "dqn"} + Sets({"agent.algorithm=td3"}) + out));
  ExpectWords(Refusal({"bench", "train", "--preset", "dqn", "--env", "classic/pendulum"}),
              {fit_continuous});
  ExpectWords(Refusal({"bench", "train", "--preset", "td3", "--env", "classic/cartpole"}),
              {fit_numbered});
  WriteContent(Path("suite.toml"),
               "env = \"classic/pendulum\"\naxes.preset = [\"td3\", \"dqn\"]\nstop.steps = 100\n");
  for (const Arguments& dry : {Arguments{}, Arguments{"--dry-run"}}) {
    ExpectWords(Refusal(Arguments{"sweep", Path("suite.toml"), "--out", Path("sweep")} + dry),
                {"suite.toml", "classic-pendulum-dqn-1", fit_continuous});
  }
}

TEST_F(ControlCommands, KeysWithoutEffectAreWarnedOf) {
  const Arguments td3 = kSmall + Arguments{"--preset", "td3", "--out", Path("out")};
  const Outcome outcome =
      Train(td3 + Sets({"agent.head=dueling", "control.temperature=0.3", "control.polyak=0.01"}));
  ExpectDone(outcome);
  ExpectWords(outcome.err, {"agent.head (--set), control.temperature (--set) have no effect: "
                            "agent.algorithm = \"td3\""});
  EXPECT_EQ(outcome.err.find("control.polyak"), std::string::npos) << outcome.err;
}

TEST_F(ControlCommands, DivergenceIsToldAndLeavesTheCheckpoint) {
  const std::string out = Path("run");
  const Outcome outcome =
      Train(kSmall + Arguments{"--preset", "td3", "--out", out} +
            Sets({"optimizer.learning_rate=1000", "network.hidden=[32,32,32,32,32,32,32,32]",
                  "checkpoint.interval_steps=50"}));
  const std::string message = ErrorOf(outcome, 1);
  const std::string diagnosis = out + "/diverged.npz";
  ExpectWords(message, {"diverged in step 1", "critic", diagnosis});
  ExpectWords(FileContent(diagnosis), {"actor.npy", "critic_1.npy", "critic_2.npy", "targets.npy"});
  EXPECT_EQ(StepOf(out), 100);
  // The checkpoint is intact: resuming from it fails in the same way.
  EXPECT_EQ(ErrorOf(Train({"--resume", out}), 1), message);
  EXPECT_EQ(StepOf(out), 100);
}

TEST_F(ControlCommands, TunedValuesAreShownAndLaterSourcesWin) {
  const auto shown = [&](const Arguments& more) {
    return Json::parse(
        ExpectOutput(Stableaa(Arguments{"config", "show", "--preset", "td3", "--json"} + more)));
  };
  const Arguments pendulum = {"--env", "classic/pendulum"};
  const Json tuned = shown(pendulum);
  EXPECT_EQ(tuned["optimizer.learning_rate"], "linear(0.001, 1e-04, 20000)");
  EXPECT_EQ(tuned["agent.discount"], .98);
  EXPECT_EQ(tuned["control.policy_delay"], 2);
  EXPECT_EQ(shown({"--env", "gymnasium/Hopper-v5"})["optimizer.learning_rate"], 3e-4);
  WriteContent(Path("my.toml"), "[optimizer]\nlearning_rate = 0.25\n");
  EXPECT_EQ(shown(pendulum + Arguments{"--config", Path("my.toml")})["optimizer.learning_rate"],
            .25);
  EXPECT_EQ(shown(pendulum + Arguments{"--config", Path("my.toml")} +
                  Sets({"optimizer.learning_rate=0.5"}))["optimizer.learning_rate"],
            .5);
}

TEST_F(ControlCommands, BenchmarksHaveTheContractsFields) {
  const auto measured = [](const Arguments& arguments) {
    const Outcome outcome = Stableaa(Arguments{"bench"} + arguments + Arguments{"--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  };
  const Json train = measured(
      Arguments{"train", "--preset", "td3", "--env", "classic/pendulum", "--seconds", "0.2"} +
      Sets({"train.batch=8", "network.hidden=[8]", "replay.start=50"}));
  EXPECT_EQ(train["preset"], "td3");
  EXPECT_EQ(train["env"], "classic/pendulum");
  EXPECT_GT(train["steps_per_second"], 0);
  double shares = 0;
  for (const char* const part :
       {"environment", "acting", "sampling", "targets", "gradient", "other"}) {
    shares += train[part].get<double>();
  }
  EXPECT_NEAR(shares, 1, 1e-6);
  const Arguments small = Sets({"train.batch=16", "network.hidden=[8]", "replay.size=2000"});
  for (const std::string preset : {"td3-stable", "sac"}) {
    const Json update =
        measured(Arguments{"update", "--preset", preset} + small +
                 Sets({"agent.target_interval_updates=20", "control.policy_delay=1"}));
    EXPECT_EQ(update["preset"], preset);
    EXPECT_EQ(update["network"], "half_cheetah");
    EXPECT_EQ(update["batch"], 16);
    EXPECT_GT(update["ms_per_update"], 0);
    EXPECT_GT(update["gflops"], 0);
    EXPECT_TRUE(update.contains("sgemm_gflops"));
  }
  EXPECT_GT(measured({"act", "--preset", "sac"})["us_per_action"], 0);
  // A warning is given once.
  const Outcome idle =
      Stableaa(Arguments{"bench", "update", "--preset", "td3"} + small + Sets({"agent.eta=3"}));
  EXPECT_EQ(Lines(idle.err).size(), 1U) << idle.err;
  ExpectWords(Refusal({"bench", "act", "--preset", "td3", "--network", "minatar"}),
              {"--network: minatar is not for preset td3"});
}

TEST_F(ControlCommands, ASweepIsResumedAndReported) {
  WriteContent(Path("suite.toml"), R"(
title = "Control"
env = "classic/pendulum"
seeds = 2
[stop]
steps = 250
[set]
network.hidden = [6, 5]
train.batch = 8
replay.start = 100
agent.weights.batch = 24
agent.target_interval_updates = 40
eval.interval_steps = 50
eval.episodes = 2
env.max_episode_steps = 50
train.log_interval_steps = 25
[axes]
preset = ["td3", "sac", "td3-stable", "td3-raa"]
)");
  const Arguments sweep = {"sweep", Path("suite.toml"), "--out", Path("sweep"), "--jobs", "2"};
  EXPECT_EQ(Stableaa(sweep).exit_code, 0);
  // Longer: the same runs go on.
  const Outcome more = Stableaa(sweep + Sets({"train.steps=400"}));
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(Eval({Path("sweep/classic-pendulum-sac-2"), "--episodes", "1"})["weights_step"], 400);
  const Outcome report = Stableaa({"report", Path("sweep"), "--out", Path("report")});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  const std::string page = FileContent(Path("report/index.html"));
  ExpectWords(page, {"td3-stable", "sac", "Mixing weights"});
}

TEST_F(ControlCommands, RolloutsOfPendulumAreOfRandomTorques) {
  const Outcome outcome =
      Stableaa({"env", "rollout", "classic/pendulum", "--episodes", "3", "--json"});
  const Json result = Json::parse(ExpectOutput(outcome));
  EXPECT_EQ(result["length_mean"], 200);
  EXPECT_LT(result["return_mean"], -700);
  EXPECT_GT(result["return_mean"], -1900);
}

}  // namespace stableaa::control_commands_test
