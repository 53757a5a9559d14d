// Models as PRISM's explicit files (prism -exportmodel): a .tra with the transitions and, beside it
// under the same name, rewards in .srew and .trew and labels in .lab.
//
//   x.tra          x.trew                        x.srew             x.lab
//   2 3 4          # Reward structure "steps"    # Reward ...       0="init" 1="deadlock" 2="a"
//   0 0 0 0.5 go   # Transition rewards          # State rewards    0: 0
//   0 0 1 0.5 go   2 3 2                         2 1                1: 1 2
//   0 1 1 1        0 0 0 2                       1 0.25
//   1 0 1 1        0 0 1 2
//
// x.tra   A header with the numbers of states, choices (rows) and transitions, then lines
//         `state choice next probability [action name]`. Without the choices (header of two
//         numbers, `state next probability`) it is a Markov chain: one action for each state.
// x.trew  Rewards of transitions, `state choice next reward`; 0 for transitions not named. Its
//         header has the numbers of states, choices and lines.
// x.srew  Rewards of states, `state reward`; 0 for states not named. Its header has the numbers of
//         states and lines.
// x.lab   Names of labels, numbered 0, 1, 2, ..., then lines `state: numbers`.
//
// A row's reward is the state's plus Σ p·r / Σ p over its transitions; if all r in a row are equal,
// exactly that r. Lines are sorted by state, then choice, as PRISM writes them; choices are
// numbered 0, 1, 2, ...; a row's next states may come in any order. All counts in headers must
// match the file. Lines that start with # are skipped, except for names of rewards. Probabilities
// and rewards may be quotients (1/3) of any length. A state without a transition (a deadlock) is an
// error.
//
// Annotations:
//   Labels        `init` are the initial states. PRISM always declares `deadlock`; it counts only
//                 if a state has it.
//   Rewards       Several structures are in numbered files: x1.srew and x1.trew, x2.srew and
//                 x2.trew, ..., either or both of each. They are read if there is neither x.srew
//                 nor x.trew, and no x1.tra, x2.tra, ... to which they belong. The comment at the
//                 start of a file has the name; numbered structures without are called 1, 2, ...
//   Action names  A word. A name has to be the same in all lines of a row; names of transitions, as
//                 Markov chains may have, are `dropped`.
//
// Storm's variant of these files is read as well: the .tra starts with the word mdp or dtmc, no
// file has counts, and the .lab has names between #DECLARATION and #END, then `state names`.
//
// Writes the rewards as .trew, the .lab if there is something to tell, then .tra, each atomically,
// with the row's reward for each of its transitions: reading gives the same model to the last bit.
// Several reward structures get numbered files. The format cannot hold the discount, quotes in
// names of labels and rewards, and blanks in action names. (PRISM itself accepts only identifiers.)
// If there are other files that would be read with the new ones, such as an x.srew, nothing is
// written.
#ifndef STABLEAA_MDP_FORMATS_PRISM_FORMAT_H_
#define STABLEAA_MDP_FORMATS_PRISM_FORMAT_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/mdp/formats/model_file.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {

// `path` is the .tra. `dropped` lists a .sta beside it.
LoadedModel ReadPrismModel(const std::filesystem::path& path);

// Returns what the format cannot hold.
std::vector<std::string> WritePrismModel(const Model& model, const std::filesystem::path& path,
                                         const ModelAnnotations& annotations = {});

// The files of one reward structure.
struct PrismRewardTexts {
  std::optional<std::string_view> of_states;       // .srew
  std::optional<std::string_view> of_transitions;  // .trew
};

struct PrismTexts {
  std::string_view transitions;  // .tra
  // One is unnumbered; several, or one if `numbered`, are 1, 2, ...
  std::vector<PrismRewardTexts> rewards = {};
  bool numbered = false;
  std::optional<std::string_view> labels = {};  // .lab
};

// `stem` is used in messages, with the file's number and extension.
LoadedModel ParsePrismModel(const PrismTexts& texts, const std::string& stem);

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_PRISM_FORMAT_H_
