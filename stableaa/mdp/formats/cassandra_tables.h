// The T:, O: and R: statements of Cassandra's format, kept as sparse as they are written.
//
// A statement may apply to all actions, states or next states at once (*), and later statements
// override earlier ones. So both tables keep statements rather than matrices, each with its offset
// in the text as its time, and answer row by row. Statements are sorted by which of action and
// state they name (four classes), and within a class by what they name, so those about one row are
// four short ranges.
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

// How far a short text may expand: `T: * uniform` with a hundred thousand states would be 10^10
// transitions for each action.
class ExpansionBudget {
 public:
  // `excess` is the message of the BadInput thrown when the budget is used up.
  ExpansionBudget(std::uint64_t limit, std::string excess)
      : left_(limit), excess_(std::move(excess)) {}

  void Spend(std::uint64_t amount);

 private:
  std::uint64_t left_;
  std::string excess_;
};

// Which of action and state a statement names, and their values: a key that groups statements.
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

  // Statements, at ascending offsets. Action and state may be kAny, the column may not. SetAll sets
  // every column of the row; SetIdentity sets 1 at the column with the state's number and 0
  // elsewhere.
  void Set(std::uint64_t action, std::uint64_t state, std::uint64_t column, double probability,
           std::size_t offset);
  void SetAll(std::uint64_t action, std::uint64_t state, double probability, std::size_t offset);
  void SetIdentity(std::uint64_t action, std::uint64_t state, std::size_t offset);

  // For statements that name action, state and column: reserves room, and counts them.
  void Reserve(std::size_t entries) { kinds_[0].entries.reserve(entries); }
  std::size_t entries() const { return kinds_[0].entries.size(); }

  // After the last statement, before the first Find.
  void Sort();

  // An upper bound on what Find will spend on the row, without expanding it.
  std::uint64_t Cost(std::uint64_t action, std::uint64_t state);
  // False if rows cost no more than the statements that name them.
  bool unfolds() const { return unfolds_; }

  // The row of an action and a state, and the offset of the last statement about it; nothing if
  // there is none. Fast if rows are requested in ascending order of state, then action.
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

  // The last statement about the whole of a row, and everything after it.
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
  std::vector<Override> overrides_;  // for the row being found
};

// Rewards by action, state, next state and observation; 0 unless a statement says otherwise.
class RewardTable {
 public:
  explicit RewardTable(std::uint64_t actions) : actions_(actions) {}

  // Each of the four may be kAny. Offsets must ascend.
  void Set(std::uint64_t action, std::uint64_t state, std::uint64_t next, std::uint64_t observation,
           double reward, std::size_t offset);

  // After the last statement, before the first Select.
  void Sort();

  // True if some statement names an observation; otherwise pass kAny to Reward.
  bool by_observation() const { return by_observation_; }

  // Selects the row for Reward. Fast in ascending order of state, then action.
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
