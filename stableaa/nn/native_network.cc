// The default backend: every pass by the loop of kernels.h, on values that lie row, column, channel
// and weights that lie in panels. All memory is taken at construction.
//
// Threads share each step: samples of convolutions (forward, and backward to their inputs), columns
// or rows of the product elsewhere. A barrier follows each step.

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "stableaa/nn/aligned_buffer.h"
#include "stableaa/nn/backends.h"
#include "stableaa/nn/kernels.h"

namespace stableaa {
namespace {

constexpr std::ptrdiff_t kPanelSize = kPanel;

// Weight gradients of convolutions: filters at a time (a tile of AVX-512 takes two panels), and
// pixels at a time, about as many as the first-level cache holds.
constexpr int kPair = 2 * kPanel;
constexpr int kPixels = 200;

// One thread's part of a step.
struct Worker {
  int index;
  int count;

  // Of `size` things, those of this thread: [first, last).
  std::pair<int, int> Share(int size) const {
    const auto bound = [&](int i) {
      return static_cast<int>(static_cast<std::int64_t>(size) * i / count);
    };
    return {bound(index), bound(index + 1)};
  }

  void Wait() const {
    if (count > 1) {
#pragma omp barrier
    }
  }
};

void ApplySmooth(Activation activation, std::span<float> values) {
  if (activation == Activation::kElu) {
    for (float& x : values) x = x > 0 ? x : std::expm1(x);
  } else if (activation == Activation::kTanh) {
    for (float& x : values) x = std::tanh(x);
  }
}

// What a step needs besides the plan: where rows begin, and scratch memory.
struct StepTables {
  std::vector<std::ptrdiff_t> in_rows;     // convolution: each output pixel's corner in the input
  std::vector<std::ptrdiff_t> out_rows;    // and its place in the output; linear: of each sample
  std::vector<std::ptrdiff_t> panel_rows;  // 0, 16, 32, ...: of weights, or of values in lanes
  std::vector<std::ptrdiff_t> count_rows;  // 0, 1, 2, ...: of a convolution's kernel row
  AlignedBuffer turned_weights;            // convolution: [kernel row][panel][filter][16]

  // Of the steps that read the same input, gradients are passed on by the last first: it sets them,
  // the others add, and a convolution that adds last takes them through the activation before it.
  bool sets_gradient = true;
  bool completes_gradient = true;
  bool output_is_complete = false;  // by such a convolution
};

class NativeNetwork final : public Network {
 public:
  NativeNetwork(std::shared_ptr<const Plan> plan, const NetworkOptions& options)
      : Network(std::move(plan), options),
        kernels_(BestKernels()),
        threads_(options.threads),
        training_(options.training) {
    AllocateValues();
    for (const PlanStep& step : this->plan().steps) tables_.push_back(MakeTables(step));
    for (int v = 0; v < static_cast<int>(this->plan().values.size()); ++v) OrderGradients(v);
  }

 private:
  // ---- Memory ----

  // Samples are rounded up to whole groups of 16, for the passes that have samples in lanes.
  std::ptrdiff_t Samples() const { return PanelCount(batch()) * kPanelSize; }

  // Values between two convolutions need to be kept for the backward pass only; without one, each
  // thread has room for one sample.
  bool IsPassing(int value) const {
    if (training_) return false;
    const std::vector<std::size_t> readers = ReadersOf(value);
    return readers.size() == 1 && plan().steps[readers[0]].operation == Operation::kConvolution;
  }

  // The steps that have a value as input, in order.
  std::vector<std::size_t> ReadersOf(int value) const {
    std::vector<std::size_t> readers;
    for (std::size_t s = 0; s < plan().steps.size(); ++s) {
      if (plan().steps[s].input == value) readers.push_back(s);
    }
    return readers;
  }

  void AllocateValues() {
    const std::size_t count = plan().values.size();
    values_.resize(count);
    passing_.resize(count);
    gradients_.resize(count);
    lanes_.resize(count);
    std::size_t largest_linear = 0;
    for (std::size_t v = 0; v < count; ++v) {
      const auto size = static_cast<std::size_t>(plan().values[v].size());
      passing_[v] = IsPassing(static_cast<int>(v));
      const auto samples =
          static_cast<std::size_t>(passing_[v] ? threads_ : static_cast<int>(Samples()));
      values_[v] = AlignedBuffer(samples * size);
      if (training_ && v > 0) {
        // A panel more, since the products read whole panels.
        gradients_[v] = AlignedBuffer(static_cast<std::size_t>(Samples()) * size + kPanel);
      }
    }
    if (!training_) return;
    for (const PlanStep& step : plan().steps) {
      if (step.operation != Operation::kLinear) continue;
      const auto in = static_cast<std::size_t>(step.in.size());
      AlignedBuffer& lanes = lanes_[static_cast<std::size_t>(step.input)];
      if (lanes.size() == 0) lanes = AlignedBuffer(static_cast<std::size_t>(Samples()) * in);
      const auto out = static_cast<std::size_t>(PanelCount(step.out.channels) * kPanelSize);
      largest_linear = std::max({largest_linear, in, out});
    }
    for (const PlanStep& step : plan().steps) {
      if (step.operation != Operation::kConvolution) continue;
      packed_pixels_ = std::max(packed_pixels_, std::ptrdiff_t{RowsAtOnce(step)} * step.out.width);
    }
    packed_ = AlignedBuffer(static_cast<std::size_t>(threads_ * PackedSize()));
    lanes_ready_.resize(count);
    turned_output_ = AlignedBuffer(static_cast<std::size_t>(Samples()) * largest_linear);
    turned_input_ = AlignedBuffer(static_cast<std::size_t>(Samples()) * largest_linear);
  }

  StepTables MakeTables(const PlanStep& step) const {
    StepTables tables;
    const std::ptrdiff_t out_size = step.out.channels;
    if (step.operation == Operation::kConvolution) {
      for (int y = 0; y < step.out.height; ++y) {
        for (int x = 0; x < step.out.width; ++x) {
          const std::ptrdiff_t corner = std::ptrdiff_t{y} * step.in.width + x;
          tables.in_rows.push_back(corner * step.stride * step.in.channels);
          tables.out_rows.push_back((std::ptrdiff_t{y} * step.out.width + x) * out_size);
        }
      }
      const int run = step.kernel * step.in.channels;
      for (std::ptrdiff_t r = 0; r < run; ++r) {
        tables.count_rows.push_back(r);
        tables.panel_rows.push_back(r * kPanel);
      }
      if (training_ && step.input > 0) {
        tables.turned_weights = AlignedBuffer(
            static_cast<std::size_t>(step.kernel * PanelCount(run) * out_size * kPanelSize));
      }
    } else if (step.operation == Operation::kLinear) {
      for (std::ptrdiff_t n = 0; n < batch(); ++n) {
        tables.in_rows.push_back(n * step.fan_in);
        tables.out_rows.push_back(n * out_size);
      }
      for (std::ptrdiff_t k = 0; training_ && k < step.fan_in; ++k) {
        tables.panel_rows.push_back(k * kPanel);
      }
    }
    return tables;
  }

  void OrderGradients(int value) {
    const std::vector<std::size_t> readers = ReadersOf(value);
    for (const std::size_t s : readers) {
      tables_[s].sets_gradient = s == readers.back();
      tables_[s].completes_gradient = s == readers.front();
    }
    if (value == 0 || readers.empty()) return;
    const bool by_convolution = plan().steps[readers[0]].operation == Operation::kConvolution;
    for (std::size_t s = 0; s < tables_.size(); ++s) {
      if (plan().steps[s].output == value) tables_[s].output_is_complete = by_convolution;
    }
  }

  float* ValueAt(int value, int sample, const Worker& worker) {
    const auto v = static_cast<std::size_t>(value);
    const int slot = passing_[v] ? worker.index : sample;
    return values_[v].data() + std::ptrdiff_t{slot} * plan().values[v].size();
  }
  float* Value(int value) { return values_[static_cast<std::size_t>(value)].data(); }
  float* GradientAt(int value, int sample) {
    const auto v = static_cast<std::size_t>(value);
    return gradients_[v].data() + std::ptrdiff_t{sample} * plan().values[v].size();
  }
  float* Gradient(int value) { return GradientAt(value, 0); }

  // Runs work(worker) on every thread.
  template <typename Work>
  void OnThreads(const Work& work) {
    if (threads_ == 1) return work(Worker{0, 1});
#pragma omp parallel num_threads(threads_)
    work(Worker{omp_get_thread_num(), omp_get_num_threads()});
  }

  // ---- Forward ----

  void RunForward(const Parameters& parameters, const NetworkInput& input,
                  std::span<float> outputs) override {
    OnThreads([&](const Worker& worker) { ForwardPart(parameters, input, worker); });
    std::memcpy(outputs.data(), Value(plan().steps.back().output), outputs.size_bytes());
  }

  void ForwardPart(const Parameters& parameters, const NetworkInput& input, const Worker& worker) {
    const std::vector<PlanStep>& steps = plan().steps;
    if (plan().values[0].is_vector) {
      if (worker.index == 0) {
        std::memcpy(Value(0), input.vectors.data(), input.vectors.size_bytes());
      }
      worker.Wait();
    }
    for (std::size_t s = 0; s < steps.size();) {
      if (steps[s].operation == Operation::kConvolution) {
        std::size_t end = s;
        while (steps[end].operation == Operation::kConvolution) ++end;
        ForwardConvolutions(parameters, input, s, end, worker);
        s = end;
      } else {
        if (steps[s].input == 0 && !plan().values[0].is_vector) TakeFrames(input, worker);
        if (steps[s].operation == Operation::kLinear) {
          ForwardLinear(parameters, s, input.count, worker);
        } else if (worker.index == 0) {
          ForwardDueling(steps[s], input.count);
        }
        ++s;
      }
      worker.Wait();
    }
  }

  // A linear step on frames.
  void TakeFrames(const NetworkInput& input, const Worker& worker) {
    const auto [first, last] = worker.Share(input.count);
    for (int n = first; n < last; ++n) LoadFrames(input, n, ValueAt(0, n, worker));
    worker.Wait();
  }

  // A sample goes through all of several convolutions while it is in the caches.
  void ForwardConvolutions(const Parameters& parameters, const NetworkInput& input,
                           std::size_t begin, std::size_t end, const Worker& worker) {
    const auto [first, last] = worker.Share(input.count);
    for (int n = first; n < last; ++n) {
      if (plan().steps[begin].input == 0) LoadFrames(input, n, ValueAt(0, n, worker));
      for (std::size_t s = begin; s < end; ++s) {
        const PlanStep& step = plan().steps[s];
        ForwardConvolution(parameters, s, ValueAt(step.input, n, worker),
                           ValueAt(step.output, n, worker));
      }
    }
  }

  void LoadFrames(const NetworkInput& input, int sample, float* to) const {
    const Shape& shape = plan().values[0];
    const std::ptrdiff_t pixels = std::ptrdiff_t{shape.height} * shape.width;
    const auto divisor = static_cast<float>(plan().spec.input.divisor);
    const std::uint8_t* const* frames =
        input.frames.data() + std::ptrdiff_t{sample} * shape.channels;
    if (shape.channels == 4) return kernels_.interleave_four(frames, pixels, divisor, to);
    for (int c = 0; c < shape.channels; ++c) {
      for (std::ptrdiff_t i = 0; i < pixels; ++i) {
        to[i * shape.channels + c] = static_cast<float>(frames[c][i]) / divisor;
      }
    }
  }

  void ForwardConvolution(const Parameters& parameters, std::size_t index, const float* in,
                          float* out) const {
    const PlanStep& step = plan().steps[index];
    const StepTables& tables = tables_[index];
    const int run = step.kernel * step.in.channels;
    PanelProduct product;
    product.a = in;
    product.a_rows = tables.in_rows.data();
    product.a_outer = std::ptrdiff_t{step.in.width} * step.in.channels;
    product.b = parameters.block().data() + step.weight;
    product.b_panel = step.fan_in * kPanelSize;
    product.b_outer = run * kPanelSize;
    product.c = out;
    product.c_rows = tables.out_rows.data();
    product.rows = static_cast<int>(tables.out_rows.size());
    product.columns = step.out.channels;
    product.outer = step.kernel;
    product.inner = run;
    product.bias = parameters.block().data() + step.bias;
    product.relu = step.activation == Activation::kRelu;
    kernels_.multiply(product);
    ApplySmooth(step.activation, {out, static_cast<std::size_t>(step.out.size())});
  }

  void ForwardLinear(const Parameters& parameters, std::size_t index, int count,
                     const Worker& worker) {
    const PlanStep& step = plan().steps[index];
    const StepTables& tables = tables_[index];
    const int outputs = step.out.channels;
    const auto [first, last] = worker.Share(static_cast<int>(PanelCount(outputs)));
    if (first == last) return;
    PanelProduct product;
    product.a = Value(step.input);
    product.a_rows = tables.in_rows.data();
    product.b_panel = step.fan_in * kPanelSize;
    product.b = parameters.block().data() + step.weight + first * product.b_panel;
    product.c = Value(step.output) + first * kPanelSize;
    product.c_rows = tables.out_rows.data();
    product.rows = count;
    product.columns = std::min(outputs, last * kPanel) - first * kPanel;
    product.inner = step.fan_in;
    product.bias = parameters.block().data() + step.bias + first * kPanelSize;
    product.relu = step.activation == Activation::kRelu;
    kernels_.multiply(product);
    for (int n = 0; n < count; ++n) {
      ApplySmooth(step.activation, {product.c + std::ptrdiff_t{n} * outputs,
                                    static_cast<std::size_t>(product.columns)});
    }
  }

  void ForwardDueling(const PlanStep& step, int count) {
    const std::ptrdiff_t actions = step.out.channels;
    for (int n = 0; n < count; ++n) {
      const float* const advantage = Value(step.input) + n * actions;
      float* const out = Value(step.output) + n * actions;
      float sum = 0;
      for (std::ptrdiff_t a = 0; a < actions; ++a) sum += advantage[a];
      const float base = Value(step.value_input)[n] - sum / static_cast<float>(actions);
      for (std::ptrdiff_t a = 0; a < actions; ++a) out[a] = base + advantage[a];
    }
  }

  // ---- Backward ----

  void RunBackward(const Parameters& parameters, int count, std::span<const float> output_gradients,
                   Parameters& gradients) override {
    std::memcpy(Gradient(plan().steps.back().output), output_gradients.data(),
                output_gradients.size_bytes());
    std::fill(lanes_ready_.begin(), lanes_ready_.end(), false);
    OnThreads([&](const Worker& worker) { BackwardPart(parameters, count, gradients, worker); });
  }

  void BackwardPart(const Parameters& parameters, int count, Parameters& gradients,
                    const Worker& worker) {
    for (std::size_t s = plan().steps.size(); s-- > 0;) {
      const PlanStep& step = plan().steps[s];
      if (step.operation == Operation::kDueling) {
        if (worker.index == 0) BackwardDueling(step, count);
      } else {
        if (!tables_[s].output_is_complete) {
          const auto [first, last] = worker.Share(count);
          for (int n = first; n < last; ++n) BackwardActivation(step, n);
          worker.Wait();
        }
        if (step.operation == Operation::kLinear) {
          BackwardLinear(parameters, s, count, gradients, worker);
        } else {
          BackwardConvolution(parameters, s, count, gradients, worker);
        }
      }
      worker.Wait();
    }
  }

  void BackwardDueling(const PlanStep& step, int count) {
    const std::ptrdiff_t actions = step.out.channels;
    for (int n = 0; n < count; ++n) {
      const float* const out = Gradient(step.output) + n * actions;
      float sum = 0;
      for (std::ptrdiff_t a = 0; a < actions; ++a) sum += out[a];
      Gradient(step.value_input)[n] = sum;
      const float mean = sum / static_cast<float>(actions);
      float* const advantage = Gradient(step.input) + n * actions;
      for (std::ptrdiff_t a = 0; a < actions; ++a) advantage[a] = out[a] - mean;
    }
  }

  // From the gradient of an activation's result to that of its argument, for one sample.
  void BackwardActivation(const PlanStep& step, int sample) {
    const std::ptrdiff_t size = step.out.size();
    const float* const value = Value(step.output) + sample * size;
    float* const gradient = GradientAt(step.output, sample);
    switch (step.activation) {
      case Activation::kNone:
        return;
      case Activation::kRelu:
        return kernels_.mask_relu(value, size, gradient);
      case Activation::kElu:
        for (std::ptrdiff_t i = 0; i < size; ++i) gradient[i] *= value[i] > 0 ? 1 : value[i] + 1;
        return;
      case Activation::kTanh:
        for (std::ptrdiff_t i = 0; i < size; ++i) gradient[i] *= 1 - value[i] * value[i];
        return;
    }
  }

  static void AddRows(const float* rows, std::ptrdiff_t stride, std::ptrdiff_t count,
                      std::ptrdiff_t columns, float* sums) {
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      for (std::ptrdiff_t o = 0; o < columns; ++o) sums[o] += rows[i * stride + o];
    }
  }

  void BackwardLinear(const Parameters& parameters, std::size_t index, int count,
                      Parameters& gradients, const Worker& worker) {
    const PlanStep& step = plan().steps[index];
    const std::ptrdiff_t outputs = step.out.channels;
    TurnLinear(step, count, worker);

    const auto [first, last] = worker.Share(step.fan_in);
    float* const bias = gradients.block().data() + step.bias;
    if (worker.index == 0) {
      std::fill_n(bias, outputs, 0.0F);
      AddRows(Gradient(step.output), outputs, count, outputs, bias);
    }
    PanelProduct product;
    product.a = lanes_[static_cast<std::size_t>(step.input)].data() + first * kPanelSize;
    product.a_rows = tables_[index].panel_rows.data();
    product.a_outer = step.fan_in * kPanelSize;
    product.b = Gradient(step.output);
    product.b_panel = kPanelSize;
    product.b_outer = outputs * kPanelSize;
    product.b_inner = outputs;
    product.c = gradients.block().data() + step.weight + first * kPanelSize;
    product.c_rows = tables_[index].panel_rows.data();
    product.c_panel = step.fan_in * kPanelSize;
    product.rows = last - first;
    product.columns = step.out.channels;
    product.outer = static_cast<int>(PanelCount(count));
    product.inner = kPanel;
    kernels_.multiply(product);
    if (step.input > 0) PassLinear(parameters, index, count, worker);
  }

  // Puts samples into lanes: those of the input for the weights' gradient, once for all steps that
  // read it, and those of the output's gradient for the input's.
  void TurnLinear(const PlanStep& step, int count, const Worker& worker) {
    const auto input = static_cast<std::size_t>(step.input);
    const std::ptrdiff_t in = step.fan_in;
    const std::ptrdiff_t out = step.out.channels;
    const std::ptrdiff_t padded = PanelCount(out) * kPanelSize;
    const auto [first, last] = worker.Share(static_cast<int>(PanelCount(count)));
    for (std::ptrdiff_t g = first; g < last; ++g) {
      const int rows = static_cast<int>(std::min(kPanelSize, count - g * kPanelSize));
      if (!lanes_ready_[input]) {
        kernels_.to_lanes(Value(step.input) + g * kPanelSize * in, in, rows, in,
                          lanes_[input].data() + g * in * kPanelSize);
      }
      float* const turned = turned_output_.data() + g * padded * kPanelSize;
      float* const gradient = Gradient(step.output) + g * kPanelSize * out;
      kernels_.to_lanes(gradient, out, rows, out, turned);
      std::fill(turned + out * kPanelSize, turned + padded * kPanelSize, 0.0F);
      // What is left of former batches in the rest of the last group must not spread.
      std::fill(gradient + rows * out, gradient + kPanelSize * out, 0.0F);
    }
    worker.Wait();
    if (worker.index == 0) lanes_ready_[input] = true;
  }

  void PassLinear(const Parameters& parameters, std::size_t index, int count,
                  const Worker& worker) {
    const PlanStep& step = plan().steps[index];
    const std::ptrdiff_t in = step.fan_in;
    const std::ptrdiff_t padded = PanelCount(step.out.channels) * kPanelSize;
    const auto [first, last] = worker.Share(step.fan_in);
    PanelProduct product;
    product.a = parameters.block().data() + step.weight + first * kPanelSize;
    product.a_rows = tables_[index].panel_rows.data();
    product.a_outer = in * kPanelSize;
    product.b = turned_output_.data();
    product.b_panel = padded * kPanelSize;
    product.b_outer = kPanelSize * kPanelSize;
    product.c = turned_input_.data() + first * kPanelSize;
    product.c_rows = tables_[index].panel_rows.data();
    product.c_panel = in * kPanelSize;
    product.rows = last - first;
    product.columns = static_cast<int>(PanelCount(count) * kPanelSize);
    product.outer = static_cast<int>(PanelCount(step.out.channels));
    product.inner = std::min(kPanel, step.out.channels);
    product.rows_first = true;
    kernels_.multiply(product);

    for (std::ptrdiff_t g = 0; g < PanelCount(count); ++g) {
      const int rows = static_cast<int>(std::min(kPanelSize, count - g * kPanelSize));
      kernels_.from_lanes(product.c + g * product.c_panel, rows, last - first,
                          !tables_[index].sets_gradient,
                          Gradient(step.input) + g * kPanelSize * in + first, in);
    }
  }

  void BackwardConvolution(const Parameters& parameters, std::size_t index, int count,
                           Parameters& gradients, const Worker& worker) {
    const PlanStep& step = plan().steps[index];
    if (step.input > 0) TurnWeights(parameters, index, worker);
    ConvolutionWeightGradients(index, count, gradients, worker);
    if (step.input == 0) return;
    worker.Wait();
    const auto [first, last] = worker.Share(count);
    for (int n = first; n < last; ++n) {
      if (tables_[index].sets_gradient) {
        std::fill_n(GradientAt(step.input, n), step.in.size(), 0.0F);
      }
      PassConvolution(index, n);
      if (tables_[index].completes_gradient) BackwardActivation(ProducerOf(step.input), n);
    }
  }

  const PlanStep& ProducerOf(int value) const {
    return *std::ranges::find(plan().steps, value, &PlanStep::output);
  }

  // A thread has some of the kernel's rows for some pairs of panels, over all samples.
  void ConvolutionWeightGradients(std::size_t index, int count, Parameters& gradients,
                                  const Worker& worker) {
    const PlanStep& step = plan().steps[index];
    const int pairs = (step.out.channels + kPair - 1) / kPair;
    const auto [first, last] = worker.Share(pairs * step.kernel);
    float* const bias = gradients.block().data() + step.bias;
    for (int task = first; task < last; ++task) {
      if (task % step.kernel > 0) continue;
      const int begin = task / step.kernel * kPair;
      std::fill(bias + begin, bias + std::min(begin + kPair, step.out.channels), 0.0F);
    }
    float* const packed = packed_.data() + worker.index * PackedSize();
    const int block = RowsAtOnce(step);
    for (int n = 0; n < count; ++n) {
      for (int y = 0; y < step.out.height; y += block) {
        const int rows = std::min(block, step.out.height - y);
        for (int task = first; task < last; ++task) {
          const int begin = task / step.kernel * kPair;
          const int kernel_row = task % step.kernel;
          if (task == first || kernel_row == 0) PackGradients(step, n, y, rows, begin, packed);
          if (kernel_row == 0) SumPacked(step, rows, begin, packed, bias);
          AddWeightGradients(index, n, y, rows, kernel_row, begin, packed, gradients);
        }
      }
    }
  }

  static int RowsAtOnce(const PlanStep& step) { return std::max(1, kPixels / step.out.width); }

  std::ptrdiff_t PackedSize() const { return packed_pixels_ * kPair; }

  // The gradients of two panels of filters, each panel's pixels one after another, so that one long
  // loop goes over all of them.
  void PackGradients(const PlanStep& step, int sample, int y, int rows, int begin, float* packed) {
    const std::ptrdiff_t filters = step.out.channels;
    const std::ptrdiff_t pixels = std::ptrdiff_t{rows} * step.out.width;
    const float* const from =
        GradientAt(step.output, sample) + std::ptrdiff_t{y} * step.out.width * filters;
    for (std::ptrdiff_t panel = begin; panel < std::min<std::ptrdiff_t>(begin + kPair, filters);
         panel += kPanel) {
      const auto columns = static_cast<std::size_t>(std::min(kPanelSize, filters - panel));
      float* to = packed + (panel - begin) * packed_pixels_;
      for (std::ptrdiff_t i = 0; i < pixels; ++i, to += kPanel) {
        if (columns < kPanel) std::fill_n(to, kPanel, 0.0F);
        std::memcpy(to, from + i * filters + panel, columns * sizeof(float));
      }
    }
  }

  void SumPacked(const PlanStep& step, int rows, int begin, const float* packed,
                 float* bias) const {
    const std::ptrdiff_t pixels = std::ptrdiff_t{rows} * step.out.width;
    for (int o = begin; o < std::min(begin + kPair, step.out.channels); o += kPanel) {
      AddRows(packed + (o - begin) * packed_pixels_, kPanel, pixels,
              std::min(kPanel, step.out.channels - o), bias + o);
    }
  }

  // Of one kernel row and up to two panels of filters, from some output rows of one sample.
  void AddWeightGradients(std::size_t index, int sample, int y, int rows, int kernel_row, int begin,
                          const float* packed, Parameters& gradients) {
    const PlanStep& step = plan().steps[index];
    const StepTables& tables = tables_[index];
    const int run = step.kernel * step.in.channels;
    const std::ptrdiff_t in_row = std::ptrdiff_t{step.in.width} * step.in.channels;
    PanelProduct product;
    product.a = Value(step.input) + std::ptrdiff_t{sample} * step.in.size() +
                (std::ptrdiff_t{y} * step.stride + kernel_row) * in_row;
    product.a_rows = tables.count_rows.data();
    product.a_places = tables.in_rows.data();
    product.b = packed;
    product.b_panel = packed_pixels_ * kPanel;
    product.c = gradients.block().data() + step.weight + std::ptrdiff_t{begin} * step.fan_in +
                std::ptrdiff_t{kernel_row} * run * kPanelSize;
    product.c_rows = tables.panel_rows.data();
    product.c_panel = step.fan_in * kPanelSize;
    product.rows = run;
    product.columns = std::min(kPair, step.out.channels - begin);
    product.inner = rows * step.out.width;
    product.accumulate = sample > 0 || y > 0;
    kernels_.multiply(product);
  }

  // Weights with a kernel row's inputs in lanes and the filters below each other.
  void TurnWeights(const Parameters& parameters, std::size_t index, const Worker& worker) {
    const PlanStep& step = plan().steps[index];
    const int run = step.kernel * step.in.channels;
    const std::ptrdiff_t filters = step.out.channels;
    const float* const weights = parameters.block().data() + step.weight;
    float* const turned = tables_[index].turned_weights.data();
    const auto [first, last] = worker.Share(step.kernel);
    for (std::ptrdiff_t row = first; row < last; ++row) {
      for (std::ptrdiff_t o = 0; o < filters; o += kPanel) {
        const float* const panel = weights + (o * step.fan_in + row * run * kPanel);
        const auto lanes = static_cast<int>(std::min(kPanelSize, filters - o));
        for (std::ptrdiff_t r = 0; r < run; r += kPanel) {
          float* const to =
              turned + (row * PanelCount(run) + r / kPanel) * filters * kPanel + o * kPanel;
          kernels_.to_lanes(panel + r * kPanel, kPanel,
                            static_cast<int>(std::min(kPanelSize, run - r)), lanes, to);
        }
      }
    }
  }

  void PassConvolution(std::size_t index, int sample) {
    const PlanStep& step = plan().steps[index];
    const StepTables& tables = tables_[index];
    const int run = step.kernel * step.in.channels;
    PanelProduct product;
    product.a = GradientAt(step.output, sample);
    product.a_rows = tables.out_rows.data();
    product.b_panel = step.out.channels * kPanelSize;
    product.c_rows = tables.in_rows.data();
    product.rows = static_cast<int>(tables.out_rows.size());
    product.columns = run;
    product.inner = step.out.channels;
    product.accumulate = true;
    for (int row = 0; row < step.kernel; ++row) {
      product.b = tables.turned_weights.data() + row * PanelCount(run) * step.out.channels * kPanel;
      product.c =
          GradientAt(step.input, sample) + std::ptrdiff_t{row} * step.in.width * step.in.channels;
      kernels_.multiply(product);
    }
  }

  const Kernels& kernels_;
  int threads_;
  bool training_;
  std::vector<AlignedBuffer> values_;     // [sample][row][column][channel]
  std::vector<bool> passing_;             // one slot per thread instead of per sample
  std::vector<AlignedBuffer> gradients_;  // with respect to the values
  std::vector<AlignedBuffer> lanes_;      // values that linear steps read: [group][component][16]
  std::vector<char> lanes_ready_;         // in this backward pass
  AlignedBuffer turned_output_;           // gradients of a linear step with samples in lanes
  AlignedBuffer turned_input_;
  std::ptrdiff_t packed_pixels_ = 0;  // the most that PackGradients packs
  AlignedBuffer packed_;              // two panels of them for each thread
  std::vector<StepTables> tables_;
};

}  // namespace

std::unique_ptr<Network> MakeNativeNetwork(std::shared_ptr<const Plan> plan,
                                           const NetworkOptions& options) {
  return std::make_unique<NativeNetwork>(std::move(plan), options);
}

}  // namespace stableaa
