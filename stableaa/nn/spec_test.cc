#include "stableaa/nn/spec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/nn/parameters.h"
#include "stableaa/nn/plan.h"
#include "stableaa/testing/message.h"

namespace stableaa::spec_test {

using Layers = std::vector<Layer>;

std::string ParseError(const std::string& text) {
  return MessageOf([&] { ParseSpec(text); });
}

// A small image and a short vector to put layers after.
NetworkSpec OnFrames(Layers layers) { return {FrameInput(2, 8, 6, 255), std::move(layers)}; }
NetworkSpec OnVector(Layers layers) { return {VectorInput(5), std::move(layers)}; }

std::string SpecError(const NetworkSpec& spec) {
  return MessageOf([&] { spec.Validate(); });
}

// The library's own specs, in several sizes.
std::vector<NetworkSpec> SomeSpecs() {
  std::vector<NetworkSpec> specs;
  for (const bool dueling : {false, true}) {
    specs.push_back(NatureSpec({.actions = 18, .dueling = dueling}));
    specs.push_back(NatureSpec({.frames = 1, .actions = 1, .dueling = dueling}));
    specs.push_back(MinatarSpec({.channels = 10, .actions = 6, .dueling = dueling}));
    for (const std::vector<int>& hidden : std::vector<std::vector<int>>{{}, {7}, {64, 32, 16}}) {
      for (const Layer& activation : {Relu(), Elu(), Tanh()}) {
        specs.push_back(MlpSpec({.inputs = 4,
                                 .hidden = hidden,
                                 .activation = activation,
                                 .actions = 3,
                                 .dueling = dueling}));
      }
    }
  }
  return specs;
}

std::size_t CountParameters(const NetworkSpec& spec) {
  std::size_t count = 0;
  for (const ParameterTensor& tensor : ParameterTensors(MakePlan(spec))) count += tensor.size();
  return count;
}

// --- text

TEST(SpecText, EverySpecOfTheLibraryComesBackFromItsText) {
  for (const NetworkSpec& spec : SomeSpecs()) EXPECT_EQ(ParseSpec(ToText(spec)), spec);
}

TEST(SpecText, DivisorsComeBackExactly) {
  for (const double divisor : {1.0, 0.1, 255.0, 1.0 / 3, 1e-30, 1e30, 123456789.125}) {
    const NetworkSpec spec{FrameInput(1, 2, 2, divisor), {Flatten(), Linear(1)}};
    EXPECT_EQ(ParseSpec(ToText(spec)).input.divisor, divisor);
  }
}

TEST(SpecText, ImagesOfFloatsDifferFromFramesOfBytes) {
  const std::string text = "images(2, 5, 4, 0.5) conv(3, 2, 1) relu flatten linear(2)";
  const NetworkSpec spec = ParseSpec(text);
  EXPECT_EQ(ToText(spec), text);
  EXPECT_EQ(spec.input, ImageInput(2, 5, 4, 0.5));
  EXPECT_NE(spec.input, FrameInput(2, 5, 4, 0.5));
  EXPECT_THROW(ParseSpec("images(2, 5, 4) flatten linear(2)"), Error);
  EXPECT_THROW(ParseSpec("images(2, 5, 4, 0) flatten linear(2)"), Error);
}

TEST(SpecText, AVectorMayHaveTwoParts) {
  const std::string text = "vector(17, 6) linear(256) relu linear(1)";
  const NetworkSpec spec = ParseSpec(text);
  EXPECT_EQ(ToText(spec), text);
  EXPECT_EQ(spec.input, VectorInput({17, 6}));
  EXPECT_NE(spec.input, VectorInput(23));
  EXPECT_EQ(MakePlan(spec).steps[0].fan_in, 23);
  EXPECT_EQ(spec.input.part_count(), 2);
  EXPECT_EQ(spec.input.part_size(0), 17);
  EXPECT_EQ(spec.input.part_size(1), 6);
}

TEST(SpecText, OnePartIsTheVectorItself) {
  EXPECT_EQ(VectorInput(std::vector<int>{5}), VectorInput(5));
  EXPECT_EQ(ToText(VectorInput(std::vector<int>{5})), "vector(5)");
  EXPECT_EQ(VectorInput(5).part_count(), 1);
  EXPECT_EQ(VectorInput(5).part_size(0), 5);
  EXPECT_EQ(FrameInput(2, 8, 6, 255).part_count(), 1);
}

TEST(Spec, PartsHaveToMakeUpTheVector) {
  const auto error = [](const InputSpec& input) {
    return SpecError({.input = input, .layers = {Linear(1)}});
  };
  EXPECT_EQ(error(VectorInput({1, 65535})), "no error");
  EXPECT_EQ(error(VectorInput({1, 65536})),
            "network spec, input: expected a vector of 1 to 65536, found 65537");
  EXPECT_EQ(error(VectorInput({3, 0})),
            "network spec, input: expected parts of 1 to 65536, found 0");
  EXPECT_EQ(error(VectorInput({2'000'000'000, 2'000'000'000})),
            "network spec, input: expected parts of 1 to 65536, found 2000000000");
  EXPECT_EQ(error(VectorInput({1, 2, 3})),
            "network spec, input: expected the sizes of 2 parts, or none, found 3");
  EXPECT_NE(error(VectorInput(std::vector<int>{})), "no error");
  InputSpec input = VectorInput(5);
  input.parts = {5};
  EXPECT_EQ(error(input), "network spec, input: expected the sizes of 2 parts, or none, found 1");
  input.parts = {2, 2};
  EXPECT_EQ(error(input), "network spec, input: expected parts that are 5 together, found 4");
  input = FrameInput(2, 1, 1, 1);
  input.parts = {1, 1};
  EXPECT_EQ(MessageOf([&] {
              NetworkSpec({.input = input, .layers = {Flatten(), Linear(1)}}).Validate();
            }),
            "network spec, input: only a vector has parts");
}

TEST(ImageSpec, IsNaturesAndMinatarsForTheirSizes) {
  for (const bool dueling : {false, true}) {
    EXPECT_EQ(ImageSpec({FrameInput(4, 84, 84, 255), 18, dueling}),
              NatureSpec({.actions = 18, .dueling = dueling}));
    EXPECT_EQ(ImageSpec({FrameInput(4, 10, 10, 1), 6, dueling}), MinatarSpec({.dueling = dueling}));
  }
}

TEST(SpecText, IsWhatTheHeaderShows) {
  EXPECT_EQ(ToText(NatureSpec({.actions = 6, .dueling = true})),
            "frames(4, 84, 84, 255) conv(32, 8, 4) relu conv(64, 4, 2) relu conv(64, 3, 1) relu "
            "flatten dueling{linear(512) relu linear(1) | linear(512) relu linear(6)}");
  EXPECT_EQ(ToText(MlpSpec({.inputs = 4, .hidden = {64}, .activation = Tanh(), .actions = 2})),
            "vector(4) linear(64) tanh linear(2)");
}

TEST(SpecText, BlanksBetweenWordsDoNotMatter) {
  const NetworkSpec spec = ParseSpec("vector(4) linear(64) dueling{linear(1) | linear(2)}");
  EXPECT_EQ(ParseSpec("vector(4)linear(64)dueling{linear(1)|linear(2)}"), spec);
  EXPECT_EQ(ParseSpec("\n vector ( 4 )\r\n\tlinear( 64 ) dueling { linear(1)\n|linear(2) }\n"),
            spec);
}

TEST(SpecText, ErrorsSayWhereAndWhatWasExpected) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "character 1 (the end): expected frames(...), images(...) or vector(...)"},
      {"image(3) linear(1)",
       "character 1 ('image(3) linear('): expected frames(...), images(...) or vector(...)"},
      {"vector 4", "character 8 ('4'): expected '('"},
      {"vector(4, 5, 6)", "character 12 (', 6)'): a vector has at most 2 parts"},
      {"vector(4; 5)", "character 9 ('; 5)'): expected ')'"},
      {"vector(4,) linear(1)", "character 10 (') linear(1)'): expected a number"},
      {"vector(four)", "character 8 ('four)'): expected a number"},
      {"vector(inf) linear(1)", "expected a number"},
      {"vector(1e999) linear(1)", "expected a number"},
      {"vector(4) linear(2.5)", "character 18 ('2.5)'): expected a whole number"},
      {"vector(4) linear(1e12)", "character 18 ('1e12)'): expected a whole number"},
      {"frames(4, 84, 84) linear(1)", "character 17 (') linear(1)'): expected ','"},
      {"vector(4) linear(64) ; relu", "character 22 ('; relu'): expected a layer"},
      {"vector(4) linear(64) }", "character 22 ('}'): expected a layer"},
      {"vector(4) dueling linear(1)", "expected '{'"},
      {"vector(4) dueling{linear(1)}", "character 28 ('}'): expected '|'"},
      {"vector(4) dueling{linear(1) | linear(2)", "character 40 (the end): expected '}'"},
      {"vector(4) dueling{dueling{linear(1) | linear(1)} | linear(2)}", "dueling within dueling"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(ParseError(text).find(expected), std::string::npos) << ParseError(text);
  }
}

TEST(SpecText, AnUnknownLayerBringsTheNearestName) {
  EXPECT_NE(ParseError("vector(4) linaer(64)")
                .find("character 11 ('linaer(64)'): unknown layer 'linaer'; did you mean 'linear'"),
            std::string::npos)
      << ParseError("vector(4) linaer(64)");
  EXPECT_NE(ParseError("vector(4) softmax").find("unknown layer 'softmax'"), std::string::npos);
}

TEST(SpecText, ErrorsStayOnOneLineAndShort) {
  for (const std::string& text : {std::string("vector(2)\nlinear(2),\n\x01relu"),
                                  std::string("vector(1) ") + std::string(5000, 'q'),
                                  std::string("vector(1)") + std::string(3000, '\x07')}) {
    const std::string message = ParseError(text);
    EXPECT_LT(message.size(), 300U);
    EXPECT_EQ(message.find_first_of("\n\x01\x07"), std::string::npos) << message;
  }
}

TEST(SpecText, ManyLayersAreRefusedWhileTheyAreRead) {
  std::string text = "vector(2)";
  for (int i = 0; i < 300; ++i) text += " linear(2)";
  EXPECT_NE(ParseError(text).find("more than 256 layers"), std::string::npos);
}

TEST(Spec, FieldsWithoutMeaningKeepTheirDefaults) {
  NetworkSpec spec = ParseSpec("vector(2) linear(2) relu");
  spec.layers[1].outputs = 3;
  EXPECT_THROW(spec.Validate(), Error);
  spec = ParseSpec("vector(2) linear(2)");
  spec.input.divisor = 2;
  EXPECT_THROW(spec.Validate(), Error);
}

TEST(SpecText, AParsedSpecIsValidatedToo) {
  EXPECT_NE(ParseError("vector(4) conv(8, 3, 1)").find("layer 0, conv(8, 3, 1)"),
            std::string::npos);
}

// --- shapes

TEST(Spec, NatureGoesThroughTheShapesOfThePaper) {
  const Plan plan = MakePlan(NatureSpec({.actions = 4}));
  const std::vector<Shape> shapes = {{4, 84, 84}, {32, 20, 20},      {64, 9, 9},
                                     {64, 7, 7},  {512, 1, 1, true}, {4, 1, 1, true}};
  EXPECT_EQ(plan.values, shapes);
  EXPECT_EQ(plan.steps[3].fan_in, 3136);
  EXPECT_EQ(plan.outputs(), 4);
}

TEST(Spec, NatureHasAsManyParametersAsInPyTorch) {
  const std::size_t body = 32 * (4 * 64 + 1) + 64 * (32 * 16 + 1) + 64 * (64 * 9 + 1);
  const std::size_t stream = std::size_t{512} * (3136 + 1);
  for (const int actions : {1, 4, 18}) {
    const auto n = static_cast<std::size_t>(actions);
    EXPECT_EQ(CountParameters(NatureSpec({.actions = actions})), body + stream + n * 513);
    EXPECT_EQ(CountParameters(NatureSpec({.actions = actions, .dueling = true})),
              body + 2 * stream + (n + 1) * 513);
  }
  EXPECT_EQ(CountParameters(NatureSpec({.actions = 4})), 1'686'180U);
}

TEST(Spec, MinatarAndMlpHaveTheShapesTheyPromise) {
  // 16 filters of 3×3 leave 16 × 8 × 8 = 1024.
  EXPECT_EQ(CountParameters(MinatarSpec({.channels = 4, .actions = 6})),
            16U * (4 * 9 + 1) + 128 * (1024 + 1) + 6 * 129);
  EXPECT_EQ(CountParameters(MlpSpec({.inputs = 4, .hidden = {8, 5}, .actions = 2})),
            8U * 5 + 5 * 9 + 2 * 6);
  // The last hidden layer appears once per stream.
  EXPECT_EQ(
      CountParameters(MlpSpec({.inputs = 4, .hidden = {8, 5}, .actions = 2, .dueling = true})),
      8U * 5 + 2 * (5 * 9) + 3 * 6);
}

TEST(Spec, OutputsAreTheActions) {
  for (const int actions : {1, 2, 18}) {
    for (const bool dueling : {false, true}) {
      EXPECT_EQ(NatureSpec({.actions = actions, .dueling = dueling}).outputs(), actions);
      EXPECT_EQ(MinatarSpec({.actions = actions, .dueling = dueling}).outputs(), actions);
      EXPECT_EQ(MlpSpec({.actions = actions, .dueling = dueling}).outputs(), actions);
    }
  }
}

TEST(Spec, ConvolutionsDropTheRestThatAStrideLeaves) {
  const Plan plan = MakePlan(OnFrames({Convolution(3, 2, 3), Flatten(), Linear(1)}));
  EXPECT_EQ(plan.values[1], (Shape{3, 3, 2}));
}

TEST(Spec, MultiplyAddsOfNatureAreThoseOfItsLayers) {
  for (const int actions : {1, 6, 18}) {
    const Plan plan = MakePlan(NatureSpec({.actions = actions, .dueling = true}));
    const double first = 3276800;
    const double others = 2654208 + 1806336 + 2 * 1605632 + 512.0 * (1 + actions);
    EXPECT_EQ(plan.multiply_adds, first + others);
    // The input needs no gradient.
    EXPECT_EQ(plan.backward_multiply_adds, first + 2 * others);
  }
}

TEST(Spec, GradientsByAPartOfTheInputTakeNothingForTheOther) {
  const Plan plan = MakePlan(ParseSpec("vector(17, 6) linear(256) relu linear(64) relu linear(1)"));
  const double others = 256 * 64 + 64;
  EXPECT_EQ(plan.multiply_adds, 23 * 256 + others);
  EXPECT_EQ(plan.InputMultiplyAdds(0), 17 * 256 + others);
  EXPECT_EQ(plan.InputMultiplyAdds(1), 6 * 256 + others);
}

TEST(Spec, ActivationsAndFlattenAddNoStep) {
  const Plan plan = MakePlan(OnFrames({Convolution(3, 2, 1), Flatten(), Elu(), Linear(1)}));
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].activation, Activation::kElu);
  EXPECT_EQ(plan.steps[1].activation, Activation::kNone);
}

TEST(NamedSpec, EveryNameGivesANetworkOfSoManyActions) {
  for (const std::string& name : NetworkNames()) {
    const NetworkSpec spec = NamedSpec(name, 7);
    EXPECT_EQ(spec.outputs(), 7) << name;
    EXPECT_EQ(spec.layers.back().kind == LayerKind::kDueling, name.ends_with("-dueling")) << name;
  }
  EXPECT_EQ(NamedSpec("nature-dueling", 18), NatureSpec({.actions = 18, .dueling = true}));
}

TEST(NamedSpec, OfControlTakesNumbersAsActions) {
  EXPECT_EQ(ToText(NamedSpec("critic", 6)),
            "vector(17, 6) linear(256) relu linear(256) relu linear(1)");
  EXPECT_EQ(ToText(NamedSpec("actor", 6)),
            "vector(17) linear(256) relu linear(256) relu linear(12)");
  for (const std::string& name : ControlNetworkNames()) NamedSpec(name, 3).Validate();
  EXPECT_NE(MessageOf([] { NamedSpec("critic-dueling", 2); }).find("unknown network"),
            std::string::npos);
}

TEST(NamedSpec, AnUnknownNameBringsTheNearest) {
  const std::string message = MessageOf([] { NamedSpec("natrue", 2); });
  EXPECT_NE(message.find("unknown network 'natrue'"), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean 'nature'?"), std::string::npos) << message;
  EXPECT_NE(MessageOf([] { NamedSpec("-dueling", 2); }), "no error");
}

// --- bad specs

TEST(BadSpec, NamesTheLayerAndWhatItExpected) {
  const std::vector<std::pair<NetworkSpec, std::string>> cases = {
      {OnVector({}), "no convolution or linear layer"},
      {OnFrames({Flatten()}), "no convolution or linear layer"},
      {OnFrames({Convolution(3, 2, 1)}), "ends in 3 channels of 7×5; a linear layer is missing"},
      {OnVector({Linear(-1)}), "layer 0, linear(-1): expected outputs of 1 to 65536, found -1"},
      {OnVector({Linear(3), Linear(0)}), "layer 1, linear(0): expected outputs"},
      {OnFrames({Convolution(0, 2, 1)}), "layer 0, conv(0, 2, 1): expected filters of 1 to"},
      {OnFrames({Convolution(3, -2, 1)}), "layer 0, conv(3, -2, 1): expected kernel of 1 to"},
      {OnFrames({Convolution(3, 2, 0)}), "layer 0, conv(3, 2, 0): expected stride of 1 to"},
      {OnFrames({Convolution(3, 7, 1)}),
       "layer 0, conv(3, 7, 1): the kernel is larger than its input of 8×6"},
      {OnFrames({Convolution(3, 2, 1), Relu(), Convolution(3, 6, 1)}),
       "layer 2, conv(3, 6, 1): the kernel is larger than its input of 7×5"},
      {OnFrames({Linear(3)}),
       "layer 0, linear(3): expected a vector, gets 2 channels of 8×6; a flatten is missing"},
      {OnVector({Convolution(3, 1, 1)}),
       "layer 0, conv(3, 1, 1): expected frames, gets a vector of 5"},
      {OnFrames({Flatten(), Convolution(3, 1, 1)}),
       "layer 1, conv(3, 1, 1): expected frames, gets a vector of 96"},
  };
  for (const auto& [spec, expected] : cases) {
    EXPECT_NE(SpecError(spec).find(expected), std::string::npos) << SpecError(spec);
  }
}

TEST(BadSpec, AnActivationNeedsALayerOfItsOwn) {
  const std::string expected = "an activation has to follow a convolution or linear layer";
  for (const Layer& activation : {Relu(), Elu(), Tanh()}) {
    for (const Layers& layers :
         {Layers{activation, Linear(1)}, Layers{Flatten(), activation},
          Layers{Linear(1), activation, Tanh()},
          // It would also affect what the other stream reads.
          Layers{Linear(1), Dueling({activation, Linear(1)}, {Linear(2)})}}) {
      EXPECT_NE(SpecError(OnVector(layers)).find(expected), std::string::npos);
    }
  }
}

TEST(BadSpec, DuelingIsLastOnceAndHasOneValue) {
  const Layer dueling = Dueling({Linear(1)}, {Linear(2)});
  const std::vector<std::pair<Layers, std::string>> cases = {
      {{dueling, Relu()}, "has to be the last layer"},
      {{dueling, dueling}, "has to be the last layer"},
      {{Dueling({dueling}, {Linear(2)})}, "value stream, layer 0"},
      {{Dueling({Linear(1)}, {Linear(2), dueling})}, "dueling within dueling"},
      {{Dueling({Linear(2)}, {Linear(2)})},
       "the value stream has to end in linear(1), ends in a vector of 2"},
      {{Dueling({}, {Linear(2)})}, "the value stream has to end in a linear layer"},
      {{Dueling({Linear(1)}, {})}, "the advantage stream has to end in a linear layer"},
      {{Dueling({Linear(1)}, {Linear(2), Linear(0)})}, "advantage stream, layer 1, linear(0)"},
  };
  for (const auto& [layers, expected] : cases) {
    const std::string message = SpecError(OnVector(layers));
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  }
  const std::string frames = SpecError(OnFrames({Dueling({Convolution(1, 8, 1)}, {Linear(2)})}));
  EXPECT_NE(frames.find("layer 0"), std::string::npos) << frames;
}

TEST(BadSpec, SizesWhoseProductsOverflowAreRefused) {
  constexpr int kMost = 2147483647;
  EXPECT_NE(SpecError(OnVector({Linear(kMost)})), "no error");
  EXPECT_NE(SpecError(OnFrames({Convolution(kMost, 2, 1)})), "no error");
  EXPECT_NE(SpecError(OnFrames({Convolution(2, kMost, 1)})), "no error");
  EXPECT_NE(SpecError(OnFrames({Convolution(2, 2, kMost)})), "no error");
  EXPECT_NE(SpecError({VectorInput(kMost), {Linear(1)}}), "no error");
  EXPECT_NE(SpecError({FrameInput(kMost, kMost, kMost, 1), {Flatten(), Linear(1)}}), "no error");
  EXPECT_NE(SpecError({FrameInput(4096, 4096, 4096, 1), {Flatten(), Linear(1)}}), "no error");
  // Each layer is within bounds, the whole is not.
  const std::string parameters = SpecError({VectorInput(65536), {Linear(65536)}});
  EXPECT_NE(parameters.find("layer 0, linear(65536): more than 268435456 parameters"),
            std::string::npos)
      << parameters;
  const std::string outputs =
      SpecError({FrameInput(1, 4096, 4096, 1), {Convolution(4096, 1, 1), Flatten(), Linear(1)}});
  EXPECT_NE(outputs.find("layer 0, conv(4096, 1, 1): more than 16777216 outputs"),
            std::string::npos)
      << outputs;
  EXPECT_NE(SpecError(OnVector(Layers(257, Linear(1)))), "no error");
  EXPECT_EQ(SpecError(OnVector(Layers(256, Linear(1)))), "no error");
}

TEST(BadSpec, AnInputNeedsPositiveSidesAndDivisor) {
  const Layers layers = {Flatten(), Linear(1)};
  for (const InputSpec& input :
       {VectorInput(0), VectorInput(-1), FrameInput(0, 1, 1, 1), FrameInput(1, -1, 1, 1),
        FrameInput(1, 1, 0, 1), FrameInput(1, 1, 1, 0), FrameInput(1, 1, 1, -1),
        FrameInput(1, 1, 1, 0.0 / 0.0), FrameInput(1, 1, 1, 1e308 * 10)}) {
    const std::string message = SpecError({input, layers});
    EXPECT_NE(message.find("network spec, input: expected"), std::string::npos) << message;
  }
}

}  // namespace stableaa::spec_test
