#include "stableaa/env/rollout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/native_environment.h"
#include "stableaa/env/registry.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::rollout_test {

constexpr std::uint64_t kSeed = 5;

// Episodes of random length in which every observation reveals its position: element k is the
// number of steps since the episode began + k / 64. Rewards are quarters, so sums never depend on
// their order.
class Clock final : public Simulation {
 public:
  void Reset(RandomStream& random) override {
    steps_ = 0;
    length_ = static_cast<int>(random.Integer(1, 9));
  }
  Outcome Step(Action action, RandomStream& random) override {
    ++steps_;
    const double reward = .25 * static_cast<double>(random.Integer(-20, 20));
    return {reward + (action.values.empty() ? action.index : 0), steps_ == length_};
  }
  void Observe(Observation out) const override {
    for (std::size_t k = 0; k < out.floats.size(); ++k) {
      out.floats[k] = static_cast<float>(steps_) + static_cast<float>(k) / 64;
    }
  }
  void Draw(Picture& picture) const override {
    picture.Resize(1, 1);
    picture.Fill({.red = static_cast<std::uint8_t>(steps_)});
  }
  void Save(ByteWriter& /*out*/) const override {}
  void Load(ByteReader& /*in*/) override {}

 private:
  int steps_ = 0, length_ = 0;
};

EnvironmentSpec ClockSpec() {
  return {.id = "test/clock",
          .observation = Space::Floats({2, 3, 4}, {0}, {10}),
          .action = Space::Floats({2}, {-1}, {1})};
}

std::unique_ptr<Environment> MakeClock(const EnvironmentSpec& spec, bool render = false,
                                       int num_envs = 1) {
  return std::make_unique<NativeEnvironment>(
      spec, num_envs, [] { return std::make_unique<Clock>(); }, render);
}

// A RolloutStep whose views outlive the call.
struct Step {
  std::int64_t step = 0, episode = 0;
  std::vector<std::int32_t> indices;
  std::vector<float> values;
  double reward = 0;
  bool terminated = false, truncated = false;
  std::vector<float> observation;
  double return_so_far = 0;
  std::optional<Picture> frame = {};

  bool ended() const { return terminated || truncated; }
};

Step Kept(const RolloutStep& step) {
  Step kept{.step = step.step,
            .episode = step.episode,
            .indices = {step.action.indices.begin(), step.action.indices.end()},
            .values = {step.action.values.begin(), step.action.values.end()},
            .reward = step.reward,
            .terminated = step.terminated,
            .truncated = step.truncated,
            .observation = {step.observation.bytes.begin(), step.observation.bytes.end()},
            .return_so_far = step.return_so_far};
  kept.observation.insert(kept.observation.end(), step.observation.floats.begin(),
                          step.observation.floats.end());
  if (step.frame != nullptr) kept.frame = *step.frame;
  return kept;
}

struct Recording {
  RolloutSummary summary;
  std::vector<Step> steps;
};

Recording Play(Environment& environment, const std::string& policy_name, std::int64_t episodes) {
  FixedPolicy policy(policy_name, environment.spec(), kSeed);
  Recording run;
  run.summary = Rollout(environment, policy, episodes, kSeed,
                        [&run](const RolloutStep& step) { run.steps.push_back(Kept(step)); });
  return run;
}

// --- statistics, by the definitions

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double DeviationOf(const std::vector<double>& values) {
  double squares = 0, sum = 0;
  for (const double value : values) {
    squares += value * value;
    sum += value;
  }
  const auto n = static_cast<double>(values.size());
  return std::sqrt((squares - sum * sum / n) / (n - 1));
}

void ExpectSummaryOf(const std::vector<Step>& steps, const RolloutSummary& summary) {
  std::vector<double> returns, lengths;
  double sum = 0, length = 0;
  for (const Step& step : steps) {
    sum += step.reward;
    length += 1;
    if (!step.ended()) continue;
    returns.push_back(sum);
    lengths.push_back(length);
    sum = length = 0;
  }
  EXPECT_EQ(length, 0) << "steps behind the last episode";
  EXPECT_EQ(summary.episodes, static_cast<std::int64_t>(returns.size()));
  EXPECT_DOUBLE_EQ(summary.return_mean, MeanOf(returns));
  EXPECT_DOUBLE_EQ(summary.length_mean, MeanOf(lengths));
  EXPECT_NEAR(summary.return_std, DeviationOf(returns), 1e-9);
  EXPECT_NEAR(summary.length_std, DeviationOf(lengths), 1e-9);
}

TEST(Rollout, SummaryIsThatOfItsSteps) {
  const auto clock = MakeClock(ClockSpec());
  const Recording run = Play(*clock, "random", 40);
  ExpectSummaryOf(run.steps, run.summary);
  EXPECT_GT(run.summary.length_std, 1);
  EXPECT_TRUE(run.summary.channel_mean.empty());
}

// Includes episodes that terminate and episodes that are truncated.
TEST(Rollout, SummaryOfRealEnvironments) {
  const auto cartpole = MakeEnvironment("classic/cartpole", {.max_episode_steps = 20});
  const Recording mixed = Play(*cartpole, "random", 20);
  ExpectSummaryOf(mixed.steps, mixed.summary);
  EXPECT_TRUE(std::ranges::any_of(mixed.steps, &Step::terminated));
  EXPECT_TRUE(std::ranges::any_of(mixed.steps, &Step::truncated));

  const auto pendulum = MakeEnvironment("classic/pendulum", {.max_episode_steps = 30});
  const Recording cut = Play(*pendulum, "random", 3);
  ExpectSummaryOf(cut.steps, cut.summary);
  EXPECT_EQ(cut.summary.length_mean, 30);
  EXPECT_EQ(cut.summary.length_std, 0);
  EXPECT_LT(cut.summary.return_mean, 0);
}

TEST(Rollout, OneEpisodeHasNoStandardDeviation) {
  const auto clock = MakeClock(ClockSpec());
  const RolloutSummary summary = Play(*clock, "random", 1).summary;
  EXPECT_TRUE(std::isfinite(summary.return_mean));
  EXPECT_TRUE(std::isnan(summary.return_std));
  EXPECT_TRUE(std::isnan(summary.length_std));
  const RolloutSummary two = Play(*clock, "random", 2).summary;
  EXPECT_FALSE(std::isnan(two.return_std));
}

// The mean of observation[i][j][k] over all elements with a given index on the channel axis, and
// over all steps.
TEST(Rollout, ChannelMeansForAnyAxis) {
  for (const int axis : {0, 1, 2}) {
    EnvironmentSpec spec = ClockSpec();
    spec.channel_axis = axis;
    const auto clock = MakeClock(spec);
    const Recording run = Play(*clock, "random", 15);
    std::vector<double> sums(static_cast<std::size_t>(spec.channels()));
    for (const Step& step : run.steps) {
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
          for (std::size_t k = 0; k < 4; ++k) {
            const std::size_t channel = axis == 0 ? i : axis == 1 ? j : k;
            sums[channel] += step.observation[(i * 3 + j) * 4 + k];
          }
        }
      }
    }
    ASSERT_EQ(run.summary.channel_mean.size(), sums.size());
    const double elements = 24.0 / static_cast<double>(sums.size());
    for (std::size_t channel = 0; channel < sums.size(); ++channel) {
      EXPECT_DOUBLE_EQ(run.summary.channel_mean[channel],
                       sums[channel] / (elements * static_cast<double>(run.steps.size())))
          << axis << " " << channel;
    }
  }
}

// Only observations after a step count, so an episode of n steps contributes 1 to n and never 0:
// with one channel of one element, the mean is sum n (n + 1) / 2 over sum n.
TEST(Rollout, ChannelMeansIncludeTheLastObservationAndNotTheFirst) {
  EnvironmentSpec spec = ClockSpec();
  spec.observation = Space::Floats({1}, {0}, {10});
  spec.channel_axis = 0;
  const auto clock = MakeClock(spec);
  const Recording run = Play(*clock, "random", 25);
  double sum = 0;
  for (std::size_t s = 0; s < run.steps.size(); ++s) {
    if (!run.steps[s].ended()) continue;
    const double n = run.steps[s].observation[0];
    sum += n * (n + 1) / 2;
  }
  ASSERT_EQ(run.summary.channel_mean.size(), 1U);
  EXPECT_DOUBLE_EQ(run.summary.channel_mean[0], sum / static_cast<double>(run.steps.size()));
}

TEST(Rollout, ChannelMeansOfMinatarAreFrequenciesOfObjects) {
  const auto breakout = MakeEnvironment("minatar/breakout");
  const Recording run = Play(*breakout, "random", 20);
  ExpectSummaryOf(run.steps, run.summary);
  std::vector<double> counts(4);
  for (const Step& step : run.steps) {
    for (std::size_t k = 0; k < step.observation.size(); ++k) {
      counts[k % 4] += step.observation[k];
    }
  }
  ASSERT_EQ(run.summary.channel_mean.size(), 4U);
  for (std::size_t channel = 0; channel < 4; ++channel) {
    EXPECT_DOUBLE_EQ(run.summary.channel_mean[channel],
                     counts[channel] / (100 * static_cast<double>(run.steps.size())));
  }
  EXPECT_DOUBLE_EQ(run.summary.channel_mean[0], .01);  // there is one paddle
}

// --- steps

TEST(Rollout, StepsAreNumberedAndShowTheObservationAfterThem) {
  const auto clock = MakeClock(ClockSpec(), /*render=*/true);
  const Recording run = Play(*clock, "random", 10);
  std::int64_t step = 0, episode = 1;
  float since = 0;
  double sum = 0;
  for (const Step& found : run.steps) {
    EXPECT_EQ(found.step, ++step);
    EXPECT_EQ(found.episode, episode);
    EXPECT_EQ(found.observation[0], ++since);  // at an end too, never the next episode's 0
    EXPECT_EQ(found.return_so_far, sum += found.reward);
    EXPECT_EQ(found.values.size(), 2U);
    ASSERT_TRUE(found.frame.has_value());
    EXPECT_EQ(static_cast<float>(found.frame->at(0, 0).red), since);
    if (!found.ended()) continue;
    ++episode;
    since = 0;
    sum = 0;
  }
  EXPECT_EQ(episode, 11);
}

TEST(Rollout, IsWhatSteppingTheEnvironmentGives) {
  const auto environment = MakeEnvironment("minatar/asterix");
  const Recording run = Play(*environment, "random", 3);
  const auto other = MakeEnvironment("minatar/asterix");
  FixedPolicy policy("random", other->spec(), kSeed);
  other->Reset(kSeed);
  for (const Step& step : run.steps) {
    const Actions actions = policy.Act(other->observations());
    EXPECT_TRUE(std::ranges::equal(step.indices, actions.indices));
    EXPECT_FALSE(step.frame.has_value());
    other->Step(actions);
    const auto seen = other->ended(0) ? other->final_observations() : other->observations();
    ASSERT_TRUE(std::ranges::equal(step.observation, seen.bytes)) << step.step;
    ASSERT_EQ(step.reward, other->rewards()[0]);
    ASSERT_EQ(step.terminated, other->terminated()[0] != 0);
    ASSERT_EQ(step.truncated, other->truncated()[0] != 0);
  }
}

TEST(Rollout, BeginsAnewWhateverHappenedBefore) {
  const auto environment = MakeEnvironment("minatar/seaquest");
  const Recording first = Play(*environment, "random", 2);
  const Recording second = Play(*environment, "random", 2);
  EXPECT_EQ(first.steps.size(), second.steps.size());
  EXPECT_EQ(first.summary.return_mean, second.summary.return_mean);
  EXPECT_EQ(first.summary.channel_mean, second.summary.channel_mean);
  FixedPolicy policy("random", environment->spec(), kSeed);
  EXPECT_EQ(Rollout(*environment, policy, 2, kSeed).channel_mean, first.summary.channel_mean);
}

TEST(Rollout, TakesOneEnvironment) {
  const auto clocks = MakeClock(ClockSpec(), /*render=*/false, 2);
  FixedPolicy policy("random", clocks->spec(), kSeed);
  EXPECT_THROW(Rollout(*clocks, policy, 1, kSeed), std::logic_error);
}

// --- traces

class TraceTest : public testing::Test {
 protected:
  std::string path() const { return (directory_ / "trace.csv").string(); }

  // Runs and reads the trace back as lines of fields.
  std::vector<std::vector<std::string>> Trace(Environment& environment, std::int64_t episodes,
                                              std::vector<Step>& steps) {
    FixedPolicy policy("random", environment.spec(), kSeed);
    TraceWriter writer(path(), environment.spec());
    Rollout(environment, policy, episodes, kSeed, [&](const RolloutStep& step) {
      steps.push_back(Kept(step));
      writer.Add(step);
    });
    EXPECT_FALSE(std::filesystem::exists(path()));
    writer.Finish();
    return Lines();
  }

  std::vector<std::vector<std::string>> Lines() const {
    const std::string text = ReadTextFile(path(), 10'000'000);
    EXPECT_TRUE(text.ends_with('\n'));
    std::vector<std::vector<std::string>> lines(1);
    std::string field;
    for (const char c : text) {
      if (c != ',' && c != '\n') {
        field += c;
        continue;
      }
      lines.back().push_back(field);
      field.clear();
      if (c == '\n') lines.emplace_back();
    }
    lines.pop_back();
    return lines;
  }

  const TemporaryFolder directory_;
};

float ToFloat(const std::string& text) { return std::strtof(text.c_str(), nullptr); }

// Every field equals the step's, to the last bit.
void ExpectLines(const std::vector<std::vector<std::string>>& lines,
                 const std::vector<Step>& steps) {
  ASSERT_EQ(lines.size(), steps.size() + 1);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const std::vector<std::string>& line = lines[s + 1];
    const Step& step = steps[s];
    ASSERT_EQ(line.size(), lines[0].size());
    std::size_t field = 0;
    EXPECT_EQ(line[field++], std::to_string(step.step));
    for (const std::int32_t index : step.indices) EXPECT_EQ(line[field++], std::to_string(index));
    for (const float value : step.values) EXPECT_EQ(ToFloat(line[field++]), value);
    EXPECT_EQ(std::strtod(line[field++].c_str(), nullptr), step.reward);
    EXPECT_EQ(line[field++], step.terminated ? "1" : "0");
    EXPECT_EQ(line[field++], step.truncated ? "1" : "0");
    for (const float value : step.observation) ASSERT_EQ(ToFloat(line[field++]), value);
    EXPECT_EQ(field, line.size());
  }
}

std::string Joined(const std::vector<std::string>& fields) {
  std::string text;
  for (const std::string& field : fields) text += text.empty() ? field : ',' + field;
  return text;
}

TEST_F(TraceTest, OfFloatsAndADiscreteAction) {
  const auto cartpole = MakeEnvironment("classic/cartpole", {.max_episode_steps = 18});
  std::vector<Step> steps;
  const auto lines = Trace(*cartpole, 8, steps);
  EXPECT_EQ(Joined(lines[0]), "step,action,reward,terminated,truncated,obs_0,obs_1,obs_2,obs_3");
  ExpectLines(lines, steps);
  EXPECT_TRUE(std::ranges::any_of(steps, &Step::truncated));
  EXPECT_TRUE(std::ranges::any_of(steps, &Step::terminated));
}

TEST_F(TraceTest, OfABoxOfActions) {
  EnvironmentSpec spec = ClockSpec();
  spec.observation = Space::Floats({2}, {0}, {10});
  const auto clock = MakeClock(spec);
  std::vector<Step> steps;
  const auto lines = Trace(*clock, 12, steps);
  EXPECT_EQ(Joined(lines[0]), "step,action_0,action_1,reward,terminated,truncated,obs_0,obs_1");
  ExpectLines(lines, steps);
  // The line of an end has the last observation of its episode; the line after it has the next
  // episode's first observation after a step.
  for (std::size_t s = 1; s + 1 < lines.size(); ++s) {
    if (lines[s][4] != "1") continue;
    EXPECT_GE(ToFloat(lines[s][6]), 1);
    EXPECT_EQ(lines[s + 1][6], "1");
  }
}

TEST_F(TraceTest, OfRewardsThatAreNotRound) {
  const auto pendulum = MakeEnvironment("classic/pendulum", {.max_episode_steps = 50});
  std::vector<Step> steps;
  const auto lines = Trace(*pendulum, 2, steps);
  EXPECT_EQ(lines.size(), 101U);
  EXPECT_EQ(Joined(lines[0]), "step,action,reward,terminated,truncated,obs_0,obs_1,obs_2");
  ExpectLines(lines, steps);
}

TEST_F(TraceTest, OfBytes) {
  const auto freeway = MakeEnvironment("minatar/freeway", {.max_episode_steps = 20});
  std::vector<Step> steps;
  const auto lines = Trace(*freeway, 2, steps);
  EXPECT_EQ(lines[0].size(), 5U + 700U);
  EXPECT_EQ(lines[0].back(), "obs_699");
  ExpectLines(lines, steps);
  for (std::size_t s = 1; s < lines.size(); ++s) {
    for (std::size_t k = 5; k < lines[s].size(); ++k) {
      ASSERT_TRUE(lines[s][k] == "0" || lines[s][k] == "1");
    }
  }
}

TEST_F(TraceTest, KeepsEveryNumberToTheLastBit) {
  using Float = std::numeric_limits<float>;
  using Double = std::numeric_limits<double>;
  const std::vector<float> values = {
      .1F, -0.F, Float::denorm_min(), Float::max(), -1.F / 3, Float::infinity(), 16'777'216.F};
  const std::vector<double> rewards = {.1, -0., Double::denorm_min(), -Double::max(), 1. / 3};
  EnvironmentSpec spec = ClockSpec();
  spec.observation = Space::Floats({7}, {-Float::infinity()}, {Float::infinity()});
  spec.action = Space::Discrete(9);
  TraceWriter writer(path(), spec);
  const std::vector<std::int32_t> action = {8};
  for (const double reward : rewards) {
    writer.Add({.step = std::int64_t{1} << 60,
                .action = {.indices = action},
                .reward = reward,
                .observation = {.floats = values}});
  }
  writer.Finish();
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), rewards.size() + 1);
  for (std::size_t s = 0; s < rewards.size(); ++s) {
    const std::vector<std::string>& line = lines[s + 1];
    EXPECT_EQ(line[0], "1152921504606846976");
    EXPECT_EQ(line[1], "8");
    EXPECT_EQ(std::bit_cast<std::uint64_t>(std::strtod(line[2].c_str(), nullptr)),
              std::bit_cast<std::uint64_t>(rewards[s]));
    for (std::size_t k = 0; k < values.size(); ++k) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(ToFloat(line[5 + k])),
                std::bit_cast<std::uint32_t>(values[k]));
    }
  }
}

TEST_F(TraceTest, WithoutFinishThereIsNoFile) {
  { TraceWriter writer(path(), ClockSpec()); }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  EXPECT_THROW(TraceWriter((directory_ / "missing" / "trace.csv").string(), ClockSpec()), Error);
}

}  // namespace stableaa::rollout_test
