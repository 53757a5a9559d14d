// What a model file says beside the model: labels of states, initial states, several reward
// structures, names of actions.
//
// Solvers do not need any of it, so a Model does not have it. Readers return it with the model
// (LoadedModel in formats/model_file.h), and writers of formats that can hold it keep it.
//
// Memory: 8 bytes per state of a label, 8 per row of each reward structure but the first, which the
// model has anyway, and 4 per row if actions have names.
#ifndef STABLEAA_MDP_MODEL_ANNOTATIONS_H_
#define STABLEAA_MDP_MODEL_ANNOTATIONS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stableaa {

// Numbers in a vector, or in memory that `owner` keeps alive, such as a mapped file. Immutable;
// copies share the numbers.
template <typename T>
class SharedArray {
 public:
  SharedArray() = default;
  explicit SharedArray(std::vector<T> values) {
    const auto owner = std::make_shared<const std::vector<T>>(std::move(values));
    values_ = *owner;
    owner_ = owner;
  }
  SharedArray(std::span<const T> values, std::shared_ptr<const void> owner)
      : values_(values), owner_(std::move(owner)) {}

  std::span<const T> span() const { return values_; }
  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  const T& operator[](std::size_t i) const { return values_[i]; }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

  // Equal bits.
  bool operator==(const SharedArray& other) const {
    return size() == other.size() &&
           (empty() || std::memcmp(values_.data(), other.values_.data(), size() * sizeof(T)) == 0);
  }

 private:
  std::span<const T> values_;
  std::shared_ptr<const void> owner_;
};

// Names, here and below, are texts of at least one byte without a line feed.
struct StateLabel {
  std::string name;
  SharedArray<std::uint64_t> states;  // ascending; may be empty

  bool operator==(const StateLabel&) const = default;
};

struct RewardStructure {
  std::string name;
  SharedArray<double> rewards;  // expected reward per row: the state's plus the action's; finite

  bool operator==(const RewardStructure&) const = default;
};

// Each name is stored once. Several rows of a state may have the same.
struct ActionNames {
  std::vector<std::string> names;   // all different, in the order of their first rows
  SharedArray<std::uint32_t> rows;  // per row 0, or i + 1 for names[i]; empty if no row has a name

  // Empty for a row without a name.
  std::string_view Of(std::uint64_t row) const {
    return rows.empty() || rows[row] == 0 ? std::string_view("") : names[rows[row] - 1];
  }
  bool operator==(const ActionNames&) const = default;
};

struct ModelAnnotations {
  // Sorted by name, all different. None is called "init": those states are `initial`.
  std::vector<StateLabel> labels;

  // Ascending; empty if the file names none.
  SharedArray<std::uint64_t> initial;

  // All names different. The first structure's rewards are the model's (the same memory). Empty for
  // a file whose rewards have no name.
  std::vector<RewardStructure> rewards;

  ActionNames actions;

  bool empty() const {
    return labels.empty() && initial.empty() && rewards.empty() && actions.names.empty();
  }
  bool operator==(const ModelAnnotations&) const = default;
};

// More than enough for any model; keeps a short file from asking for much memory.
inline constexpr std::size_t kMostRewardStructures = 100;

// Throws BadInput, starting with `name`, unless the annotations are as described above and fit a
// model with so many states and rows. For annotations that come from outside and are used in place.
void CheckAnnotations(const ModelAnnotations& annotations, std::uint64_t states, std::uint64_t rows,
                      const std::string& name);

}  // namespace stableaa

#endif  // STABLEAA_MDP_MODEL_ANNOTATIONS_H_
