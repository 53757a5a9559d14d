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

void Evaluator::RemoveStaleWeights() const {
  if (evaluated_step_ != 0) return;
  std::error_code error;
  std::filesystem::remove(best_weights(), error);
  if (error) {
    throw SystemError(fmt::format("cannot remove {}", best_weights().string()), error.value());
  }
}

std::filesystem::path Evaluator::best_weights() const {
  return directory_.weights() / "best.safetensors";
}

}  // namespace stableaa
