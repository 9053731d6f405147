// Array::write: a region from host memory through workers into the store.
#include <fmt/format.h>

#include "array/budget.hpp"
#include "array/write_device.hpp"
#include "array/writer.hpp"
#include "core/checked.hpp"
#include "core/units.hpp"

namespace penstock {

Result<Report> Array::write(const Region& region, const Target& source, const Options& options) {
  if (source.device.type != Device::Type::cpu) return write_from_device(*this, region, source, options);
  PENSTOCK_ASSIGN(const RegionWriter writer, RegionWriter::make(*this, region, source));
  const Dataset& dataset = writer.view().dataset;
  PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape_of(region)));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(count, dataset.dtype.size_bytes));
  PENSTOCK_ASSIGN(const Allowance allowed, allow(options, writer.bytes_per_object()));
  // A shard is encoded by all threads and takes much memory: as many shards at once as the budget has room for.
  const bool sharded = writer.view().chain.sharding() != nullptr;
  Job job(options, "write", bytes, sharded ? allowed.threads : allowed.workers, reuse_within(allowed.budget_bytes));
  const std::uint64_t at_once = sharded ? allowed.workers : writer.objects();
  const Status written = job.run([&]() -> Status {
    if (at_once >= writer.objects())
      return job.for_each(writer.objects(), true, [&](std::uint64_t i) { return writer.write_object(job, i); });
    for (std::uint64_t first = 0; first < writer.objects(); first += at_once) {
      const std::uint64_t n = std::min(at_once, writer.objects() - first);
      PENSTOCK_TRY(job.for_each(n, true, [&](std::uint64_t i) { return writer.write_object(job, first + i); }));
    }
    return {};
  });
  if (!written) return written.error();
  Report report;
  job.fill_report(report);
  report.budget_bytes = allowed.budget_bytes;
  const std::string threads = fmt::format("{} thread{}", job.worker_count(), job.worker_count() == 1 ? "" : "s");
  report.stages = {
      {"assemble", "cpu, " + threads, "gathering chunks", report.decoded_bytes, job.stage_seconds(Stage::assemble)},
      {"encode", "cpu, " + writer.view().chain.text() + ", " + threads, "the source is host memory",
       report.stored_bytes, job.stage_seconds(Stage::encode)},
      {"store", state_->store->path_taken() + ", " + threads, "each object replaced as a whole", report.stored_bytes,
       job.stage_seconds(Stage::store)}};
  return report;
}

}  // namespace penstock
