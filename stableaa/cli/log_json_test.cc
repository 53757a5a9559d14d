// stableaa train --log-json: rows for programs that follow a run.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/cli/train_runs_test.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::log_json_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class LogJson : public TrainCommand {
 protected:
  Arguments Flags(const std::string& run, const std::string& log,
                  const std::string& steps = "1500") const {
    Arguments flags = kCartpole;
    *std::ranges::find(flags, "1500") = steps;
    return flags + kOneThread + Arguments{"--out", Path(run), "--log-json", log};
  }
  // A command for bash in which "$@" is the program with its arguments.
  Outcome InShell(const std::string& command, const Arguments& arguments) const {
    return RunCommand(Arguments{"bash", "-c", command, "bash", STABLEAA_PROGRAM_PATH, "train"} +
                      arguments);
  }
};

std::vector<Json> Objects(const std::string& text) {
  EXPECT_TRUE(text.empty() || text.ends_with('\n'));
  std::vector<Json> objects;
  for (const std::string& line : Lines(text)) {
    objects.push_back(Json::parse(line, nullptr, false));
    EXPECT_TRUE(objects.back().is_object()) << line;
  }
  return objects;
}

// The rows of this kind as lines of a CSV file, the last of each step; without wall_ columns.
std::string AsColumns(const std::vector<Json>& objects, const std::string& kind, const Table& csv) {
  std::map<std::int64_t, Json> rows;
  for (const Json& object : objects) {
    if (object["kind"] == kind) rows[object["step"].get<std::int64_t>()] = object;
  }
  std::string text;
  for (const auto& [name, cells] : csv.columns()) {
    if (name.starts_with("wall_")) continue;
    text += name;
    for (const auto& [step, row] : rows) {
      text += ',' + (row[name].is_null() ? std::string() : row[name].dump());
    }
    text += '\n';
  }
  return text;
}

// Numbers as JSON writes them: 1e-05, not 0.00001.
std::string AsColumns(const Table& csv) {
  std::string text;
  for (const auto& [name, cells] : csv.columns()) {
    if (name.starts_with("wall_")) continue;
    text += name;
    for (const std::string& cell : cells) {
      text += ',' + (cell.empty() ? cell : Json::parse(cell).dump());
    }
    text += '\n';
  }
  return text;
}

void ExpectRowsOf(const fs::path& run, const std::vector<Json>& objects) {
  for (const auto& [kind, name] :
       {std::pair{"metrics", "metrics.csv"}, {"episode", "episodes.csv"}}) {
    const Table csv(run / name);
    EXPECT_GT(csv.rows(), 5U);
    EXPECT_EQ(AsColumns(objects, kind, csv), AsColumns(csv)) << run / name;
  }
}

TEST_F(LogJson, AReaderOnAPipeSeesEveryRow) {
  const Outcome outcome = InShell("\"$@\" | python3 " STABLEAA_LOG_READER, Flags("run", "-"));
  if (outcome.err.find("python3: command not found") != std::string::npos) {
    GTEST_SKIP() << "no python3";
  }
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::size_t episodes = Table(Path("run/episodes.csv")).rows();
  EXPECT_EQ(outcome.out, "15 metrics, " + std::to_string(episodes) + " episodes, seed 1\n")
      << outcome.err;
  ExpectWords(outcome.err, {": 1500 steps done"});
}

TEST_F(LogJson, NothingElseIsOnStdoutAndTheResultIsTheSame) {
  const fs::path plain = Start("plain", kCartpole);
  for (const std::string target : {"-", "/dev/stdout"}) {
    const std::string name = target == "-" ? "a" : "b";
    const Outcome outcome = Train(Flags(name, target));
    ExpectDone(outcome);
    const std::vector<Json> objects = Objects(outcome.out);
    ASSERT_GT(objects.size(), 20U);
    ExpectRowsOf(Path(name), objects);
    ExpectSameResults(Path(name), plain);
    ExpectWords(outcome.err, {": 1500 steps done"});
    const Json& run = objects.front();
    EXPECT_EQ(Fields(run), (std::set<std::string>{"kind", "version", "env", "preset", "seed",
                                                  "directory", "step", "config"}));
    EXPECT_EQ(run["version"], STABLEAA_VERSION);
    EXPECT_EQ(run["directory"], Path(name));
    EXPECT_EQ(run["step"], 0);
    EXPECT_EQ(run["config"]["train.steps"], 1500);
    EXPECT_EQ(run["config"]["network.hidden"], Json({16.0, 16.0}));
    EXPECT_EQ(std::ranges::count(objects, "run", [](const Json& row) { return row["kind"]; }), 1);
  }
}

TEST_F(LogJson, TheKeysOfARunAreThoseThatConfigShows) {
  const Outcome outcome = Train(Flags("run", "-", "0"));
  ExpectDone(outcome);
  ASSERT_FALSE(outcome.out.empty());
  const Json shown = Json::parse(
      ExpectOutput(Stableaa({"config", "show", "--json", "--config", Path("run/config.toml"),
                             "--preset", "stable-aa", "--env", "classic/cartpole"})));
  EXPECT_EQ(Objects(outcome.out).front()["config"], shown);
}

TEST_F(LogJson, RowsCanBeReadWhileTheRunGoesOn) {
  Training training(Flags("run", "-", "1000000"));
  EXPECT_TRUE(training.Until([&] {
    const std::string out = training.OutSoFar();
    return out.find("\"kind\":\"metrics\"") != std::string::npos && out.ends_with('\n');
  }));
  EXPECT_TRUE(training.IsRunning());
}

// Rows after the last checkpoint are repeated, with the same numbers.
TEST_F(LogJson, AKilledRunGoesOnInTheSameFile) {
  const fs::path plain = Start("plain", kCartpole);
  const std::string log = Path("rows.jsonl");
  {
    Training training(Flags("run", log) + Sets({"checkpoint.interval_steps=333"}));
    ASSERT_TRUE(training.Until([&] {
      return FileContent(log).find("\"kind\":\"metrics\",\"step\":600,") != std::string::npos;
    }));
    training.Signal(SIGKILL);
  }
  const std::size_t before = Lines(FileContent(log)).size();
  WriteContent(log, FileContent(log) + "{\"kind\":\"metrics\",\"st");  // as after a crash
  ExpectDone(Train({"--resume", Path("run"), "--log-json", log}));
  const std::vector<Json> objects = Objects(FileContent(log));
  ASSERT_GT(objects.size(), before);
  const Json& later = objects[before];
  EXPECT_EQ(later["kind"], "run");
  EXPECT_GT(later["step"].get<int>(), 0);
  EXPECT_GT(objects[before + 1]["step"].get<int>(), later["step"].get<int>());
  ExpectRowsOf(Path("run"), objects);
  ExpectRowsOf(plain, objects);
}

TEST_F(LogJson, AReaderWhoGoesDoesNotEndTheRun) {
  const fs::path plain = Start("plain", kCartpole);
  const Outcome outcome = InShell("set -o pipefail; \"$@\" | head -n 1", Flags("run", "-"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Objects(outcome.out).size(), 1U);
  ExpectSameResults(Path("run"), plain);
  const std::string warning = "stableaa: warning: stdout: its reader has gone; ";
  EXPECT_EQ(
      std::ranges::count_if(Lines(outcome.err),
                            [&](const std::string& line) { return line.starts_with(warning); }),
      1)
      << outcome.err;
}

TEST_F(LogJson, AReaderWhoDoesNotReadDoesNotKeepTheRunFromStopping) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  const Descriptor reader(::open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK));
  Training training(Flags("run", Path("pipe"), "100000") + Sets({"train.log_interval_steps=1"}));
  // Some 500 bytes per step, and room for 64 KiB.
  ASSERT_TRUE(training.Until([&] { return Table(Path("run/metrics.csv")).rows() > 50; }));
  std::size_t rows = 0;
  EXPECT_TRUE(training.Until([&] {
    SleepFor(.5);
    return rows == std::exchange(rows, Table(Path("run/metrics.csv")).rows());
  }));
  training.Signal(SIGINT);
  const Outcome outcome = training.Wait();
  ExpectDone(outcome);
  ExpectWords(outcome.err, {"its reader does not read", "stopped in step"});
  EXPECT_GT(StepOf(Path("run")), 50);
}

TEST_F(LogJson, WhatCannotBeUsedIsRefusedBeforeTheRunBegins) {
  WriteContent(Path("full"), "something\n");
  EXPECT_EQ(ErrorOf(Train(Flags("run", Path("full"))), 2), Path("full") + " exists already");
  EXPECT_NE(ErrorOf(Train(Flags("run", "")), 2), "");
  EXPECT_EQ(ErrorOf(Train(Flags("run", Path("nowhere/rows"))), 1),
            "cannot write " + Path("nowhere/rows") + ": the directory " + Path("nowhere") +
                " does not exist");
  EXPECT_NE(ErrorOf(Train(Flags("run", folder_.path().string())), 1), "");
  ErrorOf(Train(Flags("run", Path("rows")) + Sets({"agent.omega=-1"})), 2);
  EXPECT_EQ(Names(), std::set<std::string>{"full"});

  Start("run", kCartpole);
  const Snapshot before = SnapshotOf(Path("run"));
  for (const std::string name : {"full", "run/metrics.csv", "run/config.toml"}) {
    ExpectWords(
        ErrorOf(Train({"--resume", Path("run"), "--steps", "2000", "--log-json", Path(name)}), 2),
        {Path(name), "holds something else than the rows of a run as JSON"});
  }
  ExpectDone(Train({"--resume", Path("run"), "--log-json", Path("rows")}));  // nothing to do
  ExpectUnchanged(Path("run"), before);
  EXPECT_EQ(FileContent(Path("full")), "something\n");
  EXPECT_EQ(Names(), (std::set<std::string>{"full", "run"}));
}

TEST_F(LogJson, TheRunsDirectoryIsAPlaceForIt) {
  const std::string log = Path("run/rows.jsonl");
  ExpectDone(Train(Flags("run", log)));
  ExpectRowsOf(Path("run"), Objects(FileContent(log)));
  ExpectDone(Train({"--resume", Path("run"), "--steps", "1800", "--log-json", log}));
  ExpectRowsOf(Path("run"), Objects(FileContent(log)));
  for (const std::string name : {"weights/rows", "diverged.npz"}) {
    ExpectWords(ErrorOf(Train({"--resume", Path("run"), "--steps", "1900", "--log-json",
                               Path("run/" + name)}),
                        2),
                {"is a file of the run in "});
  }
}

TEST_F(LogJson, AFileOfTheRunIsRefusedBeforeItBegins) {
  const auto refusal = [&](const std::string& run, const std::string& log) {
    const std::string message = ErrorOf(Train(Flags(run, Path(log))), 2);
    EXPECT_EQ(Names(), std::set<std::string>{}) << message;
    return message;
  };
  EXPECT_EQ(refusal("run", "run"), "--log-json: '" + Path("run") +
                                       "' would be a directory: the run is made in " + Path("run"));
  ExpectWords(refusal("a/run/", "a"), {"would be a directory"});
  for (const std::string name : {"metrics.csv", "config.toml", "weights/rows"}) {
    EXPECT_EQ(refusal("run", "run/" + name),
              "--log-json: '" + Path("run/" + name) + "' is a file of the run");
  }
}

TEST_F(LogJson, ALogOfAnotherRunIsRefused) {
  const std::string log = Path("rows.jsonl");
  ExpectDone(Train(Flags("run", log)));
  const fs::path other = Start("other", kCartpole + Arguments{"--seed", "2"});
  const Snapshot before = SnapshotOf(folder_.path());
  EXPECT_EQ(ErrorOf(Train({"--resume", other.string(), "--steps", "1800", "--log-json", log}), 2),
            log + " holds the rows of another run: its train.seed is 1, and here it is 2");
  ExpectUnchanged(folder_.path(), before);
}

TEST_F(LogJson, AFullDiskIsAFailure) {
  EXPECT_EQ(ErrorOf(Train(Flags("a", "/dev/full")), 1),
            "cannot write /dev/full: No space left on device");
  EXPECT_EQ(ErrorOf(Stableaa(Arguments{"train"} + Flags("b", "-"), "/dev/full"), 1),
            "cannot write stdout: No space left on device");
  EXPECT_EQ(ErrorOf(Stableaa(Arguments{"train"} + Flags("c", "-"), "-"), 1),
            "cannot write stdout: Bad file descriptor");
}

}  // namespace stableaa::log_json_test
