#include "stableaa/rl/run/evaluator.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/registry.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/rl/run/checkpoint_head.h"
#include "stableaa/rl/run/saved_agent.h"

namespace stableaa {
namespace {

constexpr double kNoReturn = -std::numeric_limits<double>::infinity();

void RemoveWeights(const std::filesystem::path& file) {
  std::error_code error;
  std::filesystem::remove(file, error);
  if (error) throw SystemError(fmt::format("cannot remove {}", file.string()), error.value());
}

}  // namespace

Evaluator::Evaluator(const RunDirectory& directory, const RunOptions& options, Agent& agent)
    : directory_(directory),
      options_(options),
      agent_(agent),
      best_return_(kNoReturn),
      end_return_(kNoReturn) {}

Evaluator::~Evaluator() = default;

bool Evaluator::IsDue(std::int64_t step) const {
  return EvaluationIsDue(options_, step, evaluated_step_);
}

bool Evaluator::EndIsDue(std::int64_t step) const {
  return EndEvaluationIsDue(options_, step, evaluated_step_);
}

bool Evaluator::EndIsDone() const { return IsEndEvaluation(options_, evaluated_step_); }

bool Evaluator::Play(std::int64_t step, const std::function<bool()>& stop) {
  if (!environment_) {
    EnvironmentOptions env = EvaluationEnvironment(options_);
    env.num_envs =
        static_cast<int>(std::min<std::int64_t>(options_.eval.episodes, options_.eval.parallel));
    environment_ = MakeEnvironment(options_.train.env, env);
  }
  const std::uint64_t seed =
      RandomStream(options_.train.seed, fmt::format("evaluation in step {}", step))();
  std::optional<EvaluationResult> result =
      agent_.Evaluate(*environment_, options_.eval, seed, stop);
  if (!result) return false;
  result_ = std::move(result);
  evaluated_step_ = step;
  last_return_ = result_->return_mean;
  return true;
}

bool Evaluator::Evaluate(std::int64_t step, const std::function<bool()>& stop) {
  if (!Play(step, stop)) return false;
  if (result_->return_mean > best_return_) {
    best_return_ = result_->return_mean;
    KeepWeights();
  }
  return true;
}

bool Evaluator::EvaluateEnd(std::int64_t step, const std::function<bool()>& stop) {
  if (!Play(step, stop)) return false;
  end_return_ = result_->return_mean;
  KeepWeights();
  return true;
}

std::optional<EvaluationResult> Evaluator::TakeResult() {
  return std::exchange(result_, std::nullopt);
}

void Evaluator::KeepWeights() const {
  const std::filesystem::path best = best_weights(), former = former_best_weights();
  std::error_code error;
  if (std::filesystem::exists(best, error) && !std::filesystem::exists(former, error)) {
    std::filesystem::create_hard_link(best, former, error);
    // Some file systems have no links.
    if (error) std::filesystem::copy_file(best, former, error);
    if (error) {
      throw SystemError(fmt::format("cannot write {}", former.string()), error.value());
    }
  }
  WriteWeights(best_weights(), agent_.weights(), DescribeWeights(options_, evaluated_step_));
}

void Evaluator::Save(ByteWriter& out) const { out.F64(best_return_); }

void Evaluator::SetEvaluatedStep(std::int64_t evaluated_step) {
  evaluated_step_ = IsEndEvaluation(options_, evaluated_step) ? 0 : evaluated_step;
  result_.reset();
  end_return_ = kNoReturn;
}

void Evaluator::Load(ByteReader& in) {
  best_return_ = in.F64();
  if (evaluated_step_ > 0 ? std::isfinite(best_return_) : best_return_ == kNoReturn) return;
  throw in.Wrong(fmt::format(
      "expected {}, found {}",
      evaluated_step_ > 0 ? "a finite best return" : "no best return before the first evaluation",
      best_return_));
}

void Evaluator::ConfirmWeights() const { RemoveWeights(former_best_weights()); }

// Whether the best weights are those of an evaluation that is not part of this run's course.
bool Evaluator::WeightsAreStale() const {
  if (evaluated_step_ == 0) return true;
  try {
    const auto step = StepOf(SafetensorsFile(best_weights()).content().metadata);
    return step && *step > evaluated_step_;
  } catch (const Error&) {
    return false;  // training does not depend on a file that is missing or damaged
  }
}

void Evaluator::RestoreWeights() const {
  std::error_code error;
  if (WeightsAreStale()) {
    const bool has_former =
        evaluated_step_ != 0 && std::filesystem::exists(former_best_weights(), error);
    if (has_former) {
      std::filesystem::rename(former_best_weights(), best_weights(), error);
      if (error) {
        throw SystemError(fmt::format("cannot write {}", best_weights().string()), error.value());
      }
    } else {
      RemoveWeights(best_weights());
    }
  }
  RemoveWeights(former_best_weights());
}

std::filesystem::path Evaluator::best_weights() const {
  return directory_.weights() / "best.safetensors";
}

std::filesystem::path Evaluator::former_best_weights() const {
  return directory_.weights() / ".best.safetensors.former";
}

}  // namespace stableaa
