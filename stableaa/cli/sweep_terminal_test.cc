// stableaa sweep on a terminal: its table of runs.

#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/cli/sweep_at_work_test.h"

namespace stableaa::sweep_terminal_test {

// What a terminal of this size shows after `text`, for the control sequences that the program uses.
std::vector<std::string> Screen(const std::string& text, std::size_t rows, std::size_t columns) {
  std::vector<std::string> screen(rows, std::string(columns, ' '));
  std::size_t row = 0, column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      column = 0;
    } else if (text[i] == '\n') {
      if (++row == rows) {
        screen.erase(screen.begin());
        screen.emplace_back(columns, ' ');
        --row;
      }
    } else if (text[i] == '\x1b') {
      std::size_t number = 0;
      i += 2;
      for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
        number = 10 * number + static_cast<std::size_t>(text[i] - '0');
      }
      if (text[i] == 'K' || text[i] == 'J') {
        std::fill(screen[row].begin() + static_cast<std::ptrdiff_t>(column), screen[row].end(),
                  ' ');
      }
      if (text[i] == 'J') {
        for (std::size_t below = row + 1; below < rows; ++below) {
          screen[below] = std::string(columns, ' ');
        }
      }
      if (text[i] == 'A') row -= std::min(row, std::max<std::size_t>(number, 1));
    } else {
      if (column == columns) {
        column = 0;
        row = std::min(row + 1, rows - 1);
      }
      screen[row][column++] = text[i];
    }
  }
  for (std::string& line : screen) line.resize(line.find_last_not_of(' ') + 1);
  return screen;
}

TEST_F(SweepCommand, ATableIsRedrawnInPlace) {
  const std::string suite = WriteSuite({.seeds = 2, .stop = "steps = 2000000"});
  int ours = -1;
  const winsize size = {.ws_row = 20, .ws_col = 120, .ws_xpixel = 0, .ws_ypixel = 0};
  const pid_t child = ::forkpty(&ours, nullptr, nullptr, &size);
  if (child < 0) GTEST_SKIP() << "needs a pseudo-terminal";
  if (child == 0) {
    ::setenv("TERM", "xterm-256color", 1);
    ::execl(STABLEAA_PROGRAM_PATH, "stableaa", "sweep", suite.c_str(), "--out", Out().c_str(),
            "--jobs", "2", "--no-estimate", nullptr);
    ::_exit(127);
  }
  // Waits until both runs have been evaluated and drawn so, then sends Ctrl-C.
  const Descriptor terminal(ours);
  std::string text, middle;
  std::array<char, 4096> part;
  const auto count = [](const std::vector<std::string>& screen, const std::string& word) {
    return std::ranges::count_if(
        screen, [&](const std::string& line) { return line.find(word) != std::string::npos; });
  };
  for (ssize_t got = 0; (got = ::read(terminal.get(), part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
    if (!middle.empty() || !text.ends_with('\r')) continue;
    if (count(Screen(text, 20, 120), "  eval ") < 2) continue;
    middle = text;
    ::kill(child, SIGINT);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0) << text;
  EXPECT_NE(text.find("0 of 4 done, 2 running, 2 waiting"), std::string::npos);

  const std::vector<std::string> at_work = Screen(middle, 20, 120);
  EXPECT_EQ(count(at_work, "%"), 2) << middle;
  EXPECT_EQ(count(at_work, "/s  eval "), 2) << middle;
  EXPECT_EQ(count(at_work, " of 4 done"), 1) << middle;
  EXPECT_EQ(count(at_work, "4 runs of 2M steps"), 1) << "printed before it";

  // Messages are above it, and at the end it is gone.
  const std::vector<std::string> last = Screen(text, 20, 120);
  EXPECT_EQ(count(last, "%"), 0) << text;
  EXPECT_EQ(count(last, "running"), 0) << text;
  EXPECT_EQ(count(last, "stableaa: stopping: "), 1) << text;
  EXPECT_EQ(count(last, "0 of 4 done, 2 stopped, 2 waiting"), 1) << text;
  EXPECT_EQ(count(last, "stableaa: stopped; the same command goes on"), 1) << text;
  EXPECT_EQ(count(last, "4 runs of 2M steps"), 1) << text;
}

}  // namespace stableaa::sweep_terminal_test
