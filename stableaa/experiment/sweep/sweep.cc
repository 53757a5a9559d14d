#include "stableaa/experiment/sweep/sweep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "stableaa/base/config/config.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/terminal/progress.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/env/registry.h"
#include "stableaa/experiment/sweep/estimate.h"
#include "stableaa/experiment/sweep/run_progress.h"
#include "stableaa/rl/run/trust.h"

namespace stableaa {
namespace fs = std::filesystem;
namespace {

constexpr int kLookMilliseconds = 200;
constexpr std::size_t kLongestMessage = 500;
constexpr std::size_t kTailBytes = std::size_t{256} << 10;  // of metrics.csv, while it is growing
constexpr std::size_t kDifferencesShown = 3;

// "agent.eta is 0.1 there, 1.0 in the suite", for the keys that a run cannot change.
std::string Differences(const RunOptions& there, const RunOptions& here) {
  const std::vector<ConfigKey> theirs = LastingKeys(there), ours = LastingKeys(here);
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].value == theirs[i].value) continue;
    differences.push_back(fmt::format("{} is {} there, {} in the suite", ours[i].key,
                                      Shorten(theirs[i].value), Shorten(ours[i].value)));
  }
  const std::size_t more = differences.size() - std::min(differences.size(), kDifferencesShown);
  differences.resize(differences.size() - more);
  return fmt::format("{}{}", fmt::join(differences, "; "),
                     more > 0 ? fmt::format("; and {} more", more) : "");
}

// Whether the suite itself names the code that the run's files name: then the user has asked for
// it.
bool SuiteNamesItsCode(const fs::path& directory, const RunOptions& suite) {
  if (!ForeignCodeOf(suite).any()) return false;
  const RunOptions run = ReadRunOptions(directory / "config.toml");
  return NormalizedId(run.train.env) == NormalizedId(suite.train.env) &&
         run.env.python == suite.env.python && run.env.wrappers == suite.env.wrappers;
}

// A wrapper or an argument that does not exist shows only when Python makes the environment, and
// would make every run fail. So each such environment is made once, as far as the time goes.
// BadInput if one cannot be made as it is asked for. Anything else, a missing Python say, fails the
// runs that it concerns.
void RequireEnvironments(const std::vector<const SuiteRun*>& runs) {
  constexpr double kMostSeconds = 30;
  const Stopwatch watch;
  std::vector<RunOptions> made;
  for (const SuiteRun* const run : runs) {
    const std::string& id = run->options.train.env;
    EnvironmentOptions options = run->options.env;
    const bool is_plain = options.wrappers.empty() && options.kwargs == EnvironmentOptions().kwargs;
    if (is_plain || IsNative(id)) continue;
    const bool is_known = std::ranges::any_of(made, [run](const RunOptions& other) {
      const EnvironmentOptions &env = run->options.env, &known = other.env;
      return other.train.env == run->options.train.env && known.wrappers == env.wrappers &&
             known.kwargs == env.kwargs && known.python == env.python;
    });
    if (is_known) continue;
    made.push_back(run->options);
    const double left = kMostSeconds - watch.Seconds();
    if (left <= 0) return;
    options.num_envs = 1;
    options.workers = 1;
    options.timeout_seconds = std::min(options.timeout_seconds, left);
    try {
      MakeEnvironment(id, options);
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::kBadInput) throw;
    }
  }
}

// For noticing that a file has changed.
struct FileStamp {
  std::int64_t seconds = 0, nanoseconds = 0, size = 0;

  FileStamp() = default;
  explicit FileStamp(const fs::path& path) {
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0) return;
    seconds = status.st_mtim.tv_sec;
    nanoseconds = status.st_mtim.tv_nsec;
    size = status.st_size;
  }
  bool operator==(const FileStamp&) const = default;
};

// With the steps that it is to make for now.
RunOptions OptionsFor(const SweepRun& run) {
  RunOptions options = run.run->options;
  options.train.steps = run.StepsWanted();
  return options;
}

std::string StepsOf(const SweepRun& run) {
  return fmt::format("{} steps in {}{}", HumanCount(static_cast<double>(run.steps)),
                     HumanDuration(run.seconds),
                     run.eval_return ? fmt::format(", eval {:.4g}", *run.eval_return) : "");
}

}  // namespace

struct Sweep::Job {
  std::size_t number = 0;  // of the run
  TrainingProcess process;
  double seconds_before = 0;
  // The process cuts off the rows beyond the checkpoint; until the file has changed, they do not
  // count.
  FileStamp metrics = {};
  Stopwatch watch = {};
};

// ---- What is there ----

Sweep::Sweep(const Suite& suite, const SweepOptions& options)
    : suite_(suite), options_(options), notes_(ReadSweepJson(options.out / "sweep.json")) {
  if (suite_.search) search_.emplace(suite_);
  for (const SuiteRun& run : suite_.runs) {
    runs_.push_back({.run = &run});
    if (search_) runs_.back().rung_steps = search_->StepsWanted(runs_.size() - 1);
    // Without a note, metrics.csv tells, though less exactly.
    const auto note = notes_.runs.find(run.name);
    if (note != notes_.runs.end()) runs_.back().seconds = note->second.seconds.value_or(0);
    Adopt(runs_.back());
  }
  JudgeRungs(/*aloud=*/false);
}

Sweep::~Sweep() = default;

// Sends the best draws of a search to the next rung wherever all runs of one have ended.
void Sweep::JudgeRungs(bool aloud) {
  if (!search_) return;
  const auto score = [this](std::size_t number, std::int64_t steps) {
    const SweepRun& run = runs_[number];
    constexpr double kNone = -std::numeric_limits<double>::infinity();
    if (run.state == SweepState::kFailed) return kNone;
    RunOptions options = run.run->options;
    options.train.steps = steps;
    try {
      return RungScore(Directory(run), options.last_step());
    } catch (const Error& error) {
      LogWarning(Shorten(error.what(), kLongestMessage));
      return kNone;
    }
  };
  for (;;) {
    const std::vector<std::size_t> going_on = search_->Judge(runs_, score);
    if (going_on.empty()) return;
    for (const std::size_t number : going_on) {
      SweepRun& run = runs_[number];
      run.rung_steps = search_->StepsWanted(number);
      if (run.state == SweepState::kFailed) continue;
      const std::optional<std::string> why = WhyDone(run);
      run.state = why ? SweepState::kDone : SweepState::kPending;
      run.message = why.value_or("");
      if (aloud) {
        LogInfo(fmt::format("{} goes on to step {}", run.run->name, run.StepsWanted()));
      }
    }
    if (aloud) Save();
  }
}

fs::path Sweep::Directory(const SweepRun& run) const { return options_.out / run.run->name; }

fs::path Sweep::Log(const SweepRun& run, const std::string& ending) const {
  return options_.out / "logs" / (run.run->name + ending);
}

// A suite may have been edited since, in its runs or in its title. If both differ it is another
// suite, such as one with the same name from another folder.
void Sweep::RefuseAnotherSuite() const {
  if (notes_.runs.empty() || notes_.title == suite_.title) return;
  for (const SuiteRun& run : suite_.runs) {
    if (notes_.runs.contains(run.name)) return;
  }
  throw BadInput(fmt::format(
      "{} holds the runs of another suite{}; choose another {}", ShownPath(options_.out),
      notes_.title.empty() ? "" : fmt::format(", '{}'", Shorten(notes_.title)),
      options_.label("out")));
}

void Sweep::Adopt(SweepRun& run) const {
  const fs::path directory = Directory(run);
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (!fs::exists(status)) {
    run.seconds = 0;
    return;
  }
  if (!fs::exists(directory / "config.toml", error)) {
    if (fs::is_directory(status) && fs::is_empty(directory, error)) return;
    throw BadInput(fmt::format("{} is in the way: it holds no run; choose another {}",
                               ShownPath(directory), options_.label("out")));
  }
  RunOptions there;
  try {
    there = ReadRunOptions(directory / "config.toml");
  } catch (const Error& unreadable) {
    run.state = SweepState::kFailed;
    run.message =
        fmt::format("{}; remove {} to begin it anew", unreadable.what(), ShownPath(directory));
    return;
  }
  if (Fingerprint(there) != Fingerprint(run.run->options)) {
    throw BadInput(fmt::format("{} was made with another configuration: {}; choose another {}",
                               ShownPath(directory), Differences(there, run.run->options),
                               options_.label("out")));
  }
  if (const std::optional<std::string> why = WhyDone(run)) {
    run.state = SweepState::kDone;
    run.message = *why;
  }
}

// Nothing if there is more to do; an empty text if all steps were made. Updates steps, seconds and
// the last evaluation from the run's files.
std::optional<std::string> Sweep::WhyDone(SweepRun& run) const {
  const fs::path directory = Directory(run);
  const std::optional<CheckpointHead> checkpoint = ReadRunCheckpoint(directory);
  if (!checkpoint) return std::nullopt;
  const RunMetrics metrics = ReadRunMetrics(
      directory, {.eval_return = suite_.stop.eval_return, .last_step = checkpoint->step});
  run.steps = checkpoint->step;
  run.seconds = std::max(run.seconds, metrics.wall_seconds);
  run.eval_return = metrics.eval_return;
  run.learning_steps_per_second = metrics.learning_steps_per_second;
  const RunOptions options = OptionsFor(run);
  if (checkpoint->IsComplete(options)) return "";
  // The evaluation at an earlier end does not count if the run goes on.
  const bool had_ended = IsEndEvaluation(options, checkpoint->evaluated_step);
  if (metrics.reached_step && !had_ended) {
    return fmt::format("an evaluation reached {:.6g} in step {}", *metrics.reached_return,
                       *metrics.reached_step);
  }
  if (suite_.stop.minutes && run.seconds >= 60 * *suite_.stop.minutes) {
    return fmt::format("its {:g} minutes were over in step {}", *suite_.stop.minutes,
                       checkpoint->step);
  }
  return std::nullopt;
}

void Sweep::Open() {
  RefuseAnotherSuite();
  std::vector<const SuiteRun*> not_begun;
  for (const SweepRun& run : runs_) {
    std::error_code error;
    if (!fs::exists(Directory(run), error)) not_begun.push_back(run.run);
  }
  RequireEnvironments(not_begun);
  MakeDirectories(options_.out);
  const fs::path path = options_.out / "sweep.lock";
  lock_ = Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock_.is_open()) throw SystemError(fmt::format("cannot open {}", ShownPath(path)), errno);
  if (!TryLock(lock_)) {
    throw WorkFailed(fmt::format("another sweep is at work in {}", ShownPath(options_.out)));
  }
  MakeDirectories(options_.out / "logs");
  WriteTextFile(options_.out / "suite.toml", suite_.text);
  for (const char* const name : {"search.csv", "search.json"}) {
    std::error_code ignored;
    if (!search_)
      fs::remove(options_.out / name, ignored);  // of a suite that has been edited since
  }
  Save();
}

// ---- The loop ----

bool Sweep::Run(const std::function<bool()>& interrupted) {
  summary_ = Stopwatch();
  for (;;) {
    if (interrupted() && !ending_) EndAll();
    if (!ending_) {
      JudgeRungs(/*aloud=*/true);
      StartWhatFits();
    }
    const bool any_left = !ending_ && Count(runs_).pending > 0;
    if (jobs_.empty() && !any_left) break;
    Show();
    WaitForAnEnd();
    for (const auto& job : jobs_) Look(*job);
    std::erase_if(jobs_, [this](const std::unique_ptr<Job>& job) {
      if (!job->process.HasEnded()) return false;
      Finish(*job);
      return true;
    });
  }
  table_.Erase();
  Save();
  return !ending_;
}

void Sweep::StartWhatFits() {
  while (std::ssize(jobs_) < options_.jobs) {
    const std::optional<std::size_t> next = NextRun();
    if (!next) return;
    Start(*next);
  }
}

// Runs held by another process come last: it may belong to an earlier sweep and be about to end, or
// be somebody's training.
std::optional<std::size_t> Sweep::NextRun() {
  std::optional<std::size_t> locked;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].state != SweepState::kPending) continue;
    if (!RunIsLocked(Directory(runs_[i]))) return i;
    if (!locked) locked = i;
  }
  if (!locked || !jobs_.empty()) return std::nullopt;
  if (!patience_) {
    patience_.emplace();
    LogInfo(fmt::format("waiting for another process to end that has {}",
                        ShownPath(Directory(runs_[*locked]))));
  }
  // After that, the process started for it will say who holds it.
  return patience_->Seconds() < options_.patience_seconds ? std::nullopt : locked;
}

TrainTask Sweep::Task(const SweepRun& run) const {
  const fs::path directory = Directory(run);
  const RunOptions options = OptionsFor(run);
  TrainTask task{.run = directory,
                 .steps = options.train.steps,
                 .threads = options.train.threads,
                 .enough_return = suite_.stop.eval_return};
  std::error_code error;
  if (fs::exists(directory / "config.toml", error)) {
    task.trust = SuiteNamesItsCode(directory, options);
  } else {
    task.config = Log(run, ".toml");
    WriteTextFile(task.config, ToToml(options));
  }
  return task;
}

void Sweep::Start(std::size_t number) {
  SweepRun& run = runs_[number];
  try {
    const FileStamp metrics(Directory(run) / "metrics.csv");
    jobs_.push_back(std::unique_ptr<Job>(
        new Job{.number = number,
                .process = TrainingProcess(options_.train, Task(run),
                                           {.log = Log(run, ".log"), .error = Log(run, ".error")}),
                .seconds_before = run.seconds,
                .metrics = metrics}));
    run.state = SweepState::kRunning;
    run.message.clear();
  } catch (const Error& error) {
    Fail(run, error.what());
    return;
  }
  if (!IsOnTerminal({})) {
    LogInfo(fmt::format("{} {}", run.steps > 0 ? "resumed" : "started", run.run->name));
  }
  Save();
}

void Sweep::EndAll() {
  ending_ = true;
  for (const auto& job : jobs_) job->process.TellToEnd();
  LogInfo(jobs_.empty()
              ? "stopping"
              : "stopping: the runs make their checkpoints; once more ends everything at once");
}

// Also returns when it is time to look at the runs.
void Sweep::WaitForAnEnd() const {
  std::vector<pollfd> ends;
  for (const auto& job : jobs_) ends.push_back({job->process.end_descriptor(), POLLIN, 0});
  ::poll(ends.data(), ends.size(), kLookMilliseconds);  // a signal interrupts it too
}

void Sweep::Look(Job& job) {
  SweepRun& run = runs_[job.number];
  run.seconds = job.seconds_before + job.watch.Seconds();
  if (suite_.stop.minutes && run.seconds >= 60 * *suite_.stop.minutes) job.process.TellToEnd();
  const FileStamp stamp(Directory(run) / "metrics.csv");
  if (stamp == job.metrics) return;
  job.metrics = stamp;
  const RunMetrics metrics = ReadRunMetrics(Directory(run), {.max_bytes = kTailBytes});
  run.steps = std::max(run.steps, metrics.step);
  run.steps_per_second = metrics.steps_per_second;
  run.learning_steps_per_second = metrics.learning_steps_per_second;
  if (metrics.eval_return) run.eval_return = metrics.eval_return;
}

void Sweep::Finish(const Job& job) {
  SweepRun& run = runs_[job.number];
  const std::optional<int> exit_code = job.process.exit_code();
  const std::string failure = job.process.Failure();
  run.seconds = job.seconds_before + job.watch.Seconds();
  run.steps_per_second = 0;
  const std::optional<std::string> why_done = WhyDone(run);
  if (exit_code == 0 && why_done) {
    run.state = SweepState::kDone;
    run.message = *why_done;
    if (!IsOnTerminal({}) || !why_done->empty()) {
      LogInfo(fmt::format("finished {}: {}{}{}", run.run->name, StepsOf(run),
                          why_done->empty() ? "" : "; ", *why_done));
    }
  } else if (ending_ && exit_code.value_or(0) == 0) {
    run.state = SweepState::kStopped;
  } else if (exit_code == 0) {
    Fail(run, fmt::format("somebody stopped it in step {}", run.steps));
  } else {
    Fail(run, failure.empty() ? fmt::format("its process {}", job.process.End()) : failure);
  }
  if (run.state != SweepState::kFailed || failure.empty()) {
    std::error_code ignored;
    fs::remove(Log(run, ".error"), ignored);
  }
  Save();
}

void Sweep::Fail(SweepRun& run, const std::string& message) {
  run.state = SweepState::kFailed;
  run.message = message;
  LogWarning(fmt::format("{} failed: {}", run.run->name, Shorten(message, kLongestMessage)));
  Save();
}

// The file holds nothing that the runs' directories do not; a full disk must not end the runs.
void Sweep::Save() {
  try {
    WriteSweepJson(options_.out / "sweep.json", suite_.title, runs_);
    if (search_) search_->WriteFiles(options_.out);
    could_save_ = true;
  } catch (const Error& error) {
    if (std::exchange(could_save_, false)) LogWarning(Shorten(error.what(), kLongestMessage));
  }
}

// ---- For people ----

void Sweep::Show() {
  const std::optional<double> left =
      RemainingSeconds(runs_, suite_.stop, options_.jobs, search_ ? search_->LaterSteps() : 0);
  if (IsOnTerminal({})) table_.Draw(runs_, left);
  if (summary_.Seconds() < options_.summary_seconds) return;
  summary_ = Stopwatch();
  if (!IsOnTerminal({})) LogInfo(SweepSummary(runs_, left));
  Save();
}

}  // namespace stableaa
