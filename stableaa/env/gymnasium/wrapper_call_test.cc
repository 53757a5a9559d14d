#include "stableaa/env/gymnasium/wrapper_call.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"

namespace stableaa::wrapper_call_test {

TEST(WrapperCall, NamesWithoutADotAreGymnasiums) {
  const WrapperCall plain = ParseWrapper("GrayscaleObservation");
  EXPECT_EQ(plain.name, "gymnasium.wrappers.GrayscaleObservation");
  EXPECT_EQ(plain.arguments, "()");
  const WrapperCall limit = ParseWrapper("TimeLimit(max_episode_steps=50)");
  EXPECT_EQ(limit.name, "gymnasium.wrappers.TimeLimit");
  EXPECT_EQ(limit.arguments, "(max_episode_steps=50)");
  const WrapperCall mine = ParseWrapper("my.module_2.Crop(a=(1, 'x.y('), b=[])");
  EXPECT_EQ(mine.name, "my.module_2.Crop");
  EXPECT_EQ(mine.arguments, "(a=(1, 'x.y('), b=[])");
}

TEST(WrapperCall, OnlyOnesOfGymnasiumThatWriteNoFilesAreHarmless) {
  for (const std::string text :
       {"TimeLimit(max_episode_steps=5)", "gymnasium.wrappers.TimeLimit"}) {
    EXPECT_TRUE(ParseWrapper(text).is_harmless()) << text;
  }
  for (const std::string text :
       {"mine.TimeLimit", "gymnasium.TimeLimit", "gymnasium.wrappers.rendering.TimeLimit",
        "gymnasium.wrappers.vector.TimeLimit", "gymnasium.wrapper.TimeLimit",
        "RecordVideo(video_folder='x')", "gymnasium.wrappers.RecordVideo",
        "gymnasium.wrappersx.A"}) {
    EXPECT_FALSE(ParseWrapper(text).is_harmless()) << text;
  }
}

TEST(WrapperCall, StatisticsAreKeptByWhatNormalises) {
  for (const std::string text :
       {"NormalizeReward", "gymnasium.wrappers.NormalizeObservation(epsilon=1)"}) {
    EXPECT_TRUE(ParseWrapper(text).keeps_statistics()) << text;
    EXPECT_TRUE(ParseWrapper(text).is_called_normalize()) << text;
  }
  EXPECT_FALSE(ParseWrapper("mine.Normalize").keeps_statistics());
  EXPECT_TRUE(ParseWrapper("mine.Normalize").is_called_normalize());
  EXPECT_FALSE(ParseWrapper("Normalize.Crop").is_called_normalize());
}

TEST(WrapperCall, WhatIsNoCallIsBadInput) {
  for (const std::string text :
       {"",           " ",     "(",      "()",   "a b",
        "1a",         ".a",    "a.",     "a..b", "a(",
        "a(b",        "a)",    "a(b) c", " a",   "ResizeObservation(shape=(84",
        "84))",       "a;b",   "a-b",    "a/b",  "a:b",
        "\xC3\xA4.b", "a\n.b", "a.b(\n)"}) {
    const std::string message = MessageOf([&] { return ParseWrapper(text); });
    EXPECT_TRUE(message.starts_with("env.wrappers: expected wrappers such as")) << text << message;
    EXPECT_EQ(message.find('\n'), message.npos);
  }
  EXPECT_NO_THROW(ParseWrapper("a(" + std::string(4000, ' ') + ")"));
  EXPECT_THROW(ParseWrapper("a(" + std::string(5000, ' ') + ")"), Error);
  EXPECT_EQ(ParseWrappers(std::vector<std::string>(64, "a.b")).size(), 64U);
  EXPECT_EQ(MessageOf([] { return ParseWrappers(std::vector<std::string>(65, "a.b")); }),
            "env.wrappers: expected at most 64 wrappers, found 65");
}

}  // namespace stableaa::wrapper_call_test
