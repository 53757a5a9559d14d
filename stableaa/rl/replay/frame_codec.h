// Stores frames as they are or compresses them one by one.
#ifndef STABLEAA_RL_REPLAY_FRAME_CODEC_H_
#define STABLEAA_RL_REPLAY_FRAME_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stableaa/rl/replay/replay.h"

namespace stableaa {

// All frames have the same size. A blob is either shorter than its frame or the frame itself. Not
// thread-safe.
class FrameCodec {
 public:
  FrameCodec(Compression compression, std::size_t frame_bytes);
  ~FrameCodec();

  Compression compression() const { return compression_; }

  // Appends the frame's blob.
  void Encode(std::span<const std::uint8_t> frame, std::vector<std::uint8_t>& out);

  // Returns false for a blob that Encode did not write; `frame` is then unspecified.
  bool Decode(std::span<const std::uint8_t> blob, std::span<std::uint8_t> frame);

  // One frame's worth of memory that callers may use between two calls.
  std::span<std::uint8_t> scratch() { return scratch_; }

 private:
  struct Contexts;  // zstd's, kept because making them anew for each frame is slow

  std::size_t Compress(std::span<const std::uint8_t> frame, std::span<std::uint8_t> blob);

  Compression compression_;
  std::size_t frame_bytes_;
  std::vector<std::uint8_t> scratch_;
  std::unique_ptr<Contexts> contexts_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_REPLAY_FRAME_CODEC_H_
