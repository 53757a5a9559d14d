// What an exported model says. onnx_export_crosscheck.py runs such models in ONNX Runtime.

#include "stableaa/nn/onnx_export.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "onnx_model.pb.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::onnx_export_test {

Parameters Drawn(const NetworkSpec& spec) {
  Parameters parameters(std::make_shared<const Plan>(MakePlan(spec)));
  RandomStream random(3, "weights");
  parameters.Initialise(random);
  return parameters;
}

onnx::Model Exported(const Parameters& parameters, const OnnxObservation& observation,
                     const std::map<std::string, std::string>& metadata = {}) {
  onnx::Model model;
  EXPECT_TRUE(model.ParseFromString(OnnxModel(parameters, observation, metadata)));
  return model;
}

std::vector<std::string> Operators(const onnx::Model& model) {
  std::vector<std::string> operators;
  for (const onnx::Node& node : model.graph().node()) operators.push_back(node.op_type());
  return operators;
}

const OnnxObservation kMinatar = {.is_bytes = true, .shape = {10, 10, 4}, .channel_axis = 2};

// "batch,10,10,4".
std::string SidesOf(const onnx::ValueInfo& value) {
  std::string sides;
  for (const onnx::Shape::Dimension& side : value.type().tensor_type().shape().dim()) {
    if (!sides.empty()) sides += ',';
    sides += side.has_name() ? side.name() : std::to_string(side.size());
  }
  return sides;
}

TEST(OnnxExport, NamesVersionsInputOutputAndMetadata) {
  const Parameters parameters = Drawn(MinatarSpec({.channels = 4, .actions = 6}));
  const onnx::Model model = Exported(parameters, kMinatar, {{"stableaa.env", "minatar/breakout"}});
  EXPECT_EQ(model.ir_version(), 8);
  ASSERT_EQ(model.opset_import_size(), 1);
  EXPECT_EQ(model.opset_import(0).domain(), "");
  EXPECT_EQ(model.opset_import(0).version(), 17);
  EXPECT_EQ(model.producer_name(), "stableaa");
  std::map<std::string, std::string> metadata;
  for (const auto& entry : model.metadata_props()) metadata[entry.key()] = entry.value();
  EXPECT_EQ(metadata.size(), 3U);
  EXPECT_EQ(metadata["stableaa.env"], "minatar/breakout");
  EXPECT_EQ(metadata["stableaa.spec"], ToText(parameters.plan().spec));
  EXPECT_EQ(metadata["stableaa.version"], model.producer_version());

  ASSERT_EQ(model.graph().input_size(), 1);
  ASSERT_EQ(model.graph().output_size(), 1);
  const onnx::ValueInfo &input = model.graph().input(0), &output = model.graph().output(0);
  EXPECT_EQ(input.name(), "observation");
  EXPECT_EQ(input.type().tensor_type().elem_type(), 2);
  EXPECT_EQ(SidesOf(input), "batch,10,10,4");
  EXPECT_EQ(output.name(), "q_values");
  EXPECT_EQ(output.type().tensor_type().elem_type(), 1);
  EXPECT_EQ(SidesOf(output), "batch,6");
}

TEST(OnnxExport, OperatorsFollowTheNetwork) {
  const auto operators = [](const NetworkSpec& spec, const OnnxObservation& observation) {
    return Operators(Exported(Drawn(spec), observation));
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(operators(MinatarSpec({.channels = 4, .actions = 6}), kMinatar),
            (Words{"Cast", "Transpose", "Conv", "Relu", "Flatten", "Gemm", "Relu", "Gemm"}));
  EXPECT_EQ(operators(MlpSpec({.inputs = 4, .hidden = {8}, .dueling = true}), {.shape = {4}}),
            (Words{"Gemm", "Relu", "Gemm", "Gemm", "Relu", "Gemm", "ReduceMean", "Sub", "Add"}));
  EXPECT_EQ(operators(ParseSpec("frames(2, 5, 5, 255) conv(3, 2, 2) elu flatten linear(2) tanh"),
                      {.is_bytes = true, .shape = {2, 5, 5}, .divisor = 255}),
            (Words{"Cast", "Div", "Conv", "Elu", "Flatten", "Gemm", "Tanh"}));
  EXPECT_EQ(operators(ParseSpec("vector(12) linear(2)"),
                      {.is_bytes = true, .shape = {3, 4}, .divisor = 255}),
            (Words{"Cast", "Div", "Flatten", "Gemm"}));
}

TEST(OnnxExport, InitialisersAreTheTensorsOfTheWeightsFile) {
  const Parameters parameters = Drawn(NatureSpec({.actions = 3, .dueling = true}));
  const onnx::Model model =
      Exported(parameters, {.is_bytes = true, .shape = {4, 84, 84}, .divisor = 255});
  const std::vector<ParameterTensor> tensors = ParameterTensors(parameters.plan());
  ASSERT_EQ(model.graph().initializer_size(), std::ssize(tensors) + 1);  // and the divisor
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const onnx::Tensor& found = model.graph().initializer(static_cast<int>(i));
    EXPECT_EQ(found.name(), tensors[i].name);
    EXPECT_EQ(std::vector<std::int64_t>(found.dims().begin(), found.dims().end()),
              tensors[i].shape);
    std::vector<float> values(tensors[i].size());
    parameters.Get(tensors[i], values);
    ASSERT_EQ(found.raw_data().size(), values.size() * sizeof(float));
    EXPECT_EQ(std::memcmp(found.raw_data().data(), values.data(), found.raw_data().size()), 0);
  }
}

// Every name is made once, before it is used, and q_values last.
TEST(OnnxExport, NodesAreInOrder) {
  std::vector<std::string> names = NetworkNames();
  names.emplace_back("critic");
  for (const std::string& name : names) {
    const NetworkSpec spec = NamedSpec(name, 5);
    const Shape& shape = spec.input.shape;
    const OnnxObservation observation =
        shape.is_vector ? OnnxObservation{.shape = {shape.channels}}
                        : OnnxObservation{.is_bytes = true,
                                          .shape = {shape.channels, shape.height, shape.width}};
    const onnx::Graph graph = Exported(Drawn(spec), observation).graph();
    std::set<std::string> known = {"observation"};
    for (const onnx::Tensor& tensor : graph.initializer()) known.insert(tensor.name());
    for (const onnx::Node& node : graph.node()) {
      for (const std::string& input : node.input()) EXPECT_TRUE(known.contains(input)) << input;
      EXPECT_TRUE(known.insert(node.output(0)).second) << node.output(0);
    }
    EXPECT_EQ(graph.node(graph.node_size() - 1).output(0), "q_values");
  }
}

onnx::Model ExportedActor(const std::string& spec, const OnnxActions& actions) {
  onnx::Model model;
  EXPECT_TRUE(
      model.ParseFromString(OnnxModel(Drawn(ParseSpec(spec)), {.shape = {3}}, {}, actions)));
  return model;
}

TEST(OnnxExport, AnActorGivesActionsOfTheEnvironmentsShape) {
  using Words = std::vector<std::string>;
  const OnnxActions pair = {.shape = {2}, .low = {-2, 0}, .high = {2, 5}};
  const onnx::Model plain = ExportedActor("vector(3) linear(2) tanh", pair);
  EXPECT_EQ(plain.graph().output(0).name(), "actions");
  EXPECT_EQ(SidesOf(plain.graph().output(0)), "batch,2");
  EXPECT_EQ(Operators(plain),
            (Words{"Gemm", "Tanh", "Mul", "Add", "Sub", "Mul", "Mul", "Add", "Max", "Min"}));
  // Two outputs per element: the means come first.
  const onnx::Model gaussian = ExportedActor("vector(3) linear(4)", pair);
  EXPECT_EQ(Operators(gaussian), (Words{"Gemm", "Slice", "Tanh", "Mul", "Add", "Sub", "Mul", "Mul",
                                        "Add", "Max", "Min"}));
  const OnnxActions square = {
      .shape = {2, 2}, .low = std::vector<float>(4, -1), .high = std::vector<float>(4, 1)};
  const onnx::Model shaped = ExportedActor("vector(3) linear(4) tanh", square);
  EXPECT_EQ(SidesOf(shaped.graph().output(0)), "batch,2,2");
  EXPECT_EQ(Operators(shaped).back(), "Reshape");
  // The bounds are in the model as they are.
  std::map<std::string, std::string> bounds;
  for (const onnx::Tensor& tensor : plain.graph().initializer()) {
    bounds[tensor.name()] = tensor.raw_data();
  }
  for (const auto& [name, expected] :
       {std::pair("actions.low", pair.low), std::pair("actions.high", pair.high)}) {
    ASSERT_EQ(bounds[name].size(), 8U);
    EXPECT_EQ(std::memcmp(bounds[name].data(), expected.data(), 8), 0) << name;
  }
}

TEST(OnnxExport, ActionsThatDoNotFitAreRefused) {
  const auto refused = [](const std::string& spec, const OnnxActions& actions) {
    return MessageOf([&] { OnnxModel(Drawn(ParseSpec(spec)), {.shape = {3}}, {}, actions); });
  };
  EXPECT_EQ(refused("vector(3) linear(3) tanh", {.shape = {2}, .low = {0, 0}, .high = {1, 1}}),
            "a network with 3 outputs cannot give actions of 2 numbers with 2 and 2 bounds");
  EXPECT_EQ(refused("vector(3) linear(2) tanh", {.shape = {2}, .low = {0}, .high = {1, 1}}),
            "a network with 2 outputs cannot give actions of 2 numbers with 1 and 2 bounds");
}

TEST(OnnxExport, AVectorOfTwoPartsIsOneInput) {
  const Parameters parameters = Drawn(ParseSpec("vector(3, 2) linear(1)"));
  const onnx::Model model = Exported(parameters, {.shape = {5}});
  ASSERT_EQ(model.graph().input_size(), 1);
  const auto& shape = model.graph().input(0).type().tensor_type().shape();
  ASSERT_EQ(shape.dim_size(), 2);
  EXPECT_EQ(shape.dim(1).size(), 5);
  EXPECT_THROW(OnnxModel(parameters, {.shape = {3}}), Error);
}

TEST(OnnxExport, ObservationsThatDoNotFitAreRefused) {
  const Parameters parameters = Drawn(MinatarSpec({.channels = 4, .actions = 6}));
  EXPECT_EQ(MessageOf([&] {
              OnnxModel(parameters, {.is_bytes = true, .shape = {10, 10, 6}, .channel_axis = 2});
            }),
            "a network for 4 planes of 10x10 cannot take bytes of 10x10x6");
  EXPECT_THROW(OnnxModel(parameters, {.is_bytes = true, .shape = {10, 10, 4}}), Error);
  EXPECT_THROW(OnnxModel(parameters, {.shape = {400}}), Error);
  EXPECT_EQ(MessageOf([] { OnnxModel(Drawn(ParseSpec("vector(4) linear(2)")), {.shape = {5}}); }),
            "a network for 4 numbers cannot take floats of 5");
}

TEST(OnnxExport, EqualNetworksGiveEqualFiles) {
  const TemporaryFolder folder;
  const Parameters parameters = Drawn(MinatarSpec({.channels = 4, .actions = 6}));
  WriteOnnx(folder / "a.onnx", parameters, kMinatar);
  WriteOnnx(folder / "a.onnx", parameters, kMinatar);  // replaces it
  EXPECT_EQ(ReadTextFile(folder / "a.onnx", 1 << 24), OnnxModel(parameters, kMinatar));
}

}  // namespace stableaa::onnx_export_test
