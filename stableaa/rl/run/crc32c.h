// CRC-32C (Castagnoli), the checksum in TensorBoard's event files. zlib's CRC-32 uses another
// polynomial.
#ifndef STABLEAA_RL_RUN_CRC32C_H_
#define STABLEAA_RL_RUN_CRC32C_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace stableaa {

std::uint32_t Crc32c(std::span<const std::byte> bytes);

// As stored in a record: rotated right by 15 bits, plus 0xa282ead8. Unmasked, the checksum of bytes
// that contain their own checksum would say little about them.
std::uint32_t MaskedCrc32c(std::span<const std::byte> bytes);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_CRC32C_H_
