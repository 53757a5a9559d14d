#include "stableaa/experiment/report/search_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
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
#include "stableaa/core/error.h"
#include "stableaa/experiment/report/figures.h"
#include "stableaa/experiment/report/parts.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestSearchFile = std::size_t{256} << 20;
constexpr std::size_t kFinalists = 4;  // of each variant
constexpr std::size_t kUnfoldedDraws = 12;

// ---- Reading ----

// As a suite's values are written for people: numbers as short as they read back.
std::string ValueText(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  if (!value.is_array()) return value.dump();
  std::vector<std::string> elements;
  for (const nlohmann::json& element : value) elements.push_back(ValueText(element));
  return fmt::format("[{}]", fmt::join(elements, ", "));
}

std::string ShownText(const nlohmann::json& value) {
  return Shorten(ValueText(value), std::string::npos);
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
    results.colours.emplace_back();
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
  ReportTable table{.caption = fmt::format("All draws of {}: the mean rank among the draws "
                                           "judged with them, the mean final return over seeds, "
                                           "the steps they were judged at, and what they set.",
                                           ShownPath(results.folder)),
                    // What matters most comes first: a phone shows no more than that.
                    .columns = {"draw", "rank"},
                    .rows = {},
                    .folded = results.draws.size() > kUnfoldedDraws};
  for (const std::string& env : results.envs) table.columns.push_back(env);
  table.columns.push_back("steps");
  for (const SearchResults::Key& key : results.keys) table.columns.push_back(key.key);
  for (const SearchResults::Draw& draw : results.draws) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(has_variants ? fmt::format("{}, draw {}", draw.variant, draw.draw)
                               : std::to_string(draw.draw));
    row.push_back(draw.rung == 0 ? "–" : ShownNumber(draw.rank));
    for (const std::string& env : results.envs) {
      const auto score = draw.scores.find(env);
      row.push_back(ShownNumber(score == draw.scores.end() ? std::nan("") : score->second));
    }
    row.push_back(draw.rung == 0 ? "–" : std::to_string(results.rung_steps[draw.rung - 1]));
    for (const SearchResults::Key& key : results.keys) {
      const auto value = draw.values.find(key.key);
      row.push_back(value == draw.values.end() ? "" : Shorten(value->second));
    }
  }
  return table;
}

// Where values lie on the x axis: numbers where they are, others one beside the other. All variants
// have draws at the same places, so each is shifted a little.
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
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const std::string& text : texts) {
      low = std::min(low, Place(text));
      high = std::max(high, Place(text));
    }
    constexpr double kShift = 0.012, kWidest = 0.06, kWidestAtPlaces = 0.6;
    const auto variants = static_cast<double>(results.variants.size());
    shift = places.empty() ? std::min(kShift, kWidest / variants) * (high - low)
                           : kWidestAtPlaces / variants;
    middle = (variants - 1) / 2;
    if (!std::isfinite(shift)) shift = 0;
  }

  double At(const std::string& text, std::size_t variant) const {
    const double by = shift * (static_cast<double>(variant) - middle);
    return is_log() ? *NumberOf(text) * std::exp(by) : Place(text) + by;
  }
  bool is_log() const { return places.empty() && key.is_log; }
  void Apply(LineFigure& figure) const {
    constexpr double kLongestPlace = 14;
    figure.logarithmic_x = is_log();
    if (places.empty()) return;
    for (std::size_t i = 0; i < places.size(); ++i) {
      figure.x_ticks.push_back({static_cast<double>(i), FittedText(places[i], kLongestPlace)});
    }
    figure.x_range = Interval{-0.5, static_cast<double>(places.size()) - 0.5};
  }

  double Place(const std::string& text) const {
    if (places.empty()) return key.is_log ? std::log(*NumberOf(text)) : *NumberOf(text);
    return static_cast<double>(std::ranges::find(places, text) - places.begin());
  }

  SearchResults::Key key;
  std::vector<std::string> places;  // empty: numbers
  double shift = 0, middle = 0;     // from variant to variant; the variant that has none
};

// The colour of variants that trained no further than the rung: paler the earlier that is.
std::string RungColour(const std::string& colour, double share) {
  constexpr double kPalest = 0.5;
  std::string paler = "#";
  for (const std::size_t at : {1U, 3U, 5U}) {
    const int full = std::stoi(colour.substr(at, 2), nullptr, 16);
    const double mixed = 255 + (full - 255) * (kPalest + (1 - kPalest) * share);
    paler += fmt::format("{:02x}", static_cast<int>(std::lround(mixed)));
  }
  return paler;
}

// Looks of the points of a variant at a rung: shape and colour are the variant's, and the further
// they got, the larger and darker they are.
FigureLine PointsOf(const SearchResults& results, std::size_t variant, std::size_t rung,
                    const std::string& colour) {
  constexpr double kSmallest = 0.6;
  const std::size_t last = results.rung_steps.size();
  const double share =
      last == 1 ? 1 : static_cast<double>(rung - 1) / static_cast<double>(last - 1);
  return {.label = "",
          .style = variant,
          .points = {},
          .colour = RungColour(colour, share),
          .symbol = variant,
          .size = kSmallest + (1 - kSmallest) * share};
}

std::string ColourOfVariant(const SearchResults& results, std::size_t variant) {
  const std::string& given = results.colours[variant];
  return given.empty() ? std::string(GnuplotColour(variant)) : given;
}

// Score against one key in one environment.
std::optional<ReportFigure> ScoreFigure(const SearchResults& results, std::size_t search,
                                        const SearchResults::Key& key, const std::string& env,
                                        const FigureStyle& style) {
  constexpr const char* kNeutral = "#404040";
  const KeyAxis axis(results, key);
  const std::size_t variants = results.variants.size(), rungs = results.rung_steps.size();
  LineFigure figure{
      .name = fmt::format("search-{}{}-{}", search == 0 ? "" : fmt::format("{}-", search + 1),
                          FileStem(key.key), FileStem(env)),
      .caption = fmt::format(
          "{}: final return against {}{}, a point per draw{}, the mean over seeds at the end of "
          "the last rung that it reached{}. Draws that trained longer were chosen by their scores "
          "before; draws with a failed run are not shown.",
          env, key.key, axis.is_log() ? " on a log scale" : "",
          variants > 1 ? " and variant (variants are shifted sideways a little)" : "",
          rungs > 1 ? ": the further it got, the larger and darker the point" : ""),
      .title = env,
      .x_label = key.key,
      .y_label = "final return",
      .lines = {},
      .looks = LineFigure::Looks::kPoints};
  axis.Apply(figure);
  std::set<std::size_t> seen_variants, seen_rungs;
  // The last rung comes last, above all others.
  for (std::size_t rung = 1; rung <= rungs; ++rung) {
    for (std::size_t v = 0; v < variants; ++v) {
      FigureLine line = PointsOf(results, v, rung, ColourOfVariant(results, v));
      for (const SearchResults::Draw& draw : results.draws) {
        const auto score = draw.scores.find(env);
        const auto value = draw.values.find(key.key);
        if (draw.variant != results.variants[v] || draw.rung != rung ||
            score == draw.scores.end() || value == draw.values.end()) {
          continue;
        }
        line.points.push_back({axis.At(value->second, v), score->second});
      }
      if (line.points.empty()) continue;
      seen_variants.insert(v);
      seen_rungs.insert(rung);
      figure.lines.push_back(std::move(line));
    }
  }
  if (figure.lines.empty()) return std::nullopt;
  std::vector<FigureLine> of_variants, of_rungs;
  for (const std::size_t v : seen_variants) {
    of_variants.push_back(PointsOf(results, v, rungs, ColourOfVariant(results, v)));
    of_variants.back().label = results.variants[v];
  }
  for (const std::size_t rung : seen_rungs) {
    of_rungs.push_back(
        PointsOf(results, 0, rung, variants > 1 ? kNeutral : ColourOfVariant(results, 0)));
    of_rungs.back().label = fmt::format("{} steps", results.rung_steps[rung - 1]);
  }
  if (variants > 1) figure.legends.push_back(std::move(of_variants));
  figure.legends.push_back(std::move(of_rungs));
  return Draw(figure, style);
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

std::set<std::string> VariantsOf(const std::vector<SearchResults>& searches) {
  std::set<std::string> names;
  for (const SearchResults& search : searches) {
    names.insert(search.variants.begin(), search.variants.end());
  }
  return names;
}

void ApplyNames(const Comparison& comparison, std::vector<SearchResults>& searches) {
  const std::vector<std::string>& order = comparison.given_order;
  const auto place = [&order](const std::string& name) {
    return std::ranges::find(order, name) - order.begin();
  };
  for (SearchResults& search : searches) {
    bool is_renamed = false;
    struct Named {
      std::string name, shown, colour;
    };
    std::vector<Named> variants;
    for (const std::string& name : search.variants) {
      Named& named =
          variants.emplace_back(Named{name, comparison.names.OfSuite(name), std::string()});
      is_renamed |= named.shown != name;
      for (const std::string& called : {named.shown, name}) {
        const auto given = comparison.given_colours.find(called);
        if (given != comparison.given_colours.end()) named.colour = given->second;
      }
    }
    std::ranges::stable_sort(variants, {}, [&place](const Named& variant) {
      return std::min(place(variant.name), place(variant.shown));
    });
    std::ranges::stable_sort(search.envs, {}, place);
    std::vector<SearchResults::Draw> draws;
    search.variants.clear();
    search.colours.clear();
    for (const Named& variant : variants) {
      if (is_renamed &&
          std::ranges::find(search.variants, variant.shown) != search.variants.end()) {
        throw BadInput(fmt::format("two variants of the search {} would be called '{}'",
                                   ShownPath(search.folder), Shorten(variant.shown)));
      }
      search.variants.push_back(variant.shown);
      search.colours.push_back(variant.colour);
      for (SearchResults::Draw& draw : search.draws) {
        if (draw.variant != variant.name) continue;
        draws.push_back(std::move(draw));
        draws.back().variant = variant.shown;
      }
    }
    search.draws = std::move(draws);
  }
}

void AddSearches(const std::vector<SearchResults>& searches, ReportContent& content,
                 const FigureStyle& style) {
  if (searches.empty()) return;
  ReportSection section{
      .id = "search",
      .title = "Search",
      .paragraphs = {fmt::format(
          "Scores are means over seeds of the evaluations in the last tenth of a rung's steps. "
          "Draws are ranked in each environment; the mean rank decides which go on. The rest of "
          "this page is about the draws that got furthest, at most {} of each variant: they were "
          "chosen by "
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
  MakeNamesUnique(content);
}

}  // namespace stableaa
