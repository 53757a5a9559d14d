#include "stableaa/rl/control/critic_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/saved_number.h"

namespace stableaa {
namespace {

void LoadCritics(ByteReader& in, CriticSet& critics) {
  for (Parameters& critic : critics) {
    critic.Load(in);
    if (!critic.AllFinite()) throw in.Wrong("expected finite weights of critics");
  }
}

}  // namespace

CriticHistory::CriticHistory(const CriticHistoryOptions& options, std::shared_ptr<const Plan> plan,
                             CriticValues& values)
    : options_(options), plan_(std::move(plan)), values_(values) {}

std::uint64_t CriticHistory::Bytes(const CriticHistoryOptions& options, const Plan& plan,
                                   int critics) {
  if (options.members == 1) return 0;
  return static_cast<std::uint64_t>(options.members) *
         (static_cast<std::uint64_t>(critics) * plan.parameters * sizeof(float) +
          static_cast<std::uint64_t>(options.cached_states) * sizeof(CachedValue));
}

CriticHistory::Copy CriticHistory::NewCopy(const CriticSet& average) {
  Copy copy;
  if (spare_.empty()) {
    for (std::size_t c = 0; c < average.size(); ++c) copy.critics.emplace_back(plan_);
    copy.cache.resize(static_cast<std::size_t>(options_.cached_states));
  } else {
    copy = std::move(spare_.back());
    spare_.pop_back();
    std::ranges::fill(copy.cache, CachedValue());
  }
  for (std::size_t c = 0; c < average.size(); ++c) copy.critics[c].CopyFrom(average[c]);
  return copy;
}

// As the newest of the copies. The oldest leaves if there is no room.
void CriticHistory::Join(Copy copy) {
  if (count() == options_.members) {
    spare_.push_back(std::move(copies_.front()));
    copies_.erase(copies_.begin());
  }
  copies_.push_back(std::move(copy));
}

void CriticHistory::BeforeMove(const CriticSet& average) {
  if (options_.window != WindowKind::kConsecutive || options_.members == 1) return;
  Join(NewCopy(average));
}

void CriticHistory::TakeCopy(const CriticSet& average) {
  if (options_.window != WindowKind::kSpaced || options_.members == 1) return;
  if (pending_) Join(std::move(*pending_));
  pending_ = NewCopy(average);
}

std::span<const CriticSet* const> CriticHistory::Members(const CriticSet& average) {
  members_.clear();
  for (const Copy& copy : copies_) members_.push_back(&copy.critics);
  members_.push_back(&average);
  return members_;
}

void CriticHistory::StoredValues(const CriticSet& average, const StateActions& pairs,
                                 std::span<const std::int64_t> ids, std::span<float> out) {
  if (options_.cached_states == 0) return values_.Compute(Members(average), pairs, out);
  places_.clear();
  for (const std::int64_t id : ids) places_.push_back(PlaceOf(id));
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    StoredValuesOf(copies_[i], pairs, out.subspan(i * pairs.count, pairs.count));
  }
  const CriticSet* const newest = &average;
  values_.Compute({&newest, 1}, pairs, out.subspan(copies_.size() * pairs.count, pairs.count));
}

CriticHistory::Place CriticHistory::PlaceOf(std::int64_t id) const {
  return {.index = static_cast<std::size_t>(id % options_.cached_states),
          .tag = static_cast<std::uint32_t>(id / options_.cached_states + 1)};
}

void CriticHistory::Remember(int i, std::int64_t id, float value) {
  if (options_.cached_states == 0) return;
  const Place place = PlaceOf(id);
  copies_[static_cast<std::size_t>(i)].cache[place.index] = {.tag = place.tag, .value = value};
}

void CriticHistory::StoredValuesOf(Copy& copy, const StateActions& pairs, std::span<float> out) {
  misses_.clear();
  states_.clear();
  actions_.clear();
  for (std::size_t j = 0; j < places_.size(); ++j) {
    const CachedValue& cached = copy.cache[places_[j].index];
    if (cached.tag == places_[j].tag) {
      out[j] = cached.value;
      continue;
    }
    misses_.push_back(j);
    const StateActions pair = pairs.Part(j, 1);
    states_.insert(states_.end(), pair.states.begin(), pair.states.end());
    actions_.insert(actions_.end(), pair.actions.begin(), pair.actions.end());
  }
  missing_.resize(misses_.size());
  const CriticSet* const set = &copy.critics;
  values_.Compute({&set, 1}, {misses_.size(), states_, actions_}, missing_);
  for (std::size_t k = 0; k < misses_.size(); ++k) {
    const std::size_t j = misses_[k];
    out[j] = missing_[k];
    copy.cache[places_[j].index] = {.tag = places_[j].tag, .value = missing_[k]};
  }
  counts_.asked += static_cast<std::int64_t>(places_.size());
  counts_.computed += static_cast<std::int64_t>(misses_.size());
}

void CriticHistory::Save(ByteWriter& out) const {
  out.U64(copies_.size());
  out.Bool(pending_.has_value());
  for (const Copy& copy : copies_) {
    for (const Parameters& critic : copy.critics) critic.Save(out);
  }
  if (!pending_) return;
  for (const Parameters& critic : pending_->critics) critic.Save(out);
}

void CriticHistory::Load(ByteReader& in, const CriticSet& like) {
  const std::uint64_t copies = in.U64();
  const bool has_pending = in.Bool();
  const bool is_spaced = options_.window == WindowKind::kSpaced;
  const auto most = static_cast<std::uint64_t>(options_.members) - 1;
  if (copies > most) {
    throw in.Wrong(
        fmt::format("expected at most {} copies of critics, as agent.targets says, "
                    "found {}",
                    most, copies));
  }
  if (has_pending ? !is_spaced || most == 0 : is_spaced && copies > 0) {
    throw in.Wrong(fmt::format("expected {} copy of critics that waits to join, found {}",
                               has_pending ? "no" : "a", has_pending ? "one" : "none"));
  }
  copies_.clear();
  pending_.reset();
  for (std::uint64_t k = 0; k < copies; ++k) {
    copies_.push_back(NewCopy(like));
    LoadCritics(in, copies_.back().critics);
  }
  if (!has_pending) return;
  pending_ = NewCopy(like);
  LoadCritics(in, pending_->critics);
}

}  // namespace stableaa
