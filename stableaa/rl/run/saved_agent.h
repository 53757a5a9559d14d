// An agent as saved by a training run, ready to play:
//
//   const SavedAgent agent({.path = "runs/minatar-breakout-stable-aa-1"});
//   const auto environment = agent.MakeEnvironment(10);
//   const auto player = agent.MakePlayer(*environment);
//   Evaluate(*environment, *player, agent.parameters(), ...);
//
// A run is a directory with config.toml and weights/{latest,best}.safetensors. A weights file alone
// will do: `train` records the environment in it, and the caller can specify it too. Files of other
// programs do not describe their network either: it is the one that an agent with these options has
// in this environment, and tensors are matched by nn/foreign_weights.h.
//
// Python code beyond what is installed runs only if the caller names it or trusts the files
// (trust.h).
#ifndef STABLEAA_RL_RUN_SAVED_AGENT_H_
#define STABLEAA_RL_RUN_SAVED_AGENT_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/env/environment.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/rl/player.h"
#include "stableaa/rl/run/kept_weights.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {

// The environment for evaluations: the one used in training, except for eval.protocol. The actions,
// and with them the network's outputs, stay the same.
EnvironmentOptions EvaluationEnvironment(const RunOptions& options);

// The metadata in a run's weights files: env, preset and seed of the run, `step` and, if actions are
// continuous, agent.algorithm.
WeightsMetadata DescribeWeights(const RunOptions& options, std::int64_t step);

// Whether the weights are those of an actor, not of a network of values; nullopt if the metadata do
// not tell, as those of other programs.
std::optional<bool> IsActor(const WeightsMetadata& metadata);

// The step in such metadata, if they have one.
std::optional<std::int64_t> StepOf(const WeightsMetadata& metadata);

struct SavedAgentSource {
  enum class Weights { kLatest, kBest };

  std::filesystem::path path;             // of a run, or of a .safetensors file
  Weights weights = Weights::kLatest;     // of a run
  std::optional<std::int64_t> step = {};  // of a run: the weights kept there (kept_weights.h)
  std::optional<std::string> env = {};    // instead of the run's or the file's
  // key=value for eval.* and env.*, and for a file that does not describe its network network.*,
  // agent.head and agent.algorithm
  std::vector<std::string> settings = {};
  bool trust = false;  // run the Python module and the interpreter that the files name
};

// A BadInput error: the source lacks something it is asked for.
class IncompleteSource : public Error {
 public:
  enum class Lack {
    kBestWeights,  // there has been no evaluation
    kEnvironment,  // a weights file does not name it
  };

  IncompleteSource(Lack lack, const std::string& message)
      : Error(Kind::kBadInput, message), lack_(lack) {}

  Lack lack() const { return lack_; }

 private:
  Lack lack_;
};

// Throws BadInput unless it is the directory of a run.
void RequireRun(const std::filesystem::path& path);

// The weights file that the source names. Throws BadInput if there is none.
std::filesystem::path FindWeights(const SavedAgentSource& source);

// Reads a file of this or another program into a known network, as nn/foreign_weights.h does, and
// logs how tensors with other names were matched.
void ReadWeightsOfAnyOrigin(const Safetensors& file, Parameters& parameters);

class SavedAgent {
 public:
  // Throws BadInput if there is no run, weights are missing or damaged, the environment does not
  // exist or is not given (IncompleteSource), a setting is wrong, or Python code is not trusted
  // (UntrustedCode).
  explicit SavedAgent(const SavedAgentSource& source);

  // The run's options, or for a file alone the defaults of the environment's family, plus the
  // settings.
  const RunOptions& options() const { return options_; }
  const std::filesystem::path& weights_file() const { return weights_file_; }
  // For people: "runs/a/weights/latest.safetensors (latest, step 20000)"; for a file alone "(step
  // 20000)", or only the path if it does not record its step.
  std::string WeightsText() const;
  // The training step at which the weights were saved, if they record it.
  std::optional<std::int64_t> weights_step() const { return StepOf(weights_.metadata); }
  // What the weights file says beside the weights.
  const WeightsMetadata& metadata() const { return weights_.metadata; }
  const Parameters& parameters() const { return weights_.parameters; }

  // Goes on with other kept weights of the same network. Throws BadInput, changing nothing, if they
  // are of another one, or of another step.
  void TakeWeights(const KeptWeights& kept);

  // Throws BadInput, with the numbers of both, unless the network fits its observations and
  // actions.
  std::unique_ptr<Environment> MakeEnvironment(int num_envs, bool render = false) const;
  // Greedy, like evaluations in training. `environment` must come from MakeEnvironment.
  std::unique_ptr<Player> MakePlayer(const Environment& environment) const;

 private:
  SavedAgent(const SavedAgentSource& source, const std::filesystem::path& file);
  SavedAgent(const SavedAgentSource& source, const std::filesystem::path& file,
             const SafetensorsFile& content);

  void CheckFit(const EnvironmentSpec& spec) const;

  std::filesystem::path weights_file_;
  std::string weights_kind_;  // latest or best; empty for a file alone
  RunOptions options_;
  WeightsFile weights_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_SAVED_AGENT_H_
