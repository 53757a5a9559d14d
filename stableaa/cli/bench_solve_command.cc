// stableaa bench solve: a pass over a model compared to the memory's speed, the passes that mpi
// makes instead, and the cost of Anderson.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stableaa/base/machine.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/json_text.h"
#include "stableaa/cli/print_plain.h"
#include "stableaa/cli/program.h"
#include "stableaa/cli/settings.h"
#include "stableaa/mdp/formats/model_file.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/solve/pass_benchmark.h"

namespace stableaa {
namespace {

constexpr int kRounds = 15;

struct SolveBench {
  SettingsFlags settings;
  std::string model;  // empty: the standard one
  int threads = 0;    // 0: one, then all cores
  bool json = false;
};

void PrintRow(const std::string& name, const Model& model, const PassTiming& t, bool json) {
  if (json) {
    const nlohmann::ordered_json object = {{"model", name},
                                           {"states", model.states()},
                                           {"rows", model.rows()},
                                           {"transitions", model.transitions()},
                                           {"threads", t.threads},
                                           {"bytes", t.bytes},
                                           {"ms_per_sweep", t.ms_per_sweep},
                                           {"triad_ms", t.triad_ms},
                                           {"ratio", t.ratio},
                                           {"settled_ms", t.settled_ms},
                                           {"evaluation_ms", t.evaluation_ms},
                                           {"anderson_ms", t.anderson_ms},
                                           {"anderson_share", t.anderson_share}};
    fmt::print("{}\n", JsonText(object));
  } else {
    PrintPlain("{:>8} {:>12.4g} {:>12.4g} {:>7.2f} {:>12.4g} {:>13.4g} {:>12.4g} {:>9.0f} %\n",
               t.threads, t.ms_per_sweep, t.triad_ms, t.ratio, t.settled_ms, t.evaluation_ms,
               t.anderson_ms, 100 * t.anderson_share);
  }
  std::fflush(stdout);
}

void RunSolveBench(const SolveBench& bench) {
  const Settings settings = bench.settings.Resolve();
  const std::string name = bench.model.empty() ? "garnet 1000000 x 4 x 5" : bench.model;
  const Model model = bench.model.empty() ? GenerateModel({.kind = "garnet", .states = 1'000'000})
                                          : ReadModel(bench.model).model;
  std::vector<int> threads = {1};
  if (bench.threads > 0) {
    threads = {bench.threads};
  } else if (CoreCount() > 1) {
    threads.push_back(CoreCount());
  }
  if (!bench.json) {
    PrintPlain("{}; {}\n{}: {} states, {} rows, {} transitions\n", MachineName(), CompilerName(),
               name, model.states(), model.rows(), model.transitions());
    PrintPlain("{:>8} {:>12} {:>12} {:>7} {:>12} {:>13} {:>12} {:>11}\n", "threads", "ms/sweep",
               "triad ms", "ratio", "settled ms", "evaluation ms", "anderson ms", "of a sweep");
    std::fflush(stdout);
  }
  for (const int t : threads) {
    PrintRow(name, model, MeasurePass(model, settings.anderson, t, kRounds), bench.json);
  }
}

}  // namespace

void AddSolveBenchCommand(CLI::App& bench) {
  auto options = std::make_shared<SolveBench>();
  CLI::App* solve = bench.add_subcommand(
      "solve",
      "A sweep over a model against a triad streaming as many bytes, mpi's passes, and a step of "
      "Anderson");
  solve->add_option("MODEL", options->model,
                    "Model file (default: a garnet of 1000000 states, 4 actions, 5 next states)");
  solve->add_option("--threads", options->threads, "Threads (default: 1 and then all cores)")
      ->transform(WholeBetween(1, 1024))
      ->type_name("N in [1, 1024]");
  options->settings.AddTo(*solve, {.used = {"anderson."},
                                   .except = {{{"anderson.safeguard", "anderson.safeguard_factor"},
                                               "it measures without the safeguard"},
                                              {{"anderson.threads"}, "--threads says that"}}});
  solve->add_flag("--json", options->json, "One JSON object per measurement");
  solve->footer(
      "settled: a backup of mpi's once no best action can change; evaluation: a pass of its "
      "policy.\n"
      "The keys anderson.* apply, but for the safeguard, which is off. Medians over 15 rounds.\n"
      "Examples: stableaa bench solve --json\n"
      "          stableaa bench solve model.bin --threads 2\n");
  solve->callback([options] { RunSolveBench(*options); });
}

}  // namespace stableaa
