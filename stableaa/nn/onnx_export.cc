#include "stableaa/nn/onnx_export.h"

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>

#include "onnx_model.pb.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/machine.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

static_assert(std::endian::native == std::endian::little);  // as raw_data is

constexpr int kIrVersion = 8;
constexpr int kFloats = 1, kBytes = 2, kIntegers = 7;  // types of elements
constexpr const char* kBatch = "batch";
constexpr const char* kObservation = "observation";
constexpr const char* kValues = "q_values";
constexpr const char* kActions = "actions";

std::int64_t SizeOf(const std::vector<int>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string ShapeText(const OnnxObservation& observation) {
  return fmt::format("{} of {}", observation.is_bytes ? "bytes" : "floats",
                     fmt::join(observation.shape, "x"));
}

// Whether the channels, or those of each frame of a stack, are the last axis.
bool ChannelsLast(const OnnxObservation& observation) {
  const std::size_t axes = observation.shape.size();
  return axes > 2 && observation.channel_axis + 1 == static_cast<int>(axes);
}

void RequireFit(const InputSpec& input, const OnnxObservation& observation) {
  const std::vector<int>& shape = observation.shape;
  const Shape& wanted = input.shape;
  const std::int64_t size = SizeOf(shape);
  bool fits = false;
  if (input.is_vector()) {
    fits = size == wanted.channels;
  } else if (shape.size() >= 2 && shape.size() <= 4 && observation.channel_axis >= 0) {
    const std::size_t columns = shape.size() - (ChannelsLast(observation) ? 2 : 1);
    fits = shape[columns - 1] == wanted.height && shape[columns] == wanted.width &&
           size == wanted.size();
  }
  if (fits) return;
  throw BadInput(fmt::format("a network for {} cannot take {}",
                             input.is_vector() ? fmt::format("{} numbers", wanted.channels)
                                               : fmt::format("{} planes of {}x{}", wanted.channels,
                                                             wanted.height, wanted.width),
                             ShapeText(observation)));
}

void RequireActor(const Plan& plan, const OnnxActions& actions) {
  const std::int64_t elements = SizeOf(actions.shape), outputs = plan.outputs();
  const bool are_bounded =
      std::ssize(actions.low) == elements && std::ssize(actions.high) == elements;
  if (are_bounded && elements > 0 && (outputs == elements || outputs == 2 * elements)) return;
  throw BadInput(fmt::format(
      "a network with {} outputs cannot give actions of {} numbers with {} and {} bounds", outputs,
      elements, actions.low.size(), actions.high.size()));
}

class GraphMaker {
 public:
  GraphMaker(const Parameters& parameters, onnx::Graph& graph)
      : parameters_(parameters), plan_(parameters.plan()), graph_(graph) {}

  void Make(const OnnxObservation& observation, const std::optional<OnnxActions>& actions) {
    const char* const made = actions ? kActions : kValues;
    graph_.set_name(actions ? "actor" : "q_network");
    Declare(*graph_.add_input(), kObservation, observation.is_bytes ? kBytes : kFloats,
            observation.shape);
    Declare(*graph_.add_output(), made, kFloats,
            actions ? actions->shape : std::vector{plan_.outputs()});
    for (const ParameterTensor& tensor : ParameterTensors(plan_)) {
      std::vector<float> values(tensor.size());
      parameters_.Get(tensor, values);
      AddInitializer(tensor.name, tensor.shape, values);
    }
    names_.resize(plan_.values.size());
    names_[0] = AddInput(observation);
    for (const PlanStep& step : plan_.steps) NameOf(step.output) = AddStep(step);
    if (actions) AddActions(*actions, NameOf(plan_.steps.back().output));
    onnx::Node& last = *graph_.mutable_node(graph_.node_size() - 1);
    last.set_name(made);
    last.set_output(0, made);
  }

 private:
  static void Declare(onnx::ValueInfo& value, const char* name, int type,
                      const std::vector<int>& shape) {
    value.set_name(name);
    onnx::Type::Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape()->add_dim()->set_name(kBatch);
    for (const int side : shape) tensor.mutable_shape()->add_dim()->set_size(side);
  }

  void AddInitializer(const std::string& name, const std::vector<std::int64_t>& shape,
                      const std::vector<float>& values) {
    onnx::Tensor& tensor = *graph_.add_initializer();
    for (const std::int64_t side : shape) tensor.add_dims(side);
    tensor.set_data_type(kFloats);
    tensor.set_name(name);
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  }

  // A node with one output, `name`, which is also the node's name.
  onnx::Node& AddNode(const std::string& type, const std::vector<std::string>& inputs,
                      const std::string& name) {
    onnx::Node& node = *graph_.add_node();
    node.set_op_type(type);
    node.set_name(name);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(name);
    return node;
  }

  static void SetInt(onnx::Node& node, const char* name, int value) {
    onnx::Attribute& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::Attribute::INT);
    attribute.set_i(value);
  }

  static void SetInts(onnx::Node& node, const char* name, const std::vector<int>& values) {
    onnx::Attribute& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::Attribute::INTS);
    for (const int value : values) attribute.add_ints(value);
  }

  // Returns the name of the network's input: floats, channels first.
  std::string AddInput(const OnnxObservation& observation) {
    std::string name = kObservation;
    if (observation.is_bytes) {
      onnx::Node& cast = AddNode("Cast", {name}, "observation.floats");
      SetInt(cast, "to", kFloats);
      name = cast.name();
    }
    if (observation.divisor != 1) {
      AddInitializer("observation.divisor", {}, {static_cast<float>(observation.divisor)});
      name = AddNode("Div", {name, "observation.divisor"}, "observation.scaled").name();
    }
    const std::size_t axes = observation.shape.size();
    if (plan_.spec.input.is_vector()) {
      return axes == 1 ? name : AddFlatten(name, "observation.flat");
    }
    if (ChannelsLast(observation)) {
      onnx::Node& transpose = AddNode("Transpose", {name}, "observation.planes");
      SetInts(transpose, "perm",
              axes == 3 ? std::vector<int>{0, 3, 1, 2} : std::vector<int>{0, 1, 4, 2, 3});
      name = transpose.name();
    }
    return axes == 3 ? name : AddReshape(name);
  }

  // To the batch, channels, rows and columns.
  std::string AddReshape(const std::string& input) {
    const Shape& shape = plan_.spec.input.shape;
    AddIntegers("observation.shape", {0, shape.channels, shape.height, shape.width});
    return AddNode("Reshape", {input, "observation.shape"}, "observation.image").name();
  }

  void AddIntegers(const std::string& name, const std::vector<std::int64_t>& values) {
    onnx::Tensor& tensor = *graph_.add_initializer();
    tensor.add_dims(std::ssize(values));
    tensor.set_data_type(kIntegers);
    tensor.set_name(name);
    tensor.set_raw_data(values.data(), values.size() * sizeof(std::int64_t));
  }

  // From the network's outputs to the environment's actions.
  void AddActions(const OnnxActions& actions, std::string name) {
    const std::size_t elements = actions.low.size();
    if (static_cast<std::size_t>(plan_.outputs()) != elements) {
      AddIntegers("means.begin", {0});
      AddIntegers("means.end", {std::ssize(actions.low)});
      AddIntegers("means.axis", {1});
      AddNode("Slice", {name, "means.begin", "means.end", "means.axis"}, "means");
      name = AddNode("Tanh", {"means"}, "means.squashed").name();
    }
    const std::vector<std::int64_t> row = {std::ssize(actions.low)};
    AddInitializer("actions.half", {}, {0.5F});
    AddInitializer("actions.low", row, actions.low);
    AddInitializer("actions.high", row, actions.high);
    // Shares of both bounds: a middle and a half width would miss a bound that is small beside the
    // other.
    AddNode("Mul", {name, "actions.half"}, "actions.scaled");
    AddNode("Add", {"actions.half", "actions.scaled"}, "actions.share");
    AddNode("Sub", {"actions.half", "actions.scaled"}, "actions.rest");
    AddNode("Mul", {"actions.share", "actions.high"}, "actions.of_high");
    AddNode("Mul", {"actions.rest", "actions.low"}, "actions.of_low");
    AddNode("Add", {"actions.of_low", "actions.of_high"}, "actions.moved");
    // Rounding may have led out of the bounds.
    AddNode("Max", {"actions.moved", "actions.low"}, "actions.from_low");
    name = AddNode("Min", {"actions.from_low", "actions.high"}, "actions.within").name();
    if (actions.shape.size() == 1) return;
    std::vector<std::int64_t> sides = {0};
    sides.insert(sides.end(), actions.shape.begin(), actions.shape.end());
    AddIntegers("actions.shape", sides);
    AddNode("Reshape", {name, "actions.shape"}, "actions.shaped");
  }

  std::string AddFlatten(const std::string& input, const std::string& name) {
    onnx::Node& node = AddNode("Flatten", {input}, name);
    SetInt(node, "axis", 1);
    return name;
  }

  // Returns the name of the step's output.
  std::string AddStep(const PlanStep& step) {
    switch (step.operation) {
      case Operation::kDueling:
        return AddDueling(step);
      case Operation::kConvolution:
        AddConvolution(step);
        break;
      case Operation::kLinear:
        AddLinear(step);
        break;
    }
    const std::string activation = ActivationOf(step);
    if (activation.empty()) return step.name;
    return AddNode(activation, {step.name}, step.name + ".active").name();  // Elu's alpha is 1
  }

  static std::string ActivationOf(const PlanStep& step) {
    switch (step.activation) {
      case Activation::kNone:
        return "";
      case Activation::kRelu:
        return "Relu";
      case Activation::kElu:
        return "Elu";
      case Activation::kTanh:
        return "Tanh";
    }
    return "";
  }

  void AddConvolution(const PlanStep& step) {
    onnx::Node& node = AddNode("Conv", InputsOf(step, NameOf(step.input)), step.name);
    SetInts(node, "kernel_shape", {step.kernel, step.kernel});
    SetInts(node, "strides", {step.stride, step.stride});
    SetInts(node, "pads", {0, 0, 0, 0});
  }

  void AddLinear(const PlanStep& step) {
    const std::string input = step.in.is_vector
                                  ? NameOf(step.input)
                                  : AddFlatten(NameOf(step.input), step.name + ".flat");
    onnx::Node& node = AddNode("Gemm", InputsOf(step, input), step.name);
    SetInt(node, "transB", 1);
  }

  static std::vector<std::string> InputsOf(const PlanStep& step, const std::string& input) {
    return {input, step.name + ".weight", step.name + ".bias"};
  }

  std::string AddDueling(const PlanStep& step) {
    const std::string& advantages = NameOf(step.input);
    onnx::Node& mean = AddNode("ReduceMean", {advantages}, "advantage.mean");
    SetInts(mean, "axes", {1});
    SetInt(mean, "keepdims", 1);
    AddNode("Sub", {advantages, "advantage.mean"}, "advantage.centred");
    return AddNode("Add", {NameOf(step.value_input), "advantage.centred"}, "dueling").name();
  }

  std::string& NameOf(int value) { return names_[static_cast<std::size_t>(value)]; }

  const Parameters& parameters_;
  const Plan& plan_;
  onnx::Graph& graph_;
  std::vector<std::string> names_;  // of the plan's values
};

}  // namespace

std::string OnnxModel(const Parameters& parameters, const OnnxObservation& observation,
                      std::map<std::string, std::string> metadata,
                      const std::optional<OnnxActions>& actions) {
  RequireFit(parameters.plan().spec.input, observation);
  if (actions) RequireActor(parameters.plan(), *actions);
  onnx::Model model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("stableaa");
  model.set_producer_version(LibraryVersion());
  model.add_opset_import()->set_version(kOnnxOperators);
  metadata["stableaa.spec"] = ToText(parameters.plan().spec);
  metadata["stableaa.version"] = LibraryVersion();
  for (const auto& [key, value] : metadata) {
    onnx::Property& property = *model.add_metadata_props();
    property.set_key(key);
    property.set_value(value);
  }
  GraphMaker(parameters, *model.mutable_graph()).Make(observation, actions);
  return model.SerializeAsString();
}

void WriteOnnx(const std::filesystem::path& path, const Parameters& parameters,
               const OnnxObservation& observation,
               const std::map<std::string, std::string>& metadata,
               const std::optional<OnnxActions>& actions) {
  AtomicFile file(path);
  file.Write(OnnxModel(parameters, observation, metadata, actions));
  file.Commit();
}

}  // namespace stableaa
