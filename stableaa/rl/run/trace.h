// Every step of an evaluation in a NumPy archive:
//
//   observations  steps × shape, of the environment's own type: what was acted on
//   q_values      steps × actions, float32
//   actions       steps, int32
//   rewards       steps, float64
//   terminated    steps, uint8: this step ended the episode (where a lost life does so, the game
//                 may go on in the next row)
//   truncated     steps, uint8: this step was the last before the episode was cut
//   game          steps, int64, from 0
//
// Rows are sorted by game, then time. The last observation of an episode is not acted on and so not
// here.
//
//   EvaluationTrace trace("trace.npz", environment.spec(), environment.num_envs());
//   Evaluate(..., [&](const EvaluationStep& step) { trace.Add(step); });
//   trace.Finish();
#ifndef STABLEAA_RL_RUN_TRACE_H_
#define STABLEAA_RL_RUN_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/base/files/npz.h"
#include "stableaa/env/environment.h"
#include "stableaa/rl/run/evaluation.h"

namespace stableaa {

// Games are played side by side, so rows come interleaved. They wait, in blocks of one environment
// each, in a file without a name in the directory of the archive: memory does not grow with the
// number of steps, and whatever happens, the system removes it.
class EvaluationTrace {
 public:
  // Errors as AtomicFile's, before any work.
  EvaluationTrace(const std::filesystem::path& path, const EnvironmentSpec& spec, int environments);

  // The steps of an environment in order, each game from its first step on. WorkFailed if the disk
  // is full.
  void Add(const EvaluationStep& step);

  // Writes the archive, which needs as much room again as the rows that wait.
  void Finish();

 private:
  struct Column {
    std::string name, dtype;
    std::vector<std::uint64_t> shape;  // of one step
    std::size_t bytes = 0;             // of one step
    std::size_t offset = 0;            // in a block: that of each step's bytes one after the other
  };
  struct Player {
    std::vector<std::byte> block;        // the one that is being filled
    std::vector<std::uint64_t> written;  // the numbers of those in the file
    std::uint64_t steps = 0;
  };
  struct Game {
    std::size_t environment = 0;
    std::uint64_t begin = 0, steps = 0;  // among the steps of its environment
  };

  void AddColumn(const std::string& name, const std::string& dtype, std::size_t element_bytes,
                 const std::vector<std::uint64_t>& shape);
  void Flush(Player& player);
  void WriteColumn(const Column& column, const NpzWriter::Sink& sink);
  void WriteGames(const NpzWriter::Sink& sink) const;

  const std::filesystem::path path_;
  NpzWriter archive_;
  Descriptor spool_;
  std::vector<Column> columns_;
  std::size_t step_bytes_ = 0, block_steps_ = 1;
  std::uint64_t blocks_ = 0;  // in the file
  std::vector<Player> players_;
  std::vector<Game> games_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_TRACE_H_
