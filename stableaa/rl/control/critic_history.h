// The critics that a mixed target looks at: the present Polyak average, which is the newest member,
// and older ones (control_options.h says which).
//
//   consecutive   members are the averages after the last m moves
//   spaced        a copy of the average is taken every K updates and joins when the next is taken
//
// So spaced members are K updates apart from each other and the newest K to 2K from the one before
// it. A copy that joined at once would at first be nearly the newest member itself: a column of
// differences near 0, whose weights would be noise. The price is that mixing begins after 2K
// updates, and that the window is full after m K.
//
// With one member, the newest alone, the target is that of the plain algorithm.
//
// Values q_i(s, a) of stored pairs by spaced copies are cached until the copy is dropped: neither
// the pair nor the copy changes. Those of (s', a') cannot be, since a' follows the actor; nor can
// those by the newest member or by consecutive averages, which change with every move.
#ifndef STABLEAA_RL_CONTROL_CRITIC_HISTORY_H_
#define STABLEAA_RL_CONTROL_CRITIC_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "stableaa/rl/control/control_options.h"
#include "stableaa/rl/control/critic_values.h"

namespace stableaa {

class ByteReader;
class ByteWriter;

struct CriticHistoryOptions {
  WindowKind window = WindowKind::kSpaced;
  int members = 1;                 // at most, the newest included
  std::int64_t cached_states = 0;  // room in the cache of each copy; 0: none
};

// Not thread-safe. `values` must outlive it.
class CriticHistory {
 public:
  CriticHistory(const CriticHistoryOptions& options, std::shared_ptr<const Plan> plan,
                CriticValues& values);

  // The newest included.
  int count() const { return static_cast<int>(copies_.size()) + 1; }

  // Whether a copy waits to join.
  bool has_pending() const { return pending_.has_value(); }

  // Call before the average moves.
  void BeforeMove(const CriticSet& average);
  // Call every K updates.
  void TakeCopy(const CriticSet& average);

  // The members, oldest first; the last is `average`. Valid until the next change.
  std::span<const CriticSet* const> Members(const CriticSet& average);

  // q_i(s, a) of stored pairs, count() × pairs.count, oldest member first. `ids`: their states' ids.
  void StoredValues(const CriticSet& average, const StateActions& pairs,
                    std::span<const std::int64_t> ids, std::span<float> out);

  // For benchmarks: caches a value of a stored pair by copy `i`, 0 being the oldest.
  void Remember(int i, std::int64_t id, float value);

  // How many values were asked of copies, and how many of them had to be computed.
  struct Counts {
    std::int64_t asked = 0, computed = 0;
  };
  const Counts& counts() const { return counts_; }

  // Bytes of a full history, without the newest member.
  static std::uint64_t Bytes(const CriticHistoryOptions& options, const Plan& plan, int critics);

  // Load throws BadInput for anything that no such history saved.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in, const CriticSet& like);

 private:
  struct CachedValue {
    std::uint32_t tag = 0;  // of the state; 0: none
    float value = 0;
  };

  struct Copy {
    CriticSet critics;
    std::vector<CachedValue> cache = {};
  };

  // Where a copy's cache has the value of a state, and its tag there.
  struct Place {
    std::size_t index;
    std::uint32_t tag;
  };

  Place PlaceOf(std::int64_t id) const;
  Copy NewCopy(const CriticSet& average);
  void Join(Copy copy);
  // Of the states in places_.
  void StoredValuesOf(Copy& copy, const StateActions& pairs, std::span<float> out);

  const CriticHistoryOptions options_;
  const std::shared_ptr<const Plan> plan_;
  CriticValues& values_;
  std::vector<Copy> copies_;     // oldest first
  std::optional<Copy> pending_;  // joins when the next copy is taken
  std::vector<Copy> spare_;      // to be used again
  std::vector<const CriticSet*> members_;
  Counts counts_;

  std::vector<Place> places_;
  std::vector<std::size_t> misses_;
  std::vector<float> states_, actions_, missing_;  // of the misses
};

}  // namespace stableaa

#endif  // STABLEAA_RL_CONTROL_CRITIC_HISTORY_H_
