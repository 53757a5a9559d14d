// Networks by oneDNN: its convolution and eltwise primitives, and its sgemm for linear steps.
//
// Values are stored by sample, row, column, channel (oneDNN: nhwc). In the forward pass sgemm uses
// the panels of a Parameters block (see parameters.h) as they are. Elsewhere they are copied to or
// from a plain matrix of K rows and N columns, which for a convolution is oneDNN's hwio. That is
// little for convolutions and done in cache-sized pieces for linear steps, where one sgemm over all
// outputs is faster than one per panel. oneDNN is never given a panel that pads N, because setting
// such a handle writes the padding, and another network may be using the parameters at the same
// time.
//
// oneDNN's relu turns NaN into 0, while PyTorch's passes it on.

#include <fmt/format.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/nn/aligned_buffer.h"
#include "stableaa/nn/onednn.h"
#include "stableaa/nn/openmp_threads.h"

namespace stableaa {
namespace {

using dnnl::memory;
using Index = std::int64_t;

// Shared by the steps of one network.
struct Context {
  int batch = 0;
  int threads = 1;
  bool training = true;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::vector<AlignedBuffer> values;  // batch × size, by Plan::values
  // Of the values; empty for inference and, unless it is wanted, for the input.
  std::vector<AlignedBuffer> gradients;

  float* value(int v) { return values[static_cast<std::size_t>(v)].data(); }
  float* gradient(int v) { return gradients[static_cast<std::size_t>(v)].data(); }
};

// Calls work(i), which returns a dnnl_status_t, for i in [0, n). Inside it, oneDNN's functions run
// on one thread.
template <typename Work>
void ParallelFor(int threads, Index n, const Work& work) {
  int worst = dnnl_success;
  if (threads == 1) {  // not an `if` clause, which would still pay for a team
    for (Index i = 0; i < n; ++i) worst = std::max<int>(worst, work(i));
  } else {
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : worst)
    for (Index i = 0; i < n; ++i) worst = std::max<int>(worst, work(i));
  }
  if (worst != dnnl_success) throw dnnl::error(static_cast<dnnl_status_t>(worst), "sgemm failed");
}

// ---- Panels ------------------------------------------------------------------------------------

Index PanelWidth(Index outputs, Index panel) {
  return std::min<Index>(kPanel, outputs - panel * kPanel);
}

// Copies the rows of a panel to columns [0, width) of a matrix.
void UnpackPanel(const float* panel, Index rows, Index width, float* matrix, Index stride) {
  for (Index k = 0; k < rows; ++k, panel += kPanel, matrix += stride) {
    if (width == kPanel) {  // a size known to the compiler: one cache line, no call
      std::memcpy(matrix, panel, kPanel * sizeof(float));
    } else {
      std::copy_n(panel, width, matrix);
    }
  }
}

// The inverse; pads with zeros.
void PackPanel(const float* matrix, Index stride, Index rows, Index width, float* panel) {
  for (Index k = 0; k < rows; ++k, panel += kPanel, matrix += stride) {
    if (width == kPanel) {
      std::memcpy(panel, matrix, kPanel * sizeof(float));
    } else {
      std::fill(std::copy_n(matrix, width, panel), panel + kPanel, 0.0F);
    }
  }
}

// ---- Primitives --------------------------------------------------------------------------------

// A primitive with its arguments; does nothing if default-constructed.
class Call {
 public:
  using Arguments = std::unordered_map<int, memory>;

  Call() = default;

  // `description` is the primitive's and must be made with Attributes().
  template <typename Description>
  Call(const Context& context, const Description& description, dnnl::primitive primitive,
       Arguments arguments)
      : primitive_(std::move(primitive)), arguments_(std::move(arguments)) {
    arguments_[DNNL_ARG_SCRATCHPAD] = memory(description.scratchpad_desc(), context.engine);
  }

  void Run(const Context& context) const {
    if (primitive_) primitive_.execute(context.stream, arguments_);
  }

 private:
  dnnl::primitive primitive_;
  Arguments arguments_;
};

// The library's own scratchpad belongs to the thread that made a primitive and is shared with
// others made there, so networks on different threads could collide in it.
dnnl::primitive_attr Attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// The variants whose derivative needs only the result, which can then replace the argument.
dnnl::algorithm ActivationAlgorithm(Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
    case Activation::kElu:
      return dnnl::algorithm::eltwise_elu_use_dst_for_bwd;
    case Activation::kTanh:
      return dnnl::algorithm::eltwise_tanh_use_dst_for_bwd;
    case Activation::kNone:
      break;
  }
  return dnnl::algorithm::undef;
}

float ActivationAlpha(Activation activation) { return activation == Activation::kElu ? 1.0F : 0; }

dnnl::prop_kind Kind(const Context& context) {
  return context.training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
}

memory::desc Describe(const memory::dims& sides, memory::format_tag tag) {
  return {sides, memory::data_type::f32, tag};
}

// ---- Steps -------------------------------------------------------------------------------------

// Each reads and writes the context's values. `block` and `gradients` are Parameters blocks.
class Step {
 public:
  virtual ~Step() = default;
  virtual void Forward(const float* block, int count) = 0;
  // Computes the gradients of the parameters and of the input value from that of the output value,
  // which it may overwrite.
  virtual void Backward(const float* block, int count, float* gradients) = 0;
  // Computes only the gradient of the input value, even if that is the network's input. Only for
  // networks of vectors, which have no convolutions.
  virtual void BackwardToInput(const float* /*block*/, int /*count*/) {}
};

// Applies an activation to a value, and its derivative to the value's gradient, both in place.
class ActivationCalls {
 public:
  ActivationCalls(Context& context, const PlanStep& step) {
    if (step.activation == Activation::kNone) return;
    const auto algorithm = ActivationAlgorithm(step.activation);
    const float alpha = ActivationAlpha(step.activation);
    const auto data = Describe({context.batch, step.out.size()}, memory::format_tag::ab);
    const memory value(data, context.engine, context.value(step.output));
    const dnnl::eltwise_forward::primitive_desc forward(
        {Kind(context), algorithm, data, alpha, 0.0F}, Attributes(), context.engine);
    forward_ = Call(context, forward, dnnl::eltwise_forward(forward),
                    {{DNNL_ARG_SRC, value}, {DNNL_ARG_DST, value}});
    if (!context.training) return;
    const memory gradient(data, context.engine, context.gradient(step.output));
    const dnnl::eltwise_backward::primitive_desc backward({algorithm, data, data, alpha, 0.0F},
                                                          Attributes(), context.engine, forward);
    backward_ =
        Call(context, backward, dnnl::eltwise_backward(backward),
             {{DNNL_ARG_DST, value}, {DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_DIFF_SRC, gradient}});
  }

  void Forward(const Context& context) const { forward_.Run(context); }
  void Backward(const Context& context) const { backward_.Run(context); }

 private:
  Call forward_;
  Call backward_;
};

// A convolution with its activation fused. The primitives choose the layout of their weights.
class ConvolutionStep : public Step {
 public:
  // accumulate: another step has already begun the gradient of the input value.
  ConvolutionStep(Context& context, const PlanStep& step, bool accumulate)
      : context_(context),
        step_(step),
        accumulate_(accumulate),
        source_(Describe({context.batch, step.in.channels, step.in.height, step.in.width}, kValue)),
        result_(
            Describe({context.batch, step.out.channels, step.out.height, step.out.width}, kValue)),
        matrix_(Describe(WeightSides(), memory::format_tag::hwio), context.engine),
        bias_(Describe({step.out.channels}, memory::format_tag::x), context.engine, nullptr),
        activation_(context, step) {
    const auto forward = MakeForward();
    if (!context.training) return;
    MakeBackwardWeights(forward);
    if (step.input > 0) MakeBackwardData(forward);
  }

  void Forward(const float* block, int /*count*/) override {
    const float* const panels = block + step_.weight;
    float* const matrix = static_cast<float*>(matrix_.get_data_handle());
    ForEachPanel([&](Index p, Index width) {
      UnpackPanel(panels + p * step_.fan_in * kPanel, step_.fan_in, width, matrix + p * kPanel,
                  step_.out.channels);
    });
    bias_.set_data_handle(const_cast<float*>(block + step_.bias));  // this primitive only reads it
    order_for_forward_.Run(context_);
    forward_.Run(context_);
  }

  void Backward(const float* /*block*/, int /*count*/, float* gradients) override {
    activation_.Backward(context_);
    bias_gradient_.set_data_handle(gradients + step_.bias);
    std::fill_n(gradients + step_.bias, PanelCount(step_.out.channels) * kPanel, 0.0F);
    backward_weights_.Run(context_);
    order_gradient_.Run(context_);
    float* const panels = gradients + step_.weight;
    const float* const matrix = static_cast<const float*>(matrix_gradient_.get_data_handle());
    ForEachPanel([&](Index p, Index width) {
      PackPanel(matrix + p * kPanel, step_.out.channels, step_.fan_in, width,
                panels + p * step_.fan_in * kPanel);
    });
    if (step_.input > 0) BackwardData();
  }

 private:
  static constexpr memory::format_tag kValue = memory::format_tag::nhwc;

  memory::dims WeightSides() const {
    return {step_.out.channels, step_.in.channels, step_.kernel, step_.kernel};
  }
  // Lets oneDNN choose the order, except for strided 1×1 kernels: oneDNN 2.6's special code for
  // them overruns its scratch memory in the weights' gradient. It does not accept plain weights.
  memory::desc AnyWeights() const {
    const bool is_broken = step_.kernel == 1 && step_.stride > 1;
    return Describe(WeightSides(), is_broken ? memory::format_tag::hwio : memory::format_tag::any);
  }
  static memory::dims NoPadding() { return {0, 0}; }
  memory::dims Strides() const { return {step_.stride, step_.stride}; }

  template <typename Work>
  void ForEachPanel(const Work& work) const {
    const Index outputs = step_.out.channels;
    ParallelFor(context_.threads, PanelCount(outputs), [&](Index p) {
      work(p, PanelWidth(outputs, p));
      return dnnl_success;
    });
  }

  dnnl::convolution_forward::primitive_desc MakeForward() {
    dnnl::primitive_attr attributes = Attributes();
    if (step_.activation != Activation::kNone) {
      dnnl::post_ops fused;
      fused.append_eltwise(1.0F, ActivationAlgorithm(step_.activation),
                           ActivationAlpha(step_.activation), 0.0F);
      attributes.set_post_ops(fused);
    }
    dnnl::convolution_forward::primitive_desc description(
        {Kind(context_), dnnl::algorithm::convolution_direct, source_, AnyWeights(),
         bias_.get_desc(), result_, Strides(), NoPadding(), NoPadding()},
        attributes, context_.engine);
    const memory weights = OrderedWeights(description.weights_desc(), &order_for_forward_);
    forward_ = Call(context_, description, dnnl::convolution_forward(description),
                    {{DNNL_ARG_SRC, InputValue()},
                     {DNNL_ARG_WEIGHTS, weights},
                     {DNNL_ARG_BIAS, bias_},
                     {DNNL_ARG_DST, OutputValue()}});
    return description;
  }

  void MakeBackwardWeights(const dnnl::convolution_forward::primitive_desc& forward) {
    const dnnl::convolution_backward_weights::primitive_desc description(
        {dnnl::algorithm::convolution_direct, source_, AnyWeights(), bias_.get_desc(), result_,
         Strides(), NoPadding(), NoPadding()},
        Attributes(), context_.engine, forward);
    bias_gradient_ = memory(bias_.get_desc(), context_.engine, nullptr);
    matrix_gradient_ = memory(matrix_.get_desc(), context_.engine);
    memory gradient = matrix_gradient_;
    if (description.diff_weights_desc() != matrix_.get_desc()) {
      gradient = memory(description.diff_weights_desc(), context_.engine);
      order_gradient_ = MakeReorder(gradient, matrix_gradient_);
    }
    backward_weights_ = Call(context_, description, dnnl::convolution_backward_weights(description),
                             {{DNNL_ARG_SRC, InputValue()},
                              {DNNL_ARG_DIFF_DST, OutputGradient()},
                              {DNNL_ARG_DIFF_WEIGHTS, gradient},
                              {DNNL_ARG_DIFF_BIAS, bias_gradient_}});
  }

  void MakeBackwardData(const dnnl::convolution_forward::primitive_desc& forward) {
    const dnnl::convolution_backward_data::primitive_desc description(
        {dnnl::algorithm::convolution_direct, source_, AnyWeights(), result_, Strides(),
         NoPadding(), NoPadding()},
        Attributes(), context_.engine, forward);
    float* into = context_.gradient(step_.input);
    if (accumulate_) {
      summand_ = AlignedBuffer(context_.values[static_cast<std::size_t>(step_.input)].size());
      into = summand_.data();
    }
    const memory weights = OrderedWeights(description.weights_desc(), &order_for_backward_);
    backward_data_ = Call(context_, description, dnnl::convolution_backward_data(description),
                          {{DNNL_ARG_DIFF_SRC, memory(source_, context_.engine, into)},
                           {DNNL_ARG_WEIGHTS, weights},
                           {DNNL_ARG_DIFF_DST, OutputGradient()}});
  }

  // Uses the weights that Forward unpacked: they have not changed since.
  void BackwardData() {
    order_for_backward_.Run(context_);
    backward_data_.Run(context_);
    float* const sum = context_.gradient(step_.input);
    for (std::size_t i = 0; i < summand_.size(); ++i) sum[i] += summand_.data()[i];
  }

  // The unpacked weights, or, if a primitive wants them in another order, a copy that `order`
  // makes.
  memory OrderedWeights(const memory::desc& wanted, Call* order) const {
    if (wanted == matrix_.get_desc()) return matrix_;
    memory ordered(wanted, context_.engine);
    *order = MakeReorder(matrix_, ordered);
    return ordered;
  }

  Call MakeReorder(const memory& from, const memory& to) const {
    const dnnl::reorder::primitive_desc description(from, to, Attributes());
    return Call(context_, description, dnnl::reorder(description),
                {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  }

  memory InputValue() const {
    return memory(source_, context_.engine, context_.value(step_.input));
  }
  memory OutputValue() const {
    return memory(result_, context_.engine, context_.value(step_.output));
  }
  memory OutputGradient() const {
    return memory(result_, context_.engine, context_.gradient(step_.output));
  }

  Context& context_;
  const PlanStep& step_;
  bool accumulate_;
  memory::desc source_, result_;
  memory matrix_, matrix_gradient_;  // weights in order hwio, and their gradient
  memory bias_, bias_gradient_;      // in the block of the call
  AlignedBuffer summand_;            // to the input value's gradient, if it accumulates
  ActivationCalls activation_;       // only the backward pass; forward is fused
  Call order_for_forward_, forward_;
  Call backward_weights_, order_gradient_;
  Call order_for_backward_, backward_data_;
};

// Y = X · Wᵀ + b by sgemm, over the actual samples.
class LinearStep : public Step {
 public:
  LinearStep(Context& context, const PlanStep& step, bool accumulate)
      : context_(context), step_(step), accumulate_(accumulate), activation_(context, step) {
    if (!context.training) return;
    // Pieces of the weights' rows that stay in cache, at least one per thread.
    piece_ = std::clamp<Index>((Inputs() + context.threads - 1) / context.threads, 1, kMostRows);
    for (int t = 0; t < context.threads; ++t) {
      pieces_.emplace_back(static_cast<std::size_t>(piece_ * Outputs()));
    }
  }

  void Forward(const float* block, int count) override {
    const float* const x = context_.value(step_.input);
    float* const y = context_.value(step_.output);
    const float* const bias = block + step_.bias;
    for (Index n = 0; n < count; ++n) std::copy_n(bias, Outputs(), y + n * Outputs());
    const Index panels = PanelCount(Outputs());
    // With few panels, threads are better used inside each sgemm.
    const int threads = panels < context_.threads ? 1 : context_.threads;
    ParallelFor(threads, panels, [&](Index p) {
      return dnnl_sgemm('N', 'N', count, PanelWidth(Outputs(), p), Inputs(), 1, x, Inputs(),
                        block + step_.weight + static_cast<std::size_t>(p * Inputs() * kPanel),
                        kPanel, 1, y + p * kPanel, Outputs());
    });
    activation_.Forward(context_);
  }

  void Backward(const float* block, int count, float* gradients) override {
    activation_.Backward(context_);
    BackwardBias(count, gradients + step_.bias);
    ForEachPiece([&](Index from, Index rows, float* piece) {
      return BackwardWeights(count, from, rows, piece, gradients + step_.weight);
    });
    if (step_.input > 0) BackwardInput(block, count);
  }

  void BackwardToInput(const float* block, int count) override {
    activation_.Backward(context_);
    BackwardInput(block, count);
  }

 private:
  static constexpr Index kMostRows = 512;

  Index Inputs() const { return step_.fan_in; }
  Index Outputs() const { return step_.out.channels; }

  void BackwardInput(const float* block, int count) {
    ForEachPiece([&](Index from, Index rows, float* piece) {
      return BackwardData(count, from, rows, piece, block + step_.weight);
    });
    // A convolution below runs over the whole batch: missing samples must pass no gradient.
    float* const dx = context_.gradient(step_.input);
    std::fill(dx + count * Inputs(), dx + context_.batch * Inputs(), 0.0F);
  }

  // Calls work(from, rows, scratch of rows × Outputs()) for pieces of the weights' rows.
  template <typename Work>
  void ForEachPiece(const Work& work) {
    ParallelFor(context_.threads, (Inputs() + piece_ - 1) / piece_, [&](Index i) {
      const Index from = i * piece_;
      // A single thread may be any member of a team that is not ours.
      const auto thread =
          static_cast<std::size_t>(context_.threads == 1 ? 0 : omp_get_thread_num());
      return work(from, std::min(piece_, Inputs() - from), pieces_[thread].data());
    });
  }

  void BackwardBias(int count, float* bias) const {
    std::fill_n(bias, PanelCount(Outputs()) * kPanel, 0.0F);
    const float* dy = context_.gradient(step_.output);
    for (int n = 0; n < count; ++n, dy += Outputs()) {
      for (Index o = 0; o < Outputs(); ++o) bias[o] += dy[o];
    }
  }

  dnnl_status_t BackwardWeights(int count, Index from, Index rows, float* piece,
                                float* weights) const {
    const auto status =
        dnnl_sgemm('T', 'N', rows, Outputs(), count, 1, context_.value(step_.input) + from,
                   Inputs(), context_.gradient(step_.output), Outputs(), 0, piece, Outputs());
    for (Index p = 0; p < PanelCount(Outputs()); ++p) {
      PackPanel(piece + p * kPanel, Outputs(), rows, PanelWidth(Outputs(), p),
                weights + (p * Inputs() + from) * kPanel);
    }
    return status;
  }

  dnnl_status_t BackwardData(int count, Index from, Index rows, float* piece,
                             const float* weights) const {
    for (Index p = 0; p < PanelCount(Outputs()); ++p) {
      UnpackPanel(weights + (p * Inputs() + from) * kPanel, rows, PanelWidth(Outputs(), p),
                  piece + p * kPanel, Outputs());
    }
    return dnnl_sgemm('N', 'T', count, rows, Outputs(), 1, context_.gradient(step_.output),
                      Outputs(), piece, Outputs(), accumulate_ ? 1.0F : 0.0F,
                      context_.gradient(step_.input) + from, Inputs());
  }

  Context& context_;
  const PlanStep& step_;
  bool accumulate_;
  ActivationCalls activation_;
  Index piece_ = 0;
  std::vector<AlignedBuffer> pieces_;  // per thread
};

// Q_a = V + A_a − mean A.
class DuelingStep : public Step {
 public:
  DuelingStep(Context& context, const PlanStep& step) : context_(context), step_(step) {}

  void Forward(const float* /*block*/, int count) override {
    const int actions = step_.out.channels;
    const float* advantages = context_.value(step_.input);
    const float* const values = context_.value(step_.value_input);
    float* q = context_.value(step_.output);
    for (int n = 0; n < count; ++n, advantages += actions, q += actions) {
      const float shift = values[n] - Sum(advantages) / static_cast<float>(actions);
      for (int a = 0; a < actions; ++a) q[a] = advantages[a] + shift;
    }
  }

  void Backward(const float* /*block*/, int count, float* /*gradients*/) override {
    const int actions = step_.out.channels;
    const float* dq = context_.gradient(step_.output);
    float* advantages = context_.gradient(step_.input);
    float* const values = context_.gradient(step_.value_input);
    for (int n = 0; n < count; ++n, advantages += actions, dq += actions) {
      values[n] = Sum(dq);
      const float mean = values[n] / static_cast<float>(actions);
      for (int a = 0; a < actions; ++a) advantages[a] = dq[a] - mean;
    }
  }

  void BackwardToInput(const float* block, int count) override { Backward(block, count, nullptr); }

 private:
  float Sum(const float* row) const { return std::accumulate(row, row + step_.out.channels, 0.0F); }

  Context& context_;
  const PlanStep& step_;
};

// ---- The network -------------------------------------------------------------------------------

// Calls work() for a step and translates oneDNN's exceptions into ours.
template <typename Work>
auto Translated(const PlanStep& step, const Work& work) {
  try {
    return work();
  } catch (const dnnl::error& error) {
    throw WorkFailed(fmt::format("network, oneDNN, step '{}': {} (status {}, {})",
                                 step.name.empty() ? "dueling" : step.name, error.what(),
                                 static_cast<int>(error.status), dnnl_status2str(error.status)));
  }
}

class OnednnNetwork : public Network {
 public:
  OnednnNetwork(std::shared_ptr<const Plan> plan_to_run, const NetworkOptions& options)
      : Network(std::move(plan_to_run), options) {
    context_.batch = options.batch;
    context_.threads = GrantedThreads(options.threads);
    const OpenmpThreads threads(context_.threads);
    context_.training = options.training;
    MakeValues(options.input_gradients && plan().spec.input.is_vector());
    MakeSteps();
    for (std::size_t byte = 0; byte < levels_.size(); ++byte) {
      levels_[byte] = static_cast<float>(static_cast<double>(byte) / plan().spec.input.divisor);
    }
  }

 protected:
  void RunForward(const Parameters& parameters, const NetworkInput& input,
                  std::span<float> outputs) override {
    const OpenmpThreads threads(context_.threads);
    TakeInput(input);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      Translated(plan().steps[i],
                 [&] { steps_[i]->Forward(parameters.block().data(), input.count); });
    }
    std::copy_n(context_.values.back().data(), outputs.size(), outputs.data());
  }

  void RunBackward(const Parameters& parameters, int count, std::span<const float> output_gradients,
                   Parameters& gradients) override {
    const OpenmpThreads threads(context_.threads);
    std::ranges::copy(output_gradients, context_.gradients.back().data());
    for (std::size_t i = steps_.size(); i-- > 0;) {
      Translated(plan().steps[i], [&] {
        steps_[i]->Backward(parameters.block().data(), count, gradients.block().data());
      });
    }
  }

  void RunBackwardToInput(const Parameters& parameters, int count,
                          std::span<const float> output_gradients, int part,
                          std::span<float> input_gradients) override {
    const OpenmpThreads threads(context_.threads);
    std::ranges::copy(output_gradients, context_.gradients.back().data());
    for (std::size_t i = steps_.size(); i-- > 0;) {
      Translated(plan().steps[i],
                 [&] { steps_[i]->BackwardToInput(parameters.block().data(), count); });
    }
    const InputSpec& input = plan().spec.input;
    const Index size = input.part_size(part);
    const Index stride = input.shape.size();
    const float* const from = context_.gradient(0) + (part == 0 ? 0 : stride - size);
    for (Index n = 0; n < count; ++n) {
      std::copy_n(from + n * stride, size, input_gradients.data() + n * size);
    }
  }

 private:
  void MakeValues(bool input_gradients) {
    for (const Shape& shape : plan().values) {
      const auto size = static_cast<std::size_t>(batch()) * static_cast<std::size_t>(shape.size());
      const bool is_input = context_.values.empty();
      context_.values.emplace_back(size);
      const bool has_gradient = context_.training && (!is_input || input_gradients);
      context_.gradients.emplace_back(has_gradient ? size : 0);
    }
  }

  void MakeSteps() {
    // Backward goes from the last step to the first; steps that reach a value later add to it.
    std::vector<bool> begun(plan().values.size());
    for (std::size_t i = plan().steps.size(); i-- > 0;) {
      const PlanStep& step = plan().steps[i];
      const auto input = static_cast<std::size_t>(step.input);
      steps_.push_back(Translated(step, [&] { return MakeStep(step, begun[input]); }));
      begun[input] = true;
    }
    std::ranges::reverse(steps_);
  }

  std::unique_ptr<Step> MakeStep(const PlanStep& step, bool accumulate) {
    switch (step.operation) {
      case Operation::kConvolution:
        return std::make_unique<ConvolutionStep>(context_, step, accumulate);
      case Operation::kLinear:
        return std::make_unique<LinearStep>(context_, step, accumulate);
      case Operation::kDueling:
        break;
    }
    return std::make_unique<DuelingStep>(context_, step);
  }

  void TakeInput(const NetworkInput& input) {
    float* const values = context_.value(0);
    const Shape& shape = plan().values[0];
    if (shape.is_vector) {
      TakeVectors(input);
      return;
    }
    ParallelFor(context_.threads, input.count, [&](Index n) {
      float* const sample = values + n * shape.size();
      if (plan().spec.input.floats) {
        InterleaveFloats(input.vectors.data() + n * shape.size(), sample);
      } else {
        Interleave(input.frames.data() + n * shape.channels, sample);
      }
      return dnnl_success;
    });
    // Zeros instead of what an earlier, larger batch left: convolutions run over the whole batch.
    std::fill(values + Index{input.count} * shape.size(), values + Index{batch()} * shape.size(),
              0.0F);
  }

  void TakeVectors(const NetworkInput& input) {
    float* to = context_.value(0);
    const InputSpec& spec = plan().spec.input;
    const Index first = spec.part_size(0);
    const Index second = spec.shape.size() - first;
    for (Index n = 0; n < input.count; ++n) {
      to = std::copy_n(input.vectors.data() + n * first, first, to);
      to = std::copy_n(input.second_vectors.data() + n * second, second, to);
    }
  }

  void Interleave(const std::uint8_t* const* frames, float* sample) const {
    const Shape& shape = plan().values[0];
    const int pixels = shape.height * shape.width;
    for (int c = 0; c < shape.channels; ++c) {
      const std::uint8_t* const frame = frames[c];
      float* to = sample + c;
      for (int i = 0; i < pixels; ++i, to += shape.channels) *to = levels_[frame[i]];
    }
  }

  void InterleaveFloats(const float* image, float* sample) const {
    const Shape& shape = plan().values[0];
    const int pixels = shape.height * shape.width;
    const auto divisor = static_cast<float>(plan().spec.input.divisor);
    for (int c = 0; c < shape.channels; ++c) {
      float* to = sample + c;
      for (int i = 0; i < pixels; ++i, to += shape.channels) *to = *image++ / divisor;
    }
  }

  Context context_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::array<float, 256> levels_;  // b / divisor
};

}  // namespace

bool HasOnednn() { return true; }

std::unique_ptr<Network> MakeOnednnNetwork(std::shared_ptr<const Plan> plan,
                                           const NetworkOptions& options) {
  return std::make_unique<OnednnNetwork>(std::move(plan), options);
}

void OnednnProduct(int n, const float* a, const float* b, float* c) {
  const dnnl_status_t status = dnnl_sgemm('N', 'N', n, n, n, 1, a, n, b, n, 0, c, n);
  if (status != dnnl_success) {
    throw WorkFailed(
        fmt::format("sgemm of {0}×{0} failed (status {1})", n, static_cast<int>(status)));
  }
}

}  // namespace stableaa
