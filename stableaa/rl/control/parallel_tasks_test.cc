#include "stableaa/rl/control/parallel_tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace stableaa::parallel_tasks_test {

TEST(ParallelTasks, AreDoneOnceEachByThreadsThatExist) {
  for (const int threads : {1, 2, 3}) {
    for (const int count : {0, 1, 2, 7}) {
      std::vector<int> done(static_cast<std::size_t>(count));
      ForEachTask(threads, count, [&](int task, int thread) {
        EXPECT_TRUE(thread >= 0 && thread < threads);
        ++done[static_cast<std::size_t>(task)];
      });
      EXPECT_EQ(done, std::vector<int>(done.size(), 1));
    }
  }
}

TEST(ParallelTasks, AllEndBeforeTheFirstFailureIsThrown) {
  for (const int threads : {1, 2, 3}) {
    std::atomic<int> ended = 0;
    std::string message;
    try {
      ForEachTask(threads, 7, [&](int task, int) {
        ++ended;
        if (task == 2 || task == 5) throw std::runtime_error(std::to_string(task));
      });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    EXPECT_EQ(message, "2") << threads;
    EXPECT_EQ(ended, 7) << threads;
  }
}

}  // namespace stableaa::parallel_tasks_test
