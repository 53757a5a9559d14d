// Writing a model in any format and reading it back gives the same model, to the last bit, with all
// annotations if the format holds them.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/mdp/formats/model_file.h"
#include "stableaa/mdp/formats/text_format_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::round_trip_test {

struct Format {
  std::string ending;
  bool holds_discount;
  bool holds_ragged_actions = true;
  bool has_observations = false;
  bool holds_annotations = false;
};

class RoundTrip : public testing::TestWithParam<Format> {
 protected:
  static Model RandomModelFor(const Format& format, std::uint64_t seed) {
    const std::uint64_t states = 1 + 7 * seed;
    return format.holds_ragged_actions ? AwkwardModel(seed, states)
                                       : EvenAwkwardModel(seed, states);
  }

  const TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / ("m" + GetParam().ending);
};

TEST_P(RoundTrip, LosesNothing) {
  const Format& format = GetParam();
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const bool discounted = format.holds_discount && seed % 3 != 0;
    const auto discount = discounted ? std::optional(0.1 * double(seed % 10)) : std::nullopt;
    const Model model = RandomModelFor(format, seed).WithDiscount(discount);
    EXPECT_TRUE(WriteModel(model, path_).empty()) << seed;
    for (const int threads : {1, 3}) {
      const LoadedModel loaded = ReadModel(path_, threads);
      EXPECT_TRUE(loaded.model == model) << seed;
      EXPECT_EQ(loaded.dropped.empty(), !format.has_observations) << seed;
      EXPECT_FALSE(loaded.from_costs) << seed;
    }
  }
}

TEST_P(RoundTrip, TellsWhetherTheDiscountIsKept) {
  const Format& format = GetParam();
  const Model model = RandomModelFor(format, 1);
  const std::vector<std::string> lost = WriteModel(model.WithDiscount(0.5), path_);
  const std::optional<double> read = ReadModel(path_).model.discount();
  if (format.holds_discount) {
    EXPECT_TRUE(lost.empty());
    EXPECT_EQ(read, 0.5);
  } else {
    EXPECT_EQ(lost, std::vector<std::string>{"the discount 0.5"});
    EXPECT_EQ(read, std::nullopt);
  }
}

TEST_P(RoundTrip, KeepsAnnotationsOrTellsWhatIsLost) {
  const Format& format = GetParam();
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    const Model model = RandomModelFor(format, seed);
    const ModelAnnotations annotations = AwkwardAnnotations(seed, model);
    // With another number of rewards the former files of PRISM would be in the way.
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / ("m" + format.ending);
    const std::vector<std::string> lost = WriteModel(model, path, annotations);
    const LoadedModel loaded = ReadModel(path);
    EXPECT_TRUE(loaded.model == model) << seed;
    EXPECT_NO_THROW(CheckAnnotations(loaded.annotations, model.states(), model.rows(), "read"));
    if (format.holds_annotations) {
      EXPECT_EQ(lost, std::vector<std::string>()) << seed;
      EXPECT_TRUE(loaded.annotations == annotations) << seed;
      // The same memory.
      EXPECT_EQ(loaded.annotations.rewards[0].rewards.span().data(), loaded.model.rewards().data());
    } else {
      EXPECT_TRUE(loaded.annotations.empty()) << seed;
      const bool state_0_alone = annotations.initial.size() == 1 && annotations.initial[0] == 0;
      EXPECT_EQ(lost.size(), annotations.rewards.size() - 1 + (annotations.labels.empty() ? 0 : 1) +
                                 (state_0_alone ? 0 : 1) +
                                 (annotations.actions.names.empty() ? 0 : 1))
          << seed;
    }
  }
}

TEST_P(RoundTrip, WritingWhatWasReadGivesTheSameFile) {
  const Format& format = GetParam();
  const Model model = RandomModelFor(format, 9);
  WriteModel(model, path_, AwkwardAnnotations(5, model));
  const std::string first = ReadText(path_);
  const LoadedModel loaded = ReadModel(path_);
  WriteModel(loaded.model, path_, loaded.annotations);
  EXPECT_EQ(ReadText(path_), first);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, RoundTrip,
    testing::Values(Format{.ending = ".tra", .holds_discount = false, .holds_annotations = true},
                    Format{.ending = ".drn", .holds_discount = false, .holds_annotations = true},
                    Format{.ending = ".csv", .holds_discount = false},
                    Format{.ending = ".mdp", .holds_discount = true, .holds_ragged_actions = false},
                    Format{.ending = ".POMDP",
                           .holds_discount = true,
                           .holds_ragged_actions = false,
                           .has_observations = true},
                    Format{.ending = ".npz", .holds_discount = true},
                    Format{.ending = ".bin", .holds_discount = true, .holds_annotations = true}),
    [](const auto& test) { return test.param.ending.substr(1); });

}  // namespace stableaa::round_trip_test
