// Weights that a run keeps, weights that a run begins with, and weights of other programs, as
// processes.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/cli/train_runs_test.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::weights_over_time_test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const Arguments kRun =
    Arguments{"--env", "classic/cartpole", "--preset", "dqn", "--steps", "300", "--threads", "1"} +
    Sets({"network.hidden=[16,16]", "train.batch=8", "replay.start=50", "eval.interval_steps=100",
          "eval.episodes=2", "optimizer.learning_rate=0.003", "agent.target_interval_updates=20",
          "train.seed=3", "checkpoint.keep_weights=every 100 steps"});

class WeightsOverTime : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new FolderOfRuns;
    ExpectDone(Train(kRun + Arguments{"--out", Path("run")}));
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string Path(const std::string& name) { return (*folder_ / name).string(); }
  static std::string Kept(int step) {
    return Path(fmt::format("run/weights/step-{:012}.safetensors", step));
  }
  static std::set<std::string> Names() {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_->path())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  static std::vector<Json> Eval(const Arguments& arguments) {
    std::vector<Json> objects;
    const Outcome outcome = Stableaa(Arguments{"eval"} + arguments + Arguments{"--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const std::string& line : Lines(outcome.out)) {
      objects.push_back(Json::parse(line, nullptr, false));
    }
    return objects;
  }

  // Expects the error, and that nothing is written.
  static void ExpectRefused(const Arguments& arguments, const std::vector<std::string>& words) {
    const std::set<std::string> before = Names();
    ExpectWords(ExpectError(Stableaa(arguments), 2), words);
    EXPECT_EQ(Names(), before);
  }

  // The run's latest weights as another program might write them: no metadata, other names.
  static std::string Foreign(const std::map<std::string, std::string>& modules) {
    const std::string content = FileContent(Path("run/weights/latest.safetensors"));
    std::uint64_t length = 0;
    std::memcpy(&length, content.data(), sizeof(length));
    const Json header = Json::parse(content.substr(8, length));
    Json made;
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") continue;
      const std::size_t dot = name.rfind('.');
      made[modules.at(name.substr(0, dot)) + name.substr(dot)] = value;
    }
    const std::string text = made.dump();
    const std::uint64_t size = text.size();
    WriteContent(Path("foreign.safetensors"), std::string(reinterpret_cast<const char*>(&size), 8) +
                                                  text + content.substr(8 + length));
    return Path("foreign.safetensors");
  }
  static std::string Foreign() {
    return Foreign({{"layers.0", "net.8"}, {"layers.2", "net.9"}, {"layers.4", "net.10"}});
  }

  static inline FolderOfRuns* folder_ = nullptr;
};

// --- eval --at -----------------------------------------------------------------------------------

TEST_F(WeightsOverTime, AllAreEvaluatedInOrderWithTheSameGames) {
  const Arguments games = {"--episodes", "5", "--seed", "3", "--epsilon", "0.1"};
  const std::vector<Json> all =
      Eval(Arguments{Path("run"), "--at", "all", "--csv", Path("c.csv")} + games);
  ASSERT_EQ(all.size(), 3U);
  const Table table(Path("c.csv"));
  EXPECT_EQ(table["step"], (std::vector<std::string>{"100", "200", "300"}));
  for (std::size_t i = 0; i < 3; ++i) {
    const int step = 100 * static_cast<int>(i + 1);
    EXPECT_EQ(all[i]["step"], step);
    EXPECT_EQ(all[i]["weights_step"], step);
    EXPECT_EQ(all[i]["weights"], Kept(step));
    EXPECT_EQ(Eval(Arguments{Path("run"), "--at", std::to_string(step)} + games).front(), all[i]);
    Json file = Eval(Arguments{Kept(step)} + games).front();
    file["step"] = step;
    EXPECT_EQ(file, all[i]);
    EXPECT_EQ(std::stod(table["return_mean"][i]), all[i]["return_mean"].get<double>());
    EXPECT_EQ(std::stod(table["return_std"][i]), all[i]["return_std"].get<double>());
    EXPECT_EQ(std::stod(table["length_mean"][i]), all[i]["length_mean"].get<double>());
    EXPECT_EQ(table["episodes"][i], "5");
  }
  // Networks that differ play differently.
  EXPECT_NE(all[0]["returns"], all[2]["returns"]);
  // The last weights are also the latest.
  EXPECT_EQ(Eval(Arguments{Path("run")} + games).front()["returns"], all[2]["returns"]);
  fs::remove(Path("c.csv"));
}

TEST_F(WeightsOverTime, APersonGetsATable) {
  const std::vector<std::string> lines =
      Lines(ExpectOutput(Stableaa({"eval", Path("run"), "--at", "all", "--episodes", "2"})));
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_EQ(lines[0], "classic/cartpole, weights kept by " + Path("run"));
  EXPECT_EQ(lines[2], "episodes  2 each, epsilon 0.01, seed 1");
  EXPECT_EQ(lines[3], "        step      return         std      length");
  EXPECT_TRUE(lines[6].starts_with("         300  "));
  const std::string one =
      ExpectOutput(Stableaa({"eval", Path("run"), "--at", "2e2", "--episodes", "2"}));
  EXPECT_EQ(Lines(one).front(), "classic/cartpole, weights " + Kept(200) + " (step 200)");
}

TEST_F(WeightsOverTime, SettingsApplyToEach) {
  for (const Json& object :
       Eval({Path("run"), "--at", "all", "--set", "env.max_episode_steps=4"})) {
    EXPECT_LE(object["length_mean"], 4);
    EXPECT_EQ(object["episodes"], 2);
  }
}

TEST_F(WeightsOverTime, TheCurveIsDrawn) {
  if (::system("command -v gnuplot >/dev/null") != 0) GTEST_SKIP() << "gnuplot is not installed";
  Eval({Path("run"), "--at", "all", "--plot", Path("c.svg"), "--csv", Path("d.csv")});
  EXPECT_NE(FileContent(Path("c.svg")).find("classic/cartpole, 2 games each"), std::string::npos);
  fs::remove(Path("c.svg"));
  fs::remove(Path("d.csv"));
}

TEST_F(WeightsOverTime, WrongChoicesAreRefused) {
  const std::string run = Path("run"), csv = Path("c.csv");
  const auto refused = [&](const Arguments& arguments, const std::string& words) {
    ExpectRefused(Arguments{"eval"} + arguments, {words});
  };
  refused({run, "--at", "150"}, "no weights in step 150; the nearest: step 100, step 200");
  refused({run, "--at", "150", "--csv", csv}, "step 150");
  refused({run, "--at", "some"}, "--at: expected a step or all, found 'some'");
  refused({run, "--at", "-1"}, "--at");
  refused({run, "--at", "all", "--weights", "best"}, "--at");
  refused({run, "--csv", csv}, "--csv: it is for weights over time");
  refused({run, "--plot", Path("c.svg")}, "--plot: it is for weights over time");
  refused({run, "--at", "all", "--csv", Path("c.txt")}, ".csv");
  refused({run, "--at", "all", "--plot", Path("c.gif")}, ".svg, .png or .pdf");
  refused({run, "--at", "all", "--trace", Path("t.npz")}, "--trace");
  refused({Kept(100), "--at", "all"}, "not the directory of a run");
  refused({Path("nowhere"), "--at", "all"}, "no such run");
  ExpectRefused({"play", run, "--at", "150", "--gif", Path("v.gif")}, {"the nearest: step 100"});
  ExpectRefused({"play", run, "--at", "all", "--gif", Path("v.gif")}, {"--at"});

  ExpectDone(Train(kRun + Sets({"checkpoint.keep_weights=none"}) +
                   Arguments{"--out", Path("keeps none")}));
  refused({Path("keeps none"), "--at", "all"}, "checkpoint.keep_weights = \"none\"");
  fs::remove_all(Path("keeps none"));
}

TEST_F(WeightsOverTime, AFileOfAnotherStepThanItsNameSaysIsRefused) {
  fs::copy(Path("run"), Path("copied"), fs::copy_options::recursive);
  const std::string name = "copied/weights/step-000000000200.safetensors";
  fs::copy_file(Kept(100), Path(name), fs::copy_options::overwrite_existing);
  const std::string message =
      Path(name) + ": expected the weights of step 200, as the name says, found those of step 100";
  for (const std::string at : {"200", "all"}) {
    ExpectRefused({"eval", Path("copied"), "--at", at, "--csv", Path("c.csv")}, {message});
  }
  ExpectRefused({"play", Path("copied"), "--at", "200", "--gif", Path("v.gif")}, {message});
  ExpectRefused({"export", Path("copied"), "--at", "200", "--onnx", Path("q.onnx")}, {message});
  EXPECT_EQ(Eval({Path("copied"), "--at", "100"}).size(), 1U);
  fs::remove_all(Path("copied"));
}

TEST_F(WeightsOverTime, ThoseOfOneStepAreExported) {
  const std::string file = Path("q.onnx"), again = Path("again.onnx");
  const std::string out =
      ExpectOutput(Stableaa({"export", Path("run"), "--at", "200", "--onnx", file}));
  EXPECT_EQ(Lines(out).front(), "classic/cartpole, weights " + Kept(200) + " (step 200)");
  ExpectOutput(Stableaa({"export", Kept(200), "--onnx", again}));
  EXPECT_TRUE(FileContent(file) == FileContent(again));
  ExpectOutput(Stableaa({"export", Path("run"), "--onnx", again}));
  EXPECT_FALSE(FileContent(file) == FileContent(again));
  fs::remove(file);
  fs::remove(again);
  ExpectRefused({"export", Path("run"), "--at", "150", "--onnx", file}, {"the nearest: step 100"});
  ExpectRefused({"export", Path("run"), "--at", "200", "--weights", "best", "--onnx", file},
                {"--at"});
  ExpectRefused({"export", Kept(200), "--at", "200", "--onnx", file},
                {"--at chooses among those of a run"});
}

// Before any game, so that no hour is lost.
TEST_F(WeightsOverTime, OneDamagedFileIsFoundFirst) {
  fs::copy(Path("run"), Path("damaged"), fs::copy_options::recursive);
  const std::string last = Path("damaged/weights/step-000000000300.safetensors");
  WriteContent(last, FileContent(last).substr(0, 300));
  ExpectRefused({"eval", Path("damaged"), "--at", "all", "--csv", Path("c.csv")},
                {"step-000000000300.safetensors"});
  fs::remove_all(Path("damaged"));
}

TEST_F(WeightsOverTime, AnInterruptLeavesTheRowsSoFar) {
  constexpr int kFiles = 6000;
  fs::copy(Path("run"), Path("many"), fs::copy_options::recursive);
  const SafetensorsFile last(Kept(300));
  const WeightsFile weights = ReadWeights(last.content());
  for (int i = 1001; i <= 1000 + kFiles; ++i) {
    WriteWeights(Path(fmt::format("many/weights/step-{:012}.safetensors", i)), weights.parameters,
                 {{"stableaa.env", "classic/cartpole"}, {"stableaa.step", std::to_string(i)}});
  }
  ProgramAtWork eval({"eval", Path("many"), "--at", "all", "--csv", Path("c.csv"), "--episodes",
                      "20", "--set", "env.max_episode_steps=20"});
  // The first rows are on disk when a buffer is full.
  ASSERT_TRUE(eval.Until([&] {
    std::error_code none;
    const auto bytes = fs::file_size(Path(".c.csv.tmp"), none);
    return !none && bytes > 0;
  }));
  eval.Signal(SIGINT);
  const Outcome outcome = eval.Wait();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(outcome.err.ends_with("stableaa: error: interrupted\n")) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const Table table(Path("c.csv"));  // expects whole rows
  EXPECT_GT(table.rows(), 100U);
  EXPECT_LT(table.rows(), static_cast<std::size_t>(kFiles));
  EXPECT_FALSE(fs::exists(Path(".c.csv.tmp")));
  fs::remove_all(Path("many"));
  fs::remove(Path("c.csv"));
}

TEST_F(WeightsOverTime, AWrongRuleIsRefused) {
  for (const std::string rule : {"sometimes", "every 0 steps", "every 1.5", "all"}) {
    ExpectRefused(Arguments{"train"} + kRun + Sets({"checkpoint.keep_weights=" + rule}) +
                      Arguments{"--out", Path("new/run")},
                  {"checkpoint.keep_weights: expected none, every N steps", "'" + rule + "'"});
  }
}

// --- train --from --------------------------------------------------------------------------------

Json DescriptionOf(const std::string& run) { return Json::parse(FileContent(run + "/run.json")); }

TEST_F(WeightsOverTime, ARunBeginsWithThoseOfAnother) {
  const Arguments other = kRun + Arguments{"--seed", "7"};
  ExpectDone(Train(other + Arguments{"--from", Path("run"), "--out", Path("warm")}));
  const Json from = DescriptionOf(Path("warm"))["from"];
  EXPECT_EQ(from["path"], Path("run/weights/latest.safetensors"));
  EXPECT_EQ(from["step"], 300);
  EXPECT_EQ(from["env"], "classic/cartpole");
  EXPECT_EQ(from["preset"], "dqn");
  // A file, also one of another program, gives the same run.
  for (const std::string& file : {Kept(300), Foreign()}) {
    const Outcome outcome = Train(other + Arguments{"--from", file, "--out", Path("again")});
    ExpectDone(outcome);
    ExpectSameResults(Path("again"), Path("warm"));
    EXPECT_EQ(DescriptionOf(Path("again"))["from"]["crc32"], from["crc32"]);
    const bool mapped = outcome.err.find(
                            "net.8 as layers.0, net.9 as layers.2, net.10 as "
                            "layers.4") != std::string::npos;
    EXPECT_EQ(mapped, file != Kept(300)) << outcome.err;
    fs::remove_all(Path("again"));
  }
  EXPECT_FALSE(DescriptionOf(Path("run")).contains("from"));
  fs::remove_all(Path("warm"));
}

TEST_F(WeightsOverTime, WeightsOfAnotherNetworkStartNothing) {
  const auto refused = [&](const Arguments& options, const std::string& from,
                           const std::vector<std::string>& words) {
    ExpectRefused(Arguments{"train", "--from", from, "--out", Path("new/run")} + options, words);
  };
  const Arguments hidden = Sets({"network.hidden=[16,16]"});
  refused(Arguments{"--env", "classic/mountain_car", "--preset", "dqn"} + hidden, Path("run"),
          {"latest.safetensors: tensor 'layers.0.weight' [16, 4]: expected shape [16, 2]"});
  refused(Arguments{"--env", "minatar/breakout", "--preset", "dqn"}, Path("run"),
          {"tensor 'layers.0.weight' [16, 4]: expected shape [16, 4, 3, 3]"});
  refused(kRun + Sets({"network.layers=linear(16) relu linear(17) relu"}), Path("run"),
          {"tensor 'layers.2.weight' [16, 16]: expected shape [17, 16]"});
  refused(kRun + Sets({"network.layers=linear(16) relu linear(17) relu"}), Foreign(),
          {"tensor 'net.9.bias' [16] does not fit the network's 'layers.2.bias' [17]"});
  refused(kRun, Path("nowhere"), {"no such run or weights file"});
  refused(kRun, Path("run/config.toml"), {"config.toml"});
  ExpectRefused({"train", "--resume", Path("run"), "--from", Path("run")}, {"--from", "--resume"});
}

// --- Files of other programs ---------------------------------------------------------------------

TEST_F(WeightsOverTime, AForeignFilePlaysAsTheRunDoes) {
  const Arguments network = Arguments{"--env", "classic/cartpole", "--episodes", "4"} +
                            Sets({"network.layers=linear(16) relu linear(16) relu"});
  const Json run = Eval({Path("run"), "--episodes", "4"}).front();
  const Json foreign = Eval(Arguments{Foreign()} + network).front();
  EXPECT_EQ(foreign["returns"], run["returns"]);
  EXPECT_TRUE(foreign["weights_step"].is_null());
  const Outcome text = Stableaa(Arguments{"eval", Foreign()} + network);
  EXPECT_EQ(
      Lines(text.err),
      (std::vector<std::string>{"stableaa: " + Foreign() +
                                ": net.8 as layers.0, net.9 as layers.2, net.10 as layers.4"}));
  // With the network's own names there is nothing to say.
  const std::string same =
      Foreign({{"layers.0", "layers.0"}, {"layers.2", "layers.2"}, {"layers.4", "layers.4"}});
  ExpectOutput(Stableaa(Arguments{"eval", same} + network));
  if (::system("command -v ffmpeg >/dev/null") != 0) return;
  EXPECT_EQ(Stableaa({"play", Foreign(), "--env", "classic/cartpole", "--set",
                      "network.hidden=[16,16]", "--gif", Path("v.gif"), "--steps", "2"})
                .exit_code,
            0);
  EXPECT_TRUE(fs::exists(Path("v.gif")));
  fs::remove(Path("v.gif"));
}

TEST_F(WeightsOverTime, AForeignFileNeedsItsEnvironmentAndNetwork) {
  const std::string file = Foreign();
  const auto refused = [&](const Arguments& arguments, const std::string& words) {
    ExpectRefused(Arguments{"eval"} + arguments, {words});
  };
  refused({file}, "give --env");
  // The usual network for the environment has 128 units.
  refused({file, "--env", "classic/cartpole"},
          "tensor 'net.8.bias' [16] does not fit the network's 'layers.0.bias' [128]; the network "
          "is vector(4) linear(128) relu linear(128) relu linear(2)");
  refused({file, "--env", "classic/cartpole", "--set", "agent.head=dueling", "--set",
           "network.hidden=[16,16]"},
          "foreign.safetensors: ");
  refused({file, "--env", "classic/cartpole", "--set", "network.layers=conv(3"}, "network.layers");
  refused({file, "--env", "classic/cartpole", "--set", "network.layres=x"}, "network.layers");
  refused({file, "--env", "classic/cartpole", "--set", "agent.eta=1"}, "no use for agent.eta");
  refused({file, "--env", "classic/pendulum"}, "continuous actions");
  refused({Path("run"), "--set", "network.layers=linear(8)"}, "the network is the run's");
  refused({Kept(100), "--set", "network.layers=linear(8)"}, "says itself which network it is of");
  WriteContent(Path("other.safetensors"), "PK\x03\x04 this is a torch.save file");
  refused({Path("other.safetensors"), "--env", "classic/cartpole"}, "expected a safetensors file");
}

}  // namespace stableaa::weights_over_time_test
