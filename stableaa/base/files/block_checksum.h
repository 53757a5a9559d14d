// A 64-bit checksum that runs at the speed of memory and with several threads, against damage (not
// against forgery).
//
// The input is a whole number of 64-byte blocks, cut into chunks of 1 MiB. Within a chunk word i of
// each block (little-endian) goes into lane i,
//
//   lane_i ← rotate_left(lane_i + word · a, 31) · b        a, b odd, so that nothing is lost
//
// and each chunk's lanes are folded, in order, into the checksum. As all steps are one-to-one, a
// change within one word is always noticed; any other, exchanged blocks and chunks included, but
// for one in about 2^64 (word · a keeps a change of few bits from being undone by another one of
// few bits). The lanes are independent, so that a processor works on all of them at once.
//
// These numbers are part of file formats and never change.
#ifndef STABLEAA_BASE_FILES_BLOCK_CHECKSUM_H_
#define STABLEAA_BASE_FILES_BLOCK_CHECKSUM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stableaa {

inline constexpr std::size_t kChecksumBlockBytes = 64;

// For what comes in pieces:
//   BlockChecksum sum;  sum.Extend(a);  sum.Extend(b);  sum.Value();
class BlockChecksum {
 public:
  BlockChecksum();

  // Throws std::logic_error unless `bytes` is a whole number of blocks.
  void Extend(std::span<const std::byte> bytes);

  // The checksum of all bytes so far.
  std::uint64_t Value() const;

  using Lanes = std::array<std::uint64_t, 8>;

 private:
  Lanes lanes_;
  std::size_t filled_ = 0;   // bytes in the current chunk
  std::uint64_t chain_ = 0;  // of the chunks before it
};

// The same for all of it at once.
std::uint64_t ChecksumOf(std::span<const std::byte> bytes, int threads);

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_BLOCK_CHECKSUM_H_
