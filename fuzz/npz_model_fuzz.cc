// .npz models from arbitrary bytes: a BadInput or a canonical model. The first byte chooses between
// an archive as is and one built from arrays whose types, lengths and elements come from the bytes,
// so that zip's checksums are not in the way.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/canonical.h"
#include "stableaa/base/files/npz_format.h"
#include "stableaa/mdp/formats/npz_model_format.h"

namespace stableaa {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::array<const char*, 7> kKeys = {"state_ptr", "indptr",   "indices", "data",
                                              "reward",    "discount", "other"};
constexpr std::array<const char*, 12> kTypes = {"|u1", "|i1", "<i2", "<i4", "<i8", "<u4",
                                                "<u8", "<f4", "<f8", ">i4", ">f8", "<f2"};

void Append(std::vector<std::byte>& out, Bytes bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

class ArchiveMaker {
 public:
  void Add(const std::string& name, const std::string& npy_header, Bytes elements) {
    std::vector<std::byte> content;
    Append(content, std::as_bytes(std::span(npy_header)));
    Append(content, elements);
    const auto crc = static_cast<std::uint32_t>(
        ::crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
    entries_.push_back({name + ".npy", crc, content.size(), archive_.size()});
    Append(archive_, LocalHeader(entries_.back()));
    Append(archive_, content);
  }

  std::vector<std::byte> Finish() {
    const std::size_t directory = archive_.size();
    for (const ZipEntry& entry : entries_) Append(archive_, CentralHeader(entry));
    Append(archive_, EndOfDirectory(entries_.size(), directory, archive_.size() - directory));
    return archive_;
  }

 private:
  std::vector<std::byte> archive_;
  std::vector<ZipEntry> entries_;
};

// For each key, a byte for the type (or that it is missing) and one for the length, then the
// elements.
std::vector<std::byte> MakeArchive(Bytes bytes) {
  ArchiveMaker archive;
  for (const char* key : kKeys) {
    if (bytes.size() < 2) break;
    const auto type = std::to_integer<std::size_t>(bytes[0]);
    const auto length = std::to_integer<std::size_t>(bytes[1]);
    bytes = bytes.subspan(2);
    if (type >= 2 * kTypes.size()) continue;
    const char* dtype = kTypes[type % kTypes.size()];
    const std::size_t size = DtypeSize(dtype);
    const std::size_t count = std::min(length, bytes.size() / size);
    const bool scalar = type >= kTypes.size() && count == 1;
    const std::vector<std::uint64_t> shape =
        scalar ? std::vector<std::uint64_t>() : std::vector<std::uint64_t>{count};
    archive.Add(key, NpyHeader(shape, dtype), bytes.first(count * size));
    bytes = bytes.subspan(count * size);
  }
  return archive.Finish();
}

void TryArchive(Bytes bytes) {
  std::optional<LoadedModel> loaded;
  if (!Accepts([&] { loaded = ParseNpzModel(bytes, "fuzz"); })) return;
  RequireCanonical(loaded->model);
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  if (data[0] % 2 == 0) {
    stableaa::TryArchive(bytes);
  } else {
    stableaa::TryArchive(stableaa::MakeArchive(bytes));
  }
  return 0;
}
