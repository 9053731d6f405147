#include "oct/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/html.hpp"

namespace penstock::oct {
namespace {

// What is good or bad is said by words; colours and frames are printed too.
constexpr std::string_view kStyle =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#222;"
    "print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    "h2{margin:2rem 0 .5rem}figure{margin:.5rem 0;max-width:100%}figcaption{font-size:.85rem}"
    ".picture{position:relative;max-width:100%;background:#000}"
    ".picture img,.picture svg{position:absolute;inset:0;width:100%;height:100%}"
    ".picture text{font:bold 13px system-ui,sans-serif;fill:#fff;stroke:#000;stroke-width:3px;paint-order:stroke}"
    "table{border-collapse:collapse;margin:.5rem 0}th,td{text-align:left;padding:.2rem .9rem .2rem 0;"
    "border-bottom:1px solid #ddd;vertical-align:top;overflow-wrap:anywhere}.n{text-align:right;white-space:nowrap}"
    ".good{color:#00694d}.bad{color:#a33;font-weight:bold}"
    ".first{border:1px solid #bbb;border-left:.4rem solid #00694d;padding:.3rem "
    "1rem}.first.look{border-left-color:#a33}"
    ".row{display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start}.row figure{margin:0}figure>svg{max-width:100%;"
    "height:auto;display:block}"
    "@media(max-width:640px){table{display:block;overflow-x:auto}}"
    "@media print{@page{margin:15mm}body{font-size:10pt;margin:0;padding:0;max-width:none}a{color:inherit;"
    "text-decoration:none}h2{break-after:avoid}figure,tr,.first{break-inside:avoid}"
    ".row figure{max-width:48%}}";

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.,+-eE") == std::string::npos;
}

/// What links to a heading name it by.
std::string anchor(std::string_view heading) {
  std::string out;
  for (const char c : heading)
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c >= 'a' && c <= 'z' ? c : '-';
  return out;
}

std::string cell(std::string_view tag, const std::string& text, const std::string& like) {
  const std::string kind = is_number(like) ? " class=n" : text == "good" || text == "bad" ? " class=" + text : "";
  return fmt::format("<{0}{1}>{2}</{0}>", tag, kind, escaped_html(text));
}

}  // namespace

std::string to_text(const Check& check) {
  const std::string unit = check.unit.empty() ? "" : " " + check.unit;
  return fmt::format("{}: {} {:.3g}{}, at most {:.3g}{}", check.where, check.what, check.value, unit, check.limit,
                     unit);
}

void Page::heading(std::string_view text) {
  body_ += fmt::format("<h2 id=\"{}\">{}</h2>\n", anchor(text), escaped_html(text));
}

void Page::text(std::string_view text) { body_ += fmt::format("<p>{}</p>\n", escaped_html(text)); }

void Page::table(const std::vector<std::vector<std::string>>& rows) {
  body_ += "<table>\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    body_ += "<tr>";
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      // A name stands as what is below it.
      const std::string& like = r == 0 && rows.size() > 1 && c < rows[1].size() ? rows[1][c] : rows[r][c];
      body_ += cell(r == 0 ? "th" : "td", rows[r][c], like);
    }
    body_ += "</tr>\n";
  }
  body_ += "</table>\n";
}

Status Page::pictures(std::span<const Picture> pictures, std::uint64_t most_pixels) {
  begin_row();
  for (Picture picture : pictures) {
    if (picture.values.empty()) continue;
    const Greys greys = greys_of(std::span(&picture, 1));
    picture.caption += fmt::format(" Grey: {}.", to_text(greys));
    PENSTOCK_ASSIGN(const std::string figure, figure_html(picture, greys, most_pixels));
    body_ += figure;
  }
  end_row();
  return {};
}

Status Page::alike_pictures(std::span<const Picture> pictures, std::uint64_t most_pixels) {
  const Greys greys = greys_of(pictures);
  begin_row();
  for (const Picture& picture : pictures) {
    if (picture.values.empty()) continue;
    PENSTOCK_ASSIGN(const std::string figure, figure_html(picture, greys, most_pixels));
    body_ += figure;
  }
  end_row();
  text(fmt::format("Grey of all of them: {}.", to_text(greys)));
  return {};
}

void Page::chart(const Chart& chart) {
  if (std::ranges::all_of(chart.lines, [](const Line& line) { return line.x.empty(); }))
    text(chart.alt + ": nothing was measured");
  else
    body_ +=
        "<figure>" + chart_svg(chart) + fmt::format("<figcaption>{}</figcaption></figure>\n", escaped_html(chart.alt));
}

void Page::summary(std::span<const Check> checks, std::size_t warnings) {
  const auto bad = std::ranges::count_if(checks, [](const Check& check) { return !check.good(); });
  std::string list;
  for (const Check& check : checks)
    if (!check.good())
      list += fmt::format("<li><a class=bad href=\"#{}\">{}</a></li>\n", anchor(check.section),
                          escaped_html(to_text(check)));
  if (warnings > 0)
    list += fmt::format("<li><a href=\"#warnings\">{} of the steps</a></li>\n",
                        warnings == 1 ? "1 warning" : fmt::format("{} warnings", warnings));
  const std::string said = checks.empty() ? "Nothing could be checked."
                           : bad == 0     ? fmt::format("All {} checks are good.", checks.size())
                                          : fmt::format("{} of {} checks are bad.", bad, checks.size());
  summary_ = fmt::format("<div class=\"first{}\"><p><b>{}</b></p>\n{}</div>\n", list.empty() ? "" : " look", said,
                         list.empty() ? "" : "<ul>\n" + list + "</ul>\n");
}

std::string Page::html() const {
  return fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>{0}</title>\n"
      "<meta name=viewport content=\"width=device-width\"><link rel=icon href=\"data:,\">\n"
      "<style>{1}</style></head>\n<body><h1>{0}</h1>\n{2}{3}</body></html>\n",
      escaped_html(title_), kStyle, summary_, body_);
}

}  // namespace penstock::oct
