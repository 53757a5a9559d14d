// Files that grow while a run goes on, and can be taken back to where a checkpoint saw them.
#ifndef STABLEAA_RL_RUN_LOG_H_
#define STABLEAA_RL_RUN_LOG_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "stableaa/base/descriptor.h"

namespace stableaa {

// Appends only. What was appended reaches the file at once (one write), survives a kill of the
// process, and after Sync a crash of the machine.
class RunLog {
 public:
  // Creates the file, or opens it and cuts it to `size` bytes. BadInput, naming the file, if it is
  // not a regular file or shorter than that: something has been lost.
  RunLog(std::filesystem::path path, std::uint64_t size);

  // The same BadInput, and changes nothing.
  static void Require(const std::filesystem::path& path, std::uint64_t size);

  // WorkFailed, naming the file and the system's reason (disk full); the file then ends where it
  // did before.
  void Append(std::span<const std::byte> bytes);
  void Append(std::string_view text);
  void Sync();

  std::uint64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_LOG_H_
