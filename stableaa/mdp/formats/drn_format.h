// Models in Storm's explicit format (DRN, "direct encoding"; storm --exportbuild x.drn).
//
//   // comment
//   @type: MDP
//   @parameters
//
//   @reward_models
//   steps
//   @nr_states
//   2
//   @nr_choices
//   3
//   @model
//   state 0 [0.5] init
//       action a [1]
//           0 : 0.5
//           1 : 0.5
//       action b
//           1 : 1
//   state 1 done "with quotes"
//       action 0
//           1 : 1
//
// Header sections, each at most once and in any order, then @model:
//   @type           MDP, or DTMC (one action for each state; its action line may be missing)
//   @value_type     double or rational; optional
//   @parameters     a line, which must be empty: parametric models have no numbers to solve for
//   @placeholders   lines `$name : value`; a value elsewhere may be $name; optional
//   @reward_models  a line with names; optional
//   @nr_states, @nr_choices   a line with the number of states, and of actions of all (optional)
//
// States come in order, without gaps. A row's reward is the state's plus the action's, in the first
// reward model; other reward models, labels and action names are `dropped`. Probabilities and
// rewards may be quotients (1/3). Observations ({0}) and exit rates (!1) belong to other types,
// which are errors.
//
// Written as an MDP: actions are named by their numbers and have the row's reward, and state 0 is
// `init`. Reading it gives the same model to the last bit. The format cannot hold the discount.
#ifndef STABLEAA_MDP_FORMATS_DRN_FORMAT_H_
#define STABLEAA_MDP_FORMATS_DRN_FORMAT_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/mdp/formats/model_file.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {

LoadedModel ReadDrnModel(const std::filesystem::path& path);

// Returns what the format cannot hold.
std::vector<std::string> WriteDrnModel(const Model& model, const std::filesystem::path& path);

// `name` is used in messages.
LoadedModel ParseDrnModel(std::string_view text, const std::string& name);

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_DRN_FORMAT_H_
