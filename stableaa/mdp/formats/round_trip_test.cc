// Writing a model in any format and reading it back gives the same model, to the last bit.
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

INSTANTIATE_TEST_SUITE_P(
    Formats, RoundTrip,
    testing::Values(Format{.ending = ".tra", .holds_discount = false},
                    Format{.ending = ".drn", .holds_discount = false},
                    Format{.ending = ".csv", .holds_discount = false},
                    Format{.ending = ".mdp", .holds_discount = true, .holds_ragged_actions = false},
                    Format{.ending = ".POMDP",
                           .holds_discount = true,
                           .holds_ragged_actions = false,
                           .has_observations = true},
                    Format{.ending = ".npz", .holds_discount = true},
                    Format{.ending = ".bin", .holds_discount = true}),
    [](const auto& test) { return test.param.ending.substr(1); });

}  // namespace stableaa::round_trip_test
