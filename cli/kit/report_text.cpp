#include "cli/kit/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "cli/kit/table.hpp"
#include "core/units.hpp"

namespace penstock::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const auto line : std::views::split(text, '\n')) lines.emplace_back(line.begin(), line.end());
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

/// Each stage in a line, and below it why it took that path.
std::string stages_text(const std::vector<StageReport>& stages, std::size_t width) {
  Table table("llrr");
  table.row({"stage", "path", "bytes", "rate a thread"});
  std::size_t name = 0;
  for (const StageReport& s : stages) {
    name = std::max(name, s.stage.size());
    table.row({s.stage, s.path, s.bytes > 0 ? format_bytes(s.bytes) : "",
               s.seconds > 0 && s.bytes > 0 ? format_rate(s.bytes, s.seconds) : ""});
  }
  const std::vector<std::string> rows = lines_of(table.text());
  const std::size_t indent = std::max<std::size_t>(name, 5) + 3;  // as the table has it: where paths begin
  std::string out = rows[0] + "\n";
  for (std::size_t i = 0; i < stages.size(); ++i) {
    out += rows[i + 1] + "\n";
    for (const std::string& line : wrap(stages[i].why(), width > indent ? width - indent : 1))
      if (!line.empty()) out += fmt::format("{:{}}{}\n", "", indent, line);
  }
  return out;
}

}  // namespace

std::string report_text(const Report& report, std::size_t width) {
  std::string text = report.text();
  const auto fits = [&](const std::string& line) { return text_width(line) <= width; };
  if (report.stages.empty() || std::ranges::all_of(lines_of(text), fits)) return text;
  Report rest = report;
  rest.stages.clear();
  text = rest.text();
  const std::size_t at = text.find("\n memory ");
  return at == std::string::npos ? text : text.insert(at + 1, stages_text(report.stages, width));
}

}  // namespace penstock::cli
