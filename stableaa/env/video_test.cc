#include "stableaa/env/video.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/process/process_test.h"
#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::video_test {

namespace fs = std::filesystem;

constexpr auto kBadInput = Error::Kind::kBadInput;
constexpr auto kWorkFailed = Error::Kind::kWorkFailed;

// What a command prints.
std::string OutputOf(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  char part[4096];
  for (std::size_t got = 0; (got = std::fread(part, 1, sizeof(part), pipe)) > 0;) {
    text.append(part, got);
  }
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return text;
}

std::string ReadText(const fs::path& path) { return ReadTextFile(path, 1 << 24); }

// Frame i of a little film: four colours, one of which moves. The second frame equals the first.
Picture Frame(int i) {
  Picture picture(7, 5);
  picture.Fill({10, 200, 30});
  picture.Rectangle(0, 0, 7, 1, {255, 0, 0});
  picture.Rectangle(5, 1, 7, 4, {1, 2, 3});
  picture.Rectangle(i / 2, 2, i / 2 + 1, 3, {250, 251, 252});
  return picture;
}

bool HasFfmpeg() { return ::system("command -v ffmpeg ffprobe >/dev/null") == 0; }

// Gives each test a fresh directory and restores PATH after it.
class VideoTest : public testing::Test {
 protected:
  ~VideoTest() override {
    ::setenv("PATH", former_path_.c_str(), 1);
    EXPECT_TRUE(::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD) << "a child is left";
  }

  fs::path Path(std::string_view name) const { return directory_ / name; }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_.path())) {
      if (entry.is_regular_file()) names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  // The message that `work` throws, without the test's directory.
  template <typename Work>
  std::string MessageHere(Error::Kind kind, const Work& work) const {
    std::string message = MessageOf(work, kind);
    const std::string prefix = directory_.path().string() + "/";
    for (std::size_t i = message.find(prefix); i != message.npos; i = message.find(prefix)) {
      message.erase(i, prefix.size());
    }
    return message;
  }

  // From now on `ffmpeg` is a shell script.
  void ReplaceFfmpeg(const std::string& script) const {
    fs::create_directory(Path("bin"));
    std::ofstream(Path("bin/ffmpeg")) << "#!/bin/sh\n" << script << "\n";
    ::chmod(Path("bin/ffmpeg").c_str(), 0755);
    ::setenv("PATH", (Path("bin").string() + ":" + former_path_).c_str(), 1);
  }

  // Adds pictures until something is thrown, then finishes.
  std::string FailureOf(int pictures) const {
    return MessageHere(kWorkFailed, [&] {
      VideoWriter video(Path("a.gif"));
      for (int i = 0; i < pictures; ++i) video.Add(Picture(100, 100));
      video.Finish();
    });
  }

 private:
  const TemporaryFolder directory_;
  const std::string former_path_ = ::getenv("PATH");
};

// With the real ffmpeg.
class FfmpegTest : public VideoTest {
 protected:
  void SetUp() override {
    if (!HasFfmpeg()) GTEST_SKIP() << "ffmpeg is not installed";
  }

  void Write(std::string_view name, int frames, VideoOptions options) const {
    VideoWriter video(Path(name), options);
    for (int i = 0; i < frames; ++i) video.Add(Frame(i));
    video.Finish();
    EXPECT_EQ(Names(), std::vector<std::string>{std::string(name)});
  }

  std::string Probe(std::string_view name, const std::string& entries) const {
    return OutputOf("ffprobe -v error -count_frames -of csv=p=0 -show_entries stream=" + entries +
                    " " + Path(name).string());
  }

  // All frames as raw rgb24.
  std::string Decoded(std::string_view name) const {
    return OutputOf("ffmpeg -v error -i " + Path(name).string() +
                    " -f rawvideo -pix_fmt rgb24 -vsync passthrough -");
  }
};

// The largest difference in a channel between `frames` frames and what was decoded, where each
// pixel is scale x scale and rows have `width` pixels; 256 if the sizes differ.
int LargestDifference(const std::string& decoded, int frames, int scale, int width, int height) {
  if (std::ssize(decoded) != std::ptrdiff_t{3} * frames * width * height) return 256;
  int largest = 0;
  std::size_t offset = 0;
  for (int i = 0; i < frames; ++i) {
    const Picture frame = Frame(i);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x, offset += 3) {
        if (x / scale >= frame.width() || y / scale >= frame.height()) continue;  // padding
        const Color color = frame.at(x / scale, y / scale);
        for (const auto& [found, expected] :
             {std::pair{decoded[offset], color.red}, std::pair{decoded[offset + 1], color.green},
              std::pair{decoded[offset + 2], color.blue}}) {
          largest = std::max(largest, std::abs(static_cast<std::uint8_t>(found) - expected));
        }
      }
    }
  }
  return largest;
}

TEST_F(FfmpegTest, AGifHasEveryPictureInItsExactColours) {
  Write("a.gif", 6, {.frames_per_second = 15, .scale = 3});
  EXPECT_EQ(LargestDifference(Decoded("a.gif"), 6, 3, 21, 15), 0);
  // 6 / 15 s, up to one hundredth.
  EXPECT_EQ(Probe("a.gif", "codec_name,duration,nb_read_frames"), "gif,0.390000,6\n");
  // The extension with which a GIF says how often it is shown; 0: forever.
  EXPECT_NE(ReadText(Path("a.gif")).find(std::string("NETSCAPE2.0\x03\x01\0\0", 15)),
            std::string::npos);
}

TEST_F(FfmpegTest, AnMp4IsWhatBrowsersPlay) {
  Write("a.mp4", 12, {.frames_per_second = 12.5, .scale = 9});
  EXPECT_EQ(Probe("a.mp4",
                  "codec_name,width,height,pix_fmt,color_space,r_frame_rate,"
                  "nb_read_frames"),
            "h264,64,46,yuv420p,bt709,25/2,12\n");
  // Colour is stored at half the resolution, so pixels blend at their edges.
  const std::string decoded = Decoded("a.mp4");
  ASSERT_EQ(decoded.size(), 12U * 3 * 64 * 46);
  const auto near = [&](int frame, int x, int y, Color color) {
    const std::size_t offset =
        (static_cast<std::size_t>(frame) * 46 * 64 + static_cast<std::size_t>(9 * y + 4) * 64 +
         static_cast<std::size_t>(9 * x + 4)) *
        3;
    const auto channel = [&](std::size_t i) -> int {
      return static_cast<std::uint8_t>(decoded[offset + i]);
    };
    EXPECT_NEAR(channel(0), color.red, 8) << frame << ' ' << x << ' ' << y;
    EXPECT_NEAR(channel(1), color.green, 8) << frame << ' ' << x << ' ' << y;
    EXPECT_NEAR(channel(2), color.blue, 8) << frame << ' ' << x << ' ' << y;
  };
  for (const int i : {0, 5, 11}) {
    for (int x = 0; x < 7; ++x) {
      near(i, x, 0, Frame(i).at(x, 0));
      near(i, x, 4, Frame(i).at(x, 4));
    }
    near(i, i / 2, 2, {250, 251, 252});
  }
  const std::string bytes = ReadText(Path("a.mp4"));  // the index comes first
  EXPECT_LT(bytes.find("moov"), bytes.find("mdat"));
}

TEST_F(FfmpegTest, SmallPicturesBecomeLargeEnoughToWatch) {
  for (const auto& [width, height, expected] :
       {std::array{160, 210, 320}, std::array{300, 300, 300}}) {
    VideoWriter video(Path("a.gif"));
    video.Add(Picture(width, height));
    video.Finish();
    const std::string bytes = ReadText(Path("a.gif"));
    ASSERT_GT(bytes.size(), 10U);
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
    EXPECT_EQ(byte(6) + 256 * byte(7), expected);
    EXPECT_EQ(byte(8) + 256 * byte(9), expected * height / width);
  }
}

TEST_F(FfmpegTest, AGifFasterThanBrowsersShowKeepsItsDurationNotItsPictures) {
  Write("a.gif", 8, {.frames_per_second = 100, .scale = 1});
  EXPECT_EQ(Probe("a.gif", "avg_frame_rate,nb_read_frames"), "50/1,4\n");
}

TEST_F(FfmpegTest, ReplacesTheFormerVideoOnlyWhenFinished) {
  std::ofstream(Path("a.gif")) << "former";
  {
    VideoWriter video(Path("a.gif"));
    for (int i = 0; i < 3; ++i) video.Add(Frame(i));
  }
  EXPECT_EQ(ReadText(Path("a.gif")), "former");
  EXPECT_EQ(Names(), std::vector<std::string>{"a.gif"});
  Write("a.gif", 1, {});
  EXPECT_TRUE(ReadText(Path("a.gif")).starts_with("GIF89a"));
}

// A limit on file size stands in for a disk that fills up; first for this process, then for ffmpeg
// as well.
TEST_F(FfmpegTest, AFullDiskIsAnErrorAndLeavesNothing) {
  rlimit former = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &former), 0);
  rlimit small = former;
  small.rlim_cur = 100;
  const auto former_handler = ::signal(SIGXFSZ, SIG_IGN);
  for (const bool from_the_start : {false, true}) {
    const std::string message = MessageHere(kWorkFailed, [&] {
      VideoWriter video(Path("a.mp4"));
      if (from_the_start) ::setrlimit(RLIMIT_FSIZE, &small);
      video.Add(Frame(0));
      ::setrlimit(RLIMIT_FSIZE, &small);
      video.Finish();
    });
    ::setrlimit(RLIMIT_FSIZE, &former);
    EXPECT_TRUE(message.starts_with(from_the_start ? "cannot write a.mp4: ffmpeg failed: "
                                                   : "cannot write a.mp4: File too large"))
        << message;
    EXPECT_EQ(Names(), std::vector<std::string>{});
  }
  ::signal(SIGXFSZ, former_handler);
}

TEST_F(VideoTest, SaysWhatIsWrongBeforeAnyWork) {
  ReplaceFfmpeg("exit 1");
  const auto message = [&](std::string_view name, VideoOptions options = {}) {
    return MessageHere(kBadInput, [&] { VideoWriter video(Path(name), options); });
  };
  EXPECT_EQ(message("a.avi"), "cannot write a.avi: a video's name ends in .gif or .mp4");
  EXPECT_EQ(message("gif"), "cannot write gif: a video's name ends in .gif or .mp4");
  EXPECT_EQ(message("a.gif", {.frames_per_second = 0}),
            "a video has 0.1 to 1000 frames per second, found 0");
  EXPECT_EQ(message("a.gif", {.frames_per_second = std::nan("")}),
            "a video has 0.1 to 1000 frames per second, found nan");
  EXPECT_EQ(message("a.gif", {.scale = 65}),
            "a video's scale is 1 to 64, or 0 to choose, found 65");
  EXPECT_EQ(MessageHere(kWorkFailed, [&] { VideoWriter video(Path("none/a.gif")); }),
            "cannot write none/a.gif: the directory none does not exist");
  EXPECT_NE(MessageHere(kWorkFailed, [] { VideoWriter video("/proc/a.gif"); }), "no error");
  EXPECT_EQ(Names(), std::vector<std::string>{});
}

TEST_F(VideoTest, ADirectoryThatMayNotBeWrittenToIsAnErrorBeforeAnyWork) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write to read-only directories";
  ReplaceFfmpeg("exit 1");
  fs::create_directory(Path("locked"));
  ::chmod(Path("locked").c_str(), 0555);
  EXPECT_EQ(MessageHere(kWorkFailed, [&] { VideoWriter video(Path("locked/a.gif")); }),
            "cannot write locked/a.gif: Permission denied");
}

TEST_F(VideoTest, SaysWhatToInstall) {
  ::setenv("PATH", Path(".").c_str(), 1);
  EXPECT_EQ(MessageHere(kWorkFailed, [&] { VideoWriter video(Path("a.gif")); }),
            "cannot write a.gif: videos need the program ffmpeg, which is not installed (Debian, "
            "Ubuntu: apt install ffmpeg)");
  fs::create_directory(Path("ffmpeg"));  // not a program
  EXPECT_THROW(VideoWriter(Path("a.gif")), Error);
  EXPECT_EQ(Names(), std::vector<std::string>{});
}

TEST_F(VideoTest, AVideoHasPicturesOfOneSize) {
  ReplaceFfmpeg("printf GIF8 >&3; cat >&3");
  VideoWriter video(Path("a.gif"), {.scale = 60});
  EXPECT_EQ(MessageHere(kBadInput, [&] { video.Add(Picture()); }),
            "cannot make a video of empty pictures");
  EXPECT_EQ(MessageHere(kBadInput, [&] { video.Add(Picture(4, 137)); }),
            "a video has at most 8192 pixels per side, found 4x137 times 60");
  video.Add(Picture(4, 5));
  EXPECT_EQ(MessageHere(kBadInput, [&] { video.Add(Picture(5, 4)); }),
            "cannot add a picture of 5x4 pixels to a.gif, which has 4x5");
  video.Add(Picture(4, 5));
  video.Finish();
  EXPECT_EQ(ReadText(Path("a.gif")), "GIF8" + std::string(120, '\0'));
  EXPECT_EQ(MessageHere(kBadInput, [&] { video.Add(Picture(4, 5)); }),
            "cannot write a.gif: the video is already closed");
  EXPECT_THROW(video.Finish(), Error);
}

TEST_F(VideoTest, NoPicturesMakeNoVideo) {
  ReplaceFfmpeg("exit 1");
  EXPECT_EQ(FailureOf(0), "cannot write a.gif: there are no pictures");
  EXPECT_EQ(Names(), std::vector<std::string>{});
}

TEST_F(VideoTest, AFailureComesWithTheLastWordsOfFfmpeg) {
  ReplaceFfmpeg("echo first >&2; echo 'the disk is on fire' >&2; echo >&2; exit 1");
  EXPECT_EQ(FailureOf(1000), "cannot write a.gif: ffmpeg failed: the disk is on fire");
  EXPECT_EQ(FailureOf(1), "cannot write a.gif: ffmpeg failed: the disk is on fire");
  ReplaceFfmpeg("cat >/dev/null; printf 'no encoder\\nConversion failed!\\n' >&2; exit 1");
  EXPECT_EQ(FailureOf(3), "cannot write a.gif: ffmpeg failed: no encoder");
  ReplaceFfmpeg("exit 7");
  EXPECT_EQ(FailureOf(1000), "cannot write a.gif: ffmpeg failed: it ended with exit code 7");
  ReplaceFfmpeg("kill -9 $$");
  EXPECT_EQ(FailureOf(1000),
            "cannot write a.gif: ffmpeg failed: it was killed by signal 9 (Killed)");
  ReplaceFfmpeg("exit 0");
  EXPECT_EQ(FailureOf(1000), "cannot write a.gif: ffmpeg failed: it ended before the last picture");
  ReplaceFfmpeg("cat >/dev/null");
  EXPECT_EQ(FailureOf(3), "cannot write a.gif: ffmpeg failed: it wrote nothing");
  EXPECT_EQ(Names(), std::vector<std::string>{});
}

// Even though it claims success.
TEST_F(VideoTest, WhatIsNoVideoIsAFailure) {
  const auto write = [&](std::string_view name) {
    VideoWriter video(Path(name));
    video.Add(Frame(0));
    video.Finish();
  };
  const std::string gif = "GIF89a", mp4 = "0000ftypisom";
  for (const std::string& output : {std::string("garbage"), std::string("G"), gif, mp4}) {
    ReplaceFfmpeg("cat >/dev/null; printf " + output + " >&3");
    for (const std::string name : {"a.gif", "a.mp4"}) {
      if (output == (name == "a.gif" ? gif : mp4)) {
        write(name);
        EXPECT_EQ(ReadText(Path(name)), output);
        fs::remove(Path(name));
      } else {
        EXPECT_EQ(MessageHere(kWorkFailed, [&] { write(name); }),
                  "cannot write " + name + ": ffmpeg failed: it has drawn no picture");
      }
      EXPECT_EQ(Names(), std::vector<std::string>{});
    }
  }
}

// Before, while or after it reads, or in its messages. It would go on forever.
TEST_F(VideoTest, AFloodIsAnError) {
  const std::string start = "ffmpeg has written more than ";
  for (const std::string script : {"cat /dev/zero >&3", "cat /dev/zero >&3 & cat >/dev/null; wait",
                                   "cat >/dev/null; exec cat /dev/zero >&3"}) {
    ReplaceFfmpeg("printf GIF8 >&3; " + script);
    const std::string message = FailureOf(10);
    ASSERT_TRUE(message.starts_with(start)) << message;
    // 10 pictures of 100x100 pixels, scaled by 3.
    EXPECT_LT(std::stod(message.substr(start.size())), 10 * 3e5 + 2e6) << message;
    EXPECT_EQ(Names(), std::vector<std::string>{});
  }
  // One that is done before anybody looks, and messages: sparse files, which take no memory.
  for (const std::string number : {"2", "3"}) {
    ReplaceFfmpeg("cat >/dev/null; printf GIF8 >&3; truncate -s 5G /dev/fd/" + number);
    EXPECT_TRUE(FailureOf(1).starts_with(start)) << number;
  }
}

// The bytes allowed per picture suffice for incompressible pictures, however small.
TEST_F(FfmpegTest, NoisyAndTinyPicturesAreNoFlood) {
  std::uint32_t state = 1;
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 300}, {300, 1}, {320, 240}}) {
    for (const std::string_view name : {"a.gif", "a.mp4"}) {
      VideoWriter video(Path(name), {.scale = 1});
      for (int i = 0; i < 15; ++i) {
        Picture picture(width, height);
        for (int y = 0; y < height; ++y) {
          for (int x = 0; x < width; ++x) {
            state = state * 1664525 + 1013904223;
            picture.Rectangle(
                x, y, x + 1, y + 1,
                {static_cast<std::uint8_t>(state >> 8), static_cast<std::uint8_t>(state >> 16),
                 static_cast<std::uint8_t>(state >> 24)});
          }
        }
        video.Add(picture);
      }
      video.Finish();
    }
  }
}

TEST_F(VideoTest, ManyMessagesBlockNobody) {
  ReplaceFfmpeg(
      "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo end >&2; "
      "printf GIF8 >&3; cat >&3");
  VideoWriter video(Path("a.gif"));
  for (int i = 0; i < 20; ++i) video.Add(Picture(100, 100));
  video.Finish();
  EXPECT_EQ(fs::file_size(Path("a.gif")), 4U + 20 * 30000);
}

// Including all its processes, in case it is a script.
TEST_F(VideoTest, AnAbandonedFfmpegIsKilled) {
  ASSERT_EQ(::mkfifo(Path("alive").c_str(), 0600), 0);
  ReplaceFfmpeg("sleep 100 5>" + Path("alive").string() + " & wait");
  Descriptor alive;
  {
    VideoWriter video(Path("a.gif"));
    video.Add(Frame(0));
    alive = Descriptor(::open(Path("alive").c_str(), O_RDONLY | O_CLOEXEC));  // once it runs
    EXPECT_EQ(Names(), std::vector<std::string>{".a.gif.tmp"});
  }
  pollfd gone = {alive.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&gone, 1, 60'000), 1);
  EXPECT_EQ(gone.revents, POLLHUP);
  EXPECT_EQ(Names(), std::vector<std::string>{});
}

// How long ffmpeg may stand still, shortest first: on a busy machine even a harmless shell may make
// no progress for a while, and then the next limit is tried.
constexpr std::array kLimits = {"0.3", "3", "30"};

// It never reads, stops reading, or does not end. Its children ignore every signal that can be
// ignored.
TEST_F(VideoTest, AnFfmpegThatHangsIsKilled) {
  for (const std::string script :
       {"sleep 100", "head -c 100 >/dev/null; exec sleep 100",
        "trap '' TERM INT PIPE; cat >/dev/null; while :; do sleep 100; done"}) {
    ReplaceFfmpeg("echo $$ >" + Path("pid").string() + "; " + script);
    pid_t pid = 0;
    for (const std::string limit : kLimits) {
      ::setenv("STABLEAA_TOOL_SECONDS", limit.c_str(), 1);
      EXPECT_EQ(FailureOf(1000), "ffmpeg has not got on for " + limit +
                                     " s and was killed (STABLEAA_TOOL_SECONDS in the "
                                     "environment sets this limit)");
      if (std::ifstream(Path("pid")) >> pid) break;
    }
    ASSERT_GT(pid, 0);
    EXPECT_TRUE(DiesWithin(pid, 60)) << script;
    EXPECT_EQ(Names(), std::vector<std::string>{"pid"});
    fs::remove(Path("pid"));
  }
  ::unsetenv("STABLEAA_TOOL_SECONDS");
}

TEST_F(VideoTest, AnFfmpegLivesAsLongAsItWrites) {
  std::string message;
  for (const std::string limit : kLimits) {
    ::setenv("STABLEAA_TOOL_SECONDS", limit.c_str(), 1);
    // Takes six times half the limit.
    ReplaceFfmpeg("cat >/dev/null; echo GIF8 >&3; for i in 1 2 3 4 5 6; do sleep " +
                  std::to_string(std::stod(limit) / 2) + "; echo $i >&3; done");
    message = MessageOf(
        [&] {
          VideoWriter video(Path("b.gif"));
          video.Add(Frame(0));
          video.Finish();
        },
        kWorkFailed);
    if (message == "no error") break;
  }
  EXPECT_EQ(message, "no error");
  EXPECT_EQ(ReadText(Path("b.gif")), "GIF8\n1\n2\n3\n4\n5\n6\n");
  ::unsetenv("STABLEAA_TOOL_SECONDS");
}

TEST_F(VideoTest, ALimitThatIsNoNumberIsRefused) {
  ::setenv("STABLEAA_TOOL_SECONDS", "none", 1);
  EXPECT_THROW(VideoWriter(Path("a.gif")), Error);
  ::unsetenv("STABLEAA_TOOL_SECONDS");
}

TEST_F(VideoTest, ItIsLeftAtOnceWhenInterrupted) {
  ReplaceFfmpeg("exec sleep 100");
  ::setenv("STABLEAA_TOOL_SECONDS", "30", 1);
  std::string message;
  // Long enough for the pipe to be full, when it waits; a busy machine takes longer.
  for (const int milliseconds : {200, 2'000, 20'000}) {
    const InterruptGuard guard;
    std::thread signal([milliseconds] {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      ::kill(::getpid(), SIGINT);
    });
    message = FailureOf(1000);
    signal.join();
    if (message == "interrupted") break;
  }
  ::unsetenv("STABLEAA_TOOL_SECONDS");
  EXPECT_EQ(message, "interrupted");
  EXPECT_EQ(Names(), std::vector<std::string>{});
}

// Descriptors that a child of this process would inherit.
int Inheritable() {
  int count = 0;
  for (int fd = 0; fd < 100; ++fd) count += ::fcntl(fd, F_GETFD) == 0 ? 1 : 0;
  return count;
}

// It gets only its own descriptors, nobody else gets them, and Ctrl-C does not reach it.
TEST_F(VideoTest, FfmpegHasItsInputOutputsAndGroupToItself) {
  ReplaceFfmpeg(
      "cat >/dev/null; echo GIF8 >&3; ls /proc/self/fd >&3; "
      "read -r process name state parent group rest </proc/$$/stat; echo $process $group >&3");
  const Descriptor other(::fcntl(STDERR_FILENO, F_DUPFD, 50));  // not close-on-exec
  const int inheritable = Inheritable();
  VideoWriter video(Path("a.gif"));
  video.Add(Frame(0));
  EXPECT_EQ(Inheritable(), inheritable);
  video.Finish();
  std::ifstream in(Path("a.gif"));
  std::string kind;
  in >> kind;
  std::vector<int> numbers;
  for (int number = 0; in >> number;) numbers.push_back(number);
  // 0 to 3, the pipe that ends it with us, and the directory that `ls` reads.
  ASSERT_EQ(numbers.size(), 8U);
  EXPECT_EQ(numbers[3], 3);
  EXPECT_EQ(numbers[6], numbers[7]);
}

// One that would not end by itself.
TEST_F(VideoTest, FfmpegEndsWithTheProcessThatWrites) {
  ReplaceFfmpeg("trap '' TERM PIPE; echo $$ >" + Path("pid").string() +
                "; while :; do sleep 100; done");
  const pid_t writer = ::fork();
  if (writer == 0) {
    try {
      VideoWriter video(Path("a.gif"));
      video.Add(Frame(0));
      while (!fs::exists(Path("pid")) || fs::file_size(Path("pid")) == 0) ::usleep(1000);
      ::kill(::getpid(), SIGKILL);
    } catch (const Error&) {
      ::_exit(1);  // does not continue into the other tests
    }
  }
  int status = 0;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  EXPECT_TRUE(WIFSIGNALED(status));
  pid_t pid = 0;
  ASSERT_TRUE(std::ifstream(Path("pid")) >> pid);
  EXPECT_TRUE(DiesWithin(pid, 60));
  EXPECT_EQ(Names(), (std::vector<std::string>{".a.gif.tmp", "pid"}));
}

}  // namespace stableaa::video_test
