#include "stableaa/base/files/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::mapped_file_test {

namespace fs = std::filesystem;

class MappedFileTest : public testing::Test {
 protected:
  void Fill(const std::string& content) const { std::ofstream(path_, std::ios::binary) << content; }

  std::string Refusal(const fs::path& path) const {
    return MessageOf([&] { const MappedFile file(path); });
  }

  const TemporaryFolder folder_;
  const fs::path path_ = folder_ / "file";
};

// Differs at every position.
std::string Pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 2654435761U) >> 13);
  return text;
}

constexpr std::size_t kLarge = (std::size_t{1} << 20) + 17;

TEST_F(MappedFileTest, HoldsTheBytesOfFilesOfAllSizes) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, kLarge}) {
    const std::string content = Pattern(size);
    Fill(content);
    const MappedFile file(path_);
    EXPECT_EQ(file.bytes().size(), size);
    EXPECT_TRUE(file.text() == content) << size;
  }
}

TEST_F(MappedFileTest, LargeFilesAreMappedAndSmallOnesRead) {
  Fill(Pattern(kLarge));
  EXPECT_TRUE(MappedFile(path_).is_mapped());
  Fill("small");
  EXPECT_FALSE(MappedFile(path_).is_mapped());
}

TEST_F(MappedFileTest, BytesAreAligned) {
  for (const std::size_t size : {std::size_t{100}, kLarge}) {
    Fill(Pattern(size));
    const MappedFile file(path_);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.bytes().data()) % 16, 0u);
  }
}

TEST_F(MappedFileTest, APipeIsReadToItsEnd) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const std::string content = Pattern(3 * kLarge);
  std::thread writer([&] { Fill(content); });
  const MappedFile file(path_);
  writer.join();
  EXPECT_FALSE(file.is_mapped());
  EXPECT_TRUE(file.text() == content);
}

TEST_F(MappedFileTest, FilesWithoutASizeHaveContentAllTheSame) {
  EXPECT_NE(MappedFile("/proc/self/status").text().find("Name:"), std::string_view::npos);
}

TEST_F(MappedFileTest, AReplacedFileStaysAsItWas) {
  const std::string former = Pattern(kLarge);
  Fill(former);
  const MappedFile file(path_);
  const fs::path other = folder_ / "other";
  std::ofstream(other) << "new";
  fs::rename(other, path_);
  EXPECT_TRUE(file.text() == former);
}

TEST_F(MappedFileTest, MovingKeepsTheBytesInPlace) {
  for (const std::size_t size : {std::size_t{100}, kLarge}) {
    const std::string content = Pattern(size);
    Fill(content);
    MappedFile first(path_);
    const std::byte* const place = first.bytes().data();
    MappedFile second(std::move(first));
    EXPECT_EQ(second.bytes().data(), place);
    Fill("another");
    MappedFile third(path_);
    third = std::move(second);
    EXPECT_EQ(third.bytes().data(), place);
  }
}

TEST_F(MappedFileTest, WhatCannotBeReadIsBadInput) {
  EXPECT_EQ(Refusal(folder_ / "missing"), (folder_ / "missing").string() + " does not exist");
  EXPECT_EQ(Refusal(folder_.path()), folder_.path().string() + " is a directory, expected a file");
  Fill("x");
  EXPECT_NE(Refusal(path_ / "below").find("Not a directory"), std::string::npos);
  EXPECT_EQ(Refusal("/dev/zero"), "/dev/zero is a device, expected a file or a pipe");
}

}  // namespace stableaa::mapped_file_test
