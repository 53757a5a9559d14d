// The cost of one accelerated step, compared with streaming the same number of bytes.
#ifndef STABLEAA_ANDERSON_ACCELERATOR_BENCHMARK_H_
#define STABLEAA_ANDERSON_ACCELERATOR_BENCHMARK_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "stableaa/anderson/accelerator.h"

namespace stableaa {

struct AcceleratorTiming {
  std::size_t n = 0;
  int memory = 0;
  int threads = 1;
  double ms_per_step = 0;  // median over steps with a full window, the map not included
  double triad_ms = 0;     // a triad over 8n(3m+9) bytes, median, measured between those steps
  double ratio = 0;        // ms_per_step / triad_ms
};

// Measures with the given options, but with safeguard, interval and restarts off, so that every
// step is a full one. Takes a few seconds: at least 15 steps after the window is full. `on_step` is
// called after each step; `total` is the number of steps if time allows them all.
AcceleratorTiming MeasureAccelerator(
    std::size_t n, AcceleratorOptions options,
    const std::function<void(std::size_t done, std::size_t total)>& on_step = {});

// The memory needed: 1.5 GB at n = 1e7 and memory 5.
std::uint64_t AcceleratorBenchmarkBytes(std::size_t n, const AcceleratorOptions& options);

}  // namespace stableaa

#endif  // STABLEAA_ANDERSON_ACCELERATOR_BENCHMARK_H_
