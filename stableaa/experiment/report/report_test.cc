// Whole reports, drawn and written. The tests of each section are beside its source.

#include "stableaa/experiment/report/report.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <string>

#include "stableaa/base/config/config.h"
#include "stableaa/experiment/report/report_parts_test.h"
#include "stableaa/experiment/report/written_runs_test.h"
#include "stableaa/rl/run/run_results_test.h"

namespace stableaa::report_test {

namespace fs = std::filesystem;

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

// Each figure appears once on the page and in three files, and there are no other files.
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
  EXPECT_EQ(CountOf(page, "src=\""), CountOf(page, "src=\"data:"));
}

// Computed by hand from WriteSweep. The final score is the evaluation at step 4000 alone.
void ExpectNumbers(const fs::path& tables) {
  const std::string scores = FileContent(tables / "scores.csv");
  EXPECT_NE(scores.find("minatar/breakout,dueling-dqn,final,2,4.5,0.70710678118654757,4.5,4,5,"),
            std::string::npos)
      << scores;
  const std::string improvement = FileContent(tables / "improvement.csv");
  // 4 and 8 against 4 and 5: one tie, one loss, two wins.
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
    EXPECT_EQ(CountOf(page, std::string("<section id=\"") + id + "\""), 1U) << id;
  }
  EXPECT_NE(page.find("<title>A &lt; B &amp; C</title>"), std::string::npos);
  EXPECT_NE(page.find("a &lt;machine&gt;"), std::string::npos);
  EXPECT_NE(page.find("no room"), std::string::npos) << "failures of the sweep";
  EXPECT_EQ(summary.failed.size(), 1U);
  EXPECT_NE(page.find("stable-aa, η = 10.0"), std::string::npos);
  ExpectSelfContained(page);

  const std::set<std::string> figures = FigureFiles(page);
  EXPECT_EQ(figures.size(), 3 * summary.figures);
  EXPECT_EQ(NamesIn(folder / "report" / "figures"), figures);
  for (const char* const name :
       {"curve-mean-minatar-breakout.svg", "curve-iqm-minatar-breakout.svg", "curve-iqm-all.svg",
        "profile.pdf", "improvement.png", "ablation-stable-aa-agent.eta-minatar-freeway.svg",
        "mixing-minatar-freeway-stable-aa-0.1.svg", "final-all.svg"}) {
    EXPECT_TRUE(figures.contains(name)) << name;
  }
  EXPECT_EQ(NamesIn(folder / "report" / "tables"),
            (std::set<std::string>{"ablations.csv", "configuration.csv", "configuration_common.csv",
                                   "cost.csv", "curves.csv", "curves_all.csv", "improvement.csv",
                                   "mixing.csv", "profiles.csv", "runs.csv", "scores.csv"}));
  ExpectNumbers(folder / "report" / "tables");
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
  std::set<std::string> figures = NamesIn(folder / "new" / "figures");
  figures.insert("mine.svg");
  EXPECT_EQ(NamesIn(folder / "report" / "figures"), figures);
  EXPECT_EQ(NamesIn(folder / "report" / "tables"), NamesIn(folder / "new" / "tables"));
}

// With foreign or damaged metrics, whatever can be shown is shown.
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
    EXPECT_EQ(NamesIn(folder / "report" / "figures"), FigureFiles(FileContent(summary.page)));
  }
  EXPECT_FALSE(fs::exists(folder / "report" / "figures" / "mixing-minatar-breakout-stable-aa.svg"));
  EXPECT_TRUE(fs::exists(folder / "report" / "figures" / "curve-mean-minatar-breakout.svg"));
}

TEST(FullReport, GroupsAMixedFolderByEnvironmentFirst) {
  const FolderOfRuns folder;
  WriteMixedFolder(folder / "runs");
  const ReportSummary summary =
      WriteReport({.directories = {folder / "runs"}, .out = folder / "report"});
  EXPECT_TRUE(summary.missing.empty()) << summary.missing.front().why;
  const fs::path figures = folder / "report" / "figures";
  // Ten variants are too many for one figure; CartPole's two are not.
  const std::set<std::string> names = NamesIn(figures);
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
  EXPECT_EQ(page.find("minatar/breakout, stable-aa beside"), std::string::npos) << "there is none";
  EXPECT_NE(page.find("classic/cartpole: stable-aa has the largest final score"), std::string::npos)
      << SummaryOf(page);
  EXPECT_NE(SummaryOf(page).find("classic/cartpole has 2 of 9 and minatar/breakout has 8 of 9."),
            std::string::npos)
      << SummaryOf(page);
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

// Names are text from files: no part of them is executed, and no control character gets out.
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
  EXPECT_NE(RefusalOf(options).find("expected a regular file"), std::string::npos);
  options.attachments = {{"what", folder / "a.exe"}};
  EXPECT_NE(RefusalOf(options).find("to attach, found"), std::string::npos);
}

TEST(Report, RefusesToWriteIntoWhatIsNoReport) {
  const FolderOfRuns folder;
  WriteRun(folder / "run", "minatar/breakout", "dqn", 1, {1});
  fs::create_directories(folder / "other");
  WriteContent(folder / "other" / "index.html", "<p>mine</p>");
  WriteContent(folder / "file", "");
  fs::create_directories(folder / "run" / "checkpoint");
  EXPECT_NE(RefusalOf({.directories = {folder / "run"}, .out = ""}).find("an empty name"),
            std::string::npos);
  EXPECT_NE(RefusalOf({.directories = {folder / "run"}, .out = folder / "run" / "report"})
                .find("a place in the run"),
            std::string::npos);
  fs::remove(folder / "run" / "checkpoint");
  const Snapshot before = SnapshotOf(folder.path());
  for (const char* const out : {"run", "other", "file"}) {
    EXPECT_NE(RefusalOf({.directories = {folder / "run"}, .out = folder / out})
                  .find("expected a new directory or a former report"),
              std::string::npos)
        << out;
  }
  ExpectUnchanged(folder.path(), before);
}

}  // namespace stableaa::report_test
