// All classic problems; the tests of each are beside its source.

#include "stableaa/env/classic/classic.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/env/classic/classic_problems_test.h"
#include "stableaa/env/picture.h"
#include "stableaa/env/simulation.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/saved_bytes.h"

namespace stableaa::classic_test {

using classic_problems_test::Above;
using classic_problems_test::At;
using classic_problems_test::Below;
using classic_problems_test::CarAt;
using classic_problems_test::kInfinity;
using classic_problems_test::kNaN;
using classic_problems_test::kPi;
using classic_problems_test::ObservationOf;
using classic_problems_test::PendulumAt;
using classic_problems_test::RandomStep;

TEST(Classic, EveryNameHasASimulationWithinItsSpec) {
  EXPECT_EQ(ClassicNames(), (std::vector<std::string>{"cartpole", "mountain_car", "acrobot",
                                                      "pendulum", "mountain_car_continuous"}));
  for (const std::string& name : ClassicNames()) {
    SCOPED_TRACE(name);
    const EnvironmentSpec spec = ClassicEnvironmentSpec(name);
    EXPECT_EQ(spec.id, "classic/" + name);
    EXPECT_EQ(spec.observation.kind, Space::Kind::kBox);
    EXPECT_EQ(spec.observation.low.size(), spec.observation.size());
    if (spec.action.kind == Space::Kind::kDiscrete) {
      EXPECT_EQ(spec.action_names.size(), static_cast<std::size_t>(spec.action.n));
    }
    const auto simulation = MakeClassic(name);
    RandomStream random(11, "episodes");
    simulation->Reset(random);
    for (int t = 0; t < 3000; ++t) {
      const auto outcome = RandomStep(*simulation, spec, random);
      const std::vector<float> observation = ObservationOf(*simulation, spec.observation.size());
      for (std::size_t i = 0; i < observation.size(); ++i) {
        ASSERT_GE(observation[i], spec.observation.LowOf(i));
        ASSERT_LE(observation[i], spec.observation.HighOf(i));
      }
      if (outcome.terminated) simulation->Reset(random);
    }
  }
}

TEST(Classic, SpecsSayWhatGymnasiumSays) {
  const EnvironmentSpec cart = ClassicEnvironmentSpec("cartpole");
  EXPECT_EQ(cart.max_episode_steps, 500);
  EXPECT_EQ(cart.action, Space::Discrete(2));
  EXPECT_FALSE(cart.noop.has_value());
  EXPECT_EQ(cart.observation.HighOf(0), 4.8F);
  EXPECT_EQ(cart.observation.LowOf(1), -kInfinity);
  EXPECT_EQ(cart.protocol, "as Gymnasium's CartPole-v1");
  const EnvironmentSpec car = ClassicEnvironmentSpec("mountain_car");
  EXPECT_EQ(car.max_episode_steps, 200);
  EXPECT_EQ(car.noop, 1);
  EXPECT_EQ(car.observation.low, (std::vector<float>{-1.2F, -.07F}));
  EXPECT_EQ(car.observation.high, (std::vector<float>{.6F, .07F}));
  const EnvironmentSpec acrobot = ClassicEnvironmentSpec("acrobot");
  EXPECT_EQ(acrobot.max_episode_steps, 500);
  EXPECT_EQ(acrobot.noop, 1);
  EXPECT_EQ(acrobot.frames_per_second, 15);
  const EnvironmentSpec pendulum = ClassicEnvironmentSpec("pendulum");
  EXPECT_EQ(pendulum.max_episode_steps, 200);
  EXPECT_EQ(pendulum.noop, 0);
  EXPECT_EQ(pendulum.action, Space::Floats({1}, {-2}, {2}));
  const EnvironmentSpec continuous = ClassicEnvironmentSpec("mountain_car_continuous");
  EXPECT_EQ(continuous.max_episode_steps, 999);
  EXPECT_EQ(continuous.noop, 0);
  EXPECT_EQ(continuous.action, Space::Floats({1}, {-1}, {1}));
  EXPECT_EQ(continuous.observation, car.observation);
  EXPECT_EQ(continuous.protocol, "as Gymnasium's MountainCarContinuous-v0");
}

TEST(Classic, AnUnknownNameIsRefusedWithTheListOfKnownOnes) {
  const std::string part =
      "classic environment is 'carpole': expected cartpole, mountain_car, acrobot, pendulum, "
      "mountain_car_continuous";
  ExpectBadInput([] { ClassicEnvironmentSpec("carpole"); }, part);
  ExpectBadInput([] { MakeClassic("carpole"); }, part);
}

TEST(Classic, WhatWasSavedInMidEpisodeContinuesToTheSameBits) {
  for (const std::string& name : ClassicNames()) {
    SCOPED_TRACE(name);
    const EnvironmentSpec spec = ClassicEnvironmentSpec(name);
    const auto original = MakeClassic(name);
    const auto copy = MakeClassic(name);
    RandomStream random(12, "actions");
    original->Reset(random);
    for (int t = 0; t < 7; ++t) RandomStep(*original, spec, random);
    LoadBytes(*copy, SavedBytes(*original));
    RandomStream same = random;
    Picture picture, picture_of_copy;
    original->Draw(picture);
    copy->Draw(picture_of_copy);
    EXPECT_EQ(picture, picture_of_copy);
    for (int t = 0; t < 50; ++t) {
      const auto outcome = RandomStep(*original, spec, random);
      EXPECT_EQ(RandomStep(*copy, spec, same).reward, outcome.reward);
      ASSERT_EQ(SavedBytes(*copy), SavedBytes(*original));
    }
  }
}

TEST(Classic, WhatIsBrokenIsRefusedAndChangesNothingOrDoesNoHarm) {
  for (const std::string& name : ClassicNames()) {
    SCOPED_TRACE(name);
    const EnvironmentSpec spec = ClassicEnvironmentSpec(name);
    const auto simulation = MakeClassic(name);
    RandomStream random(13, "corruption");
    simulation->Reset(random);
    const std::vector<std::byte> good = SavedBytes(*simulation);
    for (std::size_t size = 0; size < good.size(); ++size) {
      EXPECT_THROW(LoadBytes(*simulation, std::span(good).first(size)), Error);
      ASSERT_EQ(SavedBytes(*simulation), good);
    }
    int accepted = 0;
    for (int trial = 0; trial < 300; ++trial) {
      std::vector<std::byte> bad = good;
      const std::size_t flips = 1 + random.Below(8);
      for (std::size_t i = 0; i < flips; ++i) {
        bad[random.Below(bad.size())] ^= static_cast<std::byte>(1U << random.Below(8));
      }
      LoadBytes(*simulation, good);
      try {
        LoadBytes(*simulation, bad);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
        ASSERT_EQ(SavedBytes(*simulation), good);
        continue;
      }
      ++accepted;
      for (int t = 0; t < 100; ++t) {
        ASSERT_TRUE(std::isfinite(RandomStep(*simulation, spec, random).reward));
      }
      for (const float value : ObservationOf(*simulation, spec.observation.size())) {
        ASSERT_TRUE(std::isfinite(value));
      }
      if (accepted % 20 == 0) {
        Picture picture;
        simulation->Draw(picture);
      }
    }
    EXPECT_GT(accepted, 0);
    EXPECT_LT(accepted, 300);
  }
}

TEST(Classic, StatesThatAreNoNumbersOrOutOfRangeAreRefused) {
  for (const double bad : {kNaN, kInfinity, -kInfinity}) {
    for (std::size_t i = 0; i < 4; ++i) {
      std::array<double, 4> v = {};
      v[i] = bad;
      EXPECT_THROW(At<CartPole>({v[0], v[1], v[2], v[3]}), Error);
      EXPECT_THROW(At<Acrobot>({v[0], v[1], v[2], v[3]}), Error);
      if (i < 2) {
        EXPECT_THROW(CarAt(v[0], v[1]), Error);
        EXPECT_THROW(At<MountainCarContinuous>({v[0], v[1]}), Error);
      }
      if (i < 3) {
        EXPECT_THROW(Pendulum().set_state({v[0], v[1], v[2]}), Error);
      }
    }
  }
  ExpectBadInput([] { CarAt(Above(.6), 0); }, "expected position in [-1.2, 0.6], found 0.60000");
  ExpectBadInput([] { CarAt(0, Below(-.07)); }, "expected velocity");
  ExpectBadInput(
      [] {
        At<MountainCarContinuous>({Above(.6F), 0});
      },
      "expected position in [-1.2000000476837158, 0.6000000238418579]");
  ExpectBadInput([] { At<MountainCarContinuous>({0, Below(-.07F)}); }, "expected velocity");
  ExpectBadInput([] { At<Acrobot>({Above(kPi), 0, 0, 0}); }, "expected theta1 in");
  ExpectBadInput([] { At<Acrobot>({0, 0, 0, Above(9 * kPi)}); }, "expected theta2_dot in");
  ExpectBadInput([] { PendulumAt(0, Above(8)); }, "expected theta_dot in [-8, 8]");
  ExpectBadInput([] { At<CartPole>({4.9, 0, 0, 0}); }, "expected x in [-4.8, 4.8], found 4.9");
  EXPECT_NO_THROW(PendulumAt(std::numeric_limits<double>::max(), 8));
}

TEST(Classic, PicturesShowTheStateOnWhite) {
  const auto draw = [](const Simulation& simulation) {
    Picture picture;
    simulation.Draw(picture);
    EXPECT_EQ(picture.at(0, 0), (Color{255, 255, 255}));
    return picture;
  };
  EXPECT_NE(draw(At<CartPole>({})), draw(At<CartPole>({0, 0, .1, 0})));
  EXPECT_NE(draw(At<CartPole>({})), draw(At<CartPole>({.1, 0, 0, 0})));
  EXPECT_NE(draw(CarAt(-.5, 0)), draw(CarAt(-.4, 0)));
  // The flag is elsewhere.
  EXPECT_NE(draw(CarAt(-.5, 0)), draw(At<MountainCarContinuous>({-.5, 0})));
  EXPECT_NE(draw(At<Acrobot>({})), draw(At<Acrobot>({0, 1, 0, 0})));
  EXPECT_NE(draw(PendulumAt(0, 0)), draw(PendulumAt(1, 0)));
  Pendulum turned;
  turned.set_state({0, 0, 1});
  EXPECT_NE(draw(PendulumAt(0, 0)), draw(turned));
  // Drawing over another picture gives the same result.
  Picture used;
  At<Acrobot>({1, 2, 0, 0}).Draw(used);
  PendulumAt(1, 0).Draw(used);
  EXPECT_EQ(used, draw(PendulumAt(1, 0)));
}

}  // namespace stableaa::classic_test
