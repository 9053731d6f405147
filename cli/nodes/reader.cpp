#include "cli/nodes/reader.hpp"

#include <chrono>

#include "cli/nodes/slices.hpp"
#include "core/checked.hpp"
#include "core/settings.hpp"

namespace penstock::cli {
namespace {

/// Memory of a device that a slice is read into before it comes to the host; nothing for the CPU.
struct Staging {
  Device device;
  Stream stream;
  std::shared_ptr<Memory> memory;
  static Result<Staging> make(Device device) {
    Staging staging{device, {}, {}};
    if (device.type == Device::Type::cpu) return staging;
    PENSTOCK_ASSIGN(staging.stream, Stream::create(device));
    PENSTOCK_ASSIGN(staging.memory, Memory::create(device, 0));
    return staging;
  }
};

Result<Report> read_slice(const Array& array, const Region& slice, const Staging& staging, const Options& options,
                          ByteSpan into, Arena* arena) {
  if (staging.device.type == Device::Type::cpu) return array.read(slice, {into.data(), {}, {}, {}}, options, arena);
  PENSTOCK_ASSIGN(const Buffer buffer, staging.memory->allocate(into.size(), 256, staging.stream));
  PENSTOCK_ASSIGN(Report report,
                  array.read(slice, {buffer.data(), {}, staging.device, staging.stream}, options, arena));
  PENSTOCK_TRY(copy_async(into.data(), Device{}, buffer.data(), staging.device, into.size(), staging.stream));
  PENSTOCK_TRY(staging.stream.synchronize());
  return report;
}

constexpr std::uint64_t kMinSliceBytes = std::uint64_t{64} << 20;

/// Large enough that no chunk is decoded twice and every thread has one; small otherwise.
Result<std::uint64_t> slice_bytes(const Slices& slices, const Dataset& dataset, std::uint64_t threads) {
  if (threads == 0) {
    PENSTOCK_ASSIGN(threads, default_threads());
  }
  PENSTOCK_ASSIGN(const std::uint64_t chunk_count, element_count(dataset.chunk_shape));
  const auto chunk_bytes = checked_mul(chunk_count, dataset.dtype.size_bytes);
  const auto a_chunk_each = chunk_bytes ? checked_mul(*chunk_bytes, threads) : chunk_bytes;
  return std::max({kMinSliceBytes, slices.chunk_row_bytes(), a_chunk_each ? *a_chunk_each : UINT64_MAX});
}

}  // namespace

Result<Report> read_in_slices(const Array& array, const Region& region, Device device, const Options& options,
                              const SliceFn& take) {
  const Dataset dataset = array.dataset();
  std::uint64_t budget = options.budget_bytes;
  if (budget == 0) {
    PENSTOCK_ASSIGN(budget, default_budget_bytes());
  }
  PENSTOCK_ASSIGN(const Staging staging, Staging::make(device));
  PENSTOCK_ASSIGN(const std::uint64_t total_count, element_count(shape_of(region)));
  PENSTOCK_ASSIGN(const std::uint64_t total, checked_mul(total_count, dataset.dtype.size_bytes));
  Options each = options;
  each.budget_bytes = budget;
  PENSTOCK_ASSIGN(const Plan plan, array.plan(region, device, each));
  each.budget_bytes = std::max(budget - budget / 2, plan.need_bytes);  // what is left is the slice itself
  std::uint64_t done = 0;
  if (options.progress)
    each.progress = [&](const Progress& p) {
      options.progress({p.what, done + p.done, std::max(total, done + p.total), p.unit, p.more});
    };
  Slices slices(region, dataset);
  PENSTOCK_ASSIGN(const std::uint64_t wanted, slice_bytes(slices, dataset, options.threads));
  const std::uint64_t max_bytes = std::min(wanted, budget - each.budget_bytes);
  Report all;
  all.operation = "read";
  Bytes elements;
  auto slice = slices.next(std::min(kMinSliceBytes, max_bytes));
  for (; slice; slice = slices.next(max_bytes)) {
    Arena arena;
    PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape_of(*slice)));
    PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(count, dataset.dtype.size_bytes));
    PENSTOCK_TRY(elements.resize_discard(bytes));
    PENSTOCK_ASSIGN(const Report report, read_slice(array, *slice, staging, each, elements.span(), &arena));
    all.wall_seconds += report.wall_seconds;
    all.merge(report);
    done += bytes;
    PENSTOCK_TRY(take(elements.view()));
  }
  return all;
}

Result<TimedRead> read_timed(const Array& array, const Region& region, Device device, const Options& options,
                             ByteSpan into) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  if (device.type == Device::Type::cpu) {
    const auto start = Clock::now();
    PENSTOCK_ASSIGN(Report report, array.read(region, {into.data(), {}, {}, {}}, options));
    return TimedRead{seconds_since(start), std::move(report)};
  }
  PENSTOCK_ASSIGN(const Staging staging, Staging::make(device));
  PENSTOCK_ASSIGN(const Buffer buffer, staging.memory->allocate(into.size(), 256, staging.stream));
  PENSTOCK_TRY(staging.stream.synchronize());
  const auto start = Clock::now();
  PENSTOCK_ASSIGN(Report report, array.read(region, {buffer.data(), {}, device, staging.stream}, options));
  PENSTOCK_TRY(staging.stream.synchronize());
  TimedRead timed{seconds_since(start), std::move(report)};
  PENSTOCK_TRY(copy_async(into.data(), Device{}, buffer.data(), device, into.size(), staging.stream));
  PENSTOCK_TRY(staging.stream.synchronize());
  return timed;
}

}  // namespace penstock::cli
