#include "stableaa/rl/value/learner.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/value/learner_run_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::learner_checkpoint_test {

using learner_run_test::Case;
using learner_run_test::Cases;
using learner_run_test::kActions;
using learner_run_test::SmallRun;
using learner_run_test::TestRun;

TEST(LearnerCheckpoint, ContinuesToTheSameBytesFromAnyUpdate) {
  const TemporaryFolder folder(TemporaryFolder::InMemory());
  constexpr int kUpdates = 14;
  for (const Case& one : Cases()) {
    for (const int lookahead : {0, 3}) {
      LearnerOptions options = SmallRun();
      one.change(options);
      options.lookahead_updates = lookahead;
      TestRun whole(options);
      for (int k = 0; k < kUpdates; ++k) whole.Update();
      for (const int stop : {0, 3, 4, 5, 10}) {
        SCOPED_TRACE(one.name + ", lookahead " + std::to_string(lookahead) + ", stopped after " +
                     std::to_string(stop));
        TestRun first(options);
        for (int k = 0; k < stop; ++k) first.Update();
        ByteWriter out;
        first.learner.Save(out);
        options.threads = lookahead > 0 ? 1 + stop % 2 : 1;
        TestRun second(options);
        for (int k = 0; k < stop % 4; ++k) second.Update();  // loading forgets the earlier state
        if (options.replay.prioritized) {
          const std::filesystem::path segments = folder / std::to_string(stop);
          first.replay.SaveSegments(segments);
          ByteWriter state;
          first.replay.Save(state);
          ByteReader in(state.bytes(), "replay");
          second.replay.Load(in, segments);
          std::filesystem::remove_all(segments);
          second.feeder = first.feeder;
          second.step = first.step;
        } else {  // the same steps fill the replay alike
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

TEST(LearnerCheckpoint, RefusesToLoadWhatDoesNotFit) {
  LearnerOptions options = SmallRun();
  options.agent.mixer = MixerKind::kStable;
  options.lookahead_updates = 3;
  TestRun run(options);
  for (int k = 0; k < 9; ++k) run.Update();
  const std::vector<std::byte> bytes = run.Saved();

  const auto load = [&](const std::function<void(LearnerOptions&)>& change,
                        std::span<const std::byte> state) {
    LearnerOptions changed = options;
    change(changed);
    TestRun other(changed);
    for (int k = 0; k < 9; ++k) other.Update();  // to fill the replay
    ByteReader in(state, "state");
    other.learner.Load(in);
    in.ExpectEnd();
  };
  EXPECT_NO_THROW(load([](LearnerOptions&) {}, bytes));
  ByteReader elsewhere(bytes, "state");
  TestRun young(options);
  EXPECT_THROW(young.learner.Load(elsewhere), Error);  // its replay lacks these transitions
  EXPECT_THROW(load([](LearnerOptions& r) { r.seed = 2; }, bytes), Error);
  EXPECT_THROW(load([](LearnerOptions& r) { r.batch = 7; }, bytes), Error);
  EXPECT_THROW(load([](LearnerOptions& r) { r.lookahead_updates = 1; }, bytes), Error);
  EXPECT_THROW(load([](LearnerOptions& r) { r.agent.hidden = {13}; }, bytes), Error);
  EXPECT_THROW(load([](LearnerOptions& r) { r.agent.targets = 1; }, bytes), Error);
  EXPECT_THROW(load([](LearnerOptions& r) { r.replay.prioritized = true; }, bytes), Error);
  EXPECT_THROW(
      load([](LearnerOptions& r) { r.agent.weights.refresh = WeightRefresh::kUpdate; }, bytes),
      Error);
  EXPECT_THROW(load([](LearnerOptions& r) { r.optimizer.kind = OptimizerKind::kAdam; }, bytes),
               Error);
  for (const std::size_t cut : {bytes.size() - 1, bytes.size() / 2, std::size_t{10}}) {
    EXPECT_THROW(load([](LearnerOptions&) {}, std::span(bytes).first(cut)), Error);
  }
}

}  // namespace stableaa::learner_checkpoint_test
