// What a random player and a person reach in the Atari games of the paper, to put the scores of
// different games on one scale. Both with up to 30 no-op actions at the start and at most 30
// minutes (108,000 frames) a game, as in the tables of Wang et al. (2016), Rainbow and Agent57;
// DQN's paper in Nature and tables for human starts have other numbers.
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

// For an environment's name as NormalizedId (env/registry.h) writes it, "atari/space_invaders";
// nothing for any other.
std::optional<AtariScores> FindAtariScores(std::string_view environment);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_RESULTS_ATARI_SCORES_H_
