#include "stableaa/base/files/npz_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "stableaa/base/files/npy_header.h"
#include "stableaa/base/files/npz_format.h"
#include "stableaa/base/text/plain_text.h"

namespace stableaa {
namespace {

// Constants of the zip format. Positions count from the start of the record.
constexpr std::string_view kLocalMark = "PK\x03\x04";
constexpr std::string_view kCentralMark = "PK\x01\x02";
constexpr std::string_view kEndMark = "PK\x05\x06";
constexpr std::string_view kZip64EndMark = "PK\x06\x06";
constexpr std::string_view kZip64LocatorMark = "PK\x06\x07";
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kZip64EndBytes = 56;
constexpr std::size_t kZip64LocatorBytes = 20;
constexpr std::size_t kMostCommentBytes = 65535;
constexpr std::uint16_t kEncrypted = 1;
constexpr std::uint16_t kDeflated = 8;

// A part of an archive with known length: little-endian numbers at known positions.
class Record {
 public:
  explicit Record(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool Begins(std::string_view mark) const {
    return std::ranges::equal(bytes_.first(mark.size()), std::as_bytes(std::span(mark)));
  }
  std::uint16_t U16(std::size_t at) const { return Little<std::uint16_t>(at); }
  std::uint32_t U32(std::size_t at) const { return Little<std::uint32_t>(at); }
  std::uint64_t U64(std::size_t at) const { return Little<std::uint64_t>(at); }

 private:
  template <typename T>
  T Little(std::size_t at) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value |= std::to_integer<std::uint64_t>(bytes_[at + i]) << (8 * i);
    }
    return static_cast<T>(value);
  }

  std::span<const std::byte> bytes_;
};

// `size` bytes from `offset`, if the archive has them.
std::span<const std::byte> Part(std::span<const std::byte> archive, std::uint64_t offset,
                                std::uint64_t size, const std::string& where,
                                std::string_view what) {
  if (offset > archive.size() || size > archive.size() - offset) {
    throw BadInput(fmt::format("{}: {} would reach from byte {} over {}, of {}", where, what,
                               offset, size, archive.size()));
  }
  return archive.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

// Where the end record begins: only the comment, whose length it gives, follows it.
std::size_t FindEndRecord(std::span<const std::byte> archive, const std::string& name) {
  for (std::size_t comment = 0;
       comment <= kMostCommentBytes && kEndBytes + comment <= archive.size(); ++comment) {
    const std::size_t at = archive.size() - kEndBytes - comment;
    const Record record(archive.subspan(at, kEndBytes));
    if (record.Begins(kEndMark) && record.U16(20) == comment) return at;
  }
  throw BadInput(
      fmt::format("{}: not an .npz file, or truncated: it has no end of a zip directory", name));
}

struct Directory {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t entries;
};

Directory FindDirectory(std::span<const std::byte> archive, const std::string& name) {
  const std::size_t end_at = FindEndRecord(archive, name);
  const Record end(archive.subspan(end_at, kEndBytes));
  if (end.U16(4) != 0 || end.U16(6) != 0) {
    throw BadInput(fmt::format("{}: archives in several parts are not supported", name));
  }
  Directory directory{.offset = end.U32(16), .bytes = end.U32(12), .entries = end.U16(10)};
  if (end_at < kZip64LocatorBytes) return directory;
  const Record locator(archive.subspan(end_at - kZip64LocatorBytes, kZip64LocatorBytes));
  if (!locator.Begins(kZip64LocatorMark)) return directory;
  const Record wide(Part(archive, locator.U64(8), kZip64EndBytes, name, "its ZIP64 end record"));
  if (!wide.Begins(kZip64EndMark)) {
    throw BadInput(fmt::format("{}: its ZIP64 end record is not where it should be", name));
  }
  return {.offset = wide.U64(48), .bytes = wide.U64(40), .entries = wide.U64(32)};
}

// Replaces the numbers marked as being in the ZIP64 field, in the field's order.
void ReadZip64Field(std::span<const std::byte> extra, std::span<std::uint64_t* const> numbers,
                    const std::string& where) {
  const auto missing = [&] {
    return BadInput(fmt::format("{}: its ZIP64 field is broken", where));
  };
  std::span<const std::byte> values;
  while (extra.size() >= 4) {
    const Record field(extra.first(4));
    const std::size_t size = field.U16(2);
    if (size > extra.size() - 4) throw missing();
    if (field.U16(0) == kZip64Tag) values = extra.subspan(4, size);
    extra = extra.subspan(4 + size);
  }
  for (std::uint64_t* const number : numbers) {
    if (*number != kInZip64) continue;
    if (values.size() < 8) throw missing();
    *number = Record(values.first(8)).U64(0);
    values = values.subspan(8);
  }
}

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// zlib treats a null pointer, which an empty span may hold, as a request for the initial value.
std::uint32_t CrcOf(std::span<const std::byte> bytes) {
  if (bytes.empty()) return 0;
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// Inflates a deflated entry piece by piece.
class Inflater {
 public:
  Inflater(std::span<const std::byte> deflated, std::string where)
      : rest_(deflated), where_(std::move(where)), stream_(std::make_unique<z_stream>()) {
    constexpr int kRawDeflate = -15;
    if (::inflateInit2(stream_.get(), kRawDeflate) != Z_OK) {
      throw WorkFailed(fmt::format("{}: zlib has no memory", where_));
    }
  }
  ~Inflater() { ::inflateEnd(stream_.get()); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends `wanted` bytes, or fewer at the end.
  void Append(std::size_t wanted, std::vector<std::byte>& out) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    while (wanted > 0 && !ended_) {
      const std::size_t done = out.size();
      const std::size_t piece = std::min(wanted, kPiece);
      // Growing by doubling copies, but reserves at most twice what is there.
      out.resize(done + piece);
      const std::size_t got = Fill(std::span(out).subspan(done));
      out.resize(done + got);
      wanted -= got;
    }
  }

  bool AtEnd() {
    std::array<std::byte, 1> beyond;
    return ended_ || Fill(beyond) == 0;
  }

 private:
  // Returns fewer than out.size() bytes only at the end.
  std::size_t Fill(std::span<std::byte> out) {
    stream_->next_out = reinterpret_cast<Bytef*>(out.data());
    stream_->avail_out = static_cast<uInt>(out.size());
    while (stream_->avail_out > 0 && !ended_) {
      if (stream_->avail_in == 0) NextInput();
      const uInt in_before = stream_->avail_in;
      const uInt out_before = stream_->avail_out;
      const int result = ::inflate(stream_.get(), Z_NO_FLUSH);
      ended_ = result == Z_STREAM_END;
      const bool stuck = stream_->avail_in == in_before && stream_->avail_out == out_before;
      if (!ended_ && (result != Z_OK || stuck)) {
        throw BadInput(fmt::format("{}: its deflated data is damaged", where_));
      }
    }
    return out.size() - stream_->avail_out;
  }

  void NextInput() {
    const std::size_t size =
        std::min<std::size_t>(rest_.size(), std::numeric_limits<uInt>::max() / 2);
    // zlib only reads it; its interface predates const.
    stream_->next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(rest_.data()));
    stream_->avail_in = static_cast<uInt>(size);
    rest_ = rest_.subspan(size);
  }

  std::span<const std::byte> rest_;
  std::string where_;
  std::unique_ptr<z_stream> stream_;
  bool ended_ = false;
};

// As Python writes a tuple, except for the comma after a single number.
std::string ShapeText(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t length : shape) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", length);
  }
  return fmt::format("({})", text);
}

void CheckSize(const NpyDescription& description, std::uint64_t entry_bytes,
               const std::string& where) {
  if (description.header_bytes > entry_bytes ||
      description.element_bytes != entry_bytes - description.header_bytes) {
    throw BadInput(fmt::format(
        "{}: expected {} bytes of elements by its shape {} and dtype {}, found {}", where,
        description.element_bytes, ShapeText(description.shape), description.dtype,
        entry_bytes - std::min<std::uint64_t>(entry_bytes, description.header_bytes)));
  }
  if (description.fortran_order && description.shape.size() > 1) {
    throw BadInput(fmt::format("{}: expected C order, found Fortran's", where));
  }
}

// Calls visit(T{}) with the element type: an integer, float or double. False for others.
template <typename Visit>
bool VisitType(std::string_view dtype, const Visit& visit) {
  const std::string_view type = dtype.substr(std::min<std::size_t>(1, dtype.size()));
  if (type == "i1") return visit(std::int8_t{}), true;
  if (type == "i2") return visit(std::int16_t{}), true;
  if (type == "i4") return visit(std::int32_t{}), true;
  if (type == "i8") return visit(std::int64_t{}), true;
  if (type == "u1") return visit(std::uint8_t{}), true;
  if (type == "u2") return visit(std::uint16_t{}), true;
  if (type == "u4") return visit(std::uint32_t{}), true;
  if (type == "u8") return visit(std::uint64_t{}), true;
  if (type == "f4") return visit(float{}), true;
  if (type == "f8") return visit(double{}), true;
  return false;
}

template <typename T>
T Element(const std::byte* at, bool swapped) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), at, sizeof(T));
  if (swapped) std::ranges::reverse(bytes);
  return std::bit_cast<T>(bytes);
}

bool IsSwapped(std::string_view dtype) {
  constexpr char kForeign = std::endian::native == std::endian::little ? '>' : '<';
  return dtype.starts_with(kForeign);
}

}  // namespace

void NpyArray::Integers(std::uint64_t first, std::span<std::uint64_t> out) const {
  const bool swapped = IsSwapped(dtype_);
  bool integers = true;
  const bool known = VisitType(dtype_, [&]<typename T>(T) {
    if constexpr (std::is_integral_v<T>) {
      const std::byte* at = data().data() + static_cast<std::size_t>(first) * sizeof(T);
      for (std::size_t i = 0; i < out.size(); ++i, at += sizeof(T)) {
        const T value = Element<T>(at, swapped);
        if (std::cmp_less(value, 0)) {
          throw Wrong(
              fmt::format("element {}: expected no negative number, found {}", first + i, value));
        }
        out[i] = static_cast<std::make_unsigned_t<T>>(value);
      }
    } else {
      integers = false;
    }
  });
  if (!known || !integers)
    throw Wrong(fmt::format("expected integers, found the dtype {}", dtype_));
}

void NpyArray::Numbers(std::uint64_t first, std::span<double> out) const {
  const bool swapped = IsSwapped(dtype_);
  const bool known = VisitType(dtype_, [&]<typename T>(T) {
    const std::byte* at = data().data() + static_cast<std::size_t>(first) * sizeof(T);
    for (double& value : out) {
      value = static_cast<double>(Element<T>(at, swapped));
      at += sizeof(T);
    }
  });
  if (!known) {
    throw Wrong(fmt::format(
        "expected integers or floating point of 4 or 8 bytes, found the dtype {}", dtype_));
  }
}

void NpyArray::ExpectList() const {
  if (shape_.size() == 1) return;
  throw Wrong(fmt::format("expected one dimension, found the shape {}", ShapeText(shape_)));
}

Error NpyArray::Wrong(std::string_view what) const {
  return BadInput(fmt::format("{}: {}", where_, what));
}

NpzReader::NpzReader(std::span<const std::byte> archive, std::string name)
    : archive_(archive), name_(std::move(name)) {
  const Directory directory = FindDirectory(archive_, name_);
  ReadDirectory(directory.offset, directory.bytes, directory.entries);
}

void NpzReader::ReadDirectory(std::uint64_t offset, std::uint64_t bytes, std::uint64_t entries) {
  std::span<const std::byte> rest = Part(archive_, offset, bytes, name_, "its zip directory");
  const auto take = [&](std::size_t size) {
    const auto taken = Part(rest, 0, size, name_, "an entry of its zip directory");
    rest = rest.subspan(size);
    return taken;
  };
  constexpr std::string_view kEnding = ".npy";
  for (std::uint64_t i = 0; i < entries; ++i) {
    const Record header(take(kCentralBytes));
    if (!header.Begins(kCentralMark)) {
      throw BadInput(fmt::format("{}: entry {} of its zip directory is broken", name_, i));
    }
    std::string_view file = AsText(take(header.U16(28)));
    const std::span<const std::byte> extra = take(header.U16(30));
    take(header.U16(32));  // comment
    Entry entry{.flags = header.U16(8),
                .method = header.U16(10),
                .crc = header.U32(16),
                .stored_bytes = header.U32(20),
                .bytes = header.U32(24),
                .offset = header.U32(42)};
    const std::array<std::uint64_t*, 3> wide = {&entry.bytes, &entry.stored_bytes, &entry.offset};
    ReadZip64Field(extra, wide, fmt::format("{}: entry '{}'", name_, Shorten(file)));
    if (!file.ends_with(kEnding)) continue;
    file.remove_suffix(kEnding.size());
    if (!entries_.emplace(std::string(file), entry).second) {
      throw BadInput(fmt::format("{}: it has the array '{}' twice", name_, Shorten(file)));
    }
  }
  if (!rest.empty()) {
    throw BadInput(fmt::format("{}: its zip directory has more than the {} entries announced",
                               name_, entries));
  }
}

std::vector<std::string> NpzReader::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

std::span<const std::byte> NpzReader::StoredBytes(const Entry& entry,
                                                  const std::string& where) const {
  const Record local(Part(archive_, entry.offset, kLocalBytes, where, "its zip header"));
  if (!local.Begins(kLocalMark)) {
    throw BadInput(fmt::format("{}: its zip header is not where it should be", where));
  }
  // The sizes in this header may be zero or wrong, with a descriptor after the data; use the
  // directory's. Name and extra fields may differ in length from the directory's.
  const std::uint64_t begin = entry.offset + kLocalBytes + local.U16(26) + local.U16(28);
  return Part(archive_, begin, entry.stored_bytes, where, "its data");
}

NpyArray NpzReader::Read(const std::string& array) const {
  const auto found = entries_.find(array);
  if (found == entries_.end()) {
    std::string others;
    for (const std::string& name : names()) others += fmt::format(" {}", name);
    throw BadInput(fmt::format("{}: expected an array '{}', found{}", name_, array,
                               others.empty() ? " no array at all" : Shorten(others, 200)));
  }
  const Entry& entry = found->second;
  const std::string where = fmt::format("{}: array '{}'", name_, Shorten(array));
  if ((entry.flags & kEncrypted) != 0) throw BadInput(fmt::format("{}: it is encrypted", where));
  const std::span<const std::byte> stored = StoredBytes(entry, where);

  std::vector<std::byte> own;
  std::span<const std::byte> content = stored;
  NpyDescription description;
  if (entry.method == kStored) {
    if (entry.bytes != entry.stored_bytes) {
      throw BadInput(fmt::format("{}: it has {} bytes, but {} are stored", where, entry.bytes,
                                 entry.stored_bytes));
    }
    description = ParseNpyHeader(content, where);
    CheckSize(description, entry.bytes, where);
  } else if (entry.method == kDeflated) {
    Inflater inflater(stored, where);
    const auto size = static_cast<std::size_t>(entry.bytes);
    // Header first: what it says must fit before more is inflated.
    inflater.Append(std::min(size, kMostNpyHeaderBytes), own);
    description = ParseNpyHeader(own, where);
    CheckSize(description, entry.bytes, where);
    inflater.Append(size - own.size(), own);
    if (own.size() != size || !inflater.AtEnd()) {
      throw BadInput(
          fmt::format("{}: its deflated data does not have the {} bytes announced", where, size));
    }
    content = own;
  } else {
    throw BadInput(fmt::format("{}: expected stored or deflated data, found zip method {}", where,
                               entry.method));
  }
  if (const std::uint32_t crc = CrcOf(content); crc != entry.crc) {
    throw BadInput(
        fmt::format("{}: damaged: its CRC-32 is {:08x}, expected {:08x}", where, crc, entry.crc));
  }

  NpyArray result(where, description.dtype, description.shape, description.elements);
  result.borrowed_ = content.subspan(description.header_bytes);
  result.own_begin_ = description.header_bytes;
  result.own_ = std::move(own);
  return result;
}

}  // namespace stableaa
