#include "stableaa/base/text/plain_text.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace stableaa::plain_text_test {

TEST(PlainText, LeavesOrdinaryTextAsItIs) {
  for (const std::string text :
       {"", "runs/a b_c-1.5", "größe γ → ∞ 漢字 🎈", "back\\slash \"quoted\"",
        "\u00a0\u061b\u200d\u2010\u2030\u2065\u206a"}) {
    EXPECT_EQ(PlainText(text), text);
  }
}

TEST(PlainText, EscapesAllThatCommandsATerminal) {
  EXPECT_EQ(PlainText("\x1b[31m\x1b]0;title\x07"), "\\u001B[31m\\u001B]0;title\\u0007");
  EXPECT_EQ(PlainText("one\ntwo\r\t\b\f"), "one\\ntwo\\r\\t\\b\\f");
  EXPECT_EQ(PlainText(std::string("a\0b", 3)), "a\\u0000b");
  EXPECT_EQ(PlainText("\x7f \u0080 \u009b2J \u009f"), "\\u007F \\u0080 \\u009B2J \\u009F");
  EXPECT_EQ(PlainText("\u2028\u2029"), "\\u2028\\u2029");
}

TEST(PlainText, EscapesAllThatTurnsTheDirection) {
  EXPECT_EQ(PlainText("\u061c\u200e\u200f"), "\\u061C\\u200E\\u200F");
  EXPECT_EQ(PlainText("\u202a\u202b\u202c\u202d\u202e"), "\\u202A\\u202B\\u202C\\u202D\\u202E");
  EXPECT_EQ(PlainText("\u2066\u2067\u2068\u2069"), "\\u2066\\u2067\\u2068\\u2069");
}

// 0x9b alone is a control code on a terminal that is not set to UTF-8.
TEST(PlainText, ShowsBrokenUtf8AsQuestionMarks) {
  EXPECT_EQ(PlainText("a\xff\x9b"
                      "b\xc3"),
            "a??b?");
  EXPECT_EQ(PlainText("\xc0\x9b \xed\xa0\x80 \xf4\x90\x80\x80"), "?? ??? ????");
}

TEST(PlainText, WhatItReturnsIsPlainAlready) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (int code = 0x80; code < 0x3000; ++code) {
    if (code < 0x800) {
      all += static_cast<char>(0xC0 | code >> 6);
    } else {
      all += static_cast<char>(0xE0 | code >> 12);
      all += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    }
    all += static_cast<char>(0x80 | (code & 0x3F));
  }
  const std::string plain = PlainText(all);
  EXPECT_EQ(PlainText(plain), plain);
  EXPECT_TRUE(IsCleanUtf8(plain));
  for (std::string_view rest = plain; !rest.empty(); rest.remove_prefix(Utf8Length(rest))) {
    ASSERT_FALSE(IsControl(rest));
  }
}

TEST(PlainText, KeepsTheMeaningOfJson) {
  const nlohmann::json text = "\x1b \x7f \u009b \u202e \" \\ \n é";
  const std::string dumped = nlohmann::json{{"key", text}}.dump();
  EXPECT_NE(PlainText(dumped), dumped);
  EXPECT_EQ(nlohmann::json::parse(PlainText(dumped))["key"], text);
}

TEST(ShellWord, IsOneWordForAShell) {
  for (const std::string text :
       {"", "a", "it's", "x; touch y; #", "$(date) `date` \\ \"", "a b*?~"}) {
    const std::string command = "printf %s " + ShellWord(text);
    std::FILE* const shell = ::popen(command.c_str(), "r");
    ASSERT_NE(shell, nullptr);
    std::string printed;
    for (int c = 0; (c = std::fgetc(shell)) != EOF;) printed += static_cast<char>(c);
    EXPECT_EQ(::pclose(shell), 0);
    EXPECT_EQ(printed, text);
  }
  EXPECT_EQ(ShellWord("runs/a-b_1.x:Y-v0"), "runs/a-b_1.x:Y-v0");
  EXPECT_EQ(ShellWord("\x1b]0;"), "'\\u001B]0;'");
}

TEST(Shorten, CutsBehindItsLimitAndIsPlain) {
  EXPECT_EQ(Shorten("0123456789", 10), "0123456789");
  EXPECT_EQ(Shorten("0123456789a", 10), "0123456789...");
  EXPECT_EQ(Shorten("\u009b\n\u202e", 100), "\\u009B\\n\\u202E");
  EXPECT_EQ(Shorten("éé", 1), "é...");
}

}  // namespace stableaa::plain_text_test
