// Shows pictures in a terminal, to watch an environment without a window:
//
//   TerminalView view(stdout, {.frames_per_second = 15});
//   for (...) view.Show(env->frame(0), "episode 3  step 120  action right  reward 1  return 12");
//
// A character cell is about twice as high as wide and shows two pixels: the upper half block U+2580
// in the colour of the upper one, on a background in that of the lower one. Each picture is drawn
// over the previous one; the final one stays in the scrollback like any other output. The cursor
// rests below and is neither hidden nor moved to another screen, so nothing needs to be restored,
// however the program ends.
//
// While a view is shown, nothing else should write to the terminal.
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
  kAuto,  // 24 bits if COLORTERM says so; else 256 colours, which all terminals in use have
  k256,
  k24Bit,
};

struct TerminalViewOptions {
  double frames_per_second = 15;  // 0.1 to 1000
  TerminalColors colors = TerminalColors::kAuto;
};

class TerminalView {
 public:
  // Throws BadInput if `stream` is not a terminal, or is one that cannot move its cursor
  // (TERM=dumb).
  TerminalView(std::FILE* stream, TerminalViewOptions options);

  // Waits until the frame is due, 1 / frames_per_second after the previous one, and draws it with
  // lines of text below, each cut to the terminal's width. Does not try to catch up after late
  // frames. Throws WorkFailed if the terminal is gone.
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
  std::size_t lines_ = 0;  // in the last frame, including its text; 0: none yet
};

// The picture, as large as fits into width x height pixels. A smaller one is enlarged by a whole
// number; a larger one is averaged over areas. Shrinking also uses a whole number if that costs
// less than a quarter of the size, so that squares stay squares with sharp edges.
Picture FittedPicture(const Picture& picture, int width, int height);

// Two rows of pixels per line. Each line starts from the terminal's own colours and returns to
// them. `colors` must not be kAuto.
std::vector<std::string> HalfBlockLines(const Picture& picture, TerminalColors colors);

// The nearest of the 256 colours (16 to 255: the cube and the greys, the same on all terminals).
int NearestOf256(Color color);

}  // namespace stableaa

#endif  // STABLEAA_ENV_TERMINAL_VIEW_H_
