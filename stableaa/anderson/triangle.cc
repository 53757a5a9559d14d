#include "stableaa/anderson/triangle.h"

#include <Eigen/Core>
#include <Eigen/QR>

namespace stableaa::internal {

void FactorizeInPlace(const DenseColumns& a) {
  using Matrix = Eigen::MatrixXd;
  Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>> map(a.data, a.rows, a.columns,
                                                                 Eigen::OuterStride<>(a.stride));
  Eigen::Ref<Matrix> rows(map);
  const Eigen::HouseholderQR<Eigen::Ref<Matrix>> qr(rows);
}

}  // namespace stableaa::internal
