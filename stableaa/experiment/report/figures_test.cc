#include "stableaa/experiment/report/figures.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stableaa/base/process/gnuplot.h"
#include "stableaa/experiment/report/report_parts_test.h"

namespace stableaa::figures_test {

LineFigure TwoLines() {
  return {
      .name = "name",
      .caption = "A caption.",
      .title = "A title",
      .x_label = "steps",
      .y_label = "return",
      .lines = {{.label = "first",
                 .style = 0,
                 .points = {{1, 2, Interval{1.5, 2.5}}, {2, 3, Interval{2, 4}}, {3, 1}, {4, 1}}},
                {.label = "second", .style = 1, .points = {{1, 5}, {2, 6}}}}};
}

TEST(ReportFigures, LinesAreDataWithBandsBelow) {
  const ReportFigure figure = Draw(TwoLines());
  EXPECT_EQ(figure.name, "name");
  EXPECT_EQ(figure.caption, "A caption.");
  const std::string& script = figure.picture.script;
  EXPECT_TRUE(Holds(script, "$line0 << EOD\n1 2 1.5 2.5\n2 3 2 4\n3 1 1 1\n4 1 1 1\nEOD\n"));
  EXPECT_TRUE(Holds(script, "$line1 << EOD\n1 5 5 5\n2 6 6 6\nEOD\n"));
  const std::size_t band = script.find("$line0 using 1:3:4 with filledcurves");
  ASSERT_NE(band, std::string::npos) << script;
  EXPECT_LT(band, script.find("$line0 using 1:2 with lines ")) << "no band hides a line";
  EXPECT_FALSE(Holds(script, "$line1 using 1:3:4"));
  EXPECT_TRUE(Holds(script, "$line1 using 1:2 with linespoints ")) << "two points alone";
}

TEST(ReportFigures, BarsReplaceBandsIfAsked) {
  LineFigure figure = TwoLines();
  figure.looks = LineFigure::Looks::kBars;
  figure.logarithmic_x = true;
  const std::string script = Draw(figure).picture.script;
  EXPECT_FALSE(Holds(script, "filledcurves"));
  EXPECT_TRUE(Holds(script, "$line0 using 1:2:3:4 with yerrorbars"));
  EXPECT_TRUE(Holds(script, "set logscale x\n"));
}

TEST(ReportFigures, TheAxisBeginsAtZeroUnlessSomethingIsBelow) {
  LineFigure figure = TwoLines();
  const std::string from_zero = "set yrange [0:*]\n";
  EXPECT_TRUE(Holds(Draw(figure).picture.script, from_zero));
  figure.lines[1].points[0].interval = Interval{-1, 6};
  EXPECT_FALSE(Holds(Draw(figure).picture.script, from_zero));
  figure.lines[1].points[0] = {1, -5};
  EXPECT_FALSE(Holds(Draw(figure).picture.script, from_zero));
}

TEST(ReportFigures, LongLegendsMakeThePictureHigher) {
  LineFigure figure = TwoLines();
  const int height = Draw(figure).picture.height;
  figure.lines[0].label = std::string(30, 'x');
  EXPECT_EQ(Draw(figure).picture.height, height + 19) << "a line for each";
  EXPECT_TRUE(Holds(Draw(figure).picture.script, "horizontal maxcols 1 "));
}

// gnuplot draws all three kinds and shows text as given, whatever it contains.
TEST(FullReportFigures, CanBeDrawn) {
  const std::string hostile = "a'`b`\"$x_1^2 <η>";
  const std::string shown = "a'`b`\"$x_1^2 &lt;η>";
  LineFigure lines = TwoLines();
  lines.lines[0].label = hostile;
  const PanelFigure panels{
      .name = "panels",
      .caption = "",
      .title = "A title",
      .x_label = "steps",
      .panels = {{.title = hostile, .lines = lines.lines, .reference = 1},
                 {.title = "below", .lines = TwoLines().lines, .reference = {}}}};
  const IntervalFigure intervals{.name = "intervals",
                                 .caption = "",
                                 .title = "A title",
                                 .x_label = "P(X > Y)",
                                 .rows = {{.label = hostile, .value = .5},
                                          {.label = "b", .value = .25, .interval = Interval{0, 1}}},
                                 .reference = .5};
  for (const ReportFigure& figure : {Draw(lines), Draw(panels), Draw(intervals)}) {
    const std::string svg = GnuplotSvg(figure.picture);
    EXPECT_TRUE(Holds(svg, "width=\"" + std::to_string(figure.picture.width) + "\" height=\"" +
                               std::to_string(figure.picture.height) + "\""))
        << svg.substr(0, 300);
    EXPECT_TRUE(Holds(svg, "A title")) << figure.name;
    EXPECT_TRUE(Holds(svg, shown)) << figure.name << svg;
  }
}

TEST(ReportFigures, IntervalsStandBelowEachOther) {
  const IntervalFigure figure{.name = "n",
                              .caption = "c",
                              .title = "t",
                              .x_label = "x",
                              .rows = {{.label = "a", .value = 2, .interval = Interval{1, 4}},
                                       {.label = "b", .value = 3, .interval = {}, .style = 1}}};
  const std::string script = Draw(figure).picture.script;
  EXPECT_TRUE(Holds(script, "$rows << EOD\n2 2 1 4 0x0072B2\n1 3 3 3 0x")) << script;
  EXPECT_TRUE(Holds(script, "set yrange [0.5:2.9]\n"));
  EXPECT_FALSE(Holds(script, "set xrange"));
  IntervalFigure more = figure;
  more.rows.push_back(figure.rows[0]);
  EXPECT_EQ(Draw(more).picture.height, Draw(figure).picture.height + 40);
}

TEST(ReportFigures, OnlyTheLastPanelNamesTheAxis) {
  const PanelFigure figure{
      .name = "n",
      .caption = "c",
      .title = "t",
      .x_label = "the steps",
      .panels = {{.title = "above", .lines = TwoLines().lines, .reference = 1},
                 {.title = "below", .lines = TwoLines().lines, .reference = {}}}};
  const std::string script = Draw(figure).picture.script;
  EXPECT_EQ(CountOf(script, "the steps"), 1U);
  EXPECT_GT(script.find("the steps"), script.find("below"));
  EXPECT_EQ(CountOf(script, "1 with lines linecolor rgb '#808080'"), 1U) << "the reference";
  EXPECT_TRUE(script.ends_with("unset multiplot\n"));
}

TEST(ReportFigures, StepsHaveShortNumbers) {
  EXPECT_EQ(UnitOf(4999).label, "steps");
  EXPECT_EQ(UnitOf(5000).label, "thousand steps");
  EXPECT_EQ(UnitOf(5000).size, 1000);
  EXPECT_EQ(UnitOf(1'999'999).label, "thousand steps");
  EXPECT_EQ(UnitOf(2'000'000).label, "million steps");
  EXPECT_EQ(UnitOf(2'000'000).size, 1e6);
}

TEST(ReportFigures, NamesOfFilesAreSafe) {
  EXPECT_EQ(FileStem("minatar/breakout"), "minatar-breakout");
  EXPECT_EQ(FileStem("stable-aa, η = 0.1"), "stable-aa-0.1");
  EXPECT_EQ(FileStem("../../etc/passwd"), "..-..-etc-passwd");
  EXPECT_EQ(FileStem("a_b."), "a_b");
  EXPECT_EQ(FileStem("η"), "figure");
  EXPECT_EQ(FileStem(std::string(300, 'x')).size(), 60U);
}

}  // namespace stableaa::figures_test
