#include "stableaa/nn/kernels.h"

namespace stableaa {

extern const Kernels kAnyKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

std::vector<const Kernels*> UsableKernels() {
  std::vector<const Kernels*> usable;
#if defined(__x86_64__)
  // The features that GCC's flags in CMakeLists.txt allow it to use.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("fma")) {
    usable.push_back(&kAvx512Kernels);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    usable.push_back(&kAvx2Kernels);
  }
#endif
  usable.push_back(&kAnyKernels);
  return usable;
}

const Kernels& BestKernels() {
  static const Kernels& best = *UsableKernels().front();
  return best;
}

}  // namespace stableaa
