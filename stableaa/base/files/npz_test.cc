#include "stableaa/base/files/npz.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "stableaa/base/files/npz_format.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::npz_test {

namespace fs = std::filesystem;

// A ByteReader that also reads two-byte numbers and text of a given length.
class ZipReader {
 public:
  explicit ZipReader(std::string_view bytes)
      : in_(std::as_bytes(std::span(bytes)), "zip"), bytes_(bytes) {}

  std::uint64_t U16() {
    const std::uint64_t low = in_.U8();
    return low | static_cast<std::uint64_t>(in_.U8()) << 8;
  }
  std::uint64_t U32() { return in_.U32(); }
  std::uint64_t U64() { return in_.U64(); }
  std::string Text(std::uint64_t size) {
    const std::string text(bytes_.substr(in_.position(), size));
    for (std::uint64_t i = 0; i < size; ++i) in_.U8();
    return text;
  }
  void ExpectEnd() const { in_.ExpectEnd(); }
  std::size_t position() const { return in_.position(); }

 private:
  ByteReader in_;
  std::string_view bytes_;
};

struct Header {
  std::uint64_t needed = 0, flags = 0, method = 0, time = 0, date = 0, crc = 0;
  std::uint64_t stored_size = 0, size = 0, offset = 0;
  std::string name;
  std::vector<std::uint64_t> zip64;
};

void ReadShared(ZipReader& in, Header& header, bool central) {
  header.needed = in.U16();
  header.flags = in.U16();
  header.method = in.U16();
  header.time = in.U16();
  header.date = in.U16();
  header.crc = in.U32();
  header.stored_size = in.U32();
  header.size = in.U32();
  const std::uint64_t name_bytes = in.U16();
  const std::uint64_t extra_bytes = in.U16();
  if (central) {
    EXPECT_EQ(in.U16(), 0u);  // comment
    EXPECT_EQ(in.U16(), 0u);  // disk
    EXPECT_EQ(in.U16(), 0u);  // attributes
    EXPECT_EQ(in.U32(), 0u);
    header.offset = in.U32();
  }
  header.name = in.Text(name_bytes);
  if (extra_bytes == 0) return;
  EXPECT_EQ(in.U16(), 1u);
  const std::uint64_t zip64_bytes = in.U16();
  EXPECT_EQ(zip64_bytes + 4, extra_bytes);
  for (std::uint64_t i = 0; i < zip64_bytes; i += 8) header.zip64.push_back(in.U64());
}

Header ReadLocal(ZipReader& in) {
  Header header;
  EXPECT_EQ(in.Text(4), "PK\x03\x04");
  ReadShared(in, header, false);
  return header;
}

Header ReadCentral(ZipReader& in) {
  Header header;
  EXPECT_EQ(in.Text(4), "PK\x01\x02");
  EXPECT_EQ(in.U16(), 45u);
  ReadShared(in, header, true);
  return header;
}

std::uint32_t CrcOf(const std::string& text) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

std::string Text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename T>
std::string RawBytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

struct Member {
  std::string name;
  std::string content;
};

// Reads by the directory at the end, as readers do; local headers must agree.
std::vector<Member> ReadArchive(const std::string& bytes) {
  constexpr std::size_t kEndBytes = 22;
  EXPECT_GE(bytes.size(), kEndBytes);
  const std::size_t end_at = bytes.size() - kEndBytes;
  const std::string end_bytes = bytes.substr(end_at);
  ZipReader end(end_bytes);
  EXPECT_EQ(end.Text(4), "PK\x05\x06");
  EXPECT_EQ(end.U32(), 0u);  // disks
  const std::uint64_t entries = end.U16();
  EXPECT_EQ(end.U16(), entries);
  const std::uint64_t directory_bytes = end.U32();
  const std::uint64_t directory_at = end.U32();
  EXPECT_EQ(end.U16(), 0u);
  EXPECT_EQ(directory_at + directory_bytes, end_at);

  std::vector<Member> members;
  const std::string directory_text = bytes.substr(directory_at, directory_bytes);
  ZipReader directory(directory_text);
  for (std::uint64_t i = 0; i < entries; ++i) {
    const Header central = ReadCentral(directory);
    const std::string rest = bytes.substr(central.offset);
    ZipReader in(rest);
    const Header local = ReadLocal(in);
    const Member member = {local.name, in.Text(local.size)};
    for (const Header& header : {central, local}) {
      EXPECT_EQ(header.name, member.name);
      EXPECT_EQ(header.needed, 20u);
      EXPECT_EQ(header.flags, 0x800u);
      EXPECT_EQ(header.method, 0u);
      EXPECT_EQ(header.time, 0u);
      EXPECT_EQ(header.date, 0x21u);
      EXPECT_EQ(header.size, member.content.size());
      EXPECT_EQ(header.stored_size, header.size);
      EXPECT_EQ(header.crc, CrcOf(member.content));
      EXPECT_TRUE(header.zip64.empty());
    }
    members.push_back(member);
  }
  directory.ExpectEnd();
  return members;
}

struct Array {
  std::string description;  // the dictionary, without padding
  std::string elements;
};

Array ReadNpy(const std::string& content) {
  ZipReader in(content);
  EXPECT_EQ(in.Text(8), std::string("\x93NUMPY\x01\x00", 8));
  std::string text = in.Text(in.U16());
  EXPECT_EQ(in.position() % 64, 0u);
  EXPECT_EQ(text.back(), '\n');
  text.resize(text.find_last_not_of(" \n") + 1);
  return {text, content.substr(in.position())};
}

class NpzTest : public testing::Test {
 protected:
  std::string FileBytes() const { return ReadTextFile(path_, 100 << 20); }
  std::vector<Member> Members() const { return ReadArchive(FileBytes()); }
  Array OnlyArray() const {
    const std::vector<Member> members = Members();
    EXPECT_EQ(members.size(), 1u);
    return ReadNpy(members.at(0).content);
  }

  const TemporaryFolder folder_;
  const fs::path path_ = folder_ / "a.npz";
};

// NumPy's spelling of the host's byte order.
std::string Dtype(const std::string& kind) {
  return (std::endian::native == std::endian::little ? "<" : ">") + kind;
}

std::string Description(const std::string& dtype, const std::string& shape) {
  return "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

template <typename T>
void ExpectWritten(const fs::path& path, const std::vector<T>& values, const std::string& dtype) {
  NpzWriter out(path);
  out.Add("x", {values.size()}, values);
  out.Finish();
  const std::vector<Member> members = ReadArchive(ReadTextFile(path, 1 << 20));
  ASSERT_EQ(members.size(), 1u);
  EXPECT_EQ(members[0].name, "x.npy");
  const Array array = ReadNpy(members[0].content);
  EXPECT_EQ(array.description, Description(dtype, "(" + std::to_string(values.size()) + ",)"));
  EXPECT_EQ(array.elements, RawBytes(values));
}

TEST_F(NpzTest, EveryTypeHasItsNameAndItsBytes) {
  ExpectWritten<std::uint8_t>(path_, {0, 1, 255}, "|u1");
  ExpectWritten<float>(path_, {0.1f, -0.0f, std::numeric_limits<float>::infinity()}, Dtype("f4"));
  ExpectWritten<double>(path_, {0.1, 1e300}, Dtype("f8"));
  ExpectWritten<std::int32_t>(path_, {-1, 1 << 30}, Dtype("i4"));
  ExpectWritten<std::int64_t>(path_, {-1, std::int64_t{1} << 60}, Dtype("i8"));
}

TEST_F(NpzTest, ShapesAreWrittenAsPythonWritesTuples) {
  const std::vector<std::uint8_t> bytes(24);
  const auto shape_text = [&](const std::vector<std::uint64_t>& shape, std::size_t size) {
    NpzWriter out(path_);
    out.Add("x", shape, std::span(bytes).first(size));
    out.Finish();
    const Array array = OnlyArray();
    EXPECT_EQ(array.elements.size(), size);
    return array.description.substr(array.description.find('('));
  };
  EXPECT_EQ(shape_text({}, 1), "(), }");
  EXPECT_EQ(shape_text({0}, 0), "(0,), }");
  EXPECT_EQ(shape_text({24}, 24), "(24,), }");
  EXPECT_EQ(shape_text({2, 3, 4}, 24), "(2, 3, 4), }");
  EXPECT_EQ(shape_text({5, 0}, 0), "(5, 0), }");
  EXPECT_EQ(shape_text(std::vector<std::uint64_t>(32, 1), 1).size(), 32 * 3 + 3u);
}

TEST(NpzFormat, AnNpyHeaderFillsTheFewestBlocksOf64Bytes) {
  for (std::size_t dimensions = 1; dimensions <= 32; ++dimensions) {
    for (const std::uint64_t first : {1, 10, 100}) {  // for every remainder of the length by 64
      std::vector<std::uint64_t> shape(dimensions, 1);
      shape[0] = first;
      const std::string header = NpyHeader(shape, "<f4");
      EXPECT_EQ(header.size() % 64, 0u);
      EXPECT_EQ(header.back(), '\n');
      EXPECT_LE(header.size() - header.find('}'), 65u);
      const std::size_t length =
          static_cast<std::size_t>(static_cast<std::uint8_t>(header[8])) +
          256 * static_cast<std::size_t>(static_cast<std::uint8_t>(header[9]));
      EXPECT_EQ(length + 10, header.size());
    }
  }
}

TEST_F(NpzTest, ArraysComeInTheOrderInWhichTheyWereAdded) {
  NpzWriter out(path_);
  out.Add("b", {2}, std::vector<std::int32_t>{1, 2});
  out.Add("a/\u03b3", {}, std::vector<double>{0.5});
  out.Add("c", {0}, std::vector<float>());
  EXPECT_FALSE(fs::exists(path_));
  out.Finish();
  const std::vector<Member> members = Members();
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[0].name, "b.npy");
  EXPECT_EQ(members[1].name, "a/\u03b3.npy");
  EXPECT_EQ(members[2].name, "c.npy");
  EXPECT_EQ(ReadNpy(members[1].content).elements, RawBytes(std::vector<double>{0.5}));
}

TEST_F(NpzTest, NoArraysMakeAnEmptyArchive) {
  NpzWriter(path_).Finish();
  EXPECT_TRUE(Members().empty());
}

TEST_F(NpzTest, WithoutFinishThereIsNoFile) {
  { NpzWriter(path_).Add("x", {}, std::vector<float>{1}); }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(NpzTest, EqualArraysGiveEqualBytes) {
  const auto make = [&] {
    NpzWriter out(path_);
    out.Add("x", {3}, std::vector<float>{1, 2, 3});
    out.Add("y", {}, std::vector<std::uint8_t>{4});
    out.Finish();
    return FileBytes();
  };
  const std::string first = make();
  EXPECT_EQ(first, make());
}

TEST_F(NpzTest, AStreamIsTheArrayOfItsPieces) {
  constexpr int kPieces = 200;
  int calls = 0;
  std::string expected;
  NpzWriter out(path_);
  out.AddStream("x", {kPieces, 1000}, "<f2", [&](const NpzWriter::Sink& sink) {
    ++calls;
    expected.clear();
    for (int i = 0; i < kPieces; ++i) {
      const std::string piece(2000, static_cast<char>(i));
      sink(std::as_bytes(std::span(piece)));
      sink({});
      expected += piece;
    }
  });
  out.Finish();
  EXPECT_EQ(calls, 2);
  const Array array = OnlyArray();
  EXPECT_EQ(array.description, Description("<f2", "(200, 1000)"));
  EXPECT_EQ(array.elements, expected);
}

TEST_F(NpzTest, AnotherNumberOfElementsThanTheShapeSaysIsRefused) {
  const std::vector<float> six(6);
  NpzWriter out(path_);
  EXPECT_THROW(out.Add("x", {5}, six), std::logic_error);
  EXPECT_THROW(out.Add("x", {7}, six), std::logic_error);
  EXPECT_THROW(out.Add("x", {}, six), std::logic_error);
  EXPECT_THROW(out.Add("x", {2, 3, 0}, six), std::logic_error);
  EXPECT_THROW(out.Add("x", {}, std::span<const float>()), std::logic_error);
  out.Add("x", {2, 3}, six);
  out.Finish();
  EXPECT_EQ(OnlyArray().elements.size(), 24u);
}

TEST_F(NpzTest, ShapesThatNoArrayCanHaveAreRefused) {
  const std::uint64_t large = std::uint64_t{1} << 62;
  NpzWriter out(path_);
  // 2^64 bytes, which wraps to 0 if unchecked.
  EXPECT_THROW(out.Add("x", {large}, std::span<const float>()), std::logic_error);
  EXPECT_THROW(out.Add("x", {large, large}, std::span<const std::uint8_t>()), std::logic_error);
  EXPECT_THROW(out.Add("x", std::vector<std::uint64_t>(33, 1), std::vector<float>{1}),
               std::logic_error);
}

TEST_F(NpzTest, ANameIsGivenOnceAndIsNotEmpty) {
  const std::vector<float> one = {1};
  NpzWriter out(path_);
  out.Add("x", {}, one);
  EXPECT_THROW(out.Add("x", {}, one), std::logic_error);
  EXPECT_THROW(out.Add("x", {1}, std::vector<double>{1}), std::logic_error);
  EXPECT_THROW(out.Add("", {}, one), std::logic_error);
  EXPECT_THROW(out.Add("\xff", {}, one), std::logic_error);
  EXPECT_THROW(out.Add(std::string(1001, 'n'), {}, one), std::logic_error);
  out.Add(std::string(1000, 'n'), {}, one);
  out.Finish();
  EXPECT_EQ(Members().size(), 2u);
}

TEST_F(NpzTest, AStreamThatDiffersTheSecondTimeOrThrowsIsNotInTheArchive) {
  const std::vector<std::uint8_t> bytes = {1, 2, 3};
  const auto raw = std::as_bytes(std::span(bytes));
  int calls = 0;
  NpzWriter out(path_);
  out.Add("before", {3}, bytes);
  EXPECT_THROW(out.AddStream("other content", {2}, "|u1",
                             [&](const NpzWriter::Sink& sink) {
                               sink(raw.subspan(static_cast<std::size_t>(calls++), 2));
                             }),
               std::logic_error);
  calls = 0;
  EXPECT_THROW(out.AddStream("other size", {2}, "|u1",
                             [&](const NpzWriter::Sink& sink) {
                               sink(raw.first(static_cast<std::size_t>(2 + calls++)));
                             }),
               std::logic_error);
  calls = 0;
  EXPECT_THROW(out.AddStream("x", {2}, "|u1",
                             [&](const NpzWriter::Sink& sink) {
                               if (++calls == 2) throw WorkFailed("the replay is gone");
                               sink(raw.first(2));
                             }),
               Error);
  out.Add("x", {3}, bytes);
  out.Finish();
  const std::vector<Member> members = Members();
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].name, "before.npy");
  EXPECT_EQ(members[1].name, "x.npy");
  EXPECT_EQ(ReadNpy(members[1].content).elements, RawBytes(bytes));
}

TEST_F(NpzTest, NothingCanBeAddedAfterFinish) {
  NpzWriter out(path_);
  out.Finish();
  EXPECT_THROW(out.Add("x", {}, std::vector<float>{1}), Error);
  EXPECT_THROW(out.Finish(), Error);
  EXPECT_TRUE(Members().empty());
}

TEST_F(NpzTest, ArraysBeyondWhatThePlainDirectoryCountsAreBadInput) {
  const std::vector<std::uint8_t> one = {1};
  NpzWriter out(path_);
  for (std::size_t i = 0; i < kMostZipEntries; ++i) out.Add(std::to_string(i), {}, one);
  EXPECT_EQ(MessageOf([&] { out.Add("x", {}, one); }),
            "cannot write " + path_.string() + ": more than 65534 arrays");
}

TEST(NpzFormat, DtypesAreThoseOfNumPysNumbers) {
  EXPECT_EQ(DtypeSize("|b1"), 1u);
  EXPECT_EQ(DtypeSize("|u1"), 1u);
  EXPECT_EQ(DtypeSize("<i2"), 2u);
  EXPECT_EQ(DtypeSize("<f4"), 4u);
  EXPECT_EQ(DtypeSize(">u8"), 8u);
  EXPECT_EQ(DtypeSize("<c16"), 16u);
  for (const std::string wrong : {"", "<", "f4", "<f3", "<f16", "=f4", "|f4", "<u1", "<f4 ", "<U4",
                                  "float32", "<f4'", "c16"}) {
    EXPECT_THROW(DtypeSize(wrong), std::logic_error) << wrong;
  }
}

// The limit itself is the marker that sends readers to the ZIP64 fields.
constexpr std::uint64_t kMark = 0xFFFFFFFF;

TEST(NpzFormat, SizesAndOffsetsBelowTheMarkNeedNoZip64) {
  const ZipEntry entry = {"x.npy", 1, kMark - 1, kMark - 1};
  const std::string local_text = Text(LocalHeader(entry));
  ZipReader local_in(local_text);
  const Header local = ReadLocal(local_in);
  EXPECT_EQ(local.needed, 20u);
  EXPECT_EQ(local.size, kMark - 1);
  EXPECT_EQ(local.zip64, std::vector<std::uint64_t>());
  const std::string central_text = Text(CentralHeader(entry));
  ZipReader central_in(central_text);
  const Header central = ReadCentral(central_in);
  EXPECT_EQ(central.needed, 20u);
  EXPECT_EQ(central.offset, kMark - 1);
  EXPECT_EQ(central.zip64, std::vector<std::uint64_t>());
  EXPECT_EQ(EndOfDirectory(3, kMark - 1, kMark - 1).size(), 22u);
}

TEST(NpzFormat, ALargeSizeStandsInTheZip64FieldsOfBothHeaders) {
  for (const std::uint64_t size : {kMark, kMark + 1, std::uint64_t{1} << 40}) {
    const ZipEntry entry = {"x.npy", 7, size, 5};
    const std::string local_text = Text(LocalHeader(entry));
    ZipReader local_in(local_text);
    const Header local = ReadLocal(local_in);
    const std::string central_text = Text(CentralHeader(entry));
    ZipReader central_in(central_text);
    const Header central = ReadCentral(central_in);
    for (const Header& header : {local, central}) {
      EXPECT_EQ(header.needed, 45u);
      EXPECT_EQ(header.size, kMark);
      EXPECT_EQ(header.stored_size, kMark);
      EXPECT_EQ(header.name, "x.npy");
      EXPECT_EQ(header.crc, 7u);
      EXPECT_EQ(header.zip64, (std::vector<std::uint64_t>{size, size}));
    }
    EXPECT_EQ(central.offset, 5u);
    local_in.ExpectEnd();
    central_in.ExpectEnd();
  }
}

TEST(NpzFormat, ALargeOffsetStandsInTheZip64FieldsOfTheCentralHeaderAlone) {
  const ZipEntry entry = {"x.npy", 7, 10, kMark};
  const std::string local_text = Text(LocalHeader(entry));
  ZipReader local_in(local_text);
  EXPECT_EQ(ReadLocal(local_in).zip64, std::vector<std::uint64_t>());
  const std::string central_text = Text(CentralHeader(entry));
  ZipReader central_in(central_text);
  const Header central = ReadCentral(central_in);
  EXPECT_EQ(central.needed, 45u);
  EXPECT_EQ(central.size, 10u);
  EXPECT_EQ(central.offset, kMark);
  EXPECT_EQ(central.zip64, std::vector<std::uint64_t>{kMark});
}

TEST(NpzFormat, SizesComeBeforeTheOffset) {
  const std::string text = Text(CentralHeader({"x.npy", 7, kMark + 1, kMark + 2}));
  ZipReader in(text);
  EXPECT_EQ(ReadCentral(in).zip64, (std::vector<std::uint64_t>{kMark + 1, kMark + 1, kMark + 2}));
}

void ExpectZip64End(std::uint64_t offset, std::uint64_t size) {
  const std::string text = Text(EndOfDirectory(3, offset, size));
  ZipReader in(text);
  EXPECT_EQ(in.Text(4), "PK\x06\x06");
  EXPECT_EQ(in.U64(), 44u);
  EXPECT_EQ(in.U16(), 45u);
  EXPECT_EQ(in.U16(), 45u);
  EXPECT_EQ(in.U64(), 0u);  // disks
  EXPECT_EQ(in.U64(), 3u);
  EXPECT_EQ(in.U64(), 3u);
  EXPECT_EQ(in.U64(), size);
  EXPECT_EQ(in.U64(), offset);
  EXPECT_EQ(in.position(), 44 + 12u);  // as announced
  EXPECT_EQ(in.Text(4), "PK\x06\x07");
  EXPECT_EQ(in.U32(), 0u);
  EXPECT_EQ(in.U64(), offset + size);
  EXPECT_EQ(in.U32(), 1u);
  EXPECT_EQ(in.Text(4), "PK\x05\x06");
  EXPECT_EQ(in.U32(), 0u);
  EXPECT_EQ(in.U16(), 3u);
  EXPECT_EQ(in.U16(), 3u);
  EXPECT_EQ(in.U32(), std::min(size, kMark));
  EXPECT_EQ(in.U32(), std::min(offset, kMark));
  EXPECT_EQ(in.U16(), 0u);
  in.ExpectEnd();
}

TEST(NpzFormat, ADirectoryFarBehindOrLargeHasAZip64End) {
  ExpectZip64End(kMark, 100);
  ExpectZip64End(std::uint64_t{5} << 30, 100);
  ExpectZip64End(100, kMark);
}

}  // namespace stableaa::npz_test
