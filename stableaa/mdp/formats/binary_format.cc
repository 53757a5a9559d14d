#include "stableaa/mdp/formats/binary_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/block_checksum.h"
#include "stableaa/base/files/mapped_file.h"
#include "stableaa/core/error.h"
#include "stableaa/mdp/model/model_builder.h"

namespace stableaa {
namespace {

constexpr std::array<char, 8> kMagic = {'\x89', 'S', 'A', 'A', 'M', 'D', 'P', '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr double kNoDiscount = -1;

// The first 64 bytes, laid out as binary_format.h describes.
struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t column_bytes = sizeof(std::uint32_t);
  std::uint64_t states = 0;
  std::uint64_t rows = 0;
  std::uint64_t transitions = 0;
  double discount = kNoDiscount;
  std::uint64_t content_checksum = 0;
  std::uint64_t header_checksum = 0;
};
static_assert(sizeof(Header) == kChecksumBlockBytes);
static_assert(offsetof(Header, discount) == 40 && offsetof(Header, header_checksum) == 56);

std::uint64_t HeaderChecksum(Header header) {
  header.header_checksum = 0;
  return ChecksumOf(std::as_bytes(std::span(&header, 1)), 1);
}

void CheckByteOrder(const std::string& name) {
  if constexpr (std::endian::native != std::endian::little) {
    throw BadInput(fmt::format("{}: stableaa's binary models need a little-endian machine", name));
  }
}

constexpr std::uint64_t RoundUp(std::uint64_t bytes) {
  return (bytes + kChecksumBlockBytes - 1) / kChecksumBlockBytes * kChecksumBlockBytes;
}

// Positions of the arrays. REQUIRES: counts below 2^56, so that nothing overflows.
struct Layout {
  explicit Layout(const Header& header) {
    rows_at = state_rows_at + RoundUp(8 * (header.states + 1));
    rewards_at = rows_at + RoundUp(8 * (header.rows + 1));
    probabilities_at = rewards_at + RoundUp(8 * header.rows);
    columns_at = probabilities_at + RoundUp(8 * header.transitions);
    end = columns_at + RoundUp(header.column_bytes * header.transitions);
  }

  std::uint64_t state_rows_at = sizeof(Header);
  std::uint64_t rows_at;
  std::uint64_t rewards_at;
  std::uint64_t probabilities_at;
  std::uint64_t columns_at;
  std::uint64_t end;
};

// Reader.

Header ParseHeader(std::span<const std::byte> bytes, const std::string& name) {
  if (!HasBinaryModelMagic(bytes)) {
    throw BadInput(
        bytes.size() < kMagic.size()
            ? fmt::format("{}: it has {} bytes, too few for a stableaa model", name, bytes.size())
            : fmt::format("{}: not a stableaa model: its first 8 bytes differ", name));
  }
  if (bytes.size() < sizeof(Header)) {
    throw BadInput(fmt::format("{}: truncated: it has {} bytes, its header has {}", name,
                               bytes.size(), sizeof(Header)));
  }
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

void CheckHeader(const Header& header, const std::string& name) {
  if (header.header_checksum != HeaderChecksum(header)) {
    // A future version may have a different header.
    const bool newer = header.version > kVersion;
    throw BadInput(newer ? fmt::format("{}: header: its version is {}; this program reads version "
                                       "{}, or the file is damaged",
                                       name, header.version, kVersion)
                         : fmt::format("{}: header: damaged, its checksum does not fit", name));
  }
  if (header.version != kVersion) {
    throw BadInput(fmt::format("{}: header: its version is {}; this program reads version {}", name,
                               header.version, kVersion));
  }
  if (header.column_bytes != 4 && header.column_bytes != 8) {
    throw BadInput(fmt::format("{}: header: expected next states of 4 or 8 bytes, found {}", name,
                               header.column_bytes));
  }
  if (header.discount != kNoDiscount) {
    CheckDiscount(header.discount, fmt::format("{}: header", name));
  }
}

Layout CheckLength(const Header& header, std::uint64_t found, const std::string& name) {
  // Each is the length of an array with at least 4 bytes per element.
  const std::uint64_t most = std::max({header.states, header.rows, header.transitions});
  if (most > found || most > std::numeric_limits<std::uint64_t>::max() >> 8) {
    throw BadInput(
        fmt::format("{}: truncated: it has {} bytes, but {} states, {} rows and {} transitions by "
                    "its header",
                    name, found, header.states, header.rows, header.transitions));
  }
  const Layout layout(header);
  if (found < layout.end) {
    throw BadInput(fmt::format("{}: truncated: it has {} bytes, expected {} by its header", name,
                               found, layout.end));
  }
  if (found > layout.end) {
    throw BadInput(fmt::format("{}: it has {} bytes too many: expected {} by its header", name,
                               found - layout.end, layout.end));
  }
  return layout;
}

template <typename T>
std::span<const T> ArrayAt(std::span<const std::byte> bytes, std::uint64_t offset,
                           std::uint64_t count) {
  return {reinterpret_cast<const T*>(bytes.data() + offset), static_cast<std::size_t>(count)};
}

ModelArrays ArraysIn(std::span<const std::byte> bytes, const Header& header, const Layout& layout) {
  ModelArrays arrays;
  arrays.state_rows = ArrayAt<std::uint64_t>(bytes, layout.state_rows_at, header.states + 1);
  arrays.row_transitions = ArrayAt<std::uint64_t>(bytes, layout.rows_at, header.rows + 1);
  arrays.rewards = ArrayAt<double>(bytes, layout.rewards_at, header.rows);
  arrays.probabilities = ArrayAt<double>(bytes, layout.probabilities_at, header.transitions);
  if (header.column_bytes == 8) {
    arrays.wide_columns = ArrayAt<std::uint64_t>(bytes, layout.columns_at, header.transitions);
  } else {
    arrays.narrow_columns = ArrayAt<std::uint32_t>(bytes, layout.columns_at, header.transitions);
  }
  return arrays;
}

// Writer.

// Calls `write` with everything after the header, in file order, in whole blocks.
template <typename Write>
void ForEachPiece(const ModelArrays& arrays, const Write& write) {
  const auto array = [&](auto values) {
    const std::span<const std::byte> bytes = std::as_bytes(values);
    const std::size_t whole = bytes.size() / kChecksumBlockBytes * kChecksumBlockBytes;
    if (whole > 0) write(bytes.first(whole));
    if (whole == bytes.size()) return;
    std::array<std::byte, kChecksumBlockBytes> last{};
    std::ranges::copy(bytes.subspan(whole), last.begin());
    write(std::span<const std::byte>(last));
  };
  array(arrays.state_rows);
  array(arrays.row_transitions);
  array(arrays.rewards);
  array(arrays.probabilities);
  array(arrays.narrow_columns);
  array(arrays.wide_columns);
}

Header HeaderOf(const Model& model) {
  Header header;
  header.column_bytes = model.wide() ? 8 : 4;
  header.states = model.states();
  header.rows = model.rows();
  header.transitions = model.transitions();
  header.discount = model.discount().value_or(kNoDiscount);
  BlockChecksum content;
  ForEachPiece(model.arrays(), [&](std::span<const std::byte> piece) { content.Extend(piece); });
  header.content_checksum = content.Value();
  header.header_checksum = HeaderChecksum(header);
  return header;
}

}  // namespace

bool HasBinaryModelMagic(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() &&
         std::ranges::equal(bytes.first(kMagic.size()), std::as_bytes(std::span(kMagic)));
}

LoadedModel ParseBinaryModel(std::span<const std::byte> bytes, const std::string& name,
                             std::shared_ptr<const void> owner, int threads) {
  CheckByteOrder(name);
  const Header header = ParseHeader(bytes, name);
  CheckHeader(header, name);
  const Layout layout = CheckLength(header, bytes.size(), name);
  if (ChecksumOf(bytes.subspan(sizeof(Header)), threads) != header.content_checksum) {
    throw BadInput(fmt::format("{}: arrays: damaged, their checksum does not fit", name));
  }
  const ModelArrays arrays = ArraysIn(bytes, header, layout);
  CheckCanonical(arrays, fmt::format("{}: arrays", name), threads);
  const auto discount =
      header.discount == kNoDiscount ? std::nullopt : std::optional(header.discount);
  return {Model(arrays, std::move(owner), discount), {}};
}

LoadedModel ReadBinaryModel(const std::filesystem::path& path, int threads) {
  const auto file = std::make_shared<const MappedFile>(path);
  return ParseBinaryModel(file->bytes(), path.string(), file, threads);
}

std::vector<std::string> WriteBinaryModel(const Model& model, const std::filesystem::path& path) {
  CheckByteOrder(path.string());
  AtomicFile file(path);
  const Header header = HeaderOf(model);
  file.Write(std::as_bytes(std::span(&header, 1)));
  ForEachPiece(model.arrays(), [&](std::span<const std::byte> piece) { file.Write(piece); });
  file.Commit();
  return {};
}

}  // namespace stableaa
