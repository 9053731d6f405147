#include "array/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/checked.hpp"
#include "core/units.hpp"
#include "exec/staging.hpp"

namespace penstock {
namespace {

/// Below this much decoded data the time to wake other threads is not earned back.
constexpr std::uint64_t kSerialBytes = std::uint64_t{64} << 10;
/// Decoded, of chunks that one worker sends to a device at a time; less with small budgets.  More would only let the
/// others wait longer for the last of them.
constexpr std::uint64_t kGroupBytes = kStagingBytes;

/// Of the chunks that a region touches, with all their elements.
std::uint64_t decoded_bytes(const BoundRegion& r) {
  const Shape& chunk_shape = r.chain->decoded().shape;
  const Shape& shape = r.view->dataset.shape;
  std::uint64_t bytes = r.item_bytes;
  for (std::size_t d = 0; d < r.rank(); ++d) {
    const Range& range = r.region[d];
    std::uint64_t extent = saturating_mul(DimPartition(range, chunk_shape[d]).size(), chunk_shape[d]);
    if (range.count > 0 && r.view->index->crops(d)) {
      const std::uint64_t last = ChunkSlice{0, range.start, range.step, range.count, 0}.last();
      const std::uint64_t end = (last / chunk_shape[d] + 1) * chunk_shape[d];
      extent -= end - std::min(end, shape[d]);
    }
    bytes = saturating_mul(bytes, extent);
  }
  return bytes;
}

void count(ReadPlan& plan) {
  for (const BoundRegion& r : plan.regions) {
    plan.chunks = saturating_add(plan.chunks, r.chunks);
    plan.objects = saturating_add(plan.objects, r.objects.size());
    if (r.view->chain.sharding() != nullptr) plan.index_reads = saturating_add(plan.index_reads, r.objects.size());
    plan.decoded_bytes = saturating_add(plan.decoded_bytes, decoded_bytes(r));
    plan.out_bytes = saturating_add(plan.out_bytes, r.out_bytes);
    plan.chunk_bytes = std::max(plan.chunk_bytes, r.chain->decoded_size());
  }
}

/// Bytes of a shard that may be read whole; 0: it is too large, or there are none.
std::uint64_t whole_shard(const BoundRegion& region, std::uint64_t max_bytes) {
  const ShardingCodec* const sharding = region.view->chain.sharding();
  if (sharding == nullptr || region.view->dataset.dtype.is_vlen()) return 0;
  const std::uint64_t bytes = saturating_add(region.view->chain.decoded_size(), sharding->index_bytes());
  return saturating_add(bytes, bytes / 8) <= max_bytes ? bytes : 0;  // WholeObjects::fits
}

Status plan_host(ReadPlan& plan, const Options& options) {
  std::uint64_t encoded = 0;
  for (const BoundRegion& r : plan.regions) {
    plan.need_bytes = std::max(plan.need_bytes, r.bytes_per_worker());
    encoded = std::max(encoded, r.encoded_bytes());
  }
  PENSTOCK_ASSIGN(plan.allowed, plan_budget(options, plan.need_bytes));
  const bool parallel = plan.chunks > 1 && plan.decoded_bytes > kSerialBytes && plan.allowed.workers > 1;
  plan.threads = parallel ? plan.allowed.workers : 1;
  plan.window_bytes = plan.workers() * (plan.allowed.spare_bytes + encoded);
  return {};
}

Status plan_device(ReadPlan& plan, const Options& options) {
  using namespace device_read;
  if (plan.regions.empty()) return plan_host(plan, options);
  const BoundRegion& first = plan.regions.front();
  const CodecChain& chain = *first.chain;
  const std::uint64_t each = aligned(chain.decoded_size());
  const std::uint64_t group_bytes =
      options.budget_bytes == 0 ? kGroupBytes : std::min(kGroupBytes, options.budget_bytes / 64);
  plan.group_chunks = std::max<std::uint64_t>(group_bytes / std::max(each, kAlign), 1);
  const std::uint64_t encoded = max_encoded_bytes(chain).value_or(2 * chain.decoded_size());
  // A worker has a group of chunks on the device, some pieces on their way, and what decoding takes.
  const std::uint64_t decoding = chain.is_uncompressed() ? 0 : encoded + each + chain.scratch_bytes();
  plan.need_bytes = each * plan.group_chunks + kStagingBuffers * kStagingBytes + decoding;
  PENSTOCK_ASSIGN(plan.allowed, plan_budget(options, plan.need_bytes));
  plan.threads = plan.allowed.workers;
  plan.window_bytes = plan.allowed.workers * (plan.allowed.spare_bytes + encoded);
  PENSTOCK_ASSIGN(plan.decode, device_path(first.view->dataset, first.view->chain, plan.device, plan.chunks,
                                           plan.allowed.workers, options.decode));
  if (!plan.decode.chain) return {};
  const std::uint64_t least = min_wave_bytes(chain, *plan.decode.chain);
  if (least > plan.allowed.budget_bytes) {
    plan.decode.reason = fmt::format("two waves of one chunk take {} of device memory, the budget is {}",
                                     format_bytes(least), format_bytes(plan.allowed.budget_bytes));
    plan.decode.text = "cpu, " + chain.text();
    plan.decode.decode = DevicePath::Decode::on_cpu;
    return {};
  }
  plan.waves = wave_limits(chain, *plan.decode.chain, wave_budget(plan.device, plan.allowed.budget_bytes));
  return {};
}

}  // namespace

Result<ReadPlan> make_plan(std::vector<BoundRegion> regions, ReadWay way, Device device, const Options& options) {
  ReadPlan plan;
  plan.regions = std::move(regions);
  plan.way = way;
  plan.device = device;
  plan.on_error = options.on_error;
  count(plan);
  PENSTOCK_TRY(way == ReadWay::host ? plan_host(plan, options) : plan_device(plan, options));
  if (plan.regions.empty()) return plan;
  const Array::State& state = *plan.regions.front().state;
  plan.traits = state.store->traits(state.path);
  plan.merge_max_bytes = std::min(plan.traits.merge_max_bytes, plan.allowed.spare_bytes);
  if (plan.traits.requests_in_flight > 0 && plan.traits.merge_gap_bytes > 0)
    for (const BoundRegion& r : plan.regions)
      plan.whole_shard_bytes = std::max(plan.whole_shard_bytes, whole_shard(r, plan.merge_max_bytes));
  return plan;
}

std::vector<StageReport> ReadPlan::stages() const {
  if (regions.empty()) return {};
  const CodecChain& chain = *regions.front().chain;
  std::string why_fetched = traits.reason;
  if (whole_shard_bytes > 0) why_fetched += "; a shard is one request where half of it or more is wanted";
  std::vector<StageReport> stages = {{"fetch", regions.front().state->store->path_taken(), why_fetched, 0, 0}};
  if (way == ReadWay::device) {
    const bool on_device = decode.decode == DevicePath::Decode::on_device;
    stages.push_back({"decode", decode.text, decode.reason, 0, 0});
    stages.push_back({"upload", device.name() + ", pinned ring", on_device ? "encoded bytes" : "decoded bytes", 0, 0});
    stages.push_back({"assemble", device.name(), "byte order, fill and placement in one pass", 0, 0});
    return stages;
  }
  if (!chain.is_uncompressed()) stages.push_back({"decode", "cpu, " + chain.text(), "the target is host memory", 0, 0});
  stages.push_back({"assemble", device.name(),
                    chain.chunk_layout().swap ? "byte order and placement in one pass" : "placement", 0, 0});
  return stages;
}

Plan ReadPlan::summary() const {
  Plan plan;
  if (!regions.empty()) plan.region = regions.front().region;
  plan.chunks = chunks;
  plan.objects = objects;
  plan.index_reads = index_reads;
  plan.decoded_bytes = decoded_bytes;
  plan.output_bytes = out_bytes;
  plan.chunk_bytes = chunk_bytes;
  plan.budget_bytes = allowed.budget_bytes;
  plan.need_bytes = need_bytes;
  plan.workers = workers();
  plan.stages = stages();
  for (StageReport& s : plan.stages)
    s.bytes = s.stage == "decode" ? decoded_bytes : s.stage == "assemble" ? out_bytes : 0;
  return plan;
}

}  // namespace penstock
