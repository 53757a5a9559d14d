#include "stableaa/nn/reference_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/nn/finite_difference_test.h"
#include "stableaa/nn/parameters.h"
#include "stableaa/testing/message.h"

namespace stableaa::reference_network_test {

using Doubles = std::vector<double>;
using Floats = std::vector<float>;

std::shared_ptr<const Plan> PlanOf(const std::string& text) {
  return std::make_shared<const Plan>(MakePlan(ParseSpec(text)));
}

// A batch of inputs and the memory behind it.
class Input {
 public:
  Input(const Plan& plan, int count, RandomStream& random) : count_(count) {
    const Shape& shape = plan.values[0];
    const auto numbers = static_cast<std::size_t>(count) * static_cast<std::size_t>(shape.size());
    if (plan.spec.input.takes_floats()) {
      vectors_.resize(numbers);
      random.FillUniform(vectors_, -1, 1);
      return;
    }
    bytes_.resize(numbers);
    for (std::uint8_t& byte : bytes_) byte = static_cast<std::uint8_t>(random.Below(256));
    PointAtFrames(plan);
  }

  Input(const Plan& plan, std::vector<std::uint8_t> bytes)
      : count_(static_cast<int>(bytes.size()) / plan.values[0].size()), bytes_(std::move(bytes)) {
    PointAtFrames(plan);
  }

  Input(const Plan& plan, Floats vectors)
      : count_(static_cast<int>(vectors.size()) / plan.values[0].size()),
        vectors_(std::move(vectors)) {}

  NetworkInput view() const { return {.count = count_, .frames = frames_, .vectors = vectors_}; }

  // One sample of the batch.
  NetworkInput view(int sample) const {
    const auto part = [&](const auto& all) {
      const std::size_t size = all.size() / static_cast<std::size_t>(count_);
      return std::span(all).subspan(static_cast<std::size_t>(sample) * size, size);
    };
    return {.count = 1, .frames = part(frames_), .vectors = part(vectors_)};
  }

 private:
  void PointAtFrames(const Plan& plan) {
    const auto pixels = static_cast<std::size_t>(plan.values[0].height) *
                        static_cast<std::size_t>(plan.values[0].width);
    for (std::size_t i = 0; i < bytes_.size(); i += pixels) frames_.push_back(&bytes_[i]);
  }

  int count_;
  Floats vectors_ = {};
  std::vector<std::uint8_t> bytes_ = {};
  std::vector<const std::uint8_t*> frames_ = {};
};

template <typename T>
std::vector<T> Random(std::size_t size, double bound, RandomStream& random) {
  std::vector<T> values(size);
  for (T& value : values) value = static_cast<T>(random.Uniform(-bound, bound));
  return values;
}

double Largest(const Doubles& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

template <typename T>
std::vector<T> Outputs(const Plan& plan, const std::vector<T>& parameters,
                       const NetworkInput& input) {
  std::vector<T> outputs(static_cast<std::size_t>(input.count * plan.outputs()));
  ReferenceNetwork<T>(std::make_shared<const Plan>(plan)).Forward(parameters, input, outputs);
  return outputs;
}

// --- finite differences

// Compares dL/dp of every parameter p with (L(p + h) − L(p − h)) / 2h, where L = Σ c · outputs with
// random c: the backward pass is linear in dL/d(outputs), so one c covers every loss.
//
// The seeds are fixed and chosen so that no relu changes sides within h. With another seed one
// might, with a probability of about relus × samples × h, 1% for the largest network here.
void ExpectGradientsOfFiniteDifferences(const std::string& text) {
  SCOPED_TRACE(text);
  constexpr int kSamples = 6;  // so that each relu is on for one of them
  const auto plan = PlanOf(text);
  RandomStream random(1, text);
  ReferenceNetwork<double> network(plan);
  const Input input(*plan, kSamples, random);
  Doubles parameters = Random<double>(network.parameters(), 0.7, random);
  Doubles outputs(static_cast<std::size_t>(kSamples * plan->outputs()));
  const Doubles c = Random<double>(outputs.size(), 1, random);
  const auto loss = [&] {
    network.Forward(parameters, input.view(), outputs);
    double sum = 0;
    for (std::size_t i = 0; i < c.size(); ++i) sum += c[i] * outputs[i];
    return sum;
  };
  // Backward must overwrite the old contents.
  Doubles gradients(parameters.size(), 1e9);
  loss();
  network.Backward(parameters, c, gradients);

  const double scale = Largest(gradients);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_NEAR(gradients[i], CentralDifference(parameters[i], loss),
                1e-7 * std::abs(gradients[i]) + 1e-9 * scale)
        << "parameter " << i;
  }
  // Zero gradients would agree too.
  const auto zeros =
      std::ranges::count_if(gradients, [&](double g) { return std::abs(g) < 1e-4 * scale; });
  EXPECT_GT(scale, 0.1);
  EXPECT_LT(static_cast<double>(zeros), 0.4 * static_cast<double>(gradients.size()));
}

TEST(ReferenceGradients, OfLinearLayers) {
  ExpectGradientsOfFiniteDifferences("vector(7) linear(5)");
  ExpectGradientsOfFiniteDifferences("vector(1) linear(1)");
  ExpectGradientsOfFiniteDifferences("vector(6) linear(4) linear(3)");
  ExpectGradientsOfFiniteDifferences("frames(2, 3, 2, 255) flatten linear(4)");
}

TEST(ReferenceGradients, OfConvolutions) {
  for (const char* const convolution :
       {"conv(3, 2, 1)",  // stride 1
        "conv(2, 3, 2)",  // stride 2, the last column of the input unused
        "conv(3, 2, 3)",  // stride above the kernel: unused pixels in between
        "conv(4, 5, 1)",  // as high as the input
        "conv(4, 1, 1)",  // 1×1
        "conv(2, 1, 2)"}) {
    ExpectGradientsOfFiniteDifferences(std::string("frames(2, 5, 6, 255) ") + convolution +
                                       " flatten linear(2)");
    // Placed after another one, so that its gradient with respect to its input matters.
    ExpectGradientsOfFiniteDifferences(std::string("frames(2, 7, 8, 255) conv(3, 3, 1) tanh ") +
                                       convolution + " flatten linear(2)");
  }
}

TEST(ReferenceGradients, OfActivations) {
  for (const std::string activation : {"relu", "elu", "tanh"}) {
    ExpectGradientsOfFiniteDifferences("vector(6) linear(9) " + activation + " linear(3)");
    ExpectGradientsOfFiniteDifferences("vector(6) linear(9) " + activation);
    ExpectGradientsOfFiniteDifferences("frames(2, 5, 4, 255) conv(6, 2, 1) " + activation +
                                       " flatten linear(3)");
    ExpectGradientsOfFiniteDifferences("frames(2, 5, 4, 255) conv(6, 2, 1) flatten " + activation +
                                       " linear(3)");
  }
}

TEST(ReferenceGradients, OfDuelingStreams) {
  ExpectGradientsOfFiniteDifferences("vector(4) dueling{linear(1) | linear(3)}");
  ExpectGradientsOfFiniteDifferences(
      "vector(4) linear(5) tanh dueling{linear(4) elu linear(1) tanh | linear(3) tanh}");
  ExpectGradientsOfFiniteDifferences(
      "frames(2, 4, 4, 255) conv(3, 2, 1) elu "
      "dueling{conv(2, 2, 1) tanh flatten linear(1) | flatten linear(3)}");
}

TEST(ReferenceGradients, OfDeepNetworks) {
  ExpectGradientsOfFiniteDifferences(
      "frames(2, 14, 14, 255) conv(4, 4, 2) relu conv(4, 2, 2) relu conv(4, 2, 1) relu flatten "
      "dueling{linear(8) relu linear(1) | linear(8) relu linear(3)}");
  ExpectGradientsOfFiniteDifferences(
      "frames(1, 14, 14, 255) conv(3, 4, 2) elu conv(4, 2, 2) elu conv(4, 2, 1) elu flatten "
      "linear(8) elu linear(3)");
  ExpectGradientsOfFiniteDifferences(
      "vector(4) linear(8) tanh linear(8) tanh linear(8) tanh linear(8) tanh linear(2)");
}

// --- answers worked out by hand

TEST(ReferenceNetwork, OneLinearLayer) {
  const auto plan = PlanOf("vector(2) linear(1)");
  ReferenceNetwork<double> network(plan);
  const Doubles parameters = {2, -3, 0.5};  // two weights, one bias
  const Input input(*plan, Floats{1, 4, -2, 0.5});
  Doubles outputs(2);
  network.Forward(parameters, input.view(), outputs);
  EXPECT_EQ(outputs, (Doubles{-9.5, -5}));
  Doubles gradients(3);
  network.Backward(parameters, Doubles{2, 10}, gradients);
  EXPECT_EQ(gradients, (Doubles{2 * 1 + 10 * -2, 2 * 4 + 10 * 0.5, 12}));
}

// A linear layer that returns its inputs, to reveal what comes before it.
Doubles Identity(std::size_t size) {
  Doubles parameters(size * size + size);
  for (std::size_t i = 0; i < size; ++i) parameters[i * size + i] = 1;
  return parameters;
}

Doubles Joined(Doubles first, const Doubles& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(ReferenceNetwork, AConvolutionDoesNotTurnItsKernelRound) {
  const auto plan = PlanOf("frames(1, 3, 3, 1) conv(1, 2, 1) flatten linear(4)");
  const Input input(*plan, std::vector<std::uint8_t>{1, 2, 3,  //
                                                     4, 5, 6,  //
                                                     7, 8, 9});
  const Doubles parameters = Joined({1, 2, 3, 4, 0.5}, Identity(4));
  EXPECT_EQ(Outputs(*plan, parameters, input.view()), (Doubles{37.5, 47.5, 67.5, 77.5}));
}

TEST(ReferenceNetwork, AConvolutionSumsOverChannelsForEachFilter) {
  const auto plan = PlanOf("frames(2, 1, 2, 10) conv(3, 1, 1) flatten linear(6)");
  const Input input(*plan, std::vector<std::uint8_t>{10, 20, 30, 50});
  const Doubles parameters = Joined({1, 0, 0, 1, 2, -1, /* biases */ 0, 0, 100}, Identity(6));
  EXPECT_EQ(Outputs(*plan, parameters, input.view()), (Doubles{1, 2, 3, 5, 99, 99}));
}

TEST(ReferenceNetwork, PixelsThatAStrideLeavesOutDoNotCount) {
  const auto plan = PlanOf("frames(1, 6, 6, 1) conv(1, 2, 3) flatten linear(4)");
  std::vector<std::uint8_t> bytes(36, 1);
  for (std::size_t i = 0; i < 6; ++i) {
    for (const std::size_t unused : {2, 5}) bytes[6 * i + unused] = bytes[6 * unused + i] = 200;
  }
  const Doubles parameters = Joined({1, 1, 1, 1, 0}, Identity(4));
  EXPECT_EQ(Outputs(*plan, parameters, Input(*plan, bytes).view()), (Doubles{4, 4, 4, 4}));
}

TEST(ReferenceNetwork, FlattensInTheOrderChannelRowColumn) {
  const auto plan = PlanOf("frames(2, 2, 3, 1) flatten linear(12)");
  std::vector<std::uint8_t> bytes;
  Doubles expected;
  for (std::uint8_t i = 0; i < 12; ++i) {  // both frames, each rows first
    bytes.push_back(i);
    expected.push_back(i);
  }
  EXPECT_EQ(Outputs(*plan, Identity(12), Input(*plan, bytes).view()), expected);
  // The same through a Parameters block, which has a different order.
  Parameters parameters(plan);
  const Doubles identity = Identity(12);
  const std::vector<ParameterTensor> tensors = ParameterTensors(*plan);
  parameters.Set(tensors[0], Floats(identity.begin(), identity.begin() + 144));
  Floats outputs(12);
  CompileNetwork(plan, {.backend = "reference"})
      ->Forward(parameters, Input(*plan, bytes).view(), outputs);
  EXPECT_EQ(outputs, Floats(expected.begin(), expected.end()));
}

TEST(ReferenceNetwork, ActivationsAreTheFunctionsTheyAreNamedAfter) {
  const Floats at = {-2, -0.5F, 0, 0.5F, 2};
  const auto through = [&](const std::string& activation) {
    const auto plan = PlanOf("vector(5) linear(5) " + activation);
    return Outputs(*plan, Identity(5), Input(*plan, at).view());
  };
  EXPECT_EQ(through("relu"), (Doubles{0, 0, 0, 0.5, 2}));
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double x = at[i];
    EXPECT_NEAR(through("elu")[i], x > 0 ? x : std::exp(x) - 1, 1e-15);
    EXPECT_NEAR(through("tanh")[i], (std::exp(2 * x) - 1) / (std::exp(2 * x) + 1), 1e-15);
  }
}

TEST(ReferenceNetwork, ReluHasNoGradientAtZero) {
  const auto plan = PlanOf("vector(1) linear(1) relu");
  ReferenceNetwork<double> network(plan);
  const Input input(*plan, Floats{1});
  for (const double bias : {-1.0, 0.0, 1.0}) {
    const Doubles parameters = {0, bias};
    Doubles outputs(1);
    Doubles gradients(2);
    network.Forward(parameters, input.view(), outputs);
    network.Backward(parameters, Doubles{1}, gradients);
    EXPECT_EQ(gradients[1], bias > 0 ? 1 : 0) << bias;
  }
}

// A network that has diverged must be recognisable.
TEST(ReferenceNetwork, ANanComesThroughEveryActivation) {
  for (const std::string activation : {"relu", "elu", "tanh"}) {
    const auto plan = PlanOf("vector(1) linear(1) " + activation + " linear(1)");
    ReferenceNetwork<double> network(plan);
    const Doubles parameters = {std::numeric_limits<double>::quiet_NaN(), 0, 1, 0};
    Doubles outputs(1);
    Doubles gradients(4);
    network.Forward(parameters, Input(*plan, Floats{1}).view(), outputs);
    network.Backward(parameters, Doubles{1}, gradients);
    EXPECT_TRUE(std::isnan(outputs[0])) << activation;
    EXPECT_TRUE(std::isnan(gradients[2])) << activation;
  }
}

TEST(ReferenceNetwork, DuelingAddsTheValueToAdvantagesAboutTheirMean) {
  const auto plan = PlanOf("vector(1) dueling{linear(1) | linear(3)}");
  //                          V: weight, bias   A: weights, biases
  const Doubles parameters = {2, 1, /* */ 1, 2, 6, 0, 0, 3};
  const Input input(*plan, Floats{1, -1});
  // V = 3 and A = 1, 2, 9; V = -1 and A = -1, -2, -3.
  EXPECT_EQ(Outputs(*plan, parameters, input.view()), (Doubles{0, 1, 8, 0, -1, -2}));
}

TEST(ReferenceNetwork, DuelingKeepsTheMeanAtTheValueAndIgnoresACommonAdvantage) {
  const std::string body = "vector(4) linear(6) tanh ";
  const auto dueling = PlanOf(body + "dueling{linear(1) | linear(5)}");
  const auto value = PlanOf(body + "linear(1)");
  RandomStream random(2, "dueling");
  Doubles parameters = Random<double>(30 + 7 + 35, 1, random);
  const Input input(*dueling, 3, random);
  const Doubles before = Outputs(*dueling, parameters, input.view());
  const Doubles v =
      Outputs(*value, Doubles(parameters.begin(), parameters.begin() + 37), input.view());
  for (std::size_t n = 0; n < 3; ++n) {
    double sum = 0;
    for (std::size_t a = 0; a < 5; ++a) sum += before[5 * n + a];
    EXPECT_NEAR(sum / 5, v[n], 1e-14);
  }
  for (std::size_t a = 0; a < 5; ++a) parameters[parameters.size() - 1 - a] += 100;
  const Doubles after = Outputs(*dueling, parameters, input.view());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-12);
}

// --- batches and precision

const char* const kSmallNature =
    "frames(2, 12, 12, 255) conv(5, 4, 2) relu conv(6, 2, 1) relu flatten "
    "dueling{linear(9) relu linear(1) | linear(9) relu linear(3)}";

TEST(ReferenceNetwork, SamplesDoNotSeeEachOtherAndTheirGradientsAddUp) {
  const auto plan = PlanOf(kSmallNature);
  RandomStream random(3, "batch");
  ReferenceNetwork<double> network(plan);
  const Doubles parameters = Random<double>(network.parameters(), 0.5, random);
  const Input input(*plan, 4, random);
  const Doubles c = Random<double>(12, 1, random);
  Doubles outputs(12);
  Doubles gradients(parameters.size());
  network.Forward(parameters, input.view(), outputs);
  network.Backward(parameters, c, gradients);

  Doubles sum(parameters.size());
  for (int n = 0; n < 4; ++n) {
    const auto first = std::ptrdiff_t{3} * n;
    Doubles one(3);
    Doubles part(parameters.size());
    network.Forward(parameters, input.view(n), one);
    EXPECT_EQ(one, Doubles(outputs.begin() + first, outputs.begin() + first + 3));
    network.Backward(parameters, Doubles(c.begin() + first, c.begin() + first + 3), part);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], gradients[i], 1e-13);
}

TEST(ReferenceNetwork, FloatAgreesWithDouble) {
  const auto plan = PlanOf(kSmallNature);
  RandomStream random(4, "float");
  ReferenceNetwork<float> single(plan);
  ReferenceNetwork<double> twice(plan);
  const Floats parameters = Random<float>(single.parameters(), 0.3, random);
  const Doubles same(parameters.begin(), parameters.end());
  const Input input(*plan, 4, random);
  const Floats c = Random<float>(12, 1, random);
  Floats outputs(12);
  Floats gradients(parameters.size());
  single.Forward(parameters, input.view(), outputs);
  single.Backward(parameters, c, gradients);
  Doubles expected(12);
  Doubles expected_gradients(parameters.size());
  twice.Forward(same, input.view(), expected);
  twice.Backward(same, Doubles(c.begin(), c.end()), expected_gradients);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_NEAR(outputs[i], expected[i], 1e-6 * Largest(expected));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_NEAR(gradients[i], expected_gradients[i], 1e-6 * Largest(expected_gradients));
  }
}

// --- as a backend

// A network of the backend with parameters, an input and room for results.
struct Fixture {
  explicit Fixture(const std::string& text, NetworkOptions options = {.batch = 4})
      : plan(PlanOf(text)),
        random(5, text),
        parameters(plan),
        gradients(plan),
        input(*plan, 3, random),
        outputs(3 * static_cast<std::size_t>(plan->outputs())) {
    options.backend = "reference";
    network = CompileNetwork(plan, options);
    parameters.Initialise(random);
  }

  void Forward() { network->Forward(parameters, input.view(), outputs); }

  std::shared_ptr<const Plan> plan;
  RandomStream random;
  std::unique_ptr<Network> network;
  Parameters parameters;
  Parameters gradients;
  Input input;
  Floats outputs;
};

// The elements of all tensors in order.
Doubles Elements(const Parameters& parameters) {
  Doubles elements;
  for (const ParameterTensor& tensor : ParameterTensors(parameters.plan())) {
    Floats values(tensor.size());
    parameters.Get(tensor, values);
    elements.insert(elements.end(), values.begin(), values.end());
  }
  return elements;
}

TEST(ReferenceBackend, IsTheReferenceNetworkInDoubleRoundedOnce) {
  Fixture it(kSmallNature);
  it.Forward();
  ReferenceNetwork<double> network(it.plan);
  const Doubles parameters = Elements(it.parameters);
  Doubles outputs(it.outputs.size());
  network.Forward(parameters, it.input.view(), outputs);
  EXPECT_EQ(it.outputs, Floats(outputs.begin(), outputs.end()));

  const Floats c = Random<float>(outputs.size(), 1, it.random);
  it.network->Backward(it.parameters, c, it.gradients);
  Doubles gradients(parameters.size());
  network.Backward(parameters, Doubles(c.begin(), c.end()), gradients);
  EXPECT_GT(Largest(gradients), 0.1);
  for (double& gradient : gradients) gradient = static_cast<float>(gradient);
  EXPECT_EQ(Elements(it.gradients), gradients);
}

TEST(ReferenceBackend, GradientsReplaceWhatWasThereAndHaveNoPadding) {
  Fixture it(kSmallNature);
  std::ranges::fill(it.gradients.block(), 7.0F);
  it.Forward();
  it.network->Backward(it.parameters, Random<float>(9, 1, it.random), it.gradients);
  Parameters clean(it.plan);  // no padding either, since Set writes only elements
  for (const ParameterTensor& tensor : ParameterTensors(*it.plan)) {
    Floats values(tensor.size());
    it.gradients.Get(tensor, values);
    clean.Set(tensor, values);
  }
  EXPECT_TRUE(std::ranges::equal(it.gradients.block(), clean.block()));
  EXPECT_EQ(std::ranges::count(it.gradients.block(), 7.0F), 0);
}

TEST(ReferenceBackend, OneNetworkServesSeveralParameters) {
  Fixture it(kSmallNature);
  it.Forward();
  const Floats before = it.outputs;
  Parameters target(it.plan);
  target.Initialise(it.random);
  it.network->Forward(target, it.input.view(), it.outputs);
  EXPECT_NE(it.outputs, before);
  it.Forward();
  EXPECT_EQ(it.outputs, before);
}

TEST(ReferenceBackend, ThreadsChangeNothing) {
  Fixture one(kSmallNature);
  Fixture many(kSmallNature, {.batch = 4, .threads = 8});
  one.Forward();
  many.Forward();
  EXPECT_EQ(one.outputs, many.outputs);
}

// --- arguments, checked in the same way for all backends

TEST(CompileNetwork, RefusesOptionsOutOfRange) {
  const auto plan = PlanOf("vector(2) linear(1)");
  for (const int bad : {-1, 0, kMaxBatch + 1}) {
    EXPECT_EQ(MessageOf([&] { CompileNetwork(plan, {.batch = bad, .backend = "reference"}); }),
              "network: batch has to be 1 to 65536, found " + std::to_string(bad));
  }
  for (const int bad : {-1, 0, kMaxThreads + 1}) {
    EXPECT_EQ(MessageOf([&] { CompileNetwork(plan, {.threads = bad, .backend = "reference"}); }),
              "network: threads has to be 1 to 1024, found " + std::to_string(bad));
  }
}

TEST(CompileNetwork, KnowsItsBackendsAndSuggestsTheNearest) {
  std::vector<std::string> names;
  for (const NetworkBackend& backend : NetworkBackends()) {
    names.push_back(backend.name);
    EXPECT_NE(backend.description, "");
  }
  EXPECT_EQ(names.front(), NetworkOptions().backend);
  EXPECT_EQ(std::ranges::count(names, "reference"), 1);
  const auto plan = PlanOf("vector(2) linear(1)");
  const std::string message = MessageOf([&] { CompileNetwork(plan, {.backend = "refrence"}); });
  EXPECT_NE(message.find("unknown backend 'refrence'"), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean 'reference'?"), std::string::npos) << message;
}

TEST(NetworkForward, RefusesCountsOutsideTheBatch) {
  Fixture it("vector(4) linear(2)");
  for (const int count : {-1, 0, 5}) {
    const Floats vectors(static_cast<std::size_t>(std::max(count, 0)) * 4);
    Floats outputs(static_cast<std::size_t>(std::max(count, 0)) * 2);
    EXPECT_EQ(MessageOf([&] {
                it.network->Forward(it.parameters, {.count = count, .vectors = vectors}, outputs);
              }),
              "network: count has to be 1 to 4, found " + std::to_string(count));
  }
}

TEST(NetworkForward, RefusesSpansThatDoNotFitTheCount) {
  Fixture vectors("vector(4) linear(2)");
  Fixture frames("frames(2, 3, 3, 255) flatten linear(2)");
  const NetworkInput vector_input = vectors.input.view();
  const NetworkInput frame_input = frames.input.view();
  const std::span<const float> twelve = vector_input.vectors;
  const std::span<const std::uint8_t* const> six = frame_input.frames;
  const auto refused = [](Fixture& it, const NetworkInput& input) {
    return MessageOf([&] { it.network->Forward(it.parameters, input, it.outputs); });
  };
  EXPECT_EQ(refused(vectors, {.count = 3, .vectors = twelve.first(11)}),
            "network: expected 12 vector components, found 11");
  EXPECT_EQ(refused(vectors, {.count = 3}), "network: expected 12 vector components, found 0");
  EXPECT_EQ(refused(vectors, {.count = 3, .frames = six, .vectors = twelve}),
            "network: expected 0 frames, found 6");
  EXPECT_EQ(refused(frames, {.count = 3, .frames = six.first(5)}),
            "network: expected 6 frames, found 5");
  EXPECT_EQ(refused(frames, {.count = 3, .frames = six, .vectors = twelve}),
            "network: expected 0 vector components, found 12");
  Fixture images("images(1, 2, 2, 3) flatten linear(2)");
  EXPECT_EQ(refused(images, {.count = 3, .vectors = twelve.first(11)}),
            "network: expected 12 floats of images, found 11");
  EXPECT_EQ(refused(images, {.count = 3, .frames = six, .vectors = twelve}),
            "network: expected 0 frames, found 6");
  EXPECT_EQ(refused(images, vector_input), "no error");
  EXPECT_EQ(refused(vectors, vector_input), "no error");
  EXPECT_EQ(refused(frames, frame_input), "no error");

  vectors.outputs.push_back(0);
  EXPECT_EQ(refused(vectors, vector_input), "network: expected 6 outputs, found 7");
}

TEST(NetworkForward, RefusesNullFrames) {
  Fixture it("frames(2, 3, 3, 255) flatten linear(2)");
  const NetworkInput input = it.input.view();
  std::vector<const std::uint8_t*> frames(input.frames.begin(), input.frames.end());
  frames.back() = nullptr;
  EXPECT_EQ(MessageOf([&] {
              it.network->Forward(it.parameters, {.count = 3, .frames = frames}, it.outputs);
            }),
            "network: a frame is a null pointer");
}

TEST(NetworkForward, RefusesParametersOfAnotherNetworkButNotOfAnEqualOne) {
  Fixture it("vector(4) linear(2)");
  EXPECT_EQ(MessageOf([&] {
              it.network->Forward(Parameters(PlanOf("vector(4) linear(2) relu")), it.input.view(),
                                  it.outputs);
            }),
            "network: the parameters are of another network");
  EXPECT_NO_THROW(
      it.network->Forward(Parameters(PlanOf("vector(4) linear(2)")), it.input.view(), it.outputs));
}

TEST(NetworkBackward, NeedsAForwardByTheSameParameters) {
  Fixture it("vector(4) linear(2)");
  const Floats c(6, 1.0F);
  const auto backward = [&](const Parameters& parameters) {
    return MessageOf([&] { it.network->Backward(parameters, c, it.gradients); });
  };
  const std::string expected =
      "network: Backward without a Forward by the same parameters just before";
  EXPECT_EQ(backward(it.parameters), expected);
  it.Forward();
  EXPECT_EQ(backward(it.parameters), "no error");
  Parameters other(it.plan);
  EXPECT_EQ(backward(other), expected);
  it.network->Forward(other, it.input.view(), it.outputs);
  EXPECT_EQ(backward(it.parameters), expected);
  EXPECT_EQ(backward(other), "no error");
}

TEST(NetworkBackward, RefusesOtherSizesAndGradientsOfAnotherNetwork) {
  Fixture it("vector(4) linear(2)");
  it.Forward();
  EXPECT_EQ(MessageOf([&] { it.network->Backward(it.parameters, Floats(8), it.gradients); }),
            "network: expected 6 output gradients, found 8");
  Parameters other(PlanOf("vector(4) linear(2) relu"));
  EXPECT_EQ(MessageOf([&] { it.network->Backward(it.parameters, Floats(6), other); }),
            "network: the parameters are of another network");
}

TEST(NetworkBackward, RefusesToOverwriteTheParameters) {
  const auto plan = std::make_shared<const Plan>(MakePlan(ParseSpec("vector(1) linear(1)")));
  const auto network = CompileNetwork(plan, {.batch = 1, .backend = "reference"});
  Parameters parameters(plan);
  const std::vector<float> one = {1};
  std::vector<float> output(1);
  network->Forward(parameters, {.count = 1, .vectors = one}, output);
  EXPECT_THROW(network->Backward(parameters, one, parameters), Error);
}

TEST(NetworkBackward, IsNotThereForInference) {
  Fixture it("vector(4) linear(2)", {.batch = 4, .training = false});
  it.Forward();
  EXPECT_EQ(MessageOf([&] { it.network->Backward(it.parameters, Floats(6), it.gradients); }),
            "network: Backward of a network compiled for inference");
}

}  // namespace stableaa::reference_network_test
