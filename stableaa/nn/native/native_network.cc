// The default backend: every pass uses the loop of kernels.h, on values stored by row, column,
// channel and weights stored in panels. All memory is allocated at construction.
//
// Threads share each operation and wait for each other after it.

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "stableaa/nn/backends.h"
#include "stableaa/nn/native/convolution_weight_gradients.h"
#include "stableaa/nn/native/native_convolution.h"
#include "stableaa/nn/native/native_dueling.h"
#include "stableaa/nn/native/native_input.h"
#include "stableaa/nn/native/native_linear.h"
#include "stableaa/nn/native/native_operation.h"
#include "stableaa/nn/native/native_values.h"
#include "stableaa/nn/native/native_worker.h"

namespace stableaa {
namespace {

GradientOrder OrderOf(const Plan& plan, std::size_t s) {
  const PlanStep& step = plan.steps[s];
  const std::vector<std::size_t> siblings = ReadersOf(plan, step.input);
  const std::vector<std::size_t> readers = ReadersOf(plan, step.output);
  GradientOrder order;
  order.sets_input = s == siblings.back();
  order.output_is_complete =
      !readers.empty() && plan.steps[readers.front()].operation == Operation::kConvolution;
  if (step.operation == Operation::kConvolution && step.input > 0 && s == siblings.front()) {
    order.completes = &*std::ranges::find(plan.steps, step.input, &PlanStep::output);
  }
  return order;
}

class NativeNetwork final : public Network {
 public:
  NativeNetwork(std::shared_ptr<const Plan> shared_plan, const NetworkOptions& options)
      : Network(std::move(shared_plan), options),
        threads_(options.threads),
        values_(plan(), options),
        input_(plan(), values_),
        lanes_(plan(), values_),
        packed_(plan(), options) {
    NativeConvolutions* chain = nullptr;  // set if the previous step is a convolution
    for (std::size_t s = 0; s < plan().steps.size(); ++s) {
      const PlanStep& step = plan().steps[s];
      const GradientOrder order = OrderOf(plan(), s);
      if (step.operation == Operation::kConvolution) {
        if (chain == nullptr) chain = AddChain(step);
        chain->Append(std::make_unique<NativeConvolution>(step, order, values_, packed_));
        continue;
      }
      chain = nullptr;
      if (step.operation == Operation::kLinear) {
        operations_.push_back(std::make_unique<NativeLinear>(step, order, values_, lanes_));
      } else {
        operations_.push_back(std::make_unique<NativeDueling>(step, values_));
      }
    }
  }

 private:
  NativeConvolutions* AddChain(const PlanStep& first) {
    const bool loads_frames = first.input == 0 && !input_.is_taken_whole();
    auto chain = std::make_unique<NativeConvolutions>(loads_frames ? &input_ : nullptr, values_);
    NativeConvolutions* const added = chain.get();
    operations_.push_back(std::move(chain));
    return added;
  }

  void RunForward(const Parameters& parameters, const NetworkInput& input,
                  std::span<float> outputs) override {
    OnWorkers(threads_, [&](const NativeWorker& worker) {
      if (input_.is_taken_whole()) {
        input_.Take(input, worker);
        worker.Wait();
      }
      for (const auto& operation : operations_) {
        operation->Forward({parameters, input, worker});
        worker.Wait();
      }
    });
    std::memcpy(outputs.data(), values_.Value(plan().steps.back().output), outputs.size_bytes());
  }

  void RunBackward(const Parameters& parameters, int count, std::span<const float> output_gradients,
                   Parameters& gradients) override {
    RunBackward({parameters, count, &gradients, {}, {}}, output_gradients);
  }

  void RunBackwardToInput(const Parameters& parameters, int count,
                          std::span<const float> output_gradients, int part,
                          std::span<float> input_gradients) override {
    const InputSpec& input = plan().spec.input;
    const InputGradient gradient{.to = input_gradients.data(),
                                 .first = part == 0 ? 0 : input.part_size(0),
                                 .size = input.part_size(part)};
    RunBackward({parameters, count, nullptr, gradient, {}}, output_gradients);
  }

  void RunBackward(const NativeBackward& pass, std::span<const float> output_gradients) {
    std::memcpy(values_.Gradient(plan().steps.back().output), output_gradients.data(),
                output_gradients.size_bytes());
    lanes_.Forget();
    OnWorkers(threads_, [&](const NativeWorker& worker) {
      NativeBackward mine = pass;
      mine.worker = worker;
      for (std::size_t i = operations_.size(); i-- > 0;) {
        operations_[i]->Backward(mine);
        worker.Wait();
      }
    });
  }

  int threads_;
  NativeValues values_;
  NativeInput input_;
  LinearLanes lanes_;
  PackedGradients packed_;
  std::vector<std::unique_ptr<NativeOperation>> operations_;
};

}  // namespace

std::unique_ptr<Network> MakeNativeNetwork(std::shared_ptr<const Plan> plan,
                                           const NetworkOptions& options) {
  return std::make_unique<NativeNetwork>(std::move(plan), options);
}

}  // namespace stableaa
