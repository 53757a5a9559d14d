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

// Solves (I − γ P_π) v = r_π by elimination with pivoting, in long double.
inline std::vector<long double> ExactPolicyValues(const Model& model, double discount,
                                                  const std::vector<std::uint32_t>& policy) {
  const std::size_t n = model.states();
  std::vector<std::vector<long double>> a(n, std::vector<long double>(n + 1, 0));
  for (std::size_t s = 0; s < n; ++s) {
    const std::uint64_t row = model.state_rows()[s] + policy[s];
    a[s][s] += 1;
    for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1];
         ++k) {
      a[s][model.column(k)] -= static_cast<long double>(discount) * model.probabilities()[k];
    }
    a[s][n] = model.rewards()[row];
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
      for (std::size_t j = c; j <= n; ++j) a[i][j] -= factor * a[c][j];
    }
  }
  std::vector<long double> values(n);
  for (std::size_t s = 0; s < n; ++s) values[s] = a[s][n] / a[s][s];
  return values;
}

// V* by policy iteration, using the function above.
inline std::vector<long double> ExactValues(const Model& model, double discount) {
  std::vector<std::uint32_t> policy(model.states(), 0);
  long double before = -std::numeric_limits<long double>::infinity();
  for (;;) {
    const std::vector<long double> values = ExactPolicyValues(model, discount, policy);
    // A better policy has larger values; without this check rounding could cycle among equal ones.
    const long double total = std::accumulate(values.begin(), values.end(), 0.0L);
    if (!(total > before)) return values;
    before = total;
    bool changed = false;
    for (std::size_t s = 0; s < model.states(); ++s) {
      const auto value_of = [&](std::uint64_t row) {
        long double q = model.rewards()[row];
        for (std::uint64_t k = model.row_transitions()[row]; k < model.row_transitions()[row + 1];
             ++k) {
          q += static_cast<long double>(discount) * model.probabilities()[k] *
               values[model.column(k)];
        }
        return q;
      };
      const std::uint64_t first = model.state_rows()[s];
      for (std::uint32_t action = 0; action < model.actions(s); ++action) {
        const long double margin = 1e-17L * (1 + std::abs(values[s]));
        if (value_of(first + action) > value_of(first + policy[s]) + margin) {
          policy[s] = action;
          changed = true;
        }
      }
    }
    if (!changed) return values;
  }
}

}  // namespace stableaa

#endif  // STABLEAA_MDP_MODEL_RANDOM_MODEL_TEST_H_
