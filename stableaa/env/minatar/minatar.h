// The five MinAtar games as simulations: what lies around each of them (grid.h says what they are).
//
//   const EnvironmentSpec spec = MinatarEnvironmentSpec("breakout");
//   const auto game = MakeMinatar("breakout", {.sticky = 0});
//
// Sticky actions (Machado et al., "Revisiting the Arcade Learning Environment", 2018): with a small
// probability the action of the step before is carried out again in place of the one asked for.
// Which action that was survives the end of an episode, as in the original: only a new simulation
// begins with the noop.
//
// Each step draws first whether to repeat, also where the probability is 0, and then what the game
// needs: runs with and without sticky actions from one seed see the same cars and fish for as long
// as they do the same.
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
  // Probability in [0, 1] that the action before is repeated. 0.1 in all published results; 0 makes
  // Breakout (but for the start) and Space Invaders deterministic.
  double sticky = 0.1;
  // Games become harder with time. Breakout and Freeway never do.
  bool ramping = true;
  // Only the actions that do something in the game, instead of all six. Easier to learn with, and
  // not what published results use.
  bool minimal_actions = false;
};

// asterix, breakout, freeway, seaquest, space_invaders, in the order of the enumeration.
const std::vector<std::string>& MinatarNames();

// BadInput for a name that is not among them, here and below.
MinatarGame ParseMinatarGame(std::string_view name);

// Channels of its observation.
int MinatarChannels(MinatarGame game);

// BadInput for options out of range, here and below. `protocol` reads "sticky 0.1, ramping,
// 6 actions".
EnvironmentSpec MinatarEnvironmentSpec(std::string_view name,
                                       const MinatarEnvironmentOptions& options = {});

// Reset has to come first.
std::unique_ptr<Simulation> MakeMinatar(std::string_view name,
                                        const MinatarEnvironmentOptions& options = {});

// The actions that do something in a game, as indices of the full set, ascending.
std::span<const int> MinimalMinatarActions(MinatarGame game);

// The place of an action of the full set in that list: 0, the noop's, for one that does nothing.
int ToMinimalMinatarAction(MinatarGame game, int action);

}  // namespace stableaa

#endif  // STABLEAA_ENV_MINATAR_MINATAR_H_
