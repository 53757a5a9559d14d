#include "stableaa/experiment/report/ticks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace stableaa::ticks_test {

std::vector<std::string> Labels(double low, double high, std::size_t most) {
  std::vector<std::string> labels;
  for (const Tick& tick : TicksWithin({low, high}, most)) labels.push_back(tick.label);
  return labels;
}
using Words = std::vector<std::string>;

TEST(ReportTicks, HaveShortNumbers) {
  EXPECT_EQ(Labels(0, 10e6, 6), (Words{"0", "2M", "4M", "6M", "8M", "10M"}));
  EXPECT_EQ(Labels(0, 1.2e6, 4), (Words{"0", "500k", "1M"}));
  EXPECT_EQ(Labels(0, 25000, 3), (Words{"0", "10k", "20k"}));
  EXPECT_EQ(Labels(0, 4000, 5), (Words{"0", "1000", "2000", "3000", "4000"}));
  EXPECT_EQ(Labels(-0.2, 0.6, 5), (Words{"-0.2", "0", "0.2", "0.4", "0.6"}));
}

TEST(ReportTicks, AreAFewNumbersWithinTheRange) {
  for (const double size : {1e-300, 1e-9, 0.3, 1.0, 7.7, 99.0, 12345.0, 3e15, 1e300}) {
    for (const double low : {-size, -0.3 * size, 0.0, 0.4 * size}) {
      for (const std::size_t most : {2U, 3U, 9U}) {
        const std::vector<Tick> ticks = TicksWithin({low, size}, most);
        EXPECT_LE(ticks.size(), most) << size;
        EXPECT_GE(ticks.size(), 1U) << low << " " << size << " " << most;
        for (const Tick& tick : ticks) {
          EXPECT_GE(tick.at, low - 1e-6 * size);
          EXPECT_LE(tick.at, size * (1 + 1e-6));
        }
      }
    }
  }
}

std::vector<std::string> Labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> labels;
  for (const Tick& tick : ticks) labels.push_back(tick.label);
  return labels;
}

TEST(ReportTicks, OfLogarithmsAreAsManyAsHaveRoom) {
  EXPECT_EQ(Labels(LogTicksWithin({0.8, 120}, 9)), (Words{"1", "2", "5", "10", "20", "50", "100"}));
  EXPECT_EQ(Labels(LogTicksWithin({0.8, 120}, 5)), (Words{"1", "3", "10", "30", "100"}));
  EXPECT_EQ(Labels(LogTicksWithin({0.8, 120}, 4)), (Words{"1", "10", "100"}));
  EXPECT_EQ(Labels(LogTicksWithin({1e-6, 1}, 3)), (Words{"1e-06", "0.001", "1"}));
  EXPECT_EQ(Labels(LogTicksWithin({60, 90}, 4)), (Words{"60", "70", "80", "90"}));
  for (const double low : {1e-300, 3e-5, 0.9, 7e20}) {
    for (const double factor : {1.1, 3.0, 40.0, 1e7, 1e250}) {
      for (const std::size_t most : {2U, 3U, 9U}) {
        const std::vector<Tick> ticks = LogTicksWithin({low, low * factor}, most);
        EXPECT_LE(ticks.size(), most) << low << " " << factor;
        EXPECT_GE(ticks.size(), 1U) << low << " " << factor << " " << most;
        for (const Tick& tick : ticks) {
          EXPECT_GE(tick.at, low * (1 - 1e-6));
          EXPECT_LE(tick.at, low * factor * (1 + 1e-6));
        }
      }
    }
  }
  EXPECT_TRUE(LogTicksWithin({0, 1}, 5).empty());
  EXPECT_TRUE(LogTicksWithin({1, 1}, 5).empty());
  EXPECT_TRUE(LogTicksWithin({1, std::numeric_limits<double>::infinity()}, 5).empty());
}

TEST(ReportTicks, OfNoRangeAreNone) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(TicksWithin({1, 1}, 5).empty());
  EXPECT_TRUE(TicksWithin({2, 1}, 5).empty());
  EXPECT_TRUE(TicksWithin({0, infinite}, 5).empty());
  EXPECT_TRUE(TicksWithin({-1.7e308, 1.7e308}, 5).empty());
  EXPECT_TRUE(TicksWithin({std::nan(""), 1}, 5).empty());
  EXPECT_TRUE(TicksWithin({1e15, 1e15 + 1}, 5).empty()) << "labels would be equal";
}

TEST(ReportText, IsFittedAndWrapped) {
  EXPECT_LT(TextEms("iii"), TextEms("mmm"));
  EXPECT_EQ(FittedText("stable-aa", 20), "stable-aa");
  const std::string cut = FittedText("stable-aa, η = 0.1", 6);
  EXPECT_TRUE(cut.starts_with("stable")) << cut;
  EXPECT_TRUE(cut.ends_with("…")) << cut;
  EXPECT_LE(TextEms(cut), 6.1);
  EXPECT_EQ(FittedText("ηηηη", 2), "η…") << "whole characters";
  EXPECT_EQ(WrappedText("a b c", 20), Words{"a b c"});
  EXPECT_EQ(WrappedText("dueling-dqn > stable-aa", 9), (Words{"dueling-dqn >", "stable-aa"}));
  EXPECT_EQ(WrappedText("raa > stable, η = 0.1", 9), (Words{"raa > stable,", "η = 0.1"}));
  EXPECT_EQ(WrappedText("dueling-dqn-with-three-targets, m = 3", 9),
            (Words{"dueling-dqn-with-", "three-targets,", "m = 3"}));
  EXPECT_EQ(WrappedText("", 3), Words{""});
  for (const std::string& line :
       WrappedText(std::string(99, 'x') + " " + std::string(99, 'y'), 9)) {
    EXPECT_LE(TextEms(line), 9);
  }
}

}  // namespace stableaa::ticks_test
