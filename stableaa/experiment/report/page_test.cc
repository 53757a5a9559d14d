#include "stableaa/experiment/report/page.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "stableaa/experiment/report/report_parts_test.h"

namespace stableaa::page_test {

TEST(Page, EncodesWhatItShows) {
  EXPECT_EQ(HtmlText("a<b>&\"c\"\x01\xffη"), "a&lt;b&gt;&amp;&quot;c&quot;\\u0001?η");
  EXPECT_EQ(HtmlText("\x7f"), "\\u007F");
  // CSI as one character, and a character that reverses the text direction.
  EXPECT_EQ(HtmlText("\xc2\x9b\xe2\x80\xae\n\t"), "\\u009B\\u202E\\n\\t");
  EXPECT_EQ(HtmlLines("a\tb\r\n<\x1b\xe2\x80\xae\n\nc\rd"), "a\tb\n&lt;\\u001B\\u202E\n\nc\\rd");
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xff\xfe\xfd"), "//79");
}

ReportContent Content() {
  return {.title = "A <title>",
          .summary = {"First & foremost.", "Second."},
          .sections = {{.id = "one",
                        .title = "Section \"1\"",
                        .paragraphs = {"a < b"},
                        .figures = {{.name = "fig", .caption = "What > it shows", .picture = {}}},
                        .tables = {{.caption = "Table",
                                    .columns = {"variant", "score", "note"},
                                    .rows = {{"1st", "5.00", "–"}, {"2nd", "", "text"}}}}},
                       {.id = "two", .title = "Empty"}},
          .csv_files = {{.name = "scores", .text = ""}}};
}
const std::map<std::string, std::string> kSvg = {{"fig", "<svg/>"}};

TEST(Page, HasTitleNavigationAndSummary) {
  const std::string page = ReportPage(Content(), kSvg);
  EXPECT_TRUE(page.starts_with("<!doctype html>\n<html lang=\"en\">"));
  EXPECT_TRUE(Holds(page, kPageMark.data()));
  EXPECT_EQ(CountOf(page, "<title>A &lt;title&gt;</title>"), 1U);
  EXPECT_EQ(CountOf(page, "<h1>A &lt;title&gt;</h1>"), 1U);
  EXPECT_TRUE(Holds(page,
                    "<nav><a href=\"#one\">Section &quot;1&quot;</a> <a href=\"#two\">Empty</a> "
                    "</nav>"));
  EXPECT_TRUE(Holds(page,
                    "<div class=\"summary\"><ul>\n<li>First &amp; foremost.</li>\n"
                    "<li>Second.</li>\n</ul></div>"));
  EXPECT_TRUE(Holds(page, " <a href=\"tables/scores.csv\">scores.csv</a>"));
  EXPECT_TRUE(page.ends_with("</footer>\n</body></html>\n"));
  ReportContent bare = Content();
  bare.summary.clear();
  EXPECT_FALSE(Holds(ReportPage(bare, kSvg), "<div class=\"summary\">"));
}

TEST(Page, HeadsMayBreakWithinTheNamesOfKeys) {
  ReportContent content = Content();
  content.sections[0].tables[0].columns = {"env", "agent.target_interval", "minatar/asterix 1.5"};
  const std::string page = ReportPage(content, kSvg);
  EXPECT_TRUE(Holds(page, ">agent.<wbr>target_<wbr>interval</th>")) << page;
  EXPECT_TRUE(Holds(page, ">minatar/<wbr>asterix 1.5</th>"));
}

TEST(Page, HasSectionsWithTheirFigures) {
  const std::string page = ReportPage(Content(), kSvg);
  EXPECT_TRUE(Holds(page, "<section id=\"one\"><h2>Section &quot;1&quot;</h2>\n<p>a &lt; b</p>\n"));
  EXPECT_TRUE(Holds(page, "<section id=\"two\"><h2>Empty</h2>\n</section>\n"));
  // "<svg/>" in base 64.
  EXPECT_TRUE(Holds(page,
                    "<figure id=\"figure-fig\"><img class=\"drawing\" alt=\"What &gt; it shows\" "
                    "src=\"data:image/svg+xml;base64,PHN2Zy8+\"><figcaption>What &gt; it shows "
                    "<a href=\"figures/fig.svg\">svg</a> <a href=\"figures/fig.png\">png</a> "
                    "<a href=\"figures/fig.pdf\">pdf</a></figcaption></figure>"))
      << page;
}

// Columns, other than the first, whose cells are all numbers.
TEST(Page, ColumnsOfNumbersLineUpAtTheRight) {
  const std::string page = ReportPage(Content(), kSvg);
  EXPECT_TRUE(Holds(page,
                    "<th scope=\"col\">variant</th><th scope=\"col\" class=\"number\">score</th>"
                    "<th scope=\"col\">note</th>"));
  EXPECT_TRUE(Holds(page,
                    "<tr><td>1st</td><td class=\"number\">5.00</td><td>–</td></tr>\n"
                    "<tr><td>2nd</td><td class=\"number\"></td><td>text</td></tr>\n"));
  EXPECT_TRUE(Holds(page, "<figure class=\"table\"><figcaption>Table</figcaption>"));
}

TEST(Page, FoldedTablesAreShownOnRequest) {
  ReportContent content = Content();
  content.sections[0].tables[0].folded = true;
  const std::string page = ReportPage(content, kSvg);
  EXPECT_TRUE(Holds(page, "<figure class=\"table\"><details><summary>Table</summary>"));
  EXPECT_TRUE(Holds(page, "</tbody></table></div></details></figure>"));
}

TEST(Page, AttachedPicturesComeBeforeTexts) {
  ReportContent content = Content();
  content.sections[1].attachments = {
      {.caption = "words", .media_type = "text/plain", .content = "1 < 2\n\tx"},
      {.caption = "clip", .media_type = "image/gif", .content = "GIF"},
      {.caption = "drawing", .media_type = "image/svg+xml", .content = "<svg/>"}};
  const std::string page = ReportPage(content, kSvg);
  const std::size_t text = page.find(
      "<figure><figcaption>words</figcaption><pre tabindex=\"0\">1 "
      "&lt; 2\n\tx</pre></figure>");
  ASSERT_NE(text, std::string::npos);
  const std::size_t clip =
      page.find("<img class=\"small\" alt=\"clip\" src=\"data:image/gif;base64,R0lG\">");
  ASSERT_NE(clip, std::string::npos);
  EXPECT_LT(clip, text);
  EXPECT_TRUE(Holds(page, "<img class=\"drawing\" alt=\"drawing\" src=\"data:image/svg+xml;"));
}

}  // namespace stableaa::page_test
