#include "stableaa/env/gymnasium/wrapper_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

constexpr std::size_t kMaxWrappers = 64;
constexpr std::size_t kMaxWrapperText = 4096;
constexpr std::string_view kOwnWrappers = "gymnasium.wrappers.";

// Whether the text is a name of Python's, in ASCII.
bool IsPythonName(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, is_part);
}

bool IsDottedName(std::string_view text) {
  for (std::size_t dot = text.find('.'); dot != text.npos; dot = text.find('.')) {
    if (!IsPythonName(text.substr(0, dot))) return false;
    text.remove_prefix(dot + 1);
  }
  return IsPythonName(text);
}

}  // namespace

bool WrapperCall::is_harmless() const {
  if (!name.starts_with(kOwnWrappers)) return false;
  const std::string_view own = std::string_view(name).substr(kOwnWrappers.size());
  return IsPythonName(own) && own != "RecordVideo";
}

bool WrapperCall::keeps_statistics() const {
  return name.starts_with(kOwnWrappers) && is_called_normalize();
}

bool WrapperCall::is_called_normalize() const {
  return std::string_view(name).substr(name.rfind('.') + 1).starts_with("Normalize");
}

WrapperCall ParseWrapper(std::string_view text) {
  const std::size_t open = std::min(text.find('('), text.size());
  const std::string_view name = text.substr(0, open);
  const bool closes = open == text.size() || text.ends_with(')');
  const auto is_control = [](char c) { return c >= 0 && c < ' '; };
  if (!IsDottedName(name) || !closes || std::ranges::any_of(text, is_control) ||
      text.size() > kMaxWrapperText) {
    throw BadInput(fmt::format(
        "env.wrappers: expected wrappers such as \"TimeLimit(max_episode_steps=50)\" or "
        "\"my_module.MyWrapper\", each in quotes, found '{}'",
        Shorten(text)));
  }
  const bool is_own = name.find('.') == name.npos;
  return {.name = fmt::format("{}{}", is_own ? kOwnWrappers : "", name),
          .arguments = open == text.size() ? "()" : std::string(text.substr(open))};
}

std::vector<WrapperCall> ParseWrappers(const std::vector<std::string>& texts) {
  if (texts.size() > kMaxWrappers) {
    throw BadInput(fmt::format("env.wrappers: expected at most {} wrappers, found {}", kMaxWrappers,
                               texts.size()));
  }
  std::vector<WrapperCall> calls;
  for (const std::string& text : texts) calls.push_back(ParseWrapper(text));
  return calls;
}

}  // namespace stableaa
