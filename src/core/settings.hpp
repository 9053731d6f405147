// Settings: every default of the library, with where its value came from: the environment, else the configuration file
// (core/config.hpp), else what is built in.  An option of a command or an argument of a call goes before all of them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/control.hpp"
#include "penstock/error.hpp"
#include "penstock/store_options.hpp"

namespace penstock {

/// One setting.  Its environment variable is PENSTOCK_<NAME> in capitals; in the file it is <name>.
struct Setting {
  std::string_view name;  ///< "budget", "threads"
  std::string_view what;  ///< for `penstock doctor --defaults`
  std::string value;      ///< as text, with units
  std::string origin;     ///< "environment", the path of the configuration file, or "built in"
};

/// Working memory of an operation: budget ("2GiB"), else a quarter of the memory that is free now.
PENSTOCK_API Result<std::uint64_t> default_budget_bytes();
/// threads, else the CPUs of this process' affinity mask and cgroup quota.
PENSTOCK_API Result<std::uint64_t> default_threads();
/// The same for an operation whose threads wait for the disk most of the time: threads, else at least 8.
PENSTOCK_API Result<std::uint64_t> default_waiting_threads();
/// Decoded bytes that one call may make of what a store holds: max_decoded, else UINT64_MAX, no bound.
PENSTOCK_API Result<std::uint64_t> default_max_decoded_bytes();
/// Staging memory between storage and a device, shared by all operations: pinned, else 512 MiB.
PENSTOCK_API Result<std::uint64_t> default_pinned_bytes();
/// Where chunks for a device are decoded, and those from a device encoded, when it could do it: decode = auto, cpu,
/// device or nvcomp (on the device, by nvCOMP as far as it can); encode = auto, cpu or device.
struct ChosenPlace {
  CodecPlace place;
  std::string by;  ///< "PENSTOCK_DECODE=cpu", or "decode=cpu" where the caller asked for it
};
/// `asked` goes before the setting.  Errors: also invalid_argument (encode = nvcomp).
PENSTOCK_API Result<ChosenPlace> decode_place(std::optional<CodecPlace> asked = {});
PENSTOCK_API Result<ChosenPlace> encode_place(std::optional<CodecPlace> asked = {});
/// How zstd searches for matches when many chunks are written: zstd_search = auto (quicker than the level says where a
/// trial shows no loss) or level.
enum class ZstdSearch : std::uint8_t { automatic, of_the_level };
PENSTOCK_API Result<ZstdSearch> zstd_search();
/// durable = none, metadata or all; links = follow or inside.
PENSTOCK_API Result<Durable> default_durable();
PENSTOCK_API Result<Links> default_links();
/// Their words.  Errors: invalid_argument naming those that there are.
PENSTOCK_API Result<Durable> parse_durable(std::string_view text);
PENSTOCK_API Result<Links> parse_links(std::string_view text);
PENSTOCK_API std::string durable_word(Durable durable);
PENSTOCK_API std::string links_word(Links links);
/// A setting that is a text.
struct PENSTOCK_API TextSetting {
  std::string value;
  std::string origin;  ///< as of Setting
  [[nodiscard]] bool is_built_in() const { return origin == "built in"; }
};
/// The file with the measured costs of codecs (codec/cost/costs.hpp): codec_costs, else codec_costs.json beside the
/// configuration file.  Empty: the user has none.
PENSTOCK_API Result<TextSetting> codec_costs_file();
/// The library with which nvCOMP takes part in choices (codec/nvcomp/library.hpp): nvcomp_library, else none (empty).
PENSTOCK_API Result<std::string> nvcomp_library();
/// Every setting with its present value.
/// Errors of all of these: invalid_argument naming the variable, or the file and the setting; those of read_config.
PENSTOCK_API Result<std::vector<Setting>> all_settings();

}  // namespace penstock
