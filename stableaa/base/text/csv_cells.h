// Cells of the CSV files that the program writes and reads back itself.
#ifndef STABLEAA_BASE_TEXT_CSV_CELLS_H_
#define STABLEAA_BASE_TEXT_CSV_CELLS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stableaa {

// Quoted if necessary. SplitLine reads back text without line ends.
std::string TextCell(std::string_view text);
// 17 significant digits; empty for NaN.
std::string NumberCell(double number);

// The text of each cell in a line. False if quotes are misplaced.
bool SplitLine(std::string_view line, std::vector<std::string>& cells);
// NaN for an empty cell, nothing for one that is not a number.
std::optional<double> NumberOf(std::string_view cell);

}  // namespace stableaa

#endif  // STABLEAA_BASE_TEXT_CSV_CELLS_H_
