// Little-endian byte streams in memory, the same bytes on every host.
//
// Checkpoints, replay segments and models are all saved through these two classes:
//
//   ByteWriter out;                          ByteReader in(payload, "run/checkpoint.bin");
//   out.U64(step);                           const uint64_t step = in.U64();
//   out.Text(name);                          const std::string name = in.Text(64);
//   out.F32s(weights);                       in.F32s(weights);
//   WriteCheckedFile(..., out.bytes());      in.ExpectEnd();
//
// Encoding, without padding or tags:
//
//   U8, U32, U64, I64   little-endian, two's complement
//   F64                 the IEEE 754 bits as a U64; every value survives, NaNs and -0 included
//   Bool                one byte, 0 or 1
//   Text                U64 number of bytes, then the bytes
//   F64s, F32s          U64 number of elements, then the elements
//
// Neither class is thread-safe.
#ifndef STABLEAA_CORE_BINARY_IO_H_
#define STABLEAA_CORE_BINARY_IO_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/core/error.h"

namespace stableaa {

class ByteWriter {
 public:
  void U8(uint8_t value);
  void U32(uint32_t value);
  void U64(uint64_t value);
  void I64(int64_t value);
  void F64(double value);
  void Bool(bool value);
  void Text(std::string_view text);
  void F64s(std::span<const double> values);
  void F32s(std::span<const float> values);

  // Everything written so far. Valid until the next write.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Reads what a ByteWriter wrote, in the same order. The input is not trusted: a read that the bytes
// cannot satisfy throws BadInput with `name`, the byte offset, what was expected and what was
// found. Memory is never reserved beyond what the input actually holds.
class ByteReader {
 public:
  // Borrows `bytes`, which must outlive the reader. Error messages call the input `name`, usually
  // the file's path.
  ByteReader(std::span<const std::byte> bytes, std::string name);

  uint8_t U8();
  uint32_t U32();
  uint64_t U64();
  int64_t I64();
  double F64();
  bool Bool();  // any byte other than 0 or 1 is an error

  // At most `max_length` bytes.
  std::string Text(size_t max_length);

  // The stored count must equal out.size().
  void F64s(std::span<double> out);
  void F32s(std::span<float> out);

  // Throws unless everything has been read.
  void ExpectEnd() const;

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }

  // For the caller's own checks on a value just read:
  //   throw in.Wrong("expected a memory of 1 to 64, found 70000");
  // gives "run/checkpoint.bin: before byte 48: expected a memory of ...".
  Error Wrong(std::string_view what) const;

 private:
  std::span<const std::byte> Take(size_t size, std::string_view what);
  void TakeCount(size_t expected, std::string_view what);

  std::span<const std::byte> bytes_;
  size_t position_ = 0;
  std::string name_;
};

}  // namespace stableaa

#endif  // STABLEAA_CORE_BINARY_IO_H_
