// The rewards of PRISM's explicit files (prism_format.h), read beside the transitions: state by
// state from an .srew, row by row from a .trew.
#ifndef STABLEAA_MDP_FORMATS_PRISM_REWARDS_H_
#define STABLEAA_MDP_FORMATS_PRISM_REWARDS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/mdp/formats/text_scanner.h"

namespace stableaa {

inline constexpr std::string_view kPrismComment = "#";

// What the start of the .tra says about it and the files beside it.
struct PrismLayout {
  bool choices;  // lines have a choice: an MDP
  bool counts;   // headers have counts: PRISM's variant, not Storm's
};

// The numbers in a file's header. They are only compared; nothing is reserved for them.
struct PrismCounts {
  std::uint64_t states = 0;
  std::uint64_t choices = 0;  // of states if lines have no choice
  std::uint64_t lines = 0;
};

// Throws unless the header's `count` equals `found`.
void CheckPrismCount(const TextScanner& in, std::size_t header, const char* what,
                     std::uint64_t count, std::uint64_t found);

struct PrismRow {
  std::uint64_t state = 0;
  std::uint64_t choice = 0;  // 0 if lines have none

  bool operator==(const PrismRow&) const = default;
  bool operator<(const PrismRow& other) const {
    return state != other.state ? state < other.state : choice < other.choice;
  }
};

// Reads `state [choice]`.
PrismRow ReadPrismRow(TextScanner& in, bool choices);

struct PrismTransition {
  std::uint64_t next;
  double probability;
  double reward;
};

// The name of a reward structure, from the comments at the start of its file:
// `# Reward structure "steps"`. Empty if they have none.
std::string_view PrismRewardName(std::string_view text);

class PrismStateRewards {
 public:
  PrismStateRewards(std::string_view text, const std::string& name, bool counts);

  // `state` increases by one from call to call.
  double Of(std::uint64_t state);

  // After the last state.
  void Finish(std::uint64_t states) const;

 private:
  void Advance();

  TextScanner in_;
  bool counts_;
  PrismCounts expected_;
  std::size_t header_ = 0;
  bool at_end_ = false;
  std::size_t line_ = 0;  // of the entry read last and not yet requested
  std::uint64_t state_ = 0;
  double reward_ = 0;
  std::uint64_t lines_ = 0;
};

class PrismTransitionRewards {
 public:
  PrismTransitionRewards(std::string_view text, const std::string& name, PrismLayout layout);

  // Sets the rewards of the row's transitions that the file names. `number` ascends from call to
  // call.
  void Assign(const PrismRow& number, std::span<PrismTransition> row);

  // After the last row.
  void Finish(const PrismCounts& counts) const;

 private:
  struct Reward {
    std::uint64_t next = 0;
    double reward = 0;
    std::size_t line = 0;
    bool used = false;
  };

  void ReadHeader();
  void Advance();
  void AssignByNext(const PrismRow& number, std::span<PrismTransition> row);
  Error NoTransition(std::size_t line, const PrismRow& number, std::uint64_t next) const;

  TextScanner in_;
  PrismLayout layout_;
  PrismCounts expected_;
  std::size_t header_ = 0;
  bool at_end_ = false;
  std::size_t line_ = 0;  // of the entry read last and not yet assigned
  PrismRow number_;
  Reward reward_;
  std::uint64_t lines_ = 0;
  std::vector<Reward> rewards_;  // of the row
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_PRISM_REWARDS_H_
