// penstock bench
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "cli/commands.hpp"
#include "cli/kit/command.hpp"
#include "cli/kit/machine.hpp"
#include "cli/kit/table.hpp"
#include "cli/kit/version.hpp"
#include "cli/measure/cache.hpp"
#include "cli/nodes/describe.hpp"
#include "cli/nodes/reader.hpp"
#include "cli/nodes/target.hpp"
#include "cli/nodes/walk.hpp"
#include "core/checked.hpp"
#include "core/json.hpp"
#include "core/settings.hpp"
#include "core/units.hpp"
#include "penstock/copy.hpp"

namespace penstock::cli {
namespace {

/// One timed pass.
struct Pass {
  std::string what;  ///< "read, cold", "read, warm", "write"
  double seconds = 0;
  std::uint64_t bytes = 0;
  std::optional<double> cached;  ///< part of the files that the page cache held at the start
  std::uint64_t peak_host_bytes = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Bench : public Command {
  std::string store_;
  std::optional<std::string> region_, repeat_, write_, device_;
  bool cold_ = false, json_ = false;
  Resources resources_;
  StoreWords words_;

 public:
  void usage(Usage& usage) override {
    usage.about(
        "Times reading a region of an array into memory, again and again, and with --write also writing it. The first "
        "read is done by one thread and is not timed; every byte of every later pass is compared with it. What of the "
        "files was in the page cache is measured before each read: warm passes are repeated reads, cold passes come "
        "after dropping the files from the cache.");
    usage.argument("STORE", store_, "array");
    usage.option("--region", "R", region_, "what to read; default all. It must fit in memory twice");
    usage.option("--repeat", "N", repeat_, "passes of each kind; default 5");
    usage.flag("--cold", cold_, "also time reads after dropping the files from the page cache (local stores)");
    usage
        .option("--write", "DIR", write_,
                "also time writing the region to a new store below DIR, which is removed again")
        .kind = ValueKind::path;
    usage.option("--device", "D", device_, "read to this device's memory: cpu, cuda, cuda:1 or auto; default cpu");
    words_.declare(usage);
    usage.flag("--json", json_, "print JSON with machine, date and commit");
    resources_.declare(usage);
    usage.example("penstock bench vol.zarr/0", "warm reads");
    usage.example("penstock bench vol.zarr/0 --cold --write /data/tmp --json > result.json", "all, to be kept");
  }

  Result<int> run(Session& session) override {
    PENSTOCK_ASSIGN(Options options, resources_.options());
    const ProgressEnd end;
    std::uint64_t repeat = 5;
    if (repeat_) {
      PENSTOCK_ASSIGN_IN(repeat, parse_count(*repeat_), "--repeat");
      if (repeat < 1 || repeat > 10000) return Error(ErrorCode::invalid_argument, "--repeat: must be from 1 to 10000");
    }
    PENSTOCK_ASSIGN(const StoreOptions how, words_.options());
    PENSTOCK_ASSIGN(const Array array, open_array(store_, how));
    const Dataset dataset = array.dataset();
    if (dataset.dtype.is_vlen())
      return Error(ErrorCode::unsupported, "bench compares bytes; elements of variable length have none of their own");
    PENSTOCK_ASSIGN(const Selection selection, region_option(region_, dataset.shape));
    const Region& region = selection.region;
    PENSTOCK_ASSIGN_IN(const Device device, Device::parse(device_.value_or("cpu")), "--device");
    PENSTOCK_ASSIGN(const std::uint64_t count, element_count(shape_of(region)));
    PENSTOCK_ASSIGN(const std::uint64_t bytes, checked_mul(count, dataset.dtype.size_bytes));
    if (bytes == 0) return Error(ErrorCode::invalid_argument, "the region is empty: nothing to time");

    Options reference_options = options;
    reference_options.threads = 1;
    Bytes reference;
    PENSTOCK_TRY_IN(reference.resize_discard(bytes), "--region");
    PENSTOCK_TRY(array.read(region, {reference.data(), {}, {}, {}}, reference_options));
    options.progress = nullptr;  // printing is not what is timed

    std::vector<Pass> passes;
    if (cold_) {
      PENSTOCK_TRY(local_files());
      for (std::uint64_t i = 0; i < repeat; ++i) {
        PENSTOCK_TRY(drop_from_cache(*local_files()));
        PENSTOCK_TRY(read_pass(array, region, device, options, reference, "read, cold", passes));
      }
    }
    for (std::uint64_t i = 0; i < repeat; ++i)
      PENSTOCK_TRY(read_pass(array, region, device, options, reference, "read, warm", passes));
    if (write_) PENSTOCK_TRY(write_passes(dataset, region, options, reference, repeat, passes));
    print(session, dataset, region, device, options, passes);
    return 0;
  }

 private:
  [[nodiscard]] Result<std::vector<std::string>> local_files() const {
    auto files = files_below(store_);
    if (!files && cold_) files.error().set_hint("--cold works on local directories and files.");
    return files;
  }

  Status check(const Bytes& got, const Bytes& reference, const std::string& what) const {
    if (std::memcmp(got.data(), reference.data(), reference.size()) == 0) return {};
    std::uint64_t at = 0;
    while (got.data()[at] == reference.data()[at]) ++at;
    return Error(ErrorCode::internal, fmt::format("{}: byte {} differs from what one thread reads", what, at));
  }

  Status read_pass(const Array& array, const Region& region, Device device, const Options& options,
                   const Bytes& reference, const std::string& what, std::vector<Pass>& passes) const {
    Pass pass{what, 0, reference.size(), std::nullopt, 0};
    if (const auto files = files_below(store_)) {
      if (const auto state = cache_state(*files)) pass.cached = state->fraction();
    }
    Bytes got;
    PENSTOCK_TRY(got.resize_discard(reference.size()));
    std::memset(got.data(), 0xA5, got.size());  // memory is there, and what is not written is seen
    PENSTOCK_ASSIGN(const TimedRead timed, read_timed(array, region, device, options, got.span()));
    pass.seconds = timed.seconds;
    pass.peak_host_bytes = timed.report.peak_host_bytes;
    PENSTOCK_TRY(check(got, reference, what));
    passes.push_back(std::move(pass));
    return {};
  }

  Status write_passes(const Dataset& dataset, const Region& region, const Options& options, const Bytes& reference,
                      std::uint64_t repeat, std::vector<Pass>& passes) const {
    std::error_code ignored;
    const std::string folder = fmt::format("{}/penstock-bench-{}.zarr", *write_, ::time(nullptr));
    PENSTOCK_ASSIGN(const Occupant found, occupant({folder, ""}));
    if (found != Occupant::nothing) return Error(ErrorCode::already_exists, folder + ": already exists");
    CopyChanges changes;
    changes.region = region;
    PENSTOCK_ASSIGN(const Dataset copy, copied_dataset(dataset, changes));
    Status done;
    for (std::uint64_t i = 0; i < repeat && done; ++i) {
      done = write_pass(copy, folder, options, reference, passes);
      std::filesystem::remove_all(folder, ignored);
    }
    return done;
  }

  Status write_pass(const Dataset& dataset, const std::string& folder, const Options& options, const Bytes& reference,
                    std::vector<Pass>& passes) const {
    PENSTOCK_ASSIGN(auto store, open_store(folder, StoreMode::create));
    PENSTOCK_ASSIGN(Array array, Array::create(store, "", dataset, Array::IfExists::fail));
    // A Target is for both directions; writing does not change what it points to.
    const Target source{const_cast<std::byte*>(reference.data()), {}, {}, {}};
    const auto start = std::chrono::steady_clock::now();
    PENSTOCK_ASSIGN(const Report report, array.write(whole(dataset.shape), source, options));
    PENSTOCK_TRY(store->flush());
    Pass pass{"write", seconds_since(start), reference.size(), std::nullopt, report.peak_host_bytes};
    Bytes got;
    PENSTOCK_TRY(got.resize_discard(reference.size()));
    PENSTOCK_TRY(array.read(whole(dataset.shape), {got.data(), {}, {}, {}}, options));
    PENSTOCK_TRY(check(got, reference, "write"));
    passes.push_back(std::move(pass));
    return {};
  }

  /// Kinds of passes in the order in which they were run.
  static std::vector<std::string> kinds(const std::vector<Pass>& passes) {
    std::vector<std::string> names;
    for (const Pass& p : passes)
      if (std::ranges::find(names, p.what) == names.end()) names.push_back(p.what);
    return names;
  }

  void print(Session& session, const Dataset& dataset, const Region& region, Device device, const Options& options,
             const std::vector<Pass>& passes) const {
    Json results = Json::array();
    Table table("lrrrrr");
    table.row({"what", "best", "median", "worst", "cached before", "memory"});
    for (const std::string& kind : kinds(passes)) {
      std::vector<double> seconds;
      std::optional<double> cached;  // the highest, so that a cold pass cannot look colder than it was
      std::uint64_t bytes = 0;
      std::uint64_t peak = 0;
      for (const Pass& p : passes) {
        if (p.what != kind) continue;
        seconds.push_back(p.seconds);
        if (p.cached) cached = std::max(cached.value_or(0), *p.cached);
        bytes = p.bytes;
        peak = std::max(peak, p.peak_host_bytes);
      }
      std::ranges::sort(seconds);
      const double median = (seconds[(seconds.size() - 1) / 2] + seconds[seconds.size() / 2]) / 2;
      table.row({kind, format_rate(bytes, seconds.front()), format_rate(bytes, median),
                 format_rate(bytes, seconds.back()), cached ? fmt::format("{:.0f}%", 100 * *cached) : "",
                 format_bytes(peak)});
      results.push_back({{"what", kind},
                         {"bytes", bytes},
                         {"seconds", seconds},
                         {"median_gb_per_s", static_cast<double>(bytes) / median / 1e9},
                         {"cached_before", cached ? Json(*cached) : Json()},
                         {"peak_host_bytes", peak},
                         {"bytes_checked", true}});
    }
    if (!json_) {
      session.out.print(fmt::format(" {}  {}  {}  {}, every byte checked\n", store_, to_string(region),
                                    dataset.dtype.name(), codecs_text(dataset)));
      return session.out.print(table.text());
    }
    const CpuFacts cpu = cpu_facts();
    const auto threads = options.threads > 0 ? Result<std::uint64_t>(options.threads) : default_threads();
    session.out.json({{"store", store_},
                      {"region", to_string(region)},
                      {"data_type", dataset.dtype.name()},
                      {"codecs", codecs_text(dataset)},
                      {"device", device.name()},
                      {"threads", threads ? Json(*threads) : Json()},
                      {"date", date_utc()},
                      {"version", version()},
                      {"commit", commit()},
                      {"machine",
                       {{"name", host_name()},
                        {"cpu", cpu.model},
                        {"cpus", cpu.online},
                        {"vectors", cpu.vectors},
                        {"memory_bytes", memory_bytes()},
                        {"kernel", kernel_release()}}},
                      {"results", std::move(results)}});
  }
};

}  // namespace

std::unique_ptr<Command> make_bench() { return std::make_unique<Bench>(); }

}  // namespace penstock::cli
