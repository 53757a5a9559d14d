#include "stableaa/nn/network_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/nn/random_input.h"

namespace stableaa {
namespace {

// Whole numbers, mostly zero, so that sums stay small through all layers.
void FillSparse(RandomStream& random, double nonzero, int largest, std::span<float> values) {
  for (float& value : values) {
    value = random.Bernoulli(nonzero) ? static_cast<float>(random.Integer(-largest, largest)) : 0;
  }
}

void InitialiseExactly(RandomStream& random, Parameters& parameters) {
  constexpr double kInputsPerOutput = 6;
  for (const ParameterTensor& tensor : ParameterTensors(parameters.plan())) {
    const int fan_in = parameters.plan().steps[tensor.step].fan_in;
    std::vector<float> values(tensor.size());
    FillSparse(random, std::min(1.0, kInputsPerOutput / fan_in), 1, values);
    parameters.Set(tensor, values);
  }
}

struct Results {
  std::vector<float> outputs;
  std::vector<std::vector<float>> gradients;  // one per tensor
  std::vector<std::vector<float>> inputs;     // one per part of a vector
};

Results Run(const NetworkCase& network_case, const CheckedBackend& backend) {
  const auto plan = std::make_shared<const Plan>(MakePlan(network_case.spec));
  const auto network = CompileNetwork(plan, {.batch = network_case.batch,
                                             .threads = backend.threads,
                                             .input_gradients = true,
                                             .backend = backend.name});
  RandomStream random(network_case.seed, "nn-check");
  Parameters parameters(plan);
  if (network_case.exact) {
    InitialiseExactly(random, parameters);
  } else {
    parameters.Initialise(random);
  }
  const std::size_t size =
      static_cast<std::size_t>(network_case.count) * static_cast<std::size_t>(plan->outputs());
  std::vector<float> output_gradients(size);
  if (network_case.exact) {
    FillSparse(random, 0.5, 2, output_gradients);
  } else {
    random.FillUniform(output_gradients, -1, 1);
  }

  Results results;
  Parameters gradients(plan);
  // A full batch first, so that anything it leaves behind would show in a smaller one.
  for (const int count : {network_case.batch, network_case.count}) {
    const RandomInput input(network_case.spec.input, count, random,
                            network_case.exact ? InputNumbers::kSmallWhole : InputNumbers::kAny);
    const std::size_t outputs =
        static_cast<std::size_t>(count) * static_cast<std::size_t>(plan->outputs());
    output_gradients.resize(outputs, 1);
    results.outputs.resize(outputs);
    network->Forward(parameters, input.view(), results.outputs);
    network->Backward(parameters, output_gradients, gradients);
    results.inputs.clear();
    const InputSpec& spec = network_case.spec.input;
    for (int part = 0; spec.is_vector() && part < spec.part_count(); ++part) {
      results.inputs.emplace_back(static_cast<std::size_t>(count * spec.part_size(part)));
      network->BackwardToInput(parameters, output_gradients, part, results.inputs.back());
    }
  }
  for (const ParameterTensor& tensor : ParameterTensors(*plan)) {
    gradients.Get(tensor, results.gradients.emplace_back(tensor.size()));
  }
  return results;
}

double LargestDifference(const std::vector<float>& found, const std::vector<float>& expected) {
  double difference = 0;
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double distance = std::abs(static_cast<double>(found[i]) - expected[i]);
    if (!(distance <= difference)) difference = distance;  // NaN counts as larger
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return largest > 0 ? difference / largest : difference;
}

double NormOfDifference(const std::vector<float>& found, const std::vector<float>& expected) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double distance = static_cast<double>(found[i]) - expected[i];
    difference += distance * distance;
    norm += static_cast<double>(expected[i]) * expected[i];
  }
  return std::sqrt(norm > 0 ? difference / norm : difference);
}

NetworkDifference Compare(const NetworkSpec& spec, const Results& found, const Results& expected) {
  NetworkDifference difference{.outputs = LargestDifference(found.outputs, expected.outputs)};
  const std::vector<ParameterTensor> tensors = ParameterTensors(MakePlan(spec));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const double gradients = NormOfDifference(found.gradients[i], expected.gradients[i]);
    if (!(gradients <= difference.gradients)) {
      difference.gradients = gradients;
      difference.worst_tensor = tensors[i].name;
    }
  }
  for (std::size_t i = 0; i < expected.inputs.size(); ++i) {
    const double inputs = NormOfDifference(found.inputs[i], expected.inputs[i]);
    if (!(inputs <= difference.inputs)) difference.inputs = inputs;
  }
  return difference;
}

void AddBoth(std::vector<NetworkCase>& cases, const std::string& name, const std::string& exact,
             const std::string& rounded, int batch, int count) {
  cases.push_back(
      {.name = name, .spec = ParseSpec(exact), .batch = batch, .count = count, .exact = true});
  cases.push_back({.name = name, .spec = ParseSpec(rounded), .batch = batch, .count = count});
}

// Unchanged for rounded numbers; with whole inputs and 4 actions for exact ones.
void AddNamed(std::vector<NetworkCase>& cases, const std::string& name) {
  NetworkSpec exact = NamedSpec(name, 4);
  exact.input.divisor = 1;
  AddBoth(cases, name, ToText(exact), ToText(NamedSpec(name, 6)), 32, 32);
}

}  // namespace

NetworkTolerance ToleranceFor(const NetworkCase& network_case) {
  if (network_case.exact) return {.outputs = 0, .gradients = 0};
  const bool has_relu = std::ranges::any_of(
      MakePlan(network_case.spec).steps,
      [](const PlanStep& step) { return step.activation == Activation::kRelu; });
  return {.outputs = 1e-5, .gradients = has_relu ? 2e-2 : 1e-5};
}

std::vector<NetworkDifference> CompareWithReference(const NetworkCase& network_case,
                                                    const std::vector<CheckedBackend>& backends) {
  const Results expected = Run(network_case, {.name = "reference"});
  std::vector<NetworkDifference> differences;
  for (const CheckedBackend& backend : backends) {
    differences.push_back(Compare(network_case.spec, Run(network_case, backend), expected));
  }
  return differences;
}

NetworkCase WithGradients(NetworkCase network_case) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i, ++network_case.seed) {
    const Results results = Run(network_case, {.name = "reference"});
    const auto is_zero = [](const std::vector<float>& tensor) {
      return std::ranges::all_of(tensor, [](float gradient) { return gradient == 0; });
    };
    if (std::ranges::none_of(results.gradients, is_zero) &&
        std::ranges::none_of(results.inputs, is_zero)) {
      return network_case;
    }
  }
  throw WorkFailed(fmt::format("network check '{}': no gradients", network_case.name));
}

bool IsWithin(const NetworkDifference& difference, const NetworkTolerance& tolerance) {
  return difference.outputs <= tolerance.outputs && difference.gradients <= tolerance.gradients &&
         difference.inputs <= tolerance.gradients;
}

std::vector<NetworkCase> OddCases() {
  std::vector<NetworkCase> cases;
  // Sizes that fill no vector register, strides that skip inputs, and every layer.
  AddBoth(cases, "one filter", "frames(1, 5, 7, 1) conv(1, 3, 1) relu flatten linear(4)",
          "frames(1, 5, 7, 9) conv(1, 3, 1) elu flatten linear(3)", 31, 31);
  AddBoth(cases, "stride over kernel", "frames(3, 17, 13, 1) conv(7, 2, 5) relu flatten linear(2)",
          "frames(3, 17, 13, 255) conv(7, 2, 5) tanh flatten linear(2)", 31, 31);
  AddBoth(cases, "kernel as input", "frames(5, 4, 4, 1) conv(33, 4, 2) relu flatten linear(8)",
          "frames(5, 4, 4, 255) conv(33, 4, 2) tanh flatten linear(7)", 16, 1);
  AddBoth(cases, "deep",
          "frames(4, 20, 19, 1) conv(17, 3, 2) relu conv(20, 3, 1) relu conv(5, 2, 2) relu flatten "
          "dueling{linear(19) relu linear(1) | linear(35) relu linear(4)}",
          "frames(4, 20, 19, 255) conv(17, 3, 2) elu conv(20, 3, 1) tanh conv(5, 2, 2) flatten "
          "dueling{linear(19) tanh linear(1) | linear(35) elu linear(3)}",
          33, 18);
  AddBoth(cases, "streams of convolutions",
          "frames(2, 9, 9, 1) conv(3, 2, 1) relu dueling{conv(2, 3, 2) relu flatten linear(1) | "
          "conv(18, 8, 1) relu flatten linear(4)}",
          "frames(2, 9, 9, 255) conv(3, 2, 1) tanh dueling{conv(2, 3, 2) elu flatten linear(1) | "
          "flatten linear(5) tanh linear(4)}",
          8, 7);
  AddBoth(cases, "streams of unlike kinds",
          "frames(2, 6, 6, 1) conv(3, 2, 1) relu dueling{flatten linear(1) | "
          "conv(2, 3, 1) relu flatten linear(4)}",
          "frames(2, 6, 6, 255) dueling{conv(2, 3, 2) elu flatten linear(1) | "
          "flatten linear(5) tanh linear(4)}",
          8, 8);
  AddBoth(cases, "large batch", "vector(9) linear(33) relu linear(17) relu linear(4)",
          "vector(9) linear(33) tanh linear(17) elu linear(3)", 257, 257);
  AddBoth(cases, "one number", "vector(1) linear(1)", "vector(1) linear(1) tanh linear(1)", 1, 1);
  AddBoth(cases, "two parts",
          "vector(5, 3) linear(17) relu dueling{linear(6) relu linear(1) | linear(4)}",
          "vector(5, 3) linear(17) elu dueling{linear(6) tanh linear(1) | linear(5)}", 33, 18);
  AddBoth(cases, "two parts without a hidden layer", "vector(1, 18) linear(2)",
          "vector(18, 1) linear(1)", 17, 1);
  AddBoth(cases, "streams on the input",
          "vector(3, 2) dueling{linear(4) relu linear(1) | linear(2)}",
          "vector(3, 2) dueling{linear(1) | linear(9) tanh linear(3)}", 5, 5);
  AddBoth(cases, "no hidden layer", "frames(4, 8, 8, 1) flatten linear(16)",
          "frames(4, 8, 8, 255) flatten linear(18)", 40, 40);
  AddBoth(cases, "images of floats",
          "images(3, 9, 11, 1) conv(5, 3, 2) relu conv(4, 2, 1) relu flatten linear(4)",
          "images(3, 9, 11, 7) conv(5, 3, 2) tanh conv(4, 2, 1) elu flatten linear(3)", 18, 17);
  AddBoth(cases, "images of floats without convolutions",
          "images(4, 6, 5, 1) flatten linear(8) relu linear(2)",
          "images(4, 6, 5, 0.5) flatten linear(9) tanh linear(3)", 16, 16);
  for (NetworkCase& c : cases) c = WithGradients(std::move(c));
  return cases;
}

std::vector<NetworkCase> NamedCases() {
  std::vector<NetworkCase> cases;
  for (const std::string& name : NetworkNames()) AddNamed(cases, name);
  for (const std::string& name : ControlNetworkNames()) AddNamed(cases, name);
  return cases;
}

}  // namespace stableaa
