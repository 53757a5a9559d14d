#include "stableaa/rl/control/control_learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/rl/control/control_reference_test.h"
#include "stableaa/rl/control/control_run_test.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/saved_bytes.h"

namespace stableaa::control_learner_test {

using control_reference_test::Mlp;
using control_reference_test::ReferenceLearner;
using control_reference_test::Vector;
using control_run_test::AllKinds;
using control_run_test::ControlRun;
using control_run_test::NameOf;
using control_run_test::SmallControl;

// Enough for a window of three to fill up and slide, with actors that learn every other update.
constexpr int kUpdates = 16;

// The largest differences between the two implementations in the course of a run.
struct Differences {
  double critics = 0, averages = 0, actor = 0, alpha = 0, temperature = 0, report = 0;
  double size = 1;  // the largest ‖α‖₁
};

double Difference(const Parameters& floats, const Mlp& doubles) {
  const Vector found = Mlp::Of(floats, false).Numbers(), expected = doubles.Numbers();
  double most = 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    most = std::max(most, std::abs(found[k] - expected[k]));
  }
  return most;
}

void Include(double& most, double difference) {
  most = std::max(most, std::isnan(difference) ? HUGE_VAL : std::abs(difference));
}

Differences Compare(ControlLearnerOptions options) {
  options.optimizer.epsilon = 1e-3;  // or else steps along gradients near 0 have any sign
  ControlRun run(options);
  ReferenceLearner reference(run);
  Differences most;
  for (int k = 0; k < kUpdates; ++k) {
    run.Step();
    reference.Update(run.step);  // first: the learner changes priorities
    const ControlReport report = run.learner.Update(run.step);
    for (std::size_t c = 0; c < run.learner.critics().size(); ++c) {
      Include(most.critics, Difference(run.learner.critics()[c], reference.critics()[c]));
      Include(most.averages, Difference(run.learner.averages()[c], reference.averages()[c]));
    }
    Include(most.actor, Difference(run.learner.actor(), reference.actor()));
    Include(most.report, report.actor_value - reference.actor_value());
    if (options.agent.algorithm == AgentAlgorithm::kSac) {
      Include(most.report, report.entropy - reference.entropy());
      Include(most.temperature, run.learner.temperature(run.step) - reference.Temperature());
    }
    if (!options.agent.mixes()) continue;
    const std::vector<double>& alpha = run.learner.mixing().alpha;
    EXPECT_EQ(alpha.size(), reference.alpha().size()) << "update " << k;
    double size = 0;
    for (const double weight : reference.alpha()) size += std::abs(weight);
    most.size = std::max(most.size, size);
    for (std::size_t i = 0; i < std::min(alpha.size(), reference.alpha().size()); ++i) {
      Include(most.alpha, (alpha[i] - reference.alpha()[i]) / size);
    }
  }
  EXPECT_EQ(run.learner.counts().updates, kUpdates);
  EXPECT_GT(reference.ends_met(), 10);
  return most;
}

// Parameters are of the size of 1 and rounded to floats, 6e-8, in each of the updates. Stable weights
// come from differences between members that are a thousandth of their values, so that rounding is
// a thousand times larger in them; those of RAA come from the values themselves. Without a penalty
// weights are in the thousands, and as many roundings of values, 2e-7 each, are in what is mixed.
void ExpectSame(const ControlLearnerOptions& options) {
  const Differences most = Compare(options);
  const double mixed = options.agent.mixer == MixerKind::kAnderson ? 2e-7 * most.size : 0;
  EXPECT_LT(most.critics, 2e-6 + mixed);
  EXPECT_LT(most.averages, 2e-6 + mixed);
  EXPECT_LT(most.actor, 2e-6);
  EXPECT_LT(most.report, 1e-5 + mixed);
  EXPECT_LT(most.temperature, 1e-8);
  EXPECT_LT(most.alpha, options.agent.mixer == MixerKind::kRaa ? 2e-6 : 2e-3);
}

TEST(ControlLearner, UpdatesAsAnImplementationInDoublePrecisionDoes) {
  for (const ControlLearnerOptions& options : AllKinds()) {
    SCOPED_TRACE(NameOf(options));
    ExpectSame(options);
  }
}

void ExpectSameWith(const char* name, const auto& change) {
  for (ControlLearnerOptions options : AllKinds()) {
    SCOPED_TRACE(NameOf(options) + " with " + name);
    change(options);
    ExpectSame(options);
  }
}

TEST(ControlLearner, BootstrapsAfterSeveralSteps) {
  ExpectSameWith("n_step", [](ControlLearnerOptions& options) { options.agent.n_step = 3; });
}

TEST(ControlLearner, LetsTheActorClimbTheMixedCritics) {
  ExpectSameWith("actor_loss", [](ControlLearnerOptions& options) {
    options.control.actor_loss = ActorLoss::kMixed;
    options.agent.damping = .6;
  });
}

TEST(ControlLearner, BoundsTheErrorsOfCritics) {
  ExpectSameWith("huber", [](ControlLearnerOptions& options) {
    options.agent.loss = LossKind::kHuber;
    options.agent.huber_delta = .3;
  });
}

TEST(ControlLearner, MovesTheActorAndTheAveragesAfterTheDelay) {
  for (const int delay : {1, 3}) {
    ExpectSameWith("delay", [delay](ControlLearnerOptions& options) {
      options.control.policy_delay = delay;
      options.control.actor_learning_rate = .003;
    });
  }
}

TEST(ControlLearner, LearnsFromPrioritisedSamplesAndFitsWeightsOnUniformOnes) {
  ExpectSameWith("priorities",
                 [](ControlLearnerOptions& options) { options.replay.prioritized = true; });
}

TEST(ControlLearner, FitsWeightsOnTheBatchIfThatIsLarger) {
  ExpectSameWith("a small sample",
                 [](ControlLearnerOptions& options) { options.agent.weights.batch = 5; });
}

TEST(ControlLearner, TakesATemperatureThatIsGiven) {
  ExpectSameWith("temperature",
                 [](ControlLearnerOptions& options) { options.control.temperature = .3; });
}

TEST(ControlLearner, AimsAtTheEntropyThatIsGiven) {
  ExpectSameWith("entropy", [](ControlLearnerOptions& options) {
    options.control.first_temperature = .1;
    options.control.target_entropy = 1.5;
    options.control.temperature_learning_rate = .05;
  });
}

TEST(ControlLearner, PutsNoNoiseOnTargetsIfThereIsNone) {
  ExpectSameWith("no noise",
                 [](ControlLearnerOptions& options) { options.control.target_noise = 0; });
}

// ---- Determinism and checkpoints ----

std::vector<std::byte> BytesAfter(const ControlLearnerOptions& options, int updates) {
  ControlRun run(options);
  for (int k = 0; k < updates; ++k) run.Update();
  return SavedBytes(run.learner);
}

TEST(FullControlLearner, GivesTheSameBytesForAnyNumberOfThreads) {
  const std::vector<ControlLearnerOptions> kinds = AllKinds();
  for (std::size_t k = 0; k < kinds.size(); k += 3) {  // of each algorithm, mixer and window
    ControlLearnerOptions options = kinds[k];
    options.batch = 150;  // more than go through a network at once
    options.agent.weights.batch = 300;
    const std::vector<std::byte> expected = BytesAfter(options, 8);
    for (const int threads : {2, 3}) {
      options.threads = threads;
      EXPECT_EQ(BytesAfter(options, 8), expected) << NameOf(options) << ", " << threads;
    }
  }
}

TEST(ControlLearner, GoesOnWithTheSameBytesWhenLoaded) {
  for (ControlLearnerOptions options : AllKinds()) {
    SCOPED_TRACE(NameOf(options));
    options.control.actor_loss = ActorLoss::kMixed;
    for (const int updates : {0, 1, 2, 3, 5, 6, 11, 14}) {
      ControlRun run(options), loaded(options);
      for (int k = 0; k < updates; ++k) run.Update();
      for (int k = 0; k < updates; ++k) loaded.Step();
      const std::vector<std::byte> saved = SavedBytes(run.learner);
      LoadBytes(loaded.learner, saved);
      ASSERT_EQ(SavedBytes(loaded.learner), saved);
      EXPECT_EQ(loaded.learner.members(), run.learner.members());
      for (int k = 0; k < 10; ++k) {
        const ControlReport expected = run.Update(), found = loaded.Update();
        ASSERT_EQ(found.loss, expected.loss) << "update " << updates + k;
        ASSERT_EQ(found.entropy, expected.entropy);
        ASSERT_EQ(found.actor_value, expected.actor_value);
      }
      ASSERT_EQ(SavedBytes(loaded.learner), SavedBytes(run.learner)) << "from " << updates;
    }
  }
}

TEST(ControlLearner, RefusesEveryStateThatIsCutOff) {
  ControlLearnerOptions options = SmallControl(AgentAlgorithm::kSac);
  options.agent.mixer = MixerKind::kStable;
  ControlRun run(options);
  for (int k = 0; k < 10; ++k) run.Update();
  const std::vector<std::byte> saved = SavedBytes(run.learner);
  for (std::size_t length = 0; length < saved.size(); length += 13) {
    ControlRun loaded(options);
    ExpectBadInput([&] { LoadBytes(loaded.learner, std::span(saved).first(length)); });
  }
}

// Of each kind, a state with as many updates but other copies of critics, weights or steps.
TEST(ControlLearner, RefusesStatesOfOtherOptions) {
  for (const ControlLearnerOptions& options : AllKinds()) {
    ControlRun run(options);
    for (int k = 0; k < 12; ++k) run.Update();
    const std::vector<std::byte> saved = SavedBytes(run.learner);
    const auto expect_refused = [&](const char* what, const auto& change) {
      ControlLearnerOptions other = options;
      change(other);
      ControlRun loaded(other);
      EXPECT_NE(MessageOf([&] { LoadBytes(loaded.learner, saved); }), "no error")
          << NameOf(options) << ", other " << what;
    };
    expect_refused("delay", [](auto& other) { other.control.policy_delay = 3; });
    expect_refused("interval", [](auto& other) { other.agent.target_interval_updates = 5; });
    expect_refused("layers", [](auto& other) { other.agent.hidden = {10, 8}; });
    expect_refused("seed", [](auto& other) { other.seed = 2; });
    if (options.agent.window() == 1) continue;
    expect_refused("targets", [](auto& other) { other.agent.targets = 2; });
    expect_refused("targets", [](auto& other) { other.agent.targets = 4; });
    expect_refused("mixer", [](auto& other) { other.agent.mixer = MixerKind::kSingle; });
    expect_refused("window", [](auto& other) {
      const bool spaced = other.control.window == WindowKind::kSpaced;
      other.control.window = spaced ? WindowKind::kConsecutive : WindowKind::kSpaced;
    });
  }
}

// Errors of opposite signs do not cancel.
TEST(ControlCritics, PrioritiesAreTheMeanSizesOfBothErrors) {
  constexpr std::size_t kCount = 8;  // the batch
  const ControlRun run(SmallControl());
  ControlCritics critics(run.options.Critics(), run.plans.critic);
  RandomStream random(1, "pairs");
  std::vector<float> states(kCount * control_run_test::kObserved);
  std::vector<float> actions(kCount * control_run_test::kElements);
  random.FillUniform(states, -1, 1);
  random.FillUniform(actions, -1, 1);
  const StateActions pairs = {kCount, states, actions};

  CriticValues values(run.plans.critic, 1);
  std::vector<CriticSet> alone;
  for (const Parameters& critic : critics.critics()) {
    alone.emplace_back().emplace_back(run.plans.critic).CopyFrom(critic);
  }
  const std::vector<const CriticSet*> sets = {&alone[0], &alone[1]};
  std::vector<float> found(2 * kCount), targets(kCount);
  values.Compute(sets, pairs, found);
  for (std::size_t j = 0; j < kCount; ++j) {
    const float share = static_cast<float>(j) / 4;  // 0 to 1: between the critics' values
    targets[j] = found[j] + share * (found[kCount + j] - found[j]);
  }
  critics.Learn(pairs, targets, {}, 1);
  for (std::size_t j = 0; j < kCount; ++j) {
    const float expected =
        (std::abs(found[j] - targets[j]) + std::abs(found[kCount + j] - targets[j])) / 2;
    EXPECT_GT(expected, 0) << "the critics differ";
    EXPECT_NEAR(critics.errors()[j], expected, 1e-6) << j;
  }
}

}  // namespace stableaa::control_learner_test
