#include "stableaa/experiment/report/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "stableaa/base/text/plain_text.h"

namespace stableaa {
namespace {

// 250k for 250,000 on an axis that reaches beyond 10,000.
std::string TickLabel(double value, double largest) {
  const double size = std::abs(value);
  if (largest >= 1e4 && size >= 1e3 && size < 1e12) {
    return size >= 1e9   ? fmt::format("{:.6g}G", value / 1e9)
           : size >= 1e6 ? fmt::format("{:.6g}M", value / 1e6)
                         : fmt::format("{:.6g}k", value / 1e3);
  }
  return fmt::format("{:.6g}", value);
}

// Widths of the characters from space to ~ in DejaVu Sans, in hundredths of an em, rounded up.
constexpr auto kWidths = std::to_array<unsigned char>(
    {32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37,  32, 34, 64, 64, 64,
     64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 78, 64,
     58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64,  62, 74, 69, 99, 69,
     62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36,  64, 64, 28, 28, 58,
     28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60,  53, 64, 34, 64, 84});
static_assert(kWidths.size() == '~' - ' ' + 1);

std::string_view FirstCharacter(std::string_view text) {
  return text.substr(0, std::max<std::size_t>(Utf8Length(text), 1));
}

double CharacterEms(std::string_view character) {
  if (character.size() == 1) {
    const bool is_known = character[0] >= ' ' && character[0] <= '~';
    return is_known ? kWidths[static_cast<std::size_t>(character[0] - ' ')] / 100.0 : 1;
  }
  return character.size() == 2 ? 0.84 : 1.1;  // Greek and ± ...; all others may be wide
}

// Where the longest beginning of the text ends that fits and ends with a mark; 0 if none does.
std::size_t EndOfPart(std::string_view text, double ems) {
  std::size_t end = 0;
  for (std::size_t at = text.find_first_of("-_/."); at < text.size();
       at = text.find_first_of("-_/.", at + 1)) {
    if (TextEms(text.substr(0, at + 1)) > ems) break;
    const bool is_in_number = at + 1 < text.size() && text[at + 1] >= '0' && text[at + 1] <= '9';
    if (at > 0 && text[at - 1] != ' ' && !is_in_number) end = at + 1;
  }
  return end;
}

}  // namespace

std::vector<Tick> TicksWithin(const Interval& range, std::size_t most) {
  const double width = range.high - range.low;
  if (!std::isfinite(width) || !(width > 0)) return {};
  const double largest = std::max(std::abs(range.low), std::abs(range.high));
  if (width < 1e-9 * largest) return {};  // ticks would be equal after rounding
  const double slack = 1e-9 * width;
  double power = std::pow(10, std::floor(std::log10(width)) - 2);
  if (!(power > 0)) return {};
  for (;; power *= 10) {
    for (const double factor : {1, 2, 5}) {
      const double step = factor * power;
      const auto first = static_cast<std::int64_t>(std::ceil((range.low - slack) / step));
      const auto last = static_cast<std::int64_t>(std::floor((range.high + slack) / step));
      if (static_cast<std::size_t>(std::max<std::int64_t>(last - first + 1, 0)) >
          std::max<std::size_t>(most, 2)) {
        continue;
      }
      std::vector<Tick> ticks;
      for (std::int64_t i = first; i <= last; ++i) {
        const double at = static_cast<double>(i) * step;
        ticks.push_back({at, TickLabel(at, largest)});
      }
      return ticks;
    }
  }
}

std::vector<Tick> LogTicksWithin(const Interval& range, std::size_t most) {
  constexpr std::size_t kFewest = 3;
  if (!(range.low > 0) || !(range.low < range.high) || !std::isfinite(range.high)) return {};
  const auto first = static_cast<int>(std::floor(std::log10(range.low)));
  const auto last = static_cast<int>(std::ceil(std::log10(range.high)));
  constexpr double kSlack = 1e-9;
  const auto with = [&](const std::vector<double>& factors, int apart) {
    std::vector<Tick> ticks;
    for (int power = first; power <= last; ++power) {
      if (power % apart != 0) continue;
      for (const double factor : factors) {
        const double at = factor * std::pow(10, power);
        if (at < range.low * (1 - kSlack) || at > range.high * (1 + kSlack)) continue;
        ticks.push_back({at, TickLabel(at, range.high)});
      }
    }
    return ticks;
  };
  for (const std::vector<double>& factors :
       {std::vector<double>{1, 2, 5}, std::vector<double>{1, 3}}) {
    std::vector<Tick> ticks = with(factors, 1);
    if (ticks.size() > most) continue;
    if (ticks.size() >= kFewest) return ticks;
    return TicksWithin(range, most);  // less than a decade
  }
  for (int apart = 1;; ++apart) {
    std::vector<Tick> ticks = with({1}, apart);
    if (ticks.size() > std::max<std::size_t>(most, 2)) continue;
    return ticks.size() >= 2 ? ticks : TicksWithin(range, most);
  }
}

double TextEms(std::string_view text) {
  double ems = 0;
  while (!text.empty()) {
    const std::string_view character = FirstCharacter(text);
    ems += CharacterEms(character);
    text.remove_prefix(character.size());
  }
  return ems;
}

std::vector<std::string> WrappedText(std::string_view text, double ems) {
  std::vector<std::string> lines;
  while (TextEms(text) > ems) {
    std::size_t end = std::string_view::npos;
    for (std::size_t at = text.find(' '); at != std::string_view::npos;
         at = text.find(' ', at + 1)) {
      if (TextEms(text.substr(0, at)) > ems) break;
      const bool is_in_equation =
          text[at + 1 < text.size() ? at + 1 : at] == '=' || (at > 0 && text[at - 1] == '=');
      if (at > 0 && !is_in_equation) end = at;
    }
    if (end == std::string_view::npos) {
      end = EndOfPart(text, ems);
      if (end == 0) break;
      lines.emplace_back(text.substr(0, end));
      text.remove_prefix(end);
      continue;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  lines.push_back(FittedText(text, ems));
  return lines;
}

std::string FittedText(std::string_view text, double ems) {
  if (TextEms(text) <= ems) return std::string(text);
  std::string fitted;
  for (double used = TextEms("…"); !text.empty();) {
    const std::string_view character = FirstCharacter(text);
    used += CharacterEms(character);
    if (used > ems) break;
    fitted += character;
    text.remove_prefix(character.size());
  }
  return fitted + "…";
}

}  // namespace stableaa
