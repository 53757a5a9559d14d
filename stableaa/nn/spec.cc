#include "stableaa/nn/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "stableaa/base/text/nearest_name.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/nn/plan.h"

namespace stableaa {
namespace {

struct LayerName {
  std::string_view name;
  LayerKind kind;
};
constexpr LayerName kLayerNames[] = {
    {"conv", LayerKind::kConvolution}, {"linear", LayerKind::kLinear},
    {"relu", LayerKind::kRelu},        {"elu", LayerKind::kElu},
    {"tanh", LayerKind::kTanh},        {"flatten", LayerKind::kFlatten},
    {"dueling", LayerKind::kDueling},
};

std::string ToText(const std::vector<Layer>& layers) {
  std::vector<std::string> texts;
  for (const Layer& layer : layers) texts.push_back(ToText(layer));
  return fmt::format("{}", fmt::join(texts, " "));
}

// A recursive-descent parser for the text form.
class SpecParser {
 public:
  explicit SpecParser(std::string_view text) : text_(text) {}

  NetworkSpec Parse() {
    NetworkSpec spec;
    constexpr std::string_view kInputs = "frames(...), images(...) or vector(...)";
    const std::string_view input = Word(kInputs);
    if (input == "frames" || input == "images") {
      spec.input.shape = {.channels = Whole('('), .height = Whole(','), .width = Whole(',')};
      spec.input.divisor = Number(',');
      spec.input.floats = input == "images";
    } else if (input == "vector") {
      spec.input = VectorInput(Parts());
    } else {
      throw Wrong(fmt::format("expected {}", kInputs));
    }
    Expect(')');
    spec.layers = Layers(0);
    if (position_ < text_.size()) throw Wrong("expected a layer");
    return spec;
  }

 private:
  std::vector<int> Parts() {
    std::vector<int> parts = {Whole('(')};
    while (SkipBlanks(), position_ < text_.size() && text_[position_] == ',') {
      if (std::ssize(parts) == kMaxInputParts) {
        throw Wrong(fmt::format("a vector has at most {} parts", kMaxInputParts));
      }
      parts.push_back(Whole(','));
    }
    return parts;
  }

  // Reads up to the end of the text or something that cannot begin a layer.
  std::vector<Layer> Layers(int depth) {
    std::vector<Layer> layers;
    while (SkipBlanks(), position_ < text_.size() && IsLetter(text_[position_])) {
      layers.push_back(OneLayer(depth));
      if (layers.size() > kMaxLayers) throw Wrong(fmt::format("more than {} layers", kMaxLayers));
    }
    return layers;
  }

  Layer OneLayer(int depth) {
    Layer layer{.kind = KindOf(Word("a layer"))};
    if (layer.kind == LayerKind::kConvolution) {
      layer.outputs = Whole('(');
      layer.kernel = Whole(',');
      layer.stride = Whole(',');
      Expect(')');
    } else if (layer.kind == LayerKind::kLinear) {
      layer.outputs = Whole('(');
      Expect(')');
    } else if (layer.kind == LayerKind::kDueling) {
      if (depth > 0) throw Wrong("dueling within dueling");
      Expect('{');
      layer.value = Layers(depth + 1);
      Expect('|');
      layer.advantage = Layers(depth + 1);
      Expect('}');
    }
    return layer;
  }

  LayerKind KindOf(std::string_view name) const {
    std::vector<std::string> names;
    for (const LayerName& known : kLayerNames) {
      if (known.name == name) return known.kind;
      names.emplace_back(known.name);
    }
    throw Wrong(fmt::format("unknown layer '{}'{}", Shorten(name), DidYouMean(name, names)));
  }

  std::string_view Word(std::string_view expected) {
    SkipBlanks();
    while (position_ < text_.size() && IsLetter(text_[position_])) ++position_;
    if (position_ == begin_) throw Wrong(fmt::format("expected {}", expected));
    return text_.substr(begin_, position_ - begin_);
  }

  // Reads a number after `before`.
  double Number(char before) {
    Expect(before);
    SkipBlanks();
    const char* const from = text_.data() + position_;
    double value = 0;
    const auto [end, error] = std::from_chars(from, text_.data() + text_.size(), value);
    if (error != std::errc() || !std::isfinite(value)) throw Wrong("expected a number");
    position_ += static_cast<std::size_t>(end - from);
    return value;
  }

  int Whole(char before) {
    const double value = Number(before);
    if (value != std::floor(value) || std::abs(value) > 1e9) throw Wrong("expected a whole number");
    return static_cast<int>(value);
  }

  void Expect(char c) {
    SkipBlanks();
    if (position_ == text_.size() || text_[position_] != c) {
      throw Wrong(fmt::format("expected '{}'", c));
    }
    ++position_;
  }

  // Skips to what comes next; errors name that position.
  void SkipBlanks() {
    constexpr std::string_view kBlanks = " \t\r\n";
    position_ = std::min(text_.find_first_not_of(kBlanks, position_), text_.size());
    begin_ = position_;
  }

  static bool IsLetter(char c) { return c >= 'a' && c <= 'z'; }

  Error Wrong(const std::string& what) const {
    const std::string_view rest = text_.substr(begin_, 16);
    return BadInput(fmt::format("network spec, character {} ({}): {}", begin_ + 1,
                                rest.empty() ? "the end" : fmt::format("'{}'", Shorten(rest)),
                                what));
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t begin_ = 0;
};

// `body` followed by Q-values, plain or through two streams of `hidden` layers each.
std::vector<Layer> WithHead(std::vector<Layer> body, const std::vector<Layer>& hidden, int actions,
                            bool dueling) {
  const auto stream = [&](int outputs) {
    std::vector<Layer> layers = hidden;
    layers.push_back(Linear(outputs));
    return layers;
  };
  if (dueling) {
    body.push_back(Dueling(stream(1), stream(actions)));
  } else {
    for (Layer& layer : stream(actions)) body.push_back(std::move(layer));
  }
  return body;
}

}  // namespace

Layer Convolution(int filters, int kernel, int stride) {
  return {.kind = LayerKind::kConvolution, .outputs = filters, .kernel = kernel, .stride = stride};
}
Layer Linear(int outputs) { return {.kind = LayerKind::kLinear, .outputs = outputs}; }
Layer Relu() { return {.kind = LayerKind::kRelu}; }
Layer Elu() { return {.kind = LayerKind::kElu}; }
Layer Tanh() { return {.kind = LayerKind::kTanh}; }
Layer Flatten() { return {.kind = LayerKind::kFlatten}; }
Layer Dueling(std::vector<Layer> value, std::vector<Layer> advantage) {
  return {
      .kind = LayerKind::kDueling, .value = std::move(value), .advantage = std::move(advantage)};
}

InputSpec FrameInput(int channels, int height, int width, double divisor) {
  return {.shape = {.channels = channels, .height = height, .width = width}, .divisor = divisor};
}

InputSpec ImageInput(int channels, int height, int width, double divisor) {
  InputSpec input = FrameInput(channels, height, width, divisor);
  input.floats = true;
  return input;
}

InputSpec VectorInput(int size) { return {.shape = {.channels = size, .is_vector = true}}; }

InputSpec VectorInput(std::vector<int> parts) {
  // Sums that no int holds are refused by Validate, as every size above its limit is.
  const std::int64_t sum = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  InputSpec input = VectorInput(static_cast<int>(std::clamp(sum, -kMost, kMost)));
  if (parts.size() > 1) input.parts = std::move(parts);
  return input;
}

void NetworkSpec::Validate() const { MakePlan(*this); }

int NetworkSpec::outputs() const { return MakePlan(*this).outputs(); }

std::string ToText(const Layer& layer) {
  std::string_view name;
  for (const LayerName& known : kLayerNames) {
    if (known.kind == layer.kind) name = known.name;
  }
  switch (layer.kind) {
    case LayerKind::kConvolution:
      return fmt::format("{}({}, {}, {})", name, layer.outputs, layer.kernel, layer.stride);
    case LayerKind::kLinear:
      return fmt::format("{}({})", name, layer.outputs);
    case LayerKind::kDueling:
      return fmt::format("{}{{{} | {}}}", name, ToText(layer.value), ToText(layer.advantage));
    default:
      return std::string(name);
  }
}

std::string ToText(const InputSpec& input) {
  const Shape& in = input.shape;
  if (input.is_vector() && !input.parts.empty()) {
    return fmt::format("vector({})", fmt::join(input.parts, ", "));
  }
  if (input.is_vector()) return fmt::format("vector({})", in.channels);
  return fmt::format("{}({}, {}, {}, {})", input.floats ? "images" : "frames", in.channels,
                     in.height, in.width, input.divisor);
}

std::string ToText(const NetworkSpec& spec) {
  return fmt::format("{} {}", ToText(spec.input), ToText(spec.layers));
}

NetworkSpec ParseSpec(std::string_view text) {
  NetworkSpec spec = SpecParser(text).Parse();
  spec.Validate();
  return spec;
}

NetworkSpec NatureSpec(const NatureOptions& options) {
  NetworkSpec spec{.input = FrameInput(options.frames, 84, 84, 255), .layers = {}};
  spec.layers = WithHead({Convolution(32, 8, 4), Relu(), Convolution(64, 4, 2), Relu(),
                          Convolution(64, 3, 1), Relu(), Flatten()},
                         {Linear(512), Relu()}, options.actions, options.dueling);
  return spec;
}

NetworkSpec MinatarSpec(const MinatarOptions& options) {
  NetworkSpec spec{.input = FrameInput(options.channels, 10, 10, 1), .layers = {}};
  spec.layers = WithHead({Convolution(16, 3, 1), Relu(), Flatten()}, {Linear(128), Relu()},
                         options.actions, options.dueling);
  return spec;
}

NetworkSpec ImageSpec(const ImageOptions& options) {
  constexpr int kSmall = 16;        // sides that one convolution is enough for
  constexpr int kWide = 64;         // sides that bear a stride of 4
  constexpr int kWideShorter = 36;  // the least that Nature's layers fit
  constexpr int kLongest = 13;      // before the last convolution
  int shorter = std::min(options.input.shape.height, options.input.shape.width);
  int longer = std::max(options.input.shape.height, options.input.shape.width);
  std::vector<Layer> body;
  const auto add = [&](int filters, int kernel, int stride) {
    if (kernel > shorter) return false;
    body.push_back(Convolution(filters, kernel, stride));
    body.push_back(Relu());
    shorter = (shorter - kernel) / stride + 1;
    longer = (longer - kernel) / stride + 1;
    return true;
  };
  const bool is_small = longer <= kSmall;
  if (is_small) {
    add(16, 3, 1);
  } else {
    if (longer >= kWide && shorter >= kWideShorter) add(32, 8, 4);
    while (longer > kLongest && add(body.empty() ? 32 : 64, 4, 2)) {
    }
    if (!body.empty()) add(64, 3, 1);
  }
  body.push_back(Flatten());
  return {.input = options.input,
          .layers = WithHead(std::move(body), {Linear(is_small ? 128 : 512), Relu()},
                             options.actions, options.dueling)};
}

NetworkSpec MlpSpec(const MlpOptions& options) {
  NetworkSpec spec{.input = VectorInput(options.inputs), .layers = {}};
  std::vector<Layer> body;
  std::vector<Layer> last;
  for (std::size_t i = 0; i < options.hidden.size(); ++i) {
    std::vector<Layer>& into = i + 1 < options.hidden.size() ? body : last;
    into.push_back(Linear(options.hidden[i]));
    into.push_back(options.activation);
  }
  spec.layers = WithHead(std::move(body), last, options.actions, options.dueling);
  return spec;
}

std::vector<std::string> NetworkNames() {
  return {"nature", "nature-dueling", "minatar", "minatar-dueling", "mlp", "mlp-dueling"};
}

std::vector<std::string> ControlNetworkNames() { return {"critic", "actor"}; }

NetworkSpec NamedSpec(const std::string& name, int actions) {
  constexpr std::string_view kSuffix = "-dueling";
  const bool dueling = name.ends_with(kSuffix);
  const std::string_view base(name.data(), name.size() - (dueling ? kSuffix.size() : 0));
  if (base == "nature") return NatureSpec({.actions = actions, .dueling = dueling});
  if (base == "minatar") return MinatarSpec({.actions = actions, .dueling = dueling});
  if (base == "mlp") return MlpSpec({.actions = actions, .dueling = dueling});
  constexpr int kState = 17;
  const std::vector<int> hidden = {256, 256};
  if (name == "critic") {
    NetworkSpec spec = MlpSpec({.hidden = hidden, .actions = 1});
    spec.input = VectorInput({kState, actions});
    return spec;
  }
  if (name == "actor") return MlpSpec({.inputs = kState, .hidden = hidden, .actions = 2 * actions});
  std::vector<std::string> names = NetworkNames();
  for (std::string& control : ControlNetworkNames()) names.push_back(std::move(control));
  throw BadInput(fmt::format("unknown network '{}' (there are {}){}", name, fmt::join(names, ", "),
                             DidYouMean(name, names)));
}

}  // namespace stableaa
