#include "stableaa/rl/value/learner.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "stableaa/bellman/policy.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/nn/loss.h"

namespace stableaa::learner_test {

namespace fs = std::filesystem;

constexpr int kInputs = 5;
constexpr int kActions = 3;
constexpr float kNaNFloat = std::numeric_limits<float>::quiet_NaN();

EnvironmentSpec VectorWorld() {
  return {.id = "test/vector",
          .observation = Space::Floats({kInputs}, {-1}, {1}),
          .action = Space::Discrete(kActions)};
}

EnvironmentSpec FrameWorld() {
  return {.id = "test/frames",
          .observation = Space::Bytes({10, 10, 4}, 1),
          .action = Space::Discrete(kActions),
          .channel_axis = 2};
}

// Plays random episodes into a replay; equal ones for equal seeds.
class Feeder {
 public:
  explicit Feeder(const ObservationLayout& layout, std::uint64_t seed = 1)
      : layout_(&layout), random_(seed, "feeder") {}

  void Begin(Replay& replay) { replay.Begin(Observation()); }

  void Step(Replay& replay, float extra_reward = 0) {
    const int action = static_cast<int>(random_.Below(kActions));
    const float reward = static_cast<float>(random_.Normal()) + extra_reward;
    const std::uint64_t fate = random_.Below(16);
    replay.Add(action, reward, fate == 0, fate == 1, Observation());
    if (fate <= 1) Begin(replay);
  }

 private:
  std::vector<std::uint8_t> Observation() {
    std::vector<std::uint8_t> bytes(layout_->frames().observation_bytes());
    if (layout_->input().is_vector()) {
      std::vector<float> vector(bytes.size() / sizeof(float));
      random_.FillUniform(vector, -1, 1);
      std::memcpy(bytes.data(), vector.data(), bytes.size());
    } else {
      for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_.Below(2));
    }
    return bytes;
  }

  const ObservationLayout* layout_;
  RandomStream random_;
};

RunOptions SmallRun() {
  RunOptions options;
  options.train.batch = 6;
  options.train.threads = 1;
  options.train.lookahead_updates = 1;
  options.replay.size = 80;
  options.replay.importance_steps = 60;
  options.agent.hidden = {12};
  options.agent.targets = 3;
  options.agent.target_interval_updates = 4;
  options.agent.weights.batch = 20;
  options.optimizer.learning_rate = .01;
  return options;
}

// A run without its environment: every update follows one or two steps.
struct TestRun {
  RunOptions options;
  ObservationLayout layout;
  std::shared_ptr<const Plan> plan;
  Replay replay;
  Feeder feeder;
  Learner learner;
  std::int64_t step = 0;

  explicit TestRun(const RunOptions& run_options, const EnvironmentSpec& spec = VectorWorld())
      : options(run_options),
        layout(spec),
        plan(std::make_shared<const Plan>(
            MakePlan(AgentNetwork(options.agent, layout.input(), kActions)))),
        replay(options.replay, {options.agent.n_step, options.agent.discount}, layout.frames(),
               Learner::ReplayReserve(options)),
        feeder(layout),
        learner(options, plan, layout, replay) {
    feeder.Begin(replay);
    for (int k = 0; k < 60; ++k) Step();
  }

  void Step(float extra_reward = 0) {
    ++step;
    feeder.Step(replay, extra_reward);
  }
  void StepsBetween() {
    Step();
    if (learner.counts().updates % 3 == 0) Step();
  }
  UpdateReport Update() {
    StepsBetween();
    return learner.Update(step);
  }
  std::vector<std::byte> Saved() const {
    ByteWriter out;
    learner.Save(out);
    return {out.bytes().begin(), out.bytes().end()};
  }
};

// ---- Algorithm 1 without threads, caches or queues of work ----

class StraightLearner {
 public:
  StraightLearner(const RunOptions& options, std::shared_ptr<const Plan> plan,
                  const ObservationLayout& layout, Replay& replay)
      : options_(options),
        plan_(plan),
        layout_(layout),
        replay_(replay),
        replay_random_(options.train.seed, "replay"),
        weights_random_(options.train.seed, "weights"),
        network_(CompileNetwork(plan, {.batch = options.train.batch, .threads = 1})),
        one_(CompileNetwork(plan, {.batch = 1, .threads = 1, .training = false})),
        optimizer_(plan, options.optimizer),
        mixer_(options.agent),
        online(plan) {
    RandomStream random(options.train.seed, "network");
    online.Initialise(random);
    Remember();
  }

  UpdateReport Update(std::int64_t step) {
    while (drawn_.size() <= static_cast<std::size_t>(options_.train.lookahead_updates)) Draw(step);
    const Drawn now = std::move(drawn_.front());
    drawn_.pop_front();
    const ReplayBatch& batch = now.batch;
    const AgentOptions& agent = options_.agent;
    if (agent.mixes() && agent.weights.refresh == WeightRefresh::kUpdate) {
      mixing = mixer_.FitWeights(now.sample, Frozen(now.sample, true), shifts + 1);
    }
    std::vector<int> best;
    if (agent.backup == AgentBackup::kDouble) {
      for (std::size_t j = 0; j < batch.count(); ++j) {
        best.push_back(static_cast<int>(
            GreedyAction(std::span<const float>(Values(online, batch.Next(j, Stack()))))));
      }
    }
    std::vector<float> targets(batch.count());
    mixer_.Targets(batch, Frozen(batch, agent.beta() != 0), mixing, best, shifts + 1, targets);

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
    optimizer_.Step(gradients, online);
    replay_.SetPriorities(batch.ids, errors);
    for (std::size_t j = 0; j < batch.count(); ++j) {
      const auto chosen = static_cast<std::size_t>(batch.actions[j]);
      report.td_abs += std::abs(static_cast<double>(errors[j]));
      report.q_mean += static_cast<double>(outputs[j * kActions + chosen]);
    }
    report.td_abs /= static_cast<double>(batch.count());
    report.q_mean /= static_cast<double>(batch.count());
    if (++updates % agent.target_interval_updates == 0) Shift();
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
    replay_.Sample(options_.train.batch, begin + (1 - begin) * share, replay_random_, ids,
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

  // Every state by itself: next states that exist, then states.
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

  void Shift() {
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
      const double residual = mixer_.NewestResidual(sample, Frozen(sample, true), shifts + 1);
      residuals.push_back(residual);
      if (residual > agent.restart_growth * least_) {
        KeepNewest();
        least_ = residual;
        ++restarts;
      }
      least_ = std::min(least_, residual);
    }
    if (sync) mixing = mixer_.FitWeights(sample, Frozen(sample, true), shifts + 1);
  }

  const RunOptions options_;
  std::shared_ptr<const Plan> plan_;
  const ObservationLayout& layout_;
  Replay& replay_;
  RandomStream replay_random_, weights_random_;
  std::unique_ptr<Network> network_, one_;
  Optimizer optimizer_;
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

struct Case {
  std::string name;
  std::function<void(RunOptions&)> change;
};

std::vector<Case> Cases() {
  const auto stable = [](RunOptions& run) {
    run.agent.mixer = MixerKind::kStable;
    run.agent.backup = AgentBackup::kMellowmax;
    run.agent.head = HeadKind::kDueling;
  };
  const auto per_update = [](RunOptions& run) {
    run.agent.weights.refresh = WeightRefresh::kUpdate;
  };
  return {
      {"dqn", [](RunOptions&) {}},
      {"double-dqn", [](RunOptions& run) { run.agent.backup = AgentBackup::kDouble; }},
      {"averaged-dqn", [](RunOptions& run) { run.agent.mixer = MixerKind::kAverage; }},
      {"stable-sync", stable},
      {"stable-update",
       [=](RunOptions& run) {
         stable(run);
         per_update(run);
       }},
      {"stable-update-guarded",
       [=](RunOptions& run) {
         stable(run);
         per_update(run);
         run.agent.weights.safeguard = true;
         run.agent.weights.eta = EtaChoice::kAuto;
       }},
      {"raa-double-update",
       [=](RunOptions& run) {
         run.agent.mixer = MixerKind::kRaa;
         run.agent.backup = AgentBackup::kDouble;
         per_update(run);
       }},
      {"anderson-dynamic-without-damping",
       [=](RunOptions& run) {
         run.agent.mixer = MixerKind::kAnderson;
         run.agent.backup = AgentBackup::kDynamicBoltzmann;
         run.agent.omega = .3;
         run.agent.damping = 0;
       }},
      {"prioritised",
       [=](RunOptions& run) {
         stable(run);
         run.replay.prioritized = true;
       }},
      {"n-step-prioritised-double",
       [=](RunOptions& run) {
         run.agent.n_step = 3;
         run.agent.backup = AgentBackup::kDouble;
         run.agent.mixer = MixerKind::kStable;
         run.replay.prioritized = true;
         per_update(run);
       }},
      {"huber-adam-clipped",
       [](RunOptions& run) {
         run.agent.loss = LossKind::kHuber;
         run.agent.huber_delta = .5;
         run.optimizer.kind = OptimizerKind::kAdam;
         run.optimizer.epsilon = 1e-8;
         run.optimizer.max_gradient_norm = .2;
       }},
      {"restart-interval",
       [=](RunOptions& run) {
         stable(run);
         run.agent.restart = WindowRestart::kInterval;
         run.agent.restart_interval_updates = 10;
       }},
      {"restart-growth",
       [=](RunOptions& run) {
         stable(run);
         run.agent.restart = WindowRestart::kGrowth;
         run.agent.restart_growth = 1.02;
       }},
      {"restart-growth-average",
       [=](RunOptions& run) {
         run.agent.mixer = MixerKind::kAverage;
         run.agent.restart = WindowRestart::kGrowth;
         run.agent.restart_growth = 1.02;
       }},
      {"every-update-a-shift",
       [=](RunOptions& run) {
         stable(run);
         run.agent.target_interval_updates = 1;
       }},
  };
}

void ExpectLikeStraightLearner(const RunOptions& options, int updates) {
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
      // Several threads in the gradient itself are slow for networks so small: one case will do.
      const bool spread = one.name == "stable-update";
      for (const int threads : {1, 2, 3}) {
        if (threads - (lookahead > 0 ? 1 : 0) > 1 && !spread) continue;
        SCOPED_TRACE(one.name + ", lookahead " + std::to_string(lookahead) + ", threads " +
                     std::to_string(threads));
        RunOptions options = SmallRun();
        one.change(options);
        options.train.lookahead_updates = lookahead;
        options.train.threads = threads;
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
      RunOptions options = SmallRun();
      options.agent.mixer = MixerKind::kStable;
      options.agent.backup = AgentBackup::kDouble;
      options.agent.head = HeadKind::kDueling;
      options.agent.target_interval_updates = 3;
      if (per_update) options.agent.weights.refresh = WeightRefresh::kUpdate;
      options.train.batch = 32;
      options.train.threads = threads;
      options.train.lookahead_updates = 2;
      TestRun run(options, FrameWorld());
      for (int k = 0; k < 4; ++k) run.Update();
      if (threads == 1) expected = run.Saved();
      EXPECT_EQ(run.Saved(), expected) << threads << " threads";
    }
  }
}

TEST(Learner, WaitsForNoBatchItDidNotAskFor) {  // ends in the middle of its work
  for (int updates = 0; updates < 6; ++updates) {
    RunOptions options = SmallRun();
    options.agent.mixer = MixerKind::kStable;
    options.train.lookahead_updates = 5;
    options.train.threads = 2;
    TestRun run(options);
    for (int k = 0; k < updates; ++k) run.Update();
  }
}

// ---- Save and Load ----

class LearnerCheckpoint : public testing::Test {
 protected:
  LearnerCheckpoint() {
    std::string name = (fs::temp_directory_path() / "learner_test.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = name;
  }
  ~LearnerCheckpoint() override { fs::remove_all(directory_); }

  fs::path directory_;
};

TEST_F(LearnerCheckpoint, ContinuesToTheSameBytesFromAnyUpdate) {
  constexpr int kUpdates = 14;
  for (const Case& one : Cases()) {
    for (const int lookahead : {0, 3}) {
      RunOptions options = SmallRun();
      one.change(options);
      options.train.lookahead_updates = lookahead;
      TestRun whole(options);
      for (int k = 0; k < kUpdates; ++k) whole.Update();
      for (const int stop : {0, 3, 4, 5, 10}) {
        SCOPED_TRACE(one.name + ", lookahead " + std::to_string(lookahead) + ", stopped after " +
                     std::to_string(stop));
        TestRun first(options);
        for (int k = 0; k < stop; ++k) first.Update();
        ByteWriter out;
        first.learner.Save(out);
        options.train.threads = lookahead > 0 ? 1 + stop % 2 : 1;
        TestRun second(options);
        for (int k = 0; k < stop % 4; ++k) second.Update();  // what is there before is forgotten
        if (options.replay.prioritized) {
          const fs::path segments = directory_ / std::to_string(stop);
          first.replay.SaveSegments(segments);
          ByteWriter state;
          first.replay.Save(state);
          ByteReader in(state.bytes(), "replay");
          second.replay.Load(in, segments, kActions);
          fs::remove_all(segments);
          second.feeder = first.feeder;
          second.step = first.step;
        } else {  // the same steps make the same replay
          while (second.step < first.step) second.Step();
        }
        ByteReader in(out.bytes(), "learner");
        second.learner.Load(in);
        in.ExpectEnd();
        EXPECT_EQ(second.Saved(), first.Saved());
        for (int k = stop; k < kUpdates; ++k) second.Update();
        ASSERT_EQ(second.Saved(), whole.Saved());
      }
    }
  }
}

TEST(Learner, RefusesToLoadWhatDoesNotFit) {
  RunOptions options = SmallRun();
  options.agent.mixer = MixerKind::kStable;
  options.train.lookahead_updates = 3;
  TestRun run(options);
  for (int k = 0; k < 9; ++k) run.Update();
  const std::vector<std::byte> bytes = run.Saved();

  const auto load = [&](const std::function<void(RunOptions&)>& change,
                        std::span<const std::byte> state) {
    RunOptions changed = options;
    change(changed);
    TestRun other(changed);
    for (int k = 0; k < 9; ++k) other.Update();  // for the replay
    ByteReader in(state, "state");
    other.learner.Load(in);
    in.ExpectEnd();
  };
  EXPECT_NO_THROW(load([](RunOptions&) {}, bytes));
  ByteReader elsewhere(bytes, "state");
  TestRun young(options);
  EXPECT_THROW(young.learner.Load(elsewhere), Error);  // its replay lacks these transitions
  EXPECT_THROW(load([](RunOptions& r) { r.train.seed = 2; }, bytes), Error);
  EXPECT_THROW(load([](RunOptions& r) { r.train.batch = 7; }, bytes), Error);
  EXPECT_THROW(load([](RunOptions& r) { r.train.lookahead_updates = 1; }, bytes), Error);
  EXPECT_THROW(load([](RunOptions& r) { r.agent.hidden = {13}; }, bytes), Error);
  EXPECT_THROW(load([](RunOptions& r) { r.agent.targets = 1; }, bytes), Error);
  EXPECT_THROW(load([](RunOptions& r) { r.replay.prioritized = true; }, bytes), Error);
  EXPECT_THROW(load([](RunOptions& r) { r.agent.weights.refresh = WeightRefresh::kUpdate; }, bytes),
               Error);
  EXPECT_THROW(load([](RunOptions& r) { r.optimizer.kind = OptimizerKind::kAdam; }, bytes), Error);
  for (const std::size_t cut : {bytes.size() - 1, bytes.size() / 2, std::size_t{10}}) {
    EXPECT_THROW(load([](RunOptions&) {}, std::span(bytes).first(cut)), Error);
  }
}

// ---- Restarts ----

TEST(Learner, ForgetsTheWindowAfterSoManyUpdates) {
  RunOptions options = SmallRun();
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
  RunOptions options = SmallRun();
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

  // What counts is the smallest residual since then.
  for (int k = 0; k < 90; ++k) run.Step();
  for (int k = 0; k < 2; ++k) run.Update();
  EXPECT_EQ(run.learner.counts().restarts, 1);
  for (int k = 0; k < 90; ++k) run.Step(15);
  for (int k = 0; k < 2; ++k) run.Update();
  EXPECT_EQ(run.learner.counts().restarts, 2);
}

TEST(Learner, CountsHowOftenTheSafeguardChoseTheNewestNetwork) {
  for (const WeightRefresh refresh : {WeightRefresh::kUpdate, WeightRefresh::kSync}) {
    RunOptions options = SmallRun();
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

// ---- Divergence ----

// Updates until the failure, whose message it gives.
int UpdatesUntilFailure(TestRun& run, std::string& message) {
  for (int k = 0; k < 60; ++k) {
    Parameters before(run.plan);
    before.CopyFrom(run.learner.online());
    try {
      run.Update();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kWorkFailed) << error.what();
      EXPECT_TRUE(std::ranges::equal(before.block(), run.learner.online().block()));
      message = error.what();
      return k;
    }
  }
  ADD_FAILURE() << "no failure";
  return -1;
}

TEST_F(LearnerCheckpoint, IsDiagnosedAfterARewardThatIsNotANumber) {
  for (const Case& one : Cases()) {
    if (one.name.starts_with("restart") || one.name.starts_with("every")) continue;
    if (one.name.ends_with("-sync") || one.name == "prioritised" ||
        one.name.starts_with("anderson")) {
      continue;  // their weights see it in a shift, after the update
    }
    int expected = 0;
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(one.name + ", threads " + std::to_string(threads));
      RunOptions options = SmallRun();
      one.change(options);
      options.train.threads = threads;
      options.train.lookahead_updates = 3;
      TestRun run(options);
      for (int k = 0; k < 3; ++k) run.Update();
      run.Step(kNaNFloat);
      std::string message;
      const int updates = UpdatesUntilFailure(run, message);
      EXPECT_NE(message.find("nan"), std::string::npos) << message;
      if (threads == 1) expected = updates;
      EXPECT_EQ(updates, expected);
      EXPECT_GE(updates, 3);  // batches that were drawn before
      const fs::path file = directory_ / "diverged.npz";
      run.learner.WriteDiagnosis(file);
      std::ifstream in(file, std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(in), {});
      EXPECT_TRUE(bytes.starts_with("PK"));
      EXPECT_NE(bytes.find("rewards"), std::string::npos);
      EXPECT_NE(bytes.find("target_network_values"), std::string::npos);
      fs::remove(file);
    }
  }
}

TEST(Learner, FailsInTheShiftWhoseSampleIsNotANumber) {
  RunOptions options = SmallRun();
  options.agent.mixer = MixerKind::kStable;
  options.train.lookahead_updates = 8;  // so that the batches of these updates do not see it
  options.agent.weights.batch = 500;
  TestRun run(options);
  run.Update();
  run.Step(kNaNFloat);
  run.Step();
  std::string message;
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(message, "");
    try {
      run.Update();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kWorkFailed);
      message = error.what();
    }
  }
  EXPECT_NE(message.find("reward of transition"), std::string::npos) << message;
}

TEST_F(LearnerCheckpoint, IsDiagnosedBeforeTheFirstUpdate) {
  const TestRun run(SmallRun());
  run.learner.WriteDiagnosis(directory_ / "early.npz");
  EXPECT_GT(fs::file_size(directory_ / "early.npz"), 0U);
}

TEST(Learner, FailsWhenANetworksValueIsNotANumber) {
  const std::vector<float> numbers(kInputs, kNaNFloat);
  std::vector<std::uint8_t> observation(sizeof(float) * kInputs);
  std::memcpy(observation.data(), numbers.data(), observation.size());
  for (const Case& one : Cases()) {
    SCOPED_TRACE(one.name);
    RunOptions options = SmallRun();
    one.change(options);
    TestRun run(options);
    run.replay.Add(0, 0, false, false, observation);
    std::string message;
    for (int k = 0; k < 60 && message.empty(); ++k) {
      try {
        run.Update();
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::kWorkFailed) << error.what();
        message = error.what();
      }
    }
    EXPECT_NE(message.find("nan"), std::string::npos) << message;
  }
}

// ---- The cache ----

TEST(Learner, CountsThePassesOfAllItsNetworks) {
  for (const int threads : {1, 2}) {
    RunOptions options = SmallRun();
    options.agent.mixer = MixerKind::kStable;
    options.agent.backup = AgentBackup::kDouble;
    options.train.threads = threads;
    TestRun run(options);
    for (int k = 1; k <= 10; ++k) {
      run.Update();
      const TargetNetworks::Counts counts = run.learner.cache_counts();
      EXPECT_GE(counts.asked, counts.computed);
      const double samples = k * options.train.batch;
      EXPECT_DOUBLE_EQ(run.learner.multiply_adds(),
                       samples * (2 * run.plan->multiply_adds + run.plan->backward_multiply_adds) +
                           static_cast<double>(counts.computed) * run.plan->multiply_adds);
    }
    EXPECT_GT(run.learner.cache_counts().asked, run.learner.cache_counts().computed);
  }
}

double HitRate(TestRun& run, int updates) {
  const TargetNetworks::Counts before = run.learner.cache_counts();
  for (int k = 0; k < updates; ++k) run.learner.Update(run.step);
  const TargetNetworks::Counts after = run.learner.cache_counts();
  return 1 - static_cast<double>(after.computed - before.computed) /
                 static_cast<double>(after.asked - before.asked);
}

TEST(Learner, PretendsASteadyStateWithTheHitRateOfTheRealOne) {
  for (const MixerKind mixer : {MixerKind::kStable, MixerKind::kAverage, MixerKind::kSingle}) {
    for (const WeightRefresh refresh : {WeightRefresh::kSync, WeightRefresh::kUpdate}) {
      RunOptions options = SmallRun();
      options.agent.mixer = mixer;
      options.agent.weights = {.refresh = refresh, .batch = 100};
      options.agent.target_interval_updates = 60;
      options.train.lookahead_updates = 0;
      options.train.batch = 64;
      options.replay.size = 9000;
      for (const int begin : {0, 20, 40}) {
        TestRun real(options), pretended(options);
        for (int k = 0; k < 8000; ++k) {
          real.Step();
          pretended.Step();
        }
        HitRate(real, 60 * 4 + begin);
        pretended.learner.PretendSteadyState(begin);
        EXPECT_NEAR(HitRate(pretended, 15), HitRate(real, 15), .03)
            << "mixer " << static_cast<int>(mixer) << " refresh " << static_cast<int>(refresh)
            << " after " << begin;
      }
    }
  }
}

TEST(Learner, EstimatesItsMemoryByItsParts) {
  RunOptions options = SmallRun();
  const Plan plan = MakePlan(AgentNetwork(options.agent, VectorInput(kInputs), kActions));
  const std::uint64_t single = Learner::EstimateBytes(options, plan);
  options.agent.mixer = MixerKind::kStable;
  EXPECT_GT(Learner::EstimateBytes(options, plan), single + 2 * sizeof(float) * plan.parameters);
  options.replay.size = 1'000'000;
  EXPECT_GT(Learner::EstimateBytes(options, plan), std::uint64_t{3} * 4'000'000 * (kActions + 1));
}

}  // namespace stableaa::learner_test
