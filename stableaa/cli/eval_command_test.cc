// stableaa eval and play, as processes, on handmade runs.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/env/registry.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/rl/run/evaluation.h"
#include "stableaa/rl/run/run_options.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::eval_command_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

NetworkSpec BreakoutNetwork() { return MinatarSpec({.channels = 4, .dueling = true}); }
NetworkSpec PoleNetwork() { return MlpSpec({.inputs = 4, .hidden = {8}, .actions = 2}); }

// Weights of a network that always prefers one action.
Parameters Preferring(std::size_t action) {
  Parameters parameters(std::make_shared<const Plan>(MakePlan(BreakoutNetwork())));
  const ParameterTensor last = ParameterTensors(parameters.plan()).back();  // biases of the values
  std::vector<float> biases(last.size());
  biases.at(action) = 1;
  parameters.Set(last, biases);
  return parameters;
}
constexpr std::size_t kLeft = 1, kRight = 3;

class EvalCommand : public ::testing::Test {
 protected:
  EvalCommand() {
    fs::create_directories(folder_ / "run/weights");
    RunOptions options;
    options.train.env = "minatar/breakout";
    options.eval.episodes = 4;
    options.eval.epsilon = .25;
    options.eval.parallel = 3;
    WriteConfig(options);
    WriteWeights(Path("run/weights/latest.safetensors"), Preferring(kLeft));
  }

  void WriteConfig(const RunOptions& options) const {
    std::ofstream(folder_ / "run/config.toml") << ToToml(options);
  }
  void WriteBest() const { WriteWeights(Path("run/weights/best.safetensors"), Preferring(kRight)); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Run() const { return Path("run"); }

  Json Eval(Arguments arguments) const {
    arguments.insert(arguments.begin(), "eval");
    arguments.emplace_back("--json");
    const std::string out = ExpectOutput(Stableaa(arguments));
    EXPECT_EQ(Lines(out).size(), 1U);
    return Json::parse(out, nullptr, false);
  }

  TemporaryFolder folder_;
};

TEST_F(EvalCommand, PrintsTheContractsFields) {
  const Json result = Eval({Run()});
  EXPECT_EQ(Fields(result),
            (std::set<std::string>{"env", "episodes", "return_mean", "return_std", "length_mean",
                                   "epsilon", "seed", "weights", "weights_step", "returns"}));
  EXPECT_EQ(result["env"], "minatar/breakout");
  EXPECT_EQ(result["episodes"], 4);
  EXPECT_EQ(result["epsilon"], .25);
  EXPECT_EQ(result["seed"], 1);
  EXPECT_EQ(result["weights"], Path("run/weights/latest.safetensors"));
  EXPECT_TRUE(result["weights_step"].is_null());
  double sum = 0, squares = 0;
  for (const Json& value : result["returns"]) sum += value.get<double>();
  for (const Json& value : result["returns"]) {
    squares += std::pow(value.get<double>() - sum / 4, 2);
  }
  EXPECT_EQ(result["returns"].size(), 4U);
  EXPECT_NEAR(result["return_mean"].get<double>(), sum / 4, 1e-12);
  EXPECT_NEAR(result["return_std"].get<double>(), std::sqrt(squares / 3), 1e-12);
  EXPECT_TRUE(Eval({Run(), "--episodes", "1"})["return_std"].is_null());

  const std::string text = ExpectOutput(Stableaa({"eval", Run(), "--episodes", "2"}));
  for (const std::string word : {"minatar/breakout, weights ", "episodes  2, epsilon 0.25, seed 1",
                                 "return  ", "length  ", " ± ", "sticky 0.1"}) {
    EXPECT_NE(text.find(word), std::string::npos) << text;
  }
}

TEST_F(EvalCommand, PlaysAsTheLibraryDoes) {
  const auto environment = MakeEnvironment("minatar/breakout", {.num_envs = 3});
  const Parameters parameters = Preferring(kLeft);
  Actor actor(std::make_shared<const Plan>(parameters.plan()),
              ObservationLayout(environment->spec()), PolicyKind::kGreedy, 5, 3);
  const EvaluationResult expected = Evaluate(*environment, actor, parameters, 5, .5, 9);
  const Json result = Eval({Run(), "--episodes", "5", "--epsilon", ".5", "--seed", "9"});
  EXPECT_EQ(result["returns"].get<std::vector<double>>(), expected.returns);
  EXPECT_EQ(result["length_mean"], expected.length_mean);
}

TEST_F(EvalCommand, SeedsAndWeightsDecide) {
  WriteBest();
  const Json latest = Eval({Run(), "--episodes", "20"});
  EXPECT_EQ(Eval({Run(), "--episodes", "20", "--weights", "latest"}), latest);
  EXPECT_NE(Eval({Run(), "--episodes", "20", "--seed", "2"})["returns"], latest["returns"]);
  const Json best = Eval({Run(), "--episodes", "20", "--weights", "best"});
  EXPECT_NE(best["returns"], latest["returns"]);
  EXPECT_EQ(best["weights"], Path("run/weights/best.safetensors"));
  // The weights file gives the same network in the same environment.
  Json file = Eval({Path("run/weights/best.safetensors"), "--env", "MinAtar/Breakout", "--episodes",
                    "20", "--epsilon", ".25", "--set", "eval.parallel=3"});
  EXPECT_EQ(file, best);
}

TEST_F(EvalCommand, SaysWhichWeightsItTook) {
  const auto first_line = [this](Arguments arguments) {
    arguments.insert(arguments.begin(), {"eval", "--episodes", "1", "--env", "minatar/breakout"});
    return Lines(ExpectOutput(Stableaa(arguments))).front();
  };
  const std::string latest = Path("run/weights/latest.safetensors");
  const std::string best = Path("run/weights/best.safetensors");
  WriteWeights(best, Preferring(kRight), {{"stableaa.step", "20000"}});
  const std::string start = "minatar/breakout, weights ";
  EXPECT_EQ(first_line({Run()}), start + latest + " (latest)");
  EXPECT_EQ(first_line({Run(), "--weights", "best"}), start + best + " (best, step 20000)");
  EXPECT_EQ(first_line({best}), start + best + " (step 20000)");
  EXPECT_EQ(Eval({best, "--episodes", "1", "--env", "minatar/breakout"})["weights_step"], 20000);
  // A value that is no step is not shown.
  WriteWeights(best, Preferring(kRight), {{"stableaa.step", "2\x1b[31m"}});
  EXPECT_EQ(first_line({best}), start + best);
}

TEST_F(EvalCommand, SettingsWinOverTheRun) {
  EXPECT_EQ(Eval({Run(), "--set", "eval.episodes=6", "--set", "eval.epsilon=1"})["episodes"], 6);
  EXPECT_EQ(Eval({Run(), "--set", "eval.episodes=6", "--episodes", "3"})["episodes"], 3);
  const Json cut = Eval({Run(), "--set", "env.max_episode_steps=5"});
  EXPECT_LE(cut["length_mean"], 5);
  // Asterix has as many channels and actions as Breakout.
  EXPECT_EQ(Eval({Run(), "--env", "minatar/asterix"})["env"], "minatar/asterix");
}

TEST_F(EvalCommand, NoSettingIsIgnoredSilently) {
  for (const auto& [command, setting, words] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"eval", "eval.interval_steps=7", "'eval' has no use for eval.interval_steps"},
           {"eval", "agent.eta=1", "'eval' has no use for agent.eta"},
           {"play", "eval.episodes=3", "--episodes says how many games"},
           {"play", "eval.parallel=4", "'play' has no use for eval.parallel"}}) {
    Arguments arguments = {command, Run(), "--set", setting};
    if (command == "play") arguments.insert(arguments.end(), {"--gif", Path("a.gif")});
    const std::string message = ExpectError(Stableaa(arguments), 2);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  }
  const Outcome outcome =
      Stableaa({"eval", Run(), "--set", "env.python=x", "--set", "eval.protocol=machado"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("env.python (--set), eval.protocol (--set) have no effect: "
                             "minatar/breakout does not use it"),
            std::string::npos)
      << outcome.err;
}

TEST_F(EvalCommand, PlayWritesEachFileOnce) {
  const std::string message =
      ExpectError(Stableaa({"play", Run(), "--gif", Path("a.gif"), "--video", Path("./a.gif")}), 2);
  EXPECT_NE(message.find("--video: --gif is"), std::string::npos) << message;
}

TEST_F(EvalCommand, TheTraceHasEveryStep) {
  const Json with = Eval({Run(), "--trace", Path("t.npz")});
  EXPECT_EQ(with, Eval({Run()}));
  std::ifstream file(Path("t.npz"), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  for (const std::string name :
       {"observations", "q_values", "actions", "rewards", "terminated", "truncated", "game"}) {
    EXPECT_NE(bytes.find(name + ".npy"), std::string::npos) << name;
  }
  const auto steps = std::lround(4 * with["length_mean"].get<double>());
  EXPECT_NE(bytes.find(fmt::format("({}, 10, 10, 4)", steps)), std::string::npos);
  EXPECT_NE(bytes.find(fmt::format("({}, 6)", steps)), std::string::npos);
}

TEST_F(EvalCommand, MistakesAreNamed) {
  fs::create_directories(folder_ / "empty");
  fs::create_directories(folder_ / "early/weights");
  fs::copy(folder_ / "run/config.toml", folder_ / "early/config.toml");
  std::ofstream(folder_ / "bad.safetensors") << "not weights";
  WriteWeights(Path("pole.safetensors"),
               Parameters(std::make_shared<const Plan>(MakePlan(PoleNetwork()))));
  struct Case {
    Arguments arguments;
    std::string words;
  };
  for (const Case& c : std::vector<Case>{
           {{Path("nowhere")}, "no such run or weights file"},
           {{Path("empty")}, "has no config.toml"},
           {{Path("early")}, "the run has no weights yet"},
           {{Run(), "--weights", "best"}, "no evaluation yet; --weights latest"},
           {{Run(), "--weights", "worst"}, "--weights"},
           {{Path("pole.safetensors")}, "give --env"},
           {{Path("pole.safetensors"), "--env", "minatar/breakout"},
            "takes 4 numbers and gives values of 2 actions, but minatar/breakout shows 4 planes of "
            "10x10 in [0, 1] and has 6 actions"},
           {{Path("pole.safetensors"), "--env", "classic/mountain_car"}, "has 3 actions"},
           {{Path("pole.safetensors"), "--env", "classic/pendulum"}, "has continuous actions (1)"},
           {{Path("pole.safetensors"), "--env", "classic/cartpol"}, "did you mean"},
           {{Path("pole.safetensors"), "--env", "classic/cartpole", "--weights", "best"},
            "--weights chooses among those of a run"},
           {{Path("bad.safetensors"), "--env", "classic/cartpole"}, "bad.safetensors"},
           {{Run(), "--env", "minatar/seaquest"}, "shows 10 planes"},
           {{Run(), "--set", "env.actions=minimal"}, "has 3 actions"},
           {{Run(), "--set", "eval.episode=1"}, "eval.episodes"},
           {{Run(), "--set", "eval.parallel=0"}, "eval.parallel"},
           {{Run(), "--episodes", "0"}, "--episodes"},
           {{Run(), "--epsilon", "1.5"}, "--epsilon"},
           {{Run(), "--seed", "-1"}, "--seed"},
           {{Run(), "--trace", Path("t.csv")}, ".npz"},
           {{}, "RUN"}}) {
    Arguments arguments = {"eval"};
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    const std::string message = ExpectError(Stableaa(arguments), 2);
    EXPECT_NE(message.find(c.words), std::string::npos) << message;
  }
  EXPECT_FALSE(fs::exists(Path("t.npz")));
  std::ofstream(folder_ / "run/config.toml", std::ios::app) << "nonsense = 1\n";
  EXPECT_NE(ExpectError(Stableaa({"eval", Run()}), 2).find("config.toml:"), std::string::npos);
}

TEST_F(EvalCommand, AnInterruptLeavesNoHalfTrace) {
  ProgramAtWork eval({"eval", Run(), "--episodes", "1000000", "--trace", Path("t.npz")});
  ASSERT_TRUE(
      eval.Until([&] { return fs::exists(folder_ / ".t.npz.tmp") && eval.HandlesInterrupts(); }));
  SleepFor(.05);
  eval.Signal(SIGINT);
  const Outcome outcome = eval.Wait();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "stableaa: error: interrupted\n");
  EXPECT_FALSE(fs::exists(folder_ / "t.npz"));
  EXPECT_FALSE(fs::exists(folder_ / ".t.npz.tmp"));
}

// ---- play

TEST_F(EvalCommand, PlayNeedsSomethingToShowOn) {
  const std::string message = ExpectError(Stableaa({"play", Run()}), 2);
  EXPECT_NE(message.find("--video FILE.mp4 or --gif FILE.gif"), std::string::npos) << message;
  EXPECT_NE(ExpectError(Stableaa({"play", Run(), "--gif", Path("v.mp4")}), 2).find(".gif"),
            std::string::npos);
  EXPECT_NE(ExpectError(Stableaa({"play", Run(), "--terminal"}), 2).find("terminal"),
            std::string::npos);
  EXPECT_NE(ExpectError(Stableaa({"play", Run(), "--video", Path("v.avi")}), 2).find(".mp4"),
            std::string::npos);
  EXPECT_NE(ExpectError(Stableaa({"play", Path("nowhere"), "--video", Path("v.mp4")}), 2)
                .find("no such run"),
            std::string::npos);
}

bool HasFfmpeg() { return ::system("command -v ffmpeg >/dev/null") == 0; }

TEST_F(EvalCommand, PlayTakesTheLatestWeightsAsEvalDoes) {
  if (!HasFfmpeg()) GTEST_SKIP() << "ffmpeg is not installed";
  WriteBest();
  const std::string latest =
      ExpectOutput(Stableaa({"play", Run(), "--gif", Path("v.gif"), "--steps", "2"}));
  EXPECT_EQ(Lines(latest).front(),
            "minatar/breakout, weights " + Path("run/weights/latest.safetensors") + " (latest)");
}

TEST_F(EvalCommand, PlayWritesVideos) {
  if (!HasFfmpeg()) GTEST_SKIP() << "ffmpeg is not installed";
  const auto is_gif = [this](const std::string& name) {
    std::ifstream gif(Path(name), std::ios::binary);
    std::array<char, 3> magic = {};
    gif.read(magic.data(), magic.size());
    return std::string(magic.data(), 3) == "GIF";
  };
  const std::string latest =
      ExpectOutput(Stableaa({"play", Run(), "--gif", Path("v.gif"), "--video", Path("w.gif"),
                             "--steps", "3", "--seed", "2"}));
  EXPECT_EQ(Lines(latest).back(), "game 1: return 0, 3 steps, not finished");
  EXPECT_TRUE(is_gif("v.gif"));
  EXPECT_TRUE(is_gif("w.gif"));

  WriteBest();
  const std::string best = ExpectOutput(
      Stableaa({"play", Run(), "--video", Path("v.mp4"), "--episodes", "2", "--weights", "best",
                "--set", "env.max_episode_steps=4", "--set", "eval.epsilon=0"}));
  EXPECT_NE(best.find("best.safetensors (best)"), std::string::npos) << best;
  ASSERT_EQ(Lines(best).size(), 3U) << best;
  EXPECT_EQ(Lines(best)[1], "game 1: return 0, 4 steps, cut at the limit");
  EXPECT_TRUE(Lines(best)[2].starts_with("game 2: "));
  EXPECT_GT(fs::file_size(Path("v.mp4")), 1000U);
}

TEST_F(EvalCommand, PlayDrawsInTheTerminalByItself) {
  int ours = -1;
  const winsize size = {.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
  const pid_t child = ::forkpty(&ours, nullptr, nullptr, &size);
  if (child < 0) GTEST_SKIP() << "needs a pseudo-terminal";
  if (child == 0) {
    ::setenv("TERM", "xterm-256color", 1);
    ::execl(STABLEAA_PROGRAM_PATH, "stableaa", "play", Run().c_str(), "--steps", "3", nullptr);
    ::_exit(127);
  }
  const Descriptor terminal(ours);
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t got = 0; (got = ::read(terminal.get(), part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0) << text;
  for (const std::string word : {"game 1  step 1  action ", "game 1  step 3  action ", "[", "noop ",
                                 "fire ", "game 1: return 0, 3 steps, not finished"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
}

}  // namespace stableaa::eval_command_test
