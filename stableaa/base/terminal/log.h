// Messages for people, one line each, on stderr and never on stdout:
//
//   stableaa: resuming runs/breakout at step 120000
//   stableaa: warning: eta = 0.1 is not below 1 - discount; expect less than twice the speed
//
// Control characters in quoted text are shown escaped (plain_text.h). A progress bar on the
// terminal makes room for messages. Safe to call from any thread. Errors that end the program are
// thrown (error.h), not logged.
#ifndef STABLEAA_BASE_TERMINAL_LOG_H_
#define STABLEAA_BASE_TERMINAL_LOG_H_

#include <string_view>

namespace stableaa {

enum class LogLevel {
  kDebug,    // everything
  kInfo,     // the default: no debug messages
  kWarning,  // warnings only
  kSilent,
};

void SetLogLevel(LogLevel level);

void LogDebug(std::string_view message);
void LogInfo(std::string_view message);
void LogWarning(std::string_view message);

}  // namespace stableaa

#endif  // STABLEAA_BASE_TERMINAL_LOG_H_
