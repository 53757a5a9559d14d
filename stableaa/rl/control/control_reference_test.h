// DDPG, TD3 and SAC with mixed critics once more, in double precision and with plain loops, for
// comparison with ControlLearner. It shares with it only the random streams, which decide what is
// drawn.
#ifndef STABLEAA_RL_CONTROL_CONTROL_REFERENCE_TEST_H_
#define STABLEAA_RL_CONTROL_CONTROL_REFERENCE_TEST_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numbers>
#include <optional>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/rl/control/control_run_test.h"
#include "stableaa/rl/control/double_network_test.h"
#include "stableaa/rl/value/transition_sampler.h"

namespace stableaa::control_reference_test {

struct Transition {
  Vector state, action, next;
  double reward = 0, discount = 0;  // of n steps
  double importance = 1;
};

struct SampledAction {
  Vector action;
  double log_density = 0;  // sac
  Vector noise = {};
};

class ReferenceLearner {
 public:
  // Begins with the same parameters.
  explicit ReferenceLearner(const control_run_test::ControlRun& run)
      : run_(run),
        options_(run.options),
        is_sac_(options_.agent.algorithm == AgentAlgorithm::kSac),
        sampler_(options_.replay, options_.seed, run.replay),
        noise_(options_.seed, "policy"),
        actor_(Mlp::Of(run.learner.actor(), !is_sac_)),
        actor_average_(actor_),
        actor_optimizer_(OptimizerOf(options_.control.actor_learning_rate)),
        temperature_optimizer_(OptimizerOf(options_.control.temperature_learning_rate)),
        log_temperature_(std::log(options_.control.first_temperature)) {
    for (const Parameters& critic : run.learner.critics()) {
      critics_.push_back(Mlp::Of(critic, false));
      optimizers_.push_back(OptimizerOf({}));
    }
    averages_ = critics_;
  }

  void Update(std::int64_t step);

  const Mlp& actor() const { return actor_; }
  const std::vector<Mlp>& critics() const { return critics_; }
  const std::vector<Mlp>& averages() const { return averages_; }
  const Vector& alpha() const { return alpha_; }
  double entropy() const { return entropy_; }
  double actor_value() const { return actor_value_; }
  double Temperature() const {
    return options_.control.temperature ? options_.control.temperature->At(0)
                                        : std::exp(log_temperature_);
  }
  // Transitions that a target did not bootstrap from, or did so n steps on.
  int ends_met() const { return ends_met_; }

 private:
  using Critics = std::vector<Mlp>;

  Adam OptimizerOf(const std::optional<Schedule>& rate) const {
    const OptimizerOptions& optimizer = options_.optimizer;
    return {.rate = rate ? rate->At(0) : optimizer.learning_rate.At(0),
            .beta1 = optimizer.beta1,
            .beta2 = optimizer.beta2,
            .epsilon = optimizer.epsilon};
  }
  Transition TransitionOf(std::int64_t id) const;
  SampledAction Sample(const Vector& state);
  Vector NextActionOf(const Transition& transition, double& log_density);
  std::vector<Critics> Members() const;
  void Evaluate(const std::vector<Transition>& transitions);
  void Fit(std::size_t begin);
  Vector AlphaOfMembers() const;
  void LearnCritics(const std::vector<Transition>& batch, const Vector& targets);
  void LearnActor(const std::vector<Transition>& batch);
  double AddSlope(const Critics& set, bool first_only, const Vector& state, const Vector& action,
                  double share, Vector& slope) const;
  void Join(const Critics& copy);
  void TakeCopy();

  static double Value(const Critics& set, const Vector& state, const Vector& action) {
    double smallest = set[0](Joined(state, action))[0];
    for (const Mlp& critic : set) smallest = std::min(smallest, critic(Joined(state, action))[0]);
    return smallest;
  }

  const control_run_test::ControlRun& run_;
  const ControlLearnerOptions options_;
  const bool is_sac_;
  TransitionSampler sampler_;
  RandomStream noise_;
  Mlp actor_, actor_average_;
  Adam actor_optimizer_, temperature_optimizer_;
  double log_temperature_;
  Critics critics_, averages_;
  std::vector<Adam> optimizers_;
  std::deque<Critics> copies_;
  std::optional<Critics> pending_;
  Vector alpha_ = {1};
  int updates_ = 0, ends_met_ = 0;
  double entropy_ = 0, actor_value_ = 0;
  // Of what was evaluated last: by member and transition, q_i(s, a) and R + g v_i.
  std::vector<Vector> stored_, backed_up_;
};

// Follows the definition: rewards of n steps, or of fewer where the episode ends.
inline Transition ReferenceLearner::TransitionOf(std::int64_t id) const {
  const auto vector = [](const std::vector<float>& floats) {
    return Vector(floats.begin(), floats.end());
  };
  const control_run_test::MetState& first = run_.feeder.state(id);
  Transition transition{.state = vector(first.observation),
                        .action = vector(first.action),
                        .next = {},
                        .reward = 0,
                        .discount = 1};
  for (int k = 0; k < options_.agent.n_step; ++k) {
    const control_run_test::MetState& state = run_.feeder.state(id + k);
    transition.reward += transition.discount * static_cast<double>(state.reward);
    transition.discount *= options_.agent.discount;
    transition.next = vector(run_.feeder.state(id + k + 1).observation);
    if (state.terminated) transition.discount = 0;
    if (state.terminated || state.truncated) break;
  }
  return transition;
}

// a = tanh(m + σ ε); log π(a) = Σ log N(u; m, σ) − log(1 − a²).
inline SampledAction ReferenceLearner::Sample(const Vector& state) {
  const Vector outputs = actor_(state);
  SampledAction sampled;
  const std::size_t d = outputs.size() / 2;
  for (std::size_t k = 0; k < d; ++k) {
    const double deviation = std::exp(std::clamp(outputs[d + k], -20.0, 2.0));
    const double epsilon = static_cast<double>(static_cast<float>(noise_.Normal()));
    const double action = std::tanh(outputs[k] + deviation * epsilon);
    sampled.action.push_back(action);
    sampled.noise.push_back(epsilon);
    sampled.log_density += -epsilon * epsilon / 2 - std::log(deviation) -
                           std::log(2 * std::numbers::pi) / 2 - std::log(1 - action * action);
  }
  return sampled;
}

inline Vector ReferenceLearner::NextActionOf(const Transition& transition, double& log_density) {
  log_density = 0;
  if (is_sac_) {
    const SampledAction sampled = Sample(transition.next);
    log_density = sampled.log_density;
    return sampled.action;
  }
  Vector action = actor_average_(transition.next);
  if (options_.agent.algorithm == AgentAlgorithm::kDdpg) return action;
  const double clip = options_.control.target_noise_clip;
  for (double& element : action) {
    const double noise = options_.control.target_noise * noise_.Normal();
    element = std::clamp(element + std::clamp(noise, -clip, clip), -1.0, 1.0);
  }
  return action;
}

// Oldest first.
inline std::vector<ReferenceLearner::Critics> ReferenceLearner::Members() const {
  std::vector<Critics> members(copies_.begin(), copies_.end());
  members.push_back(averages_);
  return members;
}

inline void ReferenceLearner::Evaluate(const std::vector<Transition>& transitions) {
  const std::vector<Critics> members = Members();
  stored_.assign(members.size(), {});
  backed_up_.assign(members.size(), {});
  for (const Transition& transition : transitions) {
    double log_density = 0;
    const Vector next_action = NextActionOf(transition, log_density);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const double next = Value(members[i], transition.next, next_action) -
                          (is_sac_ ? Temperature() * log_density : 0);
      stored_[i].push_back(Value(members[i], transition.state, transition.action));
      backed_up_[i].push_back(transition.reward + transition.discount * next);
    }
  }
}

inline void ReferenceLearner::Fit(std::size_t begin) {
  std::vector<Vector> residuals, values;
  for (std::size_t i = 0; i < stored_.size(); ++i) {
    residuals.emplace_back();
    values.emplace_back();
    for (std::size_t j = begin; j < stored_[i].size(); ++j) {
      residuals.back().push_back(backed_up_[i][j] - stored_[i][j]);
      values.back().push_back(stored_[i][j]);
    }
  }
  const MixerKind mixer = options_.agent.mixer;
  const double eta = mixer == MixerKind::kAnderson ? 0 : options_.agent.eta.At(0);
  alpha_ =
      mixer == MixerKind::kRaa ? RaaWeights(residuals, eta) : StableWeights(residuals, values, eta);
}

// Of the newest members; those before them have none.
inline Vector ReferenceLearner::AlphaOfMembers() const {
  const std::size_t members = copies_.size() + 1;
  if (options_.agent.mixer == MixerKind::kAverage) {
    return Vector(members, 1 / static_cast<double>(members));
  }
  Vector alpha(members - alpha_.size(), 0.0);
  return Joined(alpha, alpha_);
}

inline void ReferenceLearner::Update(std::int64_t step) {
  const AgentOptions& agent = options_.agent;
  const bool mixes = agent.mixes();
  const bool fits = mixes && agent.weights.refresh == WeightRefresh::kUpdate;
  std::vector<std::int64_t> ids, more;
  std::vector<float> importance;
  sampler_.DrawBatch(options_.batch, step, ids, importance);
  const int sample = agent.weights.batch - (options_.replay.prioritized ? 0 : options_.batch);
  if (fits && sample > 0) sampler_.DrawSample(sample, more);
  ids.insert(ids.end(), more.begin(), more.end());
  std::vector<Transition> transitions;
  for (const std::int64_t id : ids) transitions.push_back(TransitionOf(id));
  const auto batch = static_cast<std::size_t>(options_.batch);
  for (std::size_t j = 0; j < importance.size(); ++j) {
    transitions[j].importance = static_cast<double>(importance[j]);
  }
  Evaluate(transitions);
  if (fits) Fit(options_.replay.prioritized ? batch : 0);
  const Vector alpha = AlphaOfMembers();
  const double beta = mixes ? agent.damping.At(0) : 0;
  Vector targets(batch, 0.0);
  for (std::size_t j = 0; j < batch; ++j) {
    for (std::size_t i = 0; i < alpha.size(); ++i) {
      targets[j] += alpha[i] * (beta * stored_[i][j] + (1 - beta) * backed_up_[i][j]);
    }
  }
  transitions.resize(batch);
  LearnCritics(transitions, targets);
  ++updates_;
  if (updates_ % options_.control.policy_delay == 0) {
    LearnActor(transitions);
    if (options_.control.window == WindowKind::kConsecutive) Join(averages_);
    for (std::size_t c = 0; c < critics_.size(); ++c) {
      MoveTowards(averages_[c], critics_[c], options_.control.polyak);
    }
    MoveTowards(actor_average_, actor_, options_.control.polyak);
  }
  if (updates_ % agent.target_interval_updates == 0) TakeCopy();
}

inline void ReferenceLearner::Join(const Critics& copy) {
  copies_.push_back(copy);
  const int window = options_.agent.mixer == MixerKind::kSingle ? 1 : options_.agent.targets;
  if (std::ssize(copies_) == window) copies_.pop_front();
}

inline void ReferenceLearner::LearnCritics(const std::vector<Transition>& batch,
                                           const Vector& targets) {
  const auto n = static_cast<double>(batch.size());
  const bool is_huber = options_.agent.loss == LossKind::kHuber;
  const double delta = options_.agent.huber_delta;
  for (std::size_t c = 0; c < critics_.size(); ++c) {
    Mlp gradients = critics_[c].Zeros();
    for (std::size_t j = 0; j < batch.size(); ++j) {
      const auto trace = critics_[c].Trace(Joined(batch[j].state, batch[j].action));
      const double error = trace.back()[0] - targets[j];
      const double slope = is_huber ? std::clamp(error, -delta, delta) : 2 * error;
      critics_[c].Backward(trace, {batch[j].importance * slope / n}, gradients);
      ends_met_ += batch[j].discount != options_.agent.discount;
    }
    optimizers_[c].Step(gradients, critics_[c]);
  }
}

// Adds share · dQ/da to the slope; returns share · Q.
inline double ReferenceLearner::AddSlope(const Critics& set, bool first_only, const Vector& state,
                                         const Vector& action, double share, Vector& slope) const {
  const Mlp* smallest = set.data();
  const Vector input = Joined(state, action);
  for (const Mlp& critic : set) {
    if (!first_only && critic(input)[0] < (*smallest)(input)[0]) smallest = &critic;
  }
  Mlp ignored = smallest->Zeros();
  const auto trace = smallest->Trace(input);
  const Vector of_input = smallest->Backward(trace, {share}, ignored);
  for (std::size_t k = 0; k < slope.size(); ++k) slope[k] += of_input[state.size() + k];
  return share * trace.back()[0];
}

// Descends the mean of T log π − Q.
inline void ReferenceLearner::LearnActor(const std::vector<Transition>& batch) {
  const auto n = static_cast<double>(batch.size());
  const bool mixes = options_.control.actor_loss == ActorLoss::kMixed && options_.agent.mixes();
  const double beta = mixes ? options_.agent.damping.At(0) : 0;
  const std::vector<Critics> members = Members();
  const Vector alpha = AlphaOfMembers();
  Mlp gradients = actor_.Zeros();
  actor_value_ = entropy_ = 0;
  for (const Transition& transition : batch) {
    const auto trace = actor_.Trace(transition.state);
    SampledAction proposed{.action = trace.back()};
    if (is_sac_) proposed = Sample(transition.state);
    const std::size_t d = proposed.action.size();
    Vector slope(d, 0.0);  // of the value by the action
    actor_value_ +=
        AddSlope(critics_, !is_sac_, transition.state, proposed.action, 1 - beta, slope) / n;
    for (std::size_t i = 0; mixes && i < members.size(); ++i) {
      actor_value_ +=
          AddSlope(members[i], false, transition.state, proposed.action, beta * alpha[i], slope) /
          n;
    }
    Vector of_outputs(trace.back().size());
    for (std::size_t k = 0; k < d; ++k) {
      if (!is_sac_) {
        of_outputs[k] = -slope[k] / n;
        continue;
      }
      // u = m + σ ε, a = tanh u; d log π / du at fixed ε is 2 tanh u, d log π / d log σ also has −1.
      const double a = proposed.action[k], raw = trace.back()[d + k];
      const double by_u = (Temperature() * 2 * a - slope[k] * (1 - a * a)) / n;
      const bool is_clamped = raw < -20 || raw > 2;
      const double deviation = std::exp(std::clamp(raw, -20.0, 2.0));
      of_outputs[k] = by_u;
      of_outputs[d + k] = is_clamped ? 0 : by_u * deviation * proposed.noise[k] - Temperature() / n;
    }
    entropy_ -= proposed.log_density / n;
    actor_.Backward(trace, of_outputs, gradients);
  }
  actor_optimizer_.Step(gradients, actor_);
  if (!is_sac_ || options_.control.temperature) return;
  const double target = options_.control.target_entropy
                            ? options_.control.target_entropy->At(0)
                            : -static_cast<double>(control_run_test::kElements);
  Vector number = {log_temperature_};
  temperature_optimizer_.Step(Vector{entropy_ - target}, number);
  log_temperature_ = number[0];
}

inline void ReferenceLearner::TakeCopy() {
  const AgentOptions& agent = options_.agent;
  if (options_.control.window == WindowKind::kSpaced) {
    if (pending_) Join(*pending_);
    pending_ = averages_;
  }
  const bool mixes = agent.mixes();
  if (!mixes || agent.weights.refresh != WeightRefresh::kSync) return;
  std::vector<std::int64_t> ids;
  sampler_.DrawSample(agent.weights.batch, ids);
  std::vector<Transition> transitions;
  for (const std::int64_t id : ids) transitions.push_back(TransitionOf(id));
  Evaluate(transitions);
  Fit(0);
}

}  // namespace stableaa::control_reference_test

#endif  // STABLEAA_RL_CONTROL_CONTROL_REFERENCE_TEST_H_
