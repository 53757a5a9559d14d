#include "stableaa/rl/value/weight_fitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/value/mixing_problem_test.h"
#include "stableaa/testing/message.h"

namespace stableaa::weight_fitter_test {

using mixing_problem_test::Agent;
using mixing_problem_test::Answer;
using mixing_problem_test::Column;
using mixing_problem_test::Dot;
using mixing_problem_test::Fitted;
using mixing_problem_test::kBackups;
using mixing_problem_test::kMixing;
using mixing_problem_test::kNaNFloat;
using mixing_problem_test::NaiveHeldOutGain;
using mixing_problem_test::NaiveNorm;
using mixing_problem_test::NaiveWeights;
using mixing_problem_test::NaiveWindow;
using mixing_problem_test::Newest;
using mixing_problem_test::Problem;
using mixing_problem_test::RandomProblem;
using mixing_problem_test::Window;

Mixing Fit(const AgentOptions& options, const Problem& problem, std::int64_t time = 1) {
  return WeightFitter(options).Fit(problem.batch, Answer(problem, true), time, 0);
}

void ExpectNear(const std::vector<double>& found, const Column& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], static_cast<double>(expected[i]), tolerance) << "weight " << i;
  }
}

TEST(WeightFitter, FindsTheLeastSquaresSolutionForEveryRuleAndBackup) {
  RandomStream random(5, "weights");
  for (const MixerKind kind : kMixing) {
    for (const AgentBackup backup : kBackups) {
      for (std::size_t m = 2; m <= 5; ++m) {
        for (const std::size_t n : {std::size_t{11}, std::size_t{40}}) {
          SCOPED_TRACE(testing::Message() << "mixer " << static_cast<int>(kind) << " backup "
                                          << static_cast<int>(backup) << " m " << m << " n " << n);
          AgentOptions options = Agent(kind, backup);
          const double eta = .03 * static_cast<double>(m);
          options.eta = eta;
          const Problem problem = RandomProblem(random, m, n);
          const Mixing mixing = Fit(options, problem, 3);
          const Window window = NaiveWindow(options, problem, 3, 0, n);
          const Fitted expected = NaiveWeights(kind, eta, window);
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
                      static_cast<double>(NaiveHeldOutGain(options, eta, problem, 3)), 1e-7);
          EXPECT_EQ(mixing.eta, eta);
          EXPECT_FALSE(mixing.fallback);
        }
      }
    }
  }
}

TEST(WeightFitter, AScheduledEtaIsThatOfTheStep) {
  RandomStream random(6, "weights");
  for (const MixerKind kind : {MixerKind::kRaa, MixerKind::kStable}) {
    const Problem problem = RandomProblem(random, 4, 40);
    AgentOptions options = Agent(kind, AgentBackup::kMax);
    options.eta = Schedule::Parse("exponential(1e-3, 10, 100)");
    WeightFitter fitter(options);
    for (const std::int64_t step : {100, 0, 50, 1'000'000}) {
      const Mixing mixing = fitter.Fit(problem.batch, Answer(problem, true), 1, step);
      AgentOptions constant = options;
      constant.eta = options.eta.At(step);
      EXPECT_EQ(mixing.eta, options.eta.At(step));
      EXPECT_EQ(mixing.alpha, Fit(constant, problem).alpha);
    }
  }
}

TEST(WeightFitter, GivesOneNetworkTheWeightOne) {
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

TEST(WeightFitter, ChoosesTheEtaOfTheSmallestHeldOutResidual) {
  RandomStream random(7, "weights");
  std::vector<double> chosen;
  for (const MixerKind kind : {MixerKind::kRaa, MixerKind::kStable}) {
    for (int trial = 0; trial < 60; ++trial) {
      AgentOptions options = Agent(kind, AgentBackup::kMax);
      options.weights.eta = EtaChoice::kAuto;
      options.eta = .05;  // not among the candidates
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

TEST(WeightFitter, FallsBackOnTheNewestExactlyWhereTheHeldOutResidualIsNotLower) {
  RandomStream random(8, "weights");
  for (const MixerKind kind : kMixing) {
    int fallbacks = 0;
    constexpr int kTrials = 80;
    for (int trial = 0; trial < kTrials; ++trial) {
      AgentOptions options = Agent(kind, AgentBackup::kMellowmax);
      options.weights.safeguard = true;
      const double eta = 1e-3;
      options.eta = eta;
      const std::size_t m = 2 + random.Below(4);
      const Problem problem = RandomProblem(random, m, 10 + random.Below(6));
      const Mixing mixing = Fit(options, problem);
      const bool expected = NaiveHeldOutGain(options, eta, problem, 1) >= 1;
      EXPECT_EQ(mixing.fallback, expected);
      fallbacks += expected ? 1 : 0;
      if (expected) {
        EXPECT_EQ(mixing.gain, 1);
        EXPECT_EQ(mixing.tau_norm, 0);
      }
      const Window half = NaiveWindow(options, problem, 1, 0, problem.n / 2);
      ExpectNear(mixing.alpha, expected ? Newest(m) : NaiveWeights(kind, eta, half).alpha, 1e-6);
    }
    EXPECT_GT(fallbacks, kTrials / 10);
    EXPECT_LT(fallbacks, kTrials * 9 / 10);
  }
}

TEST(WeightFitter, GivesWeightsThatSumToOneForTheSmallestSamples) {
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

TEST(WeightFitter, GivesFiniteWeightsWithoutResiduals) {
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

TEST(WeightFitter, FailsForValuesThatAreNotFinite) {
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
        const std::string message =
            MessageOf([&] { Fit(Agent(MixerKind::kStable, AgentBackup::kMax), problem); },
                      Error::Kind::kWorkFailed);
        EXPECT_NE(message, "no error");
        if (&problem == &in_reward) {
          EXPECT_NE(message.find("reward of transition 31"), std::string::npos) << message;
        }
      }
    }
  }
}

TEST(WeightFitter, TellsTheResidualOfTheNewestNetwork) {
  RandomStream random(12, "weights");
  const AgentOptions options = Agent(MixerKind::kAverage, AgentBackup::kDynamicBoltzmann);
  const Problem problem = RandomProblem(random, 4, 17);
  WeightFitter fitter(options);
  const double residual = fitter.NewestResidual(problem.batch, Answer(problem, true), 5);
  const Window window = NaiveWindow(options, problem, 5, 0, 17);
  EXPECT_NEAR(residual,
              static_cast<double>(std::sqrt(Dot(window.residuals[3], window.residuals[3]) / 17)),
              1e-9);
}

TEST(WeightFitter, DoesNotDependOnWhatItDidBefore) {
  RandomStream random(13, "weights");
  for (const MixerKind kind : kMixing) {
    const AgentOptions options = Agent(kind, AgentBackup::kDynamicBoltzmann);
    const Problem one = RandomProblem(random, 5, 30), other = RandomProblem(random, 3, 12);
    WeightFitter used(options);
    used.Fit(one.batch, Answer(one, true), 9, 0);
    used.NewestResidual(one.batch, Answer(one, true), 2);
    const Mixing again = used.Fit(other.batch, Answer(other, true), 4, 0);
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

}  // namespace stableaa::weight_fitter_test
