// A folder that lives as long as the object, for tests that write files.
//
//   const TemporaryFolder folder;
//   WriteTextFile(folder / "a.csv", "state,value\n");
#ifndef STABLEAA_TESTING_TEMPORARY_FOLDER_H_
#define STABLEAA_TESTING_TEMPORARY_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace stableaa {

class TemporaryFolder {
 public:
  // Created in `parent`; by default where the system keeps temporary folders.
  explicit TemporaryFolder(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "stableaa-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // A parent in memory if there is room; for tests that write a lot.
  static std::filesystem::path InMemory() {
    std::error_code unknown;
    const auto space = std::filesystem::space("/dev/shm", unknown);
    constexpr std::uintmax_t kEnough = std::uintmax_t{1} << 30;
    return !unknown && space.available >= kEnough ? "/dev/shm"
                                                  : std::filesystem::temp_directory_path();
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace stableaa

#endif  // STABLEAA_TESTING_TEMPORARY_FOLDER_H_
