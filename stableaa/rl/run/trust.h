// Decides which Python code a file may cause to run.
//
// The environment gymnasium/module:Id imports a module, possibly from the current folder, so does a
// wrapper of env.wrappers, and env.python is a program to start. Whoever names them in their own
// options means to run them. But a run's config.toml and the metadata of a weights file may come
// from somebody else, so the code they name runs only if the caller trusts it. Environments in
// Gymnasium's own registry (gymnasium/CartPole-v1), its own wrappers except RecordVideo, which
// writes files, and the default interpreter need no trust.
#ifndef STABLEAA_RL_RUN_TRUST_H_
#define STABLEAA_RL_RUN_TRUST_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/core/error.h"
#include "stableaa/rl/run/run_options.h"

namespace stableaa {

// The code that an environment runs beyond installed packages and the default interpreter.
struct ForeignCode {
  std::optional<std::string> module = {};  // my_envs of gymnasium/my_envs:Maze-v0
  std::optional<std::string> python = {};  // env.python
  std::vector<std::string> wrappers = {};  // env.wrappers, if one of them is not harmless

  bool any() const { return module || python || !wrappers.empty(); }
};

ForeignCode ForeignCodeOf(const RunOptions& options);

// A BadInput error: code that only a file names and that nobody has trusted.
class UntrustedCode : public Error {
 public:
  UntrustedCode(const std::string& message, const ForeignCode& code, const std::string& env)
      : Error(Kind::kBadInput, message), code_(code), env_(env) {}

  const ForeignCode& code() const { return code_; }
  const std::string& env() const { return env_; }  // train.env, including the module

 private:
  ForeignCode code_;
  std::string env_;
};

// Throws UntrustedCode if there is any: "runs/a/config.toml names the Python module 'my_envs',
// whose code is not run because a file says so". `file` is the one that names it, `env` its
// train.env.
void RefuseForeignCode(const ForeignCode& code, const std::filesystem::path& file,
                       const std::string& env);

}  // namespace stableaa

#endif  // STABLEAA_RL_RUN_TRUST_H_
