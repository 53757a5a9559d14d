#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "stableaa/rl/control/control_run_test.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::control_divergence_test {

using control_run_test::AllKinds;
using control_run_test::ControlRun;
using control_run_test::Feeder;
using control_run_test::kElements;
using control_run_test::kObserved;
using control_run_test::NameOf;
using control_run_test::SmallControl;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The first failure's message; "no error" if there is none.
std::string MessageOfUpdates(ControlRun& run, int updates = 200) {
  std::string message = "no error";
  for (int k = 0; k < updates && message == "no error"; ++k) {
    message = MessageOf([&] { run.learner.Update(run.step); }, Error::Kind::kWorkFailed);
  }
  return message;
}

std::vector<float> CriticsOf(const ControlRun& run) {
  std::vector<float> numbers;
  for (const Parameters& critic : run.learner.critics()) {
    numbers.insert(numbers.end(), critic.block().begin(), critic.block().end());
  }
  return numbers;
}

TEST(ControlDivergence, IsDiagnosedAfterARewardThatIsNotANumber) {
  const TemporaryFolder folder;
  for (const ControlLearnerOptions& options : AllKinds()) {
    SCOPED_TRACE(NameOf(options));
    ControlRun run(options);
    for (int k = 0; k < 9; ++k) run.Update();
    run.Step(kNaN);
    run.Step();
    const std::string message = MessageOfUpdates(run);
    EXPECT_NE(message.find("nan"), std::string::npos) << message;
    // The critics are those from before the update, or the sample of the weights found it after it.
    EXPECT_TRUE(std::ranges::none_of(CriticsOf(run), [](float x) { return std::isnan(x); }));
    if (options.agent.FitsAt(WeightRefresh::kUpdate)) {
      EXPECT_NE(message.find("the residual of transition "), std::string::npos) << message;
    }
    const std::filesystem::path file = folder / "diverged.npz";
    run.learner.WriteDiagnosis(file);
    std::ifstream in(file, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    EXPECT_TRUE(bytes.starts_with("PK"));
    for (const char* const name : {"rewards", "targets", "critic_1", "actor", "alpha"}) {
      EXPECT_NE(bytes.find(name), std::string::npos) << name;
    }
  }
}

TEST(ControlDivergence, IsAFailureWhenACriticsValueIsNotANumber) {
  for (const ControlLearnerOptions& options : AllKinds()) {
    SCOPED_TRACE(NameOf(options));
    ControlRun run(options);
    const std::vector<float> action(kElements, 0.F), numbers(kObserved, kNaN);
    run.replay.Add({.values = action}, 0, false, false, Feeder::Bytes(numbers));
    const std::string message = MessageOfUpdates(run);
    EXPECT_NE(message.find("nan"), std::string::npos) << message;
  }
}

TEST(ControlDivergence, IsAFailureWhenTheActorIsNotANumber) {
  for (const AgentAlgorithm algorithm :
       {AgentAlgorithm::kDdpg, AgentAlgorithm::kTd3, AgentAlgorithm::kSac}) {
    ControlRun run(SmallControl(algorithm));
    Parameters actor(run.plans.actor);
    std::ranges::fill(actor.block(), kNaN);
    run.learner.StartFrom(actor);
    EXPECT_EQ(MessageOfUpdates(run), "an output of the actor has become nan");
  }
}

TEST(ControlDiagnosis, IsWrittenBeforeTheFirstUpdateToo) {
  const TemporaryFolder folder;
  const ControlRun run(SmallControl());
  run.learner.WriteDiagnosis(folder / "early.npz");
  EXPECT_GT(std::filesystem::file_size(folder / "early.npz"), 0U);
}

}  // namespace stableaa::control_divergence_test
