// Special files in a run's directory are refused, and never block the program.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::run_files_test {

namespace fs = std::filesystem;

class FullRunFiles : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    TrainOnCartpole("dqn", 1, 300, Path("original"), {"replay.start=100"});
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string Path(const std::string& name) { return (folder_->path() / name).string(); }

  // A copy of the run, ready to be resumed, with one of its files replaced by something else.
  static std::string RunWith(const std::string& file, const std::string& what) {
    const std::string run = Path("run");
    fs::remove_all(run);
    fs::copy(Path("original"), run, fs::copy_options::recursive);
    const fs::path place = fs::path(run) / file;
    fs::remove_all(place);
    if (what == "pipe") {
      EXPECT_EQ(::mkfifo(place.c_str(), 0600), 0) << place;
    }
    if (what == "link") fs::create_symlink(Path("elsewhere"), place);
    if (what == "zero") fs::create_symlink("/dev/zero", place);
    if (what == "loop") fs::create_symlink(place.filename(), place);
    if (what == "directory") fs::create_directory(place);
    return run;
  }

  // Ends within the minute that ctest allows, or ProgramAtWork kills it.
  static Outcome RunWithin(double seconds, const Arguments& arguments) {
    ProgramAtWork program(arguments);
    const auto limit = std::chrono::steady_clock::now() + Seconds(seconds);
    while (program.IsRunning() && std::chrono::steady_clock::now() < limit) SleepFor(0.01);
    if (program.IsRunning()) {
      ADD_FAILURE() << "it waits";
      program.Signal(SIGKILL);
    }
    return program.Wait();
  }

  static void ExpectRefused(const Outcome& outcome, const std::string& file) {
    const std::string message = ExpectError(outcome, 2);
    EXPECT_NE(message.find(file), std::string::npos) << message;
  }

 private:
  static inline TemporaryFolder* folder_ = nullptr;
};

constexpr const char* kKinds[] = {"pipe", "zero", "loop", "directory"};

TEST_F(FullRunFiles, ThatAreNoFilesEndAResume) {
  for (const std::string file : {"config.toml", "checkpoint/state.bin"}) {
    for (const std::string what : kKinds) {
      SCOPED_TRACE(file + " " + what);
      if (what == "loop" && file == "config.toml") continue;  // as if it were missing
      ExpectRefused(RunWithin(30, {"train", "--resume", RunWith(file, what), "--steps", "400"}),
                    fs::path(file).filename().string());
    }
  }
}

// It would write there when resuming.
TEST_F(FullRunFiles, ThatAreNoFilesAreNotWritten) {
  std::ofstream(Path("elsewhere")) << "kept";
  for (const std::string file : {"weights/latest.safetensors", "weights/best.safetensors",
                                 "checkpoint/segment-00000099.bin", "diverged.npz"}) {
    for (const std::string what : {"pipe", "link"}) {
      SCOPED_TRACE(file + " " + what);
      ExpectRefused(RunWithin(30, {"train", "--resume", RunWith(file, what), "--steps", "400"}),
                    fs::path(file).filename().string());
    }
  }
  std::ifstream kept(Path("elsewhere"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "kept");
}

TEST_F(FullRunFiles, PipesAmongOtherOutputsAreErrors) {
  std::ofstream(Path("suite.toml"))
      << "env = \"classic/cartpole\"\npreset = \"dqn\"\nseeds = [1]\n[stop]\nsteps = 100\n";
  struct Case {
    Arguments command;  // the directory is appended
    std::string pipe;
    int exit_code = 1;
  };
  for (const Case& c :
       {Case{{"sweep", Path("suite.toml"), "--out"}, "sweep.json", 0},  // it continues without it
        {{"sweep", Path("suite.toml"), "--out"}, "suite.toml"},
        {{"report", Path("original"), "--out"}, "tables/runs.csv"},
        {{"theory", "prop1", "--trials", "1", "--figures"}, "boltzmann.svg"}}) {
    SCOPED_TRACE(c.command.front() + " " + c.pipe);
    const fs::path out = Path("out");
    fs::remove_all(out);
    fs::create_directories((out / c.pipe).parent_path());
    ASSERT_EQ(::mkfifo((out / c.pipe).c_str(), 0600), 0);
    const Outcome outcome = RunWithin(60, c.command + Arguments{out.string()});
    EXPECT_EQ(outcome.exit_code, c.exit_code) << outcome.err;
    EXPECT_NE(outcome.err.find(fs::path(c.pipe).filename().string()), std::string::npos)
        << outcome.err;
  }
}

TEST_F(FullRunFiles, ThatAreNoFilesEndAnEvaluation) {
  for (const std::string file : {"config.toml", "weights/latest.safetensors"}) {
    for (const std::string what : kKinds) {
      SCOPED_TRACE(file + " " + what);
      if (what == "loop") continue;
      for (const std::string command : {"eval", "play"}) {
        Arguments arguments = {command, RunWith(file, what), "--weights", "latest"};
        if (command == "play") arguments = arguments + Arguments{"--video", Path("v.gif")};
        ExpectRefused(RunWithin(30, arguments), fs::path(file).filename().string());
      }
    }
  }
}

TEST_F(FullRunFiles, ThatAreNoFilesEndAReport) {
  for (const std::string file :
       {"config.toml", "metrics.csv", "run.json", "checkpoint/state.bin"}) {
    SCOPED_TRACE(file);
    const std::string run = RunWith(file, "pipe");
    const Outcome outcome = RunWithin(60, {"report", run, "--out", Path("report")});
    EXPECT_NE(outcome.exit_code, -SIGKILL);
  }
}

// A file that the user names may be a pipe.
TEST_F(FullRunFiles, APipeThatTheUserNamesIsRead) {
  const std::string model = "s,a,next,p,r\n0,0,0,1,1\n";
  std::ofstream(Path("m.csv")) << model;
  std::ofstream(Path("suite.toml"))
      << "env = \"classic/cartpole\"\npreset = \"dqn\"\nseeds = [1]\n[stop]\nsteps = 100\n";
  const std::string program = STABLEAA_PROGRAM_PATH;
  for (const std::string& command :
       {program + " mdp info <(cat " + Path("m.csv") + ") 2>&1 | grep -q 'expected a model file'",
        "ln -s /dev/stdin " + Path("in.csv") + "; cat " + Path("m.csv") + " | " + program +
            " solve " + Path("in.csv") + " --discount 0.9 | grep -q certified",
        program + " sweep <(cat " + Path("suite.toml") + ") --dry-run --no-estimate --out " +
            Path("sweep") + " | grep -q '1 run of 100 steps'"}) {
    const Outcome outcome = RunCommand({"bash", "-c", command});
    EXPECT_EQ(outcome.exit_code, 0) << command << '\n' << outcome.out << outcome.err;
  }
}

}  // namespace stableaa::run_files_test
