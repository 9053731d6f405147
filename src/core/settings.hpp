// Settings: every default of the library, with where its value came from.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/error.hpp"

namespace penstock {

/// One setting.  Its environment variable is PENSTOCK_<NAME> in capitals.
struct Setting {
  std::string_view name;  ///< "budget", "threads"
  std::string_view what;  ///< for `penstock doctor --defaults`
  std::string value;      ///< as text, with units
  std::string origin;     ///< "built in", "environment"
};

/// Working memory of an operation: PENSTOCK_BUDGET ("2GiB"), else a quarter of the memory that is free now.
Result<std::uint64_t> default_budget_bytes();
/// PENSTOCK_THREADS, else the CPUs of this process' affinity mask and cgroup quota.
Result<std::uint64_t> default_threads();
/// Staging memory between storage and a device, shared by all operations: PENSTOCK_PINNED, else 512 MiB.
Result<std::uint64_t> default_pinned_bytes();
/// Where chunks for a device are decoded when it could do it: PENSTOCK_DECODE = auto, cpu or device.
enum class DecodePlace : std::uint8_t { automatic, cpu, device };
Result<DecodePlace> decode_place();
/// Every setting with its present value.  Errors: invalid_argument naming the variable.
Result<std::vector<Setting>> all_settings();

}  // namespace penstock
