// A report as one self-contained HTML page: no network, no scripts, pictures embedded. It is
// readable on a phone and follows the reader's light or dark theme.
#ifndef STABLEAA_EXPERIMENT_REPORT_PAGE_H_
#define STABLEAA_EXPERIMENT_REPORT_PAGE_H_

#include <map>
#include <string>
#include <string_view>

#include "stableaa/experiment/report/content.h"

namespace stableaa {

// Marks a page that WriteReport may replace.
inline constexpr std::string_view kPageMark = "<meta name=\"generator\" content=\"stableaa ";

// `svg` maps the name of each figure to its drawing. The page links to figures/NAME.svg, .png and
// .pdf and to tables/NAME.csv next to it.
std::string ReportPage(const ReportContent& content, const std::map<std::string, std::string>& svg);

// Text escaped for HTML and its attributes, on one line; control characters are escaped as by
// PlainText.
std::string HtmlText(std::string_view text);
// The same for multi-line text; newlines and tabs are kept.
std::string HtmlLines(std::string_view text);

std::string Base64(std::string_view bytes);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_REPORT_PAGE_H_
