#include "stableaa/mdp/solve/value_iteration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "stableaa/core/error.h"

namespace stableaa {
namespace {

constexpr int kEvaluationPasses = 40;
// Fixed, because an accelerated map must not change from step to step.
constexpr int kAcceleratedEvaluationPasses = 5;

// How far a policy is evaluated before the next improvement: its span relative to the backup's.
constexpr double kForcing = 0.1;

// Values of fewer states fit in the second-level cache; 16 bits would gain nothing.
constexpr std::uint64_t kLeastCoarse = 200'000;
// Where an evaluation in 16 bits gets no further than this share of the span, its rounding could
// undo the little that it gains: passes are made in full precision from then on.
constexpr double kCoarseProgress = 0.5;

// Methods whose own passes prove nothing make an occasional plain backup to see where they are.
constexpr int kPassesBetweenBackups = 25;

// Acceleration is given up after this many certificates without better bounds.
constexpr int kAcceleratedPatience = 200;

void CheckFinite(const Differences& differences) {
  if (!std::isfinite(differences.magnitude())) {
    throw WorkFailed("the values overflow: the rewards are too large for this discount");
  }
}

// The accelerator of a solve that asked for one. If it brings no better bounds for a long time,
// which rounding and changes of policy can cause, it is given up: plain steps get there.
class Acceleration {
 public:
  explicit Acceleration(SolveRun& run) : run_(run) {
    if (!run.options().anderson) return;
    AcceleratorOptions options = run.options().acceleration;
    options.threads = run.options().threads;
    accelerator_.emplace(run.model().states(), options);
    active_ = true;
  }

  // Sets the next iterate: the mix, or the image.
  void Advance(std::vector<double>& values, std::vector<double>& image) {
    if (active_ && run_.without_progress() > kAcceleratedPatience) {
      active_ = false;
      run_.ForgetProgress();
    }
    if (active_) {
      accelerator_->Step(values, image);
    } else {
      values.swap(image);
    }
  }

  const AcceleratorStatistics* statistics() const {
    return accelerator_ ? &accelerator_->statistics() : nullptr;
  }
  void Keep(Solution& solution) const {
    if (accelerator_) solution.acceleration = accelerator_->statistics();
  }

 private:
  SolveRun& run_;
  std::optional<Accelerator> accelerator_;
  bool active_ = false;
};

// Removes the constant by which the bounds show the values to be off. Policies do not depend on it.
void Recentre(const Certificate& certificate, std::vector<double>& values,
              std::vector<double>& image) {
  for (double& value : image) value += certificate.shift;
  values.swap(image);
}

Differences CountedOperatorPass(SolveRun& run, const Backup& backup, std::span<const double> values,
                                std::span<double> image) {
  const Stopwatch watch;
  const Differences differences =
      OperatorPass(run.model(), run.discount(), backup, values, image, run.options().threads);
  run.Count(run.model().rows(), PassBytes(run.model()), watch.Seconds());
  CheckFinite(differences);
  return differences;
}

// mellowmax contracts and shifts like max, so the same bounds hold for its fixed point.
Solution SolveByMellowmax(SolveRun& run) {
  const std::size_t states = run.model().states();
  const Backup& backup = run.options().backup;
  std::vector<double> values(states);
  std::vector<double> image(states);
  Acceleration acceleration(run);
  Certificate certificate;
  for (;;) {
    const Differences differences = CountedOperatorPass(run, backup, values, image);
    certificate = run.certifier().Certify(differences);
    run.Report(differences.magnitude(), &certificate, acceleration.statistics());
    if (run.Enough(certificate) || run.Exhausted(1)) break;
    acceleration.Advance(values, image);
  }
  // The greedy policy. V_π ≥ V + min d/(1−γ) because max ≥ mellowmax, so it loses at most the width
  // of the bounds plus the bias.
  std::vector<double> greedy(states);
  std::vector<std::uint32_t> policy(states);
  BackupPass(run.model(), run.discount(), values, greedy, policy, run.options().threads);
  Solution solution =
      run.Finish(SolveMethod::kVi, std::move(image), std::move(policy), certificate);
  solution.residual = OperatorPass(run.model(), run.discount(), backup, solution.values, greedy,
                                   run.options().threads)
                          .magnitude();
  solution.bias_bound =
      MellowmaxBiasBound(run.model().most_actions(), backup.omega, run.discount());
  solution.policy_error += *solution.bias_bound;
  acceleration.Keep(solution);
  return solution;
}

// No bounds: there may be several fixed points, and only the residual is known.
Solution SolveByBoltzmann(SolveRun& run) {
  const std::size_t states = run.model().states();
  std::vector<double> values(states);
  std::vector<double> image(states);
  Acceleration acceleration(run);
  double residual = 0;
  for (;;) {
    residual = CountedOperatorPass(run, run.options().backup, values, image).magnitude();
    run.Report(residual, nullptr, acceleration.statistics());
    if (residual <= run.options().tolerance || run.Exhausted(1)) break;
    acceleration.Advance(values, image);
  }
  std::vector<std::uint32_t> policy(states);
  BackupPass(run.model(), run.discount(), values, image, policy, run.options().threads);
  const Certificate none{.shift = 0, .half = kNothing, .rounding = kNothing};
  Solution solution = run.Finish(SolveMethod::kVi, std::move(values), std::move(policy), none);
  solution.residual = residual;
  solution.end = residual <= run.options().tolerance ? SolveEnd::kConverged : run.end();
  acceleration.Keep(solution);
  return solution;
}

// A pass whose differences prove nothing.
using UncertainPass = std::function<Differences(std::int64_t t, std::span<const double> values,
                                                std::span<double> image)>;

// Repeats such passes and makes a plain backup when its certificate may suffice.
Solution SolveByUncertainPasses(SolveRun& run, SolveMethod method, const UncertainPass& pass) {
  const std::size_t states = run.model().states();
  std::vector<double> values(states);
  std::vector<double> image(states);
  std::vector<std::uint32_t> policy(states);
  double goal = run.options().tolerance;  // for the magnified change
  for (std::int64_t t = 1; !run.Exhausted(2); ++t) {
    const Differences differences = pass(t, values, image);
    CheckFinite(differences);
    values.swap(image);
    run.Report(differences.magnitude(), nullptr);
    const double change = run.Magnify(differences.magnitude());
    if (change > goal && t % kPassesBetweenBackups != 0) continue;
    if (run.Exhausted(1)) break;
    const Certificate certificate = run.Backup(values, image, policy);
    run.Report(run.differences().magnitude(), &certificate);
    if (run.Enough(certificate) || run.Exhausted(2)) {
      return run.Finish(method, std::move(image), std::move(policy), certificate);
    }
    values.swap(image);
    if (change <= goal) goal = change / 2;
  }
  return run.BackupAndFinish(method, std::move(values));
}

}  // namespace

Solution SolveByValueIteration(SolveRun& run) {
  const std::size_t states = run.model().states();
  std::vector<double> values(states);
  std::vector<double> image(states);
  std::vector<std::uint32_t> policy(states);
  Acceleration acceleration(run);
  for (;;) {
    const Certificate certificate = run.Backup(values, image, policy);
    run.Report(run.differences().magnitude(), &certificate, acceleration.statistics());
    if (run.ShouldRecentre(certificate) && !run.Exhausted(1)) {
      Recentre(certificate, values, image);
      continue;
    }
    if (run.Enough(certificate) || run.Exhausted(1)) {
      Solution solution =
          run.Finish(SolveMethod::kVi, std::move(image), std::move(policy), certificate);
      acceleration.Keep(solution);
      return solution;
    }
    acceleration.Advance(values, image);
  }
}

Solution SolveByOperator(SolveRun& run) {
  const Backup& backup = run.options().backup;
  switch (backup.kind) {
    case BackupKind::kMellowmax:
      return SolveByMellowmax(run);
    case BackupKind::kBoltzmann:
      return SolveByBoltzmann(run);
    case BackupKind::kDynamicBoltzmann:
      return SolveByUncertainPasses(
          run, SolveMethod::kVi,
          [&](std::int64_t t, std::span<const double> values, std::span<double> image) {
            return CountedOperatorPass(run, backup.At(t), values, image);
          });
    case BackupKind::kMax:
      break;
  }
  return SolveByValueIteration(run);
}

Solution SolveByJacobi(SolveRun& run) {
  return SolveByUncertainPasses(
      run, SolveMethod::kJacobi,
      [&](std::int64_t, std::span<const double> values, std::span<double> image) {
        const Stopwatch watch;
        const Differences differences =
            JacobiPass(run.model(), run.discount(), values, image, run.options().threads);
        run.Count(run.model().rows(), PassBytes(run.model()), watch.Seconds());
        return differences;
      });
}

ModifiedPolicyIteration::ModifiedPolicyIteration(SolveRun& run)
    : run_(run),
      values_(run.model().states()),
      image_(run.model().states()),
      actions_(run.model().states()),
      backup_(run.model(), run.certifier()),
      use_coarse_(run.model().states() >= kLeastCoarse),
      policy_(use_coarse_) {}

CountedBackup ModifiedPolicyIteration::Backup() {
  const Model& model = run_.model();
  if (std::exchange(first_, false)) {
    return {RewardPass(model, image_, actions_, run_.options().threads), model.rows(),
            RewardPassBytes(model)};
  }
  return backup_.Pass(policy_, values_, image_, actions_, run_.options().threads);
}

bool ModifiedPolicyIteration::Improve() {
  const Stopwatch watch;
  const CountedBackup backup = Backup();
  run_.Count(backup.rows, backup.bytes, watch.Seconds());
  certificate_ = run_.Certify(backup.differences);
  run_.Report(run_.differences().magnitude(), &certificate_);
  if (run_.ShouldRecentre(certificate_) && !run_.Exhausted(1)) {
    Recentre(certificate_, values_, image_);
    backup_.Moved(run_.differences());
    backup_.Moved({certificate_.shift, certificate_.shift});
    return Improve();
  }
  return run_.Enough(certificate_) || run_.Exhausted(1);
}

double ModifiedPolicyIteration::Passes(int most_passes, double goal, std::uint64_t bytes,
                                       const std::function<double()>& pass) {
  const std::uint64_t states = run_.model().states();
  const double share = static_cast<double>(states) / static_cast<double>(run_.model().rows());
  double span = run_.differences().span();
  for (int i = 0; i < most_passes && span > goal && !run_.Exhausted(share + 1); ++i) {
    const Stopwatch watch;
    span = pass();
    run_.Count(states, bytes, watch.Seconds());
  }
  return span;
}

void ModifiedPolicyIteration::Evaluate(int most_passes) {
  const int threads = run_.options().threads;
  const double start = run_.differences().span();
  // No closer than the last backup will need.
  const double goal =
      std::max(kForcing * start, 0.5 * run_.options().tolerance * (1 - run_.discount()) /
                                     std::max(run_.discount(), 1e-300));
  policy_.Gather(run_.model(), run_.discount(), actions_, threads);
  if (use_coarse_ && start > goal && most_passes > 0 &&
      most_passes <= CoarseEvaluation::kMostPasses &&
      CoarseEvaluation::CanStart(run_.differences())) {
    coarse_.Start(values_, image_, run_.differences(), most_passes, threads);
    const double span = Passes(most_passes, goal, policy_.coarse_bytes(),
                               [&] { return coarse_.Pass(policy_, run_.discount(), threads); });
    backup_.Moved(coarse_.AddTo(values_, threads));
    use_coarse_ = span < kCoarseProgress * start;
    return;
  }
  values_.swap(image_);
  backup_.Moved(run_.differences());
  Passes(most_passes, goal, policy_.bytes(), [&] {
    const Differences differences = policy_.Pass(values_, image_, threads);
    values_.swap(image_);
    backup_.Moved(differences);
    return differences.span();
  });
}

std::vector<double> ModifiedPolicyIteration::LowerBound() const {
  const double low = run_.Magnify(run_.differences().least);
  std::vector<double> lower = image_;
  for (double& value : lower) value += low;
  return lower;
}

Solution ModifiedPolicyIteration::Finish() {
  const int threads = run_.options().threads;
  std::vector<std::uint32_t> actions = actions_;  // the policy stays as it is
  const auto backup = [&](std::span<const double> values, std::span<double> image) {
    backup_.Moved(DifferencesOf(values_, values, threads));
    return backup_.Pass(policy_, values, image, actions, threads).differences;
  };
  return run_.Finish(SolveMethod::kMpi, std::move(image_), std::move(actions_), certificate_,
                     backup);
}

namespace {

// The map V ← T_π^j TV with a fixed j, accelerated. Its first pass is a plain backup, whose
// certificate holds for any values it is given.
Solution SolveByAcceleratedModifiedPolicyIteration(SolveRun& run) {
  const std::uint64_t states = run.model().states();
  const double share = static_cast<double>(states) / static_cast<double>(run.model().rows());
  const int passes = run.options().evaluation_sweeps.value_or(kAcceleratedEvaluationPasses);
  std::vector<double> values(states);
  std::vector<double> image(states);
  std::vector<double> next(states);
  std::vector<std::uint32_t> policy(states);
  Acceleration acceleration(run);
  PolicyRows rows;
  for (;;) {
    const Certificate certificate = run.Backup(values, image, policy);
    run.Report(run.differences().magnitude(), &certificate, acceleration.statistics());
    if (run.Enough(certificate) || run.Exhausted(passes * share + 1)) {
      Solution solution =
          run.Finish(SolveMethod::kMpi, std::move(image), std::move(policy), certificate);
      acceleration.Keep(solution);
      return solution;
    }
    rows.Gather(run.model(), run.discount(), policy, run.options().threads);
    for (int i = 0; i < passes; ++i) {
      const Stopwatch watch;
      rows.Pass(image, next, run.options().threads);
      run.Count(states, rows.bytes(), watch.Seconds());
      image.swap(next);
    }
    acceleration.Advance(values, image);
  }
}

}  // namespace

Solution SolveByModifiedPolicyIteration(SolveRun& run) {
  if (run.options().anderson) return SolveByAcceleratedModifiedPolicyIteration(run);
  ModifiedPolicyIteration iteration(run);
  while (!iteration.Improve()) {
    iteration.Evaluate(run.options().evaluation_sweeps.value_or(kEvaluationPasses));
  }
  return iteration.Finish();
}

}  // namespace stableaa
