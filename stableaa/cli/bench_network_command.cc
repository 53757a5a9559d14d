// stableaa bench nn and bench nn-check: the speed of the networks' passes, and whether all backends
// agree.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stableaa/base/machine.h"
#include "stableaa/cli/flag_checks.h"
#include "stableaa/cli/program.h"
#include "stableaa/cli/settings.h"
#include "stableaa/core/error.h"
#include "stableaa/nn/network_benchmark.h"
#include "stableaa/nn/network_check.h"

namespace stableaa {
namespace {

constexpr int kActions = 18;  // for Nature's; the others have their own
constexpr int kMinatarActions = 6;
constexpr int kMlpActions = 2;
constexpr int kControlActions = 6;  // numbers of an action of HalfCheetah

NetworkSpec BenchmarkSpec(const std::string& name) {
  if (name.starts_with("nature")) return NamedSpec(name, kActions);
  if (std::ranges::count(ControlNetworkNames(), name) > 0) return NamedSpec(name, kControlActions);
  return NamedSpec(name, name.starts_with("minatar") ? kMinatarActions : kMlpActions);
}

// Of Q-values and of control.
std::vector<std::string> AllNetworkNames() {
  std::vector<std::string> names = NetworkNames();
  for (std::string& name : ControlNetworkNames()) names.push_back(std::move(name));
  return names;
}

std::vector<int> ThreadCounts(int asked) {
  if (asked > 0) return {asked};
  if (CoreCount() == 1) return {1};
  return {1, CoreCount()};
}

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (const NetworkBackend& backend : NetworkBackends()) names.push_back(backend.name);
  return names;
}

bool IsBuilt(const std::string& name) {
  for (const NetworkBackend& backend : NetworkBackends()) {
    if (backend.name == name) return backend.is_built;
  }
  return false;
}

// Adds an option that takes one of several names and has a default, all listed in the help.
void AddChoice(CLI::App& command, const std::string& flag, std::string& value,
               const std::vector<std::string>& choices, const std::string& meaning) {
  command.add_option(flag, value, meaning)
      ->check(CLI::IsMember(choices).description(""))
      ->type_name(fmt::format("{}", fmt::join(choices, "|")));
}

void AddThreads(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "Threads (default: 1 and then all cores)")
      ->transform(WholeBetween(1, kMaxThreads))
      ->type_name(fmt::format("N in [1, {}]", kMaxThreads));
}

struct SpeedBench {
  SettingsFlags flags;
  std::string network;  // empty: all
  std::string pass;     // empty: all
  std::string backend = "native";
  int batch = 0;  // 0: each pass's default
  int threads = 0;
  bool json = false;
};

struct SpeedCase {
  std::string network;
  std::string pass;
  NetworkPass kind;
  int batch;
  int threads;
};

int UsualBatch(NetworkPass pass) { return pass == NetworkPass::kForward ? 256 : 32; }

std::vector<SpeedCase> Cases(const SpeedBench& bench) {
  std::vector<SpeedCase> cases;
  for (const int threads : ThreadCounts(bench.threads)) {
    for (const std::string& network : AllNetworkNames()) {
      if (!bench.network.empty() && bench.network != network) continue;
      for (const auto& [name, pass] : kNetworkPasses) {
        if (!bench.pass.empty() && bench.pass != name) continue;
        if (!HasPass(BenchmarkSpec(network), pass)) continue;
        int batch = bench.batch > 0 ? bench.batch : UsualBatch(pass);
        if (pass == NetworkPass::kAct) batch = 1;
        cases.push_back({network, name, pass, batch, threads});
      }
    }
  }
  return cases;
}

void PrintRow(const SpeedCase& c, const NetworkTiming& t, bool json) {
  if (json) {
    const nlohmann::ordered_json object = {
        {"network", c.network},          {"batch", c.batch}, {"pass", c.pass},
        {"threads", c.threads},          {"ms", t.ms},       {"gflops", t.gflops},
        {"sgemm_gflops", t.sgemm_gflops}};  // null if NaN
    fmt::print("{}\n", object.dump());
  } else {
    const bool has_sgemm = !std::isnan(t.sgemm_gflops);
    fmt::print("{:<16} {:>6} {:<8} {:>7} {:>10.4g} {:>8.1f} {:>8} {:>9}\n", c.network, c.batch,
               c.pass, c.threads, t.ms, t.gflops,
               has_sgemm ? fmt::format("{:.1f}", t.sgemm_gflops) : "-",
               has_sgemm ? fmt::format("{:.0f} %", 100 * t.gflops / t.sgemm_gflops) : "-");
  }
  std::fflush(stdout);
}

void RunSpeed(const SpeedBench& bench) {
  const Settings settings = bench.flags.Resolve();
  RequireBackend(bench.backend);
  const std::vector<SpeedCase> cases = Cases(bench);
  if (cases.empty()) {
    throw BadInput(fmt::format("network '{}' has no pass '{}': only those of vectors do",
                               bench.network, bench.pass));
  }
  for (const SpeedCase& c : cases) {
    RequireMemory("bench nn",
                  NetworkBenchmarkBytes(BenchmarkSpec(c.network), c.kind,
                                        {.batch = c.batch, .threads = c.threads}),
                  "try a smaller --batch");
  }
  if (!bench.json) {
    if (!IsBuilt("onednn")) fmt::print("no sgemm to compare with: this build has no oneDNN\n");
    fmt::print("{}; {}; backend {}\n{:<16} {:>6} {:<8} {:>7} {:>10} {:>8} {:>8} {:>9}\n",
               MachineName(), CompilerName(), bench.backend, "network", "batch", "pass", "threads",
               "ms", "GFLOP/s", "sgemm", "of sgemm");
    std::fflush(stdout);
  }
  for (const SpeedCase& c : cases) {
    const NetworkTiming timing = MeasureNetwork(
        BenchmarkSpec(c.network), c.kind,
        {.batch = c.batch, .threads = c.threads, .backend = bench.backend}, settings.run.optimizer);
    PrintRow(c, timing, bench.json);
  }
}

struct CheckBench {
  std::string backend;  // empty: all but the reference
  int threads = 0;
  bool json = false;
};

void PrintCheck(const NetworkCase& c, const CheckedBackend& backend, const NetworkDifference& d,
                bool passed, bool json) {
  if (json) {
    const nlohmann::ordered_json object = {{"network", c.name},
                                           {"backend", backend.name},
                                           {"batch", c.count},
                                           {"threads", backend.threads},
                                           {"numbers", c.exact ? "exact" : "rounded"},
                                           {"output_error", d.outputs},
                                           {"gradient_error", d.gradients},
                                           {"input_error", d.inputs},
                                           {"passed", passed}};
    fmt::print("{}\n", object.dump());
  } else {
    fmt::print("{:<32} {:<8} {:>6} {:>7} {:<8} {:>12.2g} {:>14.2g} {:>11.2g}  {}\n", c.name,
               backend.name, c.count, backend.threads, c.exact ? "exact" : "rounded", d.outputs,
               d.gradients, d.inputs,
               passed ? "ok" : fmt::format("DIFFERS, most in {}", d.worst_tensor));
  }
  std::fflush(stdout);
}

void RunCheck(const CheckBench& bench) {
  if (!bench.backend.empty()) RequireBackend(bench.backend);
  std::vector<CheckedBackend> backends;
  for (const std::string& name : BackendNames()) {
    if (name == "reference" || !IsBuilt(name)) continue;
    if (!bench.backend.empty() && bench.backend != name) continue;
    for (const int threads : ThreadCounts(bench.threads)) backends.push_back({name, threads});
  }
  std::vector<NetworkCase> cases = OddCases();
  for (NetworkCase& c : NamedCases()) cases.push_back(std::move(c));

  if (!bench.json) {
    fmt::print("{:<32} {:<8} {:>6} {:>7} {:<8} {:>12} {:>14} {:>11}\n", "network", "backend",
               "batch", "threads", "numbers", "output error", "gradient error", "input error");
  }
  int failed = 0;
  for (const NetworkCase& c : cases) {
    const std::vector<NetworkDifference> differences = CompareWithReference(c, backends);
    for (std::size_t i = 0; i < backends.size(); ++i) {
      const bool passed = IsWithin(differences[i], ToleranceFor(c));
      failed += passed ? 0 : 1;
      PrintCheck(c, backends[i], differences[i], passed, bench.json);
    }
  }
  if (failed > 0) {
    throw WorkFailed(fmt::format("{} of {} comparisons with the reference differ", failed,
                                 cases.size() * backends.size()));
  }
}

}  // namespace

void AddNetworkBenchCommands(CLI::App& bench) {
  auto speed = std::make_shared<SpeedBench>();
  CLI::App* nn = bench.add_subcommand(
      "nn", "Passes over a network against oneDNN's matrix product (sgemm), measured in turns");
  AddChoice(*nn, "--network", speed->network, AllNetworkNames(), "Network (default: all)");
  std::vector<std::string> passes;
  for (const auto& [name, pass] : kNetworkPasses) passes.push_back(name);
  AddChoice(*nn, "--pass", speed->pass, passes, "Pass (default: all)");
  nn->add_option("--batch", speed->batch, "Samples (default: 256 for forward, else 32; act has 1)")
      ->transform(WholeBetween(1, kMaxBatch))
      ->type_name(fmt::format("N in [1, {}]", kMaxBatch));
  AddThreads(*nn, speed->threads);
  AddChoice(*nn, "--backend", speed->backend, BackendNames(), "Backend (default: native)");
  speed->flags.AddTo(*nn, {.used = {"optimizer."}});
  nn->add_flag("--json", speed->json, "One JSON object per measurement");
  nn->footer(
      "Passes: forward; train = forward and backward; input = forward and the gradient with "
      "respect\n"
      "to the last part of the input (networks of vectors); update = forward by target "
      "parameters,\n"
      "train with a loss, one step of the optimiser (keys optimizer.*); act = forward of one "
      "sample.\n"
      "Medians; about 2 s each. GFLOP/s count the network's multiplications and additions only.\n"
      "Example: stableaa bench nn --network nature-dueling --pass update --threads 1\n");
  nn->callback([speed] { RunSpeed(*speed); });

  auto check = std::make_shared<CheckBench>();
  CLI::App* nn_check =
      bench.add_subcommand("nn-check", "Compare the backends' outputs and gradients");
  std::vector<std::string> checked = BackendNames();
  std::erase(checked, "reference");
  AddChoice(*nn_check, "--backend", check->backend, checked, "Backend (default: all)");
  AddThreads(*nn_check, check->threads);
  nn_check->add_flag("--json", check->json, "One JSON object per comparison");
  nn_check->footer(
      "Each backend against the reference (plain loops in double precision) on the same inputs:\n"
      "'exact' numbers are whole and must agree to the bit, 'rounded' ones to float precision.\n"
      "Errors are relative. Exit code 1 if any comparison differs. Takes about 20 s.\n"
      "Example: stableaa bench nn-check --backend native --threads 1\n");
  nn_check->callback([check] { RunCheck(*check); });
}

}  // namespace stableaa
