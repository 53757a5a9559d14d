// Training as a library: runs that are stopped at chosen steps, copied at any moment, and given
// damaged states. What can only happen to a process is in cli/train_command_test.cc.
#include "stableaa/rl/run/trainer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "stableaa/base/config/schedule.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/text/csv_cells.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/lamp_test.h"
#include "stableaa/rl/run/checkpoint_head.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/rl/run/saved_agent.h"
#include "stableaa/rl/run/small_run_test.h"
#include "stableaa/testing/message.h"

namespace stableaa::trainer_test {

namespace fs = std::filesystem;

// On CartPole, or Pendulum where actions are continuous.
RunOptions Options(const std::string& preset, const std::vector<std::string>& assignments) {
  const RunOptions options = SmallRunOptions("classic/cartpole", preset, assignments);
  if (!IsControl(options.agent.algorithm)) return options;
  return SmallRunOptions("classic/pendulum", preset, assignments);
}

struct Variant {
  std::string name, preset;
  std::vector<std::string> assignments;
};

// Adds a schedule for everything that can have one.
std::vector<std::string> Scheduled(std::vector<std::string> assignments) {
  for (const char* const schedule :
       {"optimizer.learning_rate=cosine(1e-2, 1e-4, 220)", "agent.eta=exponential(1e-3, 1, 150)",
        "agent.damping=steps(0, 90: 0.3, 130: 0, 200: 0.1)",
        "exploration.epsilon=linear(1, 0, 170)"}) {
    assignments.emplace_back(schedule);
  }
  return assignments;
}

const std::vector<Variant>& Variants() {
  static const std::vector<Variant> kVariants = {
      {"stable", "stable-aa", {"checkpoint.keep_weights=every 35 steps"}},
      {"update", "stable-aa", {"agent.weights.refresh=update", "train.lookahead_updates=3"}},
      {"prioritised",
       "stable-aa",
       {"agent.n_step=3", "replay.prioritized=true", "replay.importance_steps=200",
        "replay.size=64", "checkpoint.keep_weights=all evaluations"}},
      {"double", "double-dqn", {"replay.compression=lz4", "replay.size=100"}},
      {"double mixed", "raa", {"agent.backup=double", "replay.compression=zstd"}},
      {"average", "averaged-dqn", {"exploration.policy=softmax", "train.lookahead_updates=0"}},
      {"restarts",
       "stable-aa",
       {"agent.restart=growth", "agent.restart_growth=1.001", "agent.weights.eta=auto",
        "agent.weights.safeguard=true"}},
      {"intervals",
       "stable-aa",
       {"agent.restart=interval", "agent.restart_interval_updates=50", "agent.mixer=anderson",
        "agent.backup=dynamic-boltzmann", "train.update_interval_steps=3", "agent.n_step=2",
        "agent.target_interval_updates=7", "exploration.policy=max-entropy"}},
      {"scheduled", "stable-aa", Scheduled({"train.lookahead_updates=0"})},
      {"scheduled ahead", "stable-aa", Scheduled({"train.lookahead_updates=3"})},
      {"scheduled update", "raa",
       Scheduled({"train.lookahead_updates=3", "agent.weights.refresh=update",
                  "train.update_interval_steps=2"})},
      {"td3", "td3", {"control.policy_delay=3", "control.noise_correlation=0.5"}},
      {"td3 spaced",
       "td3-stable",
       {"agent.targets=4", "agent.n_step=3", "replay.prioritized=true",
        "replay.importance_steps=200", "replay.size=100"}},
      {"td3 consecutive",
       "td3-raa",
       {"agent.weights.safeguard=true", "checkpoint.keep_weights=every 35 steps"}},
      {"sac", "sac", {"train.update_interval_steps=2"}},
      {"sac spaced",
       "sac-stable",
       {"agent.weights.refresh=update", "control.actor_loss=mixed", "replay.compression=lz4"}},
      {"ddpg", "ddpg", {"agent.mixer=anderson", "control.exploration_noise=linear(0.5, 0, 200)"}},
      {"scheduled update at once", "raa",
       Scheduled({"train.lookahead_updates=0", "agent.weights.refresh=update"})}};
  return kVariants;
}

// The rows of metrics.csv by column.
std::vector<std::map<std::string, std::string>> MetricsOf(const fs::path& run) {
  std::istringstream csv(FileContent(run / "metrics.csv"));
  std::vector<std::string> names;
  std::vector<std::map<std::string, std::string>> rows;
  for (std::string line; std::getline(csv, line);) {
    std::vector<std::string> cells;
    EXPECT_TRUE(SplitLine(line, cells));
    if (names.empty()) {
      names = cells;
      continue;
    }
    rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) rows.back()[names.at(i)] = cells[i];
  }
  return rows;
}

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() { SetLogLevel(LogLevel::kSilent); }
  ~TrainerTest() override { SetLogLevel(LogLevel::kInfo); }

  fs::path Straight(const RunOptions& options) const {
    fs::remove_all(folder_ / "straight");
    EXPECT_TRUE(Trainer::Start(folder_ / "straight", options)->Run());
    return folder_ / "straight";
  }

  // Runs until `step`.
  static void RunTo(Trainer& trainer, std::int64_t step) {
    EXPECT_FALSE(trainer.Run({.stop = [&] { return trainer.step() >= step; }}));
    EXPECT_EQ(trainer.step(), step);
  }

  FolderOfRuns folder_;
};

class FullTrainerTest : public TrainerTest {};

TEST_F(TrainerTest, StopsAtAnyStepChangeNothing) {
  for (const Variant& variant : Variants()) {
    SCOPED_TRACE(variant.name);
    const RunOptions options = Options(variant.preset, variant.assignments);
    const fs::path straight = Straight(options);
    const fs::path run = folder_ / "run";
    fs::remove_all(run);
    RandomStream random(1, variant.name);
    std::unique_ptr<Trainer> trainer = Trainer::Start(run, options);
    for (std::int64_t step = 0; step < options.train.steps; step += random.Integer(1, 25)) {
      RunTo(*trainer, step);
      trainer.reset();
      trainer = Trainer::Resume(run, {.threads = static_cast<int>(random.Integer(1, 2))});
      ASSERT_TRUE(trainer);
      EXPECT_EQ(trainer->step(), step);
    }
    EXPECT_TRUE(trainer->Run());
    ExpectSameResults(run, straight);
  }
}

TEST_F(TrainerTest, SchedulesShowInTheMetricsAndInTheWeights) {
  const fs::path run = Straight(Options("stable-aa", Scheduled({})));
  const std::vector<std::map<std::string, std::string>> rows = MetricsOf(run);
  ASSERT_EQ(rows.size(), 10U);
  for (const auto& row : rows) {
    const std::int64_t step = std::stoll(row.at("step"));
    SCOPED_TRACE(step);
    const auto expect = [&](const std::string& column, const std::string& schedule) {
      EXPECT_EQ(std::stod(row.at(column)), Schedule::Parse(schedule).At(step)) << column;
    };
    expect("learning_rate", "cosine(1e-2, 1e-4, 220)");
    expect("damping", "steps(0, 90: 0.3, 130: 0, 200: 0.1)");
    expect("epsilon", "linear(1, 0, 170)");
    // Fitted at the last shift, every 20 updates from step 41 on.
    const std::int64_t shift = step < 60 ? 0 : 60 + (step - 60) / 20 * 20;
    EXPECT_EQ(std::stod(row.at("eta")), Schedule::Parse("exponential(1e-3, 1, 150)").At(shift));
  }

  // A constant schedule is a number; each other one makes a difference.
  const auto weights = [&](const std::vector<std::string>& assignments) {
    return FileContent(Straight(Options("stable-aa", assignments)) / "weights/latest.safetensors");
  };
  const std::string constant = weights({"optimizer.learning_rate=0.01", "agent.eta=0.1"});
  EXPECT_TRUE(weights({"optimizer.learning_rate=linear(0.01, 0.01, 100)",
                       "agent.eta=steps(0.1, 50: 0.1)", "agent.damping=cosine(0.1, 0.1, 9)",
                       "exploration.epsilon=linear(1, 0.05, 100)"}) == constant);
  for (const char* const change :
       {"optimizer.learning_rate=steps(0.01, 235: 0.02)", "agent.damping=steps(0.1, 239: 0)",
        "agent.eta=steps(0.1, 215: 2)", "exploration.epsilon=steps(1, 100: 0.5)"}) {
    EXPECT_FALSE(weights({"optimizer.learning_rate=0.01", "agent.eta=0.1", change}) == constant)
        << change;
  }
}

TEST_F(TrainerTest, AStopInEveryStepChangesNothing) {
  const RunOptions options = Options("stable-aa", {"replay.size=48"});
  const fs::path straight = Straight(options);
  std::unique_ptr<Trainer> trainer = Trainer::Start(folder_ / "run", options);
  for (std::int64_t step = 0; step < options.train.steps; ++step) {
    RunTo(*trainer, step);
    trainer.reset();
    trainer = Trainer::Resume(folder_ / "run");
  }
  EXPECT_TRUE(trainer->Run());
  ExpectSameResults(folder_ / "run", straight);
}

// The copy is what a kill in that step would leave behind.
TEST_F(TrainerTest, ADirectoryCopiedInAnyStepCanGoOn) {
  for (const Variant& variant : {Variants()[0], Variants()[2]}) {
    SCOPED_TRACE(variant.name);
    const RunOptions options = Options(variant.preset, variant.assignments);
    const fs::path run = folder_ / "run";
    fs::remove_all(run);
    std::vector<fs::path> copies;
    const auto copy = [&](const TrainProgress& now) {
      if (now.step % 13 != 0) return;
      copies.push_back(folder_ / fmt::format("{} {}", variant.name, now.step));
      fs::copy(run, copies.back(), fs::copy_options::recursive);
    };
    EXPECT_TRUE(Trainer::Start(run, options)->Run({.progress = copy}));
    EXPECT_EQ(copies.size(), 19U);
    for (const fs::path& made : copies) {
      const std::unique_ptr<Trainer> trainer = Trainer::Resume(made);
      ASSERT_TRUE(trainer);
      EXPECT_EQ(trainer->step() % 60, 0);
      EXPECT_TRUE(trainer->Run());
      ExpectSameResults(made, run);
    }
  }
}

// Rounds of several steps: what is due comes at their end, and updates are counted in steps.
TEST_F(TrainerTest, SeveralEnvironmentsAtOnceStopAndGoOnToo) {
  const std::vector<Variant> variants = {
      {"four", "stable-aa", {"env.num_envs=4"}},
      {"three, n-step, prioritised",
       "dueling-dqn",
       {"env.num_envs=3", "agent.n_step=3", "replay.prioritized=true", "replay.size=60",
        "train.update_interval_steps=2", "train.steps=200", "replay.importance_steps=100"}},
      {"more than an interval",
       "stable-aa",
       {"env.num_envs=16", "train.update_interval_steps=5", "train.log_interval_steps=7",
        "eval.interval_steps=90", "checkpoint.interval_steps=10", "agent.weights.refresh=update",
        "train.lookahead_updates=3", "replay.size=64"}}};
  const auto number = [](const Table& table, const std::string& column, std::size_t row) {
    return std::stod(table.Find(column)->at(row));
  };
  for (const Variant& variant : variants) {
    SCOPED_TRACE(variant.name);
    const RunOptions options = Options(variant.preset, variant.assignments);
    const std::int64_t envs = options.env.num_envs;
    const std::int64_t last = (options.train.steps + envs - 1) / envs * envs;
    const fs::path straight = Straight(options);
    const Table metrics(straight / "metrics.csv"), episodes(straight / "episodes.csv");
    for (std::size_t row = 0; row < metrics.rows(); ++row) {
      const auto step = static_cast<std::int64_t>(number(metrics, "step", row));
      const std::int64_t interval = options.train.update_interval_steps;
      EXPECT_EQ(step % envs, 0);
      EXPECT_EQ(
          number(metrics, "update", row),
          static_cast<double>(step / interval - std::min(step, options.replay.start) / interval));
    }
    double steps = 0;
    for (std::size_t row = 0; row < episodes.rows(); ++row) {
      steps += number(episodes, "length", row);
      EXPECT_LE(number(episodes, "step", row), static_cast<double>(last));
      EXPECT_TRUE(row == 0 || number(episodes, "step", row) > number(episodes, "step", row - 1));
    }
    EXPECT_LE(steps, static_cast<double>(last));
    EXPECT_GT(steps, static_cast<double>(last - envs * options.env.max_episode_steps));

    const fs::path run = folder_ / "run";
    fs::remove_all(run);
    RandomStream random(1, variant.name);
    std::unique_ptr<Trainer> trainer = Trainer::Start(run, options);
    while (trainer->step() < last) {
      const std::int64_t step = std::min(last, trainer->step() + random.Integer(1, 2) * envs);
      const bool ended = trainer->Run({.stop = [&] { return trainer->step() >= step; }});
      EXPECT_EQ(trainer->step(), step);
      if (ended) break;
      trainer.reset();
      trainer = Trainer::Resume(run, {.threads = static_cast<int>(random.Integer(1, 2))});
      ASSERT_TRUE(trainer);
      EXPECT_EQ(trainer->step(), step);
    }
    EXPECT_TRUE(trainer->Run());
    EXPECT_EQ(trainer->step(), last);
    trainer.reset();
    ExpectSameResults(run, straight);
    EXPECT_FALSE(Trainer::Resume(run));
  }
}

TEST_F(TrainerTest, SeedsAndOnlySeedsDecide) {
  const fs::path first = Straight(Options("stable-aa", {}));
  EXPECT_TRUE(Trainer::Start(folder_ / "again", Options("stable-aa", {"train.threads=2"}))->Run());
  ExpectSameResults(folder_ / "again", first);
  EXPECT_TRUE(Trainer::Start(folder_ / "other", Options("stable-aa", {"train.seed=2"}))->Run());
  EXPECT_NE(FileContent(folder_ / "other/episodes.csv"), FileContent(first / "episodes.csv"));
  // Evaluations, logs and checkpoints take no random numbers from training.
  EXPECT_TRUE(
      Trainer::Start(folder_ / "silent",
                     Options("stable-aa", {"eval.interval_steps=0", "train.log_interval_steps=1000",
                                           "checkpoint.interval_steps=1000"}))
          ->Run());
  EXPECT_EQ(FileContent(folder_ / "silent/episodes.csv"), FileContent(first / "episodes.csv"));
  EXPECT_TRUE(FileContent(folder_ / "silent/weights/latest.safetensors") ==
              FileContent(first / "weights/latest.safetensors"));
}

TEST_F(TrainerTest, ACheckpointIsMadeAtMostOncePerState) {
  const RunOptions options = Options("stable-aa", {});
  const std::unique_ptr<Trainer> trainer = Trainer::Start(folder_ / "run", options);
  RunTo(*trainer, 60);
  const Snapshot before = SnapshotOf(folder_ / "run");
  RunTo(*trainer, 60);
  ExpectUnchanged(folder_ / "run", before);
}

TEST_F(TrainerTest, ResumeGivesNothingForACompleteRun) {
  const fs::path run = Straight(Options("stable-aa", {}));
  const Snapshot before = SnapshotOf(run);
  EXPECT_FALSE(Trainer::Resume(run));
  EXPECT_FALSE(Trainer::Resume(run, {.steps = 100}));
  ExpectUnchanged(run, before);
  EXPECT_TRUE(Trainer::Resume(run, {.steps = 241}));
}

TEST_F(TrainerTest, AnEvaluationStoppedInTheLastStepIsMadeOnResume) {
  const RunOptions options = Options("stable-aa", {});
  const fs::path straight = Straight(options), run = folder_ / "run";
  for (int part = 0; part < 3; ++part) {
    const std::unique_ptr<Trainer> trainer =
        part == 0 ? Trainer::Start(run, options) : Trainer::Resume(run);
    ASSERT_TRUE(trainer);
    EXPECT_FALSE(trainer->Run({.stop = [&] { return trainer->step() == 240; }}));
    EXPECT_EQ(trainer->step(), 240);
  }
  EXPECT_FALSE(Trainer::Resume(run, {.steps = 239})) << "shorter than it is";
  const std::unique_ptr<Trainer> trainer = Trainer::Resume(run);
  ASSERT_TRUE(trainer);
  EXPECT_TRUE(trainer->Run());
  ExpectSameResults(run, straight);
}

TEST_F(TrainerTest, MistakesMakeNothing) {
  const auto expect = [&](const std::vector<std::string>& assignments, Error::Kind kind) {
    const auto start = [&] { Trainer::Start(folder_ / "run", Options("stable-aa", assignments)); };
    EXPECT_NE(MessageOf(start, kind), "no error") << fmt::format("{}", fmt::join(assignments, " "));
    EXPECT_TRUE(fs::is_empty(folder_.path()));
  };
  expect({"train.env=classic/pendulum"}, Error::Kind::kBadInput);
  expect({"train.env=classic/none"}, Error::Kind::kBadInput);
  expect({"replay.size=3", "agent.n_step=3"}, Error::Kind::kBadInput);
  expect({"replay.size=12", "agent.n_step=3", "env.num_envs=4"}, Error::Kind::kBadInput);
  expect({"replay.size=1000000000000"}, Error::Kind::kWorkFailed);
}

TEST_F(TrainerTest, TrainsOnWhatTheProgramHasRegistered) {
  RegisterLamp<Lamp>("test/lamp");
  const RunOptions options =
      SmallRunOptions("Test/Lamp", "dqn",
                      {"train.steps=1000", "agent.discount=0", "optimizer.learning_rate=0.01",
                       "env.max_episode_steps=0"});
  EXPECT_NO_THROW(CheckTrainable(options));
  const fs::path straight = Straight(options), run = folder_ / "run";
  {
    const std::unique_ptr<Trainer> trainer = Trainer::Start(run, options);
    RunTo(*trainer, 333);
  }
  const std::unique_ptr<Trainer> trainer = Trainer::Resume(run);
  ASSERT_TRUE(trainer);
  EXPECT_TRUE(trainer->Run());
  ExpectSameResults(run, straight);
  EXPECT_GT(trainer->best_return(), 18) << "of 20";
  EXPECT_EQ(SavedAgent({.path = run}).options().train.env, "test/lamp");
}

// ---- Boxes of continuous actions ----

// Asks for an action, of which it shows the goals; pays 1 − the mean of squared distances, each in
// halves of the bounds.
class Marksman : public Simulation {
 public:
  static Space Box() { return Space::Floats({3, 1}, {-5, 0, 7}, {-1, 100, 7}); }

  void Reset(RandomStream& random) override { Place(random); }
  Outcome Step(Action action, RandomStream& random) override {
    const Space box = Box();
    double squares = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const float low = box.LowOf(i), high = box.HighOf(i), value = action.values[i];
      if (value < low || value > high) throw std::logic_error("Marksman: outside of the bounds");
      if (low == high) continue;
      const double unit = 2 * static_cast<double>((value - low) / (high - low)) - 1;
      squares += std::pow(unit - static_cast<double>(goals_[i]), 2) / 2;
    }
    Place(random);
    return {.reward = 1 - squares};
  }
  // Of pictures, nothing.
  void Observe(Observation out) const override {
    if (!out.floats.empty()) std::ranges::copy(goals_, out.floats.begin());
  }
  void Save(ByteWriter& out) const override {
    for (const float goal : goals_) out.F64(static_cast<double>(goal));
  }
  void Load(ByteReader& in) override {
    for (float& goal : goals_) goal = static_cast<float>(in.F64());
  }

 private:
  void Place(RandomStream& random) {
    for (float& goal : goals_) goal = static_cast<float>(random.Uniform(-.8, .8));
  }

  std::array<float, 2> goals_ = {};
};

void RegisterMarksman(const std::string& id, const Space& actions) {
  RegisterEnvironment({.id = id,
                       .observation = Space::Floats({2}, {-1}, {1}),
                       .action = actions,
                       .max_episode_steps = 10},
                      [] { return std::make_unique<Marksman>(); });
}

// A random player gets about .45 of 1 per step: squares of differences are .33 + .21 on average.
TEST_F(TrainerTest, BoundsMayDifferAmongElementsAndBeEqual) {
  RegisterMarksman("test/marksman", Marksman::Box());
  for (const std::string preset : {"td3", "sac", "td3-stable"}) {
    SCOPED_TRACE(preset);
    fs::remove_all(folder_ / "run");
    const auto trainer = Trainer::Start(
        folder_ / "run",
        SmallRunOptions("test/marksman", preset,
                        {"train.steps=2500", "agent.discount=0", "optimizer.learning_rate=0.003",
                         "network.hidden=[32]", "train.batch=32", "eval.interval_steps=500",
                         "eval.episodes=5", "env.max_episode_steps=0"}));
    EXPECT_TRUE(trainer->Run());
    EXPECT_GT(trainer->best_return(), 8.5) << "of 10";
    const SavedAgent agent({.path = folder_ / "run"});
    const auto environment = agent.MakeEnvironment(2);
    const auto player = agent.MakePlayer(*environment);
    Evaluate(*environment, *player, agent.parameters(), 4, .2, 1, [](const EvaluationStep& step) {
      ASSERT_EQ(step.action_values.size(), 3U);
      EXPECT_EQ(step.action_values[2], 7);
    });
  }
}

// Pays so much that gradients are no floats.
class Jackpot : public Marksman {
 public:
  Outcome Step(Action action, RandomStream& random) override {
    Marksman::Step(action, random);
    return {.reward = 3e38};
  }
};

// In the first update of td3 only critics learn: they alone are not finite then.
TEST_F(TrainerTest, CriticsThatDivergedAreNotSaved) {
  RegisterEnvironment({.id = "test/jackpot",
                       .observation = Space::Floats({2}, {-1}, {1}),
                       .action = Marksman::Box(),
                       .max_episode_steps = 10},
                      [] { return std::make_unique<Jackpot>(); });
  const fs::path run = folder_ / "run";
  {
    const auto trainer =
        Trainer::Start(run, SmallRunOptions("test/jackpot", "td3",
                                            {"replay.start=10", "checkpoint.interval_steps=11",
                                             "eval.interval_steps=0", "env.max_episode_steps=0"}));
    RunTo(*trainer, 9);
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto trainer = Trainer::Resume(run);
    ASSERT_TRUE(trainer);
    EXPECT_EQ(trainer->step(), 9);
    const std::string message = MessageOf([&] { trainer->Run(); }, Error::Kind::kWorkFailed);
    EXPECT_NE(
        message.find(
            "in step 11, after 1 updates: a weight of the critics or of an average is not finite"),
        std::string::npos)
        << message;
  }
}

TEST_F(TrainerTest, BoxesThatNoAgentFitsAreRefusedByName) {
  const float infinity = std::numeric_limits<float>::infinity();
  RegisterMarksman("test/unbounded", Space::Floats({2}, {-1, -infinity}, {1, infinity}));
  RegisterMarksman("test/bytes", Space::Bytes({3}));
  RegisterEnvironment({.id = "test/film",
                       .observation = Space::Bytes({8, 8, 3}),
                       .action = Marksman::Box(),
                       .channel_axis = 2,
                       .max_episode_steps = 10},
                      [] { return std::make_unique<Marksman>(); });
  const auto refusal = [&](const std::string& env, const std::string& preset) {
    const std::string message =
        MessageOf([&] { Trainer::Start(folder_ / "run", SmallRunOptions(env, preset, {})); });
    EXPECT_TRUE(fs::is_empty(folder_.path()));
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message;
  };
  for (const std::string preset : {"ddpg", "td3-raa", "sac"}) {
    const std::string unbounded = refusal("test/unbounded", preset);
    for (const char* const words : {"test/unbounded", "element 1", "[-inf, inf]"}) {
      EXPECT_NE(unbounded.find(words), std::string::npos) << unbounded;
    }
    const std::string bytes = refusal("test/bytes", preset);
    EXPECT_NE(bytes.find("test/bytes: expected actions that are real numbers"), std::string::npos)
        << bytes;
    const std::string film = refusal("test/film", preset);
    EXPECT_NE(film.find("test/film shows pictures"), std::string::npos) << film;
  }
}

// A checksum guards against accidents; nonsense with a correct checksum must not do harm either.
TEST_F(FullTrainerTest, AChangedByteOfTheStateIsNoticedOrHarmless) {
  for (const Variant& variant : {Variants()[1], Variants()[2], Variants()[3]}) {
    SCOPED_TRACE(variant.name);
    const fs::path run = folder_ / variant.name;
    {
      const std::unique_ptr<Trainer> trainer =
          Trainer::Start(run, Options(variant.preset, variant.assignments));
      RunTo(*trainer, 110);
    }
    const fs::path state = run / "checkpoint/state.bin";
    const std::vector<std::byte> sound = ReadCheckedFile(state, "run", kCheckpointVersion).payload;
    RandomStream random(1, "damage");
    int refused = 0;
    for (int trial = 0; trial < 400; ++trial) {
      std::vector<std::byte> changed = sound;
      // Half of the trials are in the parts before and after the networks, which are most of the
      // state.
      const std::size_t at = random.Below(trial % 4 == 0   ? 400
                                          : trial % 4 == 1 ? 4000
                                                           : changed.size());
      const std::size_t place = trial % 8 == 6 ? changed.size() - 1 - at % 300 : at;
      changed[place % changed.size()] ^= static_cast<std::byte>(1U << random.Below(8));
      WriteCheckedFile(state, "run", kCheckpointVersion, changed);
      try {
        const std::unique_ptr<Trainer> trainer = Trainer::Resume(run, {.steps = 240});
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::kBadInput) << error.what();
        EXPECT_NE(std::string(error.what()).find(run.string()), std::string::npos) << error.what();
        ++refused;
      } catch (const std::exception& error) {
        ADD_FAILURE() << "byte " << place << ": " << error.what();
      }
    }
    EXPECT_GT(refused, 20);
  }
}

}  // namespace stableaa::trainer_test
