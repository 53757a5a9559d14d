// Backup operators: how the action values in a state become the value of the state.
//
//   max                q_1, ..., q_n  ->  max_a q_a
//   mellowmax          log(mean_a exp(omega q_a)) / omega        (Section 3.2 of the paper)
//   boltzmann          sum_a p_a q_a with p = softmax(omega q)
//   dynamic-boltzmann  boltzmann with omega_t = c t^2 at iteration t = 1, 2, ...
//
// max and mellowmax are non-expansions, |op(q) - op(q')| <= max_a |q_a - q'_a|, so value iteration
// with them contracts. boltzmann is not: its value iteration can have several fixed points, and it
// is included for comparison. dynamic-boltzmann approaches max fast enough to converge where max
// does.
//
// Smooth operators lie between the mean (omega = 0) and the maximum (omega = infinity) of q, and
// grow with omega. Both ends are allowed and exact.
//
// Where the paper's formula would overflow or cancel, the code uses an equivalent one: any omega
// and any finite q give a result accurate to a few units in the last place of max|q|, and a tiny
// omega (even denormal) gives the mean plus omega/2 times the variance rather than 0/0. All
// arithmetic is in double; float rows are widened on reading and rounded once on writing.
//
// Special values: NaN anywhere in q makes the value and the whole gradient NaN, so a diverged
// network shows instead of being hidden by a comparison. -infinity is an action that omega > 0
// never takes. With an infinite maximum the value is that maximum and the gradient of a smooth
// operator is NaN.
//
//   const Backup backup{BackupKind::kMellowmax, 5.0};
//   backup.Validate();                         // once, where the options come in
//   for (int64_t t = 1; ...; ++t) {
//     const Backup now = backup.At(t);         // only dynamic-boltzmann changes
//     value[s] = now.Value(q_of_state_s);
//   }
#ifndef STABLEAA_BELLMAN_BACKUP_H_
#define STABLEAA_BELLMAN_BACKUP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace stableaa {

enum class BackupKind { kMax, kMellowmax, kBoltzmann, kDynamicBoltzmann };

// "max", "mellowmax", "boltzmann", "dynamic-boltzmann".
std::string_view BackupName(BackupKind kind);

// The inverse; any other name is a BadInput that lists all four.
BackupKind ParseBackupKind(std::string_view name);

// A value type: copy it freely and use it from any number of threads.
struct Backup {
  BackupKind kind = BackupKind::kMax;

  // Inverse temperature, in [0, infinity], in units of 1/q; for dynamic-boltzmann the factor c in
  // omega_t = c t^2; unused by max. Larger is closer to max and so less biased (see
  // MellowmaxBiasBound) but less smooth: the curvature of mellowmax, and with it the error of an
  // Anderson step, grows in proportion. The paper tries 1, 5 and 10 on clipped rewards; scale it
  // down when rewards are large.
  double omega = 5.0;

  // Throws BadInput if omega is negative or NaN. The functions below trust that it is neither.
  void Validate() const;

  // The operator for iteration `t` >= 1: boltzmann with c t^2 for dynamic-boltzmann, *this for the
  // others. dynamic-boltzmann itself has no value: the functions below reject it with BadInput.
  Backup At(std::int64_t t) const;

  // The operator's value for one state. An empty q is a BadInput.
  double Value(std::span<const double> q) const;
  double Value(std::span<const float> q) const;

  // gradient[a] = d Value / d q[a], the same number of entries as q:
  //   max        1 at the first maximum, 0 elsewhere (one of its subgradients)
  //   mellowmax  softmax(omega q): non-negative, sums to 1
  //   boltzmann  p_a (1 + omega (q_a - Value)): sums to 1, entries may be negative or above 1
  // omega = infinity gives the limit of the smooth gradients, equal shares to all maxima.
  void Gradient(std::span<const double> q, std::span<double> gradient) const;
  void Gradient(std::span<const float> q, std::span<float> gradient) const;

  // The same for a batch: q is row-major and contiguous, with values.size() rows of `actions`
  // entries each. Every row gives exactly the bits that Value and Gradient give for it.
  void Values(std::span<const double> q, std::size_t actions, std::span<double> values) const;
  void Values(std::span<const float> q, std::size_t actions, std::span<float> values) const;
  void Gradients(std::span<const double> q, std::size_t actions, std::span<double> gradients) const;
  void Gradients(std::span<const float> q, std::size_t actions, std::span<float> gradients) const;
};

// How far the fixed point of mellowmax can be below that of max, in any state:
//   0 <= V* - V_mm <= log(actions) / (omega (1 - discount)),
// infinity at omega = 0 and 0 for one action. actions >= 1 (the largest number in any state), omega
// in [0, infinity], discount in [0, 1).
double MellowmaxBiasBound(std::size_t actions, double omega, double discount);

}  // namespace stableaa

#endif  // STABLEAA_BELLMAN_BACKUP_H_
