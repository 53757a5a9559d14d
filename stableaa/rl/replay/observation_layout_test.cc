#include "stableaa/rl/replay/observation_layout.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/core/random.h"
#include "stableaa/env/registry.h"
#include "stableaa/nn/plan.h"

namespace stableaa::observation_layout_test {

std::vector<std::uint8_t> Encoded(const ObservationLayout& layout, const Observations& observations,
                                  std::size_t i) {
  std::vector<std::uint8_t> out(layout.frames().observation_bytes());
  layout.Encode(observations, i, out);
  return out;
}

std::vector<float> AsFloats(const std::vector<std::uint8_t>& bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

std::vector<std::uint8_t> RandomBytes(RandomStream& random, std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.Below(256));
  return bytes;
}

EnvironmentSpec Bytes(const std::string& id, std::vector<int> shape, int channel_axis,
                      float high = 255) {
  return {.id = id,
          .observation = Space::Bytes(std::move(shape), high),
          .action = Space::Discrete(3),
          .channel_axis = channel_axis};
}

TEST(ObservationLayout, TakesMinatarsPlanesApart) {
  for (const char* const id : {"minatar/breakout", "minatar/seaquest", "minatar/asterix",
                               "minatar/freeway", "minatar/space_invaders"}) {
    const auto environment = MakeEnvironment(id, {.num_envs = 2});
    const EnvironmentSpec& spec = environment->spec();
    const auto channels = static_cast<std::size_t>(spec.observation.shape[2]);
    const ObservationLayout layout(spec);
    EXPECT_EQ(layout.frames(), (FrameShape{1, 100 * channels}));
    EXPECT_EQ(layout.input(), FrameInput(static_cast<int>(channels), 10, 10, 1));
    environment->Reset(7);
    for (int step = 0; step < 20; ++step) {
      environment->Step({.indices = std::vector<std::int32_t>{step % 6, 5}});
    }
    const auto bytes = environment->observations().bytes;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto encoded = Encoded(layout, environment->observations(), i);
      std::size_t ones = 0;
      for (std::size_t row = 0; row < 10; ++row) {
        for (std::size_t column = 0; column < 10; ++column) {
          for (std::size_t c = 0; c < channels; ++c) {
            const std::uint8_t byte = bytes[((i * 10 + row) * 10 + column) * channels + c];
            EXPECT_EQ(encoded[(c * 10 + row) * 10 + column], byte);
            ones += byte;
          }
        }
      }
      EXPECT_GT(ones, 0U);
    }
  }
}

TEST(ObservationLayout, StacksTheFramesOfAtariAsTheyAre) {
  const ObservationLayout layout(Bytes("atari/pong", {4, 84, 84}, 0));
  EXPECT_EQ(layout.frames(), (FrameShape{4, 84 * 84}));
  EXPECT_EQ(layout.input(), FrameInput(4, 84, 84, 255));
  RandomStream random(1, "observations");
  const auto bytes = RandomBytes(random, 3 * 4 * 84 * 84);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(i * 4 * 84 * 84);
    EXPECT_EQ(Encoded(layout, {.bytes = bytes}, i),
              std::vector<std::uint8_t>(begin, begin + 4 * 84 * 84));
  }
}

TEST(ObservationLayout, KeepsPlanesOfOtherEnvironmentsInOneFrame) {
  const ObservationLayout first(Bytes("gymnasium/Planes-v0", {3, 8, 5}, 0));
  EXPECT_EQ(first.frames(), (FrameShape{1, 3 * 8 * 5}));
  EXPECT_EQ(first.input(), FrameInput(3, 8, 5, 255));
  const ObservationLayout last(Bytes("gymnasium/CarRacing-v3", {8, 5, 3}, 2));
  EXPECT_EQ(last.frames(), first.frames());
  EXPECT_EQ(last.input(), first.input());
}

TEST(ObservationLayout, KeepsFloatsToTheBit) {
  for (const char* const id : {"classic/cartpole", "classic/mountain_car", "classic/acrobot"}) {
    const auto environment = MakeEnvironment(id, {.num_envs = 3});
    const std::size_t size = environment->spec().observation.size();
    const ObservationLayout layout(environment->spec());
    EXPECT_EQ(layout.frames(), (FrameShape{1, sizeof(float) * size}));
    EXPECT_EQ(layout.input(), VectorInput(static_cast<int>(size)));
    environment->Reset(3);
    environment->Step({.indices = std::vector<std::int32_t>{0, 1, 0}});
    const auto floats = environment->observations().floats;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto expected = floats.subspan(i * size, size);
      EXPECT_EQ(AsFloats(Encoded(layout, environment->observations(), i)),
                std::vector<float>(expected.begin(), expected.end()));
    }
  }
}

TEST(ObservationLayout, DividesBytesWithoutChannelsByTheirUpperBound) {
  RandomStream random(2, "observations");
  const auto bytes = RandomBytes(random, 2 * 128);
  for (const float high : {255.0F, 51.0F}) {
    for (const auto& shape : {std::vector<int>{128}, std::vector<int>{16, 8}}) {
      const ObservationLayout layout(Bytes("gymnasium/Memory-v0", shape, -1, high));
      EXPECT_EQ(layout.input(), VectorInput(128));
      EXPECT_EQ(layout.frames(), (FrameShape{1, 128 * sizeof(float)}));
      const auto floats = AsFloats(Encoded(layout, {.bytes = bytes}, 1));
      for (std::size_t k = 0; k < 128; ++k) {
        EXPECT_EQ(floats[k], static_cast<float>(bytes[128 + k]) / high);
      }
    }
  }
}

TEST(ObservationLayout, TakesImagesOfTwoAxesAsOnePlane) {
  const ObservationLayout layout(Bytes("gymnasium/Grey-v0", {12, 9}, 2, 51));
  EXPECT_EQ(layout.input(), FrameInput(1, 12, 9, 51));
  EXPECT_EQ(layout.frames(), (FrameShape{1, 12 * 9}));
  RandomStream random(2, "observations");
  const auto bytes = RandomBytes(random, 12 * 9);
  EXPECT_EQ(Encoded(layout, {.bytes = bytes}, 0), bytes);
}

TEST(ObservationLayout, TakesStackedImagesApart) {
  RandomStream random(2, "observations");
  const auto bytes = RandomBytes(random, 2 * 5 * 6 * 7 * 3);
  const ObservationLayout last(Bytes("gymnasium/Stack-v0", {5, 6, 7, 3}, 3));
  EXPECT_EQ(last.input(), FrameInput(15, 6, 7, 255));
  EXPECT_EQ(last.frames(), (FrameShape{1, 5 * 6 * 7 * 3}));
  const auto encoded = Encoded(last, {.bytes = bytes}, 1);
  for (std::size_t s = 0; s < 5; ++s) {
    for (std::size_t k = 0; k < 42; ++k) {
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_EQ(encoded[(s * 3 + c) * 42 + k], bytes[630 + (s * 42 + k) * 3 + c]);
      }
    }
  }
  const ObservationLayout first(Bytes("gymnasium/Stack-v0", {5, 3, 6, 7}, 1));
  EXPECT_EQ(first.input(), FrameInput(15, 6, 7, 255));
  EXPECT_EQ(Encoded(first, {.bytes = bytes}, 1),
            std::vector<std::uint8_t>(bytes.begin() + 630, bytes.end()));
}

TEST(ObservationLayout, SharesTheFramesOfStacks) {
  EnvironmentSpec grey = Bytes("gymnasium/Stack-v0", {4, 9, 8}, 0);
  EXPECT_EQ(ObservationLayout(grey).frames(), (FrameShape{1, 4 * 9 * 8}));
  grey.is_stack = true;
  EXPECT_EQ(ObservationLayout(grey).frames(), (FrameShape{4, 9 * 8}));
  EnvironmentSpec colours = Bytes("gymnasium/Stack-v0", {4, 9, 8, 3}, 3);
  colours.is_stack = true;
  EXPECT_EQ(ObservationLayout(colours).frames(), (FrameShape{4, 9 * 8 * 3}));
  EXPECT_EQ(ObservationLayout(colours).input(), FrameInput(12, 9, 8, 255));
  // The first axis is not that of the frames.
  for (const auto& [shape, axis] :
       std::vector<std::pair<std::vector<int>, int>>{{{9, 8}, 2}, {{9, 8, 3}, 2}, {{9, 128}, -1}}) {
    EnvironmentSpec odd = Bytes("gymnasium/Stack-v0", shape, axis);
    odd.is_stack = true;
    EXPECT_EQ(ObservationLayout(odd).frames().stack, 1);
  }
  // Floats are not shared.
  EnvironmentSpec floats = colours;
  floats.observation = Space::Floats({4, 9, 8, 3}, {0}, {1});
  EXPECT_EQ(ObservationLayout(floats).frames(), (FrameShape{1, 4 * 9 * 8 * 3 * sizeof(float)}));
}

EnvironmentSpec Floats(std::vector<int> shape, int channel_axis, float low, float high) {
  return {.id = "gymnasium/Image-v0",
          .observation = Space::Floats(std::move(shape), {low}, {high}),
          .action = Space::Discrete(3),
          .channel_axis = channel_axis};
}

TEST(ObservationLayout, KeepsFloatsOfImagesToTheBitPlaneByPlane) {
  const ObservationLayout layout(Floats({4, 5, 3}, 2, 0, 1));
  EXPECT_EQ(layout.input(), ImageInput(3, 4, 5, 1));
  EXPECT_EQ(layout.frames(), (FrameShape{1, 60 * sizeof(float)}));
  std::vector<float> floats(2 * 60);
  RandomStream random(2, "observations");
  random.FillUniform(floats, 0, 1);
  const auto encoded = AsFloats(Encoded(layout, {.floats = floats}, 1));
  for (std::size_t k = 0; k < 20; ++k) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(encoded[c * 20 + k], floats[60 + k * 3 + c]);
  }
  const ObservationLayout first(Floats({3, 4, 5}, 0, 0, 1));
  EXPECT_EQ(AsFloats(Encoded(first, {.floats = floats}, 0)),
            std::vector<float>(floats.begin(), floats.begin() + 60));
}

TEST(ObservationLayout, DividesFloatsOfImagesByTheirBoundIfThatIsAPictures) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto divisor = [](float low, float high) {
    return ObservationLayout(Floats({8, 8}, 2, low, high)).input().divisor;
  };
  EXPECT_EQ(divisor(0, 1), 1);
  EXPECT_EQ(divisor(-1, 1), 1);
  EXPECT_EQ(divisor(0, 0.25F), 1);
  EXPECT_EQ(divisor(0, 255), 255);
  EXPECT_EQ(divisor(-8, 2), 8);
  EXPECT_EQ(divisor(0, 65535), 65535);
  EXPECT_EQ(divisor(0, 65536), 1);
  EXPECT_EQ(divisor(-kInfinity, kInfinity), 1);
  EXPECT_EQ(divisor(0, kInfinity), 1);
}

TEST(ObservationLayout, EncodesIntoItsOwnSizeOnly) {
  const ObservationLayout layout(Bytes("gymnasium/Memory-v0", {8}, -1));
  const std::vector<std::uint8_t> bytes(8);
  std::vector<std::uint8_t> out(8);
  EXPECT_THROW(layout.Encode({.bytes = bytes}, 0, out), std::logic_error);
}

// ---- StateGatherer ----

// States given by frame pointers or as whole observations produce the network's own outputs.
void ExpectGatheredLikeDirect(const EnvironmentSpec& spec, const NetworkSpec& network_spec,
                              const std::vector<std::uint8_t>& observations, int count) {
  const ObservationLayout layout(spec);
  ASSERT_EQ(network_spec.input, layout.input());
  const auto plan = std::make_shared<const Plan>(MakePlan(network_spec));
  RandomStream random(3, "network");
  Parameters parameters(plan);
  parameters.Initialise(random);
  const auto network = CompileNetwork(plan, {.batch = count, .threads = 1});
  const auto actions = static_cast<std::size_t>(plan->outputs());
  const std::size_t size = layout.frames().observation_bytes();
  const auto n = static_cast<std::size_t>(count);

  std::vector<float> direct(n * actions);
  if (layout.input().takes_floats()) {
    const std::vector<float> vectors = AsFloats(observations);
    network->Forward(parameters, {.count = count, .vectors = vectors}, direct);
  } else {
    const Shape& shape = layout.input().shape;
    const std::size_t plane = static_cast<std::size_t>(shape.height * shape.width);
    std::vector<const std::uint8_t*> planes;
    for (std::size_t k = 0; k < observations.size(); k += plane) {
      planes.push_back(&observations[k]);
    }
    network->Forward(parameters, {.count = count, .frames = planes}, direct);
  }

  StateGatherer by_frames(layout), by_observation(layout);
  for (StateGatherer* const gatherer : {&by_frames, &by_observation}) {  // which Clear forgets
    gatherer->Add(std::span(observations).subspan(size, size));
    gatherer->Clear();
    EXPECT_EQ(gatherer->count(), 0);
  }
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<const std::uint8_t*> frames;
    for (int k = 0; k < layout.frames().stack; ++k) {
      frames.push_back(
          &observations[j * size + static_cast<std::size_t>(k) * layout.frames().frame_bytes]);
    }
    by_frames.Add(frames);
    by_observation.Add(std::span(observations).subspan(j * size, size));
  }
  for (const StateGatherer* const gatherer : {&by_frames, &by_observation}) {
    ASSERT_EQ(gatherer->count(), count);
    std::vector<float> outputs(n * actions);
    network->Forward(parameters, gatherer->Input(0, count), outputs);
    EXPECT_EQ(outputs, direct);
    // Only some of them.
    outputs.resize(2 * actions);
    network->Forward(parameters, gatherer->Input(count - 3, 2), outputs);
    const auto begin = direct.begin() + static_cast<std::ptrdiff_t>((n - 3) * actions);
    EXPECT_EQ(outputs, std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(2 * actions)));
  }
}

TEST(StateGatherer, OfStackedFramesGivesTheNetworksOwnOutputs) {
  RandomStream random(4, "observations");
  ExpectGatheredLikeDirect(Bytes("atari/pong", {4, 84, 84}, 0), NatureSpec({.actions = 3}),
                           RandomBytes(random, 4 * 4 * 84 * 84), 4);
}

TEST(StateGatherer, OfStackedFramesOfPlanesGivesTheNetworksOwnOutputs) {
  RandomStream random(4, "observations");
  EnvironmentSpec spec = Bytes("gymnasium/Stack-v0", {4, 9, 8, 3}, 3);
  spec.is_stack = true;
  ExpectGatheredLikeDirect(spec, ImageSpec({.input = FrameInput(12, 9, 8, 255), .actions = 3}),
                           RandomBytes(random, 5 * 4 * 9 * 8 * 3), 5);
}

TEST(StateGatherer, OfPlanesInOneFrameGivesTheNetworksOwnOutputs) {
  RandomStream random(5, "observations");
  auto bytes = RandomBytes(random, 9 * 600);
  for (std::uint8_t& byte : bytes) byte &= 1;
  ExpectGatheredLikeDirect(Bytes("minatar/space_invaders", {10, 10, 6}, 2, 1),
                           MinatarSpec({.channels = 6}), bytes, 9);
}

TEST(StateGatherer, OfVectorsGivesTheNetworksOwnOutputs) {
  RandomStream random(6, "observations");
  std::vector<float> vectors(7 * 5);
  random.FillUniform(vectors, -1, 1);
  std::vector<std::uint8_t> bytes(sizeof(float) * vectors.size());
  std::memcpy(bytes.data(), vectors.data(), bytes.size());
  const EnvironmentSpec spec = {.id = "test/vector",
                                .observation = Space::Floats({5}, {-1}, {1}),
                                .action = Space::Discrete(3)};
  ExpectGatheredLikeDirect(spec, MlpSpec({.inputs = 5, .hidden = {16}, .actions = 3}), bytes, 7);
}

TEST(StateGatherer, OfImagesOfFloatsGivesTheNetworksOwnOutputs) {
  RandomStream random(6, "observations");
  std::vector<float> images(7 * 2 * 9 * 9);
  random.FillUniform(images, 0, 255);
  std::vector<std::uint8_t> bytes(sizeof(float) * images.size());
  std::memcpy(bytes.data(), images.data(), bytes.size());
  const EnvironmentSpec spec = Floats({2, 9, 9}, 0, 0, 255);
  ExpectGatheredLikeDirect(spec, ImageSpec({.input = ImageInput(2, 9, 9, 255), .actions = 3}),
                           bytes, 7);
}

}  // namespace stableaa::observation_layout_test
