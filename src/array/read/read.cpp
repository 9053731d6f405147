// Array::read, read_many and verify: regions through workers into host memory.
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <limits>

#include "array/device/read.hpp"
#include "array/read/object_reader.hpp"
#include "array/read/region_reader.hpp"
#include "core/checked.hpp"
#include "core/units.hpp"
#include "exec/budget.hpp"

namespace penstock {
namespace {

/// Below this much decoded data the time to wake other threads is not earned back.
constexpr std::uint64_t kSerialBytes = std::uint64_t{64} << 10;

std::string codec_path(const CodecChain& chain) { return "cpu, " + innermost(chain).text(); }

void add_stages(const RegionReader& reader, const Job& job, Report& report) {
  const CodecChain& chain = innermost(reader.view().chain);
  const std::string threads = fmt::format("{} thread{}", job.worker_count(), job.worker_count() == 1 ? "" : "s");
  StageReport fetch{"fetch", reader.state().store->path_taken() + ", " + threads, std::string(kOnlyPath),
                    report.stored_bytes, job.stage_seconds(Stage::fetch)};
  fetch.counts = {{"requests", report.requests}};
  if (const std::uint64_t merged = job.merged_chunks()) fetch.counts.push_back({"chunks with a neighbour's", merged});
  report.stages.push_back(std::move(fetch));
  if (!chain.is_uncompressed())
    report.stages.push_back({"decode", codec_path(reader.view().chain) + ", " + threads, "the target is host memory",
                             report.decoded_bytes, job.stage_seconds(Stage::decode)});
  report.stages.push_back({"assemble", "cpu, " + threads,
                           chain.chunk_layout().swap ? "byte order and placement in one pass" : "placement",
                           report.decoded_bytes, job.stage_seconds(Stage::assemble)});
}

Result<std::uint64_t> region_bytes(const Region& region, const Dataset& dataset) {
  PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape_of(region)));
  return checked_mul(count, dataset.dtype.size_bytes);
}

/// Working memory and workers for reading `decoded_bytes` of chunks.
bool worth_threads(std::uint64_t decoded_bytes, const BudgetPlan& allowed) {
  return decoded_bytes > kSerialBytes && allowed.workers > 1;
}

/// A part of a request, and which object of which array it is of.
struct Wanted {
  Part part;
  std::size_t chunk;  // where its coordinates begin in the batch
};

/// Parts that are worked on together: sorted, so that those of one object follow each other.
class Batch {
 public:
  [[nodiscard]] std::size_t size() const { return wanted_.size(); }
  void add(const RegionReader& region, std::uint64_t object) {
    ChunkSliceArray buffer;
    const std::span<ChunkSlice> segments(buffer.data(), region.rank());
    region.locate(object, segments);
    wanted_.push_back({{&region, object}, chunks_.size()});
    for (const ChunkSlice& s : segments) chunks_.push_back(s.chunk);
  }
  /// Groups of parts of the same object.
  std::vector<std::span<const Part>> objects() {
    std::sort(wanted_.begin(), wanted_.end(),
              [&](const Wanted& a, const Wanted& b) { return order(a, b) == std::strong_ordering::less; });
    for (const Wanted& w : wanted_) parts_.push_back(w.part);
    std::vector<std::span<const Part>> groups;
    for (std::size_t first = 0, last = 0; first < wanted_.size(); first = last) {
      while (last < wanted_.size() && order(wanted_[first], wanted_[last]) == std::strong_ordering::equal) ++last;
      groups.push_back(std::span(parts_).subspan(first, last - first));
    }
    return groups;
  }

 private:
  [[nodiscard]] std::strong_ordering order(const Wanted& a, const Wanted& b) const {
    const RegionReader &x = *a.part.region, &y = *b.part.region;
    if (const auto by_array = &x.state() <=> &y.state(); by_array != 0) return by_array;
    if (const auto by_view = &x.view() <=> &y.view(); by_view != 0) return by_view;  // resized in between
    const auto chunk = [&](const Wanted& w) { return std::span(chunks_).subspan(w.chunk, x.rank()); };
    const auto p = chunk(a), q = chunk(b);
    return std::lexicographical_compare_three_way(p.begin(), p.end(), q.begin(), q.end());
  }
  std::vector<Wanted> wanted_;
  std::vector<std::uint64_t> chunks_;
  std::vector<Part> parts_;
};

/// Reads all objects of one region, as they come.
Status read_region(const RegionReader& region, const ObjectReader& objects, TaskGraph& flow) {
  PENSTOCK_TRY(flow.add(region.objects(), [&](std::uint64_t i) {
    const Part part{&region, i};
    return objects.read({&part, 1});
  }));
  return flow.finish();
}

/// Reads many regions; those that want something of the same object get it together.
Status read_regions(const std::vector<RegionReader>& regions, const ObjectReader& objects, TaskGraph& flow) {
  constexpr std::size_t kBatch = 32768;  // parts; their lists take a few MB
  std::size_t region = 0;
  std::uint64_t object = 0;
  while (region < regions.size()) {
    Batch batch;
    while (batch.size() < kBatch && region < regions.size()) {
      if (object < regions[region].objects()) {
        batch.add(regions[region], object++);
      } else {
        ++region;
        object = 0;
      }
    }
    const auto groups = batch.objects();
    PENSTOCK_TRY(flow.add(groups.size(), [&](std::uint64_t i) { return objects.read(groups[i]); }));
    PENSTOCK_TRY(flow.finish());
  }
  return {};
}

/// Memory that a request may take to read several ranges at once: more gains nothing.
std::uint64_t merge_bytes(const BudgetPlan& allowed) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 20;
  return std::min(kMax, allowed.spare_bytes);
}

Result<Report> read_host(std::span<const ReadItem> items, const Options& options, Arena* arena) {
  std::vector<RegionReader> regions;
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t bytes = 0, chunks = 0, chunk_bytes = 0, per_worker = 0;
  regions.reserve(items.size());
  for (const ReadItem& item : items) {
    PENSTOCK_ASSIGN(RegionReader region, RegionReader::make(*item.array, item.region, item.target, arena));
    const Dataset& dataset = region.view().dataset;
    PENSTOCK_ASSIGN(const std::uint64_t item_bytes, region_bytes(item.region, dataset));
    PENSTOCK_ASSIGN(bytes, checked_add(bytes, item_bytes));
    per_worker = std::max(per_worker, region.bytes_per_worker());
    if (region.objects() > 0) {
      const CodecChain& chain = innermost(region.view().chain);
      PENSTOCK_ASSIGN(const GridPartition cut, GridPartition::make(item.region, chain.decoded().shape));
      // Beyond 64 bits it is worth threads all the same.
      const std::uint64_t touched = checked_mul(chain.decoded_size(), cut.size()).value_or(kMax);
      chunks = checked_add(chunks, cut.size()).value_or(kMax);
      chunk_bytes = checked_add(chunk_bytes, touched).value_or(kMax);
    }
    regions.push_back(std::move(region));
  }
  PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, per_worker));
  const bool parallel = chunks > 1 && worth_threads(chunk_bytes, allowed);
  Job job(options, "read", bytes, parallel ? allowed.workers : 1, reuse_within(allowed.budget_bytes));
  PENSTOCK_TRY(job.run([&]() -> Status {
    TaskGraph flow(job, parallel);
    const ObjectReader objects(job, flow, options.on_error, merge_bytes(allowed));
    return regions.size() == 1 ? read_region(regions.front(), objects, flow) : read_regions(regions, objects, flow);
  }));
  Report report;
  job.fill_report(report);
  report.budget_bytes = allowed.budget_bytes;
  if (!regions.empty()) add_stages(regions.front(), job, report);
  return report;
}

}  // namespace

Result<Report> read_many(std::span<const ReadItem> items, const Options& options, Arena* arena) {
  std::vector<ReadItem> host;
  JoinedReport report;
  for (const ReadItem& item : items) {
    if (item.target.device.type == Device::Type::cpu) {
      host.push_back(item);
    } else {
      PENSTOCK_ASSIGN(const Report part, read_device(item, options));
      report.add(part);
    }
  }
  if (!host.empty() || report.empty()) {
    PENSTOCK_ASSIGN(const Report part, read_host(host, options, arena));
    report.add(part);
  }
  return std::move(report).take();
}

Result<Report> Array::read(const Region& region, const Target& target, const Options& options, Arena* arena) const {
  const ReadItem item{this, region, target};
  return read_many({&item, 1}, options, arena);
}

Result<Report> Array::verify(const Options& options) const {
  PENSTOCK_ASSIGN(const RegionReader reader, RegionReader::make_discarding(*this));
  PENSTOCK_ASSIGN(const std::uint64_t bytes, region_bytes(whole(reader.view().dataset.shape), reader.view().dataset));
  PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, reader.bytes_per_worker()));
  const bool parallel = worth_threads(bytes, allowed);
  Job job(options, "verify", bytes, parallel ? allowed.workers : 1, reuse_within(allowed.budget_bytes));
  PENSTOCK_TRY(job.run([&] {
    TaskGraph flow(job, parallel);
    return read_region(reader, ObjectReader(job, flow, OnError::fill, merge_bytes(allowed)), flow);
  }));
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
  PENSTOCK_ASSIGN(const GridPartition inner, GridPartition::make(region, chain.decoded().shape));
  plan.chunks = inner.size();
  plan.chunk_bytes = chain.decoded_size();
  PENSTOCK_ASSIGN(plan.decoded_bytes, checked_mul(plan.chunks, plan.chunk_bytes));
  PENSTOCK_ASSIGN(plan.output_bytes, region_bytes(region, dataset));
  plan.need_bytes = reader.bytes_per_worker();
  PENSTOCK_ASSIGN(const BudgetPlan allowed, plan_budget(options, plan.need_bytes));
  plan.budget_bytes = allowed.budget_bytes;
  plan.workers = worth_threads(plan.decoded_bytes, allowed) ? std::min(allowed.workers, plan.chunks) : 1;
  plan.stages.push_back({"fetch", reader.state().store->path_taken(), std::string(kOnlyPath), 0, 0});
  if (device.type == Device::Type::cuda) {
    PENSTOCK_ASSIGN(const DevicePath path,
                    device_path(dataset, reader.view().chain, device, plan.chunks, allowed.workers, options.decode));
    plan.stages.push_back({"decode", path.text, path.reason, plan.decoded_bytes, 0});
  } else if (!chain.is_uncompressed()) {
    plan.stages.push_back(
        {"decode", codec_path(reader.view().chain), "the target is host memory", plan.decoded_bytes, 0});
  }
  plan.stages.push_back({"assemble", device.name(),
                         chain.chunk_layout().swap ? "byte order and placement in one pass" : "placement",
                         plan.output_bytes, 0});
  return plan;
}

}  // namespace penstock
