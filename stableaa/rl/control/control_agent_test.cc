#include "stableaa/rl/control/control_agent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/env/registry.h"
#include "stableaa/rl/run/small_run_test.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::control_agent_test {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Pendulum's torques are in [-2, 2].
RunOptions Options(const std::string& preset, const std::vector<std::string>& assignments = {}) {
  std::vector<std::string> all = {"replay.size=300", "agent.target_interval_updates=10",
                                  "optimizer.learning_rate=0.01", "train.batch=16"};
  all.insert(all.end(), assignments.begin(), assignments.end());
  return SmallRunOptions("classic/pendulum", preset, all);
}

const std::vector<std::string>& ControlPresets() {
  static const std::vector<std::string> kPresets = {"ddpg",    "td3",        "td3-raa",   "sac",
                                                    "sac-raa", "td3-stable", "sac-stable"};
  return kPresets;
}

// An agent and its environments, without a trainer.
struct Play {
  explicit Play(const RunOptions& options)
      : environment(MakeEnvironment(options.train.env, options.env)),
        agent(MakeAgent(options, environment->spec())) {
    environment->Reset(1);
    for (int i = 0; i < environment->num_envs(); ++i) agent->Begin(i, environment->observations());
  }

  std::vector<float> Act() {
    const Actions actions = agent->Act(step, environment->observations(), random);
    return {actions.values.begin(), actions.values.end()};
  }

  // A step of all environments. Returns whether the last of them had an update.
  bool Step(double extra_reward = 0) {
    environment->Send(agent->Act(step, environment->observations(), random));
    bool updated = false;
    for (int i = 0; i < environment->num_envs(); ++i) {
      const std::span<const double> update = agent->Update(++step);
      updated = !update.empty();
      if (!updated) continue;
      EXPECT_EQ(update.size(), agent->update_metrics().size());
      metrics.insert(metrics.end(), update.begin(), update.end());
    }
    environment->Recv();
    for (int i = 0; i < environment->num_envs(); ++i) {
      const auto row = static_cast<std::size_t>(i);
      const bool ended = environment->ended(i);
      agent->Remember(
          i, {.reward = environment->rewards()[row] + extra_reward,
              .terminated = environment->terminated()[row] != 0,
              .truncated = environment->truncated()[row] != 0,
              .next = ended ? environment->final_observations() : environment->observations()});
      if (ended) agent->Begin(i, environment->observations());
      episodes += ended ? 1 : 0;
    }
    return updated;
  }
  void Steps(int count) {
    for (int k = 0; k < count; ++k) Step();
  }

  std::vector<std::byte> Saved(const TemporaryFolder& folder) const {
    agent->SaveFiles(folder.path());
    ByteWriter out;
    environment->Save(out);
    agent->Save(out);
    return {out.bytes().begin(), out.bytes().end()};
  }
  std::string Load(std::span<const std::byte> bytes, const TemporaryFolder& folder,
                   const Play& position) {
    return MessageOf([&] {
      ByteReader in(bytes, "state");
      environment->Load(in);
      agent->Load(in, folder.path(),
                  {.step = position.step,
                   .episodes = position.episodes,
                   .observations = environment->observations()});
      in.ExpectEnd();
      random = position.random;
      step = position.step;
      episodes = position.episodes;
    });
  }

  std::unique_ptr<Environment> environment;
  std::unique_ptr<Agent> agent;
  RandomStream random{1, "test"};
  std::int64_t step = 0, episodes = 0;
  std::vector<double> metrics;  // of all updates
};

TEST(ControlAgent, NeedsContinuousActionsWithFiniteBoundsAndVectors) {
  const RunOptions options = Options("td3");
  EXPECT_NE(MessageOf([&] {
              RequireAgentFits(options, MakeEnvironment("classic/cartpole")->spec());
            }).find("need continuous ones; presets that fit: "),
            std::string::npos);
  EnvironmentSpec spec = MakeEnvironment("classic/pendulum")->spec();
  EXPECT_NO_THROW(RequireAgentFits(options, spec));
  spec.action = Space::Floats({1}, {-HUGE_VALF}, {1});
  ExpectBadInput([&] { RequireAgentFits(options, spec); }, "element 0 of its actions");
  spec.action = Space::Floats({1}, {-1}, {1});
  spec.observation = Space::Bytes({10, 10, 4}, 1);
  spec.channel_axis = 2;
  ExpectBadInput([&] { RequireAgentFits(options, spec); }, "shows pictures");
}

TEST(ControlAgent, ActsUniformlyWithinTheBoundsUntilTheReplayHasStarted) {
  for (const std::string& preset : ControlPresets()) {
    Play play(Options(preset, {"replay.start=30"}));
    RandomStream expected(1, "test");
    for (int step = 0; step < 60; ++step) {
      const RandomStream before = play.random;
      const std::vector<float> action = play.Act();
      ASSERT_LE(std::abs(action[0]), 2);
      if (step < 30) {
        ASSERT_EQ(action[0], 2 * static_cast<float>(expected.Uniform(-1, 1))) << preset;
      }
      play.random = before;
      EXPECT_EQ(play.Step(), step + 1 > 30);
    }
    EXPECT_EQ(play.agent->updates(), 30);
  }
}

TEST(ControlAgent, UpdatesAtItsIntervals) {
  Play play(Options("td3", {"replay.start=10", "train.update_interval_steps=4"}));
  for (int step = 1; step <= 30; ++step) {
    EXPECT_EQ(play.Step(), step > 10 && step % 4 == 0) << step;
  }
}

// Means, deviations and correlations of noise / deviation in consecutive steps of an episode.
struct NoiseStatistics {
  double n = 0, mean = 0, square = 0, lagged = 0, first_square = 0;
};

// The noise is what the actor's best action, that of a player, is changed by.
NoiseStatistics MeasureNoise(const RunOptions& options, int episodes, int steps) {
  Play play(options);
  const double deviation = options.control.exploration_noise.At(0);
  ControlPlayer player(ControlAgent::PlanFor(options, play.environment->spec()),
                       play.environment->spec(), 1);
  Parameters middle(ControlAgent::PlanFor(options, play.environment->spec()));  // all 0
  play.agent->StartFrom(middle);
  play.step = options.replay.start;
  NoiseStatistics noise;
  for (int episode = 0; episode < episodes; ++episode) {
    // Begin needs the episode before to have ended.
    if (episode > 0) {
      play.agent->Remember(0, {.truncated = true, .next = play.environment->observations()});
      play.agent->Begin(0, play.environment->observations());
    }
    double before = 0;
    for (int step = 0; step < steps; ++step) {
      const double x = static_cast<double>(play.Act()[0]) / 2 / deviation;
      noise.n += 1;
      noise.mean += x;
      noise.square += x * x;
      noise.lagged += x * before;
      if (step == 0) noise.first_square += x * x / episodes;
      before = x;
    }
  }
  noise.mean /= noise.n;
  noise.square /= noise.n;
  noise.lagged /= noise.n;
  return noise;
}

// Limits are five standard deviations: a false alarm has probability 6e-7.
TEST(ControlAgent, ExploresWithGaussianNoise) {
  for (const std::string preset : {"ddpg", "td3"}) {
    const NoiseStatistics noise =
        MeasureNoise(Options(preset, {"control.exploration_noise=0.1"}), 100, 100);
    EXPECT_NEAR(noise.mean, 0, 5 / std::sqrt(noise.n));
    EXPECT_NEAR(noise.square, 1, 5 * std::sqrt(2 / noise.n));
    EXPECT_NEAR(noise.lagged, 0, 5 / std::sqrt(noise.n));
  }
}

// A first-order process with correlation ρ that begins at 0: its variance after k steps is
// 1 − ρ^2k. Means over n steps vary like those of n (1 − ρ) / (1 + ρ) independent ones.
TEST(ControlAgent, ExploresWithCorrelatedNoiseThatBeginsAnewWithEachEpisode) {
  constexpr double kKept = .8;
  const NoiseStatistics noise = MeasureNoise(
      Options("td3", {"control.exploration_noise=0.1", "control.noise_correlation=0.8"}), 400, 100);
  const double independent = noise.n * (1 - kKept) / (1 + kKept);
  const double squares = kKept * kKept / (1 - kKept * kKept) / 100;  // lost at the beginning
  EXPECT_NEAR(noise.mean, 0, 5 / std::sqrt(independent));
  EXPECT_NEAR(noise.square, 1 - squares, 5 * std::sqrt(2 / independent) + 1e-3);
  EXPECT_NEAR(noise.lagged, kKept * (1 - squares), 5 * std::sqrt(2 / independent) + .01);
  EXPECT_NEAR(noise.first_square, 1 - kKept * kKept, 5 * (1 - kKept * kKept) * std::sqrt(2. / 400));
}

TEST(ControlAgent, ClampsNoisyActionsToTheBounds) {
  Play play(Options("td3", {"control.exploration_noise=5", "replay.start=1"}));
  int at_bounds = 0;
  for (int k = 0; k < 200; ++k) {
    play.Step();
    const float action = play.Act()[0];
    ASSERT_LE(std::abs(action), 2);
    at_bounds += std::abs(action) == 2;
  }
  EXPECT_GT(at_bounds, 100);
}

TEST(ControlAgent, EvaluatesWithoutTouchingTraining) {
  for (const std::string& preset : ControlPresets()) {
    const RunOptions options = Options(preset);
    Play play(options), undisturbed(options);
    play.Steps(70);
    undisturbed.Steps(70);
    const auto games = MakeEnvironment(options.train.env, options.env);
    const auto first = play.agent->Evaluate(*games, options.eval, 5, {});
    const auto again = play.agent->Evaluate(*games, options.eval, 5, {});
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->returns, again->returns);
    EXPECT_FALSE(play.agent->Evaluate(*games, options.eval, 5, [] { return true; }).has_value());
    play.Steps(40);
    undisturbed.Steps(40);
    const TemporaryFolder a(TemporaryFolder::InMemory()), b(TemporaryFolder::InMemory());
    EXPECT_EQ(play.Saved(a), undisturbed.Saved(b)) << preset;
  }
}

TEST(FullControlAgent, GivesTheSameBytesForAnyNumberOfThreads) {
  for (const std::string preset : {"ddpg", "td3-stable", "sac-raa"}) {
    const auto bytes_with = [&](int threads) {
      Play play(Options(preset, {"train.threads=" + std::to_string(threads), "env.num_envs=2"}));
      play.Steps(100);  // of both environments
      const TemporaryFolder folder(TemporaryFolder::InMemory());
      return play.Saved(folder);
    };
    const std::vector<std::byte> expected = bytes_with(1);
    EXPECT_EQ(bytes_with(2), expected) << preset;
    EXPECT_EQ(bytes_with(3), expected) << preset;
  }
}

TEST(ControlAgent, LoadedItGoesOnWithTheSameBytes) {
  for (const std::string& preset : ControlPresets()) {
    for (const int steps : {0, 20, 41, 75, 150}) {
      SCOPED_TRACE(preset + " after " + std::to_string(steps));
      const RunOptions options =
          Options(preset, {"control.noise_correlation=0.5", "env.num_envs=2", "replay.size=64"});
      const TemporaryFolder folder(TemporaryFolder::InMemory());
      Play first(options), second(options);
      first.Steps(steps);
      const std::vector<std::byte> saved = first.Saved(folder);
      ASSERT_EQ(second.Load(saved, folder, first), "no error");
      first.metrics.clear();
      first.Steps(40);
      second.Steps(40);
      EXPECT_EQ(second.metrics, first.metrics);
      const TemporaryFolder a(TemporaryFolder::InMemory()), b(TemporaryFolder::InMemory());
      EXPECT_EQ(second.Saved(b), first.Saved(a));
    }
  }
}

TEST(ControlAgent, IsNotLoadedForAnotherPosition) {
  const RunOptions options = Options("sac");
  const TemporaryFolder folder(TemporaryFolder::InMemory());
  Play play(options), other(options);
  play.Steps(60);
  const std::vector<std::byte> saved = play.Saved(folder);
  Play position(options);
  position.step = 61;
  position.episodes = play.episodes;
  EXPECT_NE(other.Load(saved, folder, position).find("states that the replay has met"),
            std::string::npos);
  position.step = 60;
  EXPECT_EQ(other.Load(saved, folder, position), "no error");
}

TEST(ControlAgent, RefusesNoiseThatIsNotANumber) {
  const RunOptions options = Options("td3");
  const TemporaryFolder folder(TemporaryFolder::InMemory());
  Play play(options);
  play.Steps(60);
  std::vector<std::byte> saved = play.Saved(folder);
  std::ranges::fill(std::span(saved).last(sizeof(float)), std::byte{0xff});
  EXPECT_NE(play.Load(saved, folder, play).find("finite exploration noise"), std::string::npos);
}

TEST(ControlAgent, StopsAfterARewardThatIsNotANumber) {
  for (const std::string& preset : ControlPresets()) {
    Play play(Options(preset));
    play.Steps(60);
    play.Step(static_cast<double>(kNaN));
    const std::string message = MessageOf([&] { play.Steps(200); }, Error::Kind::kWorkFailed);
    EXPECT_NE(message.find("nan"), std::string::npos) << preset << ": " << message;
  }
}

TEST(ControlAgent, StopsWhenTheActorGivesNaN) {
  for (const std::string preset : {"ddpg", "td3", "sac"}) {
    Play play(Options(preset));
    Parameters diverged(ControlAgent::PlanFor(Options(preset), play.environment->spec()));
    std::ranges::fill(diverged.block(), kNaN);
    play.agent->StartFrom(diverged);
    play.Steps(40);  // at random
    EXPECT_EQ(MessageOf([&] { play.Act(); }, Error::Kind::kWorkFailed),
              "output 0 of the actor is nan: it has diverged");
  }
}

TEST(ControlAgent, ReportsTemperaturesOfSacAndSpreadsOfMixedCritics) {
  using Names = std::vector<std::string>;
  const auto metrics_of = [](const std::string& preset) {
    return Play(Options(preset)).agent->update_metrics();
  };
  EXPECT_EQ(metrics_of("td3"), (Names{"loss", "td_abs", "q_mean", "actor_value"}));
  EXPECT_EQ(metrics_of("td3-stable"),
            (Names{"loss", "td_abs", "q_mean", "actor_value", "alpha_spread"}));
  EXPECT_EQ(metrics_of("sac-stable"), (Names{"loss", "td_abs", "q_mean", "actor_value", "entropy",
                                             "temperature", "alpha_spread"}));
}

}  // namespace stableaa::control_agent_test
