#include "stableaa/base/config/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "stableaa/base/config/config_options_test.h"
#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::config_test {

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
  // Exact, even beyond the integers that doubles can represent.
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
  // A file only holds the nearest double, which is a different number.
  EXPECT_EQ(LoadError("seed = 9007199254740991.0"), "no error");
  EXPECT_EQ(LoadError("seed = 9007199254740993.0"),
            "my.toml:1: seed wants an integer in [0, 18446744073709551615], found the real "
            "9007199254740992.0");
  for (const std::string text : {"1__0", "_1", "1_", "1e", "1_e1"}) {
    EXPECT_NE(SetError("anderson.memory=" + text), "no error") << text;
    EXPECT_NE(LoadError("anderson.memory = " + text), "no error") << text;
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
  EXPECT_EQ(LoadError(""), "no error");
  EXPECT_EQ(LoadError("# nothing\n"), "no error");
  EXPECT_EQ(LoadError("[anderson]\n[anderson.weights]\n"), "no error");
  EXPECT_EQ(LoadError("\xEF\xBB\xBFseed = 1\r\nanderson.memory = 2\r\n"), "no error");
  EXPECT_EQ(options_.memory, 2);
}

// ---- Files ----

TEST_F(ConfigTest, AFileIsReadFromDisk) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "my.toml";
  std::ofstream(path) << "anderson.memory = 9\n";
  config_.LoadFile(path.string());
  EXPECT_EQ(options_.memory, 9);
  EXPECT_EQ(Key("anderson.memory").origin, path.string() + ":1");
}

TEST_F(ConfigTest, AFileThatCannotBeReadIsBadInputWithTheReason) {
  const auto message = [&](const std::string& path) {
    return MessageOf([&] { config_.LoadFile(path); });
  };
  EXPECT_EQ(message("/nowhere/my.toml"), "/nowhere/my.toml does not exist");
  EXPECT_EQ(message("/"), "/ is a directory, expected a file");
  EXPECT_EQ(message("/dev/zero"), "/dev/zero is longer than the 1048576 bytes allowed");
}

TEST_F(ConfigTest, AFileOfOneMebibyteIsTheLargest) {
  const std::size_t mebibyte = 1 << 20;
  EXPECT_EQ(LoadError(std::string(mebibyte, '#')), "no error");
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
  EXPECT_EQ(MessageOf([&] {
              config.Int("a.number", &number, {6, 7}, "");
            }),
            "a.number = 5 is outside its range [6, 7]");
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
  ASSERT_EQ(keys.size(), 13u);
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

}  // namespace stableaa::config_test
