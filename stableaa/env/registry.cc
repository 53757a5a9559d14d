#include "stableaa/env/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "stableaa/base/config/config.h"
#include "stableaa/base/machine.h"
#include "stableaa/base/text/nearest_name.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/env/classic/classic.h"
#include "stableaa/env/gymnasium/gymnasium_environment.h"
#include "stableaa/env/gymnasium/wrapper_call.h"
#include "stableaa/env/minatar/minatar.h"
#include "stableaa/env/native_environment.h"

namespace stableaa {
namespace {

// The 4 games of the paper's main figures, then its other 16.
constexpr std::array kPaperGames = {"space_invaders",  "enduro",       "breakout",  "crazy_climber",
                                    "alien",           "battle_zone",  "berzerk",   "bowling",
                                    "chopper_command", "demon_attack", "frostbite", "ice_hockey",
                                    "kung_fu_master",  "ms_pacman",    "pitfall",   "pong",
                                    "private_eye",     "robotank",     "up_n_down", "yars_revenge"};

const std::vector<std::pair<std::string, EnvironmentOptions::Protocol>>& Protocols() {
  using Protocol = EnvironmentOptions::Protocol;
  static const std::vector<std::pair<std::string, Protocol>> kProtocols = {
      {"authors", Protocol::kAuthors},
      {"nature", Protocol::kNature},
      {"machado", Protocol::kMachado}};
  return kProtocols;
}

// Only the letters and digits, in lower case: what two spellings of a name have in common.
std::string Essence(const std::string& name) {
  std::string essence;
  for (const char c : name) {
    if (c == '_' || c == '-') continue;
    essence += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return essence;
}

constexpr std::size_t kMaxName = 200;

struct ParsedId {
  std::string family, name;
};

std::vector<std::string> NativeIds() {
  std::vector<std::string> ids;
  for (const std::string& name : ClassicNames()) ids.push_back(fmt::format("classic/{}", name));
  for (const std::string& name : MinatarNames()) ids.push_back(fmt::format("minatar/{}", name));
  return ids;
}

std::optional<std::string> FindName(const std::string& name,
                                    const std::vector<std::string>& names) {
  for (const std::string& candidate : names) {
    if (Essence(candidate) == Essence(name)) return candidate;
  }
  return std::nullopt;
}

constexpr std::array kFamilies = {"classic", "minatar", "atari", "gymnasium"};

// The environments that the program has registered.
class OwnEnvironments {
 public:
  static OwnEnvironments& Get() {
    static OwnEnvironments all;
    return all;
  }

  // Returns false if there already is one of that name.
  bool Add(const EnvironmentRegistration& registration) {
    const std::lock_guard lock(mutex_);
    if (FindLocked(registration.id)) return false;
    registrations_.push_back(registration);
    return true;
  }
  std::optional<EnvironmentRegistration> Find(const std::string& id) const {
    const std::lock_guard lock(mutex_);
    return FindLocked(id);
  }
  std::vector<std::string> Ids() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> ids;
    for (const EnvironmentRegistration& one : registrations_) ids.push_back(one.id);
    return ids;
  }

 private:
  std::optional<EnvironmentRegistration> FindLocked(const std::string& id) const {
    for (const EnvironmentRegistration& one : registrations_) {
      if (Essence(one.id) == Essence(id)) return one;
    }
    return std::nullopt;
  }

  mutable std::mutex mutex_;
  std::vector<EnvironmentRegistration> registrations_;
};

// "; did you mean 'minatar/breakout'?" for anything spelt nearly like an id or like the name alone.
std::string Suggestion(const std::string& id) {
  std::vector<std::string> known = NativeIds();
  for (const std::string& own : OwnEnvironments::Get().Ids()) known.push_back(own);
  for (const char* const game : kPaperGames) known.push_back(fmt::format("atari/{}", game));
  const bool has_family = id.find('/') != std::string::npos;
  const auto spelling = [has_family](const std::string& candidate) {
    return Essence(has_family ? candidate : candidate.substr(candidate.find('/') + 1));
  };
  std::vector<std::string> spellings, meant;
  for (const std::string& candidate : known) spellings.push_back(spelling(candidate));
  const std::vector<std::string> nearest = NearestNames(Essence(id), spellings);
  for (const std::string& candidate : known) {
    if (std::ranges::find(nearest, spelling(candidate)) != nearest.end()) {
      meant.push_back(candidate);
    }
  }
  if (meant.empty()) return "";
  return fmt::format("; did you mean '{}'?", fmt::join(meant, "' or '"));
}

// The characters allowed in names of games and in Gymnasium's ids.
bool IsWellFormed(const std::string& name) {
  static constexpr std::string_view kSigns = "_-./:";
  return !name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || kSigns.find(c) != std::string_view::npos;
  });
}

ParsedId Parse(const std::string& id) {
  const std::size_t slash = id.find('/');
  const std::string family = Essence(id.substr(0, slash));
  const std::string name = slash == std::string::npos ? "" : id.substr(slash + 1);
  if (IsWellFormed(name)) {
    if (family == "gymnasium") return {family, name};
    if (family == "atari") {
      const std::vector<std::string> games(kPaperGames.begin(), kPaperGames.end());
      return {family, FindName(name, games).value_or(name)};  // only the worker knows the others
    }
    if (family == "minatar" || family == "classic") {
      const auto& names = family == "minatar" ? MinatarNames() : ClassicNames();
      if (const auto found = FindName(name, names)) return {family, *found};
    }
  }
  if (const auto own = OwnEnvironments::Get().Find(id)) {
    const std::size_t own_slash = own->id.find('/');
    return {own->id.substr(0, own_slash), own->id.substr(own_slash + 1)};
  }
  const std::vector<std::string> own = OwnEnvironments::Get().Ids();
  throw UnknownEnvironment(
      fmt::format("there is no environment '{}'{}{}", Shorten(id), Suggestion(id),
                  own.empty() ? "" : fmt::format(" (registered: {})", fmt::join(own, ", "))));
}

bool IsOwn(const ParsedId& id) {
  return std::ranges::find(kFamilies, id.family) == kFamilies.end();
}

EnvironmentRegistration FindOwn(const ParsedId& id) {
  return OwnEnvironments::Get().Find(fmt::format("{}/{}", id.family, id.name)).value();
}

GymnasiumOptions BridgeOptions(const ParsedId& id, const EnvironmentOptions& options) {
  GymnasiumOptions bridge{.id = fmt::format("{}/{}", id.family, id.name),
                          .family = id.family,
                          .name = id.name,
                          .kwargs = options.kwargs,
                          .wrappers = options.wrappers,
                          .num_envs = options.num_envs,
                          .workers = WorkerCount(id.family, options),
                          .python = ResolvePython(options.python),
                          .timeout_seconds = options.timeout_seconds,
                          .max_episode_steps = options.max_episode_steps,
                          .render = options.render};
  if (id.family == "atari") {
    for (const auto& [name, protocol] : Protocols()) {
      if (protocol == options.protocol) bridge.protocol = NamedAtariProtocol(name);
    }
    if (options.sticky >= 0) bridge.protocol.sticky = options.sticky;
    if (options.actions != EnvironmentOptions::ActionSet::kUsual) {
      bridge.protocol.all_actions = options.actions == EnvironmentOptions::ActionSet::kFull;
    }
  }
  return bridge;
}

std::unique_ptr<Environment> MakeNative(EnvironmentSpec spec, const EnvironmentOptions& options,
                                        const MakeSimulation& make) {
  if (options.max_episode_steps > 0) spec.max_episode_steps = options.max_episode_steps;
  return std::make_unique<NativeEnvironment>(std::move(spec), options.num_envs, make,
                                             options.render);
}

bool IsSound(const Space& space) {
  if (space.kind == Space::Kind::kDiscrete) return space.n > 0;
  const auto fits = [&space](const std::vector<float>& bounds) {
    return bounds.size() == 1 || bounds.size() == space.size();
  };
  return !space.shape.empty() && std::ranges::all_of(space.shape, [](int n) { return n > 0; }) &&
         fits(space.low) && fits(space.high);
}

// Checks that the maker kept its promise.
std::unique_ptr<Environment> MakeOwn(const EnvironmentRegistration& own,
                                     const EnvironmentOptions& options) {
  std::unique_ptr<Environment> environment = own.make(options);
  if (!environment) throw BadInput(fmt::format("{}: its make gave no environment", own.id));
  const EnvironmentSpec& spec = environment->spec();
  if (environment->num_envs() != options.num_envs || spec.id != own.id) {
    throw BadInput(fmt::format("{}: expected {} of it from its make, found {} of '{}'", own.id,
                               options.num_envs, environment->num_envs(), Shorten(spec.id)));
  }
  if (spec.observation.kind != Space::Kind::kBox || !IsSound(spec.observation) ||
      !IsSound(spec.action)) {
    throw BadInput(fmt::format(
        "{}: expected a box of observations and a space of actions, each with a shape and one "
        "bound, or one per element, or with at least one action, found {} and {}",
        own.id, Describe(spec.observation), Describe(spec.action)));
  }
  return environment;
}

// Runs and their files contain the registered id, so it has only one spelling.
bool IsOwnId(const std::string& id) {
  const std::size_t slash = id.find('/');
  if (slash == id.npos || id.size() > kMaxName) return false;
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_part = [&is_letter](std::string_view part) {
    return !part.empty() && is_letter(part.front()) && std::ranges::all_of(part, [&](char c) {
      return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
    });
  };
  return is_part(std::string_view(id).substr(0, slash)) &&
         is_part(std::string_view(id).substr(slash + 1));
}

bool HasLibraryFamily(const std::string& id) {
  const std::string family = Essence(id.substr(0, id.find('/')));
  return std::ranges::find(kFamilies, family) != kFamilies.end();
}

std::vector<std::string> AllEnvironmentKeys() {
  EnvironmentOptions options;
  Config config;
  Describe(config, options);
  std::vector<std::string> keys;
  for (const ConfigKey& key : config.Keys()) keys.push_back(key.key);
  return keys;
}

constexpr std::array kRampingGames = {"asterix", "seaquest", "space_invaders"};

std::vector<std::string> KeysOf(const std::string& family, const std::string& name) {
  if (family == "classic") return {"env.max_episode_steps"};
  if (family == "minatar") {
    std::vector<std::string> keys = {"env.sticky"};
    if (std::ranges::find(kRampingGames, name) != kRampingGames.end()) {
      keys.push_back("env.ramping");
    }
    keys.insert(keys.end(), {"env.actions", "env.max_episode_steps"});
    return keys;
  }
  std::vector<std::string> keys = {"env.max_episode_steps", "env.python", "env.workers",
                                   "env.timeout_seconds", "env.kwargs"};
  if (family == "atari") {
    keys.insert(keys.begin(), {"env.protocol", "env.sticky", "env.actions"});
  } else {
    keys.emplace_back("env.wrappers");
  }
  return keys;
}

MinatarEnvironmentOptions ToMinatar(const EnvironmentOptions& options) {
  MinatarEnvironmentOptions minatar{
      .ramping = options.ramping,
      .minimal_actions = options.actions == EnvironmentOptions::ActionSet::kMinimal};
  if (options.sticky >= 0) minatar.sticky = options.sticky;
  return minatar;
}

}  // namespace

void Describe(Config& config, EnvironmentOptions& options) {
  using ActionSet = EnvironmentOptions::ActionSet;
  config.Real("env.sticky", &options.sticky, {.at_least = -1, .at_most = 1},
              "Probability that the action before is repeated. -1: as usual, 0.1 for MinAtar, for "
              "Atari as the protocol says.");
  config.Bool("env.ramping", &options.ramping,
              "MinAtar: games become harder with time (Asterix, Seaquest, Space Invaders).");
  config.Choice(
      "env.actions", &options.actions,
      {{"usual", ActionSet::kUsual}, {"minimal", ActionSet::kMinimal}, {"full", ActionSet::kFull}},
      "Only actions that do something in the game, or all. Usual: all 6 for MinAtar, for "
      "Atari as the protocol says.");
  config.Choice(
      "env.protocol", &options.protocol, Protocols(),
      "How Atari is played. authors: as the paper's code (a lost life ends the episode, "
      "84x110 cropped). nature: the same lives, 84x84 by area. machado: sticky 0.25, whole "
      "games, all 18 actions.");
  config.Int("env.max_episode_steps", &options.max_episode_steps, {0, std::int64_t{1} << 40},
             "Episodes are truncated after so many steps. 0: as usual for the environment.");
  config.Text("env.python", &options.python,
              "The Python of atari/ and gymnasium/ environments. Empty: the one that scripts/atari "
              "makes, else python3.");
  config.Int("env.workers", &options.workers, {0, 256},
             "Processes that the environments of atari/ and gymnasium/ are spread over; results do "
             "not depend on it. 0: one for each four of atari/, at most one per core, else one.");
  config.Real("env.timeout_seconds", &options.timeout_seconds, {.above = 0, .at_most = 1e6},
              "A worker process that does not answer for so long is killed, which ends the work.");
  config.Table("env.kwargs", &options.kwargs,
               "Arguments for the constructor of a gymnasium/ environment, by name: a table of "
               "strings, numbers, booleans, lists and tables. Of atari/: mode and difficulty.");
  config.List("env.wrappers", &options.wrappers,
              "Gymnasium wrappers around a gymnasium/ environment, the first one innermost: "
              "[\"GrayscaleObservation\", \"my_module.Crop(top=10)\"]. Names without a dot are "
              "those of gymnasium.wrappers.",
              [](const std::vector<std::string>& texts) { (void)ParseWrappers(texts); });
}

int WorkerCount(const std::string& family, const EnvironmentOptions& options) {
  // Two workers hide eight games behind the updates of one learner; one does not quite.
  constexpr int kAtarisPerWorker = 4;
  if (options.workers > 0) return options.workers;
  if (family != "atari") return 1;
  return std::clamp(options.num_envs / kAtarisPerWorker, 1, CoreCount());
}

void EnvironmentOptions::Validate() const {
  EnvironmentOptions copy = *this;
  Config config;
  Describe(config, copy);
  if (sticky < 0 && sticky != -1) {
    throw BadInput(
        fmt::format("env.sticky: expected a probability in [0, 1], or -1, found {}", sticky));
  }
  if (num_envs < 1 || num_envs > kMaxEnvironments) {
    throw BadInput(
        fmt::format("expected 1 to {} environments, found {}", kMaxEnvironments, num_envs));
  }
}

void RegisterEnvironment(const EnvironmentRegistration& registration) {
  const std::string& id = registration.id;
  if (!IsOwnId(id)) {
    throw BadInput(fmt::format(
        "expected family/name of lower-case letters, digits and underscores as the id of an "
        "environment, found '{}'",
        Shorten(id)));
  }
  if (HasLibraryFamily(id)) {
    throw BadInput(fmt::format("{}: the families {} are the library's; choose another one", id,
                               fmt::join(kFamilies, ", ")));
  }
  const std::vector<std::string> keys = AllEnvironmentKeys();
  for (const std::string& key : registration.keys) {
    if (std::ranges::find(keys, key) == keys.end()) {
      throw BadInput(
          fmt::format("{}: there is no key '{}'{}", id, Shorten(key), DidYouMean(key, keys)));
    }
  }
  if (!registration.make) throw BadInput(fmt::format("{}: nothing makes it", id));
  if (!OwnEnvironments::Get().Add(registration)) {
    throw BadInput(fmt::format("{}: there is an environment of that name already", id));
  }
}

void RegisterEnvironment(const EnvironmentSpec& spec, const MakeSimulation& make) {
  if (!make) throw BadInput(fmt::format("{}: nothing makes it", Shorten(spec.id)));
  RegisterEnvironment(
      {.id = spec.id,
       .make = [spec, make](
                   const EnvironmentOptions& options) { return MakeNative(spec, options, make); },
       .keys = {"env.max_episode_steps"}});
}

bool CanBeRegistered(const std::string& id) { return IsOwnId(id) && !HasLibraryFamily(id); }

std::string NormalizedId(const std::string& id) {
  const ParsedId parsed = Parse(id);
  return fmt::format("{}/{}", parsed.family, parsed.name);
}

bool IsNative(const std::string& id) {
  const std::string family = Parse(id).family;
  return family != "atari" && family != "gymnasium";
}

std::vector<std::string> EnvironmentKeys(const std::string& id) {
  const ParsedId parsed = Parse(id);
  return IsOwn(parsed) ? FindOwn(parsed).keys : KeysOf(parsed.family, parsed.name);
}

void RequireWrappable(const std::string& id, const EnvironmentOptions& options) {
  if (options.wrappers.empty()) return;
  const std::vector<std::string> keys = EnvironmentKeys(id);
  if (std::ranges::find(keys, "env.wrappers") != keys.end()) return;
  const bool is_atari = Parse(id).family == "atari";
  throw BadInput(fmt::format(
      "env.wrappers: {} takes no wrappers, only gymnasium/ environments do{}", Shorten(id),
      is_atari ? "; atari/ is played by env.protocol, gymnasium/ALE/Pong-v5 can be wrapped" : ""));
}

std::unique_ptr<Environment> MakeEnvironment(const std::string& id,
                                             const EnvironmentOptions& options) {
  options.Validate();
  RequireWrappable(id, options);
  const ParsedId parsed = Parse(id);
  const std::string& name = parsed.name;
  if (parsed.family == "classic") {
    return MakeNative(ClassicEnvironmentSpec(name), options, [name] { return MakeClassic(name); });
  }
  if (parsed.family == "minatar") {
    const MinatarEnvironmentOptions minatar = ToMinatar(options);
    return MakeNative(MinatarEnvironmentSpec(name, minatar), options,
                      [name, minatar] { return MakeMinatar(name, minatar); });
  }
  if (IsOwn(parsed)) return MakeOwn(FindOwn(parsed), options);
  return GymnasiumEnvironment::Make(BridgeOptions(parsed, options));
}

std::string ResolvePython(const std::string& configured) {
  if (!configured.empty()) return configured;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const auto python = program.parent_path() / "atari" / "bin" / "python3";
    if (std::filesystem::exists(python, error)) return python;
  }
  return "python3";
}

bool IsDefaultPython(const std::string& configured) {
  const std::string usual = ResolvePython("");
  const std::string python = ResolvePython(configured);
  const auto is_path = [](const std::string& program) { return program.find('/') != program.npos; };
  // A name without a slash is looked up in PATH, not in this folder.
  if (!is_path(usual) || !is_path(python)) return python == usual;
  // Compares spellings: a Python finds its packages relative to the path it is started by, so links
  // to it, or to its folder, are different Pythons.
  std::error_code error;
  const auto path = std::filesystem::absolute(python, error);
  const bool goes_up = std::ranges::find(path, "..") != path.end();
  return !error && !goes_up && path.lexically_normal() == usual;
}

std::vector<EnvironmentListing> ListEnvironments() {
  std::vector<EnvironmentListing> list;
  const auto add = [&list](const EnvironmentSpec& spec) {
    list.push_back({spec.id, Describe(spec.observation), Describe(spec.action),
                    spec.max_episode_steps, EnvironmentKeys(spec.id)});
  };
  for (const std::string& name : ClassicNames()) add(ClassicEnvironmentSpec(name));
  for (const std::string& name : MinatarNames()) add(MinatarEnvironmentSpec(name));
  const std::vector<std::string> atari = KeysOf("atari", "");
  const std::string frames = Describe(Space::Bytes({4, 84, 84}));
  for (const char* const game : kPaperGames) {
    list.push_back({fmt::format("atari/{}", game), frames, "3 to 18 actions", 27'000, atari});
  }
  list.push_back({"atari/<any other game of ale-py>", frames, "3 to 18 actions", 27'000, atari});
  list.push_back({"gymnasium/<any id of Gymnasium>", "box, or what flattens to one",
                  "discrete, or a box", 0, KeysOf("gymnasium", "")});
  for (const std::string& id : OwnEnvironments::Get().Ids()) add(MakeEnvironment(id)->spec());
  return list;
}

}  // namespace stableaa
