// For tests of targets and mixing weights: random problems, and a literal computation of both, in
// long double and without a particular layout.
#ifndef STABLEAA_RL_VALUE_MIXING_PROBLEM_TEST_H_
#define STABLEAA_RL_VALUE_MIXING_PROBLEM_TEST_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/rl/replay/replay.h"
#include "stableaa/rl/value/agent_options.h"
#include "stableaa/rl/value/bootstrap.h"
#include "stableaa/rl/value/target_networks.h"

namespace stableaa::mixing_problem_test {

using Column = std::vector<long double>;
using Columns = std::vector<Column>;

inline constexpr float kNaNFloat = std::numeric_limits<float>::quiet_NaN();
inline constexpr MixerKind kMixing[] = {MixerKind::kAnderson, MixerKind::kRaa, MixerKind::kStable};
inline constexpr AgentBackup kBackups[] = {AgentBackup::kMax, AgentBackup::kMellowmax,
                                           AgentBackup::kBoltzmann, AgentBackup::kDynamicBoltzmann,
                                           AgentBackup::kDouble};

// ---- Sampled transitions with the values of every network, in no particular layout ----

struct Problem {
  std::size_t m = 1, n = 0, actions = 3;
  ReplayBatch batch;
  // [network][transition][action]; those of next states that do not exist are NaN.
  std::vector<std::vector<std::vector<float>>> now, next;
  std::vector<int> online_best;
  std::vector<std::uint8_t> bytes;  // that frames point into
};

// Later networks are closer to one another, as in training.
inline Problem RandomProblem(RandomStream& random, std::size_t m, std::size_t n) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.bytes.resize(2 * n);
  const float discounts[] = {0, 0.99F, 0.970299F, 0.5F};
  for (std::size_t j = 0; j < n; ++j) {
    const auto id = static_cast<std::int64_t>(7 * j + 3);
    problem.batch.ids.push_back(id);
    problem.batch.next_ids.push_back(id + 2);
    problem.batch.actions.push_back(static_cast<int>(random.Below(problem.actions)));
    problem.batch.rewards.push_back(static_cast<float>(random.Normal()));
    problem.batch.discounts.push_back(discounts[random.Below(4)]);
    problem.batch.frames.push_back(&problem.bytes[2 * j]);
    const bool ends = problem.batch.discounts[j] == 0;
    problem.batch.next_frames.push_back(ends ? nullptr : &problem.bytes[2 * j + 1]);
    problem.online_best.push_back(static_cast<int>(random.Below(problem.actions)));
  }
  const auto values = [&](std::vector<std::vector<float>> center, double spread) {
    for (auto& row : center) {
      for (float& q : row) q += static_cast<float>(spread * random.Normal());
    }
    return center;
  };
  const std::vector<std::vector<float>> zero(n, std::vector<float>(problem.actions));
  const auto now = values(zero, 2), next = values(zero, 2);
  for (std::size_t i = 0; i < m; ++i) {
    problem.now.push_back(values(now, .5));
    problem.next.push_back(values(next, .5));
    for (std::size_t j = 0; j < n; ++j) {
      if (problem.batch.discounts[j] == 0) {
        problem.next[i][j].assign(problem.actions, kNaNFloat);
      }
    }
  }
  return problem;
}

// The values that the target networks return for the states of CollectStates.
inline FrozenValues Answer(const Problem& problem, bool with_states) {
  std::vector<FrozenState> states;
  CollectStates(problem.batch, 1, with_states, states);
  FrozenValues values;
  values.Resize(problem.m, states.size(), problem.actions);
  for (std::size_t k = 0; k < states.size(); ++k) {
    const auto byte = static_cast<std::size_t>(states[k].frames[0] - problem.bytes.data());
    const std::size_t j = byte / 2;
    const bool is_next = byte % 2 == 1;
    EXPECT_EQ(states[k].id, is_next ? problem.batch.next_ids[j] : problem.batch.ids[j]);
    for (std::size_t i = 0; i < problem.m; ++i) {
      std::ranges::copy(is_next ? problem.next[i][j] : problem.now[i][j], values.Of(i, k).begin());
    }
  }
  return values;
}

// ---- The formulas of weight_fitter.h and target_mixer.h, taken literally ----

inline std::size_t Best(const std::vector<float>& q) {
  return static_cast<std::size_t>(std::ranges::max_element(q) - q.begin());
}

inline long double Operator(const AgentOptions& options, const std::vector<long double>& q,
                            std::int64_t time) {
  long double omega = options.omega;
  switch (options.backup) {
    case AgentBackup::kMellowmax: {
      long double sum = 0;
      for (const long double x : q) sum += std::exp(omega * x);
      return std::log(sum / static_cast<long double>(q.size())) / omega;
    }
    case AgentBackup::kDynamicBoltzmann:
      omega *= static_cast<long double>(time * time);
      [[fallthrough]];
    case AgentBackup::kBoltzmann: {
      long double sum = 0, weighted = 0;
      for (const long double x : q) {
        sum += std::exp(omega * x);
        weighted += x * std::exp(omega * x);
      }
      return weighted / sum;
    }
    default:
      return *std::ranges::max_element(q);
  }
}

// r + γ(1−d) · op Q(s'), with action `picked` if the backup is double.
inline long double Backed(const AgentOptions& options, const Problem& problem, std::size_t j,
                          const std::vector<long double>& q, std::size_t picked,
                          std::int64_t time) {
  const auto discount = static_cast<long double>(problem.batch.discounts[j]);
  const auto reward = static_cast<long double>(problem.batch.rewards[j]);
  if (discount == 0) return reward;
  const bool is_double = options.backup == AgentBackup::kDouble;
  return reward + discount * (is_double ? q[picked] : Operator(options, q, time));
}

inline std::vector<long double> Wide(const std::vector<float>& q) { return {q.begin(), q.end()}; }

struct Window {
  Columns residuals, differences;
};

inline Window NaiveWindow(const AgentOptions& options, const Problem& problem, std::int64_t time,
                          std::size_t begin, std::size_t end) {
  Window window;
  for (std::size_t i = 0; i < problem.m; ++i) {
    Column residual, difference;
    for (std::size_t j = begin; j < end; ++j) {
      const auto action = static_cast<std::size_t>(problem.batch.actions[j]);
      const auto q = static_cast<long double>(problem.now[i][j][action]);
      const bool ends = problem.batch.discounts[j] == 0;
      const std::size_t picked = ends ? 0 : Best(problem.next[problem.m - 1][j]);
      residual.push_back(Backed(options, problem, j, Wide(problem.next[i][j]), picked, time) - q);
      if (i + 1 < problem.m) {
        difference.push_back(static_cast<long double>(problem.now[i + 1][j][action]) - q);
      }
    }
    window.residuals.push_back(residual);
    if (i + 1 < problem.m) window.differences.push_back(difference);
  }
  return window;
}

inline long double Dot(const Column& a, const Column& b) {
  long double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

// Gaussian elimination with pivoting.
inline Column SolveLinear(Columns a, Column b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i) {
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    }
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const long double factor = a[i][k] / a[k][k];
      for (std::size_t c = k; c < n; ++c) a[i][c] -= factor * a[k][c];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = 0; k < n; ++k) b[k] /= a[k][k];
  return b;
}

struct Fitted {
  Column alpha;
  long double lambda = 0, tau_norm = 0;
};

inline Fitted NaiveWeights(MixerKind mixer, double eta, const Window& window) {
  const std::size_t networks = window.residuals.size(), m = networks - 1;
  Fitted fitted;
  if (mixer == MixerKind::kRaa) {
    Columns gram(networks, Column(networks));
    long double mean = 0;
    for (std::size_t i = 0; i < networks; ++i) {
      for (std::size_t k = 0; k < networks; ++k) {
        gram[i][k] = Dot(window.residuals[i], window.residuals[k]);
        mean += std::abs(gram[i][k]) / static_cast<long double>(networks * networks);
      }
    }
    fitted.lambda = eta * mean;
    for (std::size_t i = 0; i < networks; ++i) gram[i][i] += fitted.lambda;
    fitted.alpha = SolveLinear(gram, Column(networks, 1));
    long double sum = 0;
    for (const long double a : fitted.alpha) sum += a;
    for (long double& a : fitted.alpha) a /= sum;
  } else {
    Columns h;  // newest first
    long double squares = 0;
    for (std::size_t k = 0; k < m; ++k) {
      Column column = window.residuals[m - k];
      for (std::size_t j = 0; j < column.size(); ++j) column[j] -= window.residuals[m - k - 1][j];
      squares += Dot(column, column) + Dot(window.differences[k], window.differences[k]);
      h.push_back(column);
    }
    fitted.lambda = mixer == MixerKind::kStable ? eta * squares : 0;
    Columns normal(m, Column(m));
    Column right(m);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t k = 0; k < m; ++k) normal[i][k] = Dot(h[i], h[k]);
      normal[i][i] += fitted.lambda;
      right[i] = Dot(h[i], window.residuals[m]);
    }
    const Column tau = SolveLinear(normal, right);
    fitted.alpha.assign(networks, 0);
    fitted.alpha[m] = 1;
    for (std::size_t k = 0; k < m; ++k) {  // e_m − Σ τ_k (e_{m−k} − e_{m−k−1})
      fitted.alpha[m - k] -= tau[k];
      fitted.alpha[m - k - 1] += tau[k];
    }
  }
  // τ_k = Σ of the α older than the k-th newest.
  long double sum = 0, squares = 0;
  for (std::size_t i = 0; i < m; ++i) {
    sum += fitted.alpha[i];
    squares += sum * sum;
  }
  fitted.tau_norm = std::sqrt(squares);
  return fitted;
}

inline long double NaiveNorm(const Column& alpha, const Window& window) {
  Column mixed(window.residuals[0].size());
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    for (std::size_t j = 0; j < mixed.size(); ++j) mixed[j] += alpha[i] * window.residuals[i][j];
  }
  return std::sqrt(Dot(mixed, mixed));
}

inline Column Newest(std::size_t m) {
  Column alpha(m);
  alpha.back() = 1;
  return alpha;
}

// Fits weights on the first half and judges them on the second: residual relative to the newest
// network's.
inline long double NaiveHeldOutGain(const AgentOptions& options, double eta, const Problem& problem,
                                    std::int64_t time) {
  const std::size_t half = problem.n / 2;
  const Window first = NaiveWindow(options, problem, time, 0, half);
  const Window second = NaiveWindow(options, problem, time, half, problem.n);
  return NaiveNorm(NaiveWeights(options.mixer, eta, first).alpha, second) /
         NaiveNorm(Newest(problem.m), second);
}

inline long double NaiveTarget(const AgentOptions& options, const Problem& problem,
                               const std::vector<double>& alpha, std::int64_t time, std::size_t j) {
  const auto picked = static_cast<std::size_t>(problem.online_best[j]);
  const auto m = static_cast<long double>(problem.m);
  if (options.mixer == MixerKind::kSingle) {
    return Backed(options, problem, j, Wide(problem.next.back()[j]), picked, time);
  }
  if (options.mixer == MixerKind::kAverage) {
    std::vector<long double> mean(problem.actions);
    for (std::size_t i = 0; i < problem.m; ++i) {
      for (std::size_t a = 0; a < problem.actions; ++a) {
        mean[a] += static_cast<long double>(problem.next[i][j][a]) / m;
      }
    }
    return Backed(options, problem, j, mean, picked, time);
  }
  const auto action = static_cast<std::size_t>(problem.batch.actions[j]);
  const long double beta = options.damping.At(0);
  long double target = 0;
  for (std::size_t i = 0; i < problem.m; ++i) {
    target += beta * alpha[i] * static_cast<long double>(problem.now[i][j][action]);
    target +=
        (1 - beta) * alpha[i] * Backed(options, problem, j, Wide(problem.next[i][j]), picked, time);
  }
  return target;
}

inline AgentOptions Agent(MixerKind mixer, AgentBackup backup) {
  AgentOptions options;
  options.mixer = mixer;
  options.backup = backup;
  options.omega = backup == AgentBackup::kDynamicBoltzmann ? .1 : .8;
  return options;
}

}  // namespace stableaa::mixing_problem_test

#endif  // STABLEAA_RL_VALUE_MIXING_PROBLEM_TEST_H_
