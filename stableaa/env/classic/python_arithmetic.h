// Two operators of Python where C++ rounds or signs differently. Acrobot is chaotic: one different
// last bit and the trajectory is another one within an episode. With these it is Gymnasium's.
#ifndef STABLEAA_ENV_CLASSIC_PYTHON_ARITHMETIC_H_
#define STABLEAA_ENV_CLASSIC_PYTHON_ARITHMETIC_H_

namespace stableaa {

// x**2, which is pow(x, 2) of the C library: about one result in a thousand is not x * x in its
// last bit, and a compiler that sees the exponent would multiply.
double PythonSquare(double x);
float PythonSquare(float x);

// x % y for finite x and y > 0: in [0, y], with y itself only by rounding. Not in (-y, y) with the
// sign of x, as std::fmod.
double PythonModulo(double x, double y);

}  // namespace stableaa

#endif  // STABLEAA_ENV_CLASSIC_PYTHON_ARITHMETIC_H_
