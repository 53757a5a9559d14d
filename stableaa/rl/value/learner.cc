#include "stableaa/rl/value/learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "stableaa/base/files/npz.h"
#include "stableaa/base/machine.h"
#include "stableaa/bellman/policy.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/saved_number.h"
#include "stableaa/core/stopwatch.h"

namespace stableaa {

// A batch that was drawn and waits for its update.
struct Learner::Pending {
  std::int64_t update = 0;  // which one, from 1
  ReplayBatch batch;
  std::vector<std::int64_t> sample_ids;  // of mixing weights in each update; else empty
  ReplayBatch sample;

  // Computed from frozen networks only.
  std::vector<FrozenState> states;
  FrozenValues values, sample_values;
  Mixing mixing;
  bool handed_over = false;  // to the other thread
  bool evaluated = false;    // guarded by Ahead if there is one
};

// The thread that works ahead. Everything that it touches (target networks, mixer, the batch) is
// left alone by others between HandOver and Await.
class Learner::Ahead {
 public:
  explicit Ahead(Learner& learner) : learner_(learner), thread_([this] { Run(); }) {}

  ~Ahead() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void HandOver(Pending& pending) {
    {
      const std::lock_guard lock(mutex_);
      work_.push_back(&pending);
    }
    changed_.notify_all();
  }

  void Await(const Pending& pending) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return pending.evaluated || error_; });
    // An error of a later batch is that of a later update, however far ahead the thread is.
    if (!pending.evaluated) std::rethrow_exception(error_);
  }

  // Until nothing is left to do.
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
      Pending& pending = *work_.front();
      lock.unlock();
      std::exception_ptr error;
      try {
        learner_.EvaluateFrozen(pending);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      error_ = error;
      pending.evaluated = !error;
      work_.pop_front();
      changed_.notify_all();
    }
  }

  Learner& learner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Pending*> work_;  // the first is being worked on
  std::exception_ptr error_;
  bool ending_ = false;
  std::thread thread_;
};

namespace {

// Whether that is when the agent computes its mixing weights.
bool FitsAt(WeightRefresh refresh, const AgentOptions& agent) {
  return agent.mixes() && agent.weights.refresh == refresh;
}

bool WorksAhead(const RunOptions& options) {
  return options.threads() > 1 && options.train.lookahead_updates > 0;
}

// OpenMP's threads wait for each other without sleeping, so that one more than there are cores
// takes the time of all; and what small networks gain from a second one is lost in the waiting.
int GradientThreads(const RunOptions& options, const Plan& plan) {
  constexpr double kWorthSharing = 2e8;  // multiplications and additions: some 5 ms
  const double work = options.train.batch * (plan.multiply_adds + plan.backward_multiply_adds);
  const int threads = std::min(options.threads(), CoreCount()) - (WorksAhead(options) ? 1 : 0);
  return work < kWorthSharing ? 1 : std::max(1, threads);
}

// Every state that can be sampled.
std::int64_t CachedStates(const RunOptions& options) { return options.replay.size; }

}  // namespace

std::int64_t Learner::ReplayReserve(const RunOptions& options) {
  // A step adds one state, and another one where an episode ends; some more so that the states
  // themselves and those of their returns are there.
  const std::int64_t batches = options.train.lookahead_updates + 1;
  return 2 * batches * options.train.update_interval_steps + options.agent.n_step + 64;
}

std::uint64_t Learner::EstimateBytes(const RunOptions& options, const Plan& plan) {
  const std::uint64_t copies = 3 + (options.optimizer.kind != OptimizerKind::kRmsprop ? 1 : 0);
  return sizeof(float) * plan.parameters * copies +
         NetworkBytes(plan,
                      {.batch = options.train.batch, .threads = GradientThreads(options, plan)}) +
         TargetNetworks::Bytes(plan, options.agent.window(), CachedStates(options));
}

Learner::Learner(const RunOptions& options, std::shared_ptr<const Plan> plan,
                 const ObservationLayout& layout, Replay& replay)
    : options_(options),
      plan_(std::move(plan)),
      stack_(layout.frames().stack),
      replay_(replay),
      replay_random_(options.train.seed, "replay"),
      weights_random_(options.train.seed, "weights"),
      online_(plan_),
      gradients_(plan_),
      network_(CompileNetwork(
          plan_, {.batch = options.train.batch, .threads = GradientThreads(options, *plan_)})),
      optimizer_(plan_, options.optimizer, GradientThreads(options, *plan_)),
      networks_(plan_, layout, options.agent.window(), CachedStates(options)),
      mixer_(options.agent),
      fitter_(options.agent),
      gatherer_(layout) {
  RandomStream random(options.train.seed, "network");
  online_.Initialise(random);
  networks_.Begin(online_);
  mixing_.eta = options.agent.eta;
  if (options.agent.backup == AgentBackup::kDouble) {
    chooser_ = CompileNetwork(plan_, {.batch = options.train.batch,
                                      .threads = GradientThreads(options, *plan_),
                                      .training = false});
  }
  const auto batch = static_cast<std::size_t>(options.train.batch);
  outputs_.resize(batch * static_cast<std::size_t>(plan_->outputs()));
  output_gradients_.resize(outputs_.size());
  targets_.resize(batch);
  errors_.resize(batch);
  online_best_.resize(batch);
  if (WorksAhead(options)) ahead_ = std::make_unique<Ahead>(*this);
}

Learner::~Learner() = default;

// The last update that the present target networks are for.
std::int64_t Learner::next_shift() const {
  const std::int64_t interval = options_.agent.target_interval_updates;
  return (counts_.updates / interval + 1) * interval;
}

UpdateReport Learner::Update(std::int64_t step) {
  FillQueue(step);
  Pending& pending = *queue_.front();
  const Stopwatch targets_watch;
  HandOver();
  current_ = &pending;
  Await(pending);
  if (FitsAt(WeightRefresh::kUpdate, options_.agent)) {
    mixing_ = pending.mixing;
    counts_.fallbacks += mixing_.fallback ? 1 : 0;
  }
  mixer_.Targets(pending.batch, pending.values, mixing_, OnlineBest(pending), counts_.shifts + 1,
                 targets_);
  times_.targets += targets_watch.Seconds();

  const Stopwatch gradient_watch;
  const UpdateReport report = Descend(pending);
  replay_.SetPriorities(pending.batch.ids, errors_);
  times_.gradient += gradient_watch.Seconds();

  ++counts_.updates;
  if (used_) spare_.push_back(std::move(used_));
  used_ = std::move(queue_.front());
  queue_.pop_front();
  if (counts_.updates % options_.agent.target_interval_updates == 0) {
    const Stopwatch shift_watch;
    Shift();
    times_.targets += shift_watch.Seconds();
  }
  return report;
}

void Learner::FillQueue(std::int64_t step) {
  const Stopwatch watch;
  const auto length = static_cast<std::size_t>(options_.train.lookahead_updates) + 1;
  while (queue_.size() < length) queue_.push_back(Draw(step));
  times_.sampling += watch.Seconds();
}

// To the thread that works ahead: all that the present target networks are for.
void Learner::HandOver() {
  if (!ahead_) return;
  for (const auto& pending : queue_) {
    if (pending->handed_over || pending->update > next_shift()) continue;
    pending->handed_over = true;
    ahead_->HandOver(*pending);
  }
}

std::unique_ptr<Learner::Pending> Learner::Draw(std::int64_t step) {
  std::unique_ptr<Pending> pending;
  if (spare_.empty()) {
    pending = std::make_unique<Pending>();
  } else {
    pending = std::move(spare_.back());
    spare_.pop_back();
  }
  pending->update = counts_.updates + 1 + static_cast<std::int64_t>(queue_.size());
  const ReplayOptions& replay = options_.replay;
  const double progress =
      replay.importance_steps == 0
          ? 1
          : std::min(1.0, static_cast<double>(step) / static_cast<double>(replay.importance_steps));
  const double importance = replay.importance_start + (1 - replay.importance_start) * progress;
  replay_.Sample(options_.train.batch, importance, replay_random_, pending->batch.ids,
                 pending->batch.weights);
  pending->sample_ids.clear();
  if (FitsAt(WeightRefresh::kUpdate, options_.agent)) {
    replay_.SampleUniform(options_.agent.weights_batch(), weights_random_, pending->sample_ids);
  }
  ReadPending(*pending);
  return pending;
}

void Learner::ReadPending(Pending& pending) const {
  pending.handed_over = pending.evaluated = false;
  replay_.Read(pending.batch.ids, pending.batch);
  if (!pending.sample_ids.empty()) replay_.Read(pending.sample_ids, pending.sample);
}

void Learner::EvaluateFrozen(Pending& pending) {
  fitter_.CollectStates(pending.batch, stack_, fitter_.targets_need_states(), pending.states);
  networks_.Evaluate(pending.states, pending.values);
  if (pending.sample_ids.empty()) return;
  fitter_.CollectStates(pending.sample, stack_, true, pending.states);
  networks_.Evaluate(pending.states, pending.sample_values);
  pending.mixing = fitter_.FitWeights(pending.sample, pending.sample_values, counts_.shifts + 1);
}

void Learner::Await(Pending& pending) {
  if (ahead_) return ahead_->Await(pending);
  EvaluateFrozen(pending);
  pending.evaluated = true;
}

// The online network's best action in each s', for the backup double.
std::span<const int> Learner::OnlineBest(const Pending& pending) {
  if (!chooser_) return {};
  const std::size_t count = pending.batch.count();
  gatherer_.Clear();
  for (std::size_t j = 0; j < count; ++j) gatherer_.Add(pending.batch.Next(j, stack_));
  chooser_->Forward(online_, gatherer_.Input(0, gatherer_.count()), outputs_);
  online_passes_ += static_cast<double>(count);
  for (const float value : outputs_) {
    if (!std::isfinite(value)) {
      throw WorkFailed(fmt::format("the online network's value is {}", value));
    }
  }
  const std::size_t actions = outputs_.size() / count;
  for (std::size_t j = 0; j < count; ++j) {
    online_best_[j] = static_cast<int>(
        GreedyAction(std::span<const float>(outputs_).subspan(j * actions, actions)));
  }
  return online_best_;
}

// One step of the optimiser towards targets_.
UpdateReport Learner::Descend(const Pending& pending) {
  const ReplayBatch& batch = pending.batch;
  const std::size_t count = batch.count(), actions = outputs_.size() / count;
  gatherer_.Clear();
  for (std::size_t j = 0; j < count; ++j) gatherer_.Add(batch.State(j, stack_));
  network_->Forward(online_, gatherer_.Input(0, gatherer_.count()), outputs_);
  UpdateReport report;
  report.loss = LossGradient(options_.agent.Loss(),
                             {.actions = static_cast<int>(actions),
                              .outputs = outputs_,
                              .chosen = batch.actions,
                              .targets = targets_,
                              .weights = batch.weights},
                             output_gradients_, errors_);
  network_->Backward(online_, output_gradients_, gradients_);
  optimizer_.Step(gradients_, online_);
  for (std::size_t j = 0; j < count; ++j) {
    report.td_abs += std::abs(static_cast<double>(errors_[j]));
    report.q_mean +=
        static_cast<double>(outputs_[j * actions + static_cast<std::size_t>(batch.actions[j])]);
  }
  report.td_abs /= static_cast<double>(count);
  report.q_mean /= static_cast<double>(count);
  return report;
}

// θ_i ← θ_{i+1}, θ_m ← θ.
void Learner::Shift() {
  if (ahead_) ahead_->AwaitAll();
  networks_.Push(online_);
  ++counts_.shifts;
  const AgentOptions& agent = options_.agent;
  if (agent.restart == WindowRestart::kInterval && agent.window() > 1 &&
      counts_.updates - restarted_at_ >= agent.restart_interval_updates) {
    networks_.KeepNewest();
    restarted_at_ = counts_.updates;
    ++counts_.restarts;
  }
  const bool fits = FitsAt(WeightRefresh::kSync, agent);
  const bool watches = agent.restart == WindowRestart::kGrowth && agent.window() > 1;
  if (fits || watches) RefreshAtShift();
}

// Looks at the new window through a sample: has the residual grown, and which weights fit best?
void Learner::RefreshAtShift() {
  const AgentOptions& agent = options_.agent;
  Pending look;
  replay_.SampleUniform(agent.weights_batch(), weights_random_, look.sample_ids);
  replay_.Read(look.sample_ids, look.sample);
  fitter_.CollectStates(look.sample, stack_, true, look.states);
  networks_.Evaluate(look.states, look.values);
  if (agent.restart == WindowRestart::kGrowth) {
    const double residual = fitter_.NewestResidual(look.sample, look.values, counts_.shifts + 1);
    if (best_residual_ > 0 && residual > agent.restart_growth * best_residual_) {
      networks_.KeepNewest();
      networks_.Evaluate(look.states, look.values);
      best_residual_ = residual;
      ++counts_.restarts;
    } else if (best_residual_ == 0 || residual < best_residual_) {
      best_residual_ = residual;
    }
  }
  if (!FitsAt(WeightRefresh::kSync, agent)) return;
  mixing_ = fitter_.FitWeights(look.sample, look.values, counts_.shifts + 1);
  counts_.fallbacks += mixing_.fallback ? 1 : 0;
}

// The other thread counts too: not before it has finished.
const TargetNetworks::Counts& Learner::cache_counts() const {
  if (ahead_) ahead_->AwaitAll();
  return networks_.counts();
}

double Learner::multiply_adds() const {
  const double online = static_cast<double>(counts_.updates) * options_.train.batch;
  return online * (plan_->multiply_adds + plan_->backward_multiply_adds) +
         (online_passes_ + static_cast<double>(cache_counts().computed)) * plan_->multiply_adds;
}

void Learner::WriteDiagnosis(const std::filesystem::path& path) const {
  NpzWriter out(path);
  out.Add("update", {}, std::span<const std::int64_t>(&counts_.updates, 1));
  out.Add("parameters", {online_.block().size()}, online_.block());
  out.Add("gradients", {gradients_.block().size()}, gradients_.block());
  out.Add("alpha", {mixing_.alpha.size()}, std::span<const double>(mixing_.alpha));
  if (current_ != nullptr) {
    if (ahead_) ahead_->AwaitAll();
    const ReplayBatch& batch = current_->batch;
    const std::uint64_t n = batch.count();
    const std::vector<std::int32_t> actions(batch.actions.begin(), batch.actions.end());
    out.Add("ids", {n}, std::span<const std::int64_t>(batch.ids));
    out.Add("actions", {n}, std::span<const std::int32_t>(actions));
    out.Add("rewards", {n}, std::span<const float>(batch.rewards));
    out.Add("discounts", {n}, std::span<const float>(batch.discounts));
    if (current_->evaluated) {  // else they are still those of the update before
      out.Add("targets", {n}, std::span<const float>(targets_));
      out.Add("q_values", {n, outputs_.size() / n}, std::span<const float>(outputs_));
    }
    const FrozenValues& frozen = current_->values;
    out.Add("target_network_values", {frozen.networks, frozen.states, frozen.actions},
            std::span<const float>(frozen.values));
  }
  out.Finish();
}

void Learner::Save(ByteWriter& out) const {
  replay_random_.Save(out);
  weights_random_.Save(out);
  online_.Save(out);
  optimizer_.Save(out);
  networks_.Save(out);
  mixing_.Save(out);
  for (const std::int64_t count :
       {counts_.updates, counts_.shifts, counts_.restarts, counts_.fallbacks, restarted_at_}) {
    out.I64(count);
  }
  out.F64(best_residual_);
  out.U64(queue_.size());
  for (const auto& pending : queue_) {
    out.U64(pending->batch.ids.size());
    for (const std::int64_t id : pending->batch.ids) out.I64(id);
    out.U64(pending->batch.weights.size());
    out.F32s(pending->batch.weights);
    out.U64(pending->sample_ids.size());
    for (const std::int64_t id : pending->sample_ids) out.I64(id);
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

void Learner::Load(ByteReader& in) {
  if (ahead_) ahead_->AwaitAll();
  replay_random_.Load(in);
  weights_random_.Load(in);
  online_.Load(in);
  if (!online_.AllFinite()) throw in.Wrong("expected finite weights of the online network");
  optimizer_.Load(in);
  networks_.Load(in);
  mixing_.Load(in);
  CheckMixing(in);
  LoadCounts(in);
  LoadQueue(in);
}

// Against the target networks and the options.
void Learner::CheckMixing(const ByteReader& in) const {
  const std::size_t found = mixing_.alpha.size();
  const auto networks = static_cast<std::size_t>(networks_.count());
  if (!options_.agent.mixes()) {
    ExpectCount(in, "mixing weights of an agent that mixes nothing", 1, found);
  } else if (!FitsAt(WeightRefresh::kUpdate, options_.agent)) {
    ExpectCount(in, "mixing weights (one per target network)", networks, found);
  } else if (const int window = options_.agent.window();  // since the last update one may have come
             found > static_cast<std::size_t>(window)) {
    throw in.Wrong(fmt::format("expected 1 to {} mixing weights, found {}", window, found));
  }
}

// Each within what the counts before it allow.
void Learner::LoadCounts(ByteReader& in) {
  const AgentOptions& agent = options_.agent;
  counts_.updates = in.I64();
  if (counts_.updates != optimizer_.steps()) {
    throw in.Wrong(fmt::format("expected the {} updates of the optimiser, found {}",
                               optimizer_.steps(), counts_.updates));
  }
  counts_.shifts = in.I64();
  const std::int64_t shifts = counts_.updates / agent.target_interval_updates;
  if (counts_.shifts != shifts) {
    throw in.Wrong(fmt::format("expected {} shifts of target networks after {} updates, found {}",
                               shifts, counts_.updates, counts_.shifts));
  }
  if (networks_.untrained() != (shifts == 0) ||
      networks_.count() > std::max<std::int64_t>(1, shifts)) {
    throw in.Wrong(
        fmt::format("expected at most one target network per shift, {} in all, found {}{}", shifts,
                    networks_.count(), networks_.untrained() ? " from before training" : ""));
  }
  counts_.restarts = LoadCount(in, "restarts of the window", shifts);
  counts_.fallbacks = LoadCount(in, "fallbacks to the newest network", counts_.updates);
  restarted_at_ = LoadCount(in, "updates before a restart", counts_.updates);
  best_residual_ = LoadNumber(in, "a residual of 0 or more", 0);
}

void Learner::LoadQueue(ByteReader& in) {
  const auto lookahead = static_cast<std::uint64_t>(options_.train.lookahead_updates);
  const std::uint64_t length = counts_.updates == 0 ? 0 : lookahead;
  ExpectCount(in, "batches (train.lookahead_updates)", length, in.U64());
  queue_.clear();
  current_ = nullptr;
  const auto batch = static_cast<std::uint64_t>(options_.train.batch);
  const auto sample = static_cast<std::uint64_t>(
      FitsAt(WeightRefresh::kUpdate, options_.agent) ? options_.agent.weights_batch() : 0);
  for (std::uint64_t k = 0; k < length; ++k) {
    auto pending = std::make_unique<Pending>();
    pending->update = counts_.updates + 1 + static_cast<std::int64_t>(k);
    pending->batch.ids = LoadIds(in, batch, replay_);
    LoadImportance(in, options_.replay.prioritized ? batch : 0, pending->batch.weights);
    pending->sample_ids = LoadIds(in, sample, replay_);
    ReadPending(*pending);
    queue_.push_back(std::move(pending));
  }
}

void Learner::PretendSteadyState(std::int64_t updates) {
  if (ahead_) ahead_->AwaitAll();
  const AgentOptions& agent = options_.agent;
  const int window = agent.window();
  networks_.Begin(online_);
  for (int k = 0; k < window; ++k) networks_.Push(online_);
  mixing_.alpha.assign(static_cast<std::size_t>(window), 0.0);
  mixing_.alpha.back() = 1;
  for (const auto& pending : queue_) pending->handed_over = pending->evaluated = false;
  const bool with_states = mixer_.targets_need_states();
  RandomStream random(1, "steady state");
  std::vector<std::int64_t> ids;
  const auto pretend = [&](std::int64_t batches, int count, bool states, int skip_newest) {
    for (std::int64_t k = 0; k < batches; ++k) {
      replay_.SampleUniform(count, random, ids);
      for (const std::int64_t id : ids) {
        networks_.PretendEvaluated(id + agent.n_step, skip_newest);
        if (states) networks_.PretendEvaluated(id, skip_newest);
      }
    }
  };
  // Network k has lived through k whole intervals and the beginning of the present one.
  const bool sync = agent.weights.refresh == WeightRefresh::kSync;
  for (int age = window; age >= 1; --age) {
    const std::int64_t batches = age == 1 ? updates : agent.target_interval_updates;
    pretend(batches, options_.train.batch, with_states, age - 1);
    if (agent.mixes()) pretend(sync ? 1 : batches, agent.weights_batch(), true, age - 1);
  }
}

double Learner::MeasureShift() {
  PretendSteadyState(options_.agent.target_interval_updates);
  const Stopwatch watch;
  Shift();
  return watch.Seconds();
}

}  // namespace stableaa
