// The arrays of an .npz archive, as numpy.savez and numpy.savez_compressed write them.
//
//   const MappedFile file("model.npz");
//   const NpzReader archive(file.bytes(), "model.npz");
//   const NpyArray data = archive.Read("data");
//   std::vector<double> numbers(data.elements());
//   data.Numbers(0, numbers);
//
// Reads zip archives with stored and deflated entries, ZIP64 fields, data descriptors and comments,
// and .npy versions 1 to 3 of plain numbers in either byte order. The archive is not trusted: any
// part that lies outside it, contradicts another or fails its CRC-32 is a BadInput that starts with
// the archive's and the array's names. Deflated data is inflated piece by piece, so memory grows
// with what is actually there and never beyond what the array's shape says.
#ifndef STABLEAA_BASE_FILES_NPZ_READER_H_
#define STABLEAA_BASE_FILES_NPZ_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/core/error.h"

namespace stableaa {

// An array of numbers. Its elements are in the archive, if stored there uncompressed, or in its own
// memory. Either way they may be unaligned and are read by copying.
class NpyArray {
 public:
  // `dtype` is NumPy's ("<f8"); messages start with `where` ("model.npz: array 'data'").
  NpyArray(std::string where, std::string dtype, std::vector<std::uint64_t> shape,
           std::uint64_t elements)
      : where_(std::move(where)),
        dtype_(std::move(dtype)),
        shape_(std::move(shape)),
        elements_(elements) {}

  const std::string& dtype() const { return dtype_; }
  const std::vector<std::uint64_t>& shape() const { return shape_; }
  std::uint64_t elements() const { return elements_; }

  // Elements first … first + out.size() − 1, which must exist. BadInput names the element and what
  // is wrong: for Integers, a non-integer dtype or a negative number; for Numbers, a dtype that is
  // neither an integer nor a 4- or 8-byte float. Numbers rounds integers above 2^53.
  void Integers(std::uint64_t first, std::span<std::uint64_t> out) const;
  void Numbers(std::uint64_t first, std::span<double> out) const;

  // Throws BadInput unless it has one dimension.
  void ExpectList() const;

  // "model.npz: array 'data': what", for the caller's own checks.
  Error Wrong(std::string_view what) const;

 private:
  friend class NpzReader;

  std::span<const std::byte> data() const {
    return own_.empty() ? borrowed_ : std::span<const std::byte>(own_).subspan(own_begin_);
  }

  std::string where_;
  std::string dtype_;
  std::vector<std::uint64_t> shape_;
  std::uint64_t elements_;
  std::span<const std::byte> borrowed_;
  std::vector<std::byte> own_;
  std::size_t own_begin_ = 0;  // where the elements begin in own_
};

class NpzReader {
 public:
  // Reads the archive's directory. Borrows `archive`, which must outlive the reader and the arrays.
  NpzReader(std::span<const std::byte> archive, std::string name);

  // The names of all arrays in alphabetical order, without ".npy". Other files in the archive are
  // ignored.
  std::vector<std::string> names() const;
  bool Contains(const std::string& array) const { return entries_.contains(array); }

  // BadInput if there is no such array; the message lists those that exist.
  NpyArray Read(const std::string& array) const;

 private:
  struct Entry {
    std::uint16_t flags = 0;
    std::uint16_t method = 0;
    std::uint32_t crc = 0;
    std::uint64_t stored_bytes = 0;  // in the archive
    std::uint64_t bytes = 0;         // of the content
    std::uint64_t offset = 0;        // of the local header
  };

  void ReadDirectory(std::uint64_t offset, std::uint64_t bytes, std::uint64_t entries);
  std::span<const std::byte> StoredBytes(const Entry& entry, const std::string& where) const;

  std::span<const std::byte> archive_;
  std::string name_;
  std::map<std::string, Entry> entries_;
};

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_NPZ_READER_H_
