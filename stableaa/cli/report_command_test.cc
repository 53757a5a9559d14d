// stableaa report on runs of the real program, and its page in a real browser.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stableaa/base/config/config.h"
#include "stableaa/cli/program_at_work_test.h"
#include "stableaa/cli/run_program_test.h"
#include "stableaa/rl/run/run_options.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::report_command_test {

namespace fs = std::filesystem;

// A short run of CartPole with four evaluations.
void Train(const fs::path& directory, const std::string& preset, int seed,
           const std::vector<std::string>& settings = {}) {
  std::vector<std::string> all = {"replay.start=50", "eval.interval_steps=100", "eval.episodes=2",
                                  "train.log_interval_steps=50",
                                  "agent.target_interval_updates=20"};
  all.insert(all.end(), settings.begin(), settings.end());
  TrainOnCartpole(preset, seed, 400, directory.string(), all);
}

TEST(FullReportCommand, ComparesRunsAndPrintsWhereThePageIs) {
  const FolderOfRuns folder;
  for (const int seed : {1, 2}) {
    Train(folder / ("runs/a" + std::to_string(seed)), "dqn", seed);
    Train(folder / ("runs/b" + std::to_string(seed)), "stable-aa", seed);
  }
  const std::string out = folder / "report";
  const Outcome outcome = Stableaa({"report", folder / "runs", "--out", out});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Lines(outcome.out).back(), out + "/index.html");
  EXPECT_TRUE(fs::exists(out + "/index.html"));
  ExpectWords(outcome.out, {"mean of the evaluations in the last tenth of the steps;"});

  const auto json = nlohmann::json::parse(
      Stableaa({"report", folder / "runs/a1", folder / "runs/a2", folder / "runs/b1", "--out", out,
                "--json", "--threshold", "classic/cartpole=1"})
          .out);
  EXPECT_EQ(Fields(json), (std::set<std::string>{"page", "runs", "left_out", "failed",
                                                 "missing_figures", "environments"}));
  EXPECT_EQ(json["runs"], 3);
  const auto& environment = json["environments"][0];
  EXPECT_EQ(environment["env"], "classic/cartpole");
  EXPECT_EQ(environment["step"], 400);
  EXPECT_EQ(environment["threshold"], 1);
  const auto& dqn = environment["variants"][0];
  EXPECT_EQ(dqn["variant"], "dqn");
  EXPECT_EQ(dqn["seeds"], (std::vector<int>{1, 2}));
  EXPECT_EQ(dqn["steps_to_threshold"]["median"], 100);
  const auto& alone = environment["variants"][1]["final"];
  EXPECT_TRUE(alone["std"].is_null());
  EXPECT_TRUE(alone["interval"].is_null());
  // The second formula: only the last evaluation is in the last tenth of the steps.
  const Table metrics(folder / "runs/b1/metrics.csv");
  EXPECT_EQ(alone["mean"], std::stod(metrics["eval_return_mean"].back()));
}

TEST(ReportCommand, RefusesWhatMakesNoSense) {
  const FolderOfRuns folder;
  const std::string missing = folder / "nothing";
  ExpectError(Stableaa({"report"}), 2);
  EXPECT_NE(
      ExpectError(Stableaa({"report", missing, "--out", folder / "r"}), 2).find("found nothing"),
      std::string::npos);
  EXPECT_NE(ExpectError(Stableaa({"report", folder.path(), "--out", folder / "r"}), 2)
                .find("holds no run"),
            std::string::npos);
  for (const char* const threshold : {"5", "=5", "minatar/breakout=", "minatar/breakout=many"}) {
    ExpectError(Stableaa({"report", missing, "--threshold", threshold}), 2);
  }
  for (const char* const attachment : {"clip.gif", "=clip.gif", "clip="}) {
    ExpectError(Stableaa({"report", missing, "--attach", attachment}), 2);
  }
  for (const char* const filter : {"preset", "=dqn"}) {
    ExpectError(Stableaa({"report", missing, "--only", filter}), 2);
  }
  for (const char* const label : {"dqn", "=x", "dqn="}) {
    ExpectError(Stableaa({"report", missing, "--label", label}), 2);
  }
  for (const char* const colour : {"dqn", "=#123456", "dqn="}) {
    ExpectError(Stableaa({"report", missing, "--color", colour}), 2);
  }
  ExpectWords(ExpectError(Stableaa({"report", missing, "--style", "poster"}), 2),
              {"expected page, paper or talk, found 'poster'"});
  ExpectWords(ExpectError(Stableaa({"report", missing, "--columns", "two"}), 2),
              {"only the style paper has them"});
  ExpectWords(ExpectError(Stableaa({"report", missing, "--style", "paper", "--columns", "3"}), 2),
              {"expected one or two, found '3'"});
  EXPECT_FALSE(fs::exists(folder / "r"));
}

// A run as a trainer leaves it.
void WriteRun(const fs::path& directory, const std::string& preset, std::uint64_t seed,
              const std::string& metrics, const std::string& env = "classic/cartpole",
              const std::vector<std::string>& settings = {}) {
  RunOptions options;
  Config config;
  Describe(config, options);
  LoadPreset(config, env, settings.empty() ? "dqn" : preset);
  for (const std::string& setting : settings) config.Set(setting);
  options.train.preset = preset;
  options.train.seed = seed;
  options.train.steps = 2000;
  fs::create_directories(directory);
  WriteContent(directory / "config.toml", ToToml(options));
  WriteContent(directory / "metrics.csv", metrics);
}

constexpr const char* kMetrics = "step,eval_return_mean\n1000,20\n2000,30\n";

TEST(FullReportCommand, CarriesRunsOfASweepForwardThatReachedItsReturn) {
  const FolderOfRuns folder;
  // Every evaluation is good enough, so each run ends at its first.
  WriteContent(folder / "suite.toml",
               "env = \"classic/cartpole\"\nseeds = 2\n"
               "[stop]\nsteps = 400\neval_return = 1\n"
               "[set]\nreplay.start = 50\neval.interval_steps = 100\neval.episodes = 2\n"
               "train.log_interval_steps = 50\n"
               "[axes]\npreset = [\"dqn\", \"raa\"]\n");
  const Outcome sweep = Stableaa(
      {"sweep", folder / "suite.toml", "--jobs", "1", "--no-estimate", "--out", folder / "runs"});
  ASSERT_EQ(sweep.exit_code, 0) << sweep.err;
  const Arguments report = {"report", folder / "runs", "--out", folder / "report"};
  const auto json = nlohmann::json::parse(Stableaa(report + Arguments{"--json"}).out);
  const auto& results = json["environments"][0];
  EXPECT_EQ(results["step"], 400);
  EXPECT_EQ(results["threshold"], 1);
  for (const auto& variant : results["variants"]) {
    EXPECT_EQ(variant["runs"], 2);
    EXPECT_EQ(variant["carried_forward"], 2);
    EXPECT_EQ(variant["steps_to_threshold"]["median"], 100);
  }
  ExpectWords(Stableaa(report).out, {"2 runs, 2 carried forward", "Carried forward: runs that"});
}

TEST(FullReportCommand, SaysWhichFiltersAndLabelsThereAre) {
  const FolderOfRuns folder;
  WriteRun(folder / "runs/a", "dqn", 1, kMetrics);
  WriteRun(folder / "runs/b", "raa", 1, kMetrics);
  const Arguments report = {"report", folder / "runs", "--out", folder / "report"};
  ExpectWords(ExpectError(Stableaa(report + Arguments{"--only", "preset=c51"}), 2),
              {"no run has train.preset = \"c51\"", "one of \"dqn\", \"raa\""});
  ExpectWords(ExpectError(Stableaa(report + Arguments{"--only", "agent.etaa=1"}), 2),
              {"no run has a key 'agent.etaa'", "did you mean 'agent.eta'?"});
  ExpectWords(ExpectError(Stableaa(report + Arguments{"--label", "c51=x"}), 2),
              {"a label for 'c51', expected one of 'dqn', 'raa'"});
  ExpectWords(ExpectError(Stableaa(report + Arguments{"--color", "c51=#123456"}), 2),
              {"a colour for 'c51', expected one of 'dqn', 'raa'"});
  ExpectWords(ExpectError(Stableaa(report + Arguments{"--color", "raa=red"}), 2),
              {"the colour of 'raa': expected #rrggbb, found 'red'"});
  ExpectWords(ExpectError(Stableaa(report + Arguments{"--order", "raa,c51"}), 2),
              {"an order of 'c51', expected one of 'classic/cartpole', 'dqn', 'raa'"});
  EXPECT_FALSE(fs::exists(folder / "report"));
  ExpectWords(Stableaa(report + Arguments{"--order", "raa", "--only", "seed=1"}).out,
              {"step 2000\n  raa "});
  const Outcome outcome =
      Stableaa(report + Arguments{"--only", "preset=raa", "--label", "raa=Regularised AA"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ExpectWords(outcome.out, {"  Regularised AA "});
  EXPECT_EQ(outcome.out.find("dqn"), std::string::npos) << outcome.out;
}

// A terminal must not obey names from files.
TEST(FullReportCommand, PrintsNoControlCharacters) {
  const FolderOfRuns folder;
  WriteRun(folder / "runs/a", "x\x1b]0;evil\x07", 1, kMetrics);
  WriteRun(folder / "runs/b\x1b[2J", "dqn", 1, "step,\x1b[31m\n1,x\n");
  WriteContent(folder / "runs/sweep.json",
               R"({"runs": [{"name": "c", "status": "failed", "message": "no \u001b[31mroom"}]})");
  const Outcome outcome = Stableaa({"report", folder / "runs", "--out", folder / "report"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const std::string& text : {outcome.out, outcome.err}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find('\x07'), std::string::npos) << text;
  }
  ExpectWords(outcome.out, {"x\\u001B]0;evil\\u0007"});
  ExpectWords(outcome.err, {"b\\u001B[2J", "no \\u001B[31mroom"});
}

TEST(FullReportCommand, WarnsOfEvaluationsThatAreNoNumbers) {
  const FolderOfRuns folder;
  WriteRun(folder / "runs/a", "dqn", 1, kMetrics);
  WriteRun(folder / "runs/b", "dqn", 2, "step,eval_return_mean\n1000,nan\n2000,30\n");
  const Outcome outcome = Stableaa({"report", folder / "runs", "--out", folder / "report"});
  EXPECT_EQ(outcome.exit_code, 0);
  ExpectWords(outcome.err, {"runs/b: 1 of 2 evaluations are no finite numbers, the first in step "
                            "1000",
                            "1 of 2 runs left out"});
}

// As gnuplot behaves with a broken font or terminal: it reports success but draws nothing.
TEST(FullReportCommand, FailsIfAFigureIsNotDrawn) {
  const FolderOfRuns folder;
  WriteRun(folder / "runs/a", "dqn", 1, kMetrics);
  const fs::path gnuplot = folder / "bin/gnuplot";
  fs::create_directories(folder / "bin");
  const std::string path = std::getenv("PATH");
  // The first picture is the program's test for a working gnuplot.
  const std::string tried = folder / "tried";
  WriteContent(gnuplot, "#!/bin/sh\nif [ -e " + tried + " ]; then cat > /dev/null; exit; fi\n: > " +
                            tried + "\nPATH='" + path + "' exec gnuplot \"$@\"\n");
  fs::permissions(gnuplot, fs::perms::owner_all);
  const Outcome outcome =
      RunCommand({"env", "PATH=" + (folder / "bin").string() + ":" + path, STABLEAA_PROGRAM_PATH,
                  "report", folder / "runs", "--out", folder / "report"});
  EXPECT_EQ(outcome.exit_code, 1);
  ExpectWords(outcome.err, {"warning: no figure curve-mean-classic-cartpole: ",
                            "error: 1 of 1 figures could not be drawn; the page goes without"});
  ExpectWords(FileContent(folder / "report/index.html"),
              {"The figure curve-mean-classic-cartpole is missing", "<section id=\"scores\""});
  EXPECT_TRUE(fs::is_empty(folder / "report/figures"));
}

TEST(FullReportCommand, FailsIfThePageCannotBeWritten) {
  const FolderOfRuns folder;
  WriteRun(folder / "runs/a", "dqn", 1, kMetrics);
  WriteContent(folder / "file", "");
  const std::string message =
      ExpectError(Stableaa({"report", folder / "runs", "--out", folder / "file" / "report"}), 1);
  ExpectWords(message, {"cannot make ", "Not a directory"});
}

// No console errors, all figures visible, no wider than a phone, in light and dark mode.
TEST(FullReportPage, IsWellInARealBrowser) {
  const FolderOfRuns folder;
  for (const int seed : {1, 2}) {
    Train(folder / ("runs/a" + std::to_string(seed)), "dueling-dqn", seed);
    for (const std::string eta : {"0.1", "1"}) {
      Train(folder / ("runs/b" + eta + std::to_string(seed)), "stable-aa", seed,
            {"agent.eta=" + eta});
    }
  }
  WriteContent(folder / "wide.txt", std::string(500, 'x') + "\n<script>alert(1)</script>\n");
  const std::string page = folder / "report/index.html";
  const Outcome report = Stableaa({"report", folder / "runs", "--out", folder / "report",
                                   "--attach", "A wide text=" + (folder / "wide.txt").string()});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const Outcome check = RunCommand({"python3", STABLEAA_PAGE_CHECK, page});
  if (check.exit_code == 77) GTEST_SKIP() << check.err;
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
}

// All figures of a report in the given style, drawn by the browser: letters large enough, texts
// apart from each other and from lines, legends outside the axes.
void ExpectGoodFigures(const fs::path& folder, const std::string& style, const std::string& pt,
                       std::size_t least_figures) {
  const std::string out = folder / style;
  const Outcome report =
      Stableaa({"report", folder / "runs", "--out", out, "--style", style, "--title", "t"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  Arguments check = {"python3", STABLEAA_FIGURE_CHECK, "--least-points", pt};
  for (const auto& entry : fs::directory_iterator(out + "/figures")) {
    if (entry.path().extension() == ".svg") check.push_back(entry.path());
  }
  EXPECT_GE(check.size(), 4 + least_figures);
  const Outcome checked = RunCommand(check);
  if (checked.exit_code == 77) GTEST_SKIP() << checked.err;
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
}

TEST(FullReportPage, HasFiguresForPagesPapersAndTalks) {
  const FolderOfRuns folder;
  const auto metrics = [](double scale) {
    std::string text = "step,gain,gain_held_out,alpha_1,alpha_2,eval_return_mean\n";
    for (int i = 1; i <= 10; ++i) {
      text += fmt::format("{},{},{},{},{},{}\n", 200 * i, 1 - 0.01 * i, 1 - 0.005 * i, 0.1 * i,
                          1 - 0.1 * i, scale * (i + i % 3));
    }
    return text;
  };
  for (const int seed : {1, 2}) {
    int number = 0;
    for (const std::string env :
         {"classic/cartpole", "minatar/space_invaders", "minatar/freeway"}) {
      const double scale =
          std::vector<double>{40, 12'000, -0.02}[static_cast<std::size_t>(number++)];
      for (const std::string preset : {"dueling-dqn", "raa"}) {
        WriteRun(folder / fmt::format("runs/{}{}{}", preset, number, seed), preset,
                 static_cast<std::uint64_t>(seed), metrics(scale * seed), env);
      }
      if (number > 1) continue;  // panels may lack variants
      for (const char* const eta : {"0.001", "0.1", "1", "5", "7", "1000"}) {
        WriteRun(folder / fmt::format("runs/{}{}{}", eta, number, seed), "stable-reg",
                 static_cast<std::uint64_t>(seed), metrics(scale * (seed + 1)), env,
                 {std::string("agent.eta=") + eta});
      }
    }
  }
  ExpectGoodFigures(folder.path(), "page", "7", 10);
  ExpectGoodFigures(folder.path(), "paper", "7", 10);
  ExpectGoodFigures(folder.path(), "talk", "18", 10);
  const Outcome check = RunCommand({"python3", STABLEAA_PAGE_CHECK, folder / "page/index.html"});
  EXPECT_TRUE(check.exit_code == 0 || check.exit_code == 77) << check.out << check.err;
}

// Two variants with long names, a narrow range on a log scale, lists as values, equal scores.
TEST(FullReportPage, HasFiguresOfASearchForPagesPapersAndTalks) {
  const FolderOfRuns folder;
  const std::string name = "dueling double DQN of three targets, η = 0.1, ";
  nlohmann::json variants = nlohmann::json::array();
  for (const std::string variant : {"with", "without"}) {
    WriteRun(folder / "runs" / variant, "dqn", variant.size(), kMetrics);
    nlohmann::json draws = nlohmann::json::array();
    for (int draw = 1; draw <= 6; ++draw) {
      draws.push_back({{"draw", draw},
                       {"rung", 1 + draw / 3},
                       {"values",
                        {{"optimizer.learning_rate", 0.00534988 / draw},
                         {"agent.target_interval_updates", 60 + 5 * draw},
                         {"network.hidden", {64, 32 * draw, 128, 256}}}},
                       {"scores", {{"classic/cartpole", 20 * (draw / 2)}, {"classic/acrobot", -5}}},
                       {"rank", draw},
                       {"runs", {variant}}});
    }
    variants.push_back({{"name", name + variant + " regularisation"},
                        {"envs", {"classic/cartpole", "classic/acrobot"}},
                        {"draws", draws}});
  }
  WriteContent(folder / "runs/search.json",
               nlohmann::json{{"keys",
                               {{{"key", "optimizer.learning_rate"}, {"log", true}},
                                {{"key", "agent.target_interval_updates"}, {"log", true}},
                                {{"key", "network.hidden"}, {"log", false}}}},
                              {"rung_steps", {1000, 2000, 5000}},
                              {"variants", variants}}
                   .dump());
  ExpectGoodFigures(folder.path(), "page", "7", 8);
  ExpectGoodFigures(folder.path(), "paper", "7", 8);
  ExpectGoodFigures(folder.path(), "talk", "18", 8);
  // No column of the table is cut off.
  const Outcome check = RunCommand({"python3", STABLEAA_PAGE_CHECK, folder / "page/index.html"});
  EXPECT_TRUE(check.exit_code == 0 || check.exit_code == 77) << check.out << check.err;
}

TEST(FullReportPage, HasFiguresCheckedByWhatCanFail) {
  const Outcome check = RunCommand({"python3", STABLEAA_FIGURE_CHECK, "--self-test"});
  if (check.exit_code == 77) GTEST_SKIP() << check.err;
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
}

TEST(FullReportPage, IsCheckedByWhatCanFail) {
  const Outcome check = RunCommand({"python3", STABLEAA_PAGE_CHECK, "--self-test"});
  if (check.exit_code == 77) GTEST_SKIP() << check.err;
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
}

}  // namespace stableaa::report_command_test
