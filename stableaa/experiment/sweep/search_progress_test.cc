// Which draws of a search go on.

#include "stableaa/experiment/sweep/search_progress.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::search_progress_test {

constexpr double kFailed = -std::numeric_limits<double>::infinity();

TEST(Ranks, OfEqualValuesAreTheirMean) {
  EXPECT_EQ(Ranks(std::vector<double>{3, 5, 3, 1}), (std::vector<double>{2.5, 1, 2.5, 4}));
  EXPECT_EQ(Ranks(std::vector<double>{kFailed, 0, kFailed}), (std::vector<double>{2.5, 1, 2.5}));
}

TEST(RungScore, IsTheMeanOfTheLastTenthOfTheRung) {
  const FolderOfRuns folder;
  EXPECT_EQ(RungScore(folder.path(), 100), kFailed);
  WriteContent(folder / "metrics.csv",
               "step,eval_return_mean\n50,1\n95,2\n100,4\n110,\n150,8\n200,16\n");
  EXPECT_EQ(RungScore(folder.path(), 100), 3);
  EXPECT_EQ(RungScore(folder.path(), 94), 1);
  EXPECT_EQ(RungScore(folder.path(), 140), 4) << "the last one before";
  EXPECT_EQ(RungScore(folder.path(), 49), kFailed);
  EXPECT_EQ(RungScore(folder.path(), 200), 16) << "whatever came in other rungs";
}

// Six draws in two environments, three rungs of 100, 200 and 400 steps that halve them.
class SearchProgressTest : public ::testing::Test {
 protected:
  static std::string Text(int seeds) {
    return fmt::format(R"(seeds = {}
stop.steps = 400
set.eval.interval_steps = 50
axes.env = ["minatar/asterix", "minatar/breakout"]
[search]
draws = 6
halving = {{ rungs = 3, factor = 2 }}
ranges.agent.eta = {{ low = 0, high = 1 }}
)",
                       seeds);
  }
  explicit SearchProgressTest(int seeds = 1)
      : suite_(ParseSuite(Text(seeds), "my.toml")), search_(suite_) {
    for (const SuiteRun& run : suite_.runs) runs_.push_back({.run = &run});
  }

  void SetAll(SweepState state) {
    for (SweepRun& run : runs_) run.state = state;
  }
  std::size_t Find(const std::string& env, std::size_t draw) const {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const SuiteRun& run = *runs_[i].run;
      if (run.draw == draw && run.options.train.env == env) return i;
    }
    return runs_.size();
  }
  // The scores of draws 1 to 6 in Asterix and Breakout.
  std::vector<std::size_t> Judge(const std::vector<double>& asterix,
                                 const std::vector<double>& breakout) {
    std::set<std::size_t> draws;
    for (const std::size_t run : search_.Judge(runs_, [&](std::size_t i, std::int64_t) {
           const SuiteRun& of = *runs_[i].run;
           const bool first = of.options.train.env == "minatar/asterix";
           return (first ? asterix : breakout)[of.draw - 1];
         })) {
      draws.insert(runs_[run].run->draw);
    }
    return {draws.begin(), draws.end()};
  }

  const Suite suite_;
  SearchProgress search_;
  std::vector<SweepRun> runs_;
};

TEST_F(SearchProgressTest, WaitsForAllRunsOfARung) {
  SetAll(SweepState::kDone);
  runs_[7].state = SweepState::kPending;
  EXPECT_TRUE(Judge({1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}).empty());
  EXPECT_EQ(search_.variants()[0].rung, 1U);
  EXPECT_EQ(search_.StepsWanted(0), 100);
  // Then 3 of the 6 draws and 1 of these.
  EXPECT_EQ(search_.LaterSteps(), 2 * (3 * 100 + 1 * 200));
}

TEST_F(SearchProgressTest, TheMeanRankDecidesNotTheScale) {
  SetAll(SweepState::kDone);
  // Draw 6 is best in Asterix by far and last in Breakout: mean rank 3.5.
  EXPECT_EQ(Judge({5, 4, 3, 2, 1, 1e6}, {50, 60, 40, 30, 20, 10}),
            (std::vector<std::size_t>{1, 2, 3}));
  const std::vector<DrawResult>& draws = search_.variants()[0].draws;
  EXPECT_EQ(draws[5].rank, 3.5);
  EXPECT_EQ(draws[0].rank, 2);
  EXPECT_EQ(draws[5].scores, (std::vector<double>{1e6, 10}));
  EXPECT_EQ(search_.StepsWanted(Find("minatar/breakout", 2)), 200);
  EXPECT_EQ(search_.StepsWanted(Find("minatar/breakout", 4)), 100);

  EXPECT_EQ(Judge({1, 1, 2, 0, 0, 0}, {1, 1, 2, 0, 0, 0}), (std::vector<std::size_t>{3}));
  EXPECT_TRUE(Judge({0, 0, 7, 0, 0, 0}, {0, 0, 8, 0, 0, 0}).empty());
  EXPECT_TRUE(search_.variants()[0].is_over);
  const auto best = search_.variants()[0].ByRank();
  EXPECT_EQ(best[0]->draw, 3U);
  EXPECT_EQ(best[0]->rung, 3U);
  EXPECT_EQ(best[1]->draw, 1U) << "the smaller of equals";
  EXPECT_EQ(best[3]->rung, 1U);
  EXPECT_EQ(search_.LaterSteps(), 0);
}

TEST_F(SearchProgressTest, OfEqualsTheSmallerNumbersGoOn) {
  SetAll(SweepState::kDone);
  EXPECT_EQ(Judge({1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}), (std::vector<std::size_t>{1, 2, 3}));
}

TEST_F(SearchProgressTest, FailedRunsAreTheWorst) {
  SetAll(SweepState::kDone);
  runs_[0].state = SweepState::kFailed;
  EXPECT_EQ(Judge({kFailed, 1, 1, 0, 0, 1}, {9, 1, 1, 0, 0, 1}),
            (std::vector<std::size_t>{2, 3, 6}));
  EXPECT_EQ(search_.variants()[0].draws[0].scores[0], kFailed);
  EXPECT_EQ(search_.variants()[0].draws[0].rank, (6 + 1) / 2.);
}

TEST_F(SearchProgressTest, FilesSayWhatIsKnown) {
  const FolderOfRuns folder;
  search_.WriteFiles(folder.path());
  EXPECT_TRUE(search_.BestDraws().empty());
  SetAll(SweepState::kDone);
  Judge({5, 4, 3, 2, 1, kFailed}, {5, 4, 3, 2, 1, 7});
  search_.WriteFiles(folder.path());
  const std::string csv = FileContent(folder / "search.csv");
  EXPECT_TRUE(
      csv.starts_with("variant,draw,rung,steps,agent.eta,score minatar/asterix,score "
                      "minatar/breakout,rank\nstable-aa,1,1,100,"))
      << csv;
  EXPECT_NE(csv.find(",,7,3.5\n"), std::string::npos) << csv;
  const std::vector<std::string> best = search_.BestDraws();
  ASSERT_EQ(best.size(), 7U);
  EXPECT_EQ(best[0], "stable-aa: the best of 6 draws");
}

TEST_F(SearchProgressTest, NumbersInFilesAreAsShortAsTheyReadBack) {
  const FolderOfRuns folder;
  const Suite suite = ParseSuite(R"(seeds = 1
stop.steps = 400
env = "classic/cartpole"
[search]
draws = 2
ranges.optimizer.learning_rate = { values = [0.00534988, 1e-5] }
ranges.network.hidden = { values = [[16, 8]] }
)",
                                 "my.toml");
  SearchProgress(suite).WriteFiles(folder.path());
  const std::string text = FileContent(folder / "search.json");
  EXPECT_NE(text.find("\"optimizer.learning_rate\": 0.00534988,"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["variants"][0]["name"], "stable-aa");
  std::set<double> rates;
  for (const auto& draw : json["variants"][0]["draws"]) {
    rates.insert(draw["values"]["optimizer.learning_rate"].get<double>());
    EXPECT_EQ(draw["values"]["network.hidden"], (std::vector<int>{16, 8}));
    EXPECT_TRUE(draw["rank"].is_null());
    EXPECT_EQ(draw["scores"].size(), 0U);
  }
  EXPECT_EQ(rates, (std::set<double>{0.00534988, 1e-5}));
}

class SeededSearchTest : public SearchProgressTest {
 protected:
  SeededSearchTest() : SearchProgressTest(2) {}
};

TEST_F(SeededSearchTest, ScoresAreMeansOverSeeds) {
  SetAll(SweepState::kDone);
  search_.Judge(runs_, [&](std::size_t i, std::int64_t steps) {
    EXPECT_EQ(steps, 100);
    const SuiteRun& run = *runs_[i].run;
    return static_cast<double>(run.draw * run.options.train.seed);
  });
  EXPECT_EQ(search_.variants()[0].draws[3].scores, (std::vector<double>{6, 6}));
  EXPECT_EQ(search_.variants()[0].draws[5].rank, 1);
}

}  // namespace stableaa::search_progress_test
