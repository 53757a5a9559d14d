// Whole numbers as people write them, read exactly.
#ifndef STABLEAA_BASE_TEXT_WHOLE_NUMBER_H_
#define STABLEAA_BASE_TEXT_WHOLE_NUMBER_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace stableaa {

// Unsigned only if the number does not fit std::int64_t.
using WholeNumber = std::variant<std::int64_t, std::uint64_t>;

// 100000, 100_000, +7, 1e5 and 2.5e3, by TOML's rules: an underscore must be between two digits.
// Every digit counts, so seeds beyond 2^53 are exact. Nothing for other text, for numbers that are
// not whole (1.5, 1e-3) and for those that fit neither type (1e30).
std::optional<WholeNumber> ReadWholeNumber(std::string_view text);

}  // namespace stableaa

#endif  // STABLEAA_BASE_TEXT_WHOLE_NUMBER_H_
