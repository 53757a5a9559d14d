// The line at the bottom of a terminal that is redrawn in place. Messages and the progress bar both
// write to stderr through here, so they never garble each other's lines.
//
// The state is one line per process, behind a mutex: a terminal has only one cursor.
#ifndef STABLEAA_BASE_TERMINAL_LIVE_LINE_H_
#define STABLEAA_BASE_TERMINAL_LIVE_LINE_H_

#include <cstdio>
#include <string>
#include <string_view>

namespace stableaa {

// Draws `line`, which may contain terminal codes, in place of the live line. `owner` identifies it
// for EraseLiveLine.
void DrawLiveLine(std::FILE* stream, const void* owner, const std::string& line);

// Takes the live line off the terminal if it is `owner`'s, and does nothing otherwise.
void EraseLiveLine(const void* owner);

// Writes `line` and a newline to `stream`, above the live line if that stream has one. Whatever it
// quotes, it stays one line and cannot control the terminal (PlainText).
void WriteLine(std::FILE* stream, std::string_view line);

}  // namespace stableaa

#endif  // STABLEAA_BASE_TERMINAL_LIVE_LINE_H_
