#include "array/device/read.hpp"

#include <algorithm>

#include "array/read/chunk_feed.hpp"
#include "array/read/host.hpp"
#include "core/checked.hpp"
#include "device/staging.hpp"

namespace penstock::device_read {

Status check_target(const Target& target) {
  if (target.stream.device() == target.device) return {};
  return Error(ErrorCode::invalid_argument, "the stream of a device target must be one of that device");
}

Status DeviceRun::start(std::span<const Stream> streams) {
  for (const Stream& stream : streams) {
    const bool known = std::ranges::any_of(callers, [&](const Stream& s) { return s.native() == stream.native(); });
    if (known) continue;
    callers.push_back(stream);
    PENSTOCK_ASSIGN(begins.emplace_back(), Event::record(stream));
  }
  PENSTOCK_ASSIGN(ring, shared_pinned_ring(plan.device.type));
  PENSTOCK_ASSIGN(memory, working_memory(plan.device, job.options()));
  reads_pinned = find_backend(plan.device.type)->reads_pinned(plan.device.index);  // the ring has found it
  return {};
}

Status DeviceRun::wait_for_callers(const Stream& stream) const {
  for (const Event& begin : begins) PENSTOCK_TRY(begin.wait_on(stream));
  return {};
}

Result<WorkerState*> DeviceRun::worker(std::uint64_t count) {
  WorkerState& mine = workers.local();
  PENSTOCK_ASSIGN(const bool started, mine.pieces.start(*ring, first_staging, count, job.stop()));
  return started ? &mine : nullptr;
}

Status DeviceRun::place(std::span<const PlaceItem> items, const Stream& stream) {
  if (stream.device().type != Device::Type::cpu) return place_cuda(items, stream);
  for (const PlaceItem& item : items) PENSTOCK_TRY(place_cpu(item));
  return {};
}

Status DeviceRun::note(const ObjectChunks& object, const ChunkRef& ref, Error error) const {
  return note_problem(plan, job, *ref.holder, object.region().state->store->url(), ref.path(), std::move(error));
}

Result<DeviceStats> run_device(const ReadPlan& plan, std::span<const Stream> streams, Job& job) {
  DeviceStats stats;
  if (plan.regions.empty()) return stats;
  ChunkFeed feed(plan, job);
  DeviceRun run{plan, job, feed};
  PENSTOCK_TRY(run.start(streams));
  const Status done = job.run([&]() -> Status {
    if (plan.decode.decode == DevicePath::Decode::on_device) return run_waves(run, stats);
    const std::uint64_t groups = std::max<std::uint64_t>(div_up(plan.chunks, plan.group_chunks), 1);
    const std::uint64_t workers = std::min({job.worker_count(), groups, plan.workers()});
    return job.for_each(workers, true, [&](std::uint64_t) {
      Status sent = send_chunks(run, workers);
      if (!sent) feed.stop();
      return sent;
    });
  });
  // Also after an error: nothing may still write into the targets when the caller has them back.
  for (WorkerState& mine : run.workers) {
    stats.waited_seconds += mine.pieces.waited_seconds();
    stats.direct_chunks += mine.direct_chunks;
    stats.peak_device_bytes += mine.staging.size();
    if (!mine.stream) continue;
    if (!done) {
      PENSTOCK_TRY(mine.stream->synchronize());
      continue;
    }
    PENSTOCK_ASSIGN(const Event end, Event::record(*mine.stream));
    for (const Stream& caller : run.callers) PENSTOCK_TRY(end.wait_on(caller));
  }
  if (!done) return done.error();
  stats.window_bytes = feed.peak_bytes();
  stats.ring_bytes = run.ring->allocated_bytes();
  return stats;
}

}  // namespace penstock::device_read
