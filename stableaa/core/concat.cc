#include "stableaa/core/concat.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>

namespace stableaa {

std::string RealText(double value) {
  char buffer[64];
  const auto write = [&](std::chars_format format) {
    char* const end = std::to_chars(std::begin(buffer), std::end(buffer), value, format).ptr;
    return std::string(buffer, end);
  };
  std::string scientific = write(std::chars_format::scientific);
  if (!std::isfinite(value)) return scientific;
  // No exponent where people would not write one; to_chars alone picks the shorter form, 1e+05.
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  return exponent >= -4 && exponent < 16 ? write(std::chars_format::fixed) : scientific;
}

}  // namespace stableaa
