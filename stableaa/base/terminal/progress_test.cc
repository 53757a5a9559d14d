#include "stableaa/base/terminal/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "stableaa/base/terminal/live_line.h"

namespace stableaa::progress_test {

using Mode = ProgressOptions::Mode;

// A file in place of the terminal and a clock that only moves when told to.
class ProgressTest : public testing::Test {
 protected:
  ~ProgressTest() override { std::fclose(stream_); }

  ProgressOptions Options(Mode mode, std::uint64_t total) {
    ProgressOptions options;
    options.label = "train";
    options.total = total;
    options.mode = mode;
    options.stream = stream_;
    options.clock = [this] { return now_; };
    return options;
  }

  std::string Written() {
    std::fflush(stream_);
    std::rewind(stream_);
    std::string text;
    for (int c = std::fgetc(stream_); c != EOF; c = std::fgetc(stream_)) {
      text += static_cast<char>(c);
    }
    return text;
  }

  // The last text drawn on the live line.
  std::string LastDrawn() {
    const std::string text = Written();
    return text.substr(text.rfind("\x1b[K") + 3);
  }

  int Draws() {
    const std::string text = Written();
    int count = 0;
    for (std::size_t i = text.find("\x1b[K"); i != std::string::npos;
         i = text.find("\x1b[K", i + 1)) {
      ++count;
    }
    return count;
  }

  std::FILE* stream_ = std::tmpfile();
  double now_ = 100;
};

TEST_F(ProgressTest, PlainLinesComeAtMostEveryTenSecondsAndOnceAtTheEnd) {
  Progress progress(Options(Mode::kPlain, 1'000'000));
  for (int i = 0; i < 200; ++i) {
    now_ += 0.125;
    progress.Advance(500);
  }
  progress.Note("gap 1e-3");
  progress.Finish();
  progress.Finish();
  progress.Advance();
  EXPECT_EQ(Written(),
            "train: 4%, 40k/1M steps, 4k/s, 4m00s left\n"
            "train: 8%, 80k/1M steps, 4k/s, 3m50s left\n"
            "train: 100k steps in 25s, 4k/s, gap 1e-3\n");
}

// Training: random play of 1000 steps per second until step 12000, then 100 per second, and an
// evaluation of 10 s after every 1000 steps.
TEST_F(ProgressTest, RemainingTimeComesFromSteadyWorkAndPauses) {
  double evaluating = 0;
  ProgressOptions options = Options(Mode::kPlain, 20'000);
  options.steady_from = 12'000;
  options.pauses = {{1000, [&] { return evaluating; }}, {0, [] { return 0.; }}};
  Progress progress(options);
  for (int step = 1; step <= 15'000; ++step) {
    now_ += step <= 12'000 ? .001 : .01;
    if (step > 12'000 && step % 1000 == 0) {
      evaluating += 10;
      now_ += 10;
    }
    progress.Set(static_cast<std::uint64_t>(step));
  }
  progress.Finish();
  EXPECT_EQ(Written(),
            "train: 50%, 10k/20k steps, 1k/s, ? left\n"
            "train: 64%, 13k/20k steps, 100/s, 1m12s left\n"
            "train: 65%, 13k/20k steps, 50/s, 2m20s left\n"
            "train: 70%, 14k/20k steps, 50/s, 2m00s left\n"
            "train: 75%, 15k/20k steps, 50/s, 1m40s left\n"
            "train: 15k steps in 1m12s, 50/s\n");
}

TEST_F(ProgressTest, AShortRunsSummaryHasTheRateOfSteadyWork) {
  ProgressOptions options = Options(Mode::kPlain, 1000);
  options.steady_from = 900;
  Progress progress(options);
  progress.Set(900);
  now_ += 1;
  progress.Set(901);
  now_ += 1;
  progress.Set(911);
  progress.Finish();
  EXPECT_EQ(Written(), "train: 911 steps in 2.0s, 10/s\n");
}

TEST_F(ProgressTest, LabelAndNoteCommandNoTerminal) {
  for (const Mode mode : {Mode::kPlain, Mode::kTerminal}) {
    ProgressOptions options = Options(mode, 0);
    options.label = "a\x1b]0;b\x07\n";
    Progress progress(options);
    progress.Note("\u009b2J\u202e\xff");
    now_ += 10;
    progress.Set(8500);
    progress.Finish();
  }
  const std::string text = Written();
  EXPECT_NE(text.find("a\\u001B]0;b\\u0007\\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\\u009B2J\\u202E?"), std::string::npos) << text;
  EXPECT_EQ(text.find("\x1b]"), std::string::npos);
  EXPECT_EQ(text.find("\u009b"), std::string::npos);
}

TEST_F(ProgressTest, WithoutATotalElapsedTimeStandsForRemaining) {
  Progress progress(Options(Mode::kPlain, 0));
  now_ += 10;
  progress.Set(8500);
  EXPECT_EQ(Written(), "train: 8.5k steps, 850/s, 10s elapsed\n");
}

TEST_F(ProgressTest, WithoutAUnitTheCountIsOnlyAShare) {
  ProgressOptions options = Options(Mode::kPlain, 1000);
  options.unit = "";
  Progress progress(options);
  progress.Note("gap 1e-3");
  now_ += 10;
  progress.Set(0);
  now_ += 10;
  progress.Set(200);
  progress.Finish();
  EXPECT_EQ(Written(),
            "train: 0%, 10s elapsed, gap 1e-3\n"
            "train: 20%, 20s elapsed, 1m20s left, gap 1e-3\n"
            "train: 20s, gap 1e-3\n");
}

TEST_F(ProgressTest, ByItselfItIsRedrawnThoughNobodyCalls) {
  ProgressOptions options = Options(Mode::kTerminal, 0);
  options.unit = "";
  options.by_itself = true;
  options.clock = {};
  for (int milliseconds = 500; milliseconds <= 32'000; milliseconds *= 4) {  // in case it is busy
    {
      const Progress progress(options);
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    }
    if (Draws() >= 2) break;
  }
  EXPECT_GE(Draws(), 2);
  EXPECT_EQ(LastDrawn(), "");
  EXPECT_NE(Written().find("train  0."), std::string::npos) << Written();
}

TEST_F(ProgressTest, AFileOrPipeIsNoTerminal) {
  EXPECT_FALSE(IsOnTerminal(Options(Mode::kAuto, 10)));
  EXPECT_TRUE(IsOnTerminal(Options(Mode::kTerminal, 10)));
  Progress progress(Options(Mode::kAuto, 10));
  now_ += 1;
  progress.Advance(10);
  progress.Finish();
  EXPECT_EQ(Written(), "train: 10 steps in 1.0s, 10/s\n");
}

TEST_F(ProgressTest, SilentWritesNothing) {
  Progress progress(Options(Mode::kSilent, 10));
  now_ += 1000;
  progress.Advance(10);
  progress.Finish();
  EXPECT_EQ(Written(), "");
}

TEST_F(ProgressTest, TheBarIsRedrawnAtMostTenTimesASecond) {
  Progress progress(Options(Mode::kTerminal, 1'000'000));
  for (int i = 0; i < 1'000'000; ++i) {
    now_ += 1e-6;
    progress.Advance();
  }
  EXPECT_GE(Draws(), 9);
  EXPECT_LE(Draws(), 10);
}

TEST_F(ProgressTest, TheBarShowsPercentageRateRemainingTimeAndNote) {
  Progress progress(Options(Mode::kTerminal, 1000));
  progress.Note("gap 1e-3");
  now_ += 1;
  progress.Set(455);
  const std::string line = LastDrawn();
  EXPECT_TRUE(line.starts_with("train  45% |")) << line;
  EXPECT_TRUE(line.ends_with("| 455/1k steps  455/s  1.2s left  gap 1e-3")) << line;
}

TEST_F(ProgressTest, TheBarEndsInOnePlainLine) {
  Progress progress(Options(Mode::kTerminal, 10));
  now_ += 1;
  progress.Advance(10);
  progress.Finish();
  EXPECT_TRUE(Written().ends_with("\r\x1b[Ktrain: 10 steps in 1.0s, 10/s\n")) << Written();
}

TEST_F(ProgressTest, WithoutFinishTheLineIsClearedAndNothingIsClaimed) {
  {
    Progress progress(Options(Mode::kTerminal, 10));
    now_ += 1;
    progress.Advance(5);
  }
  EXPECT_TRUE(Written().ends_with("left\r\x1b[K")) << Written();
}

std::size_t Characters(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

TEST_F(ProgressTest, TheBarFitsAnyWidth) {
  for (int columns = 1; columns <= 200; ++columns) {
    ProgressOptions options = Options(Mode::kTerminal, 1000);
    options.columns = columns;
    Progress progress(options);
    progress.Note("größe");
    now_ += 1;
    progress.Set(555);
    EXPECT_LT(Characters(LastDrawn()), static_cast<std::size_t>(std::max(columns, 2)));
  }
}

TEST_F(ProgressTest, ARateFollowsAChangeOfPace) {
  Progress progress(Options(Mode::kTerminal, 0));
  for (int i = 0; i < 600; ++i) {
    now_ += 0.1;
    progress.Advance(i < 300 ? 100 : 10);
  }
  EXPECT_EQ(LastDrawn(), "train  33k steps  100/s  1m00s elapsed");
}

TEST_F(ProgressTest, AResumedRunDoesNotCountWhatWasDoneBefore) {
  ProgressOptions options = Options(Mode::kPlain, 2000);
  options.start = 1000;
  Progress progress(options);
  now_ += 10;
  progress.Advance(100);
  EXPECT_EQ(Written(), "train: 55%, 1.1k/2k steps, 10/s, 1m30s left\n");
}

TEST_F(ProgressTest, MoreThanTheTotalStaysAtAHundredPercent) {
  Progress progress(Options(Mode::kTerminal, 10));
  now_ += 1;
  progress.Set(25);
  EXPECT_NE(LastDrawn().find("100%"), std::string::npos);
}

TEST_F(ProgressTest, ThreadsCountTogether) {
  Progress progress(Options(Mode::kTerminal, 40'000));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) progress.Advance();
      progress.Note("done");
    });
  }
  for (std::thread& thread : threads) thread.join();
  now_ += 1;
  progress.Finish();
  EXPECT_EQ(Written(), "train: 40k steps in 1.0s, 40k/s, done\n");
}

TEST_F(ProgressTest, AMessageGoesAboveTheBar) {
  Progress progress(Options(Mode::kTerminal, 0));
  now_ += 1;
  progress.Advance();
  const std::string bar = LastDrawn();
  WriteLine(stream_, "a message");
  EXPECT_TRUE(Written().ends_with("\r\x1b[Ka message\n" + bar)) << Written();
}

TEST(HumanCount, KeepsTwoOrThreeDigits) {
  const std::pair<double, std::string> cases[] = {
      {0, "0"},       {0.034, "0.034"}, {0.5, "0.5"},  {1, "1"},       {1.25, "1.2"},
      {850, "850"},   {999.4, "999"},   {999.6, "1k"}, {1000, "1k"},   {1234, "1.2k"},
      {12345, "12k"}, {1.2e6, "1.2M"},  {1e9, "1G"},   {999999, "1M"}, {1.8e19, "18E"}};
  for (const auto& [count, text] : cases) EXPECT_EQ(HumanCount(count), text) << count;
}

TEST(HumanDuration, NamesTheTwoLargestUnits) {
  const std::pair<double, std::string> cases[] = {
      {-1, "0.0s"},     {0.04, "0.0s"},   {3.21, "3.2s"},    {9.99, "10s"},
      {59.4, "59s"},    {59.6, "1m00s"},  {192, "3m12s"},    {3599.9, "1h00m"},
      {18440, "5h07m"}, {86400, "1d00h"}, {183600, "2d03h"}, {1e300, "ages"}};
  for (const auto& [seconds, text] : cases) EXPECT_EQ(HumanDuration(seconds), text) << seconds;
}

}  // namespace stableaa::progress_test
