#include "stableaa/rl/run/trust.h"

#include <gtest/gtest.h>

#include <string>

#include "stableaa/env/registry.h"
#include "stableaa/testing/message.h"

namespace stableaa::trust_test {

RunOptions Playing(const std::string& env, const std::string& python = "") {
  RunOptions options;
  options.train.env = env;
  options.env.python = python;
  return options;
}

TEST(ForeignCode, IsAModuleBeforeTheColon) {
  EXPECT_EQ(ForeignCodeOf(Playing("gymnasium/my_envs:Maze-v0")).module, "my_envs");
  EXPECT_EQ(ForeignCodeOf(Playing("Gymnasium/a.b:Maze-v0")).module, "a.b");
  EXPECT_EQ(ForeignCodeOf(Playing("gymnasium/a/b:c:Maze-v0")).module, "a/b:c");
  for (const std::string env : {"gymnasium/CartPole-v1", "gymnasium/ALE/Pong-v5", "atari/pong",
                                "minatar/breakout", "classic/cartpole"}) {
    EXPECT_FALSE(ForeignCodeOf(Playing(env)).any()) << env;
  }
}

TEST(ForeignCode, IsAnInterpreterOtherThanTheDefault) {
  for (const std::string env : {"gymnasium/CartPole-v1", "atari/pong"}) {
    EXPECT_EQ(ForeignCodeOf(Playing(env, "/tmp/python3")).python, "/tmp/python3");
    EXPECT_FALSE(ForeignCodeOf(Playing(env, ResolvePython(""))).any());
  }
  // Nothing starts the interpreter here.
  EXPECT_FALSE(ForeignCodeOf(Playing("minatar/breakout", "/tmp/python3")).any());
}

TEST(ForeignCode, IsRefusedByName) {
  const auto refusal = [](const RunOptions& options) {
    return MessageOf([&options] {
      RefuseForeignCode(ForeignCodeOf(options), "runs/a/config.toml", options.train.env);
    });
  };
  EXPECT_EQ(refusal(Playing("gymnasium/my_envs:Maze-v0")),
            "runs/a/config.toml names the Python module 'my_envs', whose code is not run because a "
            "file says so");
  EXPECT_EQ(refusal(Playing("gymnasium/my_envs:Maze-v0", "./py\n")),
            "runs/a/config.toml names the Python module 'my_envs' and the interpreter './py\\n' "
            "(env.python), whose code is not run because a file says so");
  EXPECT_EQ(refusal(Playing("gymnasium/CartPole-v1")), "no error");
}

TEST(ForeignCode, RefusalsCarryWhatARemedyNeeds) {
  const RunOptions options = Playing("gymnasium/my_envs:Maze-v0", "/tmp/python3");
  try {
    RefuseForeignCode(ForeignCodeOf(options), "runs/a/config.toml", options.train.env);
    FAIL();
  } catch (const UntrustedCode& refusal) {
    EXPECT_EQ(refusal.code().module, "my_envs");
    EXPECT_EQ(refusal.code().python, "/tmp/python3");
    EXPECT_EQ(refusal.env(), "gymnasium/my_envs:Maze-v0");
  }
}

}  // namespace stableaa::trust_test
