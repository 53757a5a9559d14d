// Environments by name, `family/name`, the options that all families share, and a list of all
// environments. The library has
//
// - minatar/{asterix,breakout,freeway,seaquest,space_invaders}: native (minatar/)
// - classic/{cartpole,mountain_car,acrobot,pendulum,mountain_car_continuous}: native (classic/)
// - atari/<game>, such as atari/ms_pacman: ale-py in a worker process (gymnasium/)
// - gymnasium/<id>, such as gymnasium/LunarLander-v3: Gymnasium in a worker process
//
// Case, hyphens and underscores do not matter except in Gymnasium's own ids: MinAtar/Space-Invaders
// is minatar/space_invaders, Atari/MsPacman is atari/ms_pacman.
//
// A program can add its own environments in C++ and then train on them, resume, evaluate and list
// them by id like any other (examples/own_environment):
//
//   class Corridor : public Simulation { ... };    // simulation.h: the rules of one game
//
//   RegisterEnvironment({.id = "mine/corridor",
//                        .observation = Space::Floats({2}, {0, 0}, {1, 1}),
//                        .action = Space::Discrete(2),
//                        .max_episode_steps = 100},
//                       [] { return std::make_unique<Corridor>(); });
#ifndef STABLEAA_ENV_REGISTRY_H_
#define STABLEAA_ENV_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/env/environment.h"
#include "stableaa/env/simulation.h"

namespace stableaa {

class Config;

inline constexpr int kMaxEnvironments = 65536;

struct EnvironmentOptions {
  enum class ActionSet { kUsual, kMinimal, kFull };
  enum class Protocol { kAuthors, kNature, kMachado };

  int num_envs = 1;
  // Draw a picture of every environment in every step.
  bool render = false;

  // Keys env.*; see Describe for their meaning.
  double sticky = -1;
  bool ramping = true;
  ActionSet actions = ActionSet::kUsual;
  Protocol protocol = Protocol::kNature;
  std::int64_t max_episode_steps = 0;
  std::string python = {};
  int workers = 0;  // see WorkerCount
  double timeout_seconds = 60;
  // A JSON object. Its members become keyword arguments to the constructor of a gymnasium/
  // environment, or mode and difficulty for atari/.
  std::string kwargs = "{}";
  // Gymnasium wrappers around a gymnasium/ environment, the first one innermost; see
  // gymnasium/wrapper_call.h.
  std::vector<std::string> wrappers = {};

  void Validate() const;
};

void Describe(Config& config, EnvironmentOptions& options);

// The processes that the environments of a bridged one are spread over: options.workers or, if that
// is 0, one for each four of atari/, at most one per core, and one for gymnasium/. No result depends
// on it.
int WorkerCount(const std::string& family, const EnvironmentOptions& options);

// An environment of the program's own. One that is not a batch of simulations derives from
// Environment directly.
struct EnvironmentRegistration {
  // family/name, both made of lower-case letters, digits and underscores. The library's families
  // are reserved.
  std::string id;
  // Makes a batch of options.num_envs environments whose spec has this id. Called from any thread.
  std::function<std::unique_ptr<Environment>(const EnvironmentOptions& options)> make;
  // The keys env.* that `make` uses.
  std::vector<std::string> keys = {};
};

// Registers an environment for the rest of the program, from any thread. Must come before the id is
// used and before a run with it is resumed. Throws BadInput for a bad id or key, and for an id that
// already exists.
void RegisterEnvironment(const EnvironmentRegistration& registration);
// Registers batches of simulations (native_environment.h) that respect env.max_episode_steps.
void RegisterEnvironment(const EnvironmentSpec& spec, const MakeSimulation& make);

// Whether a program could register an environment of this id. A run whose id is unknown here may be
// another program's.
bool CanBeRegistered(const std::string& id);

// A BadInput error: there is no environment of that name.
class UnknownEnvironment : public Error {
 public:
  explicit UnknownEnvironment(const std::string& message) : Error(Kind::kBadInput, message) {}
};

// The canonical form of the id: minatar/space_invaders for MinAtar/Space-Invaders. Throws
// UnknownEnvironment, but does not check whether a bridged environment exists: only its worker
// knows.
std::string NormalizedId(const std::string& id);

// Whether `id` names a native environment, one that lives in this process. All registered ones do.
bool IsNative(const std::string& id);

// The keys env.* that matter for it; the others have no effect. Throws UnknownEnvironment.
std::vector<std::string> EnvironmentKeys(const std::string& id);

// Throws BadInput if there are wrappers and the environment takes none.
void RequireWrappable(const std::string& id, const EnvironmentOptions& options);

// Throws UnknownEnvironment, with suggestions and the registered ids, for an id that does not
// exist, and BadInput for options that are out of range. For bridged environments see
// GymnasiumEnvironment::Make.
std::unique_ptr<Environment> MakeEnvironment(const std::string& id,
                                             const EnvironmentOptions& options = {});

// The Python for bridged environments: env.python; otherwise the one that scripts/atari makes
// beside the program; otherwise python3.
std::string ResolvePython(const std::string& configured);

// Whether this is the one used without env.python.
bool IsDefaultPython(const std::string& configured);

struct EnvironmentListing {
  std::string id;
  std::string observation;           // "uint8 10x10x4 in [0, 1]"
  std::string actions;               // "6 actions"
  std::int64_t max_episode_steps;    // 0: none, or varies
  std::vector<std::string> options;  // EnvironmentKeys
};

// Native environments, the paper's 20 Atari games, one line each for Atari's and Gymnasium's
// others, and registered ones.
std::vector<EnvironmentListing> ListEnvironments();

}  // namespace stableaa

#endif  // STABLEAA_ENV_REGISTRY_H_
