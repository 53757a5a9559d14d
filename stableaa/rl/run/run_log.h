// Files that grow during a run and can be cut back to their state at a checkpoint.
#ifndef STABLEAA_RL_RUN_RUN_LOG_H_
#define STABLEAA_RL_RUN_RUN_LOG_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "stableaa/base/files/descriptor.h"

namespace stableaa {

class ByteReader;
class ByteWriter;

// A log's contents as recorded in a checkpoint: the length of each row (the output of one Append,
// column names included) and a checksum of the file up to the row's end. This reveals any changed
// byte, and in which row it is.
class LogRows {
 public:
  void Add(std::span<const std::byte> row);

  std::size_t count() const { return rows_.size(); }
  std::uint64_t bytes() const { return bytes_; }  // of all rows

  // The number, from 0, of the first row that differs from the file, or count() if there is none.
  // The file must have at least bytes() bytes.
  std::size_t FirstDifference(const std::filesystem::path& path) const;

  // U64 number of rows; for each, U32 length and U32 CRC-32 (zlib's) of the file up to its end.
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

// Append-only. Appended data reaches the file at once (in one write), so it survives if the process
// is killed, and after Sync even a crash of the machine.
class RunLog {
 public:
  // Creates the file, or opens it and cuts it to these rows. Throws BadInput, naming the file, if
  // it is not a regular file or is shorter than that: something has been lost. It does not check
  // the content of the rows; Require does.
  explicit RunLog(std::filesystem::path path, LogRows rows = {});

  // Throws the same BadInput, and also one for rows that differ from the file's, naming the first.
  // Changes nothing.
  enum class Kind { kCsv, kRecords };
  static void Require(const std::filesystem::path& path, const LogRows& rows, Kind kind);

  // Throws WorkFailed, naming the file and the system's reason (disk full); the file then ends
  // where it did before.
  void Append(std::span<const std::byte> bytes);
  void Append(std::string_view text);
  // Appends a last piece that is not part of rows(): opening the file with them cuts it off.
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
