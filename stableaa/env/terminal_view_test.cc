#include "stableaa/env/terminal_view.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"

namespace stableaa::terminal_view_test {

using Lines = std::vector<std::string>;

constexpr Color kRed = {255, 0, 0};
constexpr Color kBlue = {0, 0, 255};

Picture Filled(int width, int height, Color color) {
  Picture picture(width, height);
  picture.Fill(color);
  return picture;
}

TEST(HalfBlockLines, ShowsTwoPixelsPerCell) {
  Picture picture(2, 2);
  picture.Rectangle(0, 0, 1, 1, {255, 0, 0});
  picture.Rectangle(0, 1, 1, 2, {0, 0, 255});
  picture.Rectangle(1, 0, 2, 1, {1, 2, 3});
  picture.Rectangle(1, 1, 2, 2, {4, 5, 6});
  EXPECT_EQ(HalfBlockLines(picture, TerminalColors::k24Bit),
            (Lines{"\x1b[48;2;0;0;255m\x1b[38;2;255;0;0m▀"
                   "\x1b[48;2;4;5;6m\x1b[38;2;1;2;3m▀\x1b[0m"}));
  EXPECT_EQ(HalfBlockLines(picture, TerminalColors::k256),
            (Lines{"\x1b[48;5;21m\x1b[38;5;196m▀\x1b[48;5;232m\x1b[38;5;16m▀\x1b[0m"}));
}

TEST(HalfBlockLines, NamesAColourOnlyWhereItChanges) {
  EXPECT_EQ(HalfBlockLines(Filled(4, 4, kRed), TerminalColors::k24Bit),
            (Lines{"\x1b[48;2;255;0;0m    \x1b[0m", "\x1b[48;2;255;0;0m    \x1b[0m"}));
  Picture halves = Filled(3, 2, kRed);
  halves.Rectangle(0, 1, 3, 2, kBlue);
  EXPECT_EQ(HalfBlockLines(halves, TerminalColors::k24Bit),
            (Lines{"\x1b[48;2;0;0;255m\x1b[38;2;255;0;0m▀▀▀\x1b[0m"}));
}

TEST(HalfBlockLines, AnOddLastRowLeavesTheLowerHalfToTheTerminal) {
  EXPECT_EQ(HalfBlockLines(Filled(2, 1, kRed), TerminalColors::k24Bit),
            (Lines{"\x1b[38;2;255;0;0m▀▀\x1b[0m"}));
  EXPECT_EQ(HalfBlockLines(Filled(2, 3, kRed), TerminalColors::k24Bit).size(), 2U);
}

TEST(NearestOf256, IsTheNearest) {
  const auto color_of = [](int index) -> std::array<int, 3> {
    if (index >= 232) {
      const int grey = 8 + 10 * (index - 232);
      return {grey, grey, grey};
    }
    const auto level = [](int step) { return step == 0 ? 0 : 55 + 40 * step; };
    return {level((index - 16) / 36), level((index - 16) / 6 % 6), level((index - 16) % 6)};
  };
  for (int i = 0; i < 4096; ++i) {
    const std::array<int, 3> wanted = {i % 16 * 17, i / 16 % 16 * 17, (i / 256 * 17 + i) % 256};
    const auto distance = [&](int index) {
      int sum = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const int difference = color_of(index)[k] - wanted[k];
        sum += difference * difference;
      }
      return sum;
    };
    int best = std::numeric_limits<int>::max();
    for (int index = 16; index < 256; ++index) best = std::min(best, distance(index));
    const int chosen =
        NearestOf256({static_cast<std::uint8_t>(wanted[0]), static_cast<std::uint8_t>(wanted[1]),
                      static_cast<std::uint8_t>(wanted[2])});
    ASSERT_TRUE(chosen >= 16 && chosen < 256) << chosen;
    ASSERT_EQ(distance(chosen), best) << i;
  }
}

TEST(FittedPicture, EnlargesByTheLargestWholeNumberThatFits) {
  Picture picture(3, 2);
  picture.Rectangle(1, 1, 2, 2, kRed);
  const Picture fitted = FittedPicture(picture, 80, 44);
  EXPECT_EQ(fitted.width(), 66);
  EXPECT_EQ(fitted.height(), 44);
  for (int y = 0; y < fitted.height(); ++y) {
    for (int x = 0; x < fitted.width(); ++x) {
      ASSERT_EQ(fitted.at(x, y), picture.at(x / 22, y / 22));
    }
  }
  EXPECT_EQ(FittedPicture(picture, 3, 2), picture);
  EXPECT_EQ(FittedPicture(picture, 5, 5), picture);
}

TEST(FittedPicture, ShrinksByAWholeNumberWhereThatCostsLittle) {
  Picture squares(160, 160);
  for (int i = 0; i < 10; ++i) squares.Rectangle(16 * i, 16 * i, 16 * i + 16, 16 * i + 16, kRed);
  const Picture fitted = FittedPicture(squares, 80, 44);
  EXPECT_EQ(fitted.width(), 40);
  EXPECT_EQ(fitted.height(), 40);
  for (int y = 0; y < 40; ++y) {
    for (int x = 0; x < 40; ++x) ASSERT_EQ(fitted.at(x, y), squares.at(4 * x, 4 * y));
  }
}

TEST(FittedPicture, ShrinksToTheAverageAndKeepsTheProportions) {
  Picture picture(600, 400);
  picture.Rectangle(0, 0, 300, 400, {200, 100, 50});
  const Picture fitted = FittedPicture(picture, 500, 350);  // by 1.2, not by 2
  EXPECT_EQ(fitted.width(), 500);
  EXPECT_EQ(fitted.height(), 333);
  EXPECT_EQ(fitted.at(249, 100), (Color{200, 100, 50}));
  EXPECT_EQ(fitted.at(250, 100), (Color{0, 0, 0}));

  Picture stripes(30, 30);
  for (int x = 0; x < 30; x += 2) stripes.Rectangle(x, 0, x + 1, 30, {200, 100, 50});
  EXPECT_EQ(FittedPicture(stripes, 15, 40), Filled(15, 15, {100, 50, 25}));
  Picture thirds(3, 3);
  thirds.Rectangle(1, 0, 2, 3, {90, 90, 90});
  EXPECT_EQ(FittedPicture(thirds, 2, 2), Filled(2, 2, {30, 30, 30}));  // half of it in each
}

TEST(FittedPicture, NeverLeavesTheScreenNorVanishes) {
  for (const int width : {1, 2, 7, 160, 1000}) {
    for (const int height : {1, 3, 160, 999}) {
      const Picture fitted = FittedPicture(Filled(width, height, kRed), 80, 44);
      EXPECT_EQ(fitted, Filled(fitted.width(), fitted.height(), kRed));
      EXPECT_TRUE(fitted.width() >= 1 && fitted.width() <= 80);
      EXPECT_TRUE(fitted.height() >= 1 && fitted.height() <= 44);
    }
  }
}

// Uses a terminal of 40 columns and 12 rows.
class TerminalViewTest : public testing::Test {
 protected:
  void SetUp() override {
    int ours = -1, its = -1;
    if (::openpty(&ours, &its, nullptr, nullptr, nullptr) != 0) {
      GTEST_SKIP() << "needs a pseudo-terminal";
    }
    ours_ = Descriptor(ours);
    stream_ = ::fdopen(its, "w");
    SetSize(40, 12);
    ::setenv("TERM", "xterm-256color", 1);
    ::unsetenv("COLORTERM");
  }
  ~TerminalViewTest() override {
    if (stream_ != nullptr) std::fclose(stream_);
  }

  void SetSize(unsigned short columns, unsigned short rows) const {
    const winsize size = {.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(::ioctl(ours_.get(), TIOCSWINSZ, &size), 0);
  }

  // What has arrived at the terminal since the last call. The system delivers it in its own time,
  // so this sends a marker after it and waits for that.
  std::string Arrived() const {
    constexpr std::string_view kMark = "<end>";
    EXPECT_EQ(::write(::fileno(stream_), kMark.data(), kMark.size()), std::ssize(kMark));
    std::string text;
    pollfd ready = {ours_.get(), POLLIN, 0};
    std::array<char, 4096> part;
    while (!text.ends_with(kMark) && ::poll(&ready, 1, 60'000) == 1) {
      const ssize_t got = ::read(ours_.get(), part.data(), part.size());
      if (got <= 0) break;
      text.append(part.data(), static_cast<std::size_t>(got));
    }
    EXPECT_TRUE(text.ends_with(kMark)) << text;
    return text.substr(0, text.size() - kMark.size());
  }

  static std::string Refusal(std::FILE* stream, TerminalViewOptions options = {}) {
    return MessageOf([&] { TerminalView view(stream, options); });
  }

  Descriptor ours_;
  std::FILE* stream_ = nullptr;
};

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t i = text.find(part); i != text.npos; i = text.find(part, i + 1)) ++count;
  return count;
}

TEST_F(TerminalViewTest, DrawsInPlaceWithALineOfTextBelow) {
  TerminalView view(stream_, {.frames_per_second = 1000});
  view.Show(Filled(1, 1, kRed), "step 1");
  // 20 pixels in ten of the twelve rows.
  const std::string row = "\x1b[48;5;196m" + std::string(20, ' ') + "\x1b[0m\r\r\n";
  std::string picture;
  for (int i = 0; i < 10; ++i) picture += row;
  EXPECT_EQ(Arrived(), picture + "step 1\x1b[K\r\r\n");
  view.Show(Filled(1, 1, kRed), "step 2");
  EXPECT_EQ(Arrived(), "\x1b[11A" + picture + "step 2\x1b[K\r\r\n");
}

TEST_F(TerminalViewTest, LinesOfTextTakeTheirRowsFromThePicture) {
  TerminalView view(stream_, {.frames_per_second = 1000});
  const std::vector<std::string> text = {"step 1", std::string(60, 'x'), "\n"};
  view.Show(Filled(1, 1, kRed), text);
  const std::string first = Arrived();
  EXPECT_EQ(Count(first, "\x1b[48"), 8U);  // plus three, and one for the cursor, of twelve
  EXPECT_TRUE(
      first.ends_with("step 1\x1b[K\r\r\n" + std::string(39, 'x') + "\x1b[K\r\r\n?\x1b[K\r\r\n"))
      << first;
  view.Show(Filled(1, 1, kRed), text);
  EXPECT_TRUE(Arrived().starts_with("\x1b[11A\x1b[48"));
  const std::vector<std::string> long_text(30, "x");
  view.Show(Filled(1, 1, kRed), long_text);
  EXPECT_EQ(Count(Arrived(), "\x1b[48"), 5U) << "half of the screen stays for the picture";
}

TEST_F(TerminalViewTest, ErasesAPictureOfAnotherHeight) {
  TerminalView view(stream_, {.frames_per_second = 1000});
  view.Show(Filled(10, 10, kRed), "");
  Arrived();
  view.Show(Filled(40, 2, kRed), "");
  EXPECT_TRUE(Arrived().starts_with("\x1b[11A\x1b[J\x1b[48"));
  view.Show(Filled(40, 2, kRed), "");
  EXPECT_TRUE(Arrived().starts_with("\x1b[2A\x1b[48"));
}

TEST_F(TerminalViewTest, FollowsAChangeOfTheTerminalsSize) {
  TerminalView view(stream_, {.frames_per_second = 1000});
  view.Show(Filled(160, 160, kRed), "");
  EXPECT_EQ(Count(Arrived(), "\x1b[48"), 10U);
  SetSize(40, 22);
  view.Show(Filled(160, 160, kRed), "");
  const std::string text = Arrived();
  EXPECT_EQ(Count(text, "\x1b[48"), 20U);
  EXPECT_EQ(Count(text, "A"), 0U);
  SetSize(0, 0);  // unknown
  ::setenv("COLUMNS", "30", 1);
  ::setenv("LINES", "none", 1);
  view.Show(Filled(10, 10, kRed), "");
  EXPECT_EQ(Count(Arrived(), "\x1b[48;5;196m" + std::string(30, ' ') + "\x1b"), 15U);
  ::unsetenv("COLUMNS");
  ::unsetenv("LINES");
}

TEST_F(TerminalViewTest, TheTextStaysOnItsLine) {
  TerminalView view(stream_, {.frames_per_second = 1000});
  view.Show(Filled(1, 1, kRed), "return \x1b[2J\n\xff " + std::string(60, 'x'));
  const std::string text = Arrived();
  EXPECT_NE(text.find("return ?[2J?? " + std::string(25, 'x') + "\x1b[K"), text.npos) << text;
  view.Show(Filled(1, 1, kRed), "\u009b2J \u202e.");
  EXPECT_NE(Arrived().find("?2J ?.\x1b[K"), text.npos);
  view.Show(Filled(1, 1, kRed), "größe é");
  EXPECT_NE(Arrived().find("größe é\x1b[K"), text.npos);
}

TEST_F(TerminalViewTest, UsesAllColoursIfTheTerminalSaysSo) {
  for (const char* value : {"truecolor", "24bit"}) {
    ::setenv("COLORTERM", value, 1);
    TerminalView view(stream_, {});
    view.Show(Filled(1, 1, {9, 8, 7}), "");
    EXPECT_NE(Arrived().find("\x1b[48;2;9;8;7m"), std::string::npos);
  }
  TerminalView view(stream_, {.colors = TerminalColors::k256});
  view.Show(Filled(1, 1, kBlue), "");
  EXPECT_NE(Arrived().find("\x1b[48;5;21m"), std::string::npos);
  ::unsetenv("COLORTERM");
}

TEST_F(TerminalViewTest, KeepsThePaceAndDoesNotCatchUp) {
  using Clock = std::chrono::steady_clock;
  const Picture picture = Filled(1, 1, kRed);
  TerminalView view(stream_, {.frames_per_second = 100});
  double seconds = 2;
  for (int attempt = 0; attempt < 10 && seconds >= 2; ++attempt) {  // the machine may be busy
    view.Show(picture, "");
    ::usleep(45'000);  // four frames late
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < 6; ++i) view.Show(picture, "");
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    EXPECT_GE(seconds, .049);
    Arrived();
  }
  EXPECT_LT(seconds, 2);
}

TEST_F(TerminalViewTest, NeedsATerminal) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  EXPECT_EQ(Refusal(file.get()), "expected a terminal to draw on, and the output is not one");
  ::setenv("TERM", "dumb", 1);
  EXPECT_EQ(Refusal(stream_), "expected a terminal with colours, and TERM is 'dumb'");
  ::setenv("TERM", "xterm", 1);
  EXPECT_EQ(Refusal(stream_), "no error");
  EXPECT_EQ(Refusal(stream_, {.frames_per_second = 0}),
            "a view has 0.1 to 1000 frames per second, found 0");
  TerminalView view(stream_, {});
  EXPECT_THROW(view.Show(Picture(), ""), Error);
}

TEST_F(TerminalViewTest, ATerminalThatIsGoneIsAnError) {
  TerminalView view(stream_, {.frames_per_second = 1000});
  ours_.Close();
  EXPECT_THROW(view.Show(Filled(1, 1, kRed), ""), Error);
}

}  // namespace stableaa::terminal_view_test
