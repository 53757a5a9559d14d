#include "stableaa/base/text/csv_cells.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace stableaa {

std::string TextCell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + '"';
}

std::string NumberCell(double number) {
  return std::isnan(number) ? std::string() : fmt::format("{:.17g}", number);
}

bool SplitLine(std::string_view line, std::vector<std::string>& cells) {
  cells.assign(1, "");
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += '"';
      ++i;
    } else if (quoted && c == '"') {
      quoted = false;
      if (i + 1 < line.size() && line[i + 1] != ',') return false;
    } else if (!quoted && c == '"') {
      if (i > 0 && line[i - 1] != ',') return false;
      quoted = true;
    } else if (!quoted && c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return !quoted;
}

std::optional<double> NumberOf(std::string_view cell) {
  if (cell.empty()) return std::numeric_limits<double>::quiet_NaN();
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return number;
}

}  // namespace stableaa
