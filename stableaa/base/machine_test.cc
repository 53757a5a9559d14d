#include "stableaa/base/machine.h"

#include <gtest/gtest.h>

#include <limits>

#include "stableaa/core/error.h"

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
  try {
    RequireMemory("bench", std::numeric_limits<std::uint64_t>::max(), "try less");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 1);
    EXPECT_NE(std::string(error.what()).find("bench needs"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("try less"), std::string::npos);
  }
}

}  // namespace stableaa::machine_test
