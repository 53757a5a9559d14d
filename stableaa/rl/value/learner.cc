#include "stableaa/rl/value/learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "stableaa/base/files/npz.h"
#include "stableaa/base/machine.h"
#include "stableaa/bellman/policy.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/core/stopwatch.h"

namespace stableaa {
namespace {

bool WorksAhead(const LearnerOptions& options) {
  return options.threads > 1 && options.lookahead_updates > 0;
}

// OpenMP's threads wait for each other without sleeping, so having one more thread than cores slows
// down all of them; and small networks lose in waiting what they gain from a second thread.
int GradientThreads(const LearnerOptions& options, const Plan& plan) {
  constexpr double kWorthSharing = 2e8;  // multiplications and additions: some 5 ms
  const double work = options.batch * (plan.multiply_adds + plan.backward_multiply_adds);
  const int threads = std::min(options.threads, CoreCount()) - (WorksAhead(options) ? 1 : 0);
  return work < kWorthSharing ? 1 : std::max(1, threads);
}

// The cache has room for every state that can be sampled.
std::int64_t CachedStates(const LearnerOptions& options) {
  return Replay::Slots(options.replay, options.num_envs);
}

BatchQueueOptions QueueOptions(const LearnerOptions& options) {
  const AgentOptions& agent = options.agent;
  return {.batch = options.batch,
          .sample = agent.FitsAt(WeightRefresh::kUpdate) ? agent.weights_batch() : 0,
          .lookahead = options.lookahead_updates,
          .update_interval_steps = options.update_interval_steps,
          .works_ahead = WorksAhead(options),
          .is_prioritized = options.replay.prioritized};
}

TargetNetworks FirstNetworks(const LearnerOptions& options, const std::shared_ptr<const Plan>& plan,
                             const ObservationLayout& layout) {
  TargetNetworks networks = Learner::EmptyNetworks(options, plan, layout);
  networks.Begin(Learner::FirstParameters(options, plan));
  return networks;
}

}  // namespace

std::int64_t Learner::ReplayReserve(const LearnerOptions& options) {
  // A step adds one state to each stream, and another one where an episode ends. The rest covers the
  // states of their returns, with some to spare.
  const std::int64_t batches = options.lookahead_updates + 1;
  const std::int64_t steps =
      (options.update_interval_steps + options.num_envs - 1) / options.num_envs;
  return 2 * batches * steps + options.agent.n_step + 64;
}

std::uint64_t Learner::EstimateBytes(const LearnerOptions& options, const Plan& plan) {
  const std::uint64_t copies = 3 + (options.optimizer.kind != OptimizerKind::kRmsprop ? 1 : 0);
  return sizeof(float) * plan.parameters * copies +
         NetworkBytes(plan, {.batch = options.batch, .threads = GradientThreads(options, plan)}) +
         TargetNetworks::Bytes(plan, options.agent.window(), CachedStates(options));
}

Parameters Learner::FirstParameters(const LearnerOptions& options,
                                    std::shared_ptr<const Plan> plan) {
  Parameters parameters(std::move(plan));
  RandomStream random(options.seed, "network");
  parameters.Initialise(random);
  return parameters;
}

TargetNetworks Learner::EmptyNetworks(const LearnerOptions& options,
                                      std::shared_ptr<const Plan> plan,
                                      const ObservationLayout& layout) {
  return {std::move(plan), layout, options.agent.window(), CachedStates(options)};
}

Learner::Learner(const LearnerOptions& options, const std::shared_ptr<const Plan>& plan,
                 const ObservationLayout& layout, Replay& replay)
    : Learner(options, plan, layout, replay, FirstNetworks(options, plan, layout)) {}

Learner::Learner(const LearnerOptions& options, std::shared_ptr<const Plan> plan,
                 const ObservationLayout& layout, Replay& replay, TargetNetworks networks)
    : options_(options),
      plan_(std::move(plan)),
      stack_(layout.frames().stack),
      replay_(replay),
      sampler_(options.replay, options.seed, replay),
      online_(FirstParameters(options, plan_)),
      gradients_(plan_),
      network_(CompileNetwork(
          plan_, {.batch = options.batch, .threads = GradientThreads(options, *plan_)})),
      optimizer_(plan_, options.optimizer, GradientThreads(options, *plan_)),
      window_(options.agent, stack_, std::move(networks)),
      mixer_(options.agent),
      gatherer_(layout),
      queue_(QueueOptions(options), sampler_,
             [this](DrawnBatch& drawn) { window_.Evaluate(drawn); }) {
  if (options.agent.backup == AgentBackup::kDouble) {
    chooser_ = CompileNetwork(
        plan_,
        {.batch = options.batch, .threads = GradientThreads(options, *plan_), .training = false});
  }
  const auto batch = static_cast<std::size_t>(options.batch);
  outputs_.resize(batch * static_cast<std::size_t>(plan_->outputs()));
  output_gradients_.resize(outputs_.size());
  targets_.resize(batch);
  errors_.resize(batch);
  online_best_.resize(batch);
}

void Learner::StartFrom(const Parameters& first) {
  online_.CopyFrom(first);
  window_.Begin(first);
}

UpdateReport Learner::Update(std::int64_t step) {
  const Stopwatch sampling_watch;
  queue_.Fill(step);
  times_.sampling += sampling_watch.Seconds();

  const Stopwatch targets_watch;
  const DrawnBatch& drawn = queue_.Await(window_.last_update());
  window_.UseWeights(drawn, step);
  mixer_.Targets(drawn.batch, drawn.values, mixing().alpha, OnlineBest(drawn.batch), window_.time(),
                 options_.agent.BetaAt(step), targets_);
  times_.targets += targets_watch.Seconds();

  const Stopwatch gradient_watch;
  const UpdateReport report = Descend(drawn.batch, step);
  replay_.SetPriorities(drawn.batch.ids, errors_);
  times_.gradient += gradient_watch.Seconds();

  window_.CountUpdate();
  queue_.Pop();
  if (window_.shift_is_due()) {
    const Stopwatch shift_watch;
    queue_.AwaitAll();
    window_.Shift(online_, sampler_, step);
    times_.targets += shift_watch.Seconds();
  }
  return report;
}

// The online network's best action in each s', for the backup double.
std::span<const int> Learner::OnlineBest(const ReplayBatch& batch) {
  if (!chooser_) return {};
  const std::size_t count = batch.count();
  gatherer_.Clear();
  for (std::size_t j = 0; j < count; ++j) gatherer_.Add(batch.Next(j, stack_));
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

// Takes one step of the optimiser towards targets_.
UpdateReport Learner::Descend(const ReplayBatch& batch, std::int64_t step) {
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
  optimizer_.Step(gradients_, online_, step);
  for (std::size_t j = 0; j < count; ++j) {
    report.td_abs += std::abs(static_cast<double>(errors_[j]));
    report.q_mean +=
        static_cast<double>(outputs_[j * actions + static_cast<std::size_t>(batch.actions[j])]);
  }
  report.td_abs /= static_cast<double>(count);
  report.q_mean /= static_cast<double>(count);
  return report;
}

// The other thread counts too, so wait for it.
const TargetNetworks::Counts& Learner::cache_counts() const {
  queue_.AwaitAll();
  return window_.networks().counts();
}

double Learner::multiply_adds() const {
  const double online = static_cast<double>(counts().updates) * options_.batch;
  return online * (plan_->multiply_adds + plan_->backward_multiply_adds) +
         (online_passes_ + static_cast<double>(cache_counts().computed)) * plan_->multiply_adds;
}

void Learner::WriteDiagnosis(const std::filesystem::path& path) const {
  NpzWriter out(path);
  out.Add("update", {}, std::span<const std::int64_t>(&counts().updates, 1));
  out.Add("parameters", {online_.block().size()}, online_.block());
  out.Add("gradients", {gradients_.block().size()}, gradients_.block());
  out.Add("alpha", {mixing().alpha.size()}, std::span<const double>(mixing().alpha));
  queue_.AwaitAll();
  if (const DrawnBatch* const drawn = queue_.current(); drawn != nullptr) {
    const ReplayBatch& batch = drawn->batch;
    const std::uint64_t n = batch.count();
    const std::vector<std::int32_t> actions(batch.actions.begin(), batch.actions.end());
    out.Add("ids", {n}, std::span<const std::int64_t>(batch.ids));
    out.Add("actions", {n}, std::span<const std::int32_t>(actions));
    out.Add("rewards", {n}, std::span<const float>(batch.rewards));
    out.Add("discounts", {n}, std::span<const float>(batch.discounts));
    if (queue_.current_is_evaluated()) {  // otherwise they belong to the previous update
      out.Add("targets", {n}, std::span<const float>(targets_));
      out.Add("q_values", {n, outputs_.size() / n}, std::span<const float>(outputs_));
    }
    const FrozenValues& frozen = drawn->values;
    out.Add("target_network_values", {frozen.networks, frozen.states, frozen.actions},
            std::span<const float>(frozen.values));
  }
  out.Finish();
}

void Learner::Save(ByteWriter& out) const {
  sampler_.Save(out);
  online_.Save(out);
  optimizer_.Save(out);
  window_.Save(out);
  queue_.Save(out);
}

void Learner::Load(ByteReader& in) {
  queue_.AwaitAll();
  sampler_.Load(in);
  online_.Load(in);
  if (!online_.AllFinite()) throw in.Wrong("expected finite weights of the online network");
  optimizer_.Load(in);
  window_.Load(in, optimizer_.steps());
  queue_.Load(in, counts().updates);
}

}  // namespace stableaa
