// python/stableaa_worker.py as text, which CMake writes into a source file.
#ifndef STABLEAA_ENV_GYMNASIUM_WORKER_SOURCE_H_
#define STABLEAA_ENV_GYMNASIUM_WORKER_SOURCE_H_

namespace stableaa {

extern const char* const kWorkerSource;

}  // namespace stableaa

#endif  // STABLEAA_ENV_GYMNASIUM_WORKER_SOURCE_H_
