#include "stableaa/base/config/config.h"

#include <gtest/gtest.h>

#include <string>

#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"

namespace stableaa::config_table_test {

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
    const std::string message = MessageOf(change);
    if (message != "no error") {
      EXPECT_EQ(kwargs_, before);
      EXPECT_EQ(number_, number);
    }
    return message;
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
  EXPECT_NE(LoadError("[[env.kwargs]]\nx = 1"), "no error");
  EXPECT_NE(LoadError("env.kwargs.x = \"\\u0000\""), "no error");
  EXPECT_NE(LoadError("env.kwargs.\"\\u0000\" = 1"), "no error");
  for (const std::string bad :
       {"env.kwargs.=1", "env.kwargs.a.=1", "env.kwargs.a b=1", "env.kwargs.\"a=1",
        "env.kwargs.#=1", "env.kwargs.a={", "env.kwargs.a=[1", "env.kwargs.a=[1]\nb = 2",
        "env.kwargs.[a]=1", "env.kwargs.a={b = 1, b = 2}"}) {
    EXPECT_NE(SetError(bad), "no error") << bad;
  }
}

TEST_F(ConfigTable, OfAHostileFileIsAnErrorAndNotACrash) {
  const auto repeated = [](const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  EXPECT_EQ(LoadError("env.kwargs.a = " + repeated("[", 15) + repeated("]", 15)), "no error");
  ExpectReadsBack();
  EXPECT_EQ(LoadError("env.kwargs.a = " + repeated("[", 16) + repeated("]", 16)),
            "my.toml:1: env.kwargs.a: nested deeper than 16 levels");
  EXPECT_NE(LoadError("[env.kwargs" + repeated(".a", 16) + "]\nx = 1"), "no error");
  EXPECT_NE(LoadError("[env.kwargs" + repeated(".a", 30) + "]\na" + repeated(".a", 31) + " = {a" +
                      repeated(".a", 30) + " = 1}"),
            "no error");
  EXPECT_NE(SetError("env.kwargs" + repeated(".a", 5000) + "=1"), "no error");
  EXPECT_NE(SetError("env.kwargs=" + repeated("{a=", 5000)), "no error");
  EXPECT_EQ(LoadError("env.kwargs.a = \"" + repeated("x", 65000) + "\""), "no error");
  EXPECT_NE(LoadError("env.kwargs.a = \"" + repeated("x", 66000) + "\""), "no error");
  EXPECT_NE(LoadError("env.kwargs.a = [" + repeated("1,", 40000) + "]"), "no error");
  std::string many = "[env.kwargs]\n";
  for (int i = 100'000; i > 0; --i) many += std::to_string(i) + "=1\n";
  EXPECT_NE(LoadError(many), "no error");
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

}  // namespace stableaa::config_table_test
