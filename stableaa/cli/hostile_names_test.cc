// Names from arguments, files and models that would control a terminal, or imitate another message
// of the program, wherever they are shown.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "stableaa/base/text/plain_text.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::hostile_names_test {

namespace fs = std::filesystem;

// A window title, a line of its own, C1 in both spellings, a change of direction, invalid UTF-8.
const std::string kHostile =
    "\x1b]0;owned\x07\nstableaa: error: faked\r\u009b2J\x9b"
    "1m\u202e\u2066\x7f\xff";
// The same where UTF-8 is required (TOML, JSON).
const std::string kHostileUtf8 =
    "\x1b]0;owned\x07\nstableaa: error: faked\r\u009b2J\u202e\u2066\x7f";
// And for words within a line of a text format.
const std::string kHostileWord = "\x1b]0;owned\x07\u009b2J\u202e\x7f";

// PlainText would leave every line shown unchanged.
void ExpectPlain(const std::string& text) {
  for (const std::string& line : Lines(text)) EXPECT_EQ(PlainText(line), line);
  EXPECT_EQ(text.find("\nstableaa: error: faked"), std::string::npos) << text;
}

class FullHostileNames : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
    return Path(name);
  }

  static void ExpectRefused(const Arguments& arguments) {
    const Outcome outcome = Stableaa(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << PlainText(outcome.err);
    EXPECT_EQ(Lines(outcome.err).size(), 1U) << PlainText(outcome.err);
    ExpectPlain(outcome.err);
    EXPECT_EQ(outcome.out, "");
  }

  static std::string ExpectDone(const Arguments& arguments) {
    const Outcome outcome = Stableaa(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << PlainText(outcome.err);
    ExpectPlain(outcome.out);
    ExpectPlain(outcome.err);
    return outcome.out;
  }

  const TemporaryFolder folder_;
};

const std::string kModel = "s,a,next,p,r\n0,0,0,1,1\n";

TEST_F(FullHostileNames, InArgumentsAreShownEscaped) {
  for (const Arguments& arguments :
       {Arguments{kHostile},
        {"bench", kHostile},
        {"--" + kHostile},
        {"solve", kHostile},
        {"solve", kHostile + ".bin"},
        {"solve", "m.bin", "--method", kHostile},
        {"mdp", "generate", kHostile, "--out", "m.bin"},
        {"mdp", "info", kHostile + ".csv"},
        {"mdp", "convert", kHostile + ".csv", "m.bin"},
        {"env", "rollout", kHostile},
        {"env", "rollout", "minatar/" + kHostile},
        {"env", "rollout", "classic/cartpole", "--policy", kHostile},
        {"bench", "env", kHostile},
        {"train", "--env", kHostile},
        {"train", "--preset", kHostile, "--env", "classic/cartpole"},
        {"train", "--set", kHostile + "=1", "--env", "classic/cartpole"},
        {"train", "--set", "train.steps=" + kHostile, "--env", "classic/cartpole"},
        {"train", "--config", kHostile},
        {"train", "--resume", kHostile},
        {"eval", kHostile},
        {"play", kHostile},
        {"report", kHostile},
        {"sweep", kHostile},
        {"theory", kHostile},
        {"config", "show", "--set", kHostile}}) {
    SCOPED_TRACE(PlainText(arguments.front() + " " + arguments.back()));
    ExpectRefused(arguments);
  }
}

TEST_F(FullHostileNames, InASweepsJsonAreShownEscaped) {
  const std::string suite = Write("suite.toml",
                                  "env = \"classic/cartpole\"\npreset = \"dqn\"\nseeds = [1]\n"
                                  "[axes]\nenv.python = [\"/x\\u009b2J\\u202e\"]\n");
  const std::string out = ExpectDone(
      {"sweep", suite, "--dry-run", "--no-estimate", "--json", "--out", Path(kHostileWord)});
  EXPECT_NE(out.find("\\u009B2J"), std::string::npos) << out;
}

TEST_F(FullHostileNames, OfModelFilesAreShownEscaped) {
  const std::string model = Write(kHostile + ".csv", kModel);
  const std::string values = Path("values" + kHostile + ".csv");
  const std::string shown = PlainText(kHostile);
  EXPECT_NE(ExpectDone({"mdp", "info", model}).find(shown), std::string::npos);
  EXPECT_NE(ExpectDone({"solve", model, "--discount", "0.9", "--values", values}).find(shown),
            std::string::npos);
  ExpectDone({"solve", model, "--discount", "0.9", "--json"});
  ExpectDone({"mdp", "convert", model, Path("b" + kHostile + ".drn")});
  ExpectDone({"mdp", "convert", model, Path("b" + kHostile + ".drn"), "--json"});
  // The files beside a PRISM model are named in messages.
  Write("c" + kHostile + ".tra", "1 1 1\n0 0 0 1\n");
  Write("c" + kHostile + ".lab", "0=\"init\"\n0: 0\n");
  ExpectDone({"mdp", "info", Path("c" + kHostile + ".tra")});
}

TEST_F(FullHostileNames, InModelFilesAreShownEscaped) {
  const std::string csv = Write("m.csv", "s,a,next,p,r\n0,0,0," + kHostileWord + "\xff,1\n");
  ExpectRefused({"solve", csv, "--discount", "0.9"});
  ExpectRefused({"solve", Write("h.csv", kHostileWord + "\n"), "--discount", "0.9"});
  const std::string drn = "@type: MDP\n@parameters\n\n@reward_models\n" + kHostileWord +
                          " b\n@nr_states\n1\n@nr_choices\n1\n"
                          "@model\nstate 0 [1, 2] init " +
                          kHostileWord + "\n\taction 0 [0, 0]\n\t\t0 : 1\n";
  const Outcome named = Stableaa({"mdp", "info", Write("m.drn", drn)});
  ExpectPlain(named.out);
  ExpectPlain(named.err);
  ExpectRefused({"mdp", "info", Write("t.drn", "@type: " + kHostileWord + "\n")});
  ExpectRefused({"mdp", "info", Write("s.drn", "@" + kHostileWord + "\n")});
  ExpectRefused({"mdp", "info",
                 Write("m.mdp", "discount: 0.9\nvalues: reward\nstates: " + kHostileWord + " " +
                                    kHostileWord + "\n")});
}

TEST_F(FullHostileNames, InSettingsAreShownEscaped) {
  const std::string quoted =
      "\"\\u001b]0;x\\u0007\\nstableaa: error: faked\\u009b2J\\u202e\\u007f\"";
  for (const std::string& text : {quoted + " = 1\n", "train." + quoted + " = 1\n",
                                  "[" + quoted + "]\nx = 1\n", "train.steps = " + quoted + "\n",
                                  "train.env = " + quoted + "\n", "train.preset = " + quoted + "\n",
                                  "env.protocol = " + quoted + "\n", "x = " + kHostile + "\n"}) {
    SCOPED_TRACE(text);
    ExpectRefused({"train", "--out", Path("run"), "--config", Write("c.toml", text)});
    ExpectRefused({"sweep", Write("suite.toml", text), "--out", Path("sweep")});
  }
  ExpectRefused({"train", "--config", Write(kHostile, "train.steps = nonsense\n")});
  const std::string toml = ExpectDone({"config", "show", "--set", "env.python=" + quoted});
  EXPECT_NE(toml.find("\\u009B2J\\u202E\\u007F"), std::string::npos) << toml;
  // The escaped form reads back as the same name.
  EXPECT_EQ(ExpectDone({"config", "show", "--config", Write("again.toml", toml)}), toml);
  ExpectDone({"config", "show", "--json", "--set", "env.python=" + quoted});
}

std::string Safetensors(const std::string& header) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 255);
  return file + header;
}

TEST_F(FullHostileNames, InWeightsAreShownEscaped) {
  const std::string name = nlohmann::json(kHostileUtf8).dump();
  for (const std::string& header :
       {R"({"__metadata__":{"stableaa.env":)" + name + "}}",
        R"({"__metadata__":{"stableaa.env":"classic/cartpole","stableaa.spec":)" + name + "}}",
        "{" + name + R"(:{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":)" + name + R"(,"shape":[],"data_offsets":[0,0]}})", "{" + name + ":1}",
        "{\"" + kHostile + "\":1}", kHostile}) {
    SCOPED_TRACE(PlainText(header));
    ExpectRefused({"eval", Write("w.safetensors", Safetensors(header))});
    ExpectRefused({"eval", Write(kHostile + ".safetensors", Safetensors(header))});
  }
}

TEST_F(FullHostileNames, OfARunAreShownEscaped) {
  const std::string run = Path("run" + kHostile);
  const Arguments train = {"train", "--env", "classic/cartpole", "--steps", "40", "--out", run};
  ExpectDone(train);
  ExpectDone({"train", "--resume", run});
  ExpectRefused(train);  // it already exists
}

}  // namespace stableaa::hostile_names_test
