// Environments that live in Python worker processes: any of Gymnasium's, and Atari on ale-py.
//
// Observations, actions and everything else that a step moves are in memory shared with the
// workers; a step costs one byte to each worker and one back. Between Send and Recv the workers run
// on their own.
//
// If an environment does something wrong, an Error names it: an exception, with where it was
// raised; or an observation or reward that is not finite, with the episode's step and seed.
//
// State cannot be extracted from these environments. But they are deterministic: every episode
// begins with its own seed, drawn from the seed given to Reset, and Save writes the seeds and
// actions of the present game. Load replays them and checks that the result is the same.
#ifndef STABLEAA_ENV_GYMNASIUM_GYMNASIUM_ENVIRONMENT_H_
#define STABLEAA_ENV_GYMNASIUM_GYMNASIUM_ENVIRONMENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/env/environment.h"
#include "stableaa/env/gymnasium/shared_memory.h"
#include "stableaa/env/gymnasium/worker_process.h"

namespace stableaa {

// How an Atari game is played. All protocols use frame skip 4, the maximum of the last two frames,
// grey, 84x84, the last 4 stacked, at most 108,000 frames (27,000 steps) per game, and the game's
// own rewards.
struct AtariProtocol {
  std::string name;
  double sticky = 0;         // in each frame, the probability of repeating the previous action
  bool lives_end = false;    // losing a life ends the episode; the next one continues the game
  int no_ops = 0;            // a game begins with up to this many frames of doing nothing
  bool fire = false;         // and with fire, where the game has it
  bool all_actions = false;  // all 18 instead of only those that have an effect in the game
  // As in the paper's code: each life (not only each game) begins with no-ops, fire and the action
  // after it; frames are shrunk to 84x110 (bilinear) and cropped to rows 18 to 101.
  bool authors = false;
};

// authors (the paper's code), nature (after Mnih et al. 2015), machado (Machado et al. 2018).
AtariProtocol NamedAtariProtocol(const std::string& name);

struct GymnasiumOptions {
  std::string id;      // ours, for messages and the spec: "atari/pong"
  std::string family;  // "atari" or "gymnasium"
  std::string name;    // "pong", "LunarLander-v3"
  AtariProtocol protocol = {};
  std::string kwargs = "{}";  // for the constructor: a JSON object
  // Put around each environment of Gymnasium's, the first one innermost.
  std::vector<std::string> wrappers = {};
  int num_envs = 1;
  int workers = 1;  // processes; never more than environments
  std::string python = "python3";
  double timeout_seconds = 60;
  std::int64_t max_episode_steps = 0;  // cuts episodes earlier than the environment does; 0: do not
  bool render = false;
};

class GymnasiumEnvironment : public Environment {
 public:
  // Starts the workers and waits until all are ready. Throws BadInput if there is no such
  // environment, its spaces are not supported, the constructor refuses its arguments, a wrapper
  // does not exist or raises, or it cannot draw pictures; WorkFailed if Python or a package is
  // missing (and how to get it), or a worker failed.
  static std::unique_ptr<GymnasiumEnvironment> Make(const GymnasiumOptions& options);
  // Closes the environments of idle workers and ends all workers. Problems are only logged as
  // warnings.
  ~GymnasiumEnvironment() override;

  bool game_ended(int i) const override;
  void Save(ByteWriter& out) const override;
  void Load(ByteReader& in) override;

  // Seconds that the first worker takes for `steps` steps of its environments, driven by a loop in
  // Python alone, with random actions (those of the last Send if they are not discrete). This
  // changes the games' states: call Reset afterwards.
  double MeasureInPython(std::int64_t steps);
  int envs_of_first_worker() const { return parts_.front().count; }

  // Applies from now on; GymnasiumOptions::timeout_seconds covers the start, which takes long.
  void set_timeout_seconds(double seconds);

  // For tests that kill them.
  std::vector<pid_t> worker_pids() const;

 private:
  struct Part {
    std::unique_ptr<WorkerProcess> worker;
    int begin = 0, count = 0;  // its environments
  };
  // The present game of one environment, as needed to play it again.
  struct Game {
    std::vector<std::int64_t> seeds;  // of its episodes; lives may be episodes
    std::vector<std::int32_t> indices;
    std::vector<float> values;
    std::int64_t steps_in_episode = 0;
  };
  struct Slot {
    RandomStream seeds;  // for the episodes
    Game game = {};
  };
  struct SavedSlot {
    RandomStream seeds;
    std::int64_t next_seed = 0;
    Game game = {};
    std::uint64_t hash = 0;  // of the observation
  };

  GymnasiumEnvironment(const GymnasiumOptions& options, EnvironmentSpec spec,
                       std::unique_ptr<SharedMemory> memory, std::vector<Part> parts,
                       int picture_height, int picture_width);

  void DoReset(std::uint64_t seed) override;
  void DoSend(Actions actions) override;
  void DoRecv() override;

  void Command(char command);
  static std::optional<std::string> ProblemOf(WorkerProcess& worker);
  void AwaitAnswers();
  void CloseAll();
  void RequireFiniteStep(std::size_t i) const;
  void RequireFinite(std::span<const float> observations, std::size_t i, std::int64_t step,
                     std::int64_t seed) const;
  void ForgetAnswers();
  void DrawSeed(std::size_t i);
  void ReadAction(ByteReader& in, Game& game) const;
  float AnyValue(std::size_t element) const;
  void Replay(const std::vector<SavedSlot>& saved);
  std::uint64_t ObservationHash(std::size_t i) const;
  void CopyPictures();

  const GymnasiumOptions options_;
  std::unique_ptr<SharedMemory> memory_;
  std::vector<Part> parts_;
  std::uint64_t seed_ = 0;
  std::vector<Slot> slots_;
  bool awaiting_ = false;  // an answer, since Send

  // In the shared memory.
  std::span<std::int32_t> indices_;
  std::span<float> values_;
  std::span<std::uint8_t> mask_, anew_, new_game_, term_, trunc_;
  std::span<std::int64_t> next_seeds_;
  std::span<double> reward_, bench_;
  std::span<std::uint8_t> bytes_, final_bytes_, pictures_, final_pictures_;
  std::span<float> floats_, final_floats_;
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_GYMNASIUM_GYMNASIUM_ENVIRONMENT_H_
