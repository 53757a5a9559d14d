// The real program while it runs, for tests that interrupt and kill it.
#ifndef STABLEAA_CLI_PROGRAM_AT_WORK_TEST_H_
#define STABLEAA_CLI_PROGRAM_AT_WORK_TEST_H_

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "stableaa/base/process/process_test.h"
#include "stableaa/cli/run_program_test.h"

namespace stableaa {

using Seconds = std::chrono::duration<double>;
inline void SleepFor(double seconds) { std::this_thread::sleep_for(Seconds(seconds)); }

inline Arguments operator+(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline Arguments Sets(const std::vector<std::string>& assignments) {
  Arguments arguments;
  for (const std::string& assignment : assignments) {
    arguments.emplace_back("--set");
    arguments.push_back(assignment);
  }
  return arguments;
}

// A complete run of CartPole.
inline void TrainOnCartpole(const std::string& preset, int seed, int steps, const std::string& out,
                            const std::vector<std::string>& settings) {
  const Outcome outcome =
      Stableaa(Arguments{"train", "--env", "classic/cartpole", "--preset", preset, "--seed",
                         std::to_string(seed), "--steps", std::to_string(steps), "--threads", "1",
                         "--out", out} +
               Sets(settings));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

inline void ExpectWords(const std::string& message, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << "expected '" << word << "' in: " << message;
  }
}

// The running program; killed when the object is destroyed.
class ProgramAtWork {
 public:
  explicit ProgramAtWork(Arguments arguments) {
    arguments.insert(arguments.begin(), STABLEAA_PROGRAM_PATH);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    program_ = ::fork();
    if (program_ != 0) return;
    ::dup2(::fileno(out_), STDOUT_FILENO);
    ::dup2(::fileno(err_), STDERR_FILENO);
    // A shell's background jobs ignore it, and so would the program.
    ::signal(SIGINT, SIG_DFL);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }

  ~ProgramAtWork() {
    if (IsRunning()) {
      Signal(SIGKILL);
      Wait();
    }
    std::fclose(out_);
    std::fclose(err_);
  }

  ProgramAtWork(const ProgramAtWork&) = delete;
  ProgramAtWork& operator=(const ProgramAtWork&) = delete;

  bool IsRunning() {
    if (!ended_ && ::waitpid(program_, &status_, WNOHANG) == program_) ended_ = true;
    return !ended_;
  }

  void Signal(int signal) {
    if (IsRunning()) ::kill(program_, signal);
  }

  bool HandlesInterrupts() const {
    std::ifstream status("/proc/" + std::to_string(program_) + "/status");
    for (std::string word; status >> word;) {
      std::uint64_t caught = 0;
      if (word == "SigCgt:" && status >> std::hex >> caught) return (caught >> (SIGINT - 1)) % 2;
    }
    return false;
  }

  // Whether it is waiting for something, such as a tool that it started.
  bool IsAsleep() const {
    const std::string text = ProcessFile(program_, "stat");
    const std::size_t name_end = text.rfind(')');
    return name_end != std::string::npos && text.compare(name_end, 3, ") S") == 0;
  }

  // Waits until the condition holds or the program has ended, for at most a minute. Returns whether
  // the condition holds.
  bool Until(const std::function<bool()>& condition) {
    const auto limit = std::chrono::steady_clock::now() + Seconds(60);
    while (std::chrono::steady_clock::now() < limit) {
      if (condition()) return true;
      if (!IsRunning()) return condition();
      SleepFor(2e-4);
    }
    return false;
  }

  // The processor time that it has had, in seconds: more telling than a clock on a busy machine.
  double WorkSeconds() const {
    const std::string text = ProcessFile(program_, "stat");
    std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
    std::string skipped;
    for (int field = 3; field < 14; ++field) fields >> skipped;
    double user = 0, system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }

  // What it has printed so far.
  std::string OutSoFar() const { return SoFar(out_); }
  std::string ErrSoFar() const { return SoFar(err_); }

  // Waits for it to end. The exit code is negative if a signal ended it.
  Outcome Wait() {
    const auto begin = std::chrono::steady_clock::now();
    if (!ended_) ::waitpid(program_, &status_, 0);
    ended_ = true;
    return {.exit_code = WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_),
            .out = Content(out_),
            .err = Content(err_),
            .seconds = Seconds(std::chrono::steady_clock::now() - begin).count()};
  }

 private:
  // Reopens the file: reading from it would move its write position.
  static std::string SoFar(std::FILE* output) {
    std::ifstream file("/proc/self/fd/" + std::to_string(::fileno(output)));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::FILE* const out_ = std::tmpfile();
  std::FILE* const err_ = std::tmpfile();
  pid_t program_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace stableaa

#endif  // STABLEAA_CLI_PROGRAM_AT_WORK_TEST_H_
