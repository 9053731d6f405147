#include "codec/refused.hpp"

#include <fmt/format.h>

namespace penstock {
namespace {

struct Refused {
  std::string_view name;  ///< v2 id, and v3 name after "numcodecs."
  std::string_view reason;
  std::string_view instead;
};

constexpr std::string_view kRewriteVlen =
    "rewrite the array with zarr-python as text (vlen-utf8) or bytes (vlen-bytes)";

constexpr Refused kRefused[] = {
    {"pickle", "its chunks are Python programs, and reading one may run anything", kRewriteVlen},
    {"vlen-array", "elements that are arrays of different lengths have no data type here",
     "store the values in one array and the offsets in another"},
    {"json2", "its chunks are JSON documents of any kind of object", kRewriteVlen},
    {"json", "its chunks are JSON documents of any kind of object", kRewriteVlen},
    {"msgpack2", "its chunks are MessagePack documents of any kind of object", kRewriteVlen},
    {"msgpack", "its chunks are MessagePack documents of any kind of object", kRewriteVlen},
    {"categorize", "its labels are Python objects of the metadata",
     "store the codes as integers and the labels as an attribute"},
    {"base64", "it is for keeping chunks inside JSON, not for stores", "rewrite the array without it"},
    {"pcodec", "its only library is written in Rust and is not packaged for C++",
     "rewrite the array with zstd, or with blosc and shuffle"},
    {"gdeflate", "the deflate variant for GPUs has no packaged library", "rewrite the array with zstd or gzip"},
    {"imagecodecs", "imagecodecs are Python wrappers of many libraries", "rewrite the array with zstd"},
};

}  // namespace

std::optional<Error> refused_codec(std::string_view name) {
  std::string_view plain = name;
  if (plain.starts_with("numcodecs.")) plain.remove_prefix(10);
  if (plain.starts_with("imagecodecs_")) plain = "imagecodecs";
  for (const Refused& row : kRefused)
    if (row.name == plain)
      return Error(ErrorCode::unsupported,
                   fmt::format("codec '{}' is not supported: {}", name.substr(0, 100), row.reason))
          .set_hint(std::string(row.instead));
  return std::nullopt;
}

}  // namespace penstock
