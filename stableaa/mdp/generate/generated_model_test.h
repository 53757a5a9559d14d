// For tests of generators.
#ifndef STABLEAA_MDP_GENERATE_GENERATED_MODEL_TEST_H_
#define STABLEAA_MDP_GENERATE_GENERATED_MODEL_TEST_H_

#include <gtest/gtest.h>

#include <string>

#include "stableaa/core/error.h"
#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/testing/message.h"

namespace stableaa {

// Generates a model and checks what must hold for all of them.
inline Model Generated(const GeneratorOptions& options) {
  Model model = GenerateModel(options);
  CheckCanonical(model.arrays(), options.kind, 1);
  EXPECT_EQ(model.discount(), options.discount);
  return model;
}

inline std::string RefusalOf(const GeneratorOptions& options,
                             Error::Kind kind = Error::Kind::kBadInput) {
  return MessageOf([&] { GenerateModel(options); }, kind);
}

}  // namespace stableaa

#endif  // STABLEAA_MDP_GENERATE_GENERATED_MODEL_TEST_H_
