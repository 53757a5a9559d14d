#include "stableaa/rl/run/run_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "stableaa/core/error.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::run_directory_test {

namespace fs = std::filesystem;

std::optional<Error::Kind> KindOfError(const std::function<void()>& work) {
  try {
    work();
    return std::nullopt;
  } catch (const Error& error) {
    return error.kind();
  }
}

std::optional<Error::Kind> ErrorOfCreate(const fs::path& path) {
  return KindOfError([&] { RunDirectory::Create(path); });
}

std::optional<Error::Kind> ErrorOfOpen(const fs::path& path) {
  return KindOfError([&] { RunDirectory::Open(path); });
}

class RunDirectoryTest : public ::testing::Test {
 protected:
  void MakeRun(const std::string& name) const {
    RunDirectory made = RunDirectory::Create(folder_ / name);
    WriteContent(made.config(), "steps");
    made.Publish();
  }

  FolderOfRuns folder_;
};

TEST_F(RunDirectoryTest, AppearsWhenItIsPublished) {
  RunDirectory made = RunDirectory::Create(folder_ / "a/run/");
  EXPECT_FALSE(fs::exists(folder_ / "a/run"));
  EXPECT_EQ(made.name(), folder_ / "a/run");
  EXPECT_EQ(made.path(), folder_ / "a/.run.tmp");
  EXPECT_TRUE(fs::is_directory(made.weights()));
  EXPECT_TRUE(fs::is_directory(made.checkpoint()));
  WriteContent(made.config(), "steps");
  made.Publish();
  EXPECT_EQ(made.path(), folder_ / "a/run");
  EXPECT_EQ(FileContent(folder_ / "a/run/config.toml"), "steps");
  EXPECT_FALSE(fs::exists(folder_ / "a/.run.tmp"));
}

TEST_F(RunDirectoryTest, GoesAwayUnlessItIsPublished) {
  {
    const RunDirectory made = RunDirectory::Create(folder_ / "run");
    WriteContent(made.state(), "half");
    EXPECT_TRUE(fs::exists(made.state()));
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  MakeRun("run");
  EXPECT_TRUE(fs::exists(folder_ / "run/config.toml"));
}

TEST_F(RunDirectoryTest, TakesOverWhatAKilledProcessLeft) {
  fs::create_directories(folder_ / ".run.tmp/deep/deeper");
  WriteContent(folder_ / ".run.tmp/deep/file", "x");
  const RunDirectory made = RunDirectory::Create(folder_ / "run");
  EXPECT_FALSE(fs::exists(made.path() / "deep"));
}

TEST_F(RunDirectoryTest, ReplacesOnlyAnEmptyDirectory) {
  fs::create_directory(folder_ / "empty");
  MakeRun("empty");
  fs::create_directory(folder_ / "full");
  WriteContent(folder_ / "full/notes", "mine");
  WriteContent(folder_ / "file", "text");
  fs::create_symlink("nowhere", folder_ / "link");
  const Snapshot before = SnapshotOf(folder_.path());
  for (const std::string name : {"empty", "full", "file", "link", "full/..", "file/."}) {
    EXPECT_EQ(ErrorOfCreate(folder_ / name), Error::Kind::kBadInput) << name;
  }
  for (const fs::path path : {"", "/", ".", "..", "./.", "a/..", "a/../.."}) {
    EXPECT_EQ(ErrorOfCreate(path), Error::Kind::kBadInput) << path;
  }
  EXPECT_EQ(ErrorOfCreate(folder_ / "file/run"), Error::Kind::kWorkFailed);
  ExpectUnchanged(folder_.path(), before);
}

TEST_F(RunDirectoryTest, DoesNotReplaceWhatAppearedMeanwhile) {
  RunDirectory made = RunDirectory::Create(folder_ / "run");
  fs::create_directory(folder_ / "run");
  WriteContent(folder_ / "run/notes", "mine");
  EXPECT_EQ(KindOfError([&] { made.Publish(); }), Error::Kind::kBadInput);
  EXPECT_EQ(FileContent(folder_ / "run/notes"), "mine");
}

TEST_F(RunDirectoryTest, HasOneOwner) {
  {
    const RunDirectory made = RunDirectory::Create(folder_ / "run");
    EXPECT_EQ(ErrorOfCreate(folder_ / "run"), Error::Kind::kWorkFailed);
    EXPECT_TRUE(fs::exists(made.checkpoint()));
  }
  {
    RunDirectory made = RunDirectory::Create(folder_ / "run");
    WriteContent(made.config(), "steps");
    made.Publish();
    EXPECT_EQ(ErrorOfOpen(folder_ / "run"), Error::Kind::kWorkFailed);
    const RunDirectory moved = std::move(made);
    EXPECT_EQ(ErrorOfOpen(folder_ / "run"), Error::Kind::kWorkFailed);
  }
  EXPECT_EQ(ErrorOfOpen(folder_ / "run"), std::nullopt);
  const RunDirectory open = RunDirectory::Open(folder_ / "run");
  EXPECT_EQ(ErrorOfOpen(folder_ / "run/."), Error::Kind::kWorkFailed);
}

TEST_F(RunDirectoryTest, KnowsWhichFilesARunHasWritten) {
  MakeRun("run");
  WriteContent(folder_ / "run/weights/latest.safetensors", "w");
  fs::create_symlink(folder_ / "run/weights/latest.safetensors", folder_ / "link");
  fs::create_directory_symlink(folder_ / "run", folder_ / "linked");
  const fs::path run = fs::canonical(folder_ / "run");
  for (const std::string name :
       {"run/config.toml", "run/metrics.csv", "run/events.out.tfevents.0.stableaa", "link",
        "run/weights/new", "linked/checkpoint/state.bin", "run/../linked/./run.json"}) {
    EXPECT_EQ(RunThatWrote(folder_ / name), run) << name;
  }
  WriteContent(folder_ / "config.toml", "not of a run");
  for (const std::string name : {"run/notes.csv", "run/q.onnx", "run/notes/config.toml",
                                 "config.toml", "none/metrics.csv", "run", ""}) {
    EXPECT_EQ(RunThatWrote(folder_ / name), std::nullopt) << name;
  }
}

TEST_F(RunDirectoryTest, PathsWithinADirectoryAreRelativeToIt) {
  fs::create_directories(folder_ / "a/b");
  fs::create_directory_symlink(folder_ / "a/b", folder_ / "link");
  EXPECT_EQ(PathWithin(folder_ / "link/c", folder_ / "a"), fs::path("b/c"));
  EXPECT_EQ(PathWithin(folder_ / "new/c", folder_ / "new/"), fs::path("c"));
  EXPECT_EQ(PathWithin(folder_ / "new/", folder_ / "./new"), fs::path("."));
  EXPECT_EQ(PathWithin(folder_ / "a", folder_ / "a/b"), std::nullopt);
  EXPECT_EQ(PathWithin(folder_ / "ab", folder_ / "a"), std::nullopt);
}

TEST_F(RunDirectoryTest, OpensOnlyRuns) {
  fs::create_directory(folder_ / "empty");
  WriteContent(folder_ / "file", "text");
  for (const std::string name : {"none", "empty", "file", "file/x", ""}) {
    EXPECT_EQ(ErrorOfOpen(name.empty() ? fs::path() : folder_ / name), Error::Kind::kBadInput)
        << name;
  }
  MakeRun("run");
  const RunDirectory open = RunDirectory::Open((folder_ / "run").string() + "/");
  EXPECT_EQ(open.path(), folder_ / "run");
  EXPECT_EQ(open.state(), folder_ / "run/checkpoint/state.bin");
}

}  // namespace stableaa::run_directory_test
