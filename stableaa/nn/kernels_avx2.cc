// For AVX2 with fused multiply-add: 6 rows × 2 vectors of the 16 registers.
#include <immintrin.h>

#define STABLEAA_KERNELS kAvx2Kernels
#define STABLEAA_NAME "avx2"
#define STABLEAA_LANES 8
#define STABLEAA_ROWS 6
#define STABLEAA_GROUP 1
#include "stableaa/nn/kernels_impl.h"
