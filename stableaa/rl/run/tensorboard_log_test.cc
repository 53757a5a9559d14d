#include "stableaa/rl/run/tensorboard_log.h"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/run/crc32c.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::tensorboard_log_test {

namespace fs = std::filesystem;

std::span<const std::byte> AsBytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// By definition: one bit at a time with the polynomial as written, highest bit first.
std::uint32_t Crc32cByDefinition(std::string_view text) {
  std::uint32_t remainder = 0xFFFFFFFF;
  for (const char c : text) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool odd = ((remainder >> 31) ^ (static_cast<std::uint32_t>(c) >> bit & 1)) != 0;
      remainder = (remainder << 1) ^ (odd ? 0x1EDC6F41 : 0);
    }
  }
  std::uint32_t reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (~remainder >> bit & 1) << (31 - bit);
  return reversed;
}

TEST(Crc32c, HasThePublishedValues) {
  EXPECT_EQ(Crc32c(AsBytes("123456789")), 0xE3069283);
  EXPECT_EQ(Crc32c(AsBytes("")), 0u);
  // RFC 3720, B.4.
  EXPECT_EQ(Crc32c(AsBytes(std::string(32, '\0'))), 0x8A9136AAu);
  EXPECT_EQ(Crc32c(AsBytes(std::string(32, '\xff'))), 0x62A8AB43u);
}

TEST(Crc32c, AgreesWithTheDivisionBitByBit) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(Crc32c(AsBytes(text)), Crc32cByDefinition(text)) << i;
    text.push_back(static_cast<char>(i * 7));
  }
}

TEST(Crc32c, IsMaskedByARotationAndASum) {
  // 0xE3069283 is 1110 0011 0000 0110 1|001 0010 1000 0011; the last 15 bits go to the front.
  EXPECT_EQ(MaskedCrc32c(AsBytes("123456789")), 0x2507C60Du + 0xa282ead8u);
}

// A message in protobuf's wire format: each field is its number and type, then its value.

std::string Raw(const ByteWriter& out) {
  return {reinterpret_cast<const char*>(out.bytes().data()), out.bytes().size()};
}

std::string DoubleField(char number, double value) {
  ByteWriter out;
  out.F64(value);
  return std::string(1, static_cast<char>(number << 3 | 1)) + Raw(out);
}

std::string FloatField(char number, float value) {
  ByteWriter out;
  out.U32(std::bit_cast<std::uint32_t>(value));
  return std::string(1, static_cast<char>(number << 3 | 5)) + Raw(out);
}

std::string VarintField(char number, std::uint64_t value) {
  std::string text(1, static_cast<char>(number << 3 | 0));
  for (; value >= 128; value >>= 7) text.push_back(static_cast<char>(value | 128));
  text.push_back(static_cast<char>(value));
  return text;
}

std::string TextField(char number, const std::string& value) {
  std::string text = VarintField(number, value.size());
  text[0] = static_cast<char>(number << 3 | 2);
  return text + value;
}

std::string ScalarField(const std::string& tag, float value) {
  return TextField(1, TextField(1, tag) + FloatField(2, value));
}

class TensorboardLogTest : public testing::Test {
 protected:
  // The messages in the file's records. Checks lengths and checksums.
  std::vector<std::string> Messages() const {
    const std::string text = ReadTextFile(path_, 1 << 20);
    ByteReader in(AsBytes(text), "events");
    std::vector<std::string> messages;
    while (in.remaining() > 0) {
      const std::string_view length = std::string_view(text).substr(in.position(), 8);
      const std::uint64_t size = in.U64();
      EXPECT_EQ(in.U32(), MaskedCrc32c(AsBytes(length)));
      std::string message = text.substr(in.position(), size);
      for (std::uint64_t i = 0; i < size; ++i) in.U8();
      EXPECT_EQ(in.U32(), MaskedCrc32c(AsBytes(message)));
      messages.push_back(message);
    }
    return messages;
  }

  const TemporaryFolder directory_;
  const fs::path path_ = directory_ / "events.out.tfevents.1.stableaa";
};

TEST_F(TensorboardLogTest, BeginsWithTheVersionAndTheTimeOfTheFile) {
  const auto now = [] {
    const auto time = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(time).count();
  };
  const double before = now();
  const TensorboardLog log(path_);
  const double after = now();

  const std::vector<std::string> messages = Messages();
  ASSERT_EQ(messages.size(), 1u);
  const std::string& message = messages[0];
  ASSERT_EQ(message.size(), 9 + 2 + std::string("brain.Event:2").size());
  EXPECT_EQ(message.substr(9), TextField(3, "brain.Event:2"));
  EXPECT_EQ(message[0], 1 << 3 | 1);
  const double time = ByteReader(AsBytes(message).subspan(1), "time").F64();
  EXPECT_LE(before, time);
  EXPECT_LE(time, after);
  EXPECT_EQ(log.records().bytes(), fs::file_size(path_));
}

TEST_F(TensorboardLogTest, ARecordHoldsTimeStepAndAllScalars) {
  TensorboardLog log(path_);
  log.Add(12345, 1.5e9, std::vector<Scalar>{{"eval/return_mean", 0.1}, {"loss", -3}});
  EXPECT_EQ(Messages().at(1),
            DoubleField(1, 1.5e9) + VarintField(2, 12345) +
                TextField(5, ScalarField("eval/return_mean", 0.1f) + ScalarField("loss", -3)));
  EXPECT_EQ(log.records().bytes(), fs::file_size(path_));
}

// By default, fields that are zero are omitted, and a reader takes a missing value for a missing
// scalar.
TEST_F(TensorboardLogTest, ZeroIsAValue) {
  TensorboardLog log(path_);
  log.Add(1, 1, std::vector<Scalar>{{"zero", 0}});
  EXPECT_EQ(Messages().at(1),
            DoubleField(1, 1) + VarintField(2, 1) + TextField(5, ScalarField("zero", 0)));
}

TEST_F(TensorboardLogTest, WhatIsNotFiniteOrTooLargeForAFloatIsWrittenAsSuch) {
  const double infinity = std::numeric_limits<double>::infinity();
  const float float_infinity = std::numeric_limits<float>::infinity();
  TensorboardLog log(path_);
  log.Add(1, 1,
          std::vector<Scalar>{{"a", infinity},
                              {"b", -infinity},
                              {"c", 1e300},
                              {"d", -1e300},
                              {"e", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_EQ(
      Messages().at(1),
      DoubleField(1, 1) + VarintField(2, 1) +
          TextField(5, ScalarField("a", float_infinity) + ScalarField("b", -float_infinity) +
                           ScalarField("c", float_infinity) + ScalarField("d", -float_infinity) +
                           ScalarField("e", std::numeric_limits<float>::quiet_NaN())));
}

TEST_F(TensorboardLogTest, ContinuesWhereACheckpointSawIt) {
  LogRows records;
  {
    TensorboardLog log(path_);
    log.Add(1, 1, std::vector<Scalar>{{"a", 1}});
    records = log.records();
    log.Add(2, 2, std::vector<Scalar>{{"a", 2}});
  }
  const std::vector<std::string> before = Messages();
  TensorboardLog log(path_, records);
  EXPECT_EQ(log.records().bytes(), records.bytes());
  log.Add(3, 3, std::vector<Scalar>{{"a", 3}});
  log.Sync();
  EXPECT_EQ(Messages(), (std::vector<std::string>{before.at(0), before.at(1),
                                                  DoubleField(1, 3) + VarintField(2, 3) +
                                                      TextField(5, ScalarField("a", 3))}));
}

TEST_F(TensorboardLogTest, AFileCutToNothingBeginsWithTheVersionAgain) {
  TensorboardLog(path_).Add(1, 1, std::vector<Scalar>{{"a", 1}});
  const TensorboardLog log(path_);
  ASSERT_EQ(Messages().size(), 1u);
  EXPECT_EQ(Messages()[0].substr(9), TextField(3, "brain.Event:2"));
}

TEST_F(TensorboardLogTest, AShorterFileHasLostSomething) {
  const LogRows records = TensorboardLog(path_).records();
  fs::resize_file(path_, records.bytes() - 1);
  EXPECT_THROW(TensorboardLog(path_, records), Error);
}

}  // namespace stableaa::tensorboard_log_test
