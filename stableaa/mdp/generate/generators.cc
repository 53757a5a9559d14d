#include "stableaa/mdp/generate/generators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "stableaa/base/machine.h"
#include "stableaa/base/text/nearest_name.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generator_kinds.h"
#include "stableaa/mdp/model/renumber.h"

namespace stableaa {
namespace {

using Options = GeneratorOptions;

constexpr double kMostStates = 4294967296.0;  // 2^32

constexpr auto kFields = std::to_array<GeneratorField>({
    {.name = "states", .integer = &Options::states},
    {.name = "actions", .integer = &Options::actions},
    {.name = "branching", .integer = &Options::branching},
    {.name = "reward_share", .real = &Options::reward_share},
    {.name = "width", .integer = &Options::width},
    {.name = "height", .integer = &Options::height},
    {.name = "walls", .real = &Options::walls},
    {.name = "noise", .real = &Options::noise},
    {.name = "loops", .real = &Options::loops},
    {.name = "fire", .real = &Options::fire},
    {.name = "wait_reward", .real = &Options::wait_reward},
    {.name = "cut_reward", .real = &Options::cut_reward},
    {.name = "queues", .integer = &Options::queues},
    {.name = "capacity", .integer = &Options::capacity},
    {.name = "load", .real = &Options::load},
    {.name = "seasons", .integer = &Options::seasons},
    {.name = "lot", .integer = &Options::lot},
    {.name = "customers", .integer = &Options::customers},
    {.name = "dimensions", .integer = &Options::dimensions},
    {.name = "drift", .real = &Options::drift},
    {.name = "layers", .integer = &Options::layers},
    {.name = "choices", .real = &Options::choices},
    {.name = "retries", .real = &Options::retries},
    {.name = "smallest", .integer = &Options::smallest},
    {.name = "largest", .integer = &Options::largest},
    {.name = "traps", .real = &Options::traps},
    {.name = "attempts", .integer = &Options::attempts},
});

constexpr auto kGarnet = std::to_array<GeneratorOption>({
    {"states", 1000, 1, kMostStates, "number of states"},
    {"actions", 4, 1, 1e6, "actions of each state"},
    {"branching", {}, 1, kMostStates, "next states of each row; 5, or all if there are fewer"},
    {"reward_share", 1, 0, 1, "share of the rows that pay a reward"},
});

constexpr auto kGrid = std::to_array<GeneratorOption>({
    {"width", 100, 1, kMostStates, "cells from left to right"},
    {"height", 100, 1, kMostStates, "cells from top to bottom"},
    {"states", {}, 1, kMostStates, "instead of both: the least square with so many cells"},
    {"walls", .3, 0, .99, "probability that a cell is a wall"},
    {"noise", .2, 0, 1, "probability that a move goes to one of its two sides"},
});

constexpr auto kMaze = std::to_array<GeneratorOption>({
    {"width", 101, 1, kMostStates, "cells from left to right; rooms lie at 0, 2, 4 ..."},
    {"height", 101, 1, kMostStates, "cells from top to bottom"},
    {"states", {}, 1, kMostStates, "instead of both: the least square with so many cells"},
    {"loops", .05, 0, 1, "share of the walls between rooms that is opened beyond the tree"},
});

constexpr auto kChain = std::to_array<GeneratorOption>({
    {"states", 10000, 2, kMostStates, "length of the chain"},
    {"noise", .2, 0, 1, "probability that a step goes the other way"},
});

constexpr auto kForest = std::to_array<GeneratorOption>({
    {"states", 10000, 2, kMostStates, "ages of the forest"},
    {"fire", .1, 0, 1, "probability of a fire while waiting"},
    {"wait_reward", 4, -1e9, 1e9, "reward of waiting at the oldest age"},
    {"cut_reward", 2, -1e9, 1e9, "reward of cutting at the oldest age"},
});

constexpr auto kQueues = std::to_array<GeneratorOption>({
    {"queues", 2, 1, 8, "number of queues"},
    {"capacity", 315, 1, kMostStates - 1, "jobs that fit into each queue"},
    {"states", {}, 2, kMostStates, "instead: the least capacity with so many states"},
    {"load", .9, 0, 10, "work that arrives per time; above 1 the queues fill up"},
});

constexpr auto kInventory = std::to_array<GeneratorOption>({
    {"capacity", 1999, 1, kMostStates - 1, "pieces that fit into the store"},
    {"seasons", 52, 1, 1e6, "periods of a year"},
    {"states", {}, 2, kMostStates, "instead of capacity: the least with so many states"},
    {"lot", 250, 1, kMostStates, "orders are multiples of it"},
    {"customers", 20, 1, 1000, "largest demand of a period"},
});

constexpr auto kRandomWalk = std::to_array<GeneratorOption>({
    {"states", 10000, 3, kMostStates, "states; rounded up to a torus with equal sides"},
    {"dimensions", 2, 1, 8, "1 is a ring; each side has at least 3 states"},
    {"drift", .1, 0, 1, "probability that the step goes where the action wants"},
    {"reward_share", .01, 0, 1, "share of the states that pay a reward"},
});

constexpr auto kLayered = std::to_array<GeneratorOption>({
    {"states", 50000, 1, kMostStates, "number of states"},
    {"layers", {}, 1, kMostStates, "steps to the goals; the square root of the states"},
    {"choices", .4, 0, 1, "share of the states with two or three actions"},
    {"retries", .02, 0, 1, "share of the actions that can fail and fall back"},
    {"reward_share", .5, 0, 1, "share of the states that pay 1"},
});

constexpr auto kRooms = std::to_array<GeneratorOption>({
    {"states", 50000, 3, kMostStates, "number of states"},
    {"smallest", {}, 1, kMostStates, "least states of a room; 2, or largest if that is less"},
    {"largest", {}, 1, kMostStates, "most states of a room; 8, or smallest if that is more"},
    {"traps", .05, 0, .9, "share of the rooms that are single states without a way out"},
});

constexpr auto kTimers = std::to_array<GeneratorOption>({
    {"states", 50000, 1, kMostStates, "states; rounded up to whole ticks per slot"},
    {"attempts", 5, 1, 10, "attempt k draws one of 2^k slots"},
    {"noise", .1, 0, .9, "probability that a frame is lost"},
});

constexpr auto kCycle = std::to_array<GeneratorOption>({
    {"states", 50000, 2, kMostStates, "length of the cycle"},
    {"noise", .001, 0, .5, "probability of not moving on"},
    {"choices", .1, 0, 1, "share of the states with a second action, which skips some"},
    {"reward_share", .1, 0, 1, "share of the states that pay 1"},
});

constexpr auto kKinds = std::to_array<GeneratorKind>({
    {"garnet", "random next states, probabilities and rewards; mixes fast", kGarnet},
    {"grid", "walled grid with noisy moves, a goal and a cost of 1 per step", kGrid},
    {"maze", "deterministic maze with loops, a goal and a cost of 1 per step", kMaze},
    {"chain", "walk on a line to a small reward nearby or a large one far away; mixes slowly",
     kChain},
    {"forest", "wait for an old forest or cut it before it burns", kForest},
    {"queues", "one server for several queues with holding costs", kQueues},
    {"inventory", "orders against seasonal demand; ragged actions, periodic", kInventory},
    {"random-walk", "walk on a torus with a little drift; mixes slowly", kRandomWalk},
    {"layered", "protocol in layers with retries and absorbing goals; numbered breadth-first",
     kLayered},
    {"rooms", "thousands of small components with one-way doors; numbered breadth-first", kRooms},
    {"timers", "two stations with clocks and back-off: long chains; numbered breadth-first",
     kTimers},
    {"cycle", "one long cycle with rare falls back; numbered breadth-first", kCycle},
});

using Generate = Model (*)(const GeneratorOptions&);
constexpr std::array<Generate, kKinds.size()> kGenerate = {
    GenerateGarnet,  GenerateGrid,   GenerateMaze,      GenerateChain,
    GenerateForest,  GenerateQueues, GenerateInventory, GenerateRandomWalk,
    GenerateLayered, GenerateRooms,  GenerateTimers,    GenerateCycle,
};

// "a, b, c". Not fmt::join, for which GCC 12 gives a spurious warning at -O3.
std::string Listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    if (!list.empty()) list += ", ";
    list += name;
  }
  return list;
}

std::size_t KindNumber(const std::string& name) {
  const auto* kind = std::ranges::find(kKinds, name, &GeneratorKind::name);
  if (kind != kKinds.end()) return static_cast<std::size_t>(kind - kKinds.begin());
  std::vector<std::string> names;
  for (const GeneratorKind& known : kKinds) names.emplace_back(known.name);
  throw BadInput(fmt::format("unknown kind of model '{}'; the kinds are {}{}", Shorten(name),
                             Listed(names), DidYouMean(name, names)));
}

std::optional<double> Value(const GeneratorOptions& options, const GeneratorField& field) {
  if (field.real != nullptr) return options.*field.real;
  const std::optional<std::uint64_t>& value = options.*field.integer;
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

void SetDefault(GeneratorOptions& options, const GeneratorField& field, double value) {
  if (field.real != nullptr) {
    options.*field.real = value;
  } else {
    options.*field.integer = static_cast<std::uint64_t>(value);
  }
}

[[noreturn]] void RefuseField(const GeneratorOptions& options, const GeneratorKind& kind,
                              const GeneratorField& field) {
  std::vector<std::string> labels;
  for (const GeneratorOption& option : kind.options) labels.push_back(options.label(option.name));
  throw BadInput(fmt::format("{} has no option {}; it takes {}", kind.name,
                             options.label(field.name), Listed(labels)));
}

// `states` and the sizes it stands for exclude each other; with `states` they get no default.
bool SizeFollowsFromStates(const GeneratorOptions& options, const GeneratorKind& kind) {
  const auto states =
      std::ranges::find(kind.options, std::string_view("states"), &GeneratorOption::name);
  return options.states && !states->default_value;
}

bool IsSize(std::string_view name) {
  return name == "width" || name == "height" || name == "capacity";
}

// The options with every default filled in.
GeneratorOptions Checked(GeneratorOptions options, const GeneratorKind& kind) {
  if (options.discount) CheckDiscount(*options.discount, options.label("discount"));
  const bool from_states = SizeFollowsFromStates(options, kind);
  for (const GeneratorField& field : kFields) {
    const std::optional<double> value = Value(options, field);
    const auto option = std::ranges::find(kind.options, field.name, &GeneratorOption::name);
    if (option == kind.options.end()) {
      if (value) RefuseField(options, kind, field);
      continue;
    }
    if (value && !(*value >= option->least && *value <= option->most)) {
      RefuseOption(options, field.name, fmt::format("{} to {}", option->least, option->most),
                   *value);
    }
    const bool replaced = from_states && IsSize(field.name);
    if (value && replaced) {
      throw BadInput(fmt::format("{}: {} and {} both set the size; give one of them", kind.name,
                                 options.label("states"), options.label(field.name)));
    }
    if (!value && !replaced && option->default_value) {
      SetDefault(options, field, *option->default_value);
    }
  }
  return options;
}

std::vector<std::uint64_t> RandomNumbers(std::uint64_t states, std::uint64_t seed) {
  std::vector<std::uint64_t> numbers(states);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  RandomStream(seed, "mdp/shuffle").Shuffle(std::span(numbers));
  return numbers;
}

}  // namespace

std::span<const GeneratorField> GeneratorFields() { return kFields; }
std::span<const GeneratorKind> GeneratorKinds() { return kKinds; }

Model GenerateModel(const GeneratorOptions& options) {
  const std::size_t kind = KindNumber(options.kind);
  Model model = kGenerate[kind](Checked(options, kKinds[kind])).WithDiscount(options.discount);
  if (!options.shuffle) return model;
  return Renumber(model, RandomNumbers(model.states(), options.seed));
}

void RefuseOption(const GeneratorOptions& options, std::string_view name,
                  const std::string& expected, double found) {
  throw BadInput(fmt::format("{}: {}: expected {}, found {}", options.kind, options.label(name),
                             expected, found));
}

std::uint64_t SaturatedProduct(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return b != 0 && a > kMost / b ? kMost : a * b;
}

std::uint64_t SaturatedPower(std::uint64_t base, std::uint64_t power) {
  std::uint64_t product = 1;
  for (std::uint64_t i = 0; i < power; ++i) product = SaturatedProduct(product, base);
  return product;
}

std::uint64_t SideOfVolume(std::uint64_t volume, std::uint64_t power, std::uint64_t least) {
  std::uint64_t too_small = 0;
  std::uint64_t enough = volume;
  while (enough - too_small > 1) {
    const std::uint64_t middle = too_small + (enough - too_small) / 2;
    (SaturatedPower(middle, power) >= volume ? enough : too_small) = middle;
  }
  return std::max(enough, least);
}

void CheckSize(const GeneratorOptions& options, const ModelSize& size) {
  if (size.states > kMostGeneratedStates) {
    throw BadInput(fmt::format("{}: expected a size of at most 2^32 states, found {:.3g}",
                               options.kind, static_cast<double>(size.states)));
  }
  // In floating point, to avoid overflow.
  const double model_bytes = 8 * static_cast<double>(size.states) +
                             16 * static_cast<double>(size.rows) +
                             12 * static_cast<double>(size.transitions);
  const double shuffle_bytes = model_bytes + 28 * static_cast<double>(size.states);
  // The scratch memory is free again before the shuffle.
  const double bytes = model_bytes + std::max(static_cast<double>(size.scratch_bytes),
                                              options.shuffle ? shuffle_bytes : 0);
  const auto needed = static_cast<std::uint64_t>(std::min(bytes, 1e18));
  RequireMemory(fmt::format("mdp generate {}", options.kind), needed, "generate fewer states");
}

ModelBuilder BuilderFor(const GeneratorOptions& options, const ModelSize& size) {
  CheckSize(options, size);
  // The options have been checked, so no row can be wrong.
  ModelBuilder builder([kind = options.kind] { return kind; });
  builder.Reserve(size.states, size.rows, size.transitions);
  return builder;
}

ModelBuilder BuilderBeforeNumbering(const GeneratorOptions& options, ModelSize size) {
  size.scratch_bytes += SaturatedProduct(size.states, 8 + 32) + SaturatedProduct(size.rows, 16) +
                        SaturatedProduct(size.transitions, 12);
  return BuilderFor(options, size);
}

void AddAbsorbing(std::uint64_t state, ModelBuilder& builder) {
  builder.BeginState();
  builder.Transition(state, 1);
  builder.EndRow(0);
}

Model NumberBreadthFirst(const Model& model) {
  constexpr std::uint64_t kNotFound = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::uint64_t> number(model.states(), kNotFound);
  std::vector<std::uint64_t> found = {0};
  found.reserve(model.states());
  number[0] = 0;
  for (std::uint64_t visited = 0; visited < found.size(); ++visited) {
    const std::uint64_t state = found[visited];
    const std::uint64_t end = model.row_transitions()[model.state_rows()[state + 1]];
    for (std::uint64_t k = model.row_transitions()[model.state_rows()[state]]; k < end; ++k) {
      const std::uint64_t next = model.column(k);
      if (number[next] != kNotFound) continue;
      number[next] = found.size();
      found.push_back(next);
    }
  }
  return Renumber(model, number);
}

}  // namespace stableaa
