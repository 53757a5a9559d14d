#include "stableaa/nn/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "stableaa/core/random.h"

namespace stableaa {

// kernels_wide_test.cc: the source of the AVX-512 kernels, for any machine.
extern const Kernels kWideKernels;

namespace {

std::vector<const Kernels*> AllKernels() {
  std::vector<const Kernels*> kernels = UsableKernels();
  kernels.push_back(&kWideKernels);
  return kernels;
}

class KernelsTest : public testing::TestWithParam<const Kernels*> {
 protected:
  // Small whole numbers: sums are exact in any order.
  std::vector<float> Whole(std::size_t size) {
    std::vector<float> values(size);
    for (float& value : values) value = static_cast<float>(random_.Integer(-3, 3));
    return values;
  }

  std::vector<float> Uniform(std::size_t size) {
    std::vector<float> values(size);
    random_.FillUniform(values, -1, 1);
    return values;
  }

  const Kernels& kernels() const { return *GetParam(); }

  RandomStream random_{1, "kernels_test"};
};

// Uses the formula from kernels.h.
std::vector<float> Naive(const PanelProduct& p, std::vector<float> c) {
  for (int r = 0; r < p.rows; ++r) {
    for (int j = 0; j < p.columns; ++j) {
      float sum = p.bias != nullptr ? p.bias[j] : 0;
      for (int o = 0; o < p.outer; ++o) {
        for (int i = 0; i < p.inner; ++i) {
          const std::ptrdiff_t inner = p.a_places != nullptr ? p.a_places[i] : i * p.a_inner;
          sum += p.a[p.a_rows[r] + o * p.a_outer + inner] *
                 p.b[j / 16 * p.b_panel + o * p.b_outer + i * p.b_inner + j % 16];
        }
      }
      float& to = c[static_cast<std::size_t>(p.c_rows[r] + j / 16 * p.c_panel + j % 16)];
      if (p.accumulate) sum += to;
      to = p.relu && sum < 0 ? 0 : sum;
    }
  }
  return c;
}

TEST_P(KernelsTest, MultiplyAgreesWithItsFormulaForAllSizesAndOptions) {
  for (int trial = 0; trial < 600; ++trial) {
    PanelProduct p;
    p.rows = static_cast<int>(random_.Integer(0, 20));
    p.columns = static_cast<int>(random_.Integer(1, 150));
    p.outer = static_cast<int>(random_.Integer(1, 4));
    p.inner = static_cast<int>(random_.Integer(0, 11));
    p.accumulate = random_.Bernoulli(0.5);
    p.relu = !p.accumulate && random_.Bernoulli(0.5);
    p.rows_first = random_.Bernoulli(0.5);
    const int panels = (p.columns + 15) / 16;
    p.a_inner = random_.Integer(1, 3);
    p.a_outer = p.a_inner * p.inner + random_.Integer(0, 5);
    p.b_inner = 16 + random_.Integer(0, 3);
    p.b_outer = p.b_inner * p.inner;
    p.b_panel = p.b_outer * p.outer + 16;
    std::vector<std::ptrdiff_t> places;
    for (int i = 0; i < p.inner; ++i) places.push_back(random_.Integer(0, 20));
    if (random_.Bernoulli(0.3)) {
      p.a_places = places.data();
      p.outer = 1;
    }
    p.c_panel = 16 + random_.Integer(0, 2);
    const std::ptrdiff_t a_size = p.a_outer * p.outer + 1;
    // When accumulating, rows overlap as in a convolution; otherwise they are separate.
    const std::ptrdiff_t c_step =
        p.accumulate && random_.Bernoulli(0.5) ? random_.Integer(1, 9) : p.c_panel * panels;
    std::vector<std::ptrdiff_t> a_rows;
    std::vector<std::ptrdiff_t> c_rows;
    for (int r = 0; r < p.rows; ++r) {
      a_rows.push_back(random_.Integer(0, 40));
      c_rows.push_back(r * c_step);
    }
    const std::vector<float> a = Whole(static_cast<std::size_t>(a_size + 61));
    const std::vector<float> b = Whole(static_cast<std::size_t>(p.b_panel * panels + 16));
    const std::vector<float> bias = Whole(static_cast<std::size_t>(16 * panels));
    const auto before = Whole(static_cast<std::size_t>(c_step * p.rows + p.c_panel * panels + 16));
    std::vector<float> c = before;
    p.a = a.data();
    p.a_rows = a_rows.data();
    p.b = b.data();
    p.c = c.data();
    p.c_rows = c_rows.data();
    if (random_.Bernoulli(0.5)) p.bias = bias.data();
    kernels().multiply(p);
    ASSERT_EQ(c, Naive(p, before)) << "trial " << trial << ": " << p.rows << " rows, " << p.columns
                                   << " columns, " << p.outer << " × " << p.inner;
  }
}

TEST_P(KernelsTest, MultiplyKeepsNaNsThroughRelu) {
  for (const int columns : {16, 5}) {
    const std::ptrdiff_t row = 0;
    const std::vector<float> a = {std::numeric_limits<float>::quiet_NaN()};
    const std::vector<float> b(16, 1);
    std::vector<float> c(16);
    PanelProduct p;
    p.a = a.data();
    p.a_rows = p.c_rows = &row;
    p.b = b.data();
    p.c = c.data();
    p.rows = p.inner = 1;
    p.columns = columns;
    p.relu = true;
    kernels().multiply(p);
    EXPECT_TRUE(std::isnan(c[0]));
  }
}

TEST_P(KernelsTest, InterleaveDividesAsFloatsDo) {
  constexpr int kPixels = 259;
  std::vector<std::uint8_t> bytes(4 * kPixels);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i % 256);
  const std::uint8_t* const frames[] = {&bytes[0], &bytes[kPixels], &bytes[2 * kPixels],
                                        &bytes[3 * kPixels]};
  std::vector<float> floats(4 * kPixels);
  std::vector<float> divisors = {255, 256, 1, 3, 1e-30F, 1e30F, 0x1.fffffep7F};
  for (int i = 0; i < 200; ++i) divisors.push_back(static_cast<float>(random_.Uniform(0.1, 1000)));
  for (const float divisor : divisors) {
    kernels().interleave_four(frames, kPixels, divisor, floats.data());
    for (std::size_t i = 0; i < kPixels; ++i) {
      for (std::size_t c = 0; c < 4; ++c) {
        ASSERT_EQ(floats[4 * i + c], static_cast<float>(frames[c][i]) / divisor) << divisor;
      }
    }
  }
}

TEST_P(KernelsTest, LanesAndBackAgain) {
  for (const int rows : {1, 7, 15, 16}) {
    for (const std::ptrdiff_t count : {1, 4, 13, 64}) {
      const std::ptrdiff_t stride = count + 3;
      const std::vector<float> values = Uniform(static_cast<std::size_t>(rows * stride));
      std::vector<float> lanes(static_cast<std::size_t>(count * 16), 99);
      kernels().to_lanes(values.data(), stride, rows, count, lanes.data());
      for (std::ptrdiff_t k = 0; k < count; ++k) {
        for (std::ptrdiff_t l = 0; l < 16; ++l) {
          ASSERT_EQ(lanes[static_cast<std::size_t>(k * 16 + l)],
                    l < rows ? values[static_cast<std::size_t>(l * stride + k)] : 0);
        }
      }
      std::vector<float> back = Uniform(values.size());
      const std::vector<float> before = back;
      kernels().from_lanes(lanes.data(), rows, count, /*accumulate=*/true, back.data(), stride);
      for (std::size_t i = 0; i < back.size(); ++i) {
        const bool inside = static_cast<std::ptrdiff_t>(i) % stride < count;
        ASSERT_EQ(back[i], inside ? before[i] + values[i] : before[i]);
      }
      kernels().from_lanes(lanes.data(), rows, count, /*accumulate=*/false, back.data(), stride);
      for (std::size_t i = 0; i < back.size(); ++i) {
        const bool inside = static_cast<std::ptrdiff_t>(i) % stride < count;
        ASSERT_EQ(back[i], inside ? values[i] : before[i]);
      }
    }
  }
}

TEST_P(KernelsTest, MaskReluStopsGradientsOfWhatWasNotPositive) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> value = {0, -0.0F, 1, -1, 2, nan, 1e-40F, -1e-40F, 3};
  std::vector<float> gradient(value.size(), 5);
  kernels().mask_relu(value.data(), std::ssize(value), gradient.data());
  EXPECT_EQ(gradient, (std::vector<float>{0, 0, 5, 0, 5, 5, 5, 0, 5}));
}

TEST_P(KernelsTest, MoveTowardsIsAnAverageForAnyLength) {
  for (const std::size_t size : {0UL, 1UL, 15UL, 16UL, 33UL, 1000UL}) {
    const std::vector<float> towards = Uniform(size);
    std::vector<float> values = Uniform(size + 1);  // the last one must stay as it is
    const std::vector<float> before = values;
    constexpr float kTau = 0.005F;
    kernels().move_towards(towards.data(), kTau, std::ssize(towards), values.data());
    for (std::size_t i = 0; i < size; ++i) {
      const double x = before[i];
      EXPECT_NEAR(values[i], x + static_cast<double>(kTau) * (towards[i] - x), 1e-7);
    }
    EXPECT_EQ(values[size], before[size]);
  }
}

TEST_P(KernelsTest, SumOfSquaresIsThatOfDoubles) {
  for (const std::size_t size : {0UL, 1UL, 17UL, 1023UL, 1024UL, 5000UL}) {
    for (const float scale : {1.0F, 1e30F, 1e-30F}) {
      std::vector<float> values = Uniform(size);
      double expected = 0;
      for (float& value : values) {
        value *= scale;
        expected += static_cast<double>(value) * value;
      }
      EXPECT_NEAR(kernels().sum_of_squares(values.data(), std::ssize(values)), expected,
                  1e-13 * expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelsTest, testing::ValuesIn(AllKernels()),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace stableaa
