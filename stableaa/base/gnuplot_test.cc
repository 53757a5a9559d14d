#include "stableaa/base/gnuplot.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "stableaa/base/error.h"

namespace stableaa {
namespace {

class Gnuplot : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("gnuplot --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs gnuplot";
  }
};

// What gnuplot itself makes of a string.
std::string Printed(const std::string& text) {
  return RunGnuplot("set print '-'\nprint " + GnuplotQuoted(text) + "\n");
}

TEST_F(Gnuplot, DrawsAPictureInMemory) {
  CheckGnuplot();
  const std::string svg = RunGnuplot(
      "set terminal svg noenhanced\n$data << EOD\n1 2\n2 3\nEOD\n"
      "plot $data with lines title " +
      GnuplotQuoted("'a_b' 'c'") + "\n");
  EXPECT_TRUE(svg.starts_with("<?xml")) << svg.substr(0, 80);
  EXPECT_NE(svg.find("'a_b' 'c'"), std::string::npos);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
}

TEST_F(Gnuplot, PicturesMayHoldAnyBytes) {
  const std::string png = RunGnuplot("set terminal pngcairo size 100, 80\nplot x\n");
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
}

TEST_F(Gnuplot, TakesQuotedTextAsItIs) {
  for (const std::string text : {"plain", "it's", "''", "'a", "a'''b'", "a\"b", "back\\nslash",
                                 "$x `date` @y %d {/:} #", "γ → ∞", ""}) {
    EXPECT_EQ(Printed(text), text + "\n");
  }
}

TEST_F(Gnuplot, TextCannotEndItsLine) {
  EXPECT_EQ(Printed("one\nprint 'two'\r\t\x7f."), "one print 'two'   .\n");
}

TEST_F(Gnuplot, SaysWhatIsWrongWithAScript) {
  try {
    RunGnuplot("plot nonsense(x)\n");
    FAIL() << "has drawn nonsense";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kWorkFailed);
    EXPECT_NE(std::string(error.what()).find("gnuplot ended with exit code"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("undefined function: nonsense"), std::string::npos)
        << error.what();
  }
}

TEST_F(Gnuplot, DoesNotReadTheSettingsOfTheUser) {
  const std::string pattern = testing::TempDir() + "gnuplot_test.XXXXXX";
  std::string home = pattern;
  ASSERT_NE(mkdtemp(home.data()), nullptr);
  const std::string settings = home + "/.gnuplot";
  ASSERT_EQ(std::system(("echo 'mine = 1' > " + settings).c_str()), 0);
  const char* former = std::getenv("HOME");
  const std::string kept = former == nullptr ? "" : former;
  setenv("HOME", home.c_str(), 1);
  EXPECT_EQ(RunGnuplot("set print '-'\nprint exists('mine')\n"), "0\n");
  setenv("HOME", kept.c_str(), 1);
  ASSERT_EQ(std::system(("rm " + settings + " && rmdir " + home).c_str()), 0);
}

TEST(GnuplotProgram, ThatIsMissingIsBadInputThatNamesThePackage) {
  const char* former = std::getenv("PATH");
  const std::string path = former == nullptr ? "" : former;
  setenv("PATH", "/nowhere", 1);
  std::string message;
  try {
    CheckGnuplot();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
    message = error.what();
  }
  setenv("PATH", path.c_str(), 1);
  EXPECT_TRUE(message.starts_with("a plot needs gnuplot (Debian: gnuplot-nox): cannot start"))
      << message;
}

TEST(GnuplotColours, AreAllDifferentBeforeTheyRepeat) {
  std::set<std::string_view> colours;
  for (std::size_t i = 0; i < kGnuplotColours; ++i) colours.insert(GnuplotColour(i));
  EXPECT_EQ(colours.size(), kGnuplotColours);
  EXPECT_EQ(GnuplotColour(kGnuplotColours), GnuplotColour(0));
}

}  // namespace
}  // namespace stableaa
