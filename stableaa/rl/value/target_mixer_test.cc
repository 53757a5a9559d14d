#include "stableaa/rl/value/target_mixer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"

namespace stableaa::target_mixer_test {

using Column = std::vector<long double>;
using Columns = std::vector<Column>;

constexpr float kNaNFloat = std::numeric_limits<float>::quiet_NaN();
constexpr MixerKind kMixing[] = {MixerKind::kAnderson, MixerKind::kRaa, MixerKind::kStable};
constexpr AgentBackup kBackups[] = {AgentBackup::kMax, AgentBackup::kMellowmax,
                                    AgentBackup::kBoltzmann, AgentBackup::kDynamicBoltzmann,
                                    AgentBackup::kDouble};

// ---- Sampled transitions with the values of every network, in no particular layout ----

struct Problem {
  std::size_t m = 1, n = 0, actions = 3;
  ReplayBatch batch;
  // [network][transition][action]; those of next states that do not exist are NaN.
  std::vector<std::vector<std::vector<float>>> now, next;
  std::vector<int> online_best;
  std::vector<std::uint8_t> bytes;  // what frames point into
};

// Later networks are closer to one another, as in training.
Problem RandomProblem(RandomStream& random, std::size_t m, std::size_t n) {
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

// As the target networks answer what CollectStates asks for.
FrozenValues Answer(const TargetMixer& mixer, const Problem& problem, bool with_states) {
  std::vector<FrozenState> states;
  mixer.CollectStates(problem.batch, 1, with_states, states);
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

// ---- DESIGN.md section 6, word for word ----

std::size_t Best(const std::vector<float>& q) {
  return static_cast<std::size_t>(std::ranges::max_element(q) - q.begin());
}

long double Operator(const AgentOptions& options, const std::vector<long double>& q,
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

// r + γ(1−d) · op Q(s'), with the action `picked` where the backup is double.
long double Backed(const AgentOptions& options, const Problem& problem, std::size_t j,
                   const std::vector<long double>& q, std::size_t picked, std::int64_t time) {
  const auto discount = static_cast<long double>(problem.batch.discounts[j]);
  const auto reward = static_cast<long double>(problem.batch.rewards[j]);
  if (discount == 0) return reward;
  const bool is_double = options.backup == AgentBackup::kDouble;
  return reward + discount * (is_double ? q[picked] : Operator(options, q, time));
}

std::vector<long double> Wide(const std::vector<float>& q) { return {q.begin(), q.end()}; }

struct Window {
  Columns residuals, differences;
};

Window NaiveWindow(const AgentOptions& options, const Problem& problem, std::int64_t time,
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

long double Dot(const Column& a, const Column& b) {
  long double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

// Gaussian elimination with pivots.
Column SolveLinear(Columns a, Column b) {
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

Fitted NaiveWeights(MixerKind mixer, double eta, const Window& window) {
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

long double NaiveNorm(const Column& alpha, const Window& window) {
  Column mixed(window.residuals[0].size());
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    for (std::size_t j = 0; j < mixed.size(); ++j) mixed[j] += alpha[i] * window.residuals[i][j];
  }
  return std::sqrt(Dot(mixed, mixed));
}

Column Newest(std::size_t m) {
  Column alpha(m);
  alpha.back() = 1;
  return alpha;
}

// Weights fitted on the first half, judged on the second: residual against the newest network's.
long double NaiveHeldOutGain(const AgentOptions& options, double eta, const Problem& problem,
                             std::int64_t time) {
  const std::size_t half = problem.n / 2;
  const Window first = NaiveWindow(options, problem, time, 0, half);
  const Window second = NaiveWindow(options, problem, time, half, problem.n);
  return NaiveNorm(NaiveWeights(options.mixer, eta, first).alpha, second) /
         NaiveNorm(Newest(problem.m), second);
}

long double NaiveTarget(const AgentOptions& options, const Problem& problem,
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
  const long double beta = options.damping;
  long double target = 0;
  for (std::size_t i = 0; i < problem.m; ++i) {
    target += beta * alpha[i] * static_cast<long double>(problem.now[i][j][action]);
    target +=
        (1 - beta) * alpha[i] * Backed(options, problem, j, Wide(problem.next[i][j]), picked, time);
  }
  return target;
}

AgentOptions Agent(MixerKind mixer, AgentBackup backup) {
  AgentOptions options;
  options.mixer = mixer;
  options.backup = backup;
  options.omega = backup == AgentBackup::kDynamicBoltzmann ? .1 : .8;
  return options;
}

Mixing Fit(const AgentOptions& options, const Problem& problem, std::int64_t time = 1) {
  TargetMixer mixer(options);
  return mixer.FitWeights(problem.batch, Answer(mixer, problem, true), time);
}

void ExpectNear(const std::vector<double>& found, const Column& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], static_cast<double>(expected[i]), tolerance) << "weight " << i;
  }
}

// ---- Targets ----

TEST(TargetMixerTargets, AreThoseOfTheFormulaForEveryMixerAndBackup) {
  RandomStream random(1, "targets");
  for (const MixerKind kind : {MixerKind::kSingle, MixerKind::kAverage, MixerKind::kAnderson,
                               MixerKind::kRaa, MixerKind::kStable}) {
    for (const AgentBackup backup : kBackups) {
      for (std::size_t m = 1; m <= 5; ++m) {
        if (kind == MixerKind::kSingle && m > 1) continue;
        AgentOptions options = Agent(kind, backup);
        options.damping = m == 2 ? 0 : m == 3 ? 1 : .1;
        const auto time = static_cast<std::int64_t>(m);
        const Problem problem = RandomProblem(random, m, 40);
        Mixing mixing;
        if (options.mixes()) {
          mixing.alpha.assign(m, 1);
          for (std::size_t i = 0; i + 1 < m; ++i) {
            mixing.alpha[i] = m == 4 && i == 1 ? 0 : random.Normal();
            mixing.alpha[m - 1] -= mixing.alpha[i];
          }
        }
        TargetMixer mixer(options);
        EXPECT_EQ(mixer.targets_need_states(), options.mixes() && options.damping != 0);
        std::vector<float> targets(problem.n);
        const bool is_double = backup == AgentBackup::kDouble;
        mixer.Targets(
            problem.batch, Answer(mixer, problem, mixer.targets_need_states()), mixing,
            is_double ? std::span<const int>(problem.online_best) : std::span<const int>(), time,
            targets);
        for (std::size_t j = 0; j < problem.n; ++j) {
          EXPECT_NEAR(targets[j],
                      static_cast<double>(NaiveTarget(options, problem, mixing.alpha, time, j)),
                      3e-6)
              << "mixer " << static_cast<int>(kind) << " backup " << static_cast<int>(backup)
              << " m " << m << " transition " << j;
        }
      }
    }
  }
}

TEST(TargetMixerTargets, WithEqualNetworksAreTheSameForAnyWeights) {
  RandomStream random(2, "targets");
  Problem problem = RandomProblem(random, 3, 20);
  problem.now[0] = problem.now[1] = problem.now[2];
  problem.next[0] = problem.next[1] = problem.next[2];
  TargetMixer mixer(Agent(MixerKind::kStable, AgentBackup::kMellowmax));
  const FrozenValues values = Answer(mixer, problem, true);
  std::vector<float> one(problem.n), other(problem.n);
  mixer.Targets(problem.batch, values, {.alpha = {0, 0, 1}}, {}, 1, one);
  mixer.Targets(problem.batch, values, {.alpha = {-.5, 2, -.5}}, {}, 1, other);
  for (std::size_t j = 0; j < problem.n; ++j) EXPECT_NEAR(one[j], other[j], 1e-5);
}

TEST(TargetMixerTargets, AskForNoNextStateOfAnEpisodeThatTerminated) {
  RandomStream random(3, "targets");
  const Problem problem = RandomProblem(random, 1, 50);
  const TargetMixer mixer(Agent(MixerKind::kStable, AgentBackup::kMax));
  const auto ended = static_cast<std::size_t>(std::ranges::count(problem.batch.discounts, 0.0F));
  ASSERT_GT(ended, 0U);
  std::vector<FrozenState> states(3);
  mixer.CollectStates(problem.batch, 1, false, states);
  EXPECT_EQ(states.size(), problem.n - ended);
  mixer.CollectStates(problem.batch, 1, true, states);
  ASSERT_EQ(states.size(), 2 * problem.n - ended);
  for (const FrozenState& state : states) EXPECT_NE(state.frames[0], nullptr);
}

TEST(TargetMixerTargets, CollectWholeStacksOfFrames) {
  RandomStream random(4, "targets");
  Problem problem = RandomProblem(random, 1, 3);
  problem.batch.discounts = {.9F, 0, .9F};
  std::vector<std::uint8_t> bytes(12);
  problem.batch.frames.clear();
  problem.batch.next_frames.clear();
  for (std::size_t k = 0; k < 6; ++k) {
    problem.batch.frames.push_back(&bytes[k]);
    problem.batch.next_frames.push_back(&bytes[6 + k]);
  }
  std::vector<FrozenState> states;
  TargetMixer(Agent(MixerKind::kRaa, AgentBackup::kMax))
      .CollectStates(problem.batch, 2, true, states);
  std::vector<std::ptrdiff_t> places;
  for (const FrozenState& state : states) {
    for (const std::uint8_t* const frame : state.frames) places.push_back(frame - bytes.data());
  }
  EXPECT_EQ(places, (std::vector<std::ptrdiff_t>{6, 7, 10, 11, 0, 1, 2, 3, 4, 5}));
}

// ---- Weights ----

TEST(TargetMixerWeights, AreTheLeastSquaresSolutionForEveryRuleAndBackup) {
  RandomStream random(5, "weights");
  for (const MixerKind kind : kMixing) {
    for (const AgentBackup backup : kBackups) {
      for (std::size_t m = 2; m <= 5; ++m) {
        for (const std::size_t n : {std::size_t{11}, std::size_t{40}}) {
          SCOPED_TRACE(testing::Message() << "mixer " << static_cast<int>(kind) << " backup "
                                          << static_cast<int>(backup) << " m " << m << " n " << n);
          AgentOptions options = Agent(kind, backup);
          options.eta = .03 * static_cast<double>(m);
          const Problem problem = RandomProblem(random, m, n);
          const Mixing mixing = Fit(options, problem, 3);
          const Window window = NaiveWindow(options, problem, 3, 0, n);
          const Fitted expected = NaiveWeights(kind, options.eta, window);
          const auto newest = NaiveNorm(Newest(m), window);
          ExpectNear(mixing.alpha, expected.alpha, 1e-8);
          EXPECT_NEAR(mixing.tau_norm, static_cast<double>(expected.tau_norm), 1e-8);
          EXPECT_NEAR(mixing.lambda / static_cast<double>(newest * newest),
                      static_cast<double>(expected.lambda / (newest * newest)), 1e-9);
          EXPECT_NEAR(mixing.gain, static_cast<double>(NaiveNorm(expected.alpha, window) / newest),
                      2e-4);
          EXPECT_NEAR(mixing.residual,
                      static_cast<double>(newest / std::sqrt(static_cast<long double>(n))), 1e-9);
          EXPECT_NEAR(mixing.gain_held_out,
                      static_cast<double>(NaiveHeldOutGain(options, options.eta, problem, 3)),
                      1e-7);
          EXPECT_EQ(mixing.eta, options.eta);
          EXPECT_FALSE(mixing.fallback);
        }
      }
    }
  }
}

TEST(TargetMixerWeights, OfOneNetworkAreOne) {
  RandomStream random(6, "weights");
  for (const MixerKind kind : kMixing) {
    AgentOptions options = Agent(kind, AgentBackup::kDouble);
    options.weights.safeguard = true;
    const Problem problem = RandomProblem(random, 1, 9);
    const Mixing mixing = Fit(options, problem);
    EXPECT_EQ(mixing.alpha, std::vector<double>{1});
    EXPECT_FALSE(mixing.fallback);
    EXPECT_EQ(mixing.gain, 1);
    EXPECT_NEAR(mixing.residual,
                static_cast<double>(NaiveNorm({1}, NaiveWindow(options, problem, 1, 0, 9)) /
                                    std::sqrt(9.0L)),
                1e-9);
  }
}

TEST(TargetMixerWeights, WithAutomaticEtaAreThoseOfTheSmallestHeldOutResidual) {
  RandomStream random(7, "weights");
  std::vector<double> chosen;
  for (const MixerKind kind : {MixerKind::kRaa, MixerKind::kStable}) {
    for (int trial = 0; trial < 60; ++trial) {
      AgentOptions options = Agent(kind, AgentBackup::kMax);
      options.weights.eta = EtaChoice::kAuto;
      options.eta = .05;  // none of the candidates
      const std::size_t m = 2 + random.Below(4);
      const Problem problem = RandomProblem(random, m, 12 + random.Below(30));
      const Mixing mixing = Fit(options, problem);
      long double least = std::numeric_limits<long double>::infinity();
      double best = 0;
      for (const double eta : {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0}) {
        const long double gain = NaiveHeldOutGain(options, eta, problem, 1);
        if (gain < least) {
          least = gain;
          best = eta;
        }
      }
      EXPECT_EQ(mixing.eta, best);
      EXPECT_NEAR(mixing.gain_held_out, static_cast<double>(least), 1e-7);
      const Window half = NaiveWindow(options, problem, 1, 0, problem.n / 2);
      ExpectNear(mixing.alpha, NaiveWeights(kind, best, half).alpha, 1e-6);
      chosen.push_back(best);
    }
  }
  EXPECT_GT(std::ranges::count(chosen, 1e-6), 0);
  EXPECT_GT(std::ranges::count(chosen, 10), 0);
}

TEST(TargetMixerWeights, FallBackOnTheNewestExactlyWhereTheHeldOutResidualIsNotLower) {
  RandomStream random(8, "weights");
  for (const MixerKind kind : kMixing) {
    int fallbacks = 0;
    constexpr int kTrials = 80;
    for (int trial = 0; trial < kTrials; ++trial) {
      AgentOptions options = Agent(kind, AgentBackup::kMellowmax);
      options.weights.safeguard = true;
      options.eta = 1e-3;
      const std::size_t m = 2 + random.Below(4);
      const Problem problem = RandomProblem(random, m, 10 + random.Below(6));
      const Mixing mixing = Fit(options, problem);
      const bool expected = NaiveHeldOutGain(options, options.eta, problem, 1) >= 1;
      EXPECT_EQ(mixing.fallback, expected);
      fallbacks += expected ? 1 : 0;
      if (expected) {
        EXPECT_EQ(mixing.gain, 1);
        EXPECT_EQ(mixing.tau_norm, 0);
      }
      const Window half = NaiveWindow(options, problem, 1, 0, problem.n / 2);
      ExpectNear(mixing.alpha, expected ? Newest(m) : NaiveWeights(kind, options.eta, half).alpha,
                 1e-6);
    }
    EXPECT_GT(fallbacks, kTrials / 10);
    EXPECT_LT(fallbacks, kTrials * 9 / 10);
  }
}

TEST(TargetMixerWeights, SumToOneForTheSmallestSamples) {
  RandomStream random(9, "weights");
  for (const MixerKind kind : kMixing) {
    for (const EtaChoice choice : {EtaChoice::kFixed, EtaChoice::kAuto}) {
      for (const bool safeguard : {false, true}) {
        for (std::size_t n = 1; n <= 3; ++n) {
          AgentOptions options = Agent(kind, AgentBackup::kMax);
          options.weights.eta = choice;
          options.weights.safeguard = safeguard;
          options.eta = .05;
          const Mixing mixing = Fit(options, RandomProblem(random, 5, n));
          double sum = 0;
          for (const double a : mixing.alpha) sum += a;
          EXPECT_NEAR(sum, 1, 1e-9);
          EXPECT_TRUE(std::isfinite(mixing.gain_held_out));
          if (n == 1) {  // nothing is held out
            EXPECT_EQ(mixing.gain_held_out, 1);
            EXPECT_EQ(mixing.fallback, safeguard);
          }
        }
      }
    }
  }
}

TEST(TargetMixerWeights, WithoutResidualsAreFinite) {
  RandomStream random(10, "weights");
  Problem problem = RandomProblem(random, 3, 6);
  std::ranges::fill(problem.batch.rewards, 0.0F);
  for (auto* values : {&problem.now, &problem.next}) {
    for (auto& network : *values) {
      for (auto& row : network) std::ranges::fill(row, 0.0F);
    }
  }
  for (const MixerKind kind : kMixing) {
    for (const bool safeguard : {false, true}) {
      AgentOptions options = Agent(kind, AgentBackup::kMax);
      options.weights.safeguard = safeguard;
      const Mixing mixing = Fit(options, problem);
      double sum = 0;
      for (const double a : mixing.alpha) sum += a;
      EXPECT_NEAR(sum, 1, 1e-12);
      EXPECT_EQ(mixing.gain_held_out, 1);
      EXPECT_EQ(mixing.fallback, safeguard);
      EXPECT_EQ(mixing.residual, 0);
    }
  }
}

TEST(TargetMixerWeights, OfValuesThatAreNotFiniteAreAFailure) {
  RandomStream random(11, "weights");
  for (const float bad : {kNaNFloat, std::numeric_limits<float>::infinity()}) {
    for (const std::size_t m : {1, 3}) {
      Problem in_state = RandomProblem(random, m, 8);
      in_state.now[m - 1][5][static_cast<std::size_t>(in_state.batch.actions[5])] = bad;
      Problem in_next = RandomProblem(random, m, 8);
      in_next.batch.discounts[2] = .9F;
      in_next.batch.next_frames[2] = &in_next.bytes[5];
      for (auto& network : in_next.next) network[2] = {1, 2, 3};
      in_next.next[0][2][1] = bad;
      Problem in_reward = RandomProblem(random, m, 8);
      in_reward.batch.rewards[4] = bad;
      for (const Problem& problem :
           {std::cref(in_state), std::cref(in_next), std::cref(in_reward)}) {
        try {
          Fit(Agent(MixerKind::kStable, AgentBackup::kMax), problem);
          FAIL() << "no error";
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), Error::Kind::kWorkFailed) << error.what();
          if (&problem == &in_reward) {
            EXPECT_NE(std::string(error.what()).find("reward of transition 31"), std::string::npos)
                << error.what();
          }
        }
      }
    }
  }
}

TEST(TargetMixerWeights, ComeWithTheResidualOfTheNewestNetwork) {
  RandomStream random(12, "weights");
  const AgentOptions options = Agent(MixerKind::kAverage, AgentBackup::kDynamicBoltzmann);
  const Problem problem = RandomProblem(random, 4, 17);
  TargetMixer mixer(options);
  const double residual = mixer.NewestResidual(problem.batch, Answer(mixer, problem, true), 5);
  const Window window = NaiveWindow(options, problem, 5, 0, 17);
  EXPECT_NEAR(residual,
              static_cast<double>(std::sqrt(Dot(window.residuals[3], window.residuals[3]) / 17)),
              1e-9);
}

TEST(TargetMixerWeights, DoNotDependOnWhatTheMixerDidBefore) {
  RandomStream random(13, "weights");
  for (const MixerKind kind : kMixing) {
    const AgentOptions options = Agent(kind, AgentBackup::kDynamicBoltzmann);
    const Problem one = RandomProblem(random, 5, 30), other = RandomProblem(random, 3, 12);
    TargetMixer used(options);
    used.FitWeights(one.batch, Answer(used, one, true), 9);
    used.NewestResidual(one.batch, Answer(used, one, true), 2);
    const Mixing again = used.FitWeights(other.batch, Answer(used, other, true), 4);
    EXPECT_EQ(again.alpha, Fit(options, other, 4).alpha);
  }
}

// ---- Mixing ----

std::vector<std::byte> Saved(const Mixing& mixing) {
  ByteWriter out;
  mixing.Save(out);
  return {out.bytes().begin(), out.bytes().end()};
}

TEST(Mixing, LoadsWhatItSaved) {
  const Mixing mixing{.alpha = {-.5, 1.5, 0},
                      .tau_norm = 2,
                      .lambda = 3,
                      .eta = 4,
                      .condition = std::numeric_limits<double>::infinity(),
                      .gain = .25,
                      .gain_held_out = std::numeric_limits<double>::quiet_NaN(),
                      .residual = 7,
                      .fallback = true};
  const std::vector<std::byte> bytes = Saved(mixing);
  ByteReader in(bytes, "mixing");
  Mixing loaded;
  loaded.Load(in);
  in.ExpectEnd();
  EXPECT_EQ(Saved(loaded), bytes);
  EXPECT_EQ(loaded.alpha, mixing.alpha);
  EXPECT_EQ(loaded.tau_norm, 2);
  EXPECT_EQ(loaded.lambda, 3);
  EXPECT_EQ(loaded.eta, 4);
  EXPECT_EQ(loaded.gain, .25);
  EXPECT_TRUE(std::isnan(loaded.gain_held_out));
  EXPECT_EQ(loaded.residual, 7);
  EXPECT_TRUE(loaded.fallback);
}

TEST(Mixing, RefusesWhatCannotBeOne) {
  std::vector<std::vector<std::byte>> wrong = {Saved({.alpha = {}}),
                                               Saved({.alpha = std::vector<double>(65, 0.0)})};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& alpha :
       {std::vector{.5}, {1., 1.}, {kInfinity}, {-kInfinity, 1}}) {
    wrong.push_back(Saved({.alpha = alpha}));
  }
  for (double Mixing::*member :
       {&Mixing::tau_norm, &Mixing::lambda, &Mixing::eta, &Mixing::condition, &Mixing::gain,
        &Mixing::gain_held_out, &Mixing::residual}) {
    Mixing mixing;
    mixing.*member = -1;
    wrong.push_back(Saved(mixing));
  }
  wrong.push_back(Saved({}));
  wrong.back().pop_back();
  for (const auto& bytes : wrong) {
    ByteReader in(bytes, "mixing");
    Mixing loaded;
    EXPECT_THROW(loaded.Load(in), Error);
  }
}

}  // namespace stableaa::target_mixer_test
