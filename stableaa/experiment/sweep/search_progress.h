// A search (suite/search_plan.h) while a sweep runs it: which draws go on, and what is known of them.
//
// Each variant, a combination of the axes other than the environment, is searched by itself. A run's
// score in a rung is the mean of its evaluations in the last tenth of the rung's steps, or its last
// one before. A draw's score in an environment is the mean over seeds; it is the worst of all if one
// of these runs failed. In each environment the draws of the rung are ranked by score, 1 for the
// best, with equal scores sharing their mean rank; the mean rank over environments decides, and
// between equals the smaller number of the draw.
//
// A rung is judged when all of its runs have ended. All of this is a function of the runs' files, in
// which a run that has gone on still has the evaluations of earlier rungs. So a sweep that was
// killed finds the same draws again.
//
//   search.csv    a row per variant and draw: what it was, how far it came, its scores and rank
//   search.json   the same, with what a report needs (report/search_results.h)
#ifndef STABLEAA_EXPERIMENT_SWEEP_SEARCH_PROGRESS_H_
#define STABLEAA_EXPERIMENT_SWEEP_SEARCH_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "stableaa/experiment/suite/suite.h"
#include "stableaa/experiment/sweep/status.h"

namespace stableaa {

// What the last rung that it took part in says about a draw.
struct DrawResult {
  std::size_t draw = 0;  // from 1
  std::size_t rung = 0;  // from 1; 0: none has been judged
  // By environment of the variant; -infinity if a run failed. Empty before the first rung.
  std::vector<double> scores = {};
  double rank = 0;                     // mean over the environments
  std::vector<std::size_t> runs = {};  // in the suite
};

// One variant.
struct VariantSearch {
  std::string name;
  std::vector<std::string> envs = {};
  std::vector<DrawResult> draws = {};   // by number
  std::vector<std::size_t> alive = {};  // the indices of draws in the present rung
  std::size_t rung = 1;                 // the present one, from 1
  bool is_over = false;                 // all rungs have been judged

  // Draws that got further come first, then by rank.
  std::vector<const DrawResult*> ByRank() const;
};

class SearchProgress {
 public:
  // `suite`, which has a search, must outlive it.
  explicit SearchProgress(const Suite& suite);

  const std::vector<VariantSearch>& variants() const { return variants_; }

  // Where the rung that the run takes part in ends.
  std::int64_t StepsWanted(std::size_t run) const;

  // Judges every rung whose runs have all ended. `score` gives the score of a run, or -infinity.
  // Returns the runs that go on; call it again once their states say so.
  std::vector<std::size_t> Judge(std::span<const SweepRun> runs,
                                 const std::function<double(std::size_t, std::int64_t)>& score);

  // Steps of the rungs to come, over all runs.
  std::int64_t LaterSteps() const;

  void WriteFiles(const std::filesystem::path& folder) const;
  // For people: the first `most` draws with what they set; the best draws of each variant, with
  // their scores, none before the first rung.
  std::vector<std::string> FirstDraws(std::size_t most) const;
  std::vector<std::string> BestDraws() const;

 private:
  void Rank(VariantSearch& search,
            const std::function<double(std::size_t, std::int64_t)>& score) const;
  std::string ValueOf(const DrawResult& draw, const std::string& key) const;

  const Suite& suite_;
  const SearchPlan& plan_;
  std::vector<VariantSearch> variants_;
};

// The score of the run in `directory` after so many steps; -infinity if it has no evaluation.
double RungScore(const std::filesystem::path& directory, std::int64_t steps);

// 1 for the largest; equal values share their mean rank.
std::vector<double> Ranks(std::span<const double> values);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SWEEP_SEARCH_PROGRESS_H_
