#include "stableaa/rl/value/learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/bellman/policy.h"
#include "stableaa/core/random.h"
#include "stableaa/nn/loss.h"
#include "stableaa/rl/value/learner_run_test.h"
#include "stableaa/rl/value/target_mixer.h"
#include "stableaa/rl/value/weight_fitter.h"

namespace stableaa::learner_test {

using learner_run_test::Case;
using learner_run_test::Cases;
using learner_run_test::FrameWorld;
using learner_run_test::kActions;
using learner_run_test::kInputs;
using learner_run_test::SmallRun;
using learner_run_test::TestRun;

// ---- Algorithm 1 without threads, caches or queues of work ----

class StraightLearner {
 public:
  StraightLearner(const LearnerOptions& options, std::shared_ptr<const Plan> plan,
                  const ObservationLayout& layout, Replay& replay)
      : options_(options),
        plan_(plan),
        layout_(layout),
        replay_(replay),
        replay_random_(options.seed, "replay"),
        weights_random_(options.seed, "weights"),
        network_(CompileNetwork(plan, {.batch = options.batch, .threads = 1})),
        one_(CompileNetwork(plan, {.batch = 1, .threads = 1, .training = false})),
        optimizer_(plan, options.optimizer),
        fitter_(options.agent),
        mixer_(options.agent),
        online(plan) {
    RandomStream random(options.seed, "network");
    online.Initialise(random);
    Remember();
  }

  UpdateReport Update(std::int64_t step) {
    while (drawn_.size() <= static_cast<std::size_t>(options_.lookahead_updates)) Draw(step);
    const Drawn now = std::move(drawn_.front());
    drawn_.pop_front();
    const ReplayBatch& batch = now.batch;
    const AgentOptions& agent = options_.agent;
    if (agent.mixes() && agent.weights.refresh == WeightRefresh::kUpdate) {
      mixing = fitter_.Fit(now.sample, Frozen(now.sample, true), shifts + 1, step);
    }
    std::vector<int> best;
    if (agent.backup == AgentBackup::kDouble) {
      for (std::size_t j = 0; j < batch.count(); ++j) {
        best.push_back(static_cast<int>(
            GreedyAction(std::span<const float>(Values(online, batch.Next(j, Stack()))))));
      }
    }
    std::vector<float> targets(batch.count());
    mixer_.Targets(batch, Frozen(batch, agent.targets_need_states()), mixing.alpha, best,
                   shifts + 1, agent.BetaAt(step), targets);

    StateGatherer gatherer(layout_);
    for (std::size_t j = 0; j < batch.count(); ++j) gatherer.Add(batch.State(j, Stack()));
    std::vector<float> outputs(batch.count() * kActions), slopes(outputs.size()),
        errors(batch.count());
    Parameters gradients(plan_);
    network_->Forward(online, gatherer.Input(0, gatherer.count()), outputs);
    UpdateReport report;
    report.loss = LossGradient({.kind = agent.loss, .huber_delta = agent.huber_delta},
                               {.actions = kActions,
                                .outputs = outputs,
                                .chosen = batch.actions,
                                .targets = targets,
                                .weights = batch.weights},
                               slopes, errors);
    network_->Backward(online, slopes, gradients);
    optimizer_.Step(gradients, online, step);
    replay_.SetPriorities(batch.ids, errors);
    for (std::size_t j = 0; j < batch.count(); ++j) {
      const auto chosen = static_cast<std::size_t>(batch.actions[j]);
      report.td_abs += std::abs(static_cast<double>(errors[j]));
      report.q_mean += static_cast<double>(outputs[j * kActions + chosen]);
    }
    report.td_abs /= static_cast<double>(batch.count());
    report.q_mean /= static_cast<double>(batch.count());
    if (++updates % agent.target_interval_updates == 0) Shift(step);
    return report;
  }

 private:
  struct Drawn {
    ReplayBatch batch, sample;
  };

  int Stack() const { return layout_.frames().stack; }

  void Draw(std::int64_t step) {
    Drawn& next = drawn_.emplace_back();
    const double begin = options_.replay.importance_start;
    const double share = std::min(
        1.0, static_cast<double>(step) / static_cast<double>(options_.replay.importance_steps));
    std::vector<std::int64_t> ids;
    replay_.Sample(options_.batch, begin + (1 - begin) * share, replay_random_, ids,
                   next.batch.weights);
    replay_.Read(ids, next.batch);
    if (options_.agent.mixes() && options_.agent.weights.refresh == WeightRefresh::kUpdate) {
      next.sample = UniformSample();
    }
  }

  ReplayBatch UniformSample() {
    std::vector<std::int64_t> ids;
    ReplayBatch sample;
    replay_.SampleUniform(options_.agent.weights.batch, weights_random_, ids);
    replay_.Read(ids, sample);
    return sample;
  }

  std::vector<float> Values(const Parameters& parameters,
                            std::span<const std::uint8_t* const> state) {
    StateGatherer gatherer(layout_);
    gatherer.Add(state);
    std::vector<float> values(kActions);
    one_->Forward(parameters, gatherer.Input(0, 1), values);
    return values;
  }

  // Evaluates every state by itself: next states that exist, then states.
  FrozenValues Frozen(const ReplayBatch& batch, bool with_states) {
    std::vector<std::span<const std::uint8_t* const>> states;
    for (std::size_t j = 0; j < batch.count(); ++j) {
      if (batch.discounts[j] != 0) states.push_back(batch.Next(j, Stack()));
    }
    for (std::size_t j = 0; with_states && j < batch.count(); ++j) {
      states.push_back(batch.State(j, Stack()));
    }
    FrozenValues frozen;
    frozen.Resize(window_.size(), states.size(), kActions);
    for (std::size_t i = 0; i < window_.size(); ++i) {
      for (std::size_t k = 0; k < states.size(); ++k) {
        std::ranges::copy(Values(*window_[i], states[k]), frozen.Of(i, k).begin());
      }
    }
    return frozen;
  }

  void Remember() {
    window_.push_back(std::make_unique<Parameters>(plan_));
    window_.back()->CopyFrom(online);
  }

  void KeepNewest() { window_.erase(window_.begin(), window_.end() - 1); }

  void Shift(std::int64_t step) {
    const AgentOptions& agent = options_.agent;
    if (shifts == 0) window_.clear();
    Remember();
    ++shifts;
    const bool has_window = agent.mixer != MixerKind::kSingle;
    if (window_.size() > static_cast<std::size_t>(has_window ? agent.targets : 1)) {
      window_.pop_front();
    }
    if (agent.restart == WindowRestart::kInterval &&
        updates >= restarted_at_ + agent.restart_interval_updates) {
      KeepNewest();
      restarted_at_ = updates;
      ++restarts;
    }
    const bool sync = agent.mixes() && agent.weights.refresh == WeightRefresh::kSync;
    const bool growth = agent.restart == WindowRestart::kGrowth && has_window;
    if (!sync && !growth) return;
    const ReplayBatch sample = UniformSample();
    if (growth) {
      const double residual = fitter_.NewestResidual(sample, Frozen(sample, true), shifts + 1);
      residuals.push_back(residual);
      if (residual > agent.restart_growth * least_) {
        KeepNewest();
        least_ = residual;
        ++restarts;
      }
      least_ = std::min(least_, residual);
    }
    if (sync) mixing = fitter_.Fit(sample, Frozen(sample, true), shifts + 1, step);
  }

  const LearnerOptions options_;
  std::shared_ptr<const Plan> plan_;
  const ObservationLayout& layout_;
  Replay& replay_;
  RandomStream replay_random_, weights_random_;
  std::unique_ptr<Network> network_, one_;
  Optimizer optimizer_;
  WeightFitter fitter_;
  TargetMixer mixer_;
  std::deque<std::unique_ptr<Parameters>> window_;
  std::deque<Drawn> drawn_;
  double least_ = std::numeric_limits<double>::infinity();
  std::int64_t restarted_at_ = 0;

 public:
  Parameters online;
  Mixing mixing;
  std::int64_t updates = 0, shifts = 0, restarts = 0;
  std::vector<double> residuals;

  std::size_t window() const { return window_.size(); }
};

void ExpectLikeStraightLearner(const LearnerOptions& options, int updates) {
  TestRun run(options), other(options);
  StraightLearner straight(options, other.plan, other.layout, other.replay);
  ASSERT_TRUE(std::ranges::equal(run.learner.online().block(), straight.online.block()));
  for (int k = 0; k < updates; ++k) {
    const UpdateReport found = run.Update();
    other.Step();
    if (straight.updates % 3 == 0) other.Step();
    const UpdateReport expected = straight.Update(other.step);
    ASSERT_EQ(found.loss, expected.loss) << "update " << k + 1;
    ASSERT_EQ(found.td_abs, expected.td_abs);
    ASSERT_EQ(found.q_mean, expected.q_mean);
    ASSERT_TRUE(std::ranges::equal(run.learner.online().block(), straight.online.block()));
    if (options.agent.mixes()) {
      ASSERT_EQ(run.learner.mixing().alpha, straight.mixing.alpha);
      ASSERT_EQ(run.learner.mixing().gain_held_out, straight.mixing.gain_held_out);
    }
    ASSERT_EQ(run.learner.targets(), static_cast<int>(straight.window()));
    ASSERT_EQ(run.learner.counts().updates, straight.updates);
    ASSERT_EQ(run.learner.counts().shifts, straight.shifts);
    ASSERT_EQ(run.learner.counts().restarts, straight.restarts);
  }
}

TEST(Learner, DoesWhatAStraightforwardOneDoes) {
  for (const Case& one : Cases()) {
    for (const int lookahead : {0, 1, 3}) {
      // Using several threads for the gradient is slow with networks this small: one case will do.
      const bool spread = one.name == "stable-update";
      for (const int threads : {1, 2, 3}) {
        if (threads - (lookahead > 0 ? 1 : 0) > 1 && !spread) continue;
        SCOPED_TRACE(one.name + ", lookahead " + std::to_string(lookahead) + ", threads " +
                     std::to_string(threads));
        LearnerOptions options = SmallRun();
        one.change(options);
        options.lookahead_updates = lookahead;
        options.threads = threads;
        ExpectLikeStraightLearner(options, threads == 3 ? 6 : 14);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Learner, OfFramesGivesTheSameBytesForAnyNumberOfThreads) {
  for (const bool per_update : {false, true}) {
    std::vector<std::byte> expected;
    for (const int threads : {1, 2, 3}) {
      if (threads == 3 && !per_update) continue;
      LearnerOptions options = SmallRun();
      options.agent.mixer = MixerKind::kStable;
      options.agent.backup = AgentBackup::kDouble;
      options.agent.head = HeadKind::kDueling;
      options.agent.target_interval_updates = 3;
      if (per_update) options.agent.weights.refresh = WeightRefresh::kUpdate;
      options.batch = 32;
      options.threads = threads;
      options.lookahead_updates = 2;
      TestRun run(options, FrameWorld());
      for (int k = 0; k < 4; ++k) run.Update();
      if (threads == 1) expected = run.Saved();
      EXPECT_EQ(run.Saved(), expected) << threads << " threads";
    }
  }
}

TEST(Learner, WaitsForNoBatchItDidNotAskFor) {  // ends in the middle of its work
  for (int updates = 0; updates < 6; ++updates) {
    LearnerOptions options = SmallRun();
    options.agent.mixer = MixerKind::kStable;
    options.lookahead_updates = 5;
    options.threads = 2;
    TestRun run(options);
    for (int k = 0; k < updates; ++k) run.Update();
  }
}

// ---- Restarts ----

TEST(Learner, ForgetsTheWindowAfterSoManyUpdates) {
  LearnerOptions options = SmallRun();
  options.agent.mixer = MixerKind::kRaa;
  options.agent.restart = WindowRestart::kInterval;
  options.agent.restart_interval_updates = 10;  // that is, at the shift after update 12
  TestRun run(options);
  std::vector<int> targets;
  for (int k = 0; k < 28; ++k) {
    run.Update();
    if ((k + 1) % 4 == 0) targets.push_back(run.learner.targets());
  }
  EXPECT_EQ(targets, (std::vector<int>{1, 2, 1, 2, 3, 1, 2}));
  EXPECT_EQ(run.learner.counts().restarts, 2);
  EXPECT_EQ(run.learner.mixing().alpha.size(), 2U);
}

TEST(Learner, ForgetsTheWindowWhenTheResidualGrows) {
  LearnerOptions options = SmallRun();
  options.agent.mixer = MixerKind::kStable;
  options.agent.restart = WindowRestart::kGrowth;
  options.agent.restart_growth = 2;
  options.agent.target_interval_updates = 2;
  TestRun run(options);
  for (int k = 0; k < 12; ++k) run.Update();
  EXPECT_EQ(run.learner.counts().restarts, 0);
  EXPECT_EQ(run.learner.targets(), 3);
  for (int k = 0; k < 70; ++k) run.Step(50);  // rewards of another size
  for (int k = 0; k < 2; ++k) run.Update();
  EXPECT_EQ(run.learner.counts().restarts, 1);
  EXPECT_EQ(run.learner.targets(), 1);
  EXPECT_EQ(run.learner.mixing().alpha, std::vector<double>{1});

  // Only the smallest residual since then counts.
  for (int k = 0; k < 90; ++k) run.Step();
  for (int k = 0; k < 2; ++k) run.Update();
  EXPECT_EQ(run.learner.counts().restarts, 1);
  for (int k = 0; k < 90; ++k) run.Step(15);
  for (int k = 0; k < 2; ++k) run.Update();
  EXPECT_EQ(run.learner.counts().restarts, 2);
}

TEST(Learner, CountsHowOftenTheSafeguardChoseTheNewestNetwork) {
  for (const WeightRefresh refresh : {WeightRefresh::kUpdate, WeightRefresh::kSync}) {
    LearnerOptions options = SmallRun();
    options.agent.mixer = MixerKind::kAnderson;
    options.agent.weights = {.refresh = refresh, .batch = 8, .safeguard = true};
    TestRun run(options);
    std::int64_t fallbacks = 0;
    for (int k = 0; k < 40; ++k) {
      run.Update();
      const bool fitted = refresh == WeightRefresh::kUpdate || (k + 1) % 4 == 0;
      if (fitted && run.learner.mixing().fallback) ++fallbacks;
    }
    EXPECT_GT(fallbacks, 0);
    EXPECT_EQ(run.learner.counts().fallbacks, fallbacks);
  }
}

// ---- Passes and memory ----

TEST(Learner, CountsThePassesOfAllItsNetworks) {
  for (const int threads : {1, 2}) {
    LearnerOptions options = SmallRun();
    options.agent.mixer = MixerKind::kStable;
    options.agent.backup = AgentBackup::kDouble;
    options.threads = threads;
    TestRun run(options);
    for (int k = 1; k <= 10; ++k) {
      run.Update();
      const TargetNetworks::Counts counts = run.learner.cache_counts();
      EXPECT_GE(counts.asked, counts.computed);
      const double samples = k * options.batch;
      EXPECT_DOUBLE_EQ(run.learner.multiply_adds(),
                       samples * (2 * run.plan->multiply_adds + run.plan->backward_multiply_adds) +
                           static_cast<double>(counts.computed) * run.plan->multiply_adds);
    }
    EXPECT_GT(run.learner.cache_counts().asked, run.learner.cache_counts().computed);
  }
}

TEST(Learner, EstimatesItsMemoryByItsParts) {
  LearnerOptions options = SmallRun();
  const Plan plan = MakePlan(AgentNetwork(options.agent, VectorInput(kInputs), kActions));
  const std::uint64_t single = Learner::EstimateBytes(options, plan);
  options.agent.mixer = MixerKind::kStable;
  EXPECT_GT(Learner::EstimateBytes(options, plan), single + 2 * sizeof(float) * plan.parameters);
  options.replay.size = 1'000'000;
  EXPECT_GT(Learner::EstimateBytes(options, plan), std::uint64_t{3} * 4'000'000 * (kActions + 1));
}

}  // namespace stableaa::learner_test
