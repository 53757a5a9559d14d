#include "stableaa/rl/run/first_weights.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cstddef>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "stableaa/base/files/directories.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/nn/spec.h"
#include "stableaa/rl/run/saved_agent.h"

namespace stableaa {

FirstWeights::FirstWeights(const std::filesystem::path& path, std::shared_ptr<const Plan> plan)
    : parameters_(std::move(plan)) {
  const std::filesystem::path file = FindWeights({.path = path});
  const SafetensorsFile content(file);
  metadata_ = content.content().metadata;
  std::error_code error;
  file_ = NormalPath(std::filesystem::absolute(file, error));
  if (error) file_ = file;
  ReadWeightsOfAnyOrigin(content.content(), parameters_);
  const std::string here = ToText(parameters_.plan().spec);
  const auto there = metadata_.find("stableaa.spec");
  if (there != metadata_.end() && there->second != here) {
    LogWarning(fmt::format("{} has weights of the network {}; this one is {}", ShownPath(file),
                           Shorten(there->second, 300), Shorten(here, 300)));
  }
}

std::uint32_t FirstWeights::checksum() const {
  uLong sum = crc32_z(0, nullptr, 0);
  for (const ParameterTensor& tensor : ParameterTensors(parameters_.plan())) {
    std::vector<float> values(tensor.size());
    parameters_.Get(tensor, values);
    const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  }
  return static_cast<std::uint32_t>(sum);
}

}  // namespace stableaa
