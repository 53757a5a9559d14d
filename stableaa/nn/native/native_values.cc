#include "stableaa/nn/native/native_values.h"

namespace stableaa {
namespace {

// Only the backward pass needs the values between two convolutions again; without it, each thread
// has room for one sample.
bool IsPassing(const Plan& plan, int value, bool training) {
  if (training) return false;
  const std::vector<std::size_t> readers = ReadersOf(plan, value);
  return readers.size() == 1 && plan.steps[readers[0]].operation == Operation::kConvolution;
}

}  // namespace

std::vector<std::size_t> ReadersOf(const Plan& plan, int value) {
  std::vector<std::size_t> readers;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].input == value) readers.push_back(s);
  }
  return readers;
}

NativeValues::NativeValues(const Plan& plan, const NetworkOptions& options)
    : batch_(options.batch), training_(options.training) {
  for (int v = 0; v < static_cast<int>(plan.values.size()); ++v) {
    const std::ptrdiff_t size = plan.values[Index(v)].size();
    const bool is_passing = IsPassing(plan, v, training_);
    const std::ptrdiff_t slots = is_passing ? options.threads : samples();
    sizes_.push_back(size);
    passing_.push_back(is_passing);
    values_.emplace_back(static_cast<std::size_t>(slots * size));
    // One extra panel, since the products read whole panels.
    gradients_.push_back(
        training_ && v > 0 ? AlignedBuffer(static_cast<std::size_t>(samples() * size + kPanelSize))
                           : AlignedBuffer());
  }
}

}  // namespace stableaa
