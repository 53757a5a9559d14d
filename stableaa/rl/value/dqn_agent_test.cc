#include "stableaa/rl/value/dqn_agent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
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

namespace stableaa::dqn_agent_test {

// An agent and its environment, without a trainer.
struct Play {
  explicit Play(const RunOptions& options)
      : environment(MakeEnvironment(options.train.env, options.env)),
        agent(MakeAgent(options, environment->spec())) {
    environment->Reset(1);
  }

  // Returns true if there was an update.
  bool Step() {
    environment->Send(agent->Act(step, environment->observations(), random));
    const std::span<const double> update = agent->Update(++step);
    environment->Recv();
    const bool ended = environment->ended(0);
    agent->Remember(
        0, {.reward = environment->rewards()[0],
            .terminated = environment->terminated()[0] != 0,
            .truncated = environment->truncated()[0] != 0,
            .next = ended ? environment->final_observations() : environment->observations()});
    if (ended) agent->Begin(0, environment->observations());
    episodes += ended ? 1 : 0;
    EXPECT_TRUE(update.empty() || update.size() == agent->update_metrics().size());
    return !update.empty();
  }

  std::unique_ptr<Environment> environment;
  std::unique_ptr<Agent> agent;
  RandomStream random{1, "test"};
  std::int64_t step = 0, episodes = 0;
};

RunOptions Options(const std::vector<std::string>& assignments = {}) {
  return SmallRunOptions("classic/cartpole", "stable-aa", assignments);
}

TEST(DqnAgent, NeedsDiscreteActions) {
  const RunOptions options = Options({"train.env=classic/pendulum"});
  const EnvironmentSpec spec = MakeEnvironment("classic/pendulum")->spec();
  EXPECT_EQ(MessageOf([&] { RequireAgentFits(options, spec); }),
            "classic/pendulum has continuous actions (float 1 in [-2, 2]), and agents of preset "
            "stable-aa (agent.algorithm = dqn) choose among numbered ones; presets that fit: ddpg, "
            "sac, sac-raa, sac-stable, td3, td3-raa, td3-stable");
}

TEST(DqnAgent, UpdatesAtItsIntervalsOnceTheReplayHasStarted) {
  Play play(Options({"replay.start=10", "train.update_interval_steps=4"}));
  play.agent->Begin(0, play.environment->observations());
  for (int step = 1; step <= 30; ++step) {
    EXPECT_EQ(play.Step(), step > 10 && step % 4 == 0) << step;
  }
  EXPECT_EQ(play.agent->updates(), 5);
}

TEST(DqnAgent, LoadedItGoesOnTheSame) {
  const TemporaryFolder folder(TemporaryFolder::InMemory());
  const RunOptions options = Options({"replay.size=64"});
  Play first(options), second(options);
  first.agent->Begin(0, first.environment->observations());
  for (int step = 0; step < 100; ++step) first.Step();
  first.agent->SaveFiles(folder.path());
  ByteWriter out;
  first.environment->Save(out);
  first.agent->Save(out);

  ByteReader in(out.bytes(), "state");
  second.environment->Load(in);
  second.agent->Load(in, folder.path(),
                     {.step = first.step,
                      .episodes = first.episodes,
                      .observations = second.environment->observations()});
  in.ExpectEnd();
  second.random = first.random;
  second.step = first.step;
  for (int step = 0; step < 50; ++step) {
    first.Step();
    second.Step();
  }
  EXPECT_EQ(first.agent->updates(), second.agent->updates());
  EXPECT_TRUE(std::ranges::equal(first.agent->weights().block(), second.agent->weights().block()));
}

TEST(DqnAgent, IsNotLoadedForAnotherPosition) {
  const TemporaryFolder folder(TemporaryFolder::InMemory());
  Play play(Options());
  play.agent->Begin(0, play.environment->observations());
  for (int step = 0; step < 20; ++step) play.Step();
  play.agent->SaveFiles(folder.path());
  ByteWriter out;
  play.agent->Save(out);
  const auto load_at = [&](std::int64_t step) {
    ByteReader in(out.bytes(), "state");
    play.agent->Load(in, folder.path(),
                     {.step = step,
                      .episodes = play.episodes,
                      .observations = play.environment->observations()});
  };
  EXPECT_NE(MessageOf([&] { load_at(21); }).find("states that the replay has met"),
            std::string::npos);
  EXPECT_EQ(MessageOf([&] { load_at(20); }), "no error");
}

}  // namespace stableaa::dqn_agent_test
