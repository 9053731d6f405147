#include "cli/nodes/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.hpp"
#include "penstock/codec.hpp"

namespace penstock::cli {

Result<Shape> parse_shape(const std::string& text, std::size_t rank) {
  Shape shape;
  const auto bad = [&] {
    return Error(ErrorCode::invalid_argument,
                 fmt::format("'{}' is no shape of {} dimension{}; write {}", text, rank, rank == 1 ? "" : "s",
                             rank == 0 ? "nothing" : "numbers over 0, e.g. 64,64,64, or one for all"));
  };
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(",x", at), text.size());
    const auto extent = parse_count(std::string_view(text).substr(at, end - at));
    if (!extent || *extent == 0) return bad();
    shape.push_back(*extent);
    at = end + 1;
  }
  if (shape.size() == 1) shape.resize(rank, shape[0]);
  if (shape.size() != rank) return bad();
  return shape;
}

void LayoutWords::declare(Usage& usage) {
  usage.option("--chunks", "SHAPE", chunks, "shape of the chunks, e.g. 64,64,64; one number for all dimensions");
  usage.option("--shards", "SHAPE", shards, "put chunks together in shards of this shape (zarr v3); none: no shards");
  usage
      .option(
          "--codec", "CODEC", codec,
          "how chunks are compressed: zstd:level=3, blosc:cname=lz4,clevel=5, gzip, none, ..., or JSON as in zarr v3 "
          "metadata")
      .suggestions = compressor_names();
}

Status LayoutWords::put_into(CopyChanges& changes, const Dataset& dataset) const {
  if (chunks) {
    PENSTOCK_ASSIGN_IN(changes.chunk_shape, parse_shape(*chunks, dataset.rank()), "--chunks");
  }
  if (shards && *shards == "none") changes.shard_shape = Shape{};
  if (shards && *shards != "none") {
    PENSTOCK_ASSIGN_IN(changes.shard_shape, parse_shape(*shards, dataset.rank()), "--shards");
  }
  if (codec) {
    PENSTOCK_ASSIGN_IN(changes.compressors, parse_codecs(*codec, dataset.dtype), "--codec " + *codec);
  }
  return {};
}

}  // namespace penstock::cli
