// Makes text from outside safe to show in a one-line message, whatever it contains.
#ifndef STABLEAA_BASE_TEXT_PLAIN_TEXT_H_
#define STABLEAA_BASE_TEXT_PLAIN_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace stableaa {

// The whole text, safe for one line of a terminal: anything that would do more there than show
// itself (see IsControl) is escaped as in a TOML or JSON string, "\n" or "\u001B", and broken UTF-8
// becomes "?". Other text is unchanged, and a JSON document keeps its meaning.
std::string PlainText(std::string_view text);

// The same, cut to about `limit` bytes and "...".
std::string Shorten(std::string_view text, std::size_t limit = 60);

// Plain text as one word of a command that a user may paste into a shell: in single quotes if
// necessary.
std::string ShellWord(std::string_view text);

// True if `text`, not empty, starts with a character that moves the cursor, begins an escape
// sequence, ends a line or changes the direction of what follows: U+0000 to U+001F, DEL and the C1
// controls U+0080 to U+009F; the separators U+2028 and U+2029; the marks, embeddings, overrides and
// isolates of bidirectional text.
bool IsControl(std::string_view text);

// True for well-formed UTF-8 without NUL.
bool IsCleanUtf8(std::string_view text);

// The length of the well-formed UTF-8 character at the start of `text`, which must not be empty; 0
// if there is none.
std::size_t Utf8Length(std::string_view text);

// A character as it appears in a TOML or JSON string: control characters, quotes and backslashes
// are escaped.
std::string Escaped(char c);

}  // namespace stableaa

#endif  // STABLEAA_BASE_TEXT_PLAIN_TEXT_H_
