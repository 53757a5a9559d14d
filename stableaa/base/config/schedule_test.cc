#include "stableaa/base/config/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/core/random.h"
#include "stableaa/testing/message.h"

namespace stableaa::schedule_test {

constexpr std::int64_t kEver = std::int64_t{1} << 60;

TEST(Schedule, ANumberIsTheSameInAllSteps) {
  const Schedule schedule = 0.25;
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{1}, kEver}) {
    EXPECT_EQ(schedule.At(step), 0.25);
  }
  EXPECT_EQ(Schedule::Parse(" 2.5e-1 "), schedule);
  EXPECT_EQ(Schedule::Parse("1_000"), Schedule(1000));
  EXPECT_EQ(Schedule(), Schedule(0));
}

TEST(Schedule, HasTheClosedFormAtEachPoint) {
  const auto at = [](const std::string& text, std::int64_t step) {
    return Schedule::Parse(text).At(step);
  };
  EXPECT_DOUBLE_EQ(at("linear(1, 0, 8)", 2), 0.75);
  EXPECT_DOUBLE_EQ(at("linear(-1, 3, 8)", 6), 2);
  EXPECT_DOUBLE_EQ(at("cosine(3, 1, 4)", 1), 2 + std::numbers::sqrt2 / 2);
  EXPECT_DOUBLE_EQ(at("cosine(3, 1, 4)", 2), 2);
  EXPECT_NEAR(at("cosine(1, 0, 3)", 1), 0.75, 1e-15);
  EXPECT_DOUBLE_EQ(at("exponential(1, 0.01, 2)", 1), 0.1);
  EXPECT_DOUBLE_EQ(at("exponential(2, 16, 3)", 1), 4);
  EXPECT_DOUBLE_EQ(at("exponential(1e-300, 1e300, 2)", 1), 1);
  const std::string steps = "steps(5, 10: 3, 20: 4)";
  EXPECT_EQ(at(steps, 0), 5);
  EXPECT_EQ(at(steps, 9), 5);
  EXPECT_EQ(at(steps, 10), 3);
  EXPECT_EQ(at(steps, 19), 3);
  EXPECT_EQ(at(steps, 20), 4);
  EXPECT_EQ(at(steps, kEver), 4);
  EXPECT_EQ(at("steps(5)", 7), 5);
}

// The second way: each follows from the value one step before.
TEST(Schedule, GrowsStepByStepAsItsNameSays) {
  const std::int64_t n = 500;
  const double from = 0.8, to = 0.02;
  const Schedule linear = Schedule::Parse("linear(0.8, 0.02, 500)");
  const Schedule cosine = Schedule::Parse("cosine(0.8, 0.02, 500)");
  const Schedule exponential = Schedule::Parse("exponential(0.8, 0.02, 500)");
  const double factor = std::pow(to / from, 1. / static_cast<double>(n));
  const double slope = (to - from) / static_cast<double>(n);
  const double angle = std::numbers::pi / static_cast<double>(n);
  double line = from, power = from, sum = from;
  for (std::int64_t step = 0; step <= n; ++step) {
    EXPECT_NEAR(linear.At(step), line, 1e-12);
    EXPECT_NEAR(exponential.At(step), power, 1e-12);
    EXPECT_NEAR(cosine.At(step), sum, 1e-4);
    line += slope;
    power *= factor;
    // The derivative of half a cosine.
    sum += (to - from) / 2 * angle * std::sin(angle * (static_cast<double>(step) + .5));
  }
}

TEST(Schedule, IsMonotoneBetweenItsExactEnds) {
  RandomStream random(1, "schedules");
  for (int trial = 0; trial < 200; ++trial) {
    const double from = std::exp(random.Uniform(-30, 5)), to = std::exp(random.Uniform(-30, 5));
    const std::int64_t n = random.Integer(1, 3000);
    for (const char* const name : {"linear", "cosine", "exponential"}) {
      const Schedule schedule =
          Schedule::Parse(std::string(name) + "(" + std::to_string(from) + "1, " +
                          std::to_string(to) + "1, " + std::to_string(n) + ")");
      const double first = schedule.points().front().value, last = schedule.points().back().value;
      EXPECT_EQ(schedule.At(0), first);
      EXPECT_EQ(schedule.At(n), last);
      EXPECT_EQ(schedule.At(n + 1), last);
      EXPECT_EQ(schedule.At(kEver), last);
      double former = first;
      for (std::int64_t step = 1; step <= n; step += 1 + n / 50) {
        const double value = schedule.At(step);
        // Logarithms round.
        EXPECT_TRUE(first < last ? value >= former * (1 - 1e-13) : value <= former * (1 + 1e-13));
        EXPECT_GE(value, std::min(first, last));
        EXPECT_LE(value, std::max(first, last));
        former = value;
      }
    }
  }
}

TEST(Schedule, IsZeroIfAllOfItIs) {
  EXPECT_TRUE(Schedule(0).is_zero());
  EXPECT_TRUE(Schedule::Parse("linear(0, 0, 5)").is_zero());
  EXPECT_FALSE(Schedule::Parse("linear(0, 1, 5)").is_zero());
  EXPECT_FALSE(Schedule::Parse("steps(0, 9: 0.1, 10: 0)").is_zero());
}

TEST(Schedule, ReadsBackItsTextExactly) {
  for (const auto& [text, canonical] : std::vector<std::pair<std::string, std::string>>{
           {"1e-3", "0.001"},
           {"linear( 1 ,0.1,1e6 )", "linear(1.0, 0.1, 1000000)"},
           {" cosine (1e-3,0, 100_000)", "cosine(0.001, 0.0, 100000)"},
           {"exponential(1, 0.05, 1.5e5)", "exponential(1.0, 0.05, 150000)"},
           {"steps(1e-3,1e5 :3e-4 , 5e5: -1)", "steps(0.001, 100000: 3e-04, 500000: -1.0)"},
           {"linear(0.1000000000000000055511151231257827, 1, 1)", "linear(0.1, 1.0, 1)"},
           {"linear(0.30000000000000004, 1, 1099511627776)",
            "linear(0.30000000000000004, 1.0, 1099511627776)"}}) {
    const Schedule schedule = Schedule::Parse(text);
    EXPECT_EQ(schedule.Text(), canonical);
    EXPECT_EQ(Schedule::Parse(canonical), schedule);
  }
}

TEST(Schedule, RefusesWhatItDoesNotKnow) {
  const auto error = [](const std::string& text) {
    return MessageOf([&] { Schedule::Parse(text); });
  };
  EXPECT_EQ(error("linaer(1, 2, 3)"),
            "expected a number or linear(...), cosine(...), exponential(...) or steps(...), found "
            "'linaer(1, 2, 3)'");
  EXPECT_EQ(error("fast"),
            "expected a number or a schedule such as linear(1e-3, 1e-5, 1e6), found 'fast'");
  EXPECT_EQ(error("linear(1, 2)"), "expected linear(FROM, TO, STEPS), found 'linear(1, 2)'");
  EXPECT_EQ(error("steps(1, 2)"), "expected steps(VALUE, STEP: VALUE, ...), found 'steps(1, 2)'");
  EXPECT_EQ(error("linear(1, x, 3)"), "expected a number, found 'x'");
  EXPECT_EQ(error("linear(1, 2, 0)"),
            "expected a whole number of steps above 0, at most 2^40, found '0'");
  EXPECT_EQ(error("steps(1, 10: 2, 10: 3)"),
            "expected a whole number of steps above 10, at most 2^40, found '10'");
  EXPECT_EQ(error("exponential(1, 0, 100)"),
            "exponential: expected values above 0, found 0.0 at step 100");
  for (const char* const text : {"",
                                 " ",
                                 "(",
                                 ")",
                                 "()",
                                 "linear",
                                 "linear(",
                                 "linear()",
                                 "linear(1,2,3",
                                 "linear(1,2,3))",
                                 "linear(1,2,3) ;",
                                 "linear((1),2,3)",
                                 "linear(1,,3)",
                                 "linear(1,2,3,)",
                                 "linear(1,2,1.5)",
                                 "linear(1,2,-3)",
                                 "linear(1,2,1e13)",
                                 "linear(1,2,1e400)",
                                 "linear(1,2,nan)",
                                 "linear(nan,2,3)",
                                 "linear(inf,2,3)",
                                 "linear(1e400,2,3)",
                                 "linear('1',2,3)",
                                 "linear(true,2,3)",
                                 "LINEAR(1,2,3)",
                                 "steps()",
                                 "steps(1,)",
                                 "steps(1, 5)",
                                 "steps(1, 5:)",
                                 "steps(1, :5)",
                                 "steps(1, 5:2:3)",
                                 "steps(1, -5: 2)",
                                 "steps(1, 0: 2)",
                                 "steps(5: 1)",
                                 "exponential(-1,1,5)",
                                 "exponential(0,1,5)",
                                 "cosine(1;2;3)",
                                 "1 2",
                                 "1,2",
                                 "nan",
                                 "inf",
                                 "0x10",
                                 "1__0",
                                 "\"0.1\"",
                                 "linear(1, 2, 3)linear(1, 2, 3)",
                                 "\xff(1)",
                                 "1\n2"}) {
    EXPECT_NE(error(text), "no error") << text;
  }
}

// ---- In a configuration ----

struct Options {
  Schedule rate = 0.1;
  std::optional<Schedule> epsilon = {};
};

class ScheduledKey : public ::testing::Test {
 protected:
  ScheduledKey() { Describe(config_, options_); }

  static void Describe(Config& config, Options& options) {
    config.Scheduled("a.rate", &options.rate, {.at_least = 0, .at_most = 2}, "Rate.");
    config.Scheduled("a.epsilon", &options.epsilon, {.at_least = 0, .at_most = 1}, "Epsilon.");
  }

  std::string Error(const std::string& assignment) {
    const std::string before = config_.ToToml();
    std::string message = MessageOf([&] { config_.Set(assignment); });
    EXPECT_EQ(config_.ToToml(), before);
    return message;
  }

  Options options_;
  Config config_;
};

TEST_F(ScheduledKey, TakesNumbersAndText) {
  EXPECT_EQ(config_.ToToml(false), "[a]\nrate = 0.1\nepsilon = \"\"\n");
  config_.LoadText("[a]\nrate = 1\nepsilon = \"0.5\"\n", "my.toml");
  EXPECT_EQ(options_.rate, 1);
  EXPECT_EQ(options_.epsilon, Schedule(0.5));
  EXPECT_EQ(config_.ToToml(false), "[a]\nrate = 1.0\nepsilon = 0.5\n");
  config_.Set("a.rate = cosine(1, 0.3, 1e3)");
  config_.Set("a.epsilon='steps(1, 100: 0)'");
  const std::string toml = config_.ToToml(false);
  EXPECT_EQ(toml, "[a]\nrate = \"cosine(1.0, 0.3, 1000)\"\nepsilon = \"steps(1.0, 100: 0.0)\"\n");
  Options again;
  Config reader;
  Describe(reader, again);
  reader.LoadText(toml, "again.toml");
  EXPECT_EQ(again.rate, options_.rate);
  EXPECT_EQ(again.epsilon, options_.epsilon);
  config_.Set("a.epsilon=");
  EXPECT_EQ(options_.epsilon, std::nullopt);
  EXPECT_EQ(config_.Keys()[0].type, "schedule");
  EXPECT_EQ(config_.Keys()[0].range, "[0, 2]");
}

TEST_F(ScheduledKey, TheRangeHoldsInAllSteps) {
  EXPECT_EQ(
      Error("a.rate=linear(0.1, -0.1, 1000)"),
      "--set a.rate=linear(0.1, -0.1, 1000): a.rate: expected values in [0, 2], found -0.1 at "
      "step 1000");
  EXPECT_EQ(Error("a.epsilon=steps(1, 5: 1.5, 9: 0)"),
            "--set a.epsilon=steps(1, 5: 1.5, 9: 0): a.epsilon: expected values in [0, 1], found "
            "1.5 at step 5");
  EXPECT_EQ(Error("a.rate=-1"), "--set a.rate=-1: a.rate = -1 is outside its range [0, 2]");
  EXPECT_EQ(Error("a.epsilon=2"), "--set a.epsilon=2: a.epsilon = 2.0 is outside its range [0, 1]");
  EXPECT_EQ(Error("a.rate=linear(1)"),
            "--set a.rate=linear(1): a.rate: expected linear(FROM, TO, STEPS), found 'linear(1)'");
  EXPECT_EQ(Error("a.rate=true"),
            "--set a.rate=true: a.rate wants a real number or a schedule such as linear(1e-3, "
            "1e-5, 1e6), found the boolean true");
  for (const char* const bad : {"a.rate=", "a.rate=nan", "a.rate=inf", "a.rate=''", "a.epsilon=nan",
                                "a.epsilon=true", "a.rate=[1]"}) {
    EXPECT_NE(Error(bad), "no error") << bad;
  }
  EXPECT_NE(MessageOf([&] { config_.LoadText("a.rate = [1, 2]", "my.toml"); }), "no error");
}

TEST_F(ScheduledKey, AStructFilledByHandIsCheckedToo) {
  Options options;
  Config config;
  options.rate = Schedule::Parse("linear(1, 3, 10)");
  EXPECT_EQ(MessageOf([&] { Describe(config, options); }),
            "a.rate: expected values in [0, 2], found 3.0 at step 10");
  options.rate = std::numeric_limits<double>::quiet_NaN();
  Config other;
  EXPECT_NE(MessageOf([&] { Describe(other, options); }), "no error");
}

}  // namespace stableaa::schedule_test
