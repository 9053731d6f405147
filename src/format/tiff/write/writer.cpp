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

constexpr std::uint64_t kLeader = 4, kTrailer = 4;            // bytes around each tile
constexpr std::uint64_t kClassicEnd = 0xffffffff;             // offsets have 32 bits
constexpr std::uint64_t kCopyBytes = std::uint64_t{1} << 20;  // of a piece, and a tile more

class CogWriter final : public RasterWriter {
 public:
  CogWriter(std::unique_ptr<ObjectWriter> object, FileDescriptor spool, RasterPlan plan, std::string where,
            std::string in_spool)
      : object_(std::move(object)),
        spool_(std::move(spool)),
        plan_(std::move(plan)),
        where_(std::move(where)),
        in_spool_(std::move(in_spool)) {
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
    PENSTOCK_TRY(write_at(spool_.get(), at, {&encoded, 1}, in_spool_));
    table.offsets[chunk] = at;
    table.sizes[chunk] = encoded.size();
    return {};
  }

  Status lay_out(Job& job) override {
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
    PENSTOCK_TRY(object_->write_at(0, head));
    const std::vector<Piece> pieces = cut();
    return job.for_each(pieces.size(), true, [&](std::uint64_t i) { return copy(pieces[i], placed, job.worker()); });
  }
  Status commit(const WriteCondition& condition, const CancelToken& cancel) override {
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
  /// Tiles of a level, and the masks right behind theirs: how many, and which of what image is number i.
  [[nodiscard]] std::uint64_t tiles_of(std::size_t level) const {
    return waiting_[image(level, false)].sizes.size() * (plan_.masks.empty() ? 1 : 2);
  }
  [[nodiscard]] std::pair<std::size_t, std::uint64_t> tile(std::size_t level, std::uint64_t i) const {
    if (plan_.masks.empty()) return {image(level, false), i};
    return {image(level, i % 2 == 1), i / 2};
  }

  /// Fills in where the tiles will lie, and how large the file is.
  Result<bool> place(std::vector<TileTable>& placed, bool big) {
    PENSTOCK_ASSIGN(const std::vector<std::byte> head, make_head(plan_, placed, big));
    std::uint64_t at = head.size();
    for (std::size_t level = plan_.levels.size(); level-- > 0;)
      for (std::uint64_t i = 0; i < tiles_of(level); ++i) {
        const auto [which, chunk] = tile(level, i);
        const std::uint64_t size = waiting_[which].sizes[chunk];
        if (size == 0) return Error(ErrorCode::internal, where_ + ": a tile was not given");
        placed[which].offsets[chunk] = at + kLeader;
        at += kLeader + size + kTrailer;
      }
    object_bytes_ = at;
    return big;
  }

  /// Tiles of a level that lie behind each other in the file.
  struct Piece {
    std::size_t level;
    std::uint64_t first, end;
  };
  [[nodiscard]] std::vector<Piece> cut() const {
    std::vector<Piece> pieces;
    for (std::size_t level = 0; level < plan_.levels.size(); ++level) {
      std::uint64_t bytes = kCopyBytes;
      for (std::uint64_t i = 0; i < tiles_of(level); ++i) {
        const auto [which, chunk] = tile(level, i);
        if (bytes >= kCopyBytes) {
          pieces.push_back({level, i, i});
          bytes = 0;
        }
        bytes += kLeader + waiting_[which].sizes[chunk] + kTrailer;
        pieces.back().end = i + 1;
      }
    }
    return pieces;
  }

  Status copy(const Piece& piece, const std::vector<TileTable>& placed, Worker& worker) const {
    const StageClock clock(worker, Stage::store);
    const auto [first_image, first_chunk] = tile(piece.level, piece.first);
    std::uint64_t bytes = 0;
    for (std::uint64_t i = piece.first; i < piece.end; ++i) {
      const auto [which, chunk] = tile(piece.level, i);
      bytes += kLeader + waiting_[which].sizes[chunk] + kTrailer;
    }
    PENSTOCK_TRY(worker.encoded.resize_discard(bytes));
    std::byte* to = worker.encoded.data();
    for (std::uint64_t i = piece.first; i < piece.end; ++i) {
      const auto [which, chunk] = tile(piece.level, i);
      const std::uint64_t size = waiting_[which].sizes[chunk];
      for (std::uint64_t b = 0; b < kLeader; ++b) *to++ = static_cast<std::byte>(size >> 8 * b);
      PENSTOCK_TRY(read_at(spool_.get(), waiting_[which].offsets[chunk], {to, size}, in_spool_));
      to += size;
      const std::uint64_t repeated = std::min(size, kTrailer);
      std::memset(to, 0, kTrailer);
      std::memcpy(to + kTrailer - repeated, to - repeated, repeated);
      to += kTrailer;
    }
    return object_->write_at(placed[first_image].offsets[first_chunk] - kLeader, worker.encoded);
  }

  std::unique_ptr<ObjectWriter> object_;
  FileDescriptor spool_;
  const RasterPlan plan_;
  const std::string where_, in_spool_;  // in front of errors
  std::vector<TileTable> waiting_;      // where tiles lie in the spool
  std::atomic<std::uint64_t> spooled_{0};
  std::uint64_t object_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<RasterWriter>> create_cog(Store& store, std::string_view path, const RasterPlan& plan) {
  PENSTOCK_TRY(check_key(path));
  PENSTOCK_ASSIGN(std::unique_ptr<ObjectWriter> object, store.writer(path));
  const char* const said = std::getenv("TMPDIR");
  const std::string directory = said != nullptr && *said != '\0' ? said : "/tmp";
  const std::string where = metadata::where(store, path);
  const std::string in_spool = fmt::format("{}: its tiles wait in {} ($TMPDIR names another folder)", where, directory);
  PENSTOCK_ASSIGN_IN(FileDescriptor spool, make_nameless_file(directory), in_spool);
  return std::unique_ptr<RasterWriter>(
      std::make_unique<CogWriter>(std::move(object), std::move(spool), plan, where, in_spool));
}

}  // namespace penstock::tiff
