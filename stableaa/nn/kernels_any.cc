// For any machine: vectors of four, which x86-64 and most others have.
#define STABLEAA_KERNELS kAnyKernels
#define STABLEAA_NAME "any"
#define STABLEAA_LANES 4
#define STABLEAA_ROWS 3
#define STABLEAA_GROUP 1
#include "stableaa/nn/kernels_impl.h"
