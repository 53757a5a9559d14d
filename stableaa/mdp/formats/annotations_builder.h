// Collects what text files say about states, rewards and actions while the model is built.
//
//   LabelBuilder labels;                       RewardBuilder rewards;
//   labels.Add("goal", state);                 rewards.Set(2, 0.5);    // the third structure
//                                              rewards.EndRow();
//   ModelAnnotations annotations;
//   labels.Finish(annotations);
//   annotations.rewards = rewards.Finish(model, names);
//
// Texts that are passed must live until Finish.
#ifndef STABLEAA_MDP_FORMATS_ANNOTATIONS_BUILDER_H_
#define STABLEAA_MDP_FORMATS_ANNOTATIONS_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stableaa/mdp/model/annotations.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {

// What files call the set of initial states.
inline constexpr std::string_view kInitialLabel = "init";

class LabelBuilder {
 public:
  // A label's number, from 0 in the order of first use. Declares it.
  std::size_t Declare(std::string_view name);
  std::optional<std::size_t> Find(std::string_view name) const;
  std::size_t size() const { return labels_.size(); }

  // States ascend from call to call; one that a label has already changes nothing.
  void Add(std::size_t label, std::uint64_t state) {
    std::vector<std::uint64_t>& states = labels_[label].states;
    if (states.empty() || states.back() != state) states.push_back(state);
  }
  void Add(std::string_view name, std::uint64_t state) { Add(Declare(name), state); }

  // Sets labels and initial states, and leaves the builder empty.
  void Finish(ModelAnnotations& annotations);

 private:
  struct Label {
    std::string_view name;
    std::vector<std::uint64_t> states;
  };
  std::vector<Label> labels_;
  std::unordered_map<std::string_view, std::size_t> numbers_;
};

// The reward structures after the first, whose rewards ModelBuilder has.
class RewardBuilder {
 public:
  // In the current row; 0 unless set. REQUIRES: structure ≥ 1, once per row.
  void Set(std::size_t structure, double reward);
  void EndRow() { ++rows_; }

  // All structures, one for each name. REQUIRES: as many rows as the model has, and a name for
  // every structure that was set.
  std::vector<RewardStructure> Finish(const Model& model, std::vector<std::string> names);

 private:
  std::uint64_t rows_ = 0;                   // ended
  std::vector<std::vector<double>> others_;  // up to the last row that was set
};

class ActionNameBuilder {
 public:
  // The name of the next row; empty if it has none. Costs nothing until the first one that has.
  void AddRow(std::string_view name);
  ActionNames Finish();

 private:
  std::uint64_t unnamed_ = 0;  // rows before the first name
  std::vector<std::uint32_t> rows_;
  std::vector<std::string_view> names_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

// The labels of each state, for formats that list them so.
class LabelsByState {
 public:
  // `init` is among the labels, at its place in the alphabet. Without initial states it is state
  // 0's: tools want one.
  LabelsByState(const ModelAnnotations& annotations, std::uint64_t states);

  const std::vector<std::string_view>& names() const { return names_; }
  // Numbers of names.
  std::span<const std::uint32_t> Of(std::uint64_t state) const {
    return std::span(labels_).subspan(first_[state], first_[state + 1] - first_[state]);
  }

 private:
  std::vector<std::string_view> names_;
  std::vector<std::size_t> first_;  // of a state in labels_
  std::vector<std::uint32_t> labels_;
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_ANNOTATIONS_BUILDER_H_
