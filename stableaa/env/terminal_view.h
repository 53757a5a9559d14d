// Pictures in a terminal, for watching an environment without a screen of its own:
//
//   TerminalView view(stdout, {.frames_per_second = 15});
//   for (...) view.Show(env->frame(0), "episode 3  step 120  action right  reward 1  return 12");
//
// A character cell is about twice as high as wide and shows two pixels: the upper half block U+2580
// in the colour of the upper one, on a background in that of the lower one. Each picture is drawn
// over the last; the final one stays in the scrollback like any other output. The cursor rests
// below and is neither hidden nor moved to another screen, so nothing has to be restored however
// the program ends.
//
// While a view is shown nothing else should write to the terminal.
#ifndef STABLEAA_ENV_TERMINAL_VIEW_H_
#define STABLEAA_ENV_TERMINAL_VIEW_H_

#include <chrono>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/env/picture.h"

namespace stableaa {

enum class TerminalColors {
  kAuto,  // 24 bits if COLORTERM says so, 256 colours otherwise, which all terminals in use have
  k256,
  k24Bit,
};

struct TerminalViewOptions {
  double frames_per_second = 15;  // 0.1 to 1000
  TerminalColors colors = TerminalColors::kAuto;
};

class TerminalView {
 public:
  // BadInput if `stream` is not a terminal, or one that cannot move its cursor (TERM=dumb).
  TerminalView(std::FILE* stream, TerminalViewOptions options);

  // Waits until the frame is due, 1 / frames_per_second after the former one, and draws it with
  // lines of text below, each cut to the terminal's width. Late frames are not caught up with.
  // WorkFailed if the terminal is gone.
  void Show(const Picture& picture, std::span<const std::string> status);
  void Show(const Picture& picture, std::string_view status);  // one line

 private:
  using Clock = std::chrono::steady_clock;
  struct Size {
    int columns = 0, rows = 0;
    bool operator==(const Size&) const = default;
  };

  Size TerminalSize() const;
  std::string Return(const Size& terminal, std::size_t lines) const;
  void Write(std::string_view text) const;

  std::FILE* const stream_;
  const Clock::duration period_;
  const TerminalColors colors_;
  Clock::time_point due_ = Clock::now();
  Size terminal_;          // when the last frame was drawn
  std::size_t lines_ = 0;  // of the frame drawn last, with its text; 0: none yet
};

// The picture as large as fits into width x height pixels. A smaller one is enlarged by a whole
// number, a larger one becomes the average over areas; it shrinks by a whole number too, so that
// squares stay squares with sharp edges, where that costs less than a quarter of the size.
Picture FittedPicture(const Picture& picture, int width, int height);

// Two rows of pixels per line, each line with colours from and back to the terminal's own.
// `colors` is not kAuto.
std::vector<std::string> HalfBlockLines(const Picture& picture, TerminalColors colors);

// The nearest of the 256 colours (16 to 255: the cube and the greys, alike on all terminals).
int NearestOf256(Color color);

}  // namespace stableaa

#endif  // STABLEAA_ENV_TERMINAL_VIEW_H_
