#include "stableaa/base/text/whole_number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace stableaa::whole_number_test {

using Signed = std::int64_t;

std::optional<WholeNumber> Whole(Signed number) { return number; }

TEST(WholeNumber, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(ReadWholeNumber("0"), Whole(0));
  EXPECT_EQ(ReadWholeNumber("-0"), Whole(0));
  EXPECT_EQ(ReadWholeNumber("+7"), Whole(7));
  EXPECT_EQ(ReadWholeNumber("-12"), Whole(-12));
  EXPECT_EQ(ReadWholeNumber("100_000"), Whole(100'000));
  EXPECT_EQ(ReadWholeNumber("1e5"), Whole(100'000));
  EXPECT_EQ(ReadWholeNumber("1E+5"), Whole(100'000));
  EXPECT_EQ(ReadWholeNumber("-1_0e0_3"), Whole(-10'000));
  EXPECT_EQ(ReadWholeNumber("2.5e3"), Whole(2500));
  EXPECT_EQ(ReadWholeNumber("5.0"), Whole(5));
  EXPECT_EQ(ReadWholeNumber("1200e-2"), Whole(12));
  EXPECT_EQ(ReadWholeNumber("0e999999999999999999999"), Whole(0));
  EXPECT_EQ(ReadWholeNumber("0.000000000000000000000000000007e30"), Whole(7));
  EXPECT_EQ(ReadWholeNumber("0000000000000000000000000000007"), Whole(7));
}

TEST(WholeNumber, IsExactUpToTheLastBit) {
  EXPECT_EQ(ReadWholeNumber("9007199254740993"), Whole(9'007'199'254'740'993));
  EXPECT_EQ(ReadWholeNumber("9.007199254740993e15"), Whole(9'007'199'254'740'993));
  EXPECT_EQ(ReadWholeNumber("9223372036854775807"), Whole(std::numeric_limits<Signed>::max()));
  EXPECT_EQ(ReadWholeNumber("-9223372036854775808"), Whole(std::numeric_limits<Signed>::min()));
  EXPECT_EQ(ReadWholeNumber("9223372036854775808"), WholeNumber(std::uint64_t{1} << 63));
  EXPECT_EQ(ReadWholeNumber("18446744073709551615"),
            WholeNumber(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_EQ(ReadWholeNumber("1e19"), WholeNumber(std::uint64_t{10'000'000'000'000'000'000U}));
}

TEST(WholeNumber, IsNothingElse) {
  for (const char* const text : {"",
                                 " ",
                                 "+",
                                 "-",
                                 "_",
                                 "1_",
                                 "_1",
                                 "1__0",
                                 "1e",
                                 "e5",
                                 "1e5_",
                                 "1e_5",
                                 "1.5",
                                 "1.5e0",
                                 "1e-3",
                                 "1.",
                                 ".5",
                                 "1._5",
                                 "1_.5",
                                 "+-1",
                                 "--1",
                                 "1 ",
                                 " 1",
                                 "0x10",
                                 "inf",
                                 "nan",
                                 "1e30",
                                 "1,000",
                                 "1e5x",
                                 "1ee5",
                                 "1.0.",
                                 "12e",
                                 "1e+-5",
                                 "abc",
                                 "1e20",
                                 "-1e19",
                                 "1e99999999999999999999",
                                 "1e-99999999999999999999",
                                 "18446744073709551616",
                                 "-9223372036854775809",
                                 "-18446744073709551615",
                                 "999999999999999999999"}) {
    EXPECT_EQ(ReadWholeNumber(text), std::nullopt) << text;
  }
  EXPECT_EQ(ReadWholeNumber(std::string("1\0", 2)), std::nullopt);
}

}  // namespace stableaa::whole_number_test
