#include "core/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <span>

#include "core/checked.hpp"
#include "core/config.hpp"
#include "core/units.hpp"

namespace penstock {
namespace {

/// An answer of the system, at most 200 ms old: asking costs as much as reading a small chunk.
template <std::uint64_t (*ask)()>
std::uint64_t recent() {
  constexpr std::int64_t kFreshNs = 200'000'000;
  static std::atomic<std::uint64_t> answer;
  static std::atomic<std::int64_t> asked_ns{-kFreshNs};
  const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  if (now - asked_ns.load(std::memory_order_acquire) >= kFreshNs) {
    answer.store(ask(), std::memory_order_relaxed);
    asked_ns.store(now, std::memory_order_release);
  }
  return answer.load(std::memory_order_relaxed);
}

/// Memory that can be taken without swapping: /proc/meminfo, and the cgroup's limit where there is one.
std::uint64_t free_memory() {
  std::uint64_t free_bytes = std::uint64_t{1} << 30;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string name, unit; meminfo >> name;) {
    std::uint64_t kib = 0;
    meminfo >> kib;
    std::getline(meminfo, unit);
    if (name == "MemAvailable:") free_bytes = kib * 1024;
  }
  std::ifstream max_file("/sys/fs/cgroup/memory.max");
  std::ifstream now_file("/sys/fs/cgroup/memory.current");
  std::uint64_t limit = 0, used = 0;
  if (max_file >> limit && now_file >> used)  // "max" does not read as a number: no limit
    free_bytes = std::min(free_bytes, limit > used ? limit - used : 0);
  return free_bytes;
}

/// CPUs' worth of time that the cgroup allows.
std::uint64_t cpu_quota() {
  std::ifstream quota_file("/sys/fs/cgroup/cpu.max");
  std::uint64_t quota = 0, period = 0;
  const bool limited = quota_file >> quota >> period && period > 0;
  return limited ? div_up(quota, period) : std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t usable_cpus() {
  cpu_set_t set;
  std::uint64_t cpus = 1;
  if (sched_getaffinity(0, sizeof set, &set) == 0) cpus = static_cast<std::uint64_t>(CPU_COUNT(&set));
  return std::max<std::uint64_t>(std::min(cpus, recent<cpu_quota>()), 1);
}

std::uint64_t built_in_budget() { return recent<free_memory>() / 4; }
std::uint64_t no_bound() { return UINT64_MAX; }
std::uint64_t built_in_pinned() { return std::uint64_t{512} << 20; }

constexpr std::string_view kCodecPlaces[] = {"auto", "cpu", "device", "nvcomp"};  // as in CodecPlace

constexpr std::string_view kZstdSearches[] = {"auto", "level"};  // as in ZstdSearch

constexpr std::string_view kDurables[] = {"none", "metadata", "all"};  // as in Durable

constexpr std::string_view kLinks[] = {"follow", "inside"};  // as in Links

Result<std::uint64_t> parse_word(std::string_view text, std::span<const std::string_view> known) {
  for (std::size_t i = 0; i < known.size(); ++i)
    if (text == known[i]) return i;
  return Error(ErrorCode::invalid_argument, fmt::format("'{}' is none of {}", text, fmt::join(known, ", ")));
}
/// One of the first `count` places.
template <std::size_t count>
Result<std::uint64_t> parse_place(std::string_view text) {
  return parse_word(text, std::span(kCodecPlaces, count));
}
Result<std::uint64_t> parse_bound(std::string_view text) {
  if (text == "unlimited") return no_bound();
  return parse_bytes(text);
}
Result<std::uint64_t> parse_zstd_search(std::string_view text) { return parse_word(text, kZstdSearches); }
Result<std::uint64_t> parse_durable_word(std::string_view text) { return parse_word(text, kDurables); }
Result<std::uint64_t> parse_links_word(std::string_view text) { return parse_word(text, kLinks); }
std::uint64_t first_word() { return 0; }
std::string format_place(std::uint64_t place) { return std::string(kCodecPlaces[place]); }
std::string format_zstd_search(std::uint64_t search) { return std::string(kZstdSearches[search]); }
std::string format_durable(std::uint64_t durable) { return std::string(kDurables[durable]); }
std::string format_links(std::uint64_t links) { return std::string(kLinks[links]); }
std::string format_bound(std::uint64_t bytes) { return bytes == no_bound() ? "unlimited" : format_bytes(bytes); }
std::string format_plain(std::uint64_t number) { return std::to_string(number); }

/// One setting: how its text is read, and what it is when nobody says.
struct Row {
  std::string_view name;
  const char* variable;
  std::string_view what;
  std::uint64_t low, high;
  Result<std::uint64_t> (*parse)(std::string_view);
  std::uint64_t (*built_in)();
  std::string (*format)(std::uint64_t);
};

enum : std::size_t { kBudget, kThreads, kPinned, kMaxDecoded, kDecode, kEncode, kZstdSearch, kDurable, kLinksRow };
constexpr Row kRows[] = {
    {"budget", "PENSTOCK_BUDGET", "working memory of one operation beyond its output", 1, UINT64_MAX, parse_bytes,
     built_in_budget, format_bytes},
    {"threads", "PENSTOCK_THREADS", "threads of one operation", 1, 4096, parse_count, usable_cpus, format_plain},
    {"pinned", "PENSTOCK_PINNED", "staging memory between storage and a device, shared by all operations", 1,
     UINT64_MAX, parse_bytes, built_in_pinned, format_bytes},
    {"max_decoded", "PENSTOCK_MAX_DECODED", "decoded bytes that one call may make: a size, or unlimited", 0, UINT64_MAX,
     parse_bound, no_bound, format_bound},
    {"decode", "PENSTOCK_DECODE", "where chunks for a device are decoded: auto, cpu, device or nvcomp", 0, UINT64_MAX,
     parse_place<4>, first_word, format_place},
    {"encode", "PENSTOCK_ENCODE", "where chunks from a device are encoded: auto, cpu or device", 0, UINT64_MAX,
     parse_place<3>, first_word, format_place},
    {"zstd_search", "PENSTOCK_ZSTD_SEARCH",
     "zstd, many chunks: auto (quicker than the level where a trial shows no loss) or level", 0, UINT64_MAX,
     parse_zstd_search, first_word, format_zstd_search},
    {"durable", "PENSTOCK_DURABLE", "what is on the disk when a write returns: none, metadata or all", 0, UINT64_MAX,
     parse_durable_word, first_word, format_durable},
    {"links", "PENSTOCK_LINKS", "symbolic links in a directory store: follow, or inside (none leads out of it)", 0,
     UINT64_MAX, parse_links_word, first_word, format_links},
};

/// A setting that is taken as it is.
struct TextRow {
  std::string_view name;
  const char* variable;
  std::string_view what;
  std::string (*built_in)();
};

/// Beside the configuration file.
std::string built_in_codec_costs() {
  const std::string beside = config_path();
  return beside.empty() ? "" : beside.substr(0, beside.rfind('/') + 1) + "codec_costs.json";
}

std::string no_text() { return {}; }

enum : std::size_t { kCodecCosts, kNvcompLibrary };
constexpr TextRow kTextRows[] = {
    {"codec_costs", "PENSTOCK_CODEC_COSTS", "what `penstock bench codecs` measured on this machine",
     built_in_codec_costs},
    {"nvcomp_library", "PENSTOCK_NVCOMP_LIBRARY", "nvCOMP, for data that you trust: a path, or libnvcomp.so.6",
     no_text},
};

struct Value {
  std::uint64_t number;
  std::string origin;
};

Result<std::uint64_t> parse(const Row& row, std::string_view text) {
  PENSTOCK_ASSIGN(const std::uint64_t number, row.parse(text));
  if (number < row.low)
    return Error(ErrorCode::invalid_argument, fmt::format("'{}': must be more than {}", text, row.low - 1));
  if (number > row.high)
    return Error(ErrorCode::invalid_argument, fmt::format("'{}': must be {} at most", text, row.high));
  return number;
}

/// The configuration, every value of which is one that the setting of its name takes.
Result<std::shared_ptr<const Config>> checked_config() {
  PENSTOCK_ASSIGN(std::shared_ptr<const Config> config, read_config());
  for (const auto& [name, text] : config->values) {
    if (std::ranges::find(kTextRows, name, &TextRow::name) != std::end(kTextRows)) continue;
    const auto row = std::ranges::find(kRows, name, &Row::name);
    if (row == std::end(kRows)) {
      std::vector<std::string_view> names;
      for (const Row& r : kRows) names.push_back(r.name);
      for (const TextRow& r : kTextRows) names.push_back(r.name);
      return Error(ErrorCode::invalid_argument, fmt::format("{}: there is no setting '{}'; there are {}", config->path,
                                                            name, fmt::join(names, ", ")));
    }
    PENSTOCK_TRY_IN(parse(*row, text), fmt::format("{}: {}", config->path, name));
  }
  return config;
}

/// What the environment says of a setting, else the configuration file; nullopt: neither.  A mistake in the file is an
/// error even where the environment says otherwise.
Result<std::optional<TextSetting>> look_up(std::string_view name, const char* variable) {
  PENSTOCK_ASSIGN(const std::shared_ptr<const Config> config, checked_config());
  if (const char* text = std::getenv(variable); text != nullptr)
    return std::optional<TextSetting>({text, "environment"});
  if (const auto it = config->values.find(std::string(name)); it != config->values.end())
    return std::optional<TextSetting>({it->second, config->path});
  return std::optional<TextSetting>();
}

Result<Value> look_up(const Row& row) {
  PENSTOCK_ASSIGN(std::optional<TextSetting> said, look_up(row.name, row.variable));
  if (!said) return Value{row.built_in(), "built in"};
  PENSTOCK_ASSIGN_IN(const std::uint64_t number, parse(row, said->value), row.variable);  // the file has been checked
  return Value{number, std::move(said->origin)};
}

Result<TextSetting> look_up(const TextRow& row) {
  PENSTOCK_ASSIGN(std::optional<TextSetting> said, look_up(row.name, row.variable));
  return said ? *std::move(said) : TextSetting{row.built_in(), "built in"};
}

Result<std::uint64_t> number_of(const Row& row) {
  PENSTOCK_ASSIGN(const Value value, look_up(row));
  return value.number;
}

Result<ChosenPlace> place_of(const Row& row, std::optional<CodecPlace> asked) {
  std::string by = asked ? std::string(row.name) : row.variable;
  if (!asked) {
    PENSTOCK_ASSIGN(const std::uint64_t set, number_of(row));
    asked = static_cast<CodecPlace>(set);
  }
  return ChosenPlace{*asked, std::move(by) + "=" + row.format(static_cast<std::uint64_t>(*asked))};
}

}  // namespace

Result<std::uint64_t> default_budget_bytes() { return number_of(kRows[kBudget]); }

Result<std::uint64_t> default_threads() { return number_of(kRows[kThreads]); }

Result<std::uint64_t> default_waiting_threads() {
  constexpr std::uint64_t kMinWaiting = 8;
  const Result<Value> threads = look_up(kRows[kThreads]);
  if (!threads) return threads.error();
  return threads->origin == "built in" ? std::max(threads->number, kMinWaiting) : threads->number;
}

Result<std::uint64_t> default_max_decoded_bytes() { return number_of(kRows[kMaxDecoded]); }

Result<std::uint64_t> default_pinned_bytes() { return number_of(kRows[kPinned]); }

Result<ChosenPlace> decode_place(std::optional<CodecPlace> asked) { return place_of(kRows[kDecode], asked); }

Result<ChosenPlace> encode_place(std::optional<CodecPlace> asked) {
  if (asked == CodecPlace::nvcomp)
    return Error(ErrorCode::invalid_argument, "encode: 'nvcomp' only decodes; accepted are auto, cpu, device");
  return place_of(kRows[kEncode], asked);
}

Result<ZstdSearch> zstd_search() {
  PENSTOCK_ASSIGN(const std::uint64_t search, number_of(kRows[kZstdSearch]));
  return static_cast<ZstdSearch>(search);
}

Result<Durable> default_durable() {
  PENSTOCK_ASSIGN(const std::uint64_t durable, number_of(kRows[kDurable]));
  return static_cast<Durable>(durable);
}

Result<Links> default_links() {
  PENSTOCK_ASSIGN(const std::uint64_t links, number_of(kRows[kLinksRow]));
  return static_cast<Links>(links);
}

Result<Durable> parse_durable(std::string_view text) {
  PENSTOCK_ASSIGN(const std::uint64_t durable, parse_durable_word(text));
  return static_cast<Durable>(durable);
}

Result<Links> parse_links(std::string_view text) {
  PENSTOCK_ASSIGN(const std::uint64_t links, parse_links_word(text));
  return static_cast<Links>(links);
}

std::string durable_word(Durable durable) { return format_durable(static_cast<std::uint64_t>(durable)); }
std::string links_word(Links links) { return format_links(static_cast<std::uint64_t>(links)); }

Result<TextSetting> codec_costs_file() { return look_up(kTextRows[kCodecCosts]); }

Result<std::string> nvcomp_library() {
  PENSTOCK_ASSIGN(TextSetting library, look_up(kTextRows[kNvcompLibrary]));
  return std::move(library.value);
}

Result<std::vector<Setting>> all_settings() {
  std::vector<Setting> settings;
  for (const Row& row : kRows) {
    PENSTOCK_ASSIGN(Value value, look_up(row));
    settings.push_back({row.name, row.what, row.format(value.number), std::move(value.origin)});
  }
  for (const TextRow& row : kTextRows) {
    PENSTOCK_ASSIGN(TextSetting value, look_up(row));
    settings.push_back({row.name, row.what, std::move(value.value), std::move(value.origin)});
  }
  return settings;
}

}  // namespace penstock
