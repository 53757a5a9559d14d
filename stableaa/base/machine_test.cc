#include "stableaa/base/machine.h"

#include <gtest/gtest.h>

#include <limits>

#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"

namespace stableaa::machine_test {

TEST(Machine, SaysWhatItIs) {
  EXPECT_EQ(LibraryVersion().find_first_not_of("0123456789."), std::string::npos);
  EXPECT_FALSE(CompilerName().empty());
  EXPECT_NE(MachineName().find(" core"), std::string::npos);
  EXPECT_GE(CoreCount(), 1);
}

TEST(Machine, RefusesWhatCannotFitAndSaysWhatToDo) {
  if (AvailableMemoryBytes() == 0) GTEST_SKIP() << "this system does not tell its memory";
  EXPECT_NO_THROW(RequireMemory("this", 1000, ""));
  const std::string message = MessageOf(
      [] { RequireMemory("bench", std::numeric_limits<std::uint64_t>::max(), "try less"); },
      Error::Kind::kWorkFailed);
  EXPECT_NE(message.find("bench needs"), std::string::npos) << message;
  EXPECT_NE(message.find("try less"), std::string::npos) << message;
}

}  // namespace stableaa::machine_test
