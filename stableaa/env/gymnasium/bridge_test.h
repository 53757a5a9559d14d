// Shared by the tests of the bridge: real workers, with Gymnasium and ale-py in the Python that
// scripts/atari makes.
#ifndef STABLEAA_ENV_GYMNASIUM_BRIDGE_TEST_H_
#define STABLEAA_ENV_GYMNASIUM_BRIDGE_TEST_H_

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/env/environment.h"
#include "stableaa/env/gymnasium/gymnasium_environment.h"
#include "stableaa/env/registry.h"
#include "stableaa/testing/message.h"

namespace stableaa::bridge_test {

inline constexpr const char* kPython = STABLEAA_ATARI_PYTHON;

class Bridge : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access(kPython, X_OK) != 0) {
      GTEST_SKIP() << "no Python with ale-py; scripts/atari makes one";
    }
    ::setenv("PYTHONPATH", STABLEAA_FAULTY_PATH, 1);
    ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  }

  static std::unique_ptr<Environment> Make(const std::string& id, EnvironmentOptions options = {}) {
    options.python = kPython;
    return MakeEnvironment(id, options);
  }

  static std::unique_ptr<Environment> Faulty(const std::string& name,
                                             const EnvironmentOptions& options = {}) {
    return Make(fmt::format("gymnasium/faulty_environments_test:{}-v0", name), options);
  }
};

// Expects `work` to throw an Error of that kind, in one line that has all of the words.
inline void ExpectError(Error::Kind kind, const std::vector<std::string>& words,
                        const std::function<void()>& work) {
  const std::string message = MessageOf(work, kind);
  ASSERT_NE(message, "no error");
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << message;
  }
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

inline constexpr Error::Kind kBad = Error::Kind::kBadInput;
inline constexpr Error::Kind kFailed = Error::Kind::kWorkFailed;

inline pid_t FirstWorker(const Environment& environment) {
  return dynamic_cast<const GymnasiumEnvironment&>(environment).worker_pids().front();
}

inline std::vector<std::int32_t> Same(const Environment& environment, std::int32_t action) {
  return std::vector<std::int32_t>(static_cast<std::size_t>(environment.num_envs()), action);
}

// Everything a step shows of environment i, as one comparable row.
inline std::vector<double> Shown(const Environment& environment, int i) {
  const std::size_t row = environment.spec().observation.size();
  const auto begin = static_cast<std::size_t>(i) * row;
  const auto k = static_cast<std::size_t>(i);
  const auto flag = [k](std::span<const std::uint8_t> flags) { return flags[k] != 0 ? 1.0 : 0.0; };
  std::vector<double> shown = {environment.rewards()[k], flag(environment.terminated()),
                               flag(environment.truncated())};
  const auto add = [&](const Observations& seen) {
    if (!seen.bytes.empty()) {
      for (const std::uint8_t v : seen.bytes.subspan(begin, row)) shown.push_back(v);
    } else {
      for (const float v : seen.floats.subspan(begin, row)) shown.push_back(double{v});
    }
  };
  add(environment.observations());
  if (environment.ended(i)) add(environment.final_observations());
  return shown;
}

}  // namespace stableaa::bridge_test

#endif  // STABLEAA_ENV_GYMNASIUM_BRIDGE_TEST_H_
