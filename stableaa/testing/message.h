// For testing errors: their message and kind.
//
//   EXPECT_EQ(MessageOf([] { ParseSpec("x"); }), "network: expected …");
#ifndef STABLEAA_TESTING_MESSAGE_H_
#define STABLEAA_TESTING_MESSAGE_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "stableaa/core/error.h"

namespace stableaa {

// The message of the Error that `act` throws, which must be of the given kind; "no error" if it
// throws nothing.
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

// Expects `act` to throw BadInput with a message that contains `part`.
template <typename Act>
void ExpectBadInput(const Act& act, std::string_view part = "") {
  const std::string message = MessageOf(act);
  EXPECT_NE(message, "no error") << "expected a message with: " << part;
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

}  // namespace stableaa

#endif  // STABLEAA_TESTING_MESSAGE_H_
