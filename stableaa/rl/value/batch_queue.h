// The batches that have been drawn and are waiting for their updates.
//
//   queue.Fill(step);
//   const DrawnBatch& drawn = queue.Await(last_update);   // evaluated
//   ... the update ...
//   queue.Pop();
//
// Batches are drawn `lookahead` updates before they are used, whatever the number of threads. With
// `works_ahead` a second thread evaluates the waiting ones while the caller works on the gradient.
// It leaves those after last_update alone, since the target networks will have shifted by then. So
// the thread does not change a single bit of the result.
#ifndef STABLEAA_RL_VALUE_BATCH_QUEUE_H_
#define STABLEAA_RL_VALUE_BATCH_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "stableaa/rl/value/drawn_batch.h"
#include "stableaa/rl/value/transition_sampler.h"

namespace stableaa {

class ByteReader;
class ByteWriter;

struct BatchQueueOptions {
  int batch = 32;     // transitions per update
  int sample = 0;     // extra ones, for mixing weights that are computed in each update
  int lookahead = 1;  // batches that wait while one is used
  std::int64_t update_interval_steps = 1;
  bool works_ahead = false;     // uses a thread of its own; needs a lookahead
  bool is_prioritized = false;  // batches have importance weights
};

// Not thread-safe.
class BatchQueue {
 public:
  // `evaluate` computes what a batch needs from the target networks. It runs in the caller's thread
  // or in the queue's own, never in both; do not touch its data between Await and AwaitAll. The
  // sampler, and whatever `evaluate` refers to, must outlive the queue.
  BatchQueue(const BatchQueueOptions& options, TransitionSampler& sampler,
             std::function<void(DrawnBatch&)> evaluate);
  ~BatchQueue();

  // Draws the missing batches, in step `step` of the run, and tells those that are still to be
  // evaluated which step to expect.
  void Fill(std::int64_t step);

  // The evaluated batch for the next update; valid until the Pop of the update after it. Throws
  // what `evaluate` threw. `last_update`: the last update that uses the present target networks.
  const DrawnBatch& Await(std::int64_t last_update);

  // Call when the update is done.
  void Pop();

  // Waits until no batch is being evaluated.
  void AwaitAll() const;

  // The batch returned by the last Await, or null. Only call after AwaitAll.
  const DrawnBatch* current() const;
  // Whether its evaluation succeeded.
  bool current_is_evaluated() const;

  // The waiting batches. Load throws BadInput for anything that no queue with these options saved
  // after `updates` updates.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in, std::int64_t updates);

 private:
  struct Entry;
  class Ahead;

  std::unique_ptr<Entry> NewEntry();
  std::unique_ptr<Entry> Draw(std::int64_t step);
  void Read(Entry& entry) const;
  void HandOver(std::int64_t last_update);

  const BatchQueueOptions options_;
  TransitionSampler& sampler_;
  const std::function<void(DrawnBatch&)> evaluate_;
  std::int64_t next_update_ = 1;              // the next one to draw for
  std::deque<std::unique_ptr<Entry>> queue_;  // drawn, not used yet, in order
  std::vector<std::unique_ptr<Entry>> spare_;
  std::unique_ptr<Entry> used_;     // from the last Pop
  const Entry* current_ = nullptr;  // from the last Await
  std::unique_ptr<Ahead> ahead_;    // last, so its thread ends first
};

}  // namespace stableaa

#endif  // STABLEAA_RL_VALUE_BATCH_QUEUE_H_
