// Models as PRISM's explicit files (prism -exportmodel): a .tra with the transitions and, beside it
// under the same name, rewards in .srew and .trew.
//
//   x.tra                      x.trew                    x.srew
//   2 3 4                      2 3 2                     2 1
//   0 0 0 0.5                  0 0 0 2                   1 0.25
//   0 0 1 0.5                  0 0 1 2
//   0 1 1 1 stay
//   1 0 1 1
//
// x.tra   A header with the numbers of states, choices (rows) and transitions, then lines
//         `state choice next probability [action name]`. Without the choices (header of two
//         numbers, `state next probability`) it is a Markov chain: one action for each state.
// x.trew  Rewards of transitions, `state choice next reward`; 0 for transitions not named. Its
//         header has the numbers of states, choices and lines.
// x.srew  Rewards of states, `state reward`; 0 for states not named. Its header has the numbers of
//         states and lines.
//
// A row's reward is the state's plus Σ p·r / Σ p over its transitions; if all r in a row are equal,
// exactly that r. Lines are sorted by state, then choice, as PRISM writes them; choices are
// numbered 0, 1, 2, ...; a row's next states may come in any order. All counts in headers must
// match the file. Lines that start with # are skipped. Probabilities and rewards may be quotients
// (1/3). A state without a transition (a deadlock) is an error.
//
// Storm's variant of these files is read as well: the .tra starts with the word mdp or dtmc, and no
// file has counts.
//
// Writes .trew, then .tra, each atomically, with the row's reward for each of its transitions:
// reading gives the same model to the last bit. The format cannot hold the discount. If an x.srew
// exists, nothing is written, because it would be read with the new files.
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

// `path` is the .tra. `dropped` lists any .sta and .lab beside it.
LoadedModel ReadPrismModel(const std::filesystem::path& path);

// Returns what the format cannot hold.
std::vector<std::string> WritePrismModel(const Model& model, const std::filesystem::path& path);

struct PrismTexts {
  std::string_view transitions;                        // .tra
  std::optional<std::string_view> state_rewards;       // .srew
  std::optional<std::string_view> transition_rewards;  // .trew
};

// `stem` is used in messages, with the file's extension.
LoadedModel ParsePrismModel(const PrismTexts& texts, const std::string& stem);

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_PRISM_FORMAT_H_
