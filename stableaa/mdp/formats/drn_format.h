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
//           1 : 1/2
//       action b
//           1 : 1
//   state 1 done "with quotes"
//       action __NOLABEL__
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
// States come in order, without gaps. Numbers may be quotients (1/3) of any length; they are
// rounded once. Comments run from // after a blank, or at the start of a line, to its end.
// Observations ({0}) and exit rates (!1) belong to other types, which are errors, as are intervals.
//
// Annotations:
//   Labels        Words, or texts in quotes; `init` marks the initial states.
//   Rewards       One or several numbers in brackets, in the order of @reward_models; those without
//                 a name there are called rew0, rew1, ... by their place, as Storm does. A row's
//                 reward is the state's plus the action's.
//   Action names  Everything up to the rewards. __NOLABEL__ and an action's own number, from 0 in
//                 each state, are no names.
//
// Written as an MDP: actions have the row's rewards, and states none, so reading it gives the same
// model to the last bit. Rewards without a name are called `reward`, and state 0 is `init` if no
// other is. The format cannot hold the discount, labels that no state has, and quotes in labels; in
// the names of reward models blanks become underscores. Action names with blanks are left out:
// Storm writes such, but when it reads them it misses the rewards behind them.
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
std::vector<std::string> WriteDrnModel(const Model& model, const std::filesystem::path& path,
                                       const ModelAnnotations& annotations = {});

// `name` is used in messages.
LoadedModel ParseDrnModel(std::string_view text, const std::string& name);

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_DRN_FORMAT_H_
