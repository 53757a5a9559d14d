// What one plain backup proves about the optimal values.
//
// With d = TV − V, for max, mellowmax and the backup of a single policy alike,
//
//   TV + γ/(1−γ) min d  ≤  V*  ≤  TV + γ/(1−γ) max d,
//
// where V* is the fixed point of T (MacQueen 1966; Puterman, Theorem 6.6.6). It holds for *any* V
// but only for a full backup T of that V: differences of Gauss–Seidel, self-loop-free or
// accelerated steps prove nothing of the kind.
//
// Rounding. Everything above is computed in double. A backed-up value is off by at most
// (n+4)·u·(max|r| + max|V|), where u = 2⁻⁵³ and n is the length of the longest chain of additions
// in a row. The probabilities of a row also sum to 1 only up to rounding. Both errors are magnified
// by 1/(1−γ) like d itself. The bounds are widened by their sum, `rounding`. No tolerance below it
// can be certified.
#ifndef STABLEAA_MDP_SOLVE_CERTIFICATE_H_
#define STABLEAA_MDP_SOLVE_CERTIFICATE_H_

#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/solve/passes.h"

namespace stableaa {

struct Certificate {
  double shift = 0;     // add this to TV to get the middle of the bounds
  double half = 0;      // V* is within this of TV + shift, in every state
  double rounding = 0;  // the part of `half` due to rounding

  bool finite() const;
};

// Facts about a model that the rounding term needs, computed once.
class Certifier {
 public:
  // `operator_additions` counts those after the sums over rows, such as mellowmax's sum over
  // actions.
  Certifier(const Model& model, double discount, double operator_additions = 0);

  // From the differences of a plain backup.
  Certificate Certify(const Differences& differences) const;
  // The same about V itself instead of TV: V + min d/(1−γ) ≤ V* ≤ V + max d/(1−γ).
  Certificate CertifyValues(const Differences& differences) const;

  // The rounding of a certificate for converged values of this magnitude.
  double Floor(double magnitude) const;

  // Every optimal value is within these, whatever the transitions: min r/(1−γ) and max r/(1−γ),
  // widened by rounding.
  double least_value() const;
  double most_value() const;

  double discount() const { return discount_; }
  double largest_reward() const { return largest_reward_; }  // in magnitude
  double row_sum_error() const { return row_sum_error_; }    // how far from 1 a row may sum

 private:
  Certificate Magnified(const Differences& differences, double factor) const;

  double discount_;
  double least_reward_ = 0;
  double most_reward_ = 0;
  double largest_reward_ = 0;
  double additions_;  // n + 4
  double row_sum_error_;
  double underflow_;  // what products that underflow can lose in a row
};

}  // namespace stableaa

#endif  // STABLEAA_MDP_SOLVE_CERTIFICATE_H_
