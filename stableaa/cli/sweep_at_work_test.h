// Sweeps as processes, for tests that kill, stop and refuse them, and whose runs fail.
//
// The promise: whatever happens, a sweep ends with the same runs that `stableaa train` makes.
#ifndef STABLEAA_CLI_SWEEP_AT_WORK_TEST_H_
#define STABLEAA_CLI_SWEEP_AT_WORK_TEST_H_

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "stableaa/base/process/process_test.h"
#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa {

// Small, but with target shifts, evaluations and checkpoints.
inline const std::vector<std::string> kSweepSettings = {"network.hidden=[16, 16]",
                                                        "train.batch=8",
                                                        "replay.start=100",
                                                        "agent.target_interval_updates=100",
                                                        "eval.interval_steps=300",
                                                        "eval.episodes=2",
                                                        "train.log_interval_steps=100",
                                                        "checkpoint.interval_steps=100",
                                                        "exploration.epsilon_steps=500"};

struct SuiteText {
  int seeds = 1;
  std::string stop = "steps = 600";
  std::vector<std::string> set = kSweepSettings;
  std::string axes = "[axes]\npreset = [\"dueling-dqn\", \"stable-aa\"]\n";

  std::string Text() const {
    std::string text =
        fmt::format("env = \"classic/cartpole\"\nseeds = {}\n[stop]\n{}\n[set]\n", seeds, stop);
    for (const std::string& assignment : set) text += assignment + '\n';
    return text + axes;
  }
};

// The `train` processes of the runs in a directory.
inline std::vector<pid_t> TrainersOf(const std::filesystem::path& out) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    const std::string words = ProcessFile(pid, "cmdline");
    const bool trains = words.find(std::string("\0train\0", 7)) != std::string::npos;
    if (trains && words.find(out.string() + '/') != std::string::npos && IsAlive(pid)) {
      found.push_back(pid);
    }
  }
  return found;
}

class Sweeping : public ProgramAtWork {
 public:
  explicit Sweeping(const Arguments& arguments) : ProgramAtWork(Arguments{"sweep"} + arguments) {}
};

class SweepCommand : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::filesystem::path Out() const { return Path("out"); }
  std::filesystem::path Run(const std::string& name) const { return Out() / name; }

  std::string WriteSuite(const SuiteText& suite, const std::string& name = "suite.toml") const {
    WriteContent(Path(name), suite.Text());
    return Path(name);
  }

  // The flags to sweep the suite in out/.
  Arguments Flags(const SuiteText& suite, int jobs = 2) const {
    return {WriteSuite(suite),    "--out",        Out().string(), "--jobs",
            std::to_string(jobs), "--no-estimate"};
  }
  Outcome Sweep(const SuiteText& suite, const Arguments& more = {}) const {
    return Sweeping(Flags(suite) + more).Wait();
  }

  std::filesystem::path ErrorFile(const std::string& run) const {
    return Out() / "logs" / (run + ".error");
  }
  nlohmann::json Status() const {
    return nlohmann::json::parse(FileContent(Out() / "sweep.json"))["runs"];
  }
  std::map<std::string, std::string> States() const {
    std::map<std::string, std::string> states;
    for (const nlohmann::json& run : Status()) states[run["name"]] = run["status"];
    return states;
  }

  // The header line is written before the first step; from that step on, it handles signals.
  bool Learns(const std::string& run) const {
    return std::ranges::count(FileContent(Run(run) / "metrics.csv"), '\n') > 1;
  }

  // The run that `train` makes with the same options, given by flags.
  std::filesystem::path Direct(const std::string& preset, int seed, int steps,
                               const std::vector<std::string>& set = kSweepSettings) const {
    const std::string path = Path(fmt::format("direct-{}-{}-{}", preset, seed, steps));
    if (std::filesystem::exists(path)) return path;
    TrainOnCartpole(preset, seed, steps, path, set);
    return path;
  }

  void ExpectAllAsTrained(int seeds, int steps) const {
    for (int seed = 1; seed <= seeds; ++seed) {
      for (const std::string preset : {"dueling-dqn", "stable-aa"}) {
        const std::string name = fmt::format("classic-cartpole-{}-{}", preset, seed);
        ExpectSameResults(Run(name), Direct(preset, seed, steps));
        EXPECT_EQ(States()[name], "done");
      }
    }
    EXPECT_EQ(Status().size(), static_cast<std::size_t>(2 * seeds));
  }

  FolderOfRuns folder_;
};

class FullSweepCommand : public SweepCommand {};

}  // namespace stableaa

#endif  // STABLEAA_CLI_SWEEP_AT_WORK_TEST_H_
