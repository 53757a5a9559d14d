#include "stableaa/nn/native/native_linear.h"

#include <algorithm>
#include <span>

namespace stableaa {

LinearLanes::LinearLanes(const Plan& plan, const NativeValues& values)
    : inputs_(plan.values.size()), has_input_(plan.values.size()) {
  if (!values.training()) return;
  std::ptrdiff_t largest = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.operation != Operation::kLinear) continue;
    const std::ptrdiff_t in = step.in.size();
    AlignedBuffer& lanes = inputs_[static_cast<std::size_t>(step.input)];
    if (lanes.size() == 0) lanes = AlignedBuffer(static_cast<std::size_t>(values.samples() * in));
    largest = std::max<std::ptrdiff_t>({largest, in, PanelCount(step.out.channels) * kPanelSize});
  }
  output_gradient_ = AlignedBuffer(static_cast<std::size_t>(values.samples() * largest));
  input_gradient_ = AlignedBuffer(static_cast<std::size_t>(values.samples() * largest));
}

void LinearLanes::Forget() { std::ranges::fill(has_input_, char{0}); }

NativeLinear::NativeLinear(const PlanStep& step, const GradientOrder& order, NativeValues& values,
                           LinearLanes& lanes)
    : kernels_(BestKernels()),
      step_(step),
      order_(order),
      values_(values),
      lanes_(lanes),
      activation_(step, values) {
  for (std::ptrdiff_t n = 0; n < values.batch(); ++n) {
    in_rows_.push_back(n * step.fan_in);
    out_rows_.push_back(n * step.out.channels);
  }
  for (std::ptrdiff_t k = 0; values.training() && k < step.fan_in; ++k) {
    panel_rows_.push_back(k * kPanelSize);
  }
}

void NativeLinear::Forward(const NativeForward& pass) {
  const int count = pass.input.count;
  const int outputs = step_.out.channels;
  const auto [first, last] = pass.worker.Share(static_cast<int>(PanelCount(outputs)));
  if (first == last) return;
  const float* const block = pass.parameters.block().data();
  PanelProduct product;
  product.a = values_.Value(step_.input);
  product.a_rows = in_rows_.data();
  product.b_panel = step_.fan_in * kPanelSize;
  product.b = block + step_.weight + first * product.b_panel;
  product.c = values_.Value(step_.output) + first * kPanelSize;
  product.c_rows = out_rows_.data();
  product.rows = count;
  product.columns = std::min(outputs, last * kPanel) - first * kPanel;
  product.inner = step_.fan_in;
  product.bias = block + step_.bias + first * kPanelSize;
  product.relu = activation_.is_relu();
  kernels_.multiply(product);
  for (int n = 0; n < count; ++n) {
    activation_.ApplySmooth(
        {product.c + std::ptrdiff_t{n} * outputs, static_cast<std::size_t>(product.columns)});
  }
}

void NativeLinear::Backward(const NativeBackward& pass) {
  if (!order_.output_is_complete) activation_.Backward(pass.count, pass.worker);
  TurnSamples(pass);
  if (pass.gradients != nullptr) {
    if (pass.worker.index == 0) BackwardBias(pass);
    BackwardWeights(pass);
  }
  if (step_.input > 0) {
    BackwardInput(pass, {.to = values_.Gradient(step_.input), .size = step_.fan_in});
  } else if (pass.input.to != nullptr) {
    BackwardInput(pass, pass.input);
  }
}

// Puts samples into lanes: the input's for the gradient of the weights, and the output gradient's
// for the gradient of the input.
void NativeLinear::TurnSamples(const NativeBackward& pass) {
  const bool turns_input = pass.gradients != nullptr && !lanes_.has_input(step_.input);
  const std::ptrdiff_t in = step_.fan_in;
  const std::ptrdiff_t out = step_.out.channels;
  const std::ptrdiff_t padded = PanelCount(out) * kPanelSize;
  const auto [first, last] = pass.worker.Share(static_cast<int>(PanelCount(pass.count)));
  for (std::ptrdiff_t g = first; g < last; ++g) {
    const int rows = static_cast<int>(std::min(kPanelSize, pass.count - g * kPanelSize));
    if (turns_input) {
      kernels_.to_lanes(values_.Value(step_.input) + g * kPanelSize * in, in, rows, in,
                        lanes_.input(step_.input) + g * in * kPanelSize);
    }
    float* const turned = lanes_.output_gradient() + g * padded * kPanelSize;
    float* const gradient = values_.Gradient(step_.output) + g * kPanelSize * out;
    kernels_.to_lanes(gradient, out, rows, out, turned);
    std::fill(turned + out * kPanelSize, turned + padded * kPanelSize, 0.0F);
    // Leftovers from earlier batches in the rest of the last group must not spread.
    std::fill(gradient + rows * out, gradient + kPanelSize * out, 0.0F);
  }
  pass.worker.Wait();
  if (turns_input && pass.worker.index == 0) lanes_.set_has_input(step_.input);
}

void NativeLinear::BackwardBias(const NativeBackward& pass) {
  const std::ptrdiff_t outputs = step_.out.channels;
  const float* const gradient = values_.Gradient(step_.output);
  float* const bias = pass.gradients->block().data() + step_.bias;
  std::fill_n(bias, outputs, 0.0F);
  for (std::ptrdiff_t n = 0; n < pass.count; ++n) {
    for (std::ptrdiff_t o = 0; o < outputs; ++o) bias[o] += gradient[n * outputs + o];
  }
}

void NativeLinear::BackwardWeights(const NativeBackward& pass) {
  const std::ptrdiff_t outputs = step_.out.channels;
  const auto [first, last] = pass.worker.Share(step_.fan_in);
  PanelProduct product;
  product.a = lanes_.input(step_.input) + first * kPanelSize;
  product.a_rows = panel_rows_.data();
  product.a_outer = step_.fan_in * kPanelSize;
  product.b = values_.Gradient(step_.output);
  product.b_panel = kPanelSize;
  product.b_outer = outputs * kPanelSize;
  product.b_inner = outputs;
  product.c = pass.gradients->block().data() + step_.weight + first * kPanelSize;
  product.c_rows = panel_rows_.data();
  product.c_panel = step_.fan_in * kPanelSize;
  product.rows = last - first;
  product.columns = step_.out.channels;
  product.outer = static_cast<int>(PanelCount(pass.count));
  product.inner = kPanel;
  kernels_.multiply(product);
}

void NativeLinear::BackwardInput(const NativeBackward& pass, const InputGradient& gradient) {
  const std::ptrdiff_t in = step_.fan_in;
  const std::ptrdiff_t groups = PanelCount(pass.count);
  const auto [begin, end] = pass.worker.Share(gradient.size);
  const int first = gradient.first + begin;
  const int last = gradient.first + end;
  PanelProduct product;
  product.a = pass.parameters.block().data() + step_.weight + first * kPanelSize;
  product.a_rows = panel_rows_.data();
  product.a_outer = in * kPanelSize;
  product.b = lanes_.output_gradient();
  product.b_panel = PanelCount(step_.out.channels) * kPanelSize * kPanelSize;
  product.b_outer = kPanelSize * kPanelSize;
  product.c = lanes_.input_gradient() + first * kPanelSize;
  product.c_rows = panel_rows_.data();
  product.c_panel = in * kPanelSize;
  product.rows = last - first;
  product.columns = static_cast<int>(groups * kPanelSize);
  product.outer = static_cast<int>(PanelCount(step_.out.channels));
  product.inner = std::min(kPanel, step_.out.channels);
  product.rows_first = true;
  kernels_.multiply(product);

  for (std::ptrdiff_t g = 0; g < groups; ++g) {
    const int rows = static_cast<int>(std::min(kPanelSize, pass.count - g * kPanelSize));
    kernels_.from_lanes(product.c + g * product.c_panel, rows, last - first, !order_.sets_input,
                        gradient.to + g * kPanelSize * gradient.size + begin, gradient.size);
  }
}

}  // namespace stableaa
