// What a training run asks of an agent: to act, to remember, to learn, to play games for an
// evaluation, and to go on from a checkpoint. Trainer (run/trainer.h) knows agents by this
// interface only.
//
//   agent->Begin(environment.observations());
//   for (std::int64_t step = 0; ...; ++step) {
//     environment.Send(agent->Act(step, environment.observations(), random));
//     agent->Update(step + 1);                     // while the environment works
//     environment.Recv();
//     agent->Remember({.reward = ..., .next = ...});
//     if (ended) agent->Begin(environment.observations());
//   }
//
// A new agent implements this class, and MakeAgent, EstimateAgentMemory and RequireAgentFits
// (agent.cc) learn to choose it.
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

// What came of the last action.
struct ActionOutcome {
  double reward = 0;  // to learn from: clipped if train.clip_rewards says so
  bool terminated = false;
  bool truncated = false;
  Observations next = {};  // the last one of the episode if it has ended
};

// Where a run is that an agent is loaded for; a checkpoint's parts have to agree on it.
struct RunPosition {
  std::int64_t step = 0;
  std::int64_t episodes = 0;       // that have ended
  Observations observations = {};  // what the next action is for
};

// Seconds that all updates so far took.
struct AgentTimes {
  double sampling = 0;
  double targets = 0;
  double gradient = 0;
};

// An agent's cells of a row of metrics.csv, by the place that they have in it. Columns are the same
// in all rows of a run.
struct AgentMetrics {
  MetricRow exploration;  // before the means of updates
  MetricRow learning;     // behind them
  MetricRow memory;       // behind the evaluation
  MetricRow wall;         // last; columns wall_*, which may differ between equal runs
};

// Not thread-safe: threads of an agent are its own.
class Agent {
 public:
  virtual ~Agent() = default;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Begins an episode.
  virtual void Begin(const Observations& observations) = 0;
  // The action after `step` steps of training, with exploration, whose randomness comes from
  // `random`. Valid until the next call. WorkFailed if it is not finite, or follows from what is
  // not.
  virtual Actions Act(std::int64_t step, const Observations& observations,
                      RandomStream& random) = 0;
  // What came of the action of the last Act.
  virtual void Remember(const ActionOutcome& outcome) = 0;
  // One update in step `step`, counted from 1, if one is due. Gives the numbers that
  // update_metrics() names, none if there was no update; valid until the next call. WorkFailed if
  // learning has diverged.
  virtual std::span<const double> Update(std::int64_t step) = 0;

  // The network that acts: what the files of weights hold.
  virtual const Parameters& weights() const = 0;
  virtual std::int64_t updates() const = 0;
  virtual AgentTimes times() const = 0;

  // Columns of metrics.csv whose cells are means over the updates since the row before; the first
  // one is the loss.
  virtual std::vector<std::string> update_metrics() const = 0;
  // The other cells, after `step` steps.
  virtual AgentMetrics Metrics(std::int64_t step) const = 0;

  // Plays options.episodes games, without training's exploration (evaluation.h). Nothing, at once,
  // if `stop` says so; it is asked in every step.
  virtual std::optional<EvaluationResult> Evaluate(Environment& environment,
                                                   const EvaluationOptions& options,
                                                   std::uint64_t seed,
                                                   const std::function<bool()>& stop) = 0;

  // An .npz file that helps to find out why Act or Update has failed.
  virtual void WriteDiagnosis(const std::filesystem::path& path) const = 0;

  // A checkpoint is made in three steps: SaveFiles writes what is too large to be written anew each
  // time to files of its own in `directory`, Save all the rest, and RemoveOldFiles, once what Save
  // wrote is safe on disk, deletes the files that it does not name. Load throws BadInput, naming
  // the file and what is wrong, for what no such agent saved at that position; the agent can only
  // be loaded again then.
  virtual void SaveFiles(const std::filesystem::path& directory) = 0;
  virtual void Save(ByteWriter& out) const = 0;
  virtual void RemoveOldFiles(const std::filesystem::path& directory) const = 0;
  virtual void Load(ByteReader& in, const std::filesystem::path& directory,
                    const RunPosition& position) = 0;

 protected:
  Agent() = default;
};

// BadInput if the agent that the options describe cannot act in such an environment.
void RequireAgentFits(const RunOptions& options, const EnvironmentSpec& spec);

// The agent that the options describe, for one environment that it fits.
std::unique_ptr<Agent> MakeAgent(const RunOptions& options, const EnvironmentSpec& spec);

// Bytes that it will take.
struct AgentMemory {
  std::uint64_t replay = 0;    // when full
  std::uint64_t networks = 0;  // and all else
};
AgentMemory EstimateAgentMemory(const RunOptions& options, const EnvironmentSpec& spec);

}  // namespace stableaa

#endif  // STABLEAA_RL_AGENT_H_
