// Files that grow while a run goes on, and can be taken back to where a checkpoint saw them.
#ifndef STABLEAA_RL_RUN_RUN_LOG_H_
#define STABLEAA_RL_RUN_RUN_LOG_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/base/files/descriptor.h"

namespace stableaa {

class ByteReader;
class ByteWriter;

// What a log holds, for a checkpoint: the length of each row (what one Append wrote, names of
// columns included) and a checksum of the file up to its end. So a changed byte is noticed, and in
// which row.
class LogRows {
 public:
  void Add(std::span<const std::byte> row);

  std::size_t count() const { return rows_.size(); }
  std::uint64_t bytes() const { return bytes_; }  // of all of them

  // The number, from 0, of the first row that is not what the file has; count() if there is none.
  // The file has at least bytes() bytes.
  std::size_t FirstDifference(const std::filesystem::path& path) const;

  // U64 number of rows; of each U32 length, U32 CRC-32 (that of zlib) of the file up to its end.
  void Save(ByteWriter& out) const;
  void Load(ByteReader& in);

 private:
  struct Row {
    std::uint32_t bytes = 0;
    std::uint32_t checksum = 0;
  };
  std::vector<Row> rows_;
  std::uint64_t bytes_ = 0;
};

// Appends only. What was appended reaches the file at once (one write), survives a kill of the
// process, and after Sync a crash of the machine.
class RunLog {
 public:
  // Creates the file, or opens it and cuts it to these rows. BadInput, naming the file, if it is
  // not a regular file or shorter than that: something has been lost. Require checks what is in
  // them.
  explicit RunLog(std::filesystem::path path, LogRows rows = {});

  // The same BadInput, also for rows that are not those of the file, naming the first; and changes
  // nothing.
  enum class Kind { kCsv, kRecords };
  static void Require(const std::filesystem::path& path, const LogRows& rows, Kind kind);

  // WorkFailed, naming the file and the system's reason (disk full); the file then ends where it
  // did before.
  void Append(std::span<const std::byte> bytes);
  void Append(std::string_view text);
  // The last thing that is appended, and not one of rows(): opening the file with them cuts it off.
  void AppendUncounted(std::string_view text);
  void Sync();

  std::uint64_t size() const { return rows_.bytes(); }
  const LogRows& rows() const { return rows_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  void Write(std::span<const std::byte> bytes);

  std::filesystem::path path_;
  Descriptor file_;
  LogRows rows_;
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_RUN_LOG_H_
