// oneDNN takes its thread count from OpenMP's setting for the calling thread.
#ifndef STABLEAA_NN_OPENMP_THREADS_H_
#define STABLEAA_NN_OPENMP_THREADS_H_

#include <omp.h>

#include <algorithm>

#include "stableaa/core/error.h"

namespace stableaa {

// As many of `threads` as OpenMP can ever grant (OMP_THREAD_LIMIT).
inline int GrantedThreads(int threads) { return std::min(threads, omp_get_thread_limit()); }

// While it lives, the calling thread gives oneDNN this many threads and no fewer: a primitive that
// was made for more threads than it gets waits for the missing ones or omits their share.
class OpenmpThreads {
 public:
  // Throws WorkFailed if several threads are requested inside a parallel region that cannot be
  // nested.
  explicit OpenmpThreads(int threads)
      : previous_(omp_get_max_threads()), previous_dynamic_(omp_get_dynamic()) {
    if (threads > 1 && omp_get_active_level() >= omp_get_max_active_levels()) {
      throw WorkFailed(
          "oneDNN cannot have several threads within a parallel region; compile with one");
    }
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
  }
  ~OpenmpThreads() {
    omp_set_num_threads(previous_);
    omp_set_dynamic(previous_dynamic_);
  }
  OpenmpThreads(const OpenmpThreads&) = delete;
  OpenmpThreads& operator=(const OpenmpThreads&) = delete;

 private:
  int previous_;
  int previous_dynamic_;
};

}  // namespace stableaa

#endif  // STABLEAA_NN_OPENMP_THREADS_H_
