// stableaa report on runs of the real program, and its page in a real browser.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/rl/run_results_test.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

// A short run of CartPole; four evaluations.
void Train(const fs::path& directory, const std::string& preset, int seed,
           const std::vector<std::string>& settings = {}) {
  std::vector<std::string> all = {"replay.start=50", "eval.interval_steps=100", "eval.episodes=2",
                                  "train.log_interval_steps=50",
                                  "agent.target_interval_updates=20"};
  all.insert(all.end(), settings.begin(), settings.end());
  TrainOnCartpole(preset, seed, 400, directory.string(), all);
}

TEST(FullReportCommand, ComparesRunsAndPrintsWhereThePageIs) {
  const TemporaryFolder folder;
  for (const int seed : {1, 2}) {
    Train(folder / ("runs/a" + std::to_string(seed)), "dqn", seed);
    Train(folder / ("runs/b" + std::to_string(seed)), "stable-aa", seed);
  }
  const std::string out = folder / "report";
  const Outcome outcome = Stableaa({"report", folder / "runs", "--out", out});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Lines(outcome.out).back(), out + "/index.html");
  EXPECT_TRUE(fs::exists(out + "/index.html"));

  const auto json = nlohmann::json::parse(
      Stableaa({"report", folder / "runs/a1", folder / "runs/a2", folder / "runs/b1", "--out", out,
                "--json", "--threshold", "classic/cartpole=1"})
          .out);
  EXPECT_EQ(Fields(json),
            (std::set<std::string>{"page", "runs", "left_out", "failed", "environments"}));
  EXPECT_EQ(json["runs"], 3);
  const auto& environment = json["environments"][0];
  EXPECT_EQ(environment["env"], "classic/cartpole");
  EXPECT_EQ(environment["step"], 400);
  EXPECT_EQ(environment["threshold"], 1);
  const auto& dqn = environment["variants"][0];
  EXPECT_EQ(dqn["variant"], "dqn");
  EXPECT_EQ(dqn["seeds"], (std::vector<int>{1, 2}));
  EXPECT_EQ(dqn["steps_to_threshold"]["median"], 100);
  const auto& alone = environment["variants"][1]["final"];
  EXPECT_TRUE(alone["std"].is_null());
  EXPECT_TRUE(alone["interval"].is_null());
  // The second formula: the last tenth of the evaluations is the last one.
  const Table metrics(folder / "runs/b1/metrics.csv");
  EXPECT_EQ(alone["mean"], std::stod(metrics["eval_return_mean"].back()));
}

TEST(ReportCommand, RefusesWhatMakesNoSense) {
  const TemporaryFolder folder;
  const std::string missing = folder / "nothing";
  ExpectError(Stableaa({"report"}), 2);
  EXPECT_NE(
      ExpectError(Stableaa({"report", missing, "--out", folder / "r"}), 2).find("found nothing"),
      std::string::npos);
  EXPECT_NE(ExpectError(Stableaa({"report", folder.path(), "--out", folder / "r"}), 2)
                .find("holds no run"),
            std::string::npos);
  for (const char* const threshold : {"5", "=5", "minatar/breakout=", "minatar/breakout=many"}) {
    ExpectError(Stableaa({"report", missing, "--threshold", threshold}), 2);
  }
  for (const char* const attachment : {"clip.gif", "=clip.gif", "clip="}) {
    ExpectError(Stableaa({"report", missing, "--attach", attachment}), 2);
  }
  EXPECT_FALSE(fs::exists(folder / "r"));
}

// No errors in the console, all figures visible, not wider than a phone, light and dark.
TEST(FullReportPage, IsWellInARealBrowser) {
  const TemporaryFolder folder;
  for (const int seed : {1, 2}) {
    Train(folder / ("runs/a" + std::to_string(seed)), "dueling-dqn", seed);
    for (const std::string eta : {"0.1", "1"}) {
      Train(folder / ("runs/b" + eta + std::to_string(seed)), "stable-aa", seed,
            {"agent.eta=" + eta});
    }
  }
  WriteContent(folder / "wide.txt", std::string(500, 'x') + "\n<script>alert(1)</script>\n");
  const std::string page = folder / "report/index.html";
  const Outcome report = Stableaa({"report", folder / "runs", "--out", folder / "report",
                                   "--attach", "A wide text=" + (folder / "wide.txt").string()});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const Outcome check = RunCommand({"python3", STABLEAA_PAGE_CHECK, page});
  if (check.exit_code == 77) GTEST_SKIP() << check.err;
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
}

TEST(FullReportPage, IsCheckedByWhatCanFail) {
  const Outcome check = RunCommand({"python3", STABLEAA_PAGE_CHECK, "--self-test"});
  if (check.exit_code == 77) GTEST_SKIP() << check.err;
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
}

}  // namespace
}  // namespace stableaa
