// Every step of an evaluation in a NumPy archive:
//
//   observations  steps × shape, of the environment's own type: what was acted on
//   q_values      steps × actions, float32
//   actions       steps, int32; continuous ones, which have no q_values, steps × shape, float32, in
//                 the environment's units
//   rewards       steps, float64
//   terminated    steps, uint8: this step ended the episode (where a lost life does so, the game
//                 may go on in the next row)
//   truncated     steps, uint8: this step was the last before the episode was cut
//   game          steps, int64, from 0
//
// Rows are sorted by game, then time. The last observation of an episode is not acted on, so it is
// not included.
//
//   EvaluationTrace trace("trace.npz", environment.spec(), environment.num_envs());
//   Evaluate(..., [&](const EvaluationStep& step) { trace.Add(step); });
//   trace.Finish();
#ifndef STABLEAA_RL_RUN_TRACE_H_
#define STABLEAA_RL_RUN_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/base/files/npz.h"
#include "stableaa/env/environment.h"
#include "stableaa/rl/run/evaluation.h"

namespace stableaa {

// Games are played side by side, so rows arrive interleaved. They wait, in blocks of one
// environment each, in an unnamed file in the archive's directory. So memory does not grow with the
// number of steps, and the system removes the file whatever happens.
class EvaluationTrace {
 public:
  // Throws AtomicFile's errors, before any work is done.
  EvaluationTrace(const std::filesystem::path& path, const EnvironmentSpec& spec, int environments);

  // An environment's steps must come in order, each game from its first step on. Throws WorkFailed
  // if the disk is full.
  void Add(const EvaluationStep& step);

  // Writes the archive, which needs as much space again as the waiting rows.
  void Finish();

 private:
  struct Column {
    std::string name, dtype;
    std::vector<std::uint64_t> shape;  // of one step
    std::size_t bytes = 0;             // of one step
    std::size_t offset = 0;            // in a block, where each step's bytes follow one another
  };
  struct Player {
    std::vector<std::byte> block;        // being filled
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
