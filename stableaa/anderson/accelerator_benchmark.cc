#include "stableaa/anderson/accelerator_benchmark.h"

#include <algorithm>
#include <vector>

#include "stableaa/core/median.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/core/triad.h"

namespace stableaa {
namespace {

// A contraction whose target moves with each step, so that the window never degenerates.
void WanderingMap(std::size_t step, const std::vector<double>& x, std::vector<double>& image) {
  const double phase = static_cast<double>(step % 97);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double mode = static_cast<double>(i % 61) / 61;
    image[i] = 0.9 * mode * x[i] + 1 + mode * phase + static_cast<double>((i * (step + 1)) % 13);
  }
}

}  // namespace

std::uint64_t AcceleratorBenchmarkBytes(std::size_t n, const AcceleratorOptions& options) {
  const std::uint64_t element = options.history == HistoryPrecision::kFloat ? 4 : 8;
  const std::uint64_t columns = 2 * static_cast<std::uint64_t>(options.memory);
  constexpr std::uint64_t kDoubles = 4 + 2 + 3;  // the last two pairs; x and g(x); the triad
  return n * (columns * element + 8 * kDoubles);
}

AcceleratorTiming MeasureAccelerator(
    std::size_t n, AcceleratorOptions options,
    const std::function<void(std::size_t done, std::size_t total)>& on_step) {
  options.safeguard = false;
  options.restart = RestartRule::kNever;
  options.interval = 1;
  const auto bytes = 8.0 * static_cast<double>(n) * (3 * options.memory + 9);
  // Enough steps for a steady median: about 40 GB of traffic, 15 to 20,000 steps, and no more than
  // ten seconds when the weights dominate (large memory).
  constexpr std::size_t kFewest = 15;
  constexpr double kMostSeconds = 10;
  const auto steps = static_cast<std::size_t>(std::clamp(4e10 / bytes, 1.0 * kFewest, 2e4));
  const auto warm_up = static_cast<std::size_t>(options.memory) + 2;

  Accelerator accelerator(n, options);
  Triad triad(n, options.threads);
  std::vector<double> x(n, 0.0);
  std::vector<double> image(n);
  std::vector<double> step_seconds;
  std::vector<double> triad_seconds;
  Stopwatch total;
  for (std::size_t step = 0; step < warm_up + steps; ++step) {
    if (step == warm_up) total = Stopwatch();
    if (step >= warm_up + kFewest && total.Seconds() > kMostSeconds) break;
    WanderingMap(step, x, image);
    const Stopwatch watch;
    accelerator.Step(x, image);
    const double seconds = watch.Seconds();
    const double stream = triad.Run(options.memory + 3);
    if (on_step) on_step(step + 1, warm_up + steps);
    if (step < warm_up) continue;
    step_seconds.push_back(seconds);
    triad_seconds.push_back(stream);
  }

  AcceleratorTiming timing{.n = n, .memory = options.memory, .threads = options.threads};
  timing.ms_per_step = 1e3 * Median(step_seconds);
  timing.triad_ms = 1e3 * Median(triad_seconds);
  timing.ratio = timing.ms_per_step / timing.triad_ms;
  return timing;
}

}  // namespace stableaa
