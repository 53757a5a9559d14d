// Frames as they are, or compressed one by one.
#ifndef STABLEAA_RL_REPLAY_FRAME_CODEC_H_
#define STABLEAA_RL_REPLAY_FRAME_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/rl/replay/replay.h"

namespace stableaa {

// For frames of one size. A blob is shorter than the frame, or it is the frame itself. Not
// thread-safe.
class FrameCodec {
 public:
  FrameCodec(Compression compression, std::size_t frame_bytes);
  ~FrameCodec();

  Compression compression() const { return compression_; }
  std::size_t frame_bytes() const { return frame_bytes_; }

  // Appends the frame's blob.
  void Encode(std::span<const std::uint8_t> frame, std::vector<std::uint8_t>& out);

  // False for a blob that is not one of Encode's; what is in `frame` is unspecified then.
  bool Decode(std::span<const std::uint8_t> blob, std::span<std::uint8_t> frame);

  // A frame's worth of memory that others may use between two calls.
  std::span<std::uint8_t> scratch() { return scratch_; }

 private:
  struct Contexts;  // of zstd, which would else be made anew for each frame

  std::size_t Compress(std::span<const std::uint8_t> frame, std::span<std::uint8_t> blob);

  Compression compression_;
  std::size_t frame_bytes_;
  std::vector<std::uint8_t> scratch_;
  std::unique_ptr<Contexts> contexts_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_REPLAY_FRAME_CODEC_H_
