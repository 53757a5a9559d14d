#include "stableaa/rl/replay/frame_codec.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <new>

namespace stableaa {
namespace {

// Higher levels gain little on frames and take several times as long.
constexpr int kZstdLevel = 1;

struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

struct FrameCodec::Contexts {
  std::unique_ptr<ZSTD_CCtx, FreeZstd> compress{ZSTD_createCCtx()};
  std::unique_ptr<ZSTD_DCtx, FreeZstd> decompress{ZSTD_createDCtx()};
};

FrameCodec::FrameCodec(Compression compression, std::size_t frame_bytes)
    : compression_(compression), frame_bytes_(frame_bytes), scratch_(frame_bytes) {
  if (compression != Compression::kZstd) return;
  contexts_ = std::make_unique<Contexts>();
  if (!contexts_->compress || !contexts_->decompress) throw std::bad_alloc();
}

FrameCodec::~FrameCodec() = default;

// Returns the blob's length, or 0 if it does not fit.
std::size_t FrameCodec::Compress(std::span<const std::uint8_t> frame,
                                 std::span<std::uint8_t> blob) {
  if (compression_ == Compression::kLz4) {
    const int written = LZ4_compress_default(
        reinterpret_cast<const char*>(frame.data()), reinterpret_cast<char*>(blob.data()),
        static_cast<int>(frame.size()), static_cast<int>(blob.size()));
    return static_cast<std::size_t>(std::max(written, 0));
  }
  const std::size_t written = ZSTD_compressCCtx(contexts_->compress.get(), blob.data(), blob.size(),
                                                frame.data(), frame.size(), kZstdLevel);
  return ZSTD_isError(written) != 0 ? 0 : written;
}

void FrameCodec::Encode(std::span<const std::uint8_t> frame, std::vector<std::uint8_t>& out) {
  const std::size_t begin = out.size();
  out.resize(begin + frame_bytes_);
  const auto blob = std::span(out).subspan(begin);
  const std::size_t length = compression_ == Compression::kNone || frame_bytes_ < 2
                                 ? 0
                                 : Compress(frame, blob.first(frame_bytes_ - 1));
  if (length > 0) {
    out.resize(begin + length);
  } else {
    std::ranges::copy(frame, blob.begin());
  }
}

bool FrameCodec::Decode(std::span<const std::uint8_t> blob, std::span<std::uint8_t> frame) {
  if (blob.size() == frame_bytes_) {
    std::ranges::copy(blob, frame.begin());
    return true;
  }
  if (blob.size() > frame_bytes_) return false;
  switch (compression_) {
    case Compression::kNone:
      return false;
    case Compression::kLz4:
      return LZ4_decompress_safe(reinterpret_cast<const char*>(blob.data()),
                                 reinterpret_cast<char*>(frame.data()),
                                 static_cast<int>(blob.size()),
                                 static_cast<int>(frame_bytes_)) == static_cast<int>(frame_bytes_);
    case Compression::kZstd:
      return ZSTD_decompressDCtx(contexts_->decompress.get(), frame.data(), frame_bytes_,
                                 blob.data(), blob.size()) == frame_bytes_;
  }
  return false;
}

}  // namespace stableaa
