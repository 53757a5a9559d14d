#include "stableaa/base/terminal/pace.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace stableaa::pace_test {

// Work whose pace is known exactly: units of `seconds`, with pauses after every so many.
struct Work {
  double now = 100;
  std::uint64_t done = 0;
  double evaluating = 0, saving = 0;

  void Do(std::uint64_t units, double seconds) {
    for (std::uint64_t k = 0; k < units; ++k) {
      now += seconds;
      ++done;
      if (done % 500 == 0) Pause(evaluating, 20);
      if (done % 2000 == 0) Pause(saving, 5);
    }
  }

  Pace::Moment moment() const {
    return {.seconds = now, .done = done, .paused = {evaluating, saving}};
  }

 private:
  void Pause(double& sum, double seconds) {
    now += seconds;
    sum += seconds;
  }
};

TEST(Pace, WithoutAWarmUpIsKnownAtOnce) {
  Pace pace({}, 100);
  EXPECT_TRUE(pace.is_known());
  EXPECT_EQ(pace.rate(), 0);
  pace.Add({.seconds = 102, .done = 10});
  EXPECT_EQ(pace.rate(), 5);
  EXPECT_EQ(pace.Average(104, 12), 3);
}

TEST(Pace, FollowsAChangeWithinTwentySeconds) {
  Pace pace({}, 0);
  std::uint64_t done = 0;
  for (int second = 1; second <= 60; ++second) {
    pace.Add({.seconds = static_cast<double>(second), .done = done += 100});
    EXPECT_EQ(pace.rate(), 100);
  }
  for (int second = 61; second <= 80; ++second) {
    pace.Add({.seconds = static_cast<double>(second), .done = done += 10});
  }
  EXPECT_EQ(pace.rate(), 10);
}

// Random play is ten times as fast as learning.
TEST(Pace, OfTheWarmUpSaysNothing) {
  Work work;
  Pace pace({.steady_from = 450}, work.now);
  for (int k = 0; k < 9; ++k) {
    work.Do(50, .001);
    pace.Add({.seconds = work.now, .done = work.done});
    EXPECT_NEAR(pace.rate(), 1000, 1e-6) << "shown all the same";
    EXPECT_FALSE(pace.is_known());
  }
  work.Do(1, .01);
  pace.Add({.seconds = work.now, .done = work.done});
  const double learning_since = work.now;
  EXPECT_FALSE(pace.is_known());
  for (int k = 0; k < 40; ++k) {
    work.Do(1, .1);
    pace.Add({.seconds = work.now, .done = work.done});
    EXPECT_NEAR(pace.rate(), 10, 1e-6);
    EXPECT_EQ(pace.is_known(), work.now - learning_since >= 3);
  }
  EXPECT_NEAR(pace.Average(work.now, work.done), 10, 1e-6);
}

TEST(Pace, OfAResumedRunIsKnownAfterAFewSeconds) {
  Pace learning({.start = 900, .steady_from = 500}, 100);
  learning.Add({.seconds = 102, .done = 920});
  EXPECT_EQ(learning.rate(), 10);
  EXPECT_FALSE(learning.is_known());
  learning.Add({.seconds = 103, .done = 930});
  EXPECT_TRUE(learning.is_known());
  EXPECT_EQ(learning.Average(103, 930), 10);

  Pace playing({.start = 300, .steady_from = 500}, 100);
  playing.Add({.seconds = 110, .done = 500});
  EXPECT_FALSE(playing.is_known());
}

// 10 units per second, 20 s per 500 units, 5 s per 2000 units: 2000 units take 285 s.
TEST(Pace, PausesCountInProportionWheneverOneLooks) {
  Work work;
  Pace pace({.pause_intervals = {500, 2000}}, work.now);
  const double truth = 2000. / (200 + 4 * 20 + 5);
  while (work.done < 10'000) {
    work.Do(7, .1);
    pace.Add(work.moment());
    if (work.done > 2000) {
      EXPECT_NEAR(pace.rate(), truth, 1e-6) << work.done;
    }
  }
  EXPECT_NEAR(pace.Average(work.now, work.done), truth, .02 * truth);
}

TEST(Pace, OfPausesFollowsTheLastOne) {
  Pace pace({.pause_intervals = {100}}, 0);
  pace.Add({.seconds = 11, .done = 100, .paused = {1}});
  EXPECT_NEAR(pace.rate(), 100 / 11., 1e-9);
  pace.Add({.seconds = 26, .done = 200, .paused = {6}});
  EXPECT_NEAR(pace.rate(), 100 / 15., 1e-9);
  // Seconds without a pause, and an interval of 0, count as nothing.
  pace.Add({.seconds = 28, .done = 210, .paused = {7}});
  EXPECT_NEAR(pace.rate(), 100 / 15., 1e-9);
  Pace never({.pause_intervals = {0}}, 0);
  never.Add({.seconds = 10, .done = 100, .paused = {0}});
  EXPECT_EQ(never.rate(), 10);
}

TEST(Pace, WithoutSteadyWorkTheAverageIsThatOfAll) {
  Pace pace({.start = 10, .steady_from = 500}, 100);
  pace.Add({.seconds = 102, .done = 400});
  EXPECT_EQ(pace.Average(102, 400), 195);
  EXPECT_EQ(pace.Average(100, 10), 0);
  pace.Add({.seconds = 103, .done = 501});
  EXPECT_NEAR(pace.Average(103, 501), 491 / 3., 1e-9) << "learning took no time yet";
}

}  // namespace stableaa::pace_test
