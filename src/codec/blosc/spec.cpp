// blosc: blocks that are shuffled and compressed by an inner compressor, in the Blosc 1 container.
//
// Specification  https://zarr-specs.readthedocs.io/en/latest/v3/codecs/blosc/index.html
//                https://github.com/Blosc/c-blosc/blob/main/README_CHUNK_FORMAT.rst
// Names          v3 "blosc", alias "numcodecs.blosc"; v2 "blosc"
// Example        {"name": "blosc", "configuration": {"typesize": 2, "cname": "lz4", "clevel": 5, "shuffle": "shuffle",
//                "blocksize": 0}}
// Limits         chunks of less than 2 GiB (the container's own limit); cname: what c-blosc was built with, of lz4,
//                lz4hc, blosclz, zstd, zlib, snappy; others are refused by name when a chunk is encoded or decoded
// Deviations     "shuffle" may be a number as in v2: 0, 1, 2, or -1 (bit shuffle for one-byte elements, else byte
//                shuffle); "typesize" may be absent and is then the size of an element
#include "codec/blosc/blosc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codec/support.hpp"
#include "core/json.hpp"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 3> kShuffles = {"noshuffle", "shuffle", "bitshuffle"};
constexpr std::array<std::string_view, 6> kCompressors = {"lz4", "lz4hc", "blosclz", "zstd", "zlib", "snappy"};

Result<BloscShuffle> parse_shuffle(const Json& configuration, std::uint32_t item_bytes) {
  const auto it = configuration.find("shuffle");
  if (it == configuration.end() || it->is_null()) return BloscShuffle::bytes;
  if (it->is_string()) {
    for (std::size_t i = 0; i < kShuffles.size(); ++i)
      if (*it == kShuffles[i]) return static_cast<BloscShuffle>(i);
    return bad_configuration(
        fmt::format("\"shuffle\" must be noshuffle, shuffle or bitshuffle, is {}", dump_json(*it).substr(0, 40)));
  }
  PENSTOCK_ASSIGN(const std::int64_t number, int_member(configuration, "shuffle", -1, 2));
  if (number == -1) return item_bytes == 1 ? BloscShuffle::bits : BloscShuffle::bytes;
  return static_cast<BloscShuffle>(number);
}

Result<AnyCodec> make(const Json& configuration, const ChunkSpec& chunk) {
  PENSTOCK_TRY(only_members(configuration, {"typesize", "cname", "clevel", "shuffle", "blocksize"}));
  BloscParameters p;
  PENSTOCK_ASSIGN(p.cname, string_or(configuration, "cname", "lz4"));
  if (std::ranges::find(kCompressors, std::string_view(p.cname)) == kCompressors.end())
    return bad_configuration(
        fmt::format("\"cname\" must be one of {}, is \"{}\"", fmt::join(kCompressors, ", "), p.cname.substr(0, 40)));
  PENSTOCK_ASSIGN(const std::int64_t clevel, int_or(configuration, "clevel", 5, 0, 9));
  p.clevel = static_cast<int>(clevel);
  const std::uint32_t item = chunk.dtype.is_vlen() ? 1 : std::max(1U, chunk.dtype.size_bytes);
  PENSTOCK_ASSIGN(const std::int64_t typesize, int_or(configuration, "typesize", item, 1, INT32_MAX));
  p.typesize = static_cast<std::uint32_t>(typesize);
  PENSTOCK_ASSIGN(p.shuffle, parse_shuffle(configuration, item));
  PENSTOCK_ASSIGN(const std::int64_t blocksize, int_or(configuration, "blocksize", 0, 0, INT32_MAX));
  p.blocksize = static_cast<std::uint64_t>(blocksize);
  return AnyCodec(make_blosc(std::move(p)));
}

/// All members, in the order in which they are documented: what is read again after it was written is the same.
Result<CodecSpec> from_v2(const Json& v2, const DType& dtype) {
  PENSTOCK_TRY(only_members(v2, {"id", "cname", "clevel", "shuffle", "blocksize", "typesize"}));
  Json c = v2;
  c.erase("id");
  const std::uint32_t item = dtype.is_vlen() ? 1 : std::max(1U, dtype.size_bytes);
  PENSTOCK_ASSIGN(const BloscShuffle shuffle, parse_shuffle(c, item));
  Json out = {{"typesize", item}, {"cname", "lz4"}, {"clevel", 5}, {"shuffle", ""}, {"blocksize", 0}};
  for (const auto& [key, value] : c.items())
    if (key != "typesize" || !value.is_null()) out[key] = value;
  out["shuffle"] = blosc_shuffle_name(shuffle);
  return CodecSpec{"blosc", dump_json(out)};
}

Result<Json> to_v2(const CodecSpec& spec, const DType& dtype) {
  PENSTOCK_ASSIGN(const Json c, configuration_of(spec));
  PENSTOCK_ASSIGN(const std::string cname, string_or(c, "cname", "lz4"));
  PENSTOCK_ASSIGN(const std::int64_t clevel, int_or(c, "clevel", 5, 0, 9));
  PENSTOCK_ASSIGN(const BloscShuffle shuffle, parse_shuffle(c, dtype.size_bytes));
  PENSTOCK_ASSIGN(const std::int64_t blocksize, int_or(c, "blocksize", 0, 0, INT32_MAX));
  Json v2 = Json::object();
  v2["id"] = "blosc";
  v2["cname"] = cname;
  v2["clevel"] = clevel;
  v2["shuffle"] = static_cast<int>(shuffle);
  v2["blocksize"] = blocksize;
  return v2;
}

constexpr std::string_view kAliases[] = {"numcodecs.blosc"};

}  // namespace

std::string_view blosc_shuffle_name(BloscShuffle shuffle) { return kShuffles[static_cast<std::size_t>(shuffle)]; }

const CodecEntry kBloscCodec = {"blosc", kAliases, "blosc", make, from_v2, to_v2};

}  // namespace penstock
