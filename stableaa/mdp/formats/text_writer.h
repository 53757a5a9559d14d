// Text files with many numbers, written fast and atomically (AtomicFile).
//
//   TextWriter out("model.csv");
//   out.Print(FMT_COMPILE("{},{}\n"), state, value);
//   out.Commit();
//
// {} prints a double with the fewest digits that read back as the same double.
#ifndef STABLEAA_MDP_FORMATS_TEXT_WRITER_H_
#define STABLEAA_MDP_FORMATS_TEXT_WRITER_H_

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/mdp/model/model.h"

namespace stableaa {

class TextWriter {
 public:
  explicit TextWriter(const std::filesystem::path& path) : file_(path) {}

  template <typename Format, typename... Values>
  void Print(const Format& format, const Values&... values) {
    fmt::format_to(std::back_inserter(buffer_), format, values...);
    constexpr std::size_t kFlushBytes = std::size_t{1} << 18;
    if (buffer_.size() >= kFlushBytes) Flush();
  }

  void Commit() {
    Flush();
    file_.Commit();
  }

 private:
  void Flush() {
    file_.Write(std::string_view(buffer_.data(), buffer_.size()));
    buffer_.clear();
  }

  AtomicFile file_;
  fmt::memory_buffer buffer_;
};

// What a format that cannot hold the discount returns after writing a model.
inline std::vector<std::string> WithoutDiscount(const Model& model) {
  if (!model.discount()) return {};
  return {fmt::format("the discount {}", *model.discount())};
}

}  // namespace stableaa

#endif  // STABLEAA_MDP_FORMATS_TEXT_WRITER_H_
