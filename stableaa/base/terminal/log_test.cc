#include "stableaa/base/terminal/log.h"

#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "stableaa/base/terminal/live_line.h"

namespace stableaa::log_test {

class LogTest : public testing::Test {
 protected:
  LogTest() { testing::internal::CaptureStderr(); }
  ~LogTest() override { SetLogLevel(LogLevel::kInfo); }

  static std::string Written() { return testing::internal::GetCapturedStderr(); }
};

TEST_F(LogTest, SaysWhoSpeaksAndWarnings) {
  LogDebug("hidden by default");
  LogInfo("resuming at step 5");
  LogWarning("slow disk");
  EXPECT_EQ(Written(), "stableaa: resuming at step 5\nstableaa: warning: slow disk\n");
}

TEST_F(LogTest, TheLevelDecidesWhatIsShown) {
  SetLogLevel(LogLevel::kDebug);
  LogDebug("a");
  SetLogLevel(LogLevel::kWarning);
  LogInfo("b");
  LogWarning("c");
  SetLogLevel(LogLevel::kSilent);
  LogWarning("d");
  EXPECT_EQ(Written(), "stableaa: debug: a\nstableaa: warning: c\n");
}

TEST_F(LogTest, BracesArePlainText) {
  LogInfo("{} {0} %s");
  EXPECT_EQ(Written(), "stableaa: {} {0} %s\n");
}

TEST_F(LogTest, AMessageStaysOneLineThatCommandsNothing) {
  LogWarning("a\nstableaa: error: b\x1b[2J\u009b1m\u202e\xff");
  EXPECT_EQ(Written(), "stableaa: warning: a\\nstableaa: error: b\\u001B[2J\\u009B1m\\u202E?\n");
}

TEST_F(LogTest, StdoutStaysEmpty) {
  testing::internal::CaptureStdout();
  LogWarning("a");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  Written();
}

TEST_F(LogTest, ALiveLineIsClearedAndDrawnAgain) {
  const int owner = 0;
  DrawLiveLine(stderr, &owner, "bar");
  LogInfo("a");
  EraseLiveLine(&owner);
  LogInfo("b");
  EXPECT_EQ(Written(), "\r\x1b[Kbar\r\x1b[Kstableaa: a\nbar\r\x1b[Kstableaa: b\n");
}

TEST_F(LogTest, LinesOfSeveralThreadsStayWhole) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) LogInfo("0123456789");
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::istringstream lines(Written());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_EQ(line, "stableaa: 0123456789");
  }
  EXPECT_EQ(count, 2000);
}

}  // namespace stableaa::log_test
