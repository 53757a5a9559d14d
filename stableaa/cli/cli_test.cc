// The program as its users meet it: a process with arguments, two streams and an exit code.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/cli/run_program_test.h"

namespace stableaa::cli_test {

const std::vector<Arguments>& Commands() {
  static const std::vector<Arguments> commands = {{},
                                                  {"bench"},
                                                  {"bench", "act"},
                                                  {"bench", "anderson"},
                                                  {"bench", "env"},
                                                  {"bench", "nn"},
                                                  {"bench", "nn-check"},
                                                  {"bench", "replay"},
                                                  {"bench", "solve"},
                                                  {"bench", "train"},
                                                  {"bench", "update"},
                                                  {"config"},
                                                  {"config", "keys"},
                                                  {"config", "show"},
                                                  {"env"},
                                                  {"env", "list"},
                                                  {"env", "rollout"},
                                                  {"eval"},
                                                  {"export"},
                                                  {"mdp"},
                                                  {"mdp", "convert"},
                                                  {"mdp", "generate"},
                                                  {"mdp", "info"},
                                                  {"play"},
                                                  {"report"},
                                                  {"solve"},
                                                  {"sweep"},
                                                  {"theory"},
                                                  {"train"},
                                                  {"completion"},
                                                  {"completion", "bash"}};
  return commands;
}

// ---- Version, help, usage ----

TEST(Program, PrintsItsVersion) {
  EXPECT_EQ(ExpectOutput(Stableaa({"--version"})), "stableaa " STABLEAA_VERSION "\n");
}

TEST(Program, VersionAsJsonIsOneObjectThatAlsoNamesCompilerAndMachine) {
  const std::string out = ExpectOutput(Stableaa({"--version", "--json"}));
  EXPECT_EQ(Lines(out).size(), 1U);
  const auto object = nlohmann::json::parse(out);
  EXPECT_EQ(Fields(object), (std::set<std::string>{"name", "version", "compiler", "machine"}));
  EXPECT_EQ(object["name"], "stableaa");
  EXPECT_EQ(object["version"], STABLEAA_VERSION);
  EXPECT_NE(object["compiler"], "");
  EXPECT_NE(object["machine"], "");
}

TEST(Program, HelpOfEveryCommandGoesToStdoutWithAnExample) {
  for (const Arguments& command : Commands()) {
    for (const std::string flag : {"--help", "-h"}) {
      Arguments arguments = command;
      arguments.push_back(flag);
      const std::string help = ExpectOutput(Stableaa(arguments));
      EXPECT_TRUE(help.find("Example: ") != std::string::npos ||
                  help.find("Examples: ") != std::string::npos)
          << help;
    }
  }
}

TEST(Program, HelpListsEveryCommandThatIsTestedHere) {
  for (const Arguments& command : Commands()) {
    if (command.empty()) continue;
    const Arguments parent(command.begin(), command.end() - 1);
    Arguments arguments = parent;
    arguments.push_back("--help");
    EXPECT_NE(Stableaa(arguments).out.find("\n  " + command.back() + " "), std::string::npos)
        << command.back();
  }
}

TEST(Program, ExamplesOfTheHelpAreAccepted) {
  for (const std::string arguments :
       {"config show --preset stable-aa", "config keys --json", "completion bash",
        "config show --preset stable-aa --env minatar/breakout", "env list --json",
        "bench env minatar/breakout --seconds 0.05"}) {
    std::istringstream words(arguments);
    Arguments split;
    for (std::string word; words >> word;) split.push_back(word);
    EXPECT_EQ(Stableaa(split).exit_code, 0) << arguments;
  }
}

TEST(Program, NoCommandIsAnError) {
  EXPECT_EQ(ExpectError(Stableaa({}), 2), "no command given; see 'stableaa --help'");
}

TEST(Program, UnknownCommandsAreNamedWithWhatWasProbablyMeant) {
  EXPECT_EQ(ExpectError(Stableaa({"benhc"}), 2), "unknown command 'benhc'; did you mean 'bench'?");
  EXPECT_EQ(ExpectError(Stableaa({"xyzzy"}), 2), "unknown command 'xyzzy'; see 'stableaa --help'");
  EXPECT_EQ(ExpectError(Stableaa({"bench", "andersen"}), 2),
            "unknown command 'bench andersen'; did you mean 'anderson'?");
  EXPECT_EQ(ExpectError(Stableaa({"config", "xyzzy"}), 2),
            "unknown command 'config xyzzy'; see 'stableaa config --help'");
}

TEST(Program, IncompleteCommandsAreErrors) {
  for (const std::string command : {"bench", "config", "completion", "mdp"}) {
    EXPECT_NE(ExpectError(Stableaa({command}), 2).find("see 'stableaa " + command + " --help'"),
              std::string::npos);
  }
}

TEST(Program, UnknownOptionsAndArgumentsAreErrors) {
  for (Arguments command : Commands()) {
    command.push_back("--bogus");
    EXPECT_NE(ExpectError(Stableaa(command), 2), "");
  }
  EXPECT_NE(ExpectError(Stableaa({"bench", "anderson", "--bogus"}), 2)
                .find("--bogus; see 'stableaa bench anderson --help'"),
            std::string::npos);
  EXPECT_NE(ExpectError(Stableaa({"config", "show", "more"}), 2).find("more"), std::string::npos);
  EXPECT_NE(ExpectError(Stableaa({"config", "show", "--set"}), 2).find("--set"), std::string::npos);
}

TEST(Program, WhatIsUnknownIsAnErrorBesideHelpToo) {
  EXPECT_EQ(ExpectError(Stableaa({"NONSENSE", "--help"}), 2),
            "unknown command 'NONSENSE'; see 'stableaa --help'");
  EXPECT_EQ(ExpectError(Stableaa({"benhc", "-h"}), 2),
            "unknown command 'benhc'; did you mean 'bench'?");
  EXPECT_EQ(ExpectError(Stableaa({"bench", "NONSENSE", "--help"}), 2),
            "unknown command 'bench NONSENSE'; see 'stableaa bench --help'");
  for (const Arguments& arguments :
       std::vector<Arguments>{{"--help", "NONSENSE"},
                              {"bench", "--help", "NONSENSE"},
                              {"train", "--help", "NONSENSE"},
                              {"train", "NONSENSE", "--help"},
                              {"config", "show", "--help", "NONSENSE"}}) {
    EXPECT_NE(ExpectError(Stableaa(arguments), 2).find("NONSENSE"), std::string::npos);
  }
  for (Arguments command : Commands()) {
    command.insert(command.end(), {"--nonsense", "--help"});
    EXPECT_NE(ExpectError(Stableaa(command), 2).find("--nonsense"), std::string::npos);
  }
}

// ---- Numbers ----

TEST(Program, WholeNumbersMayHaveAnExponentAndSeparators) {
  for (const std::string n : {"1000", "1e3", "1_000", "+1.0e3"}) {
    const auto object = nlohmann::json::parse(
        ExpectOutput(Stableaa({"bench", "anderson", "--n", n, "--threads", "1e0", "--json"})));
    EXPECT_EQ(object["n"], 1000) << n;
  }
}

// Every integer flag of every command.
TEST(Program, OtherNumbersAreErrorsThatNameTheRange) {
  const std::vector<std::pair<Arguments, std::string>> flags = {
      {{"bench", "act"}, "--threads"},
      {{"bench", "anderson"}, "--n"},
      {{"bench", "anderson"}, "--threads"},
      {{"bench", "env"}, "--num-envs"},
      {{"bench", "nn"}, "--batch"},
      {{"bench", "nn"}, "--threads"},
      {{"bench", "nn-check"}, "--threads"},
      {{"bench", "replay"}, "--frames"},
      {{"bench", "solve"}, "--threads"},
      {{"bench", "train"}, "--threads"},
      {{"bench", "update"}, "--threads"},
      {{"env", "rollout", "minatar/breakout"}, "--episodes"},
      {{"env", "rollout", "minatar/breakout"}, "--max-episode-steps"},
      {{"env", "rollout", "minatar/breakout"}, "--seed"},
      {{"eval", "nowhere"}, "--episodes"},
      {{"eval", "nowhere"}, "--seed"},
      {{"mdp", "convert", "a.drn", "b.drn"}, "--threads"},
      {{"mdp", "generate", "grid", "-o", "nowhere.drn"}, "--seed"},
      {{"mdp", "info", "a.drn"}, "--threads"},
      {{"play", "nowhere"}, "--episodes"},
      {{"play", "nowhere"}, "--seed"},
      {{"play", "nowhere"}, "--steps"},
      {{"solve", "a.drn"}, "--evaluation-sweeps"},
      {{"solve", "a.drn"}, "--max-iterations"},
      {{"solve", "a.drn"}, "--memory"},
      {{"solve", "a.drn"}, "--threads"},
      {{"sweep", "a.toml"}, "--jobs"},
      {{"sweep", "a.toml"}, "--threads"},
      {{"theory"}, "--seed"},
      {{"theory"}, "--trials"},
      {{"train"}, "--end-with-parent"},
      {{"train"}, "--seed"},
      {{"train"}, "--steps"},
      {{"train"}, "--threads"}};
  const auto expect_refused = [](Arguments arguments, const std::string& flag,
                                 const std::string& number) {
    arguments.insert(arguments.end(), {flag, number});
    const std::string message = ExpectError(Stableaa(arguments), 2);
    EXPECT_TRUE(message.starts_with(flag + ": expected a whole number in [")) << message;
    EXPECT_NE(message.find("found " + number + "; see 'stableaa "), std::string::npos) << message;
  };
  for (const auto& [command, flag] : flags) expect_refused(command, flag, "1.5e0");
  for (const std::string number : {"1e-3", "1e30", "1__0", "_1", "1_", "0x10", "many"}) {
    expect_refused({"train"}, "--steps", number);
  }
  for (const std::string number : {"1.5e0", "1e-3", "1e30", "1__0", "-1"}) {
    EXPECT_NE(
        ExpectError(
            Stableaa({"mdp", "generate", "garnet", "-o", "nowhere.drn", "--states=" + number}), 2)
            .find("--states"),
        std::string::npos);
  }
}

TEST(Program, FlagsThatWouldBeIgnoredAreErrors) {
  EXPECT_NE(ExpectError(Stableaa({"--json"}), 2).find("--version"), std::string::npos);
  EXPECT_NE(ExpectError(Stableaa({"--json", "config", "keys"}), 2), "");
  EXPECT_NE(ExpectError(Stableaa({"--version", "config", "keys"}), 2), "");
  EXPECT_NE(ExpectError(Stableaa({"config", "keys", "--json", "--markdown"}), 2), "");
}

TEST(Program, OutputThatCannotBeWrittenIsAFailure) {
  for (const Arguments& command :
       std::vector<Arguments>{{"--version"},
                              {"--help"},
                              {"config", "keys"},
                              {"config", "show"},
                              {"completion", "bash"},
                              {"bench", "anderson", "--n", "100", "--threads", "1", "--json"}}) {
    EXPECT_EQ(ExpectError(Stableaa(command, "/dev/full"), 1),
              "cannot write the output: No space left on device");
    EXPECT_EQ(ExpectError(Stableaa(command, "-"), 1),
              "cannot write the output: Bad file descriptor");
  }
}

// ---- completion ----

// What bash offers for a line of words, the last one incomplete.
Arguments Completions(const Arguments& words) {
  Arguments command = {"bash", "-c",
                       "source <(\"$0\" completion bash) && COMP_WORDS=(\"$@\") && "
                       "COMP_CWORD=$(($# - 1)) && _stableaa 2>/dev/null; "
                       "printf '%s\\n' \"${COMPREPLY[@]}\"",
                       STABLEAA_PROGRAM_PATH};
  command.insert(command.end(), words.begin(), words.end());
  return Lines(ExpectOutput(RunCommand(command)));
}

TEST(Completion, KnowsCommandsOptionsAndKeys) {
  EXPECT_EQ(Completions({"stableaa", "be"}), Arguments{"bench"});
  EXPECT_EQ(Completions({"stableaa", "bench", "an"}), Arguments{"anderson"});
  EXPECT_EQ(Completions({"stableaa", "bench", "anderson", "--th"}), Arguments{"--threads"});
  EXPECT_EQ(Completions({"stableaa", "config", "show", "--set", "anderson.mem"}),
            Arguments{"anderson.memory="});
  EXPECT_EQ(Completions({"stableaa", "xyz"}), Arguments{""});
}

}  // namespace stableaa::cli_test
