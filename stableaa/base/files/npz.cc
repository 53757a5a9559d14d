#include "stableaa/base/files/npz.h"

#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <stdexcept>

#include "stableaa/base/files/npz_format.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

constexpr std::size_t kMostDimensions = 32;  // NumPy's limit before version 2
constexpr std::size_t kMostNameBytes = 1000;

// Stored in host byte order; the dtype says which.
constexpr char kByteOrder = std::endian::native == std::endian::little ? '<' : '>';

// Running size and checksum of the bytes that pass through.
struct Digest {
  std::uint32_t crc = 0;
  std::uint64_t size = 0;

  void Extend(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;  // zlib treats a null pointer as a request for the initial value
    crc = static_cast<std::uint32_t>(
        ::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
    size += bytes.size();
  }

  bool operator==(const Digest&) const = default;
};

std::logic_error Wrong(const std::string& name, const std::string& what) {
  return std::logic_error(fmt::format("array '{}' of an .npz: {}", Shorten(name), what));
}

std::uint64_t BytesOf(const std::string& name, const std::vector<std::uint64_t>& shape,
                      const std::string& dtype) {
  if (shape.size() > kMostDimensions) {
    throw Wrong(name,
                fmt::format("{} dimensions, at most {} expected", shape.size(), kMostDimensions));
  }
  std::uint64_t bytes = DtypeSize(dtype);
  for (const std::uint64_t length : shape) {
    if (__builtin_mul_overflow(bytes, length, &bytes)) throw Wrong(name, "the shape is too large");
  }
  return bytes;
}

}  // namespace

NpzWriter::NpzWriter(const std::filesystem::path& path) : path_(path), file_(path) {}

NpzWriter::~NpzWriter() = default;

template <typename T>
void NpzWriter::AddValues(const std::string& name, const std::vector<std::uint64_t>& shape,
                          const std::string& dtype, std::span<const T> values) {
  AddStream(name, shape, dtype, [values](const Sink& sink) { sink(std::as_bytes(values)); });
}

void NpzWriter::Add(const std::string& name, const std::vector<std::uint64_t>& shape,
                    std::span<const std::uint8_t> values) {
  AddValues(name, shape, "|u1", values);
}

void NpzWriter::Add(const std::string& name, const std::vector<std::uint64_t>& shape,
                    std::span<const float> values) {
  AddValues(name, shape, kByteOrder + std::string("f4"), values);
}

void NpzWriter::Add(const std::string& name, const std::vector<std::uint64_t>& shape,
                    std::span<const double> values) {
  AddValues(name, shape, kByteOrder + std::string("f8"), values);
}

void NpzWriter::Add(const std::string& name, const std::vector<std::uint64_t>& shape,
                    std::span<const std::int32_t> values) {
  AddValues(name, shape, kByteOrder + std::string("i4"), values);
}

void NpzWriter::Add(const std::string& name, const std::vector<std::uint64_t>& shape,
                    std::span<const std::int64_t> values) {
  AddValues(name, shape, kByteOrder + std::string("i8"), values);
}

void NpzWriter::AddStream(const std::string& name, const std::vector<std::uint64_t>& shape,
                          const std::string& dtype, const std::function<void(const Sink&)>& write) {
  CheckName(name);
  const std::uint64_t expected = BytesOf(name, shape, dtype);
  const std::string header = NpyHeader(shape, dtype);
  const auto header_bytes = std::as_bytes(std::span(header));

  // A first pass to learn what the local header, which comes first, must say.
  Digest content;
  content.Extend(header_bytes);
  write([&](std::span<const std::byte> bytes) { content.Extend(bytes); });
  if (content.size - header.size() != expected) {
    throw Wrong(name, fmt::format("{} bytes of elements, expected {} by shape and dtype",
                                  content.size - header.size(), expected));
  }

  const ZipEntry entry = {name + ".npy", content.crc, content.size, position_};
  Digest written;
  const Sink sink = [&](std::span<const std::byte> bytes) {
    written.Extend(bytes);
    Write(bytes);
  };
  Write(LocalHeader(entry));
  sink(header_bytes);
  write(sink);
  if (written != content) throw Wrong(name, "it was not the same when written a second time");
  // If anything threw before this point, its bytes are in the file but not in the directory.
  entries_.push_back(entry);
  names_.insert(name);
}

void NpzWriter::Finish() {
  const std::uint64_t directory = position_;
  for (const ZipEntry& entry : entries_) Write(CentralHeader(entry));
  Write(EndOfDirectory(entries_.size(), directory, position_ - directory));
  file_.Commit();
}

void NpzWriter::CheckName(const std::string& name) const {
  if (name.empty() || name.size() > kMostNameBytes || !IsCleanUtf8(name)) {
    throw Wrong(name, fmt::format("the name is not of 1 to {} bytes of UTF-8", kMostNameBytes));
  }
  if (names_.contains(name)) throw Wrong(name, "there is one already");
  if (entries_.size() == kMostZipEntries) {
    throw BadInput(
        fmt::format("cannot write {}: more than {} arrays", path_.string(), kMostZipEntries));
  }
}

void NpzWriter::Write(std::span<const std::byte> bytes) {
  file_.Write(bytes);
  position_ += bytes.size();
}

}  // namespace stableaa
