// The report's part about searches.

#include "stableaa/experiment/report/search_results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stableaa/experiment/report/written_runs_test.h"
#include "stableaa/experiment/results/made_record_test.h"
#include "stableaa/testing/message.h"

namespace stableaa::search_results_test {

namespace fs = std::filesystem;

// Two draws got to the second rung, the third one failed in Asterix.
constexpr const char* kSearch = R"({"method": "halton", "seed": 1,
  "keys": [{"key": "agent.eta", "log": true}, {"key": "agent.loss", "log": false}],
  "rung_steps": [1000, 2000],
  "variants": [{"name": "raa", "envs": ["minatar/asterix", "minatar/breakout"], "draws": [
    {"draw": 1, "rung": 2, "values": {"agent.eta": 0.1, "agent.loss": "huber"},
     "scores": {"minatar/asterix": 1.5, "minatar/breakout": 2}, "rank": 2, "runs": ["r1"]},
    {"draw": 2, "rung": 2, "values": {"agent.eta": 0.01, "agent.loss": "squared"},
     "scores": {"minatar/asterix": 3, "minatar/breakout": 4}, "rank": 1, "runs": ["r2"]},
    {"draw": 3, "rung": 1, "values": {"agent.eta": 1e-3, "agent.loss": "huber"},
     "scores": {"minatar/breakout": 9}, "rank": 2, "runs": ["r3"]}]}]})";

class SearchResultsTest : public ::testing::Test {
 protected:
  SearchResultsTest() {
    WriteContent(folder_ / "search.json", kSearch);
    for (const char* const run : {"r1", "r2", "r3"}) {
      WriteRun(folder_ / run, "minatar/breakout", "raa", 1, {1, 2},
               {std::string("agent.n_step=") + run[1]});
      records_.push_back(ReadRun(folder_ / run));
    }
  }
  std::vector<std::string> Left() const {
    std::vector<std::string> names;
    for (const RunRecord& record : records_) names.push_back(record.directory.filename());
    return names;
  }

  const FolderOfRuns folder_;
  std::vector<RunRecord> records_;
};

TEST_F(SearchResultsTest, TheRestOfTheReportIsAboutTheDrawsThatGotFurthest) {
  const std::vector<SearchResults> searches = TakeSearches({folder_.path()}, records_);
  ASSERT_EQ(searches.size(), 1U);
  EXPECT_EQ(Left(), (std::vector<std::string>{"r1", "r2"}));
  EXPECT_EQ(searches[0].draws[0].draw, 2U) << "the best first";
}

TEST_F(SearchResultsTest, RunsNamedOneByOneAreLeftAlone) {
  EXPECT_TRUE(TakeSearches({folder_ / "r1", folder_ / "r2", folder_ / "r3"}, records_).empty());
  EXPECT_EQ(Left().size(), 3U);
}

TEST_F(SearchResultsTest, BeforeTheFirstRungAllRunsAreShown) {
  std::string text = kSearch;
  for (const std::string rung : {"\"rung\": 1", "\"rung\": 2"}) {
    for (std::size_t at = text.find(rung); at != std::string::npos; at = text.find(rung)) {
      text.replace(at, rung.size(), "\"rung\": 0");
    }
  }
  WriteContent(folder_ / "search.json", text);
  EXPECT_EQ(TakeSearches({folder_.path()}, records_).size(), 1U);
  EXPECT_EQ(Left().size(), 3U);
}

TEST_F(SearchResultsTest, TheSectionHasAFigureForEachKeyAndEnvironmentAndAllDraws) {
  ReportContent content;
  content.sections.push_back({.id = "other", .title = "Other"});
  AddSearches(TakeSearches({folder_.path()}, records_), content);
  ASSERT_EQ(content.sections.size(), 2U);
  const ReportSection& section = content.sections.front();
  EXPECT_EQ(section.id, "search");
  ASSERT_EQ(section.figures.size(), 4U);
  EXPECT_EQ(section.figures[0].name, "search-agent.eta-minatar-asterix");
  const std::string& breakout = section.figures[1].picture.script;
  EXPECT_NE(breakout.find("set logscale x"), std::string::npos);
  EXPECT_NE(breakout.find("$line0 << EOD\n0.001 9 9 9\nEOD"), std::string::npos) << breakout;
  EXPECT_NE(breakout.find("$line1 << EOD\n0.01 4 4 4\n0.1 2 2 2\nEOD"), std::string::npos)
      << "the last rung comes last: " << breakout;
  EXPECT_NE(section.figures[3].picture.script.find("set xtics ('huber' 0, 'squared' 1)"),
            std::string::npos)
      << section.figures[3].picture.script;
  EXPECT_EQ(section.figures[3].picture.script.find("logscale"), std::string::npos);
  ASSERT_EQ(section.tables.size(), 1U);
  EXPECT_EQ(section.tables[0].columns,
            (std::vector<std::string>{"draw", "rank", "minatar/asterix", "minatar/breakout",
                                      "steps", "agent.eta", "agent.loss"}));
  EXPECT_EQ(section.tables[0].rows[2],
            (std::vector<std::string>{"3", "2.00", "–", "9.00", "1000", "0.001", "huber"}));
  ASSERT_EQ(content.csv_files.size(), 1U);
  EXPECT_NE(content.csv_files[0].text.find("raa,3,1,1000,0.001,huber,,9,2\n"), std::string::npos)
      << content.csv_files[0].text;
}

// Two variants that score alike everywhere.
SearchResults TwoVariants() {
  SearchResults results{.folder = "there",
                        .keys = {{"agent.eta", true}, {"agent.loss", false}},
                        .rung_steps = {1000, 2000},
                        .variants = {"raa", "three targets"},
                        .envs = {"minatar/asterix", "minatar/breakout"},
                        .colours = {"", ""},
                        .draws = {}};
  for (const std::string& variant : results.variants) {
    for (const std::size_t draw : {1U, 2U}) {
      results.draws.push_back({.variant = variant,
                               .draw = draw,
                               .rung = draw,
                               .values = {{"agent.eta", draw == 1 ? "60" : "90"},
                                          {"agent.loss", draw == 1 ? "huber" : "squared"}},
                               .scores = {{"minatar/asterix", 5}, {"minatar/breakout", 7}},
                               .rank = 1,
                               .runs = {}});
    }
  }
  return results;
}

TEST_F(SearchResultsTest, VariantsStandBesideEachOther) {
  ReportContent content;
  AddSearches({TwoVariants()}, content);
  const std::string& loss = content.sections[0].figures[2].picture.script;
  EXPECT_NE(loss.find("$line0 << EOD\n-0.15 5 "), std::string::npos) << loss;
  EXPECT_NE(loss.find("$line1 << EOD\n0.15 5 "), std::string::npos) << loss;
  EXPECT_NE(loss.find("set xrange [-0.5:1.5]\n"), std::string::npos);
  const std::string& eta = content.sections[0].figures[0].picture.script;
  EXPECT_EQ(eta.find("$line0 << EOD\n60 "), std::string::npos) << "shifted: " << eta;
  EXPECT_NE(eta.find("set label 'three targets' at"), std::string::npos);
  EXPECT_NE(eta.find("set label '2000 steps' at"), std::string::npos);
  EXPECT_EQ(content.sections[0].tables[0].rows[2][0], "three targets, draw 1");
}

TEST_F(SearchResultsTest, HaveTheNamesColoursAndOrderThatTheUserGives) {
  std::vector<SearchResults> searches = {TwoVariants()};
  const std::set<std::string> variants = VariantsOf(searches);
  EXPECT_EQ(variants, (std::set<std::string>{"raa", "three targets"}));
  ApplyNames(Compare(records_, {.labels = {"three targets=m = 3"},
                                .colours = {"m = 3=#123456"},
                                .order = {"three targets,minatar/breakout"},
                                .searched = variants}),
             searches);
  EXPECT_EQ(searches[0].variants, (std::vector<std::string>{"m = 3", "raa"}));
  EXPECT_EQ(searches[0].colours, (std::vector<std::string>{"#123456", ""}));
  EXPECT_EQ(searches[0].envs[0], "minatar/breakout");
  ReportContent content;
  AddSearches(searches, content);
  EXPECT_EQ(content.sections[0].tables[0].rows[0][0], "m = 3, draw 1");
  EXPECT_EQ(content.sections[0].tables[0].rows[3][0], "raa, draw 2");
  EXPECT_NE(content.sections[0].figures[0].picture.script.find("'#123456'"), std::string::npos);
  std::vector<SearchResults> alike = {TwoVariants()};
  EXPECT_EQ(MessageOf([&] {
              ApplyNames(Compare(records_, {.labels = {"three targets=raa"}, .searched = variants}),
                         alike);
            }),
            "two variants of the search there would be called 'raa'");
}

TEST_F(SearchResultsTest, KeysWithOneBeginningHaveFiguresOfTheirOwn) {
  SearchResults results = TwoVariants();
  results.keys = {{std::string(70, 'x') + "1", false}, {std::string(70, 'x') + "2", false}};
  for (SearchResults::Draw& draw : results.draws) {
    for (const SearchResults::Key& key : results.keys) draw.values[key.key] = "1";
  }
  ReportContent content;
  AddSearches({results}, content);
  std::set<std::string> names;
  for (const ReportFigure& figure : content.sections[0].figures) names.insert(figure.name);
  EXPECT_EQ(names.size(), 4U);
}

TEST_F(SearchResultsTest, NumbersAreAsShortAsTheyReadBack) {
  std::string text = kSearch;
  text.replace(text.find("0.01,"), 4, "0.0053498799999999996");
  text.replace(text.find("\"squared\""), 9, "[0.10000000000000001, 64]");
  WriteContent(folder_ / "search.json", text);
  const std::optional<SearchResults> results = ReadSearchResults(folder_.path());
  ASSERT_TRUE(results);
  EXPECT_EQ(results->draws[0].values.at("agent.eta"), "0.00534988");
  EXPECT_EQ(results->draws[0].values.at("agent.loss"), "[0.1, 64]");
}

TEST_F(SearchResultsTest, OtherFilesOfThatNameAreIgnored) {
  for (const std::string text :
       {"", "[]", "{", R"({"keys": 3})", R"({"keys": [], "rung_steps": ["x"], "variants": []})"}) {
    WriteContent(folder_ / "search.json", text);
    EXPECT_FALSE(ReadSearchResults(folder_.path())) << text;
  }
  EXPECT_FALSE(ReadSearchResults(folder_ / "r1"));
}

TEST_F(SearchResultsTest, AreOnThePageWithTheirFigures) {
  const ReportSummary summary =
      WriteReport({.directories = {folder_.path()}, .out = folder_ / "report"});
  EXPECT_EQ(summary.records.size(), 2U);
  EXPECT_TRUE(summary.missing.empty());
  EXPECT_TRUE(fs::exists(folder_ / "report/figures/search-agent.loss-minatar-asterix.svg"));
  EXPECT_TRUE(fs::exists(folder_ / "report/tables/search.csv"));
  EXPECT_NE(FileContent(folder_ / "report/index.html").find("All draws of"), std::string::npos);
}

}  // namespace stableaa::search_results_test
