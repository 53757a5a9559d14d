// Compares runs by environment, and within an environment by variant: a preset together with the
// values of the keys in which its runs differ there.
//
// All runs of an environment are compared up to one step: the smallest last evaluation of the runs
// that have ended, or, for a variant of which no run has ended, the farthest evaluation of its
// runs. Runs that did not get that far are left out and listed with the reason. A run that ended
// because it had reached its suite's stop.eval_return does not shorten the comparison: its last
// evaluation is "carried forward" to its planned length (the suite's, if that has grown since), and
// it is marked as such. A run that ran out of stop.minutes is never carried forward, since nobody
// knows how it would have continued.
//
// No number uses an evaluation from a later step: the value of a run at a step is that of its last
// evaluation at or before it. Curves are compared at the evaluation steps of the run with the
// fewest. Nothing is smoothed.
#ifndef STABLEAA_EXPERIMENT_RESULTS_COMPARISON_H_
#define STABLEAA_EXPERIMENT_RESULTS_COMPARISON_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "stableaa/experiment/results/run_record.h"
#include "stableaa/experiment/results/statistics.h"

namespace stableaa {

struct Variant {
  std::string preset;
  std::map<std::string, std::string> values = {};  // for the keys in which its preset's runs differ

  bool operator==(const Variant&) const = default;
  // "stable-reg, η = 0.1"; control characters in the preset's name are escaped.
  std::string Label() const;
};

// The names of variants, possibly chosen by the user.
class VariantNames {
 public:
  VariantNames() = default;
  // Takes rules "VARIANT=TEXT", where VARIANT is one of the `labels` or `presets`; control
  // characters are dropped from TEXT. BadInput for a malformed rule, for an unknown VARIANT (the
  // message lists the known ones), and for two rules for the same one. `of_suites` has the names
  // that suites give to labels; VARIANT may be one of these too.
  VariantNames(const std::vector<std::string>& rules, const std::set<std::string>& labels,
               const std::set<std::string>& presets,
               const std::map<std::string, std::string>& of_suites = {});

  // The name given to its label, by the user or else by a suite; else its label with the name given
  // to its preset.
  std::string Of(const Variant& variant) const;
  std::string OfPreset(const std::string& preset) const;
  // For the name that a suite gives. A name given to the variant of a search, "dqn", is also part of
  // those of its draws, "dqn, draw 3".
  std::string OfSuite(const std::string& name) const;
  bool HasLabel(const std::string& label) const {
    return given_.contains(label) || of_suites_.contains(label);
  }

 private:
  std::map<std::string, std::string> given_, of_suites_;
};

// A run that takes part in the comparison.
struct ComparedRun {
  const RunRecord* record = nullptr;
  std::vector<double> returns = {};  // at the environment's steps
  // Mean of the evaluations in the last tenth of the steps, or the last evaluation if there is
  // none.
  double final = 0;
  double best = 0;  // largest evaluation
  // Mean height of the line segments through its evaluations, with the last one carried forward.
  double area = 0;
  double steps_to_threshold = 0;  // infinite if never reached
  // The step of its last evaluation, if it reached its suite's return and ended before the compared
  // step.
  std::optional<std::int64_t> carried_from = {};
};

// A variant's runs in an environment.
struct VariantRuns {
  std::size_t variant = 0;
  Variant here;                   // with the values of the keys that vary in this environment
  std::string label;              // its name in this environment
  std::vector<ComparedRun> runs;  // by seed; at least one

  std::vector<double> Values(double ComparedRun::*score) const;
  std::vector<double> ReturnsAt(std::size_t step_index) const;
  // The number of runs carried forward at the step.
  std::size_t CarriedAt(std::int64_t step) const;
};

// score -> (score - low) / (high - low).
struct Scale {
  enum class Kind { kHuman, kMinMax };
  Kind kind = Kind::kMinMax;
  double low = 0;
  double high = 1;

  double operator()(double score) const;
};

struct EnvironmentResults {
  std::string env;
  std::vector<std::int64_t> steps;    // where the curves are compared; at least one
  double threshold = 0;               // for steps_to_threshold
  std::string threshold_source = {};  // "as given", "a person's score", ...
  Scale scale = {};
  std::vector<VariantRuns> variants = {};  // by variant index; only those with runs here

  const VariantRuns* Find(std::size_t variant) const;
};

struct LeftOutRun {
  const RunRecord* record = nullptr;
  std::string variant;  // its label
  std::string why;
};

struct Comparison {
  // With the values of all keys that vary anywhere, so that they are the same in all environments.
  std::vector<Variant> variants;
  std::vector<std::string> labels;   // their names
  std::vector<std::string> colours;  // "#rrggbb" as given; empty: as a figure likes
  VariantNames names;
  // As the options give them, by any name; the order has all names one after the other.
  std::map<std::string, std::string> given_colours;
  std::vector<std::string> given_order;
  std::vector<EnvironmentResults> environments;
  std::vector<LeftOutRun> left_out;
  // Environments in which all variants have runs; statements about all environments use these.
  std::vector<std::size_t> shared;
};

struct ComparisonOptions {
  // By environment. The default is the smallest stop.eval_return of the runs' suites, else 475 for
  // classic/cartpole, else the human score of an Atari game if known, else three quarters of the
  // way from the smallest evaluation to the best variant's final mean.
  std::map<std::string, double> thresholds = {};
  // Names of variants, "VARIANT=TEXT".
  std::vector<std::string> labels = {};
  // Colours of variants, "VARIANT=#rrggbb", where VARIANT is a label, a name given by `labels`, or
  // a preset. What is said of a variant precedes what is said of its preset.
  std::vector<std::string> colours = {};
  // Lists "A,B,C" of variants, as above, and of environments: these come first, in this order. All
  // others follow in the usual order: environments and presets by name, values of keys ascending.
  std::vector<std::string> order = {};
  // The names of the variants of searches (report/search_results.h): labels, colours and order may
  // be about these too.
  std::set<std::string> searched = {};
};

// Borrows the records. BadInput for a threshold of an environment without runs, for a label of an
// unknown variant, for labels that give two variants of an environment the same name, for a
// malformed colour or one of an unknown variant, and for an order of something unknown or of
// something twice.
Comparison Compare(std::span<const RunRecord> records, const ComparisonOptions& options = {});

// The keys whose values differ between any two runs, except those that say nothing about the
// method: seed, steps, threads, intervals of logs, evaluations and checkpoints, and the path of
// Python.
std::vector<std::string> DifferingKeys(std::span<const RunRecord> records);

// The keys whose values are the same in all runs.
std::vector<std::string> EqualKeys(std::span<const RunRecord> records);

// "η" for agent.eta, likewise ω, m and β; otherwise the last part of the key.
std::string KeySymbol(const std::string& key);

// ---- Numbers with their uncertainty ----

// True if every task has more than one run; otherwise an interval would be too narrow.
bool HasSpread(const TaskScores& scores);

struct Estimate {
  double mean = 0;
  double deviation = 0;  // over runs, with n - 1; NaN for one run
  double iqm = 0;
  std::optional<Interval> interval = {};  // of the IQM; none if a task has only one run
  std::size_t runs = 0;
};
Estimate EstimateOf(const TaskScores& scores);

struct MedianEstimate {
  double median = 0;  // infinite if at least half of the runs have no value
  std::optional<Interval> interval = {};
};
MedianEstimate MedianOf(const TaskScores& scores);

// The variant's normalised scores in the shared environments.
TaskScores SharedScores(const Comparison& comparison, std::size_t variant,
                        double ComparedRun::*score);
// Where the shared environments are compared: at the evaluations of the one with the fewest, as
// shares of its steps, starting where every one has an evaluation.
std::vector<double> SharedShares(const Comparison& comparison);
// The variant's normalised returns after `share` of the steps of each environment.
TaskScores SharedReturns(const Comparison& comparison, std::size_t variant, double share);
// How many of the variant's runs are carried forward there.
std::size_t SharedCarried(const Comparison& comparison, std::size_t variant, double share);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_RESULTS_COMPARISON_H_
