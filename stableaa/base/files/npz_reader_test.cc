#include "stableaa/base/files/npz_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/npz.h"
#include "stableaa/base/files/npz_format.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::npz_reader_test {

namespace fs = std::filesystem;

std::string Little(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    text += static_cast<char>(i < 8 ? value >> (8 * i) & 255 : 0);
  }
  return text;
}

template <typename T>
std::string Raw(const std::vector<T>& values) {
  std::string text(sizeof(T) * values.size(), '\0');
  if (!text.empty()) std::memcpy(text.data(), values.data(), text.size());
  return text;
}

std::string Npy(const std::string& dictionary, const std::string& elements, int version = 1) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  return text + Little(dictionary.size(), version == 1 ? 2 : 4) + dictionary + elements;
}

std::string Described(const std::string& dtype, const std::string& shape) {
  return "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

std::string Npy(const std::string& dtype, const std::string& shape, const std::string& elements) {
  return Npy(Described(dtype, shape), elements);
}

// A zip archive written independently of the library, with all the variations that occur.
struct Zip {
  struct Options {
    bool deflate = false;
    bool descriptor = false;  // sizes after the data, zeros before it
    bool zip64 = false;       // sizes in ZIP64 fields, as newer NumPy writes local headers
    std::uint16_t method = 0xFFFF;
    std::uint16_t flags = 0;
    std::uint64_t claimed = 0;  // size claimed in the directory instead of the real one
  };

  static std::string Deflated(const std::string& content) {
    z_stream stream = {};
    EXPECT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(::deflateBound(&stream, content.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    ::deflateEnd(&stream);
    return out;
  }

  void Add(const std::string& name, const std::string& content) { Add(name, content, Options()); }
  void Add(const std::string& name, const std::string& content, const Options& options) {
    const std::string stored = options.deflate ? Deflated(content) : content;
    const std::uint16_t method =
        options.method != 0xFFFF ? options.method : (options.deflate ? 8 : 0);
    const std::uint32_t crc = static_cast<std::uint32_t>(
        ::crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
    const std::uint64_t size = options.claimed > 0 ? options.claimed : content.size();
    const std::uint16_t flags =
        static_cast<std::uint16_t>(options.flags | (options.descriptor ? 8 : 0));
    const bool wide = options.zip64 || size > 0xFFFFFFFE;
    const auto narrow = [&](std::uint64_t n) { return Little(wide ? 0xFFFFFFFF : n, 4); };
    const std::string field =
        wide ? Little(1, 2) + Little(16, 2) + Little(size, 8) + Little(stored.size(), 8) : "";
    // Preceded by a field of another kind, and of a different length than in the directory.
    const std::string other = Little(0x5455, 2) + Little(1, 2) + "x";

    const std::uint64_t offset = bytes.size();
    bytes += "PK\x03\x04" + Little(45, 2) + Little(flags, 2) + Little(method, 2) + Little(0, 4);
    if (options.descriptor) {
      bytes += Little(0, 12);
    } else {
      bytes += Little(crc, 4) + narrow(stored.size()) + narrow(size);
    }
    bytes += Little(name.size(), 2) + Little(field.size(), 2) + name + field + stored;
    if (options.descriptor) {
      bytes += "PK\x07\x08" + Little(crc, 4) + Little(stored.size(), 4) + Little(size, 4);
    }
    directory += "PK\x01\x02" + Little(45, 2) + Little(45, 2) + Little(flags, 2) +
                 Little(method, 2) + Little(0, 4) + Little(crc, 4) + narrow(stored.size()) +
                 narrow(size) + Little(name.size(), 2) + Little(field.size() + other.size(), 2) +
                 Little(3, 2) + Little(0, 8) + Little(offset, 4) + name + other + field + "?!?";
    ++entries;
  }

  std::string Finish(const std::string& comment = "", bool zip64 = false) const {
    std::string text = bytes + directory;
    if (zip64) {
      text += "PK\x06\x06" + Little(44, 8) + Little(45, 2) + Little(45, 2) + Little(0, 8) +
              Little(entries, 8) + Little(entries, 8) + Little(directory.size(), 8) +
              Little(bytes.size(), 8);
      text +=
          "PK\x06\x07" + Little(0, 4) + Little(bytes.size() + directory.size(), 8) + Little(1, 4);
    }
    text += "PK\x05\x06" + Little(0, 4) + Little(zip64 ? 0xFFFF : entries, 2) +
            Little(zip64 ? 0xFFFF : entries, 2) + Little(zip64 ? 0xFFFFFFFF : directory.size(), 4) +
            Little(zip64 ? 0xFFFFFFFF : bytes.size(), 4) + Little(comment.size(), 2) + comment;
    return text;
  }

  std::string bytes;
  std::string directory;
  std::uint64_t entries = 0;
};

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::vector<double> NumbersOf(const NpyArray& array) {
  std::vector<double> numbers(array.elements());
  array.Numbers(0, numbers);
  return numbers;
}

std::vector<std::uint64_t> IntegersOf(const NpyArray& array) {
  std::vector<std::uint64_t> numbers(array.elements());
  array.Integers(0, numbers);
  return numbers;
}

// The error message from reading the array x.
std::string ErrorIn(const std::string& archive) {
  return MessageOf([&] {
    const NpyArray array = NpzReader(Bytes(archive), "a.npz").Read("x");
    std::vector<double> numbers(array.elements());
    array.Numbers(0, numbers);
  });
}

std::string ErrorInNpy(const std::string& npy) {
  Zip zip;
  zip.Add("x.npy", npy);
  return ErrorIn(zip.Finish());
}

const std::vector<double> kNumbers = {0.5, -1e300, 3, 0.1};
const std::string kNpy = Npy("<f8", "(4,)", Raw(kNumbers));

TEST(NpzReader, ReadsWhatTheWriterWrites) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.npz";
  NpzWriter out(path);
  out.Add("x", {4}, kNumbers);
  out.Add("y", {}, std::vector<std::int32_t>{7});
  out.Add("z", {0}, std::vector<float>());
  out.Finish();
  const std::string bytes = ReadTextFile(path, 1 << 20);
  const NpzReader archive(Bytes(bytes), "a.npz");
  EXPECT_EQ(archive.names(), (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(NumbersOf(archive.Read("x")), kNumbers);
  EXPECT_EQ(archive.Read("x").shape(), std::vector<std::uint64_t>{4});
  EXPECT_EQ(NumbersOf(archive.Read("y")), std::vector<double>{7});
  EXPECT_EQ(archive.Read("y").shape(), std::vector<std::uint64_t>());
  EXPECT_EQ(archive.Read("z").elements(), 0u);
}

TEST(NpzReader, ReadsEveryVarietyOfZip) {
  for (const bool deflate : {false, true}) {
    for (const bool descriptor : {false, true}) {
      for (const bool zip64 : {false, true}) {
        for (const bool zip64_end : {false, true}) {
          for (const std::string comment :
               {"", "a comment with PK\x05\x06 in it, of some length"}) {
            Zip zip;
            const Zip::Options options = {
                .deflate = deflate, .descriptor = descriptor, .zip64 = zip64};
            zip.Add("readme.txt", "not an array");
            zip.Add("x.npy", kNpy, options);
            zip.Add("y.npy", Npy("|u1", "(2,)", "\x01\xff"), options);
            const std::string bytes = zip.Finish(comment, zip64_end);
            const NpzReader archive(Bytes(bytes), "a.npz");
            EXPECT_EQ(archive.names(), (std::vector<std::string>{"x", "y"}));
            EXPECT_EQ(NumbersOf(archive.Read("x")), kNumbers);
            EXPECT_EQ(IntegersOf(archive.Read("y")), (std::vector<std::uint64_t>{1, 255}));
          }
        }
      }
    }
  }
}

TEST(NpzReader, LargeDeflatedArraysAreWhole) {
  std::vector<double> numbers(1 << 19);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i * i % 1009);
  Zip zip;
  zip.Add("x.npy", Npy("<f8", "(524288,)", Raw(numbers)), {.deflate = true});
  const std::string bytes = zip.Finish();
  EXPECT_TRUE(NumbersOf(NpzReader(Bytes(bytes), "a.npz").Read("x")) == numbers);
}

template <typename T>
void ExpectType(const std::string& kind, const std::vector<T>& values) {
  for (const bool big : {false, true}) {
    std::string raw = Raw(values);
    if (big) {
      for (std::size_t i = 0; i < raw.size(); i += sizeof(T)) {
        std::reverse(raw.begin() + static_cast<std::ptrdiff_t>(i),
                     raw.begin() + static_cast<std::ptrdiff_t>(i + sizeof(T)));
      }
    }
    const std::string order = sizeof(T) == 1 ? "|" : (big ? ">" : "<");
    Zip zip;
    zip.Add("x.npy", Npy(order + kind, fmt::format("({},)", values.size()), raw));
    const std::string bytes = zip.Finish();
    const NpyArray array = NpzReader(Bytes(bytes), "a.npz").Read("x");
    const std::vector<double> numbers = NumbersOf(array);
    ASSERT_EQ(numbers.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(numbers[i], static_cast<double>(values[i])) << order << kind;
    }
    std::vector<double> last(1);
    array.Numbers(values.size() - 1, last);
    EXPECT_EQ(last[0], static_cast<double>(values.back()));
    if constexpr (std::is_integral_v<T>) {
      std::vector<std::uint64_t> integer(1);
      array.Integers(1, integer);
      EXPECT_EQ(integer[0], static_cast<std::uint64_t>(values[1]));
    }
  }
}

TEST(NpzReader, ReadsNumbersOfEveryTypeInEitherByteOrder) {
  ExpectType<std::int8_t>("i1", {-5, 3, 127});
  ExpectType<std::int16_t>("i2", {-500, 300, 32767});
  ExpectType<std::int32_t>("i4", {-5, 70000, 2147483647});
  ExpectType<std::int64_t>("i8", {-5, 5000000000, 1});
  ExpectType<std::uint8_t>("u1", {5, 200});
  ExpectType<std::uint16_t>("u2", {5, 65535});
  ExpectType<std::uint32_t>("u4", {5, 4294967295});
  ExpectType<std::uint64_t>("u8", {5, 18446744073709551615U});
  ExpectType<float>("f4", {0.1F, -1e30F});
  ExpectType<double>("f8", {0.1, -1e300});
}

TEST(NpzReader, NegativeNumbersAndFractionsAreNoIntegers) {
  const auto integers = [](const std::string& npy) {
    Zip zip;
    zip.Add("x.npy", npy);
    const std::string bytes = zip.Finish();
    return MessageOf([&] { IntegersOf(NpzReader(Bytes(bytes), "a.npz").Read("x")); });
  };
  EXPECT_EQ(integers(Npy("<i4", "(3,)", Raw(std::vector<std::int32_t>{0, 1, -3}))),
            "a.npz: array 'x': element 2: expected no negative number, found -3");
  EXPECT_EQ(integers(kNpy), "a.npz: array 'x': expected integers, found the dtype <f8");
}

TEST(NpzReader, HeadersInAllTheirSpellings) {
  const std::string elements = Raw(std::vector<float>{1, 2, 3, 4, 5, 6});
  for (const std::string dictionary : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}       \n",
           "{\"shape\":(2L,3L),\"fortran_order\":False,\"descr\":\"<f4\"}",
           " { 'shape' : ( 2 , 3 , ) , 'descr' : '<f4' , 'fortran_order' : False } ",
       }) {
    for (const int version : {1, 2, 3}) {
      Zip zip;
      zip.Add("x.npy", Npy(dictionary, elements, version));
      const std::string bytes = zip.Finish();
      const NpyArray array = NpzReader(Bytes(bytes), "a.npz").Read("x");
      EXPECT_EQ(array.dtype(), "<f4");
      EXPECT_EQ(array.shape(), (std::vector<std::uint64_t>{2, 3}));
      EXPECT_EQ(NumbersOf(array), (std::vector<double>{1, 2, 3, 4, 5, 6}));
    }
  }
}

TEST(NpzReader, WrongHeadersAreNamed) {
  EXPECT_EQ(ErrorInNpy("something else"), "a.npz: array 'x': not in .npy format");
  EXPECT_EQ(ErrorInNpy(Npy(Described("<f8", "(4,)"), Raw(kNumbers), 4)),
            "a.npz: array 'x': expected .npy version 1 to 3, found 4");
  EXPECT_EQ(ErrorInNpy(kNpy.substr(0, 20)), "a.npz: array 'x': its header of " +
                                                std::to_string(Described("<f8", "(4,)").size()) +
                                                " bytes is truncated or too long");
  EXPECT_EQ(ErrorInNpy(Npy("<U8", "(4,)", "")),
            "a.npz: array 'x': expected numbers, found the dtype '<U8'");
  EXPECT_EQ(
      ErrorInNpy(Npy("<f2", "(1,)", "ab")),
      "a.npz: array 'x': expected integers or floating point of 4 or 8 bytes, found the dtype "
      "<f2");
  EXPECT_EQ(ErrorInNpy(Npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "")),
            "a.npz: array 'x': header: expected plain numbers, not records, found "
            "'[('a', '<f4')], 'fortran_order...'");
  EXPECT_EQ(ErrorInNpy(Npy("{'descr': '<f4', 'shape': ()}", "1234")),
            "a.npz: array 'x': header: expected the keys descr, fortran_order and shape, found ''");
  EXPECT_NE(ErrorInNpy(Npy("{'descr': '<f4', 'descr': '<f4'}", "")).find("each key once"),
            std::string::npos);
  EXPECT_NE(ErrorInNpy(Npy("<f8", "(-1,)", "")).find("a length below 2^64"), std::string::npos);
  EXPECT_EQ(ErrorInNpy(Npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2)}", "12345678")),
            "a.npz: array 'x': expected C order, found Fortran's");
}

TEST(NpzReader, ShapesThatTheDataDoesNotFillAreRefused) {
  EXPECT_EQ(ErrorInNpy(Npy("<f8", "(5,)", Raw(kNumbers))),
            "a.npz: array 'x': expected 40 bytes of elements by its shape (5) and dtype <f8, found "
            "32");
  EXPECT_NE(
      ErrorInNpy(Npy("<f8", "(1000000000000000000,)", "")).find("expected 8000000000000000000"),
      std::string::npos);
  // 2^64 bytes, which wraps to 0 if unchecked.
  for (const std::string shape : {"(2305843009213693952,)", "(4294967296, 4294967296)"}) {
    EXPECT_EQ(ErrorInNpy(Npy("<f8", shape, "")),
              "a.npz: array 'x': the shape is too large for any memory");
  }
}

// The same with deflated data, and a directory size that matches the lie.
TEST(NpzReader, ABombReservesNoMoreThanItHolds) {
  Zip zip;
  const std::string npy = Npy("<f8", "(1000000000000000000,)", std::string(1 << 20, '\0'));
  zip.Add("x.npy", npy,
          {.deflate = true, .claimed = npy.size() - (1 << 20) + 8000000000000000000U});
  EXPECT_NE(ErrorIn(zip.Finish()).find("does not have the"), std::string::npos);

  Zip longer;  // more than announced
  longer.Add("x.npy", kNpy + std::string(1 << 20, '\0'), {.deflate = true, .claimed = kNpy.size()});
  EXPECT_NE(ErrorIn(longer.Finish()).find("does not have the"), std::string::npos);
}

TEST(NpzReader, WhatItCannotReadIsNamed) {
  Zip zip;
  zip.Add("y.npy", kNpy);
  EXPECT_EQ(ErrorIn(zip.Finish()), "a.npz: expected an array 'x', found y");
  EXPECT_EQ(ErrorIn(Zip().Finish()), "a.npz: expected an array 'x', found no array at all");
  zip.Add("x.npy", kNpy, {.method = 12});
  EXPECT_EQ(ErrorIn(zip.Finish()),
            "a.npz: array 'x': expected stored or deflated data, found zip method 12");
  Zip encrypted;
  encrypted.Add("x.npy", kNpy, {.flags = 1});
  EXPECT_EQ(ErrorIn(encrypted.Finish()), "a.npz: array 'x': it is encrypted");
  Zip twice;
  twice.Add("x.npy", kNpy);
  twice.Add("x.npy", kNpy);
  EXPECT_EQ(ErrorIn(twice.Finish()), "a.npz: it has the array 'x' twice");
  EXPECT_EQ(ErrorIn("x"),
            "a.npz: not an .npz file, or truncated: it has no end of a zip directory");
}

// Dates and comments may change unnoticed; numbers may not.
TEST(NpzReader, EveryFlippedBitAndEveryTruncationIsNoticedOrHarmless) {
  for (const bool deflate : {false, true}) {
    Zip zip;
    zip.Add("x.npy", kNpy, {.deflate = deflate, .zip64 = deflate});
    const std::string bytes = zip.Finish();
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      std::string damaged = bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      MessageOf([&] {
        EXPECT_EQ(NumbersOf(NpzReader(Bytes(damaged), "a.npz").Read("x")), kNumbers) << bit;
      });
    }
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_NE(ErrorIn(bytes.substr(0, size)), "no error") << size;
    }
  }
}

}  // namespace stableaa::npz_reader_test
