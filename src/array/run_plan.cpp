#include "array/run_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "array/device/read.hpp"
#include "array/read/chunk_feed.hpp"
#include "array/read/host.hpp"

namespace penstock {
namespace {

StageReport* stage_named(Report& report, std::string_view name) {
  for (StageReport& s : report.stages)
    if (s.stage == name) return &s;
  return nullptr;
}

/// What the plan said of the stages, with what happened in them.
void fill_stages(const ReadPlan& plan, const Job& job, const device_read::DeviceStats& device, Report& report) {
  report.stages = plan.stages();
  const bool to_device = plan.way == ReadWay::device;
  const std::string threads = fmt::format("{} thread{}", job.worker_count(), job.worker_count() == 1 ? "" : "s");
  const auto fill = [&](const char* name, std::uint64_t bytes, double seconds, bool by_threads) {
    StageReport* const stage = stage_named(report, name);
    if (stage == nullptr) return;
    stage->bytes = bytes;
    stage->seconds = seconds;
    if (by_threads) stage->path += ", " + threads;
  };
  const auto count = [&](const char* name, const char* what, std::uint64_t n) {
    StageReport* const stage = stage_named(report, name);
    if (stage != nullptr && n > 0) stage->counts.push_back({what, n});
  };
  const bool on_device = plan.decode.decode == DevicePath::Decode::on_device;
  fill("fetch", report.stored_bytes, job.stage_seconds(Stage::fetch), true);
  fill("decode", report.decoded_bytes, job.stage_seconds(Stage::decode), !to_device);
  fill("upload", on_device ? report.stored_bytes : report.decoded_bytes, device.waited_seconds, false);
  fill("assemble", report.decoded_bytes, to_device ? 0 : job.stage_seconds(Stage::assemble), !to_device);
  count("fetch", "requests", report.requests);
  count("fetch", "chunks with a neighbour's", job.merged_chunks());
  count("decode", "waves", device.waves);
  count("decode", "chunks on the CPU that the device's decoder does not take", device.chunks_on_cpu);
  count("upload", "chunks by their placement", device.direct_chunks);
}

Status run_host(const ReadPlan& plan, ChunkFeed& feed, Job& job) {
  const std::uint64_t workers = plan.threads > 1 ? std::min(plan.workers(), job.worker_count()) : 1;
  return job.for_each(workers, true, [&](std::uint64_t) {
    Status done = decode_to_host(plan, feed, job);
    if (!done) feed.stop();
    return done;
  });
}

}  // namespace

Result<Report> run_plan(const ReadPlan& plan, std::span<const Stream> streams, const Options& options) {
  Job job(options, plan.operation, plan.out_bytes, plan.threads, reuse_within(plan.allowed.budget_bytes));
  Report report;
  device_read::DeviceStats device;
  std::uint64_t window_bytes = 0;
  if (plan.way == ReadWay::device) {
    PENSTOCK_ASSIGN(device, device_read::run_device(plan, streams, job));
  } else {
    ChunkFeed feed(plan, job);
    PENSTOCK_TRY(job.run([&] { return run_host(plan, feed, job); }));
    window_bytes = feed.peak_bytes();
  }
  job.fill_report(report);
  report.budget_bytes = plan.allowed.budget_bytes;
  report.peak_host_bytes += device.ring_bytes + device.window_bytes + window_bytes;
  report.peak_device_bytes = device.peak_device_bytes;
  fill_stages(plan, job, device, report);
  return report;
}

}  // namespace penstock
