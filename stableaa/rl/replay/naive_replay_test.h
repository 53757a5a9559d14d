// For replay tests: a replay that stores whole transitions and follows the definition literally,
// and random episodes for both.
#ifndef STABLEAA_RL_REPLAY_NAIVE_REPLAY_TEST_H_
#define STABLEAA_RL_REPLAY_NAIVE_REPLAY_TEST_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/random.h"
#include "stableaa/rl/replay/replay.h"

namespace stableaa::naive_replay_test {

using Bytes = std::vector<std::uint8_t>;

inline constexpr int kActions = 18;
inline constexpr double kDiscount = .5;  // keeps returns of small whole rewards exact

struct NaiveState {
  Bytes observation;
  int action = -1;
  std::vector<float> values = {};  // of a continuous action
  float reward = 0;
  std::int64_t episode = 0;
};

struct NaiveEnd {
  std::int64_t last_state;
  bool terminated;
};

struct NaiveTransition {
  std::int64_t next;
  int action;
  float reward, discount;
};

struct NaiveReplay {
  int n_step = 1;
  std::int64_t size = 1;
  std::vector<NaiveState> states = {};
  std::map<std::int64_t, NaiveEnd> ends = {};  // by episode

  std::optional<NaiveTransition> At(std::int64_t id) const {
    const auto of = [this](std::int64_t i) -> const NaiveState& {
      return states[static_cast<std::size_t>(i)];
    };
    const auto end = ends.find(of(id).episode);
    std::int64_t next = id + n_step;
    bool terminated = false;
    if (end != ends.end()) {
      if (id == end->second.last_state) return {};
      terminated = end->second.terminated && next >= end->second.last_state;
      next = std::min(next, end->second.last_state);
    }
    if (next >= std::ssize(states)) return {};
    double sum = 0;
    for (std::int64_t i = id; i < next; ++i) {
      sum += std::pow(kDiscount, static_cast<double>(i - id)) * of(i).reward;
    }
    const double discount = terminated ? 0 : std::pow(kDiscount, static_cast<double>(next - id));
    return NaiveTransition{next, of(id).action, static_cast<float>(sum),
                           static_cast<float>(discount)};
  }

  // The ids that can be sampled.
  std::vector<std::int64_t> Ids() const {
    std::vector<std::int64_t> ids;
    const std::int64_t count = std::ssize(states);
    for (std::int64_t id = std::max<std::int64_t>(0, count - size); id < count; ++id) {
      if (At(id)) ids.push_back(id);
    }
    return ids;
  }
};

struct Shape {
  FrameShape frames = {.stack = 4, .frame_bytes = 30};
  double ends = .1;  // probability per step
  int floats = 0;    // per continuous action; 0: discrete ones

  ActionShape actions() const { return {.count = floats > 0 ? 1 : kActions, .floats = floats}; }
};

class Player {
 public:
  Player(Replay& replay, const ReplayOptions& options, int n_step, const Shape& shape,
         std::uint64_t seed = 1, int stream = 0)
      : naive_{.n_step = n_step, .size = options.size},
        replay_(&replay),
        stream_(stream),
        shape_(shape),
        random_(seed, "player"),
        observation_(shape.frames.observation_bytes()) {}

  void Play(int steps) {
    for (int i = 0; i < steps; ++i) Step();
  }

  void Step() {
    Shift();
    if (!in_episode_) {
      naive_.states.push_back({.observation = observation_, .episode = ++episode_});
      replay_->Begin(observation_, stream_);
      in_episode_ = true;
      return;
    }
    NaiveState& state = naive_.states.back();
    if (shape_.floats == 0) {
      state.action = static_cast<int>(random_.Below(kActions));
    } else {
      state.action = 0;
      state.values.resize(shape_.actions().values());
      random_.FillUniform(state.values, -1, 1);
    }
    state.reward = static_cast<float>(random_.Integer(-4, 4));
    const bool terminated = random_.Bernoulli(shape_.ends / 2);
    const bool truncated = random_.Bernoulli(shape_.ends / 2);
    replay_->Add({state.action, state.values}, state.reward, terminated, truncated, observation_,
                 stream_);
    naive_.states.push_back({.observation = observation_, .episode = episode_});
    in_episode_ = !terminated && !truncated;
    if (!in_episode_) naive_.ends[episode_] = {std::ssize(naive_.states) - 1, terminated};
  }

  // Continues with another replay, which is in the same state.
  void set_replay(Replay& replay) { replay_ = &replay; }
  const NaiveReplay& naive() const { return naive_; }
  bool in_episode() const { return in_episode_; }

 private:
  // Usually adds one new frame, sometimes none, several or all. There are few distinct frames, so
  // equal ones meet by accident.
  void Shift() {
    const std::size_t size = shape_.frames.frame_bytes;
    const auto stack = static_cast<std::size_t>(shape_.frames.stack);
    const std::size_t new_frames = random_.Bernoulli(.7) ? 1 : random_.Below(stack + 1);
    for (std::size_t i = 0; i < new_frames; ++i) {
      std::rotate(observation_.begin(), observation_.begin() + static_cast<std::ptrdiff_t>(size),
                  observation_.end());
      const auto frame = std::span(observation_).last(size);
      const std::uint64_t kind = random_.Below(8);
      for (std::size_t j = 0; j < size; ++j) {
        frame[j] = static_cast<std::uint8_t>(kind == 7 ? random_() : (kind * j) / 16);
      }
    }
  }

  NaiveReplay naive_;
  Replay* replay_;
  int stream_;
  Shape shape_;
  RandomStream random_;
  Bytes observation_;
  std::int64_t episode_ = 0;
  bool in_episode_ = false;
};

inline Bytes Joined(std::span<const std::uint8_t* const> frames, std::size_t frame_bytes) {
  Bytes joined;
  for (const std::uint8_t* const frame : frames) {
    joined.insert(joined.end(), frame, frame + frame_bytes);
  }
  return joined;
}

inline void ExpectAsNaive(const ReplayBatch& batch, const NaiveReplay& naive,
                          const FrameShape& shape) {
  const std::size_t floats = batch.count() == 0 ? 0 : batch.action_values.size() / batch.count();
  for (std::size_t j = 0; j < batch.count(); ++j) {
    const std::int64_t id = batch.ids[j];
    const auto expected = naive.At(id);
    ASSERT_TRUE(expected.has_value()) << id;
    ASSERT_EQ(batch.next_ids[j], expected->next) << id;
    ASSERT_EQ(batch.actions[j], expected->action) << id;
    ASSERT_TRUE(std::ranges::equal(std::span(batch.action_values).subspan(j * floats, floats),
                                   naive.states[static_cast<std::size_t>(id)].values))
        << id;
    ASSERT_EQ(batch.rewards[j], expected->reward) << id;
    ASSERT_EQ(batch.discounts[j], expected->discount) << id;
    ASSERT_EQ(Joined(batch.State(j, shape.stack), shape.frame_bytes),
              naive.states[static_cast<std::size_t>(id)].observation)
        << id;
    ASSERT_EQ(Joined(batch.Next(j, shape.stack), shape.frame_bytes),
              naive.states[static_cast<std::size_t>(expected->next)].observation)
        << id;
  }
}

struct Case {
  ReplayOptions options = {};
  int n_step = 1;
  Shape shape = {};
  std::int64_t reserve = 0;

  Replay Make() const {
    return {
        options, {.n_step = n_step, .discount = kDiscount}, shape.frames, shape.actions(), reserve};
  }
  Player MakePlayer(Replay& replay, std::uint64_t seed = 1) const {
    return {replay, options, n_step, shape, seed};
  }
};

inline std::vector<std::byte> Saved(Replay& replay, const std::filesystem::path& directory) {
  replay.SaveSegments(directory);
  ByteWriter out;
  replay.Save(out);
  replay.RemoveOldSegments(directory);
  return {out.bytes().begin(), out.bytes().end()};
}

}  // namespace stableaa::naive_replay_test

#endif  // STABLEAA_RL_REPLAY_NAIVE_REPLAY_TEST_H_
