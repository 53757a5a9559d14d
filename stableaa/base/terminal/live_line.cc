#include "stableaa/base/terminal/live_line.h"

#include <mutex>

#include "stableaa/base/text/plain_text.h"

namespace stableaa {
namespace {

// Moves to the first column and erases to the end of the line (ECMA-48 EL).
constexpr std::string_view kErase = "\r\x1b[K";

struct Terminal {
  std::mutex mutex;
  std::FILE* stream = nullptr;  // null while no live line is shown
  const void* owner = nullptr;
  std::string line;
};

// Never destroyed: a destructor that runs after main may still log.
Terminal& TheTerminal() {
  static auto* terminal = new Terminal;
  return *terminal;
}

// One write per call, so that other processes on the same terminal cannot interleave.
void Write(std::FILE* stream, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

}  // namespace

void DrawLiveLine(std::FILE* stream, const void* owner, const std::string& line) {
  Terminal& terminal = TheTerminal();
  const std::lock_guard lock(terminal.mutex);
  terminal.stream = stream;
  terminal.owner = owner;
  terminal.line = line;
  Write(stream, std::string(kErase) + line);
}

void EraseLiveLine(const void* owner) {
  Terminal& terminal = TheTerminal();
  const std::lock_guard lock(terminal.mutex);
  if (terminal.stream == nullptr || terminal.owner != owner) return;
  Write(terminal.stream, std::string(kErase));
  terminal.stream = nullptr;
}

void WriteLine(std::FILE* stream, std::string_view line) {
  Terminal& terminal = TheTerminal();
  const std::lock_guard lock(terminal.mutex);
  const bool live = terminal.stream == stream;
  std::string text(live ? kErase : "");
  text.append(PlainText(line)) += '\n';
  if (live) text += terminal.line;
  Write(stream, text);
}

}  // namespace stableaa
