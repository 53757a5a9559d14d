#include "stableaa/mdp/formats/cassandra_tables.h"

#include <algorithm>
#include <tuple>

#include "stableaa/core/error.h"

namespace stableaa {
namespace {

// The statements of a group, in a list sorted by group. `hint` is where the last search ended.
template <typename Statement>
std::span<const Statement> OfGroup(const std::vector<Statement>& list, std::uint64_t group,
                                   std::size_t& hint) {
  const auto before = [](const Statement& a, std::uint64_t g) { return a.group < g; };
  const auto behind = [](std::uint64_t g, const Statement& a) { return g < a.group; };
  const bool from_hint = hint == list.size() || list[hint].group >= group
                             ? hint == 0 || list[hint - 1].group < group
                             : false;
  const auto first = from_hint ? list.begin() + static_cast<std::ptrdiff_t>(hint)
                               : std::lower_bound(list.begin(), list.end(), group, before);
  // Groups are short, except those of wildcards.
  auto last = first;
  for (int i = 0; i < 8 && last != list.end() && last->group == group; ++i) ++last;
  if (last != list.end() && last->group == group) {
    last = std::upper_bound(last, list.end(), group, behind);
  }
  hint = static_cast<std::size_t>(last - list.begin());
  return {first, last};
}

template <typename List, typename Before>
void SortUnlessSorted(List& list, const Before& before) {
  if (!std::is_sorted(list.begin(), list.end(), before)) {
    std::stable_sort(list.begin(), list.end(), before);
  }
}

// The statements about an action and a state, with and without wildcards.
std::array<StatementScope, kScopeKinds> ScopesOf(std::uint64_t action, std::uint64_t state,
                                                 std::uint64_t actions) {
  return {StatementScope::Of(action, state, actions), StatementScope::Of(action, kAny, actions),
          StatementScope::Of(kAny, state, actions), StatementScope::Of(kAny, kAny, actions)};
}

// Stable sorting keeps the order of offsets within a group.
constexpr auto kByGroup = [](const auto& a, const auto& b) { return a.group < b.group; };

}  // namespace

void ExpansionBudget::Spend(std::uint64_t amount) {
  if (amount > left_) throw BadInput(excess_);
  left_ -= amount;
}

StatementScope StatementScope::Of(std::uint64_t action, std::uint64_t state,
                                  std::uint64_t actions) {
  if (action == kAny && state == kAny) return {3, 0};
  if (action == kAny) return {2, state};
  if (state == kAny) return {1, action};
  return {0, state * actions + action};
}

void DistributionTable::Set(std::uint64_t action, std::uint64_t state, std::uint64_t column,
                            double probability, std::size_t offset) {
  const StatementScope scope = StatementScope::Of(action, state, actions_);
  kinds_[scope.kind].entries.push_back({scope.group, offset, column, probability});
  unfolds_ |= scope.kind != 0;
}

void DistributionTable::SetAll(std::uint64_t action, std::uint64_t state, double probability,
                               std::size_t offset) {
  const StatementScope scope = StatementScope::Of(action, state, actions_);
  kinds_[scope.kind].whole_rows.push_back({scope.group, offset, false, probability});
  unfolds_ |= probability != 0;
}

void DistributionTable::SetIdentity(std::uint64_t action, std::uint64_t state, std::size_t offset) {
  const StatementScope scope = StatementScope::Of(action, state, actions_);
  kinds_[scope.kind].whole_rows.push_back({scope.group, offset, true, 1});
}

void DistributionTable::Sort() {
  for (Kind& kind : kinds_) {
    SortUnlessSorted(kind.entries, kByGroup);
    SortUnlessSorted(kind.whole_rows, kByGroup);
  }
}

DistributionTable::Statements DistributionTable::About(std::uint64_t action, std::uint64_t state) {
  const std::array<StatementScope, kScopeKinds> scopes = ScopesOf(action, state, actions_);
  Statements about;
  for (const StatementScope& scope : scopes) {
    Kind& kind = kinds_[scope.kind];
    const auto rows = OfGroup(kind.whole_rows, scope.group, kind.whole_rows_hint);
    if (!rows.empty() && (!about.base || rows.back().offset > about.base->offset)) {
      about.base = rows.back();
    }
  }
  for (const StatementScope& scope : scopes) {
    Kind& kind = kinds_[scope.kind];
    auto entries = OfGroup(kind.entries, scope.group, kind.entries_hint);
    if (about.base) {
      const auto later = std::upper_bound(
          entries.begin(), entries.end(), about.base->offset,
          [](std::size_t offset, const Entry& entry) { return offset < entry.offset; });
      entries = {later, entries.end()};
    }
    about.entries[scope.kind] = entries;
  }
  return about;
}

std::uint64_t DistributionTable::BaseCost(const WholeRow& base) const {
  if (base.probability == 0) return 0;
  return base.identity ? 1 : columns_;
}

std::uint64_t DistributionTable::Cost(std::uint64_t action, std::uint64_t state) {
  const Statements about = About(action, state);
  std::uint64_t cost = about.base ? BaseCost(*about.base) : 0;
  for (const auto& entries : about.entries) cost += entries.size();
  return cost;
}

std::optional<std::size_t> DistributionTable::Find(std::uint64_t action, std::uint64_t state,
                                                   ExpansionBudget& budget, Row& row) {
  const Statements about = About(action, state);
  std::optional<std::size_t> last;
  overrides_.clear();
  if (about.base) {
    last = about.base->offset;
    budget.Spend(BaseCost(*about.base));
    Unfold(*about.base, state);
  }
  for (const std::span<const Entry>& entries : about.entries) {
    if (entries.empty()) continue;
    budget.Spend(entries.size());
    last = std::max(last.value_or(0), entries.back().offset);
    for (const Entry& entry : entries) {
      overrides_.push_back({entry.column, entry.offset, entry.probability});
    }
  }
  TakeLatest(row);
  return last;
}

void DistributionTable::Unfold(const WholeRow& base, std::uint64_t state) {
  if (base.probability == 0) return;
  if (base.identity) {
    overrides_.push_back({state, base.offset, 1});
    return;
  }
  for (std::uint64_t column = 0; column < columns_; ++column) {
    overrides_.push_back({column, base.offset, base.probability});
  }
}

// Keeps each column's probability with the largest offset and drops zeros.
void DistributionTable::TakeLatest(Row& row) {
  SortUnlessSorted(overrides_, [](const Override& a, const Override& b) {
    return std::tie(a.column, a.offset) < std::tie(b.column, b.offset);
  });
  row.clear();
  for (std::size_t i = 0; i < overrides_.size(); ++i) {
    const Override& override = overrides_[i];
    const bool superseded =
        i + 1 < overrides_.size() && overrides_[i + 1].column == override.column;
    if (!superseded && override.probability != 0) {
      row.emplace_back(override.column, override.probability);
    }
  }
}

void RewardTable::Set(std::uint64_t action, std::uint64_t state, std::uint64_t next,
                      std::uint64_t observation, double reward, std::size_t offset) {
  const StatementScope scope = StatementScope::Of(action, state, actions_);
  kinds_[scope.kind].entries.push_back({scope.group, next, observation, offset, reward});
  by_observation_ |= observation != kAny;
}

void RewardTable::Sort() {
  for (Kind& kind : kinds_) {
    SortUnlessSorted(kind.entries, [](const Entry& a, const Entry& b) {
      return std::tie(a.group, a.next, a.observation, a.offset) <
             std::tie(b.group, b.next, b.observation, b.offset);
    });
  }
}

void RewardTable::Select(std::uint64_t action, std::uint64_t state) {
  const std::array<StatementScope, kScopeKinds> scopes = ScopesOf(action, state, actions_);
  for (const StatementScope& scope : scopes) {
    Kind& kind = kinds_[scope.kind];
    kind.selected = OfGroup(kind.entries, scope.group, kind.hint);
  }
}

double RewardTable::Reward(std::uint64_t next, std::uint64_t observation) const {
  const Entry* latest = nullptr;
  const auto look = [&](std::span<const Entry> entries, std::uint64_t n, std::uint64_t o) {
    if (entries.front().next > n) return;  // most common: one reward for every next state
    // The last of the equal ones is the latest.
    const auto behind = std::upper_bound(entries.begin(), entries.end(), std::tie(n, o),
                                         [](const auto& key, const Entry& entry) {
                                           return key < std::tie(entry.next, entry.observation);
                                         });
    if (behind == entries.begin()) return;
    const Entry& entry = *(behind - 1);
    if (entry.next != n || entry.observation != o) return;
    if (latest == nullptr || entry.offset > latest->offset) latest = &entry;
  };
  for (const Kind& kind : kinds_) {
    if (kind.selected.empty()) continue;
    look(kind.selected, next, kAny);
    look(kind.selected, kAny, kAny);
    if (observation == kAny) continue;
    look(kind.selected, next, observation);
    look(kind.selected, kAny, observation);
  }
  return latest == nullptr ? 0 : latest->reward;
}

}  // namespace stableaa
