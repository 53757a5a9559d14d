// Runs the real program, for the tests of its commands.
#ifndef STABLEAA_CLI_RUN_PROGRAM_TEST_H_
#define STABLEAA_CLI_RUN_PROGRAM_TEST_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace stableaa {

using Arguments = std::vector<std::string>;

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
  double seconds = 0;
};

// If the tests are started without some of 0, 1 and 2, the files that capture a command's output
// would get these numbers and overwrite each other in the new process. Done before any test.
inline const bool kStandardStreamsAreOpen = [] {
  int fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR);
  return fd >= 0 && close(fd) == 0;
}();

inline std::string Content(std::FILE* file) {
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  return text;
}

// `sink` is a file that receives stdout instead of Outcome::out; "-" closes stdout. `prepare` is
// called in the new process before it becomes the command: limits, environment, directory.
inline Outcome RunCommand(Arguments command, const std::string& sink = "",
                          const std::function<void()>& prepare = {}) {
  std::vector<char*> argv;
  for (std::string& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::FILE* const out = std::tmpfile();
  std::FILE* const err = std::tmpfile();
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    dup2(sink.empty() || sink == "-" ? fileno(out) : open(sink.c_str(), O_WRONLY), STDOUT_FILENO);
    if (sink == "-") close(STDOUT_FILENO);
    dup2(fileno(err), STDERR_FILENO);
    if (prepare) prepare();
    execvp(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  Outcome outcome{.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
                  .out = Content(out),
                  .err = Content(err),
                  .seconds = elapsed.count()};
  std::fclose(out);
  std::fclose(err);
  return outcome;
}

inline Outcome Stableaa(Arguments arguments, const std::string& sink = "") {
  arguments.insert(arguments.begin(), STABLEAA_PROGRAM_PATH);
  return RunCommand(std::move(arguments), sink);
}

inline Outcome StableaaPrepared(const std::function<void()>& prepare, Arguments arguments) {
  arguments.insert(arguments.begin(), STABLEAA_PROGRAM_PATH);
  return RunCommand(std::move(arguments), "", prepare);
}

inline std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Expects nothing on stdout and one line on stderr, as for every error; returns the message.
inline std::string ExpectError(const Outcome& outcome, int exit_code) {
  const std::string start = "stableaa: error: ";
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(Lines(outcome.err).size(), 1U) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with(start)) << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with('\n')) << outcome.err;
  return outcome.err.starts_with(start) && outcome.err.ends_with('\n')
             ? outcome.err.substr(start.size(), outcome.err.size() - start.size() - 1)
             : "";
}

// The message of the only error, which must be the last line on stderr; other lines may precede it.
inline std::string ErrorOf(const Outcome& outcome, int exit_code) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
  const std::vector<std::string> lines = Lines(outcome.err);
  const std::string start = "stableaa: error: ";
  EXPECT_EQ(std::ranges::count_if(lines,
                                  [&](const std::string& line) { return line.starts_with(start); }),
            1)
      << outcome.err;
  if (lines.empty() || !lines.back().starts_with(start)) {
    ADD_FAILURE() << "expected an error at the end: " << outcome.err;
    return "";
  }
  return lines.back().substr(start.size());
}

inline std::string ExpectOutput(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

inline std::set<std::string> Fields(const nlohmann::json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

}  // namespace stableaa

#endif  // STABLEAA_CLI_RUN_PROGRAM_TEST_H_
