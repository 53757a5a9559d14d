// Independent pieces of work on several threads.
#ifndef STABLEAA_RL_CONTROL_PARALLEL_TASKS_H_
#define STABLEAA_RL_CONTROL_PARALLEL_TASKS_H_

#include <algorithm>
#include <exception>

namespace stableaa {

// Calls work(task, thread) for each task from 0 to count - 1; a thread's number is below `threads`.
// After all have ended, throws what the first of them threw.
template <typename Work>
void ForEachTask(int threads, int count, const Work& work) {
  const int used = std::min(threads, count);
  int first_failed = count;
  std::exception_ptr failure;
  const auto run = [&](int thread) {
    for (int task = thread; task < count; task += used) {
      try {
        work(task, thread);
      } catch (...) {
#pragma omp critical(stableaa_failed_task)
        if (task < first_failed) {
          first_failed = task;
          failure = std::current_exception();
        }
      }
    }
  };
  if (used <= 1) {
    run(0);
  } else {
#pragma omp parallel for num_threads(used) schedule(static, 1)
    for (int thread = 0; thread < used; ++thread) run(thread);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace stableaa

#endif  // STABLEAA_RL_CONTROL_PARALLEL_TASKS_H_
