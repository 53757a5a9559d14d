// Weights files and network specs from arbitrary bytes: either a BadInput, or tensors that tile the
// data and parameters that hold them bit for bit. The first byte chooses between a file as is, a
// file whose header gets the correct length, and the text of a spec.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/accepts.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/nn/foreign_weights.h"
#include "stableaa/nn/parameters.h"
#include "stableaa/nn/plan.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/nn/spec.h"

namespace stableaa {
namespace {

using Bytes = std::span<const std::byte>;

// Valid specs may have up to 2^28 parameters. None with more than this are built here.
constexpr std::size_t kMostParameters = std::size_t{1} << 14;

// Each tensor's data lies within the file, and together they cover all of its data.
void CheckTiling(const Safetensors& file, Bytes bytes) {
  const std::uint64_t header = ByteReader(bytes, "fuzz").U64();
  const Bytes data = bytes.subspan(8 + static_cast<std::size_t>(header));
  std::vector<bool> covered(data.size());
  for (const auto& [name, tensor] : file.tensors) {
    if (tensor.data.empty()) continue;
    const std::ptrdiff_t begin = tensor.data.data() - data.data();
    Require(begin >= 0 && static_cast<std::size_t>(begin) + tensor.data.size() <= data.size());
    for (std::size_t i = 0; i < tensor.data.size(); ++i) {
      const std::size_t at = static_cast<std::size_t>(begin) + i;
      Require(!covered[at]);
      covered[at] = true;
    }
  }
  Require(std::ranges::all_of(covered, [](bool is) { return is; }));
}

void CheckHolds(const Parameters& parameters, const Safetensors& file) {
  const std::vector<ParameterTensor> tensors = ParameterTensors(parameters.plan());
  Require(tensors.size() == file.tensors.size());
  for (const ParameterTensor& tensor : tensors) {
    std::vector<float> values(tensor.size());
    parameters.Get(tensor, values);
    Require(std::ranges::all_of(values, [](float v) { return std::isfinite(v); }));
    const SafetensorsTensor& stored = file.tensors.at(tensor.name);
    Require(stored.shape == tensor.shape && stored.dtype == "F32");
    Require(std::ranges::equal(std::as_bytes(std::span(values)), stored.data));
  }
}

// True if the file fits; otherwise the parameters must be unchanged.
bool LoadsInto(const Safetensors& file, const std::shared_ptr<const Plan>& plan) {
  Parameters parameters(plan);
  std::ranges::fill(parameters.block(), 1.5F);
  if (Accepts([&] { ReadWeightsInto(file, parameters); })) {
    CheckHolds(parameters, file);
    return true;
  }
  Require(std::ranges::all_of(parameters.block(), [](float v) { return v == 1.5F; }));
  return false;
}

// Names and types may differ. Each tensor holds the file's numbers.
void TryToMatch(const Safetensors& file, const std::shared_ptr<const Plan>& plan) {
  Parameters parameters(plan);
  std::ranges::fill(parameters.block(), 1.5F);
  std::vector<RenamedTensor> renamed;
  if (!Accepts([&] { renamed = ReadMatchingWeightsInto(file, parameters); })) {
    Require(std::ranges::all_of(parameters.block(), [](float v) { return v == 1.5F; }));
    return;
  }
  const auto ignored = std::ranges::count(renamed, "", &RenamedTensor::to);
  Require(file.tensors.size() ==
              ParameterTensors(*plan).size() + static_cast<std::size_t>(ignored) &&
          parameters.AllFinite());
  for (const ParameterTensor& tensor : ParameterTensors(*plan)) {
    const auto other = std::ranges::find(renamed, tensor.name, &RenamedTensor::to);
    const SafetensorsTensor& stored =
        file.tensors.at(other == renamed.end() ? tensor.name : other->from);
    Require(stored.shape == tensor.shape);
    std::vector<float> values(tensor.size());
    parameters.Get(tensor, values);
    Require(stored.dtype != "F32" ||
            std::ranges::equal(std::as_bytes(std::span(values)), stored.data));
  }
  Require(renamed.empty() || !RenamedText(renamed).empty());
}

void TryFile(Bytes bytes) {
  static const auto known =
      std::make_shared<const Plan>(MakePlan(ParseSpec("vector(2) linear(2) relu linear(1)")));
  Safetensors file;
  if (!Accepts([&] { file = ParseSafetensors(bytes, "fuzz"); })) return;
  CheckTiling(file, bytes);
  LoadsInto(file, known);
  TryToMatch(file, known);

  const bool complete = Accepts([&] { CheckHolds(ReadWeights(file).parameters, file); });
  const auto spec = file.metadata.find("stableaa.spec");
  std::shared_ptr<const Plan> plan;
  if (spec == file.metadata.end() ||
      !Accepts([&] { plan = std::make_shared<const Plan>(MakePlan(ParseSpec(spec->second))); })) {
    Require(!complete);
    return;
  }
  if (plan->parameters <= kMostParameters) Require(LoadsInto(file, plan) == complete);
}

// The header ends at the first NUL, which no header contains, so its length may vary.
void TryHeader(Bytes bytes) {
  const auto end = std::ranges::find(bytes, std::byte{0});
  ByteWriter length;
  length.U64(static_cast<std::uint64_t>(end - bytes.begin()));
  std::vector<std::byte> file(length.bytes().begin(), length.bytes().end());
  file.insert(file.end(), bytes.begin(), end);
  if (end != bytes.end()) file.insert(file.end(), end + 1, bytes.end());
  TryFile(file);
}

void TrySpec(std::string_view text) {
  NetworkSpec spec;
  if (!Accepts([&] { spec = ParseSpec(text); })) return;
  Require(ParseSpec(ToText(spec)) == spec);
  const Plan plan = MakePlan(spec);
  Require(plan.spec == spec && plan.outputs() == spec.outputs() && plan.outputs() > 0);
  std::size_t values = 0;
  for (const ParameterTensor& tensor : ParameterTensors(plan)) values += tensor.size();
  Require(values <= plan.parameters);
}

void Try(std::uint8_t choice, Bytes bytes) {
  switch (choice % 3) {
    case 0:
      return TryFile(bytes);
    case 1:
      return TryHeader(bytes);
    default:
      return TrySpec({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

}  // namespace
}  // namespace stableaa

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  stableaa::Try(data[0], std::as_bytes(std::span(data, size)).subspan(1));
  return 0;
}
