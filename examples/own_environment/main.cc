// A custom environment: a corridor with a prize at the left or right end, and a lamp that says
// which. A DQN learns it.
//
//   own_environment train DIR    makes the run DIR, which must not exist: stops halfway, resumes,
//                                then lets the agent play
//   own_environment sweep DIR    trains two seeds, each in a process, in DIR/runs, and writes a
//                                report into DIR/report; goes on with what is there
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>

#include "stableaa/base/process/interrupt.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/env/registry.h"
#include "stableaa/env/simulation.h"
#include "stableaa/experiment/report/report.h"
#include "stableaa/experiment/suite/suite.h"
#include "stableaa/experiment/sweep/own_program.h"
#include "stableaa/experiment/sweep/status.h"
#include "stableaa/experiment/sweep/sweep.h"
#include "stableaa/rl/run/evaluation.h"
#include "stableaa/rl/run/saved_agent.h"
#include "stableaa/rl/run/trainer.h"

namespace {

using stableaa::Simulation;

constexpr std::int64_t kCells = 7;

// Each step costs 0.01; the end with the prize pays 1, the other one nothing.
class Corridor : public Simulation {
 public:
  void Reset(stableaa::RandomStream& random) override {
    position_ = kCells / 2;
    prize_is_right_ = random.Bernoulli(0.5);
  }

  Outcome Step(Action action, stableaa::RandomStream& random) override {
    const bool slips = random.Bernoulli(0.1);
    position_ += (action.index == 1) != slips ? 1 : -1;
    const bool at_end = position_ == 0 || position_ == kCells - 1;
    const bool wins = at_end && (position_ != 0) == prize_is_right_;
    return {.reward = (wins ? 1.0 : 0.0) - 0.01, .terminated = at_end};
  }

  void Observe(Observation out) const override {
    out.floats[0] = static_cast<float>(position_) / (kCells - 1);
    out.floats[1] = prize_is_right_ ? 1 : 0;
  }

  // Checkpoints need the whole state, and loading must not trust what it reads.
  void Save(stableaa::ByteWriter& out) const override {
    out.I64(position_);
    out.Bool(prize_is_right_);
  }
  void Load(stableaa::ByteReader& in) override {
    const std::int64_t position = in.I64();
    if (position < 0 || position >= kCells) throw in.Wrong("expected a cell of the corridor");
    position_ = position;
    prize_is_right_ = in.Bool();
  }

 private:
  std::int64_t position_ = 0;
  bool prize_is_right_ = false;
};

// May as well be a file (ReadSuite).
constexpr char kSuite[] = R"(
title = "A corridor"
env = "mine/corridor"
preset = "dqn"
seeds = 2
stop.steps = 4_000

[set]
train.log_interval_steps = 500
network.hidden = [32]
optimizer.learning_rate = 1e-3
replay.size = 4_000
replay.start = 200
agent.target_interval_updates = 100
agent.discount = 0.95
exploration.epsilon_steps = 2_000
eval.interval_steps = 2_000
)";

double MeanReturn(const std::filesystem::path& run) {
  const stableaa::SavedAgent agent({.path = run});
  const auto environment = agent.MakeEnvironment(10);
  const auto player = agent.MakePlayer(*environment);
  return Evaluate(*environment, *player, agent.parameters(), 200, 0, 1).return_mean;
}

bool Train(const stableaa::RunOptions& options, const std::filesystem::path& run) {
  auto trainer = stableaa::Trainer::Start(run, options);
  trainer->Run({.stop = [&] { return trainer->step() >= 1500; }});
  std::printf("stopped in step %lld\n", static_cast<long long>(trainer->step()));
  trainer.reset();  // a run has one trainer at a time
  trainer = stableaa::Trainer::Resume(run);
  const bool is_complete = trainer->Run();

  // A random player gets 0.4; the best possible is near 0.96, and a slip or two costs a little.
  const double mean = MeanReturn(run);
  std::printf("%lld steps, mean return %.3f\n", static_cast<long long>(trainer->step()), mean);
  return is_complete && mean > 0.85;
}

bool SweepAndReport(const stableaa::Suite& suite, const std::filesystem::path& directory) {
  stableaa::Sweep sweep(
      suite, {.train = stableaa::TrainByThisProgram, .out = directory / "runs", .jobs = 2});
  sweep.Open();
  const stableaa::InterruptGuard interrupt;
  sweep.Run([&interrupt] { return interrupt.requested(); });
  if (Count(sweep.runs()).done < suite.runs.size()) return false;  // the log says why
  const auto report =
      stableaa::WriteReport({.directories = {directory / "runs"}, .out = directory / "report"});
  std::printf("%s\n", report.page.c_str());
  return true;
}

}  // namespace

int main(int argc, char** argv) try {
  stableaa::RegisterEnvironment({.id = "mine/corridor",
                                 .observation = stableaa::Space::Floats({2}, {0}, {1}),
                                 .action = stableaa::Space::Discrete(2),
                                 .action_names = {"left", "right"},
                                 .max_episode_steps = 50},
                                [] { return std::make_unique<Corridor>(); });
  // A sweep starts this program again for each of its runs.
  if (const auto exit_code = stableaa::TrainIfAsked(argc, argv)) return *exit_code;

  const std::string command = argc == 3 ? argv[1] : "";
  if (command != "train" && command != "sweep") {
    std::fprintf(stderr, "usage: %s train|sweep DIR\n", argv[0]);
    return 2;
  }
  const stableaa::Suite suite = stableaa::ParseSuite(kSuite, "the suite");
  const bool is_done = command == "train" ? Train(suite.runs.front().options, argv[2])
                                          : SweepAndReport(suite, argv[2]);
  return is_done ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
