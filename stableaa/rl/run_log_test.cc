#include "stableaa/rl/run_log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <string>

#include "stableaa/base/atomic_file.h"
#include "stableaa/base/error.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

constexpr auto kBadInput = Error::Kind::kBadInput;
constexpr auto kWorkFailed = Error::Kind::kWorkFailed;

std::string ReadText(const fs::path& path) { return ReadTextFile(path, 1 << 20); }

class RunLogTest : public testing::Test {
 protected:
  RunLogTest() {
    std::string pattern = (fs::temp_directory_path() / "stableaa-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  ~RunLogTest() override { fs::remove_all(directory_); }

  fs::path Path(const std::string& name) const { return directory_ / name; }

  void Make(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }

  // What `work` throws, with the test's directory left out.
  std::string MessageOf(Error::Kind kind, const std::function<void()>& work) const {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      std::string message = error.what();
      const std::string prefix = directory_.string() + "/";
      const std::size_t at = message.find(prefix);
      if (at != message.npos) message.erase(at, prefix.size());
      return message;
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }

  fs::path directory_;
};

TEST_F(RunLogTest, CreatesAnEmptyFile) {
  const RunLog log(Path("a.csv"), 0);
  EXPECT_EQ(log.size(), 0u);
  EXPECT_EQ(log.path(), Path("a.csv"));
  EXPECT_EQ(ReadText(Path("a.csv")), "");
}

TEST_F(RunLogTest, WhatIsAppendedIsInTheFileAtOnce) {
  RunLog log(Path("a.csv"), 0);
  log.Append("step,return\n");
  EXPECT_EQ(ReadText(Path("a.csv")), "step,return\n");
  log.Append("");
  log.Append(std::as_bytes(std::span("1,2\n", 4)));
  log.Sync();
  EXPECT_EQ(ReadText(Path("a.csv")), "step,return\n1,2\n");
  EXPECT_EQ(log.size(), 16u);
}

TEST_F(RunLogTest, ContinuesAtTheSizeGivenAndForgetsTheRest) {
  Make("a.csv", "kept|and what the checkpoint had not seen");
  RunLog log(Path("a.csv"), 5);
  EXPECT_EQ(ReadText(Path("a.csv")), "kept|");
  EXPECT_EQ(log.size(), 5u);
  log.Append("more");
  EXPECT_EQ(ReadText(Path("a.csv")), "kept|more");
  EXPECT_EQ(log.size(), 9u);
}

TEST_F(RunLogTest, TheSizeOfOneLogIsWhereTheNextContinues) {
  std::uint64_t size = 0;
  for (const std::string line : {"one\n", "two\n", "three\n"}) {
    RunLog log(Path("a.csv"), size);
    log.Append(line);
    size = log.size();
    log.Append("lost\n");
  }
  const RunLog log(Path("a.csv"), size);
  EXPECT_EQ(ReadText(Path("a.csv")), "one\ntwo\nthree\n");
}

TEST_F(RunLogTest, SizeZeroBeginsAnew) {
  Make("a.csv", "former run");
  const RunLog log(Path("a.csv"), 0);
  EXPECT_EQ(ReadText(Path("a.csv")), "");
}

TEST_F(RunLogTest, AFileOfExactlyTheSizeIsKept) {
  Make("a.csv", "12345");
  const RunLog log(Path("a.csv"), 5);
  EXPECT_EQ(ReadText(Path("a.csv")), "12345");
}

TEST_F(RunLogTest, AShorterFileHasLostSomething) {
  Make("a.csv", "1234");
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog(Path("a.csv"), 5); }),
            "a.csv has 4 bytes, expected at least 5");
  EXPECT_EQ(MessageOf(kBadInput,
                      [&] { RunLog(Path("a.csv"), std::numeric_limits<std::uint64_t>::max()); }),
            "a.csv has 4 bytes, expected at least 18446744073709551615");
  EXPECT_EQ(ReadText(Path("a.csv")), "1234");
}

TEST_F(RunLogTest, AMissingFileOfSomeSizeIsNotCreated) {
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog(Path("a.csv"), 1); }),
            "a.csv does not exist, expected at least 1 bytes");
  EXPECT_FALSE(fs::exists(Path("a.csv")));
}

TEST_F(RunLogTest, OnlyRegularFilesAreTaken) {
  fs::create_directory(Path("folder"));
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog(Path("folder"), 0); }),
            "folder is not a regular file");
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog(Path("pipe"), 0); }), "pipe is not a regular file");
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog("/dev/full", 0); }),
            "/dev/full is not a regular file");
}

TEST_F(RunLogTest, ADirectoryThatIsMissingIsBadInput) {
  Make("file", "");
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog(Path("none/a.csv"), 0); }),
            "cannot write none/a.csv: No such file or directory");
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog(Path("file/a.csv"), 0); }),
            "cannot write file/a.csv: Not a directory");
}

// The system takes the part of a write that fits below the limit and refuses the rest, as it does
// on a full disk.
class WithFileSizeLimit {
 public:
  explicit WithFileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &former_), 0);
    const rlimit limit = {bytes, former_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~WithFileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &former_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit former_ = {};
};

TEST_F(RunLogTest, AWriteThatSucceedsInPartLeavesNothing) {
  RunLog log(Path("a.csv"), 0);
  log.Append("kept|");
  {
    const WithFileSizeLimit limit(8);
    EXPECT_EQ(MessageOf(kWorkFailed, [&] { log.Append("too long"); }),
              "cannot write a.csv: File too large");
    EXPECT_EQ(ReadText(Path("a.csv")), "kept|");
    EXPECT_EQ(log.size(), 5u);
    log.Append("fit");
    EXPECT_EQ(ReadText(Path("a.csv")), "kept|fit");
  }
  log.Append(", more");
  EXPECT_EQ(ReadText(Path("a.csv")), "kept|fit, more");
}

// A file system of 64 KiB.
class RunLogOnSmallDisk : public RunLogTest {
 protected:
  void SetUp() override {
    if (::mount("none", directory_.c_str(), "tmpfs", 0, "size=64k") != 0) {
      GTEST_SKIP() << "mounting a small file system takes the rights of root";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) ::umount2(directory_.c_str(), MNT_DETACH);
  }

 private:
  bool mounted_ = false;
};

TEST_F(RunLogOnSmallDisk, AFullDiskLeavesTheFileAsItWasAndSpaceMadeIsUsed) {
  RunLog log(Path("a.csv"), 0);
  log.Append("kept|");
  Make("other", std::string(40 << 10, 'x'));
  const std::string large(40 << 10, 'a');
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { log.Append(large); }),
            "cannot write a.csv: No space left on device");
  EXPECT_EQ(ReadText(Path("a.csv")), "kept|");
  EXPECT_EQ(log.size(), 5u);
  fs::remove(Path("other"));
  log.Append(large);
  log.Sync();
  EXPECT_EQ(ReadText(Path("a.csv")), "kept|" + large);
  EXPECT_EQ(log.size(), 5 + large.size());
}

TEST_F(RunLogOnSmallDisk, LinesAppendedUntilTheDiskIsFullAreWhole) {
  RunLog log(Path("a.csv"), 0);
  std::string line(1000, 'l');
  line.back() = '\n';
  MessageOf(kWorkFailed, [&] {
    while (true) log.Append(line);
  });
  EXPECT_GE(log.size(), 60u << 10);
  EXPECT_EQ(log.size() % line.size(), 0u);
  EXPECT_EQ(fs::file_size(Path("a.csv")), log.size());
}

}  // namespace
}  // namespace stableaa
