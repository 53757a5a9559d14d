// Searches: the points that are drawn, the rungs, and the messages for faulty ones.

#include "stableaa/experiment/suite/search_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "stableaa/experiment/suite/suite.h"
#include "stableaa/testing/message.h"

namespace stableaa::search_plan_test {

using Method = SearchPlan::Method;
using Scale = SearchKey::Scale;

SearchKey Real(const std::string& key, double low, double high, Scale scale = Scale::kLinear) {
  return {.key = key, .scale = scale, .low = low, .high = high};
}
SearchKey Whole(const std::string& key, double low, double high, Scale scale = Scale::kLinear) {
  return {.key = key, .scale = scale, .low = low, .high = high, .is_whole = true};
}

std::vector<double> Column(const std::vector<std::vector<TomlValue>>& points, std::size_t k) {
  std::vector<double> column;
  for (const auto& point : points) {
    const auto* whole = std::get_if<std::int64_t>(&point[k].is);
    column.push_back(whole ? static_cast<double>(*whole) : std::get<double>(point[k].is));
  }
  return column;
}

// ---- Points ----

TEST(SearchPoints, LieInTheirRangesAndReachBothEnds) {
  for (const Method method : {Method::kRandom, Method::kHalton}) {
    const auto points = DrawPoints({.method = method,
                                    .draws = 400,
                                    .seed = 7,
                                    .keys = {Real("a", 1e-5, 1e-2, Scale::kLog), Real("b", -1, 3),
                                             Whole("c", 2, 10), Whole("d", 1, 1000, Scale::kLog)}});
    ASSERT_EQ(points.size(), 400U);
    std::set<double> whole;
    int below = 0;
    for (const double a : Column(points, 0)) {
      EXPECT_TRUE(a >= 1e-5 && a <= 1e-2) << a;
      below += a < std::sqrt(1e-5 * 1e-2) ? 1 : 0;
    }
    EXPECT_NEAR(below, 200, 50);  // five standard deviations of independent draws
    for (const double b : Column(points, 1)) EXPECT_TRUE(b >= -1 && b <= 3) << b;
    for (const double c : Column(points, 2)) whole.insert(c);
    EXPECT_EQ(whole, (std::set<double>{2, 3, 4, 5, 6, 7, 8, 9, 10}));
    below = 0;
    for (const double d : Column(points, 3)) below += d <= 31 ? 1 : 0;
    EXPECT_NEAR(below, 200, 50);
  }
}

// Of 2^k points, each of 2^k equal parts gets one; likewise in base 3.
TEST(SearchPoints, OfHaltonAreSpreadEvenly) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto points =
        DrawPoints({.draws = 81, .seed = seed, .keys = {Real("a", 0, 1), Real("b", 0, 1)}});
    std::set<int> halves, thirds;
    for (std::size_t i = 0; i < 64; ++i) {
      halves.insert(static_cast<int>(Column(points, 0)[i] * 64));
    }
    for (const double b : Column(points, 1)) thirds.insert(static_cast<int>(b * 81));
    EXPECT_GE(halves.size(), 63U);  // the sequence begins with 1, so one part may have two
    EXPECT_GE(thirds.size(), 80U);
  }
}

TEST(SearchPoints, AreAFunctionOfTheSeedAndMoreDrawsKeepTheFormer) {
  for (const Method method : {Method::kRandom, Method::kHalton}) {
    const auto drawn = [method](std::size_t draws, std::uint64_t seed) {
      return Column(
          DrawPoints({.method = method, .draws = draws, .seed = seed, .keys = {Real("a", 0, 1)}}),
          0);
    };
    std::vector<double> more = drawn(40, 5);
    more.resize(16);
    EXPECT_EQ(drawn(16, 5), more);
    EXPECT_NE(drawn(16, 6), more);
  }
}

TEST(SearchPoints, NeverRepeat) {
  SearchKey choice{.key = "head", .scale = Scale::kChoice};
  choice.values = {{std::string("plain")}, {std::string("dueling")}};
  for (const Method method : {Method::kRandom, Method::kHalton}) {
    const SearchPlan plan{.method = method, .draws = 6, .keys = {choice, Whole("n", 1, 3)}};
    std::set<std::pair<std::string, std::int64_t>> seen;
    for (const auto& point : DrawPoints(plan)) {
      seen.emplace(std::get<std::string>(point[0].is), std::get<std::int64_t>(point[1].is));
    }
    EXPECT_EQ(seen.size(), 6U);
    SearchPlan more = plan;
    more.draws = 7;
    more.place = "my.toml:3";
    EXPECT_NE(MessageOf([&] { DrawPoints(more); }).find("my.toml:3: search.draws"),
              std::string::npos);
  }
}

// ---- Rungs ----

std::vector<std::int64_t> Rungs(std::size_t draws, const SearchHalving& halving,
                                std::int64_t steps) {
  SearchPlan plan{.draws = draws, .halving = halving};
  SetRungs(plan, steps);
  return plan.rung_steps;
}

TEST(SearchRungs, GrowByTheFactorUpToAllSteps) {
  EXPECT_EQ(Rungs(9, {.factor = 3, .rungs = 3}, 900), (std::vector<std::int64_t>{100, 300, 900}));
  EXPECT_EQ(Rungs(9, {.factor = 3, .rungs = 3}, 1000), (std::vector<std::int64_t>{112, 334, 1000}));
  EXPECT_EQ(Rungs(9, {.factor = 2, .first_steps = 100}, 500),
            (std::vector<std::int64_t>{100, 200, 400, 500}));
  SearchPlan plain{.draws = 2};
  SetRungs(plain, 70);
  EXPECT_EQ(plain.rung_steps, (std::vector<std::int64_t>{70}));
  SearchPlan plan{.draws = 16, .halving = SearchHalving{.factor = 3}};
  EXPECT_EQ(plan.Kept(16), 5U);
  EXPECT_EQ(plan.Kept(5), 1U);
  EXPECT_EQ(plan.Kept(1), 1U);
}

// ---- In a suite ----

const std::string kStart =
    "env = \"classic/cartpole\"\nstop.steps = 900\nset.eval.interval_steps = 50\n";

std::string Refused(const std::string& text) {
  return MessageOf([&] { ParseSuite(text, "my.toml"); });
}

TEST(SearchInASuite, IsOneMoreAxis) {
  const Suite suite = ParseSuite(kStart + R"(seeds = 2
axes.preset = ["dqn", "raa"]
[search]
method = "random"
draws = 4
seed = 3
halving = { rungs = 2, factor = 2 }
[search.ranges]
"optimizer.learning_rate" = { low = 1e-5, high = 1e-2, scale = "log" }
agent.targets = { low = 2, high = 10 }
agent.loss = { values = ["huber", "squared"] }
)",
                                 "my.toml");
  ASSERT_EQ(suite.runs.size(), 16U);
  EXPECT_EQ(suite.variants, (std::vector<std::string>{"dqn", "raa"}));
  EXPECT_EQ(suite.search->rung_steps, (std::vector<std::int64_t>{450, 900}));
  EXPECT_EQ(suite.runs[5].name, "classic-cartpole-raa-draw-2-1");
  EXPECT_EQ(suite.runs[5].draw, 2U);
  EXPECT_EQ(suite.runs[5].variant, 1U);
  EXPECT_EQ(suite.runs[5].label, "raa, draw 2");
  EXPECT_EQ(suite.runs[5].options.train.steps, 900);
  ASSERT_EQ(suite.runs[5].values.size(), 3U);
  EXPECT_EQ(suite.runs[5].values[1].first, "agent.targets");
  // All variants and seeds get the same points.
  EXPECT_EQ(suite.runs[5].values, suite.runs[1].values);
  EXPECT_EQ(suite.runs[5].values, suite.runs[13].values);
  EXPECT_NE(suite.runs[5].values, suite.runs[6].values);
}

TEST(SearchInASuite, MistakesNameTheLineAndWhatWasMeant) {
  const std::string lr = "optimizer.learning_rate";
  struct Case {
    std::string text;
    std::vector<std::string> words;
  };
  for (const Case& c : std::vector<Case>{
           {"search = 3", {"my.toml:4", "search wants a table"}},
           {"[search]\ndraws = 3", {"my.toml:5", "search.ranges", "at least one key"}},
           {"search.drawz = 3", {"my.toml:4", "search.drawz", "did you mean 'search.draws'"}},
           {"search.method = \"sobol\"", {"\"random\" or \"halton\"", "sobol"}},
           {"search.draws = 0", {"search.draws wants an integer in [1, 10000]"}},
           {"search.draws = 10001", {"10000"}},
           {"search.seed = -1", {"search.seed wants"}},
           {"search.halving = 3", {"search.halving wants a table"}},
           {"search.halving = {rung = 3}", {"unknown field 'rung'", "'rungs'"}},
           {"search.halving = {rungs = 1}", {"search.halving.rungs wants"}},
           {"search.halving.factor = 1", {"search.halving.factor wants"}},
           {"search.ranges.agent.etaa = {low = 1, high = 2}",
            {"my.toml:4: unknown key 'agent.etaa'; did you mean 'agent.eta'?"}},
           {"search.ranges.\"agent.etaa\" = 3", {"unknown key 'agent.etaa'"}},
           {"search.ranges.agent.etaa.values = [3]", {"unknown key 'agent.etaa'"}},
           {"search.ranges.agent.eta = 3", {"search.ranges.agent.eta wants { low"}},
           {"search.ranges.agent.eta = {}", {"search.ranges.agent.eta wants { low"}},
           {"search.ranges.agent.eta = {lo = 1, high = 2}", {"unknown field 'lo'", "'low'"}},
           {"search.ranges.agent.eta = {low = 1}", {"wants low and high, or values"}},
           {"search.ranges.agent.eta = {low = 2, high = 1}", {"low at most high, found 2 and 1"}},
           {"search.ranges.agent.eta = {low = -1, high = 1}", {"agent.eta = -1", "range"}},
           {"search.ranges.agent.eta = {low = 0, high = 1e9}", {"agent.eta = 1", "range"}},
           {"search.ranges.agent.eta = {low = 0, high = 1, scale = \"log\"}",
            {"log scale wants low above 0, found 0"}},
           {"search.ranges.agent.eta = {low = 0, high = 1, scale = \"exp\"}",
            {"\"linear\" or \"log\""}},
           {"search.ranges.agent.eta = {low = \"a\", high = 1}", {"numbers for low and high"}},
           {"search.ranges.agent.eta = {low = nan, high = 1}", {"numbers for low and high"}},
           {"search.ranges.agent.eta = {values = []}", {"at least one value"}},
           {"search.ranges.agent.eta = {values = [1], low = 0}", {"has values and so no low"}},
           {"search.ranges.agent.eta = {values = [1, -1]}", {"agent.eta = -1", "range"}},
           {"search.ranges.agent.targets = {low = 1.5, high = 3}", {"agent.targets wants"}},
           {"search.ranges.agent.loss = {low = 1, high = 3}",
            {"agent.loss is a choice: expected { values"}},
           {"search.ranges.train.seed = {low = 1, high = 3}", {"train.seed cannot be searched"}},
           {"search.ranges.train.steps = {low = 1, high = 3}", {"train.steps cannot be searched"}},
           {"search.ranges.env.python = {values = [\"a\"]}", {"env.python cannot be searched"}},
           {"search.ranges.eval.episodes = {low = 1, high = 3}", {"eval.episodes cannot"}},
           {"axes.agent.eta = [1]\nsearch.ranges.agent.eta = {low = 1, high = 2}",
            {"my.toml:5: agent.eta stands in line 4 already"}},
           {"set.agent.eta = 1\nsearch.ranges.agent.eta = {low = 1, high = 2}",
            {"my.toml:5: agent.eta stands in line 4 already"}},
           {"search.ranges.agent.eta.low = 1\nsearch.ranges.\"agent.eta\".low = 1",
            {"my.toml:5", "low of agent.eta", "already"}},
       }) {
    const std::string message = Refused(kStart + c.text);
    for (const std::string& word : c.words) {
      EXPECT_NE(message.find(word), std::string::npos) << message << "\nfor: " << c.text;
    }
    EXPECT_TRUE(message.starts_with("my.toml:")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(SearchInASuite, RungsMustFitDrawsStepsAndEvaluations) {
  const std::string range = "search.ranges.agent.eta = {low = 0, high = 1}\n";
  struct Case {
    std::string text, word;
  };
  for (const Case& c : std::vector<Case>{
           {"search.draws = 2\nsearch.halving = {rungs = 2, factor = 3}", "at least so many draws"},
           {"search.draws = 8\nsearch.halving = {rungs = 3, factor = 3}", "more draws than 8"},
           {"search.draws = 9\nsearch.halving = {first_steps = 900}", "first_steps"},
           {"search.draws = 9\nsearch.halving = {rungs = 2, first_steps = 9}", "both"},
           {"search.draws = 9\nsearch.halving = {factor = 2}", "neither"},
           {"search.draws = 81\nsearch.halving = {first_steps = 49, factor = 9}",
            "before the first evaluation"},
           {"search.draws = 9\nsearch.halving = {rungs = 2}\nstop.minutes = 1", "stop.minutes"},
           {"search.draws = 9\naxes.env = [\"classic/cartpole\", \"minatar/asterix\"]\n",
            ""},  // the steps are the suite's
       }) {
    const std::string message = Refused(kStart + range + c.text);
    if (c.word.empty()) {
      EXPECT_EQ(message, "no error");
    } else {
      EXPECT_NE(message.find(c.word), std::string::npos) << message << "\nfor: " << c.text;
    }
  }
  EXPECT_NE(Refused(range + "axes.env = [\"classic/cartpole\", \"atari/pong\"]")
                .find("one number of steps"),
            std::string::npos);
  EXPECT_NE(Refused(range + "set.eval.interval_steps = 0").find("needs evaluations"),
            std::string::npos);
}

}  // namespace stableaa::search_plan_test
