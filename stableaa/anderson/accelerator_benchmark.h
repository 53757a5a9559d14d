// What one accelerated step costs, against the time of streaming as many bytes.
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

// Measures with the given options; safeguard, interval and restarts are off, so that every step is
// the full one. Takes some seconds: at least 15 steps behind a full window. `on_step` hears of each
// step, with the number of all if time allows.
AcceleratorTiming MeasureAccelerator(
    std::size_t n, AcceleratorOptions options,
    const std::function<void(std::size_t done, std::size_t total)>& on_step = {});

// The memory that takes: 1.5 GB at n = 1e7 and memory 5.
std::uint64_t AcceleratorBenchmarkBytes(std::size_t n, const AcceleratorOptions& options);

}  // namespace stableaa

#endif  // STABLEAA_ANDERSON_ACCELERATOR_BENCHMARK_H_
