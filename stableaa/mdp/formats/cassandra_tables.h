// What the T:, O: and R: statements of Cassandra's format say, kept as sparse as they are written.
//
// A statement may hold for all actions, states or next states at once (*), and later statements
// override earlier ones. So both tables keep statements, not matrices, each with its offset in the
// text as its time, and answer for one row after the other. Statements are sorted by which of
// action and state they name (four classes) and within a class by what they name; those that
// concern a row are four short ranges.
#ifndef STABLEAA_MDP_FORMATS_CASSANDRA_TABLES_H_
#define STABLEAA_MDP_FORMATS_CASSANDRA_TABLES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stableaa {

// The wildcard, in place of an action, a state or an observation.
inline constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

// How much a short text may unfold to: `T: * uniform` with a hundred thousand states would be 10^10
// transitions for each action.
class ExpansionBudget {
 public:
  // `excess` is the message of the BadInput thrown when it is used up.
  ExpansionBudget(std::uint64_t limit, std::string excess)
      : left_(limit), excess_(std::move(excess)) {}

  void Spend(std::uint64_t amount);

 private:
  std::uint64_t left_;
  std::string excess_;
};

// Which of action and state a statement names, and which ones: a key that groups statements.
struct StatementScope {
  std::size_t kind;     // 0: both, 1: the action, 2: the state, 3: neither
  std::uint64_t group;  // within the kind

  // REQUIRES: actions · states < 2^64.
  static StatementScope Of(std::uint64_t action, std::uint64_t state, std::uint64_t actions);
};
inline constexpr std::size_t kScopeKinds = 4;

// Rows of probabilities by action and state: of next states (T) or observations (O).
class DistributionTable {
 public:
  using Row = std::vector<std::pair<std::uint64_t, double>>;  // ascending, without zeros

  DistributionTable(std::uint64_t actions, std::uint64_t columns)
      : actions_(actions), columns_(columns) {}

  // Statements, at ascending offsets. Action and state may be kAny, the column not. SetAll is for
  // every column of the row, SetIdentity for 1 at the column of the state's number and 0 elsewhere.
  void Set(std::uint64_t action, std::uint64_t state, std::uint64_t column, double probability,
           std::size_t offset);
  void SetAll(std::uint64_t action, std::uint64_t state, double probability, std::size_t offset);
  void SetIdentity(std::uint64_t action, std::uint64_t state, std::size_t offset);

  // Makes room for as many statements that name action, state and column; and how many there are.
  void Reserve(std::size_t entries) { kinds_[0].entries.reserve(entries); }
  std::size_t entries() const { return kinds_[0].entries.size(); }

  // After the last statement, before the first Find.
  void Sort();

  // An upper bound of what Find will spend on the row, without unfolding it.
  std::uint64_t Cost(std::uint64_t action, std::uint64_t state);
  // False if rows cost no more than the statements that name them.
  bool unfolds() const { return unfolds_; }

  // The row of an action and a state, and the offset of the last statement about it; nothing if
  // there is none. Fast for rows in ascending order of state, then action.
  std::optional<std::size_t> Find(std::uint64_t action, std::uint64_t state,
                                  ExpansionBudget& budget, Row& row);

 private:
  struct Entry {
    std::uint64_t group;
    std::size_t offset;
    std::uint64_t column;
    double probability;
  };
  struct WholeRow {
    std::uint64_t group;
    std::size_t offset;
    bool identity;
    double probability;
  };
  struct Kind {
    std::vector<Entry> entries;
    std::vector<WholeRow> whole_rows;
    std::size_t entries_hint = 0;
    std::size_t whole_rows_hint = 0;
  };

  struct Override {
    std::uint64_t column;
    std::size_t offset;
    double probability;
  };

  // All that concerns a row: the last statement about the whole of it, and what came after.
  struct Statements {
    std::optional<WholeRow> base;
    std::array<std::span<const Entry>, kScopeKinds> entries;
  };

  Statements About(std::uint64_t action, std::uint64_t state);
  std::uint64_t BaseCost(const WholeRow& base) const;
  void Unfold(const WholeRow& base, std::uint64_t state);
  void TakeLatest(Row& row);

  std::uint64_t actions_;
  std::uint64_t columns_;
  std::array<Kind, kScopeKinds> kinds_;
  bool unfolds_ = false;
  std::vector<Override> overrides_;  // of the row being found
};

// Rewards by action, state, next state and observation; 0 where no statement says otherwise.
class RewardTable {
 public:
  explicit RewardTable(std::uint64_t actions) : actions_(actions) {}

  // Each of the four may be kAny. At ascending offsets.
  void Set(std::uint64_t action, std::uint64_t state, std::uint64_t next, std::uint64_t observation,
           double reward, std::size_t offset);

  // After the last statement, before the first Select.
  void Sort();

  // True if some statement names an observation: otherwise Reward is asked with kAny.
  bool by_observation() const { return by_observation_; }

  // The row that Reward answers for. Fast in ascending order of state, then action.
  void Select(std::uint64_t action, std::uint64_t state);
  double Reward(std::uint64_t next, std::uint64_t observation) const;

 private:
  struct Entry {
    std::uint64_t group;
    std::uint64_t next;
    std::uint64_t observation;
    std::size_t offset;
    double reward;
  };
  struct Kind {
    std::vector<Entry> entries;
    std::size_t hint = 0;
    std::span<const Entry> selected;
  };

  std::uint64_t actions_;
  std::array<Kind, kScopeKinds> kinds_;
  bool by_observation_ = false;
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_CASSANDRA_TABLES_H_
