// The R of a QR factorisation: the only place where Eigen's Householder code is compiled.
#ifndef STABLEAA_ANDERSON_TRIANGLE_H_
#define STABLEAA_ANDERSON_TRIANGLE_H_

#include <cstddef>

namespace stableaa::internal {

// Consecutive columns, `stride` apart.
struct DenseColumns {
  double* data = nullptr;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t columns = 0;
  std::ptrdiff_t stride = 0;
};

// Leaves R in the upper triangle of `a`, and its Householder vectors below.
void FactorizeInPlace(const DenseColumns& a);

}  // namespace stableaa::internal

#endif  // STABLEAA_ANDERSON_TRIANGLE_H_
