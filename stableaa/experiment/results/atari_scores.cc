#include "stableaa/experiment/results/atari_scores.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace stableaa {
namespace {

// Wang et al. (2016), "Dueling Network Architectures for Deep Reinforcement Learning", appendix,
// scores after up to 30 no-op actions. The same numbers appear in DeepMind's dqn_zoo
// (dqn_zoo/atari_data.py) and in the appendix of Agent57 (Badia et al. 2020).
constexpr std::array<AtariScores, 20> kScores = {{
    {"alien", 227.8, 7127.7},
    {"battle_zone", 2360, 37187.5},
    {"berzerk", 123.7, 2630.4},
    {"bowling", 23.1, 160.7},
    {"breakout", 1.7, 30.5},
    {"chopper_command", 811, 7387.8},
    {"crazy_climber", 10780.5, 35829.4},
    {"demon_attack", 152.1, 1971},
    {"enduro", 0, 860.5},
    {"frostbite", 65.2, 4334.7},
    {"ice_hockey", -11.2, 0.9},
    {"kung_fu_master", 258.5, 22736.3},
    {"ms_pacman", 307.3, 6951.6},
    {"pitfall", -229.4, 6463.7},
    {"pong", -20.7, 14.6},
    {"private_eye", 24.9, 69571.3},
    {"robotank", 2.2, 11.9},
    {"space_invaders", 148, 1668.7},
    {"up_n_down", 533.4, 11693.2},
    {"yars_revenge", 3092.9, 54576.9},
}};

}  // namespace

std::span<const AtariScores> AllAtariScores() { return kScores; }

std::optional<AtariScores> FindAtariScores(std::string_view environment) {
  constexpr std::string_view kFamily = "atari/";
  if (!environment.starts_with(kFamily)) return std::nullopt;
  const std::string_view game = environment.substr(kFamily.size());
  const auto found = std::ranges::find(kScores, game, &AtariScores::game);
  if (found == kScores.end()) return std::nullopt;
  return *found;
}

}  // namespace stableaa
