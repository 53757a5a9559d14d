#include "stableaa/nn/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"

namespace stableaa::parameters_test {

std::shared_ptr<const Plan> PlanOf(const std::string& text) {
  return std::make_shared<const Plan>(MakePlan(ParseSpec(text)));
}

// 20 and 17 outputs leave panels that are only partly filled.
const char* const kSpec =
    "frames(3, 6, 5, 255) conv(20, 2, 1) relu flatten dueling{linear(17) relu linear(1) | "
    "linear(5)}";

std::vector<float> Block(const Parameters& parameters) {
  return {parameters.block().begin(), parameters.block().end()};
}

std::vector<float> Values(const Parameters& parameters, const ParameterTensor& tensor) {
  std::vector<float> values(tensor.size());
  parameters.Get(tensor, values);
  return values;
}

// 1 for each tensor element, 0 for padding.
std::vector<float> Mask(const std::shared_ptr<const Plan>& plan) {
  Parameters ones(plan);
  for (const ParameterTensor& tensor : ParameterTensors(*plan)) {
    ones.Set(tensor, std::vector<float>(tensor.size(), 1.0F));
  }
  return Block(ones);
}

Parameters Initialised(const std::shared_ptr<const Plan>& plan, std::uint64_t seed) {
  Parameters parameters(plan);
  RandomStream random(seed, "network");
  parameters.Initialise(random);
  return parameters;
}

const ParameterTensor& Find(const std::vector<ParameterTensor>& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &ParameterTensor::name);
  EXPECT_NE(found, tensors.end()) << name;
  return *found;
}

// --- tensors and their places

TEST(ParameterTensors, HaveTheNamesAndShapesOfPyTorch) {
  std::vector<std::string> found;
  for (const ParameterTensor& tensor : ParameterTensors(*PlanOf(kSpec))) {
    std::string text = tensor.name;
    for (const std::int64_t side : tensor.shape) text.append(" ").append(std::to_string(side));
    found.push_back(text);
  }
  EXPECT_EQ(found, (std::vector<std::string>{"layers.0.weight 20 3 2 2", "layers.0.bias 20",
                                             "value.0.weight 17 400", "value.0.bias 17",
                                             "value.2.weight 1 17", "value.2.bias 1",
                                             "advantage.0.weight 5 400", "advantage.0.bias 5"}));
}

TEST(Parameters, RefuseTensorsThatTheNetworkLacks) {
  const auto plan =
      std::make_shared<const Plan>(MakePlan(ParseSpec("vector(4) dueling{linear(1) | linear(3)}")));
  Parameters parameters(plan);
  std::vector<float> three(3, 1);
  EXPECT_THROW(parameters.Set({.name = ".bias", .shape = {3}, .step = 2, .is_bias = true}, three),
               Error);
  EXPECT_THROW(parameters.Get({.name = "value.0.bias", .shape = {3}, .step = 9}, three), Error);
  for (const float value : parameters.block()) EXPECT_EQ(value, 0);
}

TEST(Parameters, AreZeroAtFirst) {
  EXPECT_EQ(std::ranges::count(Parameters(PlanOf(kSpec)).block(), 0.0F),
            static_cast<std::ptrdiff_t>(PlanOf(kSpec)->parameters));
}

TEST(Parameters, GetGivesBackWhatWasSetAndNoTwoElementsShareAPlace) {
  const auto plan = PlanOf(kSpec);
  const std::vector<ParameterTensor> tensors = ParameterTensors(*plan);
  Parameters parameters(plan);
  float next = 1;
  for (const ParameterTensor& tensor : tensors) {
    std::vector<float> values(tensor.size());
    for (float& value : values) value = next++;
    parameters.Set(tensor, values);
  }
  // Read only after all writes, so that a Set that overwrites an earlier one is noticed.
  next = 1;
  for (const ParameterTensor& tensor : tensors) {
    for (const float value : Values(parameters, tensor)) EXPECT_EQ(value, next++);
  }
  EXPECT_EQ(std::ranges::count(parameters.block(), 0.0F),
            static_cast<std::ptrdiff_t>(plan->parameters) - static_cast<std::ptrdiff_t>(next - 1));
}

// Checks the block's formula from the header for each element of a tensor [N, C, H, W].
TEST(Parameters, LieInPanelsInTheOrderRowColumnChannel) {
  const auto plan = PlanOf(kSpec);
  const std::vector<ParameterTensor> tensors = ParameterTensors(*plan);
  Parameters parameters = Initialised(plan, 1);
  struct Case {
    std::string name;
    std::size_t channels, height, width;
  };
  for (const auto& [name, channels, height, width] :
       {Case{"layers.0", 3, 2, 2}, Case{"value.0", 20, 5, 4}, Case{"value.2", 17, 1, 1}}) {
    const ParameterTensor& weights = Find(tensors, name + ".weight");
    const PlanStep& step = plan->steps[weights.step];
    const auto outputs = static_cast<std::size_t>(weights.shape[0]);
    const std::size_t fan_in = channels * height * width;
    const std::vector<float> values = Values(parameters, weights);
    std::size_t i = 0;
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t row = 0; row < height; ++row) {
          for (std::size_t column = 0; column < width; ++column, ++i) {
            const std::size_t k = (row * width + column) * channels + c;
            const std::size_t place = step.weight + (o / 16 * fan_in + k) * 16 + o % 16;
            ASSERT_EQ(parameters.block()[place], values[i]) << name << " element " << i;
          }
        }
      }
    }
    const std::vector<float> biases = Values(parameters, Find(tensors, name + ".bias"));
    for (std::size_t o = 0; o < outputs; ++o) {
      EXPECT_EQ(parameters.block()[step.bias + o], biases[o]);
    }
  }
}

TEST(Parameters, GetAndSetRefuseOtherSizes) {
  const auto plan = PlanOf(kSpec);
  Parameters parameters = Initialised(plan, 1);
  const std::vector<float> before = Block(parameters);
  for (const ParameterTensor& tensor : ParameterTensors(*plan)) {
    for (const std::size_t size : {std::size_t{0}, tensor.size() - 1, tensor.size() + 1}) {
      std::vector<float> values(size);
      EXPECT_THROW(parameters.Get(tensor, values), Error);
      EXPECT_THROW(parameters.Set(tensor, values), Error);
    }
  }
  EXPECT_EQ(Block(parameters), before);
}

// --- Initialise

TEST(Initialise, DrawsTheElementsInOrderWithinOneOverTheRootOfTheFanIn) {
  const auto plan = PlanOf(kSpec);
  const Parameters parameters = Initialised(plan, 3);
  RandomStream random(3, "network");
  for (const ParameterTensor& tensor : ParameterTensors(*plan)) {
    const auto bound =
        static_cast<float>(1 / std::sqrt(static_cast<double>(plan->steps[tensor.step].fan_in)));
    std::vector<float> expected(tensor.size());
    random.FillUniform(expected, -bound, bound);
    EXPECT_EQ(Values(parameters, tensor), expected) << tensor.name;
    for (const float value : expected) EXPECT_LE(std::abs(value), bound);
  }
}

TEST(Initialise, IsReproducibleAndDependsOnTheSeed) {
  const auto plan = PlanOf(kSpec);
  EXPECT_EQ(Block(Initialised(plan, 1)), Block(Initialised(plan, 1)));
  EXPECT_NE(Block(Initialised(plan, 1)), Block(Initialised(plan, 2)));
}

TEST(Initialise, LeavesThePaddingZero) {
  const auto plan = PlanOf(kSpec);
  const std::vector<float> mask = Mask(plan);
  const Parameters parameters = Initialised(plan, 1);
  ASSERT_EQ(std::ranges::count(mask, 0.0F), 12 * 13 + 15 * 401 + 15 * 18 + 11 * 401);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) {
      EXPECT_EQ(parameters.block()[i], 0.0F);
    }
  }
}

// Five standard errors each: a correct implementation would fail with one seed in 870,000 (four
// normal tails of 2.9e-7).
TEST(Initialise, IsUniformInMeanAndVariance) {
  const auto plan = PlanOf("vector(100) linear(1000)");
  const Parameters parameters = Initialised(plan, 4);
  const std::vector<float> values = Values(parameters, ParameterTensors(*plan)[0]);
  const double bound = 0.1;
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / n, 0, 5 * bound / std::sqrt(3 * n));
  // x² has mean b²/3 and variance b⁴/5 − b⁴/9.
  EXPECT_NEAR(squares / n, bound * bound / 3, 5 * bound * bound * std::sqrt(4.0 / 45 / n));
}

// --- copies

TEST(CopyFrom, MakesEqualBytesAlsoAcrossPlansOfEqualSpecs) {
  const Parameters source = Initialised(PlanOf(kSpec), 1);
  Parameters copy(PlanOf(kSpec));
  copy.CopyFrom(source);
  EXPECT_EQ(Block(copy), Block(source));
}

TEST(CopyFrom, RefusesAnotherSpecEvenOfEqualSize) {
  const Parameters source = Initialised(PlanOf("vector(4) linear(3) relu linear(2)"), 1);
  Parameters other = Initialised(PlanOf("vector(4) linear(3) tanh linear(2)"), 2);
  const std::vector<float> before = Block(other);
  ASSERT_EQ(source.block().size(), before.size());
  EXPECT_THROW(other.CopyFrom(source), Error);
  EXPECT_EQ(Block(other), before);
}

// --- Polyak averages

TEST(MoveTowards, IsThePolyakAverageToFloatPrecision) {
  const auto plan = PlanOf(kSpec);
  const Parameters towards = Initialised(plan, 1);
  for (const double tau : {1e-3, 0.005, 0.3, 0.999}) {
    Parameters parameters = Initialised(plan, 2);
    const std::vector<float> before = Block(parameters);
    parameters.MoveTowards(towards, tau);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double x = before[i], y = towards.block()[i];
      // τ, the difference and the sum are each rounded once.
      EXPECT_NEAR(parameters.block()[i], x + tau * (y - x),
                  0x1p-24 * (std::abs(x) + std::abs(y) + 3 * tau * std::abs(y - x)));
    }
  }
}

TEST(MoveTowards, TauZeroChangesNothingAndTauOneCopies) {
  const auto plan = PlanOf(kSpec);
  Parameters towards = Initialised(plan, 1);
  const ParameterTensor bias = ParameterTensors(*plan)[1];
  std::vector<float> odd = Values(towards, bias);
  odd[0] = std::numeric_limits<float>::infinity();
  towards.Set(bias, odd);
  Parameters parameters = Initialised(plan, 2);
  const std::vector<float> before = Block(parameters);
  parameters.MoveTowards(towards, 0);
  EXPECT_EQ(Block(parameters), before);
  parameters.MoveTowards(towards, 1);
  EXPECT_EQ(Block(parameters), Block(towards));
  parameters.MoveTowards(parameters, 0.5);
  EXPECT_EQ(Block(parameters), Block(towards));
}

// The steps shrink by 1 − τ, and the padding, which is zero in both, stays zero.
TEST(MoveTowards, ArrivesAfterManySteps) {
  const auto plan = PlanOf(kSpec);
  const Parameters towards = Initialised(plan, 1);
  Parameters parameters = Initialised(plan, 2);
  for (int i = 0; i < 2000; ++i) parameters.MoveTowards(towards, 0.05);
  for (std::size_t i = 0; i < towards.block().size(); ++i) {
    const double y = towards.block()[i];
    // A step below half a unit in the last place no longer changes anything.
    EXPECT_NEAR(parameters.block()[i], y, 0x1p-24 * std::abs(y) / 0.05);
  }
}

TEST(MoveTowards, RefusesAnotherNetworkAndTausThatAreNoAverage) {
  Parameters parameters = Initialised(PlanOf("vector(4) linear(3) relu linear(2)"), 1);
  const std::vector<float> before = Block(parameters);
  const Parameters other = Initialised(PlanOf("vector(4) linear(3) tanh linear(2)"), 2);
  EXPECT_EQ(MessageOf([&] { parameters.MoveTowards(other, 0.5); }),
            "parameters cannot move towards those of another network");
  const Parameters same = Initialised(PlanOf("vector(4) linear(3) relu linear(2)"), 3);
  for (const double tau : {-0.1, 1.1, std::nan("")}) {
    EXPECT_NE(MessageOf([&] { parameters.MoveTowards(same, tau); }).find("tau of 0 to 1, found"),
              std::string::npos);
  }
  EXPECT_EQ(Block(parameters), before);
}

// --- files

TEST(SavedParameters, ComeBackBitForBit) {
  const auto plan = PlanOf(kSpec);
  Parameters parameters = Initialised(plan, 1);
  const ParameterTensor bias = ParameterTensors(*plan)[1];
  std::vector<float> odd = Values(parameters, bias);
  odd[0] = std::numeric_limits<float>::quiet_NaN();
  odd[1] = -0.0F;
  odd[2] = std::numeric_limits<float>::denorm_min();
  odd[3] = -std::numeric_limits<float>::infinity();
  parameters.Set(bias, odd);
  ByteWriter out;
  parameters.Save(out);
  Parameters loaded = Initialised(plan, 2);
  ByteReader in(out.bytes(), "test");
  loaded.Load(in);
  in.ExpectEnd();
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(loaded.block())),
                                 std::as_bytes(std::span(parameters.block()))));
}

TEST(SavedParameters, OfOtherSizesAreRefusedAndChangeNothing) {
  const auto plan = PlanOf("vector(4) linear(3) relu linear(2)");
  Parameters parameters = Initialised(plan, 1);
  const std::vector<float> before = Block(parameters);
  for (const char* const other :
       {"vector(4) linear(3)", "vector(4) linear(3) relu linear(1)", "vector(5) linear(3)"}) {
    ByteWriter out;
    Initialised(PlanOf(other), 2).Save(out);
    ByteReader in(out.bytes(), "test");
    EXPECT_THROW(parameters.Load(in), Error) << other;
    EXPECT_EQ(Block(parameters), before) << other;
  }
}

TEST(SavedParameters, CutShortAnywhereAreRefusedAndChangeNothing) {
  const auto plan = PlanOf("vector(2) linear(3)");
  ByteWriter out;
  Initialised(plan, 2).Save(out);
  Parameters parameters = Initialised(plan, 1);
  const std::vector<float> before = Block(parameters);
  for (std::size_t size = 0; size < out.bytes().size(); ++size) {
    ByteReader in(out.bytes().first(size), "test");
    EXPECT_THROW(parameters.Load(in), Error) << size;
    EXPECT_EQ(Block(parameters), before) << size;
  }
}

}  // namespace stableaa::parameters_test
