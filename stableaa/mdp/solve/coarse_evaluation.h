// Passes of one policy over values in 16 bits.
//
// With V_j = T_π^j V_0 and the change E_j = V_j − V_0,
//
//   E_{j+1} = d + γ P_π E_j,   d = T_π V_0 − V_0.
//
// The change need not be as accurate as the values: what matters is its error relative to d, and
// that d shrinks from one evaluation to the next, as in iterative refinement. So E is stored as
// multiples of a unit that fits in 16 bits, and the passes gather from an array of a quarter of the
// size, which is what they spend their time on. Nothing is proved by these passes; that is left to
// the backups between them.
#ifndef STABLEAA_MDP_SOLVE_COARSE_EVALUATION_H_
#define STABLEAA_MDP_SOLVE_COARSE_EVALUATION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "stableaa/mdp/solve/passes.h"
#include "stableaa/mdp/solve/policy_rows.h"

namespace stableaa {

class CoarseEvaluation {
 public:
  // The unit grows with the number of passes, because E may. It stays below a thousandth of d's
  // span up to this many.
  static constexpr int kMostPasses = 40;

  // False for differences whose unit would underflow.
  static bool CanStart(const Differences& differences);

  // Starts from V_0 = values and E_1 = d = image − values, whose extremes are `differences`. Then
  // come at most `most_passes` passes, in [1, kMostPasses].
  void Start(std::span<const double> values, std::span<const double> image,
             const Differences& differences, int most_passes, int threads);

  // E_{j+1} from E_j. Returns the span of their difference.
  double Pass(const PolicyRows& rows, double discount, int threads);

  // values ← V_0 + E, from V_0. Returns the extremes of the change.
  Differences AddTo(std::span<double> values, int threads) const;

 private:
  // E = unit_ · change_ + constant_. A constant commutes with P_π, so the middle of d is kept apart
  // and its share of E takes none of the 16 bits.
  double unit_ = 1;
  double middle_ = 0;
  double constant_ = 0;
  std::vector<float> drift_;  // (d − middle_)/unit_
  std::vector<std::int16_t> change_;
  std::vector<std::int16_t> next_;
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_COARSE_EVALUATION_H_
