// A normal distribution squashed to (−1, 1) by tanh, the policy of SAC (Haarnoja et al. 2018,
// "Soft Actor-Critic", appendix C). An actor's outputs are, for each sample, the means m of all d
// elements of its action and then their log-deviations l, so 2d numbers. With noise ε from N(0, 1):
//
//   u = m + exp(l) ε,   l clamped to [−20, 2]
//   a = tanh u
//   log π(a) = Σ_k [−ε²/2 − l − ½ log 2π − log(1 − tanh² u)]
//   log(1 − tanh² u) = 2 (log 2 − |u| − log(1 + exp(−2|u|)))
//
// The paper's own form, log(1 − a²), ends in log 0 as soon as a rounds to ±1, at |u| of 9; code that
// adds 1e-6 there bounds the log-density instead. Ours is exact to rounding for every finite u. The
// elements are independent, and so are the samples. Everything is computed in double.
//
// Neither function allocates memory. They throw BadInput if sizes do not fit each other.
#ifndef STABLEAA_NN_SQUASHED_GAUSSIAN_H_
#define STABLEAA_NN_SQUASHED_GAUSSIAN_H_

#include <cstddef>
#include <span>

namespace stableaa {

// An actor may put out any number; the deviation is from 2e-9, where actions are as good as
// deterministic, to 7.4, where nearly all are at the bounds.
inline constexpr double kLeastLogDeviation = -20;
inline constexpr double kMostLogDeviation = 2;

// For n samples, n = log_densities.size(), of d = `elements` ≥ 1 elements each:
//
//   outputs         n × 2d, means before log-deviations
//   noise           n × d, drawn from N(0, 1) by the caller
//   actions         n × d, written: a, never outside [−1, 1]; of |u| above 9, exactly ±1
//   log_densities   n, written: log π(a) of the u behind a, before a is rounded to a float
//
// An infinite mean gives ±1 and a log-density of +∞. A NaN among a sample's outputs or noise gives
// NaN for the action's element and the sample's log-density, and for nothing else.
void SampleSquashedGaussian(std::size_t elements, std::span<const float> outputs,
                            std::span<const float> noise, std::span<float> actions,
                            std::span<double> log_densities);

// The gradient with respect to the outputs, by reparameterisation (the noise stays the same), of
//
//   L = Σ over samples [Σ_k action_slopes_k · a_k + log_density_slope · log π(a)]
//
//   ∂L/∂m = s,   s = action_slope · (1 − a²) + log_density_slope · 2a
//   ∂L/∂l = s · exp(l) ε − log_density_slope, but 0 where l is outside [−20, 2] and was clamped
//
//   outputs, noise, actions   as given to SampleSquashedGaussian and as it wrote them
//   action_slopes             n × d
//   log_density_slopes        n
//   gradients                 n × 2d, written
//
// Since a is a float, 1 − a² is off by up to 1e-7 in absolute terms. A NaN spreads as above, into
// the gradients of its element, or of its sample if it is a log_density_slope.
void SquashedGaussianGradient(std::size_t elements, std::span<const float> outputs,
                              std::span<const float> noise, std::span<const float> actions,
                              std::span<const float> action_slopes,
                              std::span<const double> log_density_slopes,
                              std::span<float> gradients);

}  // namespace stableaa

#endif  // STABLEAA_NN_SQUASHED_GAUSSIAN_H_
