#include "core/settings.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "core/checked.hpp"
#include "core/units.hpp"

namespace penstock {
namespace {

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

std::uint64_t usable_cpus() {
  cpu_set_t set;
  std::uint64_t cpus = 1;
  if (sched_getaffinity(0, sizeof set, &set) == 0) cpus = static_cast<std::uint64_t>(CPU_COUNT(&set));
  std::ifstream quota_file("/sys/fs/cgroup/cpu.max");
  std::uint64_t quota = 0, period = 0;
  if (quota_file >> quota >> period && period > 0) cpus = std::min(cpus, div_up(quota, period));
  return std::max<std::uint64_t>(cpus, 1);
}

Result<std::uint64_t> from_environment(const char* variable, Result<std::uint64_t> (*parse)(std::string_view),
                                       std::uint64_t (*built_in)()) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return built_in();
  PENSTOCK_ASSIGN_IN(const std::uint64_t value, parse(text), variable);
  if (value == 0) return Error(ErrorCode::invalid_argument, std::string(variable) + ": must be more than 0");
  return value;
}

std::string origin_of(const char* variable) { return std::getenv(variable) ? "environment" : "built in"; }

}  // namespace

Result<std::uint64_t> default_budget_bytes() {
  return from_environment("PENSTOCK_BUDGET", parse_bytes, [] { return free_memory() / 4; });
}

Result<std::uint64_t> default_threads() { return from_environment("PENSTOCK_THREADS", parse_count, usable_cpus); }

Result<std::uint64_t> default_pinned_bytes() {
  return from_environment("PENSTOCK_PINNED", parse_bytes, [] { return std::uint64_t{512} << 20; });
}

Result<DecodePlace> decode_place() {
  const char* text = std::getenv("PENSTOCK_DECODE");
  const std::string_view value = text == nullptr ? "auto" : text;
  if (value == "auto") return DecodePlace::automatic;
  if (value == "cpu") return DecodePlace::cpu;
  if (value == "device") return DecodePlace::device;
  return Error(ErrorCode::invalid_argument,
               "PENSTOCK_DECODE: '" + std::string(value) + "' is none of auto, cpu, device");
}

Result<std::vector<Setting>> all_settings() {
  PENSTOCK_TRY(decode_place());
  const char* decode = std::getenv("PENSTOCK_DECODE");
  PENSTOCK_ASSIGN(const std::uint64_t budget, default_budget_bytes());
  PENSTOCK_ASSIGN(const std::uint64_t threads, default_threads());
  PENSTOCK_ASSIGN(const std::uint64_t pinned, default_pinned_bytes());
  return std::vector<Setting>{
      {"budget", "working memory of one operation beyond its output", format_bytes(budget),
       origin_of("PENSTOCK_BUDGET")},
      {"threads", "threads of one operation", std::to_string(threads), origin_of("PENSTOCK_THREADS")},
      {"pinned", "staging memory between storage and a device, shared by all operations", format_bytes(pinned),
       origin_of("PENSTOCK_PINNED")},
      {"decode", "where chunks for a device are decoded: auto, cpu or device", decode ? decode : "auto",
       origin_of("PENSTOCK_DECODE")},
  };
}

}  // namespace penstock
