#include "stableaa/mdp/model/annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

class AnnotationsCheck {
 public:
  explicit AnnotationsCheck(const std::string& name) : name_(name) {}

  void Name(std::string_view text, const char* kind) const {
    if (text.empty()) Fail(fmt::format("found an empty text as {}", kind));
    if (text.find('\n') != std::string_view::npos) {
      Fail(fmt::format("found a line end in the {} '{}'", kind, Shorten(text)));
    }
  }

  void States(const SharedArray<std::uint64_t>& set, std::uint64_t states,
              const std::string& of) const {
    const auto not_before = [](std::uint64_t a, std::uint64_t b) { return a >= b; };
    if (std::ranges::adjacent_find(set, not_before) != set.end()) {
      Fail(fmt::format("{}: expected ascending states", of));
    }
    if (!set.empty() && set[set.size() - 1] >= states) {
      Fail(fmt::format("{}: expected states below {}, found {}", of, states, set[set.size() - 1]));
    }
  }

  // `take` returns the name of an item.
  template <typename Items, typename Take>
  void Different(const Items& items, const char* kind, const Take& take) const {
    std::unordered_set<std::string_view> seen;
    for (const auto& item : items) {
      const std::string_view text = take(item);
      if (!seen.insert(text).second) {
        Fail(fmt::format("the {} '{}' is there twice", kind, Shorten(text)));
      }
    }
  }

  [[noreturn]] void Fail(std::string_view fault) const {
    throw BadInput(fmt::format("{}: {}", name_, fault));
  }

 private:
  const std::string& name_;
};

void CheckLabels(const std::vector<StateLabel>& labels, std::uint64_t states,
                 const AnnotationsCheck& check) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    check.Name(labels[i].name, "label");
    if (labels[i].name == "init") check.Fail("'init' is among the labels");
    if (i > 0 && labels[i - 1].name >= labels[i].name) {
      check.Fail("expected labels sorted by name, without repetition");
    }
    check.States(labels[i].states, states, fmt::format("label '{}'", Shorten(labels[i].name)));
  }
}

void CheckRewards(const std::vector<RewardStructure>& structures, std::uint64_t rows,
                  const AnnotationsCheck& check) {
  if (structures.size() > kMostRewardStructures) {
    check.Fail(fmt::format("expected at most {} reward structures, found {}", kMostRewardStructures,
                           structures.size()));
  }
  check.Different(
      structures, "reward structure",
      [](const RewardStructure& structure) -> std::string_view { return structure.name; });
  for (const RewardStructure& structure : structures) {
    check.Name(structure.name, "reward structure");
    bool finite = true;
    for (const double reward : structure.rewards) finite &= std::isfinite(reward);
    if (structure.rewards.size() != rows || !finite) {
      check.Fail(fmt::format("reward structure '{}': expected {} finite rewards",
                             Shorten(structure.name), rows));
    }
  }
}

void CheckActions(const ActionNames& actions, std::uint64_t rows, const AnnotationsCheck& check) {
  for (const std::string& name : actions.names) check.Name(name, "action name");
  check.Different(actions.names, "action name",
                  [](const std::string& name) -> std::string_view { return name; });
  if (actions.rows.size() != (actions.names.empty() ? 0 : rows)) {
    check.Fail(fmt::format("action names: expected {} rows", rows));
  }
  std::uint32_t largest = 0;
  for (const std::uint32_t name : actions.rows) largest = std::max(largest, name);
  if (largest > actions.names.size()) {
    check.Fail(fmt::format("action names: expected numbers up to {}, found {}",
                           actions.names.size(), largest));
  }
}

}  // namespace

void CheckAnnotations(const ModelAnnotations& annotations, std::uint64_t states, std::uint64_t rows,
                      const std::string& name) {
  const AnnotationsCheck check(name);
  CheckLabels(annotations.labels, states, check);
  check.States(annotations.initial, states, "initial states");
  CheckRewards(annotations.rewards, rows, check);
  CheckActions(annotations.actions, rows, check);
}

}  // namespace stableaa
