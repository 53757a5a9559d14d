#include "stableaa/base/files/directories.h"

#include <gtest/gtest.h>

#include <fstream>

#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"

namespace stableaa::directories_test {

namespace fs = std::filesystem;

TEST(NormalPath, HasOneSpelling) {
  for (const char* const same : {"runs/a", "runs/a/", "./runs/a", "runs/./a//", "runs/b/../a/"}) {
    EXPECT_EQ(NormalPath(same), "runs/a") << same;
  }
  EXPECT_EQ(NormalPath("/"), "/");
}

TEST(TemporaryDirectory, GoesAwayWithAllThatIsInIt) {
  fs::path there;
  {
    const TemporaryDirectory first("stableaa-test-"), second("stableaa-test-");
    there = first.path();
    EXPECT_NE(first.path(), second.path());
    EXPECT_TRUE(there.filename().string().starts_with("stableaa-test-"));
    MakeDirectories(there / "a/b");
    MakeDirectories(there / "a/b");
    std::ofstream(there / "a/b/file") << "text";
  }
  EXPECT_FALSE(fs::exists(there));
}

TEST(Directories, ThatCannotBeMadeOrOpenedAreNamed) {
  const TemporaryDirectory folder("stableaa-test-");
  const fs::path file = folder.path() / "file";
  std::ofstream(file) << "text";
  for (const auto& action : {+[](const fs::path& path) { MakeDirectories(path / "below"); },
                             +[](const fs::path& path) { OpenDirectory(path); }}) {
    const std::string message = MessageOf([&] { action(file); }, Error::Kind::kWorkFailed);
    EXPECT_NE(message.find(file.string()), std::string::npos) << message;
  }
}

TEST(TryLock, GivesADirectoryToOne) {
  const TemporaryDirectory folder("stableaa-test-");
  Descriptor first = OpenDirectory(folder.path());
  const Descriptor second = OpenDirectory(folder.path());
  EXPECT_TRUE(TryLock(first));
  EXPECT_FALSE(TryLock(second));
  first.Close();
  EXPECT_TRUE(TryLock(second));
}

}  // namespace stableaa::directories_test
