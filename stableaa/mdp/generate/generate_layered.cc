// A protocol that runs through layers of states, with retries.
//
// Compiled without contracting a·b + c into a single rounding: equal bytes on every platform.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generator_kinds.h"

namespace stableaa {
namespace {

// The fewest layers for so many states: each has at most twice as many as the one before.
std::uint64_t FewestLayers(std::uint64_t states) {
  return static_cast<std::uint64_t>(std::bit_width(states));
}

// States in layers, numbered layer by layer: one in the first, at most twice as many in each next
// one, up to a width that is the same for all that reach it, except that some of the last have one
// state less, so that the sum is right.
class Layers {
 public:
  // REQUIRES: FewestLayers(states) ≤ layers ≤ states.
  Layers(std::uint64_t states, std::uint64_t layers) {
    std::uint64_t too_narrow = 0;
    std::uint64_t width = states;
    while (width - too_narrow > 1) {
      const std::uint64_t middle = too_narrow + (width - too_narrow) / 2;
      (StatesUpTo(middle, layers) >= states ? width : too_narrow) = middle;
    }
    const std::uint64_t too_many = StatesUpTo(width, layers) - states;
    starts_.reserve(layers + 1);
    starts_.push_back(0);
    for (std::uint64_t layer = 0; layer < layers; ++layer) {
      const bool less = layers - layer <= too_many;
      starts_.push_back(starts_.back() + WidthUpTo(width, layer) - (less ? 1 : 0));
    }
  }

  std::uint64_t start(std::uint64_t layer) const { return starts_[layer]; }
  std::uint64_t width(std::uint64_t layer) const { return starts_[layer + 1] - starts_[layer]; }

  // States are also known by their place in their layer. The children of place i lie in the next
  // layer, at the places from FirstChild(i) on and before FirstChild(i + 1): none, one or two.
  std::uint64_t FirstChild(std::uint64_t layer, std::uint64_t place) const {
    return (place * width(layer + 1) + width(layer) - 1) / width(layer);
  }

  // The place whose child it is. REQUIRES: layer > 0.
  std::uint64_t Parent(std::uint64_t layer, std::uint64_t place) const {
    return place * width(layer - 1) / width(layer);
  }

 private:
  static std::uint64_t WidthUpTo(std::uint64_t most, std::uint64_t layer) {
    return layer < 32 ? std::min(std::uint64_t{1} << layer, most) : most;
  }

  static std::uint64_t StatesUpTo(std::uint64_t most, std::uint64_t layers) {
    const std::uint64_t growing = std::min<std::uint64_t>(layers, 33);
    std::uint64_t states = 0;
    for (std::uint64_t layer = 0; layer < growing; ++layer) states += WidthUpTo(most, layer);
    return states + SaturatedProduct(layers - growing, most);
  }

  std::vector<std::uint64_t> starts_;
};

// Adds the states of one layer after the other.
class LayeredProtocol {
 public:
  LayeredProtocol(const GeneratorOptions& options, const Layers& layers, ModelBuilder& builder)
      : options_(options),
        layers_(layers),
        builder_(builder),
        action_stream_(options.seed, "mdp/layered/actions"),
        reward_stream_(options.seed, "mdp/layered/rewards") {}

  void AddState(std::uint64_t layer, std::uint64_t place) {
    builder_.BeginState();
    const double reward = reward_stream_.Bernoulli(*options_.reward_share) ? 1 : 0;
    const std::uint64_t child = layers_.FirstChild(layer, place);
    const std::uint64_t children = layers_.FirstChild(layer, place + 1) - child;
    const std::uint64_t actions = Actions();
    for (std::uint64_t action = 0; action < actions; ++action) {
      // The first action leads to all children, which keeps every state within reach.
      const bool first = action == 0;
      const std::uint64_t next = first && children > 0 ? child : Near(layer, place);
      std::optional<std::uint64_t> other;
      if (first && children > 1) {
        other = child + 1;
      } else if (action_stream_.Bernoulli(kForkShare)) {
        other = Near(layer, place);
      }
      AddAction(layer, place, next, other);
      builder_.EndRow(reward);
    }
  }

 private:
  static constexpr double kThreeShare = .25;  // of the states with several actions
  static constexpr double kForkShare = .2;    // of the actions that could be deterministic
  static constexpr double kEvenShare = .5;    // of the forks; the others go .9 to .1
  static constexpr double kFailure = .1;
  static constexpr std::uint64_t kFarthestRetry = 8;  // layers
  static constexpr std::uint64_t kNear = 8;           // places

  std::uint64_t Actions() {
    if (!action_stream_.Bernoulli(*options_.choices)) return 1;
    return action_stream_.Bernoulli(kThreeShare) ? 3 : 2;
  }

  // A place in the next layer near that of the children.
  std::uint64_t Near(std::uint64_t layer, std::uint64_t place) {
    const std::uint64_t last = layers_.width(layer + 1) - 1;
    const std::uint64_t centre = std::min(layers_.FirstChild(layer, place), last);
    const std::uint64_t from = centre - std::min(centre, kNear);
    return from + action_stream_.Below(std::min(centre + kNear, last) - from + 1);
  }

  void AddAction(std::uint64_t layer, std::uint64_t place, std::uint64_t next,
                 std::optional<std::uint64_t> other) {
    double forward = 1;
    if (action_stream_.Bernoulli(*options_.retries)) {
      builder_.Transition(Past(layer, place), kFailure);
      forward = 1 - kFailure;
    }
    double to_other = 0;
    if (other) {
      to_other = forward * (action_stream_.Bernoulli(kEvenShare) ? .5 : .1);
      builder_.Transition(layers_.start(layer + 1) + *other, to_other);
    }
    builder_.Transition(layers_.start(layer + 1) + next, forward - to_other);
  }

  // The state that the search may have come through a few layers ago.
  std::uint64_t Past(std::uint64_t layer, std::uint64_t place) {
    std::uint64_t steps = 1 + action_stream_.Below(kFarthestRetry);
    for (; steps > 0 && layer > 0; --steps, --layer) place = layers_.Parent(layer, place);
    return layers_.start(layer) + place;
  }

  const GeneratorOptions& options_;
  const Layers& layers_;
  ModelBuilder& builder_;
  RandomStream action_stream_;
  RandomStream reward_stream_;
};

}  // namespace

Model GenerateLayered(const GeneratorOptions& options) {
  const std::uint64_t states = *options.states;
  const std::uint64_t fewest = FewestLayers(states);
  const std::uint64_t count = options.layers.value_or(std::max(SideOfVolume(states, 2, 1), fewest));
  if (count < fewest || count > states) {
    RefuseOption(options, "layers", fmt::format("{} to {} with {} states", fewest, states, states),
                 static_cast<double>(count));
  }
  // What to expect of the choices and the retries, which are random, and all actions forked.
  const auto rows =
      static_cast<std::uint64_t>(static_cast<double>(states) * (1 + 2 * *options.choices));
  const auto retries = static_cast<std::uint64_t>(static_cast<double>(rows) * *options.retries);
  ModelBuilder builder = BuilderBeforeNumbering(options, {.states = states,
                                                          .rows = rows,
                                                          .transitions = 2 * rows + retries,
                                                          .scratch_bytes = 8 * count});
  const Layers layers(states, count);
  LayeredProtocol protocol(options, layers, builder);
  for (std::uint64_t layer = 0; layer + 1 < count; ++layer) {
    for (std::uint64_t place = 0; place < layers.width(layer); ++place) {
      protocol.AddState(layer, place);
    }
  }
  for (std::uint64_t state = layers.start(count - 1); state < states; ++state) {
    AddAbsorbing(state, builder);
  }
  return NumberBreadthFirst(builder.Finish(options.discount));
}

}  // namespace stableaa
