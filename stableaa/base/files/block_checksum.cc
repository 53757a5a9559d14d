#include "stableaa/base/files/block_checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace stableaa {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
// Odd constants from SplitMix64, which mix well.
constexpr std::uint64_t kWordFactor = 0x9E3779B97F4A7C15;
constexpr std::uint64_t kLaneFactor = 0xBF58476D1CE4E5B9;
constexpr std::uint64_t kFoldFactor = 0x94D049BB133111EB;

using Lanes = BlockChecksum::Lanes;

// Different in each lane, so that swapped words within a block are noticed.
constexpr Lanes FreshLanes() {
  Lanes lanes{};
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = kFoldFactor * (2 * i + 3);
  return lanes;
}

constexpr std::uint64_t Step(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * kWordFactor, 31) * kLaneFactor;
}

// Differs from the step within a lane, so that changes in two lanes do not cancel.
constexpr std::uint64_t Joined(std::uint64_t sum, std::uint64_t part) {
  part = (part ^ part >> 33) * kFoldFactor;
  return std::rotl(sum ^ part ^ part >> 29, 27) * kWordFactor;
}

std::uint64_t Word(const std::byte* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

Lanes Extended(Lanes lanes, std::span<const std::byte> blocks) {
  const std::byte* at = blocks.data();
  const std::byte* const end = at + blocks.size();
  for (; at != end; at += kChecksumBlockBytes) {
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = Step(lanes[i], Word(at + 8 * i));
  }
  return lanes;
}

std::uint64_t Fold(const Lanes& lanes, std::size_t bytes) {
  std::uint64_t sum = bytes;
  for (const std::uint64_t lane : lanes) sum = Joined(sum, lane);
  return sum;
}

// The final shifts carry the high bits, which multiplication keeps to themselves, into the low
// ones.
std::uint64_t Finished(std::uint64_t chain) {
  chain = (chain ^ chain >> 32) * kLaneFactor;
  return chain ^ chain >> 29;
}

void CheckBlocks(std::span<const std::byte> bytes) {
  if (bytes.size() % kChecksumBlockBytes != 0) {
    throw std::logic_error("a checksum of bytes that are not a whole number of blocks");
  }
}

}  // namespace

BlockChecksum::BlockChecksum() : lanes_(FreshLanes()) {}

void BlockChecksum::Extend(std::span<const std::byte> bytes) {
  CheckBlocks(bytes);
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), kChunkBytes - filled_);
    lanes_ = Extended(lanes_, bytes.first(size));
    bytes = bytes.subspan(size);
    filled_ += size;
    if (filled_ == kChunkBytes) {
      chain_ = Joined(chain_, Fold(lanes_, filled_));
      lanes_ = FreshLanes();
      filled_ = 0;
    }
  }
}

std::uint64_t BlockChecksum::Value() const {
  return Finished(filled_ == 0 ? chain_ : Joined(chain_, Fold(lanes_, filled_)));
}

std::uint64_t ChecksumOf(std::span<const std::byte> bytes, int threads) {
  CheckBlocks(bytes);
  std::vector<std::uint64_t> folds((bytes.size() + kChunkBytes - 1) / kChunkBytes);
  const auto chunks = static_cast<std::int64_t>(folds.size());
#pragma omp parallel for num_threads(threads) schedule(static) if (chunks > 1)
  for (std::int64_t i = 0; i < chunks; ++i) {
    const auto chunk = static_cast<std::size_t>(i);
    const std::size_t begin = chunk * kChunkBytes;
    const std::size_t size = std::min(kChunkBytes, bytes.size() - begin);
    folds[chunk] = Fold(Extended(FreshLanes(), bytes.subspan(begin, size)), size);
  }
  std::uint64_t chain = 0;
  for (const std::uint64_t fold : folds) chain = Joined(chain, fold);
  return Finished(chain);
}

}  // namespace stableaa
