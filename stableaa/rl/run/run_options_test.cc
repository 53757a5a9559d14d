#include "stableaa/rl/run/run_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/base/machine.h"
#include "stableaa/core/error.h"
#include "stableaa/rl/run/built_in_configs.h"
#include "stableaa/testing/message.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::run_options_test {

namespace fs = std::filesystem;

RunOptions Loaded(const std::string& env, const std::string& preset,
                  const std::vector<std::string>& overrides = {}) {
  RunOptions options;
  Config config;
  Describe(config, options);
  LoadPreset(config, env, preset);
  for (const std::string& assignment : overrides) config.Set(assignment);
  return options;
}

std::string RefusalOf(const std::function<void()>& act) {
  const std::string message = MessageOf(act);
  EXPECT_NE(message, "no error");
  return message;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// ---- Families and presets ----

TEST(Presets, AreHeadBackupAndMixerAsPublished) {
  struct Published {
    std::string name;
    HeadKind head;
    AgentBackup backup;
    MixerKind mixer;
  };
  const std::vector<Published> published = {
      {"averaged-dqn", HeadKind::kPlain, AgentBackup::kMax, MixerKind::kAverage},
      {"deepmellow", HeadKind::kPlain, AgentBackup::kMellowmax, MixerKind::kSingle},
      {"double-dqn", HeadKind::kPlain, AgentBackup::kDouble, MixerKind::kSingle},
      {"dqn", HeadKind::kPlain, AgentBackup::kMax, MixerKind::kSingle},
      {"dueling-dqn", HeadKind::kDueling, AgentBackup::kMax, MixerKind::kSingle},
      {"dueling-mellowmax", HeadKind::kDueling, AgentBackup::kMellowmax, MixerKind::kSingle},
      {"raa", HeadKind::kDueling, AgentBackup::kMax, MixerKind::kRaa},
      {"stable-aa", HeadKind::kDueling, AgentBackup::kMellowmax, MixerKind::kStable},
      {"stable-reg", HeadKind::kDueling, AgentBackup::kMax, MixerKind::kStable},
  };
  std::vector<std::string> names;
  for (const Preset& preset : Presets()) {
    if (!IsControl(Loaded("", preset.name).agent.algorithm)) names.push_back(preset.name);
    EXPECT_FALSE(preset.summary.empty());
    EXPECT_FALSE(preset.summary.starts_with("#")) << preset.summary;
    EXPECT_FALSE(Contains(preset.summary, "\n"));
  }
  std::vector<std::string> expected;
  for (const Published& one : published) expected.push_back(one.name);
  EXPECT_EQ(names, expected);

  for (const Published& one : published) {
    for (const char* const env : {"", "atari/pong", "minatar/asterix", "classic/cartpole"}) {
      SCOPED_TRACE(one.name + " " + env);
      const AgentOptions agent = Loaded(env, one.name).agent;
      EXPECT_EQ(agent.head, one.head);
      EXPECT_EQ(agent.backup, one.backup);
      EXPECT_EQ(agent.mixer, one.mixer);
      EXPECT_EQ(agent.window(), one.mixer == MixerKind::kSingle ? 1 : 5);
      EXPECT_EQ(agent.BetaAt(0), agent.mixes() ? .1 : 0);
      EXPECT_TRUE(!agent.mixes() || agent.eta == .1);
      EXPECT_TRUE(agent.backup != AgentBackup::kMellowmax || agent.omega == 5);
      EXPECT_EQ(agent.weights.refresh, WeightRefresh::kSync);
      EXPECT_EQ(agent.weights.eta, EtaChoice::kFixed);
      EXPECT_FALSE(agent.weights.safeguard);
      EXPECT_EQ(agent.restart, WindowRestart::kNever);
      EXPECT_EQ(agent.n_step, 1);
    }
  }
}

// The keys that a preset sets, with those it builds on.
std::set<std::string> KeysOf(const std::string& preset) {
  RunOptions options;
  Config keys;
  Describe(keys, options);
  LoadPreset(keys, "", preset);
  std::set<std::string> set;
  for (const ConfigKey& key : keys.Keys()) {
    if (key.origin != "default" && key.key != "train.preset") set.insert(key.key);
  }
  return set;
}

// Agents differ only in what their names say.
TEST(Presets, TouchNothingButTheAgent) {
  const std::set<std::string> of_td3 = KeysOf("td3");
  for (const Preset& preset : Presets()) {
    const bool is_control = IsControl(Loaded("", preset.name).agent.algorithm);
    for (const std::string& key : KeysOf(preset.name)) {
      // Those of actor-critics come with the values of their authors, which are all TD3's.
      EXPECT_TRUE(key.starts_with("agent.") ||
                  (is_control && (key == "control.window" || of_td3.contains(key))))
          << preset.name << ' ' << key;
    }
  }
}

TEST(Presets, ForContinuousControlAreAsPublished) {
  for (const char* const name :
       {"ddpg", "td3", "td3-raa", "td3-stable", "sac", "sac-raa", "sac-stable"}) {
    SCOPED_TRACE(name);
    const RunOptions options = Loaded("gymnasium/HalfCheetah-v5", name);
    EXPECT_EQ(options.agent.hidden, (std::vector<double>{256, 256}));
    EXPECT_EQ(options.train.batch, 256);
    EXPECT_EQ(options.train.update_interval_steps, 1);
    EXPECT_EQ(options.optimizer.kind, OptimizerKind::kAdam);
    EXPECT_EQ(options.optimizer.learning_rate, 3e-4);
    EXPECT_EQ(options.control.polyak, .005);
    EXPECT_EQ(options.agent.discount, .99);
    EXPECT_EQ(options.agent.loss, LossKind::kSquared);
    EXPECT_EQ(options.replay.size, 1'000'000);
    EXPECT_EQ(options.eval.epsilon, 0);
    const bool is_sac = options.agent.algorithm == AgentAlgorithm::kSac;
    EXPECT_EQ(is_sac, std::string(name).starts_with("sac"));
    EXPECT_EQ(options.replay.start, is_sac ? 10'000 : 25'000);
    EXPECT_EQ(options.control.policy_delay,
              options.agent.algorithm == AgentAlgorithm::kTd3 ? 2 : 1);
    if (is_sac) {
      EXPECT_FALSE(options.control.temperature);  // learnt
    } else {
      EXPECT_EQ(options.control.exploration_noise, .1);
    }
  }
  const RunOptions td3 = Loaded("", "td3");
  EXPECT_EQ(td3.control.target_noise, .2);
  EXPECT_EQ(td3.control.target_noise_clip, .5);
  EXPECT_EQ(td3.agent.mixer, MixerKind::kSingle);
  const RunOptions raa = Loaded("", "td3-raa"), stable = Loaded("", "td3-stable");
  EXPECT_EQ(raa.agent.mixer, MixerKind::kRaa);
  EXPECT_EQ(raa.agent.targets, 5);
  EXPECT_EQ(raa.agent.damping, .1);
  EXPECT_EQ(raa.agent.eta, 1e-3);
  EXPECT_EQ(raa.agent.weights.refresh, WeightRefresh::kUpdate);
  EXPECT_EQ(raa.control.window, WindowKind::kConsecutive);
  EXPECT_EQ(stable.agent.mixer, MixerKind::kStable);
  EXPECT_EQ(stable.agent.weights.refresh, WeightRefresh::kSync);
  EXPECT_EQ(stable.control.window, WindowKind::kSpaced);
}

TEST(Tuned, ValuesAreForOneEnvironmentAndAlgorithm) {
  for (const char* const env : {"classic/pendulum", "gymnasium/Pendulum-v1", "Classic/Pendulum"}) {
    for (const char* const preset : {"td3", "ddpg", "td3-raa", "td3-stable"}) {
      const RunOptions options = Loaded(env, preset);
      EXPECT_EQ(options.agent.hidden, (std::vector<double>{400, 300})) << preset;
      EXPECT_EQ(options.agent.discount, .98);
      EXPECT_EQ(options.optimizer.learning_rate, Schedule::Parse("linear(1e-3, 1e-4, 2e4)"));
      EXPECT_EQ(options.replay.start, 1000);
    }
    for (const char* const preset : {"sac", "sac-raa", "sac-stable"}) {
      const RunOptions options = Loaded(env, preset);
      EXPECT_EQ(options.agent.hidden, (std::vector<double>{256, 256})) << preset;
      EXPECT_EQ(options.agent.discount, .99);
      EXPECT_EQ(options.optimizer.learning_rate, Schedule::Parse("linear(1e-3, 1e-4, 2e4)"));
    }
  }
  EXPECT_EQ(Loaded("gymnasium/HalfCheetah-v5", "td3").optimizer.learning_rate, 3e-4);
  EXPECT_EQ(Loaded("", "td3").optimizer.learning_rate, 3e-4);
  EXPECT_EQ(Loaded("classic/pendulum", "dqn").agent.discount, .99);
}

TEST(Tuned, ValuesWinOverThePresetAndOverNothingLater) {
  const auto rate = [](const std::vector<std::string>& steps) {
    RunOptions options;
    Config config;
    Describe(config, options);
    LoadPreset(config, "classic/pendulum", "td3");
    for (const std::string& step : steps) {
      if (step.starts_with("[")) {
        config.LoadText(step, "my.toml");
      } else {
        config.Set(step);
      }
    }
    return options.optimizer.learning_rate.At(0);
  };
  const std::string file = "[optimizer]\nlearning_rate = 0.25";
  EXPECT_EQ(rate({}), 1e-3);
  EXPECT_EQ(rate({file}), .25);
  EXPECT_EQ(rate({file, "optimizer.learning_rate=0.5"}), .5);
}

// An algorithm that is not the preset's comes too late to be tuned.
TEST(Tuned, ValuesFollowThePresetsAlgorithm) {
  EXPECT_EQ(Loaded("classic/pendulum", "sac", {"agent.algorithm=td3"}).agent.discount, .99);
  EXPECT_EQ(Loaded("classic/pendulum", "td3", {"agent.algorithm=sac"}).agent.discount, .98);
}

TEST(Families, HaveThePublishedValuesOfAtari) {
  const RunOptions options = Loaded("atari/ms_pacman", "dqn");
  EXPECT_EQ(options.train.batch, 32);
  EXPECT_EQ(options.train.update_interval_steps, 4);
  EXPECT_TRUE(options.train.clip_rewards);
  EXPECT_EQ(options.replay.size, 1'000'000);
  EXPECT_EQ(options.replay.start, 50'000);
  EXPECT_EQ(options.agent.target_interval_updates, 2000);
  EXPECT_EQ(options.agent.discount, .99);
  EXPECT_EQ(options.optimizer.kind, OptimizerKind::kRmsprop);
  EXPECT_EQ(options.optimizer.learning_rate, 2.5e-4);
  EXPECT_EQ(options.optimizer.alpha, .95);
  EXPECT_EQ(options.optimizer.epsilon, .01);
  EXPECT_EQ(options.exploration.epsilon_start, 1);
  EXPECT_EQ(options.exploration.epsilon_end, .1);
  EXPECT_EQ(options.exploration.epsilon_steps, 1'000'000);
  EXPECT_EQ(options.eval.interval_steps, 10'000);
  EXPECT_EQ(options.eval.episodes, 10);
  EXPECT_EQ(options.eval.epsilon, .01);
}

TEST(Families, HaveThePublishedValuesOfMinatar) {
  const RunOptions options = Loaded("minatar/seaquest", "dqn");
  EXPECT_EQ(options.train.batch, 32);
  EXPECT_EQ(options.train.update_interval_steps, 1);
  EXPECT_FALSE(options.train.clip_rewards);
  EXPECT_EQ(options.replay.size, 100'000);
  EXPECT_EQ(options.replay.start, 5'000);
  EXPECT_EQ(options.agent.target_interval_updates, 1000);
  EXPECT_EQ(options.agent.discount, .99);
  EXPECT_EQ(options.optimizer.kind, OptimizerKind::kRmsprop);
  EXPECT_EQ(options.optimizer.learning_rate, 2.5e-4);
  EXPECT_EQ(options.exploration.epsilon_start, 1);
  EXPECT_EQ(options.exploration.epsilon_end, .1);
  EXPECT_EQ(options.exploration.epsilon_steps, 100'000);
}

TEST(Families, HaveSensibleValuesForClassicControl) {
  for (const char* const env : {"classic/cartpole", "gymnasium/LunarLander-v3"}) {
    const RunOptions options = Loaded(env, "stable-aa");
    EXPECT_EQ(options.agent.hidden, (std::vector<double>{128, 128}));
    EXPECT_EQ(options.optimizer.kind, OptimizerKind::kAdam);
    EXPECT_EQ(options.optimizer.learning_rate, 1e-3);
    EXPECT_EQ(options.replay.size, 50'000);
    EXPECT_EQ(options.replay.start, 1'000);
    EXPECT_EQ(options.train.update_interval_steps, 1);
    EXPECT_EQ(options.agent.target_interval_updates, 250);
    EXPECT_EQ(options.exploration.epsilon_start, 1);
    EXPECT_EQ(options.exploration.epsilon_end, .05);
    EXPECT_EQ(options.exploration.epsilon_steps, 10'000);
  }
}

TEST(Families, AndPresetsAreAllValid) {
  for (const char* const env :
       {"atari/pong", "minatar/asterix", "classic/cartpole", "classic/pendulum"}) {
    for (const Preset& preset : Presets()) EXPECT_NO_THROW(Loaded(env, preset.name).Validate());
  }
  EXPECT_NO_THROW(RunOptions().Validate());
  EXPECT_TRUE(std::ranges::is_sorted(BuiltInConfigs(), {}, &BuiltInConfig::name));
}

TEST(LoadPreset, NamesEnvironmentAndPresetAsTheyAreWritten) {
  const RunOptions options = Loaded("MinAtar/Space-Invaders", "raa");
  EXPECT_EQ(options.train.env, "minatar/space_invaders");
  EXPECT_EQ(options.train.preset, "raa");
}

TEST(LoadPreset, LeavesWhatIsNotAskedForAtItsDefault) {
  EXPECT_EQ(ToToml(Loaded("", "")), ToToml(RunOptions()));
  const RunOptions preset_only = Loaded("", "dqn");
  EXPECT_EQ(preset_only.train.env, RunOptions().train.env);
  EXPECT_EQ(preset_only.agent.mixer, MixerKind::kSingle);
  const RunOptions env_only = Loaded("classic/cartpole", "");
  EXPECT_EQ(env_only.train.preset, RunOptions().train.preset);
  EXPECT_EQ(env_only.replay.size, 50'000);
}

TEST(LoadPreset, ThePresetWinsOverTheFamilyAndLaterSourcesOverBoth) {
  RunOptions options;
  options.replay.size = 77;            // a default ...
  options.replay.priority_floor = .5;  // ... which nothing else sets
  options.agent.mixer = MixerKind::kRaa;
  Config config;
  Describe(config, options);
  LoadPreset(config, "classic/cartpole", "dqn");
  EXPECT_EQ(options.replay.size, 50'000);              // the family's
  EXPECT_EQ(options.replay.priority_floor, .5);        // the default
  EXPECT_EQ(options.agent.mixer, MixerKind::kSingle);  // the preset's
  config.LoadText("[agent]\nmixer = \"average\"\n[replay]\nsize = 123\n", "mine.toml");
  EXPECT_EQ(options.agent.mixer, MixerKind::kAverage);
  EXPECT_EQ(options.replay.size, 123);
  config.Set("replay.size=124");
  EXPECT_EQ(options.replay.size, 124);
  EXPECT_EQ(options.replay.start, 1'000);

  std::set<std::string> origins;
  for (const ConfigKey& key : config.Keys())
    origins.insert(key.origin.substr(0, key.origin.find(':')));
  EXPECT_EQ(origins, (std::set<std::string>{"--set", "default", "environment", "family classic",
                                            "mine.toml", "preset dqn"}));
}

// ---- Presets from files ----

class PresetFile : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::string Refusal(const std::string& text) const {
    const std::string path = Write("bad.toml", text);
    return RefusalOf([&] { ReadPreset(path); });
  }

  const TemporaryFolder folder_;
};

TEST_F(PresetFile, WinsOverTheFamilyAndIsNamedByItsStem) {
  const RunOptions options = Loaded(
      "classic/cartpole", Write("fast.v2.toml", "[replay]\nstart = 7\n[agent]\nn_step = 3\n"),
      {"agent.n_step=4"});
  EXPECT_EQ(options.replay.start, 7);
  EXPECT_EQ(options.agent.n_step, 4);
  EXPECT_EQ(options.agent.mixer, AgentOptions().mixer) << "no other preset beneath";
  EXPECT_EQ(options.train.preset, "fast.v2");
  EXPECT_EQ(options.train.batch, Loaded("classic/cartpole", "").train.batch);
}

TEST_F(PresetFile, MayBuildOnAnotherPreset) {
  Write("low/first.toml", "preset = \"stable-aa\"\n[agent]\ntargets = 3\neta = 0.5\n");
  const std::string second = Write("second.toml", "preset = \"low/first.toml\"\nagent.eta = 2\n");
  const RunOptions options = Loaded("classic/cartpole", second);
  EXPECT_EQ(options.agent.mixer, MixerKind::kStable);
  EXPECT_EQ(options.agent.targets, 3);
  EXPECT_EQ(options.agent.eta, 2);
  EXPECT_EQ(options.train.preset, "second");
  EXPECT_EQ(ReadPreset("second.toml", folder_.path()).sources.size(), 3U);
}

TEST_F(PresetFile, WinsOverWhatIsTuned) {
  const std::string mine =
      Write("mine.toml", "preset = \"td3\"\n[optimizer]\nlearning_rate = 0.25\n");
  const RunOptions options = Loaded("classic/pendulum", mine);
  EXPECT_EQ(options.optimizer.learning_rate, .25);
  EXPECT_EQ(options.agent.discount, .98);      // tuned
  EXPECT_EQ(options.control.policy_delay, 2);  // of the preset
}

// Runs of both would have the same name in config.toml, and reports would mix them.
TEST_F(PresetFile, IsNotCalledAsABuiltInPreset) {
  const std::string path = Write("dqn.toml", "agent.n_step = 3\n");
  EXPECT_EQ(RefusalOf([&] { ReadPreset(path); }),
            path +
                ": 'dqn' is the name of a built-in preset, and reports would take runs of both "
                "for the same; rename the file");
  EXPECT_NO_THROW(ReadPreset(Write("dqn-3.toml", "preset = \"dqn.toml\"\n")));
}

TEST_F(PresetFile, IsRefusedWithItsLine) {
  const std::string place = (folder_ / "bad.toml").string();
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"\nagent.etaa = 1", ":2: unknown key 'agent.etaa'; did you mean 'agent.eta'?"},
           {"agent.eta = -1", ":1: agent.eta = -1 is outside"},
           {"agent.eta = 1\npreset = \"stable-a\"", ":2: there is no preset 'stable-a'; did you"},
           {"preset = 3", ":1: preset wants a string"},
           {"preset = \"bad.toml\"", ":1: more than 8 presets"},
           {"train.env = \"classic/cartpole\"", ":1: train.env has no place"},
           {"train.preset = \"dqn\"", ":1: train.preset has no place"},
           {"anderson.memory = 3", ":1: unknown key 'anderson.memory'"},
           {"agent = [", ":1:"}}) {
    EXPECT_TRUE(Refusal(text).starts_with(place + message)) << Refusal(text);
  }
  EXPECT_NE(RefusalOf([&] { ReadPreset("no/such.toml"); }).find("no/such.toml"), std::string::npos);
  EXPECT_NE(RefusalOf([&] { ReadPreset(folder_.path().string()); }).find("directory"),
            std::string::npos);
}

TEST(LoadPreset, SuggestsWhatWasProbablyMeant) {
  EXPECT_TRUE(Contains(RefusalOf([] { Loaded("", "stable_aa"); }), "stable-aa"));
  const std::string message = RefusalOf([] { Loaded("", "qqqqqqqqqqqq"); });
  EXPECT_TRUE(Contains(message, "there is no preset 'qqqqqqqqqqqq'")) << message;
  for (const Preset& preset : Presets()) EXPECT_TRUE(Contains(message, preset.name)) << message;
  RefusalOf([] { Loaded("", "../presets/dqn"); });
  EXPECT_TRUE(Contains(RefusalOf([] { Loaded("minatar/brekout", ""); }), "breakout"));
  RefusalOf([] { Loaded("nonsense", "dqn"); });
}

// ---- Files ----

class RunOptionsFile : public testing::Test {
 protected:
  RunOptions Read(const std::string& text) const {
    std::ofstream(directory_ / "config.toml") << text;
    return ReadRunOptions(directory_ / "config.toml");
  }

  const TemporaryFolder directory_;
};

// A key=value for every key, with a value that differs from the present one.
std::vector<std::string> ChangeOfEachKey(const RunOptions& options) {
  RunOptions copy = options;
  Config config;
  Describe(config, copy);
  std::vector<std::string> changes;
  for (const ConfigKey& key : config.Keys()) {
    std::vector<std::string> candidates = key.choices;
    if (key.key == "checkpoint.keep_weights") candidates = {"all evaluations"};
    for (const char* const value :
         {"true", "false", "7", "8", "0.5", "0.25", "3.5", "[3.0, 4.0]", "{a = [1]}", "other"}) {
      candidates.emplace_back(value);
    }
    bool found = false;
    for (const std::string& candidate : candidates) {
      RunOptions changed = options;
      Config other;
      Describe(other, changed);
      try {
        other.Set(key.key + "=" + candidate);
      } catch (const Error&) {
        continue;
      }
      if (ToToml(changed) == ToToml(options)) continue;
      changes.push_back(key.key + "=" + candidate);
      found = true;
      break;
    }
    EXPECT_TRUE(found) << key.key;
  }
  return changes;
}

RunOptions Changed(const RunOptions& options, const std::string& assignment) {
  RunOptions changed = options;
  Config config;
  Describe(config, changed);
  config.Set(assignment);
  return changed;
}

TEST_F(RunOptionsFile, ReadsBackToTheSame) {
  RunOptions all = Loaded("atari/pong", "stable-aa");
  for (const std::string& change : ChangeOfEachKey(all)) {
    if (change.starts_with("train.env")) continue;
    all = Changed(all, change);
  }
  all.replay.size = 12'345;  // more than agent.n_step
  all.train.seed = std::numeric_limits<std::uint64_t>::max();
  all.optimizer.learning_rate = 1.0 / 3;
  for (const RunOptions& options : {RunOptions(), Loaded("classic/acrobot", "raa"), all}) {
    EXPECT_EQ(ToToml(Read(ToToml(options))), ToToml(options));
  }
  EXPECT_EQ(Read(ToToml(all)).train.seed, all.train.seed);
  EXPECT_EQ(Read(ToToml(all)).optimizer.learning_rate, 1.0 / 3);
  all.optimizer.learning_rate = Schedule::Parse("cosine(0.3333333333333333, 1e-300, 1e12)");
  all.exploration.epsilon = Schedule::Parse("steps(1, 10: 0.30000000000000004)");
  EXPECT_EQ(Read(ToToml(all)).optimizer.learning_rate, all.optimizer.learning_rate);
  EXPECT_EQ(Read(ToToml(all)).exploration.epsilon, all.exploration.epsilon);
  EXPECT_NE(Fingerprint(all), Fingerprint(Changed(all, "exploration.epsilon=")));
}

TEST_F(RunOptionsFile, IsRefusedWithItsNameIfItIsNone) {
  const auto message = [&](const std::string& text) { return RefusalOf([&] { Read(text); }); };
  EXPECT_TRUE(Contains(message("[train]\nstep = 3\n"), "config.toml:2"));
  EXPECT_TRUE(Contains(message("[train]\nsteps = \n"), "config.toml:2"));
  EXPECT_TRUE(Contains(message("[train]\nsteps = -1\n"), "config.toml:2"));
  EXPECT_TRUE(Contains(message("[train]\nenv = \"minatar/chess\"\n"), "minatar/chess"));
  EXPECT_TRUE(Contains(message("[network]\nhidden = []\n"), "network.hidden"));
  EXPECT_THROW(ReadRunOptions(directory_ / "absent.toml"), Error);
}

// ---- Validate ----

TEST(RunOptions, RefusesNonsenseByName) {
  const auto refused = [](const std::string& key, const std::function<void(RunOptions&)>& change) {
    RunOptions options;
    change(options);
    EXPECT_TRUE(Contains(RefusalOf([&] { options.Validate(); }), key)) << key;
  };
  refused("network.hidden", [](RunOptions& o) { o.agent.hidden = {}; });
  refused("network.hidden", [](RunOptions& o) { o.agent.hidden = {0.5}; });
  refused("network.hidden", [](RunOptions& o) { o.agent.hidden = {64, 2.5}; });
  refused("network.hidden", [](RunOptions& o) { o.agent.hidden = {0}; });
  refused("network.hidden", [](RunOptions& o) { o.agent.hidden = {-3}; });
  refused("network.hidden", [](RunOptions& o) { o.agent.hidden = {1e300}; });
  refused("network.hidden",
          [](RunOptions& o) { o.agent.hidden = {std::numeric_limits<double>::quiet_NaN()}; });
  refused("agent.targets", [](RunOptions& o) { o.agent.targets = 0; });
  refused("agent.targets", [](RunOptions& o) { o.agent.targets = 65; });
  refused("agent.discount", [](RunOptions& o) { o.agent.discount = 1; });
  refused("agent.damping", [](RunOptions& o) { o.agent.damping = 1.5; });
  refused("agent.eta", [](RunOptions& o) { o.agent.eta = -1; });
  refused("agent.omega", [](RunOptions& o) { o.agent.omega = -1; });
  refused("agent.n_step", [](RunOptions& o) { o.agent.n_step = 0; });
  refused("agent.restart_growth", [](RunOptions& o) { o.agent.restart_growth = 1; });
  refused("agent.target_interval_updates",
          [](RunOptions& o) { o.agent.target_interval_updates = 0; });
  refused("agent.huber_delta", [](RunOptions& o) { o.agent.huber_delta = 0; });
  refused("agent.weights.batch", [](RunOptions& o) { o.agent.weights.batch = -1; });
  refused("train.batch", [](RunOptions& o) { o.train.batch = 0; });
  refused("train.batch", [](RunOptions& o) { o.train.batch = 1 << 20; });
  refused("train.steps", [](RunOptions& o) { o.train.steps = -1; });
  refused("train.lookahead_updates", [](RunOptions& o) { o.train.lookahead_updates = 65; });
  refused("train.threads", [](RunOptions& o) { o.train.threads = -1; });
  refused("replay.size", [](RunOptions& o) { o.replay.size = 0; });
  refused("replay.size", [](RunOptions& o) { o.replay.size = o.agent.n_step = 3; });
  refused("optimizer.learning_rate", [](RunOptions& o) { o.optimizer.learning_rate = -1; });
  refused("exploration.epsilon_end", [](RunOptions& o) { o.exploration.epsilon_end = 2; });
  refused("eval.episodes", [](RunOptions& o) { o.eval.episodes = 0; });
  refused("checkpoint.interval_steps",
          [](RunOptions& o) { o.train.checkpoint_interval_steps = 0; });
  refused("env.timeout_seconds", [](RunOptions& o) { o.env.timeout_seconds = 0; });
  refused("minatar/chess", [](RunOptions& o) { o.train.env = "minatar/chess"; });
}

TEST(RunOptions, TakesAllCoresForNoThreads) {
  RunOptions options;
  EXPECT_EQ(options.threads(), CoreCount());
  options.train.threads = 3;
  EXPECT_EQ(options.threads(), 3);
}

// ---- Fingerprint ----

TEST(Fingerprint, ChangesWithEveryKeyButThoseThatMayChange) {
  const std::set<std::string> free = {"train.steps", "train.threads", "env.python", "env.workers",
                                      "env.timeout_seconds"};
  const RunOptions options = Loaded("minatar/breakout", "stable-aa");
  std::set<std::uint32_t> seen = {Fingerprint(options)};
  std::size_t expected = 1;
  for (const std::string& change : ChangeOfEachKey(options)) {
    const std::uint32_t other = Fingerprint(Changed(options, change));
    if (free.contains(change.substr(0, change.find('=')))) {
      EXPECT_EQ(other, Fingerprint(options)) << change;
    } else {
      EXPECT_NE(other, Fingerprint(options)) << change;
      seen.insert(other);
      ++expected;
    }
  }
  EXPECT_EQ(seen.size(), expected);
  EXPECT_EQ(Fingerprint(Loaded("minatar/breakout", "stable-aa")), Fingerprint(options));
}

}  // namespace stableaa::run_options_test
