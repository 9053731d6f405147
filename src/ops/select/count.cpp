#include <algorithm>
#include <mutex>
#include <vector>

#include "core/checked.hpp"
#include "ops/dispatch.hpp"
#include "ops/select/select.hpp"
#include "ops/tuning.hpp"

namespace penstock::select {
namespace {

// What tells where an element is counted, as few numbers as there are: a copy of them lies in registers, while counters
// might change what is behind a reference.

/// The highest digit.
struct HighestDigit {
  std::uint32_t shift;
  std::uint64_t mask;
  template <class T>
  std::uint32_t index(T value) const {
    return static_cast<std::uint32_t>((std::uint64_t{key_of(value)} >> shift) & mask);
  }
};

/// Of elements that begin as one of few others: those are found by a table, where the beginning has as many bits as one
/// has.
struct Lookup {
  const std::uint8_t* number;  ///< of each beginning; 0: none
  std::uint32_t shift, digit_bits, none;
  template <class T>
  std::uint32_t index(T value) const {
    const std::uint64_t key = std::uint64_t{key_of(value)} >> shift;
    const std::uint32_t p = number[key >> digit_bits];
    if (p == 0) return none;
    return ((p - 1) << digit_bits) + static_cast<std::uint32_t>(key & ((std::uint64_t{1} << digit_bits) - 1));
  }
};

std::vector<std::uint8_t> beginnings(const DigitTable& digits) {
  std::vector<std::uint8_t> number(std::size_t{1} << kHostDigitBits, 0);
  for (std::uint32_t p = 0; p < digits.prefixes; ++p) number[digits.prefix[p]] = static_cast<std::uint8_t>(p + 1);
  return number;
}

/// Tables of one task, which neighbours take in turns: they are often equal, and a counter waits for the one before.
constexpr std::uint32_t kTurns = 4;
/// Elements that are worth so many tables.
constexpr std::uint64_t kTurnElements = std::uint64_t{1} << 19;

template <std::uint32_t kTables, class T, class Index>
void count_range(const T* in, std::uint64_t count, const Index index, std::uint32_t size, std::uint32_t* counts) {
  const auto add = [&](T value, std::uint32_t table) {
    const std::uint32_t at = index.index(value);
    if (at < size) ++counts[std::uint64_t{table} * size + at];
  };
  std::uint64_t i = 0;
  for (; i + kTables <= count; i += kTables)
    for (std::uint32_t table = 0; table < kTables; ++table) add(in[i + table], table);
  for (; i < count; ++i) add(in[i], 0);
}

/// A few large tasks with a table each, which are added up.
template <class T, class Index>
Status count_on_cpu(const T* in, std::uint64_t n, const Index& index, std::uint32_t size, std::uint64_t* counts,
                    Job& job) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;  // so that 32 bits count them
  const std::uint64_t tasks =
      std::max(std::min(job.worker_count(), div_up(n, tuning::kTaskElements)), div_up(n, kMost));
  std::mutex mutex;
  return job.for_each(tasks, true, [&](std::uint64_t task) -> Status {
    const auto share = Share::of(n, static_cast<std::uint32_t>(task), static_cast<std::uint32_t>(tasks));
    const std::uint64_t here = share.last - share.first;
    const bool turns = here >= kTurnElements && size <= (1u << kHostDigitBits);
    std::vector<std::uint32_t> own(std::uint64_t{size} * (turns ? kTurns : 1), 0);
    if (turns)
      count_range<kTurns>(in + share.first, here, index, size, own.data());
    else
      count_range<1>(in + share.first, here, index, size, own.data());
    const std::scoped_lock lock(mutex);
    for (std::uint64_t table = 0; table < own.size(); table += size)
      for (std::uint32_t i = 0; i < size; ++i) counts[i] += own[table + i];
    return {};
  });
}

template <class T>
Status count_on_cpu(const T* in, std::uint64_t n, const DigitTable& table, std::uint64_t* counts, Job& job) {
  const bool looks_up = !table.first && table.shift + table.digit_bits + kHostDigitBits == 8 * sizeof(T);
  if (table.first) {
    const HighestDigit digit{table.shift, (std::uint64_t{1} << table.digit_bits) - 1};
    return count_on_cpu(in, n, digit, table.size(), counts, job);
  }
  if (looks_up) {
    const std::vector<std::uint8_t> number = beginnings(table);
    const Lookup lookup{number.data(), table.shift, table.digit_bits, table.size()};
    return count_on_cpu(in, n, lookup, table.size(), counts, job);
  }
  return count_on_cpu(in, n, table, table.size(), counts, job);
}
template <class T>
Status count_on_cpu(const T* in, std::uint64_t n, const BinTable& table, std::uint64_t* counts, Job& job) {
  return count_on_cpu(in, n, table, table.size(), counts, job);
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
