#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stableaa/experiment/report/parts.h"
#include "stableaa/experiment/report/report_parts_test.h"

namespace stableaa::mixing_test {

const std::string kHeader = "step,gain,gain_held_out,tau_norm,alpha_1,alpha_2\n";
const std::vector<std::string> kTwoTargets = {"agent.targets=2"};

// Two runs; the second goes beyond the compared step, 20.
std::vector<MadeRun> Runs() {
  return {{.preset = "stable-aa",
           .seed = 1,
           .returns = {1, 2},
           .settings = kTwoTargets,
           .metrics = kHeader + "10,0.5,0.75,2,,1\n20,0.25,0.5,3,0.25,0.75\n"},
          {.preset = "stable-aa",
           .seed = 2,
           .returns = {1, 2},
           .settings = kTwoTargets,
           .metrics = kHeader + "10,1,1,2,,1\n20,0.75,,3,0.5,0.5\n30,9,9,9,9,9\n"},
          {.preset = "dqn", .seed = 1, .returns = {1, 2}, .metrics = kHeader + "10,7,7,7,7,7\n"}};
}

TEST(ReportMixing, WeightsAndGainsAreMeansOverTheRunsThatHaveThem) {
  MadeReport report(Runs());
  AddMixing(*report);
  ASSERT_EQ(report.FigureNames(), std::vector<std::string>{"mixing-minatar-breakout-stable-aa"});
  const std::string& script = report.Section("mixing").figures[0].picture.script;
  // The older network has a weight from step 20 on.
  EXPECT_TRUE(Holds(script, "$panel0_0 << EOD\n20 0.375 0.375 0.375\nEOD\n")) << script;
  EXPECT_TRUE(Holds(script, "$panel0_1 << EOD\n10 1 1 1\n20 0.625 0.625 0.625\nEOD\n")) << script;
  EXPECT_TRUE(Holds(script, "$panel1_0 << EOD\n10 0.75 0.75 0.75\n20 0.5 0.5 0.5\nEOD\n"))
      << script;
  EXPECT_TRUE(Holds(script, "$panel1_1 << EOD\n10 0.875 0.875 0.875\n20 0.5 0.5 0.5\nEOD\n"))
      << script;
  for (const char* const label : {"newest", "-1", "fitted", "held out"}) {
    EXPECT_EQ(CountOf(script, std::string("set label '") + label + "'"), 1U) << label << "\n"
                                                                             << script;
  }
  EXPECT_EQ(report.Section("mixing").figures[0].caption,
            "minatar/breakout, stable-aa: mixing weights of the 2 target networks (newest, and how "
            "many shifts older) and the gain, the mixed residual over the newest network's; means "
            "over 2 runs.");
}

TEST(ReportMixing, OfContinuousControlCriticsAreMixedAndTheSpreadIsTold) {
  const std::string header = "step,alpha_spread,gain,alpha_1,alpha_2\n";
  MadeReport report(std::vector<MadeRun>{
      {.preset = "td3-stable",
       .seed = 1,
       .returns = {1, 2},
       .settings = kTwoTargets,
       .metrics = header + "10,9,0.5,0.5,0.5\n20,0.25,0.5,0.75,0.25\n30,9,9,9,9\n"},
      {.preset = "td3-stable",
       .seed = 2,
       .returns = {1, 2},
       .settings = kTwoTargets,
       .metrics = header + "10,9,0.5,0.5,0.5\n20,0.75,0.5,0.75,0.25\n"},
      {.preset = "td3-raa",
       .seed = 1,
       .returns = {1, 2},
       .settings = kTwoTargets,
       .metrics = header + "10,,0.5,0.5,0.5\n20,,0.5,0.75,0.25\n"}});
  AddMixing(*report);
  const ReportSection& section = report.Section("mixing");
  ASSERT_EQ(section.figures.size(), 2U);
  const bool raa_first = Holds(section.figures[0].caption, "td3-raa");
  EXPECT_EQ(section.figures[raa_first ? 1 : 0].caption,
            "minatar/breakout, td3-stable: mixing weights of the 2 critics (newest, and how many "
            "copies older) and the gain, the mixed residual over the newest critic's; means over 2 "
            "runs. Mean of ‖α − 1/m‖ over the later half of the steps, 0 for equal weights: 0.5.");
  EXPECT_TRUE(Holds(section.figures[raa_first ? 0 : 1].caption,
                    "2 critics (newest, and how many Polyak averages older)"));
}

TEST(ReportMixing, TheTableHasEveryRow) {
  MadeReport report(Runs());
  AddMixing(*report);
  EXPECT_EQ(report.Csv("mixing"),
            "env,variant,seed,step,gain,gain_held_out,tau_norm,alphas\n"
            "minatar/breakout,stable-aa,1,10,0.5,0.75,2,1\n"
            "minatar/breakout,stable-aa,1,20,0.25,0.5,3,0.25 0.75\n"
            "minatar/breakout,stable-aa,2,10,1,1,2,1\n"
            "minatar/breakout,stable-aa,2,20,0.75,,3,0.5 0.5\n"
            "minatar/breakout,stable-aa,2,30,9,9,9,9 9\n");
}

TEST(ReportMixing, WhatMixesNothingHasNoSection) {
  for (const char* const preset : {"dqn", "averaged-dqn"}) {
    MadeReport report(std::vector<MadeRun>{
        {.preset = preset, .returns = {1}, .metrics = kHeader + "10,1,1,1,1,1\n"}});
    AddMixing(*report);
    EXPECT_FALSE(report.HasSection("mixing")) << preset;
  }
}

TEST(ReportMixing, APanelWithoutNumbersIsLeftOut) {
  MadeReport report(std::vector<MadeRun>{
      {.preset = "stable-aa", .returns = {1}, .metrics = "step,gain\n10,0.5\n"}});
  AddMixing(*report);
  const std::string& script = report.Section("mixing").figures.at(0).picture.script;
  EXPECT_TRUE(Holds(script, "$panel0_0 << EOD\n10 0.5 0.5 0.5\nEOD\n")) << script;
  EXPECT_FALSE(Holds(script, "$panel1_0"));
  MadeReport none(std::vector<MadeRun>{{.preset = "stable-aa", .returns = {1}}});
  AddMixing(*none);
  EXPECT_FALSE(none.HasSection("mixing"));
}

}  // namespace stableaa::mixing_test
