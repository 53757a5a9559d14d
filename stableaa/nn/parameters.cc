#include "stableaa/nn/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/nn/kernels.h"

namespace stableaa {
namespace {

// Calls visit(place) for each element of a tensor, in PyTorch's order.
template <typename Visit>
void ForEachPlace(const Plan& plan, const ParameterTensor& tensor, const Visit& visit) {
  const PlanStep& step = plan.steps[tensor.step];
  const auto outputs = static_cast<std::size_t>(step.out.channels);
  if (tensor.is_bias) {
    for (std::size_t o = 0; o < outputs; ++o) visit(step.bias + o);
    return;
  }
  const bool convolution = step.operation == Operation::kConvolution;
  const auto rows = static_cast<std::size_t>(convolution ? step.kernel : step.in.height);
  const auto columns = static_cast<std::size_t>(convolution ? step.kernel : step.in.width);
  const auto channels = static_cast<std::size_t>(step.in.channels);
  const auto fan_in = static_cast<std::size_t>(step.fan_in);
  for (std::size_t o = 0; o < outputs; ++o) {
    const std::size_t panel = step.weight + o / kPanel * fan_in * kPanel + o % kPanel;
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t pixel = 0; pixel < rows * columns; ++pixel) {
        visit(panel + (pixel * channels + c) * kPanel);
      }
    }
  }
}

ParameterTensor WeightOf(const Plan& plan, std::size_t index) {
  const PlanStep& step = plan.steps[index];
  std::vector<std::int64_t> shape = {step.out.channels};
  if (step.operation == Operation::kConvolution) {
    shape.insert(shape.end(), {step.in.channels, step.kernel, step.kernel});
  } else {
    shape.push_back(step.fan_in);
  }
  return {.name = step.name + ".weight", .shape = std::move(shape), .step = index};
}

ParameterTensor BiasOf(const Plan& plan, std::size_t index) {
  const PlanStep& step = plan.steps[index];
  return {
      .name = step.name + ".bias", .shape = {step.out.channels}, .step = index, .is_bias = true};
}

void Check(const Plan& plan, const ParameterTensor& tensor, std::size_t size) {
  if (size != tensor.size()) {
    throw BadInput(
        fmt::format("tensor {}: expected {} values, found {}", tensor.name, tensor.size(), size));
  }
  const bool known =
      tensor.step < plan.steps.size() && plan.steps[tensor.step].has_parameters() &&
      tensor == (tensor.is_bias ? BiasOf(plan, tensor.step) : WeightOf(plan, tensor.step));
  if (!known) throw BadInput(fmt::format("tensor {} is of another network", tensor.name));
}

}  // namespace

std::size_t ParameterTensor::size() const {
  std::size_t size = 1;
  for (const std::int64_t side : shape) size *= static_cast<std::size_t>(side);
  return size;
}

std::vector<ParameterTensor> ParameterTensors(const Plan& plan) {
  std::vector<ParameterTensor> tensors;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (!plan.steps[i].has_parameters()) continue;
    tensors.push_back(WeightOf(plan, i));
    tensors.push_back(BiasOf(plan, i));
  }
  return tensors;
}

std::int64_t ParameterCount(const Plan& plan) {
  std::int64_t count = 0;
  for (const ParameterTensor& tensor : ParameterTensors(plan)) {
    count += static_cast<std::int64_t>(tensor.size());
  }
  return count;
}

Parameters::Parameters(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)), block_(plan_->parameters) {}

void Parameters::CopyFrom(const Parameters& other) {
  if (!other.IsOf(*plan_)) {
    throw BadInput("parameters of another network cannot be copied");
  }
  std::memcpy(block_.data(), other.block_.data(), block_.size() * sizeof(float));
}

void Parameters::MoveTowards(const Parameters& other, double tau) {
  if (!(tau >= 0 && tau <= 1)) {
    throw BadInput(fmt::format("parameters: expected a tau of 0 to 1, found {}", tau));
  }
  if (!other.IsOf(*plan_)) {
    throw BadInput("parameters cannot move towards those of another network");
  }
  // Both would not be exact otherwise: x + (y − x) rounds, and 0 · ∞ is NaN.
  if (tau == 0 || &other == this) return;
  if (tau == 1) return CopyFrom(other);
  BestKernels().move_towards(other.block_.data(), static_cast<float>(tau),
                             static_cast<std::ptrdiff_t>(block_.size()), block_.data());
}

void Parameters::Initialise(RandomStream& random) {
  for (const ParameterTensor& tensor : ParameterTensors(*plan_)) {
    const double bound = 1 / std::sqrt(static_cast<double>(plan_->steps[tensor.step].fan_in));
    std::vector<float> values(tensor.size());
    random.FillUniform(values, static_cast<float>(-bound), static_cast<float>(bound));
    Set(tensor, values);
  }
}

void Parameters::Get(const ParameterTensor& tensor, std::span<float> values) const {
  Check(*plan_, tensor, values.size());
  float* next = values.data();
  ForEachPlace(*plan_, tensor, [&](std::size_t place) { *next++ = block_.data()[place]; });
}

void Parameters::Set(const ParameterTensor& tensor, std::span<const float> values) {
  Check(*plan_, tensor, values.size());
  const float* next = values.data();
  ForEachPlace(*plan_, tensor, [&](std::size_t place) { block_.data()[place] = *next++; });
}

void Parameters::Save(ByteWriter& out) const {
  for (const ParameterTensor& tensor : ParameterTensors(*plan_)) {
    std::vector<float> values(tensor.size());
    Get(tensor, values);
    out.F32s(values);
  }
}

void Parameters::Load(ByteReader& in) {
  Parameters loaded(plan_);
  for (const ParameterTensor& tensor : ParameterTensors(*plan_)) {
    std::vector<float> values(tensor.size());
    in.F32s(values);
    loaded.Set(tensor, values);
  }
  std::swap(block_, loaded.block_);
}

bool Parameters::AllFinite() const {
  return std::ranges::all_of(block(), [](float value) { return std::isfinite(value); });
}

}  // namespace stableaa
