#include "array/device/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "array/device/request.hpp"
#include "core/checked.hpp"
#include "core/units.hpp"
#include "exec/budget.hpp"

namespace penstock {

Result<Report> read_device(const ReadItem& item, const Options& options) {
  using namespace device_read;
  PENSTOCK_ASSIGN(Request r, make_request(item, options));
  PENSTOCK_ASSIGN(const std::uint64_t elements, element_count(shape_of(item.region)));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(elements, r.item_bytes));
  const std::uint64_t each = aligned(r.chain->decoded_size());
  const std::uint64_t group_bytes =
      options.budget_bytes == 0 ? kGroupBytes : std::min(kGroupBytes, options.budget_bytes / 64);
  const std::uint64_t per_group = std::max<std::uint64_t>(group_bytes / std::max(each, kAlign), 1);
  const std::uint64_t encoded = max_encoded_bytes(*r.chain).value_or(2 * r.chain->decoded_size());
  // A worker has a group of chunks on the device, some pieces on their way, and what decoding takes.
  const std::uint64_t decoding = r.chain->is_uncompressed() ? 0 : encoded + each + r.chain->scratch_bytes();
  PENSTOCK_ASSIGN(const BudgetPlan allowed,
                  plan_budget(options, each * per_group + kStagingBuffers * kStagingBytes + decoding));
  PENSTOCK_ASSIGN(const GridPartition cut, GridPartition::make(item.region, r.chain->decoded().shape));
  PENSTOCK_ASSIGN(DevicePath path,
                  device_path(r.view->dataset, r.view->chain, r.device, cut.size(), allowed.workers, options.decode));
  if (path.chain && min_wave_bytes(*r.chain, *path.chain) > allowed.budget_bytes) {
    path.reason = fmt::format("two waves of one chunk take {} of device memory, the budget is {}",
                              format_bytes(min_wave_bytes(*r.chain, *path.chain)), format_bytes(allowed.budget_bytes));
    path.text = "cpu, " + r.chain->text();
    path.decode = DevicePath::Decode::on_cpu;
  }
  Job job(options, "read", bytes, allowed.workers, reuse_within(allowed.budget_bytes));
  WorkerStates worker_states;
  WaveStats flown;
  const Status done = job.run([&]() -> Status {
    if (path.decode == DevicePath::Decode::on_device) {
      PENSTOCK_ASSIGN(flown, run_waves(r, *path.chain, allowed.budget_bytes, job, worker_states, job.stop()));
      return {};
    }
    PENSTOCK_ASSIGN(const LeafFinder all, LeafFinder::make(r.state, r.view, r.region));
    const std::uint64_t groups = div_up(all.size(), per_group), workers = std::min(job.worker_count(), groups);
    std::atomic<std::uint64_t> next{0};
    return job.for_each(workers, true, [&](std::uint64_t) -> Status {
      WorkerState& mine = worker_states.all.local();
      PENSTOCK_ASSIGN(const bool started, mine.start(r, worker_states.first, workers, job.stop()));
      if (!started) return {};
      PENSTOCK_TRY(mine.start_stream(r, workers));
      for (std::uint64_t g = next++; g < groups; g = next++)
        PENSTOCK_TRY(send_chunks(r, job, mine, g * per_group, std::min((g + 1) * per_group, all.size()), per_group));
      return {};
    });
  });
  // Also after an error: nothing may still write into the target when the caller has it back.
  Report report;
  report.peak_device_bytes = flown.peak_device_bytes;
  double waited = 0;
  std::uint64_t direct_chunks = 0;
  for (WorkerState& mine : worker_states.all) {
    waited += mine.pieces.waited_seconds();
    direct_chunks += mine.direct_chunks;
    report.peak_device_bytes += mine.staging.size();
    if (!mine.stream) continue;
    if (!done) {
      PENSTOCK_TRY(mine.stream->synchronize());
      continue;
    }
    PENSTOCK_ASSIGN(const Event end, Event::record(*mine.stream));
    PENSTOCK_TRY(end.wait_on(item.target.stream));
  }
  if (!done) return done.error();
  job.fill_report(report);
  report.budget_bytes = allowed.budget_bytes;
  report.peak_host_bytes += r.ring->allocated_bytes();
  const std::string threads = fmt::format("{} threads", job.worker_count());
  const bool on_device = path.decode == DevicePath::Decode::on_device;
  report.stages = {
      {"fetch", r.state->store->path_taken() + ", " + threads, std::string(kOnlyPath), report.stored_bytes,
       job.stage_seconds(Stage::fetch)},
      {"decode", path.text, path.reason, report.decoded_bytes, job.stage_seconds(Stage::decode)},
      {"upload", r.device.name() + ", pinned ring", on_device ? "encoded bytes" : "decoded bytes",
       on_device ? report.stored_bytes : report.decoded_bytes, waited},
      {"assemble", r.device.name(), "byte order, fill and placement in one pass", report.decoded_bytes, 0}};
  const auto count = [&](std::size_t stage, const char* what, std::uint64_t n) {
    if (n > 0) report.stages[stage].counts.push_back({what, n});
  };
  count(0, "requests", report.requests);
  count(1, "chunks on the CPU that the device's decoder does not take", flown.chunks_on_cpu);
  count(2, "chunks by their placement", direct_chunks);
  return report;
}

}  // namespace penstock
