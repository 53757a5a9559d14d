#include "stableaa/mdp/formats/npz_model_format.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "stableaa/base/files/npz.h"
#include "stableaa/base/files/npz_reader.h"
#include "stableaa/mdp/formats/text_format_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::npz_model_format_test {

// State 0 has two actions, state 1 has one. Row 0 is unordered, repeats a state and has a zero.
class NpzModelFormatTest : public testing::Test {
 protected:
  using Adder = std::function<void(NpzWriter&)>;

  NpzModelFormatTest() {
    Put<std::int64_t>("state_ptr", {0, 2, 3});
    Put<std::int64_t>("indptr", {0, 4, 5, 6});
    Put<std::int32_t>("indices", {1, 0, 1, 0, 1, 1});
    Put<double>("data", {0.5, 0.25, 0.25, 0, 1, 1});
    Put<double>("reward", {-1, 2.5, 0});
    arrays_["discount"] = [](NpzWriter& out) { out.Add("discount", {}, std::array{0.5}); };
  }

  template <typename T>
  void Put(const std::string& name, std::vector<T> values) {
    arrays_[name] = [name, values](NpzWriter& out) { out.Add(name, {values.size()}, values); };
  }

  std::string Write() const {
    NpzWriter out(directory_ / "m.npz");
    for (const auto& [name, add] : arrays_) add(out);
    out.Finish();
    return ReadText(directory_ / "m.npz");
  }

  LoadedModel Read() const {
    const std::string bytes = Write();
    return ParseNpzModel(std::as_bytes(std::span(bytes)), "m.npz");
  }
  std::string Error() const {
    return BadInputOf([&] { Read(); });
  }

  // With one array replaced.
  template <typename T>
  std::string ErrorWith(const std::string& name, std::vector<T> values) {
    const auto kept = arrays_;
    Put(name, std::move(values));
    const std::string error = Error();
    arrays_ = kept;
    return error;
  }

  TemporaryFolder directory_;
  std::map<std::string, Adder> arrays_;
};

TEST_F(NpzModelFormatTest, ArraysInAnyOrderMakeACanonicalModel) {
  const LoadedModel loaded = Read();
  const Model& model = loaded.model;
  EXPECT_EQ(model.states(), 2u);
  EXPECT_EQ(model.rows(), 3u);
  ASSERT_EQ(model.transitions(), 4u);
  EXPECT_EQ(model.actions(0), 2u);
  EXPECT_EQ(model.column(0), 0u);
  EXPECT_EQ(model.column(1), 1u);
  EXPECT_EQ(model.probabilities()[0], 0.25);
  EXPECT_EQ(model.probabilities()[1], 0.75);
  EXPECT_EQ(model.rewards()[1], 2.5);
  EXPECT_EQ(model.discount(), 0.5);
  EXPECT_TRUE(loaded.dropped.empty());
}

TEST_F(NpzModelFormatTest, WritesTheTypesThatScipyUses) {
  WriteNpzModel(AwkwardModel(1, 50).WithDiscount(0.9), directory_ / "w.npz");
  const std::string bytes = ReadText(directory_ / "w.npz");
  const NpzReader archive(std::as_bytes(std::span(bytes)), "w.npz");
  EXPECT_EQ(archive.Read("state_ptr").dtype(), "<i8");
  EXPECT_EQ(archive.Read("indptr").dtype(), "<i8");
  EXPECT_EQ(archive.Read("indices").dtype(), "<i4");
  EXPECT_EQ(archive.Read("data").dtype(), "<f8");
  EXPECT_EQ(archive.Read("reward").dtype(), "<f8");
  EXPECT_EQ(archive.Read("discount").shape().size(), 0u);
  EXPECT_EQ(archive.names().size(), 6u);
}

TEST_F(NpzModelFormatTest, OtherTypesOfNumbersMakeTheSameModel) {
  const Model model = Read().model;
  Put<std::uint8_t>("state_ptr", {0, 2, 3});
  Put<std::int32_t>("indptr", {0, 4, 5, 6});
  Put<std::int64_t>("indices", {1, 0, 1, 0, 1, 1});
  Put<float>("data", {0.5, 0.25, 0.25, 0, 1, 1});
  Put<float>("reward", {-1, 2.5, 0});
  Put<float>("discount", {0.5});  // shape (1,)
  EXPECT_TRUE(Read().model == model);
}

TEST_F(NpzModelFormatTest, FloatProbabilitiesMaySumToOneAsFloatsDo) {
  const float third = 1.0F / 3;
  Put<std::int64_t>("state_ptr", {0, 1, 2, 3});
  Put<std::int64_t>("indptr", {0, 3, 4, 5});
  Put<std::int32_t>("indices", {0, 1, 2, 1, 2});
  Put<float>("data", {third, third, third, 1, 1});
  const Model model = Read().model;
  EXPECT_NEAR(model.probabilities()[0], 1.0 / 3, 1e-15);
  EXPECT_EQ(model.probabilities()[3], 1.0);
  Put<double>("data", {third, third, third, 1, 1});
  EXPECT_NE(Error().find("sum to 1.0000000298"), std::string::npos);
  Put<float>("data", {third, third, 0.3334F, 1, 1});
  EXPECT_NE(Error().find("instead of 1"), std::string::npos);
}

TEST_F(NpzModelFormatTest, WithoutADiscountTheModelHasNone) {
  arrays_.erase("discount");
  EXPECT_EQ(Read().model.discount(), std::nullopt);
}

TEST_F(NpzModelFormatTest, OtherArraysAreNamedAsDropped) {
  Put<double>("shape", {1, 2});
  Put<float>("values", {});
  EXPECT_EQ(Read().dropped, (std::vector<std::string>{"array 'shape'", "array 'values'"}));
  for (int i = 0; i < 12; ++i) Put<float>(fmt::format("x{}", i), {1});
  EXPECT_EQ(Read().dropped.size(), 11u);
  EXPECT_EQ(Read().dropped.back(), "4 more arrays");
}

TEST_F(NpzModelFormatTest, ErrorsNameTheArrayAndTheElement) {
  EXPECT_EQ(ErrorWith<std::int64_t>("state_ptr", {0}),
            "m.npz: array 'state_ptr': expected at least 2 elements, found 1");
  EXPECT_EQ(ErrorWith<std::int64_t>("state_ptr", {1, 2, 3}),
            "m.npz: array 'state_ptr': element 0: expected 0, found 1");
  EXPECT_EQ(ErrorWith<std::int64_t>("state_ptr", {0, 4, 3}),
            "m.npz: array 'state_ptr': element 2: expected at least the 4 before it, found 3");
  EXPECT_EQ(
      ErrorWith<std::int64_t>("state_ptr", {0, 2, 4}),
      "m.npz: array 'state_ptr': the last element: expected 3, the length of reward, found 4");
  EXPECT_EQ(ErrorWith<std::int64_t>("indptr", {0, 4, 5, 7}),
            "m.npz: array 'indptr': the last element: expected 6, the length of indices, found 7");
  EXPECT_EQ(ErrorWith<std::int64_t>("indptr", {0, -4, 5, 6}),
            "m.npz: array 'indptr': element 1: expected no negative number, found -4");
  EXPECT_EQ(ErrorWith<double>("indptr", {0, 4, 5, 6}),
            "m.npz: array 'indptr': expected integers, found the dtype <f8");
  EXPECT_EQ(ErrorWith<double>("data", {1}),
            "m.npz: array 'data': expected 6 elements by the length of indices, found 1");
  EXPECT_EQ(ErrorWith<double>("reward", {1, 2}),
            "m.npz: array 'reward': expected 3 elements by indptr, which has one more, found 2");
  EXPECT_EQ(ErrorWith<std::int32_t>("indices", {1, 0, 1, 0, 2, 1}),
            "m.npz: array 'indices': element 4: expected a state below 2, found 2");
  EXPECT_EQ(ErrorWith<std::int32_t>("indices", {1, 0, 1, 0, -1, 1}),
            "m.npz: array 'indices': element 4: expected no negative number, found -1");
  EXPECT_EQ(ErrorWith<double>("discount", {0.5, 0.5}),
            "m.npz: array 'discount': expected one number, of shape () or (1,)");
  EXPECT_EQ(ErrorWith<double>("discount", {1.5}),
            "m.npz: array 'discount': expected a discount in [0, 1), found 1.5");
  arrays_["data"] = [](NpzWriter& out) { out.Add("data", {2, 3}, std::vector<double>(6)); };
  EXPECT_EQ(Error(), "m.npz: array 'data': expected one dimension, found the shape (2, 3)");
  arrays_.erase("data");
  EXPECT_EQ(Error(),
            "m.npz: expected an array 'data', found discount indices indptr reward state_ptr");
}

TEST_F(NpzModelFormatTest, ErrorsInRowsNameTheRowAndTheState) {
  EXPECT_EQ(ErrorWith<double>("data", {0.5, 0.25, 0.25, 0, 0.5, 1}),
            "m.npz: row 1: state 0, action 1: the probabilities sum to 0.5 instead of 1");
  EXPECT_EQ(ErrorWith<double>("data", {0.5, 0.25, 0.25, 0, 1, -1}),
            "m.npz: row 2: state 1, action 0: expected a probability in [0, 1], found -1");
  EXPECT_EQ(ErrorWith<double>("reward", {0, std::numeric_limits<double>::quiet_NaN(), 0}),
            "m.npz: row 1: state 0, action 1: expected a finite reward, found nan");
  EXPECT_EQ(ErrorWith<std::int64_t>("state_ptr", {0, 0, 3}),
            "m.npz: row 0: state 0 has no action; give it at least one");
  EXPECT_NE(ErrorWith<std::int64_t>("indptr", {0, 4, 4, 6}).find("m.npz: row 1: state 0, action 1"),
            std::string::npos);
}

TEST_F(NpzModelFormatTest, DamageIsNoticedOrHarmless) {
  const std::string bytes = Write();
  const Model model = Read().model;
  RandomStream random(1, "npz damage");
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = bytes;
    const std::uint64_t bit = random.Below(8 * bytes.size());
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    // A flipped bit may rename the discount, which is optional.
    BadInputOf([&] {
      const Model found = ParseNpzModel(std::as_bytes(std::span(damaged)), "m.npz").model;
      EXPECT_TRUE(found.WithDiscount(0.5) == model) << bit;
    });
  }
  for (std::size_t size = 0; size < bytes.size(); size += 3) {
    const auto cut = std::as_bytes(std::span(bytes)).first(size);
    EXPECT_NE(BadInputOf([&] { ParseNpzModel(cut, "m.npz"); }), "") << size;
  }
}

}  // namespace stableaa::npz_model_format_test
