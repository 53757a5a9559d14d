// A suite: many training runs described by one TOML file.
//
//   title = "Figure 1 on MinAtar"   # for people
//   preset = "stable-aa"            # where no axis says so (default: stable-aa)
//   env = "minatar/breakout"        # likewise (default: minatar/breakout)
//   seeds = [1, 2, 3]               # or how many: seeds = 3 (default: 1)
//   threads = 1                     # of each run, in [1, 1024] (default: 1)
//
//   [stop]
//   steps = 100_000                 # train.steps of every run
//   eval_return = 475.0             # or at an evaluation whose mean return is at least this
//   minutes = 90                    # or after so much time of the run
//
//   [set]                           # configuration keys of all runs
//   exploration.epsilon_steps = 50_000
//
//   [axes]                          # every combination is run
//   env = ["minatar/asterix", "minatar/breakout"]
//   preset = ["dueling-dqn", "stable-aa"]
//   agent.damping = [0.0, 0.1]
//
//   [zip]                           # these advance together: one more axis
//   agent.eta = [0.1, 1.0, ""]      # "" leaves what the preset says
//   agent.omega = [5.0, 5.0, 10.0]
//
//   [search]                        # and at points drawn from ranges (search_plan.h)
//   ranges.optimizer.learning_rate = { low = 1e-5, high = 1e-2, scale = "log" }
//
// A run's values come from these sources; later ones win:
//
//   defaults < family of its environment < preset < [set] < the caller's overrides < [axes], [zip]
//   and [search] < seeds, [stop], threads
//
// env and preset may also be written train.env and train.preset, which TOML needs where
// env.protocol is an axis too. A preset may be a file (run_options.h), relative to the suite's.
//
// An axis may hold tables, each with several keys. Its name is free, and labels, which are made
// from the keys where none is given, name the runs in directories and reports:
//
//   [axes]
//   variant = [{ label = "DQN", preset = "dqn" }, { preset = "stable-aa", agent.targets = 3 }]
//
// Runs are ordered by seed, then by the axes in file order, the first one changing slowest:
// whenever a sweep ends, all variants have been run about equally often.
//
// Any mistake is a BadInput with file and line: unknown keys, wrong types, values outside their
// range, lists in [zip] of different lengths, a key in two places, two identical runs, options that
// make no sense together.
#ifndef STABLEAA_EXPERIMENT_SUITE_SUITE_H_
#define STABLEAA_EXPERIMENT_SUITE_SUITE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/experiment/suite/search_plan.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {

// More runs must be a mistake in the file.
inline constexpr std::size_t kMaxSuiteRuns = 10'000;

// When a run ends, whichever comes first; train.steps always applies.
struct StopRules {
  std::optional<double> eval_return = {};
  // Over all parts of the run. Checked a few times per second, so a run takes slightly longer.
  std::optional<double> minutes = {};
};

struct SuiteRun {
  // The name of its directory, unique in the suite: minatar-breakout-stable-aa-eta-0.1-1.
  std::string name;
  RunOptions options;
  // The axis keys other than environment and preset, and the searched ones, with their values as
  // text. Values left to the preset are omitted; an axis of tables has its label.
  std::vector<std::pair<std::string, std::string>> values;
  // For reports, "DQN, draw 3": what makes it differ from other runs of its environment, or empty if
  // the suite has neither tables nor a search.
  std::string label = {};
  std::size_t draw = 0;     // of the search, from 1; 0: there is none
  std::size_t variant = 0;  // of Suite::variants
};

// All values of one axis, for people: {"preset", {"raa", "stable-aa"}}. Each list in [zip] is an
// axis of its own here.
struct SuiteAxis {
  std::string key;
  std::vector<std::string> values;
};

struct Suite {
  std::string title;  // may be empty
  std::string text;   // the file; overrides are comments below
  StopRules stop;
  std::vector<std::uint64_t> seeds;
  std::vector<SuiteAxis> axes;
  std::vector<SuiteRun> runs;
  std::optional<SearchPlan> search = {};
  // What runs are called apart from environment, draw and seed; a search is made in each.
  std::vector<std::string> variants = {};

  void SetThreads(int threads);
};

struct SuiteContext {
  std::filesystem::path folder = {};  // where relative paths of presets begin
  // For all runs, over [set]. Keys of axes and searches are refused; train.env, train.preset and
  // train.steps take the place of what the suite says.
  std::vector<ConfigSource> overrides = {};
};

// `name` is how messages refer to the text.
Suite ParseSuite(std::string_view text, const std::string& name, const SuiteContext& context = {});
// The folder is the file's.
Suite ReadSuite(const std::filesystem::path& file, const std::vector<ConfigSource>& overrides = {});

// The default directory name of a run: minatar-breakout-stable-aa-1. Contains only letters, digits,
// points, hyphens and underscores. `variant` comes before the seed.
std::string RunName(const TrainOptions& train, const std::string& variant = "");

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SUITE_SUITE_H_
