#include "stableaa/base/terminal/log.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include <cstdio>
#include <memory>
#include <string>

#include "stableaa/base/terminal/live_line.h"

namespace stableaa {
namespace {

// WriteLine has the lock already, so the sink's own is a null_mutex.
class LiveLineSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    std::string line = "stableaa: ";
    if (message.level == spdlog::level::warn) line += "warning: ";
    if (message.level == spdlog::level::debug) line += "debug: ";
    line.append(message.payload.data(), message.payload.size());
    WriteLine(stderr, line);
  }
  void flush_() override {}
};

// Never destroyed, as other destructors may still log.
spdlog::logger& Logger() {
  static auto* logger = new spdlog::logger("stableaa", std::make_shared<LiveLineSink>());
  return *logger;
}

void Log(spdlog::level::level_enum level, std::string_view message) {
  Logger().log(level, spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace

void SetLogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return Logger().set_level(spdlog::level::debug);
    case LogLevel::kInfo:
      return Logger().set_level(spdlog::level::info);
    case LogLevel::kWarning:
      return Logger().set_level(spdlog::level::warn);
    case LogLevel::kSilent:
      return Logger().set_level(spdlog::level::off);
  }
}

void LogDebug(std::string_view message) { Log(spdlog::level::debug, message); }
void LogInfo(std::string_view message) { Log(spdlog::level::info, message); }
void LogWarning(std::string_view message) { Log(spdlog::level::warn, message); }

}  // namespace stableaa
