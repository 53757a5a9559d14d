#include "stableaa/nn/reference_network.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "stableaa/nn/backends.h"
#include "stableaa/nn/parameters.h"

namespace stableaa {
namespace {

std::size_t Size(int n) { return static_cast<std::size_t>(n); }
std::size_t Size(const Shape& shape) { return Size(shape.size()); }

std::size_t Weights(const PlanStep& step) { return Size(step.out.channels) * Size(step.fan_in); }
std::size_t Biases(const PlanStep& step) { return Size(step.out.channels); }

// Calls visit(weight, input, output) for each weight of a convolution and each row of outputs that
// uses it: output + c uses input + c · stride, for c below the outputs' width.
template <typename Visit>
void ForEachWeightAndRow(const PlanStep& step, const Visit& visit) {
  const std::size_t in_height = Size(step.in.height);
  const std::size_t in_width = Size(step.in.width);
  const std::size_t out_height = Size(step.out.height);
  const std::size_t out_width = Size(step.out.width);
  const std::size_t kernel = Size(step.kernel);
  std::size_t weight = 0;
  for (std::size_t o = 0; o < Size(step.out.channels); ++o) {
    for (std::size_t i = 0; i < Size(step.in.channels); ++i) {
      for (std::size_t p = 0; p < kernel; ++p) {
        for (std::size_t q = 0; q < kernel; ++q, ++weight) {
          for (std::size_t r = 0; r < out_height; ++r) {
            visit(weight, (i * in_height + r * Size(step.stride) + p) * in_width + q,
                  (o * out_height + r) * out_width);
          }
        }
      }
    }
  }
}

// Below, x is a step's input, y its output, w its weights and b its biases; dx stands for dL/dx and
// so on. Backward passes add to their results: a value can be read by two streams, and a
// parameter's gradient is a sum over samples.

// One sample.
template <typename T>
void ConvolutionForward(const PlanStep& step, const T* x, const T* w, const T* b, T* y) {
  const std::size_t width = Size(step.out.width);
  const std::size_t stride = Size(step.stride);
  const std::size_t pixels = Size(step.out.height) * width;
  for (std::size_t o = 0; o < Size(step.out.channels); ++o)
    std::fill_n(y + o * pixels, pixels, b[o]);
  ForEachWeightAndRow(step, [&](std::size_t weight, std::size_t input, std::size_t output) {
    for (std::size_t c = 0; c < width; ++c) y[output + c] += w[weight] * x[input + c * stride];
  });
}

// One sample.
template <typename T>
void ConvolutionBackward(const PlanStep& step, const T* x, const T* w, const T* dy, T* dx, T* dw,
                         T* db) {
  const std::size_t width = Size(step.out.width);
  const std::size_t stride = Size(step.stride);
  const std::size_t pixels = Size(step.out.height) * width;
  for (std::size_t i = 0; i < Size(step.out); ++i) db[i / pixels] += dy[i];
  ForEachWeightAndRow(step, [&](std::size_t weight, std::size_t input, std::size_t output) {
    T sum = 0;
    for (std::size_t c = 0; c < width; ++c) {
      sum += dy[output + c] * x[input + c * stride];
      dx[input + c * stride] += dy[output + c] * w[weight];
    }
    dw[weight] += sum;
  });
}

// Handles all samples, so that each row of weights is read from memory only once.
template <typename T>
void LinearForward(const PlanStep& step, std::size_t samples, const T* x, const T* w, const T* b,
                   T* y) {
  const std::size_t outputs = Size(step.out.channels);
  const std::size_t inputs = Size(step.fan_in);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t n = 0; n < samples; ++n) {
      T sum = b[o];
      for (std::size_t k = 0; k < inputs; ++k) sum += w[o * inputs + k] * x[n * inputs + k];
      y[n * outputs + o] = sum;
    }
  }
}

template <typename T>
void LinearBackward(const PlanStep& step, std::size_t samples, const T* x, const T* w, const T* dy,
                    T* dx, T* dw, T* db) {
  const std::size_t outputs = Size(step.out.channels);
  const std::size_t inputs = Size(step.fan_in);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t n = 0; n < samples; ++n) {
      const T gradient = dy[n * outputs + o];
      db[o] += gradient;
      for (std::size_t k = 0; k < inputs; ++k) {
        dw[o * inputs + k] += gradient * x[n * inputs + k];
        dx[n * inputs + k] += gradient * w[o * inputs + k];
      }
    }
  }
}

// One sample.
template <typename T>
void DuelingForward(std::size_t actions, const T* advantages, T value, T* q) {
  T sum = 0;
  for (std::size_t a = 0; a < actions; ++a) sum += advantages[a];
  const T mean = sum / static_cast<T>(actions);
  for (std::size_t a = 0; a < actions; ++a) q[a] = value + advantages[a] - mean;
}

// One sample.
template <typename T>
void DuelingBackward(std::size_t actions, const T* dq, T* d_advantages, T& d_value) {
  T sum = 0;
  for (std::size_t a = 0; a < actions; ++a) sum += dq[a];
  const T mean = sum / static_cast<T>(actions);
  for (std::size_t a = 0; a < actions; ++a) d_advantages[a] += dq[a] - mean;
  d_value += sum;
}

// NaN takes the branch that keeps it.
template <typename T>
T Activate(Activation activation, T x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x <= 0 ? T{0} : x;
    case Activation::kElu:
      return x > 0 ? x : std::expm1(x);
    case Activation::kTanh:
      return std::tanh(x);
  }
  return x;
}

// dL/dx from dL/dy and y = Activate(activation, x), which says as much as x. Zero for relu at 0.
template <typename T>
T ActivateBackward(Activation activation, T y, T dy) {
  switch (activation) {
    case Activation::kNone:
      return dy;
    case Activation::kRelu:
      return y <= 0 ? T{0} : dy;
    case Activation::kElu:
      return y > 0 ? dy : dy * (y + 1);
    case Activation::kTanh:
      return dy * (1 - y * y);
  }
  return dy;
}

}  // namespace

template <typename T>
ReferenceNetwork<T>::ReferenceNetwork(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)), values_(plan_->values.size()), gradients_(plan_->values.size()) {
  for (const PlanStep& step : plan_->steps) {
    first_parameter_.push_back(parameters_);
    if (step.has_parameters()) parameters_ += Weights(step) + Biases(step);
  }
}

template <typename T>
void ReferenceNetwork<T>::Forward(std::span<const T> parameters, const NetworkInput& input,
                                  std::span<T> outputs) {
  ReadInput(input);
  for (std::size_t i = 0; i < plan_->steps.size(); ++i) {
    ForwardStep(plan_->steps[i], parameters.subspan(first_parameter_[i]));
  }
  std::ranges::copy(values_.back(), outputs.begin());
}

template <typename T>
void ReferenceNetwork<T>::Backward(std::span<const T> parameters,
                                   std::span<const T> output_gradients, std::span<T> gradients) {
  std::ranges::fill(gradients, T{0});
  for (std::size_t i = 0; i < values_.size(); ++i) gradients_[i].assign(values_[i].size(), T{0});
  std::ranges::copy(output_gradients, gradients_.back().begin());
  for (std::size_t i = plan_->steps.size(); i-- > 0;) {
    BackwardStep(plan_->steps[i], parameters.subspan(first_parameter_[i]),
                 gradients.subspan(first_parameter_[i]));
  }
}

template <typename T>
void ReferenceNetwork<T>::ReadInput(const NetworkInput& input) {
  count_ = Size(input.count);
  Values& values = values_[0];
  const Shape& shape = plan_->values[0];
  const std::size_t pixels = Size(shape.height) * Size(shape.width);
  const auto divisor = static_cast<T>(plan_->spec.input.divisor);
  values.clear();
  const auto take = [&](std::span<const float> numbers) {
    for (const float x : numbers) values.push_back(static_cast<T>(x) / divisor);
  };
  if (input.second_vectors.empty()) {
    take(input.vectors);
  } else {
    const std::size_t first = input.vectors.size() / count_;
    const std::size_t second = input.second_vectors.size() / count_;
    for (std::size_t n = 0; n < count_; ++n) {
      take(input.vectors.subspan(n * first, first));
      take(input.second_vectors.subspan(n * second, second));
    }
  }
  for (const std::uint8_t* const frame : input.frames) {
    for (std::size_t i = 0; i < pixels; ++i) values.push_back(static_cast<T>(frame[i]) / divisor);
  }
}

template <typename T>
void ReferenceNetwork<T>::ForwardStep(const PlanStep& step, std::span<const T> parameters) {
  const T* const x = values_[Size(step.input)].data();
  const T* const w = parameters.data();
  Values& y = values_[Size(step.output)];
  y.resize(count_ * Size(step.out));
  switch (step.operation) {
    case Operation::kConvolution:
      for (std::size_t n = 0; n < count_; ++n) {
        ConvolutionForward(step, x + n * Size(step.in), w, w + Weights(step),
                           y.data() + n * Size(step.out));
      }
      break;
    case Operation::kLinear:
      LinearForward(step, count_, x, w, w + Weights(step), y.data());
      break;
    case Operation::kDueling:
      for (std::size_t n = 0; n < count_; ++n) {
        DuelingForward(Size(step.out), x + n * Size(step.out), values_[Size(step.value_input)][n],
                       y.data() + n * Size(step.out));
      }
      break;
  }
  for (T& value : y) value = Activate(step.activation, value);
}

template <typename T>
void ReferenceNetwork<T>::BackwardStep(const PlanStep& step, std::span<const T> parameters,
                                       std::span<T> gradients) {
  const Values& y = values_[Size(step.output)];
  Values& dy = gradients_[Size(step.output)];
  for (std::size_t i = 0; i < y.size(); ++i) {
    dy[i] = ActivateBackward(step.activation, y[i], dy[i]);
  }
  const T* const x = values_[Size(step.input)].data();
  T* const dx = gradients_[Size(step.input)].data();
  const T* const w = parameters.data();
  T* const dw = gradients.data();
  switch (step.operation) {
    case Operation::kConvolution:
      for (std::size_t n = 0; n < count_; ++n) {
        ConvolutionBackward(step, x + n * Size(step.in), w, dy.data() + n * Size(step.out),
                            dx + n * Size(step.in), dw, dw + Weights(step));
      }
      break;
    case Operation::kLinear:
      LinearBackward(step, count_, x, w, dy.data(), dx, dw, dw + Weights(step));
      break;
    case Operation::kDueling:
      for (std::size_t n = 0; n < count_; ++n) {
        DuelingBackward(Size(step.out), dy.data() + n * Size(step.out), dx + n * Size(step.out),
                        gradients_[Size(step.value_input)][n]);
      }
      break;
  }
}

template class ReferenceNetwork<float>;
template class ReferenceNetwork<double>;

namespace {

// In double; converts parameters on the way in and out. Always uses one thread, whatever the
// options say.
class ReferenceBackend : public Network {
 public:
  ReferenceBackend(std::shared_ptr<const Plan> shared_plan, const NetworkOptions& options)
      : Network(shared_plan, options),
        network_(std::move(shared_plan)),
        tensors_(ParameterTensors(plan())),
        parameters_(network_.parameters()),
        gradients_(network_.parameters()) {}

 protected:
  void RunForward(const Parameters& parameters, const NetworkInput& input,
                  std::span<float> outputs) override {
    ReadParameters(parameters);
    outputs_.resize(outputs.size());
    network_.Forward(parameters_, input, outputs_);
    std::ranges::transform(outputs_, outputs.begin(), ToFloat);
  }

  void RunBackward(const Parameters& parameters, int /*count*/,
                   std::span<const float> output_gradients, Parameters& gradients) override {
    RunBackward(parameters, output_gradients);
    WriteGradients(gradients);
  }

  void RunBackwardToInput(const Parameters& parameters, int count,
                          std::span<const float> output_gradients, int part,
                          std::span<float> input_gradients) override {
    RunBackward(parameters, output_gradients);
    const InputSpec& input = plan().spec.input;
    const std::span<const double> whole = network_.input_gradients();
    const std::size_t stride = Size(input.shape);
    const std::size_t size = Size(input.part_size(part));
    const std::size_t first = part == 0 ? 0 : stride - size;
    for (std::size_t n = 0; n < Size(count); ++n) {
      std::ranges::transform(whole.subspan(n * stride + first, size),
                             input_gradients.begin() + static_cast<std::ptrdiff_t>(n * size),
                             ToFloat);
    }
  }

 private:
  static float ToFloat(double value) { return static_cast<float>(value); }

  void RunBackward(const Parameters& parameters, std::span<const float> output_gradients) {
    ReadParameters(parameters);
    outputs_.assign(output_gradients.begin(), output_gradients.end());
    network_.Backward(parameters_, outputs_, gradients_);
  }

  void ReadParameters(const Parameters& parameters) {
    auto next = parameters_.begin();
    for (const ParameterTensor& tensor : tensors_) {
      values_.resize(tensor.size());
      parameters.Get(tensor, values_);
      next = std::ranges::copy(values_, next).out;
    }
  }

  void WriteGradients(Parameters& gradients) {
    std::ranges::fill(gradients.block(), 0.0F);  // the padding too
    auto next = gradients_.begin();
    for (const ParameterTensor& tensor : tensors_) {
      values_.resize(tensor.size());
      for (float& value : values_) value = ToFloat(*next++);
      gradients.Set(tensor, values_);
    }
  }

  ReferenceNetwork<double> network_;
  std::vector<ParameterTensor> tensors_;
  std::vector<double> parameters_;
  std::vector<double> gradients_;
  std::vector<double> outputs_;
  std::vector<float> values_;  // of one tensor
};

}  // namespace

std::unique_ptr<Network> MakeReferenceNetwork(std::shared_ptr<const Plan> plan,
                                              const NetworkOptions& options) {
  return std::make_unique<ReferenceBackend>(std::move(plan), options);
}

}  // namespace stableaa
