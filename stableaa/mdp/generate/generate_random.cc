// Models with a random structure, the walk on a torus, and the cycle.
//
// Compiled without contracting a·b + c into a single rounding: equal bytes on every platform.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/mdp/generate/generator_kinds.h"

namespace stableaa {
namespace {

// Distinct numbers below `range`, all sets equally likely, by Floyd's method: one draw per number,
// whatever share of the range is taken.
class DistinctNumbers {
 public:
  DistinctNumbers(std::uint64_t range, std::uint64_t count)
      : range_(range), numbers_(count), taken_(range, false) {}

  // Ascending.
  const std::vector<std::uint64_t>& Draw(RandomStream& stream) {
    std::uint64_t bound = range_ - numbers_.size();
    for (std::uint64_t& number : numbers_) {
      const std::uint64_t drawn = stream.Below(bound + 1);
      number = taken_[drawn] ? bound : drawn;
      taken_[number] = true;
      ++bound;
    }
    for (const std::uint64_t number : numbers_) taken_[number] = false;
    std::ranges::sort(numbers_);
    return numbers_;
  }

 private:
  std::uint64_t range_;
  std::vector<std::uint64_t> numbers_;
  std::vector<bool> taken_;
};

// Uniform in [0, 1) with probability `share`, otherwise 0. Always two draws.
double SparseReward(RandomStream& stream, double share) {
  const bool pays = stream.Bernoulli(share);
  const double reward = stream.Uniform();
  return pays ? reward : 0;
}

// A torus with equal sides. Coordinate 0 changes slowest.
class Torus {
 public:
  Torus(std::uint64_t side, std::uint64_t dimensions) : side_(side), strides_(dimensions) {
    std::uint64_t stride = 1;
    for (std::uint64_t i = dimensions; i > 0; --i, stride *= side) strides_[i - 1] = stride;
  }

  // Fills in the 2d neighbours: one step back along dimension 0, 1, …, then one forward along …, 1,
  // 0. This order ascends, except where a step wraps around.
  void Neighbours(std::uint64_t state, std::vector<std::uint64_t>& neighbours) const {
    const std::size_t dimensions = strides_.size();
    for (std::size_t i = 0; i < dimensions; ++i) {
      const std::uint64_t stride = strides_[i];
      const std::uint64_t around = (side_ - 1) * stride;
      const std::uint64_t coordinate = state / stride % side_;
      neighbours[i] = coordinate == 0 ? state + around : state - stride;
      neighbours[2 * dimensions - 1 - i] =
          coordinate == side_ - 1 ? state - around : state + stride;
    }
  }

 private:
  std::uint64_t side_;
  std::vector<std::uint64_t> strides_;
};

}  // namespace

Model GenerateGarnet(const GeneratorOptions& options) {
  const std::uint64_t states = *options.states;
  const std::uint64_t branching = options.branching.value_or(std::min<std::uint64_t>(5, states));
  if (branching > states) {
    RefuseOption(options, "branching", fmt::format("at most the {} states", states),
                 static_cast<double>(branching));
  }
  const std::uint64_t rows = states * *options.actions;
  ModelBuilder builder = BuilderFor(options, {.states = states,
                                              .rows = rows,
                                              .transitions = SaturatedProduct(rows, branching),
                                              .scratch_bytes = states / 8});
  RandomStream next_stream(options.seed, "mdp/garnet/next");
  RandomStream cut_stream(options.seed, "mdp/garnet/probabilities");
  RandomStream reward_stream(options.seed, "mdp/garnet/rewards");
  DistinctNumbers next(states, branching);
  std::vector<double> cuts(branching - 1);
  for (std::uint64_t state = 0; state < states; ++state) {
    builder.BeginState();
    for (std::uint64_t action = 0; action < *options.actions; ++action) {
      // Cuts are multiples of 2^-53: all differences are exact.
      for (double& cut : cuts) cut = cut_stream.Uniform();
      std::ranges::sort(cuts);
      const std::vector<std::uint64_t>& row = next.Draw(next_stream);
      double previous = 0;
      for (std::uint64_t k = 0; k < branching; ++k) {
        const double cut = k < cuts.size() ? cuts[k] : 1;
        builder.Transition(row[k], cut - previous);
        previous = cut;
      }
      builder.EndRow(SparseReward(reward_stream, *options.reward_share));
    }
  }
  return builder.Finish(options.discount);
}

Model GenerateRandomWalk(const GeneratorOptions& options) {
  const std::uint64_t dimensions = *options.dimensions;
  const std::uint64_t side = SideOfVolume(*options.states, dimensions, 3);
  const std::uint64_t states = SaturatedPower(side, dimensions);
  const std::uint64_t actions = 2 * dimensions;
  const std::uint64_t rows = SaturatedProduct(states, actions);
  ModelBuilder builder = BuilderFor(
      options, {.states = states, .rows = rows, .transitions = SaturatedProduct(rows, actions)});
  const Torus torus(side, dimensions);
  RandomStream reward_stream(options.seed, "mdp/random-walk/rewards");
  const double any = (1 - *options.drift) / static_cast<double>(actions);
  std::vector<std::uint64_t> neighbours(actions);
  for (std::uint64_t state = 0; state < states; ++state) {
    builder.BeginState();
    const double reward = SparseReward(reward_stream, *options.reward_share);
    torus.Neighbours(state, neighbours);
    for (std::uint64_t action = 0; action < actions; ++action) {
      for (std::uint64_t k = 0; k < actions; ++k) {
        builder.Transition(neighbours[k], k == action ? any + *options.drift : any);
      }
      builder.EndRow(reward);
    }
  }
  return builder.Finish(options.discount);
}

Model GenerateCycle(const GeneratorOptions& options) {
  constexpr std::uint64_t kFarthestFall = 20;
  constexpr std::uint64_t kFarthestSkip = 10;
  const std::uint64_t states = *options.states;
  const double noise = *options.noise;
  ModelBuilder builder = BuilderBeforeNumbering(
      options, {.states = states, .rows = 2 * states, .transitions = 4 * states});
  RandomStream fall_stream(options.seed, "mdp/cycle/falls");
  RandomStream skip_stream(options.seed, "mdp/cycle/skips");
  RandomStream reward_stream(options.seed, "mdp/cycle/rewards");
  for (std::uint64_t state = 0; state < states; ++state) {
    std::uint64_t fallen = state;
    const std::uint64_t kind = fall_stream.Below(3);
    if (kind == 1) fallen -= std::min(state, 1 + fall_stream.Below(kFarthestFall));
    if (kind == 2) fallen = 0;
    builder.BeginState();
    builder.Transition(fallen, noise);
    builder.Transition((state + 1) % states, 1 - noise);
    builder.EndRow(reward_stream.Bernoulli(*options.reward_share) ? 1 : 0);
    if (!skip_stream.Bernoulli(*options.choices)) continue;
    const std::uint64_t ahead = 2 + skip_stream.Below(kFarthestSkip - 1);
    builder.Transition(fallen, 2 * noise);
    builder.Transition((state + ahead) % states, 1 - 2 * noise);
    builder.EndRow(0);
  }
  return NumberBreadthFirst(builder.Finish(options.discount));
}

}  // namespace stableaa
