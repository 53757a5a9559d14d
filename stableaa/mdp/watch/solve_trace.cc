#include "stableaa/mdp/watch/solve_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "stableaa/base/text/csv_cells.h"
#include "stableaa/base/text/plain_text.h"
#include "stableaa/core/error.h"

namespace stableaa {
namespace {

constexpr std::string_view kHeader =
    "run,iterations,seconds,residual,lower,upper,inner_iterations,accelerated,plain,rejected,"
    "restarts,qr_solves";
constexpr std::size_t kColumns = 12;
constexpr std::size_t kMostTraceBytes = std::size_t{1} << 32;

double LargerMagnitude(double lower, double upper) {
  return std::max(std::abs(lower), std::abs(upper));
}

// The numbers after a line's label; none if it is not a line of a trace.
std::optional<std::vector<double>> NumbersOf(const std::vector<std::string>& cells) {
  if (cells.size() != kColumns) return std::nullopt;
  std::vector<double> numbers;
  for (std::size_t c = 1; c < kColumns; ++c) {
    const std::optional<double> number = NumberOf(cells[c]);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::string Counters(const AcceleratorStatistics* statistics) {
  if (statistics == nullptr) return ",,,,";
  const AcceleratorStatistics& s = *statistics;
  return fmt::format("{},{},{},{},{}", s.accelerated,
                     s.plain_no_window + s.plain_interval + s.plain_weights, s.rejected,
                     s.restarts_scheduled + s.restarts_growth + s.restarts_range, s.qr_solves);
}

void AddLine(std::vector<CurveRecorder>& recorders, std::vector<std::string>& labels,
             const std::string& label, const SolveCurve::Point& point) {
  if (labels.empty() || labels.back() != label) {
    labels.push_back(label);
    recorders.emplace_back(label);
  }
  recorders.back().Add(point);
}

}  // namespace

void CurveRecorder::Add(const SolveCurve::Point& point) {
  last_ = point;
  if (seen_++ % stride_ != 0) return;
  curve_.points.push_back(point);
  if (curve_.points.size() < kMost) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < curve_.points.size(); i += 2)
    curve_.points[kept++] = curve_.points[i];
  curve_.points.resize(kept);
  stride_ *= 2;
}

SolveCurve CurveRecorder::Finish() const {
  SolveCurve curve = curve_;
  if (seen_ > 0 && (seen_ - 1) % stride_ != 0) curve.points.push_back(last_);
  return curve;
}

SolveCurve::Point PointOf(const SolveStep& step) {
  return {.seconds = step.seconds,
          .error = std::isnan(step.lower) ? kNothing : LargerMagnitude(step.lower, step.upper),
          .residual = step.residual};
}

std::string ReadFileToAddTo(const std::filesystem::path& path, std::size_t max_bytes) {
  if (!std::filesystem::exists(path)) return {};
  if (!std::filesystem::is_regular_file(path)) {
    throw BadInput(fmt::format("{}: expected a regular file to add to", path.string()));
  }
  return ReadTextFile(path, max_bytes);
}

SolveTrace ReadTrace(const std::filesystem::path& path) {
  SolveTrace trace;
  trace.text = ReadFileToAddTo(path, kMostTraceBytes);
  if (trace.text.empty()) return trace;
  if (!trace.text.ends_with('\n')) trace.text += '\n';
  std::vector<CurveRecorder> recorders;
  std::vector<std::string> labels;
  std::vector<std::string> cells;
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < trace.text.size();) {
    const std::size_t end = trace.text.find('\n', begin);
    std::string_view line = std::string_view(trace.text).substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    begin = end + 1;
    if (++line_number == 1) {
      if (line == kHeader) continue;
      throw BadInput(fmt::format("{}:1: expected the header of a trace of solves, found '{}'",
                                 path.string(), Shorten(line)));
    }
    const bool split = SplitLine(line, cells);
    const auto numbers = split ? NumbersOf(cells) : std::nullopt;
    if (!numbers) {
      throw BadInput(fmt::format("{}:{}: expected a label and {} numbers, found '{}'",
                                 path.string(), line_number, kColumns - 1, Shorten(line)));
    }
    const double error = LargerMagnitude((*numbers)[3], (*numbers)[4]);
    AddLine(recorders, labels, cells[0],
            {.seconds = (*numbers)[1], .error = error, .residual = (*numbers)[2]});
  }
  for (const CurveRecorder& recorder : recorders) trace.curves.push_back(recorder.Finish());
  return trace;
}

std::string UnusedLabel(const std::string& label, const std::vector<SolveCurve>& taken) {
  const auto is_taken = [&](const std::string& candidate) {
    return std::ranges::find(taken, candidate, &SolveCurve::label) != taken.end();
  };
  std::string candidate = label;
  for (int number = 2; is_taken(candidate); ++number) {
    candidate = fmt::format("{} #{}", label, number);
  }
  return candidate;
}

SolveTraceWriter::SolveTraceWriter(const std::filesystem::path& path, const SolveTrace& former,
                                   std::string_view label)
    : file_(path), label_(TextCell(label)) {
  if (former.text.empty()) {
    file_.Write(fmt::format("{}\n", kHeader));
  } else {
    file_.Write(former.text);
  }
}

void SolveTraceWriter::Add(const SolveStep& step) {
  file_.Write(fmt::format("{},{},{},{},{},{},{},{}\n", label_, NumberCell(step.iterations),
                          NumberCell(step.seconds), NumberCell(step.residual),
                          NumberCell(step.lower), NumberCell(step.upper), step.inner_iterations,
                          Counters(step.acceleration)));
}

}  // namespace stableaa
