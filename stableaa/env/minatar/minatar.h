// The five MinAtar games (see grid.h) as simulations, with their names, options and spaces.
//
//   const EnvironmentSpec spec = MinatarEnvironmentSpec("breakout");
//   const auto game = MakeMinatar("breakout", {.sticky = 0});
//
// Sticky actions (Machado et al., "Revisiting the Arcade Learning Environment", 2018): with a small
// probability the previous step's action is repeated in place of the requested one. As in the
// original, the previous action survives the end of an episode: only a new simulation begins with
// the noop.
//
// Each step first draws whether to repeat, even if the probability is 0, and then what the game
// needs. So runs with and without sticky actions from one seed see the same cars and fish as long
// as they take the same actions.
#ifndef STABLEAA_ENV_MINATAR_MINATAR_H_
#define STABLEAA_ENV_MINATAR_MINATAR_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/env/environment.h"
#include "stableaa/env/simulation.h"

namespace stableaa {

enum class MinatarGame { kAsterix, kBreakout, kFreeway, kSeaquest, kSpaceInvaders };

struct MinatarEnvironmentOptions {
  // Probability in [0, 1] of repeating the previous action. 0.1 in all published results; 0 makes
  // Breakout (except for its start) and Space Invaders deterministic.
  double sticky = 0.1;
  // Games become harder over time, except for Breakout and Freeway.
  bool ramping = true;
  // Use only the actions that do something in the game, instead of all six. Easier to learn with,
  // but not what published results use.
  bool minimal_actions = false;
};

// asterix, breakout, freeway, seaquest, space_invaders, in the order of the enumeration.
const std::vector<std::string>& MinatarNames();

// This and the functions below throw BadInput for a name that is not among them.
MinatarGame ParseMinatarGame(std::string_view name);

// Number of channels in its observation.
int MinatarChannels(MinatarGame game);

// This and the function below throw BadInput for options out of range. `protocol` reads "sticky
// 0.1, ramping, 6 actions".
EnvironmentSpec MinatarEnvironmentSpec(std::string_view name,
                                       const MinatarEnvironmentOptions& options = {});

// Call Reset first.
std::unique_ptr<Simulation> MakeMinatar(std::string_view name,
                                        const MinatarEnvironmentOptions& options = {});

// The actions that do something in a game, as indices of the full set, ascending.
std::span<const int> MinimalMinatarActions(MinatarGame game);

// The position of an action of the full set in that list; 0, the noop's, for one that does nothing.
int ToMinimalMinatarAction(MinatarGame game, int action);

}  // namespace stableaa

#endif  // STABLEAA_ENV_MINATAR_MINATAR_H_
