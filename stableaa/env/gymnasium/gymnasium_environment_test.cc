// The bridge: spaces, steps, options and names.

#include "stableaa/env/gymnasium/gymnasium_environment.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/environment_benchmark.h"
#include "stableaa/env/gymnasium/bridge_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::gymnasium_environment_test {

using bridge_test::Bridge;
using bridge_test::ExpectError;
using bridge_test::kBad;
using bridge_test::kFailed;
using bridge_test::Same;
using bridge_test::Shown;

TEST_F(Bridge, SpacesAndNamesComeFromGymnasium) {
  const auto env = Faulty("Counter");
  const EnvironmentSpec& spec = env->spec();
  EXPECT_EQ(spec.id, "gymnasium/faulty_environments_test:Counter-v0");
  EXPECT_EQ(spec.observation, Space::Floats({4}, {0}, {1e6F}));
  EXPECT_EQ(spec.action, Space::Discrete(3));
  EXPECT_EQ(spec.max_episode_steps, 20);
  EXPECT_FALSE(spec.noop);
  EXPECT_EQ(spec.frames_per_second, 7);
}

TEST_F(Bridge, StepsBeginTheNextEpisodeAndKeepTheTrueFinalObservation) {
  const auto env = Faulty("Counter");
  env->Reset(3);
  const float first_seed = env->observations().floats[1];
  env->Step({.indices = Same(*env, 1)});
  EXPECT_EQ(env->observations().floats[2], 1);
  EXPECT_EQ(env->observations().floats[3], 6) << "actions begin at the space's start, 5";
  EXPECT_EQ(env->rewards()[0], .25);
  EXPECT_FALSE(env->ended(0));
  env->Step({.indices = Same(*env, 2)});  // 7 terminates
  EXPECT_TRUE(env->terminated()[0]);
  EXPECT_FALSE(env->truncated()[0]);
  EXPECT_EQ(env->final_observations().floats[2], 2);
  EXPECT_EQ(env->final_observations().floats[1], first_seed);
  EXPECT_EQ(env->observations().floats[2], 0);
  EXPECT_NE(env->observations().floats[1], first_seed) << "every episode has a seed of its own";
}

TEST_F(Bridge, LimitsTruncate) {
  for (const auto& [limit, expected] :
       std::vector<std::pair<std::int64_t, int>>{{0, 20}, {7, 7}, {50, 20}}) {
    const auto env = Faulty("Counter", {.max_episode_steps = limit});
    EXPECT_EQ(env->spec().max_episode_steps, expected);
    env->Reset(1);
    for (int episode = 0; episode < 2; ++episode) {
      for (int k = 1; k <= expected; ++k) {
        env->Step({.indices = Same(*env, 0)});
        EXPECT_EQ(env->truncated()[0] != 0, k == expected) << k;
        EXPECT_FALSE(env->terminated()[0]);
      }
      EXPECT_EQ(env->final_observations().floats[2], static_cast<float>(expected));
    }
  }
  // If both happen at once, it is a termination.
  const auto env = Faulty("Counter", {.max_episode_steps = 1});
  env->Reset(1);
  env->Step({.indices = Same(*env, 2)});
  EXPECT_TRUE(env->terminated()[0]);
  EXPECT_FALSE(env->truncated()[0]);
}

TEST_F(Bridge, AnEnvironmentDoesNotDependOnItsNeighboursOrWorkers) {
  const auto alone = Faulty("Counter");
  const auto batch = Faulty("Counter", {.num_envs = 5});
  const auto spread = Faulty("Counter", {.num_envs = 5, .workers = 3});
  for (const auto* env : {&alone, &batch, &spread}) (*env)->Reset(11);
  RandomStream random(1, "test");
  for (int k = 0; k < 60; ++k) {
    std::vector<std::int32_t> actions(5);
    for (auto& action : actions) action = static_cast<std::int32_t>(random.Below(3));
    alone->Step({.indices = {actions.data(), 1}});
    batch->Step({.indices = actions});
    spread->Step({.indices = actions});
    ASSERT_EQ(Shown(*alone, 0), Shown(*batch, 0));
    for (int i = 0; i < 5; ++i) ASSERT_EQ(Shown(*spread, i), Shown(*batch, i));
  }
  std::set<float> seeds;
  for (std::size_t i = 0; i < 5; ++i) seeds.insert(batch->observations().floats[4 * i + 1]);
  EXPECT_GE(seeds.size(), 4U);  // 16 bits of 5 seeds: two are equal with probability 2e-4
}

TEST_F(Bridge, WorksOnBetweenSendAndRecv) {
  const auto env = Faulty("Counter", {.num_envs = 2, .workers = 2});
  env->Reset(1);
  env->Send({.indices = Same(*env, 1)});
  EXPECT_THROW(env->Send({.indices = Same(*env, 1)}), std::logic_error);
  env->Recv();
  EXPECT_EQ(env->observations().floats[2], 1);
  env->Send({.indices = Same(*env, 1)});
  env->Reset(1);  // forgets what was sent
  EXPECT_EQ(env->observations().floats[2], 0);
  const auto raises = Faulty("Raises");
  raises->Reset(1);
  for (int k = 0; k < 2; ++k) raises->Step({.indices = Same(*raises, 0)});
  raises->Send({.indices = Same(*raises, 0)});
  raises->Reset(1);  // its error too
}

TEST_F(Bridge, OtherSpacesAreFlattened) {
  const auto env = Faulty("DictObservation");
  EXPECT_EQ(env->spec().observation.shape, std::vector<int>{5});
  env->Reset(1);
  const auto seen = env->observations().floats;
  EXPECT_EQ(std::vector<float>(seen.begin(), seen.end()), (std::vector<float>{0, 0, 1, .5F, -.5F}));
}

TEST_F(Bridge, TakesActionsOfABox) {
  const auto env = Faulty("ContinuousAction");
  EXPECT_EQ(env->spec().action.shape, (std::vector<int>{1, 2}));
  EXPECT_EQ(env->spec().action.low, (std::vector<float>{-1, 0}));
  EXPECT_EQ(env->spec().action.high[0], INFINITY);
  EXPECT_EQ(env->spec().noop, 0);
  env->Reset(1);
  const std::vector<float> action = {.75F, 1.5F};
  env->Step({.values = action});
  EXPECT_EQ(env->observations().floats[2], .75F);
  EXPECT_EQ(env->observations().floats[3], 1.5F);
  ByteWriter out;
  env->Save(out);
  const auto other = Faulty("ContinuousAction");
  ByteReader in(out.bytes(), "state");
  other->Load(in);
  EXPECT_EQ(Shown(*other, 0)[5], double{.75F});
}

TEST_F(Bridge, DrawsPictures) {
  const auto env = Faulty("Counter", {.render = true});
  env->Reset(1);
  EXPECT_EQ(env->frame(0).width(), 8);
  EXPECT_EQ(env->frame(0).height(), 6);
  env->Step({.indices = Same(*env, 0)});
  EXPECT_EQ(env->frame(0).at(3, 3), (Color{1, 1, 1}));
  env->Step({.indices = Same(*env, 2)});
  EXPECT_EQ(env->final_frame(0).at(3, 3), (Color{2, 2, 2}));
  EXPECT_EQ(env->frame(0).at(3, 3), (Color{0, 0, 0}));
  ExpectError(kBad, {"cannot be drawn"}, [] { Faulty("NoPicture", {.render = true}); });
}

TEST_F(Bridge, AnEnvironmentNeedNotTakeARenderMode) {
  const auto env = Faulty("NoRenderMode");
  env->Reset(1);
  env->Step({.indices = Same(*env, 0)});
  EXPECT_EQ(env->observations().floats[2], 1);
  ExpectError(kBad, {"NoRenderMode-v0", "cannot be drawn", "takes no render_mode"},
              [] { Faulty("NoRenderMode", {.render = true}); });
}

TEST_F(Bridge, KwargsReachTheConstructor) {
  const auto env = Faulty("Configured", {.kwargs = R"({"start": 7, "names": ["x", "y", "z"]})"});
  env->Reset(1);
  EXPECT_EQ(env->observations().floats[0], 7);
  EXPECT_EQ(env->observations().floats[1], 3);
  EXPECT_NE(env->spec().protocol.find("\"start\": 7"), std::string::npos) << env->spec().protocol;
  const auto drawn = Faulty("Configured", {.render = true, .kwargs = R"({"start": 7})"});
  drawn->Reset(1);
  EXPECT_EQ(drawn->frame(0).width(), 8);

  const auto lake =
      Make("gymnasium/FrozenLake-v1", {.kwargs = R"({"is_slippery": false, "map_name": "8x8"})"});
  EXPECT_EQ(lake->spec().observation.shape, std::vector<int>{64});
  lake->Reset(1);
  for (const std::int32_t right_or_down : {2, 2, 1}) {
    lake->Step({.indices = Same(*lake, right_or_down)});
  }
  EXPECT_EQ(lake->observations().floats[8 + 2], 1) << "not slippery: where it was told to go";
}

TEST_F(Bridge, KwargsThatAConstructorRefusesAreBadInput) {
  const auto make = [](const std::string& kwargs) { Faulty("Configured", {.kwargs = kwargs}); };
  ExpectError(kBad, {"env.kwargs", "unexpected keyword argument 'stop'"},
              [&] { make(R"({"start": 1, "stop": 2})"); });
  ExpectError(kBad,
              {"env.kwargs {\"start\": -1}", "ValueError: cannot start at -1; raised at /",
               "faulty_environments_test.py:"},
              [&] { make(R"({"start": -1})"); });
  ExpectError(kBad, {"env.kwargs", "max_episode_steps", "env.max_episode_steps decides it"},
              [&] { make(R"({"start": 1, "max_episode_steps": 3})"); });
  ExpectError(kBad, {"env.kwargs", "render_mode"},
              [&] { make(R"({"start": 1, "render_mode": "human"})"); });
  ExpectError(kBad, {"env.kwargs", "9x9"},
              [] { Make("gymnasium/FrozenLake-v1", {.kwargs = R"({"map_name": "9x9"})"}); });
  // Without any arguments, the missing one is not their fault.
  ExpectError(kFailed, {"missing 1 required positional argument: 'start'"}, [&] { make("{}"); });
}

TEST_F(Bridge, OnlyAModuleOfOnesOwnIsLookedForInTheCurrentFolder) {
  const TemporaryFolder folder;
  const auto marker = folder / "imported";
  // A package that one of Gymnasium's environments needs and that is not installed.
  std::ofstream(folder / "Box2D.py") << "open('imported', 'w')\n";
  std::ofstream(folder / "mine.py")
      << "import gymnasium\nfrom gymnasium.envs.classic_control import CartPoleEnv\n"
         "gymnasium.register('Mine-v0', CartPoleEnv)\n";
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  try {
    Make("gymnasium/LunarLander-v3");
  } catch (const Error&) {  // the package is missing
  }
  EXPECT_NO_THROW(Make("gymnasium/mine:Mine-v0"));
  std::filesystem::current_path(here);
  EXPECT_FALSE(std::filesystem::exists(marker));
}

TEST_F(Bridge, SpacesThatAreNotSupportedAreNamedWithThoseThatAre) {
  ExpectError(kBad, {"Sequence", "supported are Box"}, [] { Faulty("SequenceObservation"); });
  ExpectError(kBad, {"Tuple", "supported are Discrete"}, [] { Faulty("TupleAction"); });
  ExpectError(kBad, {"2**31"}, [] { Faulty("HugeDiscrete"); });
  EXPECT_EQ(Faulty("ScalarObservation")->spec().observation.shape, std::vector<int>{1});
}

TEST_F(Bridge, WrongNamesAreBadInput) {
  ExpectError(kBad, {"NoSuch"}, [] { Make("gymnasium/NoSuch-v3"); });
  ExpectError(kBad, {"CartPole"}, [] { Make("gymnasium/CartPole-v99"); });
  ExpectError(kFailed, {"no_such_module", "PYTHONPATH"},
              [] { Make("gymnasium/no_such_module:Thing-v0"); });
  for (const std::string id : {"gymnasium/:x", "gymnasium/a:b:c-v0", "gymnasium/../x-v0"}) {
    ExpectError(kBad, {id}, [&] { Make(id); });
  }
  ExpectError(kBad, {"ale-py knows no game 'bowlingg'", "did you mean 'bowling'"},
              [] { Make("atari/bowlingg"); });
}

TEST_F(Bridge, BenchmarkComparesWithPythonAlone) {
  const auto env = Faulty("Counter", {.num_envs = 3});
  const EnvironmentTiming timing = MeasureEnvironment(*env, .3);
  ASSERT_TRUE(timing.ratio);
  EXPECT_GT(*timing.python_steps_per_second, 0);
  // The median of ratios measured alternately; other work on the machine does not inflate it.
  EXPECT_GT(*timing.ratio, 0);
  EXPECT_LT(*timing.ratio, 2);
}

}  // namespace stableaa::gymnasium_environment_test
