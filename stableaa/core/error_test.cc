#include "stableaa/core/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace stableaa::error_test {

TEST(Error, BadInputExitsWithTwoAndFailedWorkWithOne) {
  EXPECT_EQ(BadInput("x").exit_code(), 2);
  EXPECT_EQ(WorkFailed("x").exit_code(), 1);
}

TEST(Error, SystemErrorNamesTheCauseInWords) {
  const Error error = SystemError("cannot write a.csv", ENOSPC);
  EXPECT_STREQ(error.what(), "cannot write a.csv: No space left on device");
  EXPECT_EQ(error.exit_code(), 1);
}

}  // namespace stableaa::error_test
