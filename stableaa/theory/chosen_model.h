// Models as instances of claims.
#ifndef STABLEAA_THEORY_CHOSEN_MODEL_H_
#define STABLEAA_THEORY_CHOSEN_MODEL_H_

#include "stableaa/mdp/model/model.h"
#include "stableaa/theory/choices.h"

namespace stableaa {

// A small model: up to 4 states, number by number, so that a search can shape it; or up to 16, from
// one of the generators.
Model ChooseModel(Choices& choices);

}  // namespace stableaa

#endif  // STABLEAA_THEORY_CHOSEN_MODEL_H_
