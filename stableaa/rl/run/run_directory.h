// A run on disk:
//
//   config.toml                  every key, resolved: what the run depends on
//   run.json                     version, machine, seed, units, protocol, network: for people
//   metrics.csv                  a row every train.log_interval_steps and per evaluation
//   episodes.csv                 a row per training episode
//   events.out.tfevents.*        the same as metrics.csv, for TensorBoard
//   weights/latest.safetensors   as of the last checkpoint
//   weights/best.safetensors     as of the evaluation with the largest mean return; a run that ends
//                                before its first evaluation makes one at its end
//   weights/step-*.safetensors   as of the steps that checkpoint.keep_weights says
//   checkpoint/state.bin         everything else that a run needs to go on ...
//   checkpoint/segment-*.bin     ... and the replay's full segments
//   diverged.npz                 only if training has diverged: what shows why
//
// The directory is made under a temporary name beside the final one and renamed once it holds a
// checkpoint of step 0. So a directory with its final name can always be resumed.
#ifndef STABLEAA_RL_RUN_RUN_DIRECTORY_H_
#define STABLEAA_RL_RUN_RUN_DIRECTORY_H_

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/core/error.h"

namespace stableaa {

// A BadInput error: no run can be made there.
class UnusableRunPath : public Error {
 public:
  enum class Reason { kNoName, kExists, kHoldsRun };

  UnusableRunPath(Reason reason, const std::filesystem::path& path, const std::string& message)
      : Error(Kind::kBadInput, message), reason_(reason), path_(path) {}

  Reason reason() const { return reason_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  Reason reason_;
  std::filesystem::path path_;
};

// Owns the directory: no other process can use it in the meantime.
class RunDirectory {
 public:
  // Makes a new one, under its temporary name until Publish. Throws UnusableRunPath if `path`
  // exists and is not an empty directory, or is not a valid name for one.
  static RunDirectory Create(const std::filesystem::path& path);
  // Opens an existing one. Throws BadInput if it holds no run, or anything but regular files in the
  // places it writes to; WorkFailed if another process is using it.
  static RunDirectory Open(const std::filesystem::path& path);

  RunDirectory(RunDirectory&&) = default;
  // A directory that was never published is deleted with its contents.
  ~RunDirectory();

  // Syncs the directory and renames it.
  void Publish();

  // Where it is now.
  const std::filesystem::path& path() const { return path_; }
  // Its final name.
  const std::filesystem::path& name() const { return name_; }

  std::filesystem::path config() const { return path_ / "config.toml"; }
  std::filesystem::path run_json() const { return path_ / "run.json"; }
  std::filesystem::path metrics() const { return path_ / "metrics.csv"; }
  std::filesystem::path episodes() const { return path_ / "episodes.csv"; }
  std::filesystem::path events() const { return path_ / "events.out.tfevents.0.stableaa"; }
  std::filesystem::path weights() const { return path_ / "weights"; }
  std::filesystem::path checkpoint() const { return path_ / "checkpoint"; }
  std::filesystem::path state() const { return checkpoint() / "state.bin"; }
  std::filesystem::path diagnosis() const { return path_ / "diverged.npz"; }

 private:
  RunDirectory(std::filesystem::path path, std::filesystem::path name, Descriptor lock)
      : path_(std::move(path)), name_(std::move(name)), lock_(std::move(lock)) {}

  std::filesystem::path path_, name_;
  Descriptor lock_;
};

// The path relative to a directory, "." if they are the same; nothing if it is not in there. Follows
// links. Neither need exist.
std::optional<std::filesystem::path> PathWithin(const std::filesystem::path& path,
                                                const std::filesystem::path& directory);

// Whether a run writes the file of this path, relative to its directory, as the list above says.
bool IsWrittenByRuns(const std::filesystem::path& relative);

// The directory of the run that has written the file to which the path leads, through links too;
// nothing if there is no such run.
std::optional<std::filesystem::path> RunThatWrote(const std::filesystem::path& path);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_RUN_DIRECTORY_H_
