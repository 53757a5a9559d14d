#include "stableaa/core/concat.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace stableaa::concat_test {

TEST(Concat, JoinsTextAndNumbers) {
  const std::string name = "x";
  const std::uint8_t byte = 200;
  EXPECT_EQ(
      Concat("step ", 3, ": ", name, std::string_view("[12]").substr(0, 3), ']', " is ", byte),
      "step 3: x[12] is 200");
  EXPECT_EQ(Concat(), "");
  EXPECT_EQ(Concat(std::numeric_limits<std::uint64_t>::max(), " ",
                   std::numeric_limits<std::int64_t>::min()),
            "18446744073709551615 -9223372036854775808");
}

TEST(Concat, RealsAreAsShortAsReadsBackExactly) {
  EXPECT_EQ(Concat(1.0, " ", 0.1, " ", -0.0, " ", 1.0 / 3), "1 0.1 -0 0.3333333333333333");
  EXPECT_EQ(Concat(0.5F, " ", -2.25F), "0.5 -2.25");
}

TEST(Concat, RealsHaveAnExponentOnlyBeyondFourZerosAndSixteenDigits) {
  EXPECT_EQ(Concat(100000.0, " ", 1e15, " ", 1e16, " ", 1e100),
            "100000 1000000000000000 1e+16 1e+100");
  EXPECT_EQ(Concat(0.0001, " ", 0.00001, " ", 1.5e-300), "0.0001 1e-05 1.5e-300");
  EXPECT_EQ(Concat(123456.789, " ", 9.875e15), "123456.789 9875000000000000");
}

TEST(Concat, RealsThatAreNoNumbersHaveNames) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Concat(infinity, " ", -infinity, " ", std::numeric_limits<double>::quiet_NaN()),
            "inf -inf nan");
}

}  // namespace stableaa::concat_test
