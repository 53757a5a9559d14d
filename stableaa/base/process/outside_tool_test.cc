#include "stableaa/base/process/outside_tool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "stableaa/base/process/interrupt.h"
#include "stableaa/core/error.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/testing/message.h"

namespace stableaa::outside_tool_test {

class ToolWatchTest : public testing::Test {
 protected:
  ~ToolWatchTest() override {
    ::unsetenv("STABLEAA_TOOL_SECONDS");
    const InterruptGuard forgets_the_interrupt;  // or later tests in this process would see it
  }

  static void SetSeconds(const std::string& text) {
    ::setenv("STABLEAA_TOOL_SECONDS", text.c_str(), 1);
  }
};

TEST_F(ToolWatchTest, TheEnvironmentSetsTheSeconds) {
  ::unsetenv("STABLEAA_TOOL_SECONDS");
  EXPECT_EQ(ToolSeconds(), 60);
  SetSeconds("");
  EXPECT_EQ(ToolSeconds(), 60);
  SetSeconds("600");
  EXPECT_EQ(ToolSeconds(), 600);
  SetSeconds("2.5");
  EXPECT_EQ(ToolSeconds(), 2.5);
}

TEST_F(ToolWatchTest, WhatIsNoNumberOfSecondsIsBadInput) {
  for (const std::string text : {"0", "-1", "nan", "inf", "1e7", "5 s", "x\n", " 5"}) {
    SetSeconds(text);
    EXPECT_TRUE(MessageOf(ToolSeconds).starts_with("STABLEAA_TOOL_SECONDS: expected")) << text;
  }
}

TEST_F(ToolWatchTest, ASignOfLifeBeginsTheTimeAnew) {
  SetSeconds("0.2");
  ToolWatch watch("x");
  const Stopwatch whole;
  while (whole.Seconds() < .5) {  // a busy machine may need longer than the limit for one line
    ::usleep(60'000);
    const Stopwatch since;
    watch.SignOfLife();
    try {
      watch.Check();
    } catch (const Error&) {
      EXPECT_GT(since.Seconds(), .2);
    }
  }
  ::usleep(250'000);
  EXPECT_THROW(watch.Check(), Error);
}

TEST_F(ToolWatchTest, AnInterruptOfTheTimeBeforeIsNotItsOwn) {
  const InterruptGuard guard;
  const ToolWatch first("x");
  first.Check();
  ::raise(SIGINT);
  EXPECT_THROW(first.Check(), Error);
  const ToolWatch second("x");
  second.Check();
}

}  // namespace stableaa::outside_tool_test
