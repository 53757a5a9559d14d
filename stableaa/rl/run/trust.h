// Files that decide which Python code runs.
//
// The environment gymnasium/module:Id imports a module, also from the current folder, and
// env.python is a program to be started. Whoever names them in options of their own means to run
// them. A run's config.toml and the metadata of a weights file may come from somebody else: what
// they name runs only if the caller trusts it. Environments of Gymnasium's own registry
// (gymnasium/CartPole-v1) and the default interpreter need no trust.
#ifndef STABLEAA_RL_RUN_TRUST_H_
#define STABLEAA_RL_RUN_TRUST_H_

#include <filesystem>
#include <optional>
#include <string>

#include "stableaa/core/error.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {

// What an environment runs beyond installed packages and the default interpreter.
struct ForeignCode {
  std::optional<std::string> module = {};  // my_envs of gymnasium/my_envs:Maze-v0
  std::optional<std::string> python = {};  // env.python

  bool any() const { return module || python; }
};

ForeignCode ForeignCodeOf(const RunOptions& options);

// A BadInput: code that only a file names, and that nobody has trusted.
class UntrustedCode : public Error {
 public:
  UntrustedCode(const std::string& message, const ForeignCode& code, const std::string& env)
      : Error(Kind::kBadInput, message), code_(code), env_(env) {}

  const ForeignCode& code() const { return code_; }
  const std::string& env() const { return env_; }  // train.env, with the module

 private:
  ForeignCode code_;
  std::string env_;
};

// UntrustedCode if there is any: "runs/a/config.toml names the Python module 'my_envs', whose code
// is not run because a file says so". `file` is the one that names it, `env` its train.env.
void RefuseForeignCode(const ForeignCode& code, const std::filesystem::path& file,
                       const std::string& env);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_TRUST_H_
