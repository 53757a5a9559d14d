#include "stableaa/nn/safetensors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/machine.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::safetensors_test {

namespace fs = std::filesystem;

constexpr char kMlp[] = "vector(3) linear(2) tanh linear(1)";
constexpr char kDuelingConv[] =
    "frames(2, 7, 6, 255) conv(3, 3, 2) relu conv(17, 2, 1) elu flatten "
    "dueling{linear(5) relu linear(1) | linear(4) relu linear(18)}";

std::shared_ptr<const Plan> PlanOf(std::string_view spec) {
  return std::make_shared<const Plan>(MakePlan(ParseSpec(spec)));
}

Parameters RandomParameters(std::string_view spec) {
  Parameters parameters(PlanOf(spec));
  RandomStream random(7, "weights");
  parameters.Initialise(random);
  return parameters;
}

ParameterTensor TensorOf(const Parameters& parameters, std::string_view name) {
  for (ParameterTensor& tensor : ParameterTensors(parameters.plan())) {
    if (tensor.name == name) return std::move(tensor);
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

std::vector<float> ValuesOf(const Parameters& parameters, std::string_view name) {
  const ParameterTensor tensor = TensorOf(parameters, name);
  std::vector<float> values(tensor.size());
  parameters.Get(tensor, values);
  return values;
}

// Bitwise equal, including padding: EXPECT_EQ would treat -0 as 0.
bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

std::span<const std::byte> AsBytes(std::string_view bytes) {
  return std::as_bytes(std::span(bytes));
}

// A file with that header, preceded by its length, and that data.
std::string FileOf(std::string_view header, std::string_view data = "") {
  std::string file;
  for (std::uint64_t i = 0, length = header.size(); i < 8; ++i, length >>= 8) {
    file.push_back(static_cast<char>(length & 0xff));
  }
  file += header;
  file += data;
  return file;
}

Safetensors Parse(std::string_view bytes) { return ParseSafetensors(AsBytes(bytes), "w.st"); }

// The message of the BadInput that `read` must throw: one line, without characters that a terminal
// would obey.
std::string PlainMessageOf(const std::function<void()>& read) {
  std::string message = MessageOf(read);
  EXPECT_NE(message, "no error");
  EXPECT_TRUE(std::ranges::none_of(message, [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  })) << message;
  EXPECT_LT(message.size(), 800U) << message;
  return message;
}

std::string ParseMessage(std::string_view bytes) {
  return PlainMessageOf([&] { Parse(bytes); });
}

std::string HeaderMessage(std::string_view header, std::string_view data = "") {
  return ParseMessage(FileOf(header, data));
}

class SafetensorsFile : public testing::Test {
 protected:
  fs::path Path(std::string_view name = "w.safetensors") const { return folder_ / name; }

  // The bytes that WriteWeights produces.
  std::string Written(const Parameters& parameters, const WeightsMetadata& extra = {}) const {
    WriteWeights(Path(), parameters, extra);
    return ReadTextFile(Path(), 1 << 24);
  }

  // A file with other bytes.
  fs::path Put(std::string_view bytes) const {
    std::ofstream(Path(), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return Path();
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(SafetensorsFile, GivesBackTheSameBits) {
  for (const char* const spec : {kMlp, kDuelingConv}) {
    Parameters written = RandomParameters(spec);
    const ParameterTensor first = ParameterTensors(written.plan()).front();
    std::vector<float> values(first.size());
    written.Get(first, values);
    values[0] = -0.0F;
    values[1] = std::numeric_limits<float>::denorm_min();
    values[2] = std::numeric_limits<float>::max();
    written.Set(first, values);
    WriteWeights(Path(), written);

    const WeightsFile read = ReadWeights(Path());
    EXPECT_EQ(read.parameters.plan().spec, ParseSpec(spec));
    EXPECT_TRUE(SameBits(read.parameters.block(), written.block())) << spec;

    Parameters into(PlanOf(spec));
    ReadWeightsInto(Path(), into);
    EXPECT_TRUE(SameBits(into.block(), written.block())) << spec;
  }
}

TEST_F(SafetensorsFile, MetadataNameTheNetworkTheVersionAndWhatTheCallerAdds) {
  const WeightsMetadata extra = {{"stableaa.steps", "50000"}, {"note", "\"größer\"\n\\"}};
  Parameters parameters = RandomParameters(kMlp);
  WriteWeights(Path(), parameters, extra);
  const WeightsMetadata expected = {{"format", "pt"},
                                    {"note", "\"größer\"\n\\"},
                                    {"stableaa.spec", kMlp},
                                    {"stableaa.steps", "50000"},
                                    {"stableaa.version", LibraryVersion()}};
  EXPECT_EQ(ReadWeights(Path()).metadata, expected);
  EXPECT_EQ(ReadWeightsInto(Path(), parameters), expected);
}

TEST_F(SafetensorsFile, MetadataOfTheCallerMustBeUtf8AndNotTakeTheLibrarysNames) {
  const Parameters parameters = RandomParameters(kMlp);
  const auto message = [&](const WeightsMetadata& extra) {
    return PlainMessageOf([&] { WriteWeights(Path(), parameters, extra); });
  };
  EXPECT_EQ(message({{"stableaa.spec", "x"}}),
            "metadata 'stableaa.spec' is the library's own and cannot be given");
  EXPECT_EQ(message({{"a\xff", "x"}}), "metadata 'a?': expected UTF-8 without NUL");
  EXPECT_EQ(message({{"a", "\xed\xa0\x80"}}), "metadata 'a': expected UTF-8 without NUL");
  EXPECT_FALSE(fs::exists(Path()));
}

TEST_F(SafetensorsFile, EqualWeightsGiveEqualBytes) {
  const WeightsMetadata extra = {{"b", "2"}, {"a", "1"}};
  const std::string once = Written(RandomParameters(kDuelingConv), extra);
  EXPECT_EQ(Written(RandomParameters(kDuelingConv), extra), once);
}

TEST_F(SafetensorsFile, DataBeginAtAMultipleOfEight) {
  const Parameters parameters = RandomParameters(kMlp);
  for (std::size_t length = 0; length < 9; ++length) {
    const std::string bytes = Written(parameters, {{"note", std::string(length, 'x')}});
    const std::size_t data = 4 * (6 + 2 + 2 + 1);
    EXPECT_EQ((bytes.size() - data) % 8, 0U);
    EXPECT_EQ(static_cast<unsigned char>(bytes[0]) + 256 * static_cast<unsigned char>(bytes[1]),
              static_cast<int>(bytes.size() - data - 8));
    EXPECT_EQ(bytes[8], '{');
  }
}

// Checks the block against the formula in parameters.h and the file against PyTorch's order. Each
// value is a number whose digits are its indices.
TEST_F(SafetensorsFile, TensorsLieAsPyTorchHasThem) {
  Parameters parameters(PlanOf("frames(3, 4, 5, 1) conv(2, 2, 1) relu flatten linear(3)"));
  const std::span<float> block = parameters.block();
  const PlanStep& conv = parameters.plan().steps[0];
  std::vector<float> conv_weight;
  for (std::size_t o = 0; o < 2; ++o) {
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t h = 0; h < 2; ++h) {
        for (std::size_t w = 0; w < 2; ++w) {
          const auto value = static_cast<float>(1000 * o + 100 * c + 10 * h + w);
          block[conv.weight + ((h * 2 + w) * 3 + c) * 16 + o] = value;
          conv_weight.push_back(value);
        }
      }
    }
  }
  // After the convolution there are 2 channels of 3×4.
  const PlanStep& linear = parameters.plan().steps[1];
  std::vector<float> linear_weight;
  for (std::size_t o = 0; o < 3; ++o) {
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t h = 0; h < 3; ++h) {
        for (std::size_t w = 0; w < 4; ++w) {
          const auto value = static_cast<float>(5000 + 1000 * o + 100 * c + 10 * h + w);
          block[linear.weight + ((h * 4 + w) * 2 + c) * 16 + o] = value;
          linear_weight.push_back(value);
        }
      }
    }
  }
  for (std::size_t o = 0; o < 2; ++o) block[conv.bias + o] = 0.5F + static_cast<float>(o);
  for (std::size_t o = 0; o < 3; ++o) block[linear.bias + o] = -0.5F - static_cast<float>(o);

  std::vector<float> expected = conv_weight;
  expected.insert(expected.end(), {0.5F, 1.5F});
  expected.insert(expected.end(), linear_weight.begin(), linear_weight.end());
  expected.insert(expected.end(), {-0.5F, -1.5F, -2.5F});
  const std::string bytes = Written(parameters);
  std::vector<float> data(expected.size());
  const std::size_t data_bytes = data.size() * sizeof(float);
  ASSERT_GT(bytes.size(), data_bytes);
  std::memcpy(data.data(), bytes.data() + bytes.size() - data_bytes, data_bytes);
  EXPECT_EQ(data, expected);

  const Safetensors file = Parse(bytes);
  ASSERT_EQ(file.tensors.size(), 4U);
  EXPECT_EQ(file.tensors.at("layers.0.weight").shape, (std::vector<std::int64_t>{2, 3, 2, 2}));
  EXPECT_EQ(file.tensors.at("layers.0.bias").shape, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(file.tensors.at("layers.3.weight").shape, (std::vector<std::int64_t>{3, 24}));
  EXPECT_EQ(file.tensors.at("layers.3.bias").shape, (std::vector<std::int64_t>{3}));

  const WeightsFile read = ReadWeights(Path());
  EXPECT_EQ(ValuesOf(read.parameters, "layers.0.weight"), conv_weight);
  EXPECT_EQ(ValuesOf(read.parameters, "layers.3.weight"), linear_weight);
}

TEST_F(SafetensorsFile, NumbersAreLittleEndian) {
  Parameters parameters(PlanOf("vector(1) linear(1)"));
  parameters.Set(TensorOf(parameters, "layers.0.weight"), std::vector<float>{1.0F});
  parameters.Set(TensorOf(parameters, "layers.0.bias"), std::vector<float>{-2.5F});
  EXPECT_TRUE(Written(parameters).ends_with(std::string_view("\0\0\x80\x3f\0\0\x20\xc0", 8)));
}

TEST_F(SafetensorsFile, ParametersThatAreNotFiniteAreNotWritten) {
  const std::string before = Written(RandomParameters(kMlp));
  for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    Parameters parameters = RandomParameters(kMlp);
    parameters.Set(TensorOf(parameters, "layers.2.weight"), std::vector<float>{1.0F, bad});
    EXPECT_EQ(MessageOf([&] { WriteWeights(Path(), parameters); }, Error::Kind::kWorkFailed),
              fmt::format("cannot write {}: tensor 'layers.2.weight' has {} at index 1",
                          Path().string(), bad));
    EXPECT_EQ(ReadTextFile(Path(), 1 << 20), before);
  }
}

// Saved by safetensors 0.8.0 from PyTorch.
constexpr char kPythonHeader[] =
    R"({"__metadata__":{"format":"pt"},"layers.0.bias":{"dtype":"F32","shape":[2],)"
    R"("data_offsets":[0,8]},"layers.0.weight":{"dtype":"F32","shape":[2,3],)"
    R"("data_offsets":[8,32]},"layers.2.bias":{"dtype":"F32","shape":[1],)"
    R"("data_offsets":[32,36]},"layers.2.weight":{"dtype":"F32","shape":[1,2],)"
    R"("data_offsets":[36,44]}}       )";
constexpr std::string_view kPythonData(
    "\x00\x00\x80\xbf\x00\x00\x00\x3f\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40"
    "\x00\x00\x80\x40\x00\x00\xa0\x40\x00\x00\xc0\x40\x6f\x12\x83\x3a\x00\x00\x80\x3e"
    "\x00\x00\x00\xbe",
    44);

TEST_F(SafetensorsFile, OfPyTorchIsReadIntoAKnownNetwork) {
  Put(FileOf(kPythonHeader, kPythonData));
  Parameters parameters(PlanOf(kMlp));
  EXPECT_EQ(ReadWeightsInto(Path(), parameters), (WeightsMetadata{{"format", "pt"}}));
  EXPECT_EQ(ValuesOf(parameters, "layers.0.weight"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(ValuesOf(parameters, "layers.0.bias"), (std::vector<float>{-1, 0.5}));
  EXPECT_EQ(ValuesOf(parameters, "layers.2.weight"), (std::vector<float>{0.25, -0.125}));
  EXPECT_EQ(ValuesOf(parameters, "layers.2.bias"), (std::vector<float>{1e-3F}));
  EXPECT_EQ(PlainMessageOf([&] { ReadWeights(Path()); }),
            fmt::format("{}: does not say which network it is of (no metadata 'stableaa.spec'); it "
                        "can only be read into a network that is known",
                        Path().string()));
}

TEST_F(SafetensorsFile, MissingOrNoFileAtAllIsBadInput) {
  EXPECT_EQ(PlainMessageOf([&] { ReadWeights(Path("none")); }),
            fmt::format("{} does not exist", Path("none").string()));
  EXPECT_EQ(PlainMessageOf([&] { ReadWeights(Path("")); }),
            fmt::format("{} is a directory, expected a file", Path("").string()));
  EXPECT_EQ(PlainMessageOf([&] { ReadWeights(Put("")); }),
            fmt::format("{}: expected a safetensors file, found 0 bytes", Path().string()));
}

TEST_F(SafetensorsFile, LargerThanAnyNetworkIsNotEvenRead) {
  fs::resize_file(Put(""), std::uintmax_t{1} << 31);
  EXPECT_EQ(
      PlainMessageOf([&] { ReadWeights(Path()); }),
      fmt::format("{}: expected at most 1342177280 bytes, found 2147483648", Path().string()));
}

TEST_F(SafetensorsFile, EveryTruncationIsAnError) {
  const std::string whole = Written(RandomParameters("vector(2) linear(1)"));
  ReadWeights(Parse(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string_view part = std::string_view(whole).substr(0, length);
    EXPECT_NE(ParseMessage(part), "") << length;
  }
  EXPECT_NE(ParseMessage(whole + '\0'), "");
}

// Flips each bit of length and header: a BadInput, or a file that is still valid (with another
// name, say).
TEST_F(SafetensorsFile, AFlippedBitOfTheHeaderIsAnErrorOrHarmless) {
  const std::string whole = Written(RandomParameters("vector(2) linear(1)"));
  const std::size_t data = 4 * 3;
  for (std::size_t i = 0; i < 8 * (whole.size() - data); ++i) {
    std::string flipped = whole;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << i % 8));
    try {
      const Safetensors file = Parse(flipped);
      std::size_t bytes = 0;
      for (const auto& [name, tensor] : file.tensors) bytes += tensor.data.size();
      EXPECT_EQ(bytes, data);
      ReadWeights(file);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kBadInput) << error.what();
    }
  }
}

TEST(Safetensors, AnyTensorsThatTileTheDataAreRead) {
  const std::string bytes = FileOf(R"({"b":{"shape":[],"dtype":"F64","data_offsets":[3,11]},)"
                                   R"("a":{"dtype":"U8","data_offsets":[0,3],"shape":[3,1]},)"
                                   R"("none":{"dtype":"BF16","shape":[2,0],"data_offsets":[3,3]}})",
                                   "abcdefghijk");
  const Safetensors file = Parse(bytes);
  EXPECT_EQ(file.name, "w.st");
  EXPECT_TRUE(file.metadata.empty());
  ASSERT_EQ(file.tensors.size(), 3U);
  EXPECT_EQ(file.tensors.at("a").dtype, "U8");
  EXPECT_EQ(file.tensors.at("a").shape, (std::vector<std::int64_t>{3, 1}));
  EXPECT_TRUE(std::ranges::equal(file.tensors.at("a").data, AsBytes("abc")));
  EXPECT_TRUE(file.tensors.at("b").shape.empty());
  EXPECT_TRUE(std::ranges::equal(file.tensors.at("b").data, AsBytes("defghijk")));
  EXPECT_TRUE(file.tensors.at("none").data.empty());
}

TEST(Safetensors, NoTensorsAreAValidFile) {
  EXPECT_TRUE(Parse(FileOf("{}")).tensors.empty());
  EXPECT_TRUE(Parse(FileOf("{}      ")).tensors.empty());
  EXPECT_TRUE(Parse(FileOf(R"({"__metadata__":{}})")).metadata.empty());
}

TEST(Safetensors, TheHeadersLengthIsNotBelieved) {
  EXPECT_EQ(ParseMessage("1234567"), "w.st: expected a safetensors file, found 7 bytes");
  EXPECT_EQ(ParseMessage(std::string(8, '\xff') + "{}"),
            "w.st: expected a safetensors file, whose first 8 bytes are the length of its header, "
            "found 18446744073709551615 there and 2 bytes behind (truncated, or another format?)");
  std::string long_header(100'000'001, ' ');
  long_header.replace(0, 2, "{}");
  EXPECT_NE(HeaderMessage(long_header), "");
}

TEST(Safetensors, TheHeaderIsOneJsonObject) {
  EXPECT_EQ(HeaderMessage(""), "w.st: expected a header that starts with '{', found ''");
  EXPECT_EQ(HeaderMessage("[]"), "w.st: expected a header that starts with '{', found '[]'");
  EXPECT_EQ(HeaderMessage(" {}"), "w.st: expected a header that starts with '{', found ' {}'");
  EXPECT_EQ(HeaderMessage("{\"a\":\x1b}"),
            "w.st: expected JSON as header, found an error at its byte 6, '\"a\":<U+001B>'");
  for (const char* const header :
       {"{", "{} {}", "{}x", "{\"a\"}", "{\"a\":}", "{,}", "{\"a\":{},}", "{'a':{}}", "{}//",
        "{\"\xff\":{}}", "{\"\\ud800\":{}}", "{\"a\n\":{}}"}) {
    EXPECT_NE(HeaderMessage(header), "") << header;
  }
}

TEST(Safetensors, NothingHidesBehindANul) {
  EXPECT_EQ(HeaderMessage(std::string_view("{}\0garbage", 10)),
            "w.st: expected JSON as header, found NUL at its byte 3");
}

TEST(Safetensors, DeepNestingIsAnErrorAtItsFirstLevel) {
  const std::string deep(10'000'000, '[');
  EXPECT_EQ(HeaderMessage("{\"a\":" + deep), "w.st: expected an object as 'a', found an array");
  EXPECT_EQ(HeaderMessage("{\"a\":{\"shape\":" + deep),
            "w.st: expected an array of whole numbers as shape of tensor 'a', found an array");
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(HeaderMessage(objects),
            "w.st: tensor 'a': expected dtype, shape and data_offsets, found 'a'");
}

TEST(Safetensors, WhatComesTwiceIsAnError) {
  EXPECT_EQ(HeaderMessage(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                          R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
            "w.st: tensor 'a' is there twice");
  EXPECT_EQ(HeaderMessage(R"({"__metadata__":{},"__metadata__":{}})"),
            "w.st: __metadata__ is there twice");
  EXPECT_EQ(HeaderMessage(R"({"__metadata__":{"x":"","x":"1"}})"),
            "w.st: metadata 'x' is there twice");
  EXPECT_EQ(HeaderMessage(R"({"a":{"dtype":"U8","dtype":"U8"}})"),
            "w.st: tensor 'a': dtype is there twice");
  EXPECT_EQ(HeaderMessage(R"({"a":{"shape":[],"shape":[]}})"),
            "w.st: tensor 'a': shape is there twice");
  EXPECT_EQ(HeaderMessage(R"({"a":{"data_offsets":[0,0],"data_offsets":[0,0]}})"),
            "w.st: tensor 'a': data_offsets is there twice");
}

TEST(Safetensors, ATensorHasExactlyThreeFields) {
  EXPECT_EQ(HeaderMessage(R"({"a":{}})"), "w.st: tensor 'a' has no dtype");
  EXPECT_EQ(HeaderMessage(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})"),
            "w.st: tensor 'a' has no shape");
  EXPECT_EQ(HeaderMessage(R"({"a":{"dtype":"U8","shape":[0]}})"),
            "w.st: tensor 'a' has no data_offsets");
  EXPECT_EQ(HeaderMessage(R"({"a":{"dtype":"U8","stride":1}})"),
            "w.st: tensor 'a': expected dtype, shape and data_offsets, found 'stride'");
}

TEST(Safetensors, ValuesOfAnotherKindAreErrors) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"({"a":null})", "an object as 'a', found null"},
      {R"({"a":true})", "an object as 'a', found true"},
      {R"({"a":"x"})", "an object as 'a', found the string 'x'"},
      {R"({"__metadata__":[]})", "an object as '__metadata__', found an array"},
      {R"({"__metadata__":{"x":1}})", "a string as metadata 'x', found 1"},
      {R"({"__metadata__":{"x":{}}})", "a string as metadata 'x', found an object"},
      {R"({"a":{"dtype":4}})", "a string as dtype of tensor 'a', found 4"},
      {R"({"a":{"shape":3}})", "an array of whole numbers as shape of tensor 'a', found 3"},
      {R"({"a":{"shape":[-1]}})", "an array of whole numbers as shape of tensor 'a', found -1"},
      {R"({"a":{"shape":[1.5]}})", "an array of whole numbers as shape of tensor 'a', found 1.5"},
      {R"({"a":{"shape":[1.0]}})", "an array of whole numbers as shape of tensor 'a', found 1.0"},
      {R"({"a":{"shape":["1"]}})",
       "an array of whole numbers as shape of tensor 'a', found the string '1'"},
      {R"({"a":{"shape":[9223372036854775808]}})",
       "an array of whole numbers as shape of tensor 'a', found 9223372036854775808"},
      {R"({"a":{"shape":[99999999999999999999]}})",
       "an array of whole numbers as shape of tensor 'a', found 99999999999999999999"},
      {R"({"a":{"data_offsets":{}}})",
       "an array of two whole numbers as data_offsets of tensor 'a', found an object"},
      {R"({"a":{"data_offsets":[]}})",
       "an array of two whole numbers as data_offsets of tensor 'a', found 0 of them"},
      {R"({"a":{"data_offsets":[1]}})",
       "an array of two whole numbers as data_offsets of tensor 'a', found 1 of them"},
      {R"({"a":{"data_offsets":[1,2,3]}})",
       "an array of two whole numbers as data_offsets of tensor 'a', found a third number"},
      {R"({"a":{"data_offsets":[0,-4]}})",
       "an array of two whole numbers as data_offsets of tensor 'a', found -4"},
  };
  for (const auto& [header, expected] : kCases) {
    EXPECT_EQ(HeaderMessage(header), fmt::format("w.st: expected {}", expected));
  }
  EXPECT_NE(HeaderMessage(R"({"a":{"shape":[1e999]}})"), "");
}

TEST(Safetensors, DimensionsAreLimited) {
  const auto header = [](int ones) {
    std::string sides = "0";
    for (int i = 0; i < ones; ++i) sides += ",1";
    return fmt::format(R"({{"a":{{"dtype":"U8","shape":[{}],"data_offsets":[0,0]}}}})", sides);
  };
  EXPECT_EQ(Parse(FileOf(header(63))).tensors.at("a").shape.size(), 64U);
  EXPECT_EQ(HeaderMessage(header(64)),
            "w.st: tensor 'a': expected at most 64 dimensions, found more");
}

// The header of F32 tensors "a", "b", ... with these shapes and offsets.
struct Piece {
  std::string shape;
  std::string offsets;
};
std::string HeaderOf(const std::vector<Piece>& pieces) {
  std::vector<std::string> entries;
  for (const Piece& piece : pieces) {
    entries.push_back(fmt::format(R"("{}":{{"dtype":"F32","shape":{},"data_offsets":{}}})",
                                  static_cast<char>('a' + entries.size()), piece.shape,
                                  piece.offsets));
  }
  return fmt::format("{{{}}}", fmt::join(entries, ","));
}

TEST(Safetensors, TensorsTileTheData) {
  const std::string eight(8, '\0');
  EXPECT_EQ(Parse(FileOf(HeaderOf({{"[1]", "[4,8]"}, {"[1]", "[0,4]"}}), eight)).tensors.size(),
            2U);
  EXPECT_EQ(HeaderMessage(HeaderOf({{"[1]", "[0,4]"}, {"[1]", "[0,4]"}}), eight),
            "w.st: tensor 'b': expected its data to begin at 4, where those before end, found 0");
  EXPECT_EQ(HeaderMessage(HeaderOf({{"[1]", "[0,4]"}, {"[1]", "[2,6]"}}), eight),
            "w.st: tensor 'b': expected its data to begin at 4, where those before end, found 2");
  EXPECT_EQ(HeaderMessage(HeaderOf({{"[1]", "[4,8]"}}), eight),
            "w.st: tensor 'a': expected its data to begin at 0, where those before end, found 4");
  EXPECT_EQ(HeaderMessage(HeaderOf({{"[1]", "[0,4]"}}), eight),
            "w.st: expected 4 bytes of data, as the header says, found 8");
  EXPECT_EQ(HeaderMessage("{}", "x"),
            "w.st: expected 0 bytes of data, as the header says, found 1");
}

TEST(Safetensors, OffsetsFitDataTypeAndShape) {
  const std::string eight(8, '\0');
  EXPECT_EQ(HeaderMessage(HeaderOf({{"[1]", "[8,4]"}}), eight),
            "w.st: tensor 'a': its data end at 4, before they begin at 8");
  EXPECT_EQ(HeaderMessage(HeaderOf({{"[3]", "[0,12]"}}), eight),
            "w.st: tensor 'a': expected data from 0 to 12, found only 8 bytes (is the file "
            "truncated?)");
  EXPECT_EQ(
      HeaderMessage(HeaderOf({{"[3]", "[18446744073709551604,18446744073709551615]"}}), eight),
      "w.st: tensor 'a': expected data from 18446744073709551604 to 18446744073709551615, "
      "found only 8 bytes (is the file truncated?)");
  EXPECT_EQ(HeaderMessage(HeaderOf({{"[1, 3]", "[0,8]"}}), eight),
            "w.st: tensor 'a': expected 12 bytes for F32 [1, 3], found 8");
  // 2^62 + 2 floats are 8 bytes modulo 2^64.
  EXPECT_EQ(HeaderMessage(HeaderOf({{"[4611686018427387906]", "[0,8]"}}), eight),
            "w.st: tensor 'a': expected more than 2^64 bytes for F32 [4611686018427387906], found "
            "8");
  EXPECT_EQ(HeaderMessage(HeaderOf({{"[4294967296, 4294967296]", "[0,0]"}})),
            "w.st: tensor 'a': expected more than 2^64 bytes for F32 [4294967296, 4294967296], "
            "found 0");
  EXPECT_EQ(HeaderMessage(R"({"a":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})", "x"),
            "w.st: tensor 'a': unknown dtype 'F4', expected F32");
}

TEST(Safetensors, NamesAreShortenedAndEscapedInMessages) {
  EXPECT_EQ(HeaderMessage(R"({"a\n\u001b[2J\u0000":0})"),
            "w.st: expected an object as 'a\\n\\u001B[2J\\u0000', found 0");
  const std::string name(100'000, 'n');
  EXPECT_EQ(HeaderMessage(fmt::format(R"({{"{}":0}})", name)),
            fmt::format("w.st: expected an object as '{}...', found 0", name.substr(0, 60)));
}

// kPythonHeader with one part replaced.
std::string WithHeader(std::string_view part, std::string_view replacement) {
  std::string header = kPythonHeader;
  const std::size_t at = header.find(part);
  EXPECT_NE(at, std::string::npos);
  header.replace(at, part.size(), replacement);
  return FileOf(header, kPythonData);
}

// The message of a failed ReadWeightsInto, which must not change the parameters.
std::string IntoMessage(const std::string& bytes, std::string_view spec = kMlp) {
  Parameters parameters = RandomParameters(spec);
  const std::string message = PlainMessageOf([&] { ReadWeightsInto(Parse(bytes), parameters); });
  EXPECT_TRUE(SameBits(parameters.block(), RandomParameters(spec).block()));
  return message;
}

TEST(ReadWeightsInto, MissingAndUnexpectedTensorsAreNamed) {
  EXPECT_EQ(IntoMessage(WithHeader("layers.2.bias", "layers.2.b\\n")),
            "w.st: its tensors are not those of the network: missing 'layers.2.bias' [1]; "
            "unexpected 'layers.2.b\\n' [1]");
  EXPECT_EQ(IntoMessage(FileOf(kPythonHeader, kPythonData), "vector(3) linear(2)"),
            "w.st: its tensors are not those of the network: unexpected 'layers.2.bias' [1], "
            "'layers.2.weight' [1, 2]");
  EXPECT_EQ(IntoMessage(FileOf(kPythonHeader, kPythonData),
                        "vector(3) linear(2) tanh linear(1) linear(4)"),
            "w.st: its tensors are not those of the network: missing 'layers.3.weight' [4, 1], "
            "'layers.3.bias' [4]");
  EXPECT_EQ(IntoMessage(FileOf("{}")),
            "w.st: its tensors are not those of the network: missing 'layers.0.weight' [2, 3], "
            "'layers.0.bias' [2], 'layers.2.weight' [1, 2] and 1 more");
}

TEST(ReadWeightsInto, AShapeOfAsManyValuesIsAnError) {
  EXPECT_EQ(IntoMessage(WithHeader("[2,3]", "[3,2]")),
            "w.st: tensor 'layers.0.weight': expected shape [2, 3], found [3, 2]");
  EXPECT_EQ(IntoMessage(WithHeader("[2,3]", "[6]")),
            "w.st: tensor 'layers.0.weight': expected shape [2, 3], found [6]");
  EXPECT_EQ(IntoMessage(WithHeader("[2,3]", "[2,3,1]")),
            "w.st: tensor 'layers.0.weight': expected shape [2, 3], found [2, 3, 1]");
}

TEST(ReadWeightsInto, OtherTypesAreRefusedWithAdvice) {
  constexpr char kWeight[] = R"("F32","shape":[2,3])";
  for (const auto& [dtype, sides] : {std::pair("F64", "1,3"), {"F16", "4,3"}, {"BF16", "4,3"}}) {
    EXPECT_EQ(IntoMessage(WithHeader(kWeight, fmt::format(R"("{}","shape":[{}])", dtype, sides))),
              fmt::format("w.st: tensor 'layers.0.weight': expected F32, found {}; convert it "
                          "before it is saved, in PyTorch by .float()",
                          dtype));
  }
}

TEST(ReadWeightsInto, NumbersThatAreNotFiniteAreNamed) {
  std::string bytes = FileOf(kPythonHeader, kPythonData);
  // The last of all values, so all others have been read before.
  bytes.replace(bytes.size() - 4, 4, std::string("\0\0\x80\xff", 4));
  EXPECT_EQ(IntoMessage(bytes),
            "w.st: tensor 'layers.2.weight': expected finite numbers, found -inf at index 1");
  bytes.replace(bytes.size() - 4, 4, std::string("\x01\0\x80\x7f", 4));
  EXPECT_EQ(IntoMessage(bytes),
            "w.st: tensor 'layers.2.weight': expected finite numbers, found nan at index 1");
}

std::string WithSpec(std::string_view spec) {
  return WithHeader(R"("format":"pt")", fmt::format(R"("stableaa.spec":"{}")", spec));
}

TEST(ReadWeightsInto, ADescribedNetworkHasToBeTheSame) {
  EXPECT_EQ(IntoMessage(WithSpec("vector(3) linear(2) relu linear(1)")),
            "w.st: expected weights of the network vector(3) linear(2) tanh linear(1), found those "
            "of vector(3) linear(2) relu linear(1)");
  EXPECT_EQ(
      IntoMessage(WithSpec("vector(3) linaer(2)")),
      "w.st: metadata 'stableaa.spec': network spec, character 11 ('linaer(2)'): unknown layer "
      "'linaer'; did you mean 'linear'?");
  EXPECT_NE(IntoMessage(WithSpec("\\u001b[2J\\n")), "");
  EXPECT_EQ(IntoMessage(WithSpec(std::string(65537, ' '))),
            "w.st: metadata 'stableaa.spec': expected at most 65536 bytes, found 65537");

  Parameters parameters(PlanOf(kMlp));
  ReadWeightsInto(Parse(WithSpec("vector( 3 )linear(2)tanh  linear(1.0)")), parameters);
  EXPECT_EQ(ValuesOf(parameters, "layers.0.bias"), (std::vector<float>{-1, 0.5}));
}

TEST(ReadWeights, TakesTheNetworkFromTheMetadata) {
  const WeightsFile file = ReadWeights(Parse(WithSpec(kMlp)));
  EXPECT_EQ(file.parameters.plan().spec, ParseSpec(kMlp));
  EXPECT_EQ(ValuesOf(file.parameters, "layers.2.weight"), (std::vector<float>{0.25, -0.125}));
  EXPECT_EQ(PlainMessageOf([] { ReadWeights(Parse(WithSpec("vector(3) linear(2)"))); }),
            "w.st: its tensors are not those of the network: unexpected 'layers.2.bias' [1], "
            "'layers.2.weight' [1, 2]");
}

TEST(ReadWeights, ReservesNothingForANetworkThatIsNotThere) {
  struct rusage before = {};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_EQ(PlainMessageOf([] { ReadWeights(Parse(WithSpec("vector(65535) linear(4096)"))); }),
            "w.st: its tensors are not those of the network: unexpected 'layers.2.bias' [1], "
            "'layers.2.weight' [1, 2]");
  EXPECT_EQ(PlainMessageOf(
                [] { ReadWeights(Parse(WithSpec("vector(65535) linear(4080) tanh linear(1)"))); }),
            "w.st: tensor 'layers.0.weight': expected shape [4080, 65535], found [2, 3]");
  struct rusage after = {};
  getrusage(RUSAGE_SELF, &after);
  constexpr long kTooMuch = 256 * 1024;  // KiB; the network would take a GiB
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, kTooMuch);
}

}  // namespace stableaa::safetensors_test
