#include "stableaa/mdp/solve/pass_benchmark.h"

#include <vector>

#include "stableaa/core/median.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/core/triad.h"
#include "stableaa/mdp/solve/passes.h"

namespace stableaa {

PassTiming MeasurePass(const Model& model, const AcceleratorOptions& acceleration, int threads,
                       int rounds) {
  constexpr double kDiscount = 0.999;
  constexpr std::uint64_t kTriadBytes = 24;  // per element
  const std::uint64_t states = model.states();
  PassTiming timing{.threads = threads, .bytes = PassBytes(model)};
  Triad triad(timing.bytes / kTriadBytes + 1, threads);
  AcceleratorOptions options = acceleration;
  options.threads = threads;
  options.safeguard = false;
  Accelerator accelerator(states, options);
  std::vector<double> values(states);
  std::vector<double> image(states);
  std::vector<std::uint32_t> actions(states);
  std::vector<double> passes;
  std::vector<double> triads;
  std::vector<double> steps;
  triad.Run(1);
  for (int round = -options.memory - 1; round < rounds; ++round) {
    const Stopwatch pass;
    BackupPass(model, kDiscount, values, image, actions, threads);
    const double sweep_seconds = pass.Seconds();
    const Stopwatch step;
    accelerator.Step(values, image);
    const double step_seconds = step.Seconds();
    const double triad_seconds = triad.Run(1);
    if (round < 0) continue;  // until the window is full
    passes.push_back(1e3 * sweep_seconds);
    steps.push_back(1e3 * step_seconds);
    triads.push_back(1e3 * triad_seconds);
  }
  timing.ms_per_sweep = Median(passes);
  timing.triad_ms = Median(triads);
  timing.ratio = timing.ms_per_sweep / timing.triad_ms;
  timing.anderson_ms = Median(steps);
  timing.anderson_share = timing.anderson_ms / timing.ms_per_sweep;
  return timing;
}

}  // namespace stableaa
