// Independent pieces of work on several threads.
#ifndef STABLEAA_RL_CONTROL_PARALLEL_TASKS_H_
#define STABLEAA_RL_CONTROL_PARALLEL_TASKS_H_

#include <algorithm>
#include <exception>
#include <vector>

namespace stableaa {

// Calls work(task, thread) for each task from 0 to count - 1; a thread's number is below `threads`.
// Throws what the first of them threw, after all have ended.
template <typename Work>
void ForEachTask(int threads, int count, const Work& work) {
  if (threads == 1 || count == 1) {
    for (int task = 0; task < count; ++task) work(task, 0);
    return;
  }
  const int used = std::min(threads, count);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count));
#pragma omp parallel for num_threads(used) schedule(static, 1)
  for (int thread = 0; thread < used; ++thread) {
    for (int task = thread; task < count; task += used) {
      try {
        work(task, thread);
      } catch (...) {
        failures[static_cast<std::size_t>(task)] = std::current_exception();
      }
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace stableaa

#endif  // STABLEAA_RL_CONTROL_PARALLEL_TASKS_H_
