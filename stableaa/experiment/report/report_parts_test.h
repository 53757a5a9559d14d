// For tests of a report's sections: builds a report without run files and without gnuplot.
#ifndef STABLEAA_EXPERIMENT_REPORT_REPORT_PARTS_TEST_H_
#define STABLEAA_EXPERIMENT_REPORT_REPORT_PARTS_TEST_H_

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "stableaa/experiment/report/parts.h"
#include "stableaa/experiment/results/made_record_test.h"

namespace stableaa {

class MadeReport {
 public:
  explicit MadeReport(const std::vector<MadeRun>& runs, const ComparisonOptions& options = {})
      : MadeReport(Records(runs), options) {}
  explicit MadeReport(std::vector<RunRecord> records, const ComparisonOptions& options = {})
      : records_(std::move(records)), comparison_(Compare(records_, options)) {}
  MadeReport(const MadeReport&) = delete;
  MadeReport& operator=(const MadeReport&) = delete;

  Report& operator*() { return report_; }
  Report* operator->() { return &report_; }
  const std::vector<std::string>& summary() const { return report_.content.summary; }

  bool HasSection(const std::string& id) const {
    return std::ranges::find(report_.content.sections, id, &ReportSection::id) !=
           report_.content.sections.end();
  }
  const ReportSection& Section(const std::string& id) const {
    return Find(report_.content.sections, &ReportSection::id, id);
  }
  const ReportFigure& Figure(const std::string& name) const {
    for (const ReportSection& section : report_.content.sections) {
      for (const ReportFigure& figure : section.figures) {
        if (figure.name == name) return figure;
      }
    }
    throw std::runtime_error("no figure " + name);
  }
  std::vector<std::string> FigureNames() const {
    std::vector<std::string> names;
    for (const ReportSection& section : report_.content.sections) {
      for (const ReportFigure& figure : section.figures) names.push_back(figure.name);
    }
    return names;
  }
  const std::string& Csv(const std::string& name) const {
    return Find(report_.content.csv_files, &ReportCsv::name, name).text;
  }

 private:
  static std::vector<RunRecord> Records(const std::vector<MadeRun>& runs) {
    std::vector<RunRecord> records;
    for (const MadeRun& run : runs) records.push_back(MakeRecord(run));
    return records;
  }
  template <typename Part>
  static const Part& Find(const std::vector<Part>& parts, std::string Part::*field,
                          const std::string& wanted) {
    const auto found = std::ranges::find(parts, wanted, field);
    if (found == parts.end()) throw std::runtime_error("the report has no " + wanted);
    return *found;
  }

  const std::vector<RunRecord> records_;
  const Comparison comparison_;
  Report report_{.records = records_, .comparison = comparison_};
};

inline bool Holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::size_t CountOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_REPORT_REPORT_PARTS_TEST_H_
