#include "stableaa/env/terminal_view.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

std::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int NumberIn(const char* variable, int otherwise) {
  const std::string_view text = Variable(variable);
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number > 0 && number < 10'000 ? number : otherwise;
}

std::FILE* Checked(std::FILE* stream, const TerminalViewOptions& options) {
  if (::isatty(::fileno(stream)) != 1) {
    throw BadInput("expected a terminal to draw on, and the output is not one");
  }
  const std::string_view term = Variable("TERM");
  if (term.empty() || term == "dumb") {
    throw BadInput(
        fmt::format("expected a terminal with colours, and TERM is '{}'", Shorten(term)));
  }
  if (!(options.frames_per_second >= .1 && options.frames_per_second <= 1000)) {
    throw BadInput(fmt::format("a view has 0.1 to 1000 frames per second, found {}",
                               options.frames_per_second));
  }
  return stream;
}

TerminalColors Chosen(TerminalColors colors) {
  if (colors != TerminalColors::kAuto) return colors;
  const std::string_view term = Variable("COLORTERM");
  return term == "truecolor" || term == "24bit" ? TerminalColors::k24Bit : TerminalColors::k256;
}

// When `from` pixels in a row or column are reduced to `to`, pixel i becomes the average of pixels
// first to last - 1, each weighted by how much of it lies between begin and end.
struct Source {
  int first = 0, last = 0;
  double begin = 0, end = 0;

  Source(int i, int from, int to)
      : begin(static_cast<double>(i) * from / to), end(static_cast<double>(i + 1) * from / to) {
    first = static_cast<int>(begin);
    last = std::min(from, static_cast<int>(std::ceil(end)));
  }
  double Weight(int pixel) const {
    return std::min<double>(end, pixel + 1) - std::max<double>(begin, pixel);
  }
};

Color Average(const Picture& picture, const Source& columns, const Source& rows) {
  double red = 0, green = 0, blue = 0, sum = 0;
  for (int y = rows.first; y < rows.last; ++y) {
    for (int x = columns.first; x < columns.last; ++x) {
      const double weight = rows.Weight(y) * columns.Weight(x);
      const Color color = picture.at(x, y);
      red += weight * color.red;
      green += weight * color.green;
      blue += weight * color.blue;
      sum += weight;
    }
  }
  const auto rounded = [sum](double total) {
    return static_cast<std::uint8_t>(std::lround(total / sum));
  };
  return {rounded(red), rounded(green), rounded(blue)};
}

struct PictureSize {
  int width = 0, height = 0;
};

PictureSize SizeWithin(const Picture& picture, int width, int height) {
  const int enlarge = std::min(width / picture.width(), height / picture.height());
  if (enlarge >= 1) return {enlarge * picture.width(), enlarge * picture.height()};
  const double shrink = std::max(static_cast<double>(picture.width()) / width,
                                 static_cast<double>(picture.height()) / height);
  const double whole = std::ceil(shrink);
  const double chosen = shrink / whole > .75 ? whole : shrink;
  const auto shrunk = [chosen](int side) {
    return std::max(1, static_cast<int>(side / chosen + 1e-9));
  };
  return {shrunk(picture.width()), shrunk(picture.height())};
}

std::string ColorCode(bool background, Color color, TerminalColors colors) {
  const int target = background ? 48 : 38;
  if (colors == TerminalColors::k256) {
    return fmt::format("\x1b[{};5;{}m", target, NearestOf256(color));
  }
  return fmt::format("\x1b[{};2;{};{};{}m", target, color.red, color.green, color.blue);
}

// One line of cells, with a colour code only where the colour changes.
class LineWriter {
 public:
  explicit LineWriter(TerminalColors colors) : colors_(colors) {}

  // Without a lower pixel the lower half is the terminal's background.
  void Cell(Color upper, std::optional<Color> lower) {
    if (lower) Set(background_, true, *lower);
    if (lower == upper) {
      text_ += ' ';
    } else {
      Set(foreground_, false, upper);
      text_ += "\u2580";
    }
  }

  std::string Line() && { return std::move(text_) + "\x1b[0m"; }

 private:
  void Set(std::optional<Color>& current, bool background, Color color) {
    if (current == color) return;
    current = color;
    text_ += ColorCode(background, color, colors_);
  }

  TerminalColors colors_;
  std::optional<Color> foreground_, background_;
  std::string text_;
};

// At most `columns` characters, none of which moves the cursor.
std::string OneLine(std::string_view text, int columns) {
  std::string line;
  for (; !text.empty() && columns > 0; --columns) {
    const std::size_t length = Utf8Length(text);
    line += length == 0 || IsControl(text) ? "?" : std::string(text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return line;
}

}  // namespace

int NearestOf256(Color color) {
  constexpr std::array<int, 6> kLevels = {0, 95, 135, 175, 215, 255};
  const auto nearest_level = [&](int value) {
    const auto* const nearest = std::min_element(kLevels.begin(), kLevels.end(), [&](int a, int b) {
      return std::abs(a - value) < std::abs(b - value);
    });
    return static_cast<int>(std::distance(kLevels.begin(), nearest));
  };
  const auto distance = [&](int red, int green, int blue) {
    const int dr = red - color.red, dg = green - color.green, db = blue - color.blue;
    return dr * dr + dg * dg + db * db;
  };
  const int red = nearest_level(color.red);
  const int green = nearest_level(color.green);
  const int blue = nearest_level(color.blue);
  // The greys are 8, 18, ..., 238.
  const int step = std::clamp((color.red + color.green + color.blue - 9) / 30, 0, 23);
  const int level = 8 + 10 * step;
  const auto at = [&](int i) { return kLevels[static_cast<std::size_t>(i)]; };
  const bool grey_is_nearer =
      distance(level, level, level) < distance(at(red), at(green), at(blue));
  return grey_is_nearer ? 232 + step : 16 + 36 * red + 6 * green + blue;
}

Picture FittedPicture(const Picture& picture, int width, int height) {
  const PictureSize size = SizeWithin(picture, width, height);
  Picture fitted(size.width, size.height);
  for (int y = 0; y < size.height; ++y) {
    const Source rows(y, picture.height(), size.height);
    for (int x = 0; x < size.width; ++x) {
      const Color color = Average(picture, Source(x, picture.width(), size.width), rows);
      fitted.Rectangle(x, y, x + 1, y + 1, color);
    }
  }
  return fitted;
}

std::vector<std::string> HalfBlockLines(const Picture& picture, TerminalColors colors) {
  std::vector<std::string> lines;
  for (int y = 0; y < picture.height(); y += 2) {
    LineWriter line(colors);
    for (int x = 0; x < picture.width(); ++x) {
      const bool last = y + 1 == picture.height();
      line.Cell(picture.at(x, y), last ? std::nullopt : std::optional(picture.at(x, y + 1)));
    }
    lines.push_back(std::move(line).Line());
  }
  return lines;
}

TerminalView::TerminalView(std::FILE* stream, TerminalViewOptions options)
    : stream_(Checked(stream, options)),
      period_(std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(1 / options.frames_per_second))),
      colors_(Chosen(options.colors)) {}

void TerminalView::Show(const Picture& picture, std::string_view status) {
  const std::string line(status);
  Show(picture, std::span(&line, 1));
}

void TerminalView::Show(const Picture& picture, std::span<const std::string> status) {
  if (picture.width() == 0) throw BadInput("cannot show an empty picture");
  const Size terminal = TerminalSize();
  // The text and one row for the cursor. If there is too much text, some room is kept for the
  // picture.
  const int text = std::min(static_cast<int>(status.size()), std::max(1, terminal.rows / 2));
  const int height = 2 * std::max(1, terminal.rows - 1 - text);
  const auto lines = HalfBlockLines(FittedPicture(picture, terminal.columns, height), colors_);
  const auto shown = status.first(static_cast<std::size_t>(text));
  std::string frame = Return(terminal, lines.size() + shown.size());
  for (const std::string& line : lines) frame += line + "\r\n";
  for (const std::string& line : shown) {
    frame += OneLine(line, terminal.columns - 1) + "\x1b[K\r\n";
  }

  std::this_thread::sleep_until(due_);
  due_ = std::max(due_, Clock::now()) + period_;
  Write(frame);
  terminal_ = terminal;
  lines_ = lines.size() + shown.size();
}

TerminalView::Size TerminalView::TerminalSize() const {
  winsize size = {};
  if (::ioctl(::fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    return {size.ws_col, size.ws_row};
  }
  return {NumberIn("COLUMNS", 80), NumberIn("LINES", 24)};
}

// Returns to where the previous frame begins. A terminal that was resized has wrapped or moved that
// frame beyond repair: the new one goes below.
std::string TerminalView::Return(const Size& terminal, std::size_t lines) const {
  if (lines_ == 0 || terminal != terminal_) return "";
  return fmt::format("\x1b[{}A{}", lines_, lines == lines_ ? "" : "\x1b[J");
}

// Writes everything in one go, so the terminal draws it at once, and bypasses the stream's buffer,
// which would split it.
void TerminalView::Write(std::string_view text) const {
  std::fflush(stream_);
  while (!text.empty()) {
    const ssize_t written = ::write(::fileno(stream_), text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd ready = {::fileno(stream_), POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      throw SystemError("cannot write to the terminal", errno);
    }
  }
}

}  // namespace stableaa
