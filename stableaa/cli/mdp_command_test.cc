// stableaa mdp as its users meet it.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "stableaa/cli/run_program_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::mdp_command_test {

using Json = nlohmann::json;

class CommandMdp : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_ / name; }

  std::string Content(const std::string& name) const {
    std::ifstream file(directory_ / name, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
  }

  static Json Object(Arguments arguments) {
    arguments.insert(arguments.begin(), "mdp");
    arguments.push_back("--json");
    const std::string out = ExpectOutput(Stableaa(arguments));
    EXPECT_EQ(Lines(out).size(), 1U);
    return Json::parse(out);
  }

  // An error leaves no files behind.
  std::string Refused(Arguments arguments, int exit_code = 2) const {
    arguments.insert(arguments.begin(), "mdp");
    const std::string message = ExpectError(Stableaa(arguments), exit_code);
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path())) << message;
    return message;
  }

  const TemporaryFolder directory_;
};

// ---- generate ----

TEST_F(CommandMdp, GeneratesEveryKindInEveryFormat) {
  const std::vector<std::string> kinds = {"garnet", "grid",   "maze",      "chain",
                                          "forest", "queues", "inventory", "random-walk"};
  for (const std::string& kind : kinds) {
    for (const std::string ending : {"tra", "drn", "csv", "mdp", "npz", "bin"}) {
      const std::string path = Path(kind + "." + ending);
      const Json made = Object({"generate", kind, "--states", "30", "-o", path});
      EXPECT_EQ(made["kind"], kind);
      EXPECT_EQ(made["seed"], 1);
      const Json info = Object({"info", path});
      EXPECT_EQ(info["states"], made["states"]) << path;
      EXPECT_EQ(info["rows"], made["rows"]) << path;
      EXPECT_EQ(info["transitions"], made["transitions"]) << path;
    }
  }
}

TEST_F(CommandMdp, EqualSeedsGiveEqualBytesAndOthersDoNot) {
  const auto made = [&](const Arguments& more) {
    Arguments arguments = {"generate", "garnet", "--states", "20", "-o", Path("a.csv")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Object(arguments);
    return Content("a.csv");
  };
  const std::string first = made({"--seed", "5"});
  EXPECT_EQ(made({"--seed", "5"}), first);
  EXPECT_NE(made({"--seed", "6"}), first);
  EXPECT_NE(made({"--seed", "5", "--shuffle"}), first);
  EXPECT_EQ(made({"--seed", "1"}), made({}));
}

TEST_F(CommandMdp, GeneratorsTakeTheirOptions) {
  const Json grid = Object({"generate", "grid", "--width", "7", "--height", "5", "--walls", "0",
                            "--noise", "0", "--discount", "0.9", "--out", Path("g.bin")});
  EXPECT_EQ(grid["states"], 35);
  EXPECT_EQ(grid["discount"], 0.9);
  const Json info = Object({"info", Path("g.bin")});
  EXPECT_EQ(info["deterministic"], true);
  EXPECT_EQ(info["discount"], 0.9);
  EXPECT_EQ(Object({"generate", "chain", "--states", "1e3", "-o", Path("c.bin")})["states"], 1000);
}

TEST_F(CommandMdp, GenerateTellsWhatItMadeAndWhatTheFormatCannotHold) {
  const std::string text = ExpectOutput(Stableaa(
      {"mdp", "generate", "chain", "--states", "10", "--discount", "0.9", "-o", Path("c.drn")}));
  EXPECT_NE(text.find("10 states, 20 rows"), std::string::npos) << text;
  EXPECT_NE(text.find("discount 0.9"), std::string::npos) << text;
}

TEST_F(CommandMdp, HelpOfGenerateListsKindsOptionsDefaultsAndRanges) {
  const std::string help = ExpectOutput(Stableaa({"mdp", "generate", "--help"}));
  for (const std::string part : {"garnet", "random-walk", "--reward-share", "--customers",
                                 "[0.3, 0 to 0.99]", "--shuffle"}) {
    EXPECT_NE(help.find(part), std::string::npos) << part;
  }
}

TEST_F(CommandMdp, BadOptionsOfGeneratorsAreErrors) {
  const std::string out = Path("x.drn");
  EXPECT_NE(Refused({"generate", "garnett", "-o", out}).find("garnet"), std::string::npos);
  EXPECT_NE(Refused({"generate", "chain", "--walls", "0.1", "-o", out}).find("--walls"),
            std::string::npos);
  for (const std::string states :
       {"-1", "0", "1.5", "x", "", "1e99", "nan", "99999999999999999999", "1000000000000000000"}) {
    EXPECT_NE(Refused({"generate", "garnet", "--states", states, "-o", out}).find("--states"),
              std::string::npos)
        << states;
  }
  for (const std::string noise : {"-0.1", "1.1", "x", "nan", "inf"}) {
    EXPECT_NE(Refused({"generate", "chain", "--noise", noise, "-o", out}).find("--noise"),
              std::string::npos);
  }
  EXPECT_NE(Refused({"generate", "chain", "--seed", "-1", "-o", out}).find("--seed"),
            std::string::npos);
  EXPECT_NE(Refused({"generate", "chain", "--discount", "1", "-o", out}).find("--discount"),
            std::string::npos);
  EXPECT_NE(Refused({"generate", "chain", "-o", Path("x.txt")}).find(".drn"), std::string::npos);
  EXPECT_NE(Refused({"generate", "chain", "-o", Path("no/x.drn")}, 1), "");
  EXPECT_NE(Refused({"generate", "chain"}).find("--out"), std::string::npos);
  EXPECT_NE(Refused({"generate", "-o", out}).find("KIND"), std::string::npos);
}

TEST_F(CommandMdp, AModelThatDoesNotFitIsRefusedAtOnce) {
  const Outcome outcome = Stableaa({"mdp", "generate", "garnet", "--states", "4294967295",
                                    "--actions", "1000", "-o", Path("x.bin")});
  EXPECT_NE(ExpectError(outcome, 1).find("memory"), std::string::npos);
  EXPECT_LT(outcome.seconds, 60);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

// ---- convert ----

TEST_F(CommandMdp, ConvertsRoundAllFormatsWithoutLoss) {
  Object({"generate", "garnet", "--states", "40", "--discount", "0.95", "-o", Path("0.bin")});
  const std::vector<std::string> endings = {"bin", "tra", "drn", "csv", "mdp", "npz", "bin"};
  for (std::size_t i = 1; i < endings.size(); ++i) {
    Object({"convert", Path(std::to_string(i - 1) + "." + endings[i - 1]),
            Path(std::to_string(i) + "." + endings[i]), "--discount", "0.95"});
  }
  EXPECT_EQ(Content("6.bin"), Content("0.bin"));
}

TEST_F(CommandMdp, ConvertTellsWhatWasDropped) {
  Object({"generate", "chain", "--states", "5", "--discount", "0.95", "-o", Path("a.npz")});
  const Json object = Object({"convert", Path("a.npz"), Path("a.drn")});
  ASSERT_EQ(object["not_written"].size(), 1U);
  EXPECT_NE(object["not_written"][0].get<std::string>().find("0.95"), std::string::npos);
  EXPECT_TRUE(object["not_read"].empty());
  const std::string lossy =
      ExpectOutput(Stableaa({"mdp", "convert", Path("a.npz"), Path("a.tra")}));
  EXPECT_NE(lossy.find("dropped on writing"), std::string::npos) << lossy;
  EXPECT_NE(lossy.find("0.95"), std::string::npos) << lossy;
  const std::string whole =
      ExpectOutput(Stableaa({"mdp", "convert", Path("a.npz"), Path("a.bin")}));
  EXPECT_NE(whole.find("nothing was dropped"), std::string::npos) << whole;
}

constexpr const char* kAnnotated =
    "@type: MDP\n@reward_models\nsteps coins\n@nr_states\n3\n@model\n"
    "state 0 safe\n\taction go [1, 0]\n\t\t1 : 1\n\taction __NOLABEL__ [1, 2.5]\n\t\t0 : 1\n"
    "state 1 init safe\n\taction go [1, 0]\n\t\t2 : 1\n"
    "state 2 \"the end\"\n\taction stay [0, -1]\n\t\t2 : 1\n";

TEST_F(CommandMdp, ConvertKeepsAnnotationsWhereTheFormatHoldsThem) {
  std::ofstream(directory_ / "0.drn") << kAnnotated;
  for (const auto& [in, out] :
       {std::pair("0.drn", "1.tra"), {"1.tra", "2.bin"}, {"2.bin", "3.drn"}}) {
    const Json object = Object({"convert", Path(in), Path(out)});
    EXPECT_TRUE(object["not_read"].empty()) << object;
    EXPECT_TRUE(object["not_written"].empty()) << object;
  }
  Object({"convert", Path("0.drn"), Path("4.drn")});
  EXPECT_EQ(Content("3.drn"), Content("4.drn"));
  const Json lossy = Object({"convert", Path("3.drn"), Path("5.csv")});
  EXPECT_EQ(lossy["not_written"],
            Json::parse(R"(["reward structure 'coins'", "2 labels", "the initial states", )"
                        R"("action names"])"));
}

TEST_F(CommandMdp, ConvertPutsAnotherRewardStructureFirst) {
  std::ofstream(directory_ / "0.drn") << kAnnotated;
  Object({"convert", Path("0.drn"), Path("1.drn"), "--reward", "coins"});
  EXPECT_NE(Content("1.drn").find("@reward_models\ncoins steps\n"), std::string::npos);
  EXPECT_NE(Content("1.drn").find("action go [0, 1]"), std::string::npos);
  Object({"convert", Path("0.drn"), Path("2.csv"), "--reward", "coins"});
  EXPECT_NE(Content("2.csv").find("0,1,0,1,2.5"), std::string::npos);
  EXPECT_EQ(ExpectError(
                Stableaa({"mdp", "convert", Path("2.csv"), Path("3.drn"), "--reward", "coins"}), 2),
            "--reward: the rewards of this file have no names to choose from");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "3.drn"));
}

TEST_F(CommandMdp, ConvertStoresADiscount) {
  Object({"generate", "chain", "--states", "5", "-o", Path("a.drn")});
  EXPECT_TRUE(Object({"info", Path("a.drn")})["discount"].is_null());
  Object({"convert", Path("a.drn"), Path("a.npz"), "--discount", "0.75"});
  EXPECT_EQ(Object({"info", Path("a.npz")})["discount"], 0.75);
}

TEST_F(CommandMdp, BadFilesOfConvertAreErrors) {
  EXPECT_NE(Refused({"convert", Path("none.drn"), Path("b.bin")}).find("none.drn"),
            std::string::npos);
  EXPECT_NE(Refused({"convert", Path("none.drn"), Path("b.txt")}).find("b.txt"), std::string::npos);
  EXPECT_NE(Refused({"convert", Path("none.drn"), Path("no/b.bin")}, 1).find("no/b.bin"),
            std::string::npos);
  EXPECT_NE(Refused({"convert", Path("none.drn")}).find("OUT"), std::string::npos);
  EXPECT_NE(Refused({"convert", Path("none.drn"), Path("b.bin"), "--discount", "1"}), "");
}

// ---- info ----

TEST_F(CommandMdp, InfoKnowsSizesGraphRewardsAndSpeed) {
  std::ofstream(directory_ / "m.csv") << "s,a,next,p,r\n"
                                         "0,0,0,0.5,1\n0,0,1,0.5,1\n0,1,1,1,-2\n"
                                         "1,0,1,1,0\n"
                                         "2,0,0,1,7\n";
  const Json info = Object({"info", Path("m.csv"), "--threads", "1"});
  EXPECT_EQ(info["format"], "CSV");
  EXPECT_EQ(info["states"], 3);
  EXPECT_EQ(info["rows"], 4);
  EXPECT_EQ(info["transitions"], 5);
  EXPECT_EQ(info["least_actions"], 1);
  EXPECT_EQ(info["most_actions"], 2);
  EXPECT_DOUBLE_EQ(info["density"], 5.0 / (4 * 3));
  EXPECT_EQ(info["reachable"], 2);
  EXPECT_EQ(info["absorbing"], 1);
  EXPECT_EQ(info["components"], 3);
  EXPECT_EQ(info["closed_components"], 1);
  EXPECT_EQ(info["deterministic"], false);
  EXPECT_DOUBLE_EQ(info["self_loop_share"], 0.5);
  EXPECT_EQ(info["least_reward"], -2);
  EXPECT_EQ(info["most_reward"], 7);
  EXPECT_TRUE(info["discount"].is_null());
  EXPECT_EQ(info["threads"], 1);
  EXPECT_GT(info["bytes"], 0);
  EXPECT_GT(info["sweep_seconds"], 0);
  EXPECT_GE(info["load_seconds"], 0);
  const std::string text = ExpectOutput(Stableaa({"mdp", "info", Path("m.csv")}));
  for (const std::string part : {"CSV", "states       3", "density", "absorbing", "components",
                                 "rewards      -2 to 7", "--discount", "memory", "sweep"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST_F(CommandMdp, InfoKnowsLabelsInitialStatesRewardStructuresAndNames) {
  std::ofstream(directory_ / "m.drn") << kAnnotated;
  const Json info = Object({"info", Path("m.drn")});
  EXPECT_EQ(info["labels"], Json::parse(R"({"safe": 2, "the end": 1})"));
  EXPECT_EQ(info["initial"], 1);
  EXPECT_EQ(info["first_initial"], 1);
  EXPECT_EQ(info["reward_structures"], Json::parse(R"([{"name": "steps", "least": 0, "most": 1},
                            {"name": "coins", "least": -1, "most": 2.5}])"));
  EXPECT_EQ(info["action_names"], 2);
  EXPECT_EQ(info["most_reward"], 1);
  EXPECT_TRUE(info["not_read"].empty());
  const std::string text = ExpectOutput(Stableaa({"mdp", "info", Path("m.drn")}));
  for (const std::string part :
       {"initial      1 state, 1\n", "labels       safe: 2 states\n", "the end: 1 state\n",
        "action names 2, of 3 rows\n", "rewards      0 to 1 in steps\n", "-1 to 2.5 in coins\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }

  const Json coins = Object({"info", Path("m.drn"), "--reward", "coins"});
  EXPECT_EQ(coins["most_reward"], 2.5);
  EXPECT_EQ(coins["reward_structures"][0]["name"], "coins");
  EXPECT_NE(ExpectError(Stableaa({"mdp", "info", Path("m.drn"), "--reward", "step"}), 2)
                .find("did you mean 'steps'?"),
            std::string::npos);
}

TEST_F(CommandMdp, InfoOfAPlainModelHasNoAnnotations) {
  std::ofstream(directory_ / "m.csv") << "s,a,next,p,r\n0,0,0,1,1\n";
  const Json info = Object({"info", Path("m.csv")});
  EXPECT_EQ(info["labels"], Json::object());
  EXPECT_EQ(info["initial"], 0);
  EXPECT_TRUE(info["first_initial"].is_null());
  EXPECT_EQ(info["reward_structures"], Json::array());
  EXPECT_EQ(info["action_names"], 0);
}

// Names from files cannot control the terminal or break the JSON.
TEST_F(CommandMdp, InfoShowsOddNamesPlainly) {
  std::ofstream(directory_ / "m.drn")
      << "@type: MDP\n@reward_models\n\x1b[31m \xff\n@nr_states\n1\n@model\n"
         "state 0 \x1b]0;x\x07 \xff\xfe \"a\x9b\"\n\taction \x7f\x01 [1, 2]\n\t\t0 : 1\n";
  EXPECT_EQ(Object({"info", Path("m.drn")})["labels"].size(), 3U);
  const std::string text = ExpectOutput(Stableaa({"mdp", "info", Path("m.drn")}));
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < '\x7f')) << text;
  const std::string error =
      ExpectError(Stableaa({"mdp", "info", Path("m.drn"), "--reward", "[31m"}), 2);
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
}

TEST_F(CommandMdp, InfoRefusesWhatIsNoModel) {
  EXPECT_NE(Refused({"info", Path("none.drn")}).find("none.drn"), std::string::npos);
  EXPECT_NE(Refused({"info", "/dev/null"}), "");
  EXPECT_NE(Refused({"info", Path("none.drn"), "--threads", "0"}).find("--threads"),
            std::string::npos);
}

}  // namespace stableaa::mdp_command_test
