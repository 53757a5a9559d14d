#include "stableaa/rl/value/target_networks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/nn/plan.h"
#include "stableaa/testing/saved_bytes.h"

namespace stableaa::target_networks_test {

constexpr int kInputs = 6;

EnvironmentSpec VectorWorld() {
  return {.id = "test/vector",
          .observation = Space::Floats({kInputs}, {-1}, {1}),
          .action = Space::Discrete(3)};
}

std::shared_ptr<const Plan> SmallPlan() {
  return std::make_shared<const Plan>(
      MakePlan(MlpSpec({.inputs = kInputs, .hidden = {20, 17}, .actions = 3, .dueling = true})));
}

// States by id, each with its frame.
class World {
 public:
  explicit World(std::size_t states) : frames_(states) {
    RandomStream random(1, "states");
    for (std::size_t id = 0; id < states; ++id) {
      std::vector<float> vector(kInputs);
      random.FillUniform(vector, -1, 1);
      frames_[id].resize(sizeof(float) * kInputs);
      std::memcpy(frames_[id].data(), vector.data(), frames_[id].size());
      pointers_.push_back(frames_[id].data());
    }
  }

  FrozenState State(std::int64_t id) const {
    return {id, std::span(pointers_).subspan(static_cast<std::size_t>(id), 1)};
  }
  std::vector<FrozenState> States(const std::vector<std::int64_t>& ids) const {
    std::vector<FrozenState> states;
    for (const std::int64_t id : ids) states.push_back(State(id));
    return states;
  }
  std::span<const std::uint8_t> frame(std::int64_t id) const {
    return frames_[static_cast<std::size_t>(id)];
  }

 private:
  std::vector<std::vector<std::uint8_t>> frames_;
  std::vector<const std::uint8_t*> pointers_;
};

struct Bench {
  std::shared_ptr<const Plan> plan = SmallPlan();
  ObservationLayout layout{VectorWorld()};
  World world{600};
  std::vector<std::unique_ptr<Parameters>> drawn = {};
  RandomStream random{2, "networks"};

  const Parameters& NewParameters() {
    drawn.push_back(std::make_unique<Parameters>(plan));
    drawn.back()->Initialise(random);
    return *drawn.back();
  }

  TargetNetworks Make(int window, std::int64_t cached_states) const {
    return {plan, layout, window, cached_states};
  }

  std::vector<std::int64_t> Ids(std::size_t count, std::uint64_t below = 600) {
    std::vector<std::int64_t> ids;
    for (std::size_t k = 0; k < count; ++k) {
      ids.push_back(static_cast<std::int64_t>(random.Below(below)));
    }
    return ids;
  }

  // Evaluates one state at a time with a network that knows nothing of caches.
  std::vector<float> Direct(const Parameters& parameters, std::int64_t id) const {
    const auto network = CompileNetwork(plan, {.batch = 1, .threads = 1});
    std::vector<float> input(kInputs), outputs(3);
    std::memcpy(input.data(), world.frame(id).data(), sizeof(float) * kInputs);
    network->Forward(parameters, {.count = 1, .vectors = input}, outputs);
    return outputs;
  }
};

// Checks that the networks answering are `expected`, oldest first, bit for bit.
void ExpectAnswers(Bench& bench, TargetNetworks& networks, const std::vector<std::int64_t>& ids,
                   const std::vector<const Parameters*>& expected) {
  FrozenValues values;
  networks.Evaluate(bench.world.States(ids), values);
  ASSERT_EQ(values.networks, expected.size());
  ASSERT_EQ(values.states, ids.size());
  ASSERT_EQ(values.actions, 3U);
  ASSERT_EQ(networks.count(), static_cast<int>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t j = 0; j < ids.size(); ++j) {
      const auto found = values.Of(i, j);
      ASSERT_EQ(std::vector<float>(found.begin(), found.end()), bench.Direct(*expected[i], ids[j]))
          << "network " << i << ", state " << ids[j];
    }
  }
}

TEST(TargetNetworks, AnswerWithTheBitsOfTheirNetworksWhateverIsCached) {
  for (const std::int64_t cached : {0, 1, 7, 100, 600}) {
    Bench bench;
    TargetNetworks networks = bench.Make(2, cached);
    networks.Begin(bench.NewParameters());
    const Parameters& first = bench.NewParameters();
    const Parameters& second = bench.NewParameters();
    networks.Push(first);
    networks.Push(second);
    for (const std::size_t count : {1, 2, 3, 5, 16, 17, 127, 128, 129, 300}) {
      ExpectAnswers(bench, networks, bench.Ids(count), {&first, &second});
    }
  }
}

TEST(TargetNetworks, AnswerForEqualAndCollidingIdsInOneCall) {
  Bench bench;
  TargetNetworks networks = bench.Make(1, 10);
  const Parameters& only = bench.NewParameters();
  networks.Begin(only);
  const std::vector<std::int64_t> ids = {3, 13, 3, 23, 3, 13, 593, 3};  // all in one slot
  for (int repeat = 0; repeat < 3; ++repeat) ExpectAnswers(bench, networks, ids, {&only});
  ExpectAnswers(bench, networks, {13, 13, 4, 3}, {&only});
}

TEST(TargetNetworks, KeepTheNewestOfTheWindowOldestFirst) {
  Bench bench;
  TargetNetworks networks = bench.Make(3, 50);
  const Parameters& initial = bench.NewParameters();
  networks.Begin(initial);
  ExpectAnswers(bench, networks, bench.Ids(9), {&initial});

  std::vector<const Parameters*> window;
  for (int push = 0; push < 8; ++push) {
    const Parameters& newest = bench.NewParameters();
    networks.Push(newest);
    // The network from Begin is gone at once; the window fills up and then moves.
    window.push_back(&newest);
    if (window.size() > 3) window.erase(window.begin());
    EXPECT_TRUE(std::ranges::equal(networks.newest().block(), newest.block()));
    ExpectAnswers(bench, networks, bench.Ids(40, 60), window);
    ExpectAnswers(bench, networks, bench.Ids(40, 60), window);
  }
}

TEST(TargetNetworks, AreCopies) {
  Bench bench;
  TargetNetworks networks = bench.Make(2, 50);
  Parameters changing(bench.plan), before(bench.plan);
  changing.Initialise(bench.random);
  before.CopyFrom(changing);
  networks.Begin(changing);
  changing.Initialise(bench.random);
  ExpectAnswers(bench, networks, bench.Ids(9), {&before});
}

TEST(TargetNetworks, AfterKeepNewestGrowAgain) {
  Bench bench;
  TargetNetworks networks = bench.Make(3, 50);
  networks.Begin(bench.NewParameters());
  for (int push = 0; push < 4; ++push) networks.Push(bench.NewParameters());
  ExpectAnswers(bench, networks, bench.Ids(30),
                {bench.drawn[2].get(), bench.drawn[3].get(), bench.drawn[4].get()});
  networks.KeepNewest();
  std::vector<const Parameters*> window = {bench.drawn.back().get()};
  ExpectAnswers(bench, networks, bench.Ids(30), window);
  for (int push = 0; push < 4; ++push) {
    window.push_back(&bench.NewParameters());
    networks.Push(*window.back());
    if (window.size() > 3) window.erase(window.begin());
    ExpectAnswers(bench, networks, bench.Ids(30), window);
  }
}

TEST(TargetNetworks, KeepNewestOfTheFirstNetworkLetsItGoAtTheNextPushAllTheSame) {
  Bench bench;
  TargetNetworks networks = bench.Make(3, 50);
  networks.Begin(bench.NewParameters());
  networks.KeepNewest();
  const Parameters& newest = bench.NewParameters();
  networks.Push(newest);
  ExpectAnswers(bench, networks, bench.Ids(5), {&newest});
}

TEST(TargetNetworks, BeginForgetsAllOthers) {
  Bench bench;
  TargetNetworks networks = bench.Make(3, 50);
  networks.Begin(bench.NewParameters());
  for (int push = 0; push < 3; ++push) networks.Push(bench.NewParameters());
  const std::vector<std::int64_t> ids = bench.Ids(30);
  FrozenValues values;
  networks.Evaluate(bench.world.States(ids), values);
  const Parameters& again = bench.NewParameters();
  networks.Begin(again);
  ExpectAnswers(bench, networks, ids, {&again});
  const Parameters& newest = bench.NewParameters();
  networks.Push(newest);
  ExpectAnswers(bench, networks, ids, {&newest});
}

TEST(TargetNetworks, RunANetworkOncePerStateWhileItLives) {
  Bench bench;
  TargetNetworks networks = bench.Make(2, 600);
  networks.Begin(bench.NewParameters());
  networks.Push(bench.NewParameters());
  FrozenValues values;
  const auto states = bench.world.States({0, 5, 599});
  networks.Evaluate(states, values);
  EXPECT_EQ(networks.counts().asked, 3);
  EXPECT_EQ(networks.counts().computed, 3);
  networks.Evaluate(states, values);
  EXPECT_EQ(networks.counts().asked, 6);
  EXPECT_EQ(networks.counts().computed, 3);
  networks.Push(bench.NewParameters());  // has no cached values yet; the other one does
  networks.Evaluate(states, values);
  EXPECT_EQ(networks.counts().asked, 12);
  EXPECT_EQ(networks.counts().computed, 6);
  networks.Push(bench.NewParameters());  // takes over the oldest one's memory, but not its values
  networks.Evaluate(states, values);
  EXPECT_EQ(networks.counts().asked, 18);
  EXPECT_EQ(networks.counts().computed, 9);
}

TEST(TargetNetworks, WithoutACacheRunForEveryState) {
  Bench bench;
  TargetNetworks networks = bench.Make(1, 0);
  networks.Begin(bench.NewParameters());
  FrozenValues values;
  for (int repeat = 0; repeat < 3; ++repeat) networks.Evaluate(bench.world.States({1, 2}), values);
  EXPECT_EQ(networks.counts().asked, 6);
  EXPECT_EQ(networks.counts().computed, 6);
}

TEST(TargetNetworks, DoNotRunForWhatTheyWereToldToRemember) {
  Bench bench;
  TargetNetworks networks = bench.Make(3, 600);
  networks.Begin(bench.NewParameters());
  for (int push = 0; push < 3; ++push) networks.Push(bench.NewParameters());
  const std::vector<float> told(bench.Direct(*bench.drawn[3], 17).size(), 7);
  networks.Remember(0, 17, told);
  networks.Remember(1, 17, told);
  EXPECT_TRUE(networks.Knows(0, 17));
  EXPECT_TRUE(networks.Knows(1, 17));
  EXPECT_FALSE(networks.Knows(2, 17));
  EXPECT_FALSE(networks.Knows(0, 16));
  FrozenValues values;
  networks.Evaluate(bench.world.States({17}), values);
  EXPECT_EQ(networks.counts().asked, 3);
  EXPECT_EQ(networks.counts().computed, 1);
  EXPECT_TRUE(std::ranges::equal(values.Of(1, 0), told));
  const auto newest = values.Of(2, 0);
  EXPECT_EQ(std::vector<float>(newest.begin(), newest.end()), bench.Direct(*bench.drawn[3], 17));
  EXPECT_TRUE(networks.Knows(2, 17));
}

TEST(TargetNetworks, LoadWhatTheySaved) {
  for (int pushes = 0; pushes <= 5; ++pushes) {
    Bench bench;
    TargetNetworks networks = bench.Make(3, 40);
    networks.Begin(bench.NewParameters());
    for (int push = 0; push < pushes; ++push) networks.Push(bench.NewParameters());
    if (pushes == 5) networks.KeepNewest();
    const std::vector<std::byte> bytes = SavedBytes(networks);

    TargetNetworks loaded = bench.Make(3, 40);
    loaded.Begin(bench.NewParameters());
    for (int push = 0; push < 3; ++push) loaded.Push(bench.NewParameters());
    const std::vector<std::int64_t> ids = bench.Ids(50);
    FrozenValues stale;
    loaded.Evaluate(bench.world.States(ids), stale);
    ByteReader in(bytes, "networks");
    loaded.Load(in);
    in.ExpectEnd();
    EXPECT_EQ(SavedBytes(loaded), bytes);

    // They also continue alike: the network from Begin goes in both or in neither.
    const Parameters& next = bench.NewParameters();
    for (int more = 0; more < 2; ++more) {
      FrozenValues one, other;
      networks.Evaluate(bench.world.States(ids), one);
      loaded.Evaluate(bench.world.States(ids), other);
      EXPECT_EQ(one.networks, other.networks);
      EXPECT_EQ(one.values, other.values);
      networks.Push(next);
      loaded.Push(next);
    }
  }
}

TEST(TargetNetworks, RefuseToLoadWhatDoesNotFit) {
  Bench bench;
  TargetNetworks three = bench.Make(3, 10), two = bench.Make(2, 10);
  three.Begin(bench.NewParameters());
  for (int push = 0; push < 3; ++push) three.Push(bench.NewParameters());
  std::vector<std::byte> bytes = SavedBytes(three);
  ByteReader too_many(bytes, "networks");
  EXPECT_THROW(two.Load(too_many), Error);

  bytes.resize(bytes.size() - 1);
  ByteReader cut(bytes, "networks");
  EXPECT_THROW(three.Load(cut), Error);

  ByteWriter none;
  none.Bool(false);
  none.U64(0);
  ByteReader empty(none.bytes(), "networks");
  EXPECT_THROW(three.Load(empty), Error);
}

TEST(TargetNetworks, BeforeBeginAnswerNothing) {
  Bench bench;
  TargetNetworks networks = bench.Make(3, 10);
  FrozenValues values;
  EXPECT_THROW(networks.Evaluate(bench.world.States({1}), values), std::logic_error);
}

TEST(TargetNetworks, AnswerForNoStates) {
  Bench bench;
  TargetNetworks networks = bench.Make(2, 10);
  networks.Begin(bench.NewParameters());
  FrozenValues values;
  networks.Evaluate({}, values);
  EXPECT_EQ(values.networks, 1U);
  EXPECT_EQ(values.states, 0U);
}

TEST(TargetNetworks, OfFramesAnswerWithTheSameBitsInBatchesOfAnySize) {
  // Batches of convolutions use other kernels than single samples do.
  const EnvironmentSpec spec = {.id = "test/frames",
                                .observation = Space::Bytes({10, 10, 4}, 1),
                                .action = Space::Discrete(6),
                                .channel_axis = 2};
  const ObservationLayout layout(spec);
  const auto plan = std::make_shared<const Plan>(
      MakePlan(MinatarSpec({.channels = 4, .actions = 6, .dueling = true})));
  RandomStream random(3, "frames");
  Parameters parameters(plan);
  parameters.Initialise(random);
  std::vector<std::vector<std::uint8_t>> frames(150, std::vector<std::uint8_t>(400));
  std::vector<const std::uint8_t*> pointers;
  for (auto& frame : frames) {
    for (std::uint8_t& byte : frame) byte = static_cast<std::uint8_t>(random.Below(2));
    pointers.push_back(frame.data());
  }
  std::vector<FrozenState> states;
  for (std::size_t k = 0; k < frames.size(); ++k) {
    states.push_back({static_cast<std::int64_t>(k), std::span(pointers).subspan(k, 1)});
  }
  TargetNetworks together(plan, layout, 1, 0), alone(plan, layout, 1, 0);
  together.Begin(parameters);
  alone.Begin(parameters);
  FrozenValues all, one;
  together.Evaluate(states, all);
  for (std::size_t k = 0; k < states.size(); ++k) {
    alone.Evaluate(std::span(states).subspan(k, 1), one);
    ASSERT_TRUE(std::ranges::equal(one.Of(0, 0), all.Of(0, k))) << k;
  }
}

}  // namespace stableaa::target_networks_test
