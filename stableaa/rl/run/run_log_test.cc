#include "stableaa/rl/run/run_log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::run_log_test {

namespace fs = std::filesystem;

constexpr auto kBadInput = Error::Kind::kBadInput;
constexpr auto kWorkFailed = Error::Kind::kWorkFailed;
constexpr auto kCsv = RunLog::Kind::kCsv;

LogRows RowsOf(std::initializer_list<std::string_view> rows) {
  LogRows all;
  for (const std::string_view row : rows) all.Add(std::as_bytes(std::span(row)));
  return all;
}

std::string ReadText(const fs::path& path) { return ReadTextFile(path, 1 << 20); }

class RunLogTest : public testing::Test {
 protected:
  fs::path Path(const std::string& name) const { return directory_ / name; }

  void Make(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }

  // The message that `work` throws, without the test's directory.
  std::string MessageOf(Error::Kind kind, const std::function<void()>& work) const {
    std::string message = stableaa::MessageOf(work, kind);
    const std::string prefix = directory_.path().string() + "/";
    const std::size_t at = message.find(prefix);
    if (at != message.npos) message.erase(at, prefix.size());
    return message;
  }

  const TemporaryFolder directory_;
};

TEST_F(RunLogTest, CreatesAnEmptyFile) {
  const RunLog log(Path("a.csv"));
  EXPECT_EQ(log.size(), 0u);
  EXPECT_EQ(log.path(), Path("a.csv"));
  EXPECT_EQ(ReadText(Path("a.csv")), "");
}

TEST_F(RunLogTest, WhatIsAppendedIsInTheFileAtOnce) {
  RunLog log(Path("a.csv"));
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
  RunLog log(Path("a.csv"), RowsOf({"kept|"}));
  EXPECT_EQ(ReadText(Path("a.csv")), "kept|");
  EXPECT_EQ(log.size(), 5u);
  log.Append("more");
  EXPECT_EQ(ReadText(Path("a.csv")), "kept|more");
  EXPECT_EQ(log.size(), 9u);
}

TEST_F(RunLogTest, TheSizeOfOneLogIsWhereTheNextContinues) {
  LogRows rows;
  for (const std::string line : {"one\n", "two\n", "three\n"}) {
    RunLog log(Path("a.csv"), rows);
    log.Append(line);
    rows = log.rows();
    log.Append("lost\n");
  }
  const RunLog log(Path("a.csv"), rows);
  EXPECT_EQ(ReadText(Path("a.csv")), "one\ntwo\nthree\n");
}

TEST_F(RunLogTest, SizeZeroBeginsAnew) {
  Make("a.csv", "former run");
  const RunLog log(Path("a.csv"));
  EXPECT_EQ(ReadText(Path("a.csv")), "");
}

TEST_F(RunLogTest, AFileOfExactlyTheSizeIsKept) {
  Make("a.csv", "12345");
  const RunLog log(Path("a.csv"), RowsOf({"12345"}));
  EXPECT_EQ(ReadText(Path("a.csv")), "12345");
}

TEST_F(RunLogTest, AShorterFileHasLostSomething) {
  Make("a.csv", "1234");
  const LogRows rows = RowsOf({"123", "45"});
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog(Path("a.csv"), rows); }),
            "a.csv has 4 bytes, expected at least 5");
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog::Require(Path("a.csv"), rows, kCsv); }),
            "a.csv has 4 bytes, expected at least 5");
  EXPECT_EQ(ReadText(Path("a.csv")), "1234");
}

TEST_F(RunLogTest, AMissingFileOfSomeSizeIsNotCreated) {
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog(Path("a.csv"), RowsOf({"x"})); }),
            "a.csv does not exist, expected at least 1 bytes");
  EXPECT_FALSE(fs::exists(Path("a.csv")));
}

TEST_F(RunLogTest, OnlyRegularFilesAreTaken) {
  fs::create_directory(Path("folder"));
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog(Path("folder")); }), "folder is not a regular file");
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog(Path("pipe")); }), "pipe is not a regular file");
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog("/dev/full"); }), "/dev/full is not a regular file");
}

TEST_F(RunLogTest, ADirectoryThatIsMissingIsBadInput) {
  Make("file", "");
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog(Path("none/a.csv")); }),
            "cannot write none/a.csv: No such file or directory");
  EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog(Path("file/a.csv")); }),
            "cannot write file/a.csv: Not a directory");
}

// ---- What a checkpoint records about it ----

TEST_F(RunLogTest, RowsThatAreThereAreAccepted) {
  RunLog log(Path("a.csv"));
  for (const char* const row : {"step,return\n", "1,2\n", "2,3\n"}) log.Append(row);
  const LogRows rows = log.rows();
  EXPECT_EQ(rows.count(), 3u);
  EXPECT_NO_THROW(RunLog::Require(Path("a.csv"), rows, kCsv));
  log.Append("3,4\n");
  EXPECT_NO_THROW(RunLog::Require(Path("a.csv"), rows, kCsv));
  EXPECT_NO_THROW(RunLog::Require(Path("a.csv"), {}, kCsv));
}

TEST_F(RunLogTest, EveryChangedByteIsNoticedAndItsRowNamed) {
  const std::vector<std::string> lines = {"step,return\n", "1,2\n", "12,-3.5\n", "13,4\n"};
  LogRows rows;
  std::string text;
  for (const std::string& line : lines) {
    rows.Add(std::as_bytes(std::span(line)));
    text += line;
  }
  const std::vector<std::string> names = {"line 1, the names of columns,", "row 1 (line 2)",
                                          "row 2 (line 3)", "row 3 (line 4)"};
  std::size_t line = 0, end = lines[0].size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == end) end += lines[++line].size();
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      Make("a.csv", changed + "14,5\n");
      EXPECT_EQ(MessageOf(kBadInput, [&] { RunLog::Require(Path("a.csv"), rows, kCsv); }),
                "a.csv: expected " + names[line] + " as the run has logged it, found it changed");
    }
  }
}

TEST_F(RunLogTest, RowsThatWereExchangedLeftOutOrAddedAreNoticed) {
  const LogRows rows = RowsOf({"a\n", "1\n", "2\n", "3\n"});
  const auto row_of = [&](const std::string& text) {
    Make("a.csv", text);
    return rows.FirstDifference(Path("a.csv"));
  };
  EXPECT_EQ(row_of("a\n1\n2\n3\n"), 4u);
  EXPECT_EQ(row_of("a\n1\n3\n2\n"), 2u);
  EXPECT_EQ(row_of("a\n2\n3\n4\n"), 1u);
  EXPECT_EQ(row_of("a\n1\n1\n2\n3\n"), 2u);
  Make("a.csv", "a\n1\n2\n4\n");
  EXPECT_EQ(
      MessageOf(kBadInput, [&] { RunLog::Require(Path("a.csv"), rows, RunLog::Kind::kRecords); }),
      "a.csv: expected record 4 as the run has logged it, found it changed");
}

TEST_F(RunLogTest, RowsSavedAreRowsLoaded) {
  const LogRows rows = RowsOf({"step\n", "1\n", "20\n"});
  ByteWriter out;
  rows.Save(out);
  EXPECT_EQ(out.bytes().size(), 8u + 3 * 8u);
  ByteReader in(out.bytes(), "state");
  LogRows loaded = RowsOf({"x"});
  loaded.Load(in);
  in.ExpectEnd();
  EXPECT_EQ(loaded.count(), 3u);
  EXPECT_EQ(loaded.bytes(), 10u);
  Make("a.csv", "step\n1\n20\n");
  EXPECT_EQ(loaded.FirstDifference(Path("a.csv")), 3u);
  // A row's checksum continues from the rows before it, also after loading.
  RunLog log(Path("a.csv"), loaded);
  log.Append("30\n");
  EXPECT_EQ(log.rows().FirstDifference(Path("a.csv")), 4u);
}

TEST_F(RunLogTest, RowsThatNoLogHasAreRefused) {
  for (const auto& [count, length] :
       {std::pair(std::uint64_t{2}, 5U), std::pair(~std::uint64_t{0}, 5U),
        std::pair(std::uint64_t{1}, 0U)}) {
    ByteWriter out;
    out.U64(count);
    out.U32(length);
    out.U32(1);
    ByteReader in(out.bytes(), "state");
    LogRows rows;
    EXPECT_THROW(rows.Load(in), Error);
  }
}

TEST_F(RunLogTest, WhatIsNotCountedIsThereUntilTheFileIsOpenedAgain) {
  RunLog log(Path("a.csv"));
  log.Append("counted|");
  log.AppendUncounted("not counted");
  EXPECT_EQ(ReadText(Path("a.csv")), "counted|not counted");
  EXPECT_EQ(log.size(), 8u);
  const RunLog again(Path("a.csv"), log.rows());
  EXPECT_EQ(ReadText(Path("a.csv")), "counted|");
}

// The system accepts the part of a write that fits below the limit and refuses the rest, as on a
// full disk.
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
  RunLog log(Path("a.csv"));
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
    if (::mount("none", directory_.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
      GTEST_SKIP() << "mounting a small file system takes the rights of root";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
  }

 private:
  bool mounted_ = false;
};

TEST_F(RunLogOnSmallDisk, AFullDiskLeavesTheFileAsItWasAndSpaceMadeIsUsed) {
  RunLog log(Path("a.csv"));
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
  RunLog log(Path("a.csv"));
  std::string line(1000, 'l');
  line.back() = '\n';
  MessageOf(kWorkFailed, [&] {
    while (true) log.Append(line);
  });
  EXPECT_GE(log.size(), 60u << 10);
  EXPECT_EQ(log.size() % line.size(), 0u);
  EXPECT_EQ(fs::file_size(Path("a.csv")), log.size());
}

}  // namespace stableaa::run_log_test
