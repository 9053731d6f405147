// lzma: LZMA in the .xz or .lzma container, or bare.
//
// Specification  https://numcodecs.readthedocs.io/en/stable/compression/lzma.html
//                https://docs.python.org/3/library/lzma.html (the numbers), https://tukaani.org/xz/xz-file-format.txt
// Names          v3 "numcodecs.lzma", alias "lzma"; v2 "lzma"
// Example        {"name": "numcodecs.lzma",
//                 "configuration": {"format": 1, "check": -1, "preset": null, "filters": null}}
// Limits         format 1 (xz), 2 (lzma), 3 (raw, needs filters), 0 (detect: decoding only); check -1, 0, 1, 4, 10;
//                filters: LZMA1, LZMA2, delta and the branch filters, at most four; decoding takes at most 1 GiB
// Deviations     bytes after the end are refused; format 1 with filters is decoded (Python refuses that)
#include "codec/lzma/lzma.hpp"

#include <fmt/format.h>

#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kMax32 = UINT32_MAX;

Result<std::optional<std::uint32_t>> number(const Json& object, std::string_view key) {
  const auto it = object.find(std::string(key));
  if (it == object.end() || it->is_null()) return std::optional<std::uint32_t>();
  PENSTOCK_ASSIGN(const std::int64_t value, int_member(object, key, 0, kMax32));
  return std::optional(static_cast<std::uint32_t>(value));
}

Result<LzmaFilter> parse_filter(const Json& object) {
  PENSTOCK_TRY(only_members(object, {"id", "preset", "dict_size", "lc", "lp", "pb", "mode", "nice_len", "mf", "depth",
                                     "dist", "start_offset"}));
  LzmaFilter f;
  PENSTOCK_ASSIGN(const Json* id, member(object, "id"));
  PENSTOCK_ASSIGN(f.id, to_u64(*id, "\"id\""));
  PENSTOCK_ASSIGN(const std::int64_t preset, int_or(object, "preset", 6, 0, kMax32));
  f.preset = static_cast<std::uint32_t>(preset);
  PENSTOCK_ASSIGN(f.dict_size, number(object, "dict_size"));
  PENSTOCK_ASSIGN(f.lc, number(object, "lc"));
  PENSTOCK_ASSIGN(f.lp, number(object, "lp"));
  PENSTOCK_ASSIGN(f.pb, number(object, "pb"));
  PENSTOCK_ASSIGN(f.mode, number(object, "mode"));
  PENSTOCK_ASSIGN(f.nice_len, number(object, "nice_len"));
  PENSTOCK_ASSIGN(f.mf, number(object, "mf"));
  PENSTOCK_ASSIGN(f.depth, number(object, "depth"));
  PENSTOCK_ASSIGN(const auto dist, number(object, "dist"));
  PENSTOCK_ASSIGN(const auto start_offset, number(object, "start_offset"));
  f.dist = dist.value_or(1);
  f.start_offset = start_offset.value_or(0);
  return f;
}

Result<std::vector<LzmaFilter>> parse_filters(const Json& configuration) {
  std::vector<LzmaFilter> filters;
  const auto it = configuration.find("filters");
  if (it == configuration.end() || it->is_null()) return filters;
  if (!it->is_array() || it->empty() || it->size() > 4)
    return bad_configuration("\"filters\" must be a list of one to four filters");
  for (std::size_t i = 0; i < it->size(); ++i) {
    PENSTOCK_ASSIGN_IN(LzmaFilter filter, parse_filter((*it)[i]), fmt::format("filters[{}]", i));
    filters.push_back(filter);
  }
  return filters;
}

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& /*chunk*/) {
  PENSTOCK_TRY(only_members(configuration, {"format", "check", "preset", "filters"}));
  LzmaParameters p;
  PENSTOCK_ASSIGN(const std::int64_t format, int_or(configuration, "format", 1, 0, 3));
  p.format = static_cast<LzmaFormat>(format);
  PENSTOCK_ASSIGN(const std::int64_t check, int_or(configuration, "check", -1, -1, 15));
  p.check = static_cast<int>(check);
  PENSTOCK_ASSIGN(const std::int64_t preset, int_or(configuration, "preset", 6, 0, kMax32));
  p.preset = static_cast<std::uint32_t>(preset);
  PENSTOCK_ASSIGN(p.filters, parse_filters(configuration));
  if (!p.filters.empty() && configuration.contains("preset") && !configuration["preset"].is_null())
    return bad_configuration("\"preset\" and \"filters\" exclude each other");
  p.configuration = dump_json(configuration);
  PENSTOCK_ASSIGN(std::unique_ptr<BytesToBytes> codec, make_lzma(std::move(p)));
  return AnyCodec(std::move(codec));
}

constexpr std::string_view kAliases[] = {"lzma"};

}  // namespace

const CodecEntry kLzmaCodec = {"numcodecs.lzma", kAliases, "lzma", make, nullptr, nullptr};

}  // namespace penstock
