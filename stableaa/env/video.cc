#include "stableaa/env/video.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/base/process/child_process.h"
#include "stableaa/base/process/outside_tool.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

constexpr int kWatchableSide = 320;
constexpr int kMaxScale = 64;
constexpr int kMaxVideoSide = 8192;
constexpr int kOutput = 3;  // ffmpeg's number for the file it writes
constexpr off_t kMostVideo = off_t{1} << 32;
constexpr off_t kMostMessages = off_t{1} << 28;

bool IsGif(const fs::path& path) { return path.extension() == ".gif"; }

VideoOptions Checked(const fs::path& path, const VideoOptions& options) {
  if (path.extension() != ".gif" && path.extension() != ".mp4") {
    throw BadInput(
        fmt::format("cannot write {}: a video's name ends in .gif or .mp4", path.string()));
  }
  if (!(options.frames_per_second >= .1 && options.frames_per_second <= 1000)) {
    throw BadInput(fmt::format("a video has 0.1 to 1000 frames per second, found {}",
                               options.frames_per_second));
  }
  if (options.scale < 0 || options.scale > kMaxScale) {
    throw BadInput(fmt::format("a video's scale is 1 to {}, or 0 to choose, found {}", kMaxScale,
                               options.scale));
  }
  ToolSeconds();  // throws now if the limit is wrong
  return options;
}

// Follows the rules of execvp.
std::string FindFfmpeg(const fs::path& path) {
  const char* variable = std::getenv("PATH");
  std::string_view directories = variable == nullptr ? "/bin:/usr/bin" : variable;
  while (true) {
    const std::size_t colon = directories.find(':');
    const fs::path program = fs::path(directories.substr(0, colon)) / "ffmpeg";
    std::error_code error;
    if (::access(program.c_str(), X_OK) == 0 && fs::is_regular_file(program, error)) {
      return fs::absolute(program).string();
    }
    if (colon == directories.npos) break;
    directories.remove_prefix(colon + 1);
  }
  throw WorkFailed(
      fmt::format("cannot write {}: videos need the program ffmpeg, which is not installed "
                  "(Debian, Ubuntu: apt install ffmpeg)",
                  path.string()));
}

// Checks the first bytes of a file, which an ffmpeg that draws nothing does not get right.
bool BeginsVideo(std::string_view bytes, bool gif) {
  return gif ? bytes.starts_with("GIF8") : bytes.size() >= 8 && bytes.substr(4, 4) == "ftyp";
}

int ScaleOf(const Picture& picture, const VideoOptions& options) {
  return options.scale > 0 ? options.scale : WatchableScale(picture);
}

std::string Filters(const Picture& first, int scale, const VideoOptions& options, bool gif) {
  std::string filters = fmt::format("scale={}:{}:flags=neighbor,format=rgb24",
                                    scale * first.width(), scale * first.height());
  if (gif) {
    if (options.frames_per_second > 50) filters += ",fps=50";
    return filters +
           ",split[seen][drawn];[seen]palettegen=stats_mode=single:reserve_transparent=0[palette];"
           "[drawn][palette]paletteuse=dither=none:new=1";
  }
  return filters +
         ",pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv,format=yuv420p";
}

// The task for ffmpeg: read raw pictures from its input and write to kOutput. The output is given
// by name because +faststart, which moves the index to the front, opens the file a second time.
// Without -xerror it reports success even if the end of the file could not be written.
std::vector<std::string> Arguments(const Picture& first, int scale, const VideoOptions& options,
                                   bool gif) {
  constexpr std::string_view kGif = "-f gif -loop 0";
  // Names the kind of yuv that the filters make; otherwise players guess it from the size.
  constexpr std::string_view kMp4 =
      "-f mp4 -c:v libx264 -crf 18 -movflags +faststart "
      "-colorspace bt709 -color_primaries bt709 -color_trc bt709 -color_range tv";
  const std::string command = fmt::format(
      "-hide_banner -nostdin -nostats -loglevel error -xerror "
      "-f rawvideo -pixel_format rgb24 -video_size {}x{} -framerate {} -i pipe:0 "
      "-vf {} {} -y file:/dev/fd/{}",
      first.width(), first.height(), options.frames_per_second, Filters(first, scale, options, gif),
      gif ? kGif : kMp4, kOutput);
  std::istringstream words(command);
  return {std::istream_iterator<std::string>(words), {}};
}

// Calls `take` with the file's contents, one piece after another.
template <typename Take>
void ForEachPart(const Descriptor& file, Take take) {
  std::array<char, 1 << 16> part;
  off_t done = 0;
  ssize_t got = 0;
  while ((got = ::pread(file.get(), part.data(), part.size(), done)) > 0) {
    take(std::string_view(part.data(), static_cast<std::size_t>(got)));
    done += got;
  }
}

// More than one encoded picture ever takes: raw RGB with a palette, each side rounded up to H.264's
// blocks. Encoders add less than that to what they cannot compress.
off_t MostBytes(const Picture& picture, off_t scale) {
  constexpr off_t kBlock = 16, kPalette = 4096;
  return 3 * (scale * picture.width() + kBlock) * (scale * picture.height() + kBlock) + kPalette;
}

off_t SizeOf(const Descriptor& file) {
  struct stat status = {};
  return ::fstat(file.get(), &status) == 0 ? status.st_size : 0;
}

// ffmpeg's last informative message.
std::string LastLine(std::string_view text) {
  while (!text.empty()) {
    const std::size_t newline = text.rfind('\n');
    const std::string_view line = newline == text.npos ? text : text.substr(newline + 1);
    if (!line.empty() && line != "Conversion failed!") return Shorten(line, 200);
    text = newline == text.npos ? std::string_view() : text.substr(0, newline);
  }
  return "";
}

}  // namespace

int WatchableScale(const Picture& picture) {
  const int shorter = std::min(picture.width(), picture.height());
  return std::max(1, (kWatchableSide + shorter / 2) / shorter);
}

// The running ffmpeg. Its messages go to a file, which, unlike a pipe, nobody has to drain.
class VideoWriter::Encoder {
 public:
  // One picture takes at most `most_per_picture` bytes of the video.
  Encoder(const std::string& program, const std::vector<std::string>& arguments,
          off_t most_per_picture)
      : most_per_picture_(most_per_picture),
        output_(MemoryFile("video")),
        messages_(MemoryFile("ffmpeg messages")) {
    // A socket, because writing to it can fail without a signal.
    std::array<int, 2> ends = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw SystemError("cannot make a socket", errno);
    }
    input_ = Descriptor(ends[0]);
    const Descriptor its_input(ends[1]);
    child_ = std::make_unique<ChildProcess>(
        ChildProcess::Options{.program = program,
                              .arguments = arguments,
                              .descriptors = {{its_input.get(), STDIN_FILENO},
                                              {messages_.get(), STDERR_FILENO},
                                              {output_.get(), kOutput}},
                              .ends_with_us = true});
  }

  // Writes one picture. Returns false if ffmpeg has stopped reading. Throws like ToolWatch, and
  // when ffmpeg writes more than its pictures can take.
  bool Write(std::span<const std::uint8_t> bytes) {
    ToolWatch watch("ffmpeg");
    most_video_ = std::min(most_video_ + most_per_picture_, kMostVideo);
    RefuseFloods(watch);
    while (!bytes.empty()) {
      const ssize_t sent =
          ::send(input_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent >= 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
        watch.SignOfLife();
      } else if (errno == EAGAIN) {
        pollfd wait = {input_.get(), POLLOUT, 0};
        if (::poll(&wait, 1, static_cast<int>(1000 * kToolSlice)) == 0) {
          RefuseFloods(watch);
          watch.Check();
        }
      } else if (errno != EINTR) {
        return false;
      }
    }
    return true;
  }

  // Ends the input and waits. Returns what went wrong, or an empty string. Throws like Write.
  std::string Finish() {
    ToolWatch watch("ffmpeg");  // before the input ends: Ctrl-C may follow at once
    input_.Close();
    for (off_t written = 0; !child_->Wait(kToolSlice);) {
      RefuseFloods(watch);
      if (const off_t now = SizeOf(output_); now != std::exchange(written, now)) watch.SignOfLife();
      watch.Check();
    }
    RefuseFloods(watch);
    if (child_->exit_code() == 0) return "";
    std::string messages;
    ForEachPart(messages_, [&](std::string_view part) { messages += part; });
    const std::string line = LastLine(messages);
    return line.empty() ? fmt::format("it {}", child_->End()) : line;
  }

  // The first bytes of the video, which identify its kind; fewer if it is shorter.
  std::string Beginning() const {
    std::array<char, 8> bytes = {};
    const ssize_t got = ::pread(output_.get(), bytes.data(), bytes.size(), 0);
    return {bytes.data(), static_cast<std::size_t>(std::max(got, ssize_t{0}))};
  }

  void CopyOutput(AtomicFile& file) const {
    ForEachPart(output_, [&](std::string_view part) { file.Write(part); });
  }

 private:
  void RefuseFloods(const ToolWatch& watch) const {
    watch.CheckSize(output_, most_video_);
    watch.CheckSize(messages_, kMostMessages);
  }

  const off_t most_per_picture_;
  off_t most_video_ = off_t{1} << 20;  // for the pictures so far; an empty video has its headers
  Descriptor input_, output_, messages_;
  std::unique_ptr<ChildProcess> child_;
};

VideoWriter::VideoWriter(fs::path path, VideoOptions options)
    : path_(std::move(path)),
      options_(Checked(path_, options)),
      ffmpeg_(FindFfmpeg(path_)),
      file_(std::make_unique<AtomicFile>(path_)) {}

VideoWriter::~VideoWriter() = default;

void VideoWriter::Add(const Picture& picture) {
  CheckOpen();
  if (!encoder_) Start(picture);
  if (picture.width() != width_ || picture.height() != height_) {
    throw BadInput(fmt::format("cannot add a picture of {}x{} pixels to {}, which has {}x{}",
                               picture.width(), picture.height(), path_.string(), width_, height_));
  }
  try {
    if (encoder_->Write(picture.rgb())) return;
    const std::string reason = encoder_->Finish();
    Fail(reason.empty() ? "it ended before the last picture" : reason);
  } catch (const Error&) {
    Close();
    throw;
  }
}

void VideoWriter::Finish() {
  CheckOpen();
  if (!encoder_) {
    closed_ = true;
    throw WorkFailed(fmt::format("cannot write {}: there are no pictures", path_.string()));
  }
  closed_ = true;
  const std::unique_ptr<Encoder> encoder = std::move(encoder_);
  const std::string reason = encoder->Finish();
  if (!reason.empty()) Fail(reason);
  const std::string beginning = encoder->Beginning();
  if (beginning.empty()) Fail("it wrote nothing");
  if (!BeginsVideo(beginning, IsGif(path_))) Fail("it has drawn no picture");
  encoder->CopyOutput(*file_);
  file_->Commit();
}

void VideoWriter::Start(const Picture& first) {
  if (first.width() == 0) throw BadInput("cannot make a video of empty pictures");
  const int scale = ScaleOf(first, options_);
  if (scale * std::max(first.width(), first.height()) > kMaxVideoSide) {
    throw BadInput(fmt::format("a video has at most {} pixels per side, found {}x{} times {}",
                               kMaxVideoSide, first.width(), first.height(), scale));
  }
  encoder_ = std::make_unique<Encoder>(ffmpeg_, Arguments(first, scale, options_, IsGif(path_)),
                                       MostBytes(first, scale));
  width_ = first.width();
  height_ = first.height();
}

void VideoWriter::CheckOpen() const {
  if (closed_) {
    throw BadInput(fmt::format("cannot write {}: the video is already closed", path_.string()));
  }
}

void VideoWriter::Close() {
  closed_ = true;
  encoder_.reset();
}

void VideoWriter::Fail(const std::string& reason) const {
  throw WorkFailed(fmt::format("cannot write {}: ffmpeg failed: {}", path_.string(), reason));
}

}  // namespace stableaa
