// The tiles wait in a file without a name until it is known how large all of them are.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "format/members.hpp"
#include "format/node.hpp"
#include "format/tiff/write/cog.hpp"
#include "store/object_writer.hpp"
#include "store/posix.hpp"

namespace penstock::tiff {
namespace {

constexpr std::uint64_t kLeader = 4, kTrailer = 4;  // bytes around each tile
constexpr std::uint64_t kClassicEnd = 0xffffffff;   // offsets have 32 bits
constexpr std::uint64_t kCopyBytes = std::uint64_t{8} << 20;

class CogWriter final : public RasterWriter {
 public:
  CogWriter(std::unique_ptr<ObjectWriter> object, FileDescriptor spool, RasterPlan plan, std::string where)
      : object_(std::move(object)), spool_(std::move(spool)), plan_(std::move(plan)), where_(std::move(where)) {
    for (std::size_t level = 0; level < plan_.levels.size(); ++level) {
      add_image(plan_.levels[level]);
      if (!plan_.masks.empty()) add_image(plan_.masks[level]);
    }
  }

  Status put(std::size_t level, bool of_mask, std::uint64_t chunk, ByteView encoded) override {
    if (encoded.size() > kClassicEnd)
      return Error(ErrorCode::unsupported,
                   fmt::format("{}: a tile of {} bytes: a COG's are below 4 GiB", where_, encoded.size()));
    TileTable& table = waiting_[image(level, of_mask)];
    const std::uint64_t at = spooled_.fetch_add(encoded.size());
    PENSTOCK_TRY(write_at(spool_.get(), at, {&encoded, 1}, where_));
    table.offsets[chunk] = at;
    table.sizes[chunk] = encoded.size();
    return {};
  }

  Status commit(const WriteCondition& condition, const CancelToken& cancel) override {
    std::vector<TileTable> placed = waiting_;
    PENSTOCK_ASSIGN(bool big, place(placed, plan_.options.big_tiff.value_or(false)));
    if (!plan_.options.big_tiff && object_bytes_ > kClassicEnd) {
      PENSTOCK_ASSIGN(big, place(placed, true));
    }
    if (!big && object_bytes_ > kClassicEnd)
      return Error(ErrorCode::invalid_argument,
                   fmt::format("{}: {} bytes are too many for a classic TIFF", where_, object_bytes_))
          .set_hint("leave the choice open, or ask for BigTIFF.");
    PENSTOCK_ASSIGN(const std::vector<std::byte> head, make_head(plan_, placed, big));
    PENSTOCK_TRY(object_->append(head));
    for (std::size_t level = plan_.levels.size(); level-- > 0;) PENSTOCK_TRY(copy_level(level, cancel));
    PENSTOCK_TRY(flush());
    return object_->commit(condition, cancel);
  }
  [[nodiscard]] std::uint64_t file_bytes() const override { return object_bytes_; }

 private:
  void add_image(const Dataset& dataset) {
    const std::uint64_t chunks = dataset.grid_shape()[1] * dataset.grid_shape()[2];
    waiting_.push_back({std::vector<std::uint64_t>(chunks), std::vector<std::uint64_t>(chunks)});
  }
  [[nodiscard]] std::size_t image(std::size_t level, bool of_mask) const {
    return plan_.masks.empty() ? level : 2 * level + (of_mask ? 1 : 0);
  }
  /// Calls `tile(image, chunk)` for all tiles in the order of the file; those of masks come right behind theirs.
  template <class Tile>
  Status each_tile_of(std::size_t level, const Tile& tile) const {
    const std::uint64_t chunks = waiting_[image(level, false)].sizes.size();
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
      PENSTOCK_TRY(tile(image(level, false), chunk));
      if (!plan_.masks.empty()) PENSTOCK_TRY(tile(image(level, true), chunk));
    }
    return {};
  }

  /// Fills in where the tiles will lie, and how large the file is.
  Result<bool> place(std::vector<TileTable>& placed, bool big) {
    PENSTOCK_ASSIGN(const std::vector<std::byte> head, make_head(plan_, placed, big));
    std::uint64_t at = head.size();
    for (std::size_t level = plan_.levels.size(); level-- > 0;)
      PENSTOCK_TRY(each_tile_of(level, [&](std::size_t which, std::uint64_t chunk) -> Status {
        const std::uint64_t size = waiting_[which].sizes[chunk];
        if (size == 0) return Error(ErrorCode::internal, where_ + ": a tile was not given");
        placed[which].offsets[chunk] = at + kLeader;
        at += kLeader + size + kTrailer;
        return {};
      }));
    object_bytes_ = at;
    return big;
  }

  Status copy_level(std::size_t level, const CancelToken& cancel) {
    return each_tile_of(level, [&](std::size_t which, std::uint64_t chunk) -> Status {
      PENSTOCK_TRY(cancel.check("write"));
      const std::uint64_t size = waiting_[which].sizes[chunk];
      const std::size_t at = buffer_.size();
      buffer_.resize(at + kLeader + size + kTrailer);
      std::byte* const tile = buffer_.data() + at + kLeader;
      for (std::uint64_t i = 0; i < kLeader; ++i) buffer_[at + i] = static_cast<std::byte>(size >> 8 * i);
      PENSTOCK_TRY(read_at(spool_.get(), waiting_[which].offsets[chunk], {tile, size}, where_));
      const std::uint64_t repeated = std::min(size, kTrailer);
      std::memset(tile + size, 0, kTrailer);
      std::memcpy(tile + size + kTrailer - repeated, tile + size - repeated, repeated);
      return buffer_.size() >= kCopyBytes ? flush() : Status();
    });
  }
  Status flush() {
    PENSTOCK_TRY(object_->append(buffer_));
    buffer_.clear();
    return {};
  }

  std::unique_ptr<ObjectWriter> object_;
  FileDescriptor spool_;
  const RasterPlan plan_;
  const std::string where_;
  std::vector<TileTable> waiting_;  // where tiles lie in the spool
  std::atomic<std::uint64_t> spooled_{0};
  std::uint64_t object_bytes_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace

Result<std::unique_ptr<RasterWriter>> create_cog(Store& store, std::string_view path, const RasterPlan& plan) {
  PENSTOCK_TRY(check_key(path));
  PENSTOCK_ASSIGN(std::unique_ptr<ObjectWriter> object, store.writer(path));
  const char* const directory = std::getenv("TMPDIR");
  PENSTOCK_ASSIGN(FileDescriptor spool,
                  make_nameless_file(directory != nullptr && *directory != '\0' ? directory : "/tmp"));
  return std::unique_ptr<RasterWriter>(
      std::make_unique<CogWriter>(std::move(object), std::move(spool), plan, metadata::where(store, path)));
}

}  // namespace penstock::tiff
