#include "stableaa/base/files/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <thread>

#include "stableaa/base/process/interrupt.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::atomic_file_test {

namespace fs = std::filesystem;

std::vector<std::byte> Payload(std::string_view text) {
  const auto raw = std::as_bytes(std::span(text));
  return {raw.begin(), raw.end()};
}

void WriteText(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.Write(text);
  file.Commit();
}

std::string ReadText(const fs::path& path) { return ReadTextFile(path, 1 << 20); }

// Writes directly, for making damaged files.
void Overwrite(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
}

mode_t PermissionsOf(const fs::path& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 0777;
}

// A fresh directory for each test.
class InDirectory : public testing::Test {
 protected:
  fs::path Path(std::string_view name) const { return folder_ / name; }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // The error message from `work`, without the test's directory.
  std::string MessageOf(Error::Kind kind, const std::function<void()>& work) const {
    return WithoutDirectory(stableaa::MessageOf(work, kind));
  }

 private:
  std::string WithoutDirectory(std::string message) const {
    const std::string prefix = folder_.path().string() + "/";
    for (size_t at = 0; (at = message.find(prefix)) != message.npos;) {
      message.erase(at, prefix.size());
    }
    return message;
  }

  const TemporaryFolder folder_;
};

constexpr auto kBadInput = Error::Kind::kBadInput;
constexpr auto kWorkFailed = Error::Kind::kWorkFailed;

class AtomicFileTest : public InDirectory {};

TEST_F(AtomicFileTest, AppearsWithItsContentOnCommit) {
  AtomicFile file(Path("a"));
  file.Write("one ");
  file.Write(Payload("two"));
  EXPECT_FALSE(fs::exists(Path("a")));
  file.Commit();
  EXPECT_EQ(ReadText(Path("a")), "one two");
  EXPECT_EQ(Names(), (std::vector<std::string>{"a"}));
}

TEST_F(AtomicFileTest, ManyAreMadeDurableTogether) {
  for (const char* const name : {"a", "b"}) {
    AtomicFile file(Path(name));
    file.Write("new");
    file.Commit(AtomicFile::Durable::kOnceDirectoryIsSynced);
    EXPECT_EQ(ReadText(Path(name)), "new");
  }
  EXPECT_NO_THROW(SyncDirectory(Path("")));
  EXPECT_EQ(Names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_NE(MessageOf(kWorkFailed, [&] { SyncDirectory(Path("none")); }).find("cannot sync"),
            std::string::npos);
}

TEST_F(AtomicFileTest, ReplacesALongerFile) {
  WriteText(Path("a"), "a long former content");
  WriteText(Path("a"), "new");
  EXPECT_EQ(ReadText(Path("a")), "new");
}

TEST_F(AtomicFileTest, MayBeEmptyOrLargerThanTheBuffer) {
  WriteText(Path("empty"), "");
  EXPECT_EQ(ReadText(Path("empty")), "");
  std::string expected;
  AtomicFile file(Path("large"));
  for (const size_t size : {1U, 65535U, 65536U, 65537U, 7U, 200'000U}) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    file.Write(piece);
    expected += piece;
  }
  file.Commit();
  EXPECT_TRUE(ReadText(Path("large")) == expected);
}

TEST_F(AtomicFileTest, UncommittedLeavesNothingButTheFormerFile) {
  WriteText(Path("a"), "former");
  {
    AtomicFile file(Path("a"));
    file.Write(std::string(100'000, 'x'));
    EXPECT_EQ(Names(), (std::vector<std::string>{".a.tmp", "a"}));
  }
  EXPECT_EQ(ReadText(Path("a")), "former");
  EXPECT_EQ(Names(), (std::vector<std::string>{"a"}));
}

TEST_F(AtomicFileTest, TakesOverATemporaryLeftByAKilledProcess) {
  Overwrite(Path(".a.tmp"), "half of something long");
  WriteText(Path("a"), "new");
  EXPECT_EQ(ReadText(Path("a")), "new");
  EXPECT_EQ(Names(), (std::vector<std::string>{"a"}));
}

TEST_F(AtomicFileTest, SecondWriterIsRefusedWhileTheFirstIsAtWork) {
  AtomicFile first(Path("a"));
  first.Write("first");
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { AtomicFile second(Path("a")); }),
            "cannot write a: it is being written by another process");
  AtomicFile other(Path("b"));  // a different file does not interfere
  first.Commit();
  WriteText(Path("a"), "second");
  EXPECT_EQ(ReadText(Path("a")), "second");
}

TEST_F(AtomicFileTest, NothingMayBeWrittenAfterCommit) {
  AtomicFile file(Path("a"));
  file.Commit();
  EXPECT_EQ(MessageOf(kBadInput, [&] { file.Write("x"); }),
            "cannot write a: it is already committed");
  EXPECT_THROW(file.Commit(), Error);
}

TEST_F(AtomicFileTest, ReplacesWhatALinkPointsTo) {
  fs::create_directory(Path("d"));
  WriteText(Path("d/real"), "former");
  fs::create_symlink("d/real", Path("near"));
  fs::create_symlink(Path("near"), Path("far"));
  WriteText(Path("far"), "new");
  EXPECT_TRUE(fs::is_symlink(Path("far")));
  EXPECT_TRUE(fs::is_symlink(Path("near")));
  EXPECT_FALSE(fs::is_symlink(Path("d/real")));
  EXPECT_EQ(ReadText(Path("d/real")), "new");

  fs::create_symlink("d/fresh", Path("dangling"));
  WriteText(Path("dangling"), "made");
  EXPECT_EQ(ReadText(Path("d/fresh")), "made");
  EXPECT_TRUE(fs::is_symlink(Path("dangling")));
}

TEST_F(AtomicFileTest, LinksInACircleAreAnError) {
  fs::create_symlink("b", Path("a"));
  fs::create_symlink("a", Path("b"));
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { AtomicFile file(Path("a")); }),
            "cannot write a: Too many levels of symbolic links");
}

TEST_F(AtomicFileTest, KeepsPermissionsAndElseFollowsTheUmask) {
  const mode_t former = ::umask(027);
  WriteText(Path("fresh"), "x");
  ::umask(former);
  EXPECT_EQ(PermissionsOf(Path("fresh")), 0640U);
  for (const mode_t mode : {0600U, 0755U}) {
    ::chmod(Path("fresh").c_str(), mode);
    WriteText(Path("fresh"), "y");
    EXPECT_EQ(PermissionsOf(Path("fresh")), mode);
  }
}

TEST_F(AtomicFileTest, DoesNotReplaceAReadOnlyFile) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write to read-only files";
  WriteText(Path("a"), "former");
  ::chmod(Path("a").c_str(), 0444);
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { WriteText(Path("a"), "new"); }),
            "cannot write a: Permission denied");
  EXPECT_EQ(ReadText(Path("a")), "former");
}

TEST_F(AtomicFileTest, SaysWhatIsWrongWithAPath) {
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { AtomicFile file(Path("missing/a")); }),
            "cannot write missing/a: the directory missing does not exist");
  WriteText(Path("file"), "");
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { AtomicFile file(Path("file/a")); }),
            "cannot write file/a: file is not a directory");
  fs::create_directory(Path("d"));
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { AtomicFile file(Path("d")); }),
            "cannot write d: it is a directory");
  EXPECT_EQ(MessageOf(kBadInput, [&] { AtomicFile file(Path("new/")); }),
            "cannot write 'new/': expected the name of a file");
  EXPECT_EQ(MessageOf(kBadInput, [&] { AtomicFile file(""); }),
            "cannot write '': expected the name of a file");
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { AtomicFile file(Path(std::string(255, 'n'))); }),
            "cannot write " + std::string(255, 'n') + ": File name too long");
}

TEST_F(AtomicFileTest, APipeInPlaceOfTheTemporaryIsAnErrorAndNoWait) {
  ASSERT_EQ(::mkfifo(Path(".a.tmp").c_str(), 0600), 0);
  const std::string expected = "cannot write a: .a.tmp beside it is not a regular file";
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { AtomicFile file(Path("a")); }), expected);
  const int reader = ::open(Path(".a.tmp").c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { AtomicFile file(Path("a")); }), expected);
  ::close(reader);
  EXPECT_EQ(Names(), std::vector<std::string>{".a.tmp"});
}

TEST_F(AtomicFileTest, WritesToTheWorkingDirectoryByABareName) {
  const fs::path former = fs::current_path();
  fs::current_path(Path("."));
  AtomicFile file("bare");
  file.Write("x");
  fs::current_path(former);  // the file stays where it was opened
  file.Commit();
  EXPECT_EQ(ReadText(Path("bare")), "x");
}

TEST_F(AtomicFileTest, NeverReplacesADevice) {
  WriteText("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  fs::create_symlink("/dev/null", Path("link"));
  WriteText(Path("link"), "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(fs::is_symlink(Path("link")));
}

TEST_F(AtomicFileTest, WritesIntoANamedPipe) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = ReadText(Path("pipe")); });
  WriteText(Path("pipe"), "through");
  reader.join();
  EXPECT_EQ(received, "through");
  EXPECT_TRUE(fs::is_fifo(Path("pipe")));
}

TEST_F(AtomicFileTest, AFileOfTheProgramsOwnIsNeitherAPipeNorALink) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  WriteText(Path("elsewhere"), "kept");
  fs::create_symlink("elsewhere", Path("link"));
  fs::create_symlink("nowhere", Path("broken"));
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { WriteTextFile(Path("pipe"), "x"); }),
            "cannot write pipe: it is no file, expected a regular file");
  for (const std::string name : {"link", "broken"}) {
    EXPECT_EQ(MessageOf(kWorkFailed, [&] { WriteTextFile(Path(name), "x"); }),
              "cannot write " + name + ": it is a link, expected a regular file");
  }
  EXPECT_EQ(ReadText(Path("elsewhere")), "kept");
  EXPECT_FALSE(fs::exists(Path("nowhere")));
}

TEST_F(AtomicFileTest, WaitsForTheReaderOfAPipeUntilCtrlC) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  const InterruptGuard guard;
  std::thread user([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::raise(SIGTERM);
  });
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { AtomicFile file(Path("pipe")); }), "interrupted");
  user.join();
}

// As in `program --out /dev/stdout > file`: interleaved with other output to that descriptor.
TEST_F(AtomicFileTest, SharesADescriptorOfTheProcess) {
  const Descriptor out(::open(Path("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(out.get(), "1", 1), 1);
  WriteText("/dev/fd/" + std::to_string(out.get()), "2");
  ASSERT_EQ(::write(out.get(), "3", 1), 1);
  WriteText("/proc/self/fd/" + std::to_string(out.get()), "4");
  EXPECT_EQ(ReadText(Path("out")), "1234");
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { AtomicFile file("/proc/self/fd/99999"); }),
            "cannot write /proc/self/fd/99999: Bad file descriptor");
}

TEST_F(AtomicFileTest, AFullDeviceIsAnErrorThatNamesTheFile) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { WriteText("/dev/full", "x"); }),
            "cannot write /dev/full: No space left on device");
}

// A file size limit stands in for a disk that fills up.
TEST_F(AtomicFileTest, AFailedWriteLeavesTheFormerFileAndNoTemporary) {
  WriteText(Path("a"), "former");
  rlimit former = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &former), 0);
  rlimit small = former;
  small.rlim_cur = 100'000;
  const auto former_handler = ::signal(SIGXFSZ, SIG_IGN);
  {
    AtomicFile file(Path("a"));
    file.Write(std::string(90'000, 'x'));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string message =
        MessageOf(kWorkFailed, [&] { file.Write(std::string(90'000, 'x')); });
    const std::string afterwards = MessageOf(kWorkFailed, [&] { file.Commit(); });
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &former), 0);
    EXPECT_EQ(message, "cannot write a: File too large");
    EXPECT_EQ(afterwards, "cannot write a: an earlier write failed");
  }
  ::signal(SIGXFSZ, former_handler);
  EXPECT_EQ(ReadText(Path("a")), "former");
  EXPECT_EQ(Names(), (std::vector<std::string>{"a"}));
}

class CheckedFileTest : public InDirectory {
 protected:
  std::string ReadError(std::string_view content, std::string_view kind = "weights",
                        uint32_t max_version = 2) const {
    Overwrite(Path("f"), content);
    return MessageOf(kBadInput, [&] { ReadCheckedFile(Path("f"), kind, max_version); });
  }

  // The bytes of a small valid file.
  std::string Example() const {
    WriteCheckedFile(Path("f"), "weights", 2, Payload("hello"));
    return ReadText(Path("f"));
  }
};

TEST_F(CheckedFileTest, ReturnsWhatWasWritten) {
  for (const size_t size : {0U, 1U, 5U, 100'000U}) {
    const std::vector<std::byte> payload(size, std::byte{0xa5});
    WriteCheckedFile(Path("f"), "replay", 3, payload);
    const CheckedFile file = ReadCheckedFile(Path("f"), "replay", 7);
    EXPECT_EQ(file.version, 3U);
    EXPECT_TRUE(file.payload == payload) << size;
  }
  WriteCheckedFile(Path("f"), "8 chars!", 1, {});
  EXPECT_TRUE(ReadCheckedFile(Path("f"), "8 chars!", 1).payload.empty());
}

// The checksum is Python's zlib.crc32 of all preceding bytes.
TEST_F(CheckedFileTest, HasTheDocumentedBytes) {
  const std::string expected(
      "STABLEAAweights\0\2\0\0\0\5\0\0\0\0\0\0\0hello"
      "\x84\x45\x1c\x68",
      37);
  EXPECT_EQ(Example(), expected);
  const std::string empty(
      "STABLEAAweights\0\2\0\0\0\0\0\0\0\0\0\0\0"
      "\xd3\xc6\x83\x5f",
      32);
  WriteCheckedFile(Path("f"), "weights", 2, {});
  EXPECT_EQ(ReadText(Path("f")), empty);
}

TEST_F(CheckedFileTest, EveryTruncationIsAnError) {
  const std::string whole = Example();
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string message = ReadError(whole.substr(0, length));
    EXPECT_NE(message.find("f is truncated: it has " + std::to_string(length) + " bytes"),
              message.npos)
        << message;
  }
  EXPECT_EQ(ReadError(whole.substr(0, 36)),
            "f is truncated: it has 36 bytes, expected 32 of frame and 5 of payload");
}

TEST_F(CheckedFileTest, EveryFlippedBitIsAnError) {
  const std::string whole = Example();
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(ReadError(damaged), "") << bit;
  }
}

TEST_F(CheckedFileTest, SaysWhatIsWrong) {
  const std::string whole = Example();
  EXPECT_EQ(ReadError("state,action\n0,1\n"),
            "f is not a stableaa file: it does not start with \"STABLEAA\"");
  EXPECT_EQ(ReadError(whole, "replay"), "f is a 'weights' file, expected 'replay'");
  EXPECT_EQ(ReadError(whole, "weight"), "f is a 'weights' file, expected 'weight'");
  EXPECT_EQ(ReadError(whole, "weights", 1),
            "f was written by a newer version (2); this program reads up to 1");
  EXPECT_EQ(ReadError(whole + "xyz"),
            "f has 3 bytes too many: expected 32 of frame and 5 of payload");
  std::string damaged = whole;
  damaged[30] = 'L';
  EXPECT_EQ(ReadError(damaged).substr(0, 28), "f is damaged: its checksum i");
  EXPECT_EQ(MessageOf(kBadInput, [&] { ReadCheckedFile(Path("none"), "weights", 1); }),
            "none does not exist");
  EXPECT_EQ(MessageOf(kBadInput, [&] { ReadCheckedFile(Path("."), "weights", 1); }),
            ". is a directory, expected a file");
  EXPECT_EQ(MessageOf(kBadInput, [&] { ReadCheckedFile("/dev/null", "weights", 1); }),
            "/dev/null is a device, expected a regular file");
}

TEST_F(CheckedFileTest, AHugeLengthIsNotBelieved) {
  std::string claims = Example();
  for (size_t i = 20; i < 28; ++i) claims[i] = '\xff';
  EXPECT_EQ(ReadError(claims),
            "f is truncated: it has 37 bytes, expected 32 of frame and 18446744073709551615 of "
            "payload");
}

TEST_F(CheckedFileTest, AFileOfHolesLongerThanTheMemoryIsNotRead) {
  constexpr uint64_t kTerabytes = uint64_t{8} << 40;
  std::string claims = Example();
  for (size_t i = 0; i < 8; ++i) claims[20 + i] = static_cast<char>((kTerabytes >> (8 * i)) & 255);
  Overwrite(Path("f"), claims);
  if (::truncate(Path("f").c_str(), static_cast<off_t>(kTerabytes + 32)) != 0) {
    GTEST_SKIP() << "needs a file system with files of 8 TiB";
  }
  EXPECT_EQ(MessageOf(kWorkFailed, [&] { ReadCheckedFile(Path("f"), "weights", 2); }),
            "cannot read f: its 8796093022208 bytes do not fit into this machine's memory");
}

TEST_F(CheckedFileTest, APipeIsAnErrorAndNoWait) {
  ASSERT_EQ(::mkfifo(Path("f").c_str(), 0600), 0);
  const std::string expected = "f is a pipe, expected a regular file";
  EXPECT_EQ(MessageOf(kBadInput, [&] { ReadCheckedFile(Path("f"), "weights", 1); }), expected);
  EXPECT_EQ(MessageOf(kBadInput, [&] { PeekCheckedFile(Path("f"), "weights", 1, 4); }), expected);
}

TEST_F(CheckedFileTest, KindHasOneToEightCharacters) {
  for (const std::string& kind :
       {std::string(), std::string("ninechars"), std::string("a\0b", 3)}) {
    EXPECT_THROW(WriteCheckedFile(Path("f"), kind, 1, {}), Error);
    EXPECT_THROW(ReadCheckedFile(Path("f"), kind, 1), Error);
  }
  EXPECT_EQ(Names(), std::vector<std::string>{});
}

TEST_F(CheckedFileTest, APeekShowsTheBeginning) {
  WriteCheckedFile(Path("f"), "weights", 2, Payload("hello"));
  EXPECT_EQ(PeekCheckedFile(Path("f"), "weights", 2, 4), Payload("hell"));
  EXPECT_EQ(PeekCheckedFile(Path("f"), "weights", 2, 0), Payload(""));
  EXPECT_THROW(PeekCheckedFile(Path("f"), "weights", 1, 4), Error);
  EXPECT_THROW(PeekCheckedFile(Path("f"), "replay", 2, 4), Error);
  EXPECT_THROW(PeekCheckedFile(Path("f"), "weights", 2, 100), Error);
  EXPECT_THROW(PeekCheckedFile(Path("none"), "weights", 2, 4), Error);
}

class ReadTextFileTest : public InDirectory {};

TEST_F(ReadTextFileTest, ReadsWhatWriteTextFileWrote) {
  for (const std::string& text : {std::string("first\0\r\n\xff", 9), std::string()}) {
    WriteTextFile(Path("f"), text);
    EXPECT_EQ(ReadTextFile(Path("f"), 100), text);
  }
  EXPECT_THROW(WriteTextFile(Path("none/f"), ""), Error);
}

TEST_F(ReadTextFileTest, ReadsUpToItsLimit) {
  const std::string text(200'000, 'x');
  Overwrite(Path("f"), text);
  EXPECT_TRUE(ReadTextFile(Path("f"), 200'000) == text);
  EXPECT_TRUE(ReadTextFile(Path("f"), std::numeric_limits<size_t>::max()) == text);
  EXPECT_EQ(MessageOf(kBadInput, [&] { ReadTextFile(Path("f"), 199'999); }),
            "f is longer than the 199999 bytes allowed");
  Overwrite(Path("f"), "");
  EXPECT_EQ(ReadTextFile(Path("f"), 0), "");
}

TEST_F(ReadTextFileTest, ReadsWhatDoesNotKnowItsSize) {
  EXPECT_FALSE(ReadTextFile("/proc/self/status", 1 << 20).empty());
  EXPECT_THROW(ReadTextFile("/dev/zero", 1000), Error);
}

TEST_F(ReadTextFileTest, SaysWhatIsWrong) {
  EXPECT_EQ(MessageOf(kBadInput, [&] { ReadTextFile(Path("none"), 10); }), "none does not exist");
  fs::create_directory(Path("d"));
  EXPECT_EQ(MessageOf(kBadInput, [&] { ReadTextFile(Path("d"), 10); }),
            "d is a directory, expected a file");
}

TEST_F(ReadTextFileTest, WaitsForTheWriterOfAPipeWhileReadRegularFileRefusesIt) {
  ASSERT_EQ(::mkfifo(Path("f").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(Path("f")) << "by pipe"; });
  EXPECT_EQ(ReadTextFile(Path("f"), 100), "by pipe");
  writer.join();
  EXPECT_EQ(MessageOf(kBadInput, [&] { ReadRegularFile(Path("f"), 100); }),
            "f is a pipe, expected a regular file");
}

TEST_F(ReadTextFileTest, NoByteIsReadOfAFileOfHolesBeyondTheLimit) {
  Overwrite(Path("f"), "x");
  ASSERT_EQ(::truncate(Path("f").c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(MessageOf(kBadInput, [&] { ReadRegularFile(Path("f"), size_t{1} << 39); }),
            "f is longer than the 549755813888 bytes allowed");
}

class FullAtomicFileTest : public InDirectory {
 protected:
  // A payload that shows whether it is complete: its first byte gives its length.
  static std::vector<std::byte> Generation(size_t i) {
    return std::vector<std::byte>(1000 + 997 * (i % 200), static_cast<std::byte>(i % 200));
  }
  static void ExpectWhole(const CheckedFile& file) {
    ASSERT_FALSE(file.payload.empty());
    EXPECT_TRUE(file.payload == Generation(static_cast<size_t>(file.payload[0])));
  }

  // A process that writes one generation after another until it is killed.
  pid_t StartWriter() const {
    const pid_t child = ::fork();
    if (child != 0) return child;
    try {
      for (size_t i = 0;; ++i) WriteCheckedFile(Path("f"), "test", 1, Generation(i));
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(1);  // do not continue into the other tests
    }
  }
};

TEST_F(FullAtomicFileTest, AKillAtAnyMomentLeavesAWholeFile) {
  RandomStream moments(1, "kill");
  WriteCheckedFile(Path("f"), "test", 1, Generation(7));
  for (int kill = 0; kill < 40; ++kill) {
    const pid_t child = StartWriter();
    ASSERT_GT(child, 0);
    std::this_thread::sleep_for(std::chrono::microseconds(moments.Integer(0, 40'000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the writer failed";

    ExpectWhole(ReadCheckedFile(Path("f"), "test", 1));
    for (const std::string& name : Names()) EXPECT_TRUE(name == "f" || name == ".f.tmp") << name;
  }
  WriteCheckedFile(Path("f"), "test", 1, Generation(7));
  EXPECT_EQ(Names(), (std::vector<std::string>{"f"}));
}

TEST_F(FullAtomicFileTest, ReadersAmongCompetingWritersSeeWholeFilesOnly) {
  WriteCheckedFile(Path("f"), "test", 1, Generation(0));
  std::atomic<int> written = 0;
  std::vector<std::thread> writers;
  for (size_t writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      for (size_t i = 0; i < 200; ++i) {
        try {
          WriteCheckedFile(Path("f"), "test", 1, Generation(50 * writer + i));
          ++written;
        } catch (const Error& error) {
          EXPECT_STREQ(error.what(), ("cannot write " + Path("f").string() +
                                      ": it is being written by another process")
                                         .c_str());
        }
      }
    });
  }
  for (int i = 0; i < 200; ++i) ExpectWhole(ReadCheckedFile(Path("f"), "test", 1));
  for (std::thread& writer : writers) writer.join();
  ExpectWhole(ReadCheckedFile(Path("f"), "test", 1));
  EXPECT_GT(written, 0);
  EXPECT_EQ(Names(), (std::vector<std::string>{"f"}));
}

}  // namespace stableaa::atomic_file_test
