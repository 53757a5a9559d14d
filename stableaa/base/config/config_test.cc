#include "stableaa/base/config/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <stdexcept>

#include "stableaa/core/error.h"

namespace stableaa::config_test {

enum class WeightRule { kVanilla, kRaa, kStable };

struct Options {
  int memory = 5;
  double damping = 1;
  double eta = 0.1;
  double bound = 1;
  WeightRule weights = WeightRule::kVanilla;
  bool safeguard = true;
  std::int64_t steps = 1000;
  std::uint64_t seed = 0;
  std::string python = "python3";
  std::vector<double> levels = {0.5};
  std::vector<std::string> games;

  bool operator==(const Options&) const = default;
};

void Describe(Config& config, Options& options) {
  config.Int("seed", &options.seed, {}, "Where all randomness comes from.");
  config.Int("anderson.memory", &options.memory, {0, 100}, "Differences in the window.");
  config.Real("anderson.damping", &options.damping, {.above = 0, .at_most = 2}, "Step length.");
  config.Real("anderson.eta", &options.eta, {.at_least = 0, .below = 10}, "Size of the ridge.");
  config.Choice("anderson.weights.rule", &options.weights,
                {{"vanilla", WeightRule::kVanilla},
                 {"raa", WeightRule::kRaa},
                 {"stable", WeightRule::kStable}},
                "How the mixing weights are found.");
  config.Bool("anderson.safeguard", &options.safeguard, "Reject steps that make it worse.");
  config.Int("train.steps", &options.steps, {.at_least = 1}, "Environment steps.");
  config.Text("env.python", &options.python, "Interpreter for the worker.");
  config.Real("anderson.bound", &options.bound, {.at_least = 0, .infinite = true}, "May be inf.");
  config.List("report.levels", &options.levels, {.above = 0, .below = 1}, "Quantiles.");
  config.List("report.games", &options.games, "Games to show.");
}

// A configuration with its options; each test changes its own.
class ConfigTest : public testing::Test {
 protected:
  ConfigTest() { Describe(config_, options_); }

  // The message of the error that loading `text` as my.toml gives, empty if there is none.
  std::string LoadError(const std::string& text) {
    const Options before = options_;
    try {
      config_.LoadText(text, "my.toml");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
      EXPECT_EQ(options_, before) << "a bad file changed a field";
      return error.what();
    }
    return "";
  }

  std::string SetError(const std::string& assignment) {
    const Options before = options_;
    try {
      config_.Set(assignment);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
      EXPECT_EQ(options_, before) << "a bad override changed a field";
      return error.what();
    }
    return "";
  }

  ConfigKey Key(const std::string& name) const {
    for (const ConfigKey& key : config_.Keys()) {
      if (key.key == name) return key;
    }
    throw std::out_of_range(name);
  }

  Options options_;
  Config config_;
};

// ---- What is accepted ----

TEST_F(ConfigTest, AFileSetsTheFieldsItNamesAndNoOther) {
  config_.LoadText(R"(
seed = 7
[anderson]
memory = 3
damping = 0.5
weights.rule = "stable"
safeguard = false
[train]
steps = 5_000_000_000
[env]
python = 'C:\python'
[report]
levels = [0.25, 0.75]
games = ["breakout", "asterix"]
)",
                   "my.toml");
  const Options expected = {.memory = 3,
                            .damping = 0.5,
                            .weights = WeightRule::kStable,
                            .safeguard = false,
                            .steps = 5'000'000'000,
                            .seed = 7,
                            .python = "C:\\python",
                            .levels = {0.25, 0.75},
                            .games = {"breakout", "asterix"}};
  EXPECT_EQ(options_, expected);
}

TEST_F(ConfigTest, LaterSourcesWin) {
  config_.LoadText("anderson.memory = 1\nanderson.eta = 1", "first.toml");
  config_.LoadText("anderson.memory = 2", "second.toml");
  EXPECT_EQ(options_.memory, 2);
  config_.Set("anderson.memory=3");
  EXPECT_EQ(options_.memory, 3);
  EXPECT_EQ(options_.eta, 1);
}

TEST_F(ConfigTest, IntegersAreAcceptedForReals) {
  config_.LoadText("anderson.damping = 2", "my.toml");
  EXPECT_EQ(options_.damping, 2.0);
  config_.Set("anderson.damping=1");
  EXPECT_EQ(options_.damping, 1.0);
}

TEST_F(ConfigTest, AnOverrideMayHaveBlanksAndLeaveOutQuotes) {
  config_.Set("  anderson.memory =\t7 ");
  EXPECT_EQ(options_.memory, 7);
  config_.Set("anderson.weights.rule = raa");
  EXPECT_EQ(options_.weights, WeightRule::kRaa);
  config_.Set("anderson.weights.rule=\"stable\"");
  EXPECT_EQ(options_.weights, WeightRule::kStable);
  config_.Set("anderson.safeguard=false");
  EXPECT_FALSE(options_.safeguard);
}

TEST_F(ConfigTest, TextInAnOverrideIsTakenAsItStands) {
  const std::pair<std::string, std::string> cases[] = {
      {"/usr/bin/python 3", "/usr/bin/python 3"},
      {"3", "3"},
      {"true", "true"},
      {"", ""},
      {"a=b", "a=b"},
      {"größe", "größe"},
      {R"("tab\tquote\" \u00e9")", "tab\tquote\" é"},
      {R"('no \t escape')", R"(no \t escape)"},
      {R"("""two " quotes""")", "two \" quotes"}};
  for (const auto& [text, expected] : cases) {
    config_.Set("env.python=" + text);
    EXPECT_EQ(options_.python, expected);
  }
}

TEST_F(ConfigTest, NumbersInAnOverrideFollowToml) {
  config_.Set("train.steps=1_000_000");
  EXPECT_EQ(options_.steps, 1'000'000);
  config_.Set("train.steps=+5");
  EXPECT_EQ(options_.steps, 5);
  config_.Set("anderson.eta=.5e-3");
  EXPECT_EQ(options_.eta, 0.5e-3);
  config_.Set("anderson.bound=inf");
  EXPECT_TRUE(std::isinf(options_.bound));
  config_.Set("anderson.bound=100000000000000000000000");
  EXPECT_EQ(options_.bound, 1e23);
}

TEST_F(ConfigTest, WholeRealsAreIntegers) {
  config_.LoadText("train.steps = 1e5\nanderson.memory = 5.0\nseed = 2.5e3", "my.toml");
  EXPECT_EQ(options_.steps, 100'000);
  EXPECT_EQ(options_.memory, 5);
  EXPECT_EQ(options_.seed, 2500u);
  config_.Set("train.steps=2e5");
  EXPECT_EQ(options_.steps, 200'000);
  config_.Set("anderson.memory=-0.0");
  EXPECT_EQ(options_.memory, 0);
  // Exactly, beyond the whole numbers that doubles have.
  config_.Set("seed=9007199254740993");
  EXPECT_EQ(options_.seed, 9007199254740993u);
  config_.Set("seed=1e19");
  EXPECT_EQ(options_.seed, 10'000'000'000'000'000'000u);
  config_.Set("seed=9.007199254740993e15");
  EXPECT_EQ(options_.seed, 9007199254740993u);
}

TEST_F(ConfigTest, OtherRealsAreNoIntegers) {
  const std::string wants = "anderson.memory wants an integer in [0, 100], found ";
  for (const std::string real : {"1.5", "0.001", "inf", "nan"}) {
    EXPECT_EQ(LoadError("anderson.memory = " + real), "my.toml:1: " + wants + "the real " + real);
    EXPECT_EQ(SetError("anderson.memory=" + real),
              "--set anderson.memory=" + real + ": " + wants + "the real " + real);
  }
  EXPECT_EQ(SetError("anderson.memory=1e30"),
            "--set anderson.memory=1e30: anderson.memory = 1e+30 is outside its range [0, 100]");
  EXPECT_EQ(SetError("anderson.memory=1e3"),
            "--set anderson.memory=1e3: anderson.memory = 1000 is outside its range [0, 100]");
  // A file has only the nearest double of it, which is another number.
  EXPECT_EQ(LoadError("seed = 9007199254740991.0"), "");
  EXPECT_EQ(LoadError("seed = 9007199254740993.0"),
            "my.toml:1: seed wants an integer in [0, 18446744073709551615], found the real "
            "9007199254740992.0");
  for (const std::string text : {"1__0", "_1", "1_", "1e", "1_e1"}) {
    EXPECT_NE(SetError("anderson.memory=" + text), "") << text;
    EXPECT_NE(LoadError("anderson.memory = " + text), "") << text;
  }
}

TEST_F(ConfigTest, ListsInAnOverrideNeedNoBrackets) {
  config_.Set("report.levels=0.1, 0.2");
  EXPECT_EQ(options_.levels, (std::vector<double>{0.1, 0.2}));
  config_.Set("report.levels=[0.3]");
  EXPECT_EQ(options_.levels, (std::vector<double>{0.3}));
  config_.Set("report.games = [breakout, \"a, b\", ]");
  EXPECT_EQ(options_.games, (std::vector<std::string>{"breakout", "a, b"}));
  config_.Set("report.games=");
  EXPECT_TRUE(options_.games.empty());
}

TEST_F(ConfigTest, SeedsUseAllSixtyFourBits) {
  config_.Set("seed=18446744073709551615");
  EXPECT_EQ(options_.seed, UINT64_MAX);
  config_.LoadText("seed = \"9223372036854775808\"", "my.toml");
  EXPECT_EQ(options_.seed, std::uint64_t{1} << 63);
  EXPECT_EQ(SetError("seed=18446744073709551616"),
            "--set seed=18446744073709551616: seed = 18446744073709551616.0 is outside its range "
            "[0, 18446744073709551615]");
  EXPECT_EQ(LoadError("seed = -1"),
            "my.toml:1: seed = -1 is outside its range [0, 18446744073709551615]");
  EXPECT_EQ(LoadError("seed = \"12x\""),
            "my.toml:1: seed wants an integer, found the string \"12x\"");
}

TEST_F(ConfigTest, AnEmptyFileAndEmptyTablesAreFine) {
  EXPECT_EQ(LoadError(""), "");
  EXPECT_EQ(LoadError("# nothing\n"), "");
  EXPECT_EQ(LoadError("[anderson]\n[anderson.weights]\n"), "");
  EXPECT_EQ(LoadError("\xEF\xBB\xBFseed = 1\r\nanderson.memory = 2\r\n"), "");
  EXPECT_EQ(options_.memory, 2);
}

// ---- What is refused ----

TEST_F(ConfigTest, AnUnknownKeyIsRefusedWithTheNearestOne) {
  EXPECT_EQ(LoadError("\n[anderson]\nmemry = 5"),
            "my.toml:3: unknown key 'anderson.memry'; did you mean 'anderson.memory'?");
  EXPECT_EQ(SetError("anderson.memroy=5"),
            "--set anderson.memroy=5: unknown key 'anderson.memroy'; did you mean "
            "'anderson.memory'?");
  EXPECT_EQ(LoadError("memory = 5"),
            "my.toml:1: unknown key 'memory'; did you mean 'anderson.memory'?");
  EXPECT_EQ(LoadError("agent.python = \"x\""),
            "my.toml:1: unknown key 'agent.python'; did you mean 'env.python'?");
  EXPECT_EQ(LoadError("\"anderson.memory\" = 5"),
            "my.toml:1: unknown key '\"anderson.memory\"'; did you mean 'anderson.memory'?");
  EXPECT_EQ(LoadError("[andersen]\n"),
            "my.toml:1: unknown key 'andersen'; `stableaa config keys` lists them all");
}

TEST_F(ConfigTest, NothingIsSuggestedWhenNothingIsNear) {
  EXPECT_EQ(LoadError("anderson.xyz = 5"),
            "my.toml:1: unknown key 'anderson.xyz'; `stableaa config keys` lists them all");
  EXPECT_EQ(SetError("=5"), "--set =5: unknown key ''; `stableaa config keys` lists them all");
}

TEST_F(ConfigTest, AValueOutsideItsRangeIsRefused) {
  EXPECT_EQ(LoadError("seed = 1\nanderson.damping = 7"),
            "my.toml:2: anderson.damping = 7 is outside its range (0, 2]");
  EXPECT_EQ(LoadError("anderson.memory = 101"),
            "my.toml:1: anderson.memory = 101 is outside its range [0, 100]");
  EXPECT_EQ(LoadError("report.levels = [0.5, 1.0]"),
            "my.toml:1: report.levels = 1.0 is outside its range (0, 1)");
  EXPECT_EQ(SetError("anderson.weights.rule=stabel"),
            "--set anderson.weights.rule=stabel: anderson.weights.rule = \"stabel\" is none of "
            "vanilla | raa | stable");
}

TEST_F(ConfigTest, OpenEndsExcludeAndClosedEndsInclude) {
  EXPECT_EQ(SetError("anderson.damping=2"), "");
  EXPECT_NE(SetError("anderson.damping=0"), "");
  EXPECT_NE(SetError("anderson.damping=-0.0"), "");
  EXPECT_NE(SetError("anderson.damping=2.0000000000000004"), "");
  EXPECT_EQ(SetError("anderson.damping=5e-324"), "");
  EXPECT_EQ(SetError("anderson.eta=0"), "");
  EXPECT_NE(SetError("anderson.eta=10"), "");
  EXPECT_EQ(SetError("anderson.eta=9.999999999999998"), "");
}

TEST_F(ConfigTest, InfinityNeedsARangeThatAllowsItAndNanIsNeverAValue) {
  EXPECT_EQ(LoadError("anderson.eta = inf"),
            "my.toml:1: anderson.eta = inf is outside its range [0, 10)");
  EXPECT_EQ(LoadError("anderson.bound = inf"), "");
  EXPECT_EQ(LoadError("anderson.bound = -inf"),
            "my.toml:1: anderson.bound = -inf is outside its range [0, inf]");
  EXPECT_EQ(LoadError("anderson.bound = nan"),
            "my.toml:1: anderson.bound = nan is outside its range [0, inf]");
  EXPECT_EQ(SetError("anderson.bound=-nan"),
            "--set anderson.bound=-nan: anderson.bound = nan is outside its range [0, inf]");
}

TEST_F(ConfigTest, AWrongTypeIsRefused) {
  EXPECT_EQ(LoadError("anderson.memory = \"five\""),
            "my.toml:1: anderson.memory wants an integer, found the string \"five\"");
  EXPECT_EQ(LoadError("anderson.memory = 5.5"),
            "my.toml:1: anderson.memory wants an integer in [0, 100], found the real 5.5");
  EXPECT_EQ(LoadError("anderson.eta = true"),
            "my.toml:1: anderson.eta wants a real number, found the boolean true");
  EXPECT_EQ(LoadError("anderson.safeguard = 1"),
            "my.toml:1: anderson.safeguard wants true or false, found the integer 1");
  EXPECT_EQ(LoadError("env.python = 3"),
            "my.toml:1: env.python wants a string, found the integer 3");
  EXPECT_EQ(LoadError("env.python = 1979-05-27"),
            "my.toml:1: env.python wants a string, found a date or time");
  EXPECT_EQ(LoadError("anderson.eta = [1]"),
            "my.toml:1: anderson.eta wants a real number, found a list");
  EXPECT_EQ(LoadError("report.levels = 0.5"),
            "my.toml:1: report.levels wants a list of real numbers, found the real 0.5");
  EXPECT_EQ(LoadError("report.games = [\"a\", 2]"),
            "my.toml:1: report.games wants a list of strings, found the integer 2 in it");
  EXPECT_EQ(SetError("anderson.eta=abc"),
            "--set anderson.eta=abc: anderson.eta wants a real number, found the string \"abc\"");
  EXPECT_EQ(SetError("anderson.eta="),
            "--set anderson.eta=: anderson.eta wants a real number, found nothing");
}

TEST_F(ConfigTest, ATableIsNoValueAndAValueNoTable) {
  EXPECT_EQ(LoadError("[anderson.memory]\nx = 1"),
            "my.toml:2: anderson.memory wants an integer, found a table");
  EXPECT_EQ(LoadError("anderson.memory = {}"),
            "my.toml:1: anderson.memory wants an integer, found a table");
  EXPECT_EQ(LoadError("anderson = 5"),
            "my.toml:1: anderson is a table with keys such as anderson.memory, found the integer "
            "5");
  EXPECT_EQ(LoadError("[[anderson]]\nmemory = 5"),
            "my.toml:1: anderson is a table with keys such as anderson.memory, found a list");
  EXPECT_EQ(SetError("anderson.weights=stable"),
            "--set anderson.weights=stable: anderson.weights is a table with keys such as "
            "anderson.weights.rule, found a value");
}

TEST_F(ConfigTest, SyntaxErrorsNameLineAndColumn) {
  EXPECT_EQ(LoadError("seed = 1\nanderson.memory = = 5").substr(0, 13), "my.toml:2:19:");
  const std::string twice = LoadError("[anderson]\nmemory = 1\nmemory = 2");
  EXPECT_EQ(twice.substr(0, 10), "my.toml:3:");
  EXPECT_NE(twice.find("cannot redefine existing integer 'memory'"), std::string::npos) << twice;
}

TEST_F(ConfigTest, AnOverrideWithoutEqualsSaysTheForm) {
  EXPECT_EQ(SetError("anderson.memory"), "--set anderson.memory: expected key=value, found no '='");
}

TEST_F(ConfigTest, TheFlagOfAnOverrideCanBeNamed) {
  try {
    config_.Set("anderson.eta=-1", "--eta");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--eta anderson.eta=-1: anderson.eta = -1 is outside its range [0, 10)");
  }
}

TEST_F(ConfigTest, MalformedOverridesAreRefused) {
  for (const std::string text :
       {"1e999", "-1e999", "1e-999",   "0x1p3", "0x10",   "1.5abc", "1 2",   "1,5",
        "--1",   "+-1",    "++1",      "1__0",  "_1",     "1_",     "1e",    "e5",
        ".",     "-",      "infinity", "INF",   "nan(1)", "١",      "\"1\"", "[1]"}) {
    EXPECT_NE(SetError("anderson.bound=" + text), "") << text;
  }
  EXPECT_EQ(SetError("anderson.eta=1e999"),
            "--set anderson.eta=1e999: 1e999 does not fit a double");
  for (const std::string text :
       {"1.5", "1e-3", "1e19", "99999999999999999999999", "-99999999999999999999",
        "9223372036854775808", "5 steps", "0x10"}) {
    EXPECT_NE(SetError("train.steps=" + text), "") << text;
  }
  for (const std::string text : {"\"abc", "'abc", "\"a\"b", "\"a\" # b", "\"a\nb\"", "\"\"\"",
                                 "\"\\x\"", "\"\\\"", "\"\\ud800\"", "\"a\"\nx=1"}) {
    EXPECT_NE(SetError("env.python=" + text), "") << text;
  }
  EXPECT_NE(SetError("anderson.safeguard=yes"), "");
  EXPECT_NE(SetError("report.levels=0.1,,0.2"), "");
  EXPECT_NE(SetError("report.levels=[0.1"), "");
}

TEST_F(ConfigTest, BytesThatAreNoTextAreRefused) {
  const std::string nul("env.python=a\0b", 14);
  for (const std::string& assignment :
       {nul, std::string("env.python=\xff"), std::string("env.python=\xc0\x80"),
        std::string("env.python=\xed\xa0\x80"), std::string("env.python=\xf5\x80\x80\x80"),
        std::string("env.python=\xe2\x82"), std::string("env.python=\"\\u0000\"")}) {
    EXPECT_NE(SetError(assignment).find("UTF-8"), std::string::npos) << SetError(assignment);
  }
  EXPECT_NE(LoadError("env.python = \"\xff\""), "");
  EXPECT_NE(LoadError("env.python = \"\xed\xa0\x80\""), "");
  EXPECT_NE(LoadError(std::string("env.python = \"\0\"", 16)), "");
  EXPECT_NE(LoadError("env.python = \"\\u0000\""), "");
  EXPECT_NE(LoadError("anderson.eta = 1e999"), "");
  EXPECT_NE(LoadError("train.steps = 9223372036854775808"), "");
}

TEST_F(ConfigTest, OneMistakeLeavesEveryFieldAlone) {
  EXPECT_EQ(LoadError("seed = 9\nanderson.memory = 1\nenv.python = \"x\"\nzzz = 1\n"),
            "my.toml:4: unknown key 'zzz'; `stableaa config keys` lists them all");
  EXPECT_EQ(options_, Options{});
  EXPECT_EQ(Key("seed").origin, "default");
}

TEST_F(ConfigTest, TheFirstMistakeOfTheFileIsReported) {
  EXPECT_EQ(LoadError("[train]\nsteps = 0\n[anderson]\nmemory = -1").substr(0, 10), "my.toml:2:");
}

TEST_F(ConfigTest, LongValuesAreShortenedInMessages) {
  EXPECT_LT(LoadError("anderson.memory = \"" + std::string(100'000, 'x') + "\"").size(), 200u);
  EXPECT_LT(LoadError(std::string(100'000, 'x') + " = 1").size(), 200u);
  EXPECT_LT(SetError("anderson.memory=" + std::string(100'000, 'x')).size(), 300u);
  EXPECT_LT(SetError(std::string(100'000, 'x')).size(), 200u);
  EXPECT_EQ(SetError("anderson.eta=a\nb").find('\n'), std::string::npos);
}

TEST_F(ConfigTest, HostileNestingIsAnErrorAndNotACrash) {
  const auto repeat = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  const std::string hostile[] = {repeat("[", 100'000),
                                 "a = " + repeat("[", 100'000),
                                 "a = " + repeat("{a=", 100'000),
                                 repeat("a.", 250'000) + "a = 1",
                                 repeat("\"=\".", 100'000) + "a = 1",
                                 repeat("'#' . ", 100'000) + "a = 1",
                                 "[" + repeat("a.", 250'000) + "a]",
                                 "a = {b = \"\"\"x\"\"\"\", " + repeat("a.", 100'000) + "a = 1}",
                                 "a = '''\n''''', " + repeat("a.", 100'000) + "a = 1"};
  for (const std::string& text : hostile) {
    EXPECT_NE(LoadError(text).find("nested deeper than 32 levels"), std::string::npos);
  }
}

TEST_F(ConfigTest, OutsideStringsAndCommentsThereIsOnlyAscii) {
  EXPECT_EQ(LoadError("# ä\nenv.python = \"ä\" # ä\n"), "");
  EXPECT_EQ(LoadError("\nseed = 1 é"), "my.toml:2: 'é' can stand only in a string or a comment");
  EXPECT_EQ(LoadError("größe = 1"), "my.toml:1: 'ö' can stand only in a string or a comment");
  EXPECT_EQ(LoadError("seed\xff = 1"), "my.toml:1: not valid UTF-8");
  // toml++ asks for every character behind a line-ending backslash whether it is a blank.
  EXPECT_EQ(LoadError("env.python = \"\"\"\\\n  é\"\"\""), "");
  EXPECT_EQ(options_.python, "é");
}

TEST_F(ConfigTest, DotsInTextNumbersAndCommentsAreNoNesting) {
  const std::string dots(1000, '.');
  std::string levels;
  for (int i = 0; i < 1000; ++i) levels += "0.5, ";
  EXPECT_EQ(LoadError("# " + dots + "\nenv.python = \"" + dots + "\"\nreport.levels = [" + levels +
                      "]\nreport.games = ['''\n" + dots + "''''', \"\"\"\\\"\"\"\"]"),
            "");
  EXPECT_EQ(options_.levels.size(), 1000u);
}

// ---- Files ----

TEST_F(ConfigTest, AFileIsReadFromDisk) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "config_test.toml";
  std::ofstream(path) << "anderson.memory = 9\n";
  config_.LoadFile(path.string());
  EXPECT_EQ(options_.memory, 9);
  EXPECT_EQ(Key("anderson.memory").origin, path.string() + ":1");
  std::filesystem::remove(path);
}

TEST_F(ConfigTest, AFileThatCannotBeReadIsBadInputWithTheReason) {
  const auto message = [&](const std::string& path) -> std::string {
    try {
      config_.LoadFile(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 2);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("/nowhere/my.toml"), "/nowhere/my.toml does not exist");
  EXPECT_EQ(message("/"), "/ is a directory, expected a file");
  EXPECT_EQ(message("/dev/zero"), "/dev/zero is longer than the 1048576 bytes allowed");
}

TEST_F(ConfigTest, AFileOfOneMebibyteIsTheLargest) {
  const std::size_t mebibyte = 1 << 20;
  EXPECT_EQ(LoadError(std::string(mebibyte, '#')), "");
  EXPECT_EQ(LoadError(std::string(mebibyte + 1, '#')),
            "my.toml: longer than the 1048576 bytes of a configuration");
}

TEST_F(ConfigTest, AnEmptyPathIsNoFile) { EXPECT_THROW(config_.LoadFile(""), Error); }

// ---- Sources ----

TEST_F(ConfigTest, ASourceIsReadOnceAndAppliedAsOftenAsNeeded) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string text = "anderson.memory = 9\n[env]\npython = \"p\"\n";
  ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  const std::string path = "/proc/self/fd/" + std::to_string(ends[0]);
  const ConfigSource source = ConfigSource::FromFile(path);
  close(ends[0]);
  ASSERT_EQ(source.Mentions().size(), 2u);
  EXPECT_EQ(source.Mentions()[0].key, "anderson.memory");
  EXPECT_EQ(source.Mentions()[0].place, path + ":1");
  EXPECT_EQ(source.Mentions()[1].key, "env.python");
  EXPECT_EQ(source.Mentions()[1].place, path + ":3");
  for (int time = 0; time < 2; ++time) {
    Options options;
    Config config;
    Describe(config, options);
    config.Apply(source);
    EXPECT_EQ(options.memory, 9);
    EXPECT_EQ(options.python, "p");
  }
}

TEST_F(ConfigTest, AnOverrideIsASourceToo) {
  const ConfigSource source = ConfigSource::FromOverride(" anderson.memory = 3 ", "--memory");
  ASSERT_EQ(source.Mentions().size(), 1u);
  EXPECT_EQ(source.Mentions()[0].key, "anderson.memory");
  EXPECT_EQ(source.Mentions()[0].place, "--memory  anderson.memory = 3 ");
  config_.Apply(source);
  EXPECT_EQ(options_.memory, 3);
  EXPECT_EQ(Key("anderson.memory").origin, "--memory");
}

// ---- Free-form tables ----

class ConfigTable : public testing::Test {
 protected:
  ConfigTable() { Describe(config_, kwargs_, number_); }

  static void Describe(Config& config, std::string& kwargs, int& number) {
    config.Table("env.kwargs", &kwargs, "Arguments.");
    config.Int("env.number", &number, {}, "A number.");
  }

  template <typename Change>
  std::string ErrorOf(const Change& change) {
    const std::string before = kwargs_;
    const int number = number_;
    try {
      change();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
      EXPECT_EQ(kwargs_, before);
      EXPECT_EQ(number_, number);
      return error.what();
    }
    return "";
  }
  std::string LoadError(const std::string& text) {
    return ErrorOf([&] { config_.LoadText(text, "my.toml"); });
  }
  std::string SetError(const std::string& assignment) {
    return ErrorOf([&] { config_.Set(assignment); });
  }

  void ExpectReadsBack() {
    std::string kwargs = R"({"other":1})";
    int number = 0;
    Config config;
    Describe(config, kwargs, number);
    config.LoadText(config_.ToToml(), "again.toml");
    EXPECT_EQ(kwargs, kwargs_);
    kwargs = R"({"other":1})";
    for (const ConfigKey& key : config_.Keys()) config.Set(key.key + "=" + key.value);
    EXPECT_EQ(kwargs, kwargs_);
  }

  std::string kwargs_ = "{}";
  int number_ = 1;
  Config config_;
};

TEST_F(ConfigTable, IsAJsonObject) {
  EXPECT_EQ(config_.Keys()[0].type, "table");
  EXPECT_EQ(config_.Keys()[0].value, "{}");
  config_.LoadText(R"(
[env.kwargs]
size = 5
scale = 1.0
tiny = 1e-300
name = "a \"b\" é"
on = true
least = -9223372036854775808
mixed = [1, "two", [3.5, {x = 1}], {}]
"a.b" = "dot"
"" = "nameless"
[env.kwargs.deep.er]
x = false
)",
                   "my.toml");
  EXPECT_EQ(kwargs_, R"({"":"nameless","a.b":"dot","deep":{"er":{"x":false}},)"
                     R"("least":-9223372036854775808,"mixed":[1,"two",[3.5,{"x":1}],{}],)"
                     R"("name":"a \"b\" é","on":true,"scale":1.0,"size":5,"tiny":1e-300})");
  EXPECT_EQ(config_.Keys()[0].origin, "my.toml:3");
  ExpectReadsBack();
}

TEST_F(ConfigTable, OfAFileReplacesTheOneBefore) {
  config_.LoadText("env.kwargs = {a = 1, b = 2}", "my.toml");
  config_.LoadText("env.kwargs.c = 3", "my.toml");
  EXPECT_EQ(kwargs_, R"({"c":3})");
  config_.LoadText("[env.kwargs]", "my.toml");
  EXPECT_EQ(kwargs_, "{}");
}

TEST_F(ConfigTable, IsSetByMemberOrAsAWhole) {
  config_.Set("env.kwargs.size=5");
  config_.Set("env.kwargs.names = [\"a\", \"b\"]");
  config_.Set("env.kwargs.map_name=4x4");
  config_.Set("env.kwargs.deep.\"a.b=c\"=1e5");
  config_.Set("env.kwargs.size=1_000");
  EXPECT_EQ(kwargs_, R"({"deep":{"a.b=c":1e+05},"map_name":"4x4","names":["a","b"],"size":1000})");
  ExpectReadsBack();
  config_.Set("env.kwargs.deep=false");
  config_.Set("env.kwargs.size.x={y = 'z'}");
  EXPECT_EQ(kwargs_, R"({"deep":false,"map_name":"4x4","names":["a","b"],"size":{"x":{"y":"z"}}})");
  EXPECT_EQ(config_.Keys()[0].origin, "--set");
  config_.Set("env.kwargs={size=5, names=[\"a\"]}");
  EXPECT_EQ(kwargs_, R"({"names":["a"],"size":5})");
  config_.Set("env.kwargs={}");
  EXPECT_EQ(kwargs_, "{}");
}

TEST_F(ConfigTable, HoldsWhatJsonAndTomlBothHave) {
  const std::string wants = " wants a string, number, boolean, list or table, found ";
  EXPECT_EQ(LoadError("env.number = 2\n[env.kwargs]\nx = 1\ny = nan"),
            "my.toml:4: env.kwargs.y" + wants + "the real nan");
  EXPECT_EQ(LoadError("env.kwargs = {a = [1, -inf]}"),
            "my.toml:1: env.kwargs.a" + wants + "the real -inf");
  EXPECT_EQ(LoadError("env.kwargs.\"a b\".day = 1979-05-27"),
            "my.toml:1: env.kwargs.\"a b\".day" + wants + "a date or time");
  EXPECT_EQ(SetError("env.kwargs.x=inf"),
            "--set env.kwargs.x=inf: env.kwargs.x" + wants + "the real inf");
  EXPECT_EQ(SetError("env.kwargs.x=18446744073709551615"),
            "--set env.kwargs.x=18446744073709551615: env.kwargs.x" + wants +
                "the integer 18446744073709551615");
  EXPECT_EQ(SetError("env.kwargs.x="), "--set env.kwargs.x=: env.kwargs.x" + wants + "nothing");
  EXPECT_EQ(LoadError("env.kwargs = 5"),
            "my.toml:1: env.kwargs wants a table such as {size = 5}, found the integer 5");
  EXPECT_EQ(SetError("env.kwargs=[1]"),
            "--set env.kwargs=[1]: env.kwargs wants a table such as {size = 5}, found a list");
  EXPECT_NE(LoadError("[[env.kwargs]]\nx = 1"), "");
  EXPECT_NE(LoadError("env.kwargs.x = \"\\u0000\""), "");
  EXPECT_NE(LoadError("env.kwargs.\"\\u0000\" = 1"), "");
  for (const std::string bad :
       {"env.kwargs.=1", "env.kwargs.a.=1", "env.kwargs.a b=1", "env.kwargs.\"a=1",
        "env.kwargs.#=1", "env.kwargs.a={", "env.kwargs.a=[1", "env.kwargs.a=[1]\nb = 2",
        "env.kwargs.[a]=1", "env.kwargs.a={b = 1, b = 2}"}) {
    EXPECT_NE(SetError(bad), "") << bad;
  }
}

TEST_F(ConfigTable, OfAHostileFileIsAnErrorAndNotACrash) {
  const auto repeated = [](const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  EXPECT_EQ(LoadError("env.kwargs.a = " + repeated("[", 15) + repeated("]", 15)), "");
  ExpectReadsBack();
  EXPECT_EQ(LoadError("env.kwargs.a = " + repeated("[", 16) + repeated("]", 16)),
            "my.toml:1: env.kwargs.a: nested deeper than 16 levels");
  EXPECT_NE(LoadError("[env.kwargs" + repeated(".a", 16) + "]\nx = 1"), "");
  EXPECT_NE(LoadError("[env.kwargs" + repeated(".a", 30) + "]\na" + repeated(".a", 31) + " = {a" +
                      repeated(".a", 30) + " = 1}"),
            "");
  EXPECT_NE(SetError("env.kwargs" + repeated(".a", 5000) + "=1"), "");
  EXPECT_NE(SetError("env.kwargs=" + repeated("{a=", 5000)), "");
  EXPECT_EQ(LoadError("env.kwargs.a = \"" + repeated("x", 65000) + "\""), "");
  EXPECT_NE(LoadError("env.kwargs.a = \"" + repeated("x", 66000) + "\""), "");
  EXPECT_NE(LoadError("env.kwargs.a = [" + repeated("1,", 40000) + "]"), "");
  std::string many = "[env.kwargs]\n";
  for (int i = 100'000; i > 0; --i) many += std::to_string(i) + "=1\n";
  EXPECT_NE(LoadError(many), "");
}

TEST(ConfigTables, TheFieldIsCheckedWhereItIsDeclared) {
  for (const std::string bad : {"", "5", "[]", "{", "{\"a\":null}", "{\"a\":18446744073709551615}",
                                "{\"a\":1e999}", "{'a':1}"}) {
    Config config;
    std::string field = bad;
    EXPECT_THROW(config.Table("t", &field, ""), Error) << bad;
  }
  std::string deep = "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  Config config;
  EXPECT_THROW(config.Table("t", &deep, ""), Error);
}

// ---- What is declared ----

TEST(ConfigDeclarations, MistakesOfTheProgramAreLogicErrors) {
  Config config;
  int number = 5;
  std::string text;
  config.Int("a.b", &number, {}, "");
  EXPECT_THROW(config.Int("a.b", &number, {}, ""), std::logic_error);
  EXPECT_THROW(config.Text("a", &text, ""), std::logic_error);
  EXPECT_THROW(config.Text("a.b.c", &text, ""), std::logic_error);
  for (const std::string key : {"", ".", "a.", ".a", "a..b", "A", "a b", "a-b", "ä"}) {
    EXPECT_THROW(config.Text(key, &text, ""), std::logic_error) << key;
  }
  auto rule = WeightRule::kRaa;
  EXPECT_THROW(config.Choice("e", &rule, {{"stable", WeightRule::kStable}}, ""), std::logic_error);
  EXPECT_EQ(config.Keys().size(), 1u);
}

TEST(ConfigDeclarations, AFieldOutsideItsRangeIsBadInput) {
  Config config;
  int number = 5;
  try {
    config.Int("a.number", &number, {6, 7}, "");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a.number = 5 is outside its range [6, 7]");
    EXPECT_EQ(error.exit_code(), 2);
  }
  double real = NAN;
  EXPECT_THROW(config.Real("real", &real, {}, ""), Error);
  EXPECT_TRUE(config.Keys().empty());
}

TEST(ConfigDeclarations, TheLimitsOfTheTypeBoundTheRange) {
  Config config;
  int number = 5;
  config.Int("number", &number, {.at_least = 1}, "");
  EXPECT_EQ(config.Keys()[0].range, "[1, 2147483647]");
  EXPECT_THROW(config.Set("number=2147483648"), Error);
  config.Set("number=2147483647");
  EXPECT_EQ(number, 2147483647);
}

TEST_F(ConfigTest, KeysTellAllAboutThemselvesInTheOrderOfDeclaration) {
  config_.LoadText("\n\nanderson.damping = 0.5", "my.toml");
  config_.Set("anderson.weights.rule=raa");
  const std::vector<ConfigKey> keys = config_.Keys();
  ASSERT_EQ(keys.size(), 11u);
  EXPECT_EQ(keys[0].key, "seed");
  EXPECT_EQ(keys[1].key, "anderson.memory");
  EXPECT_EQ(keys[1].type, "integer");
  EXPECT_EQ(keys[1].default_value, "5");
  EXPECT_EQ(keys[1].value, "5");
  EXPECT_EQ(keys[1].range, "[0, 100]");
  EXPECT_EQ(keys[1].meaning, "Differences in the window.");
  EXPECT_EQ(keys[1].origin, "default");

  EXPECT_EQ(keys[2].default_value, "1.0");
  EXPECT_EQ(keys[2].value, "0.5");
  EXPECT_EQ(keys[2].range, "(0, 2]");
  EXPECT_EQ(keys[2].origin, "my.toml:3");

  EXPECT_EQ(keys[4].type, "choice");
  EXPECT_EQ(keys[4].range, "vanilla | raa | stable");
  EXPECT_EQ(keys[4].choices, (std::vector<std::string>{"vanilla", "raa", "stable"}));
  EXPECT_EQ(keys[4].value, "\"raa\"");
  EXPECT_EQ(keys[4].origin, "--set");

  EXPECT_EQ(Key("env.python").value, "\"python3\"");
  EXPECT_EQ(Key("anderson.bound").range, "[0, inf]");
  EXPECT_EQ(Key("report.levels").value, "[0.5]");
}

TEST_F(ConfigTest, MarkdownHasOneRowPerKeyAndEscapesBars) {
  const std::string markdown = config_.KeysAsMarkdown();
  EXPECT_EQ(markdown.substr(0, markdown.find('\n')), "| key | type | default | range | meaning |");
  EXPECT_NE(markdown.find("\n| `anderson.damping` | real | `1.0` | `(0, 2]` | Step length. |\n"),
            std::string::npos);
  EXPECT_NE(markdown.find("`vanilla \\| raa \\| stable`"), std::string::npos);
}

// ---- Round trip ----

TEST(ConfigToToml, GroupsTheKeysInTablesWithMeaningAndRange) {
  Config config;
  int memory = 5;
  std::string python = "a\"b";
  double eta = 1e-10;
  std::uint64_t seed = 3;
  config.Int("anderson.memory", &memory, {0, 100}, "Differences in the window.");
  config.Text("env.python", &python, "Interpreter.");
  config.Real("anderson.eta", &eta, {.at_least = 0}, "Size of the ridge.");
  config.Int("seed", &seed, {0, 9}, "Randomness.");
  EXPECT_EQ(config.ToToml(), R"(# Randomness. [0, 9]
seed = 3

[anderson]
# Differences in the window. [0, 100]
memory = 5
# Size of the ridge. [0, inf)
eta = 1e-10

[env]
# Interpreter.
python = "a\"b"
)");
  EXPECT_EQ(config.ToToml(false),
            "seed = 3\n\n[anderson]\nmemory = 5\neta = 1e-10\n\n[env]\npython = \"a\\\"b\"\n");
}

TEST(ConfigToToml, WrapsLongMeanings) {
  Config config;
  bool on = true;
  std::string meaning;
  for (int i = 0; i < 100; ++i) meaning += "word\n";
  config.Bool("on", &on, meaning);
  std::istringstream lines(config.ToToml());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u);
}

// Values with every bit pattern: denormals, huge ones and both zeros.
double AnyReal(std::mt19937_64& random) {
  constexpr double kSpecial[] = {0.0,     -0.0,   5e-324, -5e-324, 2.2250738585072011e-308,
                                 1.7e308, 1e-310, 1e22,   0.1,     123456789012345680.0};
  if (random() % 4 == 0) return kSpecial[random() % std::size(kSpecial)];
  return std::bit_cast<double>(random());
}

std::string AnyText(std::mt19937_64& random) {
  const std::string pieces[] = {"\"",     "\\",     "\n",   "\r\n", "\t",   "'", "'''",
                                "\"\"\"", "#",      "\x01", "\x1f", "\x7f", "é", "漢",
                                "🎲",      "\u2028", "=",    "[a]",  " ",    "x"};
  std::string text;
  for (auto length = random() % 8; length > 0; --length) {
    text += pieces[random() % std::size(pieces)];
  }
  return text;
}

TEST(ConfigToToml, ReadsBackToExactlyTheSameValues) {
  struct Values {
    double real = 0;
    std::vector<double> reals;
    std::string text;
    std::vector<std::string> texts;
    std::int64_t integer = 0;
    std::uint64_t seed = 0;
    bool flag = false;
    WeightRule rule = WeightRule::kRaa;
  };
  const auto describe = [](Config& config, Values& values) {
    const RealRange any = {.infinite = true};
    config.Real("a.real", &values.real, any, "");
    config.List("a.b.reals", &values.reals, any, "");
    config.Text("text", &values.text, "");
    config.List("b.texts", &values.texts, "");
    config.Int("a.integer", &values.integer, {}, "");
    config.Int("seed", &values.seed, {}, "");
    config.Bool("flag", &values.flag, "");
    config.Choice("b.rule", &values.rule,
                  {{"raa", WeightRule::kRaa}, {"stable", WeightRule::kStable}}, "");
  };
  std::mt19937_64 random(1);
  const auto real = [&] {
    double value = AnyReal(random);
    while (std::isnan(value)) value = AnyReal(random);
    return value;
  };
  for (int trial = 0; trial < 2000; ++trial) {
    Values written;
    written.real = real();
    for (auto i = random() % 4; i > 0; --i) written.reals.push_back(real());
    written.text = AnyText(random);
    for (auto i = random() % 4; i > 0; --i) written.texts.push_back(AnyText(random));
    written.integer = static_cast<std::int64_t>(random());
    written.seed = random();
    written.flag = random() % 2 == 0;
    written.rule = random() % 2 == 0 ? WeightRule::kRaa : WeightRule::kStable;
    Config out;
    describe(out, written);

    Values read;
    Config in;
    describe(in, read);
    in.LoadText(out.ToToml(trial % 2 == 0), "config.toml");
    EXPECT_EQ(std::bit_cast<std::uint64_t>(read.real), std::bit_cast<std::uint64_t>(written.real));
    ASSERT_EQ(read.reals.size(), written.reals.size());
    for (std::size_t i = 0; i < read.reals.size(); ++i) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(read.reals[i]),
                std::bit_cast<std::uint64_t>(written.reals[i]));
    }
    EXPECT_EQ(read.text, written.text);
    EXPECT_EQ(read.texts, written.texts);
    EXPECT_EQ(read.integer, written.integer);
    EXPECT_EQ(read.seed, written.seed);
    EXPECT_EQ(read.flag, written.flag);
    EXPECT_EQ(read.rule, written.rule);
    EXPECT_EQ(in.ToToml(), out.ToToml());
    for (const ConfigKey& key : out.Keys()) in.Set(key.key + "=" + key.value);
    EXPECT_EQ(in.ToToml(), out.ToToml()) << "overrides read the same literals";
  }
}

}  // namespace stableaa::config_test
