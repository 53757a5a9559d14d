#include "stableaa/experiment/report/search_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/base/process/gnuplot.h"
#include "stableaa/base/terminal/log.h"
#include "stableaa/base/text/csv_cells.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/experiment/report/figures.h"
#include "stableaa/experiment/report/parts.h"

namespace stableaa {
namespace {

constexpr double kScatterShape = 340. / 520;  // height to width of a figure without its legend
constexpr double kScatterLegendLine = 1.6;    // times the size of letters

namespace fs = std::filesystem;

constexpr std::size_t kLargestSearchFile = std::size_t{256} << 20;
constexpr std::size_t kFinalists = 4;  // of each variant
constexpr std::size_t kUnfoldedDraws = 12;

// ---- Reading ----

std::string ShownText(const nlohmann::json& value) {
  return Shorten(value.is_string() ? value.get<std::string>() : value.dump(), std::string::npos);
}

// nlohmann's exceptions for anything that no search writes.
SearchResults FromJson(const nlohmann::json& json, const fs::path& folder) {
  SearchResults results;
  results.folder = folder;
  for (const nlohmann::json& key : json.at("keys")) {
    results.keys.push_back({ShownText(key.at("key")), key.at("log").get<bool>()});
  }
  results.rung_steps = json.at("rung_steps").get<std::vector<std::int64_t>>();
  for (const nlohmann::json& variant : json.at("variants")) {
    const std::string name = ShownText(variant.at("name"));
    results.variants.push_back(name);
    for (const nlohmann::json& env : variant.at("envs")) {
      if (std::ranges::find(results.envs, ShownText(env)) == results.envs.end()) {
        results.envs.push_back(ShownText(env));
      }
    }
    const auto first = static_cast<std::ptrdiff_t>(results.draws.size());
    for (const nlohmann::json& draw : variant.at("draws")) {
      SearchResults::Draw& read = results.draws.emplace_back();
      read.variant = name;
      read.draw = draw.at("draw").get<std::size_t>();
      read.rung = std::min(draw.at("rung").get<std::size_t>(), results.rung_steps.size());
      for (const auto& [key, value] : draw.at("values").items()) {
        read.values[key] = ShownText(value);
      }
      for (const auto& [env, score] : draw.at("scores").items()) {
        if (std::isfinite(score.get<double>())) read.scores[env] = score.get<double>();
      }
      if (!draw.at("rank").is_null()) read.rank = draw.at("rank").get<double>();
      read.runs = draw.at("runs").get<std::vector<std::string>>();
    }
    std::sort(results.draws.begin() + first, results.draws.end(), [](const auto& a, const auto& b) {
      return std::tuple(b.rung, a.rank, a.draw) < std::tuple(a.rung, b.rank, b.draw);
    });
  }
  return results;
}

// The runs of the draws that got furthest, of each variant; none before the first rung.
std::set<std::string> FinalRuns(const SearchResults& results) {
  std::set<std::string> names;
  std::map<std::string, std::pair<std::size_t, std::size_t>> taken;  // rung and count, by variant
  for (const SearchResults::Draw& draw : results.draws) {
    auto& [rung, count] = taken.try_emplace(draw.variant, draw.rung, 0).first->second;
    if (draw.rung == 0 || draw.rung < rung || count == kFinalists) continue;
    ++count;
    names.insert(draw.runs.begin(), draw.runs.end());
  }
  return names;
}

// ---- Showing ----

std::string DrawsCsv(const SearchResults& results) {
  CsvLine head;
  head.Text("variant").Text("draw").Text("rung").Text("steps");
  for (const SearchResults::Key& key : results.keys) head.Text(key.key);
  for (const std::string& env : results.envs) head.Text("score " + env);
  std::string csv = head.Text("rank");
  for (const SearchResults::Draw& draw : results.draws) {
    CsvLine line;
    line.Text(draw.variant).Count(static_cast<std::int64_t>(draw.draw));
    line.Count(static_cast<std::int64_t>(draw.rung));
    line.Count(draw.rung == 0 ? 0 : results.rung_steps[draw.rung - 1]);
    for (const SearchResults::Key& key : results.keys) {
      const auto value = draw.values.find(key.key);
      line.Text(value == draw.values.end() ? "" : value->second);
    }
    for (const std::string& env : results.envs) {
      const auto score = draw.scores.find(env);
      line.Number(score == draw.scores.end() ? std::nan("") : score->second);
    }
    csv += line.Number(draw.rung == 0 ? std::nan("") : draw.rank);
  }
  return csv;
}

ReportTable DrawsTable(const SearchResults& results) {
  const bool has_variants = results.variants.size() > 1;
  ReportTable table{.caption = fmt::format("All draws of {}: the steps they were judged at, what "
                                           "they set, the mean final return over seeds, and the "
                                           "mean rank among the draws judged with them.",
                                           ShownPath(results.folder)),
                    .columns = {"draw"},
                    .rows = {},
                    .folded = results.draws.size() > kUnfoldedDraws};
  if (has_variants) table.columns = {"variant", "draw"};
  table.columns.push_back("steps");
  for (const SearchResults::Key& key : results.keys) table.columns.push_back(key.key);
  for (const std::string& env : results.envs) table.columns.push_back(env);
  table.columns.push_back("rank");
  for (const SearchResults::Draw& draw : results.draws) {
    std::vector<std::string>& row = table.rows.emplace_back();
    if (has_variants) row.push_back(draw.variant);
    row.push_back(std::to_string(draw.draw));
    row.push_back(draw.rung == 0 ? "–" : std::to_string(results.rung_steps[draw.rung - 1]));
    for (const SearchResults::Key& key : results.keys) {
      const auto value = draw.values.find(key.key);
      row.push_back(value == draw.values.end() ? "" : Shorten(value->second));
    }
    for (const std::string& env : results.envs) {
      const auto score = draw.scores.find(env);
      row.push_back(ShownNumber(score == draw.scores.end() ? std::nan("") : score->second));
    }
    row.push_back(draw.rung == 0 ? "–" : ShownNumber(draw.rank));
  }
  return table;
}

// Where values lie on the x axis: numbers where they are, others one beside the other.
struct KeyAxis {
  explicit KeyAxis(const SearchResults& results, const SearchResults::Key& of) : key(of) {
    std::set<std::string> texts;
    for (const SearchResults::Draw& draw : results.draws) {
      const auto value = draw.values.find(key.key);
      if (value != draw.values.end()) texts.insert(value->second);
    }
    const bool is_number = std::ranges::all_of(texts, [this](const std::string& text) {
      const std::optional<double> number = text.empty() ? std::nullopt : NumberOf(text);
      return number && std::isfinite(*number) && (!key.is_log || *number > 0);
    });
    if (!is_number) places.assign(texts.begin(), texts.end());
  }

  double At(const std::string& text) const {
    if (places.empty()) return *NumberOf(text);
    return static_cast<double>(std::ranges::find(places, text) - places.begin());
  }
  std::string Commands() const {
    if (places.empty()) return key.is_log ? "set logscale x\nset format x '%g'\n" : "";
    std::vector<std::string> tics;
    for (std::size_t i = 0; i < places.size(); ++i) {
      tics.push_back(fmt::format("{} {}", GnuplotQuoted(Shorten(places[i], 24)), i));
    }
    return fmt::format("set xtics ({})\nset xrange [-0.5:{}.5]\n", fmt::join(tics, ", "),
                       places.size() - 1);
  }

  SearchResults::Key key;
  std::vector<std::string> places;  // empty: numbers
};

// Score against one key in one environment: colours by rung, shapes by variant.
std::optional<ReportFigure> ScoreFigure(const SearchResults& results, std::size_t search,
                                        const SearchResults::Key& key, const std::string& env,
                                        const FigureStyle& style) {
  constexpr int kShapes[] = {7, 5, 9, 13, 11, 6, 4, 8};
  const KeyAxis axis(results, key);
  std::string blocks, plots;
  int series = 0;
  for (std::size_t v = 0; v < results.variants.size(); ++v) {
    for (std::size_t rung = 1; rung <= results.rung_steps.size(); ++rung) {
      std::string points;
      for (const SearchResults::Draw& draw : results.draws) {
        const auto score = draw.scores.find(env);
        const auto value = draw.values.find(key.key);
        if (draw.variant != results.variants[v] || draw.rung != rung ||
            score == draw.scores.end() || value == draw.values.end()) {
          continue;
        }
        points += fmt::format("{} {}\n", axis.At(value->second), score->second);
      }
      if (points.empty()) continue;
      const std::string steps = fmt::format("{} steps", results.rung_steps[rung - 1]);
      blocks += fmt::format("$draws{} << EOD\n{}EOD\n", series, points);
      plots += fmt::format(
          "{}$draws{} using 1:2 with points linecolor rgb '{}' pointtype {} pointsize 0.9 title {}",
          series == 0 ? "plot " : ", \\\n  ", series, GnuplotColour(rung - 1), kShapes[v % 8],
          GnuplotQuoted(results.variants.size() == 1
                            ? steps
                            : fmt::format("{}, {}", results.variants[v], steps)));
      ++series;
    }
  }
  if (series == 0) return std::nullopt;
  const int columns = results.variants.size() == 1 ? 3 : 1;
  const std::string script = fmt::format(
      "{}{}{}set xlabel {} offset 0, 0.4\nset ylabel 'final return'\n"
      "set key below center horizontal maxcols {} samplen 1\n"
      "set offsets graph 0.03, graph 0.03, graph 0.05, graph 0.05\n{}{}\n",
      kGnuplotStyle, blocks,
      style.has_titles ? fmt::format("set title {} font title_font\n", GnuplotQuoted(env)) : "",
      GnuplotQuoted(key.key), columns, axis.Commands(), plots);
  // The axes have a fixed shape, and the legend as many lines as it needs.
  const int legend_lines = (series + columns - 1) / columns;
  const int height = static_cast<int>(kScatterShape * style.narrow +
                                      style.font * (1 + kScatterLegendLine * legend_lines));
  return ReportFigure{
      .name = fmt::format("search-{}{}-{}", search == 0 ? "" : fmt::format("{}-", search + 1),
                          FileStem(key.key), FileStem(env)),
      .caption = fmt::format(
          "{}: final return against {}{}, a point per draw and variant, the mean over seeds at the "
          "end of the last rung that it reached. Draws that trained longer were chosen by their "
          "scores before; draws with a failed run are not shown.",
          env, key.key, key.is_log ? " on a log scale" : ""),
      .picture = {.width = style.narrow,
                  .height = std::max(style.least_height, height),
                  .script = script,
                  .font_size = style.font,
                  .line_width = style.line,
                  .pixel_millimetres = style.pixel_millimetres}};
}

}  // namespace

std::optional<SearchResults> ReadSearchResults(const fs::path& folder) {
  const fs::path file = folder / "search.json";
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  try {
    return FromJson(nlohmann::json::parse(ReadTextFile(file, kLargestSearchFile)), folder);
  } catch (const nlohmann::json::exception&) {
    LogWarning(
        fmt::format("{} is not what a search writes; the report goes without it", ShownPath(file)));
    return std::nullopt;
  }
}

std::vector<SearchResults> TakeSearches(const std::vector<fs::path>& directories,
                                        std::vector<RunRecord>& records) {
  std::set<fs::path> named;
  for (const fs::path& directory : directories) named.insert(NormalPath(directory));
  std::map<fs::path, std::optional<SearchResults>> by_folder;
  const auto search_of = [&](const RunRecord& record) -> const std::optional<SearchResults>& {
    static const std::optional<SearchResults> kNone;
    if (named.contains(NormalPath(record.directory))) return kNone;
    const fs::path folder = NormalPath(record.directory).parent_path();
    const auto [found, is_new] = by_folder.try_emplace(folder);
    if (is_new) found->second = ReadSearchResults(folder);
    return found->second;
  };
  std::vector<RunRecord> kept;
  std::map<fs::path, std::set<std::string>> finals;  // by folder
  for (const RunRecord& record : records) {
    const std::optional<SearchResults>& search = search_of(record);
    if (search) {
      const auto [found, is_new] = finals.try_emplace(search->folder);
      if (is_new) found->second = FinalRuns(*search);
      const std::set<std::string>& final = found->second;
      if (!final.empty() && !final.contains(record.directory.filename().string())) continue;
    }
    kept.push_back(record);
  }
  if (!kept.empty()) records = std::move(kept);
  std::vector<SearchResults> searches;
  for (auto& [folder, search] : by_folder) {
    if (search) searches.push_back(*std::move(search));
  }
  return searches;
}

void AddSearches(const std::vector<SearchResults>& searches, ReportContent& content,
                 const FigureStyle& style) {
  if (searches.empty()) return;
  ReportSection section{
      .id = "search",
      .title = "Search",
      .paragraphs = {fmt::format(
          "Scores are means over seeds of the evaluations in the last tenth of a rung's steps. "
          "Draws "
          "are ranked in each environment; the mean rank decides which go on. The rest of this "
          "page "
          "is about the draws that got furthest, at most {} of each variant: they were chosen by "
          "these very runs, so judge them again with other seeds.",
          kFinalists)}};
  for (std::size_t i = 0; i < searches.size(); ++i) {
    const SearchResults& search = searches[i];
    for (const SearchResults::Key& key : search.keys) {
      for (const std::string& env : search.envs) {
        if (auto figure = ScoreFigure(search, i, key, env, style)) {
          section.figures.push_back(*std::move(figure));
        }
      }
    }
    section.tables.push_back(DrawsTable(search));
    content.csv_files.push_back(
        {i == 0 ? "search" : fmt::format("search-{}", i + 1), DrawsCsv(search)});
  }
  content.sections.insert(content.sections.begin(), std::move(section));
}

}  // namespace stableaa
