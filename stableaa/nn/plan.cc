#include "stableaa/nn/plan.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <utility>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/nn/parameters.h"

namespace stableaa {
namespace {

// Far above any network this library is meant for, and low enough that no product below overflows.
constexpr int kMaxSide = 4096;
constexpr int kMaxUnits = 65536;
constexpr double kMinDivisor = 1e-30;
constexpr double kMaxDivisor = 1e30;
constexpr std::int64_t kMaxValue = std::int64_t{1} << 24;       // numbers in one value
constexpr std::int64_t kMaxParameters = std::int64_t{1} << 28;  // 1 GiB of floats

std::string Describe(const Shape& shape) {
  return shape.is_vector
             ? fmt::format("a vector of {}", shape.channels)
             : fmt::format("{} channels of {}×{}", shape.channels, shape.height, shape.width);
}

class PlanMaker {
 public:
  explicit PlanMaker(const NetworkSpec& spec) { plan_.spec = spec; }

  Plan Make() {
    const InputSpec& input = plan_.spec.input;
    CheckInput(input);
    plan_.values.push_back(input.shape);
    AddLayers(plan_.spec.layers, "layers", "", {.value = 0, .shape = input.shape});
    if (plan_.steps.empty()) throw BadInput("network spec: no convolution or linear layer");
    if (const Shape& end = plan_.values.back(); !end.is_vector) {
      throw BadInput(
          fmt::format("network spec: ends in {}; a linear layer is missing", Describe(end)));
    }
    return std::move(plan_);
  }

 private:
  // The value after the layers so far.
  struct Place {
    int value = 0;
    Shape shape = {};
    int step = -1;  // the one that wrote the value; -1 for the input
  };

  static void CheckInput(const InputSpec& input) {
    const Shape& shape = input.shape;
    const auto fail = [](const std::string& what) -> Error {
      return BadInput("network spec, input: " + what);
    };
    if (shape.is_vector) {
      InputSpec whole = input;
      whole.parts.clear();
      if (whole != VectorInput(shape.channels)) {
        throw fail("a vector has height, width and divisor 1");
      }
      if (!input.parts.empty()) CheckParts(input, fail);
      if (shape.channels < 1 || shape.channels > kMaxUnits) {
        throw fail(
            fmt::format("expected a vector of 1 to {}, found {}", kMaxUnits, shape.channels));
      }
      return;
    }
    if (!input.parts.empty()) throw fail("only a vector has parts");
    for (const int side : {shape.channels, shape.height, shape.width}) {
      if (side >= 1 && side <= kMaxSide) continue;
      throw fail(fmt::format("expected channels, height and width of 1 to {}, found {}, {} and {}",
                             kMaxSide, shape.channels, shape.height, shape.width));
    }
    if (std::int64_t{shape.channels} * shape.height * shape.width > kMaxValue) {
      throw fail(fmt::format("expected at most {} numbers, found {}×{}×{}", kMaxValue,
                             shape.channels, shape.height, shape.width));
    }
    if (!(input.divisor >= kMinDivisor && input.divisor <= kMaxDivisor)) {
      throw fail(fmt::format("expected a divisor of {} to {}, found {}", kMinDivisor, kMaxDivisor,
                             input.divisor));
    }
  }

  template <typename Fail>
  static void CheckParts(const InputSpec& input, const Fail& fail) {
    if (input.parts.size() < 2 || input.parts.size() > kMaxInputParts) {
      throw fail(
          fmt::format("expected the sizes of 2 parts, or none, found {}", input.parts.size()));
    }
    std::int64_t sum = 0;
    for (const int size : input.parts) {
      sum += size;
      if (size >= 1 && size <= kMaxUnits) continue;
      throw fail(fmt::format("expected parts of 1 to {}, found {}", kMaxUnits, size));
    }
    if (sum != input.shape.channels) {
      throw fail(
          fmt::format("expected parts that are {} together, found {}", input.shape.channels, sum));
    }
  }

  Place AddLayers(const std::vector<Layer>& layers, const std::string& prefix,
                  const std::string& within, Place at) {
    if (layers.size() > kMaxLayers) {
      throw BadInput(fmt::format("network spec: expected at most {} layers, found {}", kMaxLayers,
                                 layers.size()));
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
      where_ = fmt::format("{}layer {}, {}", within, i, Shorten(ToText(layers[i])));
      if (layers[i].kind == LayerKind::kDueling && i + 1 < layers.size()) {
        throw Wrong("has to be the last layer");
      }
      at = AddLayer(layers[i], fmt::format("{}.{}", prefix, i), !within.empty(), at);
    }
    return at;
  }

  // A copy of the layer with only the fields that its kind uses.
  static Layer Canonical(const Layer& layer) {
    switch (layer.kind) {
      case LayerKind::kConvolution:
        return Convolution(layer.outputs, layer.kernel, layer.stride);
      case LayerKind::kLinear:
        return Linear(layer.outputs);
      case LayerKind::kDueling:
        return Dueling(layer.value, layer.advantage);
      default:
        return {.kind = layer.kind};
    }
  }

  Place AddLayer(const Layer& layer, const std::string& name, bool in_stream, Place at) {
    if (layer != Canonical(layer)) throw Wrong("has sizes set that this kind of layer lacks");
    switch (layer.kind) {
      case LayerKind::kConvolution:
        return AddConvolution(layer, name, at);
      case LayerKind::kLinear:
        return AddLinear(layer, name, at);
      case LayerKind::kRelu:
        return AddActivation(Activation::kRelu, at);
      case LayerKind::kElu:
        return AddActivation(Activation::kElu, at);
      case LayerKind::kTanh:
        return AddActivation(Activation::kTanh, at);
      case LayerKind::kFlatten:
        if (!at.shape.is_vector) {
          at.shape = {.channels = at.shape.size(), .is_vector = true};
        }
        return at;
      case LayerKind::kDueling:
        if (in_stream) throw Wrong("dueling within dueling");
        return AddDueling(layer, at);
    }
    throw Wrong("unknown kind of layer");
  }

  Place AddConvolution(const Layer& layer, const std::string& name, const Place& at) {
    const Shape& in = at.shape;
    if (in.is_vector) throw Wrong(fmt::format("expected frames, gets {}", Describe(in)));
    CheckRange("filters", layer.outputs, kMaxSide);
    CheckRange("kernel", layer.kernel, kMaxSide);
    CheckRange("stride", layer.stride, kMaxSide);
    if (layer.kernel > in.height || layer.kernel > in.width) {
      throw Wrong(fmt::format("the kernel is larger than its input of {}×{}", in.height, in.width));
    }
    const Shape out{.channels = layer.outputs,
                    .height = (in.height - layer.kernel) / layer.stride + 1,
                    .width = (in.width - layer.kernel) / layer.stride + 1};
    PlanStep step{.operation = Operation::kConvolution,
                  .name = name,
                  .input = at.value,
                  .in = in,
                  .out = out,
                  .kernel = layer.kernel,
                  .stride = layer.stride};
    return AddParameters(std::move(step), std::int64_t{layer.kernel} * layer.kernel * in.channels);
  }

  Place AddLinear(const Layer& layer, const std::string& name, const Place& at) {
    if (!at.shape.is_vector) {
      throw Wrong(
          fmt::format("expected a vector, gets {}; a flatten is missing", Describe(at.shape)));
    }
    CheckRange("outputs", layer.outputs, kMaxUnits);
    PlanStep step{.operation = Operation::kLinear,
                  .name = name,
                  .input = at.value,
                  .in = plan_.values[static_cast<std::size_t>(at.value)],
                  .out = {.channels = layer.outputs, .is_vector = true}};
    return AddParameters(std::move(step), at.shape.channels);
  }

  Place AddParameters(PlanStep step, std::int64_t fan_in) {
    const std::int64_t outputs = PanelCount(step.out.channels) * kPanel;
    const std::int64_t out_size =
        std::int64_t{step.out.channels} * step.out.height * step.out.width;
    const auto used = static_cast<std::int64_t>(plan_.parameters);
    if (fan_in > kMaxParameters || used + outputs * (fan_in + 1) > kMaxParameters) {
      throw Wrong(fmt::format("more than {} parameters in the network", kMaxParameters));
    }
    if (out_size > kMaxValue) throw Wrong(fmt::format("more than {} outputs", kMaxValue));
    step.fan_in = static_cast<int>(fan_in);
    step.weight = plan_.parameters;
    step.bias = step.weight + static_cast<std::size_t>(outputs * fan_in);
    plan_.parameters = step.bias + static_cast<std::size_t>(outputs);
    const double multiply_adds = static_cast<double>(out_size) * step.fan_in;
    plan_.multiply_adds += multiply_adds;
    plan_.backward_multiply_adds += (step.input > 0 ? 2 : 1) * multiply_adds;
    return AddStep(std::move(step));
  }

  Place AddStep(PlanStep step) {
    step.output = static_cast<int>(plan_.values.size());
    plan_.values.push_back(step.out);
    plan_.steps.push_back(step);
    return {
        .value = step.output, .shape = step.out, .step = static_cast<int>(plan_.steps.size()) - 1};
  }

  Place AddActivation(Activation activation, const Place& at) {
    if (at.step < 0 ||
        plan_.steps[static_cast<std::size_t>(at.step)].activation != Activation::kNone) {
      throw Wrong("an activation has to follow a convolution or linear layer");
    }
    plan_.steps[static_cast<std::size_t>(at.step)].activation = activation;
    return at;
  }

  Place AddDueling(const Layer& layer, Place at) {
    const std::string where = where_;
    // An activation at the start of a stream would affect the other one too.
    at.step = -1;
    const Place value = AddLayers(layer.value, "value", "value stream, ", at);
    const Place advantage = AddLayers(layer.advantage, "advantage", "advantage stream, ", at);
    where_ = where;
    const auto end = [&](const Place& stream, const char* name) {
      const Shape& shape = plan_.values[static_cast<std::size_t>(stream.value)];
      if (stream.value == at.value || !shape.is_vector) {
        throw Wrong(fmt::format("the {} stream has to end in a linear layer", name));
      }
      return shape;
    };
    if (const Shape shape = end(value, "value"); shape.channels != 1) {
      throw Wrong(
          fmt::format("the value stream has to end in linear(1), ends in {}", Describe(shape)));
    }
    const Shape actions = end(advantage, "advantage");
    return AddStep({.operation = Operation::kDueling,
                    .input = advantage.value,
                    .value_input = value.value,
                    .in = actions,
                    .out = actions});
  }

  void CheckRange(const char* what, int value, int most) const {
    if (value < 1 || value > most) {
      throw Wrong(fmt::format("expected {} of 1 to {}, found {}", what, most, value));
    }
  }

  Error Wrong(const std::string& what) const {
    return BadInput(fmt::format("network spec, {}: {}", where_, what));
  }

  Plan plan_;
  std::string where_;
};

}  // namespace

double Plan::InputMultiplyAdds(int part) const {
  double sum = backward_multiply_adds - multiply_adds;  // of all values but the input
  for (const PlanStep& step : steps) {
    if (step.input > 0 || step.operation != Operation::kLinear) continue;
    sum += static_cast<double>(step.out.size()) * spec.input.part_size(part);
  }
  return sum;
}

Plan MakePlan(const NetworkSpec& spec) { return PlanMaker(spec).Make(); }

}  // namespace stableaa
