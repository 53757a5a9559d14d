// The speed limit of network passes, measured on the spot: oneDNN's single-precision matrix
// product.
//
//   SgemmMeter meter(threads);
//   for (...) {
//     meter.Sample();
//     ... a measurement of something else
//   }
//   ratio = gflops of the work / meter.gflops();
//
// Clock speed and neighbours change what a machine gives from second to second, so a ratio holds
// only if both of its sides were measured in the same stretch of time, in turns.
#ifndef STABLEAA_NN_SGEMM_H_
#define STABLEAA_NN_SGEMM_H_

#include <array>
#include <vector>

#include "stableaa/nn/aligned_buffer.h"

namespace stableaa {

// Products of square matrices of 512, 1024 and 2048. A product of n³ multiplications and additions
// counts as 2n³ operations.
class SgemmMeter {
 public:
  explicit SgemmMeter(int threads);

  // One product of 1024³ and two of 512³: some 30 ms at 80 GFLOP/s.
  void Sample();

  // One product of each size: some 240 ms at 80 GFLOP/s, and 48 MiB from then on.
  void SampleAllSizes();

  // GFLOP/s of the fastest size, each size by the median of its samples; 0 without samples, NaN in
  // a build without oneDNN, where sampling does nothing.
  double gflops() const;

 private:
  struct Size {
    int n = 0;
    std::vector<double> gflops = {};  // of its samples
  };

  void Run(Size& size);
  double Multiply(int n);  // seconds

  int threads_;
  std::array<Size, 3> sizes_;
  AlignedBuffer a_, b_, c_;  // of the largest size so far
};

}  // namespace stableaa

#endif  // STABLEAA_NN_SGEMM_H_
