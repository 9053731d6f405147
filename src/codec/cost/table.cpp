#include "codec/cost/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

#include "core/json.hpp"

namespace penstock {
namespace {

constexpr std::string_view kFormat = "penstock codec costs 1";
constexpr std::string_view kBy[] = {"device", "nvcomp", "core"};  // as in DecodedBy

Error invalid(std::string text) { return {ErrorCode::invalid_argument, std::move(text)}; }

Result<DecodedBy> read_by(const Json& row) {
  PENSTOCK_ASSIGN(const std::string text, string_member(row, "by"));
  for (std::size_t i = 0; i < std::size(kBy); ++i)
    if (text == kBy[i]) return static_cast<DecodedBy>(i);
  return invalid(fmt::format("by: '{}' is none of device, nvcomp, core", text));
}

Result<CostPoint> read_point(const Json& json) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40, kMaxChunks = std::uint64_t{1} << 32;
  constexpr double kMaxSeconds = 1e6;
  if (!json.is_array() || json.size() != 3)
    return invalid(fmt::format("must be [chunk_bytes, chunks, seconds], is {}", dump_json(json).substr(0, 40)));
  CostPoint point;
  PENSTOCK_ASSIGN(point.chunk_bytes, to_u64(json[0], "chunk_bytes"));
  PENSTOCK_ASSIGN(point.chunks, to_u64(json[1], "chunks"));
  if (point.chunk_bytes == 0 || point.chunk_bytes > kMaxBytes)
    return invalid(fmt::format("chunk_bytes: {} is not from 1 to {}", point.chunk_bytes, kMaxBytes));
  if (point.chunks == 0 || point.chunks > kMaxChunks)
    return invalid(fmt::format("chunks: {} is not from 1 to {}", point.chunks, kMaxChunks));
  if (!json[2].is_number()) return invalid("seconds: must be a number, is " + dump_json(json[2]).substr(0, 40));
  point.seconds = json[2].get<double>();
  if (!(point.seconds > 0 && point.seconds <= kMaxSeconds))
    return invalid(fmt::format("seconds: {} is not more than 0 and {} at most", point.seconds, kMaxSeconds));
  return point;
}

Result<CostRow> read_row(const Json& json) {
  CostRow row;
  if (!json.is_object()) return invalid("must be an object");
  PENSTOCK_TRY(only_members(json, {"codec", "by", "data", "points"}));
  PENSTOCK_ASSIGN(row.codec, string_member(json, "codec"));
  PENSTOCK_ASSIGN(row.by, read_by(json));
  PENSTOCK_ASSIGN(row.data, string_member(json, "data"));
  PENSTOCK_ASSIGN(const Json* const points, member(json, "points"));
  if (!points->is_array() || points->empty()) return invalid("points: must be a list of at least one");
  for (std::size_t i = 0; i < points->size(); ++i) {
    const std::string where = fmt::format("points[{}]", i);
    PENSTOCK_ASSIGN_IN(const CostPoint point, read_point((*points)[i]), where);
    if (row.by == DecodedBy::core && point.chunks != 1) return invalid(where + ": of a core are one chunk each");
    if (!row.points.empty() &&
        std::tie(row.points.back().chunk_bytes, row.points.back().chunks) >= std::tie(point.chunk_bytes, point.chunks))
      return invalid(where + ": must be in order, each size and count once");
    row.points.push_back(point);
  }
  return row;
}

Result<CostTable> read_table(const Json& json) {
  CostTable table;
  if (!json.is_object()) return invalid("must be a JSON object");
  PENSTOCK_TRY(only_members(json, {"format", "origin", "machine", "date", "commit", "nvcomp", "rows"}));
  PENSTOCK_ASSIGN(const std::string format, string_member(json, "format"));
  if (format != kFormat) return invalid(fmt::format("format: must be '{}', is '{}'", kFormat, format));
  PENSTOCK_ASSIGN(table.origin, string_member(json, "origin"));
  PENSTOCK_ASSIGN(table.machine, string_member(json, "machine"));
  PENSTOCK_ASSIGN(table.date, string_member(json, "date"));
  PENSTOCK_ASSIGN(table.commit, string_member(json, "commit"));
  PENSTOCK_ASSIGN(table.nvcomp, string_member(json, "nvcomp"));
  PENSTOCK_ASSIGN(const Json* const rows, member(json, "rows"));
  if (!rows->is_array()) return invalid("rows: must be a list");
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const std::string where = fmt::format("rows[{}]", i);
    PENSTOCK_ASSIGN_IN(CostRow row, read_row((*rows)[i]), where);
    for (const CostRow& other : table.rows)
      if (std::tie(row.codec, row.by, row.data) == std::tie(other.codec, other.by, other.data))
        return invalid(fmt::format("{}: a second row of {} by {} with {}", where, row.codec,
                                   kBy[static_cast<std::size_t>(row.by)], row.data));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// The value at `x` on the line through two points, in logarithms.
double between(double x, double x0, double y0, double x1, double y1) {
  const double part = (std::log(x) - std::log(x0)) / (std::log(x1) - std::log(x0));
  return std::exp(std::log(y0) + part * (std::log(y1) - std::log(y0)));
}

/// Of `chunks` chunks, by points of one chunk size; parts of a chunk count.
double by_count(std::span<const CostPoint> points, double chunks, bool parts_take_less) {
  const auto count = [&](std::size_t i) { return static_cast<double>(points[i].chunks); };
  if (chunks <= count(0)) return points[0].seconds * (parts_take_less ? chunks / count(0) : 1);
  for (std::size_t i = 1; i < points.size(); ++i)
    if (chunks <= count(i)) return between(chunks, count(i - 1), points[i - 1].seconds, count(i), points[i].seconds);
  return points.back().seconds * chunks / count(points.size() - 1);
}

double row_seconds(const CostRow& row, double bytes, double chunks) {
  const bool core = row.by == DecodedBy::core;
  double smaller = 0, smaller_seconds = 0;
  for (std::size_t first = 0, last = 0; first < row.points.size(); first = last) {
    while (last < row.points.size() && row.points[last].chunk_bytes == row.points[first].chunk_bytes) ++last;
    const auto points = std::span(row.points).subspan(first, last - first);
    const auto size = static_cast<double>(points[0].chunk_bytes);
    if (first == 0 && bytes <= size) return by_count(points, chunks * bytes / size, core);
    const double seconds = by_count(points, chunks, core);
    if (bytes <= size) return between(bytes, smaller, smaller_seconds, size, seconds);
    smaller = size;
    smaller_seconds = seconds;
  }
  return smaller_seconds * bytes / smaller;
}

}  // namespace

Result<CostTable> CostTable::parse(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return invalid(json.error().message());
  auto table = read_table(*json);
  if (!table) return invalid(table.error().message());  // whatever the JSON helpers call it
  return table;
}

std::string CostTable::text() const {
  std::string out = "{\n";
  const auto line = [&](std::string_view key, std::string_view value) {
    out += fmt::format(" \"{}\": {},\n", key, dump_json(Json(value)));
  };
  line("format", kFormat);
  line("origin", origin);
  line("machine", machine);
  line("date", date);
  line("commit", commit);
  line("nvcomp", nvcomp);
  out += " \"rows\": [";
  for (const CostRow& row : rows) {
    out += fmt::format("{}\n  {{\"codec\": {}, \"by\": \"{}\", \"data\": {}, \"points\": [",
                       &row == rows.data() ? "" : ",", dump_json(Json(row.codec)),
                       kBy[static_cast<std::size_t>(row.by)], dump_json(Json(row.data)));
    for (const CostPoint& point : row.points)
      out += fmt::format("{}[{}, {}, {:.3e}]", &point == row.points.data() ? "" : ", ", point.chunk_bytes, point.chunks,
                         point.seconds);
    out += "]}";
  }
  return out + "\n ]\n}\n";
}

std::optional<double> CostTable::seconds(std::string_view codec, DecodedBy by, std::uint64_t chunk_bytes,
                                         std::uint64_t chunks) const {
  // An empty chunk and no chunk take next to no time; their logarithms would be infinite.
  const auto bytes = static_cast<double>(std::max<std::uint64_t>(chunk_bytes, 1));
  const auto count = static_cast<double>(std::max<std::uint64_t>(chunks, 1));
  double logs = 0;
  int found = 0;
  for (const CostRow& row : rows) {
    if (row.codec != codec || row.by != by) continue;
    logs += std::log(row_seconds(row, bytes, count));
    ++found;
  }
  if (found == 0) return std::nullopt;
  return std::exp(logs / found);
}

}  // namespace penstock
