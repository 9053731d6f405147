// Whether a TIFF lies as a Cloud Optimized GeoTIFF does: https://docs.ogc.org/is/21-026/21-026.html, and the promises
// of the ghost area (https://gdal.org/en/stable/drivers/raster/cog.html).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "format/tiff/tiff.hpp"

namespace penstock::tiff {
namespace {

constexpr std::uint64_t kSmall = 512;          // no side longer: neither tiles nor overviews are asked for
constexpr std::uint64_t kMaxTiles = 1U << 26;  // a table of more is refused
constexpr std::string_view kGhost = "GDAL_STRUCTURAL_METADATA_SIZE=";
constexpr std::size_t kGhostLineBytes = 43;  // "GDAL_STRUCTURAL_METADATA_SIZE=XXXXXX bytes\n"

/// What the ghost area promises; empty: there is none.
Result<std::string> ghost_area(ByteSource& file, const Directory& first) {
  const std::uint64_t at = first.big ? 16 : 8;
  if (file.size() < at + kGhostLineBytes) return std::string();
  PENSTOCK_ASSIGN(const ByteView line, file.get(at, kGhostLineBytes));
  const std::string text(reinterpret_cast<const char*>(line.data()), line.size());
  if (!text.starts_with(kGhost)) return std::string();
  std::uint64_t size = 0;
  for (const char c : text.substr(kGhost.size(), 6)) {
    if (c < '0' || c > '9') return std::string();
    size = 10 * size + static_cast<std::uint64_t>(c - '0');
  }
  if (size > file.size() - at - kGhostLineBytes) return std::string();
  PENSTOCK_ASSIGN(const ByteView rest, file.get(at + kGhostLineBytes, size));
  return text + std::string(reinterpret_cast<const char*>(rest.data()), rest.size());
}

/// Offsets and sizes of all tiles of an image.
struct Tiles {
  std::vector<std::uint64_t> offsets, sizes;
  /// Of the first byte of data; nullopt: every tile is absent.
  [[nodiscard]] std::optional<std::uint64_t> first_offset() const {
    std::optional<std::uint64_t> least;
    for (std::size_t i = 0; i < offsets.size(); ++i)
      if (offsets[i] != 0 && (!least || offsets[i] < *least)) least = offsets[i];
    return least;
  }
};

Result<Tiles> tiles_of(ByteSource& file, const Directory& directory) {
  Tiles tiles;
  for (const bool tiled : {true, false}) {
    const Field* const offsets = directory.find(tiled ? Tag::TileOffsets : Tag::StripOffsets);
    const Field* const sizes = directory.find(tiled ? Tag::TileByteCounts : Tag::StripByteCounts);
    if (offsets == nullptr || sizes == nullptr) continue;
    PENSTOCK_ASSIGN(tiles.offsets, whole_numbers(file, directory, *offsets, kMaxTiles));
    PENSTOCK_ASSIGN(tiles.sizes, whole_numbers(file, directory, *sizes, kMaxTiles));
    if (tiles.offsets.size() != tiles.sizes.size())
      return Error(ErrorCode::invalid_metadata, where(directory, offsets->tag) + ": as many sizes are wanted");
    break;
  }
  return tiles;
}

class Check {
 public:
  Check(ByteSource& file, const std::vector<Directory>& directories, const Images& images)
      : file_(file), directories_(directories), images_(images) {}

  Result<std::vector<std::string>> run(bool every_tile) {
    PENSTOCK_ASSIGN(const std::string ghost, ghost_area(file_, directories_.front()));
    check_directories(ghost);
    check_shapes();
    PENSTOCK_TRY(check_data(ghost, every_tile));
    if (ghost.find("KNOWN_INCOMPATIBLE_EDITION=YES") != std::string::npos)
      add("the ghost area says that the file was changed by a program that does not know its order");
    return std::move(problems_);
  }

 private:
  void add(std::string problem) { problems_.push_back(std::move(problem)); }

  void check_directories(const std::string& ghost) {
    const std::uint64_t header = directories_.front().big ? 16 : 8;
    const std::uint64_t wanted = header + ghost.size();
    const std::uint64_t first = directories_.front().offset_bytes;
    if (first < wanted || first > wanted + 8)
      add(fmt::format("the first IFD lies at byte {}, not behind the header (byte {})", first, wanted));
    for (std::size_t i = 1; i < directories_.size(); ++i)
      if (directories_[i].offset_bytes < directories_[i - 1].offset_bytes)
        add(fmt::format("the IFD at byte {} lies before the one at byte {} that leads to it",
                        directories_[i].offset_bytes, directories_[i - 1].offset_bytes));
  }

  void check_shapes() {
    const auto& levels = images_.levels;
    const bool is_large = levels.front().height > kSmall || levels.front().width > kSmall;
    for (std::size_t k = 0; k < levels.size(); ++k) {
      const bool tiled = levels[k].image->find(Tag::TileWidth) != nullptr;
      if (!tiled && (levels[k].height > kSmall || levels[k].width > kSmall))
        add(fmt::format("level {} is stored in strips, not in tiles", k));
    }
    if (is_large && levels.size() == 1) add("there are no overviews");
    std::uint64_t before = 0;
    for (const LevelImages& level : levels) {
      if (level.image->offset_bytes < before)
        add(fmt::format("the IFD of the level of {} x {} comes before that of a larger one", level.height,
                        level.width));
      before = level.image->offset_bytes;
    }
  }

  Status check_data(const std::string& ghost, bool every_tile) {
    const bool has_leaders = ghost.find("BLOCK_LEADER=SIZE_AS_UINT4") != std::string::npos;
    const bool has_trailers = ghost.find("BLOCK_TRAILER=LAST_4_BYTES_REPEATED") != std::string::npos;
    const bool in_rows = ghost.find("BLOCK_ORDER=ROW_MAJOR") != std::string::npos;
    std::uint64_t last_directory = 0;
    for (const Directory& directory : directories_) last_directory = std::max(last_directory, directory.offset_bytes);
    std::optional<std::uint64_t> finer;  // first byte of the level before
    for (std::size_t k = 0; k < images_.levels.size(); ++k) {
      PENSTOCK_ASSIGN(const Tiles tiles, tiles_of(file_, *images_.levels[k].image));
      const auto first = tiles.first_offset();
      if (first && *first < last_directory) add(fmt::format("tiles of level {} lie before the last IFD", k));
      if (first && finer && *first > *finer)
        add(fmt::format("the tiles of level {} lie behind those of level {}", k, k - 1));
      if (first) finer = first;
      if (in_rows) check_order(k, tiles);
      if (every_tile && (has_leaders || has_trailers)) PENSTOCK_TRY(check_edges(k, tiles, has_leaders, has_trailers));
    }
    return {};
  }

  void check_order(std::size_t level, const Tiles& tiles) {
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < tiles.offsets.size(); ++i) {
      if (tiles.offsets[i] == 0) continue;
      if (tiles.offsets[i] < before)
        return add(fmt::format("tile {} of level {} lies before the one before it, against the ghost area", i, level));
      before = tiles.offsets[i];
    }
  }

  Status check_edges(std::size_t level, const Tiles& tiles, bool has_leaders, bool has_trailers) {
    for (std::size_t i = 0; i < tiles.offsets.size(); ++i) {
      const std::uint64_t offset = tiles.offsets[i], size = tiles.sizes[i];
      if (offset < 4 || size < 4) continue;
      if (has_leaders) {
        PENSTOCK_ASSIGN_IN(const ByteView leader, file_.get(offset - 4, 4),
                           fmt::format("tile {} of level {}", i, level));
        std::uint64_t said = 0;
        for (std::size_t b = 0; b < 4; ++b) said |= static_cast<std::uint64_t>(leader[b]) << 8 * b;
        if (said != size) {
          add(fmt::format("tile {} of level {} has {} bytes, the number before it says {}", i, level, size, said));
          return {};
        }
      }
      if (!has_trailers) continue;
      PENSTOCK_ASSIGN_IN(const ByteView end, file_.get(offset + size - 4, 8),
                         fmt::format("tile {} of level {}", i, level));
      if (std::memcmp(end.data(), end.data() + 4, 4) != 0) {
        add(fmt::format("the last 4 bytes of tile {} of level {} are not repeated behind it", i, level));
        return {};
      }
    }
    return {};
  }

  ByteSource& file_;
  const std::vector<Directory>& directories_;
  const Images& images_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<std::vector<std::string>> cog_problems(ByteSource& file, bool every_tile) {
  PENSTOCK_ASSIGN(const std::vector<Directory> directories, read_directories(file, kMaxImages));
  PENSTOCK_ASSIGN(const Images images, find_images(file, directories));
  return Check(file, directories, images).run(every_tile);
}

}  // namespace penstock::tiff
