// Checkpoints with correct checksums but wrong numbers. Each is refused, naming the file, and
// changes nothing, or it does no harm.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/run/checkpoint_fields_test.h"
#include "stableaa/rl/run/checkpoint_head.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/rl/run/small_run_test.h"
#include "stableaa/rl/run/trainer.h"
#include "stableaa/testing/message.h"

namespace stableaa::checkpoint_test {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kLarge = std::numeric_limits<std::int64_t>::max();

std::uint64_t Bits(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint64_t FloatBits(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint64_t Signed(std::int64_t value) { return static_cast<std::uint64_t>(value); }

void Set(Bytes& payload, const CheckpointField& field, std::uint64_t value) {
  for (std::size_t i = 0; i < field.bytes; ++i) {
    payload[field.offset + i] = static_cast<std::byte>(value >> (8 * i));
  }
}

struct Patch {
  std::string field;
  std::uint64_t value = 0;
};

constexpr std::int64_t kStep = 110;
constexpr std::int64_t kSegmentStates = 8;

RunOptions Options(const std::string& preset, const std::vector<std::string>& assignments) {
  std::vector<std::string> all = {"replay.size=64", "agent.weights.batch=8",
                                  "checkpoint.interval_steps=1000", "network.hidden=[3]"};
  all.insert(all.end(), assignments.begin(), assignments.end());
  // Agents with continuous actions balance a pendulum.
  const bool is_control =
      IsControl(SmallRunOptions("classic/cartpole", preset, {}).agent.algorithm);
  return SmallRunOptions(is_control ? "classic/pendulum" : "classic/cartpole", preset, all);
}

// A run that was stopped in step 110 and whose numbers can all be changed.
class StoppedRun {
 public:
  StoppedRun(const fs::path& directory, const RunOptions& options) : directory_(directory) {
    const std::unique_ptr<Trainer> trainer = Trainer::Start(directory, options);
    EXPECT_FALSE(trainer->Run({.stop = [&] { return trainer->step() >= kStep; }}));
    payload_ = ReadCheckedFile(state(), kCheckpointKind, kCheckpointVersion).payload;
    fields_ =
        std::make_unique<CheckpointFields>(payload_, ShapeOfCheckpoint(options, kSegmentStates));
  }

  fs::path state() const { return directory_ / "checkpoint/state.bin"; }
  fs::path segment(std::int64_t number) const {
    return directory_ / fmt::format("checkpoint/segment-{:08}.bin", number);
  }
  const fs::path& directory() const { return directory_; }
  const CheckpointFields& fields() const { return *fields_; }

  std::uint64_t Get(const std::string& name) const {
    const CheckpointField& field = fields()[name];
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < field.bytes; ++i) {
      value |= std::to_integer<std::uint64_t>(payload_[field.offset + i]) << (8 * i);
    }
    return value;
  }

  void Write(const Bytes& payload) const {
    WriteCheckedFile(state(), kCheckpointKind, kCheckpointVersion, payload);
  }
  void WriteWith(const std::vector<Patch>& patches) const {
    Bytes changed = payload_;
    for (const Patch& patch : patches) Set(changed, fields()[patch.field], patch.value);
    Write(changed);
  }
  void WriteWith(const CheckpointField& field, std::uint64_t value) const {
    Bytes changed = payload_;
    Set(changed, field, value);
    Write(changed);
  }
  // Writes the segment's file and its checksum in the state.
  void WriteSegmentWith(std::int64_t number, const std::string& field, std::uint64_t value) const {
    Bytes segment_payload = ReadCheckedFile(segment(number), "replay", 1).payload;
    for (const CheckpointField& one : CheckpointFields::OfSegment(
             segment_payload, fields().compressed(), fields().action_floats())) {
      if (one.name == field) Set(segment_payload, one, value);
    }
    WriteCheckedFile(segment(number), "replay", 1, segment_payload);
    const auto checksum =
        crc32_z(0, reinterpret_cast<const Bytef*>(segment_payload.data()), segment_payload.size());
    WriteWith({{fmt::format("replay.checksum[{}]", number), checksum}});
  }

 private:
  fs::path directory_;
  Bytes payload_;
  std::unique_ptr<CheckpointFields> fields_;
};

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() { SetLogLevel(LogLevel::kSilent); }
  ~CheckpointTest() override { SetLogLevel(LogLevel::kInfo); }

  static std::unique_ptr<Trainer> Resume(const StoppedRun& run) {
    return Trainer::Resume(run.directory(), {.steps = 240});
  }

  // Expects a refusal that names `file` and has these words, with nothing changed.
  static void ExpectRefusal(const StoppedRun& run, const fs::path& file,
                            const std::vector<std::string>& words) {
    const Snapshot before = SnapshotOf(run.directory());
    const std::string message = MessageOf([&run] { Resume(run); });
    EXPECT_NE(message.find(file.string()), std::string::npos) << message;
    for (const std::string& word : words) {
      EXPECT_NE(message.find(word), std::string::npos) << message << "\nlacks " << word;
    }
    ExpectUnchanged(run.directory(), before);
  }
  static void ExpectRefused(const StoppedRun& run, const std::vector<Patch>& patches,
                            const std::vector<std::string>& words) {
    SCOPED_TRACE(fmt::format("{} = {:x}", patches.front().field, patches.front().value));
    run.WriteWith(patches);
    ExpectRefusal(run, run.state(), words);
  }

  FolderOfRuns folder_;
};

class FullCheckpointTest : public CheckpointTest {};

const std::vector<std::string> kPrioritised = {
    "agent.n_step=3", "replay.prioritized=true", "replay.importance_steps=200",
    "agent.weights.refresh=update", "train.lookahead_updates=2"};

TEST_F(CheckpointTest, IsSoundToBeginWith) {
  const StoppedRun run(folder_ / "run", Options("stable-aa", kPrioritised));
  const std::unique_ptr<Trainer> trainer = Resume(run);
  ASSERT_TRUE(trainer);
  EXPECT_EQ(trainer->step(), kStep);
  EXPECT_EQ(run.Get("step"), 110U);
  EXPECT_EQ(run.Get("evaluated_step"), 80U);
  EXPECT_EQ(run.Get("logged_step"), 90U);
  EXPECT_EQ(run.Get("learner.updates"), 70U);
  EXPECT_EQ(run.Get("replay.next_id"), 111 + run.Get("episodes"));
}

// This one used to crash: an action's number is an index into the networks' values.
TEST_F(CheckpointTest, ActionsAreThoseOfTheEnvironment) {
  const StoppedRun run(folder_ / "run", Options("stable-aa", kPrioritised));
  const std::int64_t oldest = static_cast<std::int64_t>(run.Get("replay.oldest"));
  for (const std::uint64_t action : {std::uint64_t{2}, std::uint64_t{1000000},
                                     std::uint64_t{0x7fffffff}, std::uint64_t{0x80000000}}) {
    const std::string found =
        fmt::format("found {}", static_cast<std::int32_t>(static_cast<std::uint32_t>(action)));
    ExpectRefused(run, {{"replay.segment.state[0].action", action}},
                  {"expected an action from 0 to 1", found});
    run.WriteSegmentWith(oldest + 1, "segment.state[3].action", action);
    ExpectRefusal(run, run.segment(oldest + 1), {"expected an action from 0 to 1", found});
  }
}

TEST_F(CheckpointTest, SegmentsAreChecked) {
  const StoppedRun run(folder_ / "run", Options("stable-aa", kPrioritised));
  const std::int64_t number = static_cast<std::int64_t>(run.Get("replay.oldest")) + 2;
  const std::string content = FileContent(run.segment(number));
  const auto expect = [&](const std::string& field, std::uint64_t value,
                          const std::vector<std::string>& words) {
    SCOPED_TRACE(field);
    WriteContent(run.segment(number), content);
    run.WriteSegmentWith(number, field, value);
    ExpectRefusal(run, run.segment(number), words);
  };
  expect("segment.number", 77, {"found segment 77"});
  expect("segment.states", 7, {"expected 8 states, found 7"});
  expect("segment.frames", 9, {"found 9"});
  expect("segment.state[2].frame", 9, {"newest frame", "found 9"});
  expect("segment.state[2].frame", 0, {"newest frame", "found 0"});
  expect("segment.state[2].reward", FloatBits(std::numeric_limits<float>::infinity()),
         {"finite reward", "inf"});
  expect("segment.state[2].flags", 4, {"flags 4"});
  expect("segment.blobs.length", 3, {});
}

TEST_F(CheckpointTest, TheReplayIsChecked) {
  const StoppedRun run(folder_ / "run", Options("stable-aa", kPrioritised));
  for (const char* const option : {"stack", "frame_bytes", "size", "compression", "n_step",
                                   "discount", "priority_exponent", "priority_floor"}) {
    ExpectRefused(run, {{std::string("replay.") + option, 5}}, {"expected a replay with"});
  }
  ExpectRefused(run, {{"replay.prioritized", 0}}, {"replay.prioritized"});
  ExpectRefused(run, {{"replay.next_id", 0}}, {});
  ExpectRefused(run, {{"replay.next_id", run.Get("replay.next_id") + 1}}, {"expected"});
  ExpectRefused(run, {{"replay.next_id", Signed(kLarge)}}, {"states, found"});
  ExpectRefused(run, {{"replay.oldest", run.Get("replay.oldest") - 1}}, {"segments from"});
  ExpectRefused(run, {{"replay.oldest", Signed(-1)}}, {"segments from"});
  ExpectRefused(run, {{"replay.max_priority", Bits(.5)}}, {"largest priority", "0.5"});
  ExpectRefused(run, {{"replay.max_priority", Bits(kNaN)}}, {"largest priority"});
  for (const double priority : {-1., 0., 1e300, kInfinity, kNaN}) {
    ExpectRefused(run, {{"replay.priority[5]", Bits(priority)}}, {"expected a priority of"});
  }
  // The last state of an episode is the newest: nothing could be added to it.
  const std::uint64_t states = run.Get("replay.segment.states");
  ASSERT_GE(states, 2U);
  ExpectRefused(run, {{fmt::format("replay.segment.state[{}].flags", states - 2), 1}}, {});
}

TEST_F(CheckpointTest, StepsEpisodesAndRowsFitTogether) {
  const StoppedRun run(folder_ / "run", Options("stable-aa", kPrioritised));
  const std::uint64_t episodes = run.Get("episodes");
  ASSERT_GT(episodes, 1U);
  ExpectRefused(run, {{"step", Signed(-1)}}, {"expected a step of 0 or more"});
  ExpectRefused(run, {{"step", 111}}, {"states that the replay has met"});
  ExpectRefused(run, {{"step", 109}}, {"at most 19 numbers"});
  ExpectRefused(run, {{"step", 200}}, {"last evaluated step"});
  ExpectRefused(run, {{"evaluated_step", 79}}, {"expected 80 as the last evaluated step"});
  ExpectRefused(run, {{"evaluated_step", 110}}, {"expected 80 as the last evaluated step"});
  ExpectRefused(run, {{"evaluated_step", 0}}, {"expected 80 as the last evaluated step"});
  ExpectRefused(run, {{"episodes", episodes + 1}}, {"lines of episodes.csv"});
  ExpectRefused(run, {{"episodes", Signed(-1)}}, {"0 to 110 episodes, found -1"});
  ExpectRefused(run, {{"episodes", Signed(kLarge)}}, {"episodes, found"});
  ExpectRefused(run, {{"episode_return", Bits(kNaN)}}, {"finite return"});
  ExpectRefused(run, {{"episode_length", 111}}, {"steps of the present episode, found 111"});
  ExpectRefused(run, {{"episode_length", Signed(-1)}}, {"found -1"});
  for (const std::int64_t step : {-1L, 0L, 60L, 91L, 120L}) {
    ExpectRefused(run, {{"logged_step", Signed(step)}},
                  {"expected 90 as the last step with a row"});
  }
  for (const std::string log : {"metrics", "episodes", "events"}) {
    ExpectRefused(run, {{"log." + log + ".rows", Signed(kLarge)}}, {"rows of a log"});
    ExpectRefused(run, {{"log." + log + "[1].bytes", 0}}, {"0 bytes"});
  }
}

TEST_F(CheckpointTest, SumsAndMeansAreNumbers) {
  const StoppedRun run(folder_ / "run", Options("stable-aa", kPrioritised));
  for (const std::string sum : {"loss", "td_abs", "q_mean", "episode_return", "episode_length"}) {
    ExpectRefused(run, {{"sums." + sum + ".sum", Bits(kInfinity)}}, {"finite sum"});
    ExpectRefused(run, {{"sums." + sum + ".count", Signed(-1)}}, {"found"});
    ExpectRefused(run, {{"sums." + sum + ".count", 21}}, {"at most 20 numbers"});
    ExpectRefused(run, {{"sums." + sum + ".count", 19}}, {"the same"});
    ExpectRefused(run, {{"sums." + sum + ".count", 0}}, {"finite sum"});
  }
  ExpectRefused(run, {{"best_return", Bits(-kInfinity)}}, {"finite best return"});
  ExpectRefused(run, {{"best_return", Bits(kNaN)}}, {"finite best return"});
  ExpectRefused(run, {{"wall_seconds", Bits(-1)}}, {"seconds", "-1"});
  ExpectRefused(run, {{"wall_seconds", Bits(kNaN)}}, {"seconds"});
}

TEST_F(CheckpointTest, RandomStreamsAreThoseOfTheSeed) {
  const StoppedRun run(folder_ / "run", Options("stable-aa", kPrioritised));
  for (const std::string stream :
       {"exploration", "environment.random", "replay_random", "weights_random"}) {
    ExpectRefused(run, {{stream + ".key0", 2}}, {"random stream"});
    ExpectRefused(run, {{stream + ".key1", 2}}, {"random stream"});
    ExpectRefused(run, {{stream + ".position", 4}}, {"position of 0 to 3, found 4"});
  }
}

TEST_F(CheckpointTest, TheEnvironmentIsWhereTheReplayIs) {
  const StoppedRun run(folder_ / "run", Options("stable-aa", kPrioritised));
  ExpectRefused(run, {{"environment.count", 2}}, {"environments"});
  ExpectRefused(run, {{"environment.steps", 30}}, {"steps"});
  ExpectRefused(run, {{"environment.steps", Signed(-1)}}, {"steps"});
  ExpectRefused(run, {{"environment.state[2]", Bits(100)}}, {"expected"});
  ExpectRefused(run, {{"environment.state[2]", Bits(kNaN)}}, {"expected"});
  ExpectRefused(run, {{"environment.state[2]", Bits(.0123)}},
                {"expected the environment's observation as the newest of the replay"});
}

TEST_F(CheckpointTest, NetworksAndOptimiserAreChecked) {
  const StoppedRun run(folder_ / "run", Options("stable-aa", kPrioritised));
  const std::uint64_t infinite = FloatBits(std::numeric_limits<float>::infinity());
  const std::uint64_t nan = FloatBits(std::numeric_limits<float>::quiet_NaN());
  ExpectRefused(run, {{"online[0][1]", infinite}}, {"finite weights of the online network"});
  ExpectRefused(run, {{"targets[1][3][0]", nan}}, {"finite weights of target network 2"});
  ExpectRefused(run, {{"online[2].count", 5}}, {"expected 3 elements"});
  ExpectRefused(run, {{"optimizer.kind", 7}}, {"optimiser of the same kind"});
  ExpectRefused(run, {{"optimizer.square[0][0]", nan}}, {"averages of squares, found nan"});
  ExpectRefused(run, {{"optimizer.square[0][0]", FloatBits(-1)}}, {"squares, found -1"});
  for (const std::int64_t steps : {-1L, 69L, 71L}) {
    ExpectRefused(run, {{"optimizer.steps", Signed(steps)}}, {"updates"});
  }
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{6}, Signed(kLarge)}) {
    ExpectRefused(run, {{"targets.count", count}}, {"expected 1 to 5 target networks"});
  }
  ExpectRefused(run, {{"targets.untrained", 1}}, {"expected 1 to 1 target networks"});
  ExpectRefused(run, {{"targets.untrained", 2}}, {"0 or 1"});
}

TEST_F(CheckpointTest, AdamsMeansAreFinite) {
  const StoppedRun run(folder_ / "run", Options("stable-aa", {"optimizer.kind=adam"}));
  ExpectRefused(run, {{"optimizer.mean[1][0]", FloatBits(std::numeric_limits<float>::infinity())}},
                {"finite averages of gradients"});
}

TEST_F(CheckpointTest, MixingAndCountsAreChecked) {
  for (const bool per_update : {false, true}) {
    const StoppedRun run(
        folder_ / (per_update ? "update" : "sync"),
        Options("stable-aa", {per_update ? "agent.weights.refresh=update" : "agent.n_step=1"}));
    ASSERT_EQ(run.Get("mixing.count"), 3U);
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{65}, Signed(-1)}) {
      ExpectRefused(run, {{"mixing.count", count}}, {"1 to 64 mixing weights"});
    }
    ExpectRefused(run, {{"mixing.count", 2}, {"mixing.alpha.count", 2}}, {});
    for (const double weight : {7., kInfinity, kNaN}) {
      ExpectRefused(run, {{"mixing.alpha[0]", Bits(weight)}}, {"sum to 1"});
    }
    for (const char* const name :
         {"tau_norm", "lambda", "eta", "condition", "gain", "gain_held_out", "residual"}) {
      ExpectRefused(run, {{std::string("mixing.") + name, Bits(-1)}}, {"0 or more, found -1"});
    }
    ExpectRefused(run, {{"mixing.fallback", 2}}, {"0 or 1"});

    ASSERT_EQ(run.Get("learner.updates"), 70U);
    for (const std::int64_t count : {-1L, 0L, 69L, 71L, kLarge}) {
      ExpectRefused(run, {{"learner.updates", Signed(count)}}, {"70 updates of the optimiser"});
    }
    // Both, and more than the steps allow.
    ExpectRefused(run, {{"learner.updates", 79}, {"optimizer.steps", 79}},
                  {"at most 70 updates in 110 steps, found 79"});
    for (const std::int64_t count : {-1L, 0L, 4L, kLarge}) {
      ExpectRefused(run, {{"learner.shifts", Signed(count)}}, {"expected 3 shifts"});
    }
    ExpectRefused(run, {{"learner.restarts", 4}}, {"restarts", "found 4"});
    ExpectRefused(run, {{"learner.restarts", Signed(-1)}}, {"restarts"});
    ExpectRefused(run, {{"learner.fallbacks", 71}}, {"fallbacks", "found 71"});
    ExpectRefused(run, {{"learner.restarted_at", 71}}, {"restart", "found 71"});
    for (const double residual : {-1., kInfinity, kNaN}) {
      ExpectRefused(run, {{"learner.best_residual", Bits(residual)}}, {"residual"});
    }
  }
}

TEST_F(CheckpointTest, AnAgentThatMixesNothingHasOneWeight) {
  const StoppedRun run(folder_ / "run", Options("dqn", {}));
  ExpectRefused(run, {{"mixing.alpha[0]", Bits(2)}}, {"sum to 1"});
}

TEST_F(CheckpointTest, BatchesAreOfTransitionsThatAreThere) {
  const StoppedRun run(folder_ / "run", Options("stable-aa", kPrioritised));
  ASSERT_EQ(run.Get("queue.count"), 2U);
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}}) {
    ExpectRefused(run, {{"queue.count", count}}, {"train.lookahead_updates"});
  }
  for (const std::string ids : {"queue[0].ids", "queue[1].sample"}) {
    ExpectRefused(run, {{ids + ".count", 3}}, {"transitions in a batch, found 3"});
    ExpectRefused(run, {{ids + ".count", Signed(kLarge)}}, {"transitions in a batch"});
    for (const std::int64_t id : {-1L, 1000L, kLarge, -kLarge - 1}) {
      ExpectRefused(run, {{ids + "[1]", Signed(id)}},
                    {fmt::format("a transition that the replay has, found {}", id)});
    }
    // The newest state is not a transition yet.
    ExpectRefused(run, {{ids + "[1]", run.Get("replay.next_id") - 1}}, {"a transition"});
  }
  ExpectRefused(run, {{"queue[0].weights", 0}}, {"importance weights of a batch, found 0"});
  for (const float weight : {-.5F, 1.5F, std::numeric_limits<float>::quiet_NaN()}) {
    ExpectRefused(run, {{"queue[0].weight[2]", FloatBits(weight)}},
                  {"importance weight of 0 to 1"});
  }
}

// ---- Agents with continuous actions ----

const std::vector<std::string> kSpaced = {"agent.n_step=3", "replay.prioritized=true",
                                          "replay.importance_steps=200", "agent.targets=4",
                                          "agent.target_interval_updates=20"};

TEST_F(CheckpointTest, OfContinuousControlIsSoundToBeginWith) {
  const StoppedRun run(folder_ / "run", Options("td3-stable", kSpaced));
  const std::unique_ptr<Trainer> trainer = Resume(run);
  ASSERT_TRUE(trainer);
  EXPECT_EQ(run.Get("learner.updates"), 70U);
  EXPECT_EQ(run.Get("learner.copies"), 3U);
  EXPECT_EQ(run.Get("history.copies"), 2U);
  EXPECT_EQ(run.Get("history.has_pending"), 1U);
  EXPECT_EQ(run.Get("actor_optimizer.steps"), 35U);
  EXPECT_EQ(run.Get("replay.action_floats"), 1U);
}

TEST_F(CheckpointTest, ContinuousActionsAreFiniteAndOfTheirSize) {
  const StoppedRun run(folder_ / "run", Options("td3-stable", kSpaced));
  const auto number = static_cast<std::int64_t>(run.Get("replay.oldest")) + 1;
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    ExpectRefused(run, {{"replay.segment.action_value[0]", FloatBits(value)}},
                  {"finite numbers of an action"});
    run.WriteSegmentWith(number, "segment.action_value[3]", FloatBits(value));
    ExpectRefusal(run, run.segment(number), {"finite numbers of an action"});
  }
  ExpectRefused(run, {{"replay.segment.state[0].action", 1}}, {"expected an action from 0 to 0"});
  for (const std::uint64_t floats : {0, 2}) {
    ExpectRefused(run, {{"replay.action_floats", floats}}, {"expected a replay with actions of 1"});
  }
}

TEST_F(CheckpointTest, ActorAndCriticsAreChecked) {
  const StoppedRun run(folder_ / "run", Options("td3-stable", kSpaced));
  const std::uint64_t nan = FloatBits(std::numeric_limits<float>::quiet_NaN());
  ExpectRefused(run, {{"actor[0][1]", nan}}, {"finite weights of the actor"});
  ExpectRefused(run, {{"actor_average[0][1]", nan}}, {"finite weights of the actor"});
  for (const std::string critic : {"critic[0][0][1]", "critic[1][3][0]", "critic_average[0][1][0]",
                                   "critic_average[1][0][0]"}) {
    ExpectRefused(run, {{critic, nan}}, {"finite weights of critics"});
  }
  for (const std::string copy : {"history.copy[0].critic0[0][0]", "history.copy[1].critic1[2][0]",
                                 "history.pending.critic0[1][0]"}) {
    ExpectRefused(run, {{copy, nan}}, {"finite weights"});
  }
  for (const std::string optimizer :
       {"actor_optimizer", "critic_optimizer[0]", "critic_optimizer[1]"}) {
    ExpectRefused(run, {{optimizer + ".kind", 7}}, {"optimiser of the same kind"});
    ExpectRefused(run, {{optimizer + ".square[0][0]", nan}}, {"averages of squares, found nan"});
    ExpectRefused(run, {{optimizer + ".mean[0][0]", nan}}, {"finite averages of gradients"});
    for (const std::int64_t steps : {-1L, 34L, 71L}) {
      ExpectRefused(run, {{optimizer + ".steps", Signed(steps)}}, {"updates"});
    }
  }
  for (const std::uint64_t copies : {std::uint64_t{4}, Signed(kLarge)}) {
    ExpectRefused(run, {{"history.copies", copies}}, {"at most 3 copies of critics"});
  }
  ExpectRefused(run, {{"history.has_pending", 0}}, {"a copy of critics that waits to join"});
  ExpectRefused(run, {{"history.has_pending", 2}}, {"0 or 1"});
}

TEST_F(CheckpointTest, CountsAndNoiseOfContinuousControlAreChecked) {
  const StoppedRun run(folder_ / "run", Options("td3-stable", kSpaced));
  for (const std::int64_t count : {-1L, 0L, 69L, 71L, kLarge}) {
    ExpectRefused(run, {{"learner.updates", Signed(count)}}, {"updates"});
  }
  for (const std::int64_t count : {-1L, 2L, 4L, kLarge}) {
    ExpectRefused(run, {{"learner.copies", Signed(count)}}, {"copies of critics"});
  }
  for (const std::int64_t count : {-1L, 72L, kLarge}) {
    ExpectRefused(run, {{"learner.fallbacks", Signed(count)}}, {"fallbacks"});
  }
  for (const double value : {kNaN, kInfinity}) {
    ExpectRefused(run, {{"learner.actor_value", Bits(value)}}, {"a value of the actor"});
    ExpectRefused(run, {{"learner.entropy", Bits(value)}}, {"an entropy"});
  }
  ExpectRefused(run, {{"noise[0]", FloatBits(std::numeric_limits<float>::infinity())}},
                {"finite exploration noise"});
  ExpectRefused(run, {{"noise.count", 2}}, {"expected 1 elements"});
  ExpectRefused(run, {{"noise_random.key0", 2}}, {"random stream"});
  ExpectRefused(run, {{"mixing.alpha[0]", Bits(7)}}, {"sum to 1"});
  ExpectRefused(run, {{"mixing.count", 2}, {"mixing.alpha.count", 2}}, {});
  for (const std::string sum : {"actor_value", "alpha_spread"}) {
    ExpectRefused(run, {{"sums." + sum + ".sum", Bits(kInfinity)}}, {"finite sum"});
    ExpectRefused(run, {{"sums." + sum + ".count", 21}}, {"at most 20 numbers"});
  }
}

TEST_F(CheckpointTest, TheTemperatureIsChecked) {
  const StoppedRun run(folder_ / "run", Options("sac", {}));
  EXPECT_EQ(run.Get("temperature.steps"), 70U);
  for (const double value : {kNaN, kInfinity}) {
    ExpectRefused(run, {{"temperature.logarithm", Bits(value)}}, {"temperature"});
    ExpectRefused(run, {{"temperature.mean", Bits(value)}}, {"average of gradients"});
    ExpectRefused(run, {{"temperature.square", Bits(value)}}, {"squared gradients"});
  }
  ExpectRefused(run, {{"temperature.logarithm", Bits(800)}}, {"finite temperature"});
  ExpectRefused(run, {{"temperature.square", Bits(-1)}}, {"squared gradients"});
  for (const std::int64_t steps : {-1L, kLarge}) {
    ExpectRefused(run, {{"temperature.steps", Signed(steps)}}, {"steps of the temperature"});
  }
  for (const std::string sum : {"entropy", "temperature"}) {
    ExpectRefused(run, {{"sums." + sum + ".sum", Bits(kInfinity)}}, {"finite sum"});
  }
}

// Replaces each number in turn by values that tend to break things.
TEST_F(FullCheckpointTest, AnyNumberInAnyFieldIsRefusedOrDoesNoHarm) {
  struct Enough {};
  for (const auto& [name, options] : std::vector<std::pair<std::string, RunOptions>>{
           {"prioritised", Options("stable-aa", kPrioritised)},
           {"double", Options("double-dqn", {"replay.compression=lz4"})},
           {"average", Options("averaged-dqn", {"optimizer.kind=adam", "replay.compression=zstd"})},
           {"ddpg", Options("ddpg", {"control.noise_correlation=0.5"})},
           {"td3 spaced", Options("td3-stable", kSpaced)},
           {"td3 consecutive", Options("td3-raa", {"agent.targets=3"})},
           {"sac", Options("sac", {})}}) {
    SCOPED_TRACE(name);
    const StoppedRun run(folder_ / name, options);
    int accepted = 0, refused = 0;
    for (const CheckpointField& field : run.fields().all()) {
      // The first few weights of each tensor are enough; weights are most of the state.
      const std::size_t element = field.name.find("][");
      if (element != std::string::npos && std::stoi(field.name.substr(element + 2)) > 1) continue;
      const std::uint64_t former = run.Get(field.name);
      for (const std::uint64_t value :
           {std::uint64_t{0}, former + 1, former - 1, std::uint64_t{1} << (8 * field.bytes - 1),
            ~std::uint64_t{0}, std::uint64_t{0x7fff'ffff'ffff'ffff}, Bits(1e300), FloatBits(1e38F),
            std::uint64_t{0x7fc0'0000}}) {
        SCOPED_TRACE(fmt::format("{} = {:x}, was {:x}", field.name, value, former));
        run.WriteWith(field, value);
        std::int64_t left = 12;
        try {
          const std::unique_ptr<Trainer> trainer = Resume(run);
          if (trainer) {
            trainer->Run({.stop = [&] { return --left < 0 ? throw Enough() : false; }});
          }
        } catch (const Enough&) {
          ++accepted;
        } catch (const Error& error) {  // weights may be large enough to make training diverge
          EXPECT_TRUE(error.kind() == Error::Kind::kBadInput || left < 12) << error.what();
          ++refused;
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
        }
      }
    }
    EXPECT_GT(accepted, 100);
    EXPECT_GT(refused, 1000);
  }
}

}  // namespace stableaa::checkpoint_test
