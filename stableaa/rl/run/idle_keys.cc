#include "stableaa/rl/run/idle_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "stableaa/base/config/config.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/rl/run/kept_weights.h"

namespace stableaa {
namespace {

// Whether restarts watch for a growing residual, which needs a sample as mixing weights do.
bool WatchesResiduals(const AgentOptions& agent) {
  return agent.algorithm == AgentAlgorithm::kDqn && agent.restart == WindowRestart::kGrowth &&
         agent.window() > 1;
}

bool HasPenalty(const AgentOptions& agent) {
  return agent.mixer == MixerKind::kRaa || agent.mixer == MixerKind::kStable;
}

bool IsSmooth(const AgentOptions& agent) {
  return agent.backup != AgentBackup::kMax && agent.backup != AgentBackup::kDouble;
}

bool IsOf(const RunOptions& run, AgentAlgorithm algorithm) {
  return run.agent.algorithm == algorithm;
}

bool IsDqn(const RunOptions& run) { return IsOf(run, AgentAlgorithm::kDqn); }
bool IsSac(const RunOptions& run) { return IsGaussian(run.agent.algorithm); }

// Always by Adam.
bool LearnsTemperature(const RunOptions& run) { return IsSac(run) && !run.control.temperature; }

bool IsAdam(const RunOptions& run) { return run.optimizer.kind == OptimizerKind::kAdam; }

// `keys` have no effect if `idle`, because of the values of the keys `because`.
struct Rule {
  std::vector<std::string> keys;
  bool (*idle)(const RunOptions&);
  std::vector<std::string> because;
};

// The first rule that applies to a key gives the reason.
const std::vector<Rule>& Rules() {
  using Run = const RunOptions&;
  static const std::vector<Rule> kRules = {
      {{"agent.head", "agent.backup", "agent.omega", "agent.restart",
        "agent.restart_interval_updates", "agent.restart_growth", "exploration.policy",
        "exploration.epsilon", "exploration.epsilon_start", "exploration.epsilon_end",
        "exploration.epsilon_steps", "train.lookahead_updates"},
       [](Run run) { return !IsDqn(run); },
       {"agent.algorithm"}},
      {{"control.window", "control.polyak", "control.policy_delay", "control.target_noise",
        "control.target_noise_clip", "control.exploration_noise", "control.noise_correlation",
        "control.actor_learning_rate", "control.temperature", "control.first_temperature",
        "control.target_entropy", "control.temperature_learning_rate", "control.actor_loss"},
       IsDqn,
       {"agent.algorithm"}},
      {{"control.target_noise", "control.target_noise_clip"},
       [](Run run) { return !IsOf(run, AgentAlgorithm::kTd3); },
       {"agent.algorithm"}},
      {{"control.exploration_noise"}, IsSac, {"agent.algorithm"}},
      {{"control.temperature", "control.first_temperature", "control.target_entropy",
        "control.temperature_learning_rate"},
       [](Run run) { return !IsSac(run); },
       {"agent.algorithm"}},
      {{"control.first_temperature", "control.target_entropy", "control.temperature_learning_rate"},
       [](Run run) { return run.control.temperature.has_value(); },
       {"control.temperature"}},
      {{"control.target_noise_clip"},
       [](Run run) { return run.control.target_noise == 0; },
       {"control.target_noise"}},
      {{"control.noise_correlation"},
       [](Run run) { return !IsSac(run) && run.control.exploration_noise.is_zero(); },
       {"control.exploration_noise"}},
      {{"control.window"},
       [](Run run) { return run.agent.mixer == MixerKind::kSingle; },
       {"agent.mixer"}},
      {{"control.window"}, [](Run run) { return run.agent.targets == 1; }, {"agent.targets"}},
      {{"control.actor_loss"}, [](Run run) { return !run.agent.mixes(); }, {"agent.mixer"}},
      {{"control.actor_loss"},
       [](Run run) { return !run.agent.targets_need_states(); },
       {"agent.damping"}},
      {{"agent.target_interval_updates"},
       [](Run run) { return !IsDqn(run) && run.agent.mixer == MixerKind::kSingle; },
       {"agent.mixer"}},
      {{"agent.target_interval_updates"},
       [](Run run) {
         return !IsDqn(run) && run.control.window == WindowKind::kConsecutive &&
                run.agent.weights.refresh == WeightRefresh::kUpdate;
       },
       {"control.window", "agent.weights.refresh"}},
      {{"agent.target_interval_updates"},
       [](Run run) {
         return !IsDqn(run) && run.control.window == WindowKind::kConsecutive && !run.agent.mixes();
       },
       {"control.window", "agent.mixer"}},
      {{"agent.target_interval_updates"},
       [](Run run) { return !IsDqn(run) && run.agent.targets == 1; },
       {"agent.targets"}},
      {{"agent.targets", "agent.restart", "agent.restart_interval_updates", "agent.restart_growth"},
       [](Run run) { return run.agent.mixer == MixerKind::kSingle; },
       {"agent.mixer"}},
      {{"agent.restart", "agent.restart_interval_updates", "agent.restart_growth"},
       [](Run run) { return run.agent.targets == 1; },
       {"agent.targets"}},
      {{"agent.restart_interval_updates"},
       [](Run run) { return run.agent.restart != WindowRestart::kInterval; },
       {"agent.restart"}},
      {{"agent.restart_growth"},
       [](Run run) { return run.agent.restart != WindowRestart::kGrowth; },
       {"agent.restart"}},
      {{"agent.damping", "agent.weights.eta", "agent.weights.safeguard"},
       [](Run run) { return !run.agent.mixes(); },
       {"agent.mixer"}},
      {{"agent.weights.batch"},
       [](Run run) { return !run.agent.mixes() && !WatchesResiduals(run.agent); },
       {"agent.mixer"}},
      {{"agent.weights.refresh"},  // without mixing, it still picks the size for a batch of 0
       [](Run run) {
         return !run.agent.mixes() &&
                !(WatchesResiduals(run.agent) && run.agent.weights.batch == 0);
       },
       {"agent.mixer"}},
      {{"agent.eta"}, [](Run run) { return !HasPenalty(run.agent); }, {"agent.mixer"}},
      {{"agent.eta"},
       [](Run run) { return run.agent.weights.eta == EtaChoice::kAuto; },
       {"agent.weights.eta"}},
      {{"agent.eta", "agent.weights.eta", "agent.weights.safeguard"},
       [](Run run) { return run.agent.targets == 1; },
       {"agent.targets"}},
      {{"agent.omega"},
       [](Run run) {
         return !IsSmooth(run.agent) && run.exploration.policy == PolicyKind::kGreedy;
       },
       {"agent.backup", "exploration.policy"}},
      {{"agent.huber_delta"},
       [](Run run) { return run.agent.loss != LossKind::kHuber; },
       {"agent.loss"}},
      {{"network.hidden"}, [](Run run) { return !run.agent.layers.empty(); }, {"network.layers"}},
      {{"exploration.epsilon_start", "exploration.epsilon_end", "exploration.epsilon_steps"},
       [](Run run) { return run.exploration.epsilon.has_value(); },
       {"exploration.epsilon"}},
      {{"exploration.epsilon_start"},
       [](Run run) { return run.exploration.epsilon_steps == 0; },
       {"exploration.epsilon_steps"}},
      {{"exploration.epsilon_steps"},
       [](Run run) { return run.exploration.epsilon_start == run.exploration.epsilon_end; },
       {"exploration.epsilon_start", "exploration.epsilon_end"}},
      {{"replay.priority_exponent", "replay.priority_floor", "replay.importance_start",
        "replay.importance_steps"},
       [](Run run) { return !run.replay.prioritized; },
       {"replay.prioritized"}},
      {{"replay.importance_start"},
       [](Run run) { return run.replay.importance_steps == 0; },
       {"replay.importance_steps"}},
      {{"replay.importance_steps"},
       [](Run run) { return run.replay.importance_start == 1; },
       {"replay.importance_start"}},
      {{"checkpoint.keep_weights"},
       [](Run run) {
         return run.eval.interval_steps == 0 &&
                KeepRule::Parse(run.train.keep_weights).when == KeepRule::When::kEvaluations;
       },
       {"eval.interval_steps"}},
      {{"optimizer.alpha", "optimizer.epsilon_inside"}, IsAdam, {"optimizer.kind"}},
      {{"optimizer.beta1", "optimizer.beta2"},
       [](Run run) { return !IsAdam(run) && !LearnsTemperature(run); },
       {"optimizer.kind"}},
  };
  return kRules;
}

// `agent.backup = "max" and exploration.policy = "epsilon-greedy"`
std::string Reason(const std::vector<ConfigKey>& keys, const std::vector<std::string>& because) {
  std::string reason;
  for (const std::string& key : because) {
    const auto found = std::ranges::find(keys, key, &ConfigKey::key);
    reason += fmt::format("{}{} = {}", reason.empty() ? "" : " and ", key, Shorten(found->value));
  }
  return reason;
}

bool ShowsPictures(const std::string& env) {
  return env.starts_with("atari/") || env.starts_with("minatar/");
}

}  // namespace

std::vector<IdleKey> IdleEnvironmentKeys(const std::string& env) {
  const std::string id = NormalizedId(env);
  const std::vector<std::string> used = EnvironmentKeys(id);
  EnvironmentOptions options;
  Config config;
  Describe(config, options);
  std::vector<IdleKey> idle;
  for (const ConfigKey& key : config.Keys()) {
    if (key.key == "env.wrappers") continue;  // refused where it is not used
    if (std::ranges::find(used, key.key) == used.end()) {
      idle.push_back({key.key, fmt::format("{} does not use it", id)});
    }
  }
  return idle;
}

std::vector<IdleKey> IdleKeys(const RunOptions& options) {
  const std::vector<ConfigKey> keys = AllKeys(options);
  std::vector<IdleKey> idle = IdleEnvironmentKeys(options.train.env);
  const auto add = [&idle](const std::string& key, const std::string& reason) {
    if (std::ranges::find(idle, key, &IdleKey::key) == idle.end()) idle.push_back({key, reason});
  };
  for (const Rule& rule : Rules()) {
    if (!rule.idle(options)) continue;
    for (const std::string& key : rule.keys) add(key, Reason(keys, rule.because));
  }
  const std::string env = NormalizedId(options.train.env);
  if (ShowsPictures(env)) add("network.hidden", fmt::format("{} shows pictures", env));
  if (!env.starts_with("atari/")) add("eval.protocol", fmt::format("{} does not use it", env));
  return idle;
}

}  // namespace stableaa
