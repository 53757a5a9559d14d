// NumPy's .npz: a zip archive of arrays, as numpy.load reads it. Entries are stored, not deflated,
// with ZIP64 records where sizes require them. Equal arrays give equal bytes.
//
//   NpzWriter out("trace.npz");
//   out.Add("rewards", {n}, rewards);
//   out.Finish();
#ifndef STABLEAA_BASE_FILES_NPZ_H_
#define STABLEAA_BASE_FILES_NPZ_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "stableaa/base/files/atomic_file.h"

namespace stableaa {

struct ZipEntry;

// Add and AddStream throw std::logic_error, and add nothing, if the name is taken or not 1 to 1000
// bytes of UTF-8, or if the number of elements does not match the shape (no dimensions: one
// element). They throw BadInput for more than 65534 arrays. Not thread-safe.
class NpzWriter {
 public:
  // Errors as in AtomicFile. The file appears at Finish.
  explicit NpzWriter(const std::filesystem::path& path);
  ~NpzWriter();

  // An array in C order; `values` has as many elements as the shape says.
  void Add(const std::string& name, const std::vector<std::uint64_t>& shape,
           std::span<const std::uint8_t> values);
  void Add(const std::string& name, const std::vector<std::uint64_t>& shape,
           std::span<const float> values);
  void Add(const std::string& name, const std::vector<std::uint64_t>& shape,
           std::span<const double> values);
  void Add(const std::string& name, const std::vector<std::uint64_t>& shape,
           std::span<const std::int32_t> values);
  void Add(const std::string& name, const std::vector<std::uint64_t>& shape,
           std::span<const std::int64_t> values);

  // For an array that does not fit into memory. `dtype` is NumPy's ("<f4", "|u1"). `write` passes
  // all the bytes to its argument, piece by piece, in order; it is called twice and must produce
  // the same bytes both times (std::logic_error otherwise). Its exceptions propagate and leave the
  // archive as if it had not been called, apart from the length.
  using Sink = std::function<void(std::span<const std::byte>)>;
  void AddStream(const std::string& name, const std::vector<std::uint64_t>& shape,
                 const std::string& dtype, const std::function<void(const Sink&)>& write);

  void Finish();

 private:
  template <typename T>
  void AddValues(const std::string& name, const std::vector<std::uint64_t>& shape,
                 const std::string& dtype, std::span<const T> values);
  void CheckName(const std::string& name) const;
  void Write(std::span<const std::byte> bytes);

  std::filesystem::path path_;
  AtomicFile file_;
  std::uint64_t position_ = 0;
  std::vector<ZipEntry> entries_;
  std::set<std::string> names_;
};

}  // namespace stableaa

#endif  // STABLEAA_BASE_FILES_NPZ_H_
