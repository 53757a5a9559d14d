// Where each number is in a checkpoint, for tests and the fuzzer, which change single ones. Follows
// the format of checkpoint/state.bin and of the replay's segments, independently of the library's
// own readers.
#ifndef STABLEAA_RL_RUN_CHECKPOINT_FIELDS_TEST_H_
#define STABLEAA_RL_RUN_CHECKPOINT_FIELDS_TEST_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/binary_io.h"

namespace stableaa {

struct CheckpointField {
  std::string name;        // "replay.next_id", "replay.segment.state[2].action"
  std::size_t offset = 0;  // in the payload
  std::size_t bytes = 0;   // 1, 4 or 8
};

// What the bytes alone do not reveal of an agent with continuous actions.
struct ControlShape {
  int critics = 2;
  int critic_tensors = 0;
  bool is_gaussian = false;  // otherwise its actor has a Polyak average
  bool mixes = false;
};

// What the bytes alone do not reveal.
struct CheckpointShape {
  std::size_t environment_bytes = 0;  // from Environment::Save
  int tensors = 0;                    // in the network that acts
  std::int64_t segment_states = 0;
  std::optional<ControlShape> control = {};
};

class CheckpointFields {
 public:
  // The fields in a payload of state.bin: all but texts and frames.
  CheckpointFields(std::span<const std::byte> payload, const CheckpointShape& shape)
      : in_(payload, "state") {
    U32("fingerprint");
    I64("step");
    I64("evaluated_step");
    for (const std::string log : {"metrics", "episodes", "events"}) Log("log." + log);
    for (const char* const name : {"episodes", "episode_return", "episode_length", "logged_step"}) {
      U64(name);
    }
    std::vector<std::string> sums = {"loss", "td_abs", "q_mean"};
    if (shape.control) sums.emplace_back("actor_value");
    if (shape.control && shape.control->is_gaussian) {
      sums.insert(sums.end(), {"entropy", "temperature"});
    }
    if (shape.control && shape.control->mixes) sums.emplace_back("alpha_spread");
    sums.insert(sums.end(), {"episode_return", "episode_length"});
    for (const std::string& sum : sums) {
      U64("sums." + sum + ".sum");
      U64("sums." + sum + ".count");
    }
    U64("best_return");
    U64("wall_seconds");
    Random("exploration");
    Environment(shape.environment_bytes);
    Replay(shape.segment_states);
    Random("replay_random");
    Random("weights_random");
    shape.control ? Control(shape.tensors, *shape.control) : Dqn(shape.tensors);
    in_.ExpectEnd();
  }

  // The fields in the payload of a segment file.
  static std::vector<CheckpointField> OfSegment(std::span<const std::byte> payload, bool compressed,
                                                std::uint32_t action_floats = 0) {
    CheckpointFields fields(payload);
    fields.action_floats_ = action_floats;
    fields.Segment("segment", compressed);
    fields.in_.ExpectEnd();
    return std::move(fields.all_);
  }

  const std::vector<CheckpointField>& all() const { return all_; }
  const CheckpointField& operator[](const std::string& name) const {
    const auto found = std::ranges::find(all_, name, &CheckpointField::name);
    if (found == all_.end()) throw std::runtime_error("no field " + name);
    return *found;
  }
  // Whether the replay compresses its frames.
  bool compressed() const { return compressed_; }
  // Numbers of a continuous action; otherwise 0.
  std::uint32_t action_floats() const { return action_floats_; }

 private:
  explicit CheckpointFields(std::span<const std::byte> payload) : in_(payload, "segment") {}

  static std::string Numbered(const std::string& name, std::uint64_t k) {
    return name + '[' + std::to_string(k) + ']';
  }
  void Name(const std::string& name, std::size_t bytes) {
    all_.push_back({name, in_.position(), bytes});
  }
  std::uint8_t U8(const std::string& name) {
    Name(name, 1);
    return in_.U8();
  }
  bool Bool(const std::string& name) { return U8(name) != 0; }
  std::uint32_t U32(const std::string& name) {
    Name(name, 4);
    return in_.U32();
  }
  std::uint64_t U64(const std::string& name) {
    Name(name, 8);
    return in_.U64();
  }
  std::int64_t I64(const std::string& name) { return static_cast<std::int64_t>(U64(name)); }
  void Skip(std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i) in_.U8();
  }
  void Text(const std::string& name) { Skip(U64(name + ".length")); }
  void Array(const std::string& name, std::size_t bytes) {
    const std::uint64_t count = U64(name + ".count");
    for (std::uint64_t k = 0; k < count; ++k) {
      Name(Numbered(name, k), bytes);
      Skip(bytes);
    }
  }
  void Log(const std::string& name) {
    const std::uint64_t rows = U64(name + ".rows");
    for (std::uint64_t k = 0; k < rows; ++k) {
      U32(Numbered(name, k) + ".bytes");
      U32(Numbered(name, k) + ".checksum");
    }
  }
  void Random(const std::string& name) {
    for (const char* const part : {".key0", ".key1", ".counter"}) U64(name + part);
    U8(name + ".position");
  }
  // A native environment: eight-byte numbers where possible, as in classic systems.
  void Environment(std::size_t bytes) {
    const std::size_t end = in_.position() + bytes;
    Text("environment.id");
    U64("environment.count");
    U64("environment.seed");
    Random("environment.random");
    U64("environment.steps");
    const bool wide = (end - in_.position()) % 8 == 0;
    for (std::uint64_t k = 0; in_.position() < end; ++k) {
      const std::string name = Numbered("environment.state", k);
      wide ? static_cast<void>(U64(name)) : static_cast<void>(U8(name));
    }
  }
  void Segment(const std::string& name, bool compressed) {
    U64(name + ".number");
    const std::uint32_t states = U32(name + ".states");
    const std::uint32_t frames = U32(name + ".frames");
    for (std::uint64_t k = 0; k < states; ++k) {
      const std::string state = Numbered(name + ".state", k);
      U32(state + ".frame");
      U32(state + ".action");
      U32(state + ".reward");
      U8(state + ".flags");
    }
    for (std::uint64_t k = 0; k < std::uint64_t{states} * action_floats_; ++k) {
      U32(Numbered(name + ".action_value", k));
    }
    for (std::uint64_t k = 0; compressed && k < frames; ++k) U32(Numbered(name + ".blob", k));
    Text(name + ".blobs");
  }
  void Replay(std::int64_t segment_states) {
    U32("replay.stack");
    action_floats_ = U32("replay.action_floats");
    U64("replay.frame_bytes");
    U64("replay.size");
    compressed_ = U64("replay.compression") != 0;
    U64("replay.n_step");
    U64("replay.discount");
    const bool prioritized = Bool("replay.prioritized");
    U64("replay.priority_exponent");
    U64("replay.priority_floor");
    const std::int64_t next_id = I64("replay.next_id");
    const std::int64_t oldest = I64("replay.oldest");
    for (std::int64_t k = oldest; k < (next_id - 1) / segment_states; ++k) {
      U32(Numbered("replay.checksum", static_cast<std::uint64_t>(k)));
    }
    Segment("replay.segment", compressed_);
    if (!prioritized) return;
    U64("replay.max_priority");
    Array("replay.priority", 8);
  }
  void Parameters(const std::string& name, int tensors) {
    for (int k = 0; k < tensors; ++k) Array(Numbered(name, static_cast<std::uint64_t>(k)), 4);
  }
  void Optimizer(const std::string& name, int tensors) {
    const bool has_mean = U8(name + ".kind") != 0;
    Text(name + ".network");
    U64(name + ".steps");
    Parameters(name + ".square", tensors);
    if (has_mean) Parameters(name + ".mean", tensors);
  }
  // The learner of an agent of the DQN family, after its random streams.
  void Dqn(int tensors) {
    Parameters("online", tensors);
    Optimizer("optimizer", tensors);
    Bool("targets.untrained");
    const std::uint64_t targets = U64("targets.count");
    for (std::uint64_t k = 0; k < targets; ++k) Parameters(Numbered("targets", k), tensors);
    Mixing();
    for (const char* const name :
         {"updates", "shifts", "restarts", "fallbacks", "restarted_at", "best_residual"}) {
      U64(std::string("learner.") + name);
    }
    Queue();
  }
  // The same of an agent with continuous actions, and its exploration noise.
  void Control(int tensors, const ControlShape& shape) {
    Random("noise_random");
    Parameters("actor", tensors);
    if (!shape.is_gaussian) Parameters("actor_average", tensors);
    Optimizer("actor_optimizer", tensors);
    const auto critics = static_cast<std::uint64_t>(shape.critics);
    for (std::uint64_t c = 0; c < critics; ++c) {
      Parameters(Numbered("critic", c), shape.critic_tensors);
      Parameters(Numbered("critic_average", c), shape.critic_tensors);
      Optimizer(Numbered("critic_optimizer", c), shape.critic_tensors);
    }
    const std::uint64_t copies = U64("history.copies");
    const bool has_pending = Bool("history.has_pending");
    for (std::uint64_t k = 0; k < copies; ++k) Copy(Numbered("history.copy", k), shape);
    if (has_pending) Copy("history.pending", shape);
    Mixing();
    for (const char* const name : {"logarithm", "mean", "square", "steps"}) {
      U64(std::string("temperature.") + name);
    }
    for (const char* const name : {"updates", "copies", "fallbacks", "actor_value", "entropy"}) {
      U64(std::string("learner.") + name);
    }
    Array("noise", 4);
  }
  void Copy(const std::string& name, const ControlShape& shape) {
    for (int c = 0; c < shape.critics; ++c) {
      Parameters(name + ".critic" + std::to_string(c), shape.critic_tensors);
    }
  }
  void Mixing() {
    U64("mixing.count");
    Array("mixing.alpha", 8);
    for (const char* const name :
         {"tau_norm", "lambda", "eta", "condition", "gain", "gain_held_out", "residual"}) {
      U64(std::string("mixing.") + name);
    }
    Bool("mixing.fallback");
  }
  void Ids(const std::string& name) {
    const std::uint64_t count = U64(name + ".count");
    for (std::uint64_t k = 0; k < count; ++k) U64(Numbered(name, k));
  }
  void Queue() {
    const std::uint64_t length = U64("queue.count");
    for (std::uint64_t k = 0; k < length; ++k) {
      const std::string batch = Numbered("queue", k);
      Ids(batch + ".ids");
      U64(batch + ".weights");
      Array(batch + ".weight", 4);
      Ids(batch + ".sample");
    }
  }

  ByteReader in_;
  std::vector<CheckpointField> all_;
  bool compressed_ = false;
  std::uint32_t action_floats_ = 0;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_CHECKPOINT_FIELDS_TEST_H_
