// Writes pictures to a video file using the program ffmpeg.
//
//   VideoWriter video("breakout.gif", {.frames_per_second = 15});
//   for (...) video.Add(env->frame(0));
//   video.Finish();
//
// The extension of the path decides the format:
// - .gif repeats forever. Each picture has its own palette: pictures with at most 256 colours are
//   exact, and memory does not grow with the length, at a cost of some 25 ms per picture. Times are
//   in hundredths of a second, so at, say, 15 per second some pictures last longer than others.
//   Browsers show nothing shorter than two hundredths, so pictures are dropped above 50 per second.
// - .mp4 is H.264 that every browser plays (yuv420p: sides are even, with a black line if
//   necessary).
//
// The file appears whole or not at all, thanks to AtomicFile; ffmpeg works in memory, which holds
// the encoded video. If the writer's process dies, ffmpeg ends with it. WorkFailed is thrown if
// ffmpeg neither reads nor writes for ToolSeconds (base/process/outside_tool.h: a minute), writes
// more than its pictures can take (or 4 GiB) or does not write a video, and on Ctrl-C while
// waiting.
#ifndef STABLEAA_ENV_VIDEO_H_
#define STABLEAA_ENV_VIDEO_H_

#include <filesystem>
#include <memory>
#include <string>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/env/picture.h"

namespace stableaa {

struct VideoOptions {
  double frames_per_second = 15;  // 0.1 to 1000
  // Each pixel becomes a square of scale x scale. 1 to 64; 0 uses WatchableScale, since small
  // pictures are hard to watch.
  int scale = 0;
};

// The whole number that makes the shorter side of a picture about 320 pixels long; at least 1.
int WatchableScale(const Picture& picture);

class VideoWriter {
 public:
  // Checks now what would otherwise fail after the work. Throws BadInput for an option out of range
  // or another extension, WorkFailed if the path cannot be written to (AtomicFile) or ffmpeg is not
  // installed.
  explicit VideoWriter(std::filesystem::path path, VideoOptions options = {});

  // Without Finish, nothing is left behind.
  ~VideoWriter();

  VideoWriter(const VideoWriter&) = delete;
  VideoWriter& operator=(const VideoWriter&) = delete;

  // Throws BadInput unless all pictures have the same size, and WorkFailed, with ffmpeg's last
  // words, if ffmpeg fails, though perhaps some pictures late.
  void Add(const Picture& picture);

  // Waits for ffmpeg and puts the file in place. Throws WorkFailed if there were no pictures,
  // ffmpeg fails or the disk is full. Nothing may be added afterwards.
  void Finish();

 private:
  class Encoder;

  void Start(const Picture& first);
  void CheckOpen() const;
  void Close();
  [[noreturn]] void Fail(const std::string& reason) const;

  const std::filesystem::path path_;
  const VideoOptions options_;
  const std::string ffmpeg_;  // the program's path
  const std::unique_ptr<AtomicFile> file_;
  int width_ = 0, height_ = 0;        // of the pictures
  std::unique_ptr<Encoder> encoder_;  // from the first picture to the end
  bool closed_ = false;               // finished, or failed
};

}  // namespace stableaa

#endif  // STABLEAA_ENV_VIDEO_H_
