// The bridge: Gymnasium's MuJoCo environments.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/fixed_policy.h"
#include "stableaa/env/gymnasium/bridge_test.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::mujoco_test {

using bridge_test::Bridge;
using bridge_test::kPython;
using bridge_test::Shown;

constexpr std::uint64_t kSeed = 5;

class FullMujoco : public Bridge {
 protected:
  void SetUp() override {
    Bridge::SetUp();
    if (IsSkipped()) return;
    const std::string asks = fmt::format("'{}' -c 'import mujoco' 2>/dev/null", kPython);
    if (std::system(asks.c_str()) != 0) GTEST_SKIP() << "no MuJoCo; scripts/atari installs it";
  }
  void TearDown() override { ::unsetenv("MUJOCO_GL"); }
};

struct Played {
  std::vector<float> actions;
  std::vector<std::vector<double>> rows;  // reward, terminated, truncated, observation
  std::vector<std::int64_t> lengths;      // of whole episodes
};

Played PlayRandomly(Environment& env, int steps) {
  Played played;
  FixedPolicy policy("random", env.spec(), 2);
  env.Reset(kSeed);
  std::int64_t length = 0;
  for (int t = 0; t < steps; ++t) {
    const Actions actions = policy.Act(env.observations());
    played.actions.insert(played.actions.end(), actions.values.begin(), actions.values.end());
    env.Step(actions);
    std::vector<double> row = Shown(env, 0);
    row.resize(3 + env.spec().observation.size());  // without the final observation
    played.rows.push_back(row);
    ++length;
    if (!env.ended(0)) continue;
    played.lengths.push_back(length);
    length = 0;
  }
  return played;
}

std::vector<std::vector<double>> PlayAlone(const std::string& name, const Played& played) {
  const TemporaryFolder folder;
  std::ofstream(folder / "actions", std::ios::binary)
      .write(reinterpret_cast<const char*>(played.actions.data()),
             static_cast<std::streamsize>(played.actions.size() * sizeof(float)));
  std::string command = fmt::format("'{}' '{}/gymnasium_alone_test.py' {} '{}'", kPython,
                                    STABLEAA_FAULTY_PATH, name, (folder / "actions").string());
  RandomStream seeds(kSeed, "env/0");
  for (std::size_t i = 0; i <= played.lengths.size(); ++i) {
    command += fmt::format(" {}", seeds() >> 33);
  }
  command = fmt::format("cd '{}' && {} >rows 2>/dev/null", folder.path().string(), command);
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::vector<std::vector<double>> rows;
  std::ifstream lines(folder / "rows");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    rows.emplace_back();
    for (std::string word; words >> word;)
      rows.back().push_back(std::strtod(word.c_str(), nullptr));
  }
  return rows;
}

TEST_F(FullMujoco, TrajectoriesAreThoseOfGymnasiumAlone) {
  for (const std::string name :
       {"HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5", "Humanoid-v5"}) {
    SCOPED_TRACE(name);
    const auto env = Make("gymnasium/" + name);
    const Played played = PlayRandomly(*env, name == "HalfCheetah-v5" ? 1010 : 300);
    EXPECT_GE(played.lengths.size(), 1U);
    EXPECT_EQ(played.rows, PlayAlone(name, played));
  }
}

TEST_F(FullMujoco, SpacesAndLimitsAreGymnasiums) {
  struct Case {
    int observation, action;
    float bound;
  };
  const std::map<std::string, Case> cases = {{"HalfCheetah-v5", {17, 6, 1}},
                                             {"Hopper-v5", {11, 3, 1}},
                                             {"Walker2d-v5", {17, 6, 1}},
                                             {"Ant-v5", {105, 8, 1}},
                                             {"Humanoid-v5", {348, 17, .4F}}};
  for (const auto& [name, expected] : cases) {
    SCOPED_TRACE(name);
    const auto env = Make("gymnasium/" + name);
    EXPECT_EQ(env->spec().observation.shape, std::vector<int>{expected.observation});
    EXPECT_EQ(env->spec().observation.type, ElementType::kFloat);
    EXPECT_EQ(env->spec().action.shape, std::vector<int>{expected.action});
    EXPECT_EQ(env->spec().action.LowOf(0), -expected.bound);
    EXPECT_EQ(env->spec().action.HighOf(0), expected.bound);
    EXPECT_EQ(env->spec().max_episode_steps, 1000);
    EXPECT_EQ(env->spec().noop, 0);
  }
}

TEST_F(FullMujoco, ATimeLimitTruncatesAndAFallTerminates) {
  const auto cheetah = Make("gymnasium/HalfCheetah-v5");
  const Played run = PlayRandomly(*cheetah, 1000);
  EXPECT_EQ(run.lengths, std::vector<std::int64_t>{1000});
  EXPECT_EQ(run.rows.back()[1], 0);
  EXPECT_EQ(run.rows.back()[2], 1);

  const auto hopper = Make("gymnasium/Hopper-v5");
  const Played falls = PlayRandomly(*hopper, 200);
  EXPECT_GE(falls.lengths.size(), 2U);
  for (const auto& row : falls.rows) EXPECT_EQ(row[2], 0);
}

TEST_F(FullMujoco, AStateIsRebuiltToTheSameBits) {
  for (const std::string name : {"HalfCheetah-v5", "Humanoid-v5"}) {
    SCOPED_TRACE(name);
    const auto env = Make("gymnasium/" + name);
    PlayRandomly(*env, 130);
    ByteWriter saved;
    env->Save(saved);
    const auto rebuilt = Make("gymnasium/" + name);
    ByteReader in(saved.bytes(), "state");
    rebuilt->Load(in);
    in.ExpectEnd();
    FixedPolicy policy("random", env->spec(), 3);
    for (int t = 0; t < 50; ++t) {
      const Actions actions = policy.Act(env->observations());
      env->Step(actions);
      rebuilt->Step(actions);
      ASSERT_EQ(Shown(*rebuilt, 0), Shown(*env, 0)) << t;
    }
  }
}

TEST_F(FullMujoco, WithoutOpenGlItSaysWhatIsMissing) {
  // The first is noticed when MuJoCo is imported, the second when it draws.
  for (const char* const value : {"none", "disable"}) {
    SCOPED_TRACE(value);
    ::setenv("MUJOCO_GL", value, 1);
    bridge_test::ExpectError(bridge_test::kFailed,
                             {"gymnasium/Hopper-v5", "cannot draw", "MUJOCO_GL=egl", "libegl1"},
                             [] { Make("gymnasium/Hopper-v5", {.render = true}); });
  }
  EXPECT_NO_THROW(Make("gymnasium/Hopper-v5")) << "it need not draw";
}

TEST_F(FullMujoco, DrawsWithoutAScreen) {
  std::unique_ptr<Environment> env;
  try {
    env = Make("gymnasium/Hopper-v5", {.render = true});
  } catch (const Error& problem) {
    GTEST_SKIP() << problem.what();
  }
  env->Reset(1);
  EXPECT_EQ(env->frame(0).width(), 480);
  EXPECT_EQ(env->frame(0).height(), 480);
  const Picture before = env->frame(0);
  const std::vector<float> action = {1, 1, 1};
  env->Step({.values = action});
  EXPECT_NE(env->frame(0), before);
}

// MuJoCo's own way is a file MUJOCO_LOG.TXT in the current folder.
TEST_F(FullMujoco, AWarningIsSaidOnceAndLeavesNoFile) {
  const TemporaryFolder folder;
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  testing::internal::CaptureStderr();
  Make("gymnasium/HalfCheetah-v5", {.num_envs = 3});
  const std::string said = testing::internal::GetCapturedStderr();
  std::filesystem::current_path(here);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(said.find("MuJoCo warns"), said.rfind("MuJoCo warns")) << said;
}

}  // namespace stableaa::mujoco_test
