#include "stableaa/rl/run/crc32c.h"

#include <array>
#include <bit>

namespace stableaa {
namespace {

// 0x1EDC6F41 with its bits in reverse order: bytes enter with their lowest bit first.
constexpr std::uint32_t kPolynomial = 0x82F63B78;

// The effect of eight steps of the division on each byte.
constexpr std::array<std::uint32_t, 256> MakeTable() {
  std::array<std::uint32_t, 256> table = {};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? kPolynomial : 0);
    }
    table[byte] = remainder;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = MakeTable();

}  // namespace

std::uint32_t Crc32c(std::span<const std::byte> bytes) {
  std::uint32_t remainder = 0xFFFFFFFF;
  for (const std::byte byte : bytes) {
    remainder = (remainder >> 8) ^ kTable[(remainder ^ std::to_integer<std::uint32_t>(byte)) & 255];
  }
  return ~remainder;
}

std::uint32_t MaskedCrc32c(std::span<const std::byte> bytes) {
  return std::rotr(Crc32c(bytes), 15) + 0xa282ead8;
}

}  // namespace stableaa
