// What every model reader promises: any model it accepts is canonical.
#ifndef STABLEAA_FUZZ_CANONICAL_H_
#define STABLEAA_FUZZ_CANONICAL_H_

#include "fuzz/accepts.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {

inline void RequireCanonical(const Model& model) {
  Require(model.states() > 0);
  Require(Accepts([&] { CheckCanonical(model.arrays(), "fuzz", 1); }));
  Require(!model.discount() || (*model.discount() >= 0 && *model.discount() < 1));
}

}  // namespace stableaa

#endif  // STABLEAA_FUZZ_CANONICAL_H_
