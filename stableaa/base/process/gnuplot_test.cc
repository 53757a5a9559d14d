#include "stableaa/base/process/gnuplot.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "stableaa/base/files/directories.h"
#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/process/process_test.h"
#include "stableaa/core/error.h"
#include "stableaa/core/stopwatch.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::gnuplot_test {

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
  EXPECT_EQ(Printed("\u009b1m \u202e. \xff."), " 1m  . ?.\n");
}

TEST_F(Gnuplot, AnSvgIsXmlWhateverItsText) {
  const std::string svg =
      GnuplotSvg({.script = "plot x title " + GnuplotQuoted("a <b> & c]]]>]]>") + "\n"});
  EXPECT_NE(svg.find("a &lt;b> &amp; c]]]&gt;]]&gt;"), std::string::npos) << svg;
  EXPECT_EQ(svg.find("]]>"), std::string::npos);
}

TEST_F(Gnuplot, SaysWhatIsWrongWithAScript) {
  const std::string message =
      MessageOf([] { RunGnuplot("plot nonsense(x)\n"); }, Error::Kind::kWorkFailed);
  EXPECT_NE(message.find("gnuplot ended with exit code"), std::string::npos) << message;
  EXPECT_NE(message.find("undefined function: nonsense"), std::string::npos) << message;
}

TEST_F(Gnuplot, DoesNotReadTheSettingsOfTheUser) {
  const TemporaryFolder home;
  std::ofstream(home / ".gnuplot") << "mine = 1\n";
  const char* former = std::getenv("HOME");
  const std::string kept = former == nullptr ? "" : former;
  setenv("HOME", home.path().c_str(), 1);
  EXPECT_EQ(RunGnuplot("set print '-'\nprint exists('mine')\n"), "0\n");
  setenv("HOME", kept.c_str(), 1);
}

TEST(GnuplotProgram, ThatIsMissingIsWorkThatFailsAndNamesThePackage) {
  const char* former = std::getenv("PATH");
  const std::string path = former == nullptr ? "" : former;
  setenv("PATH", "/nowhere", 1);
  const std::string message = MessageOf([] { CheckGnuplot(); }, Error::Kind::kWorkFailed);
  setenv("PATH", path.c_str(), 1);
  EXPECT_TRUE(message.starts_with("a plot needs gnuplot (Debian: gnuplot-nox): cannot start"))
      << message;
}

// A program of that name that runs the given script, with only the system's directories in PATH
// besides.
class FullGnuplotStandIn : public testing::Test {
 protected:
  FullGnuplotStandIn() { setenv("STABLEAA_TOOL_SECONDS", "2", 1); }
  ~FullGnuplotStandIn() override {
    setenv("PATH", former_path_.c_str(), 1);
    unsetenv("STABLEAA_TOOL_SECONDS");
  }

  void Replace(const std::string& script) {
    const std::filesystem::path program = folder_.path() / "gnuplot";
    std::ofstream(program) << "#!/bin/sh\n" << script << '\n';
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    setenv("PATH", (folder_.path().string() + ":/usr/bin:/bin").c_str(), 1);
  }

  template <typename Draw>
  static std::string FailureOf(Draw draw) {
    return MessageOf(draw, Error::Kind::kWorkFailed);
  }

  std::string Noted(const std::string& name) const {
    std::ifstream file(folder_.path() / name);
    std::string text;
    std::getline(file, text);
    return text;
  }

  const TemporaryDirectory folder_{"gnuplot_test."};

 private:
  const char* const path_ = std::getenv("PATH");
  const std::string former_path_ = path_ == nullptr ? "" : path_;
};

TEST_F(FullGnuplotStandIn, ThatHangsIsKilledWithAllItHasStarted) {
  const std::string pid = (folder_.path() / "pid").string();
  for (const std::string& script :
       {"sleep 100 & echo $! >" + pid + "; wait",
        "trap '' TERM INT HUP; echo $$ >" + pid + "; while :; do sleep 100; done",
        "exec <&-; echo $$ >" + pid + "; exec sleep 100"}) {
    Replace(script);
    const Stopwatch stopwatch;
    EXPECT_EQ(FailureOf(CheckGnuplot),
              "gnuplot has not got on for 2 s and was killed (STABLEAA_TOOL_SECONDS in the "
              "environment sets this limit)");
    EXPECT_LT(stopwatch.Seconds(), 60);
    EXPECT_TRUE(DiesWithin(std::stoi(Noted("pid")), 60)) << script;
  }
}

TEST_F(FullGnuplotStandIn, ThatDrawsNothingIsAFailure) {
  setenv("STABLEAA_TOOL_SECONDS", "30", 1);
  for (const std::string script :
       {"exit 0", "echo garbage", "cat", "printf '\\211PNG'", "echo %PDF"}) {
    Replace(script);
    for (const auto& draw : {std::function<void()>(CheckGnuplot),
                             std::function<void()>([] { GnuplotSvg({.script = "plot x\n"}); }),
                             std::function<void()>([] { GnuplotPng({.script = "plot x\n"}); }),
                             std::function<void()>([] { GnuplotPdf({.script = "plot x\n"}); })}) {
      EXPECT_EQ(FailureOf(draw), "gnuplot has drawn no picture") << script;
    }
  }
}

TEST_F(FullGnuplotStandIn, ThatFloodsUsIsKilled) {
  setenv("STABLEAA_TOOL_SECONDS", "30", 1);
  Replace("exec cat /dev/zero");
  EXPECT_NE(FailureOf(CheckGnuplot).find("has written more than"), std::string::npos);
}

TEST_F(FullGnuplotStandIn, ThatComplainsIsQuotedOnOneLine) {
  setenv("STABLEAA_TOOL_SECONDS", "30", 1);
  Replace("printf '\\033]0;x\\007\\nstableaa: done\\n' >&2; exit 3");
  EXPECT_EQ(FailureOf(CheckGnuplot),
            "gnuplot ended with exit code 3: \\u001B]0;x\\u0007\\nstableaa: done\\n");
}

// It stops at the first signal, not at the time limit. A signal from before the drawing began was
// meant for something else.
TEST_F(FullGnuplotStandIn, IsLeftAtOnceWhenInterrupted) {
  setenv("STABLEAA_TOOL_SECONDS", "30", 1);
  Replace("kill -INT " + std::to_string(::getpid()) + "; exec sleep 100");
  const InterruptGuard guard;
  EXPECT_EQ(FailureOf(CheckGnuplot), "interrupted");
  Replace("exit 0");
  EXPECT_EQ(FailureOf(CheckGnuplot), "gnuplot has drawn no picture");
}

TEST(GnuplotColours, AreAllDifferentBeforeTheyRepeat) {
  std::set<std::string_view> colours;
  for (std::size_t i = 0; i < kGnuplotColours; ++i) colours.insert(GnuplotColour(i));
  EXPECT_EQ(colours.size(), kGnuplotColours);
  EXPECT_EQ(GnuplotColour(kGnuplotColours), GnuplotColour(0));
}

}  // namespace stableaa::gnuplot_test
