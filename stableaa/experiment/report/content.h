// What a report is made of, apart from how it looks: page.h makes a page of it.
#ifndef STABLEAA_EXPERIMENT_REPORT_CONTENT_H_
#define STABLEAA_EXPERIMENT_REPORT_CONTENT_H_

#include <string>
#include <vector>

#include "stableaa/base/process/gnuplot.h"

namespace stableaa {

// The first column names the row; cells are text as it is shown.
struct ReportTable {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  bool folded = false;  // shown on request
};

// A drawing by gnuplot; `name` is that of its files.
struct ReportFigure {
  std::string name;
  std::string caption;  // what the figure shows, so that it can be understood by itself
  GnuplotPicture picture;
};

// A picture or text from elsewhere.
struct ReportAttachment {
  std::string caption;
  std::string media_type;  // "image/png", ...; "text/plain" is shown as it stands
  std::string content;
};

struct ReportSection {
  std::string id;  // for links; letters and -
  std::string title;
  std::vector<std::string> paragraphs = {};
  std::vector<ReportFigure> figures = {};
  std::vector<ReportTable> tables = {};
  std::vector<ReportAttachment> attachments = {};
};

// A table for programs: tables/NAME.csv.
struct ReportCsv {
  std::string name;
  std::string text;
};

struct ReportContent {
  std::string title;
  std::vector<std::string> summary;  // a sentence each
  std::vector<ReportSection> sections;
  std::vector<ReportCsv> csv_files;
};

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_REPORT_CONTENT_H_
