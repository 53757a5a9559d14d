#include "stableaa/nn/sgemm.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "stableaa/core/median.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/nn/onednn.h"
#include "stableaa/nn/openmp_threads.h"

namespace stableaa {
namespace {

AlignedBuffer Filled(std::size_t size) {
  AlignedBuffer buffer(size);
  std::ranges::fill(buffer.span(), 0.5F);
  return buffer;
}

}  // namespace

SgemmMeter::SgemmMeter(int threads)
    : threads_(GrantedThreads(threads)), sizes_{{{.n = 512}, {.n = 1024}, {.n = 2048}}} {}

void SgemmMeter::Sample() {
  Run(sizes_[0]);
  Run(sizes_[0]);
  Run(sizes_[1]);
}

void SgemmMeter::SampleAllSizes() {
  for (Size& size : sizes_) Run(size);
}

double SgemmMeter::gflops() const {
  if (!HasOnednn()) return std::numeric_limits<double>::quiet_NaN();
  double best = 0;
  for (const Size& size : sizes_) {
    if (!size.gflops.empty()) best = std::max(best, Median(size.gflops));
  }
  return best;
}

void SgemmMeter::Run(Size& size) {
  if (!HasOnednn()) return;
  const std::size_t floats = static_cast<std::size_t>(size.n) * static_cast<std::size_t>(size.n);
  if (c_.size() < floats) {
    a_ = Filled(floats);
    b_ = Filled(floats);
    c_ = Filled(floats);
  }
  if (size.gflops.empty()) Multiply(size.n);  // the first one includes code generation
  const double n = size.n;
  size.gflops.push_back(2e-9 * n * n * n / Multiply(size.n));
}

double SgemmMeter::Multiply(int n) {
  const OpenmpThreads threads(threads_);
  const Stopwatch watch;
  OnednnProduct(n, a_.data(), b_.data(), c_.data());
  return watch.Seconds();
}

}  // namespace stableaa
