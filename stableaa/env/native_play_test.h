// Shared by the tests of native environments: random players, and what they are shown, as bytes.
#ifndef STABLEAA_ENV_NATIVE_PLAY_TEST_H_
#define STABLEAA_ENV_NATIVE_PLAY_TEST_H_

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/env/environment.h"
#include "stableaa/env/registry.h"

namespace stableaa::native_play_test {

inline constexpr std::uint64_t kSeed = 7;

inline std::vector<std::string> NativeIds() {
  std::vector<std::string> ids;
  for (const EnvironmentListing& listing : ListEnvironments()) {
    if (listing.id.starts_with("minatar/") || listing.id.starts_with("classic/")) {
      ids.push_back(listing.id);
    }
  }
  return ids;
}

// Random actions. Each environment has its own stream, so its actions are the same in batches of
// any size.
class Players {
 public:
  explicit Players(const Environment& environment, std::uint64_t seed = 1)
      : space_(environment.spec().action) {
    for (int i = 0; i < environment.num_envs(); ++i) {
      streams_.emplace_back(seed, fmt::format("player/{}", i));
    }
  }

  // Valid until the next call.
  Actions Next() {
    indices_.clear();
    values_.clear();
    for (RandomStream& random : streams_) {
      if (space_.kind == Space::Kind::kDiscrete) {
        indices_.push_back(
            static_cast<std::int32_t>(random.Below(static_cast<std::uint64_t>(space_.n))));
      } else {
        values_.push_back(static_cast<float>(random.Uniform(-2, 2)));
      }
    }
    return {indices_, values_};
  }

 private:
  Space space_;
  std::vector<RandomStream> streams_;
  std::vector<std::int32_t> indices_;
  std::vector<float> values_;
};

// What a step shows, as bytes, so that -0 and 0 differ.
class Shown {
 public:
  template <typename T>
  Shown& Add(std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return *this;
  }
  Shown& Add(double reward, bool terminated, bool truncated) {
    Add(std::span<const double>(&reward, 1));
    text_ += terminated ? 'T' : '-';
    text_ += truncated ? 'L' : '-';
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

template <typename T>
std::span<const T> RowOf(std::span<const T> all, int i, int count) {
  const std::size_t size = all.size() / static_cast<std::size_t>(count);
  return all.subspan(static_cast<std::size_t>(i) * size, size);
}

inline std::string ShownBy(const Environment& environment, int i) {
  const auto row = static_cast<std::size_t>(i);
  const int count = environment.num_envs();
  Shown shown;
  const auto add = [&](const Observations& observations) {
    shown.Add(RowOf(observations.bytes, i, count)).Add(RowOf(observations.floats, i, count));
  };
  add(environment.observations());
  shown.Add(environment.rewards()[row], environment.terminated()[row] != 0,
            environment.truncated()[row] != 0);
  if (environment.ended(i)) add(environment.final_observations());
  return shown.text();
}

inline std::string ShownBy(const Environment& environment) {
  std::string all;
  for (int i = 0; i < environment.num_envs(); ++i) all += ShownBy(environment, i);
  return all;
}

using Trajectory = std::vector<std::string>;  // one entry per step

inline Trajectory Play(Environment& environment, Players& players, int steps) {
  Trajectory trajectory = {ShownBy(environment)};
  for (int step = 0; step < steps; ++step) {
    environment.Step(players.Next());
    trajectory.push_back(ShownBy(environment));
  }
  return trajectory;
}

inline Trajectory PlayFrom(std::uint64_t seed, Environment& environment, int steps) {
  environment.Reset(seed);
  Players players(environment);
  return Play(environment, players, steps);
}

// The first step in which they differ, so that a failure prints a number instead of a megabyte.
inline std::optional<std::size_t> Difference(const Trajectory& a, const Trajectory& b) {
  for (std::size_t step = 0; step < std::min(a.size(), b.size()); ++step) {
    if (a[step] != b[step]) return step;
  }
  if (a.size() != b.size()) return std::min(a.size(), b.size());
  return std::nullopt;
}

using Bytes = std::vector<std::byte>;

// Tests of each of NativeIds(). native_environment_test.cc instantiates them, in all files.
class EveryNative : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Environment> Make(const EnvironmentOptions& options = {}) {
    return MakeEnvironment(GetParam(), options);
  }
};

}  // namespace stableaa::native_play_test

#endif  // STABLEAA_ENV_NATIVE_PLAY_TEST_H_
