// Two Python operators that round or sign differently from C++. Acrobot is chaotic: a single
// different last bit changes the trajectory within an episode. With these operators it matches
// Gymnasium's.
#ifndef STABLEAA_ENV_CLASSIC_PYTHON_ARITHMETIC_H_
#define STABLEAA_ENV_CLASSIC_PYTHON_ARITHMETIC_H_

namespace stableaa {

// x**2, which is the C library's pow(x, 2): about one result in a thousand differs from x * x in
// its last bit, and a compiler that sees the exponent would multiply.
double PythonSquare(double x);
float PythonSquare(float x);

// x % y for finite x and y > 0: in [0, y], with y itself only through rounding. std::fmod would
// give a value in (-y, y) with the sign of x.
double PythonModulo(double x, double y);

}  // namespace stableaa

#endif  // STABLEAA_ENV_CLASSIC_PYTHON_ARITHMETIC_H_
