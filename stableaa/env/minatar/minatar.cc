#include "stableaa/env/minatar/minatar.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "stableaa/core/binary_io.h"
#include "stableaa/core/error.h"
#include "stableaa/core/random.h"
#include "stableaa/core/saved_number.h"
#include "stableaa/env/minatar/asterix.h"
#include "stableaa/env/minatar/breakout.h"
#include "stableaa/env/minatar/drawing.h"
#include "stableaa/env/minatar/freeway.h"
#include "stableaa/env/minatar/grid.h"
#include "stableaa/env/minatar/seaquest.h"
#include "stableaa/env/minatar/space_invaders.h"

namespace stableaa {
namespace {

using namespace minatar;  // NOLINT: this file joins the two

// Seaquest never ends for a player who stays at the surface, so it needs a limit. This one is far
// beyond what a good player needs in the other games.
constexpr std::int64_t kMaxEpisodeSteps = 5000;

const std::array<std::string, kActions> kActionNames = {"noop",  "left", "up",
                                                        "right", "down", "fire"};

struct Facts {
  std::vector<std::string> channel_names;
  std::vector<int> minimal_actions;
};

const Facts& FactsOf(MinatarGame game) {
  static const std::array<Facts, 5> facts = {{
      {.channel_names = {"player", "enemy", "trail", "gold"},
       .minimal_actions = {kNoop, kLeft, kUp, kRight, kDown}},
      {.channel_names = {"paddle", "ball", "trail", "brick"},
       .minimal_actions = {kNoop, kLeft, kRight}},
      {.channel_names = {"chicken", "car", "speed 1", "speed 2", "speed 3", "speed 4", "speed 5"},
       .minimal_actions = {kNoop, kUp, kDown}},
      {.channel_names = {"submarine front", "submarine back", "own bullet", "trail", "enemy bullet",
                         "enemy fish", "enemy submarine", "oxygen gauge", "diver gauge", "diver"},
       .minimal_actions = {kNoop, kLeft, kUp, kRight, kDown, kFire}},
      {.channel_names = {"cannon", "alien", "alien moving left", "alien moving right", "own bullet",
                         "enemy bullet"},
       .minimal_actions = {kNoop, kLeft, kRight, kFire}},
  }};
  return facts[static_cast<std::size_t>(game)];
}

void Validate(const MinatarEnvironmentOptions& options) {
  if (options.sticky >= 0 && options.sticky <= 1) return;
  throw BadInput(fmt::format("sticky is {}: expected a probability in [0, 1]", options.sticky));
}

std::vector<int> ActionsOf(MinatarGame game, const MinatarEnvironmentOptions& options) {
  if (options.minimal_actions) return FactsOf(game).minimal_actions;
  return {kNoop, kLeft, kUp, kRight, kDown, kFire};
}

template <typename Game>
class GameSimulation final : public Simulation {
 public:
  GameSimulation(MinatarGame which, Game game, const MinatarEnvironmentOptions& options)
      : which_(which),
        game_(std::move(game)),
        sticky_(options.sticky),
        actions_(ActionsOf(which, options)) {}

  void Reset(RandomStream& random) override { game_.Reset(random); }

  Outcome Step(Action action, RandomStream& random) override {
    const bool repeat = random.Bernoulli(sticky_);
    if (!repeat) last_action_ = actions_[static_cast<std::size_t>(action.index)];
    const minatar::Outcome outcome = game_.Step(last_action_, random);
    return {.reward = static_cast<double>(outcome.reward), .terminated = outcome.terminal};
  }

  void Observe(Observation out) const override { game_.Observe(out.bytes); }

  void Draw(Picture& picture) const override {
    std::array<std::uint8_t, std::size_t{kCells} * Game::kChannels> observation;
    game_.Observe(observation);
    DrawObservation(which_, observation, picture);
  }

  void Save(ByteWriter& out) const override {
    SaveSmall(out, last_action_);
    game_.Save(out);
  }

  void Load(ByteReader& in) override {
    const int last_action = LoadSmall(in, "a last action", 0, kActions - 1);
    game_.Load(in);
    last_action_ = last_action;
  }

 private:
  MinatarGame which_;
  Game game_;
  double sticky_;
  std::vector<int> actions_;  // in the full set, by the index passed to Step
  int last_action_ = kNoop;   // last one carried out
};

template <typename Game>
std::unique_ptr<Simulation> Wrap(MinatarGame which, Game game,
                                 const MinatarEnvironmentOptions& options) {
  return std::make_unique<GameSimulation<Game>>(which, std::move(game), options);
}

}  // namespace

const std::vector<std::string>& MinatarNames() {
  static const std::vector<std::string> names = {"asterix", "breakout", "freeway", "seaquest",
                                                 "space_invaders"};
  return names;
}

MinatarGame ParseMinatarGame(std::string_view name) {
  const auto& names = MinatarNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw BadInput(fmt::format("MinAtar game is '{}': expected {}", name, fmt::join(names, ", ")));
  }
  return static_cast<MinatarGame>(found - names.begin());
}

int MinatarChannels(MinatarGame game) {
  return static_cast<int>(FactsOf(game).channel_names.size());
}

EnvironmentSpec MinatarEnvironmentSpec(std::string_view name,
                                       const MinatarEnvironmentOptions& options) {
  const MinatarGame game = ParseMinatarGame(name);
  Validate(options);
  const Facts& facts = FactsOf(game);
  const std::vector<int> actions = ActionsOf(game, options);

  EnvironmentSpec spec;
  spec.id = fmt::format("minatar/{}", name);
  spec.observation = Space::Bytes({kSide, kSide, MinatarChannels(game)}, 1);
  spec.action = Space::Discrete(static_cast<int>(actions.size()));
  spec.channel_axis = 2;
  spec.channel_names = facts.channel_names;
  for (const int action : actions) {
    spec.action_names.push_back(kActionNames[static_cast<std::size_t>(action)]);
  }
  spec.max_episode_steps = kMaxEpisodeSteps;
  spec.noop = kNoop;
  spec.frames_per_second = 10;
  spec.protocol = fmt::format("sticky {}, {}, {} actions", options.sticky,
                              options.ramping ? "ramping" : "no ramping", actions.size());
  return spec;
}

std::unique_ptr<Simulation> MakeMinatar(std::string_view name,
                                        const MinatarEnvironmentOptions& options) {
  const MinatarGame game = ParseMinatarGame(name);
  Validate(options);
  switch (game) {
    case MinatarGame::kAsterix:
      return Wrap(game, Asterix(options.ramping), options);
    case MinatarGame::kBreakout:
      return Wrap(game, Breakout(), options);
    case MinatarGame::kFreeway:
      return Wrap(game, Freeway(), options);
    case MinatarGame::kSeaquest:
      return Wrap(game, Seaquest(options.ramping), options);
    case MinatarGame::kSpaceInvaders:
      break;
  }
  return Wrap(game, SpaceInvaders(options.ramping), options);
}

std::span<const int> MinimalMinatarActions(MinatarGame game) {
  return FactsOf(game).minimal_actions;
}

int ToMinimalMinatarAction(MinatarGame game, int action) {
  const std::span<const int> actions = MinimalMinatarActions(game);
  const auto found = std::find(actions.begin(), actions.end(), action);
  return found == actions.end() ? kNoop : static_cast<int>(found - actions.begin());
}

}  // namespace stableaa
