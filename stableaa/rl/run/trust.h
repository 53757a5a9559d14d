// Files that decide which Python code runs.
//
// The environment gymnasium/module:Id imports a module, also from the current folder, and
// env.python is a program to be started. Whoever names them on the command line or in a
// configuration of their own means to run them. A run's config.toml and the metadata of a weights
// file may come from somebody else: what they name is run only if somebody says so. Environments of
// Gymnasium's own registry (gymnasium/CartPole-v1) and the default interpreter need no such word.
#ifndef STABLEAA_RL_RUN_TRUST_H_
#define STABLEAA_RL_RUN_TRUST_H_

#include <filesystem>
#include <optional>
#include <string>

#include "stableaa/rl/run/run_options.h"

namespace stableaa {

// What an environment runs beyond installed packages and the default interpreter.
struct ForeignCode {
  std::optional<std::string> module = {};  // my_envs of gymnasium/my_envs:Maze-v0
  std::optional<std::string> python = {};  // env.python

  bool any() const { return module || python; }
};

ForeignCode ForeignCodeOf(const RunOptions& options);

// BadInput if there is any, which only `file` names: "runs/a/config.toml names the Python module
// 'my_envs', whose code is not run because a file says so; " and `remedy`.
void RefuseForeignCode(const ForeignCode& code, const std::filesystem::path& file,
                       const std::string& remedy);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_TRUST_H_
