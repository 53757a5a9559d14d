// For tests of error messages.
#ifndef STABLEAA_NN_MESSAGE_TEST_H_
#define STABLEAA_NN_MESSAGE_TEST_H_

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "stableaa/core/error.h"

namespace stableaa {

// What the BadInput says that `run` throws, or "no error".
inline std::string MessageOf(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
    return error.what();
  }
  return "no error";
}

}  // namespace stableaa

#endif  // STABLEAA_NN_MESSAGE_TEST_H_
