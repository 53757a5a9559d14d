#include "stableaa/rl/run/run_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <vector>

#include "stableaa/base/files/directories.h"
#include "stableaa/base/files/open_file.h"

namespace stableaa {
namespace fs = std::filesystem;
namespace {

// False if the opened directory has been renamed or removed in the meantime.
bool IsStill(const Descriptor& directory, const fs::path& path) {
  struct stat opened = {}, named = {};
  return fstat(directory.get(), &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void Sync(const fs::path& path) {
  const Descriptor directory = OpenDirectory(path);
  if (fsync(directory.get()) != 0) {
    throw SystemError(fmt::format("cannot write {}", ShownPath(path)), errno);
  }
}

void RequireUnused(const fs::path& name) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(name, error);
  if (!fs::exists(status)) return;
  using Reason = UnusableRunPath::Reason;
  if (fs::exists(name / "config.toml", error)) {
    throw UnusableRunPath(Reason::kHoldsRun, name,
                          fmt::format("{} holds a run already", ShownPath(name)));
  }
  if (!fs::is_directory(status) || !fs::is_empty(name, error)) {
    throw UnusableRunPath(Reason::kExists, name, fmt::format("{} exists already", ShownPath(name)));
  }
}

// Absolute, with links followed as far as it exists; empty if it cannot be.
fs::path WithoutLinks(const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? fs::path() : NormalPath(found);
}

// Checks the files that are replaced when the run continues.
void RequireRegularFiles(const RunDirectory& directory) {
  std::vector<fs::path> files = {directory.config(), directory.diagnosis()};
  for (const fs::path& folder : {directory.weights(), directory.checkpoint()}) {
    std::error_code error;  // a missing folder is reported where it is read
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      files.push_back(entry.path());
    }
  }
  for (const fs::path& file : files) {
    struct stat status = {};
    if (lstat(file.c_str(), &status) != 0) continue;
    if (const std::string_view obstacle = OwnFileObstacle(status.st_mode); !obstacle.empty()) {
      throw BadInput(fmt::format("{} is {}, expected a regular file", ShownPath(file), obstacle));
    }
  }
}

}  // namespace

RunDirectory RunDirectory::Create(const fs::path& path) {
  const fs::path name = NormalPath(path);
  if (name.empty() || !name.has_filename() || name.filename() == "." || name.filename() == "..") {
    throw UnusableRunPath(UnusableRunPath::Reason::kNoName, path,
                          fmt::format("expected a directory to make, found '{}'", ShownPath(path)));
  }
  RequireUnused(name);
  if (name.has_parent_path()) MakeDirectories(name.parent_path());
  const fs::path temporary = name.parent_path() / fmt::format(".{}.tmp", name.filename().string());
  for (;;) {
    MakeDirectories(temporary);
    Descriptor lock = OpenDirectory(temporary);
    if (!TryLock(lock)) {
      throw WorkFailed(fmt::format("another process is making {}", ShownPath(name)));
    }
    if (!IsStill(lock, temporary)) continue;
    // What a killed process left behind is not worth keeping: it contains no step.
    std::error_code error;
    const bool empty = fs::is_empty(temporary, error);
    if (error) {
      const int reason = error.value();
      fs::remove(temporary, error);  // if it is empty
      throw SystemError(fmt::format("cannot read {}", ShownPath(temporary)), reason);
    }
    if (empty) {
      RunDirectory directory(temporary, name, std::move(lock));
      MakeDirectories(directory.weights());
      MakeDirectories(directory.checkpoint());
      return directory;
    }
    fs::remove_all(temporary, error);
    if (error) {
      throw SystemError(fmt::format("cannot remove {}", ShownPath(temporary)), error.value());
    }
  }
}

RunDirectory RunDirectory::Open(const fs::path& path) {
  const fs::path name = NormalPath(path);
  std::error_code error;
  if (!fs::is_directory(name, error)) {
    throw BadInput(fmt::format("there is no directory {}", ShownPath(name)));
  }
  if (!fs::exists(name / "config.toml", error)) {
    throw BadInput(fmt::format("{} holds no run: it has no config.toml", ShownPath(name)));
  }
  Descriptor lock = OpenDirectory(name);
  if (!TryLock(lock)) throw WorkFailed(fmt::format("another process trains {}", ShownPath(name)));
  RunDirectory directory(name, name, std::move(lock));
  RequireRegularFiles(directory);
  return directory;
}

RunDirectory::~RunDirectory() {
  if (!lock_.is_open() || path_ == name_) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void RunDirectory::Publish() {
  Sync(path_);
  RequireUnused(name_);
  if (std::rename(path_.c_str(), name_.c_str()) != 0) {
    throw SystemError(fmt::format("cannot rename {} to {}", ShownPath(path_), ShownPath(name_)),
                      errno);
  }
  path_ = name_;
  Sync(name_.has_parent_path() ? name_.parent_path() : fs::path("."));
}

bool IsWrittenByRuns(const fs::path& relative) {
  constexpr std::array kNames = {"config.toml",  "run.json", "metrics.csv", "episodes.csv",
                                 "diverged.npz", "weights",  "checkpoint"};
  if (relative.empty()) return false;
  const std::string first = relative.begin()->string();
  return std::ranges::find(kNames, first) != kNames.end() ||
         first.starts_with("events.out.tfevents.");
}

std::optional<fs::path> PathWithin(const fs::path& path, const fs::path& directory) {
  const fs::path relative = WithoutLinks(path).lexically_relative(WithoutLinks(directory));
  if (relative.empty() || *relative.begin() == "..") return std::nullopt;
  return relative;
}

std::optional<fs::path> RunThatWrote(const fs::path& path) {
  const fs::path folder = WithoutLinks(path).parent_path();
  for (const fs::path& directory : {folder, folder.parent_path()}) {
    std::error_code error;
    const bool is_run = fs::is_directory(directory / "weights", error) &&
                        fs::exists(directory / "config.toml", error);
    const auto file = PathWithin(path, directory);
    if (is_run && file && IsWrittenByRuns(*file)) return directory;
  }
  return std::nullopt;
}

}  // namespace stableaa
