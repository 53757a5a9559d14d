// stableaa sweep with a search, presets from files and --set, as processes.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "stableaa/cli/sweep_at_work_test.h"
#include "stableaa/core/random.h"

namespace stableaa::search_command_test {

namespace fs = std::filesystem;

// Six draws to step 100, three to 200, one to 400; the agents are tiny.
constexpr const char* kSearch = R"(
[axes]
variant = [{ label = "one", preset = "dqn" }, { label = "two, mixed", preset = "mine.toml" }]
[search]
draws = 6
seed = 2
halving = { rungs = 3, factor = 2 }
[search.ranges]
optimizer.learning_rate = { low = 1e-4, high = 1e-1, scale = "log" }
agent.n_step = { low = 1, high = 5 }
)";
constexpr std::size_t kRuns = 12;

class SearchCommand : public SweepCommand {
 protected:
  SearchCommand() {
    WriteContent(Path("mine.toml"), "preset = \"stable-aa\"\nagent.targets = 3\n");
  }
  static SuiteText Searching() {
    SuiteText suite{.stop = "steps = 400", .axes = kSearch};
    for (std::string& setting : suite.set) {
      if (setting == "eval.interval_steps=300") setting = "eval.interval_steps=50";
      if (setting == "replay.start=100") setting = "replay.start=20";
    }
    return suite;
  }
  // Every file that must not depend on kills and jobs, by name.
  std::map<std::string, std::string> Results(const fs::path& out) const {
    std::map<std::string, std::string> results = {
        {"search.csv", FileContent(out / "search.csv")},
        {"search.json", FileContent(out / "search.json")}};
    for (const auto& entry : fs::directory_iterator(out)) {
      const fs::path weights = entry.path() / "weights/latest.safetensors";
      if (!fs::exists(weights)) continue;
      const std::string name = entry.path().filename().string();
      results[name + " weights"] = FileContent(weights);
      results[name + " episodes"] = FileContent(entry.path() / "episodes.csv");
      results[name + " config"] = FileContent(entry.path() / "config.toml");
    }
    return results;
  }
  Outcome SweepIn(const std::string& out, int jobs) const {
    return Sweeping({WriteSuite(Searching()), "--out", Path(out), "--jobs", std::to_string(jobs),
                     "--no-estimate"})
        .Wait();
  }
};

TEST_F(SearchCommand, PromotedRunsAreThoseOfOneGo) {
  const Outcome outcome = Sweep(Searching());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  ExpectWords(outcome.out, {"one: the best of 6 draws", "two, mixed: the best of 6 draws",
                            "optimizer.learning_rate", fmt::format("{0} of {0} done", kRuns)});
  std::map<std::string, int> by_steps;
  for (const nlohmann::json& run : Status()) {
    ++by_steps[run["steps_wanted"].dump()];
    EXPECT_EQ(run["steps"], run["steps_wanted"]);
    EXPECT_EQ(run["status"], "done");
    const std::string label = run["label"];
    EXPECT_TRUE(label.ends_with(fmt::format(", draw {}", run["draw"].get<int>()))) << label;
  }
  EXPECT_EQ(by_steps, (std::map<std::string, int>{{"100", 6}, {"200", 4}, {"400", 2}}));

  for (const nlohmann::json& run : Status()) {
    if (run["steps"] == 100) continue;
    // The same options, trained to the same step without a break.
    const std::string name = run["name"], config = Path("one-go.toml"), direct = Path(name);
    WriteContent(config, FileContent(Run(name) / "config.toml"));
    const Outcome trained = ProgramAtWork({"train", "--config", config, "--out", direct}).Wait();
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    ExpectSameResults(Run(name), direct);
    EXPECT_EQ(FileContent(Run(name) / "config.toml"),
              FileContent(fs::path(direct) / "config.toml"));
  }
  // Once more changes nothing.
  const auto before = Results(Out());
  EXPECT_EQ(Sweep(Searching()).exit_code, 0);
  EXPECT_EQ(Results(Out()), before);
}

// Rungs end, and are judged, in the round of steps in which theirs falls.
TEST_F(SearchCommand, SeveralEnvironmentsReachTheirRungsToo) {
  SuiteText suite = Searching();
  suite.set.emplace_back("env.num_envs=3");
  for (std::string& setting : suite.set) {
    if (setting == "eval.interval_steps=50") setting = "eval.interval_steps=100";
  }
  const Outcome outcome = Sweep(suite);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::map<std::string, int> by_steps;
  for (const nlohmann::json& run : Status()) ++by_steps[run["steps"].dump()];
  EXPECT_EQ(by_steps, (std::map<std::string, int>{{"102", 6}, {"201", 4}, {"402", 2}}));
  EXPECT_EQ(FileContent(Out() / "search.csv").find("inf"), std::string::npos);
  for (const auto& draw : nlohmann::json::parse(FileContent(Out() / "search.json"))["draws"]) {
    for (const auto& [env, score] : draw["scores"].items()) EXPECT_TRUE(score.is_number()) << draw;
    EXPECT_FALSE(draw["scores"].empty());
  }
}

TEST_F(SearchCommand, IsTheSameForAnyNumberOfJobs) {
  ASSERT_EQ(SweepIn("one", 1).exit_code, 0);
  ASSERT_EQ(SweepIn("three", 3).exit_code, 0);
  EXPECT_EQ(Results(Path("one")), Results(Path("three")));
}

TEST_F(SearchCommand, DryRunShowsDrawsAndRungsAndWritesNothing) {
  const Outcome outcome = Sweep(Searching(), {"--dry-run"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ExpectWords(outcome.out, {"12 runs", "6 draws, halton, seed 2", "0.0001 to 0.1, log",
                            "6 to step 100, 3 to step 200, 1 to step 400", "one, two, mixed"});
  EXPECT_FALSE(fs::exists(Out()));
}

TEST_F(SearchCommand, AFailedDrawIsTheWorstUntilItSucceeds) {
  SuiteText suite = Searching();
  suite.axes = R"([search]
draws = 2
halving = { rungs = 2, factor = 2 }
ranges.agent.n_step = { low = 1, high = 2 }
)";
  const auto steps = [this](int draw) {
    return Status()[static_cast<std::size_t>(draw - 1)]["steps_wanted"].get<int>();
  };
  ASSERT_EQ(Sweep(suite).exit_code, 0);
  const auto undisturbed = Results(Out());
  const int best = steps(1) == 400 ? 1 : 2, other = 3 - best;
  EXPECT_EQ(steps(other), 200);
  // The best one cannot be read, so the other one goes on.
  const fs::path config =
      Run(fmt::format("classic-cartpole-stable-aa-draw-{}-1", best)) / "config.toml";
  const std::string text = FileContent(config);
  WriteContent(config, "agent = [");
  EXPECT_EQ(Sweep(suite).exit_code, 1);
  EXPECT_EQ(steps(other), 400);
  EXPECT_NE(FileContent(Out() / "search.csv").find(",,2\n"), std::string::npos);
  // Once it can, the result is the undisturbed one.
  WriteContent(config, text);
  ASSERT_EQ(Sweep(suite).exit_code, 0);
  EXPECT_EQ(steps(other), 200);
  EXPECT_EQ(FileContent(Out() / "search.csv"), undisturbed.at("search.csv"));
}

TEST_F(SearchCommand, MistakesAreOneLineAndNothingIsWritten) {
  struct Case {
    std::string from, to, word;
    Arguments more = {};
  };
  for (const Case& c : std::vector<Case>{
           {"agent.n_step", "agent.n_steps", "did you mean 'agent.n_step'"},
           {"high = 5", "high = 5000", "agent.n_step = 5000 is outside"},
           {"low = 1e-4", "low = 1", "low at most high"},
           {"low = 1e-4", "low = 0", "log scale wants low above 0"},
           {"factor = 2", "factor = 7", "draws"},
           {"factor = 2", "factr = 2", "unknown field 'factr'"},
           {"draws = 6", "draws = 0", "search.draws wants"},
           {"agent.n_step", "train.steps", "train.steps cannot be searched"},
           {"mine.toml", "yours.toml", "yours.toml does not exist"},
           {"", "", "agent.n_step varies in the suite", {"--set", "agent.n_step=2"}},
           {"", "", "'sweep' has no use for anderson.memory", {"--set", "anderson.memory=2"}},
           {"", "", "expected key=value", {"--set", "agent.n_step"}},
       }) {
    SuiteText suite = Searching();
    if (!c.from.empty()) suite.axes.replace(suite.axes.find(c.from), c.from.size(), c.to);
    const std::string message = ExpectError(Sweep(suite, c.more), 2);
    EXPECT_NE(message.find(c.word), std::string::npos) << message;
    EXPECT_FALSE(fs::exists(Out()));
  }
}

TEST_F(SearchCommand, SetChangesAllRunsAndIsKnownTheNextTime) {
  SuiteText suite{.axes = "[axes]\npreset = [\"mine.toml\"]\n"};
  const Arguments shorter = {"--set", "train.steps=120", "--set", "agent.eta=0.7"};
  EXPECT_EQ(Sweep(suite, shorter).exit_code, 0);
  const fs::path run = Run("classic-cartpole-mine-1");
  EXPECT_EQ(Status()[0]["steps"], 120);
  ExpectWords(FileContent(run / "config.toml"), {"preset = \"mine\"", "eta = 0.7", "targets = 3"});
  ExpectWords(FileContent(Out() / "suite.toml"), {"# and over it: --set agent.eta=0.7"});
  // The run's own files are enough to go on.
  fs::remove(Path("mine.toml"));
  const Outcome resumed =
      ProgramAtWork({"train", "--resume", run.string(), "--steps", "150"}).Wait();
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  WriteContent(Path("mine.toml"), "preset = \"stable-aa\"\nagent.targets = 3\n");
  EXPECT_NE(ExpectError(Sweep(suite, {"--set", "agent.eta=0.8"}), 2)
                .find("agent.eta is 0.7 there, 0.8 in the suite"),
            std::string::npos);
}

class FullSearchCommand : public SearchCommand {};

TEST_F(FullSearchCommand, KillsChangeNothing) {
  ASSERT_EQ(SweepIn("undisturbed", 2).exit_code, 0);
  RandomStream random(3, "search kills");
  for (const int signal : {SIGKILL, SIGINT}) {
    const std::string out = signal == SIGKILL ? "killed" : "stopped";
    for (int k = 0; k < 12; ++k) {
      Sweeping sweep({WriteSuite(Searching()), "--out", Path(out), "--jobs", "2", "--no-estimate"});
      SleepFor(random.Uniform(0.02, 0.5));
      sweep.Signal(signal);
      sweep.Wait();
    }
    const Outcome last = SweepIn(out, 2);
    EXPECT_EQ(last.exit_code, 0) << last.err;
    EXPECT_EQ(Results(Path(out)), Results(Path("undisturbed")));
  }
}

}  // namespace stableaa::search_command_test
