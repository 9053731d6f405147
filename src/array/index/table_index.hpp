// Chunks of one object whose places stand in a table in it: the tiles and strips of a TIFF.
#pragma once
#include <map>
#include <mutex>

#include "array/index/chunk_index.hpp"
#include "penstock/dataset.hpp"

namespace penstock {

/// Reads the table by pages as they are needed, and keeps them.  Chunks may lie in any order and share bytes.
class TableIndex final : public ChunkIndex {
 public:
  /// `shape`, `chunk_shape` (no zeros), `item_bytes`: of the array.  `plain_chunk_bytes`: of a whole chunk, where
  /// chunks are stored as they are and the cropped dimension goes slowest in them: of a last chunk that was stored
  /// whole, with elements beyond the array, the front is read.  0: chunks are encoded. `part`: what errors call the
  /// array in its object, which may hold several; empty: nothing.  Errors: invalid_metadata (numbers of another size, a
  /// wrong number of them, an order that is none, chunks larger than the table allows).
  static Result<std::unique_ptr<TableIndex>> make(ChunkTable table, Shape shape, Shape chunk_shape,
                                                  std::uint64_t item_bytes, std::uint64_t plain_chunk_bytes = 0,
                                                  std::string part = {});
  Status locate(const ChunkIds& chunks, Fetcher& fetcher, std::span<ChunkRef> out) const override;
  [[nodiscard]] bool crops(std::size_t dimension) const override { return table_.cropped_at_edges[dimension]; }
  void forget(const ChunkHolder& holder) const override;

  static constexpr std::uint64_t kPageItems = 4096;
  static constexpr std::size_t kMaxPages = 1024;  ///< kept: 32 MB

 private:
  struct Page {
    std::vector<std::uint64_t> items;
    std::optional<Error> error;
  };
  using PageNumber = std::pair<bool, std::uint64_t>;  // whether of the sizes, and which
  using Pages = std::map<PageNumber, std::shared_ptr<const Page>>;
  /// What one call works with.
  struct Wanted {
    std::shared_ptr<const ChunkHolder> holder;
    Pages pages;
  };
  TableIndex(ChunkTable table, Shape shape, Shape chunk_shape, std::uint64_t plain_chunk_bytes, std::string part)
      : table_(std::move(table)),
        shape_(std::move(shape)),
        chunk_shape_(std::move(chunk_shape)),
        plain_chunk_bytes_(plain_chunk_bytes),
        part_(std::move(part)) {}
  [[nodiscard]] const TableColumn& column(bool of_sizes) const { return of_sizes ? table_.sizes : table_.offsets; }
  [[nodiscard]] std::uint64_t number_of(std::span<const std::uint64_t> chunk) const;
  [[nodiscard]] FetchRequest request_for(const PageNumber& number, const ChunkHolder& holder) const;
  [[nodiscard]] Page page_of(const FetchAnswer& answer, const TableColumn& from) const;
  Status read_pages(Wanted& wanted, Fetcher& fetcher) const;
  void keep(const Wanted& wanted, const std::shared_ptr<const ChunkHolder>& before) const;
  [[nodiscard]] Result<std::uint64_t> item(const Wanted& wanted, bool of_sizes, std::uint64_t number) const;
  Status take_place(ChunkRef& ref, const Wanted& wanted, std::uint64_t number) const;
  void crop(ChunkRef& ref) const;

  ChunkTable table_;
  Shape shape_, chunk_shape_;
  std::uint64_t plain_chunk_bytes_ = 0;
  std::string part_;
  Shape grid_;
  std::uint64_t count_ = 0;
  mutable std::mutex mutex_;  // of what follows
  mutable Pages pages_;
  mutable std::shared_ptr<const ChunkHolder> holder_;  // at the version that the pages are of
};

}  // namespace penstock
