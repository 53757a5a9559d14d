#include "stableaa/rl/control/control_learner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stableaa/base/files/npz.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/saved_number.h"
#include "stableaa/core/stopwatch.h"

namespace stableaa {
namespace {

double SpreadOf(std::span<const double> alpha) {
  const double equal = 1 / static_cast<double>(alpha.size());
  double squares = 0;
  for (const double weight : alpha) squares += (weight - equal) * (weight - equal);
  return std::sqrt(squares);
}

void SetAlpha(Mixing& mixing, std::size_t members, bool equal) {
  mixing.alpha.assign(members, equal ? 1 / static_cast<double>(members) : 0);
  if (!equal) mixing.alpha.back() = 1;
}

}  // namespace

int ControlLearnerOptions::drawn() const {
  if (!agent.FitsAt(WeightRefresh::kUpdate)) return batch;
  // Under prioritised replay the batch is no fair sample.
  return replay.prioritized ? batch + agent.weights_batch()
                            : std::max(batch, agent.weights_batch());
}

CriticHistoryOptions ControlLearnerOptions::History() const {
  const bool caches = control.window == WindowKind::kSpaced &&
                      (agent.targets_need_states() || agent.FitsAt(WeightRefresh::kUpdate));
  return {.window = control.window,
          .members = agent.window(),
          .cached_states = caches ? Replay::Slots(replay, num_envs) : 0};
}

ControlPolicyOptions ControlLearnerOptions::Policy() const {
  const int sample = agent.FitsAt(WeightRefresh::kSync) ? agent.weights_batch() : 0;
  return {.algorithm = agent.algorithm,
          .control = control,
          .optimizer = optimizer,
          .seed = seed,
          .batch = batch,
          .next_batch = std::max(drawn(), sample)};
}

ControlCriticsOptions ControlLearnerOptions::Critics() const {
  return {.critics = CriticCount(agent.algorithm),
          .loss = agent.Loss(),
          .optimizer = optimizer,
          .seed = seed,
          .batch = batch,
          .threads = threads};
}

ControlPlans::ControlPlans(const AgentOptions& options, const ObservationLayout& layout,
                           int elements)
    : action_elements(elements) {
  const int observation = layout.input().shape.size();
  actor = std::make_shared<const Plan>(MakePlan(ActorSpec(options, observation, elements)));
  critic = std::make_shared<const Plan>(MakePlan(CriticSpec(options, observation, elements)));
}

std::uint64_t ControlLearner::EstimateBytes(const ControlLearnerOptions& options,
                                            const ControlPlans& plans) {
  return ControlPolicy::Bytes(options.Policy(), *plans.actor) +
         ControlCritics::Bytes(options.Critics(), *plans.critic) +
         CriticHistory::Bytes(options.History(), *plans.critic,
                              CriticCount(options.agent.algorithm)) +
         CriticValues::Bytes(*plans.critic, options.threads);
}

ControlLearner::ControlLearner(const ControlLearnerOptions& options, const ControlPlans& plans,
                               const ObservationLayout& layout, Replay& replay)
    : options_(options),
      elements_(static_cast<std::size_t>(plans.action_elements)),
      replay_(replay),
      sampler_(options.replay, options.seed, replay),
      noise_random_(options.seed, "policy"),
      gatherer_(layout),
      stack_(layout.frames().stack),
      policy_(options.Policy(), plans.actor, plans.action_elements),
      critics_(options.Critics(), plans.critic),
      values_(plans.critic, options.threads),
      history_(options.History(), plans.critic, values_),
      fit_(options.agent),
      temperature_(options.control, options.optimizer, plans.action_elements) {
  mixing_.eta = options.agent.eta.At(0);
}

ControlReport ControlLearner::Update(std::int64_t step) {
  const Stopwatch sampling_watch;
  Draw(step);
  times_.sampling += sampling_watch.Seconds();

  const Stopwatch targets_watch;
  ComputeTargets(step);
  times_.targets += targets_watch.Seconds();

  const Stopwatch gradient_watch;
  const auto batch = static_cast<std::size_t>(options_.batch);
  const ControlCritics::Report learnt =
      critics_.Learn(drawn_.Pairs().Part(0, batch), targets_, importance_, step);
  replay_.SetPriorities(std::span(drawn_.batch.ids).first(batch), critics_.errors());
  ++counts_.updates;
  if (counts_.updates % options_.control.policy_delay == 0) {
    LearnActor(step);
    history_.BeforeMove(critics_.averages());
    critics_.MoveAverages(options_.control.polyak);
    policy_.MoveAverage(options_.control.polyak);
  }
  times_.gradient += gradient_watch.Seconds();

  if (counts_.updates % options_.agent.target_interval_updates == 0) {
    const Stopwatch copy_watch;
    TakeCopy(step);
    times_.targets += copy_watch.Seconds();
  }
  report_.loss = learnt.loss;
  report_.td_abs = learnt.td_abs;
  report_.q_mean = learnt.q_mean;
  report_.alpha_spread = SpreadOf(mixing_.alpha);
  return report_;
}

void ControlLearner::Draw(std::int64_t step) {
  targets_.clear();  // of the batch before
  sampler_.DrawBatch(options_.batch, step, ids_, importance_);
  if (const int more = options_.drawn() - options_.batch; more > 0) {
    sampler_.DrawSample(more, sample_ids_);
    ids_.insert(ids_.end(), sample_ids_.begin(), sample_ids_.end());
  }
  Read(ids_, drawn_);
}

void ControlLearner::Read(std::span<const std::int64_t> ids, Transitions& out) {
  replay_.Read(ids, out.batch);
  GatherStates(out.batch, false, out.states);
  GatherStates(out.batch, true, out.next_states);
}

void ControlLearner::GatherStates(const ReplayBatch& batch, bool next, std::vector<float>& out) {
  gatherer_.Clear();
  for (std::size_t j = 0; j < batch.count(); ++j) {
    gatherer_.Add(next ? batch.Next(j, stack_) : batch.State(j, stack_));
  }
  const std::span<const float> rows = gatherer_.Input(0, gatherer_.count()).vectors;
  out.assign(rows.begin(), rows.end());
}

// The values of all members: of (s', a') and, if asked for, of (s, a).
void ControlLearner::ComputeValues(const Transitions& transitions, bool with_stored) {
  const auto numbers = static_cast<std::size_t>(history_.count()) * transitions.count();
  next_values_.resize(numbers);
  values_.Compute(history_.Members(critics_.averages()), transitions.NextPairs(), next_values_);
  if (!with_stored) return;
  stored_values_.resize(numbers);
  history_.StoredValues(critics_.averages(), transitions.Pairs(), transitions.batch.ids,
                        stored_values_);
}

// R + g v_i of transition j.
double ControlLearner::BackedUp(const Transitions& transitions, std::size_t member, std::size_t j,
                                double temperature) const {
  const auto reward = static_cast<double>(transitions.batch.rewards[j]);
  const auto discount = static_cast<double>(transitions.batch.discounts[j]);
  if (discount == 0) return reward;
  auto value = static_cast<double>(next_values_[member * transitions.count() + j]);
  if (!transitions.next.log_densities.empty()) {
    value -= temperature * transitions.next.log_densities[j];
  }
  return reward + discount * value;
}

// The weight of a member. Weights go with how new a member is: where others have joined since they
// were fitted, as consecutive averages do between two copies, the oldest members have none.
double ControlLearner::AlphaOf(std::size_t member) const {
  const std::size_t missing = static_cast<std::size_t>(history_.count()) - mixing_.alpha.size();
  return member < missing ? 0 : mixing_.alpha[member - missing];
}

// From transitions [begin, count), whose values have been computed.
void ControlLearner::FitWeights(const Transitions& transitions, std::size_t begin,
                                std::int64_t step) {
  const auto members = static_cast<std::size_t>(history_.count());
  const std::size_t all = transitions.count(), count = all - begin;
  const double temperature = temperature_.At(step);
  columns_.Resize(members, count);
  for (std::size_t i = 0; i < members; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      const auto q = static_cast<double>(stored_values_[i * all + begin + j]);
      const double residual = BackedUp(transitions, i, begin + j, temperature) - q;
      if (!std::isfinite(residual)) {
        throw WorkFailed(fmt::format("the residual of transition {} is {}",
                                     transitions.batch.ids[begin + j], residual));
      }
      columns_.residuals[i][j] = residual;
      if (i > 0) {
        columns_.differences[i - 1][j] =
            q - static_cast<double>(stored_values_[(i - 1) * all + begin + j]);
      }
    }
  }
  fit_.Fit(columns_, step, mixing_);
  counts_.fallbacks += mixing_.fallback ? 1 : 0;
}

void ControlLearner::ComputeTargets(std::int64_t step) {
  const AgentOptions& agent = options_.agent;
  const auto batch = static_cast<std::size_t>(options_.batch);
  const bool fits = agent.FitsAt(WeightRefresh::kUpdate);
  const double beta = agent.BetaAt(step), temperature = temperature_.At(step);
  policy_.ProposeNext(drawn_.next_states, noise_random_, drawn_.next);
  ComputeValues(drawn_, fits || agent.targets_need_states());
  const auto members = static_cast<std::size_t>(history_.count());
  if (fits) {
    FitWeights(drawn_, options_.replay.prioritized ? batch : 0, step);
  } else if (!agent.mixes()) {
    SetAlpha(mixing_, members, agent.mixer == MixerKind::kAverage);
  }
  targets_.resize(batch);
  for (std::size_t j = 0; j < batch; ++j) {
    double backed_up = 0, stored = 0;
    for (std::size_t i = 0; i < members; ++i) {
      const double alpha = AlphaOf(i);
      if (alpha == 0) continue;  // most are 0 after a fallback
      backed_up += alpha * BackedUp(drawn_, i, j, temperature);
      if (beta != 0) {
        stored += alpha * static_cast<double>(stored_values_[i * drawn_.count() + j]);
      }
    }
    targets_[j] = static_cast<float>(beta * stored + (1 - beta) * backed_up);
  }
}

void ControlLearner::LearnActor(std::int64_t step) {
  const auto batch = static_cast<std::size_t>(options_.batch);
  const std::span<const float> states =
      std::span(drawn_.states).first(drawn_.states.size() / drawn_.count() * batch);
  const ProposedActions& proposed = policy_.Propose(states, noise_random_);
  const StateActions pairs = {batch, states, proposed.actions};
  const bool is_gaussian = IsGaussian(options_.agent.algorithm);
  const SlopeOf of = is_gaussian ? SlopeOf::kSmaller : SlopeOf::kFirst;
  const bool mixes = options_.control.actor_loss == ActorLoss::kMixed && options_.agent.mixes();
  const double beta = mixes ? options_.agent.BetaAt(step) : 0;

  // The loss is minus the mean value.
  const double scale = -1 / static_cast<double>(batch);
  slopes_.assign(batch * elements_, 0);
  double value = critics_.AddSlopes(critics_.critics(), of, pairs, (1 - beta) * scale, slopes_);
  if (beta != 0) {
    value *= 1 - beta;
    const auto members = history_.Members(critics_.averages());
    for (std::size_t i = 0; i < members.size(); ++i) {
      const double share = beta * AlphaOf(i);
      if (share == 0) continue;
      value +=
          share * critics_.AddSlopes(*members[i], SlopeOf::kSmaller, pairs, share * scale, slopes_);
    }
  }
  const double temperature = temperature_.At(step);
  double entropy = 0;
  for (const double log_density : proposed.log_densities) {
    entropy -= log_density / static_cast<double>(batch);
  }
  policy_.Learn(slopes_, temperature / static_cast<double>(batch), step);
  if (is_gaussian) temperature_.Learn(entropy, step);
  report_.actor_value = value;
  report_.entropy = entropy;
}

void ControlLearner::TakeCopy(std::int64_t step) {
  history_.TakeCopy(critics_.averages());
  ++counts_.copies;
  if (!options_.agent.FitsAt(WeightRefresh::kSync) || options_.agent.window() == 1) return;
  sampler_.DrawSample(options_.agent.weights_batch(), sample_ids_);
  Read(sample_ids_, sample_);
  policy_.ProposeNext(sample_.next_states, noise_random_, sample_.next);
  ComputeValues(sample_, true);
  FitWeights(sample_, 0, step);
}

void ControlLearner::PretendLongRun() {
  const int copies = options_.agent.window() - 1;
  for (int i = 0; i < copies + 1; ++i) {
    history_.BeforeMove(critics_.averages());
    history_.TakeCopy(critics_.averages());
  }
  SetAlpha(mixing_, static_cast<std::size_t>(history_.count()), true);
  if (options_.History().cached_states == 0) return;
  RandomStream random(options_.seed, "long run");
  const std::int64_t interval = options_.agent.target_interval_updates;
  for (int i = 0; i < copies; ++i) {
    const std::int64_t met = (copies - 1 - i) * interval + interval / 2;
    for (std::int64_t update = 0; update < met; ++update) {
      replay_.SampleUniform(options_.batch, random, ids_);
      for (const std::int64_t id : ids_) history_.Remember(i, id, 0);
    }
  }
}

double ControlLearner::multiply_adds() const {
  return policy_.multiply_adds() + critics_.multiply_adds() + values_.multiply_adds();
}

void ControlLearner::WriteDiagnosis(const std::filesystem::path& path) const {
  NpzWriter out(path);
  out.Add("update", {}, std::span<const std::int64_t>(&counts_.updates, 1));
  out.Add("actor", {actor().block().size()}, actor().block());
  for (std::size_t c = 0; c < critics().size(); ++c) {
    out.Add(fmt::format("critic_{}", c + 1), {critics()[c].block().size()}, critics()[c].block());
  }
  out.Add("alpha", {mixing_.alpha.size()}, std::span<const double>(mixing_.alpha));
  const std::uint64_t n = drawn_.count();
  if (n > 0) {
    const ReplayBatch& batch = drawn_.batch;
    out.Add("ids", {n}, std::span<const std::int64_t>(batch.ids));
    out.Add("actions", {n, elements_}, std::span<const float>(batch.action_values));
    out.Add("rewards", {n}, std::span<const float>(batch.rewards));
    out.Add("discounts", {n}, std::span<const float>(batch.discounts));
    out.Add("states", {n, drawn_.states.size() / n}, std::span<const float>(drawn_.states));
    out.Add("next_states", {n, drawn_.next_states.size() / n},
            std::span<const float>(drawn_.next_states));
    out.Add("targets", {targets_.size()}, std::span<const float>(targets_));
  }
  out.Finish();
}

// What the last update reported about the actor belongs to the state: later rows of the metrics
// repeat it until the actor learns again.
void ControlLearner::Save(ByteWriter& out) const {
  sampler_.Save(out);
  noise_random_.Save(out);
  policy_.Save(out);
  critics_.Save(out);
  history_.Save(out);
  mixing_.Save(out);
  temperature_.Save(out);
  for (const std::int64_t count : {counts_.updates, counts_.copies, counts_.fallbacks}) {
    out.I64(count);
  }
  out.F64(report_.actor_value);
  out.F64(report_.entropy);
}

void ControlLearner::Load(ByteReader& in) {
  constexpr double kAny = -1e308;
  sampler_.Load(in);
  noise_random_.Load(in);
  policy_.Load(in);
  critics_.Load(in);
  history_.Load(in, critics_.averages());
  mixing_.Load(in);
  temperature_.Load(in);
  counts_.updates = in.I64();
  ExpectCount(in, "updates (those of the critics)", static_cast<std::uint64_t>(critics_.updates()),
              static_cast<std::uint64_t>(counts_.updates));
  const std::int64_t moves = counts_.updates / options_.control.policy_delay;
  ExpectCount(in, "updates of the actor", static_cast<std::uint64_t>(moves),
              static_cast<std::uint64_t>(policy_.updates()));
  counts_.copies = in.I64();
  ExpectCount(in, "copies of critics taken",
              static_cast<std::uint64_t>(counts_.updates / options_.agent.target_interval_updates),
              static_cast<std::uint64_t>(counts_.copies));
  const bool waits = options_.control.window == WindowKind::kSpaced &&
                     options_.agent.window() > 1 && counts_.copies > 0;
  ExpectCount(in, "copies of critics that wait to join", waits ? 1 : 0,
              history_.has_pending() ? 1 : 0);
  counts_.fallbacks = LoadCount(in, "fallbacks to the newest member", counts_.updates + 1);
  report_.actor_value = LoadNumber(in, "a value of the actor's actions", kAny);
  report_.entropy = LoadNumber(in, "an entropy", kAny);
  const std::int64_t joined = options_.control.window == WindowKind::kConsecutive
                                  ? moves
                                  : std::max<std::int64_t>(counts_.copies - 1, 0);
  const std::int64_t members = std::min<std::int64_t>(options_.agent.window(), joined + 1);
  ExpectCount(in, "critics that the mixer looks at", static_cast<std::uint64_t>(members),
              static_cast<std::uint64_t>(history_.count()));
  const bool learns_temperature =
      IsGaussian(options_.agent.algorithm) && !options_.control.temperature;
  ExpectCount(in, "steps of the temperature",
              static_cast<std::uint64_t>(learns_temperature ? moves : 0),
              static_cast<std::uint64_t>(temperature_.steps()));
  CheckMixing(in);
}

// Checks against the members and the options. Consecutive averages, and weights of an update, may
// have come to be after the weights.
void ControlLearner::CheckMixing(const ByteReader& in) const {
  const auto found = mixing_.alpha.size();
  const auto members = static_cast<std::size_t>(history_.count());
  if (options_.agent.FitsAt(WeightRefresh::kSync) &&
      options_.control.window == WindowKind::kSpaced) {
    ExpectCount(in, "mixing weights (one per member)", members, found);
  } else if (found > members) {
    throw in.Wrong(fmt::format("expected 1 to {} mixing weights, found {}", members, found));
  }
}

}  // namespace stableaa
