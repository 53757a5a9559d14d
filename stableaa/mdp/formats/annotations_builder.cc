#include "stableaa/mdp/formats/annotations_builder.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace stableaa {

std::size_t LabelBuilder::Declare(std::string_view name) {
  const auto [found, added] = numbers_.try_emplace(name, labels_.size());
  if (added) labels_.push_back({name, {}});
  return found->second;
}

std::optional<std::size_t> LabelBuilder::Find(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

void LabelBuilder::Finish(ModelAnnotations& annotations) {
  std::ranges::sort(labels_, {}, &Label::name);
  for (Label& label : labels_) {
    SharedArray<std::uint64_t> states(std::move(label.states));
    if (label.name == kInitialLabel) {
      annotations.initial = std::move(states);
    } else {
      annotations.labels.push_back({std::string(label.name), std::move(states)});
    }
  }
  labels_.clear();
  numbers_.clear();
}

void RewardBuilder::Set(std::size_t structure, double reward) {
  if (structure > others_.size()) others_.resize(structure);
  std::vector<double>& rewards = others_[structure - 1];
  rewards.resize(rows_);
  rewards.push_back(reward);
}

std::vector<RewardStructure> RewardBuilder::Finish(const Model& model,
                                                   std::vector<std::string> names) {
  std::vector<RewardStructure> structures;
  others_.resize(names.empty() ? 0 : names.size() - 1);
  for (std::string& name : names) {
    if (structures.empty()) {
      structures.push_back(
          {std::move(name), SharedArray(model.rewards(), std::make_shared<const Model>(model))});
    } else {
      std::vector<double>& rewards = others_[structures.size() - 1];
      rewards.resize(rows_);
      structures.push_back({std::move(name), SharedArray(std::move(rewards))});
    }
  }
  return structures;
}

void ActionNameBuilder::AddRow(std::string_view name) {
  if (name.empty() && rows_.empty()) {
    ++unnamed_;
    return;
  }
  if (rows_.empty()) rows_.assign(unnamed_, 0);
  if (name.empty()) return rows_.push_back(0);
  const auto [found, added] =
      numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size() + 1));
  if (added) names_.push_back(name);
  rows_.push_back(found->second);
}

ActionNames ActionNameBuilder::Finish() {
  return {{names_.begin(), names_.end()}, SharedArray(std::move(rows_))};
}

LabelsByState::LabelsByState(const ModelAnnotations& annotations, std::uint64_t states)
    : first_(states + 1) {
  static constexpr std::uint64_t kFirstState = 0;
  using Set = std::pair<std::string_view, std::span<const std::uint64_t>>;
  std::vector<Set> sets;
  for (const StateLabel& label : annotations.labels)
    sets.emplace_back(label.name, label.states.span());
  sets.emplace_back(kInitialLabel, annotations.initial.empty() ? std::span(&kFirstState, 1)
                                                               : annotations.initial.span());
  std::ranges::sort(sets, {}, &Set::first);

  for (const auto& [name, set] : sets) {
    names_.push_back(name);
    for (const std::uint64_t state : set) ++first_[state + 1];
  }
  for (std::uint64_t state = 0; state < states; ++state) first_[state + 1] += first_[state];
  labels_.resize(first_[states]);
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t label = 0; label < sets.size(); ++label) {
    for (const std::uint64_t state : sets[label].second) labels_[next[state]++] = label;
  }
}

}  // namespace stableaa
