#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "stableaa/experiment/report/parts.h"
#include "stableaa/experiment/report/report_parts_test.h"
#include "stableaa/experiment/report/written_runs_test.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::curves_test {

namespace fs = std::filesystem;

// Two runs of dqn, one of raa.
const std::vector<MadeRun> kRuns = {{.preset = "dqn", .seed = 1, .returns = {1, 3}},
                                    {.preset = "dqn", .seed = 2, .returns = {3, 7}},
                                    {.preset = "raa", .seed = 1, .returns = {2, 2}}};

TEST(ReportCurves, NumbersAreThoseOfEveryEvaluation) {
  MadeReport report(kRuns);
  AddCurves(*report);
  // √2, √8; with two runs, the interval is their range.
  EXPECT_EQ(report.Csv("curves"),
            "env,variant,step,runs,mean,std,iqm,low,high,carried\n"
            "minatar/breakout,dqn,10,2,2,1.4142135623730951,2,1,3,0\n"
            "minatar/breakout,dqn,20,2,5,2.8284271247461903,5,3,7,0\n"
            "minatar/breakout,raa,10,1,2,,2,,,0\n"
            "minatar/breakout,raa,20,1,2,,2,,,0\n");
}

TEST(ReportCurves, MeanAndIqmAreDrawnWithTheirBands) {
  MadeReport report(kRuns);
  AddCurves(*report);
  EXPECT_EQ(report.FigureNames(), (std::vector<std::string>{"curve-mean-minatar-breakout",
                                                            "curve-iqm-minatar-breakout"}));
  const ReportFigure& iqm = report.Figure("curve-iqm-minatar-breakout");
  EXPECT_TRUE(Holds(iqm.picture.script, "$line0 << EOD\n10 2 1 3\n20 5 3 7\nEOD\n"));
  EXPECT_TRUE(Holds(iqm.picture.script, "$line1 << EOD\n10 2 2 2\n20 2 2 2\nEOD\n"));
  EXPECT_EQ(CountOf(iqm.picture.script, "filledcurves"), 1U) << "one run has no interval";
  EXPECT_EQ(iqm.caption,
            "minatar/breakout: interquartile mean and its 95 % bootstrap interval; 1 to 2 runs "
            "each, evaluations up to step 20.");
  const ReportFigure& mean = report.Figure("curve-mean-minatar-breakout");
  EXPECT_TRUE(Holds(mean.picture.script, "20 5 2.1715728752538097 7.82842712474619\n"))
      << mean.picture.script;
  EXPECT_EQ(mean.caption,
            "minatar/breakout: mean ± standard deviation over runs; 1 to 2 runs each, evaluations "
            "up to step 20.");
}

TEST(ReportCurves, OfSingleRunsThereIsOnlyTheCurve) {
  MadeReport report(std::vector<MadeRun>{{.returns = {1, 2}}});
  AddCurves(*report);
  EXPECT_EQ(report.FigureNames(), std::vector<std::string>{"curve-mean-minatar-breakout"});
  EXPECT_EQ(report.Section("curves").figures[0].caption,
            "minatar/breakout: return of evaluations; 1 run each, evaluations up to step 20.");
}

TEST(ReportCurves, EnvironmentsTogetherAreNormalisedOverSharesOfTheSteps) {
  // Smallest and largest evaluations: 0 and 10, 100 and 200.
  MadeReport report(std::vector<MadeRun>{
      {.env = "minatar/breakout", .preset = "dqn", .returns = {0, 10}},
      {.env = "minatar/breakout", .preset = "raa", .returns = {5, 5}},
      {.env = "minatar/freeway", .preset = "dqn", .returns = {100, 200}, .interval = 500},
      {.env = "minatar/freeway", .preset = "raa", .returns = {150, 150}, .interval = 500}});
  AddCurves(*report);
  EXPECT_EQ(report.Csv("curves_all"),
            "variant,share_of_steps,runs,mean,std,iqm,low,high,carried\n"
            "dqn,0.5,2,0,0,0,,,0\n"
            "dqn,1,2,1,0,1,,,0\n"
            "raa,0.5,2,0.5,0,0.5,,,0\n"
            "raa,1,2,0.5,0,0.5,,,0\n");
  const ReportFigure& figure = report.Figure("curve-mean-all");
  EXPECT_TRUE(Holds(figure.picture.script, "\n50 0 0 0\n100 1 1 1\n")) << figure.picture.script;
  EXPECT_TRUE(
      figure.caption.starts_with("All 2 environments together: mean ± standard deviation "
                                 "over runs and environments. Returns are min–max"))
      << figure.caption;
}

// Like the paper's Figure 1.
TEST(ReportCurves, EnvironmentsStandSideBySideFirst) {
  std::vector<MadeRun> runs;
  for (const std::uint64_t seed : {1, 2}) {
    for (const char* const env : {"minatar/breakout", "minatar/freeway", "minatar/asterix"}) {
      runs.push_back({.env = env, .preset = "dqn", .seed = seed, .returns = {1, 2, 3, 4}});
    }
    runs.push_back({.env = "minatar/freeway", .preset = "raa", .seed = seed, .returns = {1, 2, 3}});
  }
  MadeReport report(runs, {.colours = {"raa=#abcdef"}, .order = {"raa,minatar/freeway"}});
  AddCurves(*report);
  const std::vector<std::string> names = report.FigureNames();
  EXPECT_EQ(names[0], "curves-all");
  EXPECT_EQ(names[1], "curves-all-iqm");
  const ReportFigure& figure = report.Figure("curves-all");
  EXPECT_EQ(figure.caption,
            "3 environments side by side: mean ± standard deviation over runs; 2 runs each.");
  const std::string& script = figure.picture.script;
  const std::size_t freeway = script.find("'minatar/freeway'"),
                    asterix = script.find("'minatar/asterix'"),
                    breakout = script.find("'minatar/breakout'");
  EXPECT_LT(freeway, asterix) << "as told";
  EXPECT_LT(asterix, breakout);
  ASSERT_NE(breakout, std::string::npos);
  EXPECT_LT(script.find("set label 'raa'"), script.find("set label 'dqn'")) << "as told";
  EXPECT_EQ(CountOf(script, "set label 'dqn'"), 1U) << "one legend for all";
  EXPECT_EQ(CountOf(script, "linecolor rgb '#abcdef' dashtype 1 "), 2U) << "legend and freeway";
  EXPECT_EQ(CountOf(script, "linecolor rgb '#D55E00' dashtype 2 "), 4U) << "the same everywhere";
}

TEST(ReportCurves, OfManyVariantsOfOnePresetThereAreNoBands) {
  std::vector<MadeRun> runs;
  for (const char* const eta : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    for (const std::uint64_t seed : {1, 2}) {
      runs.push_back({.preset = "stable-reg",
                      .seed = seed,
                      .returns = {1, static_cast<double>(seed)},
                      .settings = {std::string("agent.eta=") + eta}});
    }
  }
  const std::string sentence = "Figures of more than 7 variants have no bands, ";
  MadeReport eight(runs);
  AddCurves(*eight);
  ASSERT_EQ(eight.Section("curves").paragraphs.size(), 1U);
  EXPECT_TRUE(eight.Section("curves").paragraphs[0].starts_with(sentence));
  EXPECT_FALSE(Holds(eight.Figure("curve-iqm-minatar-breakout").picture.script, "filledcurves"));
  runs.resize(14);
  MadeReport seven(runs);
  AddCurves(*seven);
  EXPECT_TRUE(seven.Section("curves").paragraphs.empty());
  EXPECT_EQ(CountOf(seven.Figure("curve-iqm-minatar-breakout").picture.script, "filledcurves"), 7U);
}

// Like the paper's Figure 2.
TEST(FullReport, DrawsCurvesOfManyVariantsByPreset) {
  const FolderOfRuns folder;
  const auto write = [&](const std::string& preset, const std::string& setting) {
    for (const std::uint64_t seed : {1, 2}) {
      WriteRun(folder / "runs" / (preset + setting + std::to_string(seed)), "minatar/breakout",
               preset, seed, {1, 2 + static_cast<double>(seed)}, {setting});
    }
  };
  for (const char* const eta : {"0.01", "0.1", "1"}) {
    write("stable-reg", std::string("agent.eta=") + eta);
  }
  for (const char* const omega : {"1", "5", "10"}) {
    write("dueling-mellowmax", std::string("agent.omega=") + omega);
  }
  write("dueling-dqn", "agent.discount=0.9");
  const ReportOptions options{.directories = {folder / "runs"}, .out = folder / "report"};
  WriteReport(options);
  const fs::path figures = folder / "report" / "figures";
  EXPECT_TRUE(fs::exists(figures / "curve-iqm-minatar-breakout.svg")) << "seven fit into one";
  write("stable-aa", "agent.discount=0.9");
  fs::remove_all(folder / "report");
  WriteReport(options);
  EXPECT_FALSE(fs::exists(figures / "curve-iqm-minatar-breakout.svg"));
  const std::string eta = FileContent(figures / "curve-mean-minatar-breakout-stable-reg.svg");
  for (const char* const label : {"dueling-dqn", "stable-aa", "η = 0.01", "η = 0.1", "η = 1.0"}) {
    EXPECT_NE(eta.find(label), std::string::npos) << label;
  }
  EXPECT_EQ(eta.find("ω"), std::string::npos);
  EXPECT_NE(FileContent(figures / "curve-iqm-minatar-breakout-dueling-mellowmax.svg").find("ω"),
            std::string::npos);
  const std::string page = FileContent(folder / "report" / "index.html");
  EXPECT_NE(
      page.find("minatar/breakout, stable-reg beside presets of one variant: mean ± standard"),
      std::string::npos);
  EXPECT_EQ(page.find("have no bands"), std::string::npos);
}

}  // namespace stableaa::curves_test
