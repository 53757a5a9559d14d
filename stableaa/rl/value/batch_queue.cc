#include "stableaa/rl/value/batch_queue.h"

#include <fmt/format.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/saved_number.h"

namespace stableaa {

struct BatchQueue::Entry {
  DrawnBatch drawn;
  bool handed_over = false;  // to the other thread
  bool evaluated = false;    // guarded by Ahead if there is one
};

// The thread that works ahead.
class BatchQueue::Ahead {
 public:
  explicit Ahead(const std::function<void(DrawnBatch&)>& evaluate)
      : evaluate_(evaluate), thread_([this] { Run(); }) {}

  ~Ahead() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void HandOver(Entry& entry) {
    {
      const std::lock_guard lock(mutex_);
      work_.push_back(&entry);
    }
    changed_.notify_all();
  }

  void Await(const Entry& entry) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return entry.evaluated || error_; });
    // An error in a later batch belongs to a later update, however far ahead the thread is.
    if (!entry.evaluated) std::rethrow_exception(error_);
  }

  void AwaitAll() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return work_.empty() || error_; });
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ending_ || (!work_.empty() && !error_); });
      if (ending_) return;
      Entry& entry = *work_.front();
      lock.unlock();
      std::exception_ptr error;
      try {
        evaluate_(entry.drawn);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      error_ = error;
      entry.evaluated = !error;
      work_.pop_front();
      changed_.notify_all();
    }
  }

  const std::function<void(DrawnBatch&)>& evaluate_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry*> work_;  // the first is in progress
  std::exception_ptr error_;
  bool ending_ = false;
  std::thread thread_;
};

BatchQueue::BatchQueue(const BatchQueueOptions& options, TransitionSampler& sampler,
                       std::function<void(DrawnBatch&)> evaluate)
    : options_(options), sampler_(sampler), evaluate_(std::move(evaluate)) {
  if (options.works_ahead) ahead_ = std::make_unique<Ahead>(evaluate_);
}

BatchQueue::~BatchQueue() = default;

void BatchQueue::Fill(std::int64_t step) {
  const auto length = static_cast<std::size_t>(options_.lookahead) + 1;
  while (queue_.size() < length) queue_.push_back(Draw(step));
  std::int64_t expected = step;
  for (const auto& entry : queue_) {
    if (!entry->handed_over) entry->drawn.step = expected;
    expected += options_.update_interval_steps;
  }
}

std::unique_ptr<BatchQueue::Entry> BatchQueue::NewEntry() {
  if (spare_.empty()) return std::make_unique<Entry>();
  std::unique_ptr<Entry> entry = std::move(spare_.back());
  spare_.pop_back();
  return entry;
}

std::unique_ptr<BatchQueue::Entry> BatchQueue::Draw(std::int64_t step) {
  std::unique_ptr<Entry> entry = NewEntry();
  DrawnBatch& drawn = entry->drawn;
  drawn.update = next_update_;
  sampler_.DrawBatch(options_.batch, step, drawn.batch.ids, drawn.batch.weights);
  drawn.sample_ids.clear();
  if (options_.sample > 0) sampler_.DrawSample(options_.sample, drawn.sample_ids);
  Read(*entry);
  ++next_update_;
  return entry;
}

void BatchQueue::Read(Entry& entry) const {
  entry.handed_over = entry.evaluated = false;
  DrawnBatch& drawn = entry.drawn;
  sampler_.replay().Read(drawn.batch.ids, drawn.batch);
  if (!drawn.sample_ids.empty()) sampler_.replay().Read(drawn.sample_ids, drawn.sample);
}

void BatchQueue::HandOver(std::int64_t last_update) {
  for (const auto& entry : queue_) {
    if (entry->handed_over || entry->drawn.update > last_update) continue;
    entry->handed_over = true;
    ahead_->HandOver(*entry);
  }
}

const DrawnBatch& BatchQueue::Await(std::int64_t last_update) {
  Entry& first = *queue_.front();
  current_ = &first;
  if (ahead_) {
    HandOver(last_update);
    ahead_->Await(first);
  } else {
    evaluate_(first.drawn);
    first.evaluated = true;
  }
  return first.drawn;
}

void BatchQueue::Pop() {
  if (used_) spare_.push_back(std::move(used_));
  used_ = std::move(queue_.front());
  queue_.pop_front();
}

void BatchQueue::AwaitAll() const {
  if (ahead_) ahead_->AwaitAll();
}

const DrawnBatch* BatchQueue::current() const {
  return current_ == nullptr ? nullptr : &current_->drawn;
}

bool BatchQueue::current_is_evaluated() const { return current_ != nullptr && current_->evaluated; }

void BatchQueue::Save(ByteWriter& out) const {
  out.U64(queue_.size());
  for (const auto& entry : queue_) {
    const DrawnBatch& drawn = entry->drawn;
    out.U64(drawn.batch.ids.size());
    for (const std::int64_t id : drawn.batch.ids) out.I64(id);
    out.U64(drawn.batch.weights.size());
    out.F32s(drawn.batch.weights);
    out.U64(drawn.sample_ids.size());
    for (const std::int64_t id : drawn.sample_ids) out.I64(id);
  }
}

namespace {

std::vector<std::int64_t> LoadIds(ByteReader& in, std::uint64_t expected, const Replay& replay) {
  ExpectCount(in, "transitions in a batch", expected, in.U64());
  std::vector<std::int64_t> ids;
  for (std::uint64_t k = 0; k < expected; ++k) {
    ids.push_back(in.I64());
    if (!replay.Holds(ids.back())) {
      throw in.Wrong(
          fmt::format("expected a transition that the replay has, found {}", ids.back()));
    }
  }
  return ids;
}

void LoadImportance(ByteReader& in, std::uint64_t expected, std::vector<float>& weights) {
  ExpectCount(in, "importance weights of a batch", expected, in.U64());
  weights.resize(expected);
  in.F32s(weights);
  for (const float weight : weights) {
    if (!(weight >= 0 && weight <= 1)) {
      throw in.Wrong(fmt::format("expected an importance weight of 0 to 1, found {}", weight));
    }
  }
}

}  // namespace

void BatchQueue::Load(ByteReader& in, std::int64_t updates) {
  const auto lookahead = static_cast<std::uint64_t>(options_.lookahead);
  const std::uint64_t length = updates == 0 ? 0 : lookahead;
  ExpectCount(in, "batches (train.lookahead_updates)", length, in.U64());
  queue_.clear();
  current_ = nullptr;
  next_update_ = updates + 1;
  const auto batch = static_cast<std::uint64_t>(options_.batch);
  const auto sample = static_cast<std::uint64_t>(options_.sample);
  for (std::uint64_t k = 0; k < length; ++k) {
    auto entry = std::make_unique<Entry>();
    DrawnBatch& drawn = entry->drawn;
    drawn.update = next_update_++;
    drawn.batch.ids = LoadIds(in, batch, sampler_.replay());
    LoadImportance(in, options_.is_prioritized ? batch : 0, drawn.batch.weights);
    drawn.sample_ids = LoadIds(in, sample, sampler_.replay());
    Read(*entry);
    queue_.push_back(std::move(entry));
  }
}

}  // namespace stableaa
