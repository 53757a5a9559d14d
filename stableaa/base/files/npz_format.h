// The bytes around the arrays of an .npz: headers of NumPy's .npy (version 1.0) and of zip
// archives with stored entries. ZIP64 fields are there where a size or an offset does not fit into
// 32 bits, and only there.
//
//   local header, .npy header, elements     for each array
//   central header                          for each array
//   end of the directory
#ifndef STABLEAA_BASE_FILES_NPZ_FORMAT_H_
#define STABLEAA_BASE_FILES_NPZ_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stableaa {

// A file in the archive.
struct ZipEntry {
  std::string name;  // "rewards.npy"
  std::uint32_t crc = 0;
  std::uint64_t size = 0;    // of the content
  std::uint64_t offset = 0;  // of the local header in the archive
};

// The number of entries that fit in without ZIP64; one more is its mark.
inline constexpr std::size_t kMostZipEntries = 65534;

// Instead of a size or an offset that stands in the ZIP64 field, and that field's tag.
inline constexpr std::uint32_t kInZip64 = 0xFFFFFFFF;
inline constexpr std::uint16_t kZip64Tag = 1;

// The method of an entry that is not compressed.
inline constexpr std::uint16_t kStored = 0;

std::vector<std::byte> LocalHeader(const ZipEntry& entry);
std::vector<std::byte> CentralHeader(const ZipEntry& entry);
std::vector<std::byte> EndOfDirectory(std::uint64_t entries, std::uint64_t directory_offset,
                                      std::uint64_t directory_size);

// The bytes of an element; throws std::logic_error for what is not a boolean or number of NumPy's
// in the form "<f4".
std::size_t DtypeSize(const std::string& dtype);

std::string NpyHeader(const std::vector<std::uint64_t>& shape, const std::string& dtype);

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_NPZ_FORMAT_H_
