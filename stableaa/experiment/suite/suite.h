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
// A run's values come from these sources; later ones win:
//
//   defaults < family of its environment < preset < [set] < [axes] and [zip] < seeds, [stop],
//   threads
//
// env and preset may also be written train.env and train.preset, which TOML needs where
// env.protocol is an axis too.
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
  // The axis keys other than environment and preset, with their values as text. Values left to the
  // preset are omitted.
  std::vector<std::pair<std::string, std::string>> values;
};

// All values of one axis, for people: {"preset", {"raa", "stable-aa"}}. Each list in [zip] is an
// axis of its own here.
struct SuiteAxis {
  std::string key;
  std::vector<std::string> values;
};

struct Suite {
  std::string title;  // may be empty
  std::string text;   // the file
  StopRules stop;
  std::vector<std::uint64_t> seeds;
  std::vector<SuiteAxis> axes;
  std::vector<SuiteRun> runs;

  void SetThreads(int threads);
};

// `name` is how messages refer to the text.
Suite ParseSuite(std::string_view text, const std::string& name);
Suite ReadSuite(const std::filesystem::path& file);

// The default directory name of a run: minatar-breakout-stable-aa-1. Contains only letters, digits,
// points, hyphens and underscores. `variant` comes before the seed.
std::string RunName(const TrainOptions& train, const std::string& variant = "");

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SUITE_SUITE_H_
