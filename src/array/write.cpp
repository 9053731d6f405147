// Array::write and write_many: regions from memory through workers into stores.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "array/device/write.hpp"
#include "array/write/region_writer.hpp"
#include "core/checked.hpp"
#include "core/units.hpp"
#include "exec/budget.hpp"

namespace penstock {
namespace {

/// Regions of arrays on their way from host memory, all their objects in one list.
class Regions {
 public:
  Status add(const WriteItem& item) {
    PENSTOCK_ASSIGN(RegionWriter writer, RegionWriter::make(*item.array, item.region, item.source));
    PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape_of(item.region)));
    PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(count, writer.view().dataset.dtype.size_bytes));
    PENSTOCK_ASSIGN(bytes_, checked_add(bytes_, bytes));
    PENSTOCK_ASSIGN(const std::uint64_t end, checked_add(objects(), writer.objects()));
    need_.thread_bytes = std::max(need_.thread_bytes, writer.need().thread_bytes);
    need_.object_bytes = std::max(need_.object_bytes, writer.need().object_bytes);
    need_.waits_for_disk = need_.waits_for_disk || writer.need().waits_for_disk;
    ends_.push_back(end);
    writers_.push_back(std::move(writer));
    return {};
  }
  [[nodiscard]] std::uint64_t objects() const { return ends_.empty() ? 0 : ends_.back(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const WriteNeed& need() const { return need_; }
  [[nodiscard]] Status choose_encoders(Job& job) {
    for (RegionWriter& writer : writers_) PENSTOCK_TRY(writer.choose_encoder(job));
    return {};
  }
  [[nodiscard]] const RegionWriter& front() const { return writers_.front(); }
  [[nodiscard]] Status write_object(Job& job, std::uint64_t i) const {
    const auto which = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin());
    return writers_[which].write_object(job, which == 0 ? i : i - ends_[which - 1]);
  }

 private:
  std::vector<RegionWriter> writers_;
  std::vector<std::uint64_t> ends_;  // number of the object after the last of each region
  std::uint64_t bytes_ = 0;
  WriteNeed need_;
};

Result<Report> write_host(std::span<const WriteItem> items, const Options& options) {
  Regions regions;
  for (const WriteItem& item : items) PENSTOCK_TRY(regions.add(item));
  PENSTOCK_ASSIGN(const WriteBudget allowed, plan_write_budget(options, regions.need()));
  Job job(options, "write", regions.bytes(), allowed.threads, reuse_within(allowed.budget_bytes));
  const Status written = job.run([&]() -> Status {
    PENSTOCK_TRY(regions.choose_encoders(job));
    return job.for_each_within(regions.objects(), allowed.objects,
                               [&](std::uint64_t i) { return regions.write_object(job, i); });
  });
  if (!written) return written.error();
  Report report;
  job.fill_report(report);
  report.budget_bytes = allowed.budget_bytes;
  if (items.empty()) return report;
  const RegionWriter& writer = regions.front();
  std::string why_encoded = "the source is host memory";
  if (!writer.encoder_reason().empty()) why_encoded += "; " + writer.encoder_reason();
  const std::string threads = fmt::format("{} thread{}", job.worker_count(), job.worker_count() == 1 ? "" : "s");
  report.stages = {
      {"gather", "cpu, " + threads, "gathering chunks", report.decoded_bytes, job.stage_seconds(Stage::assemble)},
      {"encode", "cpu, " + writer.view().chain.text() + ", " + threads, std::move(why_encoded), report.stored_bytes,
       job.stage_seconds(Stage::encode)},
      {"store", writer.state().store->path_taken() + ", " + threads, "each object replaced as a whole",
       report.stored_bytes, job.stage_seconds(Stage::store)}};
  return report;
}

Result<Report> write_all(std::span<const WriteItem> items, const Options& options) {
  std::vector<WriteItem> host;
  JoinedReport report;
  for (const WriteItem& item : items) {
    if (item.source.device.type == Device::Type::cpu) {
      host.push_back(item);
    } else {
      PENSTOCK_ASSIGN(const Report part, write_from_device(*item.array, item.region, item.source, options));
      report.add(part);
    }
  }
  if (!host.empty() || report.empty()) {
    PENSTOCK_ASSIGN(const Report part, write_host(host, options));
    report.add(part);
  }
  std::set<Store*> stores;
  for (const WriteItem& item : items) stores.insert(item.array->store_ptr().get());
  for (Store* store : stores) PENSTOCK_TRY(store->sync());
  return std::move(report).take();
}

}  // namespace

Result<Report> write_many(std::span<const WriteItem> items, const Options& options) {
  return guarded([&] { return write_all(items, options); });
}

Result<Report> Array::write(const Region& region, const Target& source, const Options& options) {
  return guarded([&] {
    const WriteItem item{this, region, source};
    return write_all({&item, 1}, options);
  });
}

}  // namespace penstock
