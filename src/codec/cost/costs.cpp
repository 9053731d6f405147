#include "codec/cost/costs.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "core/config.hpp"
#include "core/settings.hpp"

namespace penstock {

extern const char* const kBuiltInCosts;  // made by CMake from built_in.json

const CostTable& built_in_costs() {
  // A test reads it; if it were broken all the same, everything would be decoded by the CPU, and the report say why.
  static const CostTable& table = *new CostTable(CostTable::parse(kBuiltInCosts).value_or(CostTable{}));
  return table;
}

Result<double> CodecCosts::seconds(std::string_view codec, DecodedBy by, std::uint64_t chunk_bytes,
                                   std::uint64_t chunks) const {
  if (user)
    if (const auto measured = user->seconds(codec, by, chunk_bytes, chunks)) return *measured;
  if (const auto measured = built_in_costs().seconds(codec, by, chunk_bytes, chunks)) return *measured;
  constexpr std::string_view kWho[] = {"a device", "nvCOMP", "a CPU core"};
  return Error(ErrorCode::unsupported,
               fmt::format("there is no measured cost of {} on {}", codec, kWho[static_cast<std::size_t>(by)]));
}

std::string CodecCosts::text() const { return user ? "costs of " + path : "costs built in"; }

Result<CodecCosts> codec_costs() {
  static std::mutex& mutex = *new std::mutex;
  static auto& read = *new std::map<std::string, std::shared_ptr<const CostTable>>;
  PENSTOCK_ASSIGN(const TextSetting file, codec_costs_file());
  if (file.value.empty()) return CodecCosts{};
  const std::scoped_lock lock(mutex);
  auto& table = read[file.value];
  if (!table) {
    const auto text = read_small_file(file.value);
    if (!text) {
      if (text.error().code() == ErrorCode::not_found && file.is_built_in()) return CodecCosts{};
      Error error = text.error();
      error.add_context(file.value).set_hint("`penstock bench codecs` writes it; PENSTOCK_CODEC_COSTS= uses none.");
      return error;
    }
    PENSTOCK_ASSIGN_IN(CostTable parsed, CostTable::parse(*text), file.value);
    table = std::make_shared<const CostTable>(std::move(parsed));
  }
  return CodecCosts{file.value, table};
}

}  // namespace penstock
