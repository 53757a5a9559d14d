// The cells of the CSV files that the program writes and reads back itself.
#ifndef STABLEAA_BASE_TEXT_CSV_CELLS_H_
#define STABLEAA_BASE_TEXT_CSV_CELLS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stableaa {

// In quotes if it needs them. SplitLine reads text without line ends back.
std::string TextCell(std::string_view text);
// 17 significant digits; nothing for NaN.
std::string NumberCell(double number);

// The text of each cell of a line. False if quotes are out of place.
bool SplitLine(std::string_view line, std::vector<std::string>& cells);
// NaN for an empty cell, none for one that is not a number.
std::optional<double> NumberOf(std::string_view cell);

}  // namespace stableaa

#endif  // STABLEAA_BASE_TEXT_CSV_CELLS_H_
