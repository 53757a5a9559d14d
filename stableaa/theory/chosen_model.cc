#include "stableaa/theory/chosen_model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {
namespace {

// Next states with random probabilities, some of them zero, or a single certain one. Rewards of 0
// and 1 are frequent, because bounds are tight at ties and extremes.
void ChooseRow(Choices& choices, int states, double reward_scale, ModelBuilder& builder) {
  const bool certain = choices.Chance(0.3);
  const auto favourite = static_cast<std::uint64_t>(choices.Integer(0, states - 1));
  const double u = choices.Uniform();
  const double normal = choices.Normal();
  std::vector<double> shares;
  double sum = 0;
  for (int next = 0; next < states; ++next) {
    shares.push_back(std::max(0.0, choices.Uniform(-0.3, 1)));
    sum += shares.back();
  }
  if (certain || sum == 0) {
    builder.Transition(favourite, 1);
  } else {
    for (std::size_t next = 0; next < shares.size(); ++next) {
      builder.Transition(next, shares[next] / sum);
    }
  }
  const double rounded = u < 0.3 ? 0 : 1;
  builder.EndRow(reward_scale * (u < 0.5 ? rounded : normal));
}

Model ChooseTinyModel(Choices& choices) {
  const int states = choices.Integer(1, 4);
  const int most_actions = choices.Integer(1, 4);
  const double reward_scale = choices.LogUniform(1e-2, 1e2);
  ModelBuilder builder([] { return std::string("theory"); });
  for (int s = 0; s < states; ++s) {
    builder.BeginState();
    const int actions = choices.Chance(0.7) ? most_actions : choices.Integer(1, most_actions);
    for (int a = 0; a < actions; ++a) ChooseRow(choices, states, reward_scale, builder);
  }
  return builder.Finish({});
}

Model ChooseGeneratedModel(Choices& choices) {
  const auto size = [&choices](int lo, int hi) {
    return static_cast<std::uint64_t>(choices.Integer(lo, hi));
  };
  GeneratorOptions options;
  options.seed = choices.Seed();
  switch (choices.Integer(0, 4)) {
    case 0:
      options.kind = "chain";
      options.states = size(3, 15);
      options.noise = choices.Uniform(0, 0.5);
      break;
    case 1:
      options.kind = "forest";
      options.states = size(3, 15);
      options.fire = choices.Uniform(0.01, 0.9);
      break;
    case 2:
      options.kind = "grid";
      options.width = size(2, 4);
      options.height = size(2, 4);
      options.walls = 0;
      options.noise = choices.Uniform(0, 0.9);
      break;
    default:
      options.kind = "garnet";
      options.states = size(2, 15);
      options.actions = size(1, 4);
      options.branching = size(1, 2);
      break;
  }
  return GenerateModel(options);
}

}  // namespace

Model ChooseModel(Choices& choices) {
  return choices.Chance(0.7) ? ChooseTinyModel(choices) : ChooseGeneratedModel(choices);
}

}  // namespace stableaa
