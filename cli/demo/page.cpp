#include "cli/demo/page.hpp"

#include <fmt/format.h>

#include "core/html.hpp"
#include "core/units.hpp"

namespace penstock::cli {
namespace {

std::string table(const Report& r) {
  std::string rows;
  for (const StageReport& s : r.stages)
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td class=n>{}</td><td class=n>{}</td></tr>\n",
                        escaped_html(s.stage), escaped_html(s.path), escaped_html(s.why()),
                        s.bytes > 0 ? format_bytes(s.bytes) : "", s.seconds > 0 ? format_seconds(s.seconds) : "");
  std::string memory = format_bytes(r.peak_host_bytes) + " host";
  if (r.peak_device_bytes > 0) memory += ", " + format_bytes(r.peak_device_bytes) + " device";
  return fmt::format(
      "<h2>{}</h2>\n<p>{} in {}: {}. {} chunks, {} requests, working memory {}.</p>\n"
      "<table><tr><th>stage</th><th>path</th><th>why</th><th class=n>bytes</th><th class=n>time of all "
      "threads</th></tr>\n{}"
      "</table>\n",
      escaped_html(r.operation), format_bytes(r.decoded_bytes), format_seconds(r.wall_seconds),
      format_rate(r.decoded_bytes, r.wall_seconds), format_count(r.chunks), format_count(r.requests), memory, rows);
}

}  // namespace

std::string demo_page(const std::string& title, const std::string& source, const std::string& picture,
                      const std::vector<Report>& parts) {
  std::string body;
  for (const Report& r : parts) body += table(r);
  return fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>{0}</title>\n"
      "<meta name=viewport content=\"width=device-width\"><link rel=icon href=\"data:,\">\n"
      "<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}}"
      "img{{max-width:100%;background:#000}}table{{border-collapse:collapse;width:100%}}"
      "th,td{{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #ddd;vertical-align:top}}"
      ".n{{text-align:right;white-space:nowrap}}</style></head>\n"
      "<body><h1>{0}</h1>\n<p>Source: <code>{1}</code></p>\n"
      "<img src=\"{2}\" alt=\"maximum projection of the source\">\n{3}</body></html>\n",
      escaped_html(title), escaped_html(source), escaped_html(picture), body);
}

}  // namespace penstock::cli
