#include "stableaa/core/option_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>

#include "stableaa/testing/message.h"

namespace stableaa::option_table_test {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Options {
  enum class Colour { kRed, kBlue };
  bool loud = true;
  int memory = 5;
  double damping = 1;
  Colour colour = Colour::kBlue;
};

void Describe(OptionTable& table, Options& options) {
  table.Bool("loud", &options.loud, "");
  table.Int("a.memory", &options.memory, {0, 100}, "");
  table.Real("a.damping", &options.damping, {.above = 0, .at_most = 2}, "");
  table.Choice("colour", &options.colour,
               {{"red", Options::Colour::kRed}, {"blue", Options::Colour::kBlue}}, "");
}

std::string CheckOf(Options options) {
  return MessageOf([&] {
    RangeCheck check;
    Describe(check, options);
  });
}

TEST(RangeCheck, LetsValuesWithinTheirRangesPass) {
  EXPECT_EQ(CheckOf({}), "no error");
  EXPECT_EQ(CheckOf({.memory = 0, .damping = 2}), "no error");
  EXPECT_EQ(CheckOf({.memory = 100, .damping = 1e-300}), "no error");
}

TEST(RangeCheck, NamesKeyValueAndRange) {
  EXPECT_EQ(CheckOf({.memory = -1}), "a.memory = -1 is outside its range [0, 100]");
  EXPECT_EQ(CheckOf({.memory = 101}), "a.memory = 101 is outside its range [0, 100]");
  EXPECT_EQ(CheckOf({.damping = 0}), "a.damping = 0.0 is outside its range (0, 2]");
  EXPECT_EQ(CheckOf({.damping = 2.5}), "a.damping = 2.5 is outside its range (0, 2]");
  EXPECT_EQ(CheckOf({.damping = -std::numeric_limits<double>::quiet_NaN()}),
            "a.damping = nan is outside its range (0, 2]");
}

TEST(RangeCheck, AChoiceWithoutANameIsAMistakeInTheProgram) {
  Options options;
  options.colour = static_cast<Options::Colour>(7);
  RangeCheck check;
  EXPECT_THROW(Describe(check, options), std::out_of_range);
}

TEST(RealRange, AnInfiniteEndIsOpenUnlessInfinityBelongsToIt) {
  EXPECT_EQ(RealRange{}.Text(), "(-inf, inf)");
  EXPECT_FALSE(RealRange{}.Contains(kInf));
  const RealRange omega = {.at_least = 0, .infinite = true};
  EXPECT_EQ(omega.Text(), "[0, inf]");
  EXPECT_TRUE(omega.Contains(kInf));
  EXPECT_FALSE(omega.Contains(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ((RealRange{.above = 0, .below = 1e6}.Text()), "(0, 1000000)");
}

TEST(RealLiteral, IsSeenToBeReal) {
  EXPECT_EQ(RealLiteral(5), "5.0");
  EXPECT_EQ(RealLiteral(-0.0), "-0.0");
  EXPECT_EQ(RealLiteral(0.1), "0.1");
  EXPECT_EQ(RealLiteral(1e100), "1e+100");
  EXPECT_EQ(RealLiteral(-kInf), "-inf");
}

}  // namespace stableaa::option_table_test
