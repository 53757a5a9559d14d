#include "stableaa/core/binary_io.h"

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "stableaa/core/concat.h"

namespace stableaa {
namespace {

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T>
void StoreLittleEndian(T value, std::byte* out) {
  for (size_t i = 0; i < sizeof(T); ++i) out[i] = static_cast<std::byte>(value >> (8 * i));
}

template <typename T>
T LoadLittleEndian(const std::byte* in) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(in[i]) << (8 * i);
  return value;
}

template <typename T>
void Append(std::vector<std::byte>& bytes, T value) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  StoreLittleEndian(value, bytes.data() + at);
}

template <typename T>
void AppendArray(std::vector<std::byte>& bytes, std::span<const T> values) {
  Append(bytes, uint64_t{values.size()});
  if constexpr (std::endian::native == std::endian::little) {
    const auto raw = std::as_bytes(values);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  } else {
    for (const T value : values) Append(bytes, std::bit_cast<BitsOf<T>>(value));
  }
}

template <typename T>
void LoadArray(std::span<const std::byte> in, std::span<T> out) {
  if (out.empty()) return;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(out.data(), in.data(), in.size());
  } else {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = std::bit_cast<T>(LoadLittleEndian<BitsOf<T>>(in.data() + i * sizeof(T)));
    }
  }
}

}  // namespace

void ByteWriter::U8(uint8_t value) { bytes_.push_back(std::byte{value}); }
void ByteWriter::U32(uint32_t value) { Append(bytes_, value); }
void ByteWriter::U64(uint64_t value) { Append(bytes_, value); }
void ByteWriter::I64(int64_t value) { Append(bytes_, static_cast<uint64_t>(value)); }
void ByteWriter::F64(double value) { Append(bytes_, std::bit_cast<uint64_t>(value)); }
void ByteWriter::Bool(bool value) { U8(value ? 1 : 0); }

void ByteWriter::Text(std::string_view text) {
  U64(text.size());
  const auto raw = std::as_bytes(std::span(text));
  bytes_.insert(bytes_.end(), raw.begin(), raw.end());
}

void ByteWriter::F64s(std::span<const double> values) { AppendArray(bytes_, values); }
void ByteWriter::F32s(std::span<const float> values) { AppendArray(bytes_, values); }

ByteReader::ByteReader(std::span<const std::byte> bytes, std::string name)
    : bytes_(bytes), name_(std::move(name)) {}

uint8_t ByteReader::U8() { return std::to_integer<uint8_t>(Take(1, "U8")[0]); }
uint32_t ByteReader::U32() { return LoadLittleEndian<uint32_t>(Take(4, "U32").data()); }
uint64_t ByteReader::U64() { return LoadLittleEndian<uint64_t>(Take(8, "U64").data()); }

int64_t ByteReader::I64() {
  return static_cast<int64_t>(LoadLittleEndian<uint64_t>(Take(8, "I64").data()));
}

double ByteReader::F64() {
  return std::bit_cast<double>(LoadLittleEndian<uint64_t>(Take(8, "F64").data()));
}

bool ByteReader::Bool() {
  const auto value = std::to_integer<uint8_t>(Take(1, "Bool")[0]);
  if (value > 1) throw Wrong(Concat("expected a Bool of 0 or 1, found ", value));
  return value == 1;
}

std::string ByteReader::Text(size_t max_length) {
  const uint64_t length = LoadLittleEndian<uint64_t>(Take(8, "a Text's length").data());
  if (length > max_length) {
    throw Wrong(Concat("expected a Text of at most ", max_length, " bytes, found one of ", length));
  }
  const auto raw = Take(static_cast<size_t>(length), "Text");
  return {reinterpret_cast<const char*>(raw.data()), raw.size()};
}

void ByteReader::F64s(std::span<double> out) {
  TakeCount(out.size(), "F64s");
  LoadArray(Take(out.size_bytes(), "F64s"), out);
}

void ByteReader::F32s(std::span<float> out) {
  TakeCount(out.size(), "F32s");
  LoadArray(Take(out.size_bytes(), "F32s"), out);
}

void ByteReader::ExpectEnd() const {
  if (remaining() == 0) return;
  throw BadInput(Concat(name_, ": at byte ", position_, ": expected the end, found ", remaining(),
                        " more bytes"));
}

Error ByteReader::Wrong(std::string_view what) const {
  return BadInput(Concat(name_, ": before byte ", position_, ": ", what));
}

std::span<const std::byte> ByteReader::Take(size_t size, std::string_view what) {
  if (size > remaining()) {
    throw BadInput(Concat(name_, ": at byte ", position_, ": expected ", size, " bytes of ", what,
                          ", found only ", remaining()));
  }
  const auto taken = bytes_.subspan(position_, size);
  position_ += size;
  return taken;
}

void ByteReader::TakeCount(size_t expected, std::string_view what) {
  const uint64_t count = LoadLittleEndian<uint64_t>(Take(8, "a count").data());
  if (count != expected) {
    throw Wrong(Concat("expected ", expected, " elements of ", what, ", found ", count));
  }
}

}  // namespace stableaa
