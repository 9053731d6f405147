// What the page of a run is made of: seams, pictures, charts.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oct/report/page.hpp"
#include "oct/report/seams.hpp"
#include "oct/simulate/noise.hpp"

using namespace penstock;
using namespace penstock::oct;

namespace {

constexpr std::uint64_t kTile = 40, kStep = 32;

/// Two by two tiles that overlap, over smooth tissue; `brighter`: by how much the second column of tiles is.
Image stitched(double brighter, double noise) {
  Image image{kStep + kTile, kStep + kTile, {}};
  for (std::uint64_t r = 0; r < image.rows; ++r)
    for (std::uint64_t c = 0; c < image.cols; ++c) {
      const double tissue = 100 + 40 * smooth_noise(1, 0, static_cast<double>(r) / 9, static_cast<double>(c) / 9);
      const double grain = noise * (unit(mixed(7, r, c)) - 0.5);
      image.values.push_back(static_cast<float>(tissue + grain + (c >= kStep ? brighter : 0)));
    }
  return image;
}
TileLayout layout() {
  TileLayout out;
  for (const std::uint64_t row : {std::uint64_t{0}, kStep})
    for (const std::uint64_t col : {std::uint64_t{0}, kStep}) out.rows.push_back(row), out.cols.push_back(col);
  out.height = out.width = kStep + kTile;
  return out;
}

std::size_t count_of(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST(Seams, AreSeenWhereTheyAre) {
  for (const double noise : {0.0, 10.0}) {
    const auto none = find_seams(stitched(0, noise), layout(), kTile, kTile);
    const auto some = find_seams(stitched(15, noise), layout(), kTile, kTile);
    ASSERT_TRUE(none && some);
    EXPECT_LT(none->contrast, 2) << noise;
    EXPECT_LT(none->worst, 2) << noise;
    EXPECT_GT(some->contrast, 3 * none->contrast) << noise;
    EXPECT_GT(some->worst, 2) << noise;
    EXPECT_EQ(some->at.at, kStep) << noise;  // the left side of the tiles that are brighter
    EXPECT_FALSE(some->at.down);
  }
  EXPECT_FALSE(find_seams({}, {}, kTile, kTile));
  Image empty = stitched(0, 0);
  empty.values.assign(empty.values.size(), 0);  // nothing is there
  EXPECT_FALSE(find_seams(empty, layout(), kTile, kTile));
}

TEST(Picture, ShrinksByMeans) {
  Picture large = {3, 5, {1, 3, 5, 7, 9, 3, 5, 7, 9, 11, 2, 2, 4, 4, 6}, "a", "b", 0.5, 0.25};
  large.marks = {{2, 4, 2, 0, "line"}};
  const Picture small = shrunk(large, 3);
  EXPECT_EQ(small.rows, 2);
  EXPECT_EQ(small.cols, 3);
  EXPECT_EQ(small.values, (std::vector<float>{3, 7, 10, 2, 4, 6}));
  EXPECT_EQ(small.row_mm, 1);
  EXPECT_EQ(small.col_mm, 0.5);
  EXPECT_EQ(small.marks[0].row, 1);
  EXPECT_EQ(small.marks[0].col, 2);
  EXPECT_EQ(small.marks[0].text + small.alt + small.caption, "lineab");
  EXPECT_EQ(shrunk({1, 2, {1, 2}, ""}, 480).values, (std::vector<float>{1, 2}));
}

TEST(Picture, SaysHowLongAndHowBrightItIs) {
  // 100 x 200 pixels of 0.02 x 0.01 mm: 2 mm square, twice as high on the page as it has rows.
  Picture picture = {100, 200, std::vector<float>(20000), "what", "", 0.02, 0.01};
  for (std::size_t i = 0; i < picture.values.size(); ++i) picture.values[i] = static_cast<float>(i % 1001);
  const Greys greys = greys_of(std::span(&picture, 1));
  EXPECT_NEAR(greys.black, 5, 2);
  EXPECT_NEAR(greys.white, 995, 2);
  EXPECT_EQ(to_text({1.25, 3000}), "black 1.25, white 3e+03");
  const std::string html = figure_html(picture, greys, 480).value();
  EXPECT_NE(html.find("aspect-ratio:480/480"), std::string::npos) << html.substr(0, 300);
  EXPECT_NE(html.find(">0.5 mm</text>"), std::string::npos);  // at most a third of 2 mm
  EXPECT_NE(html.find("h120.0"), std::string::npos);          // a quarter of 480 pixels
  picture.row_mm = picture.col_mm = 0;                        // nobody knows
  EXPECT_EQ(figure_html(picture, greys, 480).value().find(" mm</text>"), std::string::npos);
  // What holds nothing has greys too, and what is no number is no brightness.
  EXPECT_GT(greys_of({}).white, greys_of({}).black);
  const Picture odd = {1, 3, {std::nanf(""), 7, std::numeric_limits<float>::infinity()}, ""};
  EXPECT_EQ(greys_of(std::span(&odd, 1)).black, 7);
  EXPECT_GT(greys_of(std::span(&odd, 1)).white, 7);
}

TEST(Page, HoldsTextAsText) {
  Page page("a <b> & \"c\"");
  page.heading("<h>");
  page.table({{"name", "value", ""}, {"<i>", "1.5", "bad"}, {"j", "1", "good"}});
  const Picture pictures[] = {{2, 2, {0, 1, 2, std::nanf("")}, "what \"it\" is", "<below>"}, {0, 0, {}, "nothing"}};
  ASSERT_TRUE(page.pictures(pictures, 480));
  const std::string html = page.html();
  for (const char* text :
       {"a &lt;b&gt; &amp; &quot;c&quot;", "&lt;h&gt;</h2>", "<td>&lt;i&gt;</td>", "<td class=n>1.5</td>",
        "<td class=bad>bad</td>", "<td class=good>good</td>", "alt=\"what &quot;it&quot; is\"",
        "&lt;below&gt; Grey: black 1, white", "src=\"data:image/png;base64,iVBORw0KGgo"})
    EXPECT_NE(html.find(text), std::string::npos) << text;
  EXPECT_EQ(count_of(html, "<img"), 1);
}

TEST(Page, SaysFirstWhatNeedsALook) {
  const Check good = {"slice 0", "worst seam", 2, 2, "", "Slices and seams"};
  const Check bad = {"slice <1>", "worst seam", 3.456, 2, "%", "Slices and seams"};
  const Check none = {"slice 2", "worst seam", std::nan(""), 2, "", "Slices and seams"};
  EXPECT_TRUE(good.good());
  EXPECT_FALSE(bad.good() || none.good());
  Page page("t");
  page.heading("Slices and seams");
  page.summary(std::vector{good, bad}, 0);
  const std::string html = page.html();
  EXPECT_LT(html.find("1 of 2 checks are bad."), html.find("<h2"));
  EXPECT_NE(html.find("href=\"#slices-and-seams\">slice &lt;1&gt;: worst seam 3.46 %, at most 2 %</a>"),
            std::string::npos);
  EXPECT_NE(html.find("<h2 id=\"slices-and-seams\">"), std::string::npos);
  page.summary(std::vector{good}, 0);
  EXPECT_NE(page.html().find("All 1 checks are good."), std::string::npos);
  EXPECT_EQ(page.html().find("first look"), std::string::npos);
  page.summary(std::vector{good}, 1);
  EXPECT_NE(page.html().find("href=\"#warnings\">1 warning of the steps</a>"), std::string::npos);
  page.summary({}, 0);
  EXPECT_NE(page.html().find("Nothing could be checked."), std::string::npos);
}

TEST(Chart, ShowsWhatCanBeShown) {
  Chart chart{"rise & fall", "x", "y", {{"up", {0, 1, 2}, {1, 3, 7}}, {"down", {0, 2}, {7, std::nan("")}}}, true};
  const std::string svg = chart_svg(chart);
  EXPECT_EQ(count_of(svg, "<circle"), 4);  // not that which is no number
  EXPECT_EQ(count_of(svg, "<polyline"), 2);
  EXPECT_NE(svg.find("rise &amp; fall"), std::string::npos);
  EXPECT_NE(svg.find(">up</text>"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  // One point, and values that are all the same, have axes too.
  EXPECT_EQ(chart_svg({"a", "x", "y", {{"p", {3}, {5}}}, true}).find("nan"), std::string::npos);
  // Names of marks do not lie over each other, and marks beside the axis are left out.
  Chart marked{"m", "x", "y", {{"p", {0, 100}, {0, 1}}}};
  marked.marks = {{0, "0"}, {1, "1"}, {50, "2"}, {1000, "3"}, {std::nan(""), "4"}};
  const std::string with_marks = chart_svg(marked);
  EXPECT_EQ(count_of(with_marks, "class=mark"), 3);
  EXPECT_EQ(count_of(with_marks, "fill=\"#555\""), 2);
  // Of many lines some are named.
  Chart many{"m", "x", "y", {}};
  for (int k = 0; k < 60; ++k) many.lines.push_back({"slice " + std::to_string(k), {0, 1}, {0, 1.0 * k}});
  const std::string lines = chart_svg(many);
  EXPECT_EQ(count_of(lines, ">slice "), 3);
  EXPECT_EQ(count_of(lines, "<polyline"), 60);
  Page page("t");
  page.chart({"what was measured", "x", "y", {{"none", {}, {}}}});
  EXPECT_NE(page.html().find("what was measured: nothing was measured"), std::string::npos);
}
