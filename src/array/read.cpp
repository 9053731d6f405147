// Array::read, read_many, verify and plan: what is asked for becomes plans; each is run or printed.
#include <algorithm>
#include <map>

#include "array/device/read.hpp"
#include "array/run_plan.hpp"
#include "core/checked.hpp"
#include "core/guard.hpp"

namespace penstock {
namespace {

/// Items that one plan reads together.
struct Together {
  std::vector<BoundRegion> regions;
  std::vector<Stream> streams;
  Device device;
};

/// What chunks must have in common to go through the same waves.
std::string kind_of(const BoundRegion& region) {
  const CodecChain& chain = *region.chain;
  std::string kind = chain.decoded().dtype.name() + to_string(chain.decoded().shape);
  const auto add = [&](const Codec& codec) {
    const CodecSpec spec = codec.spec();
    kind += "|" + spec.name + spec.configuration;
  };
  for (const auto& codec : chain.array_codecs()) add(*codec);
  add(chain.array_to_bytes());
  for (const auto& codec : chain.bytes_codecs()) add(*codec);
  return kind;
}

/// Host memory takes any chunks; requests of one kind of store run ahead of the workers and those of the other do not.
class Sorter {
 public:
  Status add(const ReadItem& item, ReadWay way, Arena* arena) {
    if (way == ReadWay::device) arena = &unused_;  // that variable-length elements cannot go there is said later
    PENSTOCK_ASSIGN(BoundRegion region, BoundRegion::make(*item.array, item.region, item.target, arena));
    if (way == ReadWay::device) PENSTOCK_TRY(device_read::check_target(item.target));
    const Store* const store = region.state->store.get();
    const auto [ahead, is_new] = runs_ahead_.try_emplace(store, false);
    if (is_new) ahead->second = region.state->store->traits(region.state->path).requests_in_flight > 0;
    Key key{ahead->second, way, item.target.device.index, ""};
    if (way == ReadWay::device) {
      std::string& kind = kinds_[region.view.get()];
      if (kind.empty()) kind = kind_of(region);
      std::get<3>(key) = kind;
    }
    Together& together = groups_[key];
    together.device = item.target.device;
    together.regions.push_back(std::move(region));
    if (way == ReadWay::device) together.streams.push_back(item.target.stream);
    return {};
  }
  Result<Report> run(const Options& options) {
    JoinedReport report;
    if (groups_.empty()) groups_[Key{false, ReadWay::host, 0, ""}];
    std::uint64_t decoded = 0;
    for (auto& [key, together] : groups_) {
      PENSTOCK_ASSIGN(const ReadPlan plan,
                      make_plan(std::move(together.regions), std::get<1>(key), together.device, options));
      decoded = saturating_add(decoded, plan.decoded_bytes);
      PENSTOCK_TRY(check_decoded(decoded));
      PENSTOCK_ASSIGN(const Report part, run_plan(plan, together.streams, options));
      report.add(part);
    }
    return std::move(report).take();
  }

 private:
  using Key = std::tuple<bool, ReadWay, int, std::string>;
  std::map<Key, Together> groups_;
  std::map<const Store*, bool> runs_ahead_;
  std::map<const ArrayView*, std::string> kinds_;
  Arena unused_;
};

Result<Report> verify_all(const Array& array, const Options& options) {
  PENSTOCK_ASSIGN(BoundRegion region, BoundRegion::make_discarding(array));
  std::vector<BoundRegion> regions;
  regions.push_back(std::move(region));
  PENSTOCK_ASSIGN(ReadPlan plan, make_plan(std::move(regions), ReadWay::host, {}, options));
  PENSTOCK_TRY(check_decoded(plan.decoded_bytes));
  plan.operation = "verify";
  plan.on_error = OnError::fill;
  return run_plan(plan, {}, options);
}

}  // namespace

Result<Report> read_many(std::span<const ReadItem> items, const Options& options, Arena* arena) {
  return guarded([&]() -> Result<Report> {
    Sorter sorter;
    for (const ReadItem& item : items)
      PENSTOCK_TRY(
          sorter.add(item, item.target.device.type == Device::Type::cpu ? ReadWay::host : ReadWay::device, arena));
    return sorter.run(options);
  });
}

Result<Report> read_device(std::span<const ReadItem> items, const Options& options) {
  return guarded([&]() -> Result<Report> {
    Sorter sorter;
    for (const ReadItem& item : items) PENSTOCK_TRY(sorter.add(item, ReadWay::device, nullptr));
    return sorter.run(options);
  });
}

Result<Report> Array::read(const Region& region, const Target& target, const Options& options, Arena* arena) const {
  return guarded([&] {
    const ReadItem item{this, region, target};
    return read_many({&item, 1}, options, arena);
  });
}

Result<Report> Array::verify(const Options& options) const {
  return guarded([&] { return verify_all(*this, options); });
}

Result<Plan> Array::plan(const Region& region, Device device, const Options& options) const {
  Arena arena;
  PENSTOCK_ASSIGN(BoundRegion bound, BoundRegion::make(*this, region, Target{}, &arena));
  std::vector<BoundRegion> regions;
  regions.push_back(std::move(bound));
  const ReadWay way = device.type == Device::Type::cpu ? ReadWay::host : ReadWay::device;
  PENSTOCK_ASSIGN(const ReadPlan plan, make_plan(std::move(regions), way, device, options));
  return plan.summary();
}

}  // namespace penstock
