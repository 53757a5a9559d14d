#include "stableaa/anderson/window.h"

#include <gtest/gtest.h>

#include <barrier>
#include <stdexcept>
#include <thread>
#include <vector>

#include "stableaa/anderson/maps_test.h"
#include "stableaa/core/error.h"

namespace stableaa::reduction_test {

TEST(Reduction, RanksTogetherDoWhatOneDoes) {
  const int n = 50;
  const LinearMap g(n, .95, 17);
  for (const double limit : {1e10, 0.}) {
    const AcceleratorOptions options{.weights = {.eta = 1e-6, .condition_limit = limit}};
    const Vector expected = Iterate(g, Vector::Zero(n), 15, options).back();

    constexpr int kRanks = 3;
    const int begin[kRanks + 1] = {0, 10, 11, n};
    Vector x = Vector::Zero(n);
    Vector image(n);
    std::barrier meet(kRanks);
    std::vector<std::vector<double>> posted(kRanks);
    const auto rank_main = [&](int rank) {
      const auto sum = [&](std::span<double> values) {
        posted[static_cast<std::size_t>(rank)].assign(values.begin(), values.end());
        meet.arrive_and_wait();
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = posted[0][i] + posted[1][i] + posted[2][i];
        }
        meet.arrive_and_wait();
      };
      const auto size = static_cast<std::size_t>(begin[rank + 1] - begin[rank]);
      Accelerator accelerator(size, options, {.rank = rank, .ranks = kRanks, .sum = sum});
      for (int k = 0; k < 15; ++k) {
        if (rank == 0) image = g(x);
        meet.arrive_and_wait();
        accelerator.Step({x.data() + begin[rank], size}, {image.data() + begin[rank], size});
        meet.arrive_and_wait();
      }
    };
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < kRanks; ++rank) ranks.emplace_back(rank_main, rank);
    for (std::thread& thread : ranks) thread.join();
    EXPECT_LT((x - expected).norm(), 1e-7 * expected.norm());
  }
}

TEST(Reduction, AFailedSumLeavesAnEmptyWindowThatCanGoOn) {
  const LinearMap g(6, .9, 19);
  bool fail = false;
  const auto sum = [&](std::span<double>) {
    if (fail) throw std::runtime_error("the network is down");
  };
  // One process that pretends to be two: the other's sum is zero.
  Accelerator accelerator(6, {}, {.rank = 0, .ranks = 2, .sum = sum});
  Vector x = Vector::Zero(6);
  for (int k = 0; k < 25; ++k) {
    fail = k == 4;
    const Vector image = g(x);
    const Vector before = x;
    if (fail) {
      EXPECT_THROW(accelerator.Step(AsSpan(x), AsSpan(image)), std::runtime_error);
      EXPECT_EQ(x, before);
    } else {
      const StepReport report = accelerator.Step(AsSpan(x), AsSpan(image));
      EXPECT_EQ(report.kind == StepKind::kPlain, k == 0 || k == 5) << k;
    }
  }
  EXPECT_LT((x - g.FixedPoint()).norm(), 1e-8);
}

TEST(Reduction, BadOnesAreErrors) {
  EXPECT_THROW(Accelerator(3, {}, {.rank = 2, .ranks = 2, .sum = [](auto) {}}), Error);
  EXPECT_THROW(Accelerator(3, {}, {.rank = 0, .ranks = 2, .sum = {}}), Error);
}

}  // namespace stableaa::reduction_test
