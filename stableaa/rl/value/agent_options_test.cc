#include "stableaa/rl/value/agent_options.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/core/error.h"
#include "stableaa/nn/network_check.h"
#include "stableaa/nn/plan.h"
#include "stableaa/testing/message.h"

namespace stableaa::agent_options_test {

AgentOptions WithMixer(MixerKind mixer) {
  AgentOptions options;
  options.mixer = mixer;
  return options;
}

TEST(AgentOptions, SingleAndAverageHaveNoDampingAndNoWeights) {
  for (const MixerKind mixer : {MixerKind::kSingle, MixerKind::kAverage}) {
    AgentOptions options = WithMixer(mixer);
    options.damping = .7;
    EXPECT_FALSE(options.mixes());
    EXPECT_EQ(options.BetaAt(0), 0);
  }
  for (const MixerKind mixer : {MixerKind::kAnderson, MixerKind::kRaa, MixerKind::kStable}) {
    AgentOptions options = WithMixer(mixer);
    options.damping = .7;
    EXPECT_TRUE(options.mixes());
    EXPECT_EQ(options.BetaAt(0), .7);
  }
}

TEST(AgentOptions, OnlySingleHasAWindowOfOne) {
  for (const MixerKind mixer :
       {MixerKind::kAverage, MixerKind::kAnderson, MixerKind::kRaa, MixerKind::kStable}) {
    AgentOptions options = WithMixer(mixer);
    options.targets = 7;
    EXPECT_EQ(options.window(), 7);
  }
  AgentOptions single;
  single.targets = 7;
  EXPECT_EQ(single.window(), 1);
}

TEST(AgentOptions, SampleForWeightsThePapersBatchOrALargeOne) {
  AgentOptions options;
  options.weights.refresh = WeightRefresh::kUpdate;
  EXPECT_EQ(options.weights_batch(), 128);
  options.weights.refresh = WeightRefresh::kSync;
  EXPECT_EQ(options.weights_batch(), 1024);
  options.weights.batch = 77;
  EXPECT_EQ(options.weights_batch(), 77);
  options.weights.refresh = WeightRefresh::kUpdate;
  EXPECT_EQ(options.weights_batch(), 77);
}

TEST(AgentOptions, NameTheRuleOfTheirWeights) {
  EXPECT_EQ(WithMixer(MixerKind::kAnderson).WeightsFor(.3).rule, WeightRule::kVanilla);
  EXPECT_EQ(WithMixer(MixerKind::kRaa).WeightsFor(.3).rule, WeightRule::kRaa);
  EXPECT_EQ(WithMixer(MixerKind::kStable).WeightsFor(.3).rule, WeightRule::kStable);
  EXPECT_EQ(WithMixer(MixerKind::kStable).WeightsFor(.3).eta, .3);
  for (const MixerKind mixer : {MixerKind::kSingle, MixerKind::kAverage, MixerKind::kAnderson,
                                MixerKind::kRaa, MixerKind::kStable}) {
    EXPECT_NO_THROW(WithMixer(mixer).WeightsFor(.3).Validate());
  }
}

TEST(AgentOptions, RefuseHiddenLayersThatAreNone) {
  for (const std::vector<double>& hidden :
       {std::vector<double>{}, {0.5}, {0}, {32, 1.5}, {1e9}, {-1}}) {
    AgentOptions options;
    options.hidden = hidden;
    EXPECT_THROW(options.Validate(), Error);
  }
  AgentOptions options;
  options.hidden = {1, 65536};
  EXPECT_NO_THROW(options.Validate());
}

TEST(AgentOptions, AreKeysOfTheConfiguration) {
  AgentOptions options;
  Config config;
  Describe(config, options);
  for (const char* const assignment : {"agent.head=dueling",
                                       "agent.backup=dynamic-boltzmann",
                                       "agent.mixer=anderson",
                                       "agent.omega=2.5",
                                       "agent.targets=9",
                                       "agent.damping=0.25",
                                       "agent.eta=0.5",
                                       "agent.discount=0.9",
                                       "agent.n_step=3",
                                       "agent.target_interval_updates=12",
                                       "agent.weights.refresh=update",
                                       "agent.weights.batch=64",
                                       "agent.weights.eta=auto",
                                       "agent.weights.safeguard=true",
                                       "agent.restart=growth",
                                       "agent.restart_interval_updates=5",
                                       "agent.restart_growth=1.5",
                                       "agent.loss=huber",
                                       "agent.huber_delta=2.0",
                                       "network.hidden=32,16"}) {
    config.Set(assignment);
  }
  EXPECT_EQ(options.head, HeadKind::kDueling);
  EXPECT_EQ(options.backup, AgentBackup::kDynamicBoltzmann);
  EXPECT_EQ(options.mixer, MixerKind::kAnderson);
  EXPECT_EQ(options.omega, 2.5);
  EXPECT_EQ(options.targets, 9);
  EXPECT_EQ(options.damping, .25);
  EXPECT_EQ(options.eta, .5);
  EXPECT_EQ(options.discount, .9);
  EXPECT_EQ(options.n_step, 3);
  EXPECT_EQ(options.target_interval_updates, 12);
  EXPECT_EQ(options.weights.refresh, WeightRefresh::kUpdate);
  EXPECT_EQ(options.weights.batch, 64);
  EXPECT_EQ(options.weights.eta, EtaChoice::kAuto);
  EXPECT_TRUE(options.weights.safeguard);
  EXPECT_EQ(options.restart, WindowRestart::kGrowth);
  EXPECT_EQ(options.restart_interval_updates, 5);
  EXPECT_EQ(options.restart_growth, 1.5);
  EXPECT_EQ(options.Loss().kind, LossKind::kHuber);
  EXPECT_EQ(options.Loss().huber_delta, 2);
  EXPECT_EQ(options.hidden, (std::vector<double>{32, 16}));
}

// ---- Networks ----

TEST(AgentNetwork, IsNaturesForAtari) {
  AgentOptions options;
  EXPECT_EQ(AgentNetwork(options, FrameInput(4, 84, 84, 255), 6), NatureSpec({.actions = 6}));
  options.head = HeadKind::kDueling;
  EXPECT_EQ(AgentNetwork(options, FrameInput(4, 84, 84, 255), 6),
            NatureSpec({.actions = 6, .dueling = true}));
}

TEST(AgentNetwork, IsMinatarsForMinatar) {
  for (const int channels : {4, 6, 10}) {
    AgentOptions options;
    EXPECT_EQ(AgentNetwork(options, FrameInput(channels, 10, 10, 1), 6),
              MinatarSpec({.channels = channels, .actions = 6}));
    options.head = HeadKind::kDueling;
    EXPECT_EQ(AgentNetwork(options, FrameInput(channels, 10, 10, 1), 6),
              MinatarSpec({.channels = channels, .actions = 6, .dueling = true}));
  }
}

TEST(AgentNetwork, IsAPerceptronForVectors) {
  AgentOptions options;
  options.hidden = {64, 32};
  options.head = HeadKind::kDueling;
  EXPECT_EQ(AgentNetwork(options, VectorInput(4), 2),
            MlpSpec({.inputs = 4, .hidden = {64, 32}, .actions = 2, .dueling = true}));
}

// The side of the map that the head sees, and whether there is one.
Shape LastMap(const NetworkSpec& spec) {
  Shape map = spec.input.shape;
  for (const PlanStep& step : MakePlan(spec).steps) {
    if (step.operation == Operation::kConvolution) map = step.out;
  }
  return map;
}

TEST(AgentNetwork, FitsImagesOfAnySize) {
  for (const bool dueling : {false, true}) {
    AgentOptions options;
    options.head = dueling ? HeadKind::kDueling : HeadKind::kPlain;
    for (int height = 1; height <= 512; height += 1 + height / 9) {
      for (int width = 1; width <= 512; width += 1 + width / 9) {
        const InputSpec input =
            dueling ? ImageInput(3, height, width, 1) : FrameInput(4, height, width, 255);
        const NetworkSpec spec = AgentNetwork(options, input, 5);
        EXPECT_EQ(spec.input, input);
        ASSERT_EQ(MakePlan(spec).outputs(), 5) << height << "x" << width;
        EXPECT_LE(MakePlan(spec).parameters, 20'000'000U) << height << "x" << width;
        EXPECT_EQ(ParseSpec(ToText(spec)), spec);
      }
    }
  }
}

TEST(AgentNetwork, EndsInMapsOfAFewPixels) {
  for (int side = 17; side <= 512; ++side) {
    const NetworkSpec spec = AgentNetwork({}, FrameInput(3, side, side, 255), 5);
    EXPECT_GE(LastMap(spec).height, 4) << side;
    EXPECT_LE(LastMap(spec).height, 11) << side;
  }
  const auto layers = [](int height, int width) {
    return ToText(AgentNetwork({}, FrameInput(3, height, width, 255), 5));
  };
  EXPECT_EQ(layers(40, 60),
            "frames(3, 40, 60, 255) conv(32, 4, 2) relu conv(64, 4, 2) relu conv(64, 3, 1) relu "
            "flatten linear(512) relu linear(5)");
  EXPECT_EQ(layers(210, 160),
            "frames(3, 210, 160, 255) conv(32, 8, 4) relu conv(64, 4, 2) relu conv(64, 4, 2) relu "
            "conv(64, 3, 1) relu flatten linear(512) relu linear(5)");
  EXPECT_EQ(layers(2, 100), "frames(3, 2, 100, 255) flatten linear(512) relu linear(5)");
  EXPECT_EQ(layers(1, 1), "frames(3, 1, 1, 255) flatten linear(128) relu linear(5)");
}

TEST(AgentNetwork, OfAnySizeGivesTheReferencesOutputs) {
  const std::vector<std::pair<int, int>> sizes = {{1, 1},   {3, 1},   {2, 2},   {3, 3},
                                                  {8, 100}, {16, 17}, {30, 30}, {40, 60},
                                                  {97, 64}, {5, 130}, {84, 84}, {210, 160}};
  for (const auto& [height, width] : sizes) {
    for (const InputSpec& input :
         {FrameInput(3, height, width, 255), ImageInput(2, height, width, 2)}) {
      const NetworkSpec spec = AgentNetwork({}, input, 4);
      for (const NetworkDifference& difference :
           CompareWithReference({.name = ToText(spec), .spec = spec, .batch = 3, .count = 2},
                                {{.name = "native"}})) {
        EXPECT_LE(difference.outputs, 1e-5) << ToText(spec);
        EXPECT_LE(difference.gradients, 2e-2) << ToText(spec);
      }
    }
  }
}

TEST(AgentNetworks, OwnLayersStandBeforeTheHead) {
  AgentOptions options;
  options.layers = "conv(16, 8, 4) relu flatten linear(32) relu";
  const InputSpec input = FrameInput(4, 84, 84, 255);
  EXPECT_EQ(AgentNetwork(options, input, 6),
            ParseSpec("frames(4, 84, 84, 255) conv(16, 8, 4) relu flatten linear(32) relu "
                      "linear(6)"));
  options.head = HeadKind::kDueling;
  EXPECT_EQ(AgentNetwork(options, input, 6),
            ParseSpec("frames(4, 84, 84, 255) conv(16, 8, 4) relu flatten linear(32) relu "
                      "dueling{linear(1) | linear(6)}"));
  options.layers = "linear(8) tanh";
  EXPECT_EQ(AgentNetwork(options, VectorInput(3), 2),
            ParseSpec("vector(3) linear(8) tanh dueling{linear(1) | linear(2)}"));
}

TEST(AgentNetworks, OwnLayersThatDoNotFitAreBadInputThatNamesTheKey) {
  AgentOptions options;
  for (const std::string layers : {"conv(16, 99, 4) relu flatten", "linear(", "linear(8) linear(0)",
                                   "frames(1, 2, 3, 4)", "dueling{linear(1) | linear(2)}"}) {
    options.layers = layers;
    const std::string message =
        MessageOf([&] { return AgentNetwork(options, FrameInput(4, 84, 84, 255), 6); });
    EXPECT_TRUE(message.starts_with("network.layers: ")) << layers << ": " << message;
  }
}

}  // namespace stableaa::agent_options_test
