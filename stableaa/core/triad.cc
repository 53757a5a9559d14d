#include "stableaa/core/triad.h"

#include <cstdint>

#include "stableaa/core/stopwatch.h"

namespace stableaa {

Triad::Triad(std::size_t size, int threads)
    : threads_(threads), a_(size, 0.0), b_(size, 1.0), c_(size, 2.0) {}

double Triad::Run(int repeats) {
  const auto size = static_cast<std::int64_t>(a_.size());
  double* const a = a_.data();
  const double* const b = b_.data();
  const double* const c = c_.data();
  const Stopwatch watch;
  for (int r = 0; r < repeats; ++r) {
    const double s = 1 + r;
    if (threads_ == 1) {  // not an `if` clause, which would still pay for a team
      for (std::int64_t i = 0; i < size; ++i) a[i] = b[i] + s * c[i];
      continue;
    }
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t i = 0; i < size; ++i) a[i] = b[i] + s * c[i];
  }
  return watch.Seconds();
}

}  // namespace stableaa
