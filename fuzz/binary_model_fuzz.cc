// Binary models from arbitrary bytes: a BadInput, or a canonical model with sound annotations that
// lie within the bytes.
// The first byte chooses between the file as is and one with corrected checksums, to reach the code
// that they guard.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "fuzz/canonical.h"
#include "stableaa/base/files/block_checksum.h"
#include "stableaa/mdp/formats/binary_format.h"

namespace stableaa {
namespace {

constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kContentChecksumAt = 48;
constexpr std::size_t kHeaderChecksumAt = 56;

// `bytes` must be whole blocks.
void Seal(std::span<std::byte> bytes) {
  const std::uint64_t content = ChecksumOf(bytes.subspan(kHeaderBytes), 1);
  std::memcpy(bytes.data() + kContentChecksumAt, &content, sizeof content);
  std::memset(bytes.data() + kHeaderChecksumAt, 0, sizeof content);
  const std::uint64_t header = ChecksumOf(bytes.first(kHeaderBytes), 1);
  std::memcpy(bytes.data() + kHeaderChecksumAt, &header, sizeof header);
}

template <typename T>
void RequireWithin(std::span<const T> part, std::span<const std::byte> all) {
  const auto bytes = std::as_bytes(part);
  if (bytes.empty()) return;
  Require(bytes.data() >= all.data() && bytes.data() + bytes.size() <= all.data() + all.size());
}

void Try(bool seal, std::span<const std::byte> data) {
  std::vector<std::byte> bytes(data.begin(), data.end());
  if (seal) {
    bytes.resize((bytes.size() + kHeaderBytes - 1) / kHeaderBytes * kHeaderBytes);
    if (bytes.empty()) return;
    Seal(bytes);
  }
  std::optional<LoadedModel> loaded;
  if (!Accepts([&] { loaded = ParseBinaryModel(bytes, "fuzz", nullptr, 1); })) return;
  Require(loaded->dropped.empty());
  const Model& model = loaded->model;
  RequireWithin(model.state_rows(), bytes);
  RequireWithin(model.row_transitions(), bytes);
  RequireWithin(model.probabilities(), bytes);
  RequireWithin(model.rewards(), bytes);
  model.VisitColumns(
      [&](auto columns) { RequireWithin(columns, std::span(std::as_const(bytes))); });
  RequireSound(*loaded);
  const ModelAnnotations& annotations = loaded->annotations;
  const std::span<const std::byte> all(bytes);
  for (const StateLabel& label : annotations.labels) RequireWithin(label.states.span(), all);
  for (const RewardStructure& structure : annotations.rewards) {
    RequireWithin(structure.rewards.span(), all);
  }
  RequireWithin(annotations.initial.span(), all);
  RequireWithin(annotations.actions.rows.span(), all);
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  stableaa::Try(data[0] % 2 == 1, std::as_bytes(std::span(data, size)).subspan(1));
  return 0;
}
