// stableaa bench NAME: measurements, each next to the machine's limit, measured in the same run.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/anderson/accelerator_benchmark.h"
#include "stableaa/base/machine.h"
#include "stableaa/base/terminal/progress.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/program.h"
#include "stableaa/cli/settings.h"

namespace stableaa {
namespace {

struct AndersonBench {
  SettingsFlags flags;
  std::uint64_t n = 0;  // 0: the standard sizes
  int threads = 0;      // 0: one, then all cores
  bool json = false;
};

using SizeAndThreads = std::pair<std::uint64_t, int>;

// `configured` is anderson.threads, used if the flag is not given.
std::vector<SizeAndThreads> Cases(const AndersonBench& bench, int configured) {
  std::vector<int> threads = {1};
  if (bench.threads > 0) {
    threads = {bench.threads};
  } else if (configured > 1) {
    threads = {configured};
  } else if (CoreCount() > 1) {
    threads.push_back(CoreCount());
  }
  if (bench.n > 0) {
    std::vector<SizeAndThreads> cases;
    for (const int t : threads) cases.emplace_back(bench.n, t);
    return cases;
  }
  std::vector<SizeAndThreads> cases = {{100, threads.front()}};
  for (const int t : threads) cases.emplace_back(10'000'000, t);
  return cases;
}

void PrintRow(const AcceleratorTiming& t, bool json) {
  if (json) {
    const nlohmann::ordered_json object = {{"n", t.n},
                                           {"memory", t.memory},
                                           {"threads", t.threads},
                                           {"ms_per_step", t.ms_per_step},
                                           {"triad_ms", t.triad_ms},
                                           {"ratio", t.ratio}};
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print("{:>10} {:>7} {:>8} {:>12.5g} {:>12.5g} {:>7.2f}\n", t.n, t.memory, t.threads,
               t.ms_per_step, t.triad_ms, t.ratio);
  }
  std::fflush(stdout);
}

// The progress bar is gone when this returns, so the row can be printed.
AcceleratorTiming MeasureShowingProgress(std::uint64_t n, const AcceleratorOptions& options) {
  std::unique_ptr<Progress> progress;
  return MeasureAccelerator(n, options, [&](std::size_t done, std::size_t total) {
    if (progress == nullptr) {
      const std::string label = fmt::format("n = {}, threads {}", n, options.threads);
      progress = std::make_unique<Progress>(ProgressOptions{.label = label, .total = total});
    }
    progress->Set(done);
  });
}

void RunAnderson(const AndersonBench& bench) {
  Settings settings = bench.flags.Resolve();
  const std::vector<SizeAndThreads> cases = Cases(bench, settings.anderson.threads);
  for (const auto& [n, threads] : cases) {
    RequireMemory("bench anderson", AcceleratorBenchmarkBytes(n, settings.anderson),
                  "try a smaller --n");
  }
  if (!bench.json) {
    fmt::print("{}; {}\n{:>10} {:>7} {:>8} {:>12} {:>12} {:>7}\n", MachineName(), CompilerName(),
               "n", "memory", "threads", "ms/step", "triad ms", "ratio");
    std::fflush(stdout);
  }
  for (const auto& [n, threads] : cases) {
    settings.anderson.threads = threads;
    PrintRow(MeasureShowingProgress(n, settings.anderson), bench.json);
  }
}

}  // namespace

void AddBenchCommand(CLI::App& program) {
  CLI::App* bench = program.add_subcommand("bench", "Measure the speed of a part on this machine");
  bench->require_subcommand(1);
  bench->footer("Example: stableaa bench anderson --threads 2 --json\n");

  auto options = std::make_shared<AndersonBench>();
  CLI::App* anderson = bench->add_subcommand(
      "anderson", "One accelerated step against a triad streaming 8n(3m+9) bytes");
  anderson->add_option("--n", options->n, "Size of the vectors (default: 100 and 10000000)")
      ->transform(WholeBetween(1, std::uint64_t{1} << 40))
      ->type_name("N in [1, 2^40]");
  anderson
      ->add_option("--threads", options->threads,
                   "Threads (default: anderson.threads if above 1, else 1 and then all cores)")
      ->transform(WholeBetween(1, 1024))
      ->type_name("N in [1, 1024]");
  options->flags.AddTo(
      *anderson,
      {.used = {"anderson."},
       .except = {{{"anderson.safeguard", "anderson.safeguard_factor", "anderson.interval",
                    "anderson.restart", "anderson.restart_interval", "anderson.restart_growth"},
                   "every step that it measures is a full one"}}});
  anderson->add_flag("--json", options->json, "One JSON object per measurement");
  anderson->footer(
      "The keys anderson.* apply, except safeguard, interval and restart, which are off: every "
      "step\n"
      "is a full one. Prints medians over the steps of one run.\n"
      "Example: stableaa bench anderson --n 1000000 --set anderson.history=float\n");
  anderson->callback([options] { RunAnderson(*options); });

  AddNetworkBenchCommands(*bench);
  AddEnvBenchCommand(*bench);
  AddReplayBenchCommand(*bench);
  AddSolveBenchCommand(*bench);
  AddAgentBenchCommands(*bench);
}

}  // namespace stableaa
