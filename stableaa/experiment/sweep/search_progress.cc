#include "stableaa/experiment/sweep/search_progress.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tuple>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/text/csv_cells.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/moments.h"
#include "stableaa/experiment/results/run_record.h"

namespace stableaa {
namespace {

constexpr double kWorst = -std::numeric_limits<double>::infinity();
constexpr double kLastTenth = 0.9;
constexpr std::size_t kLargestScoredMetrics = std::size_t{1} << 30;
constexpr std::size_t kDrawsShown = 5;

std::string ScoreText(double score) {
  return std::isfinite(score) ? fmt::format("{:.4g}", score) : "failed";
}

using Json = nlohmann::ordered_json;

// As dump(1) writes it, but numbers as short as they read back: 0.00534988, as in a run's
// config.toml, where dump writes 0.0053498799999999996.
std::string JsonText(const Json& json, std::size_t depth = 0) {
  if (json.is_number_float()) return fmt::format("{}", json.get<double>());
  if (!json.is_structured() || json.empty()) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  std::string text(1, json.is_object() ? '{' : '[');
  const std::string indent(depth + 1, ' ');
  for (auto item = json.begin(); item != json.end(); ++item) {
    text += (item == json.begin() ? "\n" : ",\n") + indent;
    if (json.is_object()) text += JsonText(item.key()) + ": ";
    text += JsonText(*item, depth + 1);
  }
  return text + "\n" + std::string(depth, ' ') + (json.is_object() ? '}' : ']');
}

// Columns as wide as their cells, two spaces apart.
std::vector<std::string> Aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += fmt::format("  {:>{}}", row[c], widths[c]);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

double RungScore(const std::filesystem::path& directory, std::int64_t steps) {
  const std::filesystem::path file = directory / "metrics.csv";
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return kWorst;
  const Curve evaluations = ParseMetrics(ReadTextFile(file, kLargestScoredMetrics), file.string())
                                .CurveOf("eval_return_mean");
  double last = kWorst;
  std::vector<double> late;
  for (const CurvePoint& point : evaluations) {
    if (point.step > steps) break;
    last = point.value;
    const bool is_late = static_cast<double>(point.step) > kLastTenth * static_cast<double>(steps);
    if (is_late) late.push_back(point.value);
  }
  return late.empty() ? last : MomentsOf(late).mean;
}

std::vector<double> Ranks(std::span<const double> values) {
  std::vector<double> ranks;
  for (const double value : values) {
    const auto better = std::ranges::count_if(values, [value](double v) { return v > value; });
    const auto equal = std::ranges::count(values, value);
    ranks.push_back(static_cast<double>(better) + (static_cast<double>(equal) + 1) / 2);
  }
  return ranks;
}

std::vector<const DrawResult*> VariantSearch::ByRank() const {
  std::vector<const DrawResult*> sorted;
  for (const DrawResult& draw : draws) sorted.push_back(&draw);
  std::ranges::sort(sorted, [](const DrawResult* a, const DrawResult* b) {
    return std::tuple(b->rung, a->rank, a->draw) < std::tuple(a->rung, b->rank, b->draw);
  });
  return sorted;
}

SearchProgress::SearchProgress(const Suite& suite) : suite_(suite), plan_(*suite.search) {
  for (const std::string& name : suite.variants) variants_.push_back({.name = name});
  for (VariantSearch& search : variants_) {
    for (std::size_t d = 0; d < plan_.draws; ++d) {
      search.draws.push_back({.draw = d + 1});
      search.alive.push_back(d);
    }
  }
  for (std::size_t i = 0; i < suite.runs.size(); ++i) {
    const SuiteRun& run = suite.runs[i];
    VariantSearch& search = variants_[run.variant];
    search.draws[run.draw - 1].runs.push_back(i);
    const std::string& env = run.options.train.env;
    if (std::ranges::find(search.envs, env) == search.envs.end()) search.envs.push_back(env);
  }
}

std::int64_t SearchProgress::StepsWanted(std::size_t run) const {
  const SuiteRun& of = suite_.runs[run];
  const VariantSearch& search = variants_[of.variant];
  const bool is_alive = std::ranges::find(search.alive, of.draw - 1) != search.alive.end();
  const std::size_t rung = is_alive ? search.rung : search.draws[of.draw - 1].rung;
  return plan_.rung_steps[rung - 1];
}

void SearchProgress::Rank(VariantSearch& search,
                          const std::function<double(std::size_t, std::int64_t)>& score) const {
  const std::int64_t steps = plan_.rung_steps[search.rung - 1];
  for (const std::size_t d : search.alive) {
    search.draws[d].rung = search.rung;
    search.draws[d].rank = 0;
    search.draws[d].scores.clear();
  }
  for (const std::string& env : search.envs) {
    std::vector<double> scores;
    for (const std::size_t d : search.alive) {
      double sum = 0;
      std::size_t count = 0;
      for (const std::size_t run : search.draws[d].runs) {
        if (suite_.runs[run].options.train.env != env) continue;
        sum += score(run, steps);
        ++count;
      }
      scores.push_back(sum / static_cast<double>(count));
      search.draws[d].scores.push_back(scores.back());
    }
    const std::vector<double> ranks = Ranks(scores);
    for (std::size_t i = 0; i < search.alive.size(); ++i) {
      search.draws[search.alive[i]].rank += ranks[i] / static_cast<double>(search.envs.size());
    }
  }
}

std::vector<std::size_t> SearchProgress::Judge(
    std::span<const SweepRun> runs, const std::function<double(std::size_t, std::int64_t)>& score) {
  std::vector<std::size_t> going_on;
  for (VariantSearch& search : variants_) {
    if (search.is_over) continue;
    const bool has_ended = std::ranges::all_of(search.alive, [&](std::size_t d) {
      return std::ranges::all_of(search.draws[d].runs, [&runs](std::size_t run) {
        return runs[run].state == SweepState::kDone || runs[run].state == SweepState::kFailed;
      });
    });
    if (!has_ended) continue;
    Rank(search, score);
    if (search.rung == plan_.rung_steps.size()) {
      search.is_over = true;
      continue;
    }
    std::ranges::sort(search.alive, {},
                      [&search](std::size_t d) { return std::pair(search.draws[d].rank, d); });
    search.alive.resize(plan_.Kept(search.alive.size()));
    std::ranges::sort(search.alive);
    ++search.rung;
    for (const std::size_t d : search.alive) {
      const std::vector<std::size_t>& of_draw = search.draws[d].runs;
      going_on.insert(going_on.end(), of_draw.begin(), of_draw.end());
    }
  }
  std::ranges::sort(going_on);
  return going_on;
}

std::int64_t SearchProgress::LaterSteps() const {
  std::int64_t steps = 0;
  for (const VariantSearch& search : variants_) {
    std::size_t draws = search.alive.size();
    const auto runs_per_draw = static_cast<std::int64_t>(search.draws.front().runs.size());
    for (std::size_t rung = search.rung; rung < plan_.rung_steps.size(); ++rung) {
      draws = plan_.Kept(draws);
      steps += static_cast<std::int64_t>(draws) * runs_per_draw *
               (plan_.rung_steps[rung] - plan_.rung_steps[rung - 1]);
    }
  }
  return steps;
}

std::string SearchProgress::ValueOf(const DrawResult& draw, const std::string& key) const {
  for (const auto& [name, value] : suite_.runs[draw.runs.front()].values) {
    if (name == key) return value;
  }
  return "";
}

void SearchProgress::WriteFiles(const std::filesystem::path& folder) const {
  std::vector<std::string> envs;
  for (const VariantSearch& search : variants_) {
    for (const std::string& env : search.envs) {
      if (std::ranges::find(envs, env) == envs.end()) envs.push_back(env);
    }
  }
  std::string csv = "variant,draw,rung,steps";
  Json keys = Json::array(), variants = Json::array();
  for (const SearchKey& key : plan_.keys) {
    csv += "," + TextCell(key.key);
    keys.push_back({{"key", key.key}, {"log", key.scale == SearchKey::Scale::kLog}});
  }
  for (const std::string& env : envs) csv += "," + TextCell("score " + env);
  csv += ",rank\n";
  for (const VariantSearch& search : variants_) {
    Json draws = Json::array();
    for (const DrawResult& draw : search.draws) {
      Json values = Json::object(), scores = Json::object(), runs = Json::array();
      csv += fmt::format("{},{},{},{}", TextCell(PlainText(search.name)), draw.draw, draw.rung,
                         draw.rung == 0 ? 0 : plan_.rung_steps[draw.rung - 1]);
      for (const SearchKey& key : plan_.keys) {
        const std::string value = ValueOf(draw, key.key);
        csv += "," + TextCell(PlainText(value));
        values[key.key] = Json::accept(value) ? Json::parse(value) : Json(value);
      }
      for (const std::string& env : envs) {
        const auto at =
            static_cast<std::size_t>(std::ranges::find(search.envs, env) - search.envs.begin());
        const bool has_score = at < draw.scores.size() && std::isfinite(draw.scores[at]);
        csv += "," + (has_score ? NumberCell(draw.scores[at]) : "");
        if (has_score) scores[env] = draw.scores[at];
      }
      csv += "," + (draw.rung == 0 ? "" : NumberCell(draw.rank)) + "\n";
      for (const std::size_t run : draw.runs) runs.push_back(suite_.runs[run].name);
      draws.push_back({{"draw", draw.draw},
                       {"rung", draw.rung},
                       {"values", values},
                       {"scores", scores},
                       {"rank", draw.rung == 0 ? Json() : Json(draw.rank)},
                       {"runs", runs}});
    }
    variants.push_back({{"name", search.name}, {"envs", search.envs}, {"draws", draws}});
  }
  const Json json = {{"method", plan_.method == SearchPlan::Method::kHalton ? "halton" : "random"},
                     {"seed", plan_.seed},
                     {"keys", keys},
                     {"rung_steps", plan_.rung_steps},
                     {"variants", variants}};
  WriteTextFile(folder / "search.csv", csv);
  WriteTextFile(folder / "search.json", JsonText(json) + "\n");
}

std::vector<std::string> SearchProgress::FirstDraws(std::size_t most) const {
  std::vector<std::vector<std::string>> rows = {{"draw"}};
  for (const SearchKey& key : plan_.keys) rows[0].push_back(key.key);
  for (const DrawResult& draw : variants_.front().draws) {
    if (draw.draw > most) break;
    std::vector<std::string>& row = rows.emplace_back(1, std::to_string(draw.draw));
    for (const SearchKey& key : plan_.keys) row.push_back(Shorten(ValueOf(draw, key.key)));
  }
  std::vector<std::string> lines = Aligned(rows);
  if (plan_.draws > most) lines.push_back(fmt::format("  ... {} more", plan_.draws - most));
  return lines;
}

std::vector<std::string> SearchProgress::BestDraws() const {
  std::vector<std::string> lines;
  for (const VariantSearch& search : variants_) {
    std::vector<std::vector<std::string>> rows = {{"draw", "steps", "rank"}};
    for (const SearchKey& key : plan_.keys) rows[0].push_back(key.key);
    for (const std::string& env : search.envs) rows[0].push_back(env);
    for (const DrawResult* draw : search.ByRank()) {
      if (draw->rung == 0 || rows.size() > kDrawsShown) break;
      std::vector<std::string> row = {std::to_string(draw->draw),
                                      std::to_string(plan_.rung_steps[draw->rung - 1]),
                                      fmt::format("{:.4g}", draw->rank)};
      for (const SearchKey& key : plan_.keys) row.push_back(Shorten(ValueOf(*draw, key.key)));
      for (const double score : draw->scores) row.push_back(ScoreText(score));
      rows.push_back(std::move(row));
    }
    if (rows.size() == 1) continue;
    lines.push_back(fmt::format("{}: the best of {} draws", Shorten(search.name), plan_.draws));
    for (std::string& line : Aligned(rows)) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace stableaa
