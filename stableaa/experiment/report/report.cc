#include "stableaa/experiment/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "stableaa/base/config/toml_values.h"
#include "stableaa/base/files/atomic_file.h"
#include "stableaa/base/files/descriptor.h"
#include "stableaa/base/files/directories.h"
#include "stableaa/base/process/gnuplot.h"
#include "stableaa/base/process/interrupt.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"
#include "stableaa/experiment/report/page.h"
#include "stableaa/experiment/report/search_results.h"
#include "stableaa/experiment/sweep/status.h"

namespace stableaa {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestAttachment = std::size_t{64} << 20;
constexpr std::size_t kLargestPage = std::size_t{1} << 30;
constexpr std::size_t kLargestSuiteFile = std::size_t{64} << 20;
constexpr std::size_t kLongestMessage = 500;

// ---- Reading ----

struct Found {
  std::vector<RunRecord> records;
  std::vector<FailedRun> failed;
};

fs::path AbsolutePath(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return NormalPath(error ? path : absolute);
}

// One path for a place with several names, such as links.
fs::path RealPath(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = AbsolutePath(path), real = fs::weakly_canonical(absolute, error);
  return NormalPath(error ? absolute : real);
}

// What a report takes from a sweep's suite.toml; empty if the file cannot be read.
struct SuiteNotes {
  std::string title;
  std::optional<double> eval_return;
};

SuiteNotes ReadSuiteNotes(const fs::path& sweep) {
  SuiteNotes notes;
  const fs::path suite = sweep / "suite.toml";
  std::error_code error;
  if (!fs::is_regular_file(suite, error)) return notes;
  try {
    for (const TomlEntry& entry :
         ReadToml(ReadTextFile(suite, kLargestSuiteFile), suite.string())) {
      const auto* const text = std::get_if<std::string>(&entry.value.is);
      const auto* const real = std::get_if<double>(&entry.value.is);
      const auto* const whole = std::get_if<std::int64_t>(&entry.value.is);
      if (entry.key == "title" && text != nullptr) notes.title = *text;
      if (entry.key != "stop.eval_return") continue;
      if (real != nullptr && std::isfinite(*real)) notes.eval_return = *real;
      if (whole != nullptr) notes.eval_return = static_cast<double>(*whole);
    }
  } catch (const Error&) {
  }
  return notes;
}

// A folder in which runs were found.
struct SweepFolder {
  fs::path shown;             // as the user named it
  bool is_asked_for = false;  // with all of its runs
};

// The places of the runs found, by RealPath.
struct RunPlaces {
  std::map<fs::path, std::size_t> records;  // their indices
  std::set<fs::path> failed;
};

void ApplyNote(const NotedRun& note, const std::optional<double>& stop_return, RunRecord& record) {
  if (stop_return) record.stop_return = stop_return;
  if (note.steps_wanted) record.suite_steps = *note.steps_wanted;
  if (!note.label.empty()) record.label = note.label;
  // Complete by the suite's current steps, which may exceed those it was run with.
  if (note.status == "done") record.ended_early = record.step < record.planned_steps();
}

// Applies what a sweep notes about its runs: marks those that ended early, and lists those that
// failed and have not been completed since. If the runs of a sweep were named one by one, only
// those are considered.
void ApplyNotes(const fs::path& folder, const SweepFolder& sweep, RunPlaces& places, Found& found) {
  const std::optional<double> stop_return = ReadSuiteNotes(folder).eval_return;
  for (const auto& [name, note] : ReadSweepJson(folder / "sweep.json").runs) {
    if (name != fs::path(name).filename()) continue;  // no sweep gives such a name
    const fs::path place = RealPath(folder / name);
    const auto read = places.records.find(place);
    RunRecord* const record =
        read == places.records.end() ? nullptr : &found.records.at(read->second);
    if (record != nullptr) ApplyNote(note, stop_return, *record);
    const bool is_wanted = record != nullptr ? !record->complete() : sweep.is_asked_for;
    if (note.status == "failed" && is_wanted && places.failed.insert(place).second) {
      const fs::path directory = record != nullptr ? record->directory : sweep.shown / name;
      found.failed.push_back({directory.string(), Shorten(note.message, kLongestMessage)});
    }
  }
}

// The runs in the named places. `SWEEP/*` also names logs and files: anything without a run is
// skipped, unless nothing holds one.
std::vector<std::pair<fs::path, fs::path>> FindAllRuns(const std::vector<fs::path>& directories) {
  std::vector<std::pair<fs::path, fs::path>> found;  // the run, and where it was found
  std::optional<Error> first_refusal;
  for (const fs::path& directory : directories) {
    try {
      for (fs::path& run : FindRuns(directory)) found.emplace_back(std::move(run), directory);
    } catch (const Error& refusal) {
      std::error_code error;
      if (!fs::exists(directory, error)) throw;
      if (!first_refusal) first_refusal = refusal;
    }
  }
  if (found.empty()) throw Error(*first_refusal);
  return found;
}

Found ReadAll(const std::vector<fs::path>& directories) {
  Found found;
  RunPlaces places;
  std::map<fs::path, SweepFolder> sweeps;  // by RealPath
  const auto add_sweep = [&sweeps](const fs::path& folder, const fs::path& shown, bool all) {
    sweeps.try_emplace(folder, SweepFolder{.shown = shown}).first->second.is_asked_for |= all;
  };
  for (const auto& [path, directory] : FindAllRuns(directories)) {
    const fs::path place = RealPath(path);
    // For a link to a run: both the sweep that holds the link and the one that holds the run.
    add_sweep(RealPath(AbsolutePath(path).parent_path()), NormalPath(path).parent_path(),
              path != directory);
    add_sweep(place.parent_path(), place.parent_path(), false);
    if (places.records.contains(place) || places.failed.contains(place)) continue;
    try {
      found.records.push_back(ReadRun(path));
      places.records.emplace(place, found.records.size() - 1);
    } catch (const Error& failure) {
      found.failed.push_back({path.string(), Shorten(failure.what(), kLongestMessage)});
      places.failed.insert(place);
    }
  }
  if (found.records.empty()) {
    throw BadInput(fmt::format("no run can be read; the first: {}", found.failed.front().why));
  }
  for (const fs::path& directory : directories) {
    add_sweep(RealPath(directory), NormalPath(directory), true);
  }
  for (const auto& [folder, sweep] : sweeps) ApplyNotes(folder, sweep, places, found);
  return found;
}

// Keeps the requested runs and their failures, and the failures of unreadable runs, since nobody
// knows what those were.
void KeepAskedFor(const std::vector<RunFilter>& filters, Found& found) {
  if (filters.empty()) return;
  std::set<fs::path> before;
  for (const RunRecord& record : found.records) before.insert(RealPath(record.directory));
  KeepMatching(filters, found.records);
  for (const RunRecord& record : found.records) before.erase(RealPath(record.directory));
  std::erase_if(found.failed, [&before](const FailedRun& run) {
    return before.contains(RealPath(run.directory));
  });
}

// The title of the first sweep that has one.
std::string TitleOfSweep(const std::vector<fs::path>& directories) {
  for (const fs::path& directory : directories) {
    if (std::string title = ReadSuiteNotes(directory).title; !title.empty()) return title;
  }
  return {};
}

// ---- Attachments ----

std::string MediaType(const fs::path& file) {
  static const std::map<std::string, std::string> kTypes = {
      {".svg", "image/svg+xml"}, {".png", "image/png"},   {".gif", "image/gif"},
      {".jpg", "image/jpeg"},    {".jpeg", "image/jpeg"}, {".webp", "image/webp"},
      {".txt", "text/plain"},    {".csv", "text/plain"},  {".md", "text/plain"},
      {".toml", "text/plain"},   {".json", "text/plain"}};
  std::string ending = file.extension().string();
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto type = kTypes.find(ending);
  if (type == kTypes.end()) {
    throw BadInput(fmt::format(
        "expected a picture (.svg .png .gif .jpg .webp) or a text (.txt .csv .md .toml .json) to "
        "attach, found {}",
        ShownPath(file)));
  }
  return type->second;
}

std::vector<ReportAttachment> ReadAttachments(const ReportOptions& options) {
  std::vector<ReportAttachment> attachments;
  for (const ReportOptions::Attachment& given : options.attachments) {
    std::error_code error;
    if (fs::exists(given.file, error) && !fs::is_regular_file(given.file, error)) {
      throw BadInput(fmt::format("expected a regular file to attach: {}", ShownPath(given.file)));
    }
    attachments.push_back({.caption = given.caption,
                           .media_type = MediaType(given.file),
                           .content = ReadTextFile(given.file, kLargestAttachment)});
  }
  return attachments;
}

// ---- Writing ----

// The page of a previous report, or empty if there is none. BadInput if `out` is no place for a
// report.
std::string FormerPage(const fs::path& out) {
  std::error_code error;
  const auto refuse = [&out](std::string_view what) {
    throw BadInput(
        fmt::format("expected a new directory or a former report for the report, found {}: {}",
                    what, ShownPath(out)));
  };
  if (out.empty()) throw BadInput("expected a directory for the report, found an empty name");
  for (fs::path above = fs::weakly_canonical(out, error); above != above.root_path();
       above = above.parent_path()) {
    if (fs::is_regular_file(above / "config.toml", error) &&
        fs::is_directory(above / "checkpoint", error)) {
      refuse(fmt::format("a place in the run {}", ShownPath(above)));
    }
  }
  if (!fs::exists(out, error)) return {};
  if (!fs::is_directory(out, error)) refuse("a file");
  if (fs::is_empty(out, error)) return {};
  const fs::path page = out / "index.html";
  // A report killed before its page was written has only these two.
  if (!fs::exists(page, error)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(out, error)) {
      const std::string name = entry.path().filename().string();
      if (name != "figures" && name != "tables" && !name.starts_with('.')) {
        refuse(fmt::format("a directory that holds '{}'", Shorten(name)));
      }
    }
    return {};
  }
  std::string text = ReadRegularFile(page, kLargestPage);
  if (text.find(kPageMark) == std::string::npos) refuse("another page");
  return text;
}

// Held while the report is written, so that two reports cannot mix.
Descriptor Lock(const fs::path& out) {
  Descriptor lock = OpenDirectory(out);
  if (!TryLock(lock)) {
    throw WorkFailed(fmt::format("{} is being written by another process", ShownPath(out)));
  }
  return lock;
}

struct Drawing {
  std::string svg, png, pdf;
};
Drawing DrawingOf(const ReportFigure& figure) {
  return {.svg = GnuplotSvg(figure.picture),
          .png = GnuplotPng(figure.picture),
          .pdf = GnuplotPdf(figure.picture)};
}

// The rest of the report is worth having without a figure that gnuplot cannot draw, such as one
// with numbers near the largest double. The page says what is missing.
void LeaveOutFigure(const ReportFigure& figure, const Error& error, ReportSection& section,
                    std::vector<MissingFigure>& missing) {
  missing.push_back({figure.name, Shorten(error.what(), kLongestMessage)});
  section.paragraphs.push_back(fmt::format("The figure {} is missing, as it could not be drawn: {}",
                                           figure.name, missing.back().why));
}

// The SVG of each figure, by name. Figures that cannot be drawn are removed from the content.
std::map<std::string, std::string> DrawFigures(ReportContent& content, const fs::path& folder,
                                               const ReportProgress& progress,
                                               std::vector<MissingFigure>& missing) {
  std::map<std::string, std::string> drawn;
  std::size_t total = 0;
  for (const ReportSection& section : content.sections) total += section.figures.size();
  for (ReportSection& section : content.sections) {
    std::erase_if(section.figures, [&](const ReportFigure& figure) {
      if (progress) progress(drawn.size() + missing.size(), total);
      Drawing drawing;
      try {
        drawing = DrawingOf(figure);
      } catch (const Error& error) {
        if (InterruptRequested()) throw;  // the previous report is worth more than half of this one
        LeaveOutFigure(figure, error, section, missing);
        return true;
      }
      WriteTextFile(folder / (figure.name + ".svg"), drawing.svg);
      WriteTextFile(folder / (figure.name + ".png"), drawing.png);
      WriteTextFile(folder / (figure.name + ".pdf"), drawing.pdf);
      drawn[figure.name] = drawing.svg;
      return false;
    });
  }
  return drawn;
}

// The figures and tables that a page links to, as "figures/NAME".
std::set<std::string> LinkedFiles(std::string_view page) {
  std::set<std::string> files;
  for (const std::string_view folder : {"figures/", "tables/"}) {
    const std::string link = fmt::format("<a href=\"{}", folder);
    for (std::size_t at = page.find(link); at != std::string_view::npos; at = page.find(link, at)) {
      at += link.size();
      const std::string_view name = page.substr(at, page.find('"', at) - at);
      if (name.find('/') == std::string_view::npos) files.insert(fmt::format("{}{}", folder, name));
    }
  }
  return files;
}

// Files of a previous report that this one lacks would appear to belong to it.
void RemoveFormer(const fs::path& out, const std::string& former_page, const std::string& page) {
  const std::set<std::string> kept = LinkedFiles(page);
  for (const std::string& file : LinkedFiles(former_page)) {
    std::error_code error;
    if (!kept.contains(file)) fs::remove(out / file, error);
  }
}

}  // namespace

ReportSummary WriteReport(const ReportOptions& options, const ReportProgress& progress) {
  CheckGnuplot();
  const std::string former = FormerPage(options.out);
  std::vector<ReportAttachment> attachments = ReadAttachments(options);
  Found found = ReadAll(options.directories);
  KeepAskedFor(options.only, found);
  ReportSummary summary{.page = options.out / "index.html",
                        .records = std::move(found.records),
                        .comparison = {},
                        .failed = std::move(found.failed)};
  std::vector<SearchResults> searches = TakeSearches(options.directories, summary.records);
  ComparisonOptions comparison = options.comparison;
  comparison.searched = VariantsOf(searches);
  summary.comparison = Compare(summary.records, comparison);
  ApplyNames(summary.comparison, searches);
  ReportContent content =
      MakeReportContent(summary.records, summary.comparison, summary.failed, options.style);
  content.title = options.title.empty() ? TitleOfSweep(options.directories) : options.title;
  if (content.title.empty()) content.title = fmt::format("{} runs", summary.records.size());
  AddSearches(searches, content, options.style);
  if (!attachments.empty()) {
    content.sections.insert(
        content.sections.begin(),
        {.id = "attached", .title = "Attached", .attachments = std::move(attachments)});
  }

  MakeDirectories(options.out / "figures");
  MakeDirectories(options.out / "tables");
  const Descriptor lock = Lock(options.out);
  const auto svg = DrawFigures(content, options.out / "figures", progress, summary.missing);
  for (const ReportCsv& csv : content.csv_files) {
    WriteTextFile(options.out / "tables" / (csv.name + ".csv"), csv.text);
  }
  const std::string page = ReportPage(content, svg);
  WriteTextFile(summary.page, page);
  RemoveFormer(options.out, former, page);
  summary.figures = svg.size();
  return summary;
}

}  // namespace stableaa
