#include "stableaa/base/files/npz_format.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <stdexcept>
#include <string_view>

#include "stableaa/core/binary_io.h"

namespace stableaa {
namespace {

// The zip version a reader needs: 2.0, or 4.5 with ZIP64 fields.
constexpr std::uint16_t kVersion = 20;
constexpr std::uint16_t kZip64Version = 45;
constexpr std::uint16_t kUtf8Names = 1 << 11;
// 1980-01-01 00:00, where DOS time begins, so that equal arrays give equal files.
constexpr std::uint16_t kTime = 0;
constexpr std::uint16_t kDate = 1 << 5 | 1;

bool NeedsZip64(std::uint64_t number) { return number >= kInZip64; }

std::uint32_t Narrow(std::uint64_t number) {
  return NeedsZip64(number) ? kInZip64 : static_cast<std::uint32_t>(number);
}

void PutU16(ByteWriter& out, std::uint16_t value) {
  out.U8(static_cast<std::uint8_t>(value & 255));
  out.U8(static_cast<std::uint8_t>(value >> 8));
}

void PutText(ByteWriter& out, std::string_view text) {
  for (const char c : text) out.U8(static_cast<std::uint8_t>(c));
}

std::vector<std::byte> Bytes(const ByteWriter& out) {
  return {out.bytes().begin(), out.bytes().end()};
}

// The part that local and central headers share. `offset` is null in a local header, which has
// none.
void PutEntry(ByteWriter& out, const ZipEntry& entry, const std::uint64_t* offset) {
  std::vector<std::uint64_t> wide;
  if (NeedsZip64(entry.size)) wide = {entry.size, entry.size};
  if (offset != nullptr && NeedsZip64(*offset)) wide.push_back(*offset);

  PutU16(out, wide.empty() ? kVersion : kZip64Version);
  PutU16(out, kUtf8Names);
  PutU16(out, kStored);
  PutU16(out, kTime);
  PutU16(out, kDate);
  out.U32(entry.crc);
  out.U32(Narrow(entry.size));  // as stored
  out.U32(Narrow(entry.size));  // as read
  PutU16(out, static_cast<std::uint16_t>(entry.name.size()));
  const std::size_t extra_bytes = wide.empty() ? 0 : 4 + 8 * wide.size();
  PutU16(out, static_cast<std::uint16_t>(extra_bytes));
  if (offset != nullptr) {
    PutU16(out, 0);  // length of the comment
    PutU16(out, 0);  // number of the disk
    PutU16(out, 0);  // internal attributes: binary
    out.U32(0);      // external attributes
    out.U32(Narrow(*offset));
  }
  PutText(out, entry.name);
  if (wide.empty()) return;
  PutU16(out, kZip64Tag);
  PutU16(out, static_cast<std::uint16_t>(8 * wide.size()));
  for (const std::uint64_t number : wide) out.U64(number);
}

void PutZip64End(ByteWriter& out, std::uint64_t entries, std::uint64_t directory_offset,
                 std::uint64_t directory_size) {
  constexpr std::uint64_t kRestOfRecord = 44;
  PutText(out, "PK\x06\x06");
  out.U64(kRestOfRecord);
  PutU16(out, kZip64Version);  // made by
  PutU16(out, kZip64Version);  // needed
  out.U32(0);                  // number of this disk
  out.U32(0);                  // number of the directory's disk
  out.U64(entries);            // on this disk
  out.U64(entries);
  out.U64(directory_size);
  out.U64(directory_offset);

  PutText(out, "PK\x06\x07");
  out.U32(0);                                  // number of the disk of the record above
  out.U64(directory_offset + directory_size);  // where it begins
  out.U32(1);                                  // number of disks
}

}  // namespace

std::vector<std::byte> LocalHeader(const ZipEntry& entry) {
  ByteWriter out;
  PutText(out, "PK\x03\x04");
  PutEntry(out, entry, nullptr);
  return Bytes(out);
}

std::vector<std::byte> CentralHeader(const ZipEntry& entry) {
  ByteWriter out;
  PutText(out, "PK\x01\x02");
  PutU16(out, kZip64Version);  // made by; DOS attributes, which have no permissions
  PutEntry(out, entry, &entry.offset);
  return Bytes(out);
}

std::vector<std::byte> EndOfDirectory(std::uint64_t entries, std::uint64_t directory_offset,
                                      std::uint64_t directory_size) {
  ByteWriter out;
  if (NeedsZip64(directory_offset) || NeedsZip64(directory_size)) {
    PutZip64End(out, entries, directory_offset, directory_size);
  }
  PutText(out, "PK\x05\x06");
  PutU16(out, 0);  // number of this disk
  PutU16(out, 0);  // number of the directory's disk
  PutU16(out, static_cast<std::uint16_t>(entries));
  PutU16(out, static_cast<std::uint16_t>(entries));
  out.U32(Narrow(directory_size));
  out.U32(Narrow(directory_offset));
  PutU16(out, 0);  // length of the comment
  return Bytes(out);
}

std::size_t DtypeSize(const std::string& dtype) {
  struct Kind {
    std::string_view name;
    std::size_t size;
  };
  constexpr std::array<Kind, 14> kKinds = {{{"b1", 1},
                                            {"i1", 1},
                                            {"i2", 2},
                                            {"i4", 4},
                                            {"i8", 8},
                                            {"u1", 1},
                                            {"u2", 2},
                                            {"u4", 4},
                                            {"u8", 8},
                                            {"f2", 2},
                                            {"f4", 4},
                                            {"f8", 8},
                                            {"c8", 8},
                                            {"c16", 16}}};
  for (const Kind& kind : kKinds) {
    if (!dtype.ends_with(kind.name) || dtype.size() != 1 + kind.name.size()) continue;
    const char order = dtype[0];  // single bytes have none
    if (kind.size == 1 ? order == '|' : order == '<' || order == '>') return kind.size;
  }
  throw std::logic_error(fmt::format("'{}' is not a dtype such as '<f4' or '|u1'", dtype));
}

std::string NpyHeader(const std::vector<std::uint64_t>& shape, const std::string& dtype) {
  constexpr std::size_t kStart = 10;     // magic, version and length
  constexpr std::size_t kMultiple = 64;  // total length is a multiple, to align the elements
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", dtype);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += fmt::format("{}{}", i > 0 ? ", " : "", shape[i]);
  }
  text += shape.size() == 1 ? ",), }" : "), }";
  const std::size_t used = kStart + text.size() + 1;
  text.append((kMultiple - used % kMultiple) % kMultiple, ' ');
  text += '\n';

  std::string header = "\x93NUMPY\x01";
  header += '\0';
  header += static_cast<char>(text.size() & 255);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace stableaa
