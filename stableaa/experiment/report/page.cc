#include "stableaa/experiment/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "stableaa/base/machine.h"
#include "stableaa/base/text/plain_text.h"

namespace stableaa {
namespace {

// Figures are drawn on white. Dark mode inverts them, which also rotates the hues; rotating them
// back preserves the colours.
constexpr std::string_view kStyleSheet = R"css(
:root { --text: #1c1e21; --soft: #5a6068; --ground: #ffffff; --raised: #f5f6f8; --line: #d9dce1; --link: #0b57a4; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e8eb; --soft: #a8afb8; --ground: #141619; --raised: #1e2125; --line: #363b42; --link: #7db8f5; }
  .drawing { filter: invert(0.92) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 68rem; color: var(--text); background: var(--ground);
       font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.5rem 0; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 0.5rem; padding-top: 0.5rem; border-top: 1px solid var(--line); }
p, li { max-width: 46rem; }
a { color: var(--link); }
nav a { display: inline-block; margin: 0 0.9rem 0.2rem 0; }
.summary { background: var(--raised); border: 1px solid var(--line); border-radius: 6px; padding: 0.2rem 1rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr)); gap: 1rem; }
figure { margin: 0; min-width: 0; }
.panorama { grid-column: 1 / -1; }
.panorama .drawing { max-width: none; min-width: 48rem; }
figure img { display: block; width: 100%; height: auto; max-width: 60rem; }
figure .small { width: auto; max-width: 100%; image-rendering: pixelated; }
figcaption, summary { color: var(--soft); font-size: 0.9rem; text-align: left; padding: 0.3rem 0; }
.table { margin: 1rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 1rem 0.25rem 0; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--line);
         min-width: 6rem; overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
.number { text-align: right; min-width: 0; overflow-wrap: normal; }
@media (max-width: 40rem) {
  table { font-size: 0.8rem; }
  th, td { padding-right: 0.6rem; min-width: 7rem; }
  .number { min-width: 0; }
}
pre { overflow-x: auto; background: var(--raised); border: 1px solid var(--line); border-radius: 6px; padding: 0.7rem;
      font: 0.8rem/1.4 ui-monospace, "DejaVu Sans Mono", monospace; }
footer { margin-top: 3rem; color: var(--soft); font-size: 0.9rem; border-top: 1px solid var(--line); }
@media print { nav { display: none; } figure, tr { break-inside: avoid; } }
)css";

std::string Picture(std::string_view media_type, std::string_view content, std::string_view caption,
                    std::string_view looks) {
  return fmt::format("<img class=\"{}\" alt=\"{}\" src=\"data:{};base64,{}\">", looks,
                     HtmlText(caption), media_type, Base64(content));
}

std::string FigureHtml(const ReportFigure& figure, const std::string& svg) {
  std::string files;
  for (const std::string_view type : {"svg", "png", "pdf"}) {
    files += fmt::format(" <a href=\"figures/{0}.{1}\">{1}</a>", figure.name, type);
  }
  const std::string picture = Picture("image/svg+xml", svg, figure.caption, "drawing");
  // Panels side by side are too small for a phone unless they scroll.
  return fmt::format("<figure id=\"figure-{}\"{}>{}<figcaption>{}{}</figcaption></figure>\n",
                     figure.name, figure.is_wide ? " class=\"panorama\"" : "",
                     figure.is_wide
                         ? fmt::format("<div class=\"wide\" tabindex=\"0\">{}</div>", picture)
                         : picture,
                     HtmlText(figure.caption), files);
}

// Whether to right-align the column.
bool HasNumbers(const ReportTable& table, std::size_t column) {
  return std::ranges::all_of(table.rows, [column](const std::vector<std::string>& row) {
    constexpr std::string_view kFirstOfNumbers = "0123456789-[";
    const std::string& cell = row[column];
    return cell.empty() || kFirstOfNumbers.find(cell[0]) != std::string_view::npos ||
           cell.starts_with("–") || cell.starts_with("∞");
  });
}

// A cell with numbers: breaks between a number and its interval or deviation, but not within.
std::string CellHtml(std::string_view cell) {
  std::string html;
  int depth = 0;
  for (const char c : HtmlText(cell)) {
    depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
    if (c == ' ' && (depth > 0 || html.ends_with("±"))) {
      html += "&nbsp;";
    } else {
      html += c;
    }
  }
  return html;
}

// A head that may break within names: "agent.", "target_", "interval_", "updates".
std::string HeadHtml(std::string_view head, bool is_of_numbers) {
  constexpr std::string_view kMarks = "._/";
  const std::string text = is_of_numbers ? CellHtml(head) : HtmlText(head);
  std::string html;
  for (std::size_t i = 0; i < text.size(); ++i) {
    html += text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : ' ';
    const bool is_within = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
    if (is_within && kMarks.find(text[i]) != std::string_view::npos) html += "<wbr>";
  }
  return html;
}

std::string TableHtml(const ReportTable& table) {
  std::vector<std::string_view> looks;
  // Outside the scrolling part, or a phone would show only the beginning of the caption.
  const std::string caption = HtmlText(table.caption);
  std::string html =
      fmt::format("<figure class=\"table\">{}<div class=\"wide\" tabindex=\"0\"><table><thead><tr>",
                  table.folded ? fmt::format("<details><summary>{}</summary>", caption)
                               : fmt::format("<figcaption>{}</figcaption>", caption));
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    looks.push_back(c > 0 && HasNumbers(table, c) ? " class=\"number\"" : "");
    html += fmt::format("<th scope=\"col\"{}>{}</th>", looks[c],
                        HeadHtml(table.columns[c], !looks[c].empty()));
  }
  html += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
      html += fmt::format("<td{}>{}</td>", looks[c],
                          looks[c].empty() ? HtmlText(row[c]) : CellHtml(row[c]));
    }
    html += "</tr>\n";
  }
  return html +
         fmt::format("</tbody></table></div>{}</figure>\n", table.folded ? "</details>" : "");
}

bool IsText(const ReportAttachment& attachment) { return attachment.media_type == "text/plain"; }

std::string AttachmentHtml(const ReportAttachment& attachment) {
  const std::string caption = HtmlText(attachment.caption);
  if (IsText(attachment)) {
    return fmt::format("<figure><figcaption>{}</figcaption><pre tabindex=\"0\">{}</pre></figure>\n",
                       caption, HtmlLines(attachment.content));
  }
  const bool is_drawing = attachment.media_type == "image/svg+xml";
  return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n",
                     Picture(attachment.media_type, attachment.content, attachment.caption,
                             is_drawing ? "drawing" : "small"),
                     caption);
}

std::string SectionHtml(const ReportSection& section,
                        const std::map<std::string, std::string>& svg) {
  std::string html = fmt::format("<section id=\"{}\"><h2>{}</h2>\n", HtmlText(section.id),
                                 HtmlText(section.title));
  for (const std::string& paragraph : section.paragraphs) {
    html += fmt::format("<p>{}</p>\n", HtmlText(paragraph));
  }
  std::string pictures, texts;
  for (const ReportFigure& figure : section.figures) {
    pictures += FigureHtml(figure, svg.at(figure.name));
  }
  for (const ReportAttachment& attachment : section.attachments) {
    (IsText(attachment) ? texts : pictures) += AttachmentHtml(attachment);
  }
  if (!pictures.empty()) html += fmt::format("<div class=\"figures\">\n{}</div>\n", pictures);
  for (const ReportTable& table : section.tables) html += TableHtml(table);
  html += texts;
  return html + "</section>\n";
}

}  // namespace

std::string HtmlText(std::string_view text) {
  std::string html;
  for (const char c : PlainText(text)) {
    if (c == '&') {
      html += "&amp;";
    } else if (c == '<') {
      html += "&lt;";
    } else if (c == '>') {
      html += "&gt;";
    } else if (c == '"') {
      html += "&quot;";
    } else {
      html += c;
    }
  }
  return html;
}

std::string HtmlLines(std::string_view text) {
  std::string html;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    const bool is_line = end < text.size() && text[end] == '\n';
    const std::size_t shown = is_line && end > 0 && text[end - 1] == '\r' ? end - 1 : end;
    html += HtmlText(text.substr(0, shown));
    if (end < text.size()) html += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return html;
}

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      word = word << 8 | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= group.size() ? kDigits[word >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

std::string ReportPage(const ReportContent& content,
                       const std::map<std::string, std::string>& svg) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n{}{}\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>{}</style></head><body>\n"
      "<h1>{}</h1>\n<nav>",
      kPageMark, HtmlText(LibraryVersion()), HtmlText(content.title), kStyleSheet,
      HtmlText(content.title));
  for (const ReportSection& section : content.sections) {
    html += fmt::format("<a href=\"#{}\">{}</a> ", HtmlText(section.id), HtmlText(section.title));
  }
  html += "</nav>\n";
  if (!content.summary.empty()) {
    html += "<div class=\"summary\"><ul>\n";
    for (const std::string& line : content.summary) {
      html += fmt::format("<li>{}</li>\n", HtmlText(line));
    }
    html += "</ul></div>\n";
  }
  for (const ReportSection& section : content.sections) html += SectionHtml(section, svg);
  html += "<footer><p>Numbers for programs:";
  for (const ReportCsv& csv : content.csv_files) {
    html += fmt::format(" <a href=\"tables/{0}.csv\">{0}.csv</a>", csv.name);
  }
  return html + fmt::format("</p><p>Written by stableaa {}.</p></footer>\n</body></html>\n",
                            HtmlText(LibraryVersion()));
}

}  // namespace stableaa
