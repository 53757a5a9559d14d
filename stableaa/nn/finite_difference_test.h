// For tests of gradients.
#ifndef STABLEAA_NN_FINITE_DIFFERENCE_TEST_H_
#define STABLEAA_NN_FINITE_DIFFERENCE_TEST_H_

namespace stableaa {

// (L(x + h) − L(x − h)) / 2h for L = loss(), which sees x.
template <typename Loss>
double CentralDifference(double& x, const Loss& loss) {
  const double h = 1e-5;
  const double middle = x;
  x = middle + h;
  const double above = loss();
  x = middle - h;
  const double below = loss();
  x = middle;
  return (above - below) / (2 * h);
}

}  // namespace stableaa

#endif  // STABLEAA_NN_FINITE_DIFFERENCE_TEST_H_
