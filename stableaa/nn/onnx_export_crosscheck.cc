// onnx_export_crosscheck DIR: writes some networks as ONNX models, with observations and the values
// that the library gives them, for onnx_export_crosscheck.py to compare with ONNX Runtime.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/nn/network.h"
#include "stableaa/nn/onnx_export.h"
#include "stableaa/nn/random_input.h"

namespace stableaa {
namespace {

constexpr int kCount = 7;

// One sample after another, as an environment with this layout gives them.
std::vector<std::uint8_t> Bytes(const InputSpec& input, const NetworkInput& view, bool last) {
  const auto channels = static_cast<std::size_t>(input.shape.channels);
  const auto pixels =
      static_cast<std::size_t>(input.shape.height) * static_cast<std::size_t>(input.shape.width);
  std::vector<std::uint8_t> bytes(view.frames.size() * pixels);
  for (std::size_t plane = 0; plane < view.frames.size(); ++plane) {
    const std::size_t sample = plane / channels * channels * pixels, c = plane % channels;
    for (std::size_t k = 0; k < pixels; ++k) {
      bytes[sample + (last ? k * channels + c : c * pixels + k)] = view.frames[plane][k];
    }
  }
  return bytes;
}

void WriteCase(const std::filesystem::path& folder, const std::string& name,
               const NetworkSpec& spec, bool channels_last) {
  const auto plan = std::make_shared<const Plan>(MakePlan(spec));
  RandomStream random(1, name);
  Parameters parameters(plan);
  parameters.Initialise(random);
  const RandomInput input(spec.input, kCount, random);
  std::vector<float> outputs(static_cast<std::size_t>(kCount * plan->outputs()));
  CompileNetwork(plan, {.batch = kCount})->Forward(parameters, input.view(), outputs);

  const Shape& shape = spec.input.shape;
  OnnxObservation observation{.is_bytes = !spec.input.is_vector(),
                              .channel_axis = channels_last ? 2 : 0,
                              .divisor = spec.input.divisor};
  nlohmann::json values;
  if (spec.input.is_vector()) {
    observation.shape = {shape.channels};
    values = input.Joined();
  } else {
    observation.shape = channels_last ? std::vector{shape.height, shape.width, shape.channels}
                                      : std::vector{shape.channels, shape.height, shape.width};
    values = Bytes(spec.input, input.view(), channels_last);
  }
  WriteOnnx(folder / (name + ".onnx"), parameters, observation, {{"case", name}});
  std::ofstream(folder / (name + ".json"))
      << nlohmann::json{{"shape", observation.shape}, {"observations", values}, {"q", outputs}};
}

// Bytes without channels, which become a vector of numbers up to 1.
void WriteMemoryCase(const std::filesystem::path& folder) {
  const auto plan =
      std::make_shared<const Plan>(MakePlan(ParseSpec("vector(128) linear(32) relu linear(4)")));
  RandomStream random(1, "memory");
  Parameters parameters(plan);
  parameters.Initialise(random);
  std::vector<int> bytes;
  std::vector<float> vectors;
  for (int i = 0; i < kCount * 128; ++i) {
    bytes.push_back(static_cast<int>(random.Below(256)));
    vectors.push_back(static_cast<float>(bytes.back()) / 255);
  }
  std::vector<float> outputs(kCount * 4);
  CompileNetwork(plan, {.batch = kCount})
      ->Forward(parameters, {.count = kCount, .vectors = vectors}, outputs);
  const std::vector<int> shape = {8, 16};
  WriteOnnx(folder / "memory.onnx", parameters, {.is_bytes = true, .shape = shape, .divisor = 255},
            {{"case", "memory"}});
  std::ofstream(folder / "memory.json")
      << nlohmann::json{{"shape", shape}, {"observations", bytes}, {"q", outputs}};
}

// Floats of two axes, and a stack of two frames with three channels each, which come last.
void WriteImageCases(const std::filesystem::path& folder) {
  for (const bool stack : {false, true}) {
    const std::string name = stack ? "stack" : "depth";
    const NetworkSpec spec =
        ParseSpec(stack ? "frames(6, 10, 8, 255) conv(5, 3, 2) relu flatten linear(4)"
                        : "images(1, 12, 9, 20) conv(5, 4, 1) relu flatten linear(4)");
    const auto plan = std::make_shared<const Plan>(MakePlan(spec));
    RandomStream random(1, name);
    Parameters parameters(plan);
    parameters.Initialise(random);
    const RandomInput input(spec.input, kCount, random);
    std::vector<float> outputs(static_cast<std::size_t>(kCount * plan->outputs()));
    CompileNetwork(plan, {.batch = kCount})->Forward(parameters, input.view(), outputs);

    OnnxObservation observation{.is_bytes = stack, .divisor = spec.input.divisor};
    nlohmann::json values;
    if (stack) {
      observation.shape = {2, 10, 8, 3};
      observation.channel_axis = 3;
      for (std::size_t frame = 0; frame < 2 * kCount; ++frame) {
        for (std::size_t k = 0; k < 10 * 8; ++k) {
          for (std::size_t c = 0; c < 3; ++c) {
            values.push_back(input.view().frames[3 * frame + c][k]);
          }
        }
      }
    } else {
      observation.shape = {12, 9};
      observation.channel_axis = 2;
      values = input.view().vectors;
    }
    WriteOnnx(folder / (name + ".onnx"), parameters, observation, {{"case", name}});
    std::ofstream(folder / (name + ".json"))
        << nlohmann::json{{"shape", observation.shape}, {"observations", values}, {"q", outputs}};
  }
}

// Actors, with weights so large that many outputs are near the bounds, one of which is no interval.
void WriteActorCases(const std::filesystem::path& folder) {
  const OnnxActions row = {.shape = {3}, .low = {-2, .5F, 4}, .high = {1, .75F, 4}};
  const OnnxActions square = {
      .shape = {2, 2}, .low = {-1, -1e6F, 0, 3e5F}, .high = {1, 1e6F, 1e-3F, 300001}};
  // Most outputs are at the bounds, of which one is small beside the other.
  const OnnxActions uneven = {
      .shape = {3}, .low = {-16777216, -3e38F, -.3F}, .high = {.1F, 3e38F, 1e30F}};
  struct Case {
    std::string name, spec;
    OnnxActions actions;
    float scale = 4;  // of the weights
  };
  for (const auto& [name, spec, actions, scale] :
       {Case{"actor", "vector(5) linear(16) relu linear(3) tanh", row},
        Case{"actor-gaussian", "vector(5) linear(16) relu linear(6)", row},
        Case{"actor-square", "vector(5) linear(4) tanh", square},
        Case{"actor-gaussian-square", "vector(5) linear(8)", square},
        Case{"actor-uneven", "vector(5) linear(16) relu linear(3) tanh", uneven, 100}}) {
    const auto plan = std::make_shared<const Plan>(MakePlan(ParseSpec(spec)));
    RandomStream random(1, name);
    Parameters parameters(plan);
    parameters.Initialise(random);
    for (float& weight : parameters.block()) weight *= scale;
    const RandomInput input(plan->spec.input, kCount, random);
    const auto outputs = static_cast<std::size_t>(plan->outputs());
    std::vector<float> found(kCount * outputs);
    CompileNetwork(plan, {.batch = kCount})->Forward(parameters, input.view(), found);
    const std::size_t elements = actions.low.size();
    std::vector<double> expected;
    for (std::size_t i = 0; i < kCount * elements; ++i) {
      const std::size_t k = i % elements;
      const auto output = static_cast<double>(found[i / elements * outputs + k]);
      const double unit = outputs == elements ? output : std::tanh(output);
      const auto low = static_cast<double>(actions.low[k]);
      const auto high = static_cast<double>(actions.high[k]);
      expected.push_back((1 - unit) / 2 * low + (1 + unit) / 2 * high);
    }
    const std::vector<int> shape = {5};
    WriteOnnx(folder / (name + ".onnx"), parameters, {.shape = shape}, {{"case", name}}, actions);
    std::ofstream(folder / (name + ".json"))
        << nlohmann::json{{"shape", shape},      {"observations", input.Joined()},
                          {"actions", expected}, {"action_shape", actions.shape},
                          {"low", actions.low},  {"high", actions.high}};
  }
}

}  // namespace
}  // namespace stableaa

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: onnx_export_crosscheck DIR\n", stderr);
    return 2;
  }
  for (const std::string& name : stableaa::NetworkNames()) {
    const bool channels_last = name.starts_with("minatar");  // as the environments do
    stableaa::WriteCase(argv[1], name, stableaa::NamedSpec(name, 6), channels_last);
  }
  stableaa::WriteCase(
      argv[1], "layers",
      stableaa::ParseSpec("frames(3, 20, 13, 255) conv(8, 3, 2) elu conv(17, 2, 1) tanh flatten "
                          "linear(33) elu dueling{linear(9) tanh linear(1) | linear(5)}"),
      true);
  for (const std::string& name : stableaa::ControlNetworkNames()) {
    stableaa::WriteCase(argv[1], name, stableaa::NamedSpec(name, 6), false);
  }
  stableaa::WriteCase(argv[1], "last-active",
                      stableaa::ParseSpec("vector(7) linear(33) tanh linear(3) elu"), false);
  stableaa::WriteCase(argv[1], "flat-frames",
                      stableaa::ParseSpec("frames(2, 5, 4, 3) flatten linear(3)"), true);
  stableaa::WriteMemoryCase(argv[1]);
  stableaa::WriteActorCases(argv[1]);
  stableaa::WriteImageCases(argv[1]);
}
