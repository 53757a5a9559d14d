// For tests of whole reports: run directories as a trainer would leave them, written without one.
#ifndef STABLEAA_EXPERIMENT_REPORT_WRITTEN_RUNS_TEST_H_
#define STABLEAA_EXPERIMENT_REPORT_WRITTEN_RUNS_TEST_H_

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/experiment/report/report.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/testing/message.h"

namespace stableaa {

// A run with the given evaluations, one every 1000 steps.
inline void WriteRun(const std::filesystem::path& directory, const std::string& env,
                     const std::string& preset, std::uint64_t seed,
                     const std::vector<double>& returns,
                     const std::vector<std::string>& settings = {}) {
  RunOptions options;
  Config config;
  Describe(config, options);
  LoadPreset(config, env, preset);
  options.train.seed = seed;
  options.train.steps = static_cast<std::int64_t>(1000 * returns.size());
  for (const std::string& setting : settings) config.Set(setting);
  std::filesystem::create_directories(directory);
  WriteContent(directory / "config.toml", ToToml(options));
  WriteContent(
      directory / "run.json",
      R"({"version": "9.9", "machine": "a <machine>", "protocol": "sticky", "parameters": 7})");
  std::string metrics =
      "step,gain,gain_held_out,tau_norm,alpha_1,alpha_2,eval_return_mean,wall_seconds\n";
  for (std::size_t i = 0; i < returns.size(); ++i) {
    metrics += std::to_string(1000 * (i + 1)) + ",0.9,0.95,0.3,0.25,0.75," +
               std::to_string(returns[i]) + "," + std::to_string(i + 1) + "\n";
  }
  WriteContent(directory / "metrics.csv", metrics);
}

// Two runs of each of two presets in both environments, planned for 3000 steps; the first dqn run
// ended at the suite's return, at step 2000.
inline void WriteSweepWithReturn(const std::filesystem::path& directory) {
  const std::vector<std::string> planned = {"train.steps=3000"};
  for (const std::string env : {"breakout", "freeway"}) {
    WriteRun(directory / (env + "-dqn-1"), "minatar/" + env, "dqn", 1, {1, 9}, planned);
    WriteRun(directory / (env + "-dqn-2"), "minatar/" + env, "dqn", 2, {1, 2, 3}, planned);
    WriteRun(directory / (env + "-raa-1"), "minatar/" + env, "raa", 1, {1, 3, 4}, planned);
    WriteRun(directory / (env + "-raa-2"), "minatar/" + env, "raa", 2, {1, 4, 5}, planned);
  }
  WriteContent(directory / "suite.toml", "title = \"t\"\n[stop]\neval_return = 8\n");
  WriteContent(directory / "sweep.json", R"({"runs": [
      {"name": "breakout-dqn-1", "status": "done"}, {"name": "freeway-dqn-1", "status": "done"},
      {"name": "other", "status": "failed", "message": "no room"}]})");
}

// CartPole has only dqn; Breakout has an ablation of stable-aa and another preset.
inline void WriteMixedFolder(const std::filesystem::path& folder) {
  for (const std::uint64_t seed : {1, 2}) {
    const double d = static_cast<double>(seed);
    const std::string number = std::to_string(seed);
    WriteRun(folder / ("cart-d" + number), "classic/cartpole", "dqn", seed, {10, 20 + d});
    WriteRun(folder / ("cart-s" + number), "classic/cartpole", "stable-aa", seed, {10, 30 + d},
             {"agent.eta=1"});
    for (const std::string eta : {"0.1", "1", "10", "100"}) {
      WriteRun(folder / ("break-s" + eta + "-" + number), "minatar/breakout", "stable-aa", seed,
               {1, 2 + d}, {"agent.eta=" + eta});
    }
    for (const std::string omega : {"1", "5", "10", "20"}) {
      WriteRun(folder / ("break-m" + omega + "-" + number), "minatar/breakout", "dueling-mellowmax",
               seed, {1, 3 + d}, {"agent.omega=" + omega});
    }
  }
}

inline std::set<std::string> NamesIn(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename());
  return names;
}

// The message of the BadInput.
inline std::string RefusalOf(const ReportOptions& options) {
  return MessageOf([&] { WriteReport(options); });
}

// The first thing the page says.
inline std::string SummaryOf(const std::string& page) {
  const std::size_t begin = page.find("<div class=\"summary\">");
  return page.substr(begin, page.find("</div>", begin) - begin);
}

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_REPORT_WRITTEN_RUNS_TEST_H_
