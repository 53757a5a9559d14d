#include "stableaa/experiment/report/report.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "stableaa/base/config/config.h"
#include "stableaa/core/error.h"
#include "stableaa/experiment/report/page.h"
#include "stableaa/rl/run/run_results_test.h"
#include "stableaa/rl/run/trainer.h"

namespace stableaa::report_test {

namespace fs = std::filesystem;

// A run as a trainer leaves it, without the time that one takes: its evaluations are given.
void WriteRun(const fs::path& directory, const std::string& env, const std::string& preset,
              std::uint64_t seed, const std::vector<double>& returns,
              const std::vector<std::string>& settings = {}) {
  RunOptions options;
  Config config;
  Describe(config, options);
  LoadPreset(config, env, preset);
  options.train.seed = seed;
  options.train.steps = static_cast<std::int64_t>(1000 * returns.size());
  for (const std::string& setting : settings) config.Set(setting);
  fs::create_directories(directory);
  WriteContent(directory / "config.toml", ToToml(options));
  WriteContent(
      directory / "run.json",
      R"({"version": "9.9", "machine": "a <machine>", "protocol": "sticky", "parameters": 7})");
  std::string metrics =
      "step,gain,gain_held_out,tau_norm,alpha_1,alpha_2,eval_return_mean,wall_seconds\n";
  for (std::size_t i = 0; i < returns.size(); ++i) {
    metrics += std::to_string(1000 * (i + 1)) + ",0.9,0.95,0.3,0.25,0.75," +
               std::to_string(returns[i]) + "," + std::to_string(i + 1) + "\n";
  }
  WriteContent(directory / "metrics.csv", metrics);
}

// Two presets, an ablation, two environments, two seeds.
void WriteSweep(const fs::path& directory) {
  for (const std::string env : {"minatar/breakout", "minatar/freeway"}) {
    for (const std::uint64_t seed : {1, 2}) {
      const double d = static_cast<double>(seed);
      WriteRun(directory / (env.substr(8) + "-d-" + std::to_string(seed)), env, "dueling-dqn", seed,
               {0, 1 + d, 2 + d, 3 + d});
      for (const std::string eta : {"0.1", "10"}) {
        WriteRun(directory / (env.substr(8) + "-s-" + eta + "-" + std::to_string(seed)), env,
                 "stable-aa", seed, {1, 2, 3, 4 * d}, {"agent.eta=" + eta, "agent.targets=2"});
      }
    }
  }
}

std::set<std::string> Names(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

std::string BadInputOf(const ReportOptions& options) {
  try {
    WriteReport(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

// Each figure once on the page and in three files, none besides.
std::set<std::string> FigureFiles(const std::string& page) {
  const std::string start = "<figure id=\"figure-";
  std::set<std::string> files;
  for (std::size_t at = page.find(start); at != std::string::npos; at = page.find(start, at + 1)) {
    const std::size_t begin = at + start.size();
    const std::string name = page.substr(begin, page.find('"', begin) - begin);
    for (const char* const type : {".svg", ".png", ".pdf"}) files.insert(name + type);
  }
  return files;
}

void ExpectSelfContained(const std::string& page) {
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(Count(page, "src=\""), Count(page, "src=\"data:"));
}

// By hand, from WriteSweep. Final is the evaluation in step 4000 alone.
void ExpectNumbers(const fs::path& tables) {
  const std::string scores = FileContent(tables / "scores.csv");
  EXPECT_NE(scores.find("minatar/breakout,dueling-dqn,final,2,4.5,0.70710678118654757,4.5,4,5,"),
            std::string::npos)
      << scores;
  const std::string improvement = FileContent(tables / "improvement.csv");
  // 4 and 8 against 4 and 5: a tie and a loss, two wins.
  EXPECT_NE(improvement.find("minatar/freeway,\"stable-aa, η = 0.1\",dueling-dqn,0.625,"),
            std::string::npos)
      << improvement;
  const std::string cost = FileContent(tables / "cost.csv");
  EXPECT_NE(cost.find("minatar/breakout,dueling-dqn,2,1000,"), std::string::npos) << cost;
}

TEST(FullReport, HasEverySectionWithItsFiguresAndNumbers) {
  const FolderOfRuns folder;
  WriteSweep(folder / "sweep");
  WriteContent(folder / "sweep" / "suite.toml", "title = \"A < B & C\"\n");
  WriteContent(
      folder / "sweep" / "sweep.json",
      R"({"runs": [{"name": "x", "status": "failed", "message": "no room"}, {"status": "failed"},
                    {"name": "breakout-d-1", "status": "failed", "message": "was mended"}]})");
  const ReportSummary summary =
      WriteReport({.directories = {folder / "sweep/"}, .out = folder / "report"});
  const std::string page = FileContent(folder / "report" / "index.html");
  EXPECT_EQ(summary.records.size(), 12U);
  for (const char* const id : {"curves", "scores", "improvement", "profiles", "ablations", "mixing",
                               "cost", "runs", "method"}) {
    EXPECT_EQ(Count(page, std::string("<section id=\"") + id + "\""), 1U) << id;
  }
  EXPECT_NE(page.find("<title>A &lt; B &amp; C</title>"), std::string::npos);
  EXPECT_NE(page.find("a &lt;machine&gt;"), std::string::npos);
  EXPECT_NE(page.find("no room"), std::string::npos) << "failures of the sweep";
  EXPECT_EQ(summary.failed.size(), 1U);
  EXPECT_NE(page.find("stable-aa, η = 10.0"), std::string::npos);
  ExpectSelfContained(page);

  const std::set<std::string> figures = FigureFiles(page);
  EXPECT_EQ(figures.size(), 3 * summary.figures);
  EXPECT_EQ(Names(folder / "report" / "figures"), figures);
  for (const char* const name :
       {"curve-mean-minatar-breakout.svg", "curve-iqm-minatar-breakout.svg", "curve-iqm-all.svg",
        "profile.pdf", "improvement.png", "ablation-stable-aa-agent.eta-minatar-freeway.svg",
        "mixing-minatar-freeway-stable-aa-0.1.svg", "final-all.svg"}) {
    EXPECT_TRUE(figures.contains(name)) << name;
  }
  EXPECT_EQ(Names(folder / "report" / "tables"),
            (std::set<std::string>{"ablations.csv", "configuration.csv", "configuration_common.csv",
                                   "cost.csv", "curves.csv", "curves_all.csv", "improvement.csv",
                                   "mixing.csv", "profiles.csv", "runs.csv", "scores.csv"}));
  ExpectNumbers(folder / "report" / "tables");
}

// Wherever intervals are apart, also behind the first.
TEST(FullReport, TellsFirstWhoIsAhead) {
  const FolderOfRuns folder;
  const auto write = [&](const std::string& preset, double first, double second) {
    WriteRun(folder / "runs" / (preset + "1"), "minatar/breakout", preset, 1, {first});
    WriteRun(folder / "runs" / (preset + "2"), "minatar/breakout", preset, 2, {second});
  };
  write("dueling-dqn", 6, 7);
  write("raa", 1, 2);
  write("dqn", 5, 9);
  const std::string page =
      FileContent(WriteReport({.directories = {folder / "runs"}, .out = folder / "report"}).page);
  EXPECT_NE(page.find("minatar/breakout: dqn has the largest final score, 7.00 [5.00, 9.00]; its "
                      "interval lies above that of raa (1.50 [1.00, 2.00]); it overlaps that of "
                      "dueling-dqn (6.50 [6.00, 7.00]); that of dueling-dqn lies above that of "
                      "raa.</li>"),
            std::string::npos)
      << page.substr(0, page.find("<section"));
}

// As the paper's Figure 2 does.
TEST(FullReport, DrawsCurvesOfManyVariantsByPreset) {
  const FolderOfRuns folder;
  const auto write = [&](const std::string& preset, const std::string& setting) {
    for (const std::uint64_t seed : {1, 2}) {
      WriteRun(folder / "runs" / (preset + setting + std::to_string(seed)), "minatar/breakout",
               preset, seed, {1, 2 + static_cast<double>(seed)}, {setting});
    }
  };
  for (const char* const eta : {"0.01", "0.1", "1"}) {
    write("stable-reg", std::string("agent.eta=") + eta);
  }
  for (const char* const omega : {"1", "5", "10"}) {
    write("dueling-mellowmax", std::string("agent.omega=") + omega);
  }
  write("dueling-dqn", "agent.discount=0.9");
  const ReportOptions options{.directories = {folder / "runs"}, .out = folder / "report"};
  WriteReport(options);
  const fs::path figures = folder / "report" / "figures";
  EXPECT_TRUE(fs::exists(figures / "curve-iqm-minatar-breakout.svg")) << "seven fit into one";
  write("stable-aa", "agent.discount=0.9");
  fs::remove_all(folder / "report");
  WriteReport(options);
  EXPECT_FALSE(fs::exists(figures / "curve-iqm-minatar-breakout.svg"));
  const std::string eta = FileContent(figures / "curve-mean-minatar-breakout-stable-reg.svg");
  for (const char* const label : {"dueling-dqn", "stable-aa", "η = 0.01", "η = 0.1", "η = 1.0"}) {
    EXPECT_NE(eta.find(label), std::string::npos) << label;
  }
  EXPECT_EQ(eta.find("ω"), std::string::npos);
  EXPECT_NE(FileContent(figures / "curve-iqm-minatar-breakout-dueling-mellowmax.svg").find("ω"),
            std::string::npos);
  const std::string page = FileContent(folder / "report" / "index.html");
  EXPECT_NE(
      page.find("minatar/breakout, stable-reg beside presets of one variant: mean ± standard"),
      std::string::npos);
  EXPECT_EQ(page.find("have no bands"), std::string::npos);
}

TEST(FullReport, TellsEveryKeyOnce) {
  const FolderOfRuns folder;
  WriteRun(folder / "runs" / "a", "minatar/breakout", "dqn", 1, {1});
  WriteRun(folder / "runs" / "b", "minatar/breakout", "dqn", 2, {1, 2}, {"agent.discount=0.5"});
  WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  const fs::path tables = folder / "report" / "tables";
  const std::string differ = FileContent(tables / "configuration.csv");
  const std::string common = FileContent(tables / "configuration_common.csv");
  EXPECT_EQ(Count(differ, "\n"), 2U) << differ;
  EXPECT_NE(differ.find("\nagent.discount,0.5,0.99\n"), std::string::npos) << differ;
  RunOptions options;
  Config config;
  Describe(config, options);
  for (const ConfigKey& key : config.Keys()) {
    const bool is_free = key.key == "train.seed" || key.key == "train.steps";
    EXPECT_EQ(Count("\n" + differ + common, "\n" + key.key + ","), is_free ? 0U : 1U) << key.key;
  }
}

TEST(FullReport, IsTheSameAgainAndReplacesAFormerOne) {
  const FolderOfRuns folder;
  WriteRun(folder / "run", "minatar/breakout", "dqn", 1, {1, 2});
  const ReportOptions options{.directories = {folder / "run"}, .out = folder / "report"};
  WriteReport(options);
  const std::string page = FileContent(folder / "report" / "index.html");
  WriteContent(folder / "report" / "mine.txt", "notes");
  WriteReport(options);
  EXPECT_EQ(FileContent(folder / "report" / "index.html"), page);
  EXPECT_EQ(FileContent(folder / "report" / "mine.txt"), "notes");
}

TEST(FullReport, RemovesWhatAFormerOneHadBesides) {
  const FolderOfRuns folder;
  WriteSweep(folder / "sweep");
  WriteRun(folder / "run", "minatar/breakout", "dqn", 1, {1, 2});
  WriteReport({.directories = {folder / "run"}, .out = folder / "new"});
  WriteReport({.directories = {folder / "sweep"}, .out = folder / "report"});
  WriteContent(folder / "report" / "figures" / "mine.svg", "");
  WriteReport({.directories = {folder / "run"}, .out = folder / "report"});
  std::set<std::string> figures = Names(folder / "new" / "figures");
  figures.insert("mine.svg");
  EXPECT_EQ(Names(folder / "report" / "figures"), figures);
  EXPECT_EQ(Names(folder / "report" / "tables"), Names(folder / "new" / "tables"));
}

// Foreign or damaged metrics: what can be shown is shown.
TEST(FullReport, GoesWithoutFiguresThatCannotBeDrawn) {
  const FolderOfRuns folder;
  WriteRun(folder / "huge", "minatar/breakout", "dqn", 1, {1.7e308, -1.7e308});
  WriteRun(folder / "bare", "minatar/breakout", "stable-aa", 1, {1, 2},
           {"agent.targets=" + std::to_string(2)});
  WriteContent(folder / "bare" / "metrics.csv", "step,gain,eval_return_mean\n1000,,1\n2000,,2\n");
  for (const char* const run : {"huge", "bare"}) {
    const ReportSummary summary =
        WriteReport({.directories = {folder / run}, .out = folder / "report"});
    const std::string page = FileContent(summary.page);
    EXPECT_NE(page.find("<section id=\"scores\""), std::string::npos) << run;
    EXPECT_EQ(summary.missing.empty(), run == std::string("bare"));
    for (const MissingFigure& figure : summary.missing) {
      EXPECT_NE(page.find("The figure " + figure.name + " is missing"), std::string::npos);
      EXPECT_NE(figure.why, "");
    }
    EXPECT_EQ(Names(folder / "report" / "figures"), FigureFiles(FileContent(summary.page)));
  }
  EXPECT_FALSE(fs::exists(folder / "report" / "figures" / "mixing-minatar-breakout-stable-aa.svg"));
  EXPECT_TRUE(fs::exists(folder / "report" / "figures" / "curve-mean-minatar-breakout.svg"));
}

// CartPole has dqn alone, Breakout an ablation of stable-aa and another preset.
void WriteMixedFolder(const fs::path& folder) {
  for (const std::uint64_t seed : {1, 2}) {
    const double d = static_cast<double>(seed);
    const std::string number = std::to_string(seed);
    WriteRun(folder / ("cart-d" + number), "classic/cartpole", "dqn", seed, {10, 20 + d});
    WriteRun(folder / ("cart-s" + number), "classic/cartpole", "stable-aa", seed, {10, 30 + d},
             {"agent.eta=1"});
    for (const std::string eta : {"0.1", "1", "10", "100"}) {
      WriteRun(folder / ("break-s" + eta + "-" + number), "minatar/breakout", "stable-aa", seed,
               {1, 2 + d}, {"agent.eta=" + eta});
    }
    for (const std::string omega : {"1", "5", "10", "20"}) {
      WriteRun(folder / ("break-m" + omega + "-" + number), "minatar/breakout", "dueling-mellowmax",
               seed, {1, 3 + d}, {"agent.omega=" + omega});
    }
  }
}

std::string SummaryOf(const std::string& page) {
  const std::size_t begin = page.find("<div class=\"summary\">");
  return page.substr(begin, page.find("</div>", begin) - begin);
}

TEST(FullReport, GroupsAMixedFolderByEnvironmentFirst) {
  const FolderOfRuns folder;
  WriteMixedFolder(folder / "runs");
  const ReportSummary summary =
      WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  EXPECT_TRUE(summary.missing.empty()) << summary.missing.front().why;
  const fs::path figures = folder / "report" / "figures";
  // Ten variants are too many for one figure; the two of CartPole are not.
  const std::set<std::string> names = Names(figures);
  EXPECT_TRUE(names.contains("curve-iqm-classic-cartpole.svg"));
  EXPECT_FALSE(names.contains("curve-iqm-classic-cartpole-dueling-mellowmax.svg"));
  EXPECT_TRUE(names.contains("curve-iqm-minatar-breakout-dueling-mellowmax.svg"));
  EXPECT_FALSE(names.contains("ablation-stable-aa-agent.eta-classic-cartpole.svg"));
  EXPECT_EQ(FileContent(figures / "curve-iqm-classic-cartpole.svg").find("η"), std::string::npos)
      << "it does not vary there";
  for (const char* const table : {"scores.csv", "curves.csv", "improvement.csv", "cost.csv"}) {
    const std::string csv = FileContent(folder / "report" / "tables" / table);
    EXPECT_NE(csv.find("\nclassic/cartpole,stable-aa,"), std::string::npos) << table << csv;
    EXPECT_NE(csv.find("\nminatar/breakout,\"stable-aa, η = 1"), std::string::npos) << table;
  }
  const std::string page = FileContent(summary.page);
  EXPECT_NE(page.find("minatar/breakout, stable-aa: mean"), std::string::npos);
  EXPECT_EQ(page.find("beside presets of one variant"), std::string::npos) << "there is none";
  EXPECT_NE(page.find("classic/cartpole: stable-aa has the largest final score"), std::string::npos)
      << SummaryOf(page);
  EXPECT_NE(SummaryOf(page).find("classic/cartpole has 2 of 9 and minatar/breakout has 8 of 9."),
            std::string::npos)
      << SummaryOf(page);
}

TEST(FullReport, ShowsOnlyWhatItIsAskedFor) {
  const FolderOfRuns folder;
  WriteMixedFolder(folder / "runs");
  WriteContent(folder / "runs" / "sweep.json", R"({"runs": [
      {"name": "cart-d1", "status": "failed", "message": "of another"},
      {"name": "unknown", "status": "failed", "message": "no room"}]})");
  WriteRun(folder / "runs" / "cart-d1", "classic/cartpole", "dqn", 1, {1}, {"train.steps=9000"});
  const ReportSummary summary = WriteReport({.directories = {folder / "runs"},
                                             .out = folder / "report",
                                             .only = {{"preset", "stable-aa"},
                                                      {"env", "minatar/breakout"},
                                                      {"agent.eta", "0.1"},
                                                      {"agent.eta", "10"}}});
  EXPECT_EQ(summary.records.size(), 4U);
  ASSERT_EQ(summary.failed.size(), 1U) << "of cart-d1 it is known what it is";
  EXPECT_EQ(summary.failed[0].why, "no room");
  const std::string page = FileContent(summary.page);
  EXPECT_EQ(page.find("cartpole"), std::string::npos);
  EXPECT_NE(page.find("stable-aa, η = 10.0"), std::string::npos);
  EXPECT_EQ(page.find("η = 100.0"), std::string::npos);
  EXPECT_NE(
      BadInputOf(
          {.directories = {folder / "runs"}, .out = folder / "other", .only = {{"preset", "raa"}}})
          .find("train.preset is one of \"dqn\""),
      std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "other"));
}

TEST(FullReport, CallsVariantsAsItIsTold) {
  const FolderOfRuns folder;
  WriteMixedFolder(folder / "runs");
  WriteReport(
      {.directories = {folder / "runs"},
       .out = folder / "report",
       .only = {{"env", "classic/cartpole"}},
       .comparison = {.labels = {"stable-aa=Stable <AA>, \"ours\"", "dqn=it's `DQN`\x1b \\ $x"}}});
  const std::string page = FileContent(folder / "report" / "index.html");
  EXPECT_NE(page.find("<td>Stable &lt;AA&gt;, &quot;ours&quot;</td>"), std::string::npos);
  EXPECT_NE(page.find("<td>it's `DQN` \\ $x</td>"), std::string::npos);
  EXPECT_EQ(page.find("<td>stable-aa</td>"), std::string::npos);
  const std::string scores = FileContent(folder / "report" / "tables" / "scores.csv");
  EXPECT_NE(scores.find("classic/cartpole,\"Stable <AA>, \"\"ours\"\"\",final,"), std::string::npos)
      << scores;
  const std::string svg =
      FileContent(folder / "report" / "figures" / "curve-mean-classic-cartpole.svg");
  EXPECT_NE(svg.find("Stable &lt;AA>, \"ours\""), std::string::npos);
  EXPECT_NE(svg.find("it's `DQN` \\ $x"), std::string::npos) << svg;
}

// Names are text from files: nothing of them is run, and no control character comes out.
TEST(FullReport, ShowsHostileNamesAsText) {
  const FolderOfRuns folder;
  const std::string mark = (folder / "mark").string();
  const std::string hostile = "a'.system('touch " + mark + "').'`touch " + mark +
                              "`\"; system 'touch " + mark +
                              "' #<script>alert(1)</script>\x1b]0;title\x07\nEOD\n!touch " + mark;
  for (const std::uint64_t seed : {1, 2}) {
    const fs::path run = folder / "runs" / ("h" + std::to_string(seed));
    WriteRun(run, "minatar/breakout", "stable-aa", seed, {1, 2}, {"agent.targets=2"});
    RunOptions options = ReadRunOptions(run / "config.toml");
    options.train.preset = hostile;
    WriteContent(run / "config.toml", ToToml(options));
    WriteRun(folder / "runs" / ("d" + std::to_string(seed)), "minatar/breakout", "dqn", seed,
             {1, 2});
  }
  const ReportSummary summary =
      WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  EXPECT_FALSE(fs::exists(mark));
  EXPECT_TRUE(summary.missing.empty()) << summary.missing.front().why;
  EXPECT_GE(summary.figures, 4U);
  ExpectSelfContained(FileContent(summary.page));
  for (const fs::path& part : {fs::path("."), fs::path("figures"), fs::path("tables")}) {
    for (const auto& entry : fs::directory_iterator(folder / "report" / part)) {
      const std::string type = entry.path().extension();
      if (type != ".svg" && type != ".csv" && type != ".html") continue;
      const std::string text = FileContent(entry.path());
      EXPECT_EQ(text.find('\x1b'), std::string::npos) << entry.path();
      EXPECT_EQ(text.find('\x07'), std::string::npos) << entry.path();
      EXPECT_EQ(text.find("<script"), type == ".csv" ? text.find("<script") : std::string::npos)
          << entry.path();
    }
  }
  const std::string label = summary.comparison.environments.front().variants.front().label;
  EXPECT_NE(label.find("\\u001B]0;title\\u0007\\nEOD"), std::string::npos) << label;
}

// As a sweep leaves them whose suite ends runs at a return.
TEST(FullReport, CarriesRunsForwardThatReachedTheirSuitesReturn) {
  const FolderOfRuns folder;
  const std::vector<std::string> planned = {"train.steps=5000"};
  WriteRun(folder / "runs" / "fast", "minatar/breakout", "dqn", 1, {1, 9}, planned);
  WriteRun(folder / "runs" / "slow", "minatar/breakout", "dqn", 2, {1, 2, 3, 4, 5}, planned);
  WriteRun(folder / "runs" / "raa", "minatar/breakout", "raa", 1, {1, 2, 3, 8.5}, planned);
  WriteContent(folder / "runs" / "suite.toml", "title = \"t\"\n[stop]\neval_return = 8\n");
  WriteContent(folder / "runs" / "sweep.json", R"({"runs": [
      {"name": "fast", "status": "done"}, {"name": "slow", "status": "done"},
      {"name": "raa", "status": "done"}]})");
  const ReportSummary summary =
      WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  EXPECT_TRUE(summary.comparison.left_out.empty());
  const std::string page = FileContent(summary.page);
  EXPECT_NE(page.find("compared at step 5000. The return to reach: 8.00, stop.eval_return of the "
                      "suite. 2 of 3 runs had reached the suite's stop.eval_return"),
            std::string::npos);
  EXPECT_NE(page.find(">1 of 2, from step 2,000</td>"), std::string::npos);
  EXPECT_NE(page.find("<td>reached the suite's return, carried forward from step 2000</td>"),
            std::string::npos);
  const fs::path tables = folder / "report" / "tables";
  const std::string curves = FileContent(tables / "curves.csv");
  EXPECT_NE(curves.find("\nminatar/breakout,dqn,2000,2,5.5,"), std::string::npos) << curves;
  EXPECT_NE(curves.find("\nminatar/breakout,dqn,5000,2,7,"), std::string::npos) << curves;
  EXPECT_NE(curves.find("\nminatar/breakout,raa,5000,1,8.5,,8.5,,,1\n"), std::string::npos)
      << curves;
  const std::string scores = FileContent(tables / "scores.csv");
  EXPECT_NE(scores.find("\nminatar/breakout,raa,final,1,8.5,,8.5,,,,,,1\n"), std::string::npos)
      << scores;
  EXPECT_NE(scores.find("\nminatar/breakout,raa,steps_to_8,1,,,,,,4000,,,1\n"), std::string::npos)
      << scores;
  const std::string runs = FileContent(tables / "runs.csv");
  EXPECT_NE(runs.find(",2000\n"), std::string::npos) << runs;
}

// Two runs of each of two presets in both environments, planned for 3000 steps; the first of dqn
// ended at the suite's return, in step 2000.
void WriteSweepWithReturn(const fs::path& directory) {
  const std::vector<std::string> planned = {"train.steps=3000"};
  for (const std::string env : {"breakout", "freeway"}) {
    WriteRun(directory / (env + "-dqn-1"), "minatar/" + env, "dqn", 1, {1, 9}, planned);
    WriteRun(directory / (env + "-dqn-2"), "minatar/" + env, "dqn", 2, {1, 2, 3}, planned);
    WriteRun(directory / (env + "-raa-1"), "minatar/" + env, "raa", 1, {1, 3, 4}, planned);
    WriteRun(directory / (env + "-raa-2"), "minatar/" + env, "raa", 2, {1, 4, 5}, planned);
  }
  WriteContent(directory / "suite.toml", "title = \"t\"\n[stop]\neval_return = 8\n");
  WriteContent(directory / "sweep.json", R"({"runs": [
      {"name": "breakout-dqn-1", "status": "done"}, {"name": "freeway-dqn-1", "status": "done"},
      {"name": "other", "status": "failed", "message": "no room"}]})");
}

TEST(FullReport, SaysWhereFinalScoresAreThoseOfRunsCarriedForward) {
  const FolderOfRuns folder;
  WriteSweepWithReturn(folder / "runs");
  const std::string page =
      FileContent(WriteReport({.directories = {folder / "runs"}, .out = folder / "report"}).page);
  const std::string two = "2 of 8 runs had reached the suite's stop.eval_return and ended before",
                    one = "1 of 4 runs had reached the suite's stop.eval_return and ended before";
  EXPECT_EQ(Count(SummaryOf(page), "<li>" + two), 1U) << SummaryOf(page);
  for (const char* const name : {"final-all", "improvement", "profile"}) {
    const std::size_t at = page.find("<figure id=\"figure-" + std::string(name));
    ASSERT_NE(at, std::string::npos) << name;
    const std::string figure = page.substr(at, page.find("</figure>", at) - at);
    EXPECT_EQ(Count(figure.substr(figure.find("<figcaption>")), two), 1U) << name;
  }
  EXPECT_NE(page.find("how likely X has the larger final score. " + two), std::string::npos);
  EXPECT_EQ(Count(page, "how likely X has the larger final score. " + one), 2U);
}

// In the current directory while it lives.
class InDirectory {
 public:
  explicit InDirectory(const fs::path& directory) : former_(fs::current_path()) {
    fs::current_path(directory);
  }
  ~InDirectory() { fs::current_path(former_); }
  InDirectory(const InDirectory&) = delete;
  InDirectory& operator=(const InDirectory&) = delete;

 private:
  fs::path former_;
};

TEST(FullReport, FindsTheSweepOfARunByWhateverNameTheRunHas) {
  const FolderOfRuns folder;
  WriteSweepWithReturn(folder / "runs");
  const fs::path run = folder / "runs" / "breakout-dqn-1";
  fs::create_directories(folder / "links");
  fs::create_directory_symlink(run, folder / "links" / "a");
  // A run that was moved to another disk.
  WriteSweepWithReturn(folder / "moved");
  fs::rename(folder / "moved" / "breakout-dqn-1", folder / "elsewhere");
  fs::create_directory_symlink(folder / "elsewhere", folder / "moved" / "breakout-dqn-1");
  const InDirectory in_run(run);
  for (const fs::path& name :
       {run, run / "", folder / "links" / "a", folder / "links", folder / "links" / "a" / "",
        fs::path("."), fs::path("../breakout-dqn-1/."), folder / "moved" / "breakout-dqn-1"}) {
    const ReportSummary summary = WriteReport({.directories = {name}, .out = folder / "report"});
    ASSERT_EQ(summary.records.size(), 1U);
    EXPECT_EQ(summary.records[0].Status(), "reached the suite's return") << name;
    EXPECT_EQ(summary.comparison.environments.at(0).steps.back(), 3000) << name;
    EXPECT_TRUE(summary.failed.empty()) << name << ": the others are not asked for";
  }
}

// As a sweep leaves them whose suite's stop.steps were 3000 and are 5000 now.
TEST(FullReport, ComparesAnExtendedSweepUpToItsNewEnd) {
  const FolderOfRuns folder;
  WriteRun(folder / "runs" / "early", "minatar/breakout", "dqn", 1, {1, 9}, {"train.steps=3000"});
  WriteRun(folder / "runs" / "last", "minatar/breakout", "dqn", 2, {1, 2, 9}, {"train.steps=3000"});
  WriteRun(folder / "runs" / "slow", "minatar/breakout", "dqn", 3, {1, 2, 3, 4, 5});
  WriteContent(folder / "runs" / "suite.toml", "[stop]\nsteps = 5000\neval_return = 8\n");
  WriteContent(folder / "runs" / "sweep.json", R"({"runs": [
      {"name": "early", "status": "done", "steps_wanted": 5000},
      {"name": "last", "status": "done", "steps_wanted": 5000},
      {"name": "slow", "status": "done", "steps_wanted": 5000}]})");
  const ReportSummary summary =
      WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  const EnvironmentResults& results = summary.comparison.environments.at(0);
  EXPECT_EQ(results.steps.back(), 5000);
  EXPECT_EQ(results.variants.at(0).Values(&ComparedRun::final), (std::vector<double>{9, 9, 5}));
  EXPECT_EQ(results.variants.at(0).CarriedAt(5000), 2U);
}

// As other programs write them.
TEST(FullReport, SaysWhichRunsHaveEvaluationsThatAreNoNumbers) {
  const FolderOfRuns folder;
  WriteRun(folder / "runs" / "good", "minatar/breakout", "dqn", 1, {1, 2});
  for (const char* const value : {"nan", "inf", "-inf"}) {
    const fs::path run = folder / "runs" / value;
    WriteRun(run, "minatar/breakout", "raa", 1, {1, 2});
    WriteContent(run / "metrics.csv", std::string("step,eval_return_mean,gain\n500,,nan\n1000,") +
                                          value + ",\n2000,2,\n");
  }
  const ReportSummary summary =
      WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  ASSERT_EQ(summary.comparison.left_out.size(), 3U);
  for (const LeftOutRun& run : summary.comparison.left_out) {
    EXPECT_EQ(run.why, "1 of 2 evaluations are no finite numbers, the first in step 1000");
  }
  EXPECT_NE(FileContent(summary.page).find("no finite numbers"), std::string::npos);
}

TEST(FullReport, NamesFilesOfLongVariants) {
  const FolderOfRuns folder;
  for (const char* const path : {"a", "b"}) {
    WriteRun(folder / "runs" / path, "minatar/breakout", "stable-aa", 1, {1, 2},
             {"network.layers=" + std::string(300, *path)});
  }
  const ReportSummary summary =
      WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  EXPECT_EQ(Names(folder / "report" / "figures").size(), 3 * summary.figures);
}

TEST(FullReport, ShowsRunsWithoutAnyEvaluation) {
  const FolderOfRuns folder;
  WriteRun(folder / "run", "minatar/breakout", "dqn", 1, {});
  const ReportSummary summary =
      WriteReport({.directories = {folder / "run"}, .out = folder / "report"});
  EXPECT_EQ(summary.figures, 0U);
  EXPECT_NE(FileContent(summary.page).find("No run has an evaluation yet"), std::string::npos);
}

TEST(FullReport, SaysSoIfNoRunCanBeCompared) {
  const FolderOfRuns folder;
  WriteRun(folder / "run", "minatar/breakout", "dqn", 1, {1, 2});
  WriteContent(folder / "run" / "metrics.csv", "step,eval_return_mean\n1000,1\n2000,inf\n");
  const std::string page =
      FileContent(WriteReport({.directories = {folder / "run"}, .out = folder / "report"}).page);
  EXPECT_EQ(page.find("No run has an evaluation yet"), std::string::npos);
  EXPECT_NE(page.find("No run can be compared: what was run, below, says why."), std::string::npos);
}

TEST(FullReport, AttachesPicturesAndTexts) {
  const FolderOfRuns folder;
  WriteRun(folder / "run", "minatar/breakout", "dqn", 1, {1});
  WriteContent(folder / "a.txt", "1 < 2");
  WriteContent(folder / "a.gif", "GIF89a");
  ReportOptions options{
      .directories = {folder / "run"},
      .out = folder / "report",
      .attachments = {{"a text", folder / "a.txt"}, {"a \"clip\"", folder / "a.gif"}}};
  const std::string page = FileContent(WriteReport(options).page);
  EXPECT_NE(page.find("1 &lt; 2"), std::string::npos);
  EXPECT_NE(page.find("alt=\"a &quot;clip&quot;\" src=\"data:image/gif;base64,R0lGODlh\""),
            std::string::npos);
  fs::rename(folder / "a.gif", folder / "a.GIF");
  options.attachments = {{"as before", folder / "a.GIF"}};
  EXPECT_NE(FileContent(WriteReport(options).page).find("data:image/gif"), std::string::npos);
  ASSERT_EQ(::mkfifo((folder / "pipe.png").c_str(), 0600), 0);
  options.attachments = {{"a pipe", folder / "pipe.png"}};
  EXPECT_NE(BadInputOf(options).find("expected a regular file"), std::string::npos);
  options.attachments = {{"what", folder / "a.exe"}};
  EXPECT_NE(BadInputOf(options).find("to attach, found"), std::string::npos);
}

TEST(Report, RefusesToWriteIntoWhatIsNoReport) {
  const FolderOfRuns folder;
  WriteRun(folder / "run", "minatar/breakout", "dqn", 1, {1});
  fs::create_directories(folder / "other");
  WriteContent(folder / "other" / "index.html", "<p>mine</p>");
  WriteContent(folder / "file", "");
  fs::create_directories(folder / "run" / "checkpoint");
  EXPECT_NE(BadInputOf({.directories = {folder / "run"}, .out = ""}).find("an empty name"),
            std::string::npos);
  EXPECT_NE(BadInputOf({.directories = {folder / "run"}, .out = folder / "run" / "report"})
                .find("a place in the run"),
            std::string::npos);
  fs::remove(folder / "run" / "checkpoint");
  const Snapshot before = SnapshotOf(folder.path());
  for (const char* const out : {"run", "other", "file"}) {
    EXPECT_NE(BadInputOf({.directories = {folder / "run"}, .out = folder / out})
                  .find("expected a new directory or a former report"),
              std::string::npos)
        << out;
  }
  ExpectUnchanged(folder.path(), before);
}

TEST(FullReport, ListsBrokenRunsOfAFolderAndRefusesOneThatIsNamed) {
  const FolderOfRuns folder;
  WriteRun(folder / "runs" / "good", "minatar/breakout", "dqn", 1, {1});
  WriteRun(folder / "runs" / "bad", "minatar/breakout", "dqn", 2, {1});
  WriteContent(folder / "runs" / "bad" / "metrics.csv", "step,x\n1\n");
  const ReportSummary summary =
      WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  ASSERT_EQ(summary.failed.size(), 1U);
  EXPECT_NE(FileContent(summary.page).find("metrics.csv:2"), std::string::npos);
  const std::string refused =
      BadInputOf({.directories = {folder / "runs" / "bad"}, .out = folder / "second"});
  EXPECT_NE(refused.find("metrics.csv:2"), std::string::npos) << refused;
  EXPECT_FALSE(fs::exists(folder / "second"));
}

// As `report SWEEP/*` names them.
TEST(FullReport, PassesOverWhatHoldsNoRun) {
  const FolderOfRuns folder;
  WriteRun(folder / "good", "minatar/breakout", "dqn", 1, {1});
  WriteRun(folder / "bad", "minatar/breakout", "dqn", 2, {1});
  WriteContent(folder / "bad" / "metrics.csv", "step,x\n1\n");
  WriteContent(folder / "sweep.json", R"({"runs": [{"name": "x", "status": "failed"},
                                                    {"name": "bad", "status": "failed"}]})");
  fs::create_directories(folder / "logs");
  ReportOptions options{
      .directories = {folder / "bad", folder / "good", folder / "logs", folder / "sweep.json"},
      .out = folder / "report"};
  const ReportSummary summary = WriteReport(options);
  EXPECT_EQ(summary.records.size(), 1U);
  ASSERT_EQ(summary.failed.size(), 1U) << "x was not asked for, bad is listed once";
  EXPECT_EQ(summary.failed[0].directory, (folder / "bad").string());
  options.directories.push_back(folder / "typo");
  EXPECT_NE(BadInputOf(options).find("typo"), std::string::npos);
  options.directories = {folder / "logs", folder / "sweep.json"};
  EXPECT_NE(BadInputOf(options).find("logs holds no run"), std::string::npos);
}

TEST(Page, EncodesWhatItShows) {
  EXPECT_EQ(HtmlText("a<b>&\"c\"\x01\xffη"), "a&lt;b&gt;&amp;&quot;c&quot;\\u0001?η");
  EXPECT_EQ(HtmlText("\x7f"), "\\u007F");
  // CSI as one character, and what turns the direction of the rest.
  EXPECT_EQ(HtmlText("\xc2\x9b\xe2\x80\xae\n\t"), "\\u009B\\u202E\\n\\t");
  EXPECT_EQ(HtmlLines("a\tb\r\n<\x1b\xe2\x80\xae\n\nc\rd"), "a\tb\n&lt;\\u001B\\u202E\n\nc\\rd");
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xff\xfe\xfd"), "//79");
}

TEST(ShownNumbers, HaveAboutThreeDigits) {
  EXPECT_EQ(ShownNumber(0), "0.000");
  EXPECT_EQ(ShownNumber(0.12345), "0.123");
  EXPECT_EQ(ShownNumber(-1.5), "-1.50");
  EXPECT_EQ(ShownNumber(9.999), "10.0");
  EXPECT_EQ(ShownNumber(99.96), "100");
  EXPECT_EQ(ShownNumber(1234567.8), "1,234,568");
  EXPECT_EQ(ShownNumber(-12345), "-12,345");
  EXPECT_EQ(ShownNumber(std::numeric_limits<double>::infinity()), "∞");
  EXPECT_EQ(ShownNumber(std::numeric_limits<double>::quiet_NaN()), "–");
}

}  // namespace stableaa::report_test
