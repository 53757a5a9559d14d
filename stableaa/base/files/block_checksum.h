// A multi-threaded 64-bit checksum that runs at memory speed and guards against damage (not
// forgery).
//
// The input is a whole number of 64-byte blocks, cut into chunks of 1 MiB. Within a chunk, word i
// of each block (little-endian) goes into lane i,
//
//   lane_i ← rotate_left(lane_i + word · a, 31) · b        a, b odd, so that nothing is lost
//
// and each chunk's lanes are folded, in order, into the checksum. All steps are one-to-one, so a
// change within one word is always noticed. Any other change, including swapped blocks or chunks,
// goes unnoticed with a chance of about one in 2^64 (word · a keeps one change of a few bits from
// undoing another). The lanes are independent, so a processor works on all of them at once.
//
// These constants are part of file formats and never change.
#ifndef STABLEAA_BASE_FILES_BLOCK_CHECKSUM_H_
#define STABLEAA_BASE_FILES_BLOCK_CHECKSUM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stableaa {

inline constexpr std::size_t kChecksumBlockBytes = 64;

// For input that comes in pieces:
//   BlockChecksum sum;  sum.Extend(a);  sum.Extend(b);  sum.Value();
class BlockChecksum {
 public:
  BlockChecksum();

  // Throws std::logic_error if `bytes` is not a whole number of blocks.
  void Extend(std::span<const std::byte> bytes);

  // The checksum of all bytes so far.
  std::uint64_t Value() const;

  using Lanes = std::array<std::uint64_t, 8>;

 private:
  Lanes lanes_;
  std::size_t filled_ = 0;   // bytes in the current chunk
  std::uint64_t chain_ = 0;  // of the preceding chunks
};

// The same for the whole input at once.
std::uint64_t ChecksumOf(std::span<const std::byte> bytes, int threads);

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_BLOCK_CHECKSUM_H_
