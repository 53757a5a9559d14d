// The threads of a native network. Each calls the same functions with its own worker.
#ifndef STABLEAA_NN_NATIVE_NATIVE_WORKER_H_
#define STABLEAA_NN_NATIVE_NATIVE_WORKER_H_

#include <omp.h>

#include <cstdint>
#include <utility>

namespace stableaa {

struct NativeWorker {
  int index = 0;
  int count = 1;

  // This thread's share of `size` items: [first, last).
  std::pair<int, int> Share(int size) const {
    const auto bound = [&](int i) {
      return static_cast<int>(static_cast<std::int64_t>(size) * i / count);
    };
    return {bound(index), bound(index + 1)};
  }

  // Waits until all threads are here.
  void Wait() const {
    if (count > 1) {
#pragma omp barrier
    }
  }
};

// Runs work(worker) on every thread.
template <typename Work>
void OnWorkers(int threads, const Work& work) {
  if (threads == 1) return work(NativeWorker{});
#pragma omp parallel num_threads(threads)
  work(NativeWorker{omp_get_thread_num(), omp_get_num_threads()});
}

}  // namespace stableaa

#endif  // STABLEAA_NN_NATIVE_NATIVE_WORKER_H_
