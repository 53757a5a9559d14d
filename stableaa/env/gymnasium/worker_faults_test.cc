// The bridge: what its workers do wrong, and how they end.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

#include "stableaa/base/process/process_test.h"
#include "stableaa/core/error.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/env/gymnasium/bridge_test.h"
#include "stableaa/env/gymnasium/gymnasium_environment.h"
#include "stableaa/env/registry.h"
#include "stableaa/testing/message.h"

namespace stableaa::worker_faults_test {

using bridge_test::Bridge;
using bridge_test::ExpectError;
using bridge_test::FirstWorker;
using bridge_test::kBad;
using bridge_test::kFailed;
using bridge_test::Same;

// Below the default env.timeout_seconds of 60, but generous, for busy machines.
constexpr double kBeforeTheTimeout = 50;

TEST_F(Bridge, ErrorsOfAnEnvironmentAreToldInOneLine) {
  const auto env = Faulty("Raises");
  env->Reset(1);
  env->Step({.indices = Same(*env, 0)});
  env->Step({.indices = Same(*env, 0)});
  ExpectError(kFailed, {"Raises-v0", "ValueError: the third step is one too many"},
              [&] { env->Step({.indices = Same(*env, 0)}); });
  EXPECT_THROW(env->Step({.indices = Same(*env, 0)}), std::logic_error);
  env->Reset(2);  // the worker is still alive
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
  // Innermost call first; characters that a terminal would obey are escaped.
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
  // Gymnasium's wrapper cannot use what it returns, so the error appears there.
  const auto old = Faulty("OldApi");
  old->Reset(1);
  ExpectError(kFailed, {"expected 5, got 4", "gymnasium/wrappers/", " in step"},
              [&] { old->Step({.indices = Same(*old, 0)}); });
  // If a module cannot be imported, the error names the module's line.
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
  // Sooner than the default env.timeout_seconds of 60, which it does not mention.
  EXPECT_NE(told.find("has not answered for 10 s; it was killed"), std::string::npos) << told;
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
  reward->Reset(1);  // still works
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

TEST_F(Bridge, APythonThatIsMissingOrLacksPackagesSaysWhatToDo) {
  ExpectError(kFailed, {"no-such-python", "env.python", "scripts/atari"},
              [] { MakeEnvironment("atari/pong", {.python = "/no-such-python"}); });
  ExpectError(kFailed, {"scripts/atari"},
              [] { MakeEnvironment("atari/pong", {.python = "no-such-python-in-path"}); });
  ExpectError(kFailed, {"env.python"},
              [] { MakeEnvironment("atari/pong", {.python = "/etc/passwd"}); });
  // The system's Python, which has neither ale-py nor numpy.
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
  EXPECT_LT(stopwatch.Seconds(), kBeforeTheTimeout);
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
    if (name == "Stopped") ::kill(pid, SIGSTOP);  // as a debugger would
    const Stopwatch stopwatch;
    ExpectError(kFailed, {"has not answered for 0.5 s", "env.timeout_seconds"},
                [&] { env->Step({.indices = Same(*env, 0)}); });
    EXPECT_LT(stopwatch.Seconds(), kBeforeTheTimeout);
    EXPECT_FALSE(IsAlive(pid));
  }
  // A worker in the middle of something ends together with its environment.
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
  EXPECT_LT(stopwatch.Seconds(), kBeforeTheTimeout);
}

TEST_F(Bridge, AnEnvironmentThatHangsWhileItIsMadeIsGivenUp) {
  const Stopwatch stopwatch;
  ExpectError(kFailed, {"has not answered for 4 s"},
              [] { Faulty("HangsInMake", {.timeout_seconds = 4}); });
  EXPECT_LT(stopwatch.Seconds(), kBeforeTheTimeout);
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
  EXPECT_TRUE(DiesWithin(worker, 60));
  EXPECT_TRUE(DiesWithin(grandchild, 60));
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
    EXPECT_TRUE(DiesWithin(worker, 60)) << (busy ? "busy" : "idle");
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
  // It repeats its argument, /dev/fd/5, and may be killed in the middle of a line; on a busy
  // machine it takes longer to start.
  std::string message;
  for (const double timeout : {.5, 5., 50.}) {
    message = MessageOf(
        [&] {
          MakeEnvironment("atari/pong", {.python = "/usr/bin/yes", .timeout_seconds = timeout});
        },
        kFailed);
    if (message.find("it last wrote") != std::string::npos) break;
  }
  EXPECT_NE(message.find("has not answered"), std::string::npos) << message;
  EXPECT_NE(message.find("it last wrote: /"), std::string::npos) << message;
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

}  // namespace stableaa::worker_faults_test
