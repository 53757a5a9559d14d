// The scores of a random player and of a human in the paper's Atari games, used to put different
// games on one scale. Both were measured with up to 30 no-op actions at the start and at most 30
// minutes (108,000 frames) per game, as in the tables of Wang et al. (2016), Rainbow and Agent57.
// The Nature DQN paper and tables for human starts have other numbers.
#ifndef STABLEAA_EXPERIMENT_RESULTS_ATARI_SCORES_H_
#define STABLEAA_EXPERIMENT_RESULTS_ATARI_SCORES_H_

#include <optional>
#include <span>
#include <string_view>

namespace stableaa {

struct AtariScores {
  std::string_view game;  // as environments are named: "space_invaders"
  double random = 0;
  double human = 0;
};

// The paper's twenty games, by name.
std::span<const AtariScores> AllAtariScores();

// Looks up an environment by its name as NormalizedId (env/registry.h) writes it,
// "atari/space_invaders"; nothing for any other.
std::optional<AtariScores> FindAtariScores(std::string_view environment);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_RESULTS_ATARI_SCORES_H_
