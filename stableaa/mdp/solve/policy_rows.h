// The rows of one policy, gathered so that passes over them stream no more than they need.
#ifndef STABLEAA_MDP_SOLVE_POLICY_ROWS_H_
#define STABLEAA_MDP_SOLVE_POLICY_ROWS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/solve/passes.h"

namespace stableaa {

//   (T_π V)(s) = rewards[s] + Σ weights[k] V(columns[k]),   weights = γ p.
class PolicyRows {
 public:
  // Coarse passes need a second copy of the weights, 4 bytes per transition.
  explicit PolicyRows(bool for_coarse_passes = false) : for_coarse_passes_(for_coarse_passes) {}

  // Needs fewer than 2^32 states. A policy that differs little from the last one costs little; the
  // model and the discount must be those of the previous call.
  void Gather(const Model& model, double discount, std::span<const std::uint32_t> actions,
              int threads);

  // image ← T_π V. It rounds no more than a backup does: γ is in the weights, not a factor of sums.
  Differences Pass(std::span<const double> values, std::span<double> image, int threads) const;

  // The same for the states first … last − 1.
  Differences PassOver(std::uint64_t first, std::uint64_t last, std::span<const double> values,
                       std::span<double> image) const;

  // next ← drift + Σ weights[k] change(columns[k]), rounded to integers. Returns the extremes of
  // next − change. REQUIRES: the results are in (−32767, 32767).
  Differences CoarsePass(std::span<const float> drift, std::span<const std::int16_t> change,
                         std::span<std::int16_t> next, int threads) const;

  std::uint64_t bytes() const;         // streamed by a pass
  std::uint64_t coarse_bytes() const;  // streamed by a coarse pass

 private:
  bool KeepsOffsets(const Model& model, std::span<const std::uint32_t> actions) const;
  void PlaceRows(const Model& model, std::span<const std::uint32_t> actions);
  Differences CoarsePassOver(std::uint64_t first, std::uint64_t last, const float* drift,
                             const std::int16_t* change, std::int16_t* next) const;

  bool for_coarse_passes_;
  std::vector<std::uint32_t> actions_;  // as gathered last
  std::vector<std::uint64_t> offsets_;  // of the transitions of each state, and the end
  // Not vectors, which would write zeros first and take as long as the gathering.
  std::unique_ptr<std::uint32_t[]> columns_;
  std::unique_ptr<double[]> weights_;
  std::unique_ptr<float[]> coarse_weights_;  // null unless for_coarse_passes_
  std::uint64_t capacity_ = 0;               // of these three
  std::vector<double> rewards_;
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_POLICY_ROWS_H_
