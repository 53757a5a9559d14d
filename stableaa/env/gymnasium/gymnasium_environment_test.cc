// The bridge with real workers: Gymnasium and ale-py in the Python that scripts/atari makes.

#include "stableaa/env/gymnasium/gymnasium_environment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "stableaa/base/files/directories.h"
#include "stableaa/base/process/process_test.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/env/environment_benchmark.h"
#include "stableaa/env/fixed_policy.h"
#include "stableaa/env/registry.h"

namespace stableaa::gymnasium_environment_test {

constexpr const char* kPython = STABLEAA_ATARI_PYTHON;

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

using FullAtari = Bridge;

const Error* Caught(const std::function<void()>& work, std::optional<Error>& store) {
  try {
    work();
  } catch (const Error& error) {
    store = error;
    return &*store;
  }
  return nullptr;
}

// That an Error comes, of which kind and with which words.
void ExpectError(Error::Kind kind, const std::vector<std::string>& words,
                 const std::function<void()>& work) {
  std::optional<Error> store;
  const Error* const error = Caught(work, store);
  ASSERT_NE(error, nullptr) << "no error";
  EXPECT_EQ(error->kind(), kind) << error->what();
  for (const std::string& word : words) {
    EXPECT_NE(std::string(error->what()).find(word), std::string::npos) << error->what();
  }
  EXPECT_EQ(std::string(error->what()).find('\n'), std::string::npos) << error->what();
}

constexpr Error::Kind kBad = Error::Kind::kBadInput;
constexpr Error::Kind kFailed = Error::Kind::kWorkFailed;

pid_t FirstWorker(const Environment& environment) {
  return dynamic_cast<const GymnasiumEnvironment&>(environment).worker_pids().front();
}

std::vector<std::int32_t> Same(const Environment& environment, std::int32_t action) {
  return std::vector<std::int32_t>(static_cast<std::size_t>(environment.num_envs()), action);
}

// All that a step shows, of environment i, as one comparable row.
std::vector<double> Shown(const Environment& environment, int i) {
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
  // Where both come together it is a termination.
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
  EXPECT_GE(seeds.size(), 4U);  // 16 bits of 5 seeds: a pair is alike with probability 2e-4
}

TEST_F(Bridge, WorksOnBetweenSendAndRecv) {
  const auto env = Faulty("Counter", {.num_envs = 2, .workers = 2});
  env->Reset(1);
  env->Send({.indices = Same(*env, 1)});
  EXPECT_THROW(env->Send({.indices = Same(*env, 1)}), std::logic_error);
  env->Recv();
  EXPECT_EQ(env->observations().floats[2], 1);
  env->Send({.indices = Same(*env, 1)});
  env->Reset(1);  // what was sent is forgotten
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

TEST_F(Bridge, GamesOfDifferentLengthsAreRebuiltTogether) {
  // Of the second the shorter game waits, with actions that must be finite although the space is
  // not.
  const auto env = Faulty("ContinuousAction", {.num_envs = 2, .max_episode_steps = 5});
  env->Reset(1);
  const std::vector<float> actions = {.5F, 1, .25F, 2};
  for (int k = 0; k < 7; ++k) env->Step({.values = actions});
  ByteWriter out;
  env->Save(out);
  const auto other = Faulty("ContinuousAction", {.num_envs = 2, .max_episode_steps = 5});
  ByteReader in(out.bytes(), "state");
  other->Load(in);
  const auto counter = Faulty("EndsByAction", {.num_envs = 2});
  counter->Reset(1);
  const std::vector<float> one_ends = {0, 0, 1, 1};
  for (int k = 0; k < 4; ++k)
    counter->Step({.values = k == 2 ? one_ends : std::vector<float>(4, 0)});
  ByteWriter uneven;
  counter->Save(uneven);
  const auto again = Faulty("EndsByAction", {.num_envs = 2});
  ByteReader uneven_in(uneven.bytes(), "state");
  again->Load(uneven_in);
  EXPECT_EQ(again->observations().floats[2], 4);
  EXPECT_EQ(again->observations().floats[6], 1);
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

TEST_F(Bridge, StatesAreRebuiltByPlayingAgain) {
  const auto env = Faulty("Counter", {.num_envs = 4, .workers = 2});
  env->Reset(5);
  RandomStream random(2, "test");
  const auto actions = [&random] {
    std::vector<std::int32_t> drawn(4);
    for (auto& action : drawn)
      action = random.Below(12) == 0 ? 2 : static_cast<std::int32_t>(random.Below(2));
    return drawn;
  };
  for (int k = 0; k < 33; ++k) env->Step({.indices = actions()});
  ByteWriter out;
  env->Save(out);
  const auto other = Faulty("Counter", {.num_envs = 4, .workers = 1});
  ByteReader in(out.bytes(), "state");
  other->Load(in);
  in.ExpectEnd();
  for (int k = 0; k < 60; ++k) {
    const auto drawn = actions();
    env->Step({.indices = drawn});
    other->Step({.indices = drawn});
    for (int i = 0; i < 4; ++i) ASSERT_EQ(Shown(*env, i), Shown(*other, i)) << k;
  }
}

TEST_F(Bridge, StatesOfOthersAndDamagedOnesAreRefused) {
  const auto env = Faulty("Counter");
  env->Reset(5);
  for (int k = 0; k < 3; ++k) env->Step({.indices = Same(*env, 1)});
  ByteWriter out;
  env->Save(out);
  const std::vector<std::byte> whole(out.bytes().begin(), out.bytes().end());
  const auto load = [](Environment& into, std::span<const std::byte> bytes) {
    ByteReader in(bytes, "state");
    into.Load(in);
  };
  const auto other = Faulty("Exits");
  ExpectError(kBad, {"Exits-v0", "Counter-v0"}, [&] { load(*other, whole); });
  const auto two = Faulty("Counter", {.num_envs = 2});
  ExpectError(kBad, {"environments '2'"}, [&] { load(*two, whole); });
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ExpectError(kBad, {"state"}, [&] { load(*env, std::span(whole).first(size)); });
  }
  // A flipped bit: refused at once, found out by playing, or (a seed that is not used yet)
  // harmless.
  RandomStream random(3, "test");
  int refused = 0;
  for (int k = 0; k < 60; ++k) {
    std::vector<std::byte> damaged = whole;
    damaged[random.Below(damaged.size())] ^= std::byte{1} << random.Below(8);
    std::optional<Error> store;
    refused += Caught([&] { load(*env, damaged); }, store) != nullptr ? 1 : 0;
  }
  EXPECT_GT(refused, 40);
  load(*env, whole);
  EXPECT_EQ(env->observations().floats[2], 3);
}

TEST_F(Bridge, NumbersOfAGameThatCannotBeAreRefusedBeforeItIsPlayed) {
  const auto env = Faulty("Counter");
  env->Reset(5);
  for (int k = 0; k < 3; ++k) env->Step({.indices = Same(*env, 1)});
  ByteWriter out;
  env->Save(out);
  // From the end: the hash, three actions and their number, one seed and their number, steps.
  const auto with = [&](std::size_t from_end, std::int64_t value) {
    std::vector<std::byte> changed(out.bytes().begin(), out.bytes().end());
    for (std::size_t i = 0; i < 8; ++i) {
      changed[changed.size() - from_end + i] = static_cast<std::byte>(value >> (8 * i));
    }
    return changed;
  };
  const auto refuses = [&](std::size_t from_end, std::int64_t value, const std::string& words) {
    const std::vector<std::byte> changed = with(from_end, value);
    ByteReader in(changed, "state");
    ExpectError(kBad, {"state", words}, [&] { env->Load(in); });
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t steps : {std::int64_t{-1}, std::int64_t{4}, kMost}) {
    refuses(64, steps, "steps of them in the last episode");
  }
  for (const std::int64_t seeds : {std::int64_t{-1}, kMost}) refuses(56, seeds, "fewer seeds");
  refuses(48, -1, "seeds and actions of a game");
  for (const std::int64_t count : {std::int64_t{-1}, kMost}) refuses(40, count, "fewer actions");
  for (const std::int64_t action : {std::int64_t{-1}, std::int64_t{1000}, kMost}) {
    refuses(32, action, "expected an action from 0 to");
  }
}

TEST_F(Bridge, WhatIsNotDeterministicCannotBeRebuilt) {
  const auto env = Faulty("Forgets");
  env->Reset(5);
  for (int k = 0; k < 3; ++k) env->Step({.indices = Same(*env, 1)});
  ByteWriter out;
  env->Save(out);
  ByteReader in(out.bytes(), "state");
  ExpectError(kFailed, {"playing the 3 actions", "led elsewhere"}, [&] { env->Load(in); });
}

TEST_F(Bridge, ErrorsOfAnEnvironmentAreToldInOneLine) {
  const auto env = Faulty("Raises");
  env->Reset(1);
  env->Step({.indices = Same(*env, 0)});
  env->Step({.indices = Same(*env, 0)});
  ExpectError(kFailed, {"Raises-v0", "ValueError: the third step is one too many"},
              [&] { env->Step({.indices = Same(*env, 0)}); });
  EXPECT_THROW(env->Step({.indices = Same(*env, 0)}), std::logic_error);
  env->Reset(2);  // the worker lives on
  env->Step({.indices = Same(*env, 0)});
  const auto reset = Faulty("RaisesInReset");
  ExpectError(kFailed, {"no beginning"}, [&] { reset->Reset(1); });
  const auto shape = Faulty("WrongShape");
  shape->Reset(1);
  ExpectError(kFailed, {"shape (1,)", "(4,)"}, [&] { shape->Step({.indices = Same(*shape, 0)}); });
  const auto strange = Faulty("RaisesStrangely");
  strange->Reset(1);
  ExpectError(kFailed, {"ValueError"}, [&] { strange->Step({.indices = Same(*strange, 0)}); });
  EXPECT_EQ(strange->spec().frames_per_second, 15) << "what cannot be a speed is not taken for one";
}

TEST_F(Bridge, ErrorsOfAnEnvironmentTellWhereTheyWereRaised) {
  const std::string file = "faulty_environments_test.py:";
  const auto env = Faulty("Raises");
  env->Reset(1);
  for (int k = 0; k < 2; ++k) env->Step({.indices = Same(*env, 0)});
  ExpectError(kFailed, {"too many; raised at /", file, " in step"},
              [&] { env->Step({.indices = Same(*env, 0)}); });
  // The innermost call first; a sign that a terminal would obey is escaped.
  ExpectError(kFailed,
              {"ValueError: no making\\u001B[31m; raised at /", " in prepare, called at /", file,
               " in __init__"},
              [] { Faulty("RaisesInMake"); });
  ExpectError(kFailed, {"SystemExit: wrong arguments", file, " in __init__"},
              [] { Faulty("LeavesInMake"); });
  const auto drawn = Faulty("RaisesInRender", {.render = true});
  drawn->Reset(1);
  ExpectError(kFailed, {"no picture", file, " in render"},
              [&] { drawn->Step({.indices = Same(*drawn, 0)}); });
  const auto grows = Faulty("GrowsInRender", {.render = true});
  grows->Reset(1);
  ExpectError(kFailed, {"a picture of shape (7, 8, 3) after ones of shape (6, 8, 3)"},
              [&] { grows->Step({.indices = Same(*grows, 0)}); });
  // What it returns is of no use to Gymnasium's wrapper, which is where it shows.
  const auto old = Faulty("OldApi");
  old->Reset(1);
  ExpectError(kFailed, {"expected 5, got 4", "gymnasium/wrappers/", " in step"},
              [&] { old->Step({.indices = Same(*old, 0)}); });
  // Of a module that cannot be imported, the line of the module.
  ExpectError(kFailed, {"No module named", "broken_environments_test.py:"},
              [] { Make("gymnasium/broken_environments_test:Any-v0"); });
}

TEST_F(Bridge, AnErrorWhileClosingIsAWarning) {
  ::testing::internal::CaptureStderr();
  {
    const auto env = Faulty("RaisesInClose", {.num_envs = 2});
    env->Reset(1);
  }
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(told.starts_with("stableaa: warning: when it was closed: ")) << told;
  EXPECT_NE(told.find("ValueError: no end; raised at "), std::string::npos) << told;
}

TEST_F(Bridge, AnEnvironmentThatHangsWhileItIsClosedIsAWarning) {
  ::testing::internal::CaptureStderr();
  Faulty("HangsInClose")->Reset(1);
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(told.starts_with("stableaa: warning: when it was closed: ")) << told;
  // Sooner than env.timeout_seconds, 60, which it does not name.
  EXPECT_NE(told.find("has not answered for 10 s; it was killed"), std::string::npos) << told;
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
  // Without any, what is missing is not their fault.
  ExpectError(kFailed, {"missing 1 required positional argument: 'start'"}, [&] { make("{}"); });
}

TEST_F(Bridge, WhatIsNotFiniteIsTheEnvironmentsFault) {
  const auto with = [](const std::string& where, const std::string& value) {
    auto env = Faulty("NotFinite",
                      {.num_envs = 2,
                       .max_episode_steps = 3,
                       .kwargs = fmt::format(R"({{"where": "{}", "value": "{}"}})", where, value)});
    return env;
  };
  const auto step = [](Environment& env, int times) {
    for (int k = 0; k < times; ++k) env.Step({.indices = Same(env, 0)});
  };
  const auto reward = with("reward", "nan");
  reward->Reset(1);
  step(*reward, 1);
  ExpectError(kFailed, {"NotFinite-v0: its reward is nan in step 2 of the episode with seed "},
              [&] { step(*reward, 1); });
  reward->Reset(1);  // goes on
  const auto seen = with("observation", "-inf");
  seen->Reset(1);
  step(*seen, 1);
  ExpectError(kFailed, {"element 3 of its observation is -inf after step 2 of the episode"},
              [&] { step(*seen, 1); });
  const auto first = with("reset", "inf");
  ExpectError(kFailed, {"element 1 of its observation is inf at the beginning of the episode"},
              [&] { first->Reset(1); });
  const auto second = with("second reset", "nan");
  second->Reset(1);
  step(*second, 2);
  ExpectError(kFailed, {"element 1 of its observation is nan at the beginning of the episode"},
              [&] { step(*second, 1); });
}

TEST_F(Bridge, OnlyAModuleOfOnesOwnIsLookedForInTheCurrentFolder) {
  const TemporaryDirectory folder("bridge");
  const auto marker = folder.path() / "imported";
  // A package that an environment of Gymnasium's needs, and that is not installed.
  std::ofstream(folder.path() / "Box2D.py") << "open('imported', 'w')\n";
  std::ofstream(folder.path() / "mine.py")
      << "import gymnasium\nfrom gymnasium.envs.classic_control import CartPoleEnv\n"
         "gymnasium.register('Mine-v0', CartPoleEnv)\n";
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  std::optional<Error> missing;
  Caught([] { Make("gymnasium/LunarLander-v3"); }, missing);
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

TEST_F(Bridge, APythonThatIsMissingOrLacksPackagesSaysWhatToDo) {
  ExpectError(kFailed, {"no-such-python", "env.python", "scripts/atari"},
              [] { MakeEnvironment("atari/pong", {.python = "/no-such-python"}); });
  ExpectError(kFailed, {"scripts/atari"},
              [] { MakeEnvironment("atari/pong", {.python = "no-such-python-in-path"}); });
  ExpectError(kFailed, {"env.python"},
              [] { MakeEnvironment("atari/pong", {.python = "/etc/passwd"}); });
  // The system's own Python, which has no ale-py (nor numpy).
  ExpectError(kFailed, {"scripts/atari", "pip install gymnasium ale-py"},
              [] { MakeEnvironment("atari/pong", {.python = "/usr/bin/python3"}); });
  // A program that is not Python.
  ExpectError(kFailed, {"its worker"},
              [] { MakeEnvironment("atari/pong", {.python = "/bin/true"}); });
  ExpectError(kFailed, {"has not answered for 0.3 s"}, [] {
    MakeEnvironment("atari/pong", {.python = "/usr/bin/yes", .timeout_seconds = .3});
  });
}

TEST_F(Bridge, AKilledWorkerIsAnErrorAtOnce) {
  const auto env = Faulty("Counter", {.num_envs = 2, .workers = 2});
  env->Reset(1);
  ::kill(FirstWorker(*env), SIGKILL);
  const Stopwatch stopwatch;
  ExpectError(kFailed, {"its worker was killed by signal 9"},
              [&] { env->Step({.indices = Same(*env, 0)}); });
  ExpectError(kFailed, {"its worker"}, [&] { env->Reset(1); });
  EXPECT_LT(stopwatch.Seconds(), 5);
  const auto kills = Faulty("Kills");
  kills->Reset(1);
  ExpectError(kFailed, {"signal 9"}, [&] { kills->Step({.indices = Same(*kills, 0)}); });
}

TEST_F(Bridge, AWorkerThatEndsIsToldWithItsLastWords) {
  const auto env = Faulty("Exits");
  env->Reset(1);
  ExpectError(kFailed, {"ended with exit code 3", "it last wrote: leaving now"},
              [&] { env->Step({.indices = Same(*env, 0)}); });
}

TEST_F(Bridge, AWorkerThatHangsIsKilledAfterTheTimeout) {
  for (const std::string name : {"Hangs", "HangsApart", "Stopped"}) {
    const auto env = Faulty(name == "Stopped" ? "Counter" : name);
    env->Reset(1);
    dynamic_cast<GymnasiumEnvironment&>(*env).set_timeout_seconds(.5);
    const pid_t pid = FirstWorker(*env);
    if (name == "Stopped") ::kill(pid, SIGSTOP);  // as by a debugger
    const Stopwatch stopwatch;
    ExpectError(kFailed, {"has not answered for 0.5 s", "env.timeout_seconds"},
                [&] { env->Step({.indices = Same(*env, 0)}); });
    EXPECT_LT(stopwatch.Seconds(), 20);
    EXPECT_FALSE(IsAlive(pid));
  }
  // One that is in the middle of something ends with its environment.
  const auto env = Faulty("Hangs");
  env->Reset(1);
  env->Send({.indices = Same(*env, 0)});
  EXPECT_TRUE(IsAlive(FirstWorker(*env)));
}

TEST_F(Bridge, ForkedCopiesOfAWorkerNeitherAnswerNorHideItsEnd) {
  const auto forks = Faulty("Forks");
  forks->Reset(1);
  for (int k = 1; k <= 10; ++k) {
    forks->Step({.indices = Same(*forks, 0)});
    EXPECT_EQ(forks->observations().floats[2], static_cast<float>(k));
  }
  const auto dies = Faulty("ForksAndDies");
  dies->Reset(1);
  const Stopwatch stopwatch;
  ExpectError(kFailed, {"signal 9"}, [&] { dies->Step({.indices = Same(*dies, 0)}); });
  EXPECT_LT(stopwatch.Seconds(), 20);  // and not after the timeout of 60
}

TEST_F(Bridge, AnEnvironmentThatHangsWhileItIsMadeIsGivenUp) {
  const Stopwatch stopwatch;
  ExpectError(kFailed, {"has not answered for 4 s"},
              [] { Faulty("HangsInMake", {.timeout_seconds = 4}); });
  EXPECT_LT(stopwatch.Seconds(), 20);
}

TEST_F(Bridge, NothingIsLeftBehind) {
  pid_t worker = 0, grandchild = 0;
  {
    const auto env = Faulty("Spawns");
    env->Reset(1);
    worker = FirstWorker(*env);
    grandchild = static_cast<pid_t>(env->observations().floats[0]) * 65536 +
                 static_cast<pid_t>(env->observations().floats[1]);
    EXPECT_TRUE(IsAlive(worker));
    EXPECT_TRUE(IsAlive(grandchild));
  }
  EXPECT_TRUE(DiesWithin(worker, 2));
  EXPECT_TRUE(DiesWithin(grandchild, 2));
}

TEST_F(Bridge, NothingIsLeftBehindWhenThisProcessIsKilled) {
  for (const bool busy : {false, true}) {
    std::array<int, 2> ends = {};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        const auto env = Faulty(busy ? "Hangs" : "Counter");
        env->Reset(1);
        if (busy) env->Send({.indices = Same(*env, 0)});
        const pid_t worker = FirstWorker(*env);
        if (::write(ends[1], &worker, sizeof worker) != sizeof worker) ::_exit(1);
        for (;;) ::pause();
      } catch (...) {
        ::_exit(1);
      }
    }
    ::close(ends[1]);
    pid_t worker = 0;
    const ssize_t got = ::read(ends[0], &worker, sizeof worker);
    ::close(ends[0]);
    if (got != static_cast<ssize_t>(sizeof worker)) ::kill(child, SIGKILL);
    ASSERT_EQ(got, static_cast<ssize_t>(sizeof worker));
    EXPECT_TRUE(IsAlive(worker));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(DiesWithin(worker, 2)) << (busy ? "busy" : "idle");
  }
}

TEST_F(Bridge, WhatAnEnvironmentPrintsIsLoggedAndNeverOnStdout) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  {
    const auto env = Faulty("Talks");
    env->Reset(1);
    for (int k = 0; k < 2; ++k) env->Step({.indices = Same(*env, 0)});
  }
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  std::string expected;
  for (const std::string line : {"made", "begun", "step\\u0007 0", "by C itself", "step\\u0007 1",
                                 "by C itself", "closed"}) {
    expected += fmt::format("stableaa: gymnasium/faulty_environments_test:Talks-v0: {}\n", line);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), expected);
}

TEST_F(Bridge, WhatNeverAnswersIsQuotedButNotLogged) {
  ::testing::internal::CaptureStderr();
  // It repeats its argument, /dev/fd/5, and may be killed in the middle of a line.
  ExpectError(kFailed, {"has not answered", "it last wrote: /"}, [] {
    MakeEnvironment("atari/pong", {.python = "/usr/bin/yes", .timeout_seconds = 2});
  });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(Bridge, MuchTalkDoesNotStopAWorker) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const auto env = Faulty("Chatters");
  env->Reset(1);
  for (int k = 0; k < 2; ++k) env->Step({.indices = Same(*env, 0)});
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(told, '\n'), 2 * 2 * 30000);
  EXPECT_EQ(env->observations().floats[2], 2);
}

TEST_F(Bridge, NoDescriptorLeaks) {
  const auto count = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = count();
  Faulty("Counter", {.num_envs = 2, .workers = 2})->Reset(1);
  ExpectError(kBad, {}, [] { Make("gymnasium/NoSuch-v3"); });
  EXPECT_EQ(count(), before);
}

// ---- Atari

EnvironmentOptions WithProtocol(EnvironmentOptions::Protocol protocol, int num_envs = 1) {
  return {.num_envs = num_envs, .protocol = protocol};
}

using Protocol = EnvironmentOptions::Protocol;

// Both environments do the same for `steps` random steps; returns how many episodes ended.
int ExpectSame(Environment& a, Environment& b, int steps, std::uint64_t seed) {
  FixedPolicy policy("random", a.spec(), seed);
  int ended = 0;
  for (int k = 0; k < steps; ++k) {
    const Actions actions = policy.Act(a.observations());
    a.Step(actions);
    b.Step(actions);
    for (int i = 0; i < a.num_envs(); ++i) {
      EXPECT_EQ(Shown(a, i) == Shown(b, i), true) << "step " << k << " environment " << i;
      ended += a.ended(i) ? 1 : 0;
    }
    if (::testing::Test::HasFailure()) break;
  }
  return ended;
}

TEST_F(FullAtari, TheSameSeedGivesTheSameGames) {
  for (const Protocol protocol : {Protocol::kAuthors, Protocol::kNature, Protocol::kMachado}) {
    const auto a = Make("atari/Breakout", WithProtocol(protocol));
    const auto b = Make("atari/breakout", WithProtocol(protocol, 1));
    a->Reset(4);
    b->Reset(9);  // another history
    ExpectSame(*a, *a, 1, 1);
    b->Step({.indices = Same(*b, 1)});
    a->Reset(4);
    b->Reset(4);
    ASSERT_EQ(Shown(*a, 0), Shown(*b, 0));
    EXPECT_GE(ExpectSame(*a, *b, 300, 7), 1);
  }
}

TEST_F(FullAtari, GamesAreRebuiltFromTheirSeedsAndActions) {
  struct Case {
    std::string id;
    Protocol protocol;
    int num_envs, before, after;
  };
  // In Breakout games of several lives go on; in Pong one game is long.
  for (const Case& c : {Case{"atari/breakout", Protocol::kNature, 2, 130, 300},
                        Case{"atari/breakout", Protocol::kAuthors, 2, 130, 200},
                        Case{"atari/pong", Protocol::kMachado, 2, 400, 100},
                        Case{"atari/pong", Protocol::kNature, 1, 900, 100}}) {
    const auto a = Make(c.id, WithProtocol(c.protocol, c.num_envs));
    a->Reset(6);
    FixedPolicy policy("random", a->spec(), 8);
    for (int k = 0; k < c.before; ++k) a->Step(policy.Act(a->observations()));
    ByteWriter out;
    a->Save(out);
    const auto b = Make(c.id, WithProtocol(c.protocol, c.num_envs));
    ByteReader in(out.bytes(), "state");
    b->Load(in);
    in.ExpectEnd();
    ExpectSame(*a, *b, c.after, 9);
    ASSERT_FALSE(HasFailure()) << c.id;
  }
}

TEST_F(FullAtari, ProtocolsAreWhatTheirNamesSay) {
  const auto machado = Make("atari/breakout", WithProtocol(Protocol::kMachado));
  EXPECT_EQ(machado->spec().action.n, 18);
  EXPECT_EQ(machado->spec().noop, 0);
  const auto nature = Make("atari/breakout", WithProtocol(Protocol::kNature));
  const auto authors = Make("atari/breakout", WithProtocol(Protocol::kAuthors));
  for (const auto* env : {&nature, &authors}) {
    EXPECT_EQ((*env)->spec().action_names,
              (std::vector<std::string>{"noop", "fire", "right", "left"}));
    EXPECT_EQ((*env)->spec().observation, Space::Bytes({4, 84, 84}));
    EXPECT_EQ((*env)->spec().max_episode_steps, 27000);
  }
  // Standing still, a life lasts so long. Authors: each life begins with fire, so that lives follow
  // each other with nothing done. Nature: the next ball waits for the player to fire.
  authors->Reset(2);
  int lost = 0;
  for (int k = 0; k < 200; ++k) {
    authors->Step({.indices = Same(*authors, 0)});
    lost += authors->terminated()[0];
  }
  EXPECT_GE(lost, 5);
  nature->Reset(2);
  lost = 0;
  for (int k = 0; k < 200; ++k) {
    nature->Step({.indices = Same(*nature, 0)});
    lost += nature->terminated()[0];
  }
  EXPECT_EQ(lost, 1);
  // Machado: the game is not begun by anyone.
  machado->Reset(2);
  for (int k = 0; k < 200; ++k) {
    machado->Step({.indices = Same(*machado, 0)});
    ASSERT_FALSE(machado->ended(0));
  }
}

// Episodes and games that end in so many steps of random play.
struct Ends {
  int episodes = 0, games = 0;
};

Ends CountEnds(Environment& environment, int steps, int episodes_per_game) {
  Ends ends;
  environment.Reset(3);
  EXPECT_FALSE(environment.game_ended(0)) << "a game has begun, none has ended";
  FixedPolicy policy("random", environment.spec(), 5);
  for (int k = 0; k < steps; ++k) {
    environment.Step(policy.Act(environment.observations()));
    const bool ended = environment.ended(0), game_ended = environment.game_ended(0);
    EXPECT_TRUE(ended || !game_ended);
    ends.episodes += ended ? 1 : 0;
    if (!game_ended) continue;
    ++ends.games;
    EXPECT_EQ(ends.episodes, episodes_per_game * ends.games);
  }
  return ends;
}

TEST_F(FullAtari, AGameEndsWithItsLastLife) {
  const auto nature = Make("atari/breakout", WithProtocol(Protocol::kNature));
  const auto authors = Make("atari/breakout", WithProtocol(Protocol::kAuthors));
  EnvironmentOptions drawn = WithProtocol(Protocol::kNature);
  drawn.render = true;  // by the worker's own class
  const auto own = Make("atari/breakout", drawn);
  for (const auto* env : {&nature, &authors, &own}) {
    EXPECT_GE(CountEnds(**env, 700, 5).games, 2);  // Breakout has five lives
  }
  const auto machado = Make("atari/breakout", WithProtocol(Protocol::kMachado));
  EXPECT_GE(CountEnds(*machado, 700, 1).games, 2);
}

TEST_F(FullAtari, ModeAndDifficultyAreOfTheGameAndTheRestOfTheProtocol) {
  EnvironmentOptions options = WithProtocol(Protocol::kNature);
  const auto usual = Make("atari/pong", options);
  options.kwargs = R"({"difficulty": 1})";
  const auto hard = Make("atari/pong", options);
  options.kwargs = R"({"difficulty": 0, "mode": 0})";
  const auto same = Make("atari/pong", options);
  for (const auto* env : {&usual, &hard, &same}) (*env)->Reset(2);
  EXPECT_EQ(Shown(*same, 0), Shown(*usual, 0));
  ExpectSame(*usual, *same, 40, 3);
  // The opponent's bat is what the difficulty changes; it shows once the game has begun.
  for (int k = 0; k < 40; ++k) hard->Step({.indices = Same(*hard, 0)});
  usual->Reset(2);
  for (int k = 0; k < 40; ++k) usual->Step({.indices = Same(*usual, 0)});
  EXPECT_NE(Shown(*hard, 0), Shown(*usual, 0));

  const auto refused = [&](const std::string& kwargs, const std::vector<std::string>& words) {
    options.kwargs = kwargs;
    ExpectError(kBad, words, [&] { Make("atari/pong", options); });
  };
  refused(R"({"frameskip": 1})", {"env.kwargs", "frameskip", "env.protocol decides it"});
  refused(R"({"repeat_action_probability": 0.5})", {"env.kwargs", "env.sticky decides it"});
  refused(R"({"difficulty": 9})", {"env.kwargs", "difficulty", "0, 1", "9"});
  refused(R"({"mode": true})", {"env.kwargs", "mode"});
  refused(R"({"sound_obs": true})", {"env.kwargs", "sound_obs", "mode and difficulty"});
}

TEST_F(FullAtari, ACutEndsTheGameWithAllItsLives) {
  EnvironmentOptions options = WithProtocol(Protocol::kNature);
  options.max_episode_steps = 10;  // no ball is lost that fast
  const auto env = Make("atari/breakout", options);
  EXPECT_EQ(CountEnds(*env, 35, 1).games, 3);
}

TEST_F(FullAtari, EveryGameOfThePaperStarts) {
  for (const EnvironmentListing& entry : ListEnvironments()) {
    if (!entry.id.starts_with("atari/") || entry.id.find('<') != std::string::npos) continue;
    const auto env = Make(entry.id);
    EXPECT_EQ(env->spec().id, entry.id);
    EXPECT_GE(env->spec().action.n, 3);
    env->Reset(1);
    FixedPolicy policy("random", env->spec(), 1);
    for (int k = 0; k < 5; ++k) env->Step(policy.Act(env->observations()));
    EXPECT_GT(*std::ranges::max_element(env->observations().bytes), 0);
  }
}

TEST_F(Bridge, BenchmarkComparesWithPythonAlone) {
  const auto env = Faulty("Counter", {.num_envs = 3});
  const EnvironmentTiming timing = MeasureEnvironment(*env, .3);
  ASSERT_TRUE(timing.ratio);
  EXPECT_GT(*timing.python_steps_per_second, 0);
  EXPECT_NEAR(*timing.ratio, timing.steps_per_second / *timing.python_steps_per_second, 1);
}

using BenchAtari = Bridge;

// The best of a few tries: other work on the machine disturbs two processes more than one.
TEST_F(BenchAtari, TheBridgeKeepsNineTenthsOfTheSpeed) {
  const auto env = Make("atari/pong", WithProtocol(Protocol::kMachado, 8));
  double best = 0;
  for (int attempt = 0; attempt < 6 && best <= .9; ++attempt) {
    best = std::max(best, *MeasureEnvironment(*env, 4).ratio);
  }
  EXPECT_GT(best, .9);
}

}  // namespace stableaa::gymnasium_environment_test
