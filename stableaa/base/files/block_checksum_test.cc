#include "stableaa/base/files/block_checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <vector>

#include "stableaa/core/random.h"

namespace stableaa::block_checksum_test {

constexpr std::size_t kChunk = std::size_t{1} << 20;

std::vector<std::byte> RandomBytes(std::size_t size) {
  RandomStream random(1, "checksum");
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::uint64_t Sum(const std::vector<std::byte>& bytes) { return ChecksumOf(bytes, 1); }

// Files on disk contain these: a different number here means a new version of their formats.
TEST(BlockChecksum, NeverChanges) {
  EXPECT_EQ(Sum({}), 0u);
  std::vector<std::byte> bytes(kChunk + 128);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  EXPECT_EQ(ChecksumOf(std::span(bytes).first(64), 1), 0x6A9709AB002DB637u);
  EXPECT_EQ(Sum(bytes), 0x9B4141B99D9FDD71u);
}

TEST(BlockChecksum, PiecesAndThreadsMakeNoDifference) {
  for (const std::size_t size : {std::size_t{64}, kChunk - 64, kChunk, kChunk + 64, 3 * kChunk}) {
    const std::vector<std::byte> bytes = RandomBytes(size);
    for (const std::size_t piece : {std::size_t{64}, std::size_t{64 * 1001}, 2 * kChunk}) {
      BlockChecksum sum;
      for (std::size_t at = 0; at < size; at += piece) {
        sum.Extend(std::span(bytes).subspan(at, std::min(piece, size - at)));
        sum.Extend({});
      }
      EXPECT_EQ(sum.Value(), Sum(bytes));
    }
    EXPECT_EQ(ChecksumOf(bytes, 2), Sum(bytes));
    EXPECT_EQ(ChecksumOf(bytes, 5), Sum(bytes));
  }
}

TEST(BlockChecksum, EveryFlippedBitGivesAnotherSum) {
  std::vector<std::byte> bytes = RandomBytes(256);
  std::set<std::uint64_t> sums = {Sum(bytes)};
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_TRUE(sums.insert(Sum(bytes)).second) << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

// Each pair gives a distinct sum: no change of one or two bits can hide or pass for another.
TEST(BlockChecksum, PairsOfFlippedBitsDoNotCancelOut) {
  std::vector<std::byte> bytes = RandomBytes(128);
  const auto flip = [&](std::size_t bit) { bytes[bit / 8] ^= std::byte{1} << (bit % 8); };
  std::vector<std::uint64_t> sums = {Sum(bytes)};
  for (std::size_t i = 0; i < 8 * bytes.size(); ++i) {
    flip(i);
    for (std::size_t j = i + 1; j < 8 * bytes.size(); ++j) {
      flip(j);
      sums.push_back(Sum(bytes));
      flip(j);
    }
    flip(i);
  }
  std::ranges::sort(sums);
  EXPECT_EQ(std::ranges::adjacent_find(sums), sums.end());
}

TEST(BlockChecksum, WordsBlocksAndChunksCannotChangePlaces) {
  const std::vector<std::byte> bytes = RandomBytes(2 * kChunk);
  const auto swapped = [&](std::size_t a, std::size_t b, std::size_t size) {
    std::vector<std::byte> other = bytes;
    for (std::size_t i = 0; i < size; ++i) std::swap(other[a + i], other[b + i]);
    return Sum(other);
  };
  EXPECT_NE(swapped(0, 8, 8), Sum(bytes));
  EXPECT_NE(swapped(0, 64, 8), Sum(bytes));
  EXPECT_NE(swapped(0, 64, 64), Sum(bytes));
  EXPECT_NE(swapped(0, kChunk, 64), Sum(bytes));
  EXPECT_NE(swapped(0, kChunk, kChunk), Sum(bytes));
}

TEST(BlockChecksum, ZerosOfDifferentLengthsDiffer) {
  std::set<std::uint64_t> sums;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{64}, std::size_t{128}, kChunk, kChunk + 64, 2 * kChunk}) {
    EXPECT_TRUE(sums.insert(Sum(std::vector<std::byte>(size))).second) << size;
  }
}

TEST(BlockChecksum, PartsOfABlockAreRefused) {
  const std::vector<std::byte> bytes(65);
  EXPECT_THROW(ChecksumOf(bytes, 1), std::logic_error);
  EXPECT_THROW(BlockChecksum().Extend(bytes), std::logic_error);
}

}  // namespace stableaa::block_checksum_test
