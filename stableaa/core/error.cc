#include "stableaa/core/error.h"

#include <system_error>

namespace stableaa {

Error BadInput(const std::string& message) { return {Error::Kind::kBadInput, message}; }

Error WorkFailed(const std::string& message) { return {Error::Kind::kWorkFailed, message}; }

Error SystemError(const std::string& message, int errno_value) {
  return WorkFailed(message + ": " + std::generic_category().message(errno_value));
}

}  // namespace stableaa
