// The header of a NumPy .npy file: element type and shape, as a dictionary in Python's spelling.
//
//   \x93NUMPY  major minor  length  {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
#ifndef STABLEAA_BASE_FILES_NPY_HEADER_H_
#define STABLEAA_BASE_FILES_NPY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stableaa {

struct NpyDescription {
  std::string dtype;                 // "<f8"; a boolean or number, see DtypeSize
  bool fortran_order = false;        // columns first; without meaning for fewer than 2 dimensions
  std::vector<std::uint64_t> shape;  // empty: a single element
  std::size_t header_bytes = 0;      // the elements follow behind them
  std::uint64_t elements = 1;        // as the shape says
  std::uint64_t element_bytes = 0;   // of all of them
};

// No header is longer; NumPy's own have 128 bytes, and it refuses texts above 10000 by default.
inline constexpr std::size_t kMostNpyHeaderBytes = std::size_t{1} << 16;

// `start`: the file's first kMostNpyHeaderBytes, or all of a shorter file. Versions 1 to 3.
// Throws BadInput that starts with `where` for anything else, for elements that are not numbers and
// for shapes that no memory can hold.
NpyDescription ParseNpyHeader(std::span<const std::byte> start, const std::string& where);

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_NPY_HEADER_H_
