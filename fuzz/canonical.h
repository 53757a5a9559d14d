// What every model reader promises: any model it accepts is canonical, and its annotations are sound.
#ifndef STABLEAA_FUZZ_CANONICAL_H_
#define STABLEAA_FUZZ_CANONICAL_H_

#include "fuzz/accepts.h"
#include "stableaa/mdp/formats/model_file.h"
#include "stableaa/mdp/model/annotations.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {

inline void RequireCanonical(const Model& model) {
  Require(model.states() > 0);
  Require(Accepts([&] { CheckCanonical(model.arrays(), "fuzz", 1); }));
  Require(!model.discount() || (*model.discount() >= 0 && *model.discount() < 1));
}

inline void RequireSound(const LoadedModel& loaded) {
  RequireCanonical(loaded.model);
  const ModelAnnotations& annotations = loaded.annotations;
  Require(Accepts(
      [&] { CheckAnnotations(annotations, loaded.model.states(), loaded.model.rows(), "fuzz"); }));
  if (annotations.rewards.empty()) return;
  Require(annotations.rewards[0].rewards.span().data() == loaded.model.rewards().data());
  // The last structure becomes the model's, which stays canonical.
  LoadedModel other = loaded;
  UseRewardStructure(other, annotations.rewards.back().name, "reward");
  RequireCanonical(other.model);
}

}  // namespace stableaa

#endif  // STABLEAA_FUZZ_CANONICAL_H_
