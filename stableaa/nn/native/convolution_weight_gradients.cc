#include "stableaa/nn/native/convolution_weight_gradients.h"

#include <algorithm>
#include <cstring>

namespace stableaa {
namespace {

// Filters at a time: an AVX-512 tile takes two panels. Pixels at a time: about as many as the
// first-level cache holds.
constexpr int kPair = 2 * kPanel;
constexpr int kPixels = 200;

int RowsAtOnce(const PlanStep& step) { return std::max(1, kPixels / step.out.width); }

}  // namespace

PackedGradients::PackedGradients(const Plan& plan, const NetworkOptions& options) {
  if (!options.training) return;
  for (const PlanStep& step : plan.steps) {
    if (step.operation != Operation::kConvolution) continue;
    panel_size_ =
        std::max(panel_size_, std::ptrdiff_t{RowsAtOnce(step)} * step.out.width * kPanelSize);
  }
  packed_ = AlignedBuffer(static_cast<std::size_t>(2 * panel_size_ * options.threads));
}

ConvolutionWeightGradients::ConvolutionWeightGradients(const PlanStep& step,
                                                       const std::vector<std::ptrdiff_t>& in_rows,
                                                       NativeValues& values,
                                                       PackedGradients& packed)
    : kernels_(BestKernels()), step_(step), in_rows_(in_rows), values_(values), packed_(packed) {
  const auto rows = static_cast<std::ptrdiff_t>(step.kernel) * step.in.channels;
  for (std::ptrdiff_t r = 0; r < rows; ++r) {
    count_rows_.push_back(r);
    panel_rows_.push_back(r * kPanelSize);
  }
}

void ConvolutionWeightGradients::Run(const NativeBackward& pass) {
  const int pairs = (step_.out.channels + kPair - 1) / kPair;
  const auto [first, last] = pass.worker.Share(pairs * step_.kernel);
  float* const weights = pass.gradients->block().data() + step_.weight;
  float* const bias = pass.gradients->block().data() + step_.bias;
  for (int task = first; task < last; ++task) {
    if (task % step_.kernel > 0) continue;
    const int filter = task / step_.kernel * kPair;
    std::fill(bias + filter, bias + std::min(filter + kPair, step_.out.channels), 0.0F);
  }
  float* const packed = packed_.of(pass.worker);
  const int block = RowsAtOnce(step_);
  for (int n = 0; n < pass.count; ++n) {
    for (int y = 0; y < step_.out.height; y += block) {
      const Rows rows{.sample = n, .y = y, .count = std::min(block, step_.out.height - y)};
      for (int task = first; task < last; ++task) {
        const int filter = task / step_.kernel * kPair;
        const int kernel_row = task % step_.kernel;
        if (task == first || kernel_row == 0) Pack(rows, filter, packed);
        if (kernel_row == 0) AddToBias(rows, filter, packed, bias);
        AddToWeights(rows, filter, kernel_row, packed, weights);
      }
    }
  }
}

void ConvolutionWeightGradients::Pack(const Rows& rows, int filter, float* packed) {
  const std::ptrdiff_t filters = step_.out.channels;
  const std::ptrdiff_t pixels = std::ptrdiff_t{rows.count} * step_.out.width;
  const float* const from = values_.GradientAt(step_.output, rows.sample) +
                            std::ptrdiff_t{rows.y} * step_.out.width * filters;
  for (std::ptrdiff_t panel = filter; panel < std::min<std::ptrdiff_t>(filter + kPair, filters);
       panel += kPanel, packed += packed_.panel_size()) {
    const auto columns = static_cast<std::size_t>(std::min(kPanelSize, filters - panel));
    float* to = packed;
    for (std::ptrdiff_t i = 0; i < pixels; ++i, to += kPanel) {
      if (columns < kPanel) std::fill_n(to, kPanel, 0.0F);
      std::memcpy(to, from + i * filters + panel, columns * sizeof(float));
    }
  }
}

void ConvolutionWeightGradients::AddToBias(const Rows& rows, int filter, const float* packed,
                                           float* bias) const {
  const std::ptrdiff_t pixels = std::ptrdiff_t{rows.count} * step_.out.width;
  for (int panel = filter; panel < std::min(filter + kPair, step_.out.channels);
       panel += kPanel, packed += packed_.panel_size()) {
    const int columns = std::min(kPanel, step_.out.channels - panel);
    for (std::ptrdiff_t i = 0; i < pixels; ++i) {
      for (int o = 0; o < columns; ++o) bias[panel + o] += packed[i * kPanel + o];
    }
  }
}

void ConvolutionWeightGradients::AddToWeights(const Rows& rows, int filter, int kernel_row,
                                              const float* packed, float* weights) {
  const int run = step_.kernel * step_.in.channels;
  const std::ptrdiff_t in_row = std::ptrdiff_t{step_.in.width} * step_.in.channels;
  PanelProduct product;
  product.a = values_.Value(step_.input) + std::ptrdiff_t{rows.sample} * step_.in.size() +
              (std::ptrdiff_t{rows.y} * step_.stride + kernel_row) * in_row;
  product.a_rows = count_rows_.data();
  product.a_places = in_rows_.data();
  product.b = packed;
  product.b_panel = packed_.panel_size();
  product.c = weights + std::ptrdiff_t{filter} * step_.fan_in +
              std::ptrdiff_t{kernel_row} * run * kPanelSize;
  product.c_rows = panel_rows_.data();
  product.c_panel = step_.fan_in * kPanelSize;
  product.rows = run;
  product.columns = std::min(kPair, step_.out.channels - filter);
  product.inner = rows.count * step_.out.width;
  product.accumulate = rows.sample > 0 || rows.y > 0;
  kernels_.multiply(product);
}

}  // namespace stableaa
