#include "stableaa/env/registry.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string_view>

#include "stableaa/base/config/config.h"
#include "stableaa/base/machine.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/env/native_environment.h"
#include "stableaa/testing/message.h"

namespace stableaa::registry_test {

using ActionSet = EnvironmentOptions::ActionSet;
using Protocol = EnvironmentOptions::Protocol;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void ExpectRefused(const std::function<void()>& act) { EXPECT_NE(MessageOf(act), "no error"); }

std::string Refusal(const std::string& id, const EnvironmentOptions& options = {}) {
  return MessageOf([&] { MakeEnvironment(id, options); });
}

void ExpectPart(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

// --- ids

TEST(EnvironmentIds, AllThatAreNativeCanBeMade) {
  const std::vector<std::string> ids = {"classic/cartpole",
                                        "classic/mountain_car",
                                        "classic/acrobot",
                                        "classic/pendulum",
                                        "classic/mountain_car_continuous",
                                        "minatar/asterix",
                                        "minatar/breakout",
                                        "minatar/freeway",
                                        "minatar/seaquest",
                                        "minatar/space_invaders"};
  for (const std::string& id : ids) {
    EXPECT_EQ(MakeEnvironment(id)->spec().id, id);
    EXPECT_TRUE(IsNative(id)) << id;
  }
}

TEST(EnvironmentIds, CaseHyphensAndUnderscoresDoNotMatter) {
  const std::vector<std::pair<std::string, std::string>> spellings = {
      {"MinAtar/Space-Invaders", "minatar/space_invaders"},
      {"minatar/SpaceInvaders", "minatar/space_invaders"},
      {"Min-Atar/space__invaders_", "minatar/space_invaders"},
      {"MINATAR/BREAKOUT", "minatar/breakout"},
      {"Classic/CartPole", "classic/cartpole"},
      {"classic/cart-pole", "classic/cartpole"},
      {"classic/MountainCar", "classic/mountain_car"},
      {"_classic_/mountain-car", "classic/mountain_car"},
      {"Classic/MountainCarContinuous", "classic/mountain_car_continuous"},
      {"classic/Mountain-Car-Continuous", "classic/mountain_car_continuous"}};
  for (const auto& [spelling, id] : spellings) {
    EXPECT_EQ(MakeEnvironment(spelling)->spec().id, id) << spelling;
    EXPECT_TRUE(IsNative(spelling)) << spelling;
  }
  const std::vector<std::string> others = {"Atari/MsPacman", "ATARI/ms-pacman", "atari/tetris",
                                           "Gymnasium/LunarLander-v3"};
  for (const std::string& id : others) EXPECT_FALSE(IsNative(id)) << id;
}

// Without a Python, all there is to check is the message; it names the environment.
TEST(EnvironmentIds, AtariGamesAreForgivenTooButGymnasiumsOwnIdsAreTakenAsTheyAre) {
  // Without a Python, it gets only as far as the id's spelling.
  const auto failure = [](const std::string& id) -> std::string {
    try {
      MakeEnvironment(id, {.python = "/nonexistent/python3"});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kWorkFailed) << error.what();
      return error.what();
    }
    return "";
  };
  ExpectPart(failure("Atari/MsPacman"), "atari/ms_pacman");
  ExpectPart(failure("ATARI/Up-N-Down"), "atari/up_n_down");
  ExpectPart(failure("atari/YarsRevenge"), "atari/yars_revenge");
  ExpectPart(failure("gymnasium/Lunar_Lander-v3"), "gymnasium/Lunar_Lander-v3");
}

TEST(EnvironmentIds, AnUnknownOneComesWithWhatWasProbablyMeant) {
  ExpectPart(Refusal("minatar/brekout"), "minatar/breakout");
  ExpectPart(Refusal("minatr/asterix"), "minatar/asterix");
  ExpectPart(Refusal("clasic/cartpole"), "classic/cartpole");
  ExpectPart(Refusal("atri/ms_pacman"), "atari/ms_pacman");
  EXPECT_THROW(MakeEnvironment("classic/lunar_lander"), UnknownEnvironment);
  EXPECT_THROW(IsNative("minatar/brekout"), UnknownEnvironment);
}

TEST(EnvironmentIds, WhatIsNoIdIsRefusedInOneShortLine) {
  const std::vector<std::string> ids = {"",
                                        "/",
                                        "//",
                                        "minatar",
                                        "minatar/",
                                        "classic/",
                                        "atari/",
                                        "gymnasium/",
                                        "/breakout",
                                        "minatar//breakout",
                                        "minatar/breakout/",
                                        " minatar/breakout",
                                        "minatar/-",
                                        "minatar/_",
                                        "-/-",
                                        "minatar/break\nout",
                                        std::string("minatar/breakout\0", 17),
                                        std::string("atari/po\0ng", 11),
                                        "minatar/\xff\xfe",
                                        "\xc3\x28/breakout",
                                        "atari/\xed\xa0\x80",
                                        "gymnasium/\x80",
                                        std::string(100'000, 'a'),
                                        fmt::format("minatar/{}", std::string(100'000, 'b')),
                                        std::string(100'000, '/')};
  for (const std::string& id : ids) {
    const std::string message = Refusal(id);
    EXPECT_LT(message.size(), 300U);
    EXPECT_TRUE(IsCleanUtf8(message)) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    ExpectPart(message, "there is no environment '");
    ExpectRefused([&] { IsNative(id); });
  }
}

// --- options

TEST(EnvironmentOptions, OutOfRangeIsRefused) {
  const std::vector<std::pair<EnvironmentOptions, std::string>> wrong = {
      {{.num_envs = 0}, "environments, found 0"},
      {{.num_envs = -1}, "found -1"},
      {{.num_envs = kMaxEnvironments + 1}, "found 65537"},
      {{.sticky = -.5}, "env.sticky"},
      {{.sticky = -1e-300}, "env.sticky"},
      {{.sticky = 2}, "env.sticky"},
      {{.sticky = -2}, "env.sticky"},
      {{.sticky = kNaN}, "env.sticky"},
      {{.sticky = kInfinity}, "env.sticky"},
      {{.max_episode_steps = -1}, "env.max_episode_steps"},
      {{.max_episode_steps = (std::int64_t{1} << 40) + 1}, "env.max_episode_steps"},
      {{.workers = -1}, "env.workers"},
      {{.workers = 257}, "env.workers"},
      {{.timeout_seconds = 0}, "env.timeout_seconds"},
      {{.timeout_seconds = kNaN}, "env.timeout_seconds"},
      {{.kwargs = ""}, "env.kwargs: expected a JSON object, found ''"},
      {{.kwargs = "{"}, "env.kwargs"},
      {{.kwargs = "[1]"}, "env.kwargs"},
  };
  for (const auto& pair : wrong) {
    const EnvironmentOptions& options = pair.first;
    const std::string& part = pair.second;
    ExpectPart(MessageOf([&] { options.Validate(); }), part);
    ExpectPart(Refusal("minatar/breakout", options), part);
    ExpectPart(Refusal("classic/cartpole", options), part);
    ExpectPart(Refusal("atari/pong", options), part);
  }
}

TEST(EnvironmentOptions, TheEndsOfTheRangesAreAllowed) {
  for (const double sticky : {-1.0, 0.0, 1.0}) {
    EXPECT_NO_THROW(EnvironmentOptions{.sticky = sticky}.Validate());
  }
  EXPECT_NO_THROW(EnvironmentOptions{.num_envs = kMaxEnvironments}.Validate());
  EXPECT_NO_THROW(EnvironmentOptions{.max_episode_steps = std::int64_t{1} << 40}.Validate());
  EXPECT_NO_THROW(EnvironmentOptions{.workers = 256}.Validate());
}

TEST(EnvironmentOptions, WorkersComeWithTheNumberOfAtaris) {
  const auto count = [](const std::string& family, int num_envs, int workers = 0) {
    return WorkerCount(family, {.num_envs = num_envs, .workers = workers});
  };
  EXPECT_EQ(count("atari", 1), 1);
  EXPECT_EQ(count("atari", 7), 1);
  EXPECT_EQ(count("atari", 8), std::min(2, CoreCount()));
  EXPECT_EQ(count("atari", 1024), std::min(256, CoreCount()));
  EXPECT_EQ(count("gymnasium", 64), 1);
  EXPECT_EQ(count("gymnasium", 64, 3), 3);
  EXPECT_EQ(count("atari", 64, 1), 1);
}

TEST(EnvironmentOptions, KeysParseIntoTheFields) {
  EnvironmentOptions options;
  Config config;
  Describe(config, options);
  config.LoadText(
      "[env]\nsticky = 0.25\nramping = false\nactions = 'minimal'\nprotocol = 'machado'\n"
      "max_episode_steps = 99\npython = '/usr/bin/python3'\nworkers = 3\ntimeout_seconds = 1.5\n",
      "test");
  EXPECT_EQ(options.sticky, .25);
  EXPECT_FALSE(options.ramping);
  EXPECT_EQ(options.actions, ActionSet::kMinimal);
  EXPECT_EQ(options.protocol, Protocol::kMachado);
  EXPECT_EQ(options.max_episode_steps, 99);
  EXPECT_EQ(options.python, "/usr/bin/python3");
  EXPECT_EQ(options.workers, 3);
  EXPECT_EQ(options.timeout_seconds, 1.5);
  config.Set("env.actions=full");
  config.Set("env.protocol=authors");
  EXPECT_EQ(options.actions, ActionSet::kFull);
  EXPECT_EQ(options.protocol, Protocol::kAuthors);
  ExpectRefused([&] { config.Set("env.sticky=1.5"); });
  ExpectRefused([&] { config.Set("env.actions=all"); });
  ExpectRefused([&] { config.Set("env.max_episode_steps=-1"); });
}

TEST(EnvironmentOptions, DefaultsAreInRangeAndReadBack) {
  EnvironmentOptions options;
  EXPECT_NO_THROW(options.Validate());
  Config config;
  Describe(config, options);
  EXPECT_NO_THROW(config.LoadText(config.ToToml(), "defaults"));
  EXPECT_EQ(options.sticky, -1);
  EXPECT_EQ(options.protocol, Protocol::kNature);
  EXPECT_EQ(options.kwargs, "{}");
  EXPECT_EQ(config.Keys().size(), 10U);
  for (const ConfigKey& key : config.Keys()) {
    EXPECT_TRUE(key.key.starts_with("env.")) << key.key;
    EXPECT_FALSE(key.meaning.empty()) << key.key;
    EXPECT_EQ(key.value, key.default_value) << key.key;
  }
}

// --- what the options do

// The sums of everything a run shows, if environment i takes action (step + i) % n in every step.
std::vector<double> Digest(const std::string& id, const EnvironmentOptions& options, int steps) {
  const auto environment = MakeEnvironment(id, options);
  environment->Reset(3);
  std::vector<double> digest;
  for (int step = 0; step < steps; ++step) {
    const std::vector<std::int32_t> action = {step % environment->spec().action.n};
    environment->Step({.indices = action});
    double sum = environment->rewards()[0] * 1e6;
    double weight = 1;
    for (const std::uint8_t byte : environment->observations().bytes) sum += byte * (weight += 1);
    digest.push_back(sum);
  }
  return digest;
}

std::size_t PaddleOf(const Environment& environment) {
  for (std::size_t x = 0; x < 10; ++x) {
    if (environment.observations().bytes[(90 + x) * 4] != 0) return x;
  }
  return 99;
}

TEST(EnvironmentOptions, StickyIsTheProbabilityThatTheActionBeforeIsRepeated) {
  const auto moves = [](double sticky) {
    int moved = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      static const std::vector<std::int32_t> kLeft = {1};
      const auto environment = MakeEnvironment("minatar/breakout", {.sticky = sticky});
      environment->Reset(seed);
      const std::size_t before = PaddleOf(*environment);
      environment->Step({.indices = kLeft});
      if (PaddleOf(*environment) != before) ++moved;
    }
    return moved;
  };
  EXPECT_EQ(moves(0), 200);
  EXPECT_EQ(moves(1), 0);
  // Binomial(200, 0.5) and, by default, Binomial(200, 0.9): within 4.5 standard deviations, which
  // other seeds exceed with probability 7e-6.
  EXPECT_NEAR(moves(.5), 100, 32);
  EXPECT_NEAR(moves(-1), 180, 19);
  EXPECT_EQ(Digest("minatar/asterix", {}, 300), Digest("minatar/asterix", {.sticky = .1}, 300));
  EXPECT_NE(Digest("minatar/asterix", {}, 300), Digest("minatar/asterix", {.sticky = 0}, 300));
  ExpectPart(MakeEnvironment("minatar/asterix", {.sticky = .25})->spec().protocol, "sticky 0.25");
}

// In Space Invaders each destroyed wave makes the next one faster; Asterix ramps every 100 steps
// and Seaquest when the submarine surfaces.
TEST(EnvironmentOptions, RampingMakesAsterixHarderAndLeavesBreakoutAsItIs) {
  const EnvironmentOptions plain = {.ramping = false};
  EXPECT_NE(Digest("minatar/asterix", {}, 1000), Digest("minatar/asterix", plain, 1000));
  EXPECT_EQ(Digest("minatar/breakout", {}, 1000), Digest("minatar/breakout", plain, 1000));
  EXPECT_EQ(Digest("minatar/freeway", {}, 1000), Digest("minatar/freeway", plain, 1000));
  ExpectPart(MakeEnvironment("minatar/seaquest")->spec().protocol, ", ramping");
  ExpectPart(MakeEnvironment("minatar/seaquest", plain)->spec().protocol, "no ramping");
}

TEST(EnvironmentOptions, MinimalActionsAreThoseThatDoSomething) {
  const auto number = [](const std::string& id, ActionSet actions) {
    return MakeEnvironment(id, {.actions = actions})->spec().action.n;
  };
  const std::vector<std::pair<std::string, int>> minimal = {{"minatar/asterix", 5},
                                                            {"minatar/breakout", 3},
                                                            {"minatar/freeway", 3},
                                                            {"minatar/seaquest", 6},
                                                            {"minatar/space_invaders", 4}};
  for (const auto& [id, actions] : minimal) {
    EXPECT_EQ(number(id, ActionSet::kUsual), 6) << id;
    EXPECT_EQ(number(id, ActionSet::kFull), 6) << id;
    EXPECT_EQ(number(id, ActionSet::kMinimal), actions) << id;
  }
  const auto environment =
      MakeEnvironment("minatar/breakout", {.sticky = 0, .actions = ActionSet::kMinimal});
  const std::vector<std::string> names = {"noop", "left", "right"};
  EXPECT_EQ(environment->spec().action_names, names);
  environment->Reset(1);
  const std::size_t start = PaddleOf(*environment);
  const std::vector<std::int32_t> right = {2}, left = {1}, up_of_the_full_set = {4};
  environment->Step({.indices = right});
  EXPECT_EQ(PaddleOf(*environment), start + 1);
  environment->Step({.indices = left});
  EXPECT_EQ(PaddleOf(*environment), start);
  ExpectRefused([&] { environment->Step({.indices = up_of_the_full_set}); });
}

TEST(EnvironmentOptions, ALimitIsReachedAndZeroIsTheUsualOne) {
  const auto environment = MakeEnvironment("classic/mountain_car", {.max_episode_steps = 17});
  EXPECT_EQ(environment->spec().max_episode_steps, 17);
  environment->Reset(1);
  const std::vector<std::int32_t> action = {1};
  for (int step = 1; step <= 34; ++step) {
    environment->Step({.indices = action});
    EXPECT_EQ(environment->truncated()[0], step % 17 == 0 ? 1 : 0);
  }
  for (const EnvironmentListing& listing : ListEnvironments()) {
    if (!listing.id.starts_with("classic/") && !listing.id.starts_with("minatar/")) continue;
    const auto usual = MakeEnvironment(listing.id);
    EXPECT_EQ(usual->spec().max_episode_steps, listing.max_episode_steps);
    EXPECT_GT(listing.max_episode_steps, 0);
    // A limit longer than the default is allowed too.
    EXPECT_EQ(
        MakeEnvironment(listing.id, {.max_episode_steps = 1'000'000})->spec().max_episode_steps,
        1'000'000);
  }
}

TEST(EnvironmentOptions, NumberAndRenderReachTheEnvironment) {
  const auto environment = MakeEnvironment("classic/acrobot", {.num_envs = 5, .render = true});
  EXPECT_EQ(environment->num_envs(), 5);
  EXPECT_TRUE(environment->renders());
  EXPECT_EQ(environment->rewards().size(), 5U);
}

// --- the list

TEST(ListEnvironments, HasThePapersTwentyGames) {
  const std::vector<std::string> games = {
      "space_invaders", "enduro",      "breakout",       "crazy_climber",   "alien",
      "battle_zone",    "berzerk",     "bowling",        "chopper_command", "demon_attack",
      "frostbite",      "ice_hockey",  "kung_fu_master", "ms_pacman",       "pitfall",
      "pong",           "private_eye", "robotank",       "up_n_down",       "yars_revenge"};
  std::set<std::string> expected, found;
  for (const std::string& game : games) expected.insert(fmt::format("atari/{}", game));
  for (const EnvironmentListing& listing : ListEnvironments()) {
    if (!listing.id.starts_with("atari/") || listing.id.ends_with(">")) continue;
    EXPECT_TRUE(found.insert(listing.id).second) << listing.id;
    EXPECT_FALSE(IsNative(listing.id));
  }
  EXPECT_EQ(expected.size(), 20U);
  EXPECT_EQ(found, expected);
}

TEST(ListEnvironments, DescribesNativeOnesAsTheyAre) {
  int native = 0;
  for (const EnvironmentListing& listing : ListEnvironments()) {
    if (!listing.id.starts_with("classic/") && !listing.id.starts_with("minatar/")) continue;
    ++native;
    const auto environment = MakeEnvironment(listing.id);
    EXPECT_EQ(listing.observation, Describe(environment->spec().observation));
    EXPECT_EQ(listing.actions, Describe(environment->spec().action));
    const bool sticks = std::ranges::count(listing.options, "env.sticky") == 1;
    EXPECT_EQ(sticks, listing.id.starts_with("minatar/"));
  }
  EXPECT_EQ(native, 10);
}

TEST(ListEnvironments, NamesOnlyOptionsThatExist) {
  EnvironmentOptions options;
  Config config;
  Describe(config, options);
  std::set<std::string> keys, named;
  for (const ConfigKey& key : config.Keys()) keys.insert(key.key);
  for (const EnvironmentListing& listing : ListEnvironments()) {
    EXPECT_FALSE(listing.options.empty()) << listing.id;
    named.insert(listing.options.begin(), listing.options.end());
  }
  EXPECT_EQ(named, keys);
}

TEST(EnvironmentKeys, AreThoseThatMatter) {
  using Keys = std::vector<std::string>;
  EXPECT_EQ(EnvironmentKeys("Classic/CartPole"), Keys{"env.max_episode_steps"});
  EXPECT_EQ(EnvironmentKeys("minatar/asterix"),
            (Keys{"env.sticky", "env.ramping", "env.actions", "env.max_episode_steps"}));
  EXPECT_EQ(EnvironmentKeys("minatar/breakout"),
            (Keys{"env.sticky", "env.actions", "env.max_episode_steps"}));
  EXPECT_EQ(EnvironmentKeys("atari/pong"),
            (Keys{"env.protocol", "env.sticky", "env.actions", "env.max_episode_steps",
                  "env.python", "env.workers", "env.timeout_seconds", "env.kwargs"}));
  EXPECT_EQ(EnvironmentKeys("gymnasium/LunarLander-v3"),
            (Keys{"env.max_episode_steps", "env.python", "env.workers", "env.timeout_seconds",
                  "env.kwargs", "env.wrappers"}));
  EXPECT_THROW(EnvironmentKeys("minatar/pong"), Error);
}

TEST(EnvironmentKeys, OnlyThreeGamesRamp) {
  for (const char* const game : {"asterix", "breakout", "freeway", "seaquest", "space_invaders"}) {
    const std::string id = fmt::format("minatar/{}", game);
    const std::vector<std::string> keys = EnvironmentKeys(id);
    const bool ramps = std::ranges::find(keys, "env.ramping") != keys.end();
    // Breakout and Freeway are the same games either way.
    if (!ramps) {
      EXPECT_EQ(Digest(id, {.ramping = true}, 5000), Digest(id, {.ramping = false}, 5000)) << id;
    }
  }
}

TEST(ResolvePython, WhatWasConfiguredIsTaken) {
  EXPECT_EQ(ResolvePython("/opt/python"), "/opt/python");
  EXPECT_FALSE(ResolvePython("").empty());
}

TEST(IsDefaultPython, IsTheOneThatIsTakenWithoutTheKey) {
  const std::string usual = ResolvePython("");
  EXPECT_TRUE(IsDefaultPython(""));
  EXPECT_TRUE(IsDefaultPython(usual));
  EXPECT_FALSE(IsDefaultPython("/opt/python"));
  EXPECT_FALSE(IsDefaultPython("./python3"));
  EXPECT_FALSE(IsDefaultPython("/no/such/../folder/python3"));
}

// --- a program's own

// Reward 1 for action 1; ends after the third.
class Counter : public Simulation {
 public:
  void Reset(RandomStream& /*random*/) override { count_ = 0; }
  Outcome Step(Action action, RandomStream& /*random*/) override {
    count_ += action.index;
    return {.reward = static_cast<double>(action.index), .terminated = count_ == 3};
  }
  void Observe(Observation out) const override { out.floats[0] = static_cast<float>(count_); }
  void Save(ByteWriter& out) const override { out.I64(count_); }
  void Load(ByteReader& in) override { count_ = in.I64(); }

 private:
  std::int64_t count_ = 0;
};

EnvironmentSpec CounterSpec(const std::string& id) {
  return {.id = id,
          .observation = Space::Floats({1}, {0}, {3}),
          .action = Space::Discrete(2),
          .max_episode_steps = 100};
}

std::unique_ptr<Simulation> MakeCounter() { return std::make_unique<Counter>(); }

// Environments cannot be unregistered, so each test uses its own ids.
TEST(RegisterEnvironment, ASimulationIsAnEnvironmentLikeAllOthers) {
  EXPECT_THROW(MakeEnvironment("test/counter_one"), UnknownEnvironment);
  RegisterEnvironment(CounterSpec("test/counter_one"), MakeCounter);
  EXPECT_EQ(NormalizedId("Test/Counter-One"), "test/counter_one");
  EXPECT_TRUE(IsNative("test/counter_one"));
  EXPECT_EQ(EnvironmentKeys("test/counter_one"), std::vector<std::string>{"env.max_episode_steps"});

  const auto environment =
      MakeEnvironment("test/CounterOne", {.num_envs = 2, .max_episode_steps = 4});
  EXPECT_EQ(environment->spec().id, "test/counter_one");
  environment->Reset(1);
  const std::vector<std::int32_t> actions = {0, 1};
  for (int step = 1; step <= 4; ++step) {
    environment->Step({.indices = actions});
    EXPECT_EQ(environment->truncated()[0] != 0, step == 4);
    EXPECT_EQ(environment->terminated()[1] != 0, step == 3);
  }
}

TEST(RegisterEnvironment, TheListHasIt) {
  RegisterEnvironment(CounterSpec("test/listed"), MakeCounter);
  const std::vector<EnvironmentListing> list = ListEnvironments();
  const auto listing = std::ranges::find(list, "test/listed", &EnvironmentListing::id);
  ASSERT_NE(listing, list.end());
  EXPECT_EQ(listing->actions, "2 actions");
  EXPECT_EQ(listing->max_episode_steps, 100);
}

TEST(RegisterEnvironment, ErrorsOfUnknownIdsNameIt) {
  RegisterEnvironment(CounterSpec("test/suggested"), MakeCounter);
  ExpectPart(Refusal("test/sugested"), "; did you mean 'test/suggested'?");
  ExpectPart(Refusal("nothing/like/it"), "test/suggested");
}

TEST(RegisterEnvironment, RefusesBadIdsAndKeysAndDuplicates) {
  const auto refusal = [](const std::string& id) {
    return MessageOf([&] { RegisterEnvironment(CounterSpec(id), MakeCounter); });
  };
  for (const std::string id : {"", "counter", "/counter", "test/", "test/Counter", "test/a/b",
                               "test/coun-ter", "test/_", "_/counter", "test/a b"}) {
    ExpectPart(refusal(id), "expected family/name");
    EXPECT_FALSE(CanBeRegistered(id)) << id;
  }
  for (const std::string id : {"classic/counter", "min_atar/counter", "atari/x", "gymnasium/x"}) {
    ExpectPart(refusal(id), "are the library's");
    EXPECT_FALSE(CanBeRegistered(id)) << id;
  }
  EXPECT_TRUE(CanBeRegistered("test/twice"));
  EXPECT_EQ(refusal("test/twice"), "no error");
  EXPECT_EQ(refusal("test/twice"), "test/twice: there is an environment of that name already");
  EXPECT_EQ(refusal("te_st/twi_ce"), "te_st/twi_ce: there is an environment of that name already");
  EXPECT_EQ(MessageOf([] { RegisterEnvironment({.id = "test/unmade", .make = {}}); }),
            "test/unmade: nothing makes it");
  const auto make = [](const EnvironmentOptions&) { return std::unique_ptr<Environment>(); };
  ExpectPart(MessageOf([&] {
               RegisterEnvironment({.id = "test/key", .make = make, .keys = {"env.stiky"}});
             }),
             "test/key: there is no key 'env.stiky'; did you mean 'env.sticky'?");
  ExpectPart(Refusal("test/key"), "there is no environment");
}

TEST(RegisterEnvironment, WhatMakeGivesHasToBeWhatWasAskedFor) {
  const auto at_most_two = [](const EnvironmentOptions& options) {
    return std::make_unique<NativeEnvironment>(CounterSpec("test/two"),
                                               std::min(options.num_envs, 2), MakeCounter);
  };
  const std::vector<std::string> keys = {"env.sticky"};
  RegisterEnvironment({.id = "test/two", .make = at_most_two, .keys = keys});
  EXPECT_EQ(MakeEnvironment("test/two", {.num_envs = 2})->num_envs(), 2);
  EXPECT_EQ(Refusal("test/two", {.num_envs = 3}),
            "test/two: expected 3 of it from its make, found 2 of 'test/two'");
  EXPECT_EQ(EnvironmentKeys("test/two"), keys);
}

TEST(RegisterEnvironment, WithoutDrawItHasNoPictures) {
  RegisterEnvironment(CounterSpec("test/unseen"), MakeCounter);
  const auto environment = MakeEnvironment("test/unseen", {.render = true});
  EXPECT_EQ(MessageOf([&] { environment->Reset(1); }), "this environment draws no pictures");
}

// --- spaces

TEST(Space, SaysWhatItIs) {
  EXPECT_EQ(Describe(Space::Discrete(6)), "6 actions");
  EXPECT_EQ(Describe(Space::Bytes({10, 10, 4}, 1)), "uint8 10x10x4 in [0, 1]");
  EXPECT_EQ(Describe(Space::Bytes({4, 84, 84})), "uint8 4x84x84 in [0, 255]");
  EXPECT_EQ(Describe(Space::Floats({1}, {-2}, {2})), "float 1 in [-2, 2]");
  EXPECT_EQ(Describe(Space::Floats({2}, {-2, -1}, {2, 1})), "float 2");
  const auto infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Describe(Space::Floats({3}, {-infinity}, {infinity})), "float 3");
}

TEST(Space, BoundsAreOfEachElementOrOneForAll) {
  const Space each = Space::Floats({2}, {-2, -1}, {2, 1});
  EXPECT_EQ(each.LowOf(1), -1);
  EXPECT_EQ(each.HighOf(0), 2);
  const Space all = Space::Bytes({2, 3}, 7);
  EXPECT_EQ(all.size(), 6U);
  EXPECT_EQ(all.LowOf(5), 0);
  EXPECT_EQ(all.HighOf(5), 7);
  EXPECT_EQ(Space::Discrete(6).size(), 1U);
}

}  // namespace stableaa::registry_test
