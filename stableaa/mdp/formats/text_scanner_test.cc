#include "stableaa/mdp/formats/text_scanner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "stableaa/core/random.h"
#include "stableaa/mdp/formats/text_format_test.h"

namespace stableaa::text_scanner_test {

double NumberIn(std::string_view text) { return TextScanner(text, "t").Number("a number"); }
double QuotientIn(std::string_view text) {
  return TextScanner(text, "t").NumberOrQuotient("a number");
}
std::uint64_t UnsignedIn(std::string_view text) {
  return TextScanner(text, "t").Unsigned("a state");
}

std::string NumberError(std::string_view text) {
  return BadInputOf([&] { NumberIn(text); });
}
std::string UnsignedError(std::string_view text) {
  return BadInputOf([&] { UnsignedIn(text); });
}

TEST(TextScanner, ReadsNumbersInTheUsualForms) {
  EXPECT_EQ(NumberIn("1"), 1);
  EXPECT_EQ(NumberIn(" \t1.0 "), 1);
  EXPECT_EQ(NumberIn("1e-3"), 1e-3);
  EXPECT_EQ(NumberIn("1E+3,"), 1e3);
  EXPECT_EQ(NumberIn("+1.5"), 1.5);
  EXPECT_EQ(NumberIn("+1e2"), 100);
  EXPECT_EQ(NumberIn("-.5"), -.5);
  EXPECT_EQ(NumberIn("5."), 5);
  EXPECT_EQ(NumberIn("00012.50"), 12.5);
  EXPECT_TRUE(std::signbit(NumberIn("-0")));
}

TEST(TextScanner, RefusesWhatIsNoNumber) {
  for (const char* text : {"", "x", "-", "+", "+-1", "-+1", ".", "--1", "1x", "0x10", "1.2.3",
                           "1_0", "e5", "1e5e", "+x"}) {
    EXPECT_NE(NumberError(text), "") << text;
  }
  EXPECT_EQ(NumberError("0x10 1"), "t:1: expected a number, found '0x10'");
  EXPECT_EQ(NumberError(" "), "t:1: expected a number, found the end of the file");
  EXPECT_EQ(NumberError("\n1"), "t:1: expected a number, found the end of the line");
}

TEST(TextScanner, RefusesNumbersThatAreNotFinite) {
  for (const char* text : {"nan", "inf", "-inf", "+inf", "-nan", "INFINITY"}) {
    EXPECT_EQ(NumberError(text),
              fmt::format("t:1: expected a number that is finite, found '{}'", text));
  }
  for (const char* text : {"1e999", "-1e999", "+1e999", "1e99999999999999999999", "2e308"}) {
    EXPECT_EQ(NumberError(text),
              fmt::format("t:1: expected a number that a double can hold, found '{}'", text));
  }
  EXPECT_NE(NumberError("1" + std::string(400, '0')), "");
}

TEST(TextScanner, TooSmallANumberIsZeroOrDenormal) {
  EXPECT_EQ(NumberIn("1e-999"), 0);
  EXPECT_TRUE(std::signbit(NumberIn("-1e-999")));
  EXPECT_EQ(NumberIn("1e-99999999999999999999"), 0);
  EXPECT_EQ(NumberIn("0." + std::string(500, '0') + "1"), 0);
  EXPECT_EQ(NumberIn("." + std::string(500, '0') + "1e100"), 0);
  EXPECT_EQ(NumberIn("5e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(NumberIn("0e999"), 0);
}

// strtod is an independent implementation.
TEST(TextScanner, RoundsAsTheCLibraryDoes) {
  RandomStream random(3, "scanner");
  for (int i = 0; i < 200000; ++i) {
    std::string text = fmt::to_string(random() % (std::uint64_t{1} << (1 + random() % 63)));
    if (random() % 4 != 0) text.insert(random() % (text.size() + 1), ".");
    if (random() % 4 == 0) text += fmt::format("e{}", static_cast<int>(random() % 60) - 30);
    if (random() % 2 == 0) text.insert(0, "-");
    if (random() % 2 == 0) text += fmt::format(" {}", random());  // trailing text changes nothing
    EXPECT_EQ(NumberIn(text), std::strtod(text.c_str(), nullptr)) << text;
  }
}

TEST(TextScanner, EveryDoubleSurvivesShortestDigits) {
  RandomStream random(4, "scanner");
  for (int i = 0; i < 200000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(NumberIn(fmt::format("{}\n", value))),
              std::bit_cast<std::uint64_t>(value));
  }
}

TEST(TextScanner, ReadsQuotients) {
  EXPECT_EQ(QuotientIn("1/3"), 1.0 / 3);
  EXPECT_EQ(QuotientIn("-2/4,"), -.5);
  EXPECT_EQ(QuotientIn("7"), 7);
  for (const char* text : {"1/0", "0/0", "1/", "1/x", "1/ 3", "1e300/1e-300", "/3", "1/3x", "inf/2",
                           "1/inf", "nan/1", "1x/3", "1/-", "0x1/2", "-/3"}) {
    EXPECT_NE(BadInputOf([&] { QuotientIn(text); }), "") << text;
  }
  EXPECT_EQ(BadInputOf([&] { QuotientIn("1/0"); }),
            "t:1: expected a number that is finite, found '1/0'");
  // Two slashes begin a comment.
  EXPECT_EQ(QuotientIn("0.5//3"), .5);
  EXPECT_EQ(QuotientIn("0.12345678901234567//3"), 0.12345678901234567);
}

TEST(TextScanner, QuotientsAreRoundedOnce) {
  EXPECT_EQ(QuotientIn("+1/3 "), 1.0 / 3);
  EXPECT_EQ(QuotientIn("1/+3"), 1.0 / 3);
  EXPECT_EQ(QuotientIn("0.1/0.3"), 1.0 / 3);  // 0.1 and 0.3 as doubles give 0.33333333333333337
  EXPECT_EQ(QuotientIn("9007199254740993/9007199254740992"), 1);
  const std::string huge(400, '3');
  EXPECT_EQ(QuotientIn(huge + "/1" + std::string(400, '0')), 1.0 / 3);
  EXPECT_EQ(QuotientIn("-" + huge + "/" + huge), -1);
  const std::string two = huge + "/" + huge + ",7";
  TextScanner in(two, "t");
  EXPECT_EQ(in.NumberOrQuotient("a number"), 1);
  EXPECT_TRUE(in.Accept(','));
}

TEST(TextScanner, ProbabilitiesLieBetweenZeroAndOne) {
  const auto read = [](std::string_view text) { return TextScanner(text, "t").Probability(); };
  EXPECT_EQ(read("0"), 0);
  EXPECT_EQ(read("1"), 1);
  EXPECT_EQ(read("2/3"), 2.0 / 3);
  EXPECT_EQ(BadInputOf([&] { read("-0.25"); }),
            "t:1: expected a probability in [0, 1], found '-0.25'");
  EXPECT_EQ(BadInputOf([&] { read("3/2"); }), "t:1: expected a probability in [0, 1], found '3/2'");
}

TEST(TextScanner, ReadsIntegersUpToTheLargest) {
  EXPECT_EQ(UnsignedIn("0"), 0U);
  EXPECT_EQ(UnsignedIn("  42,"), 42U);
  EXPECT_EQ(UnsignedIn("1000000000000000000"), 1000000000000000000U);
  EXPECT_EQ(UnsignedIn("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(UnsignedIn("0000000000000000000000000000007"), 7U);
}

TEST(TextScanner, RefusesWhatIsNoInteger) {
  EXPECT_EQ(UnsignedError("18446744073709551616"),
            "t:1: expected a state below 2^64, found '18446744073709551616'");
  EXPECT_EQ(UnsignedError("-1,2"), "t:1: expected a state, found '-1'");
  EXPECT_EQ(UnsignedError("1.5"), "t:1: expected a state, found '1.5'");
  EXPECT_EQ(UnsignedError("s0 1"), "t:1: expected a state, found 's0'");
  EXPECT_EQ(UnsignedError("99999999999999999999x"),
            "t:1: expected a state, found '99999999999999999999x'");
}

TEST(TextScanner, LinesMayEndInCrLfAndTheLastOneInNothing) {
  TextScanner in(
      "\xEF\xBB\xBF"
      "1\r\n2 \r\n\r\n# c\r\n3",
      "t");
  EXPECT_EQ(in.Unsigned("a number"), 1U);
  in.ExpectLineEnd();
  EXPECT_EQ(in.Unsigned("a number"), 2U);
  in.ExpectLineEnd();
  EXPECT_TRUE(in.SkipToContent("#"));
  EXPECT_EQ(in.Where(), "t:5");
  EXPECT_EQ(in.Unsigned("a number"), 3U);
  in.ExpectLineEnd();
  EXPECT_TRUE(in.AtEnd());
  EXPECT_FALSE(in.SkipToContent("#"));
}

TEST(TextScanner, ReadsWordsQuotesAndRestsOfLines) {
  TextScanner in("alpha beta \"a b\" the rest \r\nnext", "t");
  EXPECT_FALSE(in.AcceptWord("alp"));
  EXPECT_TRUE(in.AcceptWord("alpha"));
  EXPECT_EQ(in.Word(), "beta");
  EXPECT_EQ(in.Quoted("a label"), "a b");
  EXPECT_EQ(in.RestOfLine(), "the rest");
  EXPECT_EQ(BadInputOf([&] { in.ExpectWord("last"); }), "t:2: expected 'last', found 'next'");
  in.ExpectWord("next");
  EXPECT_EQ(in.Word(), "");
  EXPECT_EQ(in.RestOfLine(), "");
  TextScanner open("\"a\n\"", "t");
  EXPECT_EQ(BadInputOf([&] { open.Quoted("a label"); }),
            "t:1: expected a label with a closing quote, found '\"a'");
}

TEST(TextScanner, WhatWasFoundIsShortAndFitToBeShown) {
  std::string text(1000, 'x');
  text += "\n\x01";
  TextScanner in(text, "t");
  const std::string message = in.Wrong("a state").what();
  EXPECT_LT(message.size(), 120U);
  in.SkipLine();
  EXPECT_EQ(in.Wrong("a state").what(), std::string("t:2: expected a state, found '\\u0001'"));
}

TEST(TextScanner, AnEmptyTextIsFine) {
  TextScanner in({}, "t");
  EXPECT_TRUE(in.AtEnd());
  EXPECT_FALSE(in.SkipToContent("#"));
  EXPECT_EQ(in.RestOfLine(), "");
  EXPECT_EQ(in.Where(), "t:1");
}

}  // namespace stableaa::text_scanner_test
