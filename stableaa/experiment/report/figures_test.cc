#include "stableaa/experiment/report/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stableaa/base/process/gnuplot.h"
#include "stableaa/experiment/report/report_parts_test.h"
#include "stableaa/testing/message.h"

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
  const std::string from_zero = "set yrange [0:";
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
  figure.lines[1].label = std::string(30, 'y');
  EXPECT_EQ(Draw(figure).picture.height, height + 19) << "a line for each";
}

TEST(ReportFigures, TheAxisOfBarsHasTicksAtItsValuesAndNoEmptyHalf) {
  LineFigure figure{.name = "n",
                    .caption = "c",
                    .title = "t",
                    .x_label = "x",
                    .y_label = "y",
                    .lines = {{.label = "a", .points = {{1, 640}, {10, 820}, {100, 800}}}},
                    .looks = LineFigure::Looks::kBars,
                    .logarithmic_x = true,
                    .x_ticks = {{1, "1"}, {10, "10"}, {100, "100"}}};
  const std::string script = Draw(figure).picture.script;
  EXPECT_TRUE(Holds(script, "set xtics ('1' 1, '10' 10, '100' 100)\n")) << script;
  EXPECT_TRUE(Holds(script, "set yrange [631:829]\n")) << script;
  figure.lines[0].points[0].y = 100;
  EXPECT_TRUE(Holds(Draw(figure).picture.script, "set yrange [0:")) << "zero is near";
  figure.x_ticks = {{1, "a long value"}, {1.1, "another one"}, {100, "100"}};
  EXPECT_TRUE(Holds(Draw(figure).picture.script, "set xtics rotate by 90 right\n"));
}

// ---- Points ----

LineFigure Points() {
  return {.name = "n",
          .caption = "c",
          .title = "t",
          .x_label = "x",
          .y_label = "y",
          .lines = {{.label = "", .points = {{60, 1}, {90, 3}}},
                    {.label = "", .style = 1, .points = {{75, 2}}, .symbol = 1, .size = 0.5}},
          .looks = LineFigure::Looks::kPoints,
          .logarithmic_x = true};
}

// After "set xrange [", say.
Interval RangeIn(const std::string& script, const std::string& command) {
  const std::size_t at = script.find(command) + command.size();
  return {std::stod(script.substr(at)), std::stod(script.substr(script.find(':', at) + 1))};
}

TEST(ReportFigures, PointsAreOpenAndFillTheAxes) {
  const std::string script = Draw(Points()).picture.script;
  EXPECT_TRUE(Holds(script,
                    "$line0 using 1:2 with points linecolor rgb '#0072B2' linewidth 1.4 "
                    "pointtype 6 pointsize 1.3"))
      << script;
  EXPECT_TRUE(Holds(script, "pointtype 4 pointsize 0.65"));
  EXPECT_FALSE(Holds(script, "with lines"));
  const Interval x = RangeIn(script, "set xrange ["), y = RangeIn(script, "set yrange [");
  EXPECT_GT(x.low, 57);
  EXPECT_LT(x.low, 60);
  EXPECT_GT(x.high, 90);
  EXPECT_LT(x.high, 94);
  EXPECT_GT(y.low, 0.8);
  EXPECT_TRUE(Holds(script, "set xtics ('60' 60, ")) << script;
  const std::string talk = Draw(Points(), FigureStyleOf("talk")).picture.script;
  EXPECT_TRUE(Holds(talk, "pointtype 6 pointsize 2.6")) << "as thick as the lines";
  EXPECT_EQ(Draw(Points(), FigureStyleOf("talk")).picture.height, 720);
}

TEST(ReportFigures, LegendsMayStandBelowEachOther) {
  LineFigure figure = Points();
  const int height = Draw(figure).picture.height;
  figure.legends = {{{.label = "one", .points = {}}, {.label = "two", .points = {}, .symbol = 1}},
                    {{.label = "100 steps", .points = {}}}};
  const ReportFigure drawn = Draw(figure);
  for (const char* const label : {"'one'", "'two'", "'100 steps'"}) {
    EXPECT_EQ(CountOf(drawn.picture.script, std::string("set label ") + label), 1U);
  }
  EXPECT_GT(drawn.picture.height, height);
}

TEST(ReportFigures, LabelsThatTouchOrLeaveThePictureAreTurned) {
  LineFigure figure = Points();
  figure.logarithmic_x = false;
  figure.x_range = Interval{-0.5, 1.5};
  figure.x_ticks = {{0, "a"}, {1, "b"}};
  const std::string turned = "set xtics rotate by 90 right\n";
  EXPECT_FALSE(Holds(Draw(figure).picture.script, turned));
  EXPECT_TRUE(Holds(Draw(figure).picture.script, "set xrange [-0.5:1.5]\n"));
  figure.x_range = Interval{-0.5, 1.1};
  figure.x_ticks[1].label = std::string(14, 'x');
  EXPECT_TRUE(Holds(Draw(figure).picture.script, turned));
}

TEST(ReportFigures, AGivenRangeHasItsTicks) {
  LineFigure figure = TwoLines();
  figure.y_range = Interval{0, 10};
  const std::string script = Draw(figure).picture.script;
  EXPECT_TRUE(Holds(script, "set yrange [0:10]\n"));
  EXPECT_TRUE(Holds(script, "'10' 10)")) << script;
}

TEST(ReportFigures, LongLabelsOfALegendAreWrapped) {
  LineFigure figure = TwoLines();
  const std::string common = "dueling double DQN of three targets, η = 0.1, ω = 2.5, ";
  figure.lines[0].label = common + "with regularisation";
  figure.lines[1].label = common + "without regularisation";
  const std::string script = Draw(figure, FigureStyleOf("paper")).picture.script;
  EXPECT_FALSE(Holds(script, "…")) << script;
  EXPECT_EQ(CountOf(script, "regularisation' at"), 2U);
}

TEST(ReportFigures, GivenColoursReplaceThoseOfThePalette) {
  LineFigure figure = TwoLines();
  figure.lines[1].colour = "#123abc";
  const std::string script = Draw(figure).picture.script;
  EXPECT_EQ(CountOf(script, "rgb '#123abc'"), 3U) << "line, point and line of the legend";
  EXPECT_FALSE(Holds(script, std::string(GnuplotColour(1))));
}

// ---- Many panels ----

GridFigure Games(std::size_t count) {
  GridFigure figure{.name = "grid",
                    .caption = "c",
                    .x_label = "steps",
                    .y_label = "return",
                    .panels = {},
                    .legend = TwoLines().lines};
  for (std::size_t i = 0; i < count; ++i) {
    figure.panels.push_back({.title = "game " + std::to_string(i), .lines = TwoLines().lines});
  }
  return figure;
}

TEST(ReportFigures, PanelsStandSideBySideWithOneLegend) {
  const std::vector<ReportFigure> drawn = Draw(Games(4));
  ASSERT_EQ(drawn.size(), 1U);
  EXPECT_EQ(drawn[0].name, "grid");
  EXPECT_TRUE(drawn[0].is_wide);
  const std::string& script = drawn[0].picture.script;
  EXPECT_EQ(CountOf(script, "set label 'first'"), 1U);
  EXPECT_EQ(CountOf(script, "set label 'return'"), 1U);
  EXPECT_EQ(CountOf(script, "set label 'steps'"), 4U);
  EXPECT_EQ(CountOf(script, "\nplot "), 4U);
  EXPECT_EQ(Draw(Games(3))[0].picture.width, drawn[0].picture.width);
}

TEST(ReportFigures, ManyPanelsStandInRows) {
  const ReportFigure one = Draw(Games(4))[0], two = Draw(Games(5))[0];
  EXPECT_GT(two.picture.height, one.picture.height + 100);
  EXPECT_EQ(CountOf(two.picture.script, "set label 'steps'"), 3U) << "three columns";
  // Panels of one range have numbers only below the lowest of each column.
  EXPECT_EQ(CountOf(two.picture.script, "set xtics (''"), 2U) << two.picture.script;
  GridFigure mixed = Games(5);
  mixed.panels[0].lines[0].points.push_back({900, 1});
  EXPECT_EQ(CountOf(Draw(mixed)[0].picture.script, "set xtics (''"), 0U);
}

TEST(ReportFigures, PanelsThatASlideHasNoRoomForMakeAnother) {
  const std::vector<ReportFigure> drawn = Draw(Games(9), FigureStyleOf("talk"));
  ASSERT_EQ(drawn.size(), 2U);
  EXPECT_EQ(drawn[1].name, "grid-2");
  EXPECT_EQ(CountOf(drawn[0].picture.script, "\nplot "), 4U);
  EXPECT_EQ(CountOf(drawn[1].picture.script, "\nplot "), 5U);
  for (const ReportFigure& figure : drawn) EXPECT_EQ(figure.picture.height, 720);
}

TEST(ReportFigures, TitlesWithoutRoomLoseTheirFamilies) {
  GridFigure figure = Games(4);
  figure.panels[1].title = "a_rather_long_family/of_games/with_names_like_this_one";
  figure.panels[2].title = "atari/pong";
  const std::string script = Draw(figure)[0].picture.script;
  EXPECT_TRUE(Holds(script, "set label 'with_names_like_this_one' at")) << script;
  EXPECT_TRUE(Holds(script, "set label 'pong' at"));
}

// ---- Sizes in print ----

// The smallest letters of an SVG, in its own pixels.
double SmallestLetters(const std::string& svg) {
  const std::string before = "font-size=\"";
  double smallest = 1e9;
  for (std::size_t at = svg.find(before); at != std::string::npos; at = svg.find(before, at + 1)) {
    smallest = std::min(smallest, std::stod(svg.substr(at + before.size())));
  }
  return smallest;
}

TEST(FullReportFigures, HaveTheirSizeInPrint) {
  struct Size {
    const char *style, *columns;
    std::size_t panels;
    const char* width;     // of the SVG
    int points;            // of the PDF
    double least_letters;  // in points
  };
  for (const Size& size :
       {Size{"paper", "", 1, "84.00mm", 238, 7}, Size{"paper", "", 2, "84.00mm", 238, 7},
        Size{"paper", "", 4, "174.00mm", 493, 7}, Size{"paper", "two", 1, "174.00mm", 493, 7},
        Size{"paper", "one", 4, "84.00mm", 238, 7}, Size{"talk", "", 4, "338.67mm", 960, 18}}) {
    const GnuplotPicture picture =
        Draw(Games(size.panels), FigureStyleOf(size.style, size.columns))[0].picture;
    const std::string svg = GnuplotSvg(picture);
    EXPECT_TRUE(Holds(svg.substr(0, 300), std::string(" width=\"") + size.width + "\""))
        << svg.substr(0, 300);
    const double points = picture.pixel_millimetres / 25.4 * 72;
    EXPECT_GE(SmallestLetters(svg) * points, size.least_letters - 0.01) << size.style;
    const std::string pdf = GnuplotPdf(picture);
    EXPECT_TRUE(Holds(pdf, "/MediaBox [ 0 0 " + std::to_string(size.points) + " ")) << size.style;
  }
  EXPECT_EQ(Draw(TwoLines(), FigureStyleOf("talk")).picture.height, 720) << "16:9 of 1280";
}

TEST(ReportFigures, StylesAreChecked) {
  EXPECT_EQ(MessageOf([] { FigureStyleOf("poster"); }),
            "style of figures: expected page, paper or talk, found 'poster'");
  EXPECT_EQ(MessageOf([] { FigureStyleOf("paper", "3"); }),
            "columns of figures: expected one or two, found '3'");
  EXPECT_EQ(MessageOf([] { FigureStyleOf("talk", "one"); }),
            "columns of figures: only the style paper has them, found talk");
  EXPECT_FALSE(Holds(Draw(TwoLines(), FigureStyleOf("paper")).picture.script, "A title"));
  EXPECT_TRUE(Holds(Draw(TwoLines(), FigureStyleOf("talk")).picture.script, "A title"));
}

// gnuplot draws all kinds and shows text as given, whatever it contains.
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
  GridFigure grid = Games(2);
  grid.panels[0].title = hostile;
  grid.panels[1].title = "A title";
  for (const ReportFigure& figure :
       {Draw(lines), Draw(panels), Draw(intervals), Draw(grid).front()}) {
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
  EXPECT_TRUE(Holds(script, "set xrange [0.91:4.09]\n")) << script;
  EXPECT_TRUE(Holds(script, "unset grid\n")) << "it would cross the labels";
  IntervalFigure more = figure;
  more.rows.push_back(figure.rows[0]);
  EXPECT_EQ(Draw(more).picture.height, Draw(figure).picture.height + 40);
  more.rows[0].label = std::string(40, 'x') + " > " + std::string(40, 'y');
  EXPECT_TRUE(Holds(Draw(more).picture.script, "set label '" + std::string(40, 'y') + "' at"))
      << "a line of its own";
}

// On a slide, two rows are far apart; a label is no farther from its interval for that.
TEST(ReportFigures, LabelsStandByTheirIntervalsOnASlide) {
  const IntervalFigure figure{.name = "n",
                              .caption = "c",
                              .title = "t",
                              .x_label = "x",
                              .rows = {{.label = "first", .value = 2, .interval = Interval{1, 4}},
                                       {.label = "second", .value = 3}}};
  const auto label_above = [&figure](const FigureStyle& style) {
    const GnuplotPicture picture = Draw(figure, style).picture;
    const std::string& script = picture.script;
    const auto number_after = [&script](const std::string& text, std::size_t from = 0) {
      return std::stod(script.substr(script.find(text, from) + text.size()));
    };
    const double share =
        number_after("set tmargin at screen ") - number_after("bmargin at screen ");
    const Interval rows = RangeIn(script, "set yrange [");
    const double row = share * picture.height / (rows.high - rows.low);  // in pixels
    const double above = number_after("first ", script.find("set label 'second'")) - 1;
    return above * row / style.font;
  };
  for (const char* const style : {"page", "paper", "talk"}) {
    EXPECT_NEAR(label_above(FigureStyleOf(style)), 1.4, 0.01) << style;
  }
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
