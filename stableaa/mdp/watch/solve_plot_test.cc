#include "stableaa/mdp/watch/solve_plot.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::solve_plot_test {

class SolvePlotFile : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("gnuplot --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs gnuplot";
  }

  void Draw(const std::vector<SolveCurve>& curves) const { SolvePlot(path_).Draw(curves, 1e-6); }

  std::string Content() const {
    std::ifstream file(path_, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
  }

  const TemporaryFolder directory_;
  const std::filesystem::path path_ = directory_ / "p.svg";
};

const std::vector<SolveCurve>& TwoCurves() {
  static const std::vector<SolveCurve> curves = {
      {"vi a<b>&'c\", d.drn", {{0.1, 10, 1}, {0.2, 0.1, 0.01}, {0.3, 1e-7, 1e-9}}},
      {"gs", {{0.1, kNothing, 1}, {0.15, kNothing, 0.1}, {0.2, kNothing, 0.01}, {0.3, 1e-7, 0}}}};
  return curves;
}

TEST_F(SolvePlotFile, IsAPictureWithTheLabelsOfAllRuns) {
  Draw(TwoCurves());
  const std::string text = Content();
  EXPECT_TRUE(text.starts_with("<?xml")) << text.substr(0, 80);
  EXPECT_NE(text.find("<svg"), std::string::npos);
  EXPECT_TRUE(text.ends_with("</svg>\n\n") || text.ends_with("</svg>\n"));
  EXPECT_NE(text.find("<text>vi a&lt;b>&amp;'c\", d.drn</text>"), std::string::npos);
  EXPECT_NE(text.find("tolerance 1e-06"), std::string::npos);
  EXPECT_NE(text.find("seconds"), std::string::npos);
}

TEST_F(SolvePlotFile, KeepsItsCurvesToTheBit) {
  Draw(TwoCurves());
  const std::vector<SolveCurve> curves = ReadPlot(path_);
  ASSERT_EQ(curves.size(), 2U);
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_EQ(curves[c].label, TwoCurves()[c].label);
    ASSERT_EQ(curves[c].points.size(), TwoCurves()[c].points.size());
    for (std::size_t i = 0; i < curves[c].points.size(); ++i) {
      const SolveCurve::Point& expected = TwoCurves()[c].points[i];
      EXPECT_EQ(curves[c].points[i].seconds, expected.seconds);
      EXPECT_EQ(curves[c].points[i].residual, expected.residual);
      EXPECT_TRUE(curves[c].points[i].error == expected.error ||
                  (std::isnan(curves[c].points[i].error) && std::isnan(expected.error)));
    }
  }
}

TEST_F(SolvePlotFile, MayBeOfRunsWithoutAnythingToDraw) {
  Draw({{"empty", {}}, {"converged at once", {{0, 0, 0}}}});
  EXPECT_EQ(ReadPlot(path_).size(), 1U);
}

TEST_F(SolvePlotFile, MissingOrEmptyHasNoCurvesAndAnotherFileIsRefused) {
  EXPECT_TRUE(ReadPlot(path_).empty());
  std::ofstream(path_).close();
  EXPECT_TRUE(ReadPlot(path_).empty());
  for (const std::string content :
       {"<svg></svg>", "hello", "<metadata id=\"stableaa-solves\">\n",
        "<metadata id=\"stableaa-solves\">\n</metadata>\n",
        "<metadata id=\"stableaa-solves\">\nrun,seconds,error,residual\na,b,c,d\n</metadata>\n"}) {
    std::ofstream(path_, std::ios::binary) << content;
    EXPECT_THROW(ReadPlot(path_), Error) << content;
  }
}

}  // namespace stableaa::solve_plot_test
