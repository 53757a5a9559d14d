// [search] in a suite: every combination of the axes is run at points drawn from ranges of keys.
//
//   [search]
//   method = "halton"                # or "random" (default: halton)
//   draws = 16                       # points, 1 to 10,000 (default: 16)
//   seed = 1                         # of the points (default: 1)
//   halving = { rungs = 3, factor = 3 }   # or { first_steps = 10_000, factor = 3 }
//
//   [search.ranges]
//   optimizer.learning_rate = { low = 1e-5, high = 1e-2, scale = "log" }
//   agent.targets = { low = 2, high = 10 }     # whole numbers for keys that are integers
//   agent.head = { values = ["plain", "dueling"] }
//
// random draws each value independently. halton spreads the points evenly: a Halton sequence, the
// i-th key in the i-th prime base, its digits permuted at random, differently for each place. Both
// are functions of the seed, the key and the point's number alone, so more draws keep the former
// ones. Reals are rounded to six digits. A point that came before is replaced by the next one.
//
// With halving, all draws first train for a few steps; then the best 1/factor of them go on, and so
// on up to the last rung, which is the whole run. The steps grow by the factor from rung to rung.
#ifndef STABLEAA_EXPERIMENT_SUITE_SEARCH_PLAN_H_
#define STABLEAA_EXPERIMENT_SUITE_SEARCH_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stableaa/base/config/toml_values.h"

namespace stableaa {

struct SearchKey {
  enum class Scale { kLinear, kLog, kChoice };

  std::string key;
  std::string place = {};  // file:line
  Scale scale = Scale::kLinear;
  double low = 0, high = 0;  // both included
  bool is_whole = false;
  std::vector<TomlValue> values = {};  // of a choice

  // u in [0, 1) to a value.
  TomlValue At(double u) const;
};

struct SearchHalving {
  std::string place = {};  // file:line
  std::int64_t factor = 3;
  std::optional<std::int64_t> rungs = {}, first_steps = {};  // one of them
};

struct SearchPlan {
  enum class Method { kRandom, kHalton };

  Method method = Method::kHalton;
  std::size_t draws = 16;
  std::uint64_t seed = 1;
  std::vector<SearchKey> keys = {};
  std::string place = {};  // file:line of [search]

  std::optional<SearchHalving> halving = {};

  // Where each rung ends; the last one is train.steps. Only that one without halving.
  std::vector<std::int64_t> rung_steps = {};

  // How many of so many draws go on to the next rung.
  std::size_t Kept(std::size_t draws_now) const;
};

// The values of each draw, in the order of the keys; all draws differ. BadInput if there are not so
// many different points.
std::vector<std::vector<TomlValue>> DrawPoints(const SearchPlan& plan);

// Sets rung_steps for runs of so many steps. BadInput if the rungs do not fit them or the draws.
void SetRungs(SearchPlan& plan, std::int64_t steps);

// For people, a line each: the method, the ranges, the rungs.
std::vector<std::string> SearchLines(const SearchPlan& plan);

// Reads the entries of a suite's [search]. All mistakes are BadInput with file and line.
class SearchReader {
 public:
  // `key` as ReadToml gives it, beginning with "search".
  void Take(const std::string& key, const TomlValue& value, const std::string& place);
  // Nothing if there was no entry. Every key exists and may vary; its range is allowed.
  std::optional<SearchPlan> Finish();

 private:
  void TakeHead(const std::string& name, const TomlValue& value);
  void TakeHalving(const std::string& name, const TomlValue& value);
  void TakeRange(const std::vector<std::string>& path, const TomlValue& value);
  SearchKey FinishKey(const std::string& key) const;

  std::string place_;  // of the entry being read
  std::optional<SearchPlan> plan_;
  struct Range {
    std::string place;
    std::map<std::string, TomlValue> fields;
  };
  std::vector<std::pair<std::string, Range>> ranges_;  // in file order
};

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_SUITE_SEARCH_PLAN_H_
