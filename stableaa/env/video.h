// Writes pictures to a video file, with the program ffmpeg.
//
//   VideoWriter video("breakout.gif", {.frames_per_second = 15});
//   for (...) video.Add(env->frame(0));
//   video.Finish();
//
// The ending of the path decides:
// - .gif repeats for ever. Each picture has a palette of its own: pictures of at most 256 colours
//   are exact, and memory does not grow with the length, at the price of some 25 ms per picture.
//   Times are in hundredths of a second, so at, say, 15 per second some pictures last longer than
//   others; browsers show nothing shorter than two hundredths, so above 50 per second pictures are
//   left out.
// - .mp4 is H.264 as every browser plays it (yuv420p: sides are even, by a black line if need be).
//
// The file appears whole or not at all, as AtomicFile sees to; ffmpeg works in memory, which holds
// the encoded video. When the writer's process dies, ffmpeg ends with it. An ffmpeg that neither
// reads nor writes for ToolSeconds (base/process/outside_tool.h: a minute), that writes more than
// its pictures can take (or 4 GiB) or no video at all is WorkFailed, and so is Ctrl-C while waiting.
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
  // Each pixel becomes a square of scale x scale. 1 to 64; 0: by WatchableScale, which small
  // pictures need to be watched.
  int scale = 0;
};

// The whole number that makes the shorter side of a picture about 320 pixels long; at least 1.
int WatchableScale(const Picture& picture);

class VideoWriter {
 public:
  // Checks what would otherwise fail after the work. BadInput: an option out of range, another
  // ending. WorkFailed: a path that cannot be written to (AtomicFile), ffmpeg is not installed.
  explicit VideoWriter(std::filesystem::path path, VideoOptions options = {});

  // Without Finish nothing is left behind.
  ~VideoWriter();

  VideoWriter(const VideoWriter&) = delete;
  VideoWriter& operator=(const VideoWriter&) = delete;

  // BadInput unless all pictures are of one size. WorkFailed, with ffmpeg's last words, if it
  // fails; maybe some pictures late.
  void Add(const Picture& picture);

  // Waits for ffmpeg and puts the file in place. WorkFailed if there were no pictures, ffmpeg fails
  // or the disk is full. Nothing may be added after.
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
