// Builds a canonical Model from transitions given row by row, in any form.
//
//   ModelBuilder builder([&] { return fmt::format("{}:{}", path, line); });
//   builder.BeginState();
//   builder.Transition(next, probability);       // any order, repetitions are summed
//   builder.EndRow(reward);                      // ends action 0 of the state; then action 1, ...
//   Model model = builder.Finish(discount);
//
// An error in a row is a BadInput that starts with where(): a probability that is negative, above 1
// or not finite, a reward that is not finite, a sum that differs from 1 by more than 1e-9 (the
// message names the state, the action and the sum), a row without transitions, a state without an
// action. Sums within 1e-9 of 1 are normalised to 1 by division, unless they differ only by
// rounding, so reading what was written changes nothing. Transitions with probability 0 are left
// out.
#ifndef STABLEAA_MDP_MODEL_MODEL_BUILDER_H_
#define STABLEAA_MDP_MODEL_MODEL_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/mdp/model/model.h"

namespace stableaa {

// A model's arrays, owned.
struct ModelStorage {
  std::vector<std::uint64_t> state_rows;
  std::vector<std::uint64_t> row_transitions;
  std::vector<std::uint32_t> narrow_columns;
  std::vector<std::uint64_t> wide_columns;
  std::vector<double> probabilities;
  std::vector<double> rewards;
};

// Takes canonical arrays as they are; checks nothing.
Model MakeModel(ModelStorage storage, std::optional<double> discount);

class ModelBuilder {
 public:
  // Where the current row comes from, for messages. Called only on errors.
  using Where = std::function<std::string()>;
  explicit ModelBuilder(Where where);

  // Reserves memory. Callers should not pass more than their input can actually hold.
  void Reserve(std::size_t states, std::size_t rows, std::size_t transitions);

  // Uses 64 bits for next states from the start; otherwise they are widened when first needed. Call
  // before the first transition.
  void UseWideColumns();

  void BeginState();
  void Transition(std::uint64_t next, double probability) { row_.emplace_back(next, probability); }
  void EndRow(double reward);

  std::uint64_t states() const { return storage_.state_rows.size(); }  // begun so far
  std::uint64_t rows() const { return storage_.rewards.size(); }       // ended so far

  // Throws BadInput if a next state does not exist or there is no state.
  Model Finish(std::optional<double> discount);

 private:
  void CheckLastState() const;
  void SortRow();
  void NormaliseRow();
  void Append(std::uint64_t next, double probability);
  std::string RowName() const;  // "state 3, action 0"

  Where where_;
  ModelStorage storage_;  // state_rows lacks its last entry until Finish
  std::vector<std::pair<std::uint64_t, double>> row_;
  std::uint64_t largest_next_ = 0;
  bool wide_ = false;
};

// Throws BadInput, starting with `name`, unless the arrays form a canonical model. For arrays that
// come from outside and are used in place. Reads each once, with `threads` threads.
void CheckCanonical(const ModelArrays& arrays, const std::string& name, int threads);

}  // namespace stableaa

#endif  // STABLEAA_MDP_MODEL_MODEL_BUILDER_H_
