#include "stableaa/base/terminal/log.h"

#include <atomic>
#include <cstdio>
#include <string>

#include "stableaa/base/terminal/live_line.h"

namespace stableaa {
namespace {

std::atomic<LogLevel> least_level = LogLevel::kInfo;

void Log(LogLevel level, std::string_view kind, std::string_view message) {
  if (level < least_level.load(std::memory_order_relaxed)) return;
  std::string line = "stableaa: ";
  line += kind;
  line += message;
  WriteLine(stderr, line);
}

}  // namespace

void SetLogLevel(LogLevel level) { least_level = level; }

void LogDebug(std::string_view message) { Log(LogLevel::kDebug, "debug: ", message); }
void LogInfo(std::string_view message) { Log(LogLevel::kInfo, "", message); }
void LogWarning(std::string_view message) { Log(LogLevel::kWarning, "warning: ", message); }

}  // namespace stableaa
