// For tests: small random models with all the awkward features of real ones, and their exact
// solution by an independent method.
#ifndef STABLEAA_MDP_MODEL_RANDOM_MODEL_TEST_H_
#define STABLEAA_MDP_MODEL_RANDOM_MODEL_TEST_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/mdp/model/model.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {

// Up to `most_states` states with different numbers of actions, including absorbing ones, cycles of
// deterministic moves, self-loops, states without predecessors, repeated transitions and zero
// rewards.
inline Model RandomModel(std::uint64_t seed, std::uint64_t most_states = 12,
                         std::optional<double> discount = {}) {
  RandomStream random(seed, "random model");
  const std::uint64_t states = 1 + random.Below(most_states);
  const double scale = random.Bernoulli(0.2) ? 0 : std::pow(10.0, random.Uniform(-3, 3));
  const bool local = random.Bernoulli(0.3);  // only neighbours: slow mixing
  ModelBuilder builder([] { return std::string("random model"); });
  for (std::uint64_t s = 0; s < states; ++s) {
    builder.BeginState();
    const double kind = random.Uniform();
    const std::uint64_t actions = 1 + random.Below(4);
    for (std::uint64_t a = 0; a < actions; ++a) {
      const double reward = random.Bernoulli(0.3) ? 0 : scale * random.Uniform(-1, 1);
      if (kind < 0.15) {
        builder.Transition(s, 1);  // absorbing
      } else if (kind < 0.3) {
        builder.Transition((s + 1) % states, 1);  // part of a cycle
      } else {
        const std::uint64_t count = 1 + random.Below(4);
        std::vector<double> weights(count);
        double sum = 0;
        for (double& weight : weights) sum += weight = random.Uniform() + 1e-3;
        for (const double weight : weights) {
          const std::uint64_t next =
              local ? (s + states + random.Below(3) - 1) % states : random.Below(states);
          builder.Transition(next, weight / sum);
        }
      }
      builder.EndRow(reward);
    }
  }
  return builder.Finish(discount);
}

// 113 bits of mantissa: the solver's own bounds can be as tight as the rounding of a double.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
using Quad = __float128;
#pragma GCC diagnostic pop

inline Quad QuadRowValue(const Model& model, double discount, std::uint64_t row,
                         const std::vector<Quad>& values) {
  Quad q = model.rewards()[row];
  for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1]; ++k) {
    q += Quad{discount} * model.probabilities()[k] * values[model.column(k)];
  }
  return q;
}

// Solves (I − γ P_π) v = r_π: the inverse by elimination with pivoting in long double, then steps of
// iterative refinement.
inline std::vector<Quad> QuadPolicyValues(const Model& model, double discount,
                                          const std::vector<std::uint32_t>& policy) {
  const std::size_t n = model.states();
  std::vector<std::vector<long double>> a(n, std::vector<long double>(2 * n, 0));
  for (std::size_t s = 0; s < n; ++s) {
    const std::uint64_t row = model.state_rows()[s] + policy[s];
    a[s][s] += 1;
    a[s][n + s] = 1;
    for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1];
         ++k) {
      a[s][model.column(k)] -= static_cast<long double>(discount) * model.probabilities()[k];
    }
  }
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t i = c; i < n; ++i) {
      if (std::abs(a[i][c]) > std::abs(a[pivot][c])) pivot = i;
    }
    std::swap(a[c], a[pivot]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == c) continue;
      const long double factor = a[i][c] / a[c][c];
      if (factor == 0) continue;
      for (std::size_t j = c; j < 2 * n; ++j) a[i][j] -= factor * a[c][j];
    }
  }
  std::vector<Quad> values(n, 0);
  for (int step = 0; step < 3; ++step) {
    std::vector<long double> rest(n);
    for (std::size_t s = 0; s < n; ++s) {
      rest[s] = static_cast<long double>(
          QuadRowValue(model, discount, model.state_rows()[s] + policy[s], values) - values[s]);
    }
    for (std::size_t s = 0; s < n; ++s) {
      long double correction = 0;
      for (std::size_t j = 0; j < n; ++j) correction += a[s][n + j] * rest[j];
      values[s] += correction / a[s][s];
    }
  }
  return values;
}

inline std::vector<long double> Rounded(const std::vector<Quad>& values) {
  return {values.begin(), values.end()};
}

inline std::vector<long double> ExactPolicyValues(const Model& model, double discount,
                                                  const std::vector<std::uint32_t>& policy) {
  return Rounded(QuadPolicyValues(model, discount, policy));
}

// V* by policy iteration, using the function above.
inline std::vector<long double> ExactValues(const Model& model, double discount) {
  std::vector<std::uint32_t> policy(model.states(), 0);
  Quad before = -std::numeric_limits<double>::infinity();
  for (;;) {
    const std::vector<Quad> values = QuadPolicyValues(model, discount, policy);
    // A better policy has larger values; without this check rounding could cycle among equal ones.
    Quad total = 0;
    for (const Quad& value : values) total += value;
    if (!(total > before)) return Rounded(values);
    before = total;
    bool changed = false;
    for (std::size_t s = 0; s < model.states(); ++s) {
      const std::uint64_t first = model.state_rows()[s];
      for (std::uint32_t action = 0; action < model.actions(s); ++action) {
        const Quad margin = 1e-27 * (1 + std::abs(static_cast<double>(values[s])));
        if (QuadRowValue(model, discount, first + action, values) >
            QuadRowValue(model, discount, first + policy[s], values) + margin) {
          policy[s] = action;
          changed = true;
        }
      }
    }
    if (!changed) return Rounded(values);
  }
}

}  // namespace stableaa

#endif  // STABLEAA_MDP_MODEL_RANDOM_MODEL_TEST_H_
