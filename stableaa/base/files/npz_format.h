// The bytes around the arrays in an .npz: headers of NumPy's .npy (version 1.0) and of zip archives
// with stored entries. ZIP64 fields appear only where a size or an offset does not fit in 32 bits.
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
  std::uint64_t offset = 0;  // the local header's, in the archive
};

// The most entries possible without ZIP64; one more is its marker.
inline constexpr std::size_t kMostZipEntries = 65534;

// Replaces a size or an offset that is in the ZIP64 field, whose tag follows.
inline constexpr std::uint32_t kInZip64 = 0xFFFFFFFF;
inline constexpr std::uint16_t kZip64Tag = 1;

// The method of an uncompressed entry.
inline constexpr std::uint16_t kStored = 0;

std::vector<std::byte> LocalHeader(const ZipEntry& entry);
std::vector<std::byte> CentralHeader(const ZipEntry& entry);
std::vector<std::byte> EndOfDirectory(std::uint64_t entries, std::uint64_t directory_offset,
                                      std::uint64_t directory_size);

// The size of an element in bytes. Throws std::logic_error unless `dtype` is a NumPy boolean or
// number in the form "<f4".
std::size_t DtypeSize(const std::string& dtype);

std::string NpyHeader(const std::vector<std::uint64_t>& shape, const std::string& dtype);

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_NPZ_FORMAT_H_
