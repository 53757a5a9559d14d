#include "stableaa/mdp/formats/binary_format.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "stableaa/base/files/block_checksum.h"
#include "stableaa/mdp/formats/text_format_test.h"
#include "stableaa/mdp/model/model_builder.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::binary_format_test {

// A file's bytes, aligned as in memory, with its parts at the offsets that binary_format.h gives.
class Image {
 public:
  explicit Image(const std::string& bytes) : words_((bytes.size() + 7) / 8), size_(bytes.size()) {
    if (size_ > 0) std::memcpy(words_.data(), bytes.data(), size_);
  }

  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_)).first(size_); }

  template <typename T>
  T Get(std::size_t offset) const {
    T value;
    std::memcpy(&value, bytes().data() + offset, sizeof value);
    return value;
  }
  template <typename T>
  void Put(std::size_t offset, T value) {
    std::memcpy(reinterpret_cast<char*>(words_.data()) + offset, &value, sizeof value);
  }

  // Makes the checksums match the contents, as an attacker would.
  void Seal() {
    Put<std::uint64_t>(48, ChecksumOf(bytes().subspan(64), 1));
    Put<std::uint64_t>(56, 0);
    Put<std::uint64_t>(56, ChecksumOf(bytes().first(64), 1));
  }

  std::string Error() const {
    return BadInputOf([&] { ParseBinaryModel(bytes(), "m.bin", nullptr, 1); });
  }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t size_;
};

// State 0: to 0 and 1, or to 1 for 2.5; state 1 stays.
Model SmallModel() {
  ModelBuilder builder([] { return std::string("small"); });
  builder.BeginState();
  builder.Transition(0, 0.25);
  builder.Transition(1, 0.75);
  builder.EndRow(-1);
  builder.Transition(1, 1);
  builder.EndRow(2.5);
  builder.BeginState();
  builder.Transition(1, 1);
  builder.EndRow(0);
  return builder.Finish(0.5);
}

// Of SmallModel.
ModelAnnotations SmallAnnotations() {
  ModelAnnotations annotations;
  annotations.labels = {{"a", SharedArray<std::uint64_t>({0, 1})},
                        {"bc", SharedArray<std::uint64_t>({1})}};
  annotations.initial = SharedArray<std::uint64_t>({1});
  annotations.rewards = {{"r", SharedArray<double>({-1, 2.5, 0})},
                         {"s", SharedArray<double>({7, -0.0, 9})}};
  annotations.actions = {{"go", "x"}, SharedArray<std::uint32_t>({1, 2, 0})};
  return annotations;
}

class BinaryFormatTest : public testing::Test {
 protected:
  std::string BytesOf(const Model& model, const ModelAnnotations& annotations = {}) const {
    EXPECT_TRUE(WriteBinaryModel(model, directory_ / "m.bin", annotations).empty());
    return ReadText(directory_ / "m.bin");
  }

  TemporaryFolder directory_;
};

TEST_F(BinaryFormatTest, WideNextStatesStayWide) {
  ModelBuilder builder([] { return std::string("wide"); });
  builder.UseWideColumns();
  for (int state = 0; state < 9; ++state) {
    builder.BeginState();
    builder.Transition(8, 1);
    builder.EndRow(state);
  }
  const Model model = builder.Finish(std::nullopt);
  ASSERT_TRUE(model.wide());
  WriteBinaryModel(model, directory_ / "m.bin");
  EXPECT_TRUE(ReadBinaryModel(directory_ / "m.bin", 1).model == model);
}

// The layout in binary_format.h, number by number.
TEST_F(BinaryFormatTest, EveryPartLiesWhereTheManualSays) {
  const std::string bytes = BytesOf(SmallModel());
  EXPECT_EQ(bytes.substr(0, 8), "\x89SAAMDP\n");
  const Image image(bytes);
  EXPECT_EQ(image.Get<std::uint32_t>(8), 1u);
  EXPECT_EQ(image.Get<std::uint32_t>(12), 4u);
  EXPECT_EQ(image.Get<std::uint64_t>(16), 2u);
  EXPECT_EQ(image.Get<std::uint64_t>(24), 3u);
  EXPECT_EQ(image.Get<std::uint64_t>(32), 4u);
  EXPECT_EQ(image.Get<double>(40), 0.5);
  const auto expect = [&]<typename T>(std::size_t offset, const std::vector<T>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(image.Get<T>(offset + i * sizeof(T)), values[i]) << offset << " " << i;
    }
    for (std::size_t at = offset + values.size() * sizeof(T); at % 64 != 0; ++at) {
      EXPECT_EQ(bytes[at], '\0') << at;
    }
  };
  expect(64, std::vector<std::uint64_t>{0, 2, 3});
  expect(128, std::vector<std::uint64_t>{0, 2, 3, 4});
  expect(192, std::vector<double>{-1, 2.5, 0});
  expect(256, std::vector<double>{0.25, 0.75, 1, 1});
  expect(320, std::vector<std::uint32_t>{0, 1, 1, 1});
  EXPECT_EQ(bytes.size(), 384u);
  EXPECT_EQ(image.Get<std::uint64_t>(48), ChecksumOf(image.bytes().subspan(64), 1));

  EXPECT_EQ(Image(BytesOf(SmallModel().WithDiscount(std::nullopt))).Get<double>(40), -1);
}

TEST_F(BinaryFormatTest, EveryPartOfTheAnnotationsLiesWhereTheManualSays) {
  const std::string plain = BytesOf(SmallModel());
  const std::string bytes = BytesOf(SmallModel(), SmallAnnotations());
  const Image image(bytes);
  EXPECT_EQ(image.Get<std::uint32_t>(8), 2u);
  EXPECT_EQ(bytes.substr(64, 320), plain.substr(64));
  const auto expect = [&]<typename T>(std::size_t offset, const std::vector<T>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(image.Get<T>(offset + i * sizeof(T)), values[i]) << offset << " " << i;
    }
    for (std::size_t at = offset + values.size() * sizeof(T); at % 64 != 0; ++at) {
      EXPECT_EQ(bytes[at], '\0') << at;
    }
  };
  expect(384, std::vector<std::uint64_t>{2, 3, 1, 2, 2, 8, 0, 0});
  expect(448, std::vector<std::uint64_t>{1, 3, 4, 5, 7, 8});
  EXPECT_EQ(bytes.substr(512, 64), "abcrsgox" + std::string(56, '\0'));
  expect(576, std::vector<std::uint64_t>{2, 3});
  expect(640, std::vector<std::uint64_t>{0, 1, 1});
  expect(704, std::vector<std::uint64_t>{1});
  expect(768, std::vector<double>{7, -0.0, 9});
  expect(832, std::vector<std::uint32_t>{1, 2, 0});
  EXPECT_EQ(bytes.size(), 896u);
  EXPECT_EQ(image.Error(), "");
}

// So that files from before annotations and their readers are still understood.
TEST_F(BinaryFormatTest, AModelWithoutAnnotationsHasTheFirstVersion) {
  EXPECT_EQ(Image(BytesOf(SmallModel())).Get<std::uint32_t>(8), 1u);
}

TEST_F(BinaryFormatTest, AnnotationsUseTheFileInPlace) {
  const Image image(BytesOf(SmallModel(), SmallAnnotations()));
  const LoadedModel loaded = ParseBinaryModel(image.bytes(), "m.bin", nullptr, 1);
  EXPECT_TRUE(loaded.annotations == SmallAnnotations());
  const auto offset = [&](const auto& array) {
    return reinterpret_cast<const std::byte*>(array.span().data()) - image.bytes().data();
  };
  EXPECT_EQ(offset(loaded.annotations.labels[0].states), 640);
  EXPECT_EQ(offset(loaded.annotations.labels[1].states), 656);
  EXPECT_EQ(offset(loaded.annotations.rewards[0].rewards), 192);
  EXPECT_EQ(offset(loaded.annotations.rewards[1].rewards), 768);
  EXPECT_EQ(offset(loaded.annotations.actions.rows), 832);
}

TEST_F(BinaryFormatTest, AnnotationsOutliveTheFile) {
  WriteBinaryModel(SmallModel(), directory_ / "m.bin", SmallAnnotations());
  ModelAnnotations annotations = ReadBinaryModel(directory_ / "m.bin", 1).annotations;
  std::filesystem::remove(directory_ / "m.bin");
  EXPECT_TRUE(annotations == SmallAnnotations());
}

// Matching checksums do not make invalid annotations sound.
TEST_F(BinaryFormatTest, HostileAnnotationsAreRefused) {
  const std::string bytes = BytesOf(SmallModel(), SmallAnnotations());
  const auto with = [&]<typename T>(std::size_t at, T value) {
    Image image(bytes);
    image.Put<T>(at, value);
    image.Seal();
    return image.Error();
  };
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t at = 384; at < 384 + 64; at += 8) {
    for (const std::uint64_t claim : {std::uint64_t{100}, std::uint64_t{1} << 49, kMost / 8 + 1,
                                      kMost / 4 + 1, kMost / 2 + 1, kMost - 1, kMost}) {
      EXPECT_NE(with(at, claim), "") << at << " " << claim;
    }
  }
  EXPECT_EQ(with(432, std::uint64_t{1}),
            "m.bin: annotations: expected two zeros after the numbers");
  EXPECT_EQ(with(448, std::uint64_t{9}),
            "m.bin: annotations: expected ascending ends up to 8, found 9 after 0");
  EXPECT_EQ(with(456, std::uint64_t{0}),
            "m.bin: annotations: expected ascending ends up to 8, found 0 after 1");
  EXPECT_EQ(with(488, std::uint64_t{7}),
            "m.bin: annotations: expected ends up to 8, the last is 7");
  EXPECT_EQ(with(448, std::uint64_t{0}), "m.bin: annotations: found an empty text as label");
  EXPECT_EQ(with(512, 'b'), "");  // "b" and "bc" are different
  EXPECT_EQ(with(512, 'c'),
            "m.bin: annotations: expected labels sorted by name, without repetition");
  EXPECT_EQ(with(515, 's'), "m.bin: annotations: the reward structure 's' is there twice");
  EXPECT_EQ(with(584, std::uint64_t{4}),
            "m.bin: annotations: expected ascending ends up to 3, found 4 after 2");
  EXPECT_EQ(with(648, std::uint64_t{2}),
            "m.bin: annotations: label 'a': expected states below 2, found 2");
  EXPECT_EQ(with(640, std::uint64_t{1}),
            "m.bin: annotations: label 'a': expected ascending states");
  EXPECT_EQ(with(704, kMost),
            "m.bin: annotations: initial states: expected states below 2, found "
            "18446744073709551615");
  EXPECT_EQ(with(768, std::numeric_limits<double>::quiet_NaN()),
            "m.bin: annotations: reward structure 's': expected 3 finite rewards");
  EXPECT_EQ(with(832, std::uint32_t{3}),
            "m.bin: annotations: action names: expected numbers up to 2, found 3");
}

TEST_F(BinaryFormatTest, EqualModelsGiveEqualBytes) {
  EXPECT_EQ(BytesOf(SmallModel()), BytesOf(SmallModel()));
}

TEST_F(BinaryFormatTest, TheModelUsesTheFileInPlaceAndOutlivesIt) {
  const Model model = LargeModel(20000);
  WriteBinaryModel(model, directory_ / "m.bin");
  const Model loaded = ReadBinaryModel(directory_ / "m.bin", 1).model;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded.rewards().data()) % 64, 0u);
  // Replacing and removing the file does not affect the mapping.
  WriteBinaryModel(SmallModel(), directory_ / "m.bin");
  std::filesystem::remove(directory_ / "m.bin");
  EXPECT_TRUE(loaded == model);

  const Image image(BytesOf(SmallModel()));
  const Model parsed = ParseBinaryModel(image.bytes(), "m.bin", nullptr, 1).model;
  EXPECT_EQ(reinterpret_cast<const std::byte*>(parsed.rewards().data()),
            image.bytes().data() + 192);
}

TEST_F(BinaryFormatTest, EveryFlippedBitIsFound) {
  const std::string bytes = BytesOf(SmallModel(), SmallAnnotations());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(Image(damaged).Error(), "") << "bit " << bit;
  }
}

TEST_F(BinaryFormatTest, EveryTruncationAndEveryExtensionIsFound) {
  const std::string bytes = BytesOf(SmallModel());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(Image(bytes.substr(0, size)).Error(), "") << size;
  }
  for (const std::size_t more : {1, 8, 64, 4096}) {
    EXPECT_EQ(
        Image(bytes + std::string(more, '\0')).Error(),
        "m.bin: it has " + std::to_string(more) + " bytes too many: expected 384 by its header");
  }
}

TEST_F(BinaryFormatTest, EveryTruncationAndEveryExtensionOfAnnotationsIsFound) {
  const std::string bytes = BytesOf(SmallModel(), SmallAnnotations());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(Image(bytes.substr(0, size)).Error(), "") << size;
    if (size % 64 != 0 || size < 128) continue;
    Image sealed(bytes.substr(0, size));
    sealed.Seal();
    EXPECT_NE(sealed.Error(), "") << size;
  }
  for (const std::size_t more : {64, 4096}) {
    Image longer(bytes + std::string(more, '\0'));
    longer.Seal();
    EXPECT_EQ(longer.Error(), "m.bin: it has " + std::to_string(more) +
                                  " bytes too many: expected 896 by its header");
  }
}

TEST_F(BinaryFormatTest, SwappedBlocksAreFound) {
  std::string bytes = BytesOf(AwkwardModel(3, 200));
  for (std::size_t i = 0; i < 64; ++i) std::swap(bytes[1024 + i], bytes[2048 + i]);
  EXPECT_EQ(Image(bytes).Error(), "m.bin: arrays: damaged, their checksum does not fit");
}

TEST_F(BinaryFormatTest, TheMessageNamesThePart) {
  const std::string bytes = BytesOf(SmallModel());
  EXPECT_EQ(Image("").Error(), "m.bin: it has 0 bytes, too few for a stableaa model");
  EXPECT_EQ(Image("s,a,next,p,r\n").Error(),
            "m.bin: not a stableaa model: its first 8 bytes differ");
  EXPECT_EQ(Image(bytes.substr(0, 40)).Error(),
            "m.bin: truncated: it has 40 bytes, its header has 64");
  EXPECT_EQ(Image(bytes.substr(0, 380)).Error(),
            "m.bin: truncated: it has 380 bytes, expected 384 by its header");
  Image header(bytes);
  header.Put<double>(40, 0.25);
  EXPECT_EQ(header.Error(), "m.bin: header: damaged, its checksum does not fit");
  Image content(bytes);
  content.Put<double>(192, 7);
  EXPECT_EQ(content.Error(), "m.bin: arrays: damaged, their checksum does not fit");
  Image newer(bytes);
  newer.Put<std::uint32_t>(8, 3);
  newer.Seal();
  EXPECT_EQ(newer.Error(), "m.bin: header: its version is 3; this program reads versions 1 to 2");
}

TEST_F(BinaryFormatTest, HostileHeadersAreRefusedWithoutReservingMemory) {
  const std::string bytes = BytesOf(SmallModel());
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  for (const std::size_t at : {16, 24, 32}) {
    for (const std::uint64_t claim :
         {std::uint64_t{0}, std::uint64_t{1000000000000000000}, kMost, kMost - 1, kMost / 8,
          kMost / 8 + 1, kMost / 4 + 1, kMost / 2 + 1, std::uint64_t{12}, std::uint64_t{100}}) {
      Image image(bytes);
      image.Put<std::uint64_t>(at, claim);
      image.Seal();
      EXPECT_NE(image.Error(), "") << at << " " << claim;
    }
  }
  const auto with = [&]<typename T>(std::size_t at, T value) {
    Image image(bytes);
    image.Put<T>(at, value);
    image.Seal();
    return image.Error();
  };
  EXPECT_EQ(with(12, std::uint32_t{2}),
            "m.bin: header: expected next states of 4 or 8 bytes, found 2");
  EXPECT_NE(with(12, std::uint32_t{8}), "");
  EXPECT_EQ(with(40, 1.5), "m.bin: header: expected a discount in [0, 1), found 1.5");
  EXPECT_NE(with(40, 1.0).find("undiscounted"), std::string::npos);
  EXPECT_NE(with(40, std::numeric_limits<double>::quiet_NaN()), "");
}

// Matching checksums do not make invalid arrays a model.
TEST_F(BinaryFormatTest, ArraysThatAreNotCanonicalAreRefused) {
  const std::string bytes = BytesOf(SmallModel());
  const auto with = [&]<typename T>(std::size_t at, T value) {
    Image image(bytes);
    image.Put<T>(at, value);
    image.Seal();
    return image.Error();
  };
  EXPECT_EQ(with(64, std::uint64_t{0}), "");  // unchanged
  EXPECT_NE(with(72, std::uint64_t{0}), "");
  EXPECT_NE(with(72, std::uint64_t{1} << 60), "");
  EXPECT_NE(with(136, std::uint64_t{4}), "");
  EXPECT_NE(with(192, std::numeric_limits<double>::infinity()), "");
  EXPECT_NE(with(256, 0.5), "");
  EXPECT_NE(with(256, -0.25), "");
  EXPECT_NE(with(320, std::uint32_t{1}), "");
  EXPECT_NE(with(328, std::uint32_t{2}), "");
}

TEST_F(BinaryFormatTest, AFileThatCannotBeReadIsBadInputOneThatCannotBeWrittenFailedWork) {
  EXPECT_NE(BadInputOf([&] { ReadBinaryModel(directory_ / "none.bin", 1); }), "");
  EXPECT_NE(MessageOf([&] { WriteBinaryModel(SmallModel(), directory_ / "none" / "m.bin"); },
                      Error::Kind::kWorkFailed),
            "no error");
}

}  // namespace stableaa::binary_format_test
