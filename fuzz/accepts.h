// What every fuzz target requires of a reader.
#ifndef STABLEAA_FUZZ_ACCEPTS_H_
#define STABLEAA_FUZZ_ACCEPTS_H_

#include <cstdlib>
#include <string_view>

#include "stableaa/core/error.h"

namespace stableaa {

inline void Require(bool condition) {
  if (!condition) std::abort();
}

// False for a one-line BadInput; any other exception is a bug.
template <typename Work>
bool Accepts(const Work& work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    Require(error.kind() == Error::Kind::kBadInput);
    Require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace stableaa

#endif  // STABLEAA_FUZZ_ACCEPTS_H_
