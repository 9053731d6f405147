#include "array/index/table_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/checked.hpp"

namespace penstock {
namespace {

std::uint64_t number_at(const std::byte* at, std::uint32_t bytes, std::endian order) {
  std::uint64_t value = 0;
  for (std::uint32_t i = 0; i < bytes; ++i)
    value |= std::to_integer<std::uint64_t>(at[i]) << 8 * (order == std::endian::big ? bytes - 1 - i : i);
  return value;
}

Error wrong_table(const ChunkTable& table, const std::string& why) {
  return {ErrorCode::invalid_metadata, fmt::format("{}: the table of chunks {}", table.key, why)};
}

Status check_column(const ChunkTable& table, const TableColumn& column, std::uint64_t count) {
  if (!column.values.empty()) {
    if (column.values.size() == count) return {};
    return wrong_table(table, fmt::format("has {} numbers for {} chunks", column.values.size(), count));
  }
  if (column.item_bytes != 2 && column.item_bytes != 4 && column.item_bytes != 8)
    return wrong_table(table, fmt::format("has numbers of {} bytes", column.item_bytes));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(count, column.item_bytes));
  PENSTOCK_TRY(checked_add(column.offset_bytes, bytes));
  return {};
}

/// Each dimension stands in the order once.
Status complete_order(ChunkTable& table, std::size_t rank) {
  std::vector<std::size_t> dims(rank);
  std::iota(dims.begin(), dims.end(), std::size_t{0});
  if (table.order.empty()) table.order = dims;
  if (!std::is_permutation(table.order.begin(), table.order.end(), dims.begin(), dims.end()))
    return wrong_table(table, fmt::format("has an order that does not name {} dimensions once each", rank));
  return {};
}

Status check_chunk_bytes(const ChunkTable& table, const Shape& chunk_shape, std::uint64_t item_bytes) {
  PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(chunk_shape));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(elements, item_bytes));
  if (table.max_chunk_bytes == 0 || bytes <= table.max_chunk_bytes) return {};
  return wrong_table(table, fmt::format("is of chunks {} of {} bytes; they may have {}", to_string(chunk_shape), bytes,
                                        table.max_chunk_bytes));
}

}  // namespace

Result<std::unique_ptr<TableIndex>> TableIndex::make(ChunkTable table, Shape shape, Shape chunk_shape,
                                                     std::uint64_t item_bytes, std::uint64_t plain_chunk_bytes,
                                                     std::string part) {
  PENSTOCK_TRY(complete_order(table, shape.size()));
  table.cropped_at_edges.resize(shape.size(), false);
  PENSTOCK_TRY(check_chunk_bytes(table, chunk_shape, item_bytes));
  std::unique_ptr<TableIndex> index(
      new TableIndex(std::move(table), std::move(shape), std::move(chunk_shape), plain_chunk_bytes, std::move(part)));
  for (std::size_t d = 0; d < index->shape_.size(); ++d)
    index->grid_.push_back(div_up(index->shape_[d], index->chunk_shape_[d]));
  PENSTOCK_ASSIGN(index->count_, element_count(index->grid_));
  for (const TableColumn* column : {&index->table_.offsets, &index->table_.sizes})
    PENSTOCK_TRY(check_column(index->table_, *column, index->count_));
  index->holder_ = std::make_shared<const ChunkHolder>(ChunkHolder{index->table_.key, index->part_, {}});
  return index;
}

TableIndex::Page TableIndex::page_of(const FetchAnswer& answer, const TableColumn& from) const {
  Page page;
  if (!answer.status)
    page.error = answer.status.error();
  else if (answer.absent)
    page.error = Error(ErrorCode::not_found, table_.key + ": the object has vanished");
  else
    for (std::size_t at = 0; at < answer.bytes.size(); at += from.item_bytes)
      page.items.push_back(number_at(answer.bytes.data() + at, from.item_bytes, table_.byte_order));
  return page;
}

FetchRequest TableIndex::request_for(const PageNumber& number, const ChunkHolder& holder) const {
  const TableColumn& from = column(number.first);
  const std::uint64_t first = number.second * kPageItems;
  const ByteRange range = ByteRange::span(from.offset_bytes + first * from.item_bytes,
                                          std::min(kPageItems, count_ - first) * from.item_bytes);
  return {table_.key, range, holder.same_as()};
}

/// All of one version of the object: until one is known, the first page alone says which.
Status TableIndex::read_pages(Wanted& wanted, Fetcher& fetcher) const {
  std::vector<PageNumber> missing;
  {
    const std::scoped_lock lock(mutex_);
    wanted.holder = holder_;
    for (auto& [number, page] : wanted.pages) {
      if (const auto kept = pages_.find(number); kept != pages_.end())
        page = kept->second;
      else
        missing.push_back(number);
    }
  }
  if (missing.empty()) return {};
  const std::shared_ptr<const ChunkHolder> before = wanted.holder;
  bool known = before->same_as() != nullptr;
  for (std::size_t first = 0; first < missing.size();) {
    const auto some = std::span(missing).subspan(first, known ? missing.size() - first : 1);
    std::vector<FetchRequest> requests;
    for (const PageNumber& number : some) requests.push_back(request_for(number, *wanted.holder));
    const std::vector<Fetched> answers = fetcher.fetch(requests);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      Page page = page_of(answers[i].answer, column(some[i].first));
      if (page.error && ends_work(*page.error)) return *std::move(page.error);
      if (!known && !page.error) {
        wanted.holder = std::make_shared<const ChunkHolder>(ChunkHolder{table_.key, part_, answers[i].answer.version});
        known = true;
      }
      wanted.pages[some[i]] = std::make_shared<const Page>(std::move(page));
    }
    first += some.size();
  }
  keep(wanted, before);
  return {};
}

/// Pages for later calls, but those that could not be read.  Where there are too many, the last ones stay.
void TableIndex::keep(const Wanted& wanted, const std::shared_ptr<const ChunkHolder>& before) const {
  const std::scoped_lock lock(mutex_);
  if (holder_ != before) return;  // another thread has read some, perhaps of another version
  holder_ = wanted.holder;
  if (pages_.size() + wanted.pages.size() > kMaxPages) pages_.clear();
  for (const auto& [number, page] : wanted.pages)
    if (!page->error && pages_.size() < kMaxPages) pages_.insert_or_assign(number, page);
}

/// Of a chunk, in the table.
std::uint64_t TableIndex::number_of(std::span<const std::uint64_t> chunk) const {
  std::uint64_t number = 0;
  for (const std::size_t d : table_.order) number = number * grid_[d] + chunk[d];
  return number;
}

Result<std::uint64_t> TableIndex::item(const Wanted& wanted, bool of_sizes, std::uint64_t number) const {
  const TableColumn& from = column(of_sizes);
  if (!from.values.empty()) return from.values[number];
  const Page& page = *wanted.pages.at({of_sizes, number / kPageItems});
  if (page.error) return *page.error;
  if (number % kPageItems < page.items.size()) return page.items[number % kPageItems];
  return Error(ErrorCode::corrupt_data, table_.key + ": the object ends inside its table of chunks");
}

Status TableIndex::take_place(ChunkRef& ref, const Wanted& wanted, std::uint64_t number) const {
  PENSTOCK_ASSIGN(ref.offset_bytes, item(wanted, false, number));
  PENSTOCK_ASSIGN(ref.size_bytes, item(wanted, true, number));
  if (ref.offset_bytes == 0 && ref.size_bytes == 0) return {};
  if (ref.size_bytes > std::numeric_limits<std::uint64_t>::max() - ref.offset_bytes)
    return Error(ErrorCode::corrupt_data,
                 fmt::format("the table of chunks places {} bytes at byte {}", ref.size_bytes, ref.offset_bytes));
  ref.state = ChunkRef::State::stored;
  return {};
}

/// A last chunk may have been stored whole, with rows beyond the array.
void TableIndex::crop(ChunkRef& ref) const {
  if (ref.valid.empty() || ref.size_bytes != plain_chunk_bytes_) return;
  for (std::size_t d = 0; d < shape_.size(); ++d)
    if (table_.cropped_at_edges[d]) ref.size_bytes = ref.size_bytes / chunk_shape_[d] * ref.valid[d];
}

Status TableIndex::locate(const ChunkIds& chunks, Fetcher& fetcher, std::span<ChunkRef> out) const {
  Wanted wanted;
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    numbers.push_back(number_of(chunks[i]));
    for (const bool sizes : {false, true})
      if (column(sizes).values.empty()) wanted.pages[{sizes, numbers.back() / kPageItems}];
  }
  PENSTOCK_TRY(read_pages(wanted, fetcher));
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    ChunkRef& ref = out[i];
    ref.holder = wanted.holder;
    ref.inner = numbers[i];
    if (Status done = take_place(ref, wanted, numbers[i]); !done) {
      ref.error = std::move(done).error();
    } else if (ref.state != ChunkRef::State::absent) {
      ref.valid = valid_part(chunks[i], shape_, chunk_shape_, table_.cropped_at_edges);
      crop(ref);
    }
  }
  return {};
}

void TableIndex::forget(const ChunkHolder& /*holder*/) const {
  const std::scoped_lock lock(mutex_);
  pages_.clear();
  holder_ = std::make_shared<const ChunkHolder>(ChunkHolder{table_.key, part_, {}});
}

}  // namespace penstock
