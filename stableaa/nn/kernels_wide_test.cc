// The AVX-512 kernels' source without their instructions, so that its traversal of the panels is
// tested on machines that lack them.
#pragma GCC diagnostic ignored "-Wpsabi"
#define STABLEAA_KERNELS kWideKernels
#define STABLEAA_NAME "wide"
#define STABLEAA_LANES 16
#define STABLEAA_ROWS 8
#define STABLEAA_GROUP 2
#include "stableaa/nn/kernels_impl.h"
