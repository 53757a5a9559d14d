// The bridge: wrappers around Gymnasium's environments, and the images they show.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/env/gymnasium/bridge_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::wrappers_test {

using bridge_test::Bridge;
using bridge_test::ExpectError;
using bridge_test::kBad;
using bridge_test::kFailed;
using bridge_test::Same;
using bridge_test::Shown;

using Texts = std::vector<std::string>;

class Wrappers : public Bridge {
 protected:
  static std::unique_ptr<Environment> Counter(const Texts& wrappers,
                                              EnvironmentOptions options = {}) {
    options.wrappers = wrappers;
    return Faulty("Counter", options);
  }
  static std::unique_ptr<Environment> Pixels(const std::string& kwargs,
                                             const Texts& wrappers = {}) {
    return Make("gymnasium/sample_wrappers_test:Pixels-v0",
                {.kwargs = kwargs, .wrappers = wrappers});
  }
  static void ExpectRefused(const Texts& wrappers, std::vector<std::string> words) {
    words.insert(words.begin(), "gymnasium/faulty_environments_test:Counter-v0: env.wrappers: ");
    ExpectError(kBad, words, [&] { Counter(wrappers); });
  }
};

// The third element counts the steps of the episode.
float StepsShown(Environment& env) {
  env.Reset(1);
  env.Step({.indices = Same(env, 0)});
  return env.observations().floats[2];
}

TEST_F(Wrappers, GoAroundTheEnvironmentTheFirstInnermost) {
  EXPECT_EQ(StepsShown(*Counter({})), 1);
  EXPECT_EQ(StepsShown(*Counter({"sample_wrappers_test.Scale(by=3)"})), 3);
  EXPECT_EQ(StepsShown(*Counter(
                {"sample_wrappers_test.Scale(by=3)", "sample_wrappers_test.Scale(sides=(10, 1))"})),
            13);
  EXPECT_EQ(StepsShown(*Counter(
                {"sample_wrappers_test.Scale(sides=(10, 1))", "sample_wrappers_test.Scale(by=3)"})),
            33);
  EXPECT_EQ(StepsShown(*Counter({"sample_wrappers_test.scaled_twice(by=3)"})), 9);
}

TEST_F(Wrappers, TakeArgumentsAsPythonWritesThem) {
  EXPECT_EQ(StepsShown(*Counter({"sample_wrappers_test.Scale(2.5)"})), 2.5);
  EXPECT_EQ(StepsShown(*Counter({"sample_wrappers_test.Scale(name=\"a(b)\", by=-1)"})), 3);
  EXPECT_EQ(StepsShown(*Counter({"sample_wrappers_test.Scale(extra={'x': 40}, )"})), 41);
  EXPECT_EQ(StepsShown(*Counter({"sample_wrappers_test.Scale(extra=None)"})), 1);
}

TEST_F(Wrappers, OfGymnasiumDecideTheSpacesAndTheLimit) {
  const auto stacked = Counter({"FrameStackObservation(stack_size=3, padding_type='zero')"});
  EXPECT_EQ(stacked->spec().observation.shape, (std::vector<int>{3, 4}));
  EXPECT_EQ(stacked->spec().max_episode_steps, 20);
  EXPECT_EQ(stacked->spec().protocol,
            "as Gymnasium's, in FrameStackObservation(stack_size=3, padding_type='zero')");
  EXPECT_EQ(Counter({"gymnasium.wrappers.TimeLimit(7)"})->spec().max_episode_steps, 7);
  EXPECT_EQ(Counter({"TimeLimit(max_episode_steps=90)"})->spec().max_episode_steps, 20);
  const auto few = Make("gymnasium/Pendulum-v1", {.wrappers = {"DiscretizeAction(bins=5)"}});
  EXPECT_EQ(few->spec().action, Space::Discrete(5));
}

TEST_F(Wrappers, AreSeparateInEachEnvironmentOfABatch) {
  const Texts wrappers = {"sample_wrappers_test.Remembers", "FrameStackObservation(stack_size=2)"};
  const auto alone = Counter(wrappers);
  const auto batch = Counter(wrappers, {.num_envs = 3, .workers = 2});
  alone->Reset(4);
  batch->Reset(4);
  for (int k = 0; k < 30; ++k) {
    alone->Step({.indices = Same(*alone, k % 7 == 6 ? 2 : 0)});
    batch->Step({.indices = Same(*batch, k % 7 == 6 ? 2 : 0)});
    ASSERT_EQ(Shown(*alone, 0), Shown(*batch, 0)) << k;
  }
}

TEST_F(Wrappers, AreRebuiltByPlayingAgainUnlessTheyRememberEarlierEpisodes) {
  const auto saved = [](const Texts& wrappers) {
    const auto env = Counter(wrappers);
    env->Reset(4);
    for (int k = 0; k < 30; ++k) env->Step({.indices = Same(*env, k % 7 == 6 ? 2 : 0)});
    ByteWriter out;
    env->Save(out);
    const auto shown = Shown(*env, 0);
    const auto other = Counter(wrappers);
    ByteReader in(out.bytes(), "state");
    other->Load(in);
    return std::pair(shown, Shown(*other, 0));
  };
  const auto [before, after] = saved({"FrameStackObservation(stack_size=3)", "ClipReward(-1, 1)"});
  EXPECT_EQ(std::vector<double>(before.begin() + 3, before.end()),
            std::vector<double>(after.begin() + 3, after.end()));
  ExpectError(kFailed,
              {"led elsewhere",
               "one of its wrappers remembers earlier episodes "
               "(sample_wrappers_test.Remembers)"},
              [&] { saved({"sample_wrappers_test.Remembers"}); });
  for (const std::string name : {"NormalizeObservation", "NormalizeReward"}) {
    ExpectError(
        kFailed,
        {"env.wrappers: gymnasium.wrappers." + name + " has statistics of earlier episodes"},
        [&] { saved({name}); });
  }
}

TEST_F(Wrappers, ThatDoNotExistAreBadInputWithWhatWasMeant) {
  ExpectRefused({"FrameStack(4)"}, {"gymnasium.wrappers.FrameStack: Gymnasium has no such wrapper",
                                    "did you mean 'FrameStackObservation'?"});
  ExpectRefused({"timelimit"}, {"did you mean 'TimeLimit'?"});
  ExpectRefused({"Nonsense"}, {"my_module.MyWrapper"});
  ExpectRefused({"vector"}, {"Gymnasium has no such wrapper"});
  ExpectRefused({"gymnasium.wrappers.importlib"}, {"Gymnasium has no such wrapper"});
  ExpectRefused({"sample_wrappers_test.Scal(2)"},
                {"has no class 'Scal'", "did you mean 'sample_wrappers_test.Scale'?"});
  ExpectRefused({"no_such_module.Thing"}, {"ModuleNotFoundError", "no_such_module", "PYTHONPATH"});
  ExpectRefused({"broken_environments_test.Thing"}, {"cannot be imported", "raised at"});
}

TEST_F(Wrappers, ThatRaiseAreBadInputWithWhere) {
  ExpectRefused({"sample_wrappers_test.Raises"},
                {"sample_wrappers_test.Raises raised ValueError: no init at all; raised at /",
                 "sample_wrappers_test.py:", "in check, called at", "in __init__"});
  ExpectRefused({"sample_wrappers_test.Leaves"}, {"SystemExit: 3"});
  ExpectRefused({"sample_wrappers_test.Unfinished"}, {"Unfinished raised AttributeError"});
  ExpectRefused({"sample_wrappers_test.Scale(width=3)"}, {"unexpected keyword argument 'width'"});
  ExpectRefused({"TimeLimit"}, {"TimeLimit raised TypeError", "max_episode_steps"});
  ExpectRefused({"GrayscaleObservation"}, {"GrayscaleObservation raised"});
  ExpectRefused({"sample_wrappers_test.nothing"}, {"expected a gymnasium.Wrapper", "type int"});
  ExpectError(kBad, {"Sequence", "supported are Box"},
              [] { Counter({"sample_wrappers_test.Unlike"}); });
}

TEST_F(Wrappers, ThatRaiseInTheFirstResetAreBadInputAndLaterAFailure) {
  const auto no_reset = Counter({"sample_wrappers_test.Raises(where='reset')"});
  ExpectError(kBad,
              {"no episode can begin with env.wrappers: ValueError: no reset at all",
               "sample_wrappers_test.py:"},
              [&] { no_reset->Reset(1); });
  const auto no_step = Counter({"sample_wrappers_test.Raises(where='step')"});
  no_step->Reset(1);
  ExpectError(kFailed, {"ValueError: no step at all; raised at /", "sample_wrappers_test.py:"},
              [&] { no_step->Step({.indices = Same(*no_step, 0)}); });
}

TEST_F(Wrappers, ThatLackAPackageAreAFailureAsAnEnvironmentIs) {
  ExpectError(kFailed, {"env.wrappers: sample_wrappers_test.NeedsPackage: paint is not installed"},
              [] { Counter({"sample_wrappers_test.NeedsPackage"}); });
  const auto later = Counter({"sample_wrappers_test.NeedsPackage('reset')"});
  ExpectError(kFailed, {"paint is not installed"}, [&] { later->Reset(1); });
}

TEST_F(Wrappers, ArgumentsThatAreNoLiteralsAreBadInput) {
  for (const std::string arguments :
       {"(by=os.getpid())", "(by=x)", "(*[1])", "(**{'by': 2})", "(by=1, by=2)", "(by=)", "(1))()",
        "(by=1)(2)", "(by=lambda: 1)", "(by=[i for i in (1, 2)])", "(by=1+x)", "() + f()"}) {
    ExpectRefused({"sample_wrappers_test.Scale" + arguments},
                  {"sample_wrappers_test.Scale: expected arguments as in Python"});
  }
  ExpectRefused({"sample_wrappers_test.Scale(by=" + std::string(3000, '(') + ")"},
                {"expected arguments as in Python"});
}

TEST_F(Wrappers, OfOnesOwnAreLookedForInTheCurrentFolderLast) {
  const TemporaryFolder folder;
  std::ofstream(folder / "mine.py") << "import gymnasium\nclass Own(gymnasium.Wrapper):\n  pass\n";
  std::ofstream(folder / "sample_wrappers_test.py") << "open('imported', 'w')\n";
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_NO_THROW(Make("gymnasium/CartPole-v1", {.wrappers = {"mine.Own"}}));
  EXPECT_NO_THROW(
      Make("gymnasium/CartPole-v1", {.wrappers = {"sample_wrappers_test.Scale(by=2)"}}));
  std::filesystem::current_path(here);
  EXPECT_FALSE(std::filesystem::exists(folder / "imported"));
}

TEST_F(Wrappers, ThatNeedPicturesGetThem) {
  const auto drawn = Make("gymnasium/sample_wrappers_test:Pixels-v0",
                          {.wrappers = {"AddRenderObservation(render_only=True)"}});
  EXPECT_EQ(drawn->spec().observation, Space::Bytes({16, 24, 3}));
  EXPECT_EQ(drawn->spec().channel_axis, 2);
  const auto asked = Pixels(R"({"render_mode": "rgb_array"})", {"AddRenderObservation"});
  EXPECT_EQ(asked->spec().observation, Space::Bytes({16, 24, 3}));
}

TEST_F(Wrappers, ImagesTellWhichAxisCountsTheirChannels) {
  const auto axis = [](const std::string& shape, const std::string& more = "") {
    return Pixels(fmt::format(R"({{"shape": {}{}}})", shape, more))->spec().channel_axis;
  };
  EXPECT_EQ(axis("[40, 60, 3]"), 2);
  EXPECT_EQ(axis("[40, 60, 1]"), 2);
  EXPECT_EQ(axis("[3, 40, 60]"), 0);
  EXPECT_EQ(axis("[4, 84, 84]"), 0);
  EXPECT_EQ(axis("[12, 84, 84]"), 0);
  EXPECT_EQ(axis("[10, 10, 6]"), 2);
  EXPECT_EQ(axis("[10, 10, 10]"), 2);
  EXPECT_EQ(axis("[40, 60]"), 2) << "one channel, without an axis";
  EXPECT_EQ(axis("[40, 60]", R"(, "floats": true)"), 2);
  EXPECT_EQ(axis("[4, 60]"), -1) << "stacked vectors";
  EXPECT_EQ(axis("[60]"), -1);
  EXPECT_EQ(axis("[4, 40, 60, 3]"), 3);
  EXPECT_EQ(axis("[4, 3, 40, 60]"), 1);
  EXPECT_EQ(axis("[2, 2, 2, 2, 2]"), -1);
  const auto stack =
      Pixels(R"({"shape": [40, 60, 3]})", {"GrayscaleObservation", "FrameStackObservation(4)"});
  EXPECT_EQ(stack->spec().observation.shape, (std::vector<int>{4, 40, 60}));
  EXPECT_EQ(stack->spec().channels(), 4);
  EXPECT_TRUE(stack->spec().is_stack);
  const auto grey = Pixels(R"({"shape": [40, 60]})");
  EXPECT_EQ(grey->spec().channels(), 1);
  EXPECT_FALSE(grey->spec().is_stack);
  const auto tall = Pixels(R"({"shape": [8, 8]})", {"FrameStackObservation(16)"});
  EXPECT_EQ(tall->spec().channels(), 16) << "the axis of the stack, although it is the longest";
  const auto rows = Pixels(R"({"shape": [60]})", {"FrameStackObservation(16)"});
  EXPECT_EQ(rows->spec().channel_axis, -1) << "stacked vectors, although there are many";
  // Vectors whose elements have different bounds are no pixels, however many are stacked.
  EXPECT_EQ(Make("gymnasium/Acrobot-v1",
                 {.wrappers = {"FrameStackObservation(9)", "sample_wrappers_test.Scale"}})
                ->spec()
                .channel_axis,
            -1);
}

TEST_F(Wrappers, OtherEnvironmentsTakeNone) {
  for (const std::string id : {"classic/cartpole", "minatar/breakout"}) {
    ExpectError(kBad, {"env.wrappers: " + id + " takes no wrappers, only gymnasium/"},
                [&] { Make(id, {.wrappers = {"TimeLimit(5)"}}); });
  }
  ExpectError(kBad, {"env.wrappers: atari/pong takes no wrappers", "env.protocol"},
              [] { Make("atari/pong", {.wrappers = {"TimeLimit(5)"}}); });
}

}  // namespace stableaa::wrappers_test
