// For AVX-512: 8 rows × 2 vectors of the 32 registers; more rows would need more pointers than
// there are general registers.
#include <immintrin.h>

#define STABLEAA_KERNELS kAvx512Kernels
#define STABLEAA_NAME "avx512"
#define STABLEAA_LANES 16
#define STABLEAA_ROWS 8
#define STABLEAA_GROUP 2
#include "stableaa/nn/kernels_impl.h"
