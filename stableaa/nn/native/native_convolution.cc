#include "stableaa/nn/native/native_convolution.h"

#include <algorithm>
#include <span>

namespace stableaa {

NativeConvolution::NativeConvolution(const PlanStep& step, const GradientOrder& order,
                                     NativeValues& values, PackedGradients& packed)
    : kernels_(BestKernels()),
      step_(step),
      order_(order),
      values_(values),
      activation_(step, values) {
  for (int y = 0; y < step.out.height; ++y) {
    for (int x = 0; x < step.out.width; ++x) {
      const std::ptrdiff_t corner = std::ptrdiff_t{y} * step.in.width + x;
      in_rows_.push_back(corner * step.stride * step.in.channels);
      out_rows_.push_back((std::ptrdiff_t{y} * step.out.width + x) * step.out.channels);
    }
  }
  if (!values.training()) return;
  weight_gradients_.emplace(step, in_rows_, values, packed);
  if (order.completes != nullptr) completed_.emplace(*order.completes, values);
  if (step.input > 0) {
    turned_weights_ = AlignedBuffer(
        static_cast<std::size_t>(step.kernel * PanelCount(run()) * step.out.channels * kPanelSize));
  }
}

void NativeConvolution::ForwardSample(const Parameters& parameters, int sample,
                                      const NativeWorker& worker) const {
  float* const out = values_.ValueAt(step_.output, sample, worker);
  PanelProduct product;
  product.a = values_.ValueAt(step_.input, sample, worker);
  product.a_rows = in_rows_.data();
  product.a_outer = std::ptrdiff_t{step_.in.width} * step_.in.channels;
  product.b = parameters.block().data() + step_.weight;
  product.b_panel = step_.fan_in * kPanelSize;
  product.b_outer = run() * kPanelSize;
  product.c = out;
  product.c_rows = out_rows_.data();
  product.rows = static_cast<int>(out_rows_.size());
  product.columns = step_.out.channels;
  product.outer = step_.kernel;
  product.inner = run();
  product.bias = parameters.block().data() + step_.bias;
  product.relu = activation_.is_relu();
  kernels_.multiply(product);
  activation_.ApplySmooth({out, static_cast<std::size_t>(step_.out.size())});
}

void NativeConvolution::Backward(const NativeBackward& pass) {
  if (!order_.output_is_complete) activation_.Backward(pass.count, pass.worker);
  if (step_.input > 0) TurnWeights(pass);
  weight_gradients_->Run(pass);
  if (step_.input == 0) return;
  pass.worker.Wait();
  const auto [first, last] = pass.worker.Share(pass.count);
  for (int n = first; n < last; ++n) {
    if (order_.sets_input) {
      std::fill_n(values_.GradientAt(step_.input, n), step_.in.size(), 0.0F);
    }
    BackwardInput(n);
    if (completed_) completed_->BackwardSample(n);
  }
}

// Rearranges the weights, with a kernel row's inputs in lanes and one filter below another.
void NativeConvolution::TurnWeights(const NativeBackward& pass) {
  const std::ptrdiff_t filters = step_.out.channels;
  const float* const weights = pass.parameters.block().data() + step_.weight;
  const auto [first, last] = pass.worker.Share(step_.kernel);
  for (std::ptrdiff_t row = first; row < last; ++row) {
    for (std::ptrdiff_t o = 0; o < filters; o += kPanel) {
      const float* const panel = weights + (o * step_.fan_in + row * run() * kPanel);
      const auto lanes = static_cast<int>(std::min(kPanelSize, filters - o));
      for (std::ptrdiff_t r = 0; r < run(); r += kPanel) {
        float* const to = turned_weights_.data() +
                          (row * PanelCount(run()) + r / kPanel) * filters * kPanel + o * kPanel;
        kernels_.to_lanes(panel + r * kPanel, kPanel,
                          static_cast<int>(std::min(kPanelSize, run() - r)), lanes, to);
      }
    }
  }
}

void NativeConvolution::BackwardInput(int sample) {
  PanelProduct product;
  product.a = values_.GradientAt(step_.output, sample);
  product.a_rows = out_rows_.data();
  product.b_panel = step_.out.channels * kPanelSize;
  product.c_rows = in_rows_.data();
  product.rows = static_cast<int>(out_rows_.size());
  product.columns = run();
  product.inner = step_.out.channels;
  product.accumulate = true;
  for (int row = 0; row < step_.kernel; ++row) {
    product.b = turned_weights_.data() + row * PanelCount(run()) * step_.out.channels * kPanel;
    product.c = values_.GradientAt(step_.input, sample) +
                std::ptrdiff_t{row} * step_.in.width * step_.in.channels;
    kernels_.multiply(product);
  }
}

void NativeConvolutions::Forward(const NativeForward& pass) {
  const auto [first, last] = pass.worker.Share(pass.input.count);
  for (int n = first; n < last; ++n) {
    if (frames_ != nullptr) {
      frames_->LoadSample(pass.input, n, values_.ValueAt(0, n, pass.worker));
    }
    for (const auto& convolution : convolutions_) {
      convolution->ForwardSample(pass.parameters, n, pass.worker);
    }
  }
}

void NativeConvolutions::Backward(const NativeBackward& pass) {
  for (std::size_t i = convolutions_.size(); i-- > 0;) {
    convolutions_[i]->Backward(pass);
    if (i > 0) pass.worker.Wait();
  }
}

}  // namespace stableaa
