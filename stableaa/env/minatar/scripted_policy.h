// Simple players of the MinAtar games that know some of the rules: a baseline for agents, and a way
// to reach states that random play does not.
//
// They see only the present observation and always respond to it in the same way.
#ifndef STABLEAA_ENV_MINATAR_SCRIPTED_POLICY_H_
#define STABLEAA_ENV_MINATAR_SCRIPTED_POLICY_H_

#include <cstdint>
#include <span>

#include "stableaa/env/minatar/minatar.h"

namespace stableaa {

// Returns an action of the full set that is also in the game's minimal one, see
// ToMinimalMinatarAction; the noop if the observation does not show the player. Throws BadInput for
// an observation of another size.
//
//   asterix         steps out of the way of enemies, else goes for the nearest gold
//   breakout        follows the ball
//   freeway         walks on
//   seaquest        shoots what is ahead, collects divers, comes up with six or when out of breath
//   space_invaders  dodges, else shoots where an alien will be
int ScriptedMinatarAction(MinatarGame game, std::span<const std::uint8_t> observation);

}  // namespace stableaa

#endif  // STABLEAA_ENV_MINATAR_SCRIPTED_POLICY_H_
