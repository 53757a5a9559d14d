// The content of a report, apart from its looks; page.h turns it into a page.
#ifndef STABLEAA_EXPERIMENT_REPORT_CONTENT_H_
#define STABLEAA_EXPERIMENT_REPORT_CONTENT_H_

#include <string>
#include <vector>

#include "stableaa/base/process/gnuplot.h"

namespace stableaa {

// The first column names the row; cells hold the text as shown.
struct ReportTable {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  bool folded = false;  // shown on request
};

// A gnuplot drawing; its files are called `name`.
struct ReportFigure {
  std::string name;
  std::string caption;  // makes the figure understandable on its own
  GnuplotPicture picture;
  bool is_wide = false;  // takes the whole width of the page
};

// A picture or text from elsewhere.
struct ReportAttachment {
  std::string caption;
  std::string media_type;  // "image/png", ...; "text/plain" is shown verbatim
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

// A machine-readable table: tables/NAME.csv.
struct ReportCsv {
  std::string name;
  std::string text;
};

struct ReportContent {
  std::string title;
  std::vector<std::string> summary;  // one sentence each
  std::vector<ReportSection> sections;
  std::vector<ReportCsv> csv_files;
};

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_REPORT_CONTENT_H_
