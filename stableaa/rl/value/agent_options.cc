#include "stableaa/rl/value/agent_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stableaa/base/config/config.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

using NamedAlgorithm = std::pair<std::string, AgentAlgorithm>;

const std::vector<NamedAlgorithm>& AgentAlgorithms() {
  static const std::vector<NamedAlgorithm> kAlgorithms = {{"dqn", AgentAlgorithm::kDqn},
                                                          {"ddpg", AgentAlgorithm::kDdpg},
                                                          {"td3", AgentAlgorithm::kTd3},
                                                          {"sac", AgentAlgorithm::kSac}};
  return kAlgorithms;
}

constexpr int kUpdateSample = 128;   // the paper's
constexpr int kControlSample = 400;  // that of RAA's code
constexpr int kSyncSample = 1024;

// Without a penalty, directions that differ only by sampling noise are dropped.
constexpr double kVanillaRankTolerance = 1e-6;

BackupKind OperatorOf(AgentBackup backup) {
  switch (backup) {
    case AgentBackup::kMellowmax:
      return BackupKind::kMellowmax;
    case AgentBackup::kBoltzmann:
      return BackupKind::kBoltzmann;
    case AgentBackup::kDynamicBoltzmann:
      return BackupKind::kDynamicBoltzmann;
    default:
      return BackupKind::kMax;
  }
}

NetworkSpec OwnNetwork(const std::string& layers, const InputSpec& input, int actions,
                       bool dueling) {
  const std::string head = dueling ? fmt::format("dueling{{linear(1) | linear({})}}", actions)
                                   : fmt::format("linear({})", actions);
  try {
    return ParseSpec(fmt::format("{} {} {}", ToText(input), layers, head));
  } catch (const Error& error) {
    throw BadInput(fmt::format("network.layers: {}", error.what()));
  }
}

void RequireWholeUnits(const std::vector<double>& hidden) {
  if (hidden.empty()) throw BadInput("network.hidden: expected at least one layer, found none");
  for (const double units : hidden) {
    if (units != static_cast<double>(static_cast<int>(units))) {
      throw BadInput(fmt::format("network.hidden: expected whole numbers, found {}", units));
    }
  }
}

}  // namespace

int AgentOptions::weights_batch() const {
  if (weights.batch > 0) return weights.batch;
  if (weights.refresh == WeightRefresh::kSync) return kSyncSample;
  return algorithm == AgentAlgorithm::kDqn ? kUpdateSample : kControlSample;
}

Backup AgentOptions::BackupAt(std::int64_t time) const {
  return Backup{OperatorOf(backup), omega}.At(time);
}

WeightOptions AgentOptions::WeightsFor(double eta_value) const {
  WeightOptions options{.eta = eta_value};
  switch (mixer) {
    case MixerKind::kAnderson:
      options.rule = WeightRule::kVanilla;
      options.rank_tolerance = kVanillaRankTolerance;
      break;
    case MixerKind::kRaa:
      options.rule = WeightRule::kRaa;
      break;
    default:
      options.rule = WeightRule::kStable;
  }
  return options;
}

std::string NameOf(AgentAlgorithm algorithm) {
  return std::ranges::find(AgentAlgorithms(), algorithm, &NamedAlgorithm::second)->first;
}

void Describe(Config& config, AgentOptions& options) {
  config.Choice("agent.algorithm", &options.algorithm, AgentAlgorithms(),
                "How the agent learns: dqn for numbered actions, the others for continuous ones, "
                "with an actor and mixed critics.");
  config.Choice("agent.head", &options.head,
                {{"plain", HeadKind::kPlain}, {"dueling", HeadKind::kDueling}},
                "Head of the network. dueling: Q = V + A - mean A (Wang et al. 2016).");
  config.Choice("agent.backup", &options.backup,
                {{"max", AgentBackup::kMax},
                 {"mellowmax", AgentBackup::kMellowmax},
                 {"boltzmann", AgentBackup::kBoltzmann},
                 {"dynamic-boltzmann", AgentBackup::kDynamicBoltzmann},
                 {"double", AgentBackup::kDouble}},
                "How the values of the next state's actions become one value. double: the online "
                "network picks the action, each target network evaluates it.");
  config.Choice("agent.mixer", &options.mixer,
                {{"single", MixerKind::kSingle},
                 {"average", MixerKind::kAverage},
                 {"anderson", MixerKind::kAnderson},
                 {"raa", MixerKind::kRaa},
                 {"stable", MixerKind::kStable}},
                "How the newest target networks become one target: the newest alone, the backup of "
                "their mean, or mixing weights by the rule named.");
  config.Real("agent.omega", &options.omega, {.at_least = 0, .at_most = 1e6},
              "Inverse temperature of mellowmax and boltzmann, in 1/reward, and of the policies "
              "max-entropy and softmax. Larger is closer to max. dynamic-boltzmann: c of c t^2, t "
              "the number of the present target network.");
  config.Int("agent.targets", &options.targets, {1, 64},
             "m, the target networks that average, anderson, raa and stable mix. Fewer until so "
             "many exist.");
  config.Scheduled("agent.damping", &options.damping, {.at_least = 0, .at_most = 1},
                   "Beta, the share of the mixed Q itself in the target, the rest being the mixed "
                   "backups; of anderson, raa and stable. 0: backups only.");
  config.Scheduled("agent.eta", &options.eta, {.at_least = 0, .at_most = 1e6},
                   "Strength of the penalty on the mixing weights of raa and stable.");
  config.Real("agent.discount", &options.discount, {.at_least = 0, .below = 1},
              "Discount factor per step.");
  config.Int("agent.n_step", &options.n_step, {1, 1000},
             "Rewards of so many steps before the target bootstraps.");
  config.Int("agent.target_interval_updates", &options.target_interval_updates,
             {1, std::int64_t{1} << 40},
             "M: after so many updates the oldest target network goes and a copy of the online "
             "network comes; with continuous actions, of the critics' Polyak average.");
  config.Choice("agent.weights.refresh", &options.weights.refresh,
                {{"update", WeightRefresh::kUpdate}, {"sync", WeightRefresh::kSync}},
                "When mixing weights are computed: in each update on a small sample (the paper's "
                "Algorithm 1), or once per shift of the target networks on a large one.");
  config.Int("agent.weights.batch", &options.weights.batch, {0, 65536},
             "Transitions that mixing weights are computed from. 0: 128 for update (400 with "
             "continuous actions), 1024 for sync.");
  config.Choice("agent.weights.eta", &options.weights.eta,
                {{"fixed", EtaChoice::kFixed}, {"auto", EtaChoice::kAuto}},
                "fixed: agent.eta. auto: of 1e-6, 1e-5, ..., 10 the one whose weights, fitted on "
                "half of the sample, leave the smallest residual on the other half.");
  config.Bool("agent.weights.safeguard", &options.weights.safeguard,
              "Use the newest target network alone where weights fitted on half of the sample do "
              "not lower the residual on the other half.");
  config.Choice("agent.restart", &options.restart,
                {{"never", WindowRestart::kNever},
                 {"interval", WindowRestart::kInterval},
                 {"growth", WindowRestart::kGrowth}},
                "When all target networks but the newest are forgotten.");
  config.Int("agent.restart_interval_updates", &options.restart_interval_updates,
             {1, std::int64_t{1} << 40}, "For restart = interval: updates between two restarts.");
  config.Real("agent.restart_growth", &options.restart_growth, {.above = 1, .at_most = 1e6},
              "For restart = growth: restart at a shift when the newest network's residual exceeds "
              "the smallest since the last restart by this factor.");
  config.Choice("agent.loss", &options.loss,
                {{"squared", LossKind::kSquared}, {"huber", LossKind::kHuber}},
                "Loss of the difference between Q and target.");
  config.Real("agent.huber_delta", &options.huber_delta, {.above = 0, .at_most = 1e6},
              "Where the Huber loss turns from square to line.");
  config.List("network.hidden", &options.hidden, {.at_least = 1, .at_most = 65536},
              "Units of each hidden layer of the network for vectors (classic control).",
              RequireWholeUnits);
  config.Text("network.layers", &options.layers,
              "Layers before the head, instead of the usual ones, as docs/networks.md writes them: "
              "conv(16, 8, 4) relu conv(32, 4, 2) relu flatten linear(256) relu.");
}

void AgentOptions::Validate() const {
  AgentOptions copy = *this;
  Config config;
  Describe(config, copy);
}

NetworkSpec AgentNetwork(const AgentOptions& options, const InputSpec& input, int actions) {
  const bool dueling = options.head == HeadKind::kDueling;
  if (!options.layers.empty()) return OwnNetwork(options.layers, input, actions, dueling);
  if (input.is_vector()) {
    std::vector<int> hidden;
    for (const double units : options.hidden) hidden.push_back(static_cast<int>(units));
    return MlpSpec(
        {.inputs = input.shape.size(), .hidden = hidden, .actions = actions, .dueling = dueling});
  }
  NetworkSpec spec = ImageSpec({.input = input, .actions = actions, .dueling = dueling});
  spec.Validate();
  return spec;
}

}  // namespace stableaa
