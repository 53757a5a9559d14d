#include "stableaa/rl/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "stableaa/base/error.h"
#include "stableaa/base/plain_text.h"

namespace stableaa {
namespace fs = std::filesystem;
namespace {

// runs/a/ and runs/./a are runs/a.
fs::path Normalized(const fs::path& path) {
  fs::path normal = path.lexically_normal();
  if (!normal.has_filename()) normal = normal.parent_path();
  return normal;
}

std::string Shown(const fs::path& path) { return Shorten(path.string(), 400); }

Descriptor OpenDirectory(const fs::path& path) {
  Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) throw SystemError(fmt::format("cannot open {}", Shown(path)), errno);
  return directory;
}

// False if another process has it. A file system without locks offers no guard, which is no reason
// not to train.
bool Lock(const Descriptor& directory) {
  return flock(directory.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

// False if the directory that was opened has been renamed or removed meanwhile.
bool IsStill(const Descriptor& directory, const fs::path& path) {
  struct stat opened = {}, named = {};
  return fstat(directory.get(), &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void Sync(const fs::path& path) {
  const Descriptor directory = OpenDirectory(path);
  if (fsync(directory.get()) != 0) {
    throw SystemError(fmt::format("cannot write {}", Shown(path)), errno);
  }
}

void MakeDirectories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw SystemError(fmt::format("cannot make {}", Shown(path)), error.value());
}

void RequireUnused(const fs::path& name) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(name, error);
  if (!fs::exists(status)) return;
  if (fs::exists(name / "config.toml", error)) {
    throw BadInput(fmt::format(
        "{} holds a run already; go on with 'stableaa train --resume {}', or choose another --out",
        Shown(name), Shown(name)));
  }
  if (!fs::is_directory(status) || !fs::is_empty(name, error)) {
    throw BadInput(fmt::format("{} exists already; choose another --out", Shown(name)));
  }
}

}  // namespace

RunDirectory RunDirectory::Create(const fs::path& path) {
  const fs::path name = Normalized(path);
  if (name.empty() || !name.has_filename() || name.filename() == "." || name.filename() == "..") {
    throw BadInput(fmt::format("--out: expected a directory to make, found '{}'", Shown(path)));
  }
  RequireUnused(name);
  if (name.has_parent_path()) MakeDirectories(name.parent_path());
  const fs::path temporary = name.parent_path() / fmt::format(".{}.tmp", name.filename().string());
  for (;;) {
    MakeDirectories(temporary);
    Descriptor lock = OpenDirectory(temporary);
    if (!Lock(lock)) {
      throw WorkFailed(fmt::format("another process is making {}", Shown(name)));
    }
    if (!IsStill(lock, temporary)) continue;
    // What a killed process left is not worth keeping: it holds no step.
    std::error_code error;
    if (fs::is_empty(temporary, error)) {
      RunDirectory directory(temporary, name, std::move(lock));
      MakeDirectories(directory.weights());
      MakeDirectories(directory.checkpoint());
      return directory;
    }
    fs::remove_all(temporary, error);
    if (error) {
      throw SystemError(fmt::format("cannot remove {}", Shown(temporary)), error.value());
    }
  }
}

RunDirectory RunDirectory::Open(const fs::path& path) {
  const fs::path name = Normalized(path);
  std::error_code error;
  if (!fs::is_directory(name, error)) {
    throw BadInput(fmt::format("there is no directory {}", Shown(name)));
  }
  if (!fs::exists(name / "config.toml", error)) {
    throw BadInput(fmt::format("{} holds no run: it has no config.toml", Shown(name)));
  }
  Descriptor lock = OpenDirectory(name);
  if (!Lock(lock)) throw WorkFailed(fmt::format("another process trains {}", Shown(name)));
  return {name, name, std::move(lock)};
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
    throw SystemError(fmt::format("cannot rename {} to {}", Shown(path_), Shown(name_)), errno);
  }
  path_ = name_;
  Sync(name_.has_parent_path() ? name_.parent_path() : fs::path("."));
}

}  // namespace stableaa
