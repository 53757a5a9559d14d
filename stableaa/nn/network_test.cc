// All backends against the reference, and the other promises of Network.

#include "stableaa/nn/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/nn/loss.h"
#include "stableaa/nn/network_check.h"
#include "stableaa/nn/optimizer.h"
#include "stableaa/nn/random_input.h"
#include "stableaa/testing/message.h"

namespace stableaa::network_test {

std::shared_ptr<const Plan> PlanOf(const std::string& spec) {
  return std::make_shared<const Plan>(MakePlan(ParseSpec(spec)));
}

Parameters Initialised(const std::shared_ptr<const Plan>& plan, RandomStream& random) {
  Parameters parameters(plan);
  parameters.Initialise(random);
  return parameters;
}

// A network with random parameters and inputs.
struct Problem {
  Problem(const std::string& spec, int count, std::uint64_t seed)
      : plan(PlanOf(spec)),
        random(seed, "network_test"),
        parameters(Initialised(plan, random)),
        input(plan->spec.input, count, random) {}

  std::shared_ptr<const Plan> plan;
  RandomStream random;
  Parameters parameters;
  RandomInput input;
};

void ExpectAgreement(const std::vector<NetworkCase>& cases,
                     const std::vector<CheckedBackend>& backends) {
  for (const NetworkCase& c : cases) {
    const std::vector<NetworkDifference> differences = CompareWithReference(c, backends);
    for (std::size_t i = 0; i < backends.size(); ++i) {
      EXPECT_TRUE(IsWithin(differences[i], ToleranceFor(c)))
          << c.name << (c.exact ? ", exact, " : ", rounded, ") << backends[i].name << ", threads "
          << backends[i].threads << ": outputs differ by " << differences[i].outputs
          << ", gradients by " << differences[i].gradients << " in " << differences[i].worst_tensor
          << ", gradients of the input by " << differences[i].inputs;
    }
  }
}

bool IsBuilt(const std::string& name) {
  return std::ranges::any_of(NetworkBackends(), [&](const NetworkBackend& backend) {
    return backend.name == name && backend.is_built;
  });
}

// The backends that this build has.
std::vector<CheckedBackend> Built(std::vector<CheckedBackend> backends) {
  std::erase_if(backends, [](const CheckedBackend& backend) { return !IsBuilt(backend.name); });
  return backends;
}

TEST(Backends, AgreeOnNetworksOfOddShapes) {
  ExpectAgreement(OddCases(), Built({{"native", 1}, {"native", 2}, {"onednn", 1}, {"onednn", 2}}));
}

TEST(FullBackends, AgreeOnTheNamedNetworks) {
  ExpectAgreement(NamedCases(),
                  Built({{"native", 1}, {"native", 2}, {"onednn", 1}, {"onednn", 2}}));
}

// Every kernel, stride and batch size of the grid, through one convolution and one linear layer.
TEST(Backends, AgreeOnAGridOfShapes) {
  std::vector<NetworkCase> cases;
  std::uint64_t seed = 1;
  for (const int channels : {1, 3, 4, 20}) {
    for (const int filters : {1, 7, 16, 33}) {
      for (const auto& [kernel, stride] :
           {std::pair(1, 1), {1, 2}, {3, 1}, {2, 3}, {5, 2}, {6, 1}}) {
        const int batch = seed % 24 == 0 ? 257 : std::vector{1, 5, 31}[seed % 3];
        NetworkSpec spec{.input = FrameInput(channels, 6 + static_cast<int>(seed % 5), 7, 1),
                         .layers = {Convolution(filters, kernel, stride), Relu(), Flatten(),
                                    Linear(1 + static_cast<int>(seed % 40))}};
        cases.push_back(WithGradients({.name = ToText(spec),
                                       .spec = spec,
                                       .batch = batch,
                                       .count = batch,
                                       .exact = true,
                                       .seed = seed++}));
      }
    }
  }
  for (const int inputs : {1, 5, 16, 50}) {
    for (const int outputs : {1, 15, 16, 17}) {
      for (const int batch : {1, 31, 257}) {
        const NetworkSpec spec{.input = VectorInput(inputs),
                               .layers = {Linear(outputs), Relu(), Linear(3)}};
        cases.push_back(WithGradients({.name = ToText(spec),
                                       .spec = spec,
                                       .batch = batch,
                                       .count = batch,
                                       .exact = true,
                                       .seed = seed++}));
      }
    }
  }
  ExpectAgreement(cases, Built({{"native", 1}, {"native", 3}, {"onednn", 1}}));
}

class NetworkOf : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!IsBuilt(GetParam())) GTEST_SKIP() << "not in this build";
  }

  NetworkOptions Options(int batch, int threads = 1) const {
    return {.batch = batch, .threads = threads, .backend = GetParam()};
  }
};

struct Pass {
  std::vector<float> outputs;
  std::vector<float> gradients;
  bool operator==(const Pass&) const = default;
};

Pass RunPass(Network& network, const Parameters& parameters, const NetworkInput& input) {
  const auto size = static_cast<std::size_t>(input.count * network.plan().outputs());
  Pass pass{.outputs = std::vector<float>(size), .gradients = {}};
  network.Forward(parameters, input, pass.outputs);
  Parameters gradients(std::make_shared<const Plan>(network.plan()));
  network.Backward(parameters, pass.outputs, gradients);
  pass.gradients.assign(gradients.block().begin(), gradients.block().end());
  return pass;
}

TEST_P(NetworkOf, GivesTheSameBytesAgainAndInANewNetwork) {
  const Problem problem(ToText(NamedSpec("minatar-dueling", 6)), 20, 1);
  for (const int threads : {1, 2}) {
    const auto network = CompileNetwork(problem.plan, Options(32, threads));
    const Pass first = RunPass(*network, problem.parameters, problem.input.view());
    EXPECT_EQ(first, RunPass(*network, problem.parameters, problem.input.view()));
    const auto another = CompileNetwork(problem.plan, Options(32, threads));
    EXPECT_EQ(first, RunPass(*another, problem.parameters, problem.input.view()));
  }
}

TEST_P(NetworkOf, InferenceComputesWhatTrainingComputes) {
  const Problem problem(
      "frames(4, 12, 12, 255) conv(8, 3, 2) relu conv(5, 2, 1) relu flatten linear(20) relu "
      "linear(3)",
      9, 2);
  std::vector<std::vector<float>> outputs;
  for (const bool training : {true, false}) {
    NetworkOptions options = Options(16, 2);
    options.training = training;
    CompileNetwork(problem.plan, options)
        ->Forward(problem.parameters, problem.input.view(), outputs.emplace_back(9 * 3));
  }
  for (std::size_t i = 0; i < outputs[0].size(); ++i) {
    EXPECT_NEAR(outputs[0][i], outputs[1][i], 1e-6);
  }
}

TEST_P(NetworkOf, SharesItselfAmongManyParameters) {
  const auto plan = PlanOf("vector(5) linear(30) relu linear(4)");
  const auto network = CompileNetwork(plan, Options(8));
  RandomStream random(3, "network_test");
  const RandomInput input(plan->spec.input, 8, random);
  std::vector<Parameters> targets;
  std::vector<std::vector<float>> alone;
  for (int i = 0; i < 3; ++i) {
    targets.emplace_back(plan).Initialise(random);
    CompileNetwork(plan, Options(8))
        ->Forward(targets.back(), input.view(), alone.emplace_back(8 * 4));
  }
  for (const std::size_t i : {2UL, 0UL, 1UL, 2UL}) {
    std::vector<float> outputs(8 * 4);
    network->Forward(targets[i], input.view(), outputs);
    EXPECT_EQ(outputs, alone[i]);
  }
}

TEST_P(NetworkOf, RunsBesideAnotherOnAnotherThread) {
  const Problem problem(ToText(NamedSpec("minatar-dueling", 6)), 8, 4);
  const Pass expected =
      RunPass(*CompileNetwork(problem.plan, Options(8)), problem.parameters, problem.input.view());
  std::vector<std::thread> threads;
  std::vector<int> differences(2);
  for (int& count : differences) {
    threads.emplace_back([&] {
      const auto network = CompileNetwork(problem.plan, Options(8));
      for (int i = 0; i < 10; ++i) {
        if (RunPass(*network, problem.parameters, problem.input.view()) != expected) ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(differences, (std::vector<int>{0, 0}));
}

TEST_P(NetworkOf, LearnsAFunction) {
  const auto plan = PlanOf("vector(2) linear(32) tanh dueling{linear(1) | linear(2)}");
  const auto network = CompileNetwork(plan, Options(64));
  RandomStream random(5, "network_test");
  Parameters parameters(plan);
  Parameters gradients(plan);
  parameters.Initialise(random);
  Optimizer optimizer(plan, {.kind = OptimizerKind::kAdam,
                             .learning_rate = 0.01,
                             .epsilon = 1e-8,
                             .max_gradient_norm = 10});
  double loss = 0;
  for (int step = 0; step < 400; ++step) {
    const RandomInput input(plan->spec.input, 64, random);
    std::vector<float> outputs(64 * 2);
    std::vector<float> output_gradients(64 * 2);
    std::vector<float> targets(64);
    std::vector<int> chosen(64);
    for (std::size_t i = 0; i < 64; ++i) {
      const float x = input.view().vectors[2 * i];
      const float y = input.view().vectors[2 * i + 1];
      chosen[i] = static_cast<int>(i % 2);
      targets[i] = chosen[i] == 0 ? x * y : x - y;
    }
    network->Forward(parameters, input.view(), outputs);
    loss = LossGradient({}, {2, outputs, chosen, targets}, output_gradients);
    network->Backward(parameters, output_gradients, gradients);
    optimizer.Step(gradients, parameters);
  }
  EXPECT_LT(loss, 0.01);  // initially 0.4
}

// Except with onednn, as network.h says.
TEST(Network, ShowsNaNsInsteadOfHidingThem) {
  const auto plan = PlanOf("vector(3) linear(20) relu linear(2)");
  RandomStream random(6, "network_test");
  Parameters parameters(plan);
  parameters.Initialise(random);
  const std::vector<float> bad = {1, std::numeric_limits<float>::quiet_NaN(), 2};
  std::vector<float> outputs(2);
  for (const std::string backend : {"native", "reference"}) {
    CompileNetwork(plan, {.batch = 1, .backend = backend})
        ->Forward(parameters, {.count = 1, .vectors = bad}, outputs);
    EXPECT_TRUE(std::isnan(outputs[0])) << backend;
  }
}

TEST_P(NetworkOf, RunsWithinAParallelRegionOfTheCaller) {
  const Problem problem(ToText(NamedSpec("minatar", 6)), 8, 9);
  const Pass expected =
      RunPass(*CompileNetwork(problem.plan, Options(8)), problem.parameters, problem.input.view());
  int differences = 0;
#pragma omp parallel num_threads(2) reduction(+ : differences)
  {
    const auto network = CompileNetwork(problem.plan, Options(8));
    if (RunPass(*network, problem.parameters, problem.input.view()) != expected) ++differences;
  }
  EXPECT_EQ(differences, 0);
}

INSTANTIATE_TEST_SUITE_P(All, NetworkOf, testing::Values("native", "onednn", "reference"),
                         [](const auto& test) { return test.param; });

TEST(OnednnNetwork, IsRefusedByABuildWithoutIt) {
  if (IsBuilt("onednn")) GTEST_SKIP() << "this build has it";
  const auto plan = PlanOf("vector(2) linear(1)");
  const std::string expected =
      "network: this build has no backend 'onednn': configure with -DSTABLEAA_ONEDNN=ON";
  EXPECT_EQ(MessageOf([&] { CompileNetwork(plan, {.backend = "onednn"}); }), expected);
  EXPECT_EQ(MessageOf([] { RequireBackend("onednn"); }), expected);
}

// oneDNN 2.6 wrote past its scratch memory here.
TEST(OnednnNetwork, SurvivesStridedKernelsOfOnePixel) {
  if (!IsBuilt("onednn")) GTEST_SKIP() << "not in this build";
  for (const int channels : {3, 4}) {
    NetworkSpec spec{.input = FrameInput(channels, 8, 12, 1),
                     .layers = {Convolution(16, 1, 2), Relu(), Flatten(), Linear(4)}};
    for (int i = 0; i < 30; ++i) {
      const auto found = CompareWithReference(
          {.name = "strided", .spec = spec, .batch = 21, .count = 21, .exact = true},
          {{"onednn", 1}});
      ASSERT_EQ(found[0].gradients, 0);
    }
  }
}

TEST(NativeNetwork, GivesTheSameBytesForAnyNumberOfThreadsAndAnyBatch) {
  const Problem problem(
      "frames(4, 20, 20, 255) conv(20, 4, 2) relu conv(33, 3, 1) elu flatten "
      "dueling{linear(40) relu linear(1) | linear(50) relu linear(5)}",
      17, 7);
  const Pass expected = RunPass(*CompileNetwork(problem.plan, {.batch = 17}), problem.parameters,
                                problem.input.view());
  for (const int threads : {1, 2, 3, 7}) {
    const auto network = CompileNetwork(problem.plan, {.batch = 40, .threads = threads});
    EXPECT_EQ(RunPass(*network, problem.parameters, problem.input.view()), expected)
        << threads << " threads";
  }
}

TEST(Parameters, PaddingStaysZeroThroughTraining) {
  const auto plan = PlanOf("frames(2, 6, 6, 1) conv(5, 3, 1) relu flatten linear(3)");
  const auto network = CompileNetwork(plan, {.batch = 4});
  RandomStream random(8, "network_test");
  Parameters parameters(plan);
  Parameters gradients(plan);
  parameters.Initialise(random);
  Optimizer optimizer(plan, {.kind = OptimizerKind::kAdam});
  const RandomInput input(plan->spec.input, 4, random);
  std::vector<float> outputs(4 * 3);
  for (int step = 0; step < 3; ++step) {
    network->Forward(parameters, input.view(), outputs);
    network->Backward(parameters, outputs, gradients);
    optimizer.Step(gradients, parameters);
  }
  Parameters stripped(plan);
  for (const ParameterTensor& tensor : ParameterTensors(*plan)) {
    std::vector<float> values(tensor.size());
    parameters.Get(tensor, values);
    stripped.Set(tensor, values);
  }
  EXPECT_TRUE(std::ranges::equal(parameters.block(), stripped.block()));
}

}  // namespace stableaa::network_test
