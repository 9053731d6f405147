#include "array/read/load.hpp"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

bool is_known(const ObjectVersion& version) { return version.number != 0 || version.pin; }

/// The bytes of an uncompressed chunk that any of its uses wants.
ByteExtent wanted_bytes(const ObjectChunks& object, const ObjectChunks::Chunk& chunk) {
  ChunkSliceArray buffer;
  ByteExtent all{~std::uint64_t{0}, 0};
  for (std::size_t u = chunk.first_use; u < chunk.last_use; ++u) {
    const ChunkUse use = object.use(chunk, u, buffer);
    const ByteExtent one = touched_bytes(use.chain->chunk_layout(), use.slices, use.region->item_bytes);
    all = {std::min(all.first, one.first), std::max(all.last, one.last)};
  }
  return all;
}

}  // namespace

ByteRange Load::range() const {
  const ObjectChunks::Chunk& first = chunks().front();
  const ChunkRef& last = chunks().back().ref;
  const bool whole = first.ref.state == ChunkRef::State::whole_object;
  if (run.last - run.first == 1 && first.chain->is_uncompressed()) {
    const ByteExtent wanted = wanted_bytes(*object, first);
    const std::uint64_t all = first.chain->decoded_size();
    // One that is wanted whole is asked for as such, so that the answer tells whether it has the right size.
    if (!whole || wanted.first > 0 || wanted.last < all)
      return ByteRange::span(first.ref.offset_bytes + wanted.first, wanted.last - wanted.first);
  }
  if (whole) return {};
  return ByteRange::span(first.ref.offset_bytes, last.offset_bytes + last.size_bytes - first.ref.offset_bytes);
}

ByteSpan Load::place() const {
  ChunkSliceArray slices;
  std::byte* begin = nullptr;
  std::uint64_t bytes = 0;
  for (const ObjectChunks::Chunk& chunk : chunks()) {
    if (!chunk.chain->is_uncompressed() || chunk.last_use - chunk.first_use != 1) return {};
    const ChunkUse use = object->use(chunk, chunk.first_use, slices);
    if (!use.takes_whole()) return {};
    if (begin == nullptr) begin = use.out;
    if (use.out != begin + bytes || chunk.ref.offset_bytes != chunks().front().ref.offset_bytes + bytes) return {};
    bytes += chunk.chain->decoded_size();
  }
  return {begin, bytes};
}

Status Load::bring(Worker& worker, const CancelToken& cancel) {
  if (run.last - run.first == 1 || chunks().front().ref.state != ChunkRef::State::stored) return {};
  if (!fetched) {
    const ByteRange all = range();
    PENSTOCK_TRY(worker.encoded.resize_discard(all.count));
    const StageClock clock(worker, Stage::fetch);
    worker.requests += 1;
    worker.stored_bytes += all.count;
    const ChunkHolder& holder = *chunks().front().ref.holder;
    const FetchRequest request{holder.key, all, holder.same_as()};
    answer = fetch_one(*region().state->store, request, worker.encoded.span(), cancel);
    fetched = true;
  }
  if (answer.status && !answer.absent) {
    worker.merged += run.last - run.first - 1;
    return {};
  }
  if (!answer.status && ends_work(answer.status.error())) return answer.status;
  fetched = false;
  return {};
}

Result<std::optional<ChunkBytes>> ChunkBytes::open(const Load& load, const ChunkRef& ref, Worker& worker,
                                                   const CancelToken& cancel) {
  ChunkBytes chunk(load, ref, worker, cancel);
  const bool whole = ref.state == ChunkRef::State::whole_object;
  if (load.fetched) {
    const FetchAnswer& answer = load.answer;
    PENSTOCK_TRY(answer.status);
    if (answer.absent) {
      if (whole) return std::optional<ChunkBytes>();
      return Error(ErrorCode::changed, "the object was removed meanwhile");
    }
    chunk.size_ = whole ? answer.object_bytes : ref.size_bytes;
    chunk.opened_ = answer.version;
    const std::uint64_t skip = ref.offset_bytes > answer.offset_bytes ? ref.offset_bytes - answer.offset_bytes : 0;
    chunk.first_ = answer.offset_bytes + skip - ref.offset_bytes;
    chunk.bytes_ = answer.bytes.subspan(skip, std::min(answer.bytes.size() - skip, chunk.size_ - chunk.first_));
    return std::optional(std::move(chunk));
  }
  chunk.size_ = ref.size_bytes;
  if (!whole) return std::optional(std::move(chunk));
  const StageClock clock(worker, Stage::fetch);
  const FetchRequest request{ref.holder->key, ByteRange::span(0, 0), nullptr};
  return take(std::move(chunk), fetch_one(chunk.store_, request, {}, cancel));
}

Result<std::optional<ChunkBytes>> ChunkBytes::take(ChunkBytes chunk, FetchAnswer answer) {
  PENSTOCK_TRY(answer.status);
  if (answer.absent) return std::optional<ChunkBytes>();
  chunk.size_ = answer.object_bytes;
  chunk.bytes_ = answer.bytes;
  chunk.owner_ = std::move(answer.owner);
  chunk.opened_ = std::move(answer.version);
  return std::optional(std::move(chunk));
}

Result<std::optional<ChunkBytes>> ChunkBytes::fetch(const Load& load, const ChunkRef& ref, const CodecChain& chain,
                                                    Worker& worker, const CancelToken& cancel) {
  const auto fits = [&](std::uint64_t bytes) { return check_encoded_size(chain, bytes); };
  if (!load.fetched && ref.state == ChunkRef::State::whole_object) {
    ChunkBytes chunk(load, ref, worker, cancel);
    const StageClock clock(worker, Stage::fetch);
    FetchAnswer answer = fetch_in_place(chunk.store_, {ref.holder->key, {}, nullptr}, worker.encoded, fits, cancel);
    if (answer.status && !answer.absent) {
      worker.requests += 1;
      worker.stored_bytes += answer.bytes.size();
    }
    return take(std::move(chunk), std::move(answer));
  }
  PENSTOCK_ASSIGN(auto chunk, open(load, ref, worker, cancel));
  if (!chunk) return chunk;
  PENSTOCK_TRY(fits(chunk->size()));
  PENSTOCK_ASSIGN(chunk->bytes_, chunk->get(0, chunk->size(), worker.encoded));
  chunk->first_ = 0;
  return chunk;
}

std::optional<ByteView> ChunkBytes::in_memory(std::uint64_t at, std::uint64_t count) const {
  if (bytes_.data() == nullptr || at < first_ || at - first_ > bytes_.size() || count > bytes_.size() - (at - first_))
    return std::nullopt;
  return bytes_.subspan(at - first_, count);
}

Result<ByteView> ChunkBytes::get(std::uint64_t at, ByteSpan into) {
  if (const auto there = in_memory(at, into.size())) return *there;
  const StageClock clock(worker_, Stage::fetch);
  worker_.requests += 1;
  worker_.stored_bytes += into.size();
  const FetchRequest request{ref_.holder->key, ByteRange::span(ref_.offset_bytes + at, into.size()),
                             is_known(opened_) ? &opened_ : ref_.holder->same_as()};
  FetchAnswer answer = fetch_one(store_, request, into, cancel_);
  PENSTOCK_TRY(answer.status);
  if (answer.absent) return Error(ErrorCode::changed, "the object was removed meanwhile");
  owner_ = std::move(answer.owner);
  return answer.bytes;
}

Result<ByteView> ChunkBytes::get(std::uint64_t at, std::uint64_t count, Bytes& buffer) {
  if (const auto there = in_memory(at, count)) return *there;
  PENSTOCK_TRY(buffer.resize_discard(count));
  return get(at, buffer.span());
}

Status ChunkBytes::read(std::uint64_t at, ByteSpan into) {
  PENSTOCK_ASSIGN(const ByteView bytes, get(at, into));
  if (bytes.data() != into.data() && !into.empty()) std::memcpy(into.data(), bytes.data(), into.size());
  return {};
}

}  // namespace penstock
