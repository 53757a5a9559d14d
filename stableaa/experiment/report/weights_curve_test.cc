#include "stableaa/experiment/report/weights_curve.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>

#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::weights_curve_test {

namespace fs = std::filesystem;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

EvaluationResult Result(double mean, double deviation) {
  return {.episodes = 3, .return_mean = mean, .return_std = deviation, .length_mean = 12.5};
}

TEST(WeightsCurve, TheTableHasEveryDigit) {
  const TemporaryFolder folder;
  {
    WeightsCurveTable table(folder / "c.csv");
    table.Add(100, Result(0.1, 1.0 / 3));
    table.Add(2'000'000'000'000, Result(-7, kNaN));
    EXPECT_FALSE(fs::exists(folder / "c.csv"));
    EXPECT_EQ(table.rows(), 2);
    table.Commit();
  }
  EXPECT_EQ(FileContent(folder / "c.csv"),
            "step,episodes,return_mean,return_std,length_mean\n"
            "100,3,0.10000000000000001,0.33333333333333331,12.5\n"
            "2000000000000,3,-7,,12.5\n");
}

TEST(WeightsCurve, IsDrawnInThreeFormats) {
  const TemporaryFolder folder;
  for (const auto& [name, start] :
       {std::pair("c.svg", "<?xml"), {"c.png", "\x89PNG"}, {"c.pdf", "%PDF"}}) {
    WeightsCurvePlot plot(folder / name);
    plot.Draw("a title", {{10'000, Result(1, 2)}, {20'000, Result(3, 1)}, {30'000, Result(2, 1)}});
    EXPECT_TRUE(FileContent(folder / name).starts_with(start)) << name;
  }
  const std::string svg = FileContent(folder / "c.svg");
  for (const std::string word : {"a title", "thousand steps", "standard deviation"}) {
    EXPECT_NE(svg.find(word), std::string::npos) << word;
  }
  // One point, of one game.
  WeightsCurvePlot plot(folder / "one.svg");
  plot.Draw("one", {{10, Result(1, kNaN)}});
  EXPECT_EQ(FileContent(folder / "one.svg").find("deviation"), std::string::npos);
}

TEST(WeightsCurve, OtherPicturesAreRefused) {
  const TemporaryFolder folder;
  ExpectBadInput([&] { WeightsCurvePlot(folder / "c.gif"); }, ".svg, .png or .pdf");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace stableaa::weights_curve_test
