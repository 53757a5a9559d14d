#include "stableaa/mdp/formats/exact_quotient.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "stableaa/core/random.h"

namespace stableaa::exact_quotient_test {

std::string RandomDigits(RandomStream& random, std::uint64_t size) {
  std::string digits;
  for (std::uint64_t i = 0; i < size; ++i) digits += static_cast<char>('0' + random() % 10);
  if (digits[0] == '0') digits[0] = '1';
  return digits;
}

// The product of two whole numbers, as at school.
std::string Times(const std::string& a, const std::string& b) {
  std::string product(a.size() + b.size(), '\0');
  for (std::size_t i = a.size(); i-- > 0;) {
    int carry = 0;
    for (std::size_t j = b.size(); j-- > 0;) {
      const int sum = product[i + j + 1] + (a[i] - '0') * (b[j] - '0') + carry;
      product[i + j + 1] = static_cast<char>(sum % 10);
      carry = sum / 10;
    }
    product[i] = static_cast<char>(product[i] + carry);
  }
  for (char& digit : product) digit = static_cast<char>(digit + '0');
  return product;
}

// The C library's conversion of a decimal number is an independent implementation of the same
// rounding, down to denormal numbers.
TEST(RoundedQuotient, DividingByAPowerOfTenIsReadingADecimal) {
  RandomStream random(1, "quotient");
  for (int i = 0; i < 20000; ++i) {
    const std::string digits = RandomDigits(random, 1 + random() % 420);
    const std::uint64_t zeros = random() % 760;
    const double expected = std::strtod(fmt::format("{}e-{}", digits, zeros).c_str(), nullptr);
    const std::optional<double> found = RoundedQuotient(digits, "1" + std::string(zeros, '0'));
    if (std::isinf(expected)) {
      EXPECT_EQ(found, std::nullopt) << digits << " " << zeros;
    } else {
      EXPECT_EQ(found, expected) << digits << " " << zeros;
    }
  }
}

// The processor divides two doubles with one rounding.
TEST(RoundedQuotient, DividesWholeNumbersAsTheProcessorDoes) {
  RandomStream random(2, "quotient");
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t a = random() >> (11 + random() % 53);
    const std::uint64_t b = (random() >> (11 + random() % 53)) | 1;
    EXPECT_EQ(RoundedQuotient(fmt::to_string(a), fmt::to_string(b)),
              static_cast<double>(a) / static_cast<double>(b));
  }
}

TEST(RoundedQuotient, CommonFactorsCancel) {
  RandomStream random(3, "quotient");
  for (int i = 0; i < 2000; ++i) {
    const std::string a = RandomDigits(random, 1 + random() % 40);
    const std::string b = RandomDigits(random, 1 + random() % 40);
    const std::string factor = RandomDigits(random, 1 + random() % 400);
    EXPECT_EQ(RoundedQuotient(Times(a, factor), Times(b, factor)), RoundedQuotient(a, b));
  }
}

// Halfway between two doubles, and a little to either side.
TEST(RoundedQuotient, TiesGoToTheEvenNeighbour) {
  RandomStream random(4, "quotient");
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t odd = (random() >> 10 | std::uint64_t{1} << 53) | 1;  // 54 bits
    const std::string factor = RandomDigits(random, 1 + random() % 100);
    std::string tie = Times(fmt::to_string(odd), factor);
    const auto even = static_cast<double>(odd);  // rounds the tie to even
    EXPECT_EQ(RoundedQuotient(tie, factor), even);
    const double above =
        odd == static_cast<std::uint64_t>(even) + 1 ? std::nextafter(even, HUGE_VAL) : even;
    EXPECT_EQ(RoundedQuotient(tie + ".0001", factor), above);
  }
}

TEST(RoundedQuotient, KnowsPointsExponentsAndSigns) {
  EXPECT_EQ(RoundedQuotient("1", "3"), 1.0 / 3);
  EXPECT_EQ(RoundedQuotient("-2.50", "-0.005"), 500);
  EXPECT_EQ(RoundedQuotient("+1e-1", "3e-1"), 1.0 / 3);
  EXPECT_EQ(RoundedQuotient("1E+400", "4e400"), .25);
  EXPECT_EQ(RoundedQuotient("1e-5000000000", "8e-5000000000"), .125);
  EXPECT_EQ(RoundedQuotient("00012", "6."), 2);
  EXPECT_TRUE(std::signbit(*RoundedQuotient("-0", "3")));
  EXPECT_TRUE(std::signbit(*RoundedQuotient("0.0", "-3")));
}

TEST(RoundedQuotient, HasNoQuotientBeyondDoublesOrByZero) {
  EXPECT_EQ(RoundedQuotient("1", "0"), std::nullopt);
  EXPECT_EQ(RoundedQuotient("0", "0.00e7"), std::nullopt);
  EXPECT_EQ(RoundedQuotient("1e300", "1e-300"), std::nullopt);
  EXPECT_EQ(RoundedQuotient("1e99999999999999999999", "1"), std::nullopt);
  EXPECT_EQ(RoundedQuotient("1", "1e-99999999999999999999"), std::nullopt);
  EXPECT_EQ(RoundedQuotient("1", "1e99999999999999999999"), 0);
  EXPECT_EQ(RoundedQuotient("1e-99999999999999999999", "1e99999999999999999999"), 0);
  EXPECT_EQ(RoundedQuotient("5e-324", "1"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(RoundedQuotient("5e-324", "4"), 0);
}

// Numerators beyond 1e308, as exact tools write them.
TEST(RoundedQuotient, TakesNumbersOfHundredsOfDigits) {
  EXPECT_EQ(RoundedQuotient("1" + std::string(400, '0'), "3" + std::string(400, '0')), 1.0 / 3);
  EXPECT_EQ(RoundedQuotient(std::string(1000, '7'), std::string(1000, '9')), 7.0 / 9);
  EXPECT_EQ(RoundedQuotient(std::string(100000, '7'), std::string(100000, '9')), 7.0 / 9);
}

}  // namespace stableaa::exact_quotient_test
