// Gradients with respect to a network's input, and inputs of two parts.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/nn/network.h"
#include "stableaa/nn/network_check.h"
#include "stableaa/nn/random_input.h"
#include "stableaa/nn/reference_network.h"
#include "stableaa/nn/safetensors.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::input_gradients_test {

using Doubles = std::vector<double>;
using Floats = std::vector<float>;

std::shared_ptr<const Plan> PlanOf(const std::string& text) {
  return std::make_shared<const Plan>(MakePlan(ParseSpec(text)));
}

std::size_t SizeOf(int count, int each) { return static_cast<std::size_t>(count * each); }

std::vector<std::string> BuiltBackends() {
  std::vector<std::string> names;
  for (const NetworkBackend& backend : NetworkBackends()) {
    if (backend.is_built) names.push_back(backend.name);
  }
  return names;
}

// --- finite differences

// As in reference_network_test.cc, with respect to each number of the input. Inputs are floats:
// x ± h has to be one too.
void ExpectFiniteDifferences(const std::string& text) {
  SCOPED_TRACE(text);
  constexpr int kSamples = 5;
  constexpr float kStep = 0x1p-13F;
  const auto plan = PlanOf(text);
  const InputSpec& spec = plan->spec.input;
  RandomStream random(1, text);
  ReferenceNetwork<double> network(plan);
  Doubles parameters(network.parameters());
  for (double& p : parameters) p = random.Uniform(-0.7, 0.7);
  std::vector<Floats> parts(2);
  for (int part = 0; part < spec.part_count(); ++part) {
    for (std::size_t i = 0; i < SizeOf(kSamples, spec.part_size(part)); ++i) {
      parts[static_cast<std::size_t>(part)].push_back(
          static_cast<float>(random.Integer(-1000, 1000)) / 1024);
    }
  }
  Doubles outputs(SizeOf(kSamples, plan->outputs()));
  Doubles c(outputs.size());
  for (double& x : c) x = random.Uniform(-1, 1);
  const auto loss = [&] {
    network.Forward(parameters,
                    {.count = kSamples, .vectors = parts[0], .second_vectors = parts[1]}, outputs);
    double sum = 0;
    for (std::size_t i = 0; i < c.size(); ++i) sum += c[i] * outputs[i];
    return sum;
  };
  loss();
  Doubles gradients(network.parameters());
  network.Backward(parameters, c, gradients);
  const Doubles found(network.input_gradients().begin(), network.input_gradients().end());
  ASSERT_EQ(found.size(), SizeOf(kSamples, spec.shape.size()));

  std::size_t first = 0;
  double largest = 0;
  for (int part = 0; part < spec.part_count(); ++part) {
    Floats& numbers = parts[static_cast<std::size_t>(part)];
    const auto size = static_cast<std::size_t>(spec.part_size(part));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const float x = numbers[i];
      numbers[i] = x + kStep;
      const double above = loss();
      numbers[i] = x - kStep;
      const double below = loss();
      numbers[i] = x;
      const double gradient = found[i / size * SizeOf(1, spec.shape.size()) + first + i % size];
      EXPECT_NEAR(gradient, (above - below) / (2 * static_cast<double>(kStep)), 2e-8)
          << "part " << part << ", number " << i;
      largest = std::max(largest, std::abs(gradient));
    }
    first += size;
  }
  EXPECT_GT(largest, 0.01);
}

TEST(InputGradients, OfTheReferenceAreFiniteDifferences) {
  ExpectFiniteDifferences("vector(7) linear(5)");
  ExpectFiniteDifferences("vector(1) linear(1)");
  ExpectFiniteDifferences("vector(3, 4) linear(5)");
  for (const std::string activation : {"relu", "elu", "tanh"}) {
    ExpectFiniteDifferences("vector(6) linear(9) " + activation + " linear(3)");
    ExpectFiniteDifferences("vector(4, 2) linear(9) " + activation + " linear(8) " + activation +
                            " linear(1)");
    ExpectFiniteDifferences("vector(6) linear(9) " + activation);
  }
  ExpectFiniteDifferences("vector(4, 1) dueling{linear(1) | linear(3)}");
  ExpectFiniteDifferences(
      "vector(1, 4) linear(5) tanh dueling{linear(4) elu linear(1) tanh | linear(3) tanh}");
}

// --- the backends

// On whole numbers, to the bit.
TEST(InputGradients, AgreeOnAGridOfShapes) {
  std::vector<CheckedBackend> backends;
  for (const std::string& name : BuiltBackends()) {
    if (name != "reference") backends.push_back({name, 1});
  }
  backends.push_back({"native", 3});
  std::uint64_t seed = 1;
  for (const auto& parts : std::vector<std::vector<int>>{{1}, {17}, {1, 1}, {17, 6}, {6, 40}}) {
    for (const int hidden : {1, 16, 33}) {
      for (const auto& [batch, count] : {std::pair(1, 1), {17, 3}, {64, 48}, {300, 300}}) {
        const NetworkSpec spec{.input = VectorInput(parts),
                               .layers = {Linear(hidden), Relu(), Linear(9), Relu(), Linear(2)}};
        const NetworkCase c = WithGradients({.name = ToText(spec),
                                             .spec = spec,
                                             .batch = batch,
                                             .count = count,
                                             .exact = true,
                                             .seed = seed++});
        const std::vector<NetworkDifference> differences = CompareWithReference(c, backends);
        for (std::size_t i = 0; i < backends.size(); ++i) {
          EXPECT_EQ(differences[i].inputs, 0) << c.name << ", " << backends[i].name;
        }
      }
    }
  }
}

// A network with random parameters and inputs.
struct Problem {
  Problem(const std::string& text, int samples)
      : plan(PlanOf(text)),
        random(1, text),
        parameters(plan),
        input(plan->spec.input, samples, random),
        count(samples),
        outputs(SizeOf(samples, plan->outputs())),
        output_gradients(outputs.size()) {
    parameters.Initialise(random);
    random.FillUniform(output_gradients, -1, 1);
  }

  std::unique_ptr<Network> Compile(const std::string& backend, int batch, int threads = 1) const {
    return CompileNetwork(
        plan, {.batch = batch, .threads = threads, .input_gradients = true, .backend = backend});
  }

  Floats InputGradients(Network& network, int part) const {
    Floats gradients(SizeOf(count, plan->spec.input.part_size(part)));
    network.BackwardToInput(parameters, output_gradients, part, gradients);
    return gradients;
  }

  Floats Gradients(Network& network) const {
    Parameters gradients(plan);
    network.Backward(parameters, output_gradients, gradients);
    return {gradients.block().begin(), gradients.block().end()};
  }

  std::shared_ptr<const Plan> plan;
  RandomStream random;
  Parameters parameters;
  RandomInput input;
  int count;
  Floats outputs;
  Floats output_gradients;
};

constexpr char kDueling[] =
    "vector(5, 3) linear(40) relu linear(20) elu "
    "dueling{linear(9) tanh linear(1) | linear(17) relu linear(3)}";

TEST(InputGradients, AreTheSameBytesForAnyNumberOfThreadsAndAnyBatch) {
  for (const std::string& text :
       {std::string(kDueling), std::string("vector(17, 6) linear(256) relu linear(1)")}) {
    for (const int count : {1, 37, 256}) {
      Problem problem(text, count);
      std::vector<Floats> expected;
      for (const int threads : {1, 2, 3}) {
        for (const int batch : {count, count + 50}) {
          const auto network = problem.Compile("native", batch, threads);
          network->Forward(problem.parameters, problem.input.view(), problem.outputs);
          const std::vector<Floats> found = {problem.InputGradients(*network, 0),
                                             problem.InputGradients(*network, 1)};
          if (expected.empty()) expected = found;
          EXPECT_EQ(found, expected) << threads << " threads, batch " << batch;
        }
      }
    }
  }
}

// One sample of a batch has the gradients that it has alone.
TEST(InputGradients, OfASampleDoNotDependOnTheOthers) {
  Problem problem(kDueling, 300);
  const auto network = problem.Compile("native", 300);
  network->Forward(problem.parameters, problem.input.view(), problem.outputs);
  const Floats all = problem.InputGradients(*network, 1);
  const auto alone = problem.Compile("native", 1);
  const NetworkInput view = problem.input.view();
  for (const std::size_t n : {0UL, 15UL, 16UL, 299UL}) {
    Floats outputs(3);
    Floats gradients(3);
    alone->Forward(problem.parameters,
                   {.count = 1,
                    .vectors = view.vectors.subspan(5 * n, 5),
                    .second_vectors = view.second_vectors.subspan(3 * n, 3)},
                   outputs);
    alone->BackwardToInput(problem.parameters,
                           std::span(problem.output_gradients).subspan(3 * n, 3), 1, gradients);
    EXPECT_TRUE(std::ranges::equal(gradients, std::span(all).subspan(3 * n, 3))) << n;
  }
}

TEST(InputGradients, AndOthersFollowOneForwardInAnyOrder) {
  for (const std::string& backend : BuiltBackends()) {
    Problem problem(kDueling, 21);
    const auto network = problem.Compile(backend, 32);
    const auto forward = [&] {
      network->Forward(problem.parameters, problem.input.view(), problem.outputs);
    };
    forward();
    const Floats gradients = problem.Gradients(*network);
    forward();
    const Floats action = problem.InputGradients(*network, 1);
    EXPECT_EQ(problem.Gradients(*network), gradients) << backend;
    EXPECT_EQ(problem.InputGradients(*network, 1), action) << backend;
    const Floats state = problem.InputGradients(*network, 0);
    forward();
    EXPECT_EQ(problem.InputGradients(*network, 0), state) << backend;
    EXPECT_EQ(problem.Gradients(*network), gradients) << backend;
  }
}

TEST(InputGradients, AreRefusedWhereThereAreNone) {
  const auto refused = [](const std::string& text, const NetworkOptions& options, int part,
                          std::size_t size) {
    Problem problem(text, 2);
    const auto network = CompileNetwork(problem.plan, options);
    network->Forward(problem.parameters, problem.input.view(), problem.outputs);
    Floats gradients(size);
    return MessageOf([&] {
      network->BackwardToInput(problem.parameters, problem.output_gradients, part, gradients);
    });
  };
  const std::string critic = "vector(3, 2) linear(1)";
  const NetworkOptions with{.batch = 4, .input_gradients = true};
  EXPECT_EQ(refused(critic, with, 1, 4), "no error");
  EXPECT_EQ(refused(critic, with, 0, 6), "no error");
  EXPECT_EQ(refused("vector(3) linear(1)", with, 0, 6), "no error");
  EXPECT_EQ(refused(critic, with, 1, 6), "network: expected 4 input gradients, found 6");
  EXPECT_EQ(refused(critic, with, 2, 4),
            "network: vector(3, 2) has no part 2: the first is 0, the last 1");
  EXPECT_EQ(refused(critic, with, -1, 4),
            "network: vector(3, 2) has no part -1: the first is 0, the last 1");
  EXPECT_EQ(refused(critic, {.batch = 4}, 1, 4),
            "network: BackwardToInput of a network compiled without input_gradients");
  EXPECT_EQ(refused(critic, {.batch = 4, .training = false, .input_gradients = true}, 1, 4),
            "network: BackwardToInput of a network compiled for inference");
  EXPECT_EQ(refused("frames(1, 2, 2, 255) flatten linear(1)", with, 0, 8),
            "network: BackwardToInput is for vectors, not for frames(1, 2, 2, 255)");
}

TEST(InputGradients, NeedAForwardByTheSameParameters) {
  Problem problem("vector(3, 2) linear(1)", 2);
  const auto network = problem.Compile("native", 2);
  Floats gradients(4);
  const auto refused = [&](const Parameters& parameters, const Floats& output_gradients) {
    return MessageOf([&] { network->BackwardToInput(parameters, output_gradients, 1, gradients); });
  };
  const std::string expected =
      "network: BackwardToInput without a Forward by the same parameters just before";
  EXPECT_EQ(refused(problem.parameters, Floats(2)), expected);
  network->Forward(problem.parameters, problem.input.view(), problem.outputs);
  EXPECT_EQ(refused(Parameters(problem.plan), Floats(2)), expected);
  EXPECT_EQ(refused(problem.parameters, Floats(3)),
            "network: expected 2 output gradients, found 3");
  EXPECT_EQ(refused(problem.parameters, Floats(2)), "no error");
}

// --- inputs of two parts

// Two parts are one vector, given apart: everything computed is the same.
TEST(InputOfTwoParts, IsTheJoinedVector) {
  for (const std::string& backend : BuiltBackends()) {
    for (const int threads : {1, 3}) {
      Problem two("vector(5, 3) linear(20) tanh linear(2)", 19);
      const Floats joined = two.input.Joined();
      const auto plan = PlanOf("vector(8) linear(20) tanh linear(2)");
      Parameters parameters(plan);
      std::ranges::copy(two.parameters.block(), parameters.block().begin());
      const auto network = CompileNetwork(
          plan, {.batch = 19, .threads = threads, .input_gradients = true, .backend = backend});
      Floats outputs(19 * 2);
      network->Forward(parameters, {.count = 19, .vectors = joined}, outputs);
      Parameters gradients(plan);
      network->Backward(parameters, two.output_gradients, gradients);
      Floats input_gradients(19 * 8);
      network->BackwardToInput(parameters, two.output_gradients, 0, input_gradients);

      const auto network_of_two = two.Compile(backend, 19, threads);
      network_of_two->Forward(two.parameters, two.input.view(), two.outputs);
      EXPECT_EQ(two.outputs, outputs) << backend;
      EXPECT_TRUE(std::ranges::equal(two.Gradients(*network_of_two), gradients.block()));
      const Floats first = two.InputGradients(*network_of_two, 0);
      const Floats second = two.InputGradients(*network_of_two, 1);
      for (std::size_t n = 0; n < 19; ++n) {
        for (std::size_t k = 0; k < 8; ++k) {
          ASSERT_EQ(input_gradients[8 * n + k], k < 5 ? first[5 * n + k] : second[3 * n + k - 5]);
        }
      }
    }
  }
}

TEST(InputOfTwoParts, HasToBeGivenInTwoParts) {
  Problem problem("vector(3, 2) linear(1)", 2);
  const auto network = problem.Compile("native", 2);
  const Floats numbers(20);
  const auto refused = [&](std::size_t first, std::size_t second) {
    return MessageOf([&] {
      network->Forward(problem.parameters,
                       {.count = 2,
                        .vectors = std::span(numbers).first(first),
                        .second_vectors = std::span(numbers).first(second)},
                       problem.outputs);
    });
  };
  EXPECT_EQ(refused(6, 4), "no error");
  EXPECT_EQ(refused(10, 0), "network: expected 6 components of the first part, found 10");
  EXPECT_EQ(refused(6, 0), "network: expected 4 components of the second part, found 0");
  EXPECT_EQ(refused(0, 4), "network: expected 6 components of the first part, found 0");

  Problem one("vector(5) linear(1)", 2);
  EXPECT_EQ(
      MessageOf([&] {
        one.Compile("native", 2)
            ->Forward(
                one.parameters,
                {.count = 2, .vectors = std::span(numbers).first(10), .second_vectors = numbers},
                one.outputs);
      }),
      "network: expected 0 components of the second part, found 20");
}

TEST(InputOfTwoParts, ComesBackFromAFileOfWeights) {
  const TemporaryFolder folder;
  const Problem problem("vector(3, 2) linear(4) relu linear(1)", 1);
  WriteWeights(folder / "critic.safetensors", problem.parameters);
  const Parameters read = ReadWeights(folder / "critic.safetensors").parameters;
  EXPECT_EQ(ToText(read.plan().spec), "vector(3, 2) linear(4) relu linear(1)");
  EXPECT_TRUE(std::ranges::equal(read.block(), problem.parameters.block()));
}

}  // namespace stableaa::input_gradients_test
