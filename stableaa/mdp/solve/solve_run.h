// What all solve methods share: the model they see, the accounting of work, the limits, and the
// last backup that turns their values into a certified answer.
#ifndef STABLEAA_MDP_SOLVE_SOLVE_RUN_H_
#define STABLEAA_MDP_SOLVE_SOLVE_RUN_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "stableaa/core/stopwatch.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/solve/certificate.h"
#include "stableaa/mdp/solve/passes.h"
#include "stableaa/mdp/solve/solver.h"

namespace stableaa {

// Rewards are always maximised here: Solve has negated costs.
class SolveRun {
 public:
  SolveRun(const Model& model, double discount, const SolveOptions& options);

  const Model& model() const { return model_; }
  // The same model with its states renumbered.
  void set_model(const Model& model) { model_ = model; }
  double discount() const { return discount_; }
  const SolveOptions& options() const { return options_; }
  const Certifier& certifier() const { return certifier_; }
  double seconds() const { return watch_.Seconds(); }

  // γ/(1−γ) times a difference of values.
  double Magnify(double difference) const { return difference * discount_ / (1 - discount_); }

  // The residual at which a plain backup proves the tolerance, with room for rounding.
  double ResidualGoal() const;

  // Changes of values of this magnitude up to this may be pure rounding and never end.
  double Noise(double magnitude) const { return certifier_.Floor(magnitude) * (1 - discount_); }

  // Accounts for work: the rows updated and the bytes streamed in `seconds`.
  void Count(std::uint64_t rows, std::uint64_t bytes, double seconds);
  void CountInner(std::int64_t iterations) { inner_iterations_ += iterations; }
  double iterations() const;
  std::int64_t inner_iterations() const { return inner_iterations_; }

  // True, remembering which, once a limit is reached or a stop was requested. `upcoming` counts the
  // iterations about to be done plus those reserved for the last backup.
  bool Exhausted(double upcoming);
  // The same for only the clock and stop requests, between iterations.
  bool Interrupted();
  // The end that the clock or a stop request asks for now, whatever ended the solve before.
  std::optional<SolveEnd> RequestedEnd() const;

  bool exhausted() const { return end_.has_value(); }

  // Tells on_step. `differences` are of a pass of any kind, or none.
  void Report(double residual, const Certificate* certificate,
              const AcceleratorStatistics* acceleration = nullptr);

  // A plain backup, counted: image ← TV, actions unless empty, and what it proves. Like Enough,
  // throws WorkFailed if it proves nothing because the values overflow.
  Certificate Backup(std::span<const double> values, std::span<double> image,
                     std::span<std::uint32_t> actions);
  // What a backup made elsewhere proves, which must be one over all actions.
  Certificate Certify(const Differences& differences);
  // The differences of the last backup.
  const Differences& differences() const { return differences_; }

  // For methods whose own passes prove nothing: if there is an on_step, backs up the values and
  // reports the bounds. Does not affect work counts, differences or progress, so a solve is the
  // same whether watched or not.
  void ShowBounds(std::span<const double> values);

  // True if the certificate meets the tolerance or only rounding is left to remove.
  bool Enough(const Certificate& certificate);

  // Calls of Enough since the bounds last improved.
  int without_progress() const { return without_progress_; }
  void ForgetProgress();

  // True, once, if rounding prevents reaching the tolerance and part of it comes from values that
  // are off by a constant: backing up image + shift then proves more.
  bool ShouldRecentre(const Certificate& certificate);

  // TV and its certificate as a solution. `backup`, if given, is a faster one for its residual.
  using BackupFunction =
      std::function<Differences(std::span<const double> values, std::span<double> image)>;
  Solution Finish(SolveMethod method, std::vector<double> image, std::vector<std::uint32_t> policy,
                  const Certificate& certificate, const BackupFunction& backup = {});

  // What FinishValues will say, given the certificate of the last backup.
  Certificate CertificateOfValues(const Certificate& certificate) const;

  // V itself and what its last backup, TV = `image`, proves about it, if that meets the tolerance:
  // its residual is known, that of TV would take another backup. Otherwise the same as above.
  Solution FinishValues(SolveMethod method, std::vector<double> values, std::vector<double> image,
                        std::vector<std::uint32_t> policy);

  // The same for values that have not been backed up.
  Solution BackupAndFinish(SolveMethod method, std::vector<double> values);

  SolveEnd end() const { return end_.value_or(SolveEnd::kConverged); }
  void set_end(SolveEnd end) { end_ = end; }

 private:
  Solution Result(SolveMethod method, std::vector<double> values, std::vector<std::uint32_t> policy,
                  double error, double rounding) const;
  double Centre(std::span<double> image, const Certificate& certificate) const;

  Model model_;
  double discount_;
  const SolveOptions& options_;
  Certifier certifier_;
  Stopwatch watch_;
  Differences differences_;
  std::uint64_t row_updates_ = 0;
  std::int64_t watch_backups_ = 0;  // not included in the above
  std::int64_t inner_iterations_ = 0;
  std::uint64_t bytes_ = 0;
  double pass_seconds_ = 0;
  std::optional<SolveEnd> end_;
  double least_rest_ = std::numeric_limits<double>::infinity();  // of bounds, without rounding
  int without_progress_ = 0;
  bool recentred_ = false;
};

// Counts a pass over so many rows, streaming so many bytes, when it goes out of scope. Short passes
// are not timed: reading the clock would take as long.
class CountedPass {
 public:
  CountedPass(SolveRun& run, std::uint64_t rows, std::uint64_t bytes)
      : run_(run), rows_(rows), bytes_(bytes) {
    constexpr std::uint64_t kLeastTimed = 1000;  // rows
    if (rows >= kLeastTimed) watch_.emplace();
  }
  ~CountedPass() { run_.Count(rows_, watch_ ? bytes_ : 0, watch_ ? watch_->Seconds() : 0); }
  CountedPass(const CountedPass&) = delete;
  CountedPass& operator=(const CountedPass&) = delete;

 private:
  SolveRun& run_;
  std::uint64_t rows_;
  std::uint64_t bytes_;
  std::optional<Stopwatch> watch_;
};

// A lower bound on every state's value, min r/(1−γ): the start from below.
double LeastValue(const Model& model, double discount);

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_SOLVE_RUN_H_
