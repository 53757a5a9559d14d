// A sweep trains the runs of a suite, each in a process of its own, several at a time.
//
//   const Suite suite = ReadSuite("figure1.toml");
//   const auto train = [](const TrainTask& task) -> std::vector<std::string> {
//     return {"my-trainer", task.config.string(), task.run.string()};
//   };
//   // Looks at the directory; BadInput if its runs do not fit the suite.
//   Sweep sweep(suite, {.train = train, .out = "runs/figure1", .jobs = 2});
//   sweep.Open();  // WorkFailed if another sweep is at work there
//   sweep.Run([&] { return interrupt.requested(); });
//
// On disk:
//
//   suite.toml        a copy of the file
//   sweep.json        the status of every run (status.h), written after each change
//   sweep.lock        locked while a sweep is at work
//   logs/NAME.log     what the run's process said
//   logs/NAME.toml    what it was started with
//   logs/NAME.error   why it failed the last time, one line (run_error.h)
//   NAME/             the run (rl/run/run_directory.h)
//   search.csv        for a suite with a search: its draws (search_progress.h), and search.json
//
// A sweep continues the runs in the directory, whoever made them: it keeps those that are complete
// and resumes the others. So a sweep that was interrupted, killed or had failures can be started
// again, and reaches the same results as an undisturbed one.
//
// The processes do not outlive the sweep. If it is killed, they write a checkpoint and end; the
// next sweep waits for that.
#ifndef STABLEAA_EXPERIMENT_SWEEP_SWEEP_H_
#define STABLEAA_EXPERIMENT_SWEEP_SWEEP_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/core/option_label.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/experiment/suite/suite.h"
#include "stableaa/experiment/sweep/search_progress.h"
#include "stableaa/experiment/sweep/status.h"
#include "stableaa/experiment/sweep/table.h"
#include "stableaa/experiment/sweep/training_process.h"

namespace stableaa {

struct SweepOptions {
  // Trains one run; only Run needs it.
  TrainingCommand train = {};
  std::filesystem::path out;
  // What messages call `out`, the one option that they name: "choose another directory".
  OptionLabel label = [](std::string_view) { return "directory"; };
  int jobs = 1;  // runs in parallel
  // How long to wait for runs held by other processes, once nothing else is left to do.
  double patience_seconds = 60;
  // Time between summary lines when there is no terminal.
  double summary_seconds = 30;
};

class Sweep {
 public:
  // Looks at the directory and changes nothing. `suite` must outlive it. BadInput, naming the
  // directory and the keys that differ, for a run made with another configuration (train.steps and
  // train.threads may differ).
  Sweep(const Suite& suite, const SweepOptions& options);
  // Kills processes that are still running.
  ~Sweep();
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  // In the order of the suite.
  const std::vector<SweepRun>& runs() const { return runs_; }
  // Null if the suite has no search.
  const SearchProgress* search() const { return search_ ? &*search_ : nullptr; }

  // Creates the directory and takes its lock. BadInput if it holds another suite's runs, or if an
  // environment of Gymnasium cannot be made with the wrappers or arguments of a run that has not
  // begun; it takes up to half a minute to find out.
  void Open();

  // Call Open first. Returns true once no run is left to do; some may have failed. When
  // `interrupted` returns true, the runs write their checkpoints and end, and Run returns false.
  bool Run(const std::function<bool()>& interrupted);

 private:
  struct Job;

  std::filesystem::path Directory(const SweepRun& run) const;
  std::filesystem::path Log(const SweepRun& run, const std::string& ending) const;
  void RefuseAnotherSuite() const;
  void Adopt(SweepRun& run) const;
  std::optional<std::string> WhyDone(SweepRun& run) const;
  void JudgeRungs(bool aloud);

  void StartWhatFits();
  std::optional<std::size_t> NextRun();
  void Start(std::size_t number);
  TrainTask Task(const SweepRun& run) const;
  void EndAll();
  void WaitForAnEnd() const;
  void Look(Job& job);
  void Finish(const Job& job);
  void Fail(SweepRun& run, const std::string& message);
  void Save();
  void Show();

  const Suite& suite_;
  const SweepOptions options_;
  const SweepNotes notes_;  // as found at the start
  std::vector<SweepRun> runs_;
  std::optional<SearchProgress> search_;
  Descriptor lock_;
  std::vector<std::unique_ptr<Job>> jobs_;
  bool ending_ = false;                // interrupted: nothing new is started
  std::optional<Stopwatch> patience_;  // since only runs held by others are left
  Stopwatch summary_;
  bool could_save_ = true;
  SweepTable table_;
};

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SWEEP_SWEEP_H_
