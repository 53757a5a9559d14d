#include "stableaa/rl/replay/replay.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"

namespace stableaa::replay_test {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

constexpr int kActions = 18;
constexpr double kDiscount = .5;  // returns of small whole rewards are exact

// ---- A replay that keeps whole transitions and does everything by the definition ----

struct NaiveState {
  Bytes observation;
  int action = -1;
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
  std::map<std::int64_t, NaiveEnd> ends = {};  // of episodes

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

  // Those that can be sampled.
  std::vector<std::int64_t> Ids() const {
    std::vector<std::int64_t> ids;
    const std::int64_t count = std::ssize(states);
    for (std::int64_t id = std::max<std::int64_t>(0, count - size); id < count; ++id) {
      if (At(id)) ids.push_back(id);
    }
    return ids;
  }
};

// ---- Random episodes, for both ----

struct Shape {
  FrameShape frames = {.stack = 4, .frame_bytes = 30};
  double ends = .1;  // probability per step
};

class Player {
 public:
  Player(Replay& replay, const ReplayOptions& options, int n_step, const Shape& shape,
         std::uint64_t seed = 1)
      : naive_{.n_step = n_step, .size = options.size},
        replay_(&replay),
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
      replay_->Begin(observation_);
      in_episode_ = true;
      return;
    }
    NaiveState& state = naive_.states.back();
    state.action = static_cast<int>(random_.Below(18));
    state.reward = static_cast<float>(random_.Integer(-4, 4));
    const bool terminated = random_.Bernoulli(shape_.ends / 2);
    const bool truncated = random_.Bernoulli(shape_.ends / 2);
    replay_->Add(state.action, state.reward, terminated, truncated, observation_);
    naive_.states.push_back({.observation = observation_, .episode = episode_});
    in_episode_ = !terminated && !truncated;
    if (!in_episode_) naive_.ends[episode_] = {std::ssize(naive_.states) - 1, terminated};
  }

  // Goes on with another replay, which is in the same state.
  void set_replay(Replay& replay) { replay_ = &replay; }
  const NaiveReplay& naive() const { return naive_; }
  bool in_episode() const { return in_episode_; }

 private:
  // Mostly one new frame; now and then none, several, or all. Few different frames, so that equal
  // ones meet by accident.
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
  Shape shape_;
  RandomStream random_;
  Bytes observation_;
  std::int64_t episode_ = 0;
  bool in_episode_ = false;
};

Bytes Joined(std::span<const std::uint8_t* const> frames, std::size_t frame_bytes) {
  Bytes joined;
  for (const std::uint8_t* const frame : frames) {
    joined.insert(joined.end(), frame, frame + frame_bytes);
  }
  return joined;
}

void ExpectAsNaive(const ReplayBatch& batch, const NaiveReplay& naive, const FrameShape& shape) {
  for (std::size_t j = 0; j < batch.count(); ++j) {
    const std::int64_t id = batch.ids[j];
    const auto expected = naive.At(id);
    ASSERT_TRUE(expected.has_value()) << id;
    ASSERT_EQ(batch.next_ids[j], expected->next) << id;
    ASSERT_EQ(batch.actions[j], expected->action) << id;
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
    return {options, {.n_step = n_step, .discount = kDiscount}, shape.frames, reserve};
  }
  Player MakePlayer(Replay& replay, std::uint64_t seed = 1) const {
    return {replay, options, n_step, shape, seed};
  }
};

// Quantile of the chi-square distribution that is exceeded with probability 1e-6 (Wilson and
// Hilferty's approximation).
double ChiSquareLimit(double degrees) {
  const double z = InverseNormalCdf(1 - 1e-6);
  const double part = 2 / (9 * degrees);
  return degrees * std::pow(1 - part + z * std::sqrt(part), 3);
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    // In memory where there is such a place: every segment file is synced.
    const fs::path parent = fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
    std::string name = (parent / "replay_test.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TemporaryDirectory() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }
  std::set<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& file : fs::directory_iterator(path_)) {
      names.insert(file.path().filename().string());
    }
    return names;
  }

 private:
  fs::path path_;
};

std::vector<std::byte> Saved(Replay& replay, const fs::path& directory) {
  replay.SaveSegments(directory);
  ByteWriter out;
  replay.Save(out);
  replay.RemoveOldSegments(directory);
  return {out.bytes().begin(), out.bytes().end()};
}

void Load(Replay& replay, std::span<const std::byte> bytes, const fs::path& directory) {
  ByteReader in(bytes, "state");
  replay.Load(in, directory, kActions);
  in.ExpectEnd();
}

// The message of the BadInput that it throws.
template <typename Work>
std::string Complaint(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kBadInput) << error.what();
    return error.what();
  }
  return "";
}

// ---- Transitions ----

using DefinitionParam = std::tuple<Compression, int, int, int>;  // n, stack, size
class ReplayTransitions : public testing::TestWithParam<DefinitionParam> {};
INSTANTIATE_TEST_SUITE_P(All, ReplayTransitions,
                         testing::Combine(testing::Values(Compression::kNone, Compression::kLz4,
                                                          Compression::kZstd),
                                          testing::Values(1, 2, 3, 7), testing::Values(1, 4),
                                          testing::Values(8, 50, 300)));

TEST_P(ReplayTransitions, AreThoseOfTheDefinitionAfterEveryStep) {
  const auto [compression, n_step, stack, size] = GetParam();
  for (const double ends : {.02, .3, .95}) {
    const Case setup = {.options = {.size = size, .compression = compression},
                        .n_step = n_step,
                        .shape = {.frames = {.stack = stack, .frame_bytes = 30}, .ends = ends}};
    Replay replay = setup.Make();
    Player player = setup.MakePlayer(replay);
    RandomStream random(1, "sample");
    ReplayBatch batch;
    const int steps = 3 * size + 100;
    for (int step = 0; step < steps; ++step) {
      player.Step();
      ASSERT_EQ(replay.next_id(), std::ssize(player.naive().states));
      if (size > 50 && step % 17 != 0) continue;
      const std::vector<std::int64_t> ids = player.naive().Ids();
      ASSERT_EQ(replay.transitions(), std::ssize(ids)) << step;
      if (step % 5 == 0) {
        replay.Read(ids, batch);
        ASSERT_EQ(batch.ids, ids);
        ExpectAsNaive(batch, player.naive(), setup.shape.frames);
      }
      if (ids.empty()) continue;
      replay.SampleUniform(10, random, batch.ids);
      ASSERT_EQ(batch.ids.size(), 10);
      for (const std::int64_t id : batch.ids) ASSERT_TRUE(std::ranges::binary_search(ids, id));
    }
  }
}

TEST(Replay, ManySegmentsOfFullSizeWrapAround) {
  for (const Compression compression : {Compression::kNone, Compression::kLz4}) {
    const Case setup = {.options = {.size = 9000, .compression = compression},
                        .n_step = 3,
                        .shape = {.frames = {.stack = 4, .frame_bytes = 20}, .ends = .02}};
    Replay replay = setup.Make();
    Player player = setup.MakePlayer(replay);
    ReplayBatch batch;
    for (int part = 0; part < 5; ++part) {
      player.Play(5000);
      const std::vector<std::int64_t> ids = player.naive().Ids();
      ASSERT_EQ(replay.transitions(), std::ssize(ids));
      replay.Read(ids, batch);
      ExpectAsNaive(batch, player.naive(), setup.shape.frames);
    }
    EXPECT_GE(replay.states(), 9000);
    EXPECT_LT(replay.states(), 9000 + 1024);
  }
}

TEST(Replay, BatchesMayBeReadIntoTheIdsThatWereSampledIntoThem) {
  const Case setup = {.options = {.size = 100}};
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(90);
  RandomStream random(1, "sample");
  ReplayBatch batch;
  for (const int count : {5, 50, 1}) {
    replay.Sample(count, 1, random, batch.ids, batch.weights);
    replay.Read(batch.ids, batch);
    EXPECT_EQ(batch.count(), static_cast<std::size_t>(count));
    EXPECT_TRUE(batch.weights.empty());
    ExpectAsNaive(batch, player.naive(), setup.shape.frames);
  }
}

TEST(Replay, ABatchStaysWhatItIsWhileTheReplayGoesOn) {
  const Case setup = {.options = {.size = 50}};
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(60);
  ReplayBatch batch;
  replay.Read(player.naive().Ids(), batch);
  player.Play(500);
  ExpectAsNaive(batch, player.naive(), setup.shape.frames);
}

TEST(Replay, FramesThatStatesShareAreReadOnce) {
  const Case setup = {.options = {.size = 100'000}};
  Replay replay = setup.Make();
  Bytes observation(setup.shape.frames.observation_bytes());
  std::iota(observation.begin(), observation.end(), std::uint8_t{0});
  replay.Begin(observation);
  std::rotate(observation.begin(), observation.begin() + 30, observation.end());
  replay.Add(0, 0, false, false, observation);
  ReplayBatch batch;
  replay.Read(std::vector<std::int64_t>{0}, batch);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(batch.Next(0, 4)[i], batch.State(0, 4)[i + 1]);
  EXPECT_EQ(batch.storage.size(), 5 * 30);
}

TEST(Replay, FramesThatObservationsShareAreStoredOnce) {
  const FrameShape shape = {.stack = 4, .frame_bytes = 1000};
  const auto bytes_after = [&](int new_frames) {
    Replay replay({.size = 80'000}, {}, shape, 0);
    RandomStream random(1, "frames");
    Bytes observation(shape.observation_bytes());
    replay.Begin(observation);
    for (int i = 0; i < 1000; ++i) {
      for (int k = 0; k < new_frames; ++k) {
        std::rotate(observation.begin(), observation.begin() + 1000, observation.end());
        for (std::size_t j = 3000; j < 4000; ++j) {
          observation[j] = static_cast<std::uint8_t>(random());
        }
      }
      const bool ends = i % 10 == 9;  // also across the ends of episodes
      replay.Add(0, 0, ends, false, observation);
      if (ends) replay.Begin(observation);
    }
    EXPECT_EQ(replay.bytes_per_frame(), 1000);

    TemporaryDirectory directory;
    return Saved(replay, directory.path()).size() +
           (directory.Files().empty() ? 0
                                      : fs::file_size(directory.path() / "segment-00000000.bin"));
  };
  // Three frames more for the segment that the last of 1101 states are in.
  const std::size_t none = bytes_after(0);
  EXPECT_LT(none, 8000 + 1101 * 13 + 300);
  for (const std::size_t k : {1U, 2U, 4U}) {
    const std::size_t grown = bytes_after(static_cast<int>(k)) - none;
    EXPECT_GE(grown, (1000 - 3) * k * 1000);
    EXPECT_LE(grown, 1000 * k * 1000);
  }
}

TEST(Replay, WhatWasSampledWithinTheReserveCanBeRead) {
  for (const std::int64_t reserve : {1, 10, 200}) {
    const Case setup = {.options = {.size = 100, .compression = Compression::kLz4},
                        .n_step = 2,
                        .reserve = reserve};
    Replay replay = setup.Make();
    Player player = setup.MakePlayer(replay);
    player.Play(130);
    ReplayBatch batch;
    for (int round = 0; round < 20; ++round) {
      const std::vector<std::int64_t> ids = player.naive().Ids();
      player.Play(static_cast<int>(reserve));
      replay.Read(ids, batch);
      ExpectAsNaive(batch, player.naive(), setup.shape.frames);
    }
    EXPECT_GE(replay.states(), 100 + reserve);
    EXPECT_LE(replay.states(), 100 + reserve + 12);
  }
}

TEST(Replay, OnlyTransitionsCanBeRead) {
  const Case setup = {.options = {.size = 16}, .n_step = 2};
  Replay replay = setup.Make();
  const Bytes observation(setup.shape.frames.observation_bytes());
  ReplayBatch batch;
  const auto read = [&](std::int64_t id) { replay.Read(std::vector{id}, batch); };
  EXPECT_THROW(read(0), std::logic_error);
  replay.Begin(observation);
  replay.Add(0, 0, false, false, observation);
  EXPECT_THROW(read(0), std::logic_error);  // its next state is not there
  replay.Add(0, 0, true, false, observation);
  EXPECT_NO_THROW(read(0));
  EXPECT_NO_THROW(read(1));
  EXPECT_THROW(read(2), std::logic_error);  // the end
  EXPECT_THROW(read(3), std::logic_error);
  EXPECT_THROW(read(-1), std::logic_error);
  for (int i = 0; i < 40; ++i) {
    replay.Begin(observation);
    replay.Add(0, 0, true, false, observation);
  }
  EXPECT_THROW(read(0), std::logic_error);  // gone
}

TEST(Replay, EpisodesBeginEndAndAreWellFormed) {
  const Case setup = {.options = {.size = 16}};
  Replay replay = setup.Make();
  const Bytes observation(setup.shape.frames.observation_bytes());
  RandomStream random(1, "sample");
  std::vector<std::int64_t> ids;
  EXPECT_THROW(replay.SampleUniform(1, random, ids), std::logic_error);
  EXPECT_THROW(replay.Add(0, 0, false, false, observation), std::logic_error);
  EXPECT_THROW(replay.Begin(std::span(observation).first(7)), std::logic_error);
  replay.Begin(observation);
  EXPECT_THROW(replay.Begin(observation), std::logic_error);
  EXPECT_THROW(replay.Add(-1, 0, false, false, observation), std::logic_error);
  replay.Add(0, 0, true, false, observation);
  EXPECT_THROW(replay.Add(0, 0, false, false, observation), std::logic_error);
}

TEST(Replay, ReturnsAreSummedInDoublePrecision) {
  const FrameShape shape = {.stack = 1, .frame_bytes = 1};
  Replay replay({.size = 100}, {.n_step = 3, .discount = .9}, shape, 0);
  const Bytes observation = {0};
  replay.Begin(observation);
  const std::vector<float> rewards = {1e8F, 3.F, -1e8F / .81F};
  for (const float reward : rewards) replay.Add(0, reward, false, false, observation);
  ReplayBatch batch;
  replay.Read(std::vector<std::int64_t>{0}, batch);
  EXPECT_EQ(batch.rewards[0], static_cast<float>(1e8 + .9 * 3 + .9 * .9 * double{rewards[2]}));
  EXPECT_EQ(batch.discounts[0], static_cast<float>(.9 * .9 * .9));
}

// ---- Sampling ----

TEST(ReplaySampling, IsUniformOverTheTransitions) {
  // False alarm: 1e-6.
  for (const double ends : {.02, .9}) {
    const Case setup = {.options = {.size = 200}, .n_step = 3, .shape = {.ends = ends}};
    Replay replay = setup.Make();
    Player player = setup.MakePlayer(replay);
    player.Play(333);
    RandomStream random(1, "sample");
    std::map<std::int64_t, double> counts;
    std::vector<std::int64_t> ids;
    constexpr int kRounds = 2000;
    for (int i = 0; i < kRounds; ++i) {
      replay.SampleUniform(32, random, ids);
      for (const std::int64_t id : ids) ++counts[id];
    }
    const auto all = player.naive().Ids();
    const double expected = 32. * kRounds / static_cast<double>(all.size());
    double chi_square = 0;
    for (const std::int64_t id : all) {
      chi_square += std::pow(counts[id] - expected, 2) / expected;
    }
    EXPECT_EQ(counts.size(), all.size());
    EXPECT_LT(chi_square, ChiSquareLimit(static_cast<double>(all.size() - 1)));
  }
}

ReplayOptions Prioritized(std::int64_t size) {
  return {.size = size, .prioritized = true, .priority_exponent = .5, .priority_floor = .01};
}

// priority^exponent of what SetPriorities has been told.
double Powered(float error) { return std::pow(std::abs(double{error}) + .01, .5); }

TEST(ReplaySampling, IsInProportionToPowersOfPriorities) {
  // Stratification makes the counts vary less than independent draws would: false alarm below 1e-6.
  const Case setup = {.options = Prioritized(100), .n_step = 2};
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(777);
  const std::vector<std::int64_t> all = player.naive().Ids();
  RandomStream random(1, "sample");
  std::vector<float> errors;
  std::map<std::int64_t, double> priorities;
  double total = 0;
  for (const std::int64_t id : all) {
    errors.push_back(static_cast<float>(random.Uniform(-4, 4)));
    priorities[id] = Powered(errors.back());
    total += priorities[id];
  }
  replay.SetPriorities(all, errors);
  std::map<std::int64_t, double> counts;
  constexpr int kRounds = 3000;
  std::vector<std::int64_t> ids;
  std::vector<float> weights;
  for (int i = 0; i < kRounds; ++i) {
    replay.Sample(7, .6, random, ids, weights);
    double largest = 0;
    std::vector<double> expected;
    for (const std::int64_t id : ids) {
      ++counts[id];
      const double n = static_cast<double>(all.size());
      expected.push_back(std::pow(n * priorities[id] / total, -.6));
      largest = std::max(largest, expected.back());
    }
    ASSERT_EQ(weights.size(), 7);
    for (std::size_t j = 0; j < 7; ++j) ASSERT_NEAR(weights[j], expected[j] / largest, 1e-6);
  }
  double chi_square = 0;
  for (const std::int64_t id : all) {
    const double expected = 7. * kRounds * priorities[id] / total;
    chi_square += std::pow(counts[id] - expected, 2) / expected;
  }
  EXPECT_LT(chi_square, ChiSquareLimit(static_cast<double>(all.size() - 1)));
}

TEST(ReplaySampling, TakesOneFromEachStratum) {
  const Case setup = {.options = Prioritized(64), .shape = {.ends = 0}};
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(65 + 64);  // 63 of equal priority
  const auto all = player.naive().Ids();
  ASSERT_EQ(all.size(), 63);
  RandomStream random(1, "sample");
  std::vector<std::int64_t> ids;
  std::vector<float> weights;
  for (int i = 0; i < 20; ++i) {
    replay.Sample(63, 1, random, ids, weights);
    std::ranges::sort(ids);
    EXPECT_EQ(ids, all);
  }
}

TEST(ReplaySampling, NewTransitionsHaveTheLargestPrioritySoFar) {
  const Case setup = {.options = Prioritized(1000), .shape = {.ends = 0}};
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(3);  // transitions 0 and 1
  replay.SetPriorities(std::vector<std::int64_t>{0, 1}, std::vector<float>{-24.99F, 0.F});
  replay.SetPriorities(std::vector<std::int64_t>{0}, std::vector<float>{3.99F});
  player.Play(1);
  // Now sqrt(4), sqrt(.01), sqrt(25).
  RandomStream random(1, "sample");
  std::vector<double> counts(3);
  std::vector<std::int64_t> ids;
  std::vector<float> weights;
  constexpr int kRounds = 71'000;
  for (int i = 0; i < kRounds; ++i) {
    replay.Sample(1, 1, random, ids, weights);
    ++counts[static_cast<std::size_t>(ids[0])];
    EXPECT_EQ(weights[0], 1);
  }
  const std::vector<double> expected = {20'000, 1'000, 50'000};
  double chi_square = 0;  // false alarm: 1e-6
  for (std::size_t i = 0; i < 3; ++i) {
    chi_square += std::pow(counts[i] - expected[i], 2) / expected[i];
  }
  EXPECT_LT(chi_square, ChiSquareLimit(2));
}

TEST(ReplaySampling, OnlyTransitionsOfTheNewestStatesAreSampledByPriority) {
  for (const int n_step : {1, 4}) {
    for (const double ends : {.02, .3, .95}) {
      const Case setup = {.options = Prioritized(20), .n_step = n_step, .shape = {.ends = ends}};
      Replay replay = setup.Make();
      Player player = setup.MakePlayer(replay);
      RandomStream random(1, "sample");
      ReplayBatch batch;
      std::vector<std::int64_t> stale;
      for (int step = 0; step < 300; ++step) {
        player.Step();
        const auto all = player.naive().Ids();
        ASSERT_EQ(replay.transitions(), std::ssize(all));
        if (all.empty()) continue;
        replay.Sample(40, 1, random, batch.ids, batch.weights);
        for (const std::int64_t id : batch.ids) ASSERT_TRUE(std::ranges::binary_search(all, id));
        // What is gone, not yet there or no transition does no harm.
        stale.insert(stale.end(), {batch.ids[0], step + 1, -1, step + 1'000'000});
        const std::vector<float> errors(stale.size(), 1e-3F);
        replay.SetPriorities(stale, errors);
      }
    }
  }
}

TEST(ReplaySampling, ErrorsThatAreNotFiniteAreRefused) {
  const Case setup = {.options = Prioritized(20), .shape = {.ends = 0}};
  Replay replay = setup.Make();
  setup.MakePlayer(replay).Play(10);
  TemporaryDirectory directory;
  const auto before = Saved(replay, directory.path());
  for (const float error : {NAN, INFINITY, -INFINITY}) {
    try {
      replay.SetPriorities(std::vector<std::int64_t>{0, 1}, std::vector<float>{2.F, error});
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::kWorkFailed);
    }
  }
  EXPECT_EQ(Saved(replay, directory.path()), before);
}

TEST(ReplaySampling, UniformReplaysIgnorePriorities) {
  const Case setup = {.options = {.size = 20}};
  Replay replay = setup.Make();
  setup.MakePlayer(replay).Play(10);
  replay.SetPriorities(std::vector<std::int64_t>{0}, std::vector<float>{NAN});
  RandomStream one(1, "sample"), other(1, "sample");
  std::vector<std::int64_t> ids, others;
  std::vector<float> weights = {1, 2, 3};
  replay.Sample(8, .5, one, ids, weights);
  replay.SampleUniform(8, other, others);
  EXPECT_EQ(ids, others);
  EXPECT_TRUE(weights.empty());
}

// ---- Checkpoints ----

// The same future: samples, what is read, and what is saved at the end.
void ExpectSameFuture(Replay& one, Replay& other, Player player, int steps) {
  Player twin = player;
  player.set_replay(one);
  twin.set_replay(other);
  RandomStream random(1, "future"), same(1, "future");
  ReplayBatch batch, copy;
  for (int step = 0; step < steps; ++step) {
    player.Step();
    twin.Step();
    ASSERT_EQ(one.transitions(), other.transitions());
    ASSERT_EQ(one.states(), other.states());
    ASSERT_EQ(one.next_id(), other.next_id());
    if (one.transitions() == 0) continue;
    one.Sample(8, .5, random, batch.ids, batch.weights);
    other.Sample(8, .5, same, copy.ids, copy.weights);
    ASSERT_EQ(batch.ids, copy.ids);
    ASSERT_EQ(batch.weights, copy.weights);
    one.Read(batch.ids, batch);
    other.Read(copy.ids, copy);
    ASSERT_EQ(batch.rewards, copy.rewards);
    ExpectAsNaive(copy, twin.naive(), {.stack = 4, .frame_bytes = 30});
    std::vector<float> errors;
    for (const std::int64_t id : batch.ids) {
      errors.push_back(static_cast<float>(id % 7) - batch.rewards[errors.size()]);
    }
    one.SetPriorities(batch.ids, errors);
    other.SetPriorities(copy.ids, errors);
  }
  TemporaryDirectory a, b;
  ASSERT_EQ(Saved(one, a.path()), Saved(other, b.path()));
  ASSERT_EQ(a.Files(), b.Files());
}

class ReplayCheckpoints : public testing::TestWithParam<std::tuple<Compression, bool>> {
 protected:
  Case MakeCase() const {
    const auto [compression, prioritized] = GetParam();
    return {.options = {.size = 60, .compression = compression, .prioritized = prioritized},
            .n_step = 3,
            .reserve = 5};
  }
};
INSTANTIATE_TEST_SUITE_P(All, ReplayCheckpoints,
                         testing::Combine(testing::Values(Compression::kNone, Compression::kLz4,
                                                          Compression::kZstd),
                                          testing::Bool()));

TEST_P(ReplayCheckpoints, GoOnIdenticallyFromAnyStep) {
  const Case setup = MakeCase();
  TemporaryDirectory directory;
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  std::set<bool> in_episode;
  for (int step = 0; step < 150; ++step) {
    const std::vector<std::byte> state = Saved(replay, directory.path());
    Replay loaded = setup.Make();
    Load(loaded, state, directory.path());
    ASSERT_EQ(Saved(loaded, directory.path()), state);
    if (step % 25 == 0) {
      Replay original = setup.Make();
      Load(original, state, directory.path());
      ExpectSameFuture(original, loaded, player, 80);
    }
    in_episode.insert(player.in_episode());
    player.Step();
  }
  EXPECT_EQ(in_episode.size(), 2);
}

TEST_P(ReplayCheckpoints, TheReplayThatWentOnAndTheLoadedOneDoTheSame) {
  const Case setup = MakeCase();
  for (const int steps : {1, 30, 61, 200, 203}) {
    TemporaryDirectory directory;
    Replay replay = setup.Make();
    Player player = setup.MakePlayer(replay);
    player.Play(steps);
    const std::vector<std::byte> state = Saved(replay, directory.path());
    Replay loaded = setup.Make();
    Load(loaded, state, directory.path());
    ExpectSameFuture(replay, loaded, player, 150);
  }
}

TEST_P(ReplayCheckpoints, SegmentFilesOfAnAbandonedFutureAreReplaced) {
  const Case setup = MakeCase();
  TemporaryDirectory directory;
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(70);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  // Goes on, writes further segments, and is killed before Save.
  Player abandoned = player;
  abandoned.Play(10);
  const std::size_t files = directory.Files().size();
  replay.SaveSegments(directory.path());
  EXPECT_GT(directory.Files().size(), files);

  Replay loaded = setup.Make();
  Replay fresh = setup.Make();
  Load(loaded, state, directory.path());
  const Bytes observation(setup.shape.frames.observation_bytes(), 200);
  if (!player.in_episode()) loaded.Begin(observation);
  for (int i = 0; i < 20; ++i) loaded.Add(5, 100, false, false, observation);
  const std::vector<std::byte> later = Saved(loaded, directory.path());
  Load(fresh, later, directory.path());
  EXPECT_EQ(Saved(fresh, directory.path()), later);
}

TEST_P(ReplayCheckpoints, SegmentsOfAnotherRunAreNoticed) {
  const Case setup = MakeCase();
  TemporaryDirectory directory, foreign;
  Replay replay = setup.Make();
  Replay stranger = setup.Make();
  setup.MakePlayer(replay).Play(100);
  setup.MakePlayer(stranger, /*seed=*/2).Play(100);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  Saved(stranger, foreign.path());
  const std::string name = *directory.Files().rbegin();
  fs::copy_file(foreign.path() / name, directory.path() / name,
                fs::copy_options::overwrite_existing);
  Replay loaded = setup.Make();
  const std::string complaint = Complaint([&] { Load(loaded, state, directory.path()); });
  EXPECT_NE(complaint.find((directory.path() / name).string() + ": expected checksum "),
            std::string::npos)
      << complaint;
  EXPECT_NE(complaint.find("of another run"), std::string::npos) << complaint;
  fs::remove(directory.path() / name);
  EXPECT_NE(Complaint([&] { Load(loaded, state, directory.path()); }).find(name),
            std::string::npos);
}

TEST_P(ReplayCheckpoints, EveryTruncatedStateIsRefused) {
  const Case setup = MakeCase();
  TemporaryDirectory directory;
  Replay replay = setup.Make();
  setup.MakePlayer(replay).Play(30);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  Replay loaded = setup.Make();
  for (std::size_t length = 0; length < state.size(); ++length) {
    const auto part = std::span(state).first(length);
    EXPECT_NE(Complaint([&] { Load(loaded, part, directory.path()); }), "") << length;
  }
  Load(loaded, state, directory.path());
}

// Frames may have any value, rewards and actions any that there is; all else must fit. What is
// accepted works.
TEST_P(ReplayCheckpoints, DamagedStatesAreRefusedOrWork) {
  const Case setup = MakeCase();
  TemporaryDirectory directory;
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(66);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  int refused = 0;
  RandomStream random(1, "damage");
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::vector<std::byte> damaged = state;
    damaged[i] ^= static_cast<std::byte>(1U << random.Below(8));
    Replay loaded = setup.Make();
    if (!Complaint([&] { Load(loaded, damaged, directory.path()); }).empty()) {
      ++refused;
      continue;
    }
    ByteWriter again;
    loaded.Save(again);
    ASSERT_TRUE(std::ranges::equal(again.bytes(), damaged)) << i;
    ReplayBatch batch;
    loaded.Sample(32, 1, random, batch.ids, batch.weights);
    loaded.Read(batch.ids, batch);
  }
  EXPECT_GE(refused, 8 * 8 + 3 * 8);  // options, numbers and checksums at least
}

TEST_P(ReplayCheckpoints, DamagedSegmentFilesAreRefused) {
  const Case setup = MakeCase();
  TemporaryDirectory directory;
  Replay replay = setup.Make();
  setup.MakePlayer(replay).Play(40);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  const fs::path file = directory.path() / "segment-00000002.bin";
  const std::string content = ReadTextFile(file, 1 << 20);
  const auto complaint_of = [&](const std::string& damaged) {
    std::ofstream(file, std::ios::binary) << damaged;
    Replay loaded = setup.Make();
    return Complaint([&] { Load(loaded, state, directory.path()); });
  };
  for (std::size_t i = 0; i < content.size(); i += 7) {
    EXPECT_NE(complaint_of(content.substr(0, i)).find(file.string()), std::string::npos) << i;
    std::string damaged = content;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    EXPECT_NE(complaint_of(damaged).find(file.string()), std::string::npos) << i;
  }
  EXPECT_EQ(complaint_of(content), "");
}

TEST_P(ReplayCheckpoints, AFailedLoadChangesNothing) {
  const Case setup = MakeCase();
  TemporaryDirectory directory, other;
  Replay replay = setup.Make();
  setup.MakePlayer(replay).Play(100);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  fs::remove(directory.path() / *directory.Files().begin());
  Replay loaded = setup.Make();
  setup.MakePlayer(loaded, /*seed=*/2).Play(50);
  const std::vector<std::byte> before = Saved(loaded, other.path());
  EXPECT_NE(Complaint([&] { Load(loaded, state, directory.path()); }), "");
  EXPECT_EQ(Saved(loaded, other.path()), before);
}

TEST_P(ReplayCheckpoints, FullSegmentsAreWrittenOnceAndRemovedWhenOld) {
  const Case setup = MakeCase();  // 7 states each
  TemporaryDirectory directory;
  std::ofstream(directory.path() / "segment-notes.bin") << "mine";
  std::ofstream(directory.path() / "segment-7.bin") << "mine";
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(7);
  Saved(replay, directory.path());
  EXPECT_EQ(directory.Files(), (std::set<std::string>{"segment-7.bin", "segment-notes.bin"}));
  player.Play(8);
  Saved(replay, directory.path());
  const fs::path first = directory.path() / "segment-00000000.bin";
  EXPECT_EQ(directory.Files(),
            (std::set<std::string>{"segment-00000000.bin", "segment-00000001.bin", "segment-7.bin",
                                   "segment-notes.bin"}));
  std::ofstream(first) << "touched";
  player.Play(20);
  replay.SaveSegments(directory.path());
  EXPECT_EQ(ReadTextFile(first, 100), "touched");
  // Another directory needs all of them.
  TemporaryDirectory other;
  replay.SaveSegments(other.path());
  EXPECT_EQ(other.Files().size(), 4);
  player.Play(100);
  Saved(replay, directory.path());
  const std::int64_t full = (replay.states() - 1) / 7;
  EXPECT_EQ(std::ssize(directory.Files()), full + 2);
  EXPECT_FALSE(fs::exists(first));
}

TEST(ReplayCheckpoint, SaveNeedsTheSegmentsOnDisk) {
  const Case setup = {.options = {.size = 60}};
  Replay replay = setup.Make();
  setup.MakePlayer(replay).Play(30);
  ByteWriter out;
  EXPECT_THROW(replay.Save(out), std::logic_error);
}

TEST(ReplayCheckpoint, FilesThatAStateOnItsWayToDiskNamesStayUntilTheNext) {
  const Case setup = {.options = {.size = 60}};
  TemporaryDirectory directory;
  Replay replay = setup.Make();
  Player player = setup.MakePlayer(replay);
  player.Play(70);
  replay.SaveSegments(directory.path());
  ByteWriter out;
  replay.Save(out);
  player.Play(50);
  replay.RemoveOldSegments(directory.path());
  Replay loaded = setup.Make();
  EXPECT_NO_THROW(Load(loaded, out.bytes(), directory.path()));
}

TEST(ReplayCheckpoint, OtherOptionsAreRefused) {
  const Case setup = {.options = {.size = 60}};
  TemporaryDirectory directory;
  Replay replay = setup.Make();
  setup.MakePlayer(replay).Play(40);
  const std::vector<std::byte> state = Saved(replay, directory.path());
  const auto complaint_with = [&](const auto& change) {
    ReplayOptions options = setup.options;
    ReturnOptions returns = {.n_step = setup.n_step, .discount = kDiscount};
    FrameShape shape = setup.shape.frames;
    change(options, returns, shape);
    Replay loaded(options, returns, shape, 0);
    return Complaint([&] { Load(loaded, state, directory.path()); });
  };
  EXPECT_EQ(complaint_with([](auto&, auto&, auto&) {}), "");
  EXPECT_NE(complaint_with([](auto& options, auto&, auto&) { options.size = 61; }), "");
  EXPECT_NE(
      complaint_with([](auto& options, auto&, auto&) { options.compression = Compression::kLz4; }),
      "");
  EXPECT_NE(complaint_with([](auto& options, auto&, auto&) { options.prioritized = true; }), "");
  EXPECT_NE(complaint_with([](auto& options, auto&, auto&) { options.priority_floor = .5; }), "");
  EXPECT_NE(complaint_with([](auto& options, auto&, auto&) { options.priority_exponent = .5; }),
            "");
  EXPECT_NE(complaint_with([](auto&, auto& returns, auto&) { returns.n_step = 2; }), "");
  EXPECT_NE(complaint_with([](auto&, auto& returns, auto&) { returns.discount = .6; }), "");
  EXPECT_NE(complaint_with([](auto&, auto&, auto& shape) { shape = {2, 60}; }), "");
  EXPECT_NE(complaint_with([](auto&, auto&, auto& shape) { shape.frame_bytes = 31; }), "");
}

TEST(ReplayCheckpoint, TheLayoutOnDiskDoesNotChange) {
  const FrameShape shape = {.stack = 2, .frame_bytes = 3};
  Replay replay({.size = 16}, {.n_step = 1, .discount = .5}, shape, 0);
  replay.Begin(Bytes{1, 2, 3, 4, 5, 6});
  replay.Add(2, 1.5F, false, false, Bytes{4, 5, 6, 7, 8, 9});
  replay.Add(0, -1, false, true, Bytes{4, 5, 6, 7, 8, 9});
  TemporaryDirectory directory;
  const std::vector<std::byte> state = Saved(replay, directory.path());

  ByteWriter segment;
  segment.U64(0);
  segment.U32(2);
  segment.U32(3);
  segment.U32(1);
  segment.U32(2);
  segment.U32(0x3fc00000);
  segment.U8(0);
  segment.U32(2);
  segment.U32(0);
  segment.U32(0xbf800000);
  segment.U8(2);
  segment.Text("\1\2\3\4\5\6\7\10\11");
  const CheckedFile file = ReadCheckedFile(directory.path() / "segment-00000000.bin", "replay", 1);
  EXPECT_TRUE(std::ranges::equal(file.payload, segment.bytes()));

  ByteReader in(state, "state");
  EXPECT_EQ(in.U64(), 2);
  EXPECT_EQ(in.U64(), 3);
  EXPECT_EQ(in.I64(), 16);
  EXPECT_EQ(in.U64(), 0);
  EXPECT_EQ(in.U64(), 1);
  EXPECT_EQ(in.F64(), .5);
  EXPECT_FALSE(in.Bool());
  EXPECT_EQ(in.F64(), .6);
  EXPECT_EQ(in.F64(), 1e-6);
  EXPECT_EQ(in.I64(), 3);
  EXPECT_EQ(in.I64(), 0);
  in.U32();  // checksum
  EXPECT_EQ(in.U64(), 1);
  EXPECT_EQ(in.U32(), 1);
  EXPECT_EQ(in.U32(), 2);
  EXPECT_EQ(in.U32(), 1);
  EXPECT_EQ(in.U32(), 0xffffffff);
  EXPECT_EQ(in.U32(), 0);
  EXPECT_EQ(in.U8(), 0);
  EXPECT_EQ(in.Text(6), "\4\5\6\7\10\11");
  in.ExpectEnd();
}

TEST(ReplayCheckpoint, EpisodesThatDoNotFitTogetherAreRefused) {
  const Case setup = {.options = {.size = 800},
                      .shape = {.frames = {.stack = 1, .frame_bytes = 1}}};
  Replay replay = setup.Make();
  const Bytes observation = {0};
  replay.Begin(observation);
  replay.Add(0, 0, false, false, observation);
  replay.Add(0, 0, true, false, observation);  // states 0 and 1; 2 is the last
  replay.Begin(observation);
  replay.Add(0, 0, false, false, observation);  // 4 is the newest
  ByteWriter out;
  replay.Save(out);
  constexpr std::size_t kRecords = 65 + 8 + 8 + 16;
  const auto complaint_with = [&](std::size_t state, std::uint32_t action, int flags) {
    std::vector<std::byte> damaged(out.bytes().begin(), out.bytes().end());
    for (std::size_t i = 0; i < 4; ++i) {
      damaged[kRecords + 13 * state + 4 + i] = static_cast<std::byte>(action >> (8 * i));
    }
    damaged[kRecords + 13 * state + 12] = static_cast<std::byte>(flags);
    Replay loaded = setup.Make();
    return Complaint([&] { Load(loaded, damaged, "/nowhere"); });
  };
  constexpr std::uint32_t kNone = 0xffffffff;
  EXPECT_EQ(complaint_with(0, 7, 0), "");
  EXPECT_EQ(complaint_with(1, 7, 2), "");
  EXPECT_EQ(complaint_with(2, kNone, 0), "");
  EXPECT_NE(complaint_with(0, 0, 1).find("state 1"), std::string::npos);
  EXPECT_NE(complaint_with(1, 0, 0).find("state 2"), std::string::npos);
  EXPECT_NE(complaint_with(1, kNone, 0).find("state 1"), std::string::npos);
  EXPECT_NE(complaint_with(2, 0, 0).find("state 2"), std::string::npos);
  EXPECT_NE(complaint_with(4, 0, 0).find("state 4"), std::string::npos);
  EXPECT_NE(complaint_with(3, kNone, 0).find("state 3"), std::string::npos);
}

// ---- Options and memory ----

TEST(ReplayOptions, HaveRanges) {
  EXPECT_NO_THROW(ReplayOptions().Validate());
  const auto complaint = [](const ReplayOptions& options) {
    return Complaint([&] { options.Validate(); });
  };
  EXPECT_NE(complaint({.size = 0}).find("replay.size"), std::string::npos);
  EXPECT_NE(complaint({.size = (std::int64_t{1} << 40) + 1}), "");
  EXPECT_NE(complaint({.start = 0}).find("replay.start"), std::string::npos);
  EXPECT_NE(complaint({.priority_exponent = 1.1}).find("replay.priority_exponent"),
            std::string::npos);
  EXPECT_NE(complaint({.priority_floor = 0}).find("replay.priority_floor"), std::string::npos);
  EXPECT_NE(complaint({.importance_start = -.1}).find("replay.importance_start"),
            std::string::npos);
  EXPECT_NE(complaint({.importance_steps = -1}).find("replay.importance_steps"), std::string::npos);
  EXPECT_EQ(complaint({.size = 10, .start = 1000}), "");
}

TEST(ReplayOptions, AReplayHoldsMoreStatesThanAReturnHasSteps) {
  const FrameShape shape = {.stack = 1, .frame_bytes = 1};
  const auto complaint = [&](std::int64_t size, int n_step) {
    return Complaint([&] { Replay({.size = size}, {.n_step = n_step}, shape, 0); });
  };
  EXPECT_NE(complaint(3, 3).find("replay.size"), std::string::npos);
  EXPECT_EQ(complaint(4, 3), "");
  EXPECT_NE(complaint(4, 0), "");
}

TEST(ReplayOptions, ObservationsThatAreNoneOrTooLargeAreRefused) {
  for (const FrameShape shape : {FrameShape{1, 0}, FrameShape{0, 1}, FrameShape{4, 1U << 31},
                                 FrameShape{1 << 30, std::size_t{1} << 60}}) {
    EXPECT_NE(Complaint([&] { Replay({}, {}, shape, 0); }), "");
  }
}

TEST(ReplayMemory, IsWhatWasEstimated) {
  for (const bool prioritized : {false, true}) {
    const ReplayOptions options = {.size = 20'000, .prioritized = prioritized};
    const FrameShape shape = {.stack = 4, .frame_bytes = 100};
    Replay replay(options, {}, shape, 32);
    RandomStream random(1, "frames");
    Bytes observation(shape.observation_bytes());
    replay.Begin(observation);
    for (int i = 0; i < 30'000; ++i) {
      std::rotate(observation.begin(), observation.begin() + 100, observation.end());
      observation.back() = static_cast<std::uint8_t>(random());
      observation[300] = static_cast<std::uint8_t>(random());
      replay.Add(0, 0, false, false, observation);
    }
    const auto estimated = static_cast<double>(Replay::EstimateBytes(options, shape, 32));
    EXPECT_NEAR(static_cast<double>(replay.bytes()) / estimated, 1, .1);
    EXPECT_EQ(replay.bytes_per_frame(), 100);
  }
}

TEST(ReplayMemory, EstimatesDoNotOverflow) {
  const ReplayOptions huge = {.size = std::int64_t{1} << 40, .prioritized = true};
  EXPECT_GT(Replay::EstimateBytes(huge, {.stack = 1, .frame_bytes = 1U << 28}, 0),
            std::numeric_limits<std::uint64_t>::max() / 2);
  const ReplayOptions atari = {.size = 1'000'000, .compression = Compression::kLz4};
  const auto bytes = Replay::EstimateBytes(atari, {.stack = 4, .frame_bytes = 7056}, 0);
  EXPECT_GT(bytes, 1'000'000'000);
  EXPECT_LT(bytes, 1'060'000'000);
}

}  // namespace stableaa::replay_test
