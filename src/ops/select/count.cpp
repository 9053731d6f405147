#include <algorithm>
#include <mutex>
#include <vector>

#include "core/checked.hpp"
#include "ops/dispatch.hpp"
#include "ops/isa.hpp"
#include "ops/select/select.hpp"
#include "ops/tuning.hpp"

#define PENSTOCK_ISA baseline
#include "ops/select/loops.hpp"
#ifdef PENSTOCK_HAVE_ISAS
PENSTOCK_BEGIN_AVX2
#define PENSTOCK_ISA avx2
#include "ops/select/loops.hpp"
PENSTOCK_END_ISA
PENSTOCK_BEGIN_AVX512
#define PENSTOCK_ISA avx512
#include "ops/select/loops.hpp"
PENSTOCK_END_ISA
#endif

namespace penstock::select {
namespace {

#ifdef PENSTOCK_HAVE_ISAS
#define PENSTOCK_RUN(...) \
  (isa == Isa::avx512 ? avx512::__VA_ARGS__ : isa == Isa::avx2 ? avx2::__VA_ARGS__ : baseline::__VA_ARGS__)
#else
#define PENSTOCK_RUN(...) baseline::__VA_ARGS__
#endif

/// Tables of one task, which neighbours take in turns: they are often equal, and a counter waits for the one before.
constexpr std::uint32_t kTurns = 4;
/// Elements that are worth so many tables.
constexpr std::uint64_t kTurnElements = std::uint64_t{1} << 19;
/// Elements whose digits are found together, in the first-level cache.
constexpr std::size_t kTogether = 1024;

/// A few large tasks with tables of their own, which are added up: f(elements, tables) counts some elements.
/// `turns`: so many tables where there are enough elements.
template <class F>
Status count_in_tables(std::uint64_t n, std::uint32_t size, std::uint32_t turns, std::uint64_t* counts, Job& job,
                       const F& f) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;  // so that 32 bits count them
  const std::uint64_t tasks =
      std::max(std::min(job.worker_count(), div_up(n, tuning::kTaskElements)), div_up(n, kMost));
  std::mutex mutex;
  return job.for_each(tasks, true, [&](std::uint64_t task) -> Status {
    const auto share = Share::of(n, static_cast<std::uint32_t>(task), static_cast<std::uint32_t>(tasks));
    const std::uint32_t tables = share.last - share.first >= kTurnElements ? turns : 1;
    std::vector<std::uint32_t> own(std::uint64_t{size} * tables, 0);
    f(share, own.data(), tables);
    const std::scoped_lock lock(mutex);
    for (std::uint64_t table = 0; table < own.size(); table += size)
      for (std::uint32_t i = 0; i < size; ++i) counts[i] += own[table + i];
    return {};
  });
}

/// Any table, element by element.
template <class T, class Table>
Status count_each(const T* in, std::uint64_t n, const Table& table, std::uint64_t* counts, Job& job) {
  const std::uint32_t size = table.size(), turns = size <= (1u << kHostDigitBits) ? kTurns : 1;
  return count_in_tables(
      n, size, turns, counts, job, [&](const Share& share, std::uint32_t* own, std::uint32_t tables) {
        const Table local = table;  // a copy lies in registers, while counters might change what is behind a reference
        const auto add = [&](T value, std::uint32_t turn) {
          const std::uint32_t at = local.index(value);
          if (at < size) ++own[std::uint64_t{turn} * size + at];
        };
        std::uint64_t i = share.first;
        for (; tables == kTurns && i + kTurns <= share.last; i += kTurns)
          for (std::uint32_t turn = 0; turn < kTurns; ++turn) add(in[i + turn], turn);
        for (; i < share.last; ++i) add(in[i], 0);
      });
}

/// Of elements of 16 bits and more, which 16 bits the key begins with.
template <class T>
Status count_beginnings(const T* in, std::uint64_t n, std::uint64_t* counts, Job& job) {
  constexpr std::uint32_t kSize = 1u << 16, kShift = 8 * sizeof(T) - 16;
  [[maybe_unused]] const Isa isa = best_isa();
  return count_in_tables(
      n, kSize, kTurns, counts, job, [&](const Share& share, std::uint32_t* own, std::uint32_t tables) {
        std::uint32_t* const turn[kTurns] = {own, own + (tables > 1 ? kSize : 0), own + (tables > 2 ? 2 * kSize : 0),
                                             own + (tables > 3 ? 3 * kSize : 0)};
        Key<T> keys[kTogether];
        std::uint16_t digits[kTogether];
        for (std::uint64_t at = share.first; at < share.last; at += kTogether) {
          const std::size_t here = std::min<std::uint64_t>(kTogether, share.last - at);
          PENSTOCK_RUN(keys_of(in + at, here, keys));
          PENSTOCK_RUN(digits_of(keys, here, kShift, digits));
          std::size_t i = 0;
          for (; i + kTurns <= here; i += kTurns)
            for (std::uint32_t t = 0; t < kTurns; ++t) ++turn[t][digits[i + t]];
          for (; i < here; ++i) ++own[digits[i]];
        }
      });
}

/// Of elements that begin as one of few others, which digit comes next.  Most begin otherwise: those that do not are
/// put together first, without a branch that could be guessed wrong.
template <class T>
Status count_after(const T* in, std::uint64_t n, const DigitTable& table, std::uint64_t* counts, Job& job) {
  [[maybe_unused]] const Isa isa = best_isa();
  Key<T> beginnings[kMaxPrefixes];
  for (std::uint32_t p = 0; p < table.prefixes; ++p) beginnings[p] = static_cast<Key<T>>(table.prefix[p]);
  return count_in_tables(n, table.size(), 1, counts, job, [&](const Share& share, std::uint32_t* own, std::uint32_t) {
    const std::uint32_t shift = table.shift, bits = table.digit_bits;
    Key<T> keys[kTogether];
    std::uint8_t marked[kTogether];
    for (std::uint64_t at = share.first; at < share.last; at += kTogether) {
      const std::size_t here = std::min<std::uint64_t>(kTogether, share.last - at);
      PENSTOCK_RUN(keys_of(in + at, here, keys));
      PENSTOCK_RUN(mark(keys, here, shift + bits, beginnings, table.prefixes, marked));
      std::size_t kept = 0;
      for (std::size_t i = 0; i < here; ++i) {
        keys[kept] = keys[i];
        kept += marked[i];
      }
      for (std::size_t i = 0; i < kept; ++i) {
        const auto begins = static_cast<Key<T>>(keys[i] >> (shift + bits));
        const auto p =
            static_cast<std::uint32_t>(std::find(beginnings, beginnings + table.prefixes, begins) - beginnings);
        ++own[(p << bits) + static_cast<std::uint32_t>((keys[i] >> shift) & ((Key<T>{1} << bits) - 1))];
      }
    }
  });
}

template <class T>
Status count_on_cpu(const T* in, std::uint64_t n, const DigitTable& table, std::uint64_t* counts, Job& job) {
  if constexpr (sizeof(T) >= 2) {
    if (table.first && table.digit_bits == 16) return count_beginnings(in, n, counts, job);
    if (!table.first) return count_after(in, n, table, counts, job);
  }
  return count_each(in, n, table, counts, job);
}
template <class T>
Status count_on_cpu(const T* in, std::uint64_t n, const BinTable& table, std::uint64_t* counts, Job& job) {
  return count_each(in, n, table, counts, job);
}

/// Tables of a device go there and their counts come back.
template <class Table>
Status count_on_device(const TensorView& elements, std::uint64_t n, Table table, std::uint64_t* counts,
                       const Workspace& work) {
  const std::uint64_t bytes = std::uint64_t{table.size()} * sizeof(std::uint64_t);
  PENSTOCK_ASSIGN(const Buffer there, work.scratch(bytes));
  Buffer edges;
  if constexpr (std::is_same_v<Table, BinTable>) {
    PENSTOCK_ASSIGN(edges, work.upload(table.edges, (table.bins + 1) * sizeof(double)));
    table.edges = reinterpret_cast<const double*>(edges.data());
  }
  PENSTOCK_TRY(count_on_cuda(elements.dtype, elements.data, n, table, reinterpret_cast<std::uint64_t*>(there.data()),
                             work.stream));
  std::vector<std::uint64_t> made(table.size());
  PENSTOCK_TRY(copy_async(made.data(), {}, there.data(), work.stream.device(), bytes, work.stream));
  PENSTOCK_TRY(work.stream.synchronize());
  for (std::size_t i = 0; i < made.size(); ++i) counts[i] += made[i];
  return {};
}

template <class T>
Result<Summary> summarize_on_cpu(const T* in, std::uint64_t n, double around, Job& job) {
  const std::uint64_t tasks = div_up(n, tuning::kTaskElements);
  std::vector<Summary> parts(tasks);
  PENSTOCK_TRY(job.for_each(tasks, true, [&](std::uint64_t task) -> Status {
    const std::uint64_t last = std::min((task + 1) * tuning::kTaskElements, n);
    for (std::uint64_t i = task * tuning::kTaskElements; i < last; ++i) add_to(parts[task], in[i], around);
    return {};
  }));
  Summary all;
  for (const Summary& part : parts) join(all, part);
  return all;
}

}  // namespace

template <class Table>
Status count(const TensorView& elements, const Table& table, std::uint64_t* counts, const Workspace& work) {
  PENSTOCK_ASSIGN(const std::uint64_t n, elements.elements());
  if (n == 0) return {};
  if (work.on_device()) return count_on_device(elements, n, table, counts, work);
  Status status;
  with_type(elements.dtype, [&]<class T>(TypeTag<T>) {
    status = count_on_cpu(static_cast<const T*>(elements.data), n, table, counts, *work.job);
  });
  return status;
}
template Status count(const TensorView&, const DigitTable&, std::uint64_t*, const Workspace&);
template Status count(const TensorView&, const BinTable&, std::uint64_t*, const Workspace&);

Result<Summary> summarize(const TensorView& elements, double around, const Workspace& work) {
  PENSTOCK_ASSIGN(const std::uint64_t n, elements.elements());
  Summary all;
  if (work.on_device()) {
    std::vector<Summary> parts(kSummaries);
    PENSTOCK_ASSIGN(const Buffer there, work.scratch(kSummaries * sizeof(Summary)));
    PENSTOCK_TRY(summarize_on_cuda(elements.dtype, elements.data, n, around, reinterpret_cast<Summary*>(there.data()),
                                   work.stream));
    PENSTOCK_TRY(
        copy_async(parts.data(), {}, there.data(), work.stream.device(), kSummaries * sizeof(Summary), work.stream));
    PENSTOCK_TRY(work.stream.synchronize());
    for (const Summary& part : parts) join(all, part);
    return all;
  }
  Result<Summary> made = all;
  with_type(elements.dtype, [&]<class T>(TypeTag<T>) {
    made = summarize_on_cpu(static_cast<const T*>(elements.data), n, around, *work.job);
  });
  return made;
}

}  // namespace penstock::select
