// Text from outside, fit to be shown: in a message of one line, whatever it holds.
#ifndef STABLEAA_BASE_PLAIN_TEXT_H_
#define STABLEAA_BASE_PLAIN_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace stableaa {

// At most about `limit` bytes, then "..."; control characters escaped, broken UTF-8 as "?".
std::string Shorten(std::string_view text, std::size_t limit = 60);

// True for well-formed UTF-8 without NUL.
bool IsCleanUtf8(std::string_view text);

// The length of the well-formed UTF-8 character that `text`, not empty, starts with; 0 if none
// does.
std::size_t Utf8Length(std::string_view text);

// A character as it stands in a string of TOML or JSON: control characters, quotes and backslashes
// escaped.
std::string Escaped(char c);

}  // namespace stableaa

#endif  // STABLEAA_BASE_PLAIN_TEXT_H_
