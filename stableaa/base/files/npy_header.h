// The header of a NumPy .npy file: element type and shape, as a dictionary in Python syntax.
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
  bool fortran_order = false;        // column-major; meaningless for fewer than 2 dimensions
  std::vector<std::uint64_t> shape;  // empty: a single element
  std::size_t header_bytes = 0;      // the elements follow
  std::uint64_t elements = 1;        // the product of the shape
  std::uint64_t element_bytes = 0;   // for all elements together
};

// No header is longer. NumPy's own have 128 bytes, and it refuses text above 10000 by default.
inline constexpr std::size_t kMostNpyHeaderBytes = std::size_t{1} << 16;

// `start` is the file's first kMostNpyHeaderBytes, or all of a shorter file. Versions 1 to 3.
// Anything else, elements that are not numbers, and shapes that no memory can hold throw BadInput
// that starts with `where`.
NpyDescription ParseNpyHeader(std::span<const std::byte> start, const std::string& where);

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_NPY_HEADER_H_
