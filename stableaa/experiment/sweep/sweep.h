// A sweep: the runs of a suite as processes of their own, several at a time, until all are done.
//
//   Suite suite = ReadSuite("figure1.toml");
//   Sweep sweep(suite, {.out = "runs/figure1", .jobs = 2});  // looks; BadInput for what does not
//   fit sweep.Open();                                            // WorkFailed if another sweep is
//   here sweep.Run([&] { return interrupt.requested(); });
//
// On disk:
//
//   suite.toml        a copy of the file
//   sweep.json        the status of every run (sweep_status.h), written after each change
//   sweep.lock        locked while a sweep is at work
//   logs/NAME.log     what the run's process said
//   logs/NAME.toml    what it was started with
//   NAME/             the run (rl/run_directory.h)
//
// What is in the directory already is gone on with, whoever made it: a run that is complete is
// kept, another one resumed. So a sweep that was interrupted, killed or had failures goes on when
// it is started again, to the same results as one to which nothing happened: those of `stableaa
// train`.
//
// The processes do not outlive the sweep. Where it is killed they make a checkpoint and end; the
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
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/experiment/suite/suite.h"
#include "stableaa/experiment/sweep/status.h"
#include "stableaa/experiment/sweep/table.h"

namespace stableaa {

struct SweepOptions {
  // The program `stableaa`; by default this very one, even if its file has been replaced meanwhile.
  std::string program = "/proc/self/exe";
  std::filesystem::path out;
  int jobs = 1;  // runs at a time
  // For runs that other processes have, once nothing else is left to do.
  double patience_seconds = 60;
  // Between two lines that sum up, where there is no terminal.
  double summary_seconds = 30;
};

class Sweep {
 public:
  // Looks at what is there and changes nothing. `suite` has to outlive it. BadInput, naming the
  // directory and the keys that differ, for a run made with another configuration (train.steps and
  // train.threads may differ).
  Sweep(const Suite& suite, const SweepOptions& options);
  // Ends processes that are still running, at once.
  ~Sweep();
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  // In the order of the suite.
  const std::vector<SweepRun>& runs() const { return runs_; }

  // Makes the directory and takes its lock. BadInput if it holds another suite's runs.
  void Open();

  // True: no run is left to do; some may have failed. Once `interrupted` says so the runs make
  // their checkpoints and end, and it returns false. Open comes first.
  bool Run(const std::function<bool()>& interrupted);

 private:
  struct Job;

  std::filesystem::path Directory(const SweepRun& run) const;
  std::filesystem::path Log(const SweepRun& run, const std::string& ending) const;
  void RefuseAnotherSuite() const;
  void Adopt(SweepRun& run) const;
  std::optional<std::string> WhyDone(SweepRun& run) const;

  void StartWhatFits();
  std::optional<std::size_t> NextRun();
  void Start(std::size_t number);
  std::vector<std::string> Arguments(const SweepRun& run) const;
  void EndAll();
  void WaitForAnEnd() const;
  void Look(Job& job);
  void Finish(const Job& job);
  void Fail(SweepRun& run, const std::string& message);
  void Save();
  void Show();
  std::optional<double> SecondsLeft() const;

  const Suite& suite_;
  const SweepOptions options_;
  const SweepNotes notes_;  // as it was in the beginning
  std::vector<SweepRun> runs_;
  Descriptor lock_;
  std::vector<std::unique_ptr<Job>> jobs_;
  bool ending_ = false;                // interrupted: nothing new is started
  std::optional<Stopwatch> patience_;  // since only runs that others have are left
  Stopwatch watch_, summary_;
  std::int64_t steps_before_ = 0;  // of all runs, when Run began
  bool could_save_ = true;
  SweepTable table_;
};

// The error that a process ended with: the last line of its log that is one, else the last line;
// empty if it said nothing. Only what was written from byte `begin` on counts.
std::string LastError(const std::filesystem::path& log, std::uintmax_t begin);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SWEEP_SWEEP_H_
