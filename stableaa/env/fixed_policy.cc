#include "stableaa/env/fixed_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/env/minatar/minatar.h"
#include "stableaa/env/minatar/scripted_policy.h"

namespace stableaa {
namespace {

constexpr std::string_view kConstant = "constant:";
constexpr std::string_view kMinatar = "minatar/";

bool IsDiscrete(const EnvironmentSpec& spec) { return spec.action.kind == Space::Kind::kDiscrete; }

double ParseConstant(const std::string& name) {
  const char* const begin = name.data() + kConstant.size();
  const char* const end = name.data() + name.size();
  double value = 0;
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || rest != end || !std::isfinite(value)) {
    throw BadInput(fmt::format("policy '{}': expected a number behind the colon", Shorten(name)));
  }
  return value;
}

}  // namespace

FixedPolicy::FixedPolicy(const std::string& name, const EnvironmentSpec& spec, std::uint64_t seed)
    : spec_(spec), random_(seed, "policy") {
  if (name == "random") {
    kind_ = Kind::kRandom;
  } else if (name == "noop") {
    if (!spec.noop) {
      throw BadInput(fmt::format(
          "{} has no action that does nothing; choose one by the policy constant:K", spec.id));
    }
    SetConstant(name, *spec.noop);
  } else if (name.starts_with(kConstant)) {
    SetConstant(name, ParseConstant(name));
  } else if (name == "scripted") {
    if (!spec.id.starts_with(kMinatar)) {
      throw BadInput(
          fmt::format("there are scripted policies for minatar/ only, not for {}", spec.id));
    }
    kind_ = Kind::kScripted;
    const MinatarGame game = ParseMinatarGame(spec.id.substr(kMinatar.size()));
    const bool minimal = spec.action.n == static_cast<int>(MinimalMinatarActions(game).size());
    script_ = [game, minimal](std::span<const std::uint8_t> observation) {
      const int action = ScriptedMinatarAction(game, observation);
      return minimal ? ToMinimalMinatarAction(game, action) : action;
    };
  } else {
    throw BadInput(fmt::format("expected a policy random, noop, constant:K or scripted, found '{}'",
                               Shorten(name)));
  }
}

void FixedPolicy::SetConstant(const std::string& name, double value) {
  const Space& space = spec_.action;
  kind_ = Kind::kConstant;
  constant_ = value;
  if (IsDiscrete(spec_)) {
    if (value < 0 || value >= space.n || value != std::floor(value)) {
      throw BadInput(
          fmt::format("policy '{}': {} has actions 0 to {}", Shorten(name), spec_.id, space.n - 1));
    }
    return;
  }
  for (std::size_t k = 0; k < space.size(); ++k) {
    if (value < static_cast<double>(space.LowOf(k)) ||
        value > static_cast<double>(space.HighOf(k))) {
      throw BadInput(fmt::format("policy '{}': {} has actions in [{}, {}]", Shorten(name), spec_.id,
                                 space.LowOf(k), space.HighOf(k)));
    }
  }
}

Actions FixedPolicy::Act(const Observations& observations) {
  const std::size_t count =
      (observations.bytes.size() + observations.floats.size()) / spec_.observation.size();
  if (kind_ == Kind::kRandom) {
    ActRandomly(count);
  } else if (kind_ == Kind::kScripted) {
    const std::size_t row = spec_.observation.size();
    indices_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      indices_[i] = script_(observations.bytes.subspan(i * row, row));
    }
  } else if (IsDiscrete(spec_)) {
    indices_.assign(count, static_cast<std::int32_t>(constant_));
  } else {
    values_.assign(count * spec_.action.size(), static_cast<float>(constant_));
  }
  return {indices_, values_};
}

void FixedPolicy::ActRandomly(std::size_t count) {
  const Space& space = spec_.action;
  if (IsDiscrete(spec_)) {
    indices_.resize(count);
    const auto n = static_cast<std::uint64_t>(space.n);
    for (std::int32_t& index : indices_) index = static_cast<std::int32_t>(random_.Below(n));
    return;
  }
  values_.resize(count * space.size());
  for (std::size_t k = 0; k < values_.size(); ++k) {
    const auto low = static_cast<double>(space.LowOf(k % space.size()));
    const auto high = static_cast<double>(space.HighOf(k % space.size()));
    const double drawn = std::isfinite(low) && std::isfinite(high)
                             ? random_.Uniform(low, high)
                             : std::clamp(random_.Normal(), low, high);
    values_[k] = static_cast<float>(drawn);
  }
}

}  // namespace stableaa
