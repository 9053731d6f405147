// Chunks of one object whose places stand in a table in it: the tiles and strips of a TIFF.
#pragma once
#include <map>
#include <mutex>

#include "array/index/chunk_index.hpp"

namespace penstock {

/// Numbers of one kind that follow each other in the object.
struct TableColumn {
  std::uint64_t offset_bytes = 0;
  std::uint32_t item_bytes = 8;  ///< 2, 4 or 8
};

/// What an object says of its chunks.
struct ChunkTable {
  std::string key;
  TableColumn offsets, sizes;  ///< of the chunks in C order of the grid; 0 and 0: the chunk is absent
  bool big_endian = false;
  Shape shape, chunk_shape;            ///< of the array
  std::vector<char> cropped_at_edges;  ///< by dimension: chunks end where the array does
};

/// The elements that a chunk has where the array ends inside it; empty: all.
Shape valid_part(std::span<const std::uint64_t> chunk, const Shape& shape, const Shape& chunk_shape,
                 std::span<const char> cropped);

/// Reads the table by pages as they are needed, and keeps them.  Chunks may lie in any order and share bytes.
class TableIndex final : public ChunkIndex {
 public:
  /// Errors: invalid_metadata (numbers of another size).
  static Result<std::unique_ptr<TableIndex>> make(ChunkTable table);
  Status locate(const ChunkIds& chunks, Fetcher& fetcher, std::span<ChunkRef> out) const override;
  void forget(const ChunkHolder& holder) const override;

  static constexpr std::uint64_t kPageItems = 4096;

 private:
  struct Page {
    std::vector<std::uint64_t> items;
    std::optional<Error> error;
  };
  using PageNumber = std::pair<bool, std::uint64_t>;  // whether of the sizes, and which
  explicit TableIndex(ChunkTable table) : table_(std::move(table)) {}
  Status read_pages(std::span<const PageNumber> wanted, Fetcher& fetcher) const;
  [[nodiscard]] Page page_of(const FetchAnswer& answer, const TableColumn& column) const;

  ChunkTable table_;
  Shape grid_;
  std::uint64_t count_ = 0;
  mutable std::mutex mutex_;  // of what follows
  mutable std::map<PageNumber, Page> pages_;
  mutable std::shared_ptr<const ChunkHolder> holder_;  // at the version that the pages are of
};

}  // namespace penstock
