// What a report says about searches (sweep/search_progress.h): score against each searched key, and
// all draws.
#ifndef STABLEAA_EXPERIMENT_REPORT_SEARCH_RESULTS_H_
#define STABLEAA_EXPERIMENT_REPORT_SEARCH_RESULTS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stableaa/experiment/report/content.h"
#include "stableaa/experiment/report/figure_style.h"
#include "stableaa/experiment/results/comparison.h"
#include "stableaa/experiment/results/run_record.h"

namespace stableaa {

// A search.json.
struct SearchResults {
  struct Key {
    std::string key;
    bool is_log = false;
  };
  struct Draw {
    std::string variant;
    std::size_t draw = 0;                       // from 1
    std::size_t rung = 0;                       // the last one judged, from 1; 0: none yet
    std::map<std::string, std::string> values;  // by key, as text
    std::map<std::string, double> scores;       // by environment; without those of failed runs
    double rank = 0;
    std::vector<std::string> runs;  // their names
  };

  std::filesystem::path folder;
  std::vector<Key> keys;
  std::vector<std::int64_t> rung_steps;
  std::vector<std::string> variants, envs;
  std::vector<std::string> colours;  // of the variants, "#rrggbb"; empty: as a figure likes
  std::vector<Draw> draws;           // by variant; within one, the best first
};

// Nothing if there is no such file. Warns, and returns nothing, if no search wrote it.
std::optional<SearchResults> ReadSearchResults(const std::filesystem::path& folder);

// The searches whose runs are among the records, unless the user named the runs one by one. Of these
// runs, only those of the best draws of each variant are left for the rest of the report: others
// ended earlier, and there would be too many.
std::vector<SearchResults> TakeSearches(const std::vector<std::filesystem::path>& directories,
                                        std::vector<RunRecord>& records);

// The names of all their variants.
std::set<std::string> VariantsOf(const std::vector<SearchResults>& searches);

// Gives variants the names, colours and order that the user has given to them, and environments their
// order. BadInput if two variants of a search would have one name.
void ApplyNames(const Comparison& comparison, std::vector<SearchResults>& searches);

// Adds a section before all others, and tables; nothing if there are no searches.
void AddSearches(const std::vector<SearchResults>& searches, ReportContent& content,
                 const FigureStyle& style = {});

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_REPORT_SEARCH_RESULTS_H_
