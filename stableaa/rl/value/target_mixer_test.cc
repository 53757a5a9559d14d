#include "stableaa/rl/value/target_mixer.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/rl/value/mixing_problem_test.h"

namespace stableaa::target_mixer_test {

using mixing_problem_test::Agent;
using mixing_problem_test::Answer;
using mixing_problem_test::kBackups;
using mixing_problem_test::NaiveTarget;
using mixing_problem_test::Problem;
using mixing_problem_test::RandomProblem;

TEST(TargetMixer, GivesTheTargetsOfTheFormulaForEveryMixerAndBackup) {
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
        std::vector<double> alpha = {1};
        if (options.mixes()) {
          alpha.assign(m, 1);
          for (std::size_t i = 0; i + 1 < m; ++i) {
            alpha[i] = m == 4 && i == 1 ? 0 : random.Normal();
            alpha[m - 1] -= alpha[i];
          }
        }
        TargetMixer mixer(options);
        EXPECT_EQ(options.targets_need_states(), options.mixes() && options.damping != 0);
        std::vector<float> targets(problem.n);
        const bool is_double = backup == AgentBackup::kDouble;
        mixer.Targets(
            problem.batch, Answer(problem, options.targets_need_states()), alpha,
            is_double ? std::span<const int>(problem.online_best) : std::span<const int>(), time,
            options.BetaAt(0), targets);
        for (std::size_t j = 0; j < problem.n; ++j) {
          EXPECT_NEAR(targets[j],
                      static_cast<double>(NaiveTarget(options, problem, alpha, time, j)), 3e-6)
              << "mixer " << static_cast<int>(kind) << " backup " << static_cast<int>(backup)
              << " m " << m << " transition " << j;
        }
      }
    }
  }
}

TEST(TargetMixer, GivesEqualNetworksTheSameTargetsForAnyWeights) {
  RandomStream random(2, "targets");
  Problem problem = RandomProblem(random, 3, 20);
  problem.now[0] = problem.now[1] = problem.now[2];
  problem.next[0] = problem.next[1] = problem.next[2];
  TargetMixer mixer(Agent(MixerKind::kStable, AgentBackup::kMellowmax));
  const FrozenValues values = Answer(problem, true);
  std::vector<float> one(problem.n), other(problem.n);
  mixer.Targets(problem.batch, values, std::vector<double>{0, 0, 1}, {}, 1, .1, one);
  mixer.Targets(problem.batch, values, std::vector<double>{-.5, 2, -.5}, {}, 1, .1, other);
  for (std::size_t j = 0; j < problem.n; ++j) EXPECT_NEAR(one[j], other[j], 1e-5);
}

}  // namespace stableaa::target_mixer_test
