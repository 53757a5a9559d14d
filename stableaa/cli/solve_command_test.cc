// stableaa solve as its users meet it.

#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/base/files/descriptor.h"
#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::solve_command_test {

using Json = nlohmann::ordered_json;

class CommandSolve : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_ / name; }

  std::string File(const std::string& name, const std::string& content) const {
    std::ofstream(directory_ / name, std::ios::binary) << content;
    return Path(name);
  }

  std::string Content(const std::string& name) const {
    std::ifstream file(directory_ / name, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }

  // Two states: in 0, stay for 1 or go for 0; in 1, stay for 3. With γ = .5, V = (3, 6).
  std::string Small() const {
    return File("small.csv", "s,a,next,p,r\n0,0,0,1,1\n0,1,1,1,0\n1,0,1,1,3\n");
  }

  std::string Generated(const std::string& kind, const Arguments& more) const {
    Arguments arguments = {"mdp", "generate", kind, "-o", Path(kind + ".bin")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    ExpectOutput(Stableaa(arguments));
    return Path(kind + ".bin");
  }

  static Arguments With(Arguments arguments, const Arguments& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  // The object printed by a run with this exit code; stdout has nothing else.
  static Json Solve(const Arguments& arguments, int exit_code = 0) {
    const Outcome outcome = Stableaa(With({"solve", "--json"}, arguments));
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_EQ(Lines(outcome.out).size(), 1U) << outcome.out;
    EXPECT_EQ(Lines(outcome.err).size(), exit_code == 0 ? 0U : 1U) << outcome.err;
    return outcome.out.empty() ? Json() : Json::parse(outcome.out);
  }

  // A usage error or bad input: nothing on stdout, no new files.
  std::string Refused(const Arguments& arguments) const {
    const std::vector<std::string> before = Names();
    const std::string message = ExpectError(Stableaa(With({"solve", "--json"}, arguments)), 2);
    EXPECT_EQ(Names(), before) << message;
    return message;
  }
  void ExpectRefused(const Arguments& arguments, const std::string& part) const {
    const std::string message = Refused(arguments);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }

  std::vector<double> Column(const std::string& name, std::size_t column) const {
    std::vector<double> numbers;
    const std::vector<std::string> lines = Lines(Content(name));
    for (std::size_t i = 1; i < lines.size(); ++i) {
      std::istringstream cells(lines[i]);
      std::string cell;
      for (std::size_t c = 0; c <= column; ++c) std::getline(cells, cell, ',');
      numbers.push_back(std::stod(cell));
    }
    return numbers;
  }

  const TemporaryFolder directory_;
};

// ---- The object ----

TEST_F(CommandSolve, PrintsTheFieldsThatScriptsRelyOnInTheirOrder) {
  const Json object = Solve({Small(), "--discount", "0.5"});
  const std::vector<std::string> expected = {"requested", "method",       "choice",
                                             "converged", "iterations",   "inner_iterations",
                                             "seconds",   "load_seconds", "lower",
                                             "upper",     "error",        "policy_error",
                                             "residual",  "threads",      "bytes_per_second",
                                             "version"};
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  ASSERT_GE(names.size(), expected.size());
  names.resize(expected.size());
  EXPECT_EQ(names, expected);
  EXPECT_EQ(object["requested"], "auto");
  EXPECT_EQ(object["converged"], true);
  EXPECT_TRUE(object["stopped"].is_null());
  EXPECT_NE(object["choice"], "");
  EXPECT_EQ(object["version"], STABLEAA_VERSION);
  EXPECT_EQ(object["states"], 2);
  EXPECT_EQ(object["discount"], 0.5);
  EXPECT_EQ(object["tolerance"], 1e-6);
  const double error = object["error"];
  EXPECT_LE(error, 1e-6);
  EXPECT_EQ(error, std::max(std::abs(object["lower"].get<double>()),
                            std::abs(object["upper"].get<double>())));
  EXPECT_LE(object["policy_error"], 2e-6);
  EXPECT_GE(object["seconds"], 0);
}

// Stay in state 0 for 1 step or 2 coins; with γ = .5, V = 2 steps or 4 coins.
constexpr const char* kTwoRewards =
    "@type: MDP\n@reward_models\nsteps coins\n@nr_states\n1\n@model\nstate 0 init\n"
    "\taction a [1, 0]\n\t\t0 : 1\n\taction b [0, 2]\n\t\t0 : 1\n";

TEST_F(CommandSolve, ARewardStructureIsChosenByName) {
  const std::string model = File("m.drn", kTwoRewards);
  for (const auto& [name, value] : {std::pair("steps", "2"), {"coins", "4"}}) {
    const Json object = Solve(
        {model, "--discount", ".5", "--method", "pi", "--reward", name, "--values", Path("v.csv")});
    EXPECT_EQ(object["reward"], name);
    EXPECT_EQ(Content("v.csv"), std::string("state,value\n0,") + value + "\n");
  }
  EXPECT_TRUE(Solve({Small(), "--discount", ".5"})["reward"].is_null());
}

TEST_F(CommandSolve, TheFirstOfSeveralRewardStructuresIsUsedAndNamed) {
  const std::string model = File("m.drn", kTwoRewards);
  const Outcome outcome = Stableaa({"solve", model, "--discount", ".5", "--json"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "stableaa: " + model +
                             ": uses reward structure 'steps' of 2 (steps, coins); --reward picks "
                             "another\n");
  EXPECT_EQ(Json::parse(outcome.out)["reward"], "steps");
}

TEST_F(CommandSolve, AnUnknownRewardStructureIsAnErrorWithTheNames) {
  const std::string model = File("m.drn", kTwoRewards);
  EXPECT_EQ(ExpectError(Stableaa({"solve", model, "--discount", ".5", "--reward", "coin"}), 2),
            "--reward: expected one of steps, coins, found 'coin'; did you mean 'coins'?");
  EXPECT_EQ(ExpectError(Stableaa({"solve", Small(), "--discount", ".5", "--reward", "coin"}), 2),
            "--reward: the rewards of this file have no names to choose from");
}

TEST_F(CommandSolve, EveryMethodComesToTheSameValuesWithinItsBounds) {
  const std::string model = Generated("grid", {"--width", "12", "--height", "9", "--seed", "3"});
  Solve({model, "--discount", "0.99", "--method", "pi", "--tolerance", "1e-10", "--values",
         Path("exact.csv")});
  const std::vector<double> exact = Column("exact.csv", 1);
  for (const Arguments& method : std::vector<Arguments>{{"auto"},
                                                        {"vi"},
                                                        {"vi", "--anderson"},
                                                        {"gs"},
                                                        {"gs", "--order", "model"},
                                                        {"gs", "--evaluation-sweeps", "0"},
                                                        {"jacobi"},
                                                        {"pi"},
                                                        {"mpi"},
                                                        {"mpi", "--anderson", "--memory", "2"},
                                                        {"ipi"},
                                                        {"ipi", "--inner", "gmres"},
                                                        {"ipi", "--preconditioner", "gs"}}) {
    const Json object = Solve(With({model, "--discount", "0.99", "--tolerance", "1e-4", "--values",
                                    Path("v.csv"), "--bounds", Path("b.csv"), "--method"},
                                   method));
    EXPECT_EQ(object["requested"], method[0]);
    if (method[0] != "auto") {
      EXPECT_EQ(object["method"], method[0]);
    }
    const std::vector<double> values = Column("v.csv", 1);
    const std::vector<double> lower = Column("b.csv", 1);
    const std::vector<double> upper = Column("b.csv", 2);
    ASSERT_EQ(values.size(), exact.size());
    for (std::size_t s = 0; s < exact.size(); ++s) {
      EXPECT_NEAR(values[s], exact[s], object["error"].get<double>() + 1e-10);
      EXPECT_LE(lower[s], exact[s] + 1e-10);
      EXPECT_GE(upper[s], exact[s] - 1e-10);
    }
  }
}

TEST_F(CommandSolve, WritesValuesPolicyAndBounds) {
  Solve({Small(), "--discount", "0.5", "--values", Path("v.csv"), "--policy", Path("p.csv"),
         "--bounds", Path("b.csv")});
  EXPECT_EQ(Content("p.csv"), "state,action\n0,1\n1,0\n");
  EXPECT_EQ(Lines(Content("v.csv"))[0], "state,value");
  EXPECT_EQ(Lines(Content("b.csv"))[0], "state,lower,upper");
  EXPECT_NEAR(Column("v.csv", 1)[0], 3, 1e-6);
  EXPECT_NEAR(Column("v.csv", 1)[1], 6, 1e-6);
  EXPECT_LE(Column("b.csv", 1)[0], 3);
  EXPECT_GE(Column("b.csv", 2)[0], 3);
  EXPECT_EQ(Names(), (std::vector<std::string>{"b.csv", "p.csv", "small.csv", "v.csv"}));
}

TEST_F(CommandSolve, ValuesAreTheSameBytesForAnyNumberOfThreads) {
  const std::string model = Generated("garnet", {"--states", "20000", "--seed", "5"});
  for (const std::string method : {"auto", "vi", "mpi"}) {
    std::string first;
    for (const std::string threads : {"1", "2", "5"}) {
      const Json object = Solve({model, "--discount", "0.95", "--method", method, "--threads",
                                 threads, "--values", Path("v.csv")});
      EXPECT_EQ(object["threads"], std::stoi(threads));
      if (first.empty()) first = Content("v.csv");
      EXPECT_EQ(Content("v.csv"), first) << method << ' ' << threads;
    }
  }
}

TEST_F(CommandSolve, MinimizeTakesRewardsForCosts) {
  Solve({Small(), "--discount", "0.5", "--minimize", "--values", Path("v.csv"), "--policy",
         Path("p.csv")});
  EXPECT_EQ(Content("p.csv"), "state,action\n0,0\n1,0\n");
  EXPECT_NEAR(Column("v.csv", 1)[0], 2, 1e-6);
  EXPECT_NEAR(Column("v.csv", 1)[1], 6, 1e-6);
}

TEST_F(CommandSolve, CostsOfAFileAreMinimisedOnceNotTwice) {
  const std::string costs = File("c.mdp",
                                 "discount: 0.5\nvalues: cost\nstates: 1\nactions: 2\n"
                                 "T: * identity\nR: 0 : * : * 2\nR: 1 : * : * 3\n");
  const Json object = Solve({costs, "--values", Path("v.csv")});
  EXPECT_NEAR(Column("v.csv", 1)[0], -4, 1e-6);  // the smaller cost, as a reward
  EXPECT_FALSE(object["not_read"].empty());
  ExpectRefused({costs, "--minimize"}, "--minimize: the values of");
}

TEST_F(CommandSolve, NoFileOfTheModelIsWrittenOver) {
  const std::string model = File("m.tra", "1 1 1\n0 0 0 1\n");
  const std::string rewards = File("m.trew", "1 1 1\n0 0 0 2\n");
  ExpectRefused({model, "--discount", "0.5", "--values", rewards}, "a file of the model is");
  EXPECT_EQ(Content("m.trew"), "1 1 1\n0 0 0 2\n");
}

TEST_F(CommandSolve, EvaluateGivesTheValueOfThePolicy) {
  const std::string policy = File("mine.csv", "state,action\n1,0\n0,0\n");
  const Json object = Solve({Small(), "--discount", "0.5", "--evaluate", policy, "--values",
                             Path("v.csv"), "--policy", Path("p.csv")});
  EXPECT_EQ(object["converged"], true);
  EXPECT_NEAR(Column("v.csv", 1)[0], 2, 1e-6);
  EXPECT_EQ(Content("p.csv"), "state,action\n0,0\n1,0\n");
}

TEST_F(CommandSolve, TheDiscountOfTheFlagWinsOverTheFiles) {
  const std::string model = Generated("forest", {"--states", "10", "--discount", "0.9"});
  EXPECT_EQ(Solve({model})["discount"], 0.9);
  EXPECT_EQ(Solve({model, "--discount", "0.5"})["discount"], 0.5);
}

TEST_F(CommandSolve, AnOperatorOrAndersonSettlesTheMethodOfAuto) {
  const Json mellowmax =
      Solve({Small(), "--discount", "0.5", "--operator", "mellowmax", "--omega", "10"});
  EXPECT_EQ(mellowmax["requested"], "auto");
  EXPECT_EQ(mellowmax["method"], "vi");
  EXPECT_TRUE(mellowmax["choice"].get<std::string>().starts_with("vi: "));
  EXPECT_NEAR(mellowmax["bias_bound"].get<double>(), std::log(2) / (10 * 0.5), 1e-12);
  const Json anderson = Solve({Small(), "--discount", "0.5", "--anderson"});
  EXPECT_EQ(anderson["method"], "vi");
  EXPECT_TRUE(anderson["choice"].get<std::string>().starts_with("vi: "));
  EXPECT_GT(anderson["anderson"]["steps"], 0);
  EXPECT_FALSE(anderson.contains("bias_bound"));
}

TEST_F(CommandSolve, BoltzmannHasNoCertificateAndPrintsNull) {
  const Json object =
      Solve({Small(), "--discount", "0.5", "--operator", "boltzmann", "--omega", "2"});
  EXPECT_TRUE(object["error"].is_null());
  EXPECT_TRUE(object["lower"].is_null());
  EXPECT_LE(object["residual"], 1e-6);
  ExpectRefused(
      {Small(), "--discount", "0.5", "--operator", "boltzmann", "--bounds", Path("b.csv")},
      "--bounds");
}

TEST_F(CommandSolve, TheOtherKeysOfTheAcceleratorAreTaken) {
  const std::string model = Generated("chain", {"--states", "200"});
  const Arguments base = {model, "--discount", "0.99", "--method", "vi", "--anderson"};
  EXPECT_GT(Solve(base)["anderson"]["accelerated"], 0);
  EXPECT_EQ(Solve(With(base, {"--memory", "0"}))["anderson"]["accelerated"], 0);
  const Json every = Solve(With(base, {"--set", "anderson.interval=4"}));
  EXPECT_LT(every["anderson"]["accelerated"], every["anderson"]["steps"].get<int>() / 2);
  ExpectRefused(With(base, {"--set", "anderson.memroy=4"}), "anderson.memory");
  ExpectRefused(With(base, {"--set", "train.steps=4"}), "train.steps");
  ExpectRefused(With(base, {"--set", "anderson.threads=4"}), "--threads");
}

// ---- Text ----

TEST_F(CommandSolve, WithoutJsonItTellsPeople) {
  const std::string text =
      ExpectOutput(Stableaa({"solve", Small(), "--discount", "0.5", "--values", Path("v.csv")}));
  for (const std::string part : {"2 states", "3 rows", "discount 0.5", "method", "sweeps", "error",
                                 "policy", "3 to 6", "v.csv"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  const std::string mellowmax =
      ExpectOutput(Stableaa({"solve", Small(), "--discount", "0.5", "--operator", "mellowmax"}));
  EXPECT_NE(mellowmax.find("bias"), std::string::npos) << mellowmax;
}

TEST_F(CommandSolve, StableWeightsThatCannotGainMuchGetAWarning) {
  const auto warns = [&](const std::string& discount, const Arguments& more) {
    const Outcome outcome =
        Stableaa(With({"solve", "--json", Small(), "--discount", discount, "--anderson"}, more));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(Lines(outcome.out).size(), 1U);
    return outcome.err.find("warning") != std::string::npos &&
           outcome.err.find("at most about 1 + (1 - discount)/eta = 2") != std::string::npos;
  };
  EXPECT_TRUE(warns("0.5", {"--weights", "stable", "--eta", "0.5"}));
  EXPECT_FALSE(warns("0.5", {"--weights", "stable", "--eta", "0.4"}));
  EXPECT_FALSE(warns("0.5", {"--weights", "relative", "--eta", "0.5"}));
  EXPECT_FALSE(warns("0.5", {"--weights", "stable"}));
}

// ---- Stopping before the tolerance ----

TEST_F(CommandSolve, LimitsGiveTheBestSoFarWithHonestBoundsAndExitCodeOne) {
  const std::string model = Generated("chain", {"--states", "50"});
  Solve({model, "--discount", "0.99", "--method", "pi", "--values", Path("exact.csv")});
  const std::vector<double> exact = Column("exact.csv", 1);
  for (const std::string method : {"auto", "vi", "gs", "jacobi", "pi", "mpi", "ipi"}) {
    for (const auto& [limit, reason] : std::vector<std::pair<Arguments, std::string>>{
             {{"--max-iterations", "1"}, "iterations"}, {{"--max-seconds", "0"}, "time"}}) {
      const Json object = Solve(With({model, "--discount", "0.99", "--method", method, "--values",
                                      Path("v.csv"), "--trace", Path("t.csv")},
                                     limit),
                                1);
      EXPECT_EQ(object["converged"], false) << method;
      EXPECT_EQ(object["stopped"], reason) << method;
      const std::vector<double> values = Column("v.csv", 1);
      for (std::size_t s = 0; s < exact.size(); ++s) {
        EXPECT_NEAR(values[s], exact[s], object["error"].get<double>() + 1e-6) << method;
      }
      EXPECT_GE(Lines(Content("t.csv")).size(), 2U) << method;
    }
  }
}

TEST_F(CommandSolve, TheLineOnStderrNamesTheLimit) {
  const Outcome outcome = Stableaa({"solve", "--json", Generated("chain", {"--states", "50"}),
                                    "--discount", "0.99", "--max-iterations", "3"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(outcome.err.starts_with(
      "stableaa: error: not converged within --max-iterations 3: the certified error is "))
      << outcome.err;
}

TEST_F(CommandSolve, AToleranceBelowRoundingStopsThereAndNamesTheFloor) {
  const Outcome outcome =
      Stableaa({"solve", "--json", Small(), "--discount", "0.99999", "--tolerance", "1e-14"});
  EXPECT_EQ(outcome.exit_code, 1);
  const Json object = Json::parse(outcome.out);
  EXPECT_EQ(object["converged"], false);
  EXPECT_EQ(object["stopped"], "rounding");
  EXPECT_GT(object["rounding"], 1e-14);
  EXPECT_NE(outcome.err.find("rounding"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("--tolerance"), std::string::npos) << outcome.err;
}

TEST_F(CommandSolve, AnInterruptionGivesTheBestSoFarAndAllFiles) {
  const std::string model = Generated("chain", {"--states", "20000"});
  for (const int signal : {SIGINT, SIGTERM}) {
    ProgramAtWork program({"solve", "--json", model, "--discount", "0.9999", "--method", "vi",
                           "--max-seconds", "100", "--values", Path("v.csv"), "--policy",
                           Path("p.csv"), "--trace", Path("t.csv")});
    ASSERT_TRUE(
        program.Until([&] { return program.HandlesInterrupts() && program.WorkSeconds() > .5; }));
    program.Signal(signal);
    const Outcome outcome = program.Wait();
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_LT(outcome.seconds, 60);
    const Json object = Json::parse(outcome.out);
    EXPECT_EQ(object["converged"], false);
    EXPECT_EQ(object["stopped"], "interrupt");
    EXPECT_GT(object["iterations"], 1);
    EXPECT_TRUE(outcome.err.starts_with("stableaa: error: interrupted: ")) << outcome.err;
    EXPECT_EQ(Lines(Content("v.csv")).size(), 20001U);
    EXPECT_EQ(Lines(Content("p.csv")).size(), 20001U);
    EXPECT_GT(Lines(Content("t.csv")).size(), 2U);
  }
}

// ---- Trace and plot ----

TEST_F(CommandSolve, TheTraceHasALinePerPassAndItsLastOneIsTheResult) {
  const Json object =
      Solve({Small(), "--discount", "0.9", "--method", "vi", "--trace", Path("t.csv")});
  const std::vector<std::string> lines = Lines(Content("t.csv"));
  EXPECT_EQ(static_cast<double>(lines.size() - 1), object["iterations"]);
  EXPECT_TRUE(lines[1].starts_with("vi small.csv,1,")) << lines[1];
  EXPECT_EQ(Column("t.csv", 5).back(), object["upper"]);
  const std::vector<double> seconds = Column("t.csv", 2);
  EXPECT_TRUE(std::ranges::is_sorted(seconds));
}

// What a run did, without times and rates, and without what is done only for observers.
std::string Work(Json object) {
  for (const char* const name :
       {"seconds", "load_seconds", "bytes_per_second", "watch_backups", "threads"}) {
    EXPECT_EQ(object.erase(name), 1U) << name;
  }
  return object.dump();
}

// auto once chose gs here, but ipi with a trace or when stderr was a terminal.
TEST_F(CommandSolve, ATraceChangesNothing) {
  const std::string model = Generated("queues", {"--queues", "2", "--capacity", "7"});
  bool shown = false;
  for (const char* const method : {"auto", "gs", "ipi", "pi", "vi", "mpi", "jacobi"}) {
    for (const char* const most : {"1000000", "60"}) {
      const Arguments base = {model,  "--discount",       "0.98", "--method",
                              method, "--max-iterations", most};
      const Json probe = Json::parse(Stableaa(With({"solve", "--json"}, base)).out);
      const int code = probe["converged"] == true ? 0 : 1;
      const Json alone =
          Solve(With(base, {"--values", Path("v.csv"), "--policy", Path("p.csv")}), code);
      const Json watched = Solve(With(base, {"--values", Path("w.csv"), "--policy", Path("q.csv"),
                                             "--trace", Path("t.csv"), "--threads", "2"}),
                                 code);
      EXPECT_EQ(Work(alone), Work(watched)) << method << ", " << most;
      EXPECT_EQ(Content("v.csv"), Content("w.csv")) << method;
      EXPECT_EQ(Content("p.csv"), Content("q.csv")) << method;
      EXPECT_EQ(alone["watch_backups"], 0);
      EXPECT_EQ(Column("t.csv", 1).back(), watched["iterations"]);
      shown |= watched["watch_backups"] > 0;
    }
  }
  EXPECT_TRUE(shown);
}

// The outcome of a run whose stderr is a terminal; `err` is what the terminal received. None if no
// terminal is available.
std::optional<Outcome> RunOnTerminal(Arguments arguments) {
  arguments.insert(arguments.begin(), STABLEAA_PROGRAM_PATH);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int ours = -1;
  int its = -1;
  if (::openpty(&ours, &its, nullptr, nullptr, nullptr) != 0) return std::nullopt;
  const Descriptor terminal(ours);
  Descriptor other_end(its);
  std::FILE* const out = std::tmpfile();
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("TERM", "xterm-256color", 1);
    ::dup2(fileno(out), STDOUT_FILENO);
    ::dup2(its, STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  other_end.Close();
  Outcome outcome;
  std::array<char, 4096> part;
  for (ssize_t got = 0; (got = ::read(ours, part.data(), part.size())) > 0;) {
    outcome.err.append(part.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  outcome.out = stableaa::Content(out);
  std::fclose(out);
  return outcome;
}

TEST_F(CommandSolve, ATerminalChangesNothing) {
  const Arguments arguments = {Generated("queues", {"--queues", "2", "--capacity", "7"}),
                               "--discount", "0.98"};
  const Json alone = Solve(arguments);
  const std::optional<Outcome> outcome = RunOnTerminal(With({"solve", "--json"}, arguments));
  if (!outcome) GTEST_SKIP() << "needs a pseudo-terminal";
  ASSERT_EQ(outcome->exit_code, 0) << outcome->err;
  const Json watched = Json::parse(outcome->out);
  EXPECT_EQ(Work(alone), Work(watched));
  EXPECT_GT(watched["watch_backups"], 0);
}

TEST_F(CommandSolve, AppendKeepsTheRunsOfATrace) {
  const Arguments base = {Small(), "--discount", "0.9", "--trace", Path("t.csv"), "--append"};
  Solve(With(base, {"--method", "vi"}));
  const std::string first = Content("t.csv");
  Solve(With(base, {"--method", "vi"}));
  const std::string second = Content("t.csv");
  EXPECT_TRUE(second.starts_with(first));
  EXPECT_NE(second.find("\nvi small.csv #2,1,"), std::string::npos);
  Solve({Small(), "--discount", "0.9", "--method", "gs", "--trace", Path("t.csv")});
  EXPECT_EQ(Content("t.csv").find("\nvi small.csv"), std::string::npos);
}

TEST_F(CommandSolve, AFileThatIsNoTraceOrPlotIsNotAppendedTo) {
  const std::string other = File("other.csv", "a,b\n1,2\n");
  ExpectRefused({Small(), "--discount", "0.9", "--trace", other, "--append"}, "other.csv:1:");
  EXPECT_EQ(Content("other.csv"), "a,b\n1,2\n");
  for (const std::string name : {"pipe.csv", "pipe.svg"}) {  // nobody writes to them
    ASSERT_EQ(::mkfifo(Path(name).c_str(), 0600), 0);
    ExpectRefused({Small(), "--discount", "0.9", name == "pipe.csv" ? "--trace" : "--plot",
                   Path(name), "--append"},
                  "expected a regular file to add to");
  }
  const std::string picture = File("other.svg", "<svg></svg>");
  ExpectRefused({Small(), "--discount", "0.9", "--plot", picture, "--append"}, "other.svg");
  EXPECT_EQ(Content("other.svg"), "<svg></svg>");
}

class CommandSolvePlot : public CommandSolve {
 protected:
  void SetUp() override {
    if (std::system("gnuplot --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs gnuplot";
  }
};

// Elements are properly nested and closed, as every SVG reader requires.
void ExpectWellFormed(const std::string& text) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while ((at = text.find('<', at)) != std::string::npos) {
    const std::size_t end = text.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = text.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.starts_with("?") || tag.starts_with("!") || tag.ends_with("/")) continue;
    const std::string name = tag.substr(0, tag.find_first_of(" \n\t"));
    if (!name.starts_with("/")) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << name;
    ASSERT_EQ("/" + open.back(), name);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
}

TEST_F(CommandSolvePlot, DrawsOneCurvePerRunAndKeepsFormerOnesWithAppend) {
  const Arguments base = {Small(), "--discount", "0.9", "--plot", Path("p.svg")};
  Solve(With(base, {"--method", "vi"}));
  ExpectWellFormed(Content("p.svg"));
  EXPECT_NE(Content("p.svg").find(">vi small.csv<"), std::string::npos);
  Solve(With(base, {"--method", "gs", "--append"}));
  ExpectWellFormed(Content("p.svg"));
  EXPECT_NE(Content("p.svg").find(">vi small.csv<"), std::string::npos);
  EXPECT_NE(Content("p.svg").find(">gs small.csv<"), std::string::npos);
  Solve(With(base, {"--method", "mpi"}));
  EXPECT_EQ(Content("p.svg").find(">vi small.csv<"), std::string::npos);
}

TEST_F(CommandSolvePlot, TakesTheRunsOfTheTrace) {
  const Arguments base = {Small(), "--discount", "0.9", "--trace", Path("t.csv"), "--append"};
  Solve(With(base, {"--method", "vi"}));
  Solve(With(base, {"--method", "gs", "--plot", Path("p.svg")}));
  EXPECT_NE(Content("p.svg").find(">vi small.csv<"), std::string::npos);
  EXPECT_NE(Content("p.svg").find(">gs small.csv<"), std::string::npos);
}

TEST_F(CommandSolve, APlotWithoutGnuplotIsAnErrorBeforeTheSolve) {
  const Outcome outcome =
      RunCommand({"env", "PATH=/nowhere", STABLEAA_PROGRAM_PATH, "solve", "--json", Small(),
                  "--discount", "0.9", "--plot", Path("p.svg"), "--values", Path("v.csv")});
  EXPECT_NE(ExpectError(outcome, 1).find("gnuplot-nox"), std::string::npos);
  EXPECT_EQ(Names(), std::vector<std::string>{"small.csv"});
}

// ---- Bad input ----

TEST_F(CommandSolve, FilesThatAreNoModelsAreErrors) {
  const Arguments discount = {"--discount", "0.9"};
  ExpectRefused(With({Path("none.drn")}, discount), "none.drn");
  ExpectRefused(With({File("a.txt", "hello")}, discount), ".drn");
  ExpectRefused(With({directory_.path().string() + "/"}, discount), "");
  ExpectRefused(With({File("b.csv", "s,a,next,p,r\n0,0,0,0.5,1\n")}, discount), "b.csv:2");
  ExpectRefused(With({File("e.csv", "")}, discount), "e.csv");
  ExpectRefused(With({"/dev/null"}, discount), "a pipe needs one too");
  ExpectRefused({}, "MODEL");
}

TEST_F(CommandSolve, WithoutADiscountAnywhereItAsksForOne) {
  ExpectRefused({Small()}, "--discount");
  ExpectRefused({Small(), "--discount", "1"}, "undiscounted");
}

TEST_F(CommandSolve, BadNumbersAreErrors) {
  for (const auto& [flag, values] : std::vector<std::pair<std::string, Arguments>>{
           {"--discount", {"-0.1", "1", "1.5", "nan", "x", ""}},
           {"--tolerance", {"0", "-1", "nan", "inf", "x"}},
           {"--threads", {"0", "-1", "1025", "x"}},
           {"--max-seconds", {"-1", "nan", "x"}},
           {"--max-iterations", {"0", "-1", "nan", "x"}},
           {"--method", {"", "viterbi", "VI"}},
           {"--operator", {"", "min"}},
           {"--order", {"dfs"}},
           {"--inner", {"cg"}},
           {"--preconditioner", {"lu"}}}) {
    for (const std::string& value : values) {
      Arguments arguments = {Small(), flag, value, "--values", Path("v.csv")};
      if (flag != "--discount") arguments = With(arguments, {"--discount", "0.9"});
      const std::string name = flag.substr(2, 3);
      EXPECT_NE(Refused(arguments).find(name), std::string::npos) << flag << ' ' << value;
    }
  }
  for (const auto& [flag, values] :
       std::vector<std::pair<std::string, Arguments>>{{"--memory", {"-1", "1001", "x"}},
                                                      {"--eta", {"-1", "nan"}},
                                                      {"--damping", {"0", "2.1", "nan"}},
                                                      {"--weights", {"heavy", ""}}}) {
    for (const std::string& value : values) {
      ExpectRefused({Small(), "--discount", "0.9", "--anderson", flag, value}, flag.substr(2));
    }
  }
  ExpectRefused({Small(), "--discount", "0.9", "--operator", "mellowmax", "--omega", "-1"},
                "omega");
}

TEST_F(CommandSolve, FlagsThatWouldBeIgnoredAreErrors) {
  const Arguments base = {Small(), "--discount", "0.9"};
  for (const Arguments& flag : std::vector<Arguments>{{"--memory", "3"},
                                                      {"--weights", "raa"},
                                                      {"--eta", "0.1"},
                                                      {"--damping", "1"},
                                                      {"--set", "anderson.memory=3"}}) {
    ExpectRefused(With(base, flag), flag[0] + ": needs --anderson");
  }
  ExpectRefused(With(base, {"--omega", "3"}), "--operator");
  ExpectRefused(With(base, {"--append"}), "--trace");
  ExpectRefused(With(base, {"--order", "bfs", "--method", "vi"}), "these do: gs");
  ExpectRefused(With(base, {"--order", "bfs", "--anderson"}), "--order");
  ExpectRefused(With(base, {"--inner", "gmres", "--method", "gs"}), "these do: ipi");
  ExpectRefused(With(base, {"--preconditioner", "gs", "--method", "pi"}), "these do: ipi");
  ExpectRefused(With(base, {"--evaluation-sweeps", "3", "--method", "vi"}), "these do: mpi");
  ExpectRefused(With(base, {"--operator", "mellowmax", "--method", "gs"}), "vi");
  ExpectRefused(With(base, {"--anderson", "--method", "gs"}), "gs");
}

TEST_F(CommandSolve, PathsThatCannotBeWrittenAreErrorsBeforeTheModelIsRead) {
  for (const std::string flag : {"--values", "--policy", "--bounds", "--trace", "--plot"}) {
    // The missing model would be the next error.
    const Outcome outcome =
        Stableaa({"solve", Path("none.drn"), "--discount", "0.9", flag, Path("missing/f.svg")});
    EXPECT_NE(ExpectError(outcome, 1).find("missing/"), std::string::npos) << outcome.err;
  }
  ExpectRefused({Small(), "--discount", "0.9", "--plot", Path("p.png")}, ".svg");
}

TEST_F(CommandSolve, NoFileHasTwoPurposes) {
  ExpectRefused({Small(), "--discount", "0.9", "--values", Path("x"), "--policy", Path("x")},
                "--values");
  ExpectRefused({Small(), "--discount", "0.9", "--values", Path("x"), "--policy", Path("./x")},
                "--values");
  ExpectRefused({Small(), "--discount", "0.9", "--values", Path("small.csv")}, "the model");
  EXPECT_TRUE(Content("small.csv").starts_with("s,a,next"));
  Solve({Small(), "--discount", "0.9", "--values", "/dev/null", "--policy", "/dev/null"});
  const std::string policy = File("p.csv", "state,action\n0,0\n1,0\n");
  ExpectRefused({Small(), "--discount", "0.9", "--evaluate", policy, "--policy", policy},
                "--evaluate");
}

TEST_F(CommandSolve, ABadPolicyIsAnErrorWithTheLine) {
  const Arguments base = {Small(), "--discount", "0.9", "--values", Path("v.csv"), "--evaluate"};
  ExpectRefused(With(base, {File("p.csv", "state,action\n0,0\n1,7\n")}), "p.csv:3: ");
  ExpectRefused(With(base, {File("p.csv", "state,action\n0,0\n")}), "state 1");
  ExpectRefused(With(base, {File("p.csv", "state,value\n0,0\n")}), "p.csv:1: ");
  ExpectRefused(With(base, {Path("none.csv")}), "none.csv");
}

}  // namespace stableaa::solve_command_test
