// Text from outside, fit to be shown: in a message of one line, whatever it holds.
#ifndef STABLEAA_BASE_TEXT_PLAIN_TEXT_H_
#define STABLEAA_BASE_TEXT_PLAIN_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace stableaa {

// All of it, fit for one line of a terminal: what would do something there besides showing itself
// (see IsControl) stands as in a string of TOML or JSON, "\n" or "\u001B", broken UTF-8 as "?".
// Text without any of that stays as it is; so does the meaning of a JSON document.
std::string PlainText(std::string_view text);

// The same, at most about `limit` bytes, then "...".
std::string Shorten(std::string_view text, std::size_t limit = 60);

// Plain text as one word of a command that a user may paste into a shell: in single quotes unless
// it needs none.
std::string ShellWord(std::string_view text);

// True if `text`, not empty, starts with a character that moves a cursor, begins an escape
// sequence, ends a line or turns the direction of what follows: U+0000 to U+001F, DEL and the C1
// controls U+0080 to U+009F; the separators U+2028 and U+2029; the marks, embeddings, overrides
// and isolates of bidirectional text.
bool IsControl(std::string_view text);

// True for well-formed UTF-8 without NUL.
bool IsCleanUtf8(std::string_view text);

// The length of the well-formed UTF-8 character that `text`, not empty, starts with; 0 if none
// does.
std::size_t Utf8Length(std::string_view text);

// A character as it stands in a string of TOML or JSON: control characters, quotes and backslashes
// escaped.
std::string Escaped(char c);

}  // namespace stableaa

#endif  // STABLEAA_BASE_TEXT_PLAIN_TEXT_H_
