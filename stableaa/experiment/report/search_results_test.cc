// The report's part about searches.

#include "stableaa/experiment/report/search_results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stableaa/experiment/report/written_runs_test.h"
#include "stableaa/experiment/results/made_record_test.h"

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
  EXPECT_NE(breakout.find("$draws0 << EOD\n0.001 9\nEOD"), std::string::npos) << breakout;
  EXPECT_NE(breakout.find("$draws1 << EOD\n0.01 4\n0.1 2\nEOD"), std::string::npos) << breakout;
  EXPECT_NE(section.figures[3].picture.script.find("set xtics"), std::string::npos);
  EXPECT_EQ(section.figures[3].picture.script.find("logscale"), std::string::npos);
  ASSERT_EQ(section.tables.size(), 1U);
  EXPECT_EQ(section.tables[0].columns,
            (std::vector<std::string>{"draw", "steps", "agent.eta", "agent.loss", "minatar/asterix",
                                      "minatar/breakout", "rank"}));
  EXPECT_EQ(section.tables[0].rows[2],
            (std::vector<std::string>{"3", "1000", "0.001", "huber", "–", "9.00", "2.00"}));
  ASSERT_EQ(content.csv_files.size(), 1U);
  EXPECT_NE(content.csv_files[0].text.find("raa,3,1,1000,0.001,huber,,9,2\n"), std::string::npos)
      << content.csv_files[0].text;
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
