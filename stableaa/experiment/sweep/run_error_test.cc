#include "stableaa/experiment/sweep/run_error.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/testing/message.h"

namespace stableaa::run_error_test {

namespace fs = std::filesystem;

class RunErrorTest : public ::testing::Test {
 protected:
  const FolderOfRuns folder_;
  const fs::path file_ = folder_ / "a.error";
};

TEST_F(RunErrorTest, IsWhatTheProcessWrote) {
  EXPECT_EQ(ReadRunError(file_), "") << "no file";
  ClearRunError(file_);
  EXPECT_EQ(ReadRunError(file_), "");
  WriteRunError(file_, "disk full");
  EXPECT_EQ(FileContent(file_), "disk full\n");
  EXPECT_EQ(ReadRunError(file_), "disk full");
  ClearRunError(file_);
  EXPECT_EQ(ReadRunError(file_), "") << "another try";
}

TEST_F(RunErrorTest, AnyTextIsOneShortLine) {
  ClearRunError(file_);
  WriteRunError(file_, std::string("two\nlines \x1b[2J \xff ") + std::string(100'000, 'x'));
  EXPECT_LT(fs::file_size(file_), 2100U);
  const std::string error = ReadRunError(file_);
  EXPECT_TRUE(error.starts_with("two\\nlines \\u001B[2J ? xxx")) << error;
  EXPECT_TRUE(error.ends_with("xxx...")) << error;
  EXPECT_LT(error.size(), 520U);
}

// Written by a program that is not ours.
TEST_F(RunErrorTest, WhoeverWroteItTheReaderIsSafe) {
  WriteContent(file_, "bad \x1b]0;title\x07 \xe2\x80\xae\nsecond line\n");
  EXPECT_EQ(ReadRunError(file_), "bad \\u001B]0;title\\u0007 \\u202E");
  WriteContent(file_, "without an end");
  EXPECT_EQ(ReadRunError(file_), "without an end");
  WriteContent(file_, "\nnothing first");
  EXPECT_EQ(ReadRunError(file_), "");
  WriteContent(file_, std::string(1 << 20, '\xff'));
  EXPECT_LT(ReadRunError(file_).size(), 520U);
  fs::remove(file_);
  fs::create_symlink("/etc/passwd", file_);
  EXPECT_EQ(ReadRunError(file_), "");
  fs::remove(file_);
  fs::create_directory(file_);
  EXPECT_EQ(ReadRunError(file_), "");
  fs::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_EQ(ReadRunError(file_), "") << "and does not wait for a writer";
}

TEST_F(RunErrorTest, ClearingTouchesNothingElse) {
  WriteContent(folder_ / "other", "kept");
  fs::create_symlink(folder_ / "other", file_);
  ClearRunError(file_);
  WriteRunError(file_, "here");
  EXPECT_EQ(FileContent(folder_ / "other"), "kept");
  EXPECT_EQ(ReadRunError(file_), "here");
  fs::remove(file_);
  fs::create_directories(file_ / "full");
  EXPECT_EQ(MessageOf([&] { ClearRunError(file_); }, Error::Kind::kWorkFailed),
            "cannot write " + file_.string() + ": File exists");
}

TEST_F(RunErrorTest, WhereItCannotBeWrittenNothingHappens) {
  WriteRunError(folder_ / "no/such/folder", "lost");
  EXPECT_EQ(ReadRunError(folder_ / "no/such/folder"), "");
}

// So that a full disk can be reported.
TEST_F(RunErrorTest, HasItsRoomBeforeItIsWritten) {
  const Descriptor other(::open((folder_ / "x").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (::fallocate(other.get(), FALLOC_FL_KEEP_SIZE, 0, 4096) != 0) {
    GTEST_SKIP() << "needs a file system that can reserve room";
  }
  ClearRunError(file_);
  struct stat before = {}, after = {};
  ASSERT_EQ(::stat(file_.c_str(), &before), 0);
  EXPECT_EQ(before.st_size, 0);
  EXPECT_GE(before.st_blocks * 512, 4096);
  WriteRunError(file_, std::string(5000, 'x'));
  ASSERT_EQ(::stat(file_.c_str(), &after), 0);
  EXPECT_EQ(after.st_blocks, before.st_blocks);
}

}  // namespace stableaa::run_error_test
