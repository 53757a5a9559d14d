// Policies: how the action values in a state become a choice among the actions.
//
//   greedy           the first action of largest value
//   softmax          p = softmax(omega q)
//   maximum entropy  p = softmax(rho q), the most random policy whose expected value is mellowmax:
//                    of all p with sum_a p_a q_a = mm_omega(q) the one of largest entropy
//                    (Asadi & Littman 2017). rho solves
//                        sum_a exp(rho (q_a - mm)) (q_a - mm) = 0
//                    and lies in [0, omega].
//
// Acting by softmax(omega q) on values learnt with mellowmax would follow a policy whose value is
// not the one backed up; the maximum-entropy policy's is.
//
// The root is not found from the equation as written, which overflows and is flat over most of [0,
// omega]. With P the sum of its positive terms and -N that of the others, it is the zero of
//     g(rho) = log P(rho) - log N(rho),
// which is increasing, exactly linear for two actions and nearly concave for more. So Newton's
// method from rho = 0 climbs to the root, and sums of logarithms hold values of any size. Where
// omega (max q - min q) is so small that the terms cancel, the first two terms of the root's
// expansion rho/omega = 1/2 + k3/(24 k2) + ... (k: cumulants of omega q) take over.
//
// Every function takes one state or a row-major batch of rows of `actions` entries each, in double
// or float (computed in double). q must be finite: NaN or infinite values allow no sensible action,
// so they are a BadInput, except that the greedy action accepts infinities.
#ifndef STABLEAA_BELLMAN_POLICY_H_
#define STABLEAA_BELLMAN_POLICY_H_

#include <cstddef>
#include <span>

namespace stableaa {

// The root finder never evaluates g more often than this: 30 Newton steps, then, if it has not
// settled, bisection of the 64-bit patterns of the bracket's ends. Ordinary values take about 5, a
// thousand actions spread over 300 orders of magnitude about 85.
inline constexpr int kMaxRootEvaluations = 94;

struct MaxEntropyRoot {
  double rho = 0;       // inverse temperature of the policy, in [0, omega]
  int evaluations = 0;  // of g; 0 if the root is known without a search
};

std::size_t GreedyAction(std::span<const double> q);
std::size_t GreedyAction(std::span<const float> q);

// best[i] is the greedy action of row i; there are best.size() rows.
void GreedyActions(std::span<const double> q, std::size_t actions, std::span<std::size_t> best);
void GreedyActions(std::span<const float> q, std::size_t actions, std::span<std::size_t> best);

// Writes softmax(omega q), as many entries as q. omega in [0, infinity]: 0 is uniform over all
// actions, infinity uniform over the best ones.
void SoftmaxPolicy(std::span<const double> q, double omega, std::span<double> probabilities);
void SoftmaxPolicy(std::span<const float> q, double omega, std::span<float> probabilities);

void SoftmaxPolicies(std::span<const double> q, std::size_t actions, double omega,
                     std::span<double> probabilities);
void SoftmaxPolicies(std::span<const float> q, std::size_t actions, double omega,
                     std::span<float> probabilities);

// Only the root. omega in [0, infinity) is that of the mellowmax the values were learnt with. If
// omega is 0, there is one action or all values are equal, rho = 0: the uniform policy.
MaxEntropyRoot FindMaxEntropyRoot(std::span<const double> q, double omega);
MaxEntropyRoot FindMaxEntropyRoot(std::span<const float> q, double omega);

// Writes softmax(rho q), as many entries as q, and returns the root.
MaxEntropyRoot MaxEntropyPolicy(std::span<const double> q, double omega,
                                std::span<double> probabilities);
MaxEntropyRoot MaxEntropyPolicy(std::span<const float> q, double omega,
                                std::span<float> probabilities);

// Writes every row's probabilities and rho; there are rho.size() rows.
void MaxEntropyPolicies(std::span<const double> q, std::size_t actions, double omega,
                        std::span<double> probabilities, std::span<double> rho);
void MaxEntropyPolicies(std::span<const float> q, std::size_t actions, double omega,
                        std::span<float> probabilities, std::span<double> rho);

}  // namespace stableaa

#endif  // STABLEAA_BELLMAN_POLICY_H_
