#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "stableaa/experiment/report/parts.h"
#include "stableaa/experiment/report/report_parts_test.h"

namespace stableaa::ablations_test {

// One run of stable-reg with these values and this final return.
MadeRun StableReg(double final, const std::vector<std::string>& settings, std::uint64_t seed = 1) {
  return {.preset = "stable-reg", .seed = seed, .returns = {final}, .settings = settings};
}

TEST(ReportAblations, AreFinalScoresOverTheValuesOfAKey) {
  MadeReport report(std::vector<MadeRun>{StableReg(8, {"agent.eta=10"}),
                                         StableReg(1, {"agent.eta=0.1"}),
                                         StableReg(4, {"agent.eta=1"}, 1),
                                         StableReg(6, {"agent.eta=1"}, 2),
                                         {.preset = "dqn", .returns = {9}}});
  AddAblations(*report);
  EXPECT_EQ(report.Csv("ablations"),
            "preset,key,value,others,env,runs,mean,std,iqm,low,high\n"
            "stable-reg,agent.eta,0.1,,minatar/breakout,1,1,,1,,\n"
            "stable-reg,agent.eta,1.0,,minatar/breakout,2,5,1.4142135623730951,5,4,6\n"
            "stable-reg,agent.eta,10.0,,minatar/breakout,1,8,,8,,\n");
  ASSERT_EQ(report.FigureNames(),
            std::vector<std::string>{"ablation-stable-reg-agent.eta-minatar-breakout"});
  const ReportFigure& figure = report.Section("ablations").figures[0];
  EXPECT_TRUE(Holds(figure.picture.script, "$line0 << EOD\n0.1 1 1 1\n1 5 4 6\n10 8 8 8\nEOD\n"));
  EXPECT_EQ(figure.caption,
            "minatar/breakout, stable-reg: final score over η (agent.eta), IQM with 95 % bootstrap "
            "interval; 1 to 2 runs each.");
}

TEST(ReportAblations, ValuesThatSpanADecadeStandOnALogarithmicAxis) {
  const auto script = [](const std::string& low, const std::string& high) {
    MadeReport report(std::vector<MadeRun>{StableReg(1, {"agent.eta=" + low}),
                                           StableReg(2, {"agent.eta=" + high})});
    AddAblations(*report);
    return report.Section("ablations").figures.at(0).picture.script;
  };
  EXPECT_TRUE(Holds(script("0.5", "5"), "set logscale x\n"));
  EXPECT_FALSE(Holds(script("0.5", "4.9"), "set logscale x\n"));
  EXPECT_FALSE(Holds(script("0", "10"), "set logscale x\n")) << "zero has no logarithm";
}

TEST(ReportAblations, HaveTicksAtTheirValuesOnly) {
  const auto script = [](const std::vector<std::string>& values) {
    std::vector<MadeRun> runs;
    for (const std::string& value : values) runs.push_back(StableReg(1, {"agent.eta=" + value}));
    MadeReport report(runs);
    AddAblations(*report);
    return report.Section("ablations").figures.at(0).picture.script;
  };
  EXPECT_TRUE(Holds(script({"0.01", "1", "0.1"}), "set xtics ('0.01' 0.01, '0.1' 0.1, '1' 1)\n"));
  EXPECT_TRUE(Holds(script({"2", "5", "8"}), "set xtics ('2' 2, '5' 5, '8' 8)\n"));
  // Too close together by value: side by side.
  const std::string even = script({"0", "0.1", "0.5", "20"});
  EXPECT_TRUE(Holds(even, "set xtics ('0' 1, '0.1' 2, '0.5' 3, '20' 4)\n")) << even;
  EXPECT_TRUE(Holds(even, "$line0 << EOD\n1 1 1 1\n2 1 1 1\n3 1 1 1\n4 1 1 1\nEOD\n")) << even;
  EXPECT_FALSE(Holds(even, "set logscale x\n"));
}

TEST(ReportAblations, EachChoiceOfTheOtherKeysIsALine) {
  MadeReport report(std::vector<MadeRun>{StableReg(1, {"agent.eta=1", "agent.targets=2"}),
                                         StableReg(2, {"agent.eta=2", "agent.targets=2"}),
                                         StableReg(3, {"agent.eta=1", "agent.targets=3"}),
                                         StableReg(4, {"agent.eta=2", "agent.targets=3"})});
  AddAblations(*report);
  EXPECT_EQ(report.FigureNames(),
            (std::vector<std::string>{"ablation-stable-reg-agent.eta-minatar-breakout",
                                      "ablation-stable-reg-agent.targets-minatar-breakout"}));
  const std::string& eta = report.Section("ablations").figures[0].picture.script;
  EXPECT_TRUE(Holds(eta, "$line0 << EOD\n1 1 1 1\n2 2 2 2\nEOD\n")) << eta;
  EXPECT_TRUE(Holds(eta, "$line1 << EOD\n1 3 3 3\n2 4 4 4\nEOD\n")) << eta;
  EXPECT_TRUE(Holds(eta, "stable-reg, m = 2"));
  const std::string& targets = report.Section("ablations").figures[1].picture.script;
  EXPECT_TRUE(Holds(targets, "$line0 << EOD\n2 1 1 1\n3 3 3 3\nEOD\n")) << targets;
}

TEST(ReportAblations, KeysThatAreNoNumbersHaveNone) {
  MadeReport report(std::vector<MadeRun>{StableReg(1, {"agent.loss=\"huber\""}),
                                         StableReg(2, {"agent.loss=\"squared\""})});
  ASSERT_EQ(report->labels.size(), 2U);
  AddAblations(*report);
  EXPECT_FALSE(report.HasSection("ablations"));
}

TEST(ReportAblations, PresetsAreNotCompared) {
  MadeReport report(
      std::vector<MadeRun>{{.preset = "dqn", .returns = {1}}, {.preset = "raa", .returns = {1}}});
  AddAblations(*report);
  EXPECT_FALSE(report.HasSection("ablations"));
}

}  // namespace stableaa::ablations_test
