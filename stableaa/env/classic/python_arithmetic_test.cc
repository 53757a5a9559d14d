#include "stableaa/env/classic/python_arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stableaa/core/random.h"

namespace stableaa::python_arithmetic_test {

TEST(PythonArithmetic, ModuloHasTheSignOfTheDivisor) {
  EXPECT_EQ(PythonModulo(5.5, 2), 1.5);
  EXPECT_EQ(PythonModulo(-5.5, 2), .5);
  EXPECT_EQ(PythonModulo(-4, 2), 0);
  EXPECT_FALSE(std::signbit(PythonModulo(-4, 2)));
}

TEST(PythonArithmetic, SquareIsWithinOneUnitInTheLastPlace) {
  RandomStream random(6, "squares");
  for (int i = 0; i < 1000; ++i) {
    const double x = random.Uniform(-30, 30);
    EXPECT_DOUBLE_EQ(PythonSquare(x), x * x);
  }
  EXPECT_EQ(PythonSquare(-1.5F), 2.25F);
}

}  // namespace stableaa::python_arithmetic_test
