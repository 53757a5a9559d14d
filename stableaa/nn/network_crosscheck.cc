// network_crosscheck DIR: writes weights, inputs, outputs and gradients of some networks for
// network_crosscheck.py to compare with PyTorch.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/nn/network.h"
#include "stableaa/nn/random_input.h"
#include "stableaa/nn/safetensors.h"

namespace stableaa {
namespace {

nlohmann::json InputAsJson(const InputSpec& input, const RandomInput& numbers) {
  if (input.takes_floats()) return numbers.Joined();
  const NetworkInput view = numbers.view();
  nlohmann::json bytes = nlohmann::json::array();
  const int pixels = input.shape.height * input.shape.width;
  for (const std::uint8_t* frame : view.frames) {
    for (int i = 0; i < pixels; ++i) bytes.push_back(frame[i]);
  }
  return bytes;
}

void WriteCase(const std::filesystem::path& folder, const std::string& name,
               const NetworkSpec& spec, int count) {
  const auto plan = std::make_shared<const Plan>(MakePlan(spec));
  RandomStream random(1, name);
  Parameters parameters(plan);
  parameters.Initialise(random);
  const RandomInput input(spec.input, count, random);
  std::vector<float> outputs(static_cast<std::size_t>(count * plan->outputs()));
  std::vector<float> output_gradients(outputs.size());
  random.FillUniform(output_gradients, -1, 1);
  Parameters gradients(plan);
  const auto network = CompileNetwork(plan, {.batch = count, .input_gradients = true});
  network->Forward(parameters, input.view(), outputs);
  network->Backward(parameters, output_gradients, gradients);

  nlohmann::json input_gradients = nlohmann::json::array();  // one per part of a vector
  for (int part = 0; spec.input.is_vector() && part < spec.input.part_count(); ++part) {
    std::vector<float> values(static_cast<std::size_t>(count * spec.input.part_size(part)));
    network->BackwardToInput(parameters, output_gradients, part, values);
    input_gradients.push_back(values);
  }

  WriteWeights(folder / (name + ".safetensors"), parameters);
  WriteWeights(folder / (name + ".gradients.safetensors"), gradients);
  std::ofstream(folder / (name + ".json"))
      << nlohmann::json{{"count", count},
                        {"input", InputAsJson(spec.input, input)},
                        {"outputs", outputs},
                        {"output_gradients", output_gradients},
                        {"input_gradients", input_gradients}};
}

}  // namespace
}  // namespace stableaa

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: network_crosscheck DIR\n", stderr);
    return 2;
  }
  for (const std::string& name : stableaa::NetworkNames()) {
    stableaa::WriteCase(argv[1], name, stableaa::NamedSpec(name, 6), name == "nature" ? 3 : 5);
  }
  for (const std::string& name : stableaa::ControlNetworkNames()) {
    stableaa::WriteCase(argv[1], name, stableaa::NamedSpec(name, 6), 5);
  }
  const std::map<std::string, std::string> others = {
      {"elu", "frames(3, 11, 9, 255) conv(5, 3, 2) elu conv(17, 2, 1) tanh flatten linear(4)"},
      {"images", "images(3, 11, 9, 8) conv(5, 3, 2) elu conv(17, 2, 1) tanh flatten linear(4)"},
      {"wide-stride", "frames(2, 13, 13, 1) conv(7, 2, 5) elu flatten linear(19) tanh linear(3)"},
      {"tanh", "vector(7) linear(33) tanh dueling{linear(1) | linear(9) elu linear(5)}"}};
  for (const auto& [name, spec] : others) {
    stableaa::WriteCase(argv[1], name, stableaa::ParseSpec(spec), 9);
  }
}
