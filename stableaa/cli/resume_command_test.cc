// stableaa train --resume, as processes: logs with a changed byte, states with correct checksums
// but wrong numbers, and runs that end before their first evaluation.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/run/checkpoint_fields_test.h"
#include "stableaa/rl/run/checkpoint_head.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::resume_command_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kEvents = "events.out.tfevents.0.stableaa";

// The first evaluation is at step 300.
const std::vector<std::string> kSet = {"network.hidden=[8]",
                                       "train.batch=4",
                                       "replay.start=50",
                                       "replay.size=160",
                                       "eval.interval_steps=300",
                                       "agent.target_interval_updates=50",
                                       "train.log_interval_steps=50",
                                       "eval.episodes=2",
                                       "checkpoint.interval_steps=100",
                                       "exploration.epsilon_steps=300"};

Outcome Train(const Arguments& arguments) { return Stableaa(Arguments{"train"} + arguments); }

class ResumeCommand : public ::testing::Test {
 protected:
  ResumeCommand() { ::setenv("OMP_WAIT_POLICY", "passive", 1); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  static Arguments Flags(int steps, const std::string& out) {
    return Arguments{"--env",     "classic/cartpole",
                     "--steps",   std::to_string(steps),
                     "--threads", "1",
                     "--out",     out} +
           Sets(kSet);
  }
  fs::path Start(const std::string& name, int steps) const {
    const Outcome outcome = Train(Flags(steps, Path(name)));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Path(name);
  }
  static void Resume(const fs::path& run, const Arguments& more = {}) {
    const Outcome outcome = Train(Arguments{"--resume", run.string()} + more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  // Resuming fails with a message that contains these words, and changes nothing.
  static void ExpectRefused(const fs::path& run, const std::vector<std::string>& words) {
    const Snapshot before = SnapshotOf(run);
    const Outcome outcome = Train({"--resume", run.string(), "--steps", "900"});
    ExpectWords(ExpectError(outcome, 2), words);
    ExpectUnchanged(run, before);
  }

  FolderOfRuns folder_;
};

class FullResumeCommand : public ResumeCommand {};

// --- Logs ----------------------------------------------------------------------------------------

// How the message names the line that contains byte `at`.
std::string NameOfLine(const std::string& text, std::size_t at) {
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  return line == 0 ? "line 1, the names of columns"
                   : fmt::format("row {} (line {})", line, line + 1);
}

TEST_F(ResumeCommand, AChangedByteOfALogIsNoticedAndItsRowNamed) {
  const fs::path run = Start("run", 650);
  RandomStream random(1, "bytes");
  for (const std::string& log :
       {std::string("metrics.csv"), std::string("episodes.csv"), kEvents}) {
    const std::string content = FileContent(run / log);
    for (int trial = 0; trial < 12; ++trial) {
      const std::size_t at = random.Below(content.size());
      SCOPED_TRACE(fmt::format("{} byte {}", log, at));
      std::string changed = content;
      changed[at] = changed[at] == '7' ? '8' : '7';
      WriteContent(run / log, changed);
      ExpectRefused(run, {(run / log).string(), "as the run has logged it, found it changed",
                          log == kEvents ? "record " : NameOfLine(content, at)});
    }
    WriteContent(run / log, content);
  }
  Resume(run, {"--steps", "900"});
  ExpectSameResults(run, Start("straight", 900));
}

TEST_F(ResumeCommand, RowsTakenOutOfALogAreNoticedAndWhatFollowsTheLastIsCutOff) {
  const fs::path run = Start("run", 650);
  const std::string metrics = FileContent(run / "metrics.csv");
  const std::size_t second = metrics.find('\n', metrics.find('\n') + 1) + 1;
  const std::size_t third = metrics.find('\n', second) + 1;
  const std::string taken = metrics.substr(0, second) + metrics.substr(third);
  WriteContent(run / "metrics.csv", taken);
  ExpectRefused(run, {"metrics.csv has", "bytes, expected at least"});
  WriteContent(run / "metrics.csv", taken + std::string(1000, 'x'));
  ExpectRefused(run, {"metrics.csv", "row 2 (line 3)"});
  WriteContent(run / "metrics.csv", metrics + "700,and more\nof it");
  WriteContent(run / "episodes.csv", FileContent(run / "episodes.csv") + "half");
  Resume(run, {"--steps", "900"});
  ExpectSameResults(run, Start("straight", 900));
}

TEST_F(ResumeCommand, ACheckpointOfTheFormerVersionIsRefusedByName) {
  const fs::path run = Start("run", 350);
  const fs::path state = run / "checkpoint/state.bin";
  WriteCheckedFile(state, kCheckpointKind, kCheckpointVersion - 1,
                   ReadCheckedFile(state, kCheckpointKind, kCheckpointVersion).payload);
  ExpectRefused(run, {state.string(), fmt::format("format version {}", kCheckpointVersion - 1),
                      fmt::format("reads version {}", kCheckpointVersion)});
}

TEST(Checkpoints, HaveTheVersionThatTheManualNames) {
  const std::string manual = FileContent(STABLEAA_DOCS_PATH "/formats.md");
  EXPECT_NE(manual.find(fmt::format("state.bin, kind `{}`, version {}, in this order",
                                    kCheckpointKind, kCheckpointVersion)),
            std::string::npos)
      << "docs/formats.md describes another version of state.bin";
}

// --- States --------------------------------------------------------------------------------------

// Correct checksums, and an action that does not exist, which was once used as an index into the
// networks' values.
TEST_F(ResumeCommand, AnActionBeyondTheActionSetIsRefused) {
  const fs::path run = Start("run", 350);
  const fs::path state = run / "checkpoint/state.bin";
  const std::vector<std::byte> sound =
      ReadCheckedFile(state, kCheckpointKind, kCheckpointVersion).payload;
  constexpr std::size_t kEnvironment =
      8 + std::string_view("classic/cartpole").size() + 8 + 8 + (3 * 8 + 1) + 8 + 4 * 8;
  constexpr int kTensors = 8;  // two layers for the value, two for the advantages
  const CheckpointFields fields(
      sound, {.environment_bytes = kEnvironment, .tensors = kTensors, .segment_states = 160 / 8});
  const std::size_t action = fields["replay.segment.state[0].action"].offset;
  for (const std::int32_t number : {2, 1000000, -2}) {
    std::vector<std::byte> changed = sound;
    for (std::size_t i = 0; i < 4; ++i) {
      changed[action + i] = static_cast<std::byte>(number >> (8 * i));
    }
    WriteCheckedFile(state, kCheckpointKind, kCheckpointVersion, changed);
    ExpectRefused(run, {state.string(), "expected an action from 0 to 1, or -1 for none",
                        fmt::format("found {}", number)});
  }
}

// --- The evaluation at the end -------------------------------------------------------------------

// The steps and evaluation returns in metrics.csv.
std::map<std::string, std::string> Evaluations(const fs::path& run) {
  const Table metrics(run / "metrics.csv");
  std::map<std::string, std::string> evaluations;
  for (std::size_t row = 0; row < metrics.rows(); ++row) {
    const std::string& value = metrics["eval_return_mean"][row];
    if (!value.empty()) evaluations[metrics["step"][row]] = value;
  }
  return evaluations;
}

TEST_F(ResumeCommand, ARunThatEndsBeforeItsFirstEvaluationMakesOne) {
  // At a step that has a row anyway, and at one that does not.
  for (const int steps : {1, 250, 299}) {
    const fs::path run = Start(fmt::format("run{}", steps), steps);
    const Table metrics(run / "metrics.csv");
    EXPECT_EQ(metrics.rows(), static_cast<std::size_t>((steps + 49) / 50));
    EXPECT_EQ(metrics["step"].back(), std::to_string(steps));
    ASSERT_EQ(Evaluations(run).size(), 1U);
    EXPECT_NE(metrics["eval_return_mean"].back(), "");
    EXPECT_EQ(EventRecords(run / kEvents), static_cast<int>(metrics.rows()) + 1);
    EXPECT_NE(FileContent(run / "weights/best.safetensors")
                  .find(fmt::format("\"stableaa.step\":\"{}\"", steps)),
              std::string::npos);
    // It is complete.
    const Snapshot before = SnapshotOf(run);
    const Outcome again = Train({"--resume", run.string()});
    EXPECT_EQ(again.exit_code, 0) << again.err;
    ExpectWords(again.err, {"complete"});
    ExpectUnchanged(run, before);
  }
  // A run that has evaluated before its end does not evaluate there.
  EXPECT_EQ(Evaluations(Start("longer", 350)).size(), 1U);
  EXPECT_TRUE(Evaluations(Path("longer")).contains("300"));
}

TEST_F(ResumeCommand, ARunThatGoesOnForgetsTheEvaluationOfItsFormerEnd) {
  const fs::path straight = Start("straight", 700), middle = Start("middle", 280);
  for (const int first : {1, 100, 250}) {
    const fs::path run = Start(fmt::format("run{}", first), first);
    Resume(run, {"--steps", "280"});
    ExpectSameResults(run, middle);
    Resume(run, {"--steps", "700", "--threads", "2"});
    ExpectSameResults(run, straight);
    EXPECT_EQ(EventRecords(run / kEvents), EventRecords(straight / kEvents));
  }
}

TEST_F(ResumeCommand, AStoppedRunMakesNoEvaluationAndForgetsThatOfItsFormerEnd) {
  Arguments longer = Flags(250, Path("run")) + Sets({"eval.interval_steps=1000000000"});
  ASSERT_EQ(Train(longer).exit_code, 0);
  const fs::path best = folder_ / "run" / "weights/best.safetensors";
  EXPECT_TRUE(fs::exists(best));
  EXPECT_EQ(Evaluations(Path("run")).size(), 1U);
  ProgramAtWork training({"train", "--resume", Path("run"), "--steps", "100000000"});
  ASSERT_TRUE(training.Until([&] { return Table(folder_ / "run" / "metrics.csv").rows() > 8; }));
  training.Signal(SIGINT);
  const Outcome outcome = training.Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ExpectWords(outcome.err, {"stopped in step"});
  EXPECT_TRUE(Evaluations(Path("run")).empty());
  EXPECT_FALSE(fs::exists(best));
}

// By then it has discarded its evaluation, without which it is not complete.
TEST_F(ResumeCommand, ARunThatIsKilledAfterItsFormerEndCanGoBackThere) {
  const Arguments flags = Flags(250, Path("run")) + Sets({"eval.interval_steps=1000000000",
                                                          "checkpoint.interval_steps=1000000000"});
  ASSERT_EQ(Train(flags).exit_code, 0);
  fs::copy(Path("run"), Path("straight"), fs::copy_options::recursive);
  ProgramAtWork training({"train", "--resume", Path("run"), "--steps", "100000000"});
  ASSERT_TRUE(training.Until([&] { return Table(folder_ / "run" / "metrics.csv").rows() > 8; }));
  training.Signal(SIGKILL);
  training.Wait();
  EXPECT_TRUE(Evaluations(Path("run")).empty());
  Resume(Path("run"), {"--steps", "250"});
  ExpectSameResults(Path("run"), Path("straight"));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "weights/best.safetensors"));
}

TEST_F(ResumeCommand, TheEvaluationOfTheEndCanBeEnough) {
  const Outcome outcome = Train(Flags(250, Path("run")) + Arguments{"--until-return", "5"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ExpectWords(outcome.out, {"250 steps done, an evaluation has "});
  const Outcome too_much = Train(Flags(250, Path("other")) + Arguments{"--until-return", "1e9"});
  EXPECT_EQ(too_much.exit_code, 0) << too_much.err;
  EXPECT_EQ(too_much.out, Path("other") + ": 250 steps done\n");
  ExpectSameResults(Path("run"), Path("other"));
  // A run that goes on is not judged by it.
  Resume(Path("run"), {"--steps", "700", "--until-return", "1e9"});
  ExpectSameResults(Path("run"), Start("straight", 700));
}

// The evaluation takes a second, so that most kills hit it.
TEST_F(FullResumeCommand, AKillInTheEvaluationOfTheEndLosesNothing) {
  const auto flags = [this](const std::string& name) {
    return Flags(120, Path(name)) + Sets({"eval.episodes=40000", "eval.parallel=1"});
  };
  ASSERT_EQ(Train(flags("straight")).exit_code, 0);
  RandomStream random(1, "kills");
  for (int trial = 0; trial < 12; ++trial) {
    const std::string name = fmt::format("run{}", trial);
    const fs::path run = Path(name);
    ProgramAtWork training(Arguments{"train"} + flags(name));
    training.Until([&] { return Table(run / "metrics.csv").rows() >= 2; });
    SleepFor(random.Uniform(0, .8));
    training.Signal(trial % 3 == 0 ? SIGINT : SIGKILL);
    training.Wait();
    Resume(run);
    ExpectSameResults(run, Path("straight"));
  }
}

TEST_F(ResumeCommand, SweepsAndReportsTakeTheEvaluationOfTheEnd) {
  const auto write_suite = [this](const std::string& stop) {
    std::string suite = "env = \"classic/cartpole\"\nseeds = 2\n[stop]\n" + stop + "\n[set]\n";
    for (const std::string& assignment : kSet) suite += assignment + '\n';
    WriteContent(Path("suite.toml"), suite + "[axes]\npreset = [\"dqn\", \"stable-aa\"]\n");
  };
  const auto sweep = [this] {
    const Outcome outcome =
        Stableaa({"sweep", Path("suite.toml"), "--out", Path("out"), "--no-estimate"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(FileContent(folder_ / "out" / "sweep.json"))["runs"];
  };
  write_suite("steps = 200");
  for (int times = 0; times < 2; ++times) {
    for (const Json& run : sweep()) {
      EXPECT_EQ(run["status"], "done");
      EXPECT_EQ(run["steps"], 200);
      EXPECT_TRUE(run["eval_return"].is_number());
    }
  }
  const Outcome report = Stableaa({"report", Path("out"), "--out", Path("report")});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  ExpectWords(report.out + report.err, {"dqn"});
  // With more steps, they are not judged by an evaluation that a longer run does not make.
  write_suite("steps = 350\neval_return = 1.0");
  for (const Json& run : sweep()) {
    EXPECT_EQ(run["status"], "done");
    EXPECT_EQ(run["steps"], 300);
  }
}

}  // namespace stableaa::resume_command_test
