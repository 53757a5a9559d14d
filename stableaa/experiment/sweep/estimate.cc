#include "stableaa/experiment/sweep/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <system_error>
#include <thread>
#include <utility>

#include "stableaa/base/config/config.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/core/error.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/experiment/results/run_record.h"

namespace stableaa {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kNever = std::int64_t{1} << 40;
constexpr std::int64_t kStart = 100;      // steps before learning begins
constexpr std::int64_t kLogSteps = 25;    // between two rows
constexpr std::int64_t kEvalSteps = 300;  // between two evaluations
constexpr std::int64_t kGames = 2;        // of an evaluation
constexpr std::int64_t kTargetUpdates = 250;
constexpr std::size_t kLargestTrialMetrics = std::size_t{64} << 20;
constexpr double kRecordBytes = 16;  // per stored state, besides its frame
constexpr double kEndSeconds = 20;   // time for the checkpoint

std::string Family(const std::string& env) { return env.substr(0, env.find('/')); }

// ---- Variants ----

// What makes a variant: all values except those that do not affect its speed.
std::vector<std::string> Traits(const SweepRun& run) {
  RunOptions options = run.run->options;
  const std::string family = Family(options.train.env);
  options.train.seed = 0;
  options.train.steps = 0;
  options.train.env = "minatar/breakout";
  std::vector<std::string> traits = {family};
  for (const ConfigKey& key : AllKeys(options)) traits.push_back(key.value);
  return traits;
}

// The family, which comes first, outweighs all keys together.
std::size_t Distance(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::size_t distance = a[0] == b[0] ? 0 : a.size();
  for (std::size_t i = 1; i < a.size(); ++i) distance += a[i] == b[i] ? 0 : 1;
  return distance;
}

std::string VariantName(const SuiteRun& run) {
  std::string name = run.options.train.preset;
  for (const auto& [key, value] : run.values) name += fmt::format(", {} {}", key, value);
  return fmt::format("{} on {}", name, run.options.train.env);
}

// ---- Rows ----

struct Row {
  double step = 0, update = 0, seconds = 0, states = 0, frame_bytes = 0;
  bool evaluated = false;
};

// The complete rows; none if there is no file yet.
std::vector<Row> ReadRows(const fs::path& csv) {
  std::vector<Row> rows;
  std::error_code error;
  if (!fs::exists(csv, error)) return rows;
  const MetricTable table = ParseMetrics(ReadTextFile(csv, kLargestTrialMetrics), csv.string());
  for (const std::vector<double>& row : table.rows) {
    const auto number = [&](std::string_view name) {
      const std::optional<std::size_t> column = table.Column(name);
      return column && !std::isnan(row[*column]) ? std::optional(row[*column]) : std::nullopt;
    };
    rows.push_back({.step = number("step").value_or(0),
                    .update = number("update").value_or(0),
                    .seconds = number("wall_seconds").value_or(0),
                    .states = number("replay_states").value_or(0),
                    .frame_bytes = number("wall_replay_bytes_per_frame").value_or(0),
                    .evaluated = number("eval_return_mean").has_value()});
  }
  return rows;
}

double BytesBelow(const fs::path& directory) {
  double bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(directory, error)) {
    const auto size = entry.is_regular_file(error) ? entry.file_size(error) : 0;
    if (!error) bytes += static_cast<double>(size);
  }
  return bytes;
}

double FileBytes(const fs::path& file) {
  std::error_code error;
  const auto bytes = fs::file_size(file, error);
  return error ? 0 : static_cast<double>(bytes);
}

struct Learning {
  double steps = 0, seconds = 0;
};

// Only the later half of the rows, when the window of target networks is full.
Learning TimeOfLearning(const std::vector<Row>& rows) {
  Learning learning;
  for (std::size_t i = 1 + rows.size() / 2; i < rows.size(); ++i) {
    if (rows[i].evaluated || rows[i - 1].update <= 0) continue;
    learning.steps += rows[i].step - rows[i - 1].step;
    learning.seconds += rows[i].seconds - rows[i - 1].seconds;
  }
  return learning;
}

// ---- Measuring ----

// One process, training in a directory of its own.
class Measurement {
 public:
  Measurement(const RunOptions& options, const fs::path& folder, const EstimateOptions& how)
      : how_(how), run_(folder / "run") {
    const fs::path config = folder / "config.toml";
    WriteTextFile(config, ToToml(ScaledDown(options)));
    process_.emplace(how.train,
                     TrainTask{.run = run_,
                               .config = config,
                               .steps = options.train.steps,
                               .threads = options.train.threads},
                     TrainingProcess::Files{.log = folder / "log", .error = folder / "error"});
  }

  // True once it has ended, normally or not.
  bool HasEnded() {
    if (process_->HasEnded()) return true;
    if (!learning_ && HasLearnt()) learning_.emplace();
    const double waited = learning_ ? learning_->Seconds() : watch_.Seconds();
    const bool enough =
        waited > how_.patience_seconds || (learning_ && waited > how_.seconds && IsMeasurable());
    if (enough && !ending_) {
      ending_.emplace();
      process_->TellToEnd();
    }
    if (ending_ && ending_->Seconds() > kEndSeconds) process_->Kill();
    return false;
  }

  VariantSpeed Result() const {
    if (process_->exit_code() != 0) {
      const std::string failure = process_->Failure();
      throw WorkFailed(failure.empty() ? fmt::format("a run to measure {}", process_->End())
                                       : failure);
    }
    return SpeedOf(run_);
  }

 private:
  bool HasLearnt() const {
    const std::vector<Row> rows = ReadRows(run_ / "metrics.csv");
    return !rows.empty() && rows.back().update > 0;
  }

  bool IsMeasurable() const { return TimeOfLearning(ReadRows(run_ / "metrics.csv")).steps > 0; }

  const EstimateOptions& how_;
  const fs::path run_;
  std::optional<TrainingProcess> process_;
  const Stopwatch watch_;
  std::optional<Stopwatch> learning_, ending_;
};

std::vector<VariantSpeed> MeasureAll(std::span<const SweepRun> runs, const ChosenVariants& chosen,
                                     const EstimateOptions& options) {
  const TemporaryDirectory folder("stableaa-sweep-");
  std::vector<VariantSpeed> speeds(chosen.runs.size());
  std::map<std::size_t, std::unique_ptr<Measurement>> at_work;
  std::size_t next = 0;
  while (next < chosen.runs.size() || !at_work.empty()) {
    if (options.interrupted()) throw WorkFailed("interrupted");
    while (next < chosen.runs.size() && std::ssize(at_work) < options.jobs) {
      const fs::path own = folder.path() / std::to_string(next);
      fs::create_directory(own);
      at_work[next] =
          std::make_unique<Measurement>(runs[chosen.runs[next]].run->options, own, options);
      ++next;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::erase_if(at_work, [&](const auto& entry) {
      if (!entry.second->HasEnded()) return false;
      speeds[entry.first] = entry.second->Result();
      speeds[entry.first].name = VariantName(*runs[chosen.runs[entry.first]].run);
      return true;
    });
  }
  return speeds;
}

double WithinMinutes(double seconds, const SweepRun& run, const StopRules& stop) {
  if (!stop.minutes) return seconds;
  return std::clamp(60 * *stop.minutes - run.seconds, 0., std::max(seconds, 0.));
}

RunEstimate EstimateRun(const SweepRun& run, const VariantSpeed& speed, const StopRules& stop) {
  const RunOptions& options = run.run->options;
  const auto steps = static_cast<double>(run.StepsWanted());
  const auto left = run.state == SweepState::kDone ? 0 : static_cast<double>(run.StepsLeft());
  RunEstimate estimate;
  estimate.seconds = left / speed.steps_per_second;
  if (options.eval.interval_steps > 0) {
    estimate.seconds +=
        left / static_cast<double>(options.eval.interval_steps) * speed.evaluation_seconds;
  }
  estimate.seconds = WithinMinutes(estimate.seconds, run, stop);
  const double states = std::min(steps, static_cast<double>(options.replay.size));
  estimate.bytes = speed.bytes + std::max(0., states - speed.states) * speed.bytes_per_state +
                   steps * speed.log_bytes_per_step;
  return estimate;
}

// A run like this one that has so many steps to make.
SweepRun LaterPart(const SweepRun& run, std::int64_t steps) {
  return {.run = run.run, .rung_steps = steps};
}

}  // namespace

ChosenVariants ChooseVariants(std::span<const SweepRun> runs, std::size_t max) {
  ChosenVariants chosen;
  std::map<std::vector<std::string>, std::size_t> numbers;  // of variants, in order of appearance
  std::vector<const std::vector<std::string>*> traits;
  std::vector<std::size_t> first_run, variant_of;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto [found, is_new] = numbers.try_emplace(Traits(runs[i]), traits.size());
    if (is_new) {
      traits.push_back(&found->first);
      first_run.push_back(i);
    }
    variant_of.push_back(found->second);
  }
  chosen.variants = traits.size();

  std::vector<std::size_t> nearest(traits.size()), distance(traits.size());
  std::ranges::fill(distance, std::numeric_limits<std::size_t>::max());
  while (chosen.runs.size() < std::min(max, traits.size())) {
    const auto farthest =
        static_cast<std::size_t>(std::ranges::max_element(distance) - distance.begin());
    for (std::size_t v = 0; v < traits.size(); ++v) {
      const std::size_t to_it = Distance(*traits[v], *traits[farthest]);
      if (to_it >= distance[v]) continue;
      distance[v] = to_it;
      nearest[v] = chosen.runs.size();
    }
    chosen.runs.push_back(first_run[farthest]);
  }
  for (const std::size_t variant : variant_of) chosen.nearest.push_back(nearest[variant]);
  return chosen;
}

RunOptions ScaledDown(const RunOptions& options) {
  RunOptions scaled = options;
  scaled.train.log_interval_steps = kLogSteps;
  scaled.train.checkpoint_interval_steps = kNever;
  scaled.replay.start = std::min(options.replay.start, kStart);
  const ExplorationOptions& exploration = options.exploration;
  scaled.exploration.epsilon =
      exploration.epsilon ? exploration.epsilon->At(options.train.steps) : exploration.epsilon_end;
  scaled.agent.target_interval_updates =
      std::min<std::int64_t>(options.agent.target_interval_updates, kTargetUpdates);
  if (options.eval.interval_steps > 0) {
    scaled.eval.interval_steps = std::min(options.eval.interval_steps, kEvalSteps);
  }
  scaled.eval.episodes = std::min(options.eval.episodes, kGames);
  return scaled;
}

VariantSpeed SpeedOf(const fs::path& directory) {
  const std::vector<Row> rows = ReadRows(directory / "metrics.csv");
  const auto [steps, seconds] = TimeOfLearning(rows);
  if (steps <= 0 || seconds <= 0) throw WorkFailed("a run is too short to be measured");
  VariantSpeed speed;
  speed.steps_per_second = steps / seconds;
  double evaluations = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (!rows[i].evaluated) continue;
    const double training = (rows[i].step - rows[i - 1].step) / speed.steps_per_second;
    speed.evaluation_seconds += std::max(0., rows[i].seconds - rows[i - 1].seconds - training);
    ++evaluations;
  }
  if (evaluations > 0) speed.evaluation_seconds /= evaluations;
  const Row& last = rows.back();
  speed.bytes = BytesBelow(directory);
  speed.states = last.states;
  speed.bytes_per_state = last.frame_bytes + kRecordBytes;
  speed.log_bytes_per_step = FileBytes(directory / "episodes.csv") / last.step;
  return speed;
}

double ScheduleSeconds(std::span<const RunEstimate> runs, int jobs) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (int job = 0; job < jobs; ++job) free_at.push(0);
  double end = 0;
  for (const RunEstimate& run : runs) {
    const double done = free_at.top() + run.seconds;
    free_at.pop();
    free_at.push(done);
    end = std::max(end, done);
  }
  return end;
}

std::optional<double> RemainingSeconds(std::span<const SweepRun> runs, const StopRules& stop,
                                       int jobs, std::int64_t later_steps) {
  double seconds_per_step = 0, known = 0;
  for (const SweepRun& run : runs) {
    if (run.learning_steps_per_second <= 0) continue;
    seconds_per_step += 1 / run.learning_steps_per_second;
    ++known;
  }
  if (known == 0) return std::nullopt;
  seconds_per_step /= known;
  std::vector<RunEstimate> open;
  for (const SweepState state : {SweepState::kRunning, SweepState::kPending}) {
    for (const SweepRun& run : runs) {
      if (run.state != state) continue;
      const double rate = run.learning_steps_per_second;
      const double seconds =
          static_cast<double>(run.StepsLeft()) * (rate > 0 ? 1 / rate : seconds_per_step);
      open.push_back({.seconds = WithinMinutes(seconds, run, stop)});
    }
  }
  return ScheduleSeconds(open, jobs) + static_cast<double>(later_steps) * seconds_per_step / jobs;
}

SweepEstimate EstimateSweep(std::span<const SweepRun> runs, const StopRules& stop,
                            const EstimateOptions& options) {
  const ChosenVariants chosen = ChooseVariants(runs, options.max_variants);
  SweepEstimate estimate;
  estimate.variants = chosen.variants;
  estimate.measured = MeasureAll(runs, chosen, options);
  double later = 0;  // seconds, if a typical run made those steps
  const auto count = static_cast<double>(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    VariantSpeed speed = estimate.measured[chosen.nearest[i]];
    // Scales from the games measured to all of them.
    const auto games = static_cast<double>(runs[i].run->options.eval.episodes);
    speed.evaluation_seconds *= games / std::min(games, static_cast<double>(kGames));
    estimate.runs.push_back(EstimateRun(runs[i], speed, stop));
    estimate.bytes += estimate.runs.back().bytes;
    later += EstimateRun(LaterPart(runs[i], options.later_steps), speed, {}).seconds / count;
    estimate.bytes += static_cast<double>(options.later_steps) * speed.bytes_per_state / count;
  }
  estimate.seconds = ScheduleSeconds(estimate.runs, options.jobs) + later / options.jobs;
  return estimate;
}

}  // namespace stableaa
