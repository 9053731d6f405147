#include "codec/zstd/decode/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock::zstd {
namespace {

constexpr std::uint64_t kAlign = 256;
constexpr std::uint64_t kCounterBytes = sizeof(std::uint64_t);  // the count of pages, in front of the slices' counters

/// A batch that asks for no more pages than these is not cut: an empty slice, too, costs its launches, and small
/// batches of small chunks would be mostly those.
constexpr std::uint64_t kMinSlicePages = 4096;  // 8 MiB

/// A page with all that belongs to it.
constexpr std::uint64_t kPageCost = kPageBytes + sizeof(BlockRecord) + 2 * sizeof(std::uint32_t);

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// What a batch can ask for at most.
struct Demand {
  std::uint64_t count;
  std::uint64_t chunk_pages;  // of the largest chunk
  std::uint64_t batch_pages;  // of all together

  Demand(std::uint32_t chunks, std::uint64_t decoded_bytes, std::uint64_t largest_bytes)
      : count(chunks),
        chunk_pages(max_pages(std::min(largest_bytes, kMaxChunkBytes))),
        batch_pages(max_pages(decoded_bytes) + kSparePages * chunks) {}

  /// A slice has room for the largest chunk or more.
  [[nodiscard]] std::uint64_t max_slices() const { return batch_pages / chunk_pages + 1; }
  /// States, counters, and what rounding to kAlign takes.
  [[nodiscard]] std::uint64_t fixed_bytes() const {
    return aligned(count * sizeof(ChunkState)) + aligned(kCounterBytes + max_slices() * sizeof(SliceCounters)) +
           4 * kAlign;
  }
  /// For slices in which chunks begin on `pages`.
  [[nodiscard]] std::uint64_t bytes(std::uint64_t pages) const {
    return fixed_bytes() + (pages + chunk_pages) * kPageCost;
  }
};

/// Takes parts of the scratch, one after the other.
class Carver {
 public:
  explicit Carver(std::byte* at) : at_(at) {}
  template <class T>
  T* take(std::uint64_t n) {
    auto* part = reinterpret_cast<T*>(at_);
    at_ += aligned(n * sizeof(T));
    return part;
  }

 private:
  std::byte* at_;
};

}  // namespace

std::uint64_t scratch_bytes(std::uint32_t count, std::uint64_t decoded_bytes, std::uint64_t largest_bytes) {
  const Demand demand(count, decoded_bytes, largest_bytes);
  // 16-bit images, which have many short sequences, take up to 1.4 times their bytes.
  const std::uint64_t usual = decoded_bytes / 100 * 142 / kPageBytes;
  const std::uint64_t slice = usual - std::min(usual, demand.chunk_pages);
  return demand.bytes(std::min(std::max({slice, demand.chunk_pages, kMinSlicePages}), demand.batch_pages));
}

std::uint64_t min_scratch_bytes(std::uint32_t count, std::uint64_t decoded_bytes, std::uint64_t largest_bytes) {
  const Demand demand(count, decoded_bytes, largest_bytes);
  return demand.bytes(demand.chunk_pages);
}

Result<Layout> lay_out(const Batch& batch, std::span<std::byte> scratch) {
  const Demand demand(batch.count, batch.decoded_bytes, batch.largest_bytes);
  if (const std::uint64_t least = demand.bytes(demand.chunk_pages); scratch.size() < least)
    return Error(ErrorCode::invalid_argument, fmt::format("zstd on a device: {} bytes of scratch, {} are the least for "
                                                          "{} chunks of up to {} bytes",
                                                          scratch.size(), least, batch.count, batch.largest_bytes));
  if (reinterpret_cast<std::uintptr_t>(scratch.data()) % kAlign != 0)
    return Error(ErrorCode::invalid_argument, fmt::format("zstd on a device: scratch must be {}-aligned", kAlign));
  const std::uint64_t pages = (scratch.size() - demand.fixed_bytes()) / kPageCost;
  const std::uint64_t slice_pages =
      std::min({pages - demand.chunk_pages, demand.batch_pages, std::uint64_t{kMaxPages}});
  const std::uint64_t slices = (demand.batch_pages + slice_pages - 1) / slice_pages;
  const std::uint64_t used = slice_pages + demand.chunk_pages;

  Layout layout;
  Workspace& ws = layout.workspace;
  ws.tasks = batch.tasks;
  ws.results = batch.results;
  ws.chunks = batch.count;
  ws.checksums = batch.checksums;
  ws.slices = static_cast<std::uint32_t>(slices);
  ws.slice_pages = static_cast<std::uint32_t>(slice_pages);
  ws.chunk_pages = static_cast<std::uint32_t>(demand.chunk_pages);
  layout.counter_bytes = kCounterBytes + slices * sizeof(SliceCounters);
  Carver carver(scratch.data());
  ws.states = carver.take<ChunkState>(batch.count);
  auto* counters = carver.take<std::byte>(layout.counter_bytes);
  ws.pages_taken = reinterpret_cast<std::uint64_t*>(counters);
  ws.counters = reinterpret_cast<SliceCounters*>(counters + kCounterBytes);
  ws.literal_list = carver.take<std::uint32_t>(used);
  ws.sequence_list = carver.take<std::uint32_t>(used);
  ws.blocks = carver.take<BlockRecord>(used);
  ws.arena = carver.take<std::uint8_t>(used * kPageBytes);
  return layout;
}

}  // namespace penstock::zstd
