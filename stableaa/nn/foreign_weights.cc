#include "stableaa/nn/foreign_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
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
std::string PartOf(const std::string& name) { return name.substr(0, name.find('.')); }

// The network's tensors in natural order within each part, for every order of the parts. `Named` is
// anything with such a name.
template <typename Named>
std::vector<std::vector<Named>> NaturalOrders(std::vector<Named> all) {
  std::ranges::sort(all, NaturalLess, &Named::name);
  Names parts;
  for (const Named& one : all) {
    if (parts.empty() || parts.back() != PartOf(one.name)) parts.push_back(PartOf(one.name));
  }
  std::vector<std::vector<Named>> orders;
  do {
    std::vector<Named>& order = orders.emplace_back();
    for (const std::string& part : parts) {
      std::ranges::copy_if(all, std::back_inserter(order),
                           [&part](const Named& one) { return PartOf(one.name) == part; });
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

// ---- Matching by shapes and numbers ----

struct NamedShape {
  std::string name;
  std::vector<std::int64_t> shape;
};

// What is matched as a whole: a layer with its weight and bias.
struct Unit {
  std::string name;
  std::vector<NamedShape> tensors;  // by shape, so the weight is the last

  std::vector<std::vector<std::int64_t>> Shapes() const {
    std::vector<std::vector<std::int64_t>> shapes;
    for (const NamedShape& tensor : tensors) shapes.push_back(tensor.shape);
    return shapes;
  }
};

using Units = std::vector<Unit>;

// "net.0" for "net.0.weight", "fc1" for "fc1_bias".
std::string LayerOf(const std::string& name) {
  for (const std::string_view end : {"weight", "bias"}) {
    if (name == end) return "";
    if (!name.ends_with(end)) continue;
    const std::size_t size = name.size() - end.size() - 1;
    if (name[size] == '.' || name[size] == '_') return name.substr(0, size);
  }
  return name.substr(0, name.rfind('.'));
}

// In natural order. Without layers each tensor stands for itself.
Units UnitsOf(const std::vector<NamedShape>& tensors, bool are_layers) {
  std::map<std::string, Unit> units;
  for (const NamedShape& tensor : tensors) {
    const std::string name = are_layers ? LayerOf(tensor.name) : tensor.name;
    units[name].name = name;
    units[name].tensors.push_back(tensor);
  }
  Units sorted;
  for (auto& [name, unit] : units) {
    std::ranges::sort(unit.tensors, {}, &NamedShape::shape);
    sorted.push_back(std::move(unit));
  }
  std::ranges::sort(sorted, NaturalLess, &Unit::name);
  return sorted;
}

bool HaveSameShapes(const Units& a, const Units& b) {
  const auto all = [](const Units& units) {
    std::vector<std::vector<std::vector<std::int64_t>>> shapes;
    for (const Unit& unit : units) shapes.push_back(unit.Shapes());
    std::ranges::sort(shapes);
    return shapes;
  };
  return all(a) == all(b);
}

std::size_t CommonStart(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Whether a number is the first difference of two names: net.2 and net.10, dense and dense_1.
bool AreNumbered(std::string_view a, std::string_view b) {
  std::size_t begin = CommonStart(a, b);
  const auto has_digit = [&begin](std::string_view name) {
    return begin < name.size() && IsDigit(name[begin]);
  };
  if (has_digit(a) || has_digit(b)) {
    while (begin > 0 && IsDigit(a[begin - 1])) --begin;
  }
  if (has_digit(a) && has_digit(b)) return true;
  const bool is_start = begin == a.size() || begin == b.size();
  std::string_view rest = (begin == a.size() ? b : a).substr(begin);
  if (!rest.empty() && (rest.front() == '_' || rest.front() == '.')) rest.remove_prefix(1);
  return is_start && !rest.empty() && std::ranges::all_of(rest, IsDigit);
}

// Which unit of the network each of the file's is.
using Places = Units;

// What the names of a part's units begin with, up to a '.' or '_': "value." for value.0 and
// value.2. Empty if there is only one.
std::string CommonPrefix(const Units& units, const Places& places, const std::string& part) {
  std::optional<std::string> prefix;
  int count = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (PartOf(places[i].name) != part) continue;
    ++count;
    prefix = prefix ? prefix->substr(0, CommonStart(*prefix, units[i].name)) : units[i].name;
  }
  return count < 2 ? "" : prefix->substr(0, prefix->find_last_of("._") + 1);
}

// Whether names say that units i and j, which have the same shapes, are not each in the other's
// place.
bool AreTold(const Units& units, const Places& places, std::size_t i, std::size_t j) {
  if (AreNumbered(units[i].name, units[j].name)) return true;
  if (PartOf(places[i].name) == PartOf(places[j].name)) return false;
  const auto is_apart = [&](std::size_t inside, std::size_t outside) {
    const std::string prefix = CommonPrefix(units, places, PartOf(places[inside].name));
    return !prefix.empty() && !units[outside].name.starts_with(prefix);
  };
  return is_apart(i, j) || is_apart(j, i);
}

// For each of the file's units, in natural order among those of the same shapes, the next such unit
// of the network.
Places PlacesByShapes(const Units& units, const Units& network) {
  Places places;
  std::vector<bool> taken(network.size());
  for (const Unit& unit : units) {
    for (std::size_t k = 0; k < network.size(); ++k) {
      if (taken[k] || network[k].Shapes() != unit.Shapes()) continue;
      taken[k] = true;
      places.push_back(network[k]);
      break;
    }
  }
  return places;
}

// The units of both have the same shapes, in any order. `ambiguous` makes the error for two units
// that could be swapped.
template <typename Ambiguous>
Places FindPlaces(const Units& units, const Units& network, const Ambiguous& ambiguous) {
  std::vector<Places> fitting;
  for (Places& order : NaturalOrders(network)) {
    if (std::ranges::equal(units, order, {}, &Unit::Shapes, &Unit::Shapes)) {
      fitting.push_back(std::move(order));
    }
  }
  Places places = fitting.empty() ? PlacesByShapes(units, network) : fitting.front();
  for (std::size_t i = 0; i < units.size(); ++i) {
    for (std::size_t j = i + 1; j < units.size(); ++j) {
      if (units[i].Shapes() != units[j].Shapes()) continue;
      const bool is_swapped_elsewhere =
          fitting.size() > 1 && std::ranges::any_of(fitting, [&](const Places& other) {
            return other[i].name == places[j].name || other[j].name == places[i].name;
          });
      // Numbers say nothing about parts whose layers are not in one piece.
      const bool is_scattered = fitting.empty() && PartOf(places[i].name) != PartOf(places[j].name);
      if (is_swapped_elsewhere || is_scattered || !AreTold(units, places, i, j)) {
        throw ambiguous(units[i], units[j]);
      }
    }
  }
  return places;
}

Match MatchByShapes(const Safetensors& file, const Parameters& parameters, const Tensors& tensors) {
  std::vector<NamedShape> theirs, ours;
  for (const auto& [name, tensor] : file.tensors) theirs.push_back({name, tensor.shape});
  for (const ParameterTensor& tensor : tensors) ours.push_back({tensor.name, tensor.shape});
  const auto ambiguous = [&](const Unit& a, const Unit& b) {
    return Misfit(file, parameters,
                  fmt::format("its tensors fit the network in several orders: '{}' and '{}' could "
                              "be swapped; expected numbered names, or the network's, such as '{}'",
                              Shorten(a.tensors.back().name), Shorten(b.tensors.back().name),
                              tensors.front().name));
  };
  for (const bool are_layers : {true, false}) {
    const Units units = UnitsOf(theirs, are_layers), network = UnitsOf(ours, are_layers);
    if (!HaveSameShapes(units, network)) continue;
    const Places places = FindPlaces(units, network, ambiguous);
    Match match;
    for (std::size_t i = 0; i < units.size(); ++i) {
      for (std::size_t k = 0; k < units[i].tensors.size(); ++k) {
        match.names.push_back(units[i].tensors[k].name);
        match.tensors.push_back(
            *std::ranges::find(tensors, places[i].tensors[k].name, &ParameterTensor::name));
      }
    }
    return match;
  }
  Names names;
  for (const NamedShape& tensor : theirs) names.push_back(tensor.name);
  std::ranges::sort(names, NaturalLess);
  const std::vector<Tensors> orders = NaturalOrders(tensors);
  throw FirstMisfit(file, parameters, names,
                    *std::ranges::max_element(orders, {}, [&](const Tensors& order) {
                      return CountFitting(file, names, order);
                    }));
}

// ---- Target networks ----

// Where the first component begins that says so: 0 in q_net_target.q_net.0.weight.
std::optional<std::size_t> FindTarget(std::string_view name) {
  for (std::size_t begin = 0, end = name.find('.'); end != name.npos;
       begin = end + 1, end = name.find('.', begin)) {
    const std::string_view component = name.substr(begin, end - begin);
    if (component.starts_with("target") || component.ends_with("_target")) return begin;
  }
  return std::nullopt;
}

// The name without the component that begins at `begin`.
std::string WithoutComponent(const std::string& name, std::size_t begin) {
  const std::size_t end = name.find('.', begin);
  return end == name.npos ? name : name.substr(0, begin) + name.substr(end + 1);
}

// The tensors of a target network, if the file has the same ones of another network as well:
// q_net_target.q_net.0.weight beside q_net.q_net.0.weight, target.0.weight beside 0.weight.
Names TargetTwins(const Safetensors& file) {
  using Tensor = std::pair<std::string, std::vector<std::int64_t>>;
  Names names;
  std::set<Tensor> twins, others, shortened;
  for (const auto& [name, tensor] : file.tensors) {
    if (const auto begin = FindTarget(name)) {
      names.push_back(name);
      twins.insert({WithoutComponent(name, *begin), tensor.shape});
    } else {
      others.insert({name, tensor.shape});
      shortened.insert({WithoutComponent(name, 0), tensor.shape});
    }
  }
  const bool are_twins = twins.size() == names.size() && (twins == others || twins == shortened);
  return are_twins && shortened.size() == others.size() ? names : Names();
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

std::vector<RenamedTensor> ReadMatchingWeightsInto(const Safetensors& whole,
                                                   Parameters& parameters) {
  const Tensors tensors = ParameterTensors(parameters.plan());
  Safetensors file = whole;
  const Names twins = DescribesNetwork(whole) ? Names() : TargetTwins(whole);
  for (const std::string& name : twins) file.tensors.erase(name);
  const bool by_name = HasNamesOf(file, tensors) || DescribesNetwork(file);
  const Match match =
      by_name ? MatchByName(file, parameters, tensors) : MatchByShapes(file, parameters, tensors);
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
  for (const std::string& name : twins) renamed.push_back({name, ""});
  return renamed;
}

std::string RenamedText(const std::vector<RenamedTensor>& renamed) {
  Names pairs, ignored;
  for (RenamedTensor tensor : renamed) {
    for (const std::string_view end : {".weight", ".bias"}) {
      if (!tensor.from.ends_with(end) || !(tensor.to.empty() || tensor.to.ends_with(end))) continue;
      tensor.from.resize(tensor.from.size() - end.size());
      if (!tensor.to.empty()) tensor.to.resize(tensor.to.size() - end.size());
    }
    Names& list = tensor.to.empty() ? ignored : pairs;
    std::string text = Shorten(tensor.from);
    if (!tensor.to.empty()) text += fmt::format(" as {}", tensor.to);
    if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
  }
  if (!ignored.empty()) {
    pairs.push_back(fmt::format("without the target network's {}", fmt::join(ignored, ", ")));
  }
  return fmt::format("{}", fmt::join(pairs, ", "));
}

}  // namespace stableaa
