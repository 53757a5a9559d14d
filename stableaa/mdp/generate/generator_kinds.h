// The kinds in generators.h, one function each. Internal to the generators.
//
// REQUIRES for all: every option the kind has is set and within its range, except for sizes that
// follow from each other, which are settled here.
#ifndef STABLEAA_MDP_GENERATE_GENERATOR_KINDS_H_
#define STABLEAA_MDP_GENERATE_GENERATOR_KINDS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "stableaa/mdp/generate/generators.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {

// Next states have 32 bits.
constexpr std::uint64_t kMostGeneratedStates = std::uint64_t{1} << 32;

// The most a model takes.
struct ModelSize {
  std::uint64_t states;
  std::uint64_t rows;
  std::uint64_t transitions;
  std::uint64_t scratch_bytes = 0;  // in addition to the model
};

// a·b, or the largest number if it overflows.
std::uint64_t SaturatedProduct(std::uint64_t a, std::uint64_t b);

// The smallest n ≥ least with n^power ≥ volume; power ≥ 1.
std::uint64_t SideOfVolume(std::uint64_t volume, std::uint64_t power, std::uint64_t least);

// base^power, saturated.
std::uint64_t SaturatedPower(std::uint64_t base, std::uint64_t power);

// Throws unless the size is within 2^32 states (BadInput) and fits in memory (WorkFailed). Every
// kind calls it before allocating.
void CheckSize(const GeneratorOptions& options, const ModelSize& size);

// Calls CheckSize and returns a builder with room for that size.
ModelBuilder BuilderFor(const GeneratorOptions& options, const ModelSize& size);

// The same for a model that goes through NumberBreadthFirst, which takes the memory of a second one.
ModelBuilder BuilderBeforeNumbering(const GeneratorOptions& options, ModelSize size);

// Adds a state that stays where it is at reward 0: `state` is its own number.
void AddAbsorbing(std::uint64_t state, ModelBuilder& builder);

// The same process with its states numbered as a breadth-first search from state 0 finds them: the
// actions of a state in order, the next states of an action by their numbers so far. Verification
// tools number the states of a program like that. REQUIRES: state 0 reaches every state.
Model NumberBreadthFirst(const Model& model);

// Throws BadInput: "garnet: branching: expected `expected`, found 2000".
[[noreturn]] void RefuseOption(const GeneratorOptions& options, std::string_view name,
                               const std::string& expected, double found);

Model GenerateGarnet(const GeneratorOptions& options);
Model GenerateGrid(const GeneratorOptions& options);
Model GenerateMaze(const GeneratorOptions& options);
Model GenerateChain(const GeneratorOptions& options);
Model GenerateForest(const GeneratorOptions& options);
Model GenerateQueues(const GeneratorOptions& options);
Model GenerateInventory(const GeneratorOptions& options);
Model GenerateRandomWalk(const GeneratorOptions& options);
Model GenerateLayered(const GeneratorOptions& options);
Model GenerateRooms(const GeneratorOptions& options);
Model GenerateTimers(const GeneratorOptions& options);
Model GenerateCycle(const GeneratorOptions& options);

}  // namespace stableaa

#endif  // STABLEAA_MDP_GENERATE_GENERATOR_KINDS_H_
