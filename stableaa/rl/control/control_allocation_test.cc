// A steady update of continuous control must not allocate heap memory.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "stableaa/rl/control/control_run_test.h"
#include "stableaa/testing/allocations.h"

#ifdef STABLEAA_COUNTS_ALLOCATIONS

namespace stableaa::control_allocation_test {

using control_run_test::AllKinds;
using control_run_test::ControlRun;
using control_run_test::NameOf;
using control_run_test::SmallControl;

// In `updates` updates, some of which take copies, once the window is full.
long CountUpdates(const ControlLearnerOptions& options, int updates) {
  ControlRun run(options);
  // The replay lays out what it reads according to what was drawn, so that its buffers grow for a
  // while.
  for (int k = 0; k < 100; ++k) run.Update();
  const long before = allocations;
  for (int k = 0; k < updates; ++k) run.learner.Update(run.step);
  return allocations - before;
}

TEST(ControlAllocations, AreCounted) {
  const long before = allocations;
  const auto something = std::make_unique<std::vector<int>>(1000);
  EXPECT_GE(allocations - before, 2);
}

TEST(ControlAllocations, AreNoneInASteadyUpdate) {
  for (ControlLearnerOptions options : AllKinds()) {
    EXPECT_EQ(CountUpdates(options, 40), 0) << NameOf(options);
    options.agent.weights.safeguard = true;
    EXPECT_EQ(CountUpdates(options, 40), 0) << NameOf(options) << ", guarded";
    options.control.actor_loss = ActorLoss::kMixed;
    EXPECT_EQ(CountUpdates(options, 40), 0) << NameOf(options) << ", mixed";
    options.replay.prioritized = true;
    EXPECT_EQ(CountUpdates(options, 40), 0) << NameOf(options) << ", prioritised";
  }
}

TEST(FullControlAllocations, AreNoneOnSeveralThreads) {
  for (const AgentAlgorithm algorithm : {AgentAlgorithm::kTd3, AgentAlgorithm::kSac}) {
    ControlLearnerOptions options = SmallControl(algorithm);
    options.agent.mixer = MixerKind::kStable;
    options.threads = 2;
    EXPECT_EQ(CountUpdates(options, 40), 0) << NameOf(options);
  }
}

}  // namespace stableaa::control_allocation_test

#endif
