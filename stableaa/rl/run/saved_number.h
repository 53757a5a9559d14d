// Moved to core.
#ifndef STABLEAA_RL_RUN_SAVED_NUMBER_H_
#define STABLEAA_RL_RUN_SAVED_NUMBER_H_

#include "stableaa/core/saved_number.h"  // IWYU pragma: export

#endif  // STABLEAA_RL_RUN_SAVED_NUMBER_H_
