#include "stableaa/anderson/accelerator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/anderson/maps_test.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/testing/message.h"

namespace stableaa::accelerator_test {

TEST(Accelerator, MatchesTheFormWithAlphaOverAStoredHistory) {
  // Proposition 1: (1−β) Σ α_i x_i + β Σ α_i g(x_i), recomputed from iterates kept here.
  const LinearMap g(12, .9, 1);
  for (const WeightRule rule :
       {WeightRule::kVanilla, WeightRule::kRaa, WeightRule::kStable, WeightRule::kRelative}) {
    for (const double damping : {1., .3}) {
      const int m = 4;
      Accelerator accelerator(12, {.memory = m,
                                   .damping = damping,
                                   .weights = {.rule = rule, .eta = 1e-3},
                                   .safeguard = false});
      Vector x = Vector::Zero(12);
      std::vector<Vector> iterates;
      std::vector<Vector> images;
      for (int k = 0; k < 15; ++k) {
        iterates.push_back(x);
        images.push_back(g(x));
        const StepReport report = accelerator.Step(AsSpan(x), AsSpan(images.back()));
        EXPECT_NEAR(report.residual_norm, (images.back() - iterates.back()).norm(), 1e-12);
        if (report.kind != StepKind::kAccelerated) continue;
        const auto& alpha = accelerator.weights().alpha;
        Vector mixed = Vector::Zero(12);
        const std::size_t oldest = iterates.size() - alpha.size();
        for (std::size_t i = 0; i < alpha.size(); ++i) {
          mixed += alpha[i] * ((1 - damping) * iterates[oldest + i] + damping * images[oldest + i]);
        }
        EXPECT_LT((x - mixed).norm(),
                  1e-11 * (1 + Eigen::Map<const Vector>(alpha.data(),
                                                        static_cast<Eigen::Index>(alpha.size()))
                                   .norm()))
            << Name(rule) << " step " << k;
      }
      EXPECT_EQ(accelerator.statistics().accelerated, 14);
    }
  }
}

TEST(Accelerator, ManyCopiesOfAProblemStepAsOne) {
  // Long vectors take a different path through the kernels (window_kernels.h) than short ones. The
  // length is not a multiple of their block size.
  const Eigen::Index small = 13;
  const Eigen::Index copies = 7001;
  const LinearMap g(static_cast<int>(small), .9, 3);
  for (const HistoryPrecision history : {HistoryPrecision::kDouble, HistoryPrecision::kFloat}) {
    const AcceleratorOptions options{.memory = 6, .damping = .8, .history = history};
    Accelerator one(static_cast<std::size_t>(small), options);
    Accelerator many(static_cast<std::size_t>(small * copies), options);
    Vector x = Vector::Ones(small);
    Vector long_x = x.replicate(copies, 1);
    for (int k = 0; k < 12; ++k) {
      const Vector image = g(x);
      Vector long_image(small * copies);
      for (Eigen::Index c = 0; c < copies; ++c) {
        long_image.segment(c * small, small) = g(long_x.segment(c * small, small));
      }
      one.Step(AsSpan(x), AsSpan(image));
      many.Step(AsSpan(long_x), AsSpan(long_image));
      const double tolerance = history == HistoryPrecision::kFloat ? 1e-4 : 1e-8;
      EXPECT_LT((long_x - x.replicate(copies, 1)).lpNorm<Eigen::Infinity>(), tolerance) << k;
    }
    EXPECT_EQ(many.statistics().accelerated, 11);
  }
}

TEST(Accelerator, UsesTheSameWeightsAsTheColumnSolver) {
  const LinearMap g(30, .95, 2);
  for (const WeightRule rule :
       {WeightRule::kVanilla, WeightRule::kRaa, WeightRule::kStable, WeightRule::kRelative}) {
    const WeightOptions weights{.rule = rule, .eta = 1e-4};
    Accelerator accelerator(30, {.memory = 3, .weights = weights});
    WeightSolver solver(weights);
    Vector x = Vector::Zero(30);
    std::vector<Vector> residuals;
    std::vector<Vector> differences;
    Vector previous;
    for (int k = 0; k < 12; ++k) {
      const Vector image = g(x);
      residuals.push_back(image - x);
      if (k > 0) differences.push_back(x - previous);
      previous = x;
      if (accelerator.Step(AsSpan(x), AsSpan(image)).kind != StepKind::kAccelerated) continue;
      const std::size_t m = accelerator.weights().tau.size();
      std::vector<std::span<const double>> e;
      std::vector<std::span<const double>> d;
      for (std::size_t j = residuals.size() - m - 1; j < residuals.size(); ++j) {
        e.push_back(AsSpan(std::as_const(residuals[j])));
      }
      for (std::size_t j = differences.size() - m; j < differences.size(); ++j) {
        d.push_back(AsSpan(std::as_const(differences[j])));
      }
      const MixingWeights& expected = solver.Solve(e, d);
      EXPECT_NEAR(accelerator.weights().gain, expected.gain, 1e-7);
      EXPECT_NEAR(accelerator.weights().lambda, expected.lambda, 1e-9 * expected.lambda);
      for (std::size_t j = 0; j < m; ++j) {
        EXPECT_NEAR(accelerator.weights().tau[j], expected.tau[j], 1e-6 * expected.TauNorm());
      }
    }
  }
}

TEST(Accelerator, EqualsGmresOnALinearMapWithFullMemory) {
  // Walker and Ni 2011: with full memory and β = 1 the mixed residual of step k is GMRES's r_k.
  const int n = 25;
  const LinearMap g(n, .9, 3);
  const Matrix system = Matrix::Identity(n, n) - g.a;
  Accelerator accelerator(n, {.memory = n,
                              .weights = {.rule = WeightRule::kVanilla, .condition_limit = 0},
                              .safeguard = false});
  Vector x = Vector::Zero(n);
  Matrix krylov(n, n);  // orthonormal basis, built here with full reorthogonalisation
  krylov.col(0) = g.b.normalized();
  for (int k = 1; k < n; ++k) {
    Vector v = system * krylov.col(k - 1);
    for (int pass = 0; pass < 2; ++pass) {
      v -= krylov.leftCols(k) * (krylov.leftCols(k).transpose() * v);
    }
    krylov.col(k) = v.normalized();
  }
  int compared = 0;
  for (int k = 0; k < n; ++k) {
    const Vector image = g(x);
    const StepReport report = accelerator.Step(AsSpan(x), AsSpan(image));
    if (k == 0) continue;
    const Matrix image_of_basis = system * krylov.leftCols(k);
    const Vector y = image_of_basis.colPivHouseholderQr().solve(g.b);
    const double gmres = (g.b - image_of_basis * y).norm();
    if (gmres < 1e-9) break;
    EXPECT_NEAR(report.gain * report.residual_norm, gmres, 1e-6 * gmres) << "step " << k;
    ++compared;
  }
  EXPECT_GE(compared, 15);
}

TEST(Accelerator, ConvergesOnTheSingularDeterministicMdp) {
  for (const WeightRule rule : {WeightRule::kVanilla, WeightRule::kStable, WeightRule::kRelative}) {
    for (const double limit : {1e10, 0.}) {
      for (const bool safeguard : {true, false}) {
        Vector v;
        const int steps =
            StepsToTolerance(SingularMdpBackup, Vector::Zero(3), 1e-10, 100,
                             {.memory = 2,
                              .weights = {.rule = rule, .eta = 0, .condition_limit = limit},
                              .safeguard = safeguard},
                             &v);
        EXPECT_LE(steps, 20) << Name(rule) << " limit " << limit << " safeguard " << safeguard;
        EXPECT_NEAR(v(2), .968998 / .1, 1e-8);
        EXPECT_NEAR(v(1), .524535 / .1, 1e-8);
        EXPECT_NEAR(v(0), .564838 + .9 * v(2), 1e-8);
      }
    }
  }
}

TEST(Accelerator, OneVariable) {
  for (const int memory : {1, 2, 5}) {
    Vector x;
    const int steps =
        StepsToTolerance(CosineMap, Vector::Constant(1, 1.), 1e-13, 100, {.memory = memory}, &x);
    EXPECT_LE(steps, 12) << "memory " << memory;  // the plain iteration takes 75
    EXPECT_NEAR(x(0), 0.7390851332151607, 1e-12);
  }
}

TEST(Accelerator, MemoryLargerThanTheDimension) {
  const LinearMap g(3, .99, 4);
  Vector x;
  EXPECT_LE(StepsToTolerance(g, Vector::Zero(3), 1e-11, 100, {.memory = 20}, &x), 15);
  EXPECT_LT((x - g.FixedPoint()).norm(), 1e-8);
}

TEST(Accelerator, WithoutMemoryItIsTheDampedIteration) {
  const LinearMap g(7, .9, 5);
  const auto iterates = Iterate(g, Vector::Ones(7), 10, {.memory = 0, .damping = .5});
  Vector x = Vector::Ones(7);
  for (int k = 0; k < 10; ++k) {
    EXPECT_LT((iterates[static_cast<std::size_t>(k)] - x).norm(), 1e-14);
    x += .5 * (g(x) - x);
  }
}

TEST(Accelerator, HugeEtaGivesThePlainStep) {
  const LinearMap g(7, .9, 6);
  for (const WeightRule rule : {WeightRule::kStable, WeightRule::kRelative}) {
    const auto mixed =
        Iterate(g, Vector::Ones(7), 10, {.damping = .7, .weights = {.rule = rule, .eta = 1e15}});
    const auto plain = Iterate(g, Vector::Ones(7), 10, {.memory = 0, .damping = .7});
    EXPECT_LT((mixed.back() - plain.back()).norm(), 1e-12);
  }
}

TEST(Accelerator, ScalingTheProblemByPowersOfTenScalesTheIterates) {
  const LinearMap g(9, .95, 7);
  for (const HistoryPrecision history : {HistoryPrecision::kDouble, HistoryPrecision::kFloat}) {
    const AcceleratorOptions options{.history = history};
    const auto reference = Iterate(g, Vector::Ones(9), 12, options);
    for (const double factor : {1e-150, 1e-40, 1e40, 1e150}) {
      const auto scaled_map = [&](const Vector& x) -> Vector { return g.a * x + factor * g.b; };
      const auto scaled = Iterate(scaled_map, Vector::Constant(9, factor), 12, options);
      EXPECT_LT((scaled.back() / factor - reference.back()).norm(),
                history == HistoryPrecision::kFloat ? 1e-4 : 1e-9)
          << factor;
    }
  }
}

TEST(Accelerator, PowersOfTwoScaleTheIteratesToTheBit) {
  const LinearMap g(9, .95, 8);
  const double factor = std::ldexp(1., -300);
  const auto scaled_map = [&](const Vector& x) -> Vector { return g.a * x + factor * g.b; };
  const auto reference = Iterate(g, Vector::Ones(9), 12, {});
  const auto scaled = Iterate(scaled_map, Vector::Constant(9, factor), 12, {});
  EXPECT_EQ((scaled.back() / factor - reference.back()).norm(), 0);
}

TEST(Accelerator, ConvergenceFarBelowTheFirstResidualRestartsTheScale) {
  // x → x/2 converges to zero through the whole range of double.
  Accelerator accelerator(1, {.memory = 1, .interval = 1'000'000});
  Vector x = Vector::Ones(1);
  for (int k = 0; k < 900; ++k) {
    const Vector image = .5 * x;
    accelerator.Step(AsSpan(x), AsSpan(image));
  }
  EXPECT_EQ(x(0), std::ldexp(1., -900));
  EXPECT_EQ(accelerator.statistics().restarts_range, 2);  // at 1e−100 and 1e−200
}

TEST(Accelerator, StartingAtTheFixedPointStaysThere) {
  Vector x = Vector::Zero(4);
  Accelerator accelerator(4);
  for (int k = 0; k < 10; ++k) {
    const Vector image = .5 * x;
    EXPECT_EQ(accelerator.Step(AsSpan(x), AsSpan(image)).residual_norm, 0);
    EXPECT_EQ(x.norm(), 0);
  }
}

TEST(Accelerator, NanOrInfinityFromTheMapIsAnErrorThatNamesTheStep) {
  for (const double bad : {kNaN, kInfinity, -kInfinity}) {
    const LinearMap g(5, .9, 9);
    Accelerator accelerator(5);
    Vector x = Vector::Zero(5);
    for (int k = 0; k < 7; ++k) {
      const Vector image = g(x);
      accelerator.Step(AsSpan(x), AsSpan(image));
    }
    const Vector before = x;
    Vector image = g(x);
    image(3) = bad;
    const std::string message =
        MessageOf([&] { accelerator.Step(AsSpan(x), AsSpan(image)); }, Error::Kind::kWorkFailed);
    EXPECT_NE(message.find("step 7: the map returned"), std::string::npos) << message;
    EXPECT_NE(message.find("component 3"), std::string::npos) << message;
    EXPECT_EQ(x, before);
    // And it can be used again right away.
    for (int k = 0; k < 20; ++k) {
      const Vector again = g(x);
      accelerator.Step(AsSpan(x), AsSpan(again));
    }
    EXPECT_LT((x - g.FixedPoint()).norm(), 1e-9);
  }
}

TEST(Accelerator, NanInTheFirstStepOrInTheIterateIsFoundToo) {
  Accelerator accelerator(2);
  std::vector<double> x = {0, kNaN};
  const std::vector<double> image = {1, 1};
  EXPECT_THROW(accelerator.Step(x, image), Error);
  std::vector<double> huge = {0, -1.7e308};
  const std::vector<double> other = {0, 1.7e308};
  EXPECT_THROW(accelerator.Step(huge, other), Error);  // the residual overflows
}

TEST(Accelerator, WrongSizesAreErrors) {
  Accelerator accelerator(3);
  std::vector<double> three(3);
  std::vector<double> four(4);
  EXPECT_THROW(accelerator.Step(four, three), Error);
  EXPECT_THROW(accelerator.Step(three, four), Error);
  EXPECT_THROW(Accelerator(0), Error);
}

TEST(Accelerator, IntervalAcceleratesEveryPthStep) {
  const LinearMap g(8, .95, 10);
  Accelerator accelerator(8, {.interval = 3});
  Vector x = Vector::Zero(8);
  for (int k = 1; k <= 12; ++k) {
    const Vector plain = g(x);
    const Vector image = plain;
    const StepReport report = accelerator.Step(AsSpan(x), AsSpan(image));
    EXPECT_EQ(report.kind == StepKind::kAccelerated, k % 3 == 0) << k;
    if (k % 3 != 0) {
      EXPECT_LT((x - plain).norm(), 1e-14);
    }
  }
  EXPECT_EQ(accelerator.statistics().accelerated, 4);
  EXPECT_EQ(accelerator.statistics().plain_interval, 7);
}

TEST(Accelerator, ScheduledRestartsEmptyTheWindowEveryNSteps) {
  const LinearMap g(20, .95, 11);
  for (const int interval : {1, 2, 5}) {
    Accelerator accelerator(
        20, {.memory = 10, .restart = RestartRule::kEvery, .restart_interval = interval});
    Vector x = Vector::Zero(20);
    for (int k = 1; k <= 20; ++k) {
      const Vector image = g(x);
      const StepReport report = accelerator.Step(AsSpan(x), AsSpan(image));
      const bool plain = k == 1 || k % interval == 0;
      EXPECT_EQ(report.kind, plain ? StepKind::kPlain : StepKind::kAccelerated) << k;
      if (!plain) {
        const int since = k < interval ? k - 1 : k % interval;
        EXPECT_EQ(accelerator.weights().tau.size(), static_cast<std::size_t>(since)) << k;
      }
    }
    EXPECT_EQ(accelerator.statistics().restarts_scheduled, 20 / interval - (interval == 1));
  }
}

TEST(Accelerator, GrowthOfTheResidualRestarts) {
  Accelerator accelerator(
      1, {.memory = 3, .safeguard = false, .restart = RestartRule::kOnGrowth, .restart_growth = 5});
  std::vector<double> x = {0};
  for (const double image : {1., 1.6, 2.0, 500.}) {
    const std::vector<double> g = {image};
    accelerator.Step(x, g);
  }
  EXPECT_EQ(accelerator.statistics().restarts_growth, 1);
}

TEST(Accelerator, WeightsBeyondTheLimitGiveThePlainStep) {
  const LinearMap g(8, .999, 12);
  Accelerator accelerator(8, {.max_weight_norm = 1e-3});
  Vector x = Vector::Zero(8);
  for (int k = 0; k < 10; ++k) {
    const Vector plain = g(x);
    const Vector image = plain;
    EXPECT_EQ(accelerator.Step(AsSpan(x), AsSpan(image)).kind, StepKind::kPlain);
    EXPECT_LT((x - plain).norm(), 1e-13);
  }
  EXPECT_EQ(accelerator.statistics().plain_weights, 9);
}

TEST(Accelerator, CountersAddUp) {
  Accelerator accelerator(30, {.memory = 5,
                               .interval = 2,
                               .safeguard_factor = .5,
                               .restart = RestartRule::kEvery,
                               .restart_interval = 17});
  Vector x = Vector::LinSpaced(30, -50, 50);
  for (int k = 0; k < 300; ++k) {
    const Vector image = KinkMap(x);
    accelerator.Step(AsSpan(x), AsSpan(image));
  }
  const AcceleratorStatistics& s = accelerator.statistics();
  EXPECT_EQ(s.steps, 300);
  EXPECT_EQ(s.steps,
            s.accelerated + s.plain_no_window + s.plain_interval + s.plain_weights + s.rejected);
  EXPECT_GT(s.restarts_scheduled, 0);
}

TEST(Accelerator, ResetForgetsEverything) {
  const LinearMap g(10, .95, 13);
  Accelerator accelerator(10);
  const auto run = [&] {
    Vector x = Vector::Zero(10);
    for (int k = 0; k < 15; ++k) {
      const Vector image = g(x);
      accelerator.Step(AsSpan(x), AsSpan(image));
    }
    return x;
  };
  const Vector first = run();
  accelerator.Reset();
  EXPECT_EQ(accelerator.statistics().steps, 0);
  EXPECT_EQ(accelerator.statistics().best_residual_norm, kInfinity);
  EXPECT_EQ(run(), first);
}

std::vector<std::byte> Saved(const Accelerator& accelerator) {
  ByteWriter writer;
  accelerator.Save(writer);
  return {writer.bytes().begin(), writer.bytes().end()};
}

TEST(Accelerator, SavedStateContinuesToTheSameBits) {
  for (const HistoryPrecision history : {HistoryPrecision::kDouble, HistoryPrecision::kFloat}) {
    const AcceleratorOptions options{.memory = 4, .safeguard_factor = .9, .history = history};
    for (const int stop : {0, 1, 2, 6, 13}) {
      Accelerator straight(30, options);
      Accelerator resumed(30, options);
      Vector x = Vector::LinSpaced(30, -50, 50);
      const auto advance = [](Accelerator& accelerator, Vector& v, int steps) {
        for (int k = 0; k < steps; ++k) {
          const Vector image = KinkMap(v);
          accelerator.Step(AsSpan(v), AsSpan(image));
        }
      };
      advance(straight, x, stop);
      const std::vector<std::byte> bytes = Saved(straight);
      ByteReader reader(bytes, "memory");
      resumed.Load(reader);
      reader.ExpectEnd();
      EXPECT_EQ(Saved(resumed), bytes);
      Vector y = x;
      advance(straight, x, 20);
      advance(resumed, y, 20);
      EXPECT_EQ(x, y) << "stopped at " << stop;
      EXPECT_EQ(Saved(straight), Saved(resumed));
    }
  }
}

TEST(Accelerator, DamagedOrForeignStatesAreErrorsAndChangeNothing) {
  const LinearMap g(6, .9, 14);
  Accelerator accelerator(6, {.memory = 2});
  Vector x = Vector::Zero(6);
  for (int k = 0; k < 5; ++k) {
    const Vector image = g(x);
    accelerator.Step(AsSpan(x), AsSpan(image));
  }
  const std::vector<std::byte> bytes = Saved(accelerator);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    ByteReader reader(std::span<const std::byte>(bytes).first(length), "short");
    EXPECT_THROW(accelerator.Load(reader), Error) << length;
    ASSERT_EQ(Saved(accelerator), bytes);
  }
  // Any single byte set to 0xff: an error, or a state that can still be stepped safely.
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::vector<std::byte> damaged = bytes;
    damaged[at] = std::byte{0xff};
    Accelerator victim(6, {.memory = 2});
    ByteReader reader(damaged, "damaged");
    try {
      victim.Load(reader);
      Vector y = x;
      const Vector image = g(y);
      victim.Step(AsSpan(y), AsSpan(image));
    } catch (const Error&) {
    }
  }
  for (const AcceleratorOptions& other :
       {AcceleratorOptions{.memory = 3}, AcceleratorOptions{.memory = 2, .damping = .5},
        AcceleratorOptions{.memory = 2, .history = HistoryPrecision::kFloat}}) {
    Accelerator foreign(6, other);
    ByteReader reader(bytes, "foreign");
    EXPECT_THROW(foreign.Load(reader), Error);
  }
  Accelerator larger(7, {.memory = 2});
  ByteReader reader(bytes, "larger");
  EXPECT_THROW(larger.Load(reader), Error);
}

// The step after loading such a state used to divide by zero or overflow a counter.
TEST(Accelerator, StatesThatNoStepLeavesAreErrors) {
  const std::size_t first_counter = 4;
  const std::size_t last_accelerated = first_counter + 11 * 8 + 8;
  const std::size_t since_restart = last_accelerated + 1;
  for (const int memory : {0, 2}) {
    Accelerator accelerator(2, {.memory = memory});
    const std::vector<std::byte> bytes = Saved(accelerator);
    std::vector<std::byte> accelerated = bytes;
    accelerated[last_accelerated] = std::byte{1};
    std::vector<std::byte> many_steps = bytes;
    many_steps[first_counter + 7] = std::byte{0x7f};
    std::vector<std::byte> many_since_restart = bytes;
    many_since_restart[since_restart + 7] = std::byte{0x7f};
    for (const auto& damaged : {accelerated, many_steps, many_since_restart}) {
      ByteReader reader(damaged, "damaged");
      EXPECT_THROW(accelerator.Load(reader), Error);
      EXPECT_EQ(Saved(accelerator), bytes);
    }
  }
}

TEST(Accelerator, ThreadsDoNotChangeTheResult) {
  const int n = 100'003;  // several chunks, the last one ragged
  const auto g = [](const Vector& x) -> Vector {
    return Vector::NullaryExpr(x.size(), [&](Eigen::Index i) {
      return (.5 + .49 * std::sin(static_cast<double>(i))) * x(i) + 1;
    });
  };
  const auto one = Iterate(g, Vector::Zero(n), 12, {.threads = 1});
  const auto three = Iterate(g, Vector::Zero(n), 12, {.threads = 3});
  EXPECT_EQ(one.back(), three.back());
  const AcceleratorOptions qr{.weights = {.condition_limit = 0}, .threads = 1};
  AcceleratorOptions qr_three = qr;
  qr_three.threads = 3;
  EXPECT_EQ(Iterate(g, Vector::Zero(n), 8, qr).back(),
            Iterate(g, Vector::Zero(n), 8, qr_three).back());
}

TEST(Accelerator, NormalEquationsAndQrGiveTheSameIterates) {
  const LinearMap g(40, .97, 15);
  for (const WeightRule rule :
       {WeightRule::kVanilla, WeightRule::kRaa, WeightRule::kStable, WeightRule::kRelative}) {
    const auto run = [&](double limit) {
      return Iterate(g, Vector::Zero(40), 20,
                     {.weights = {.rule = rule, .eta = 1e-3, .condition_limit = limit}});
    };
    EXPECT_LT((run(1e10).back() - run(0).back()).norm(), 1e-7) << Name(rule);
  }
}

TEST(Accelerator, FloatHistoryConvergesToDoublePrecision) {
  const LinearMap g(40, .97, 16);
  Vector x;
  const int steps =
      StepsToTolerance(g, Vector::Zero(40), 1e-11, 500, {.history = HistoryPrecision::kFloat}, &x);
  const int reference = StepsToTolerance(g, Vector::Zero(40), 1e-11, 500, {});
  EXPECT_LE(steps, reference * 3 / 2);
  EXPECT_LT((x - g.FixedPoint()).norm(), 1e-9);
}

TEST(AcceleratorOptions, EveryFieldIsCheckedAgainstItsRange) {
  const std::vector<std::pair<const char*, AcceleratorOptions>> bad = {
      {"memory", {.memory = -1}},
      {"memory", {.memory = 1001}},
      {"damping", {.damping = 0}},
      {"damping", {.damping = 2.5}},
      {"damping", {.damping = kNaN}},
      {"eta", {.weights = {.eta = -1e-3}}},
      {"interval", {.interval = 0}},
      {"safeguard_factor", {.safeguard_factor = 0}},
      {"safeguard_factor", {.safeguard_factor = kNaN}},
      {"max_weight_norm", {.max_weight_norm = -1}},
      {"restart_interval", {.restart_interval = 0}},
      {"restart_growth", {.restart_growth = .5}},
      {"threads", {.threads = 0}},
  };
  for (const auto& [name, options] : bad) {
    const std::string message =
        MessageOf([&options = options] { Accelerator accelerator(3, options); });
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_NE(message.find("range"), std::string::npos) << message;
  }
}

TEST(Accelerator, AWindowThatCannotFitIsAnErrorNotACrash) {
  EXPECT_EQ(MessageOf([] { Accelerator accelerator(std::size_t{1} << 60, {.memory = 1000}); },
                      Error::Kind::kWorkFailed),
            "no memory for an acceleration window of 1152921504606846976 × 1000 (1.85e+13 GB)");
}

}  // namespace stableaa::accelerator_test
