#include "stableaa/mdp/formats/binary_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>
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
constexpr std::uint32_t kPlainVersion = 1;      // a model alone
constexpr std::uint32_t kAnnotatedVersion = 2;  // the latest
constexpr double kNoDiscount = -1;

// The first 64 bytes, laid out as binary_format.h describes.
struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kPlainVersion;
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

// The 64 bytes that begin the annotations.
struct AnnotationCounts {
  std::uint64_t labels = 0;
  std::uint64_t labelled_states = 0;
  std::uint64_t initial_states = 0;
  std::uint64_t reward_structures = 0;
  std::uint64_t action_names = 0;
  std::uint64_t name_bytes = 0;
  std::array<std::uint64_t, 2> zeros = {};

  std::uint64_t names() const { return labels + reward_structures + action_names; }
};
static_assert(sizeof(AnnotationCounts) == kChecksumBlockBytes);

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

// Positions of the annotations' arrays. REQUIRES: counts below 2^50.
struct AnnotationLayout {
  AnnotationLayout(const AnnotationCounts& counts, std::uint64_t begin, std::uint64_t rows) {
    name_ends_at = begin + sizeof(AnnotationCounts);
    names_at = name_ends_at + RoundUp(8 * counts.names());
    state_ends_at = names_at + RoundUp(counts.name_bytes);
    states_at = state_ends_at + RoundUp(8 * counts.labels);
    initial_at = states_at + RoundUp(8 * counts.labelled_states);
    rewards_at = initial_at + RoundUp(8 * counts.initial_states);
    const std::uint64_t others = std::max<std::uint64_t>(counts.reward_structures, 1) - 1;
    action_names_at = rewards_at + others * RoundUp(8 * rows);
    end = action_names_at + (counts.action_names > 0 ? RoundUp(4 * rows) : 0);
  }

  std::uint64_t name_ends_at;
  std::uint64_t names_at;
  std::uint64_t state_ends_at;
  std::uint64_t states_at;
  std::uint64_t initial_at;
  std::uint64_t rewards_at;
  std::uint64_t action_names_at;
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
    const bool newer = header.version > kAnnotatedVersion;
    throw BadInput(newer ? fmt::format("{}: header: its version is {}; this program reads versions "
                                       "1 to {}, or the file is damaged",
                                       name, header.version, kAnnotatedVersion)
                         : fmt::format("{}: header: damaged, its checksum does not fit", name));
  }
  if (header.version != kPlainVersion && header.version != kAnnotatedVersion) {
    throw BadInput(fmt::format("{}: header: its version is {}; this program reads versions 1 to {}",
                               name, header.version, kAnnotatedVersion));
  }
  if (header.column_bytes != 4 && header.column_bytes != 8) {
    throw BadInput(fmt::format("{}: header: expected next states of 4 or 8 bytes, found {}", name,
                               header.column_bytes));
  }
  if (header.discount != kNoDiscount) {
    CheckDiscount(header.discount, fmt::format("{}: header", name));
  }
}

Error Truncated(std::uint64_t found, std::uint64_t expected, const std::string& name) {
  return BadInput(fmt::format("{}: truncated: it has {} bytes, expected {} by its header", name,
                              found, expected));
}

void CheckEnd(std::uint64_t found, std::uint64_t expected, const std::string& name) {
  if (found < expected) throw Truncated(found, expected, name);
  if (found > expected) {
    throw BadInput(fmt::format("{}: it has {} bytes too many: expected {} by its header", name,
                               found - expected, expected));
  }
}

// Of the model; what comes after it has its own numbers.
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
  if (header.version == kPlainVersion) {
    CheckEnd(found, layout.end, name);
  } else if (found < layout.end + sizeof(AnnotationCounts)) {
    throw Truncated(found, layout.end + sizeof(AnnotationCounts), name);
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

// Throws unless the file can and does have so much in its annotations.
AnnotationLayout CheckAnnotationLength(const AnnotationCounts& counts, const Header& header,
                                       std::uint64_t begin, std::uint64_t found,
                                       const std::string& name) {
  // Each is the length of an array with at least a byte per element.
  const std::uint64_t most =
      std::max({counts.labels, counts.labelled_states, counts.initial_states,
                counts.reward_structures, counts.action_names, counts.name_bytes});
  if (most > found || most > std::numeric_limits<std::uint64_t>::max() >> 14 ||
      counts.reward_structures > kMostRewardStructures) {
    throw BadInput(fmt::format(
        "{}: annotations: it has {} bytes, but {} labels of {} states, {} initial states, {} "
        "reward structures and {} action names by its numbers",
        name, found, counts.labels, counts.labelled_states, counts.initial_states,
        counts.reward_structures, counts.action_names));
  }
  if (counts.zeros[0] != 0 || counts.zeros[1] != 0) {
    throw BadInput(fmt::format("{}: annotations: expected two zeros after the numbers", name));
  }
  const AnnotationLayout layout(counts, begin, header.rows);
  CheckEnd(found, layout.end, name);
  return layout;
}

// Calls use(begin, end) for each part of an array of `size` elements that the ends divide.
template <typename Use>
void ForEachPart(std::span<const std::uint64_t> ends, std::uint64_t size, const std::string& name,
                 const Use& use) {
  std::uint64_t begin = 0;
  for (const std::uint64_t end : ends) {
    if (end < begin || end > size) {
      throw BadInput(fmt::format("{}: expected ascending ends up to {}, found {} after {}", name,
                                 size, end, begin));
    }
    use(begin, end);
    begin = end;
  }
  if (begin != size) {
    throw BadInput(fmt::format("{}: expected ends up to {}, the last is {}", name, size, begin));
  }
}

// The annotations, from `begin` to the end of the bytes. The constructor checks the length alone,
// Read everything else.
class AnnotationsReader {
 public:
  AnnotationsReader(std::span<const std::byte> bytes, std::uint64_t begin, const Header& header,
                    const std::string& name)
      : bytes_(bytes),
        counts_(CountsAt(bytes, begin)),
        layout_(CheckAnnotationLength(counts_, header, begin, bytes.size(), name)),
        name_(fmt::format("{}: annotations", name)) {}

  ModelAnnotations Read(const Model& model, const std::shared_ptr<const void>& owner) const {
    ModelAnnotations annotations;
    std::vector<std::string> names = ReadNames();
    auto next = names.begin();
    const auto states = Array<std::uint64_t>(layout_.states_at, counts_.labelled_states);
    ForEachPart(Array<std::uint64_t>(layout_.state_ends_at, counts_.labels), states.size(), name_,
                [&](std::uint64_t begin, std::uint64_t end) {
                  annotations.labels.push_back(
                      {std::move(*next++), {states.subspan(begin, end - begin), owner}});
                });
    annotations.initial = {Array<std::uint64_t>(layout_.initial_at, counts_.initial_states), owner};
    for (std::uint64_t i = 0; i < counts_.reward_structures; ++i) {
      const std::uint64_t at = layout_.rewards_at + (i - 1) * RoundUp(8 * model.rows());
      annotations.rewards.push_back(
          {std::move(*next++),
           {i == 0 ? model.rewards() : Array<double>(at, model.rows()), owner}});
    }
    annotations.actions.names.assign(std::make_move_iterator(next),
                                     std::make_move_iterator(names.end()));
    if (counts_.action_names > 0) {
      annotations.actions.rows = {Array<std::uint32_t>(layout_.action_names_at, model.rows()),
                                  owner};
    }
    CheckAnnotations(annotations, model.states(), model.rows(), name_);
    return annotations;
  }

 private:
  static AnnotationCounts CountsAt(std::span<const std::byte> bytes, std::uint64_t begin) {
    AnnotationCounts counts;
    std::memcpy(&counts, bytes.data() + begin, sizeof counts);
    return counts;
  }

  template <typename T>
  std::span<const T> Array(std::uint64_t offset, std::uint64_t count) const {
    return ArrayAt<T>(bytes_, offset, count);
  }

  std::vector<std::string> ReadNames() const {
    const auto text = Array<char>(layout_.names_at, counts_.name_bytes);
    std::vector<std::string> names;
    ForEachPart(Array<std::uint64_t>(layout_.name_ends_at, counts_.names()), text.size(), name_,
                [&](std::uint64_t begin, std::uint64_t end) {
                  names.emplace_back(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                     text.begin() + static_cast<std::ptrdiff_t>(end));
                });
    return names;
  }

  std::span<const std::byte> bytes_;
  AnnotationCounts counts_;
  AnnotationLayout layout_;
  std::string name_;
};

// Writer.

// Calls `write` with the array's bytes and zeros up to a whole block.
template <typename T, typename Write>
void WriteArray(std::span<const T> values, const Write& write) {
  const std::span<const std::byte> bytes = std::as_bytes(values);
  const std::size_t whole = bytes.size() / kChecksumBlockBytes * kChecksumBlockBytes;
  if (whole > 0) write(bytes.first(whole));
  if (whole == bytes.size()) return;
  std::array<std::byte, kChecksumBlockBytes> last{};
  std::ranges::copy(bytes.subspan(whole), last.begin());
  write(std::span<const std::byte>(last));
}

template <typename Write>
void WriteAnnotations(const ModelAnnotations& annotations, const Write& write) {
  std::string names;
  std::vector<std::uint64_t> name_ends, states, state_ends;
  const auto add_name = [&](const std::string& name) {
    names += name;
    name_ends.push_back(names.size());
  };
  for (const StateLabel& label : annotations.labels) {
    add_name(label.name);
    states.insert(states.end(), label.states.begin(), label.states.end());
    state_ends.push_back(states.size());
  }
  for (const RewardStructure& structure : annotations.rewards) add_name(structure.name);
  for (const std::string& name : annotations.actions.names) add_name(name);

  AnnotationCounts counts;
  counts.labels = annotations.labels.size();
  counts.labelled_states = states.size();
  counts.initial_states = annotations.initial.size();
  counts.reward_structures = annotations.rewards.size();
  counts.action_names = annotations.actions.names.size();
  counts.name_bytes = names.size();
  WriteArray(std::span<const AnnotationCounts>(&counts, 1), write);
  WriteArray(std::span<const std::uint64_t>(name_ends), write);
  WriteArray(std::span<const char>(names), write);
  WriteArray(std::span<const std::uint64_t>(state_ends), write);
  WriteArray(std::span<const std::uint64_t>(states), write);
  WriteArray(annotations.initial.span(), write);
  for (std::size_t i = 1; i < annotations.rewards.size(); ++i) {
    WriteArray(annotations.rewards[i].rewards.span(), write);
  }
  WriteArray(annotations.actions.rows.span(), write);
}

// Calls `write` with everything after the header, in file order, in whole blocks.
template <typename Write>
void ForEachPiece(const ModelArrays& arrays, const ModelAnnotations& annotations,
                  const Write& write) {
  WriteArray(arrays.state_rows, write);
  WriteArray(arrays.row_transitions, write);
  WriteArray(arrays.rewards, write);
  WriteArray(arrays.probabilities, write);
  WriteArray(arrays.narrow_columns, write);
  WriteArray(arrays.wide_columns, write);
  if (!annotations.empty()) WriteAnnotations(annotations, write);
}

Header HeaderOf(const Model& model, const ModelAnnotations& annotations) {
  Header header;
  header.version = annotations.empty() ? kPlainVersion : kAnnotatedVersion;
  header.column_bytes = model.wide() ? 8 : 4;
  header.states = model.states();
  header.rows = model.rows();
  header.transitions = model.transitions();
  header.discount = model.discount().value_or(kNoDiscount);
  BlockChecksum content;
  ForEachPiece(model.arrays(), annotations,
               [&](std::span<const std::byte> piece) { content.Extend(piece); });
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
                             const std::shared_ptr<const void>& owner, int threads) {
  CheckByteOrder(name);
  const Header header = ParseHeader(bytes, name);
  CheckHeader(header, name);
  const Layout layout = CheckLength(header, bytes.size(), name);
  std::optional<AnnotationsReader> annotations;
  if (header.version == kAnnotatedVersion) annotations.emplace(bytes, layout.end, header, name);
  if (ChecksumOf(bytes.subspan(sizeof(Header)), threads) != header.content_checksum) {
    throw BadInput(fmt::format("{}: arrays: damaged, their checksum does not fit", name));
  }
  const ModelArrays arrays = ArraysIn(bytes, header, layout);
  CheckCanonical(arrays, fmt::format("{}: arrays", name), threads);
  const auto discount =
      header.discount == kNoDiscount ? std::nullopt : std::optional(header.discount);
  LoadedModel loaded = {Model(arrays, owner, discount), {}};
  if (annotations) loaded.annotations = annotations->Read(loaded.model, owner);
  return loaded;
}

LoadedModel ReadBinaryModel(const std::filesystem::path& path, int threads) {
  const auto file = std::make_shared<const MappedFile>(path);
  return ParseBinaryModel(file->bytes(), path.string(), file, threads);
}

std::vector<std::string> WriteBinaryModel(const Model& model, const std::filesystem::path& path,
                                          const ModelAnnotations& annotations) {
  CheckByteOrder(path.string());
  AtomicFile file(path);
  const Header header = HeaderOf(model, annotations);
  file.Write(std::as_bytes(std::span(&header, 1)));
  ForEachPiece(model.arrays(), annotations,
               [&](std::span<const std::byte> piece) { file.Write(piece); });
  file.Commit();
  return {};
}

}  // namespace stableaa
