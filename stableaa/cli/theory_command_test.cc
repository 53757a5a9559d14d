// `stableaa theory` as its users see it.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/testing/temporary_folder.h"

namespace stableaa::theory_command_test {

using nlohmann::json;

const std::vector<std::string>& ClaimNames() {
  static const std::vector<std::string> names = {"prop1",
                                                 "thm1",
                                                 "theta-2norm",
                                                 "theta-sup",
                                                 "thm2",
                                                 "thm3a",
                                                 "thm3b",
                                                 "prop2-first",
                                                 "prop2-second",
                                                 "ridge-vanishes",
                                                 "mellowmax-nonexpansive",
                                                 "mellowmax-c2",
                                                 "boltzmann-expansive",
                                                 "maxent-root",
                                                 "mellowmax-bias",
                                                 "eta-rule"};
  return names;
}

std::vector<json> Objects(const std::string& text) {
  std::vector<json> objects;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) objects.push_back(json::parse(line));
  return objects;
}

void ExpectRefused(const Arguments& arguments, const std::string& words) {
  const Outcome outcome = Stableaa(arguments);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
}

TEST(FullTheory, JsonHasOneObjectPerClaimWithTheFieldsOfTheContract) {
  const Outcome outcome = Stableaa({"theory", "--trials", "20", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<json> objects = Objects(outcome.out);
  ASSERT_EQ(objects.size(), ClaimNames().size());
  const std::set<std::string> verdicts = {"holds", "violated", "none"};
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const json& object = objects[i];
    EXPECT_EQ(object.at("claim"), ClaimNames()[i]);
    EXPECT_TRUE(verdicts.contains(object.at("as_printed"))) << object;
    EXPECT_EQ(object.at("corrected"), "holds") << object;
    EXPECT_EQ(object.at("trials"), 20) << object;
    EXPECT_LE(object.at("worst").get<double>(), 1) << object;
    EXPECT_EQ(object.at("worst_printed").is_null(), object.at("as_printed") == "none") << object;
    if (object.at("as_printed") == "violated") {
      EXPECT_GT(object.at("worst_printed").get<double>(), 1) << object;
    }
  }
}

TEST(Theory, CounterexamplesDecideWithASingleTrial) {
  const std::map<std::string, std::string> expected = {
      {"prop1", "holds"},        {"thm1", "violated"},
      {"theta-sup", "violated"}, {"theta-2norm", "holds"},
      {"thm2", "violated"},      {"thm3a", "violated"},
      {"thm3b", "violated"},     {"prop2-first", "violated"},
      {"prop2-second", "holds"}, {"ridge-vanishes", "violated"}};
  Arguments arguments = {"theory", "--trials", "1", "--seed", "18446744073709551615", "--json"};
  for (const auto& [claim, verdict] : expected) arguments.push_back(claim);
  const Outcome outcome = Stableaa(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const json& object : Objects(outcome.out)) {
    EXPECT_EQ(object.at("as_printed"), expected.at(object.at("claim"))) << object;
    EXPECT_EQ(object.at("corrected"), "holds") << object;
  }
}

TEST(Theory, SeedAndTrialsReachTheGenerators) {
  const auto worst = [](const std::string& seed, const std::string& trials) {
    const Outcome outcome =
        Stableaa({"theory", "prop2-first", "--seed", seed, "--trials", trials, "--json"});
    const std::vector<json> objects = Objects(outcome.out);
    return objects.at(0).at("worst").get<double>();
  };
  EXPECT_EQ(worst("5", "30"), worst("5", "30"));
  EXPECT_NE(worst("5", "30"), worst("6", "30"));
  EXPECT_NE(worst("5", "30"), worst("5", "31"));
}

TEST(Theory, TableHasARowPerClaimInTheOrderAskedFor) {
  const Outcome outcome = Stableaa({"theory", "thm3a", "prop1", "--trials", "5"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::size_t header = outcome.out.find("as printed  corrected");
  const std::size_t first = outcome.out.find("\nthm3a ");
  const std::size_t second = outcome.out.find("\nprop1 ");
  EXPECT_LT(header, first);
  EXPECT_LT(first, second);
  EXPECT_NE(second, std::string::npos);
  EXPECT_NE(outcome.out.find("2 claims: 1 false as printed, 0 as corrected"), std::string::npos)
      << outcome.out;
}

TEST(Theory, ExplanationHasStatementCounterexampleCorrectionAndDerivation) {
  for (const Arguments& arguments : {Arguments{"theory", "--explain", "thm1", "--trials", "5"},
                                     Arguments{"theory", "thm1", "--explain", "--trials", "5"}}) {
    const Outcome outcome = Stableaa(arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    std::size_t at = 0;
    for (const std::string part : {"thm1\nTheorem 1", "\nAs printed\n", "\nWhy it fails\n",
                                   "\nFor example\n", "0.81 > 0.554745", "0.81 ≤ 0.9",
                                   "\nCorrected\n", "\nBecause\n", "\nTried\n", "violated"}) {
      const std::size_t found = outcome.out.find(part, at);
      EXPECT_NE(found, std::string::npos) << part << " in\n" << outcome.out;
      if (found != std::string::npos) at = found;
    }
  }
}

TEST(Theory, ExplanationInJsonHasTheSameParts) {
  const Outcome outcome =
      Stableaa({"theory", "prop2-first", "--explain", "--trials", "5", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json object = Objects(outcome.out).at(0);
  for (const char* const part :
       {"title", "printed_statement", "why", "corrected_statement", "derivation"}) {
    EXPECT_FALSE(object.at(part).get<std::string>().empty()) << part;
  }
  // n = 1, g(x) = .9x, δ = .001, e = 1, η = 1: τ = h/(h² + λ) with h = −1e-4, λ = 1.01e-6.
  const double tau = -1e-4 / (1e-8 + 1.01e-6);
  const json& printed = object.at("instances").at(0).at("printed");
  EXPECT_NEAR(printed.at("left").get<double>(), tau * tau + (1 - tau) * (1 - tau), 1e-6);
  EXPECT_EQ(printed.at("right"), 8);
}

TEST(Theory, HelpListsTheClaims) {
  const Outcome outcome = Stableaa({"theory", "--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const std::string& name : ClaimNames()) {
    EXPECT_NE(outcome.out.find("  " + name + " "), std::string::npos) << name;
  }
}

TEST(Theory, UnknownClaimsListTheKnownOnes) {
  const Outcome outcome = Stableaa({"theory", "thm1", "thm4", "--json"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "") << "nothing is tested first";
  for (const std::string& name : ClaimNames()) {
    EXPECT_NE(outcome.err.find(name), std::string::npos) << name;
  }
  EXPECT_NE(outcome.err.find("'thm4'"), std::string::npos) << outcome.err;
}

TEST(Theory, BadNumbersAreRefused) {
  ExpectRefused({"theory", "--trials", "0"},
                "--trials: expected a whole number in [1, 10^12], found 0");
  ExpectRefused({"theory", "--trials", "-3"}, "found -3");
  ExpectRefused({"theory", "--trials", "many"}, "trials");
  ExpectRefused({"theory", "--trials", "1e-3"}, "trials");
  ExpectRefused({"theory", "--trials", "99999999999999999999"}, "found 99999999999999999999");
  ExpectRefused({"theory", "--seed", "-1"}, "seed");
  ExpectRefused({"theory", ""}, "prop1");
}

TEST(FullTheory, AnInterruptEndsItWithExitCodeOneAndKeepsTheRowsAboveIt) {
  ProgramAtWork theory({"theory", "boltzmann-expansive", "thm1", "--trials", "20000"});
  ASSERT_TRUE(theory.Until(
      [&] { return theory.OutSoFar().find("\nboltzmann-expansive ") != std::string::npos; }));
  theory.Signal(SIGINT);
  const Outcome outcome = theory.Wait();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.out.find("\nboltzmann-expansive "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("interrupted"), std::string::npos) << outcome.err;
}

// ---- Figures ----

class FullTheoryFigures : public testing::Test {
 protected:
  const TemporaryFolder directory_;
};

TEST_F(FullTheoryFigures, AreDrawnIntoANewDirectory) {
  const std::filesystem::path into = directory_ / "new/figures";
  const Outcome outcome =
      Stableaa({"theory", "prop1", "--trials", "1", "--figures", into.string(), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Objects(outcome.out).size(), 1U) << "nothing else on stdout";
  for (const char* const name : {"residual", "gain", "stability", "eigenvalues", "boltzmann"}) {
    for (const char* const ending : {".svg", ".png", ".csv"}) {
      const std::filesystem::path file = into / (std::string(name) + ending);
      EXPECT_TRUE(std::filesystem::exists(file) && std::filesystem::file_size(file) > 500) << file;
    }
  }
}

TEST_F(FullTheoryFigures, AFileInPlaceOfTheDirectoryIsRefusedAndKept) {
  const std::filesystem::path file = directory_ / "file";
  std::ofstream(file) << "precious";
  const Outcome outcome = Stableaa({"theory", "prop1", "--figures", file.string()});
  EXPECT_NE(ExpectError(outcome, 1).find("file"), std::string::npos) << outcome.err;
  EXPECT_EQ(std::filesystem::file_size(file), 8U);
}

}  // namespace stableaa::theory_command_test
