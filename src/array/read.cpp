// Array::read, read_many and verify: regions through workers into host memory.
#include <fmt/format.h>

#include <algorithm>

#include "array/budget.hpp"
#include "array/read_cuda.hpp"
#include "array/reader.hpp"
#include "core/checked.hpp"
#include "core/units.hpp"

namespace penstock {
namespace {

/// Below this much decoded data the time to wake other threads is not earned back.
constexpr std::uint64_t kSerialBytes = std::uint64_t{256} << 10;

std::string codec_path(const CodecChain& chain) { return "cpu, " + innermost(chain).text(); }

void add_stages(const RegionReader& reader, const Job& job, Report& report) {
  const CodecChain& chain = innermost(reader.view().chain);
  const std::string threads = fmt::format("{} thread{}", job.worker_count(), job.worker_count() == 1 ? "" : "s");
  report.stages.push_back({"fetch", reader.state().store->path_taken() + ", " + threads,
                           fmt::format("{} requests", format_count(report.requests)), report.stored_bytes,
                           job.stage_seconds(Stage::fetch)});
  if (!chain.is_raw())
    report.stages.push_back({"decode", codec_path(reader.view().chain) + ", " + threads, "the target is host memory",
                             report.decoded_bytes, job.stage_seconds(Stage::decode)});
  report.stages.push_back({"assemble", "cpu, " + threads,
                           chain.raw_layout().swap ? "byte order and placement in one pass" : "placement",
                           report.decoded_bytes, job.stage_seconds(Stage::assemble)});
}

Result<std::uint64_t> region_bytes(const Region& region, const Dataset& dataset) {
  PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape_of(region)));
  return checked_mul(count, dataset.dtype.size_bytes);
}

/// Working memory and workers for reading `decoded_bytes` of chunks.
bool worth_threads(std::uint64_t decoded_bytes, const Allowance& allowed) {
  return decoded_bytes > kSerialBytes && allowed.workers > 1;
}

struct Request {
  RegionReader reader;
  std::uint64_t first_object;  // objects of the requests before it
};

Result<Report> read_host(std::span<const ReadItem> items, const Options& options, Arena* arena) {
  std::vector<Request> requests;
  std::uint64_t objects = 0, bytes = 0, chunk_bytes = 0, per_worker = 0;
  for (const ReadItem& item : items) {
    PENSTOCK_ASSIGN(RegionReader reader, RegionReader::make(*item.array, item.region, item.target, arena));
    const Dataset& dataset = reader.view().dataset;
    PENSTOCK_ASSIGN(const std::uint64_t item_bytes, region_bytes(item.region, dataset));
    PENSTOCK_ASSIGN(bytes, checked_add(bytes, item_bytes));
    per_worker = std::max(per_worker, reader.bytes_per_worker());
    if (reader.objects() > 0) {
      const std::uint64_t unit = innermost(reader.view().chain).decoded_size();
      PENSTOCK_ASSIGN(const std::uint64_t touched, checked_mul(unit, reader.objects()));
      PENSTOCK_ASSIGN(chunk_bytes, checked_add(chunk_bytes, std::max(touched, item_bytes)));
    }
    const std::uint64_t first = objects;
    PENSTOCK_ASSIGN(objects, checked_add(objects, reader.objects()));
    requests.push_back({std::move(reader), first});
  }
  PENSTOCK_ASSIGN(const Allowance allowed, allow(options, per_worker));
  const bool parallel = worth_threads(chunk_bytes, allowed);
  Job job(options, "read", bytes, parallel ? allowed.workers : 1);
  const auto read_object = [&](std::uint64_t i) -> Status {
    const auto after = std::upper_bound(requests.begin(), requests.end(), i,
                                        [](std::uint64_t at, const Request& r) { return at < r.first_object; });
    const Request& request = *std::prev(after);
    return request.reader.read_object(job, i - request.first_object, options.on_error, parallel);
  };
  PENSTOCK_TRY(job.run([&] { return job.for_each(objects, parallel, read_object); }));
  Report report;
  job.fill_report(report);
  report.budget_bytes = allowed.budget_bytes;
  if (!requests.empty()) add_stages(requests.front().reader, job, report);
  return report;
}

}  // namespace

Result<Report> read_many(std::span<const ReadItem> items, const Options& options, Arena* arena) {
  std::vector<ReadItem> host;
  std::optional<Report> report;
  double seconds = 0;
  const auto add = [&](Report part) {
    seconds += part.wall_seconds;
    if (report)
      report->merge(part);
    else
      report = std::move(part);
    report->wall_seconds = seconds;
  };
  for (const ReadItem& item : items) {
    if (item.target.device.type == Device::Type::cpu) {
      host.push_back(item);
    } else {
      PENSTOCK_ASSIGN(Report part, read_cuda(item, options));
      add(std::move(part));
    }
  }
  if (!host.empty() || !report) {
    PENSTOCK_ASSIGN(Report part, read_host(host, options, arena));
    add(std::move(part));
  }
  return *std::move(report);
}

Result<Report> Array::read(const Region& region, const Target& target, const Options& options, Arena* arena) const {
  const ReadItem item{this, region, target};
  return read_many({&item, 1}, options, arena);
}

Result<Report> Array::verify(const Options& options) const {
  PENSTOCK_ASSIGN(const RegionReader reader, RegionReader::make_discarding(*this));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, region_bytes(whole(reader.view().dataset.shape), reader.view().dataset));
  PENSTOCK_ASSIGN(const Allowance allowed, allow(options, reader.bytes_per_worker()));
  const bool parallel = worth_threads(bytes, allowed);
  Job job(options, "verify", bytes, parallel ? allowed.workers : 1);
  const Status read = job.run([&] {
    return job.for_each(reader.objects(), parallel,
                        [&](std::uint64_t i) { return reader.read_object(job, i, OnError::fill, parallel); });
  });
  if (!read) return read.error();
  Report report;
  job.fill_report(report);
  report.budget_bytes = allowed.budget_bytes;
  add_stages(reader, job, report);
  return report;
}

Result<Plan> Array::plan(const Region& region, Device device, const Options& options) const {
  Arena arena;
  PENSTOCK_ASSIGN(const RegionReader reader, RegionReader::make(*this, region, Target{}, &arena));
  const Dataset& dataset = reader.view().dataset;
  const CodecChain& chain = innermost(reader.view().chain);
  Plan plan;
  plan.region = region;
  plan.objects = reader.objects();
  plan.index_reads = reader.view().chain.sharding() ? plan.objects : 0;
  PENSTOCK_ASSIGN(const CutRegion inner, CutRegion::make(region, chain.decoded().shape));
  plan.chunks = inner.size();
  plan.chunk_bytes = chain.decoded_size();
  PENSTOCK_ASSIGN(plan.decoded_bytes, checked_mul(plan.chunks, plan.chunk_bytes));
  PENSTOCK_ASSIGN(plan.output_bytes, region_bytes(region, dataset));
  plan.need_bytes = reader.bytes_per_worker();
  PENSTOCK_ASSIGN(const Allowance allowed, allow(options, plan.need_bytes));
  plan.budget_bytes = allowed.budget_bytes;
  plan.workers = worth_threads(plan.decoded_bytes, allowed) ? std::min(allowed.workers, plan.chunks) : 1;
  plan.stages.push_back({"fetch", reader.state().store->path_taken(), "the store's only path", 0, 0});
  if (device.type == Device::Type::cuda) {
    PENSTOCK_ASSIGN(const CudaPath path, cuda_path(dataset, reader.view().chain, device, plan.chunks, allowed.workers));
    plan.stages.push_back({"decode", path.text, path.reason, plan.decoded_bytes, 0});
  } else if (!chain.is_raw()) {
    plan.stages.push_back(
        {"decode", codec_path(reader.view().chain), "the target is host memory", plan.decoded_bytes, 0});
  }
  plan.stages.push_back({"assemble", device.name(),
                         chain.raw_layout().swap ? "byte order and placement in one pass" : "placement",
                         plan.output_bytes, 0});
  return plan;
}

}  // namespace penstock
