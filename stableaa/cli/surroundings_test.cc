// What the program does when its surroundings fail: a missing tool, an output that cannot be
// written, system limits. The input is fine in these cases, so the exit code is 1 for every
// command.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "stableaa/base/process/process_test.h"
#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::surroundings_test {

namespace fs = std::filesystem;

bool HasTool(const std::string& name) {
  return RunCommand({"sh", "-c", "command -v " + name}).exit_code == 0;
}

class FullSurroundings : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    input_ = new TemporaryFolder;
    TrainOnCartpole("dqn", 1, 200, Input("run"), {"replay.start=100"});
    std::ofstream(Input("m.csv")) << "s,a,next,p,r\n0,0,0,1,1\n";
    std::ofstream(Input("suite.toml"))
        << "env = \"classic/cartpole\"\npreset = \"dqn\"\nseeds = [1]\n[stop]\nsteps = 200\n";
  }
  static void TearDownTestSuite() { delete input_; }

  FullSurroundings() {
    fs::create_directories(Path("folder"));
    fs::create_directories(Path("bin"));
    std::ofstream(Path("file")) << "content";
  }

  static std::string Input(const std::string& name) { return (input_->path() / name).string(); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  // Every command that writes a file, with the extension that it requires.
  struct Writer {
    std::string ending;
    Arguments command;  // the path is appended
  };
  static std::vector<Writer> Writers() {
    const Arguments solve = {"solve", Input("m.csv"), "--discount", "0.9"};
    const Arguments rollout = {"env", "rollout", "minatar/breakout", "--episodes", "1"};
    std::vector<Writer> writers = {
        {".csv", solve + Arguments{"--values"}},
        {".csv", solve + Arguments{"--policy"}},
        {".csv", solve + Arguments{"--bounds"}},
        {".csv", solve + Arguments{"--trace"}},
        {".bin", {"mdp", "generate", "grid", "--states", "9", "--out"}},
        {".csv", {"mdp", "generate", "grid", "--states", "9", "--out"}},
        {".npz", {"mdp", "convert", Input("m.csv")}},
        {".drn", {"mdp", "convert", Input("m.csv")}},
        {".csv", rollout + Arguments{"--trace"}},
        {".npz", {"eval", Input("run"), "--episodes", "1", "--trace"}},
    };
    if (HasTool("gnuplot")) writers.push_back({".svg", solve + Arguments{"--plot"}});
    if (HasTool("ffmpeg")) {
      writers.push_back({".gif", rollout + Arguments{"--gif"}});
      writers.push_back({".mp4", rollout + Arguments{"--video"}});
      writers.push_back({".mp4", {"play", Input("run"), "--steps", "3", "--video"}});
    }
    return writers;
  }
  // The commands that create a directory.
  static std::vector<Arguments> DirectoryMakers() {
    std::vector<Arguments> makers = {
        {"train", "--env", "classic/cartpole", "--steps", "10", "--out"},
        {"sweep", Input("suite.toml"), "--no-estimate", "--out"},
    };
    if (HasTool("gnuplot")) {
      makers.push_back({"theory", "prop1", "--trials", "1", "--figures"});
      makers.push_back({"report", Input("run"), "--out"});
    }
    return makers;
  }

  // Runs the program with only the tools in bin/.
  Outcome WithTools(const Arguments& arguments) const {
    const std::string path = Path("bin");
    return StableaaPrepared([&path] { ::setenv("PATH", path.c_str(), 1); }, arguments);
  }

  // The same, interrupted once the file `ready` exists.
  Outcome InterruptedWithTools(const Arguments& arguments, const std::string& ready) {
    const std::string former = std::getenv("PATH");
    ::setenv("PATH", Path("bin").c_str(), 1);
    ProgramAtWork program(arguments);
    ::setenv("PATH", former.c_str(), 1);
    EXPECT_TRUE(program.Until([&] { return fs::exists(ready); }));
    fs::remove(ready);
    program.Signal(SIGINT);
    return program.Wait();
  }

  void WriteTool(const std::string& name, const std::string& script) const {
    std::ofstream(Path("bin/" + name)) << "#!/bin/sh\nPATH=/usr/bin:/bin\n" << script << '\n';
    fs::permissions(Path("bin/" + name), fs::perms::owner_all);
  }

  // One line, exit code 1, and no leftovers.
  std::string ExpectFailure(const Outcome& outcome) const {
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    const std::vector<std::string> lines = Lines(outcome.err);
    const std::string last = lines.empty() ? "" : lines.back();
    EXPECT_TRUE(last.starts_with("stableaa: error: ")) << outcome.err;
    EXPECT_EQ(Names(), former_names_) << last;
    return last;
  }

  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      names.insert(fs::relative(entry.path(), folder_.path()).string());
    }
    return names;
  }
  void RememberNames() { former_names_ = Names(); }

  const TemporaryFolder folder_;

 private:
  static inline TemporaryFolder* input_ = nullptr;
  std::set<std::string> former_names_;
};

// ---- Exit codes ----

TEST_F(FullSurroundings, AnOutputThatCannotBeWrittenIsExitCodeOne) {
  for (const Writer& writer : Writers()) {
    fs::create_directories(Path("folder/o" + writer.ending));
    RememberNames();
    for (const std::string& place : {Path("missing/o"), Path("file/o"), Path("folder/o"),
                                     std::string("/proc/o"), std::string("/proc/self/none/o")}) {
      SCOPED_TRACE(writer.command[1] + " " + writer.command.back() + " " + place);
      const Outcome outcome = Stableaa(writer.command + Arguments{place + writer.ending});
      EXPECT_NE(ExpectFailure(outcome).find(place), std::string::npos) << outcome.err;
      EXPECT_EQ(outcome.out, "");
    }
  }
}

TEST_F(FullSurroundings, ADirectoryThatCannotBeMadeIsExitCodeOne) {
  RememberNames();
  for (const Arguments& command : DirectoryMakers()) {
    for (const std::string& place : {Path("file/o"), std::string("/proc/o")}) {
      SCOPED_TRACE(command.front() + " " + place);
      ExpectFailure(Stableaa(command + Arguments{place}));
    }
  }
}

// What must be removed first is for the user to decide.
TEST_F(FullSurroundings, ADirectoryThatIsInUseIsExitCodeTwo) {
  std::ofstream(Path("folder/thing")) << "x";
  for (const Arguments& command : DirectoryMakers()) {
    if (command.front() == "theory" || command.front() == "sweep") continue;  // they add to it
    for (const std::string& place : {Path("file"), Path("folder")}) {
      SCOPED_TRACE(command.front() + " " + place);
      EXPECT_EQ(Stableaa(command + Arguments{place}).exit_code, 2);
    }
  }
}

TEST_F(FullSurroundings, AMissingToolIsExitCodeOne) {
  RememberNames();
  const Arguments rollout = {"env", "rollout", "minatar/breakout", "--episodes", "1"};
  const std::string python = "env.python=/no/such/python";
  for (const auto& [tool, command] : std::vector<std::pair<std::string, Arguments>>{
           {"gnuplot", {"solve", Input("m.csv"), "--discount", "0.9", "--plot", Path("p.svg")}},
           {"gnuplot", {"theory", "--figures", Path("figures")}},
           {"gnuplot", {"report", Input("run"), "--out", Path("report")}},
           {"ffmpeg", rollout + Arguments{"--gif", Path("a.gif")}},
           {"ffmpeg", rollout + Arguments{"--video", Path("a.mp4")}},
           {"ffmpeg", {"play", Input("run"), "--video", Path("a.mp4")}},
           {"python", {"env", "rollout", "gymnasium/CartPole-v1", "--set", python}},
           {"python",
            {"train", "--env", "gymnasium/CartPole-v1", "--set", python, "--out", Path("r")}},
           {"python", {"eval", Input("run"), "--env", "gymnasium/CartPole-v1", "--set", python}}}) {
    SCOPED_TRACE(tool + ": " + command.front());
    EXPECT_NE(ExpectFailure(WithTools(command)).find(tool), std::string::npos);
  }
}

TEST_F(FullSurroundings, AGnuplotThatDrawsNothingIsExitCodeOne) {
  for (const std::string script : {"exit 0", "cat", "echo garbage; exit 0", "exec <&-; exit 0"}) {
    WriteTool("gnuplot", script);
    RememberNames();
    for (const Arguments& command :
         {Arguments{"solve", Input("m.csv"), "--discount", "0.9", "--plot", Path("p.svg")},
          Arguments{"theory", "prop1", "--figures", Path("figures")},
          Arguments{"report", Input("run"), "--out", Path("report")}}) {
      SCOPED_TRACE(script + ": " + command.front());
      EXPECT_NE(ExpectFailure(WithTools(command)).find("gnuplot has drawn no picture"),
                std::string::npos);
    }
  }
}

// ---- Tools that hang ----

TEST_F(FullSurroundings, AToolThatHangsIsGivenUp) {
  WriteTool("gnuplot", "trap '' TERM INT; while :; do sleep 100; done");
  WriteTool("ffmpeg", "trap '' TERM INT; while :; do sleep 100; done");
  RememberNames();
  for (const Arguments& command :
       {Arguments{"solve", Input("m.csv"), "--discount", "0.9", "--plot", Path("p.svg")},
        Arguments{"theory", "prop1", "--figures", Path("figures")},
        Arguments{"report", Input("run"), "--out", Path("report")},
        Arguments{"env", "rollout", "minatar/breakout", "--gif", Path("a.gif")}}) {
    SCOPED_TRACE(command.front());
    const Outcome outcome = StableaaPrepared(
        [path = Path("bin")] {
          ::setenv("PATH", path.c_str(), 1);
          ::setenv("STABLEAA_TOOL_SECONDS", "0.5", 1);
        },
        command);
    const std::string message = ExpectFailure(outcome);
    ExpectWords(message, {"0.5 s", "STABLEAA_TOOL_SECONDS"});
    EXPECT_LT(outcome.seconds, 30);
  }
}

TEST_F(FullSurroundings, AnInterruptInTheLastFigureKeepsTheFormerReport) {
  if (!HasTool("gnuplot")) GTEST_SKIP() << "needs gnuplot";
  const Arguments report = {"report", Input("run"), "--out", Path("report")};
  ASSERT_EQ(Stableaa(report).exit_code, 0);
  // The first picture only tests whether it draws at all.
  WriteTool("gnuplot", "if [ -e " + Path("tried") + " ]; then : >" + Path("ready") +
                           "; exec sleep 100; fi; : >" + Path("tried") + "; exec gnuplot \"$@\"");
  std::ofstream(Path("tried")) << "";
  RememberNames();
  fs::remove(Path("tried"));
  EXPECT_NE(ExpectFailure(InterruptedWithTools(report, Path("ready"))).find("interrupted"),
            std::string::npos);
}

TEST_F(FullSurroundings, AnInterruptWhileAVideoIsFinishedLeavesNothing) {
  WriteTool("ffmpeg", "cat >/dev/null; : >" + Path("ready") + "; exec sleep 100");
  RememberNames();
  for (const Arguments& command :
       {Arguments{"play", Input("run"), "--steps", "3", "--gif", Path("a.gif")},
        Arguments{"env", "rollout", "minatar/breakout", "--episodes", "1", "--gif",
                  Path("a.gif")}}) {
    SCOPED_TRACE(command.front());
    EXPECT_NE(ExpectFailure(InterruptedWithTools(command, Path("ready"))).find("interrupted"),
              std::string::npos);
  }
}

// However we end, by Ctrl-C or even by SIGKILL, the tool and everything it started end too.
TEST_F(FullSurroundings, AToolThatHangsEndsWithUs) {
  WriteTool("gnuplot", "trap '' TERM INT; sleep 100 & echo $$ $! >" + Path("pids") +
                           "; while :; do sleep 100; done");
  const std::string path = Path("bin");
  for (const int signal : {SIGINT, SIGTERM, SIGKILL, SIGSEGV}) {
    SCOPED_TRACE(signal);
    fs::remove(Path("pids"));
    const std::string former = std::getenv("PATH");
    ::setenv("PATH", path.c_str(), 1);
    ProgramAtWork program({"solve", Input("m.csv"), "--discount", "0.9", "--plot", Path("p.svg")});
    ::setenv("PATH", former.c_str(), 1);
    pid_t shell = 0, sleeper = 0;
    ASSERT_TRUE(
        program.Until([&] { return bool(std::ifstream(Path("pids")) >> shell >> sleeper); }));
    // It ties a tool to itself right after starting it, and then waits for it.
    ASSERT_TRUE(program.Until([&] { return program.IsAsleep(); }));
    program.Signal(signal);
    const Outcome outcome = program.Wait();
    EXPECT_LT(outcome.seconds, 60);
    EXPECT_TRUE(DiesWithin(shell, 60));
    EXPECT_TRUE(DiesWithin(sleeper, 60));
    EXPECT_FALSE(fs::exists(Path("p.svg")));
  }
}

// ---- System limits ----

void LimitFileSize(rlim_t bytes) {
  const rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

// Like a full disk: an error message and no leftovers. The message goes to a file of its own here,
// so the limit leaves room for that.
TEST_F(FullSurroundings, ALimitOnTheSizeOfFilesIsAnErrorOfWriting) {
  RememberNames();
  const Arguments large = {"mdp", "generate", "grid", "--states", "10000", "--out"};
  const std::string in = Input("large.bin");
  ASSERT_EQ(Stableaa(large + Arguments{in}).exit_code, 0);
  const Arguments solve = {"solve", in, "--discount", "0.9"};
  for (const Arguments& command : std::vector<Arguments>{
           large + Arguments{Path("m.bin")},
           large + Arguments{Path("m.csv")},
           large + Arguments{Path("m.npz")},
           {"mdp", "convert", in, Path("m.drn")},
           {"mdp", "convert", in, Path("m.tra")},
           solve + Arguments{"--values", Path("v.csv")},
           solve + Arguments{"--values", Path("v.npz")},
           solve + Arguments{"--policy", Path("p.csv")},
           solve + Arguments{"--bounds", Path("b.csv")},
           {"env", "rollout", "minatar/breakout", "--trace", Path("t.csv")},
           {"eval", Input("run"), "--trace", Path("t.npz")},
           {"train", "--env", "classic/cartpole", "--steps", "200", "--out", Path("run")}}) {
    SCOPED_TRACE(command.front() + " " + command.back());
    const Outcome outcome = StableaaPrepared([] { LimitFileSize(4000); }, command);
    EXPECT_NE(ExpectFailure(outcome).find("File too large"), std::string::npos) << outcome.err;
  }
}

TEST_F(FullSurroundings, ALimitOnTheSizeOfFilesHoldsForStdoutToo) {
  std::ofstream(Path("out")).flush();
  const Outcome outcome = RunCommand({STABLEAA_PROGRAM_PATH, "config", "keys"}, Path("out"),
                                     [] { LimitFileSize(1000); });
  EXPECT_EQ(ExpectError(outcome, 1), "cannot write the output: File too large");
}

// Drawing uses files in memory, to which the limit applies as well.
TEST_F(FullSurroundings, ALimitOnTheSizeOfFilesEndsDrawing) {
  if (!HasTool("gnuplot") || !HasTool("ffmpeg")) GTEST_SKIP() << "needs gnuplot and ffmpeg";
  RememberNames();
  for (const Arguments& command :
       {Arguments{"solve", Input("m.csv"), "--discount", "0.9", "--plot", Path("p.svg")},
        Arguments{"env", "rollout", "minatar/breakout", "--episodes", "1", "--gif", Path("a.gif")},
        Arguments{"report", Input("run"), "--out", Path("report")}}) {
    SCOPED_TRACE(command.front());
    ExpectFailure(StableaaPrepared([] { LimitFileSize(2000); }, command));
  }
}

TEST_F(FullSurroundings, ARunThatMeetsALimitOnTheSizeOfFilesGoesOnAfterIt) {
  const Arguments settings =
      Sets({"replay.start=50", "checkpoint.interval_steps=50", "train.log_interval_steps=10",
            "eval.interval_steps=100", "eval.episodes=1"}) +
      Arguments{"--threads", "1"};
  const Arguments train =
      Arguments{"train", "--env", "classic/cartpole", "--steps", "600"} + settings;
  EXPECT_EQ(Stableaa(train + Arguments{"--out", Path("straight")}).exit_code, 0);
  int failed = 0;
  for (rlim_t limit = 2000; limit < 400'000; limit = limit * 3 / 2) {
    const std::string out = Path("limited");
    fs::remove_all(out);
    Outcome outcome =
        StableaaPrepared([limit] { LimitFileSize(limit); }, train + Arguments{"--out", out});
    if (outcome.exit_code != 0) {
      ++failed;
      EXPECT_EQ(outcome.exit_code, 1) << limit << ' ' << outcome.err;
      EXPECT_NE(outcome.err.find("File too large"), std::string::npos) << outcome.err;
      if (!fs::exists(out)) continue;
      outcome = Stableaa({"train", "--resume", out});
      EXPECT_EQ(outcome.exit_code, 0) << limit << ' ' << outcome.err;
    }
    const auto content = [](const std::string& file) {
      std::ifstream in(file, std::ios::binary);
      return std::string(std::istreambuf_iterator<char>(in), {});
    };
    EXPECT_EQ(content(out + "/episodes.csv"), content(Path("straight/episodes.csv"))) << limit;
  }
  EXPECT_GT(failed, 3);
}

TEST_F(FullSurroundings, FewDescriptorsAreAnErrorAndLoseNothing) {
  RememberNames();
  const Arguments rollout = {"env", "rollout", "minatar/breakout", "--episodes", "1"};
  std::vector<Arguments> commands = {
      {"solve", Input("m.csv"), "--discount", "0.9", "--values", Path("v.csv")},
      {"mdp", "convert", Input("m.csv"), Path("m.npz")},
      rollout + Arguments{"--trace", Path("t.csv")},
      {"eval", Input("run"), "--episodes", "1", "--trace", Path("t.npz")},
      {"train", "--env", "classic/cartpole", "--steps", "200", "--out", Path("run")}};
  if (HasTool("gnuplot")) {
    commands.push_back({"solve", Input("m.csv"), "--discount", "0.9", "--plot", Path("p.svg")});
    commands.push_back({"report", Input("run"), "--out", Path("report")});
  }
  if (HasTool("ffmpeg")) commands.push_back(rollout + Arguments{"--gif", Path("a.gif")});
  for (const Arguments& command : commands) {
    bool done = false;
    // Fewer are not enough to read a directory that is to be removed.
    for (rlim_t most = 6; most < 40 && !done; ++most) {
      SCOPED_TRACE(command.front() + " " + command.back() + " " + std::to_string(most));
      const Outcome outcome = StableaaPrepared(
          [most] {
            ::closefrom(3);
            const rlimit limit = {.rlim_cur = most, .rlim_max = most};
            ::setrlimit(RLIMIT_NOFILE, &limit);
          },
          command);
      done = outcome.exit_code == 0;
      if (done) break;
      if (fs::exists(Path("run"))) {  // started, and can be resumed
        EXPECT_EQ(Stableaa({"train", "--resume", Path("run")}).exit_code, 0);
        fs::remove_all(Path("run"));
      }
      fs::remove_all(Path("report"));  // it may have created the folders
      ExpectFailure(outcome);
      ExpectWords(outcome.err, {"Too many open files"});  // a report warns of a figure
    }
    EXPECT_TRUE(done) << command.front();
    for (const std::string& name : Names()) {
      if (name.find(".tmp") != std::string::npos) ADD_FAILURE() << name << " is left";
    }
    for (const std::string name :
         {"v.csv", "m.npz", "t.csv", "t.npz", "run", "p.svg", "report", "a.gif"}) {
      fs::remove_all(Path(name));
    }
  }
}

// ---- Closed streams ----

// The next file opened would get their numbers and receive what is printed.
TEST_F(FullSurroundings, ClosedStreamsDoNotMixWithOutputs) {
  for (const int closed : {0, 1, 2, 3}) {
    SCOPED_TRACE(closed);
    const Outcome outcome = StableaaPrepared(
        [closed] {
          for (int fd = 0; fd < 3; ++fd) {
            if (fd == closed || closed == 3) ::close(fd);
          }
        },
        {"solve", Input("m.csv"), "--discount", "0.9", "--values", Path("v.csv")});
    EXPECT_EQ(outcome.exit_code, closed == 1 || closed == 3 ? 1 : 0);
    std::ifstream file(Path("v.csv"));
    const std::string text(std::istreambuf_iterator<char>(file), {});
    EXPECT_EQ(text.substr(0, 14), "state,value\n0,");
    EXPECT_EQ(Lines(text).size(), 2U) << text;
    fs::remove(Path("v.csv"));
  }
}

}  // namespace stableaa::surroundings_test
