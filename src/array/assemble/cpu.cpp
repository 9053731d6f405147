#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "array/assemble/copy_row.hpp"
#include "array/assemble/job.hpp"
#include "array/assemble/transpose.hpp"

namespace penstock {
namespace {

struct Word16 {
  std::uint64_t low, high;
};

template <class W>
W load(const std::byte* from) {
  W word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

inline std::uint8_t reversed(std::uint8_t v) { return v; }
inline std::uint16_t reversed(std::uint16_t v) { return __builtin_bswap16(v); }
inline std::uint32_t reversed(std::uint32_t v) { return __builtin_bswap32(v); }
inline std::uint64_t reversed(std::uint64_t v) { return __builtin_bswap64(v); }
inline Word16 reversed(Word16 v) { return {__builtin_bswap64(v.high), __builtin_bswap64(v.low)}; }

/// `count` words with any strides.
template <class W, bool kSwap>
void copy_strided(std::byte* target, const std::byte* source, std::uint64_t count, std::int64_t target_stride,
                  std::int64_t source_stride) {
  for (std::uint64_t i = 0; i < count; ++i, target += target_stride, source += source_stride) {
    const W word = kSwap ? reversed(load<W>(source)) : load<W>(source);
    std::memcpy(target, &word, sizeof word);
  }
}

template <class W>
void fill_strided(std::byte* target, std::uint64_t count, std::int64_t target_stride, const std::byte* fill) {
  const W word = load<W>(fill);
  for (std::uint64_t i = 0; i < count; ++i, target += target_stride) std::memcpy(target, &word, sizeof word);
}

/// Calls row(target, source) for every turn of the loops.
template <class Row>
void walk(std::span<const PlaceDim> loops, std::byte* target, const std::byte* source, const Row& row) {
  if (loops.empty()) return row(target, source);
  if (loops.size() == 1) {
    for (std::uint64_t i = 0; i < loops[0].count; ++i) {
      row(target, source);
      target += loops[0].target_stride;
      source += loops[0].source_stride;
    }
    return;
  }
  for (std::uint64_t i = 0; i < loops[0].count; ++i) {  // depth: the rank, at most kMaxRank + 2
    walk(loops.subspan(1), target, source, row);
    target += loops[0].target_stride;
    source += loops[0].source_stride;
  }
}

/// As copy_plane, word by word.  Tiles keep both sides in cache.
template <class W, bool kSwap>
void copy_tiles(std::byte* target, const std::byte* source, const PlaceDim& across, const PlaceDim& along) {
  constexpr std::uint64_t kTile = 32;
  for (std::uint64_t a = 0; a < across.count; a += kTile)
    for (std::uint64_t b = 0; b < along.count; b += kTile) {
      const std::uint64_t rows = std::min(kTile, across.count - a);
      const std::uint64_t words = std::min(kTile, along.count - b);
      const auto at = [&](std::int64_t across_stride, std::int64_t along_stride, std::uint64_t row) {
        return static_cast<std::int64_t>(a + row) * across_stride + static_cast<std::int64_t>(b) * along_stride;
      };
      for (std::uint64_t row = 0; row < rows; ++row)
        copy_strided<W, kSwap>(target + at(across.target_stride, along.target_stride, row),
                               source + at(across.source_stride, along.source_stride, row), words, along.target_stride,
                               along.source_stride);
    }
}

/// Axis orders differ: `across` is the loop whose neighbours are near in the source, `along` the one in the target.
template <class W, bool kSwap>
void copy_plane(std::byte* target, const std::byte* source, const PlaceDim& across, const PlaceDim& along,
                place::Store store) {
  const std::uint64_t side = place::transpose_block(sizeof(W));
  if (side == 0 || across.source_stride != sizeof(W) || along.target_stride != sizeof(W))
    return copy_tiles<W, kSwap>(target, source, across, along);
  const std::uint64_t a = across.count / side * side, b = along.count / side * side;
  place::transpose({target, source, a, b, across.target_stride, along.source_stride}, sizeof(W), kSwap ? sizeof(W) : 1,
                   store);
  // What is left at the two far edges.
  const auto at = [](const PlaceDim& loop, std::uint64_t first) {
    return PlaceDim{loop.count - first, loop.source_stride, loop.target_stride};
  };
  const auto moved = [](auto* from, std::int64_t stride, std::uint64_t count) {
    return from + stride * static_cast<std::int64_t>(count);
  };
  if (b < along.count)
    copy_tiles<W, kSwap>(moved(target, along.target_stride, b), moved(source, along.source_stride, b),
                         {a, across.source_stride, across.target_stride}, at(along, b));
  if (a < across.count)
    copy_tiles<W, kSwap>(moved(target, across.target_stride, a), moved(source, across.source_stride, a), at(across, a),
                         along);
}

/// Moves the loop with the nearest neighbours in the source next to the innermost one; false when it is the innermost.
bool bring_across_inside(PlaceJob& job) {
  if (job.rank < 2) return false;
  const auto nearer = [](const PlaceDim& x, const PlaceDim& y) {
    return std::abs(x.source_stride) < std::abs(y.source_stride);
  };
  PlaceDim* begin = job.dims.data();
  PlaceDim* last = begin + job.rank - 1;
  PlaceDim* across = std::min_element(begin, last, nearer);
  if (!nearer(*across, *last)) return false;
  std::rotate(across, across + 1, last);
  return true;
}

/// Whether rows that are streamed gain although they are few: long ones, or such as fill lines from end to end.  Of
/// rows of 128 bytes at any addresses the ends cost more: 4.3 against 5.8 GB/s on one core.
bool has_lines(const PlaceJob& job) {
  constexpr std::uint64_t kLong = 256, kLine = 64;
  const std::span<const PlaceDim> loops = job.loops();
  const std::int64_t word = job.word_bytes;
  if (loops.empty() || loops.back().source_stride != word || loops.back().target_stride != word) return false;
  const std::uint64_t row_bytes = loops.back().count * job.word_bytes;
  if (row_bytes >= kLong) return true;
  std::uint64_t addresses = reinterpret_cast<std::uintptr_t>(job.target) | row_bytes;
  for (std::size_t d = 0; d + 1 < loops.size(); ++d) addresses |= static_cast<std::uint64_t>(loops[d].target_stride);
  return addresses % kLine == 0;
}

/// How a job's rows are stored.  Streaming spares reading the target's lines: rows of 256 bytes at 64-byte addresses,
/// 10 against 5 GB/s on one core.  What is smaller may well be read back from the cache, unless more comes behind it.
place::Store store_of(const PlaceJob& job) {
  using NextUse = PlaceItem::NextUse;
  constexpr std::uint64_t kStreamBytes = std::uint64_t{256} << 10;
  std::uint64_t all = job.word_bytes;
  for (const PlaceDim& loop : job.loops()) all *= loop.count;
  const bool stream =
      (job.next_use != NextUse::soon && all >= kStreamBytes) || (job.next_use == NextUse::after_all && has_lines(job));
  return stream ? place::Store::streaming : place::Store::cached;
}

/// Rows of 16 to 63 bytes, in place: a call would take as long as the row.  The last words overlap the ones before.
void copy_short_rows(const PlaceJob& job, std::span<const PlaceDim> outer, std::size_t row_bytes) {
  constexpr std::size_t kWord = sizeof(Word16);
  const std::size_t last = row_bytes - kWord, middle = std::min(kWord, last), after = last - middle;
  walk(outer, job.target, job.source, [=](std::byte* target, const std::byte* source) {
    const Word16 a = load<Word16>(source), b = load<Word16>(source + middle);
    const Word16 c = load<Word16>(source + after), d = load<Word16>(source + last);
    std::memcpy(target, &a, kWord);
    std::memcpy(target + middle, &b, kWord);
    std::memcpy(target + after, &c, kWord);
    std::memcpy(target + last, &d, kWord);
  });
}

/// Rows of a chunk lie apart in its array, where no hardware looks ahead: 5.3 GB/s on one core, 6.3 when asked for.
class LookAhead {
 public:
  LookAhead(std::span<const PlaceDim> outer, std::size_t row_bytes) : row_bytes_(row_bytes) {
    const bool apart = !outer.empty() && std::abs(outer.back().source_stride) > static_cast<std::int64_t>(row_bytes);
    if (apart && row_bytes >= kLine && row_bytes <= kAheadBytes)
      distance_ = outer.back().source_stride * static_cast<std::int64_t>(kAheadBytes / row_bytes);
  }
  /// The last rows ask for what is not theirs, which does nothing but take a little time.
  void from(const std::byte* source) const {
    if (distance_ == 0) return;
    const std::uintptr_t row = reinterpret_cast<std::uintptr_t>(source) + static_cast<std::uintptr_t>(distance_);
    for (std::size_t i = 0; i < row_bytes_; i += kLine) __builtin_prefetch(reinterpret_cast<const void*>(row + i));
  }

 private:
  static constexpr std::size_t kLine = 64, kAheadBytes = 2048;
  std::size_t row_bytes_;
  std::int64_t distance_ = 0;  ///< bytes from one row to the one that is asked for; 0: none
};

template <class W, bool kSwap>
void run_copy(PlaceJob& job) {
  const PlaceDim inner = job.rank > 0 ? job.dims[job.rank - 1] : PlaceDim{1, sizeof(W), sizeof(W)};
  const std::span<const PlaceDim> outer = job.loops().first(job.rank > 0 ? job.rank - 1 : 0);
  const place::Store store = store_of(job);
  if (inner.source_stride == sizeof(W) && inner.target_stride == sizeof(W)) {
    const std::size_t row_bytes = inner.count * sizeof(W);
    if (!kSwap && row_bytes >= sizeof(Word16) && row_bytes < 4 * sizeof(Word16))
      return copy_short_rows(job, outer, row_bytes);
    const LookAhead look(outer, row_bytes);
    walk(outer, job.target, job.source, [&](std::byte* target, const std::byte* source) {
      look.from(source);
      place::copy_row(target, source, row_bytes, kSwap ? sizeof(W) : 1, store);
    });
  } else if (bring_across_inside(job)) {
    const PlaceDim across = job.dims[job.rank - 2];
    walk(job.loops().first(job.rank - 2), job.target, job.source, [&](std::byte* target, const std::byte* source) {
      copy_plane<W, kSwap>(target, source, across, inner, store);
    });
  } else {
    walk(outer, job.target, job.source, [&](std::byte* target, const std::byte* source) {
      copy_strided<W, kSwap>(target, source, inner.count, inner.target_stride, inner.source_stride);
    });
  }
  if (store == place::Store::streaming) place::finish_stores();
}

template <class W>
void run_fill(const PlaceJob& job) {
  const PlaceDim inner = job.rank > 0 ? job.dims[job.rank - 1] : PlaceDim{1, 0, sizeof(W)};
  const std::span<const PlaceDim> outer = job.loops().first(job.rank > 0 ? job.rank - 1 : 0);
  const bool one_byte =
      std::all_of(job.fill.begin(), job.fill.begin() + sizeof(W), [&](std::byte byte) { return byte == job.fill[0]; });
  const bool contiguous = inner.target_stride == sizeof(W);
  walk(outer, job.target, nullptr, [&](std::byte* target, const std::byte*) {
    if (contiguous && one_byte)
      std::memset(target, std::to_integer<int>(job.fill[0]), inner.count * sizeof(W));
    else
      fill_strided<W>(target, inner.count, inner.target_stride, job.fill.data());
  });
}

template <class W>
void run_words(PlaceJob& job) {
  if (job.source == nullptr)
    run_fill<W>(job);
  else if (job.swap_bytes > 1)
    run_copy<W, true>(job);
  else
    run_copy<W, false>(job);
}

void run(PlaceJob& job) {
  switch (job.word_bytes) {
    case 1: return run_words<std::uint8_t>(job);
    case 2: return run_words<std::uint16_t>(job);
    case 4: return run_words<std::uint32_t>(job);
    case 8: return run_words<std::uint64_t>(job);
    default: return run_words<Word16>(job);
  }
}

}  // namespace

Status place_cpu(const PlaceItem& item) {
  PENSTOCK_TRY(check_item(item));
  PlaceJob job;
  if (single_job(item, job)) {
    run(job);
    return {};
  }
  std::vector<PlaceJob> jobs;
  append_jobs(item, jobs);
  for (PlaceJob& each : jobs) run(each);
  return {};
}

}  // namespace penstock
