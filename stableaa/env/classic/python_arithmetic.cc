#include "stableaa/env/classic/python_arithmetic.h"

#include <cmath>

namespace stableaa {
namespace {

// Volatile, so that the compiler does not see its value.
const volatile double kTwo = 2;
const volatile float kTwoFloat = 2;

}  // namespace

double PythonSquare(double x) { return std::pow(x, kTwo); }
float PythonSquare(float x) { return std::pow(x, kTwoFloat); }

double PythonModulo(double x, double y) {
  const double rest = std::fmod(x, y);
  if (rest == 0) return 0;
  return rest < 0 ? rest + y : rest;
}

}  // namespace stableaa
