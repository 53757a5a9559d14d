#include "stableaa/anderson/accelerator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/concat.h"
#include "stableaa/core/error.h"
#include "stableaa/core/option_table.h"

namespace stableaa {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kStateVersion = 1;
// No valid state has counted further; leaves room to keep counting.
constexpr std::int64_t kMaxCount = std::int64_t{1} << 62;

Window MakeWindow(std::size_t size, const AcceleratorOptions& options, const Reduction& reduction) {
  options.Validate();
  if (size == 0) throw BadInput("an accelerator needs at least one component, found size = 0");
  if (reduction.ranks < 1 || reduction.rank < 0 || reduction.rank >= reduction.ranks ||
      (reduction.ranks > 1 && !reduction.sum)) {
    throw BadInput(
        Concat("a reduction needs 0 ≤ rank < ranks and a sum when ranks > 1, found rank ",
               reduction.rank, " of ", reduction.ranks, reduction.sum ? "" : " without a sum"));
  }
  return Window({.size = size,
                 .memory = options.memory,
                 .damping = options.damping,
                 .precision = options.history,
                 .threads = options.threads},
                reduction);
}

// Every counter, in the order they are saved.
auto Counters(auto& s) {
  return std::array{&s.steps,          &s.accelerated, &s.plain_no_window, &s.plain_interval,
                    &s.plain_weights,  &s.rejected,    &s.restarts_growth, &s.restarts_scheduled,
                    &s.restarts_range, &s.qr_solves,   &s.columns_dropped};
}

[[noreturn]] void ThrowNonFinite(std::int64_t step, std::span<const double> x,
                                 std::span<const double> image) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i])) {
      throw WorkFailed(Concat("step ", step, ": the iterate is ", x[i], " at component ", i));
    }
    if (!std::isfinite(image[i])) {
      throw WorkFailed(Concat("step ", step, ": the map returned ", image[i], " at component ", i));
    }
    if (!std::isfinite(image[i] - x[i])) {
      throw WorkFailed(Concat("step ", step, ": the residual overflows at component ", i, " (",
                              image[i], " − ", x[i], ")"));
    }
  }
  throw WorkFailed(Concat("step ", step, ": the residual is not finite on another rank"));
}

}  // namespace

void Describe(OptionTable& table, AcceleratorOptions& options) {
  table.Int("anderson.memory", &options.memory, {0, Window::kMaxMemory},
            "Differences of earlier iterates that are mixed; 0 turns acceleration off.");
  table.Real("anderson.damping", &options.damping, {.above = 0, .at_most = 2},
             "Share of the images against the iterates, and length of the plain step.");
  Describe(table, options.weights, "anderson.");
  table.Int("anderson.interval", &options.interval, {1, 1'000'000},
            "Accelerate every this many steps; the steps between are plain.");
  table.Bool("anderson.safeguard", &options.safeguard,
             "Take back an accelerated step whose residual grew too much.");
  table.Real("anderson.safeguard_factor", &options.safeguard_factor, {.above = 0, .at_most = 1e100},
             "Residual growth over the smallest so far that the safeguard lets pass.");
  table.Real("anderson.max_weight_norm", &options.max_weight_norm, {.above = 0, .at_most = 1e100},
             "Steps with a larger norm of tau are not tried.");
  table.Choice("anderson.restart", &options.restart,
               {{"never", RestartRule::kNever},
                {"every", RestartRule::kEvery},
                {"growth", RestartRule::kOnGrowth}},
               "When to empty the window.");
  table.Int("anderson.restart_interval", &options.restart_interval, {1, 1'000'000'000},
            "Steps between restarts when restart is every.");
  table.Real("anderson.restart_growth", &options.restart_growth, {.at_least = 1, .at_most = 1e100},
             "Residual growth that causes a restart when restart is growth.");
  table.Choice("anderson.history", &options.history,
               {{"double", HistoryPrecision::kDouble}, {"float", HistoryPrecision::kFloat}},
               "Precision in which the window is kept; float halves its memory and traffic.");
  table.Int("anderson.threads", &options.threads, {1, 1024},
            "Threads for the passes over the window; the result does not depend on it.");
}

void AcceleratorOptions::Validate() const {
  AcceleratorOptions copy = *this;
  RangeCheck check;
  Describe(check, copy);
}

Accelerator::Accelerator(std::size_t size, const AcceleratorOptions& options,
                         const Reduction& reduction)
    : size_(size),
      options_(options),
      window_(MakeWindow(size, options, reduction)),
      solver_(options.weights) {
  Reset();
}

void Accelerator::Reset() {
  window_.Clear();
  statistics_ = {};
  statistics_.best_residual_norm = kInfinity;
  ForgetResiduals();
}

StepReport Accelerator::Step(std::span<double> x, std::span<const double> image) {
  if (x.size() != size_ || image.size() != size_) {
    throw BadInput(Concat("an accelerator of size ", size_, " was given an iterate of ", x.size(),
                          " and an image of ", image.size(), " components"));
  }
  try {
    return Advance(x, image);
  } catch (...) {  // a half-appended pair would mislead every later step
    window_.Clear();
    ForgetResiduals();
    throw;
  }
}

StepReport Accelerator::Advance(std::span<double> x, std::span<const double> image) {
  Append(x, image);
  StepReport report{.residual_norm = window_.ResidualNorm()};
  ++statistics_.steps;
  ++since_restart_;

  const bool restart = RestartDue(report.residual_norm);
  const bool rejected = StepGotWorse(report.residual_norm);
  if (rejected) {
    window_.StepBack(x);
    ++statistics_.rejected;
    report.kind = StepKind::kRejected;
  } else if (!restart && WorthAccelerating() && SolveWeights()) {
    window_.Mix(weights().tau, x);
    ++statistics_.accelerated;
    report.kind = StepKind::kAccelerated;
    report.gain = weights().gain;
  } else {
    if (restart) ++statistics_.plain_no_window;
    window_.Mix({}, x);
  }

  // After a rejection the next, plain step resets the reference: that is where the iteration
  // stands.
  const double mark = rejected ? kInfinity : report.residual_norm;
  statistics_.best_residual_norm = std::min(statistics_.best_residual_norm, report.residual_norm);
  reference_ = rejected ? kInfinity : std::min(reference_, mark);
  best_since_restart_ = std::min(best_since_restart_, report.residual_norm);
  last_accelerated_ = report.kind == StepKind::kAccelerated;
  if (restart) {
    window_.DropColumns();
    since_restart_ = 0;
    best_since_restart_ = reference_ = mark;
  }
  return report;
}

void Accelerator::ForgetResiduals() {
  last_accelerated_ = false;
  since_restart_ = 0;
  best_since_restart_ = kInfinity;
  reference_ = kInfinity;
}

void Accelerator::Append(std::span<const double> x, std::span<const double> image) {
  Window::Outcome outcome = window_.Append(x, image);
  if (outcome == Window::Outcome::kOutOfRange) {
    window_.Clear();
    outcome = window_.Append(x, image);
    if (outcome != Window::Outcome::kNonFinite) ++statistics_.restarts_range;
  }
  if (outcome == Window::Outcome::kNonFinite) ThrowNonFinite(statistics_.steps, x, image);
}

bool Accelerator::RestartDue(double residual_norm) {
  if (window_.columns() == 0) return false;
  switch (options_.restart) {
    case RestartRule::kNever:
      return false;
    case RestartRule::kEvery:
      if (since_restart_ < options_.restart_interval) return false;
      ++statistics_.restarts_scheduled;
      return true;
    case RestartRule::kOnGrowth:
      if (!(residual_norm > options_.restart_growth * best_since_restart_)) return false;
      ++statistics_.restarts_growth;
      return true;
  }
  return false;
}

bool Accelerator::StepGotWorse(double residual_norm) const {
  return options_.safeguard && last_accelerated_ &&
         residual_norm > options_.safeguard_factor * reference_;
}

bool Accelerator::WorthAccelerating() {
  if (window_.columns() == 0) {
    ++statistics_.plain_no_window;
    return false;
  }
  if (statistics_.steps % options_.interval != 0) {
    ++statistics_.plain_interval;
    return false;
  }
  return true;
}

bool Accelerator::SolveWeights() {
  if (!solver_.SolveProducts(window_.Products())) {
    solver_.SolveTriangle(window_.Triangle());
    ++statistics_.qr_solves;
  }
  statistics_.columns_dropped += window_.columns() - weights().rank;
  if (!(weights().TauNorm() <= options_.max_weight_norm)) {
    ++statistics_.plain_weights;
    return false;
  }
  return true;
}

void Accelerator::Save(ByteWriter& writer) const {
  writer.U32(kStateVersion);
  for (const std::int64_t* counter : Counters(statistics_)) writer.I64(*counter);
  writer.F64(statistics_.best_residual_norm);
  writer.Bool(last_accelerated_);
  writer.I64(since_restart_);
  writer.F64(best_since_restart_);
  writer.F64(reference_);
  window_.Save(writer);
}

void Accelerator::Load(ByteReader& reader) {
  const std::uint32_t version = reader.U32();
  if (version != kStateVersion) {
    throw reader.Wrong(
        Concat("expected an accelerator state of version ", kStateVersion, ", found ", version));
  }
  AcceleratorStatistics statistics;
  for (std::int64_t* counter : Counters(statistics)) {
    *counter = reader.I64();
    if (*counter < 0 || *counter > kMaxCount) {
      throw reader.Wrong(Concat("a counter is out of range (", *counter, ")"));
    }
  }
  statistics.best_residual_norm = reader.F64();
  const bool last_accelerated = reader.Bool();
  const std::int64_t since_restart = reader.I64();
  const double best_since_restart = reader.F64();
  const double reference = reader.F64();
  if (!(statistics.best_residual_norm >= 0) || !(best_since_restart >= 0) || !(reference >= 0) ||
      since_restart < 0 || since_restart > kMaxCount) {
    throw reader.Wrong("expected residual norms of at least 0 and a step count");
  }
  window_.Load(reader, last_accelerated ? 1 : 0);  // the last step that can fail
  statistics_ = statistics;
  last_accelerated_ = last_accelerated;
  since_restart_ = since_restart;
  best_since_restart_ = best_since_restart;
  reference_ = reference;
}

}  // namespace stableaa
