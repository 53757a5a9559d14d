// Measures the speed limit of network passes on the spot: oneDNN's single-precision matrix product.
//
//   SgemmMeter meter(threads);
//   for (...) {
//     meter.Sample();
//     ... a measurement of something else
//   }
//   ratio = gflops of the work / meter.gflops();
//
// Clock speed and other work change what a machine delivers from second to second, so a ratio is
// valid only if both of its sides were measured alternately over the same period.
#ifndef STABLEAA_NN_SGEMM_H_
#define STABLEAA_NN_SGEMM_H_

#include <array>
#include <vector>

#include "stableaa/nn/aligned_buffer.h"

namespace stableaa {

// Uses products of square matrices of size 512, 1024 and 2048. A product of n³ multiplications and
// additions counts as 2n³ operations.
class SgemmMeter {
 public:
  explicit SgemmMeter(int threads);

  // One product of 1024³ and two of 512³: some 30 ms at 80 GFLOP/s.
  void Sample();

  // One product of each size: some 240 ms at 80 GFLOP/s, and 48 MiB of memory from then on.
  void SampleAllSizes();

  // GFLOP/s of the fastest size, using the median of each size's samples; 0 without samples, NaN in
  // a build without oneDNN, where sampling does nothing.
  double gflops() const;

 private:
  struct Size {
    int n = 0;
    std::vector<double> gflops = {};  // one per sample
  };

  void Run(Size& size);
  double Multiply(int n);  // seconds

  int threads_;
  std::array<Size, 3> sizes_;
  AlignedBuffer a_, b_, c_;  // for the largest size so far
};

}  // namespace stableaa

#endif  // STABLEAA_NN_SGEMM_H_
