// The model on which the Boltzmann backup with ω = 10 has three fixed points: one state, discount
// .98. Action a pays .05 and stays with probability .2, b pays .033 and stays with .99; otherwise
// the episode ends with value 0.
#ifndef STABLEAA_THEORY_ONE_STATE_EXAMPLE_H_
#define STABLEAA_THEORY_ONE_STATE_EXAMPLE_H_

#include <array>

#include "stableaa/bellman/backup.h"

namespace stableaa {

// The values of both actions if the state has value v.
std::array<double, 2> OneStateActionValues(double v);

// The backup of v.
double OneStateImage(const Backup& backup, double v);

// The v = OneStateImage(v) between two values at which the difference has opposite signs.
double OneStateFixedPoint(const Backup& backup, double low, double high);

}  // namespace stableaa

#endif  // STABLEAA_THEORY_ONE_STATE_EXAMPLE_H_
