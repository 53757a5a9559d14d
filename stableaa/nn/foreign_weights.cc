#include "stableaa/nn/foreign_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/nn/spec.h"

namespace stableaa {
namespace {

using Tensors = std::vector<ParameterTensor>;
using Names = std::vector<std::string>;

std::string NameWithShape(std::string_view name, const std::vector<std::int64_t>& shape) {
  return fmt::format("'{}' {}", Shorten(name),
                     Shorten(fmt::format("[{}]", fmt::join(shape, ", "))));
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The digits at the start of `text`, which are taken from it, without leading zeros.
std::string_view TakeNumber(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, IsDigit);
  std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

// Numbers within names compare as numbers: net.2 comes before net.10.
bool NaturalLess(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a.front()) && IsDigit(b.front())) {
      const std::string_view x = TakeNumber(a), y = TakeNumber(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else if (a.front() != b.front()) {
      return a.front() < b.front();
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // 01 and 1
}

// "layers" for "layers.0.weight".
std::string PartOf(const ParameterTensor& tensor) {
  return tensor.name.substr(0, tensor.name.find('.'));
}

// The network's tensors in natural order within each part, for every order of the parts.
std::vector<Tensors> NaturalOrders(Tensors tensors) {
  std::ranges::sort(tensors, NaturalLess, &ParameterTensor::name);
  Names parts;
  for (const ParameterTensor& tensor : tensors) {
    if (parts.empty() || parts.back() != PartOf(tensor)) parts.push_back(PartOf(tensor));
  }
  std::vector<Tensors> orders;
  do {
    Tensors& order = orders.emplace_back();
    for (const std::string& part : parts) {
      std::ranges::copy_if(tensors, std::back_inserter(order),
                           [&part](const ParameterTensor& one) { return PartOf(one) == part; });
    }
  } while (std::ranges::next_permutation(parts).found);
  return orders;
}

// How many of the first tensors have the same shape in both.
std::size_t CountFitting(const Safetensors& file, const Names& names, const Tensors& order) {
  std::size_t i = 0;
  while (i < std::min(names.size(), order.size()) &&
         file.tensors.at(names[i]).shape == order[i].shape) {
    ++i;
  }
  return i;
}

Error Misfit(const Safetensors& file, const Parameters& parameters, const std::string& what) {
  return BadInput(fmt::format("{}: {}; the network is {}", file.name, what,
                              Shorten(ToText(parameters.plan().spec), 300)));
}

// The first tensor that does not fit where all before it do.
Error FirstMisfit(const Safetensors& file, const Parameters& parameters, const Names& names,
                  const Tensors& order) {
  const std::size_t i = CountFitting(file, names, order);
  const auto found = [&] { return NameWithShape(names[i], file.tensors.at(names[i]).shape); };
  const auto expected = [&] { return NameWithShape(order[i].name, order[i].shape); };
  if (i == names.size()) {
    return Misfit(file, parameters, fmt::format("there is no tensor for {}", expected()));
  }
  if (i == order.size()) {
    return Misfit(file, parameters, fmt::format("tensor {} has no place in the network", found()));
  }
  return Misfit(file, parameters,
                fmt::format("tensor {} does not fit the network's {}", found(), expected()));
}

bool HasNamesOf(const Safetensors& file, const Tensors& tensors) {
  return file.tensors.size() == tensors.size() &&
         std::ranges::all_of(tensors, [&file](const ParameterTensor& tensor) {
           return file.tensors.contains(tensor.name);
         });
}

// The file's name for each of the network's tensors.
struct Match {
  Tensors tensors;
  Names names;
};

Match MatchByName(const Safetensors& file, const Parameters& parameters, const Tensors& tensors) {
  Names names;
  for (const ParameterTensor& tensor : tensors) {
    const auto found = file.tensors.find(tensor.name);
    if (found == file.tensors.end()) {
      throw Misfit(file, parameters,
                   fmt::format("there is no tensor {}", NameWithShape(tensor.name, tensor.shape)));
    }
    if (found->second.shape != tensor.shape) {
      throw Misfit(file, parameters,
                   fmt::format("tensor {}: expected shape [{}]",
                               NameWithShape(tensor.name, found->second.shape),
                               fmt::join(tensor.shape, ", ")));
    }
    names.push_back(tensor.name);
  }
  for (const auto& [name, tensor] : file.tensors) {
    if (std::ranges::find(tensors, name, &ParameterTensor::name) != tensors.end()) continue;
    throw Misfit(
        file, parameters,
        fmt::format("tensor {} has no place in the network", NameWithShape(name, tensor.shape)));
  }
  return {tensors, std::move(names)};
}

Match MatchInNaturalOrder(const Safetensors& file, const Parameters& parameters,
                          const Tensors& tensors) {
  Names names;
  for (const auto& [name, tensor] : file.tensors) names.push_back(name);
  std::ranges::sort(names, NaturalLess);
  const std::vector<Tensors> orders = NaturalOrders(tensors);
  const auto fitting = [&](const Tensors& order) { return CountFitting(file, names, order); };
  const Tensors& best = *std::ranges::max_element(orders, {}, fitting);
  if (names.size() != tensors.size() || fitting(best) != tensors.size()) {
    throw FirstMisfit(file, parameters, names, best);
  }
  if (std::ranges::count(orders, tensors.size(), fitting) > 1) {
    throw Misfit(file, parameters,
                 fmt::format("its tensors fit the network in several orders: expected the "
                             "network's names, such as '{}'",
                             tensors.back().name));
  }
  return {best, std::move(names)};
}

float FromHalf(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {
    const float value = std::ldexp(static_cast<float>(fraction), -24);
    return sign == 0 ? value : -value;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 127 - 15;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

// Infinite beyond the range of a float.
float FromDouble(double value) {
  using Limits = std::numeric_limits<float>;
  if (std::abs(value) <= static_cast<double>(Limits::max())) return static_cast<float>(value);
  return std::isnan(value) ? Limits::quiet_NaN()
                           : std::copysign(Limits::infinity(), value < 0 ? -1.0F : 1.0F);
}

// The next number of type `dtype`; nothing for other types.
std::optional<float> NextNumber(ByteReader& in, std::string_view dtype) {
  const auto two_bytes = [&in] {
    const std::uint16_t low = in.U8();
    return static_cast<std::uint16_t>(low | (in.U8() << 8));
  };
  if (dtype == "F32") return std::bit_cast<float>(in.U32());
  if (dtype == "F64") return FromDouble(in.F64());
  if (dtype == "BF16") return std::bit_cast<float>(std::uint32_t{two_bytes()} << 16);
  if (dtype == "F16") return FromHalf(two_bytes());
  return std::nullopt;
}

std::vector<float> NumbersOf(const Safetensors& file, const std::string& name, std::size_t count) {
  const SafetensorsTensor& tensor = file.tensors.at(name);
  std::vector<float> values(count);
  ByteReader in(tensor.data, file.name);
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<float> value = NextNumber(in, tensor.dtype);
    if (!value) {
      throw BadInput(fmt::format("{}: tensor '{}': expected F32, F64, F16 or BF16, found {}",
                                 file.name, Shorten(name), tensor.dtype));
    }
    if (!std::isfinite(*value)) {
      throw BadInput(
          fmt::format("{}: tensor '{}': expected finite numbers of at most 3.4e38 in "
                      "magnitude, found {} at index {}",
                      file.name, Shorten(name), *value, i));
    }
    values[i] = *value;
  }
  return values;
}

}  // namespace

std::vector<RenamedTensor> ReadMatchingWeightsInto(const Safetensors& file,
                                                   Parameters& parameters) {
  const Tensors tensors = ParameterTensors(parameters.plan());
  const bool by_name = HasNamesOf(file, tensors) || DescribesNetwork(file);
  const Match match = by_name ? MatchByName(file, parameters, tensors)
                              : MatchInNaturalOrder(file, parameters, tensors);
  std::vector<std::vector<float>> values;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    values.push_back(NumbersOf(file, match.names[i], match.tensors[i].size()));
  }
  std::vector<RenamedTensor> renamed;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string& name = match.tensors[i].name;
    parameters.Set(match.tensors[i], values[i]);
    if (match.names[i] != name) renamed.push_back({match.names[i], name});
  }
  return renamed;
}

std::string RenamedText(const std::vector<RenamedTensor>& renamed) {
  Names pairs;
  for (RenamedTensor tensor : renamed) {
    for (const std::string_view end : {".weight", ".bias"}) {
      if (!tensor.from.ends_with(end) || !tensor.to.ends_with(end)) continue;
      tensor.from.resize(tensor.from.size() - end.size());
      tensor.to.resize(tensor.to.size() - end.size());
    }
    std::string pair = fmt::format("{} as {}", Shorten(tensor.from), tensor.to);
    if (std::ranges::find(pairs, pair) == pairs.end()) pairs.push_back(std::move(pair));
  }
  return fmt::format("{}", fmt::join(pairs, ", "));
}

}  // namespace stableaa
