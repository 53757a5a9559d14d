// For tests of errors: what they say, and of which kind they are.
//
//   EXPECT_EQ(MessageOf([] { ParseSpec("x"); }), "network: expected …");
#ifndef STABLEAA_TESTING_MESSAGE_H_
#define STABLEAA_TESTING_MESSAGE_H_

#include <gtest/gtest.h>

#include <string>

#include "stableaa/core/error.h"

namespace stableaa {

// The message of the Error that `act` throws, which has to be of the kind; "no error" if it throws
// none.
template <typename Act>
std::string MessageOf(const Act& act, Error::Kind kind = Error::Kind::kBadInput) {
  try {
    (void)act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

}  // namespace stableaa

#endif  // STABLEAA_TESTING_MESSAGE_H_
