#include "stableaa/rl/run/json_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::json_log_test {

using Part = JsonLog::Part;
using Json = nlohmann::json;

class JsonLogTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Shown(std::string message) const {
    const std::string prefix = folder_.path().string() + "/";
    for (auto at = message.find(prefix); at != message.npos; at = message.find(prefix)) {
      message.erase(at, prefix.size());
    }
    return message;
  }

  TemporaryFolder folder_;
};

const EpisodeRow kEpisode{3, 700, -1.5, 240, true, false};
const std::string kEpisodeLine =
    R"({"kind":"episode","episode":3,"step":700,"return":-1.5,"length":240,"terminated":1,"truncated":0})"
    "\n";

TEST_F(JsonLogTest, RowsHaveTheirColumnsAndNullForWhatIsNoNumber) {
  MetricRow row;
  row.Add("step", 1000);
  row.Add("loss", 0.1);
  row.Add("empty", std::nullopt);
  row.Add("nan", std::nan(""));
  row.Add("inf", std::numeric_limits<double>::infinity());
  row.Add("small", -2.5e-300);
  row.Add("large", 1e22);
  JsonLog log(Path("rows"), Part::kFirst);
  log.Add(row);
  log.Add(kEpisode);
  EXPECT_FALSE(log.is_stdout());
  const std::string text = FileContent(Path("rows"));  // while it is open
  EXPECT_EQ(text,
            "{\"kind\":\"metrics\",\"step\":1000,\"loss\":0.1,\"empty\":null,\"nan\":null,"
            "\"inf\":null,\"small\":-2.5e-300,\"large\":1e+22}\n" +
                kEpisodeLine);
  EXPECT_EQ(Json::parse(text.substr(0, text.find('\n')))["large"], 1e22);
}

TEST_F(JsonLogTest, ARunIsDescribedWithAllItsKeys) {
  RunOptions options;
  options.train.seed = std::numeric_limits<std::uint64_t>::max();
  options.env.kwargs = R"({"size":5,"names":["a","é"]})";
  JsonLog(Path("rows"), Part::kFirst).AddRun(options, "runs/é\x1b", 12);
  const std::string text = FileContent(Path("rows"));
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c < 127); }))
      << text;
  const Json run = Json::parse(text);
  EXPECT_EQ(run["kind"], "run");
  EXPECT_EQ(run["seed"], std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(run["directory"], "runs/é\x1b");
  EXPECT_EQ(run["step"], 12);
  EXPECT_EQ(run["env"], options.train.env);
  EXPECT_EQ(run["config"].size(), AllKeys(options).size());
  EXPECT_EQ(run["config"]["train.preset"], options.train.preset);
  EXPECT_EQ(run["config"]["env.kwargs"], Json::parse(options.env.kwargs));
}

TEST_F(JsonLogTest, ANewRunTakesNoFileThatHoldsSomething) {
  WriteContent(Path("full"), "{\"kind\":\"run\",\n");
  WriteContent(Path("empty"), "");
  for (const bool opens : {false, true}) {
    EXPECT_EQ(Shown(MessageOf([&] {
                opens ? void(JsonLog(Path("full"), Part::kFirst))
                      : JsonLog::Require(Path("full"), Part::kFirst);
              })),
              "full exists already");
  }
  JsonLog::Require(Path("empty"), Part::kFirst);
  JsonLog::Require(Path("new"), Part::kFirst);
  EXPECT_FALSE(std::filesystem::exists(Path("new")));
  EXPECT_EQ(FileContent(Path("full")), "{\"kind\":\"run\",\n");
}

TEST_F(JsonLogTest, AResumedRunAppendsAfterTheLastWholeLine) {
  const std::string whole = "{\"kind\":\"run\",\"step\":0}\n" + std::string(70'000, ' ') + "\n";
  for (const std::string& partial :
       {std::string(), std::string("{\"kind\":\"met"), std::string(200'000, 'x')}) {
    WriteContent(Path("rows"), whole + partial);
    JsonLog(Path("rows"), Part::kLater).Add(kEpisode);
    EXPECT_TRUE(FileContent(Path("rows")) == whole + kEpisodeLine);
  }
  for (const std::string start : {"{", "{\"kind\":\"run\",\"step\":0"}) {  // nothing is whole
    WriteContent(Path("rows"), start);
    JsonLog(Path("rows"), Part::kLater).Add(kEpisode);
    EXPECT_EQ(FileContent(Path("rows")), kEpisodeLine);
  }
  JsonLog(Path("new"), Part::kLater).Add(kEpisode);
  EXPECT_EQ(FileContent(Path("new")), kEpisodeLine);
}

TEST_F(JsonLogTest, AResumedRunTakesNoOtherFile) {
  for (const std::string text : {"step,update\n", "{\"kind\":\"metrics\"}\n", "\n"}) {
    WriteContent(Path("other"), text);
    EXPECT_EQ(Shown(MessageOf([&] { JsonLog(Path("other"), Part::kLater); })),
              "other holds something else than the rows of a run as JSON, which begin with "
              "{\"kind\":\"run\",");
    EXPECT_EQ(FileContent(Path("other")), text);
  }
}

TEST_F(JsonLogTest, AResumedRunTakesNoLogOfAnotherRun) {
  const std::string rows = Path("rows");
  const auto options = [](std::uint64_t seed) {
    RunOptions made;
    made.train.seed = seed;
    made.env.kwargs = "{\"size\":4}";
    return made;
  };
  const auto refusal = [&](const RunOptions& made, const std::string& directory) {
    return Shown(MessageOf([&] { JsonLog::RequireSameRun(rows, made, Path(directory)); }));
  };
  for (const std::string run : {"a", "b"}) {
    std::filesystem::create_directory(Path(run));
    WriteContent(Path(run + "/config.toml"), "");
  }
  EXPECT_EQ(refusal(options(1), "a"), "no error") << "there is no such file";
  JsonLog(rows, Part::kLater).AddRun(options(1), Path("a"), 0);
  {
    JsonLog log(rows, Part::kLater);  // more than what is read at once
    for (int k = 0; k < 2000; ++k) log.Add(kEpisode);
  }
  RunOptions longer = options(1);
  longer.train.steps *= 2;
  longer.train.threads = 3;
  EXPECT_EQ(refusal(longer, "a"), "no error");
  EXPECT_EQ(refusal(options(2), "a"),
            "rows holds the rows of another run: its train.seed is 1, and here it is 2");
  EXPECT_EQ(refusal(options(1), "b"), "rows holds the rows of another run: of a, and not of b");
  std::filesystem::rename(Path("a"), Path("moved"));
  EXPECT_EQ(refusal(options(1), "moved"), "no error");
  // The last one counts, as long as it is whole.
  JsonLog(rows, Part::kLater).AddRun(options(2), Path("b"), 0);
  EXPECT_EQ(refusal(options(2), "b"), "no error");
  WriteContent(rows, FileContent(rows) + "{\"kind\":\"run\",\"config\":{\"train.seed\":3");
  EXPECT_EQ(refusal(options(2), "b"), "no error");
  EXPECT_NE(refusal(options(1), "b"), "no error");
  WriteContent(rows, "{\"kind\":\"run\",\"step\":0}\n");
  EXPECT_TRUE(refusal(options(1), "b").starts_with("rows holds something else"));
}

TEST_F(JsonLogTest, WhatCannotBeWrittenIsAFailure) {
  const auto failure = [&](const std::string& target) {
    return Shown(
        MessageOf([&] { JsonLog::Require(target, Part::kFirst); }, Error::Kind::kWorkFailed));
  };
  EXPECT_EQ(failure(Path("nowhere/rows")),
            "cannot write nowhere/rows: the directory nowhere does not exist");
  std::filesystem::create_directory(Path("folder"));
  EXPECT_NE(failure(Path("folder")).find("folder"), std::string::npos);
  JsonLog full("/dev/full", Part::kFirst);
  EXPECT_EQ(MessageOf([&] { full.Add(kEpisode); }, Error::Kind::kWorkFailed),
            "cannot write /dev/full: No space left on device");
}

TEST_F(JsonLogTest, AReaderWhoHasGoneIsNoError) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  Descriptor reader(::open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK));
  JsonLog::Require(Path("pipe"), Part::kFirst);
  JsonLog log(Path("pipe"), Part::kFirst);
  log.Add(kEpisode);
  std::string text(1000, '\0');
  text.resize(static_cast<std::size_t>(::read(reader.get(), text.data(), text.size())));
  EXPECT_EQ(text, kEpisodeLine);
  reader.Close();
  testing::internal::CaptureStderr();
  log.Add(kEpisode);
  log.Add(kEpisode);
  EXPECT_EQ(Shown(testing::internal::GetCapturedStderr()),
            "stableaa: warning: pipe: its reader has gone; the run goes on, and its files have all "
            "rows\n");
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

}  // namespace stableaa::json_log_test
