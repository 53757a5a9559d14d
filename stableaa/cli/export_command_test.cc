// stableaa export: which models it writes, and what it refuses. export_crosscheck.py runs them.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/core/random.h"
#include "stableaa/nn/onnx_export.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/rl/run/run_options.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::export_command_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Parameters Drawn(const std::string& name) {
  Parameters parameters(
      std::make_shared<const Plan>(MakePlan(MinatarSpec({.channels = 4, .actions = 6}))));
  RandomStream random(1, name);
  parameters.Initialise(random);
  return parameters;
}

const OnnxObservation kBreakout = {.is_bytes = true, .shape = {10, 10, 4}, .channel_axis = 2};

class ExportCommand : public testing::Test {
 protected:
  ExportCommand() {
    fs::create_directories(folder_ / "run/weights");
    RunOptions options;
    options.train.env = "minatar/breakout";
    std::ofstream(folder_ / "run/config.toml") << ToToml(options);
    WriteWeights(Path("run/weights/latest.safetensors"), Drawn("latest"), kNoted);
    WriteWeights(Path("run/weights/best.safetensors"), Drawn("best"));
  }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Refusal(const Arguments& arguments, int exit_code = 2) const {
    return ErrorOf(Stableaa(Arguments{"export"} + arguments), exit_code);
  }

  const WeightsMetadata kNoted = {
      {"stableaa.env", "minatar/breakout"}, {"stableaa.preset", "dqn"}, {"stableaa.step", "70"}};
  TemporaryFolder folder_;
};

TEST_F(ExportCommand, WritesTheChosenWeights) {
  const std::string file = Path("q.onnx");
  const std::string out = ExpectOutput(Stableaa({"export", Path("run"), "--onnx", file}));
  ExpectWords(out, {"minatar/breakout, weights ", "(latest, step 70)",
                    "observation  uint8 [batch, 10, 10, 4]\n", "q_values     float32 [batch, 6]\n",
                    "written      " + file + "\n"});
  EXPECT_TRUE(FileContent(file) == OnnxModel(Drawn("latest"), kBreakout, kNoted));

  ExpectOutput(Stableaa({"export", Path("run"), "--weights", "best", "--onnx", file}));
  EXPECT_TRUE(FileContent(file) ==
              OnnxModel(Drawn("best"), kBreakout, {{"stableaa.env", "minatar/breakout"}}));

  // A weights file alone.
  ExpectOutput(
      Stableaa({"export", Path("run/weights/latest.safetensors"), "--onnx", Path("w.onnx")}));
  EXPECT_TRUE(FileContent(Path("w.onnx")) == OnnxModel(Drawn("latest"), kBreakout, kNoted));
  ExpectOutput(Stableaa({"export", Path("run/weights/best.safetensors"), "--env",
                         "minatar/breakout", "--onnx", Path("w.onnx")}));
  EXPECT_TRUE(FileContent(Path("w.onnx")) == FileContent(file));
}

TEST_F(ExportCommand, DescribesItAsJson) {
  const Json result = Json::parse(
      ExpectOutput(Stableaa({"export", Path("run"), "--onnx", Path("q.onnx"), "--json"})));
  EXPECT_EQ(result, (Json{{"onnx", Path("q.onnx")},
                          {"operators", 17},
                          {"env", "minatar/breakout"},
                          {"observation_type", "uint8"},
                          {"observation_shape", {10, 10, 4}},
                          {"output", "q_values"},
                          {"actions", 6},
                          {"parameters", ParameterCount(Drawn("").plan())},
                          {"weights", Path("run/weights/latest.safetensors")},
                          {"weights_step", 70}}));
}

TEST_F(ExportCommand, WhatDoesNotFitIsRefusedAndNothingIsWritten) {
  const std::string run = Path("run"), file = Path("q.onnx");
  WriteContent(Path("text.safetensors"), "no tensors");
  fs::create_directory(Path("empty"));
  const Snapshot before = SnapshotOf(folder_.path());
  ExpectWords(Refusal({run}), {"--onnx is required"});
  ExpectWords(Refusal({"--onnx", file}), {"RUN"});
  EXPECT_EQ(Refusal({run, "--onnx", Path("q.pb")}),
            "--onnx: expected a path that ends in .onnx, found '" + Path("q.pb") + "'");
  ExpectWords(Refusal({Path("nowhere"), "--onnx", file}), {"there is no such run"});
  ExpectWords(Refusal({Path("empty"), "--onnx", file}), {"is not the directory of a run"});
  ExpectWords(Refusal({Path("text.safetensors"), "--onnx", file}), {"text.safetensors"});
  ExpectWords(Refusal({Path("run/config.toml"), "--onnx", file}), {"config.toml"});
  ExpectWords(Refusal({Path("run/weights/best.safetensors"), "--onnx", file}), {"give --env"});
  ExpectWords(Refusal({run, "--env", "classic/cartpole", "--onnx", file}),
              {"the network takes 4 planes of 10x10", "4 numbers"});
  ExpectWords(Refusal({run, "--env", "classic/pendulum", "--onnx", file}),
              {"has continuous actions (1)"});
  ExpectWords(Refusal({run, "--weights", "newest", "--onnx", file}), {"--weights"});
  ExpectWords(Refusal({run, "--set", "eval.episodes=3", "--onnx", file}), {"no games are played"});
  ExpectWords(Refusal({run, "--onnx", Path("nowhere/q.onnx")}, 1), {"cannot write"});
  ExpectUnchanged(folder_.path(), before);
}

TEST_F(ExportCommand, TheWeightsAreNotOverwritten) {
  fs::copy(Path("run/weights/latest.safetensors"), Path("w.onnx"));
  const std::string before = FileContent(Path("w.onnx"));
  ExpectWords(Refusal({Path("w.onnx"), "--onnx", Path("./w.onnx")}), {"--onnx: RUN is"});
  EXPECT_TRUE(FileContent(Path("w.onnx")) == before);
}

TEST_F(ExportCommand, NoFileOfARunIsOverwrittenThroughALink) {
  const std::string latest = Path("run/weights/latest.safetensors");
  for (const std::string end : {"onnx", "npz", "gif"}) {
    fs::create_symlink(latest, Path("link." + end));
  }
  fs::create_symlink(Path("run/config.toml"), Path("config.onnx"));
  const Snapshot before = SnapshotOf(folder_.path());
  const std::string link = Path("link.onnx");
  const std::string of_run = "' is a file of the run in " + fs::canonical(Path("run")).string();
  // The run itself, another way to say it, and another run's weights.
  for (const std::string run : {"run", "run/weights/best.safetensors"}) {
    EXPECT_EQ(Refusal({Path(run), "--env", "minatar/breakout", "--onnx", link}),
              "--onnx: '" + link + of_run);
  }
  ExpectWords(Refusal({Path("run"), "--onnx", Path("config.onnx")}), {of_run});
  ExpectWords(Refusal({latest, "--onnx", link}), {"--onnx: RUN is"});
  const auto refused = [&](const Arguments& arguments) {
    ExpectWords(ErrorOf(Stableaa(arguments), 2), {of_run});
  };
  refused({"eval", Path("run"), "--episodes", "1", "--trace", Path("link.npz")});
  refused({"play", Path("run"), "--gif", Path("link.gif")});
  refused({"env", "rollout", "minatar/breakout", "--episodes", "1", "--gif", Path("link.gif")});
  ExpectUnchanged(folder_.path(), before);
  ExpectOutput(Stableaa({"export", Path("run"), "--onnx", Path("run/q.onnx")}));
}

}  // namespace stableaa::export_command_test
