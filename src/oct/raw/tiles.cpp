#include "oct/raw/tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace penstock::oct {
namespace {

constexpr int kDepth = 4;  // of folders

/// Reads "x12" off the front.
std::optional<std::uint64_t> take(std::string_view& text, std::string_view letter) {
  if (!text.starts_with(letter)) return std::nullopt;
  std::uint64_t value = 0;
  const char* const first = text.data() + letter.size();
  const auto [end, code] = std::from_chars(first, text.data() + text.size(), value);
  if (code != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

struct TileName {
  std::uint64_t x, y, z;
};
/// tile_x00_y01_z02
std::optional<TileName> parse_name(std::string_view name) {
  const auto x = take(name, "tile_x");
  const auto y = x ? take(name, "_y") : std::nullopt;
  const auto z = y ? take(name, "_z") : std::nullopt;
  if (!z || !name.empty() || *x > 100000 || *y > 100000) return std::nullopt;
  return TileName{*x, *y, *z};
}

Status search(const Store& store, const std::string& prefix, int depth,
              std::map<std::uint64_t, std::vector<RawTile>>& found) {
  PENSTOCK_ASSIGN(const std::vector<StoreEntry> entries, store.list_dir(prefix));
  for (const StoreEntry& entry : entries) {
    if (!entry.is_prefix) continue;
    const std::string path = prefix.empty() ? entry.name : prefix + "/" + entry.name;
    if (const auto name = parse_name(entry.name))
      found[name->z].push_back({name->x, name->y, path});
    else if (depth < kDepth)
      PENSTOCK_TRY(search(store, path, depth + 1, found));
  }
  return {};
}

}  // namespace

Result<std::map<std::uint64_t, std::vector<RawTile>>> find_tiles(const Store& store) {
  std::map<std::uint64_t, std::vector<RawTile>> found;
  PENSTOCK_TRY_IN(search(store, "", 1, found), store.url());
  if (found.empty()) return Error(ErrorCode::not_found, store.url() + ": no folders tile_x*_y*_z* are in it");
  for (auto& [z, tiles] : found) {
    std::ranges::sort(tiles, {}, [](const RawTile& t) { return std::pair(t.x, t.y); });
    for (std::size_t i = 1; i < tiles.size(); ++i)
      if (tiles[i].x == tiles[i - 1].x && tiles[i].y == tiles[i - 1].y)
        return Error(ErrorCode::invalid_argument,
                     fmt::format("{}: {} and {} are the same tile", store.url(), tiles[i - 1].prefix, tiles[i].prefix));
  }
  return found;
}

Result<TileInfo> read_info(const Store& store, const RawTile& tile) {
  const std::string key = tile.prefix + "/info.txt";
  Bytes bytes;
  PENSTOCK_ASSIGN_IN(const bool there, store.get(key, bytes), key);
  if (!there) return Error(ErrorCode::not_found, key + ": no such file");
  PENSTOCK_ASSIGN_IN(const TileInfo info, parse_info(as_text(bytes)), key);
  return info;
}

Result<RawSamples> read_samples(const Store& store, const RawTile& tile, const TileInfo& info) {
  RawSamples samples{{}, info.depth(), info.lines(), 0};
  const std::uint64_t scan_bytes = samples.depth * samples.lines * sizeof(float);
  PENSTOCK_ASSIGN_IN(const std::vector<StoreEntry> entries, store.list_dir(tile.prefix), tile.prefix);
  std::vector<Bytes> parts;
  std::uint64_t size = 0;
  for (const StoreEntry& entry : entries) {  // sorted by name
    if (entry.is_prefix || !entry.name.starts_with("image_") || !entry.name.ends_with(".bin")) continue;
    const std::string key = tile.prefix + "/" + entry.name;
    Bytes part;
    PENSTOCK_ASSIGN_IN(const bool there, store.get(key, part), key);
    if (!there || part.size() % scan_bytes != 0)
      return Error(ErrorCode::corrupt_data,
                   fmt::format("{}: {} bytes are no whole number of B-scans of {} x {} samples", key, part.size(),
                               samples.lines, samples.depth))
          .set_hint("The file is cut off, or info.txt is of another tile.");
    size += part.size();
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return Error(ErrorCode::not_found, tile.prefix + ": no image_*.bin is in it");
  samples.scans = size / scan_bytes;
  if (samples.scans < info.ny)
    return Error(ErrorCode::corrupt_data,
                 fmt::format("{}: {} B-scans, info.txt says {}", tile.prefix, samples.scans, info.ny))
        .set_hint("A file image_*.bin is cut off or missing.");
  if (parts.size() == 1) {
    samples.bytes = std::move(parts[0]);
    return samples;
  }
  PENSTOCK_TRY(samples.bytes.resize_discard(size));
  std::byte* to = samples.bytes.data();
  for (const Bytes& part : parts) to = std::ranges::copy(part.view(), to).out;
  return samples;
}

Shape oriented_shape(const TileInfo& info, Orientation orientation) {
  if (orientation == Orientation::legacy) return {info.depth(), info.ny, info.nx};
  return {info.depth(), info.nx, info.ny};
}

void place_tile(const RawSamples& samples, const TileInfo& info, std::uint64_t shift, Orientation orientation,
                float* out, std::uint64_t row_stride, std::uint64_t plane_stride) {
  constexpr std::uint64_t kPlanes = 16;  // at a time: what is written stays in the cache
  const std::uint64_t lines = samples.lines;
  const bool legacy = orientation == Orientation::legacy;
  for (std::uint64_t z0 = 0; z0 < samples.depth; z0 += kPlanes) {
    const std::uint64_t z1 = std::min(z0 + kPlanes, samples.depth);
    for (std::uint64_t y = 0; y < info.ny; ++y) {
      for (std::uint64_t x = 0; x < info.nx; ++x) {
        const float* const line = samples.line(y, (x + lines - shift % lines) % lines);
        const std::uint64_t row = legacy ? info.ny - 1 - y : x, col = legacy ? info.nx - 1 - x : y;
        float* const to = out + row * row_stride + col;
        for (std::uint64_t z = z0; z < z1; ++z) to[z * plane_stride] = line[z];
      }
    }
  }
}

}  // namespace penstock::oct
