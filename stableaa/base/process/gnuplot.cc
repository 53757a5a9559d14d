#include "stableaa/base/process/gnuplot.h"

#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/base/process/child_process.h"
#include "stableaa/base/process/outside_tool.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

constexpr off_t kMostBytes = off_t{1} << 28;  // for a picture or for error output

constexpr auto kColours = std::to_array<std::string_view>(
    {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"});
static_assert(kColours.size() == kGnuplotColours);

std::string ReadAll(int file) {
  lseek(file, 0, SEEK_SET);
  std::string text;
  std::array<char, 1 << 16> piece{};
  for (;;) {
    const ssize_t got = read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw SystemError("cannot read a file in memory", errno);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

// Returns what gnuplot prints for the arguments and the script.
std::string Run(const std::vector<std::string>& arguments, std::string_view script) {
  const Descriptor input = MemoryFile("script", script);
  const Descriptor output = MemoryFile("picture");
  const Descriptor errors = MemoryFile("errors");
  const ToolWatch watch("gnuplot");  // before it starts: Ctrl-C may follow at once
  std::optional<ChildProcess> gnuplot;
  try {
    gnuplot.emplace(ChildProcess::Options{.program = "gnuplot",
                                          .arguments = arguments,
                                          .descriptors = {{input.get(), STDIN_FILENO},
                                                          {output.get(), STDOUT_FILENO},
                                                          {errors.get(), STDERR_FILENO}},
                                          .environment = {"LC_ALL=C.UTF-8"},
                                          .ends_with_us = true});
  } catch (const Error& error) {
    if (!std::string_view(error.what()).starts_with("cannot start")) throw;
    throw Error(error.kind(),
                fmt::format("a plot needs gnuplot (Debian: gnuplot-nox): {}", error.what()));
  }
  while (!gnuplot->Wait(kToolSlice)) {
    watch.Check();
    watch.CheckSize(output, kMostBytes);
    watch.CheckSize(errors, kMostBytes);
  }
  if (gnuplot->exit_code() != 0) {
    throw WorkFailed(
        fmt::format("gnuplot {}: {}", gnuplot->End(), Shorten(ReadAll(errors.get()), 300)));
  }
  return ReadAll(output.get());
}

constexpr std::string_view kSvgEnd = "</svg>";

// gnuplot may draw nothing without saying so.
void CheckDrawn(bool complete) {
  if (!complete) throw WorkFailed("gnuplot has drawn no picture");
}

}  // namespace

void CheckGnuplot() {
  CheckDrawn(RunGnuplot("set terminal svg\nplot 0\n").find(kSvgEnd) != std::string::npos);
}

std::string RunGnuplot(std::string_view script) { return Run({"--default-settings", "-"}, script); }

std::string GnuplotQuoted(std::string_view text) {
  // In single quotes, two of them stand for one, but gnuplot 5.4 misreads that at the start of a
  // text and after another; in double quotes it would execute what is in back quotes.
  constexpr std::string_view kSingleQuote = "'.\"'\".'";
  std::string quoted = "'";
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (character == "'") {
      quoted += kSingleQuote;
    } else if (length == 0) {
      quoted += '?';  // nothing displays an SVG with broken UTF-8
    } else {
      quoted += IsControl(character) ? " " : character;
    }
    text.remove_prefix(character.size());
  }
  return quoted + '\'';
}

std::string_view GnuplotColour(std::size_t i) { return kColours[i % kColours.size()]; }

// ---- Whole pictures ----

namespace {

constexpr double kMillimetresPerInch = 25.4;

// `scale` times the picture's size, including lines and letters; letters once more by `letters` and
// lines by `lines`, which make up for the units of the terminal.
struct Zoom {
  double scale = 1, letters = 1, lines = 1;
};
std::string Drawn(const GnuplotPicture& picture, std::string_view terminal, std::string_view size,
                  const Zoom& zoom) {
  const double font_size = zoom.scale * zoom.letters * picture.font_size;
  return RunGnuplot(fmt::format(
      "set terminal {} size {} noenhanced dashlength 0.6 linewidth {} font 'DejaVu Sans,{}' "
      "background rgb 'white'\ntitle_font = ',{}'\n{}",
      terminal, size, zoom.scale * zoom.lines * picture.line_width, font_size, 1.15 * font_size,
      picture.script));
}

// Gives a drawing its size in print; gnuplot writes only the viewBox.
void SetPrintedSize(const GnuplotPicture& picture, std::string& svg) {
  const std::size_t at = svg.find(" viewBox=");
  if (at == std::string::npos) throw WorkFailed("gnuplot has drawn an SVG without a viewBox");
  svg.insert(at, fmt::format(" width=\"{:.2f}mm\" height=\"{:.2f}mm\"",
                             picture.width * picture.pixel_millimetres,
                             picture.height * picture.pixel_millimetres));
}

}  // namespace

std::string GnuplotSvg(const GnuplotPicture& picture) {
  std::string svg =
      Drawn(picture, "svg dynamic", fmt::format("{}, {}", picture.width, picture.height), {});
  CheckDrawn(svg.find(kSvgEnd) != std::string::npos);
  // XML forbids ]]> in text, and gnuplot escapes only the other two markup brackets.
  for (std::size_t at = 0; (at = svg.find("]]>", at)) != std::string::npos;) {
    svg.replace(at, 3, "]]&gt;");
  }
  if (picture.pixel_millimetres > 0) SetPrintedSize(picture, svg);
  return svg;
}

std::string GnuplotPng(const GnuplotPicture& picture) {
  constexpr double kDotsPerInch = 300, kPointsPerPixel = 0.75;  // it measures letters in points
  const double scale = picture.pixel_millimetres > 0
                           ? picture.pixel_millimetres / kMillimetresPerInch * kDotsPerInch
                           : 2;
  std::string png =
      Drawn(picture, fmt::format("pngcairo pointscale {}", scale),
            fmt::format("{:.0f}, {:.0f}", scale * picture.width, scale * picture.height),
            {.scale = scale, .letters = kPointsPerPixel});
  CheckDrawn(png.starts_with("\x89PNG") && png.find("IEND") != std::string::npos);
  return png;
}

std::string GnuplotPdf(const GnuplotPicture& picture) {
  constexpr double kPointsPerInch = 72;
  const double points = picture.pixel_millimetres > 0
                            ? picture.pixel_millimetres / kMillimetresPerInch * kPointsPerInch
                            : 1;
  // This terminal draws lines at half their width; fontscale 0.75 makes letters as large as asked.
  std::string pdf = Drawn(picture, fmt::format("pdfcairo fontscale 0.75 pointscale {}", points),
                          fmt::format("{}in, {}in", points * picture.width / kPointsPerInch,
                                      points * picture.height / kPointsPerInch),
                          {.scale = points, .lines = 2});
  CheckDrawn(pdf.starts_with("%PDF") && pdf.find("%%EOF") != std::string::npos);
  return pdf;
}

}  // namespace stableaa
