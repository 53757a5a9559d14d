#include "stableaa/cli/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "stableaa/base/machine.h"
#include "stableaa/base/text/nearest_name.h"
#include "stableaa/cli/json_text.h"
#include "stableaa/core/error.h"
#include "stableaa/env/registry.h"
#include "stableaa/experiment/sweep/run_error.h"

namespace stableaa {
namespace {

// Always one line, whatever the message quotes.
int Fail(int exit_code, const std::string& message) {
  std::fflush(stdout);
  ReportError("stableaa: ", message);
  return exit_code;
}

void PrintVersion(bool json) {
  if (json) {
    const nlohmann::ordered_json object = {{"name", "stableaa"},
                                           {"version", LibraryVersion()},
                                           {"compiler", CompilerName()},
                                           {"machine", MachineName()}};
    fmt::print("{}\n", JsonText(object));
  } else {
    fmt::print("stableaa {}\n", LibraryVersion());
  }
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// CLI11 neither names an unknown command nor suggests a known one.
std::string UsageMessage(const CLI::App& program, const CLI::ParseError& error, int argc,
                         char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const CLI::App* app = &program;  // the deepest command that the user named
  std::string path;
  for (const std::string& word : words) {
    const std::vector<std::string> names = CommandNames(*app);
    if (std::ranges::find(names, word) == names.end()) {
      if (names.empty() || word.starts_with('-')) break;
      const std::string suggestion = DidYouMean(word, names);
      return fmt::format(
          "unknown command '{}{}'{}", path, word,
          suggestion.empty() ? fmt::format("; see 'stableaa {}--help'", path) : suggestion);
    }
    app = app->get_subcommand(word);
    path += word + ' ';
  }
  return fmt::format("{}; see 'stableaa {}--help'", error.what(), path);
}

int Run(int argc, char** argv) {
  CLI::App program("Anderson-accelerated reinforcement learning and fixed-point iteration.",
                   "stableaa");
  program.footer(
      "Exit codes: 0 done; 1 the work failed, an output cannot be written, or gnuplot, ffmpeg or\n"
      "python is missing; 2 bad input or usage.\n"
      "Example: stableaa train --preset stable-aa --env minatar/breakout\n");
  bool version = false;
  bool json = false;
  CLI::Option* const version_flag = program.add_flag("--version", version, "Print the version");
  program.add_flag("--json", json, "With --version: compiler and machine too, as a JSON object")
      ->needs(version_flag);
  program.require_subcommand(0, 1);
  AddTrainCommand(program);
  AddSweepCommand(program);
  AddEvalCommand(program);
  AddPlayCommand(program);
  AddExportCommand(program);
  AddReportCommand(program);
  AddSolveCommand(program);
  AddTheoryCommand(program);
  AddMdpCommand(program);
  AddEnvCommand(program);
  AddConfigCommand(program);
  AddBenchCommand(program);
  AddCompletionCommand(program);
  for (const std::string& command : CommandNames(program)) {
    program.get_subcommand(command)->excludes(version_flag);
  }

  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_help = error.get_exit_code() == 0;
    if (!is_help) return Fail(2, UsageMessage(program, error, argc, argv));
    // CLI11 answers --help before it checks for unknown words.
    if (program.remaining_size(true) == 0) return program.exit(error);
    return Fail(2, UsageMessage(program, CLI::ExtrasError(program.remaining(true)), argc, argv));
  }
  if (version) {
    PrintVersion(json);
  } else if (program.get_subcommands().empty()) {
    return Fail(2, "no command given; see 'stableaa --help'");
  }
  return 0;
}

void PrepareSignals() {
  // Some supervisors ignore it, which would hide how child processes ended.
  std::signal(SIGCHLD, SIG_DFL);
  // Exceeding a file size limit is then a write error, like a full disk, with a message and no
  // half-written files.
  std::signal(SIGXFSZ, SIG_IGN);
}

// If the caller closed 0, 1 or 2, the next file opened would get that number, and messages would go
// into it. The placeholder can be neither read nor written, like the closed one.
void OccupyStandardDescriptors() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(standard, F_GETFD) >= 0) continue;
    [[maybe_unused]] const int placed =
        ::open("/dev/null", standard == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // lowest free number
  }
}

// fmt::print throws a system_error, as do threads and directories.
int FailAsTheSystemSays(const std::system_error& error) {
  if (std::ferror(stdout) != 0) {
    return Fail(1, SystemError("cannot write the output", error.code().value()).what());
  }
  return Fail(1, error.what());
}

}  // namespace

int RunProgram(int argc, char** argv) {
  PrepareSignals();
  OccupyStandardDescriptors();
  try {
    const int exit_code = Run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return Fail(1, SystemError("cannot write the output", errno).what());
    }
    return exit_code;
  } catch (const UnknownEnvironment& error) {
    return Fail(2, fmt::format("{} ('stableaa env list' shows all)", error.what()));
  } catch (const Error& error) {
    return Fail(error.exit_code(), error.what());
  } catch (const std::system_error& error) {
    return FailAsTheSystemSays(error);
  } catch (const std::bad_alloc&) {
    return Fail(1, "out of memory");
  } catch (const std::exception& error) {
    return Fail(1, fmt::format("a defect in stableaa: {}", error.what()));
  }
}

}  // namespace stableaa
