// For tests of whole runs: what two equal runs must have in common, and what a directory holds.
#ifndef STABLEAA_RL_RUN_RUN_RESULTS_TEST_H_
#define STABLEAA_RL_RUN_RUN_RESULTS_TEST_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/testing/temporary_folder.h"

namespace stableaa {

// Empty if there is none.
inline std::string FileContent(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void WriteContent(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// Read by column. A file without rows, or without anything, has no columns.
class Table {
 public:
  explicit Table(const std::filesystem::path& csv) {
    std::istringstream text(FileContent(csv));
    std::string line;
    if (!std::getline(text, line)) return;
    const std::vector<std::string> names = Cells(line);
    for (const std::string& name : names) columns_.emplace_back(name, std::vector<std::string>());
    while (std::getline(text, line)) {
      const std::vector<std::string> cells = Cells(line);
      EXPECT_EQ(cells.size(), names.size()) << csv << ": " << line;
      for (std::size_t i = 0; i < cells.size() && i < names.size(); ++i) {
        columns_[i].second.push_back(cells[i]);
      }
      ++rows_;
    }
  }

  std::size_t rows() const { return rows_; }
  const std::vector<std::pair<std::string, std::vector<std::string>>>& columns() const {
    return columns_;
  }
  // Null if there is no column of this name.
  const std::vector<std::string>* Find(const std::string& name) const {
    for (const auto& [column, cells] : columns_) {
      if (column == name) return &cells;
    }
    return nullptr;
  }
  const std::vector<std::string>& operator[](const std::string& name) const {
    const std::vector<std::string>* const cells = Find(name);
    if (cells == nullptr) throw std::runtime_error("no column " + name);
    return *cells;
  }

 private:
  static std::vector<std::string> Cells(const std::string& line) {
    std::vector<std::string> cells(1);
    for (const char c : line) {
      if (c == ',') {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    return cells;
  }

  std::vector<std::pair<std::string, std::vector<std::string>>> columns_;
  std::size_t rows_ = 0;
};

inline std::string WithoutWallColumns(const std::filesystem::path& csv) {
  const Table table(csv);
  std::string text;
  for (const auto& [name, cells] : table.columns()) {
    if (name.starts_with("wall_")) continue;
    text += name;
    for (const std::string& cell : cells) text += ',' + cell;
    text += '\n';
  }
  return text;
}

// The names of the weights files: latest, best and kept ones. A killed process may leave a temporary
// file behind, whose name begins with a dot.
inline std::vector<std::string> WeightsOf(const std::filesystem::path& run) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(run / "weights")) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.')) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

// The promise: the same bytes, wall_ columns aside.
inline void ExpectSameResults(const std::filesystem::path& run,
                              const std::filesystem::path& expected) {
  for (const char* const csv : {"metrics.csv", "episodes.csv"}) {
    EXPECT_EQ(WithoutWallColumns(run / csv), WithoutWallColumns(expected / csv)) << run / csv;
  }
  const std::vector<std::string> weights = WeightsOf(expected);
  EXPECT_EQ(WeightsOf(run), weights) << run;
  for (const std::string& name : weights) {
    const std::filesystem::path file = std::filesystem::path("weights") / name;
    EXPECT_TRUE(FileContent(run / file) == FileContent(expected / file))
        << run / file << " differs";
  }
}

// Every name in a directory, with its content and modification time.
using Snapshot = std::map<std::string, std::pair<std::string, std::filesystem::file_time_type>>;

inline Snapshot SnapshotOf(const std::filesystem::path& directory) {
  Snapshot snapshot;
  const auto add = [&](const std::filesystem::path& path) {
    std::error_code error;
    snapshot[std::filesystem::relative(path, directory).string()] = {
        std::filesystem::is_regular_file(path, error) ? FileContent(path) : "",
        std::filesystem::last_write_time(path, error)};
  };
  add(directory);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    add(entry.path());
  }
  return snapshot;
}

inline void ExpectUnchanged(const std::filesystem::path& directory, const Snapshot& before) {
  const Snapshot after = SnapshotOf(directory);
  for (const auto& [name, file] : before) {
    const auto now = after.find(name);
    EXPECT_TRUE(now != after.end() && now->second == file) << directory / name << " has changed";
  }
  for (const auto& [name, file] : after) {
    EXPECT_TRUE(before.contains(name)) << directory / name << " is new";
  }
}

// Number of records in a TensorBoard event file, including the first, which holds the version; -1
// if the file does not end with a record.
inline int EventRecords(const std::filesystem::path& path) {
  const std::string content = FileContent(path);
  std::size_t at = 0;
  int count = 0;
  while (at + 16 <= content.size()) {
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      length |= static_cast<std::uint64_t>(static_cast<unsigned char>(content[at + i])) << (8 * i);
    }
    at += 16 + length;
    ++count;
  }
  return at == content.size() ? count : -1;
}

// A folder in memory where possible, where syncing takes no time. Only a crash of the machine could
// reveal whether files were synced.
class FolderOfRuns : public TemporaryFolder {
 public:
  FolderOfRuns() : TemporaryFolder(InMemory()) {}
};

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_RUN_RESULTS_TEST_H_
