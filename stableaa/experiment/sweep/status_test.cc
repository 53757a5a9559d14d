#include "stableaa/experiment/sweep/status.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stableaa/experiment/sweep/sweep_runs_test.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::status_test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class SweepStatusTest : public ::testing::Test {
 protected:
  SuiteRuns four_{kFourRuns};
  const Suite& suite_ = four_.suite;
  std::vector<SweepRun>& runs_ = four_.runs;
};

TEST_F(SweepStatusTest, SharesAndCounts) {
  runs_[0].steps = 250;
  EXPECT_EQ(runs_[0].Share(), 0.25);
  EXPECT_EQ(runs_[0].StepsLeft(), 750);
  runs_[1].steps = 5000;
  EXPECT_EQ(runs_[1].Share(), 1);
  EXPECT_EQ(runs_[1].StepsLeft(), 0);
  runs_[1].state = SweepState::kDone;
  runs_[2].state = SweepState::kFailed;
  const SweepCounts counts = Count(runs_);
  EXPECT_EQ(counts.pending, 2U);
  EXPECT_EQ(counts.done, 1U);
  EXPECT_EQ(counts.failed, 1U);
}

TEST_F(SweepStatusTest, SweepJsonTellsAndReadsBack) {
  const FolderOfRuns folder;
  runs_[0].state = SweepState::kFailed;
  runs_[0].message = "bad \xff bytes and \"quotes\"";
  runs_[1].seconds = 12.25;
  const fs::path file = folder / "sweep.json";
  EXPECT_TRUE(ReadSweepJson(file).runs.empty());
  WriteSweepJson(file, suite_.title, runs_);
  const auto json = nlohmann::json::parse(FileContent(file));
  EXPECT_EQ(json["title"], "Four");
  ASSERT_EQ(json["runs"].size(), 4U);
  EXPECT_EQ(json["runs"][0]["status"], "failed");
  EXPECT_EQ(json["runs"][1]["values"]["agent.eta"], 2);
  EXPECT_EQ(json["runs"][2]["seed"], 2);
  EXPECT_TRUE(json["runs"][0]["eval_return"].is_null());
  const SweepNotes notes = ReadSweepJson(file);
  EXPECT_EQ(notes.title, "Four");
  EXPECT_EQ(notes.runs.size(), 4U);
  EXPECT_EQ(notes.runs.at("minatar-breakout-stable-aa-eta-2-1").seconds, 12.25);
  EXPECT_EQ(notes.runs.at("minatar-breakout-stable-aa-eta-2-1").status, "pending");
  EXPECT_EQ(notes.runs.at("minatar-breakout-stable-aa-eta-2-1").steps_wanted,
            json["runs"][0]["steps_wanted"].get<std::int64_t>());
  WriteContent(file, R"({"runs": [{"name": "a", "steps_wanted": -1},
                                  {"name": "b", "steps_wanted": 18446744073709551615}]})");
  for (const auto& [name, run] : ReadSweepJson(file).runs) EXPECT_FALSE(run.steps_wanted) << name;
  for (const std::string broken : {"", "[]", "{", "{\"runs\": 3}", "{\"runs\": [3, {}]}",
                                   "{\"runs\": [{\"name\": 3, \"seconds\": \"x\"}]}"}) {
    WriteContent(file, broken);
    EXPECT_TRUE(ReadSweepJson(file).runs.empty()) << broken;
  }
}

TEST_F(SweepStatusTest, StatesHaveNames) {
  const std::vector<std::string_view> names = {
      Name(SweepState::kPending), Name(SweepState::kRunning), Name(SweepState::kDone),
      Name(SweepState::kStopped), Name(SweepState::kFailed)};
  EXPECT_EQ(names,
            (std::vector<std::string_view>{"pending", "running", "done", "stopped", "failed"}));
}

TEST_F(SweepStatusTest, ARunOfNoStepsIsWholeOnceItIsDone) {
  const SuiteRuns none("stop.steps = 0\n");
  SweepRun run = none.runs.at(0);
  EXPECT_EQ(run.Share(), 0);
  run.state = SweepState::kDone;
  EXPECT_EQ(run.Share(), 1);
  EXPECT_EQ(run.StepsLeft(), 0);
}

TEST_F(SweepStatusTest, ARunIsOneLineOfJson) {
  runs_[1].state = SweepState::kStopped;
  runs_[1].steps = 400;
  runs_[1].seconds = 1.5;
  runs_[1].eval_return = -2.25;
  runs_[1].message = "two\nlines \x1b[2J \xe2\x80\xae";
  const std::string line = RunJson(runs_[1], {.directory = "out"});
  EXPECT_EQ(line.find_first_of("\n\x1b"), std::string::npos) << line;
  EXPECT_EQ(line.find("\xe2\x80\xae"), std::string::npos) << "turns the direction of a terminal";
  EXPECT_EQ(Json::parse(line), Json::parse(R"({
      "name": "minatar-breakout-stable-aa-eta-2-1",
      "directory": "out/minatar-breakout-stable-aa-eta-2-1",
      "env": "minatar/breakout", "preset": "stable-aa", "seed": 1, "values": {"agent.eta": 2.0},
      "status": "stopped", "steps": 400, "steps_wanted": 1000, "seconds": 1.5,
      "eval_return": -2.25, "message": "two\nlines \u001b[2J \u202e"})"));
}

TEST_F(SweepStatusTest, APlannedRunHasItsEstimate) {
  runs_[0].state = SweepState::kDone;
  const Json json = Json::parse(
      RunJson(runs_[0], {.planned = true, .estimate = RunEstimate{.seconds = 12.5, .bytes = 1e6}}));
  EXPECT_EQ(json["status"], "planned");
  EXPECT_EQ(json["estimated_seconds"], 12.5);
  EXPECT_EQ(json["estimated_bytes"], 1e6);
  EXPECT_EQ(json["directory"], json["name"]);
  EXPECT_FALSE(Json::parse(RunJson(runs_[0], {.planned = true})).contains("estimated_seconds"));
}

// Numbers and lists keep their type; anything else becomes text.
TEST_F(SweepStatusTest, ValuesOfAxesKeepTheirTypes) {
  const SuiteRuns typed(R"(
[axes]
network.hidden = [[8, 16]]
agent.backup = ["mellowmax"]
agent.targets = [3]
)");
  EXPECT_EQ(nlohmann::json::parse(RunJson(typed.runs.at(0), {}))["values"],
            nlohmann::json::parse(R"({"network.hidden": [8, 16], "agent.backup": "mellowmax",
                            "agent.targets": 3})"));
}

TEST_F(SweepStatusTest, APipeInPlaceOfSweepJsonDoesNotHang) {
  const FolderOfRuns folder;
  ASSERT_EQ(::mkfifo((folder / "sweep.json").c_str(), 0600), 0);
  EXPECT_TRUE(ReadSweepJson(folder / "sweep.json").runs.empty());
}

}  // namespace stableaa::status_test
