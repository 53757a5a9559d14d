#include "stableaa/nn/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "stableaa/base/config/config.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/nn/kernels.h"
#include "stableaa/nn/network.h"

namespace stableaa {
namespace {

// Floats that one thread handles at a time; sums over them are added in order.
constexpr std::ptrdiff_t kBlock = 1 << 14;

// Calls work(block, begin, size) for each block of `count` floats.
template <typename Work>
void ForEachBlock(int threads, std::ptrdiff_t count, const Work& work) {
  const std::ptrdiff_t blocks = (count + kBlock - 1) / kBlock;
  const auto one = [&](std::ptrdiff_t block) {
    work(block, block * kBlock, std::min(kBlock, count - block * kBlock));
  };
  // Even a parallel region of one thread costs a microsecond.
  if (threads == 1) {
    for (std::ptrdiff_t block = 0; block < blocks; ++block) one(block);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::ptrdiff_t block = 0; block < blocks; ++block) one(block);
}

// More updates than anyone makes, but few enough to continue counting.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;

}  // namespace

void OptimizerOptions::Validate() const {
  OptimizerOptions copy = *this;
  Config config;
  Describe(config, copy);
}

void Describe(Config& config, OptimizerOptions& options) {
  config.Choice("optimizer.kind", &options.kind,
                {{"rmsprop", OptimizerKind::kRmsprop},
                 {"rmsprop-centred", OptimizerKind::kCentredRmsprop},
                 {"adam", OptimizerKind::kAdam}},
                "How gradients become updates.");
  config.Scheduled("optimizer.learning_rate", &options.learning_rate,
                   {.at_least = 0, .at_most = 1e3}, "Length of the updates.");
  config.Real("optimizer.alpha", &options.alpha, {.at_least = 0, .below = 1},
              "Decay of RMSprop's averages.");
  config.Real("optimizer.beta1", &options.beta1, {.at_least = 0, .below = 1},
              "Decay of Adam's average of gradients.");
  config.Real("optimizer.beta2", &options.beta2, {.at_least = 0, .below = 1},
              "Decay of Adam's average of squared gradients.");
  config.Real("optimizer.epsilon", &options.epsilon, {.at_least = 1e-30, .at_most = 1e3},
              "Added to the root that divides, so that tiny gradients make no large updates.");
  config.Bool("optimizer.epsilon_inside", &options.epsilon_inside,
              "RMSprop: epsilon is added under the root instead of to it.");
  config.Real("optimizer.max_gradient_norm", &options.max_gradient_norm,
              {.at_least = 0, .at_most = 1e30},
              "Gradients of a larger norm are scaled down to it; 0 turns clipping off.");
}

Optimizer::Optimizer(std::shared_ptr<const Plan> plan, const OptimizerOptions& options, int threads)
    : plan_(std::move(plan)), options_(options), threads_(threads), square_(plan_) {
  options_.Validate();
  if (threads < 1 || threads > kMaxThreads) {
    throw BadInput(
        fmt::format("optimizer: threads has to be 1 to {}, found {}", kMaxThreads, threads));
  }
  if (options_.kind != OptimizerKind::kRmsprop) mean_ = std::make_unique<Parameters>(plan_);
  block_sums_.resize((plan_->parameters + kBlock - 1) / kBlock);
}

double Optimizer::GradientNorm(const Parameters& gradients) {
  const std::span<const float> values = gradients.block();
  ForEachBlock(threads_, std::ssize(values), [&](auto block, auto begin, auto size) {
    block_sums_[static_cast<std::size_t>(block)] =
        BestKernels().sum_of_squares(values.data() + begin, size);
  });
  double sum = 0;
  for (const double part : block_sums_) sum += part;
  return std::sqrt(sum);
}

OptimizerReport Optimizer::Step(const Parameters& gradients, Parameters& parameters,
                                std::int64_t step) {
  if (!gradients.IsOf(*plan_) || !parameters.IsOf(*plan_)) {
    throw BadInput("optimizer: the parameters are of another network");
  }
  if (&gradients == &parameters) {
    throw BadInput("optimizer: gradients and parameters are the same");
  }
  const double learning_rate = options_.learning_rate.At(step);
  OptimizerReport report;
  float scale = 1;
  if (options_.max_gradient_norm > 0) {
    report.gradient_norm = GradientNorm(gradients);
    if (!std::isfinite(report.gradient_norm)) {
      throw WorkFailed(
          fmt::format("update {}: the gradients are not finite; try a smaller "
                      "optimizer.learning_rate than {}",
                      steps_ + 1, learning_rate));
    }
    report.clipped = report.gradient_norm > options_.max_gradient_norm;
    if (report.clipped) {
      scale = static_cast<float>(options_.max_gradient_norm / report.gradient_norm);
    }
  }
  ++steps_;

  const Kernels& kernels = BestKernels();
  const float* const gradient = gradients.block().data();
  float* const square = square_.block().data();
  float* const mean = mean_ != nullptr ? mean_->block().data() : nullptr;
  float* const parameter = parameters.block().data();
  const auto count = static_cast<std::ptrdiff_t>(parameters.block().size());
  const auto narrow = [](double x) { return static_cast<float>(x); };
  if (options_.kind == OptimizerKind::kAdam) {
    const auto t = static_cast<double>(steps_);
    const AdamStep adam{.step_size = narrow(learning_rate / (1 - std::pow(options_.beta1, t))),
                        .beta1 = narrow(options_.beta1),
                        .fresh1 = narrow(1 - options_.beta1),
                        .beta2 = narrow(options_.beta2),
                        .fresh2 = narrow(1 - options_.beta2),
                        .root_scale = narrow(1 / std::sqrt(1 - std::pow(options_.beta2, t))),
                        .epsilon = narrow(options_.epsilon),
                        .scale = scale};
    ForEachBlock(threads_, count, [&](auto, auto begin, auto size) {
      kernels.adam(adam, gradient + begin, size, mean + begin, square + begin, parameter + begin);
    });
    return report;
  }
  const RmspropStep rmsprop{.learning_rate = narrow(learning_rate),
                            .alpha = narrow(options_.alpha),
                            .fresh = narrow(1 - options_.alpha),
                            .epsilon = narrow(options_.epsilon),
                            .epsilon_inside = options_.epsilon_inside,
                            .scale = scale};
  ForEachBlock(threads_, count, [&](auto, auto begin, auto size) {
    kernels.rmsprop(rmsprop, gradient + begin, size, square + begin,
                    mean != nullptr ? mean + begin : nullptr, parameter + begin);
  });
  return report;
}

void Optimizer::Save(ByteWriter& out) const {
  out.U8(static_cast<std::uint8_t>(options_.kind));
  out.Text(ToText(plan_->spec));
  out.I64(steps_);
  square_.Save(out);
  if (mean_ != nullptr) mean_->Save(out);
}

void Optimizer::Load(ByteReader& in) {
  if (in.U8() != static_cast<std::uint8_t>(options_.kind)) {
    throw in.Wrong("expected the state of an optimiser of the same kind");
  }
  const std::string expected = ToText(plan_->spec);
  if (const std::string spec = in.Text(kMaxSpecText); spec != expected) {
    throw in.Wrong(fmt::format("expected an optimiser of the network {}, found one of {}",
                               Shorten(expected, 300), Shorten(spec, 300)));
  }
  const std::int64_t steps = in.I64();
  if (steps < 0 || steps > kMostSteps) {
    throw in.Wrong(fmt::format("expected a number of updates, found {}", steps));
  }
  // Read everything before keeping anything.
  Parameters square(plan_);
  square.Load(in);
  // A gradient above 1e19 makes it infinite.
  for (const float v : square.block()) {
    if (!(v >= 0)) throw in.Wrong(fmt::format("expected averages of squares, found {}", v));
  }
  if (mean_ != nullptr) {
    Parameters mean(plan_);
    mean.Load(in);
    if (!mean.AllFinite()) throw in.Wrong("expected finite averages of gradients");
    *mean_ = std::move(mean);
  }
  square_ = std::move(square);
  steps_ = steps;
}

}  // namespace stableaa
