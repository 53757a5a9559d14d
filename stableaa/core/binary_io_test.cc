#include "stableaa/core/binary_io.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "stableaa/testing/message.h"

namespace stableaa::binary_io_test {

std::vector<std::byte> Bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::vector<std::byte> Copy(const ByteWriter& out) {
  return {out.bytes().begin(), out.bytes().end()};
}

TEST(ByteWriter, IsLittleEndianWithoutPadding) {
  ByteWriter out;
  out.U8(0xfe);
  out.U32(0x01020304);
  out.I64(-2);
  out.Bool(true);
  out.Text("ab");
  out.F32s(std::vector<float>{1.0F});
  EXPECT_EQ(Copy(out), Bytes({0xfe,                                                      //
                              4,    3,    2,    1,                                       //
                              0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,            //
                              1,                                                         //
                              2,    0,    0,    0,    0,    0,    0,    0,    'a', 'b',  //
                              1,    0,    0,    0,    0,    0,    0,    0,               //
                              0,    0,    0x80, 0x3f}));
}

TEST(ByteReader, ReturnsWhatWasWritten) {
  const std::vector<double> doubles = {0.1, -1e308, 5e-324};
  const std::vector<float> floats = {0.1F, -3e38F};
  ByteWriter out;
  out.U8(255);
  out.U32(std::numeric_limits<uint32_t>::max());
  out.U64(std::numeric_limits<uint64_t>::max());
  out.I64(std::numeric_limits<int64_t>::min());
  out.F64(0.1);
  out.Bool(false);
  out.Bool(true);
  out.Text(std::string("with\0zero", 9));
  out.Text("");
  out.F64s(doubles);
  out.F32s(floats);
  out.F64s({});

  ByteReader in(out.bytes(), "memory");
  EXPECT_EQ(in.U8(), 255);
  EXPECT_EQ(in.U32(), std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(in.U64(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(in.I64(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(in.F64(), 0.1);
  EXPECT_FALSE(in.Bool());
  EXPECT_TRUE(in.Bool());
  EXPECT_EQ(in.Text(9), std::string("with\0zero", 9));
  EXPECT_EQ(in.Text(0), "");
  std::vector<double> read_doubles(3);
  in.F64s(read_doubles);
  EXPECT_EQ(read_doubles, doubles);
  std::vector<float> read_floats(2);
  in.F32s(read_floats);
  EXPECT_EQ(read_floats, floats);
  in.F64s({});
  EXPECT_EQ(in.position(), out.bytes().size());
  EXPECT_EQ(in.remaining(), 0U);
  in.ExpectEnd();
}

TEST(ByteReader, KeepsTheBitsOfEveryDouble) {
  const auto nan_with_payload = std::bit_cast<double>(uint64_t{0x7ff8000000001234});
  for (const double value : {-0.0, HUGE_VAL, -HUGE_VAL, nan_with_payload}) {
    ByteWriter out;
    out.F64(value);
    ByteReader in(out.bytes(), "memory");
    EXPECT_EQ(std::bit_cast<uint64_t>(in.F64()), std::bit_cast<uint64_t>(value));
  }
}

TEST(ByteReader, ShortInputNamesFileOffsetExpectedAndFound) {
  const auto bytes = Bytes({1, 2, 3, 4, 5, 6});
  ByteReader in(bytes, "run/checkpoint.bin");
  in.U32();
  EXPECT_EQ(MessageOf([&] { in.U64(); }),
            "run/checkpoint.bin: at byte 4: expected 8 bytes of U64, found only 2");
  EXPECT_EQ(in.position(), 4U) << "a failed read takes nothing";
}

TEST(ByteReader, EveryTruncationIsAnError) {
  ByteWriter out;
  out.U8(1);
  out.U32(2);
  out.I64(3);
  out.F64(4);
  out.Bool(true);
  out.Text("text");
  out.F64s(std::vector<double>{1, 2});
  out.F32s(std::vector<float>{3, 4, 5});
  const auto read_all = [](std::span<const std::byte> bytes) {
    ByteReader in(bytes, "memory");
    in.U8();
    in.U32();
    in.I64();
    in.F64();
    in.Bool();
    in.Text(4);
    std::vector<double> doubles(2);
    in.F64s(doubles);
    std::vector<float> floats(3);
    in.F32s(floats);
    in.ExpectEnd();
  };
  read_all(out.bytes());
  for (size_t length = 0; length < out.bytes().size(); ++length) {
    EXPECT_THROW(read_all(out.bytes().first(length)), Error) << length;
  }
}

TEST(ByteReader, BoolIsZeroOrOne) {
  const auto bytes = Bytes({2});
  ByteReader in(bytes, "memory");
  EXPECT_EQ(MessageOf([&] { in.Bool(); }),
            "memory: before byte 1: expected a Bool of 0 or 1, found 2");
}

TEST(ByteReader, ALengthIsNotBelieved) {
  ByteWriter out;
  out.U64(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(MessageOf([&] { ByteReader(out.bytes(), "memory").Text(100); }),
            "memory: before byte 8: expected a Text of at most 100 bytes, found one of "
            "18446744073709551615");
  // Even a caller who allows any length gets no allocation beyond the input.
  EXPECT_EQ(MessageOf([&] {
              ByteReader(out.bytes(), "memory").Text(std::numeric_limits<size_t>::max());
            }),
            "memory: at byte 8: expected 18446744073709551615 bytes of Text, found only 0");
}

TEST(ByteReader, ArrayCountMustBeTheCallers) {
  ByteWriter out;
  out.F64s(std::vector<double>{1, 2, 3});
  std::vector<double> two(2);
  EXPECT_EQ(MessageOf([&] { ByteReader(out.bytes(), "memory").F64s(two); }),
            "memory: before byte 8: expected 2 elements of F64s, found 3");
  std::vector<float> four(4);
  EXPECT_THROW(ByteReader(out.bytes(), "memory").F32s(four), Error);
}

TEST(ByteReader, ExpectEndCountsWhatIsLeft) {
  const auto bytes = Bytes({1, 2, 3});
  ByteReader in(bytes, "memory");
  in.U8();
  EXPECT_EQ(MessageOf([&] { in.ExpectEnd(); }),
            "memory: at byte 1: expected the end, found 2 more bytes");
}

TEST(ByteReader, ReadsFromAnyAlignment) {
  ByteWriter out;
  out.U8(0);
  out.F64s(std::vector<double>{0.5, 0.25});
  ByteReader in(out.bytes(), "memory");
  in.U8();
  std::vector<double> values(2);
  in.F64s(values);
  EXPECT_EQ(values, (std::vector<double>{0.5, 0.25}));
}

}  // namespace stableaa::binary_io_test
