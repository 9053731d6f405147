// What the page of a run is made of: seams, pictures, charts.
#include <gtest/gtest.h>

#include <cmath>

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
    const auto none = seam_contrast(stitched(0, noise), layout(), kTile, kTile);
    const auto some = seam_contrast(stitched(15, noise), layout(), kTile, kTile);
    ASSERT_TRUE(none && some);
    EXPECT_LT(*none, 2) << noise;
    EXPECT_GT(*some, 3 * *none) << noise;
  }
  EXPECT_FALSE(seam_contrast({}, {}, kTile, kTile));
  Image empty = stitched(0, 0);
  empty.values.assign(empty.values.size(), 0);  // nothing is there
  EXPECT_FALSE(seam_contrast(empty, layout(), kTile, kTile));
}

TEST(Page, ShrinksPicturesByMeans) {
  const Picture small = shrunk({3, 5, {1, 3, 5, 7, 9, 3, 5, 7, 9, 11, 2, 2, 4, 4, 6}, "a"}, 3);
  EXPECT_EQ(small.rows, 2);
  EXPECT_EQ(small.cols, 3);
  EXPECT_EQ(small.values, (std::vector<float>{3, 7, 10, 2, 4, 6}));
  EXPECT_EQ(shrunk({1, 2, {1, 2}, ""}, 480).values, (std::vector<float>{1, 2}));
}

TEST(Page, HoldsTextAsText) {
  Page page("a <b> & \"c\"");
  page.heading("<h>");
  page.table({{"name", "value"}, {"<i>", "1.5"}});
  ASSERT_TRUE(page.picture({2, 2, {0, 1, 2, std::nanf("")}, "what \"it\" is"}, "<below>"));
  ASSERT_TRUE(page.picture({0, 0, {}, "nothing"}, "none"));
  const std::string html = page.html();
  for (const char* text :
       {"a &lt;b&gt; &amp; &quot;c&quot;", "<h2>&lt;h&gt;</h2>", "<td>&lt;i&gt;</td>", "<td class=n>1.5</td>",
        "alt=\"what &quot;it&quot; is\"", "&lt;below&gt;", "src=\"data:image/png;base64,iVBORw0KGgo"})
    EXPECT_NE(html.find(text), std::string::npos) << text;
  EXPECT_EQ(count_of(html, "<img"), 1);
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
  Page page("t");
  page.chart({"what was measured", "x", "y", {{"none", {}, {}}}});
  EXPECT_NE(page.html().find("what was measured: nothing was measured"), std::string::npos);
}
