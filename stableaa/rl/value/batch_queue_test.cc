#include "stableaa/rl/value/batch_queue.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/replay/observation_layout.h"
#include "stableaa/rl/value/learner_run_test.h"
#include "stableaa/testing/message.h"

namespace stableaa::batch_queue_test {

using learner_run_test::Feeder;
using learner_run_test::kActions;
using learner_run_test::VectorWorld;

// A queue on a small replay; records which updates' batches were evaluated, in order.
class Bench {
 public:
  explicit Bench(const BatchQueueOptions& options, std::int64_t fails = 0)
      : queue(options, sampler_, [this, fails](DrawnBatch& drawn) {
          const std::lock_guard lock(mutex_);
          if (drawn.update == fails) throw WorkFailed("update " + std::to_string(fails));
          evaluated_.push_back(drawn.update);
        }) {
    Feeder feeder(layout_);
    feeder.Begin(replay_);
    for (int k = 0; k < 50; ++k) feeder.Step(replay_);
  }

  // The ids of the next update, followed by its sample's.
  std::vector<std::int64_t> Next(std::int64_t last_update) {
    queue.Fill(0);
    const DrawnBatch& drawn = queue.Await(last_update);
    std::vector<std::int64_t> ids = drawn.batch.ids;
    ids.insert(ids.end(), drawn.sample_ids.begin(), drawn.sample_ids.end());
    queue.Pop();
    return ids;
  }

  std::vector<std::int64_t> evaluated() {
    queue.AwaitAll();
    const std::lock_guard lock(mutex_);
    return evaluated_;
  }

  std::vector<std::byte> Saved() const {
    ByteWriter out;
    queue.Save(out);
    return {out.bytes().begin(), out.bytes().end()};
  }

 private:
  const ReplayOptions options_ = {.size = 40};
  const ObservationLayout layout_{VectorWorld()};
  Replay replay_{options_, {}, layout_.frames(), {.count = kActions}, 20};
  TransitionSampler sampler_{options_, 1, replay_};
  std::mutex mutex_;
  std::vector<std::int64_t> evaluated_;

 public:
  BatchQueue queue;  // last: its thread uses the others
};

using Updates = std::vector<std::int64_t>;

TEST(BatchQueue, WorksAheadAsFarAsTheTargetNetworksServe) {
  Bench bench({.batch = 4, .lookahead = 3, .works_ahead = true});
  bench.Next(2);
  EXPECT_EQ(bench.evaluated(), (Updates{1, 2}));
  bench.Next(2);
  EXPECT_EQ(bench.evaluated(), (Updates{1, 2}));
  bench.Next(9);
  EXPECT_EQ(bench.evaluated(), (Updates{1, 2, 3, 4, 5, 6}));
}

TEST(BatchQueue, WithoutAThreadEvaluatesABatchWhenItIsAskedFor) {
  Bench bench({.batch = 4, .lookahead = 3});
  bench.Next(9);
  bench.Next(9);
  EXPECT_EQ(bench.evaluated(), (Updates{1, 2}));
}

TEST(BatchQueue, DrawsTheSameBatchesWhetherItWorksAheadOrNot) {
  Bench ahead({.batch = 4, .sample = 3, .lookahead = 2, .works_ahead = true});
  Bench plain({.batch = 4, .sample = 3, .lookahead = 2});
  for (int k = 0; k < 6; ++k) {
    const std::vector<std::int64_t> ids = plain.Next(100);
    EXPECT_EQ(ids.size(), 7U);
    EXPECT_EQ(ahead.Next(100), ids);
  }
}

TEST(BatchQueue, ReportsAFailureInTheUpdateThatItBelongsTo) {
  for (const bool works_ahead : {false, true}) {
    Bench bench({.batch = 4, .lookahead = 3, .works_ahead = works_ahead}, 3);
    EXPECT_EQ(bench.queue.current(), nullptr);
    for (int k = 0; k < 2; ++k) {
      EXPECT_NO_THROW(bench.Next(9));
      bench.queue.AwaitAll();
    }
    EXPECT_TRUE(bench.queue.current_is_evaluated());
    EXPECT_EQ(MessageOf([&] { bench.Next(9); }, Error::Kind::kWorkFailed), "update 3");
    bench.queue.AwaitAll();
    ASSERT_NE(bench.queue.current(), nullptr);
    EXPECT_EQ(bench.queue.current()->update, 3);
    EXPECT_FALSE(bench.queue.current_is_evaluated());
  }
}

TEST(BatchQueue, GoesOnWithTheBatchesThatItSaved) {
  const BatchQueueOptions options = {.batch = 4, .sample = 3, .lookahead = 2};
  Bench whole(options), loaded(options);
  for (int k = 0; k < 5; ++k) whole.Next(100);
  const std::vector<std::byte> bytes = whole.Saved();
  loaded.Next(100);
  ByteReader in(bytes, "queue");
  loaded.queue.Load(in, 5);
  in.ExpectEnd();
  EXPECT_EQ(loaded.Saved(), bytes);
  for (int k = 0; k < options.lookahead; ++k) EXPECT_EQ(loaded.Next(100), whole.Next(100));
  EXPECT_EQ(loaded.evaluated(), (Updates{1, 6, 7}));
}

TEST(BatchQueue, RefusesBatchesOfOtherOptions) {
  const BatchQueueOptions options = {.batch = 4, .sample = 3, .lookahead = 2};
  Bench bench(options);
  bench.Next(100);
  const std::vector<std::byte> bytes = bench.Saved();
  const auto message = [&](const BatchQueueOptions& changed, std::int64_t updates) {
    Bench other(changed);
    return MessageOf([&] {
      ByteReader in(bytes, "queue");
      other.queue.Load(in, updates);
    });
  };
  EXPECT_EQ(message(options, 1), "no error");
  EXPECT_NE(message(options, 0).find("expected 0 batches (train.lookahead_updates), found 2"),
            std::string::npos);
  BatchQueueOptions changed = options;
  changed.lookahead = 1;
  EXPECT_NE(message(changed, 1).find("expected 1 batches"), std::string::npos);
  changed = options;
  changed.batch = 5;
  EXPECT_NE(message(changed, 1).find("expected 5 transitions in a batch, found 4"),
            std::string::npos);
  changed = options;
  changed.is_prioritized = true;
  EXPECT_NE(message(changed, 1).find("expected 4 importance weights of a batch, found 0"),
            std::string::npos);
}

}  // namespace stableaa::batch_queue_test
