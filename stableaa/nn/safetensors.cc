#include "stableaa/nn/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/machine.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/nn/plan.h"
#include "stableaa/nn/spec.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

// The same kind of JSON for reading and writing, so the templates are compiled only once.
using Json = nlohmann::ordered_json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr char kFormatKey[] = "format";
constexpr char kSpecKey[] = "stableaa.spec";
constexpr char kVersionKey[] = "stableaa.version";

constexpr std::size_t kAlignment = 8;
constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
constexpr std::size_t kMaxFileBytes = std::size_t{5} << 28;  // 1 GiB is the largest network
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;       // limit of the format's own library
constexpr std::size_t kMaxDimensions = 64;                   // PyTorch's limit

struct Dtype {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr Dtype kDtypes[] = {
    {"F64", 8},  {"F32", 4},     {"F16", 2},     {"BF16", 2},    {"I64", 8}, {"I32", 4},
    {"I16", 2},  {"I8", 1},      {"U64", 8},     {"U32", 4},     {"U16", 2}, {"U8", 1},
    {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1}, {"C64", 8},
};

Error Wrong(const std::string& file, const std::string& what) {
  return BadInput(fmt::format("{}: {}", file, what));
}

std::string Tensor(std::string_view name) { return fmt::format("tensor '{}'", Shorten(name)); }

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// "nan at index 3" for the first value that is not finite; empty if all are.
std::string FirstNonFinite(std::span<const float> values) {
  const auto found = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
  if (found == values.end()) return "";
  return fmt::format("{} at index {}", *found, found - values.begin());
}

// What the header says about one tensor, as far as it has been read.
struct TensorHeader {
  std::optional<std::string> dtype;
  std::optional<std::vector<std::int64_t>> shape;
  std::optional<std::vector<std::uint64_t>> offsets;
};

// Processes the header's JSON while it is parsed and throws BadInput at the first thing that does
// not belong. A tree of values would be simpler, but a hostile header could make it many times its
// own size, and duplicate keys would be lost in it.
//
// The lower-case functions are the events of nlohmann's parser; returning `true` lets it continue.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}

  const std::map<std::string, TensorHeader>& tensors() const { return tensors_; }
  WeightsMetadata& metadata() { return metadata_; }

  bool null() override { throw Unexpected("null"); }
  bool boolean(bool value) override { throw Unexpected(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override { throw Unexpected(fmt::to_string(value)); }
  bool number_float(double, const std::string& text) override { throw Unexpected(Shorten(text)); }
  bool binary(Json::binary_t&) override { throw Unexpected("binary data"); }

  bool number_unsigned(std::uint64_t value) override {
    if (awaited_ == Awaited::kSide) {
      AddSide(value);
    } else if (awaited_ == Awaited::kOffset) {
      if (tensor_->offsets->size() == 2) throw Unexpected("a third number");
      tensor_->offsets->push_back(value);
    } else {
      throw Unexpected(fmt::to_string(value));
    }
    return true;
  }

  bool string(std::string& value) override {
    if (awaited_ == Awaited::kMetadataValue) {
      *text_ = std::move(value);
      awaited_ = Awaited::kMetadataKey;
    } else if (awaited_ == Awaited::kDtype) {
      tensor_->dtype = std::move(value);
      awaited_ = Awaited::kField;
    } else {
      throw Unexpected(fmt::format("the string '{}'", Shorten(value)));
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (awaited_ == Awaited::kHeader) {
      awaited_ = Awaited::kEntryName;
    } else if (awaited_ == Awaited::kEntry) {
      awaited_ = tensor_ == nullptr ? Awaited::kMetadataKey : Awaited::kField;
    } else {
      throw Unexpected("an object");
    }
    return true;
  }

  bool key(std::string& key) override {
    if (awaited_ == Awaited::kEntryName) {
      BeginEntry(key);
    } else if (awaited_ == Awaited::kMetadataKey) {
      const auto [place, is_new] = metadata_.emplace(key, "");
      if (!is_new) throw Twice(fmt::format("metadata '{}'", Shorten(key)));
      text_ = &place->second;
      name_ = key;
      awaited_ = Awaited::kMetadataValue;
    } else {
      BeginField(key);
    }
    return true;
  }

  bool end_object() override {
    if (awaited_ == Awaited::kField) {
      if (!tensor_->dtype) throw Missing("dtype");
      if (!tensor_->shape) throw Missing("shape");
      if (!tensor_->offsets) throw Missing("data_offsets");
    }
    awaited_ = awaited_ == Awaited::kEntryName ? Awaited::kNothing : Awaited::kEntryName;
    return true;
  }

  bool start_array(std::size_t) override {
    if (awaited_ == Awaited::kShape) {
      tensor_->shape.emplace();
      awaited_ = Awaited::kSide;
    } else if (awaited_ == Awaited::kOffsets) {
      tensor_->offsets.emplace();
      awaited_ = Awaited::kOffset;
    } else {
      throw Unexpected("an array");
    }
    return true;
  }

  bool end_array() override {
    if (awaited_ == Awaited::kOffset && tensor_->offsets->size() < 2) {
      throw Unexpected(fmt::format("{} of them", tensor_->offsets->size()));
    }
    awaited_ = Awaited::kField;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& last, const Json::exception&) override {
    throw Wrong(file_, fmt::format("expected JSON as header, found an error at its byte {}, '{}'",
                                   position, Shorten(last)));
  }

 private:
  enum class Awaited {
    kHeader,
    kEntryName,
    kEntry,
    kMetadataKey,
    kMetadataValue,
    kField,
    kDtype,
    kShape,
    kSide,
    kOffsets,
    kOffset,
    kNothing,
  };

  void BeginEntry(const std::string& name) {
    name_ = name;
    awaited_ = Awaited::kEntry;
    if (name == kMetadata) {
      if (std::exchange(metadata_seen_, true)) throw Twice(std::string(kMetadata));
      tensor_ = nullptr;
      return;
    }
    const auto [place, is_new] = tensors_.emplace(name, TensorHeader());
    if (!is_new) throw Twice(Tensor(name));
    tensor_ = &place->second;
  }

  void BeginField(const std::string& field) {
    bool is_new = false;
    if (field == "dtype") {
      is_new = !tensor_->dtype;
      awaited_ = Awaited::kDtype;
    } else if (field == "shape") {
      is_new = !tensor_->shape;
      awaited_ = Awaited::kShape;
    } else if (field == "data_offsets") {
      is_new = !tensor_->offsets;
      awaited_ = Awaited::kOffsets;
    } else {
      throw Wrong(file_, fmt::format("{}: expected dtype, shape and data_offsets, found '{}'",
                                     Tensor(name_), Shorten(field)));
    }
    if (!is_new) throw Twice(fmt::format("{}: {}", Tensor(name_), field));
  }

  void AddSide(std::uint64_t side) {
    if (tensor_->shape->size() == kMaxDimensions) {
      throw Wrong(file_, fmt::format("{}: expected at most {} dimensions, found more",
                                     Tensor(name_), kMaxDimensions));
    }
    if (side > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      throw Unexpected(fmt::to_string(side));
    }
    tensor_->shape->push_back(static_cast<std::int64_t>(side));
  }

  std::string Expected() const {
    switch (awaited_) {
      case Awaited::kEntry:
        return fmt::format("an object as '{}'", Shorten(name_));
      case Awaited::kMetadataValue:
        return fmt::format("a string as metadata '{}'", Shorten(name_));
      case Awaited::kDtype:
        return fmt::format("a string as dtype of {}", Tensor(name_));
      case Awaited::kShape:
      case Awaited::kSide:
        return fmt::format("an array of whole numbers as shape of {}", Tensor(name_));
      case Awaited::kOffsets:
      case Awaited::kOffset:
        return fmt::format("an array of two whole numbers as data_offsets of {}", Tensor(name_));
      default:
        return "an object as header";
    }
  }

  Error Unexpected(const std::string& found) const {
    return Wrong(file_, fmt::format("expected {}, found {}", Expected(), found));
  }
  Error Twice(const std::string& what) const {
    return Wrong(file_, fmt::format("{} is there twice", what));
  }
  Error Missing(std::string_view field) const {
    return Wrong(file_, fmt::format("{} has no {}", Tensor(name_), field));
  }

  const std::string& file_;
  std::map<std::string, TensorHeader> tensors_;
  WeightsMetadata metadata_;
  Awaited awaited_ = Awaited::kHeader;
  std::string name_;                // of the entry or metadata being read
  TensorHeader* tensor_ = nullptr;  // null inside the metadata
  std::string* text_ = nullptr;     // the metadata being read
  bool metadata_seen_ = false;
};

struct Parts {
  std::string_view header;
  std::span<const std::byte> data;
};

Parts Split(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.size() < kLengthBytes) {
    throw Wrong(file, fmt::format("expected a safetensors file, found {} bytes", bytes.size()));
  }
  const std::uint64_t length = ByteReader(bytes, file).U64();
  const auto rest = bytes.subspan(kLengthBytes);
  if (length > kMaxHeaderBytes || length > rest.size()) {
    throw Wrong(file, fmt::format("expected a safetensors file, whose first 8 bytes are the length "
                                  "of its header, found {} there and {} bytes behind (truncated, "
                                  "or another format?)",
                                  length, rest.size()));
  }
  const auto size = static_cast<std::size_t>(length);
  const std::string_view header(reinterpret_cast<const char*>(rest.data()), size);
  if (!header.starts_with('{')) {
    throw Wrong(file, fmt::format("expected a header that starts with '{{', found '{}'",
                                  Shorten(header, 16)));
  }
  // nlohmann's parser treats a NUL as the end and would ignore everything after it.
  if (const std::size_t nul = header.find('\0'); nul != std::string_view::npos) {
    throw Wrong(file, fmt::format("expected JSON as header, found NUL at its byte {}", nul + 1));
  }
  return {.header = header, .data = rest.subspan(size)};
}

std::uint64_t BytesPerElement(const std::string& dtype, const std::string& tensor,
                              const std::string& file) {
  for (const Dtype& known : kDtypes) {
    if (known.name == dtype) return known.bytes;
  }
  throw Wrong(file, fmt::format("{}: unknown dtype '{}', expected F32", tensor, Shorten(dtype)));
}

// Empty on overflow.
std::optional<std::uint64_t> Product(std::uint64_t bytes, const std::vector<std::int64_t>& shape) {
  for (const std::int64_t side : shape) {
    const auto factor = static_cast<std::uint64_t>(side);
    if (factor > 0 && bytes > std::numeric_limits<std::uint64_t>::max() / factor) return {};
    bytes *= factor;
  }
  return bytes;
}

SafetensorsTensor Locate(const TensorHeader& header, const std::string& name,
                         std::span<const std::byte> data, const std::string& file) {
  const std::string tensor = Tensor(name);
  const std::uint64_t begin = (*header.offsets)[0];
  const std::uint64_t end = (*header.offsets)[1];
  if (begin > end) {
    throw Wrong(file,
                fmt::format("{}: its data end at {}, before they begin at {}", tensor, end, begin));
  }
  if (end > data.size()) {
    throw Wrong(file, fmt::format("{}: expected data from {} to {}, found only {} bytes (is the "
                                  "file truncated?)",
                                  tensor, begin, end, data.size()));
  }
  const std::uint64_t element = BytesPerElement(*header.dtype, tensor, file);
  const std::optional<std::uint64_t> needed = Product(element, *header.shape);
  if (needed != end - begin) {
    throw Wrong(file, fmt::format("{}: expected {} bytes for {} {}, found {}", tensor,
                                  needed ? fmt::to_string(*needed) : "more than 2^64",
                                  *header.dtype, Shorten(ShapeText(*header.shape)), end - begin));
  }
  return {
      .dtype = *header.dtype,
      .shape = *header.shape,
      .data = data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))};
}

// There must be no gap, no overlap, and nothing after the last one.
void CheckTiling(const std::map<std::string, TensorHeader>& tensors, std::uint64_t data_bytes,
                 const std::string& file) {
  struct Tile {
    std::uint64_t begin;
    std::uint64_t end;
    const std::string* name;
  };
  std::vector<Tile> tiles;
  for (const auto& [name, tensor] : tensors) {
    tiles.push_back({(*tensor.offsets)[0], (*tensor.offsets)[1], &name});
  }
  std::ranges::stable_sort(tiles, {}, [](const Tile& t) { return std::pair(t.begin, t.end); });
  std::uint64_t reached = 0;
  for (const Tile& tile : tiles) {
    if (tile.begin != reached) {
      throw Wrong(file, fmt::format("{}: expected its data to begin at {}, where those before end, "
                                    "found {}",
                                    Tensor(*tile.name), reached, tile.begin));
    }
    reached = tile.end;
  }
  if (reached != data_bytes) {
    throw Wrong(file, fmt::format("expected {} bytes of data, as the header says, found {}",
                                  reached, data_bytes));
  }
}

// "'a' [2, 3], 'b' [2] and 4 more"
std::string Few(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size()));
  std::string text = fmt::format("{}", fmt::join(names.begin(), end, ", "));
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

std::string NameAndShape(std::string_view name, const std::vector<std::int64_t>& shape) {
  return fmt::format("'{}' {}", Shorten(name), Shorten(ShapeText(shape)));
}

void CheckNames(const Safetensors& file, const std::vector<ParameterTensor>& wanted) {
  std::vector<std::string> missing;
  std::map<std::string_view, const SafetensorsTensor*> unwanted;
  for (const auto& [name, tensor] : file.tensors) unwanted.emplace(name, &tensor);
  for (const ParameterTensor& tensor : wanted) {
    if (unwanted.erase(tensor.name) == 0) {
      missing.push_back(NameAndShape(tensor.name, tensor.shape));
    }
  }
  std::vector<std::string> unexpected;
  for (const auto& [name, tensor] : unwanted) {
    unexpected.push_back(NameAndShape(name, tensor->shape));
  }
  if (missing.empty() && unexpected.empty()) return;
  throw Wrong(file.name, fmt::format("its tensors are not those of the network: {}{}{}{}{}",
                                     missing.empty() ? "" : "missing ", Few(missing),
                                     missing.empty() || unexpected.empty() ? "" : "; ",
                                     unexpected.empty() ? "" : "unexpected ", Few(unexpected)));
}

void CheckTensor(const Safetensors& file, const ParameterTensor& wanted) {
  const SafetensorsTensor& found = file.tensors.at(wanted.name);
  if (found.dtype != "F32") {
    throw Wrong(file.name, fmt::format("{}: expected F32, found {}; convert it before it is saved, "
                                       "in PyTorch by .float()",
                                       Tensor(wanted.name), found.dtype));
  }
  if (found.shape != wanted.shape) {
    throw Wrong(file.name, fmt::format("{}: expected shape {}, found {}", Tensor(wanted.name),
                                       ShapeText(wanted.shape), Shorten(ShapeText(found.shape))));
  }
}

std::vector<float> FloatsOf(const Safetensors& file, const std::string& tensor) {
  const std::span<const std::byte> data = file.tensors.at(tensor).data;
  std::vector<float> values(data.size() / sizeof(float));
  ByteReader in(data, file.name);
  for (float& value : values) value = std::bit_cast<float>(in.U32());
  if (const std::string bad = FirstNonFinite(values); !bad.empty()) {
    throw Wrong(file.name,
                fmt::format("{}: expected finite numbers, found {}", Tensor(tensor), bad));
  }
  return values;
}

// The file's values for each of the tensors, which must be exactly those in the file. Sizes are
// compared before anything of the network's size is reserved.
std::vector<std::vector<float>> ValuesOf(const Safetensors& file,
                                         const std::vector<ParameterTensor>& tensors) {
  CheckNames(file, tensors);
  for (const ParameterTensor& tensor : tensors) CheckTensor(file, tensor);
  std::vector<std::vector<float>> values;
  for (const ParameterTensor& tensor : tensors) values.push_back(FloatsOf(file, tensor.name));
  return values;
}

void SetAll(Parameters& parameters, const std::vector<ParameterTensor>& tensors,
            const std::vector<std::vector<float>>& values) {
  for (std::size_t i = 0; i < tensors.size(); ++i) parameters.Set(tensors[i], values[i]);
}

// Empty if the file does not describe its network.
std::optional<NetworkSpec> SpecOf(const Safetensors& file) {
  const auto found = file.metadata.find(kSpecKey);
  if (found == file.metadata.end()) return std::nullopt;
  const std::string& text = found->second;
  if (text.size() > kMaxSpecText) {
    throw Wrong(file.name, fmt::format("metadata '{}': expected at most {} bytes, found {}",
                                       kSpecKey, kMaxSpecText, text.size()));
  }
  try {
    return ParseSpec(text);
  } catch (const Error& error) {
    throw Wrong(file.name, fmt::format("metadata '{}': {}", kSpecKey, Shorten(error.what(), 300)));
  }
}

std::string ReadBytes(const fs::path& path) {
  // Includes the size, which ReadRegularFile does not report.
  std::error_code none;
  if (const std::uintmax_t size = fs::file_size(path, none); !none && size > kMaxFileBytes) {
    throw Wrong(path.string(),
                fmt::format("expected at most {} bytes, found {}", kMaxFileBytes, size));
  }
  return ReadRegularFile(path, kMaxFileBytes);
}

void CheckFinite(const fs::path& path, const Parameters& parameters) {
  for (const ParameterTensor& tensor : ParameterTensors(parameters.plan())) {
    std::vector<float> values(tensor.size());
    parameters.Get(tensor, values);
    if (const std::string bad = FirstNonFinite(values); !bad.empty()) {
      throw WorkFailed(
          fmt::format("cannot write {}: tensor '{}' has {}", path.string(), tensor.name, bad));
    }
  }
}

WeightsMetadata MetadataOf(const Parameters& parameters, const WeightsMetadata& extra) {
  for (const auto& [key, value] : extra) {
    if (!IsCleanUtf8(key) || !IsCleanUtf8(value)) {
      throw BadInput(fmt::format("metadata '{}': expected UTF-8 without NUL", Shorten(key)));
    }
  }
  WeightsMetadata metadata = {{kFormatKey, "pt"},
                              {kSpecKey, ToText(parameters.plan().spec)},
                              {kVersionKey, LibraryVersion()}};
  for (const auto& [key, value] : extra) {
    if (!metadata.emplace(key, value).second) {
      throw BadInput(fmt::format("metadata '{}' is the library's own and cannot be given", key));
    }
  }
  return metadata;
}

std::string HeaderText(const std::vector<ParameterTensor>& tensors,
                       const WeightsMetadata& metadata) {
  Json header;
  header[std::string(kMetadata)] = metadata;
  std::size_t end = 0;
  for (const ParameterTensor& tensor : tensors) {
    const std::size_t begin = std::exchange(end, end + tensor.size() * sizeof(float));
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

}  // namespace

void WriteWeights(const fs::path& path, const Parameters& parameters,
                  const WeightsMetadata& extra) {
  CheckFinite(path, parameters);
  const std::vector<ParameterTensor> tensors = ParameterTensors(parameters.plan());
  const std::string header = HeaderText(tensors, MetadataOf(parameters, extra));
  ByteWriter length;
  length.U64(header.size());

  AtomicFile file(path);
  file.Write(length.bytes());
  file.Write(header);
  for (const ParameterTensor& tensor : tensors) {
    std::vector<float> values(tensor.size());
    parameters.Get(tensor, values);
    ByteWriter data;
    data.F32s(values);
    file.Write(data.bytes().subspan(sizeof(std::uint64_t)));  // without the count
  }
  file.Commit();
}

SafetensorsFile::SafetensorsFile(const fs::path& path)
    : bytes_(ReadBytes(path)),
      content_(ParseSafetensors(std::as_bytes(std::span(bytes_)), path.string())) {}

bool DescribesNetwork(const Safetensors& file) { return file.metadata.contains(kSpecKey); }

WeightsFile ReadWeights(const fs::path& path) {
  return ReadWeights(SafetensorsFile(path).content());
}

WeightsMetadata ReadWeightsInto(const fs::path& path, Parameters& parameters) {
  const SafetensorsFile file(path);
  ReadWeightsInto(file.content(), parameters);
  return file.content().metadata;
}

Safetensors ParseSafetensors(std::span<const std::byte> bytes, const std::string& name) {
  const Parts parts = Split(bytes, name);
  HeaderReader reader(name);
  Json::sax_parse(parts.header.begin(), parts.header.end(), &reader);
  Safetensors file{.name = name, .tensors = {}, .metadata = std::move(reader.metadata())};
  for (const auto& [tensor, header] : reader.tensors()) {
    file.tensors.emplace(tensor, Locate(header, tensor, parts.data, name));
  }
  CheckTiling(reader.tensors(), parts.data.size(), name);
  return file;
}

WeightsFile ReadWeights(const Safetensors& file) {
  const std::optional<NetworkSpec> spec = SpecOf(file);
  if (!spec) {
    throw Wrong(file.name, fmt::format("does not say which network it is of (no metadata '{}'); it "
                                       "can only be read into a network that is known",
                                       kSpecKey));
  }
  auto plan = std::make_shared<const Plan>(MakePlan(*spec));
  const std::vector<ParameterTensor> tensors = ParameterTensors(*plan);
  const std::vector<std::vector<float>> values = ValuesOf(file, tensors);
  WeightsFile weights{.parameters = Parameters(std::move(plan)), .metadata = file.metadata};
  SetAll(weights.parameters, tensors, values);
  return weights;
}

void ReadWeightsInto(const Safetensors& file, Parameters& parameters) {
  const NetworkSpec& expected = parameters.plan().spec;
  const std::optional<NetworkSpec> found = SpecOf(file);
  if (found && *found != expected) {
    throw Wrong(file.name,
                fmt::format("expected weights of the network {}, found those of {}",
                            Shorten(ToText(expected), 300), Shorten(ToText(*found), 300)));
  }
  const std::vector<ParameterTensor> tensors = ParameterTensors(parameters.plan());
  SetAll(parameters, tensors, ValuesOf(file, tensors));
}

}  // namespace stableaa
