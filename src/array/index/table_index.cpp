#include "array/index/table_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/checked.hpp"

namespace penstock {
namespace {

std::uint64_t number_at(const std::byte* at, std::uint32_t bytes, bool big_endian) {
  std::uint64_t value = 0;
  for (std::uint32_t i = 0; i < bytes; ++i)
    value |= std::to_integer<std::uint64_t>(at[i]) << 8 * (big_endian ? bytes - 1 - i : i);
  return value;
}

}  // namespace

Shape valid_part(std::span<const std::uint64_t> chunk, const Shape& shape, const Shape& chunk_shape,
                 std::span<const char> cropped) {
  Shape valid = chunk_shape;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (cropped[d] != 0) valid[d] = std::min(chunk_shape[d], shape[d] - chunk[d] * chunk_shape[d]);
  return valid == chunk_shape ? Shape{} : valid;
}

Result<std::unique_ptr<TableIndex>> TableIndex::make(ChunkTable table) {
  for (const TableColumn& column : {table.offsets, table.sizes})
    if (column.item_bytes != 2 && column.item_bytes != 4 && column.item_bytes != 8)
      return Error(ErrorCode::invalid_metadata,
                   fmt::format("{}: numbers of {} bytes in the table of chunks", table.key, column.item_bytes));
  table.cropped_at_edges.resize(table.shape.size(), 0);
  std::unique_ptr<TableIndex> index(new TableIndex(std::move(table)));
  for (std::size_t d = 0; d < index->table_.shape.size(); ++d)
    index->grid_.push_back(div_up(index->table_.shape[d], index->table_.chunk_shape[d]));
  PENSTOCK_ASSIGN(index->count_, element_count(index->grid_));
  for (const TableColumn& column : {index->table_.offsets, index->table_.sizes}) {
    PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(index->count_, column.item_bytes));
    PENSTOCK_TRY(checked_add(column.offset_bytes, bytes));
  }
  index->holder_ = std::make_shared<const ChunkHolder>(ChunkHolder{index->table_.key, {}, {}});
  return index;
}

TableIndex::Page TableIndex::page_of(const FetchAnswer& answer, const TableColumn& column) const {
  Page page;
  if (!answer.status)
    page.error = answer.status.error();
  else if (answer.absent)
    page.error = Error(ErrorCode::not_found, table_.key + ": the object has vanished");
  else
    for (std::size_t at = 0; at < answer.bytes.size(); at += column.item_bytes)
      page.items.push_back(number_at(answer.bytes.data() + at, column.item_bytes, table_.big_endian));
  return page;
}

/// Pages that could not be read are not kept beyond the call that wanted them (locate).
Status TableIndex::read_pages(std::span<const PageNumber> wanted, Fetcher& fetcher) const {
  std::vector<PageNumber> missing;
  std::shared_ptr<const ChunkHolder> holder;
  {
    const std::scoped_lock lock(mutex_);
    holder = holder_;
    for (const PageNumber& number : wanted)
      if (!pages_.contains(number)) missing.push_back(number);
  }
  // Pages must be of one version: until one is known, the first page alone says which.
  for (std::size_t first = 0; first < missing.size();) {
    const bool known = holder->same_as() != nullptr;
    const std::size_t count = known ? missing.size() - first : 1;
    std::vector<FetchRequest> requests;
    for (const PageNumber& number : std::span(missing).subspan(first, count)) {
      const TableColumn& column = number.first ? table_.sizes : table_.offsets;
      const std::uint64_t item = number.second * kPageItems;
      requests.push_back({table_.key,
                          ByteRange::span(column.offset_bytes + item * column.item_bytes,
                                          std::min(kPageItems, count_ - item) * column.item_bytes),
                          holder->same_as()});
    }
    const std::vector<Fetched> answers = fetcher.fetch(requests);
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const PageNumber number = missing[first + i];
      Page page = page_of(answers[i].answer, number.first ? table_.sizes : table_.offsets);
      if (page.error && (page.error->code() == ErrorCode::cancelled || page.error->code() == ErrorCode::out_of_memory))
        return *std::move(page.error);
      if (!known && !page.error) {
        holder = std::make_shared<const ChunkHolder>(ChunkHolder{table_.key, {}, answers[i].answer.version});
        if (holder_->same_as() == nullptr) holder_ = holder;
        holder = holder_;
      }
      pages_.insert_or_assign(number, std::move(page));
    }
    first += count;
  }
  return {};
}

Status TableIndex::locate(const ChunkIds& chunks, Fetcher& fetcher, std::span<ChunkRef> out) const {
  std::vector<std::uint64_t> numbers;
  std::set<PageNumber> pages;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    std::uint64_t linear = 0;
    for (std::size_t d = 0; d < grid_.size(); ++d) linear = linear * grid_[d] + chunks[i][d];
    numbers.push_back(linear);
    for (const bool sizes : {false, true}) pages.insert({sizes, linear / kPageItems});
  }
  PENSTOCK_TRY(read_pages(std::vector<PageNumber>(pages.begin(), pages.end()), fetcher));
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    ChunkRef& ref = out[i];
    ref.holder = holder_;
    ref.inner = numbers[i];
    const std::uint64_t page = numbers[i] / kPageItems, at = numbers[i] % kPageItems;
    const auto offsets = pages_.find({false, page}), sizes = pages_.find({true, page});
    if (offsets == pages_.end() || sizes == pages_.end()) {  // forgotten by another thread
      ref.error = Error(ErrorCode::changed, table_.key + ": the object was replaced meanwhile");
      continue;
    }
    ref.error = offsets->second.error ? offsets->second.error : sizes->second.error;
    if (ref.error) continue;
    ref.offset_bytes = offsets->second.items[at];
    ref.size_bytes = sizes->second.items[at];
    if (ref.offset_bytes == 0 && ref.size_bytes == 0) continue;
    if (ref.size_bytes > std::numeric_limits<std::uint64_t>::max() - ref.offset_bytes) {
      ref.error = Error(ErrorCode::corrupt_data, fmt::format("the table of chunks places {} bytes at byte {}",
                                                             ref.size_bytes, ref.offset_bytes));
      continue;
    }
    ref.state = ChunkRef::State::stored;
    ref.valid = valid_part(chunks[i], table_.shape, table_.chunk_shape, table_.cropped_at_edges);
  }
  std::erase_if(pages_, [](const auto& page) { return page.second.error.has_value(); });
  return {};
}

void TableIndex::forget(const ChunkHolder& /*holder*/) const {
  const std::scoped_lock lock(mutex_);
  pages_.clear();
  holder_ = std::make_shared<const ChunkHolder>(ChunkHolder{table_.key, {}, {}});
}

}  // namespace penstock
