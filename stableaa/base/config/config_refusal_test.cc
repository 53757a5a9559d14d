#include "stableaa/base/config/config.h"

#include <gtest/gtest.h>

#include <string>

#include "stableaa/base/config/config_options_test.h"
#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"

namespace stableaa::config_refusal_test {

using config_test::ConfigTest;
using config_test::Options;

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

TEST_F(ConfigTest, AValueThatFailsItsCheckIsRefused) {
  EXPECT_EQ(LoadError("seed = 1\nreport.word = \"odd\""),
            "my.toml:2: report.word: expected an even length");
  EXPECT_EQ(SetError("report.word=odd"),
            "--set report.word=odd: report.word: expected an even length");
  EXPECT_EQ(LoadError("report.games = [\"a\", \"b\", \"c\", \"d\"]"),
            "my.toml:1: report.games: expected at most 3");
  EXPECT_EQ(LoadError("\n\n[report]\npair = [1]"), "my.toml:4: report.pair: expected 2 numbers");
  EXPECT_EQ(LoadError("report.word = 5"),
            "my.toml:1: report.word wants a string, found the integer 5");
  EXPECT_EQ(LoadError("report.word = \"good\"\nreport.pair = [3, 4]"), "no error");
  EXPECT_EQ(options_.word, "good");

  Options wrong;
  wrong.word = "odd";
  Config config;
  EXPECT_EQ(MessageOf([&] { Describe(config, wrong); }), "report.word: expected an even length");
}

TEST_F(ConfigTest, OpenEndsExcludeAndClosedEndsInclude) {
  EXPECT_EQ(SetError("anderson.damping=2"), "no error");
  EXPECT_NE(SetError("anderson.damping=0"), "no error");
  EXPECT_NE(SetError("anderson.damping=-0.0"), "no error");
  EXPECT_NE(SetError("anderson.damping=2.0000000000000004"), "no error");
  EXPECT_EQ(SetError("anderson.damping=5e-324"), "no error");
  EXPECT_EQ(SetError("anderson.eta=0"), "no error");
  EXPECT_NE(SetError("anderson.eta=10"), "no error");
  EXPECT_EQ(SetError("anderson.eta=9.999999999999998"), "no error");
}

TEST_F(ConfigTest, InfinityNeedsARangeThatAllowsItAndNanIsNeverAValue) {
  EXPECT_EQ(LoadError("anderson.eta = inf"),
            "my.toml:1: anderson.eta = inf is outside its range [0, 10)");
  EXPECT_EQ(LoadError("anderson.bound = inf"), "no error");
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
  EXPECT_EQ(MessageOf([&] { config_.Set("anderson.eta=-1", "--eta"); }),
            "--eta anderson.eta=-1: anderson.eta = -1 is outside its range [0, 10)");
}

TEST_F(ConfigTest, MalformedOverridesAreRefused) {
  for (const std::string text :
       {"1e999", "-1e999", "1e-999",   "0x1p3", "0x10",   "1.5abc", "1 2",   "1,5",
        "--1",   "+-1",    "++1",      "1__0",  "_1",     "1_",     "1e",    "e5",
        ".",     "-",      "infinity", "INF",   "nan(1)", "١",      "\"1\"", "[1]"}) {
    EXPECT_NE(SetError("anderson.bound=" + text), "no error") << text;
  }
  EXPECT_EQ(SetError("anderson.eta=1e999"),
            "--set anderson.eta=1e999: 1e999 does not fit a double");
  for (const std::string text :
       {"1.5", "1e-3", "1e19", "99999999999999999999999", "-99999999999999999999",
        "9223372036854775808", "5 steps", "0x10"}) {
    EXPECT_NE(SetError("train.steps=" + text), "no error") << text;
  }
  for (const std::string text : {"\"abc", "'abc", "\"a\"b", "\"a\" # b", "\"a\nb\"", "\"\"\"",
                                 "\"\\x\"", "\"\\\"", "\"\\ud800\"", "\"a\"\nx=1"}) {
    EXPECT_NE(SetError("env.python=" + text), "no error") << text;
  }
  EXPECT_NE(SetError("anderson.safeguard=yes"), "no error");
  EXPECT_NE(SetError("report.levels=0.1,,0.2"), "no error");
  EXPECT_NE(SetError("report.levels=[0.1"), "no error");
}

TEST_F(ConfigTest, BytesThatAreNoTextAreRefused) {
  const std::string nul("env.python=a\0b", 14);
  for (const std::string& assignment :
       {nul, std::string("env.python=\xff"), std::string("env.python=\xc0\x80"),
        std::string("env.python=\xed\xa0\x80"), std::string("env.python=\xf5\x80\x80\x80"),
        std::string("env.python=\xe2\x82"), std::string("env.python=\"\\u0000\"")}) {
    EXPECT_NE(SetError(assignment).find("UTF-8"), std::string::npos) << SetError(assignment);
  }
  EXPECT_NE(LoadError("env.python = \"\xff\""), "no error");
  EXPECT_NE(LoadError("env.python = \"\xed\xa0\x80\""), "no error");
  EXPECT_NE(LoadError(std::string("env.python = \"\0\"", 16)), "no error");
  EXPECT_NE(LoadError("env.python = \"\\u0000\""), "no error");
  EXPECT_NE(LoadError("anderson.eta = 1e999"), "no error");
  EXPECT_NE(LoadError("train.steps = 9223372036854775808"), "no error");
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
  EXPECT_EQ(LoadError("# ä\nenv.python = \"ä\" # ä\n"), "no error");
  EXPECT_EQ(LoadError("\nseed = 1 é"), "my.toml:2: 'é' can stand only in a string or a comment");
  EXPECT_EQ(LoadError("größe = 1"), "my.toml:1: 'ö' can stand only in a string or a comment");
  EXPECT_EQ(LoadError("seed\xff = 1"), "my.toml:1: not valid UTF-8");
  // toml++ checks whether each character after a line-ending backslash is a blank.
  EXPECT_EQ(LoadError("env.python = \"\"\"\\\n  é\"\"\""), "no error");
  EXPECT_EQ(options_.python, "é");
}

TEST_F(ConfigTest, DotsInTextNumbersAndCommentsAreNoNesting) {
  const std::string dots(1000, '.');
  std::string levels;
  for (int i = 0; i < 1000; ++i) levels += "0.5, ";
  EXPECT_EQ(LoadError("# " + dots + "\nenv.python = \"" + dots + "\"\nreport.levels = [" + levels +
                      "]\nreport.games = ['''\n" + dots + "''''', \"\"\"\\\"\"\"\"]"),
            "no error");
  EXPECT_EQ(options_.levels.size(), 1000u);
}

}  // namespace stableaa::config_refusal_test
