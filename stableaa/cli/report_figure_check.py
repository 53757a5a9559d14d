"""Opens SVG figures of gnuplot in Chromium and tells what is wrong with them.

Usage: report_figure_check.py [--least-points N] [--browser PROGRAM] FIGURE.svg...
       report_figure_check.py --self-test

In every figure, as the browser draws it,
- no text is smaller than N points at the figure's own size (pixels are 1/96 inch);
- every text is inside the picture, and no two texts touch;
- no line of the plot, the grid, an axis or the legend crosses a text;
- there are no samples of a legend within the axes.

Exits as report_page_check.py does, with which it shares the browser.
"""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile

from report_page_check import Browser, CheckFailed, View

# Lengths are in units of the viewBox; LEAST is substituted.
MEASURE = """(() => {
  const svg = document.documentElement, problems = [];
  const view = svg.viewBox.baseVal, toView = svg.getScreenCTM().inverse();
  const place = (x, y, from) => new DOMPoint(x, y).matrixTransform(from).matrixTransform(toView);
  const boxOf = text => {
    const box = text.getBBox(), from = text.getScreenCTM();
    // Letters without the room that a font keeps above and below them.
    const rest = box.height * 0.2;
    const corners = [[box.x, box.y + rest], [box.x + box.width, box.y + box.height - rest]]
        .map(([x, y]) => place(x, y, from));
    const [xs, ys] = [corners.map(c => c.x), corners.map(c => c.y)];
    return {left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys),
            bottom: Math.max(...ys)};
  };
  const texts = [...svg.querySelectorAll('text')].filter(text => text.textContent.trim())
      .map(text => ({words: text.textContent.trim(), box: boxOf(text), element: text}));

  // Millimetres and pixels of a viewBox in points.
  const unit = svg.width.baseVal.unitType === SVGLength.SVG_LENGTHTYPE_PERCENTAGE ? 0.75 :
      svg.width.baseVal.value / view.width * 0.75;
  for (const {words, box, element} of texts) {
    const points = parseFloat(getComputedStyle(element).fontSize) * unit;
    if (points < LEAST - 0.01) problems.push(`"${words}" has letters of ${points.toFixed(2)} pt`);
    if (box.left < view.x || box.right > view.x + view.width || box.top < view.y ||
        box.bottom > view.y + view.height) {
      problems.push(`"${words}" leaves the picture`);
    }
  }
  const touch = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom &&
      b.top < a.bottom;
  texts.forEach((one, i) => texts.slice(0, i).forEach(other => {
    if (touch(one.box, other.box)) problems.push(`"${other.words}" and "${one.words}" touch`);
  }));

  // Straight pieces of all lines that are drawn.
  const pieces = [];
  for (const path of svg.querySelectorAll('path')) {
    if (path.closest('defs')) continue;
    const style = getComputedStyle(path);
    if (style.stroke === 'none') continue;
    const from = path.getScreenCTM();
    let last = null, first = null;
    for (const [, command, x, y] of
         path.getAttribute('d').matchAll(/([MLZ])\\s*(?:(-?[\\d.]+)[ ,]+(-?[\\d.]+))?/g)) {
      const point = command === 'Z' ? first : place(+x, +y, from);
      if (command === 'M') first = point;
      else if (last) pieces.push({from: last, to: point, colour: style.stroke});
      last = point;
    }
  }
  // By the share of the piece that is inside.
  const crosses = ({from, to}, box) => {
    let low = 0, high = 1;
    for (const [start, way, least, most] of [[from.x, to.x - from.x, box.left, box.right],
                                             [from.y, to.y - from.y, box.top, box.bottom]]) {
      if (way === 0) {
        if (start <= least || start >= most) return false;
        continue;
      }
      const ends = [(least - start) / way, (most - start) / way].sort((a, b) => a - b);
      low = Math.max(low, ends[0]);
      high = Math.min(high, ends[1]);
    }
    return low < high;
  };
  for (const {words, box} of texts) {
    if (pieces.some(piece => crosses(piece, box))) problems.push(`a line crosses "${words}"`);
  }

  // A sample stands right before its label; axes are the long dark lines.
  const isLong = (a, b, whole) => Math.abs(a - b) > 0.1 * whole;
  const axes = pieces.filter(piece => piece.colour === 'rgb(64, 64, 64)');
  const across = axes.filter(p => p.from.y === p.to.y && isLong(p.from.x, p.to.x, view.width));
  const upward = axes.filter(p => p.from.x === p.to.x && isLong(p.from.y, p.to.y, view.height));
  for (const below of across) {
    for (const beside of upward) {
      const [left, right] = [below.from.x, below.to.x].sort((a, b) => a - b);
      const [top, bottom] = [beside.from.y, beside.to.y].sort((a, b) => a - b);
      if (Math.abs(beside.from.x - left) > 1 || Math.abs(bottom - below.from.y) > 1) continue;
      for (const {words, box} of texts) {
        if (touch(box, {left, right, top, bottom})) problems.push(`"${words}" is within the axes`);
      }
    }
  }
  return {problems: [...new Set(problems)], texts: texts.length, lines: pieces.length};
})()"""


def check_figure(browser, figure, least):
    """All that is wrong with a figure, as text."""
    path = pathlib.Path(figure).resolve()
    if not path.is_file():
        raise CheckFailed(f"there is no file {path}")
    view = View(browser, path.as_uri(), 1280, "light")
    view.open()
    seen = view.evaluate(MEASURE.replace("LEAST", str(least)))
    view.close()
    problems = view.problems + seen["problems"]
    if not seen["texts"] or not seen["lines"]:
        problems.append("has no text or no line")
    return problems


HEAD = ('<svg xmlns="http://www.w3.org/2000/svg" width="100mm" height="60mm" viewBox="0 0 400 240" '
        'font-family="DejaVu Sans" font-size="12" fill="none">'
        '<path stroke="rgb(64,64,64)" d="M60,20 L60,180 M60,180 L380,180"/>'
        '<path stroke="red" d="M60,100 L380,50"/>'
        '<g transform="translate(20,104)" fill="black"><text>100</text></g>')
BROKEN = {
    "good": ('<path stroke="red" d="M150,220 L170,220"/><text x="175" y="224" fill="black">a</text>'
             '<g transform="translate(12,100) rotate(-90)" fill="black"><text>up</text></g>', None),
    "small": ('<text x="90" y="224" font-size="7">small</text>', '"small" has letters of 4.96 pt'),
    "outside": ('<text x="380" y="224">outside</text>', '"outside" leaves the picture'),
    "touching": ('<text x="90" y="224">one</text><text x="100" y="220">two</text>',
                 '"one" and "two" touch'),
    "crossed": ('<path stroke="blue" d="M80,200 L100,239"/><text x="80" y="224">crossed</text>',
                'a line crosses "crossed"'),
    "legend": ('<text x="280" y="160">legend</text>', '"legend" is within the axes'),
    "turned": ('<g transform="translate(30,120) rotate(-90)"><text>turned</text></g>',
               '"100" and "turned" touch'),
}


def self_test(browser):
    """What the check misses, as text."""
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (body, part) in BROKEN.items():
            path = pathlib.Path(folder, f"{name}.svg")
            path.write_text(HEAD + body + "</svg>", encoding="utf-8")
            problems = check_figure(browser, path, 7)
            if problems != ([part] if part else []):
                missed.append(f"{name}: expected {part}, found {problems}")
    return missed


def main():
    parser = argparse.ArgumentParser(description="Checks figures in Chromium.")
    parser.add_argument("figures", nargs="*", type=pathlib.Path, metavar="FIGURE.svg")
    parser.add_argument("--least-points", type=float, default=7, metavar="N")
    parser.add_argument("--browser", default="chromium", metavar="PROGRAM")
    parser.add_argument("--self-test", action="store_true",
                        help="check that broken figures are found and a good one is not")
    options = parser.parse_args()
    if not options.figures and not options.self_test:
        parser.error("no figure given")
    program = shutil.which(options.browser)
    if program is None:
        in_ci = os.environ.get("CI") == "true"
        print(f"{'failed' if in_ci else 'skipped'}: there is no {options.browser} "
              "(scripts/packages browser installs it)")
        return 1 if in_ci else 77
    problems = []
    try:
        with Browser(program) as browser:
            if options.self_test:
                problems += [f"self-test: {line}" for line in self_test(browser)]
            for figure in options.figures:
                problems += [f"{figure}: {problem}"
                             for problem in check_figure(browser, figure, options.least_points)]
    except CheckFailed as error:
        problems.append(str(error))
    for problem in problems:
        print(f"FAILED: {problem}")
    if not problems:
        print(f"{len(options.figures)} figures: all well")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
