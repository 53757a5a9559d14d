#include "stableaa/mdp/solve/solve_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "stableaa/core/error.h"

namespace stableaa {
namespace {

// Rounding is blamed after this many certificates without improvement, if this close to it.
constexpr int kPatience = 500;
constexpr double kNearRounding = 1000;

// Bounds this much narrower than the rounding are not worth another pass.
constexpr double kNothingLeft = 0.01;

void CheckFinite(const Certificate& certificate) {
  if (!certificate.finite()) {
    throw WorkFailed("the values overflow: the rewards are too large for this discount");
  }
}

// mellowmax sums over the actions, takes a logarithm and divides by ω: a little over three
// roundings per action, in units of the largest action value.
double OperatorAdditions(const Model& model, const Backup& backup) {
  if (backup.kind != BackupKind::kMellowmax) return 0;
  return 6 * static_cast<double>(model.most_actions()) + 192;
}

}  // namespace

SolveRun::SolveRun(const Model& model, double discount, const SolveOptions& options)
    : model_(model),
      discount_(discount),
      options_(options),
      certifier_(model, discount, OperatorAdditions(model, options.backup)) {}

double SolveRun::ResidualGoal() const {
  constexpr double kShare = 0.45;  // of the tolerance
  return kShare * options_.tolerance * (1 - discount_) / std::max(discount_, 1e-300);
}

void SolveRun::Count(std::uint64_t rows, std::uint64_t bytes, double seconds) {
  row_updates_ += rows;
  bytes_ += bytes;
  pass_seconds_ += seconds;
}

double SolveRun::iterations() const {
  return static_cast<double>(row_updates_) / static_cast<double>(model_.rows());
}

bool SolveRun::Exhausted(double upcoming) {
  if (!end_ && iterations() + upcoming > options_.max_iterations) end_ = SolveEnd::kIterations;
  return Interrupted();
}

bool SolveRun::Interrupted() {
  if (!end_) end_ = RequestedEnd();
  return end_.has_value();
}

std::optional<SolveEnd> SolveRun::RequestedEnd() const {
  if (seconds() > options_.max_seconds) return SolveEnd::kTime;
  if (options_.stop && options_.stop()) return SolveEnd::kStopped;
  return std::nullopt;
}

void SolveRun::Report(double residual, const Certificate* certificate,
                      const AcceleratorStatistics* acceleration) {
  if (!options_.on_step) return;
  const SolveStep step{.iterations = iterations(),
                       .inner_iterations = inner_iterations_,
                       .seconds = seconds(),
                       .residual = residual,
                       .lower = certificate != nullptr ? -certificate->half : kNothing,
                       .upper = certificate != nullptr ? certificate->half : kNothing,
                       .acceleration = acceleration};
  if (!options_.on_step(step) && !end_) end_ = SolveEnd::kStopped;
}

Certificate SolveRun::Backup(std::span<const double> values, std::span<double> image,
                             std::span<std::uint32_t> actions) {
  const Stopwatch watch;
  const Differences differences =
      BackupPass(model_, discount_, values, image, actions, options_.threads);
  Count(model_.rows(), PassBytes(model_), watch.Seconds());
  return Certify(differences);
}

Certificate SolveRun::Certify(const Differences& differences) {
  differences_ = differences;
  const Certificate certificate = certifier_.Certify(differences_);
  CheckFinite(certificate);
  return certificate;
}

void SolveRun::ShowBounds(std::span<const double> values) {
  if (!options_.on_step) return;
  std::vector<double> image(values.size());
  const Differences differences =
      BackupPass(model_, discount_, values, image, {}, options_.threads);
  ++watch_backups_;
  const Certificate certificate = certifier_.Certify(differences);
  Report(differences.magnitude(), certificate.finite() ? &certificate : nullptr);
}

bool SolveRun::Enough(const Certificate& certificate) {
  CheckFinite(certificate);
  if (certificate.half <= options_.tolerance) return true;
  const double rest = certificate.half - certificate.rounding;
  if (rest < least_rest_) {
    least_rest_ = rest;
    without_progress_ = 0;
  } else {
    ++without_progress_;
  }
  // Near the end rounding determines what the next pass achieves, and may prevent any progress.
  const bool only_rounding_left =
      (certificate.rounding >= options_.tolerance && rest <= certificate.rounding) ||
      rest <= kNothingLeft * certificate.rounding;
  const bool stuck = rest <= kNearRounding * certificate.rounding && without_progress_ > kPatience;
  if (!only_rounding_left && !stuck) return false;
  if (!end_) end_ = SolveEnd::kRounding;
  return true;
}

void SolveRun::ForgetProgress() {
  least_rest_ = std::numeric_limits<double>::infinity();
  without_progress_ = 0;
}

bool SolveRun::ShouldRecentre(const Certificate& certificate) {
  const double rest = certificate.half - certificate.rounding;
  if (recentred_ || certificate.rounding < options_.tolerance / 2 ||
      rest > std::max(options_.tolerance, certificate.rounding) ||
      certifier_.Floor(differences_.values) > certificate.rounding / 2) {
    return false;
  }
  recentred_ = true;
  return true;
}

// image ← the middle of each state's bounds. Returns how far V* can be from it.
double SolveRun::Centre(std::span<double> image, const Certificate& certificate) const {
  const double least = certifier_.least_value();
  const double most = certifier_.most_value();
  // Far from the solution the rewards alone can give tighter bounds than the backup.
  if (!(certificate.half > (most - least) / 2)) {
    for (double& value : image) value += certificate.shift;
    return certificate.half;
  }
  double widest = 0;
  for (double& value : image) {
    const double middle = value + certificate.shift;
    const double low = std::clamp(middle - certificate.half, least, most);
    const double high = std::clamp(middle + certificate.half, least, most);
    widest = std::max(widest, high - low);
    value = low + (high - low) / 2;
  }
  return widest / 2 * (1 + std::numeric_limits<double>::epsilon());
}

Solution SolveRun::Finish(SolveMethod method, std::vector<double> image,
                          std::vector<std::uint32_t> policy, const Certificate& certificate,
                          const BackupFunction& backup) {
  const double error = Centre(image, certificate);
  std::vector<double> next(image.size());
  // Not counted: it measures and updates nothing.
  const Differences last = backup
                               ? backup(image, next)
                               : BackupPass(model_, discount_, image, next, {}, options_.threads);
  Solution solution =
      Result(method, std::move(image), std::move(policy), error, certificate.rounding);
  solution.residual = last.magnitude();
  return solution;
}

Certificate SolveRun::CertificateOfValues(const Certificate& certificate) const {
  const Certificate of_values = certifier_.CertifyValues(differences_);
  return of_values.half <= options_.tolerance ? of_values : certificate;
}

Solution SolveRun::FinishValues(SolveMethod method, std::vector<double> values,
                                std::vector<double> image, std::vector<std::uint32_t> policy) {
  const Certificate certificate = certifier_.CertifyValues(differences_);
  if (!(certificate.half <= options_.tolerance)) {
    return Finish(method, std::move(image), std::move(policy), certifier_.Certify(differences_));
  }
  for (double& value : values) value += certificate.shift;
  Solution solution =
      Result(method, std::move(values), std::move(policy), certificate.half, certificate.rounding);
  const double shift = (1 - discount_) * certificate.shift;
  solution.residual =
      std::max(std::abs(differences_.least - shift), std::abs(differences_.largest - shift));
  return solution;
}

// All but the residual.
Solution SolveRun::Result(SolveMethod method, std::vector<double> values,
                          std::vector<std::uint32_t> policy, double error, double rounding) const {
  Solution solution;
  solution.values = std::move(values);
  solution.policy = std::move(policy);
  solution.lower = -error;
  solution.upper = error;
  solution.error = error;
  solution.policy_error = 2 * error;
  solution.rounding = rounding;
  if (error <= options_.tolerance) {
    solution.end = SolveEnd::kConverged;
  } else {
    solution.end = end_.value_or(SolveEnd::kRounding);
  }
  solution.method = method;
  solution.discount = discount_;
  solution.iterations = iterations();
  solution.inner_iterations = inner_iterations_;
  solution.watch_backups = watch_backups_;
  solution.seconds = seconds();
  solution.bytes_per_second = pass_seconds_ > 0 ? static_cast<double>(bytes_) / pass_seconds_ : 0;
  return solution;
}

Solution SolveRun::BackupAndFinish(SolveMethod method, std::vector<double> values) {
  std::vector<double> image(values.size());
  std::vector<std::uint32_t> policy(values.size());
  const Certificate certificate = CertificateOfValues(Backup(values, image, policy));
  Report(differences_.magnitude(), &certificate);
  return FinishValues(method, std::move(values), std::move(image), std::move(policy));
}

double LeastValue(const Model& model, double discount) {
  return *std::ranges::min_element(model.rewards()) / (1 - discount);
}

}  // namespace stableaa
