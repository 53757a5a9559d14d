// A Markov decision process with finitely many states, as read from files and used by solvers.
//
// States are 0 … S−1, the actions of state s are 0 … A_s−1 (A_s ≥ 1, may differ by state), and
// every pair (s, a) is a *row*. Rows are numbered by state, then action. Row i has an expected
// reward and a sparse distribution over next states (compressed sparse rows):
//
//   rows of state s           state_rows()[s] … state_rows()[s+1] − 1
//   transitions of row i      row_transitions()[i] … row_transitions()[i+1] − 1
//   transition k              to columns()[k] with probability probabilities()[k]
//   expected reward of row i  rewards()[i]
//
// A model is canonical: within a row the next states ascend without repetition, the probabilities
// are in (0, 1] and sum to 1 up to rounding, and all numbers are finite. ModelBuilder makes any
// list of transitions canonical; a Model need not be checked again.
//
// Memory: 12 bytes per transition, 16 per row and 8 per state. Next states have 32 bits; in models
// with more than 2^32 states they have 64, and a transition takes 16 bytes.
#ifndef STABLEAA_MDP_MODEL_MODEL_H_
#define STABLEAA_MDP_MODEL_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stableaa {

// The arrays of a model, owned by someone else. One of the two column arrays is empty.
struct ModelArrays {
  std::span<const std::uint64_t> state_rows;       // S+1
  std::span<const std::uint64_t> row_transitions;  // R+1
  std::span<const std::uint32_t> narrow_columns;   // T
  std::span<const std::uint64_t> wide_columns;     // T
  std::span<const double> probabilities;           // T
  std::span<const double> rewards;                 // R
};

// Immutable. Copies share the arrays, so passing by value is cheap.
class Model {
 public:
  // REQUIRES: canonical arrays, kept alive by `owner`. CheckCanonical (model_builder.h) checks
  // arrays from outside. Only some file formats provide a discount.
  Model(const ModelArrays& arrays, std::shared_ptr<const void> owner,
        std::optional<double> discount);

  std::uint64_t states() const { return arrays_.state_rows.size() - 1; }
  std::uint64_t rows() const { return arrays_.rewards.size(); }
  std::uint64_t transitions() const { return arrays_.probabilities.size(); }

  std::uint64_t actions(std::uint64_t state) const {
    return arrays_.state_rows[state + 1] - arrays_.state_rows[state];
  }
  std::uint64_t most_actions() const;      // of any state
  std::uint64_t most_transitions() const;  // of any row

  std::span<const std::uint64_t> state_rows() const { return arrays_.state_rows; }
  std::span<const std::uint64_t> row_transitions() const { return arrays_.row_transitions; }
  std::span<const double> probabilities() const { return arrays_.probabilities; }
  std::span<const double> rewards() const { return arrays_.rewards; }

  // True if next states have 64 bits. `visit` is called with the span of the type in use:
  //   model.VisitColumns([&](auto columns) { ... columns[k] ... });
  bool wide() const { return !arrays_.wide_columns.empty(); }
  template <typename Visit>
  decltype(auto) VisitColumns(Visit&& visit) const {
    return wide() ? visit(arrays_.wide_columns) : visit(arrays_.narrow_columns);
  }
  std::uint64_t column(std::uint64_t k) const {
    return wide() ? arrays_.wide_columns[k] : arrays_.narrow_columns[k];
  }

  std::optional<double> discount() const { return discount_; }
  Model WithDiscount(std::optional<double> discount) const;
  // The same transitions with different rewards, one per row, all finite.
  Model WithRewards(std::vector<double> rewards) const;

  const ModelArrays& arrays() const { return arrays_; }
  std::uint64_t bytes() const;  // of all arrays

  // Equal arrays and discount, bit for bit.
  bool operator==(const Model& other) const;

 private:
  ModelArrays arrays_;
  std::shared_ptr<const void> owner_;
  std::optional<double> discount_;
};

// Throws BadInput unless 0 ≤ discount < 1; 1 gets its own explanation. The message starts with
// `where` ("model.drn:3", "discount").
void CheckDiscount(double discount, const std::string& where);

}  // namespace stableaa

#endif  // STABLEAA_MDP_MODEL_MODEL_H_
