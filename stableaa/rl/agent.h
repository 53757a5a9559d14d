// What a training run asks of an agent: act, remember, learn, play evaluation games, and resume
// from a checkpoint. Trainer (run/trainer.h) knows agents only by this interface.
//
//   for each environment i: agent->Begin(i, environment.observations());
//   for (std::int64_t step = 0; ...; step += n) {  // n environments step at once
//     environment.Send(agent->Act(step, environment.observations(), random));
//     for (int i = 1; i <= n; ++i) agent->Update(step + i);  // while the environments work
//     environment.Recv();
//     for each environment i:
//       agent->Remember(i, {.reward = ..., .next = ...});
//       if (ended) agent->Begin(i, environment.observations());
//   }
//
// To add an agent, implement this class and extend MakeAgent, AgentPlan, EstimateAgentMemory and
// RequireAgentFits (agent.cc) to choose it.
#ifndef STABLEAA_RL_AGENT_H_
#define STABLEAA_RL_AGENT_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stableaa/env/environment.h"
#include "stableaa/nn/parameters.h"
#include "stableaa/rl/run/evaluation.h"
#include "stableaa/rl/run/metric_row.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {

class ByteReader;
class ByteWriter;
class RandomStream;

// The outcome of an environment's last action.
struct ActionOutcome {
  double reward = 0;  // the one to learn from: clipped under train.clip_rewards
  bool terminated = false;
  bool truncated = false;
  // Of all environments; that of this one is the last of the episode if it has ended.
  Observations next = {};
};

// The position of the run that an agent is loaded for. All parts of a checkpoint must agree on it.
struct RunPosition {
  std::int64_t step = 0;
  std::int64_t episodes = 0;       // finished ones
  Observations observations = {};  // the ones to act on next
};

// Seconds spent in all updates so far.
struct AgentTimes {
  double sampling = 0;
  double targets = 0;
  double gradient = 0;
};

// An agent's cells in a row of metrics.csv, grouped by their place in it. All rows of a run have
// the same columns.
struct AgentMetrics {
  MetricRow exploration;  // before the means of updates
  MetricRow learning;     // after them
  MetricRow memory;       // after the evaluation
  MetricRow wall;         // last; columns wall_*, which may differ between equal runs
};

// Not thread-safe. An agent may run threads of its own.
class Agent {
 public:
  virtual ~Agent() = default;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Begins with these weights, of the same network as weights(), instead of random ones. Only before
  // the first step.
  virtual void StartFrom(const Parameters& first) = 0;

  // Begins an episode of one environment, given the observations of all.
  virtual void Begin(int environment, const Observations& observations) = 0;
  // The actions of all environments after `step` steps of training, including exploration, which
  // draws from `random`. Valid until the next call. Throws WorkFailed if an action, or a value
  // behind it, is not finite.
  virtual Actions Act(std::int64_t step, const Observations& observations,
                      RandomStream& random) = 0;
  // The outcome of the last Act's action in one environment.
  virtual void Remember(int environment, const ActionOutcome& outcome) = 0;
  // Performs the update of step `step`, counted from 1, if one is due. Returns the numbers that
  // update_metrics() names, or none if there was no update; valid until the next call. Throws
  // WorkFailed if learning has diverged.
  virtual std::span<const double> Update(std::int64_t step) = 0;

  // The network that acts, as saved in weights files.
  virtual const Parameters& weights() const = 0;
  // Whether all weights that a checkpoint holds are finite: weights(), and those it learns from.
  virtual bool IsFinite() const { return weights().AllFinite(); }
  virtual std::int64_t updates() const = 0;
  virtual AgentTimes times() const = 0;

  // Columns of metrics.csv whose cells are means over the updates since the previous row; the first
  // is the loss.
  virtual std::vector<std::string> update_metrics() const = 0;
  // The other cells, after `step` steps.
  virtual AgentMetrics Metrics(std::int64_t step) const = 0;

  // Plays options.episodes games without training's exploration (evaluation.h). Polls `stop` in
  // every step and returns nothing as soon as it is true.
  virtual std::optional<EvaluationResult> Evaluate(Environment& environment,
                                                   const EvaluationOptions& options,
                                                   std::uint64_t seed,
                                                   const std::function<bool()>& stop) = 0;

  // Writes an .npz file that helps to find out why Act or Update failed.
  virtual void WriteDiagnosis(const std::filesystem::path& path) const = 0;

  // A checkpoint is made in three steps. SaveFiles writes whatever is too large to rewrite each
  // time to separate files in `directory`. Save writes all the rest. RemoveOldFiles, called once
  // Save's output is safe on disk, deletes the files that it does not name.
  // Load throws BadInput, naming the file and the problem, for anything that no such agent saved at
  // that position; after that the agent can only be loaded again.
  virtual void SaveFiles(const std::filesystem::path& directory) = 0;
  virtual void Save(ByteWriter& out) const = 0;
  virtual void RemoveOldFiles(const std::filesystem::path& directory) const = 0;
  virtual void Load(ByteReader& in, const std::filesystem::path& directory,
                    const RunPosition& position) = 0;

 protected:
  Agent() = default;
};

// Throws BadInput if the agent that the options describe cannot act in such an environment.
void RequireAgentFits(const RunOptions& options, const EnvironmentSpec& spec);

// The agent that the options describe, for env.num_envs environments; the two must fit.
std::unique_ptr<Agent> MakeAgent(const RunOptions& options, const EnvironmentSpec& spec);

// The network that acts, Agent::weights().plan(), of such an agent.
std::shared_ptr<const Plan> AgentPlan(const RunOptions& options, const EnvironmentSpec& spec);

// Bytes that the agent will take.
struct AgentMemory {
  std::uint64_t replay = 0;    // when full
  std::uint64_t networks = 0;  // and everything else
};
AgentMemory EstimateAgentMemory(const RunOptions& options, const EnvironmentSpec& spec);

}  // namespace stableaa

#endif  // STABLEAA_RL_AGENT_H_
