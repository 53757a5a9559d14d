#include "stableaa/nn/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stableaa/base/machine.h"
#include "stableaa/base/text/nearest_name.h"
#include "stableaa/core/error.h"
#include "stableaa/nn/backends.h"
#include "stableaa/nn/onednn.h"

namespace stableaa {
namespace {

void CheckRange(const char* what, int value, int most) {
  if (value < 1 || value > most) {
    throw BadInput(fmt::format("network: {} has to be 1 to {}, found {}", what, most, value));
  }
}

void CheckSize(const char* what, std::size_t size, std::size_t expected) {
  if (size != expected) {
    throw BadInput(fmt::format("network: expected {} {}, found {}", expected, what, size));
  }
}

struct RegisteredBackend {
  NetworkBackend description;
  std::unique_ptr<Network> (*make)(std::shared_ptr<const Plan>, const NetworkOptions&);
};

const std::vector<RegisteredBackend>& Registered() {
  static const std::vector<RegisteredBackend> backends = {
      {{"native", "kernels of this library: no allocations, one weight layout for all passes"},
       MakeNativeNetwork},
      {{"onednn", "oneDNN's primitives", HasOnednn()}, MakeOnednnNetwork},
      {{"reference", "plain loops in double precision, to check the others"}, MakeReferenceNetwork},
  };
  return backends;
}

const RegisteredBackend& FindBackend(const std::string& name) {
  std::vector<std::string> names;
  for (const RegisteredBackend& backend : Registered()) {
    if (backend.description.name != name) {
      names.push_back(backend.description.name);
    } else if (backend.description.is_built) {
      return backend;
    } else {
      throw BadInput(
          fmt::format("network: this build has no backend '{}': configure with "
                      "-DSTABLEAA_ONEDNN=ON",
                      name));
    }
  }
  throw BadInput(fmt::format("network: unknown backend '{}' (there are {}){}", name,
                             fmt::join(names, ", "), DidYouMean(name, names)));
}

}  // namespace

Network::Network(std::shared_ptr<const Plan> plan, const NetworkOptions& options)
    : plan_(std::move(plan)),
      batch_(options.batch),
      training_(options.training),
      input_gradients_(options.training && options.input_gradients) {}

void Network::Forward(const Parameters& parameters, const NetworkInput& input,
                      std::span<float> outputs) {
  CheckRange("count", input.count, batch_);
  CheckInput(input);
  const auto count = static_cast<std::size_t>(input.count);
  CheckSize("outputs", outputs.size(), count * static_cast<std::size_t>(plan_->outputs()));
  CheckParameters(parameters);
  forward_parameters_ = nullptr;
  RunForward(parameters, input, outputs);
  forward_parameters_ = &parameters;
  forward_count_ = input.count;
}

void Network::Backward(const Parameters& parameters, std::span<const float> output_gradients,
                       Parameters& gradients) {
  CheckBackward("Backward", parameters, output_gradients);
  CheckParameters(gradients);
  if (&gradients == &parameters) {
    throw BadInput("network: gradients cannot replace the parameters they are of");
  }
  RunBackward(parameters, forward_count_, output_gradients, gradients);
}

void Network::BackwardToInput(const Parameters& parameters, std::span<const float> output_gradients,
                              int part, std::span<float> input_gradients) {
  constexpr const char* kPass = "BackwardToInput";
  const InputSpec& input = plan_->spec.input;
  if (!input.is_vector()) {
    throw BadInput(fmt::format("network: {} is for vectors, not for {}", kPass, ToText(input)));
  }
  CheckBackward(kPass, parameters, output_gradients);
  if (!input_gradients_) {
    throw BadInput(fmt::format("network: {} of a network compiled without input_gradients", kPass));
  }
  if (part < 0 || part >= input.part_count()) {
    throw BadInput(fmt::format("network: {} has no part {}: the first is 0, the last {}",
                               ToText(input), part, input.part_count() - 1));
  }
  CheckSize(
      "input gradients", input_gradients.size(),
      static_cast<std::size_t>(forward_count_) * static_cast<std::size_t>(input.part_size(part)));
  RunBackwardToInput(parameters, forward_count_, output_gradients, part, input_gradients);
}

void Network::CheckInput(const NetworkInput& input) const {
  const auto count = static_cast<std::size_t>(input.count);
  const InputSpec& spec = plan_->spec.input;
  const bool has_two = spec.part_count() == 2;
  const auto first = static_cast<std::size_t>(spec.part_size(0));
  const auto second = static_cast<std::size_t>(has_two ? spec.part_size(1) : 0);
  const char* const components = has_two ? "components of the first part" : "vector components";
  CheckSize(spec.floats ? "floats of images" : components, input.vectors.size(),
            spec.takes_floats() ? count * first : 0);
  CheckSize("components of the second part", input.second_vectors.size(), count * second);
  CheckSize("frames", input.frames.size(),
            spec.takes_floats() ? 0 : count * static_cast<std::size_t>(spec.shape.channels));
  if (std::ranges::find(input.frames, nullptr) != input.frames.end()) {
    throw BadInput("network: a frame is a null pointer");
  }
}

void Network::CheckBackward(const char* pass, const Parameters& parameters,
                            std::span<const float> output_gradients) const {
  if (!training_) {
    throw BadInput(fmt::format("network: {} of a network compiled for inference", pass));
  }
  if (forward_parameters_ != &parameters) {
    throw BadInput(
        fmt::format("network: {} without a Forward by the same parameters just before", pass));
  }
  CheckSize("output gradients", output_gradients.size(),
            static_cast<std::size_t>(forward_count_) * static_cast<std::size_t>(plan_->outputs()));
}

void Network::CheckParameters(const Parameters& parameters) const {
  if (!parameters.IsOf(*plan_)) {
    throw BadInput("network: the parameters are of another network");
  }
}

std::uint64_t NetworkBytes(const Plan& plan, const NetworkOptions& options) {
  const auto batch = static_cast<std::uint64_t>(options.batch) + kPanel;
  const auto threads = static_cast<std::uint64_t>(options.threads);
  std::uint64_t floats = 0;
  for (const Shape& shape : plan.values) {
    const auto size = static_cast<std::uint64_t>(shape.size());
    if (options.training) {
      floats += 2 * batch * size;  // including the gradient
    } else {
      floats += (shape.is_vector ? batch : threads) * size;
    }
  }
  std::uint64_t largest = 0;
  for (const PlanStep& step : plan.steps) {
    if (step.operation != Operation::kLinear) continue;
    const auto in = static_cast<std::uint64_t>(step.in.size());
    if (options.training) {
      floats += batch * in;  // samples in lanes
      largest = std::max({largest, in, static_cast<std::uint64_t>(step.out.size())});
    } else if (!step.in.is_vector) {
      floats += batch * in;  // the convolutions' output
    }
  }
  return sizeof(float) * (floats + 2 * batch * largest);
}

std::unique_ptr<Network> CompileNetwork(std::shared_ptr<const Plan> plan,
                                        const NetworkOptions& options) {
  CheckRange("batch", options.batch, kMaxBatch);
  CheckRange("threads", options.threads, kMaxThreads);
  RequireMemory(fmt::format("a network for {} samples", options.batch),
                NetworkBytes(*plan, options), "try a smaller batch");
  return FindBackend(options.backend).make(std::move(plan), options);
}

void RequireBackend(const std::string& name) { FindBackend(name); }

std::vector<NetworkBackend> NetworkBackends() {
  std::vector<NetworkBackend> backends;
  for (const RegisteredBackend& backend : Registered()) backends.push_back(backend.description);
  return backends;
}

}  // namespace stableaa
