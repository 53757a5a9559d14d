#include "stableaa/mdp/solve/pass_benchmark.h"

#include <vector>

#include "stableaa/core/median.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/core/triad.h"
#include "stableaa/mdp/solve/certificate.h"
#include "stableaa/mdp/solve/coarse_evaluation.h"
#include "stableaa/mdp/solve/lazy_backup.h"
#include "stableaa/mdp/solve/passes.h"
#include "stableaa/mdp/solve/policy_rows.h"

namespace stableaa {

namespace {

// The passes that mpi consists of after its first backups, and how long they took.
class MpiPasses {
 public:
  MpiPasses(const Model& model, double discount, int threads)
      : discount_(discount),
        threads_(threads),
        certifier_(model, discount),
        backup_(model, certifier_),
        values_(model.states()),
        image_(model.states()),
        actions_(model.states()) {
    differences_ = backup_.Pass(rows_, values_, image_, actions_, threads_).differences;
    rows_.Gather(model, discount_, actions_, threads_);
  }

  void Measure() {
    const Stopwatch backup;
    backup_.Pass(rows_, values_, image_, actions_, threads_);
    backups_.push_back(1e3 * backup.Seconds());
    if (!CoarseEvaluation::CanStart(differences_)) return;
    evaluation_.Start(values_, image_, differences_, 1, threads_);
    const Stopwatch evaluation;
    evaluation_.Pass(rows_, discount_, threads_);
    evaluations_.push_back(1e3 * evaluation.Seconds());
  }

  double BackupMs() const { return Median(backups_); }
  double EvaluationMs() const { return evaluations_.empty() ? 0 : Median(evaluations_); }

 private:
  double discount_;
  int threads_;
  Certifier certifier_;
  LazyBackup backup_;
  PolicyRows rows_ = PolicyRows(/*for_coarse_passes=*/true);
  CoarseEvaluation evaluation_;
  std::vector<double> values_;
  std::vector<double> image_;
  std::vector<std::uint32_t> actions_;
  Differences differences_;
  std::vector<double> backups_;
  std::vector<double> evaluations_;
};

}  // namespace

PassTiming MeasurePass(const Model& model, const AcceleratorOptions& acceleration, int threads,
                       int rounds) {
  constexpr double kDiscount = 0.999;
  constexpr std::uint64_t kTriadBytes = 24;  // per element
  const std::uint64_t states = model.states();
  PassTiming timing{.threads = threads, .bytes = PassBytes(model)};
  Triad triad(timing.bytes / kTriadBytes + 1, threads);
  AcceleratorOptions options = acceleration;
  options.threads = threads;
  options.safeguard = false;
  Accelerator accelerator(states, options);
  MpiPasses mpi(model, kDiscount, threads);
  std::vector<double> values(states);
  std::vector<double> image(states);
  std::vector<std::uint32_t> actions(states);
  std::vector<double> passes;
  std::vector<double> triads;
  std::vector<double> steps;
  triad.Run(1);
  for (int round = -options.memory - 1; round < rounds; ++round) {
    const Stopwatch pass;
    BackupPass(model, kDiscount, values, image, actions, threads);
    const double sweep_seconds = pass.Seconds();
    const Stopwatch step;
    accelerator.Step(values, image);
    const double step_seconds = step.Seconds();
    const double triad_seconds = triad.Run(1);
    if (round < 0) continue;  // until the window is full
    passes.push_back(1e3 * sweep_seconds);
    steps.push_back(1e3 * step_seconds);
    triads.push_back(1e3 * triad_seconds);
    mpi.Measure();
  }
  timing.ms_per_sweep = Median(passes);
  timing.triad_ms = Median(triads);
  timing.ratio = timing.ms_per_sweep / timing.triad_ms;
  timing.settled_ms = mpi.BackupMs();
  timing.evaluation_ms = mpi.EvaluationMs();
  timing.anderson_ms = Median(steps);
  timing.anderson_share = timing.anderson_ms / timing.ms_per_sweep;
  return timing;
}

}  // namespace stableaa
