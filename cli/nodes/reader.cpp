#include "cli/nodes/reader.hpp"

#include <chrono>

#include "cli/nodes/pieces.hpp"
#include "core/checked.hpp"
#include "core/settings.hpp"

namespace penstock::cli {
namespace {

/// Memory of a device that a piece is read into before it comes to the host; nothing for the CPU.
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

Status read_piece(const Array& array, const Region& piece, const Staging& staging, const Options& options,
                  ByteSpan into, Arena* arena) {
  if (staging.device.type == Device::Type::cpu) {
    PENSTOCK_TRY(array.read(piece, {into.data(), {}, {}, {}}, options, arena));
    return {};
  }
  PENSTOCK_ASSIGN(const Buffer buffer, staging.memory->allocate(into.size(), 256, staging.stream));
  PENSTOCK_TRY(array.read(piece, {buffer.data(), {}, staging.device, staging.stream}, options, arena));
  PENSTOCK_TRY(copy_async(into.data(), Device{}, buffer.data(), staging.device, into.size(), staging.stream));
  return staging.stream.synchronize();
}

}  // namespace

Status read_in_pieces(const Array& array, const Region& region, Device device, const Options& options,
                      const PieceFn& take) {
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
  each.budget_bytes = std::max(budget - budget / 2, plan.need_bytes);  // what is left is the piece itself
  std::uint64_t done = 0;
  if (options.progress)
    each.progress = [&](const Progress& p) {
      options.progress({p.what, done + p.done_bytes, std::max(total, done + p.total_bytes)});
    };
  Pieces pieces(region, dataset, budget - each.budget_bytes);
  Bytes elements;
  while (const auto piece = pieces.next()) {
    Arena arena;
    PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape_of(*piece)));
    PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(count, dataset.dtype.size_bytes));
    PENSTOCK_TRY(elements.resize_discard(bytes));
    PENSTOCK_TRY(read_piece(array, *piece, staging, each, elements.span(), &arena));
    done += bytes;
    PENSTOCK_TRY(take(*piece, elements.view()));
  }
  return {};
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
