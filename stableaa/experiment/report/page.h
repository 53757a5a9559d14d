// A report as one HTML page that needs nothing but itself: no network, no scripts, pictures inside.
// Readable on a phone, light or dark as the reader's system is.
#ifndef STABLEAA_EXPERIMENT_REPORT_PAGE_H_
#define STABLEAA_EXPERIMENT_REPORT_PAGE_H_

#include <map>
#include <string>
#include <string_view>

#include "stableaa/experiment/report/content.h"

namespace stableaa {

// Marks a page as one that WriteReport may replace.
inline constexpr std::string_view kPageMark = "<meta name=\"generator\" content=\"stableaa ";

// `svg` has the drawing of each figure by its name. The page links to figures/NAME.svg, .png and
// .pdf and to tables/NAME.csv beside it.
std::string ReportPage(const ReportContent& content, const std::map<std::string, std::string>& svg);

// Text escaped for HTML and its attributes, on one line: control characters as PlainText has them.
std::string HtmlText(std::string_view text);
// The same for a text of many lines; line ends and tabs stay.
std::string HtmlLines(std::string_view text);

std::string Base64(std::string_view bytes);

}  // namespace stableaa

#endif  // STABLEAA_EXPERIMENT_REPORT_PAGE_H_
