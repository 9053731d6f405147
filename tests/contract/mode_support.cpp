#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "codec/list.hpp"
#include "contract/checks.hpp"
#include "contract/modes.hpp"
#include "contract/operators.hpp"
#include "contract/tiff.hpp"

namespace penstock::contract {
namespace {

/// What trying found out about one codec.
struct Support {
  std::set<std::string> types;
  std::set<std::string> types_refused;
  std::set<std::string> device_types;
  bool failed = false;
};

std::map<std::string, Support> try_all() {
  std::map<std::string, Support> found;
  for (const Case& c : codec_cases()) {
    Support& support = found[c.codec];
    for (const DType& dtype : codec_dtypes()) {
      const ChunkSpec chunk{{3, 5, 7}, dtype, {}};
      const Check check = check_round_trip(c, chunk);
      if (check.outcome == Outcome::passed) support.types.insert(type_name(dtype));
      if (check.outcome == Outcome::not_supported) support.types_refused.insert(type_name(dtype));
      const Check device = check_device(c, chunk, false, {});
      if (device.outcome == Outcome::passed) support.device_types.insert(type_name(dtype));
      support.failed = support.failed || check.outcome == Outcome::failed || device.outcome == Outcome::failed;
    }
  }
  return found;
}

/// The shorter of "these" and "all but these" of `all`.
std::string types_text(const std::set<std::string>& types, const std::set<std::string>& all) {
  std::set<std::string> never;
  std::ranges::set_difference(all, types, std::inserter(never, never.end()));
  if (types.empty()) return "";
  if (never.empty()) return "all";
  if (never.size() < types.size()) return fmt::format("all but {}", fmt::join(never, ", "));
  return fmt::format("{}", fmt::join(types, ", "));
}

std::string cpu_text(const Support& support) {
  if (support.failed) return "FAILED";
  std::set<std::string> all = support.types;
  all.insert(support.types_refused.begin(), support.types_refused.end());
  return types_text(support.types, all);
}

/// Of the types that the CPU decodes.
std::string device_text(const Support& support) {
  return support.device_types == support.types ? "the same" : types_text(support.device_types, support.types);
}

/// A row for each operator.
std::string operators_text(bool& ok) {
  std::map<std::string, Support> found;
  std::map<std::string, bool> lazy;
  std::set<std::string> all;
  for (const DType& dtype : operator_dtypes()) all.insert(type_name(dtype));
  for (const OperatorCase& c : operator_cases()) {
    Support& support = found[c.call.name];
    lazy[c.call.name] = is_lazy(c);
    for (const DType& dtype : operator_dtypes()) {
      const Check check = check_operator(c, dtype);
      if (check.outcome == Outcome::passed) support.types.insert(type_name(dtype));
      support.failed = support.failed || check.outcome == Outcome::failed;
    }
    ok = ok && !support.failed;
  }
  std::string text = fmt::format(
      "\n## Operators\n\nElement types that were tried: {}. On CUDA they are the same; `map_coordinates` and "
      "`apply_displacement_field`\ntake the types of `affine_transform` and no stored array.\n\n"
      "| operator | CPU and CUDA: element types | of stored arrays |\n|---|---|---|\n",
      fmt::join(all, ", "));
  for (const OpInfo& op : operators())
    text += fmt::format("| {} | {} | {} |\n", op.name,
                        found[op.name].failed ? "FAILED" : types_text(found[op.name].types, all),
                        lazy[op.name] ? "lazy" : "no");
  return text;
}

std::string support_text(bool& ok) {
  const auto found = try_all();
  std::vector<std::string> types;
  for (const DType& dtype : codec_dtypes()) types.push_back(type_name(dtype));
  std::string text =
      "# What is supported\n\nWritten by `penstock_contract support > docs/support.md`, from what the contract harness "
      "tried; a test compares it.\n\n## Codecs\n\n";
  text += fmt::format("Element types that were tried: {}.\n\n", fmt::join(types, ", "));
  text +=
      "Decoding on a device (CUDA) is tried here on the CPU, with the very source that is compiled for the device; an "
      "empty\nfield means that the CPU decodes and the decoded chunks are uploaded. zstd without "
      "checksums, lz4 and gzip can also be decoded by nvCOMP\n(`docs/concepts/decoding.md`).\n\n"
      "| codec | other v3 names | v2 id | CPU, both directions: element types | decoded on a device |\n"
      "|---|---|---|---|---|\n";
  for (const CodecEntry& entry : codec_list()) {
    const auto it = found.find(std::string(entry.name));
    ok = ok && it != found.end() && !it->second.failed;
    text += fmt::format("| {} | {} | {} | {} | {} |\n", entry.name, fmt::join(entry.aliases, ", "), entry.v2_id,
                        it == found.end() ? "no case in the harness" : cpu_text(it->second),
                        it == found.end() ? "" : device_text(it->second));
  }
  text += tiff_text(ok);
  text += operators_text(ok);
  return text;
}

}  // namespace

int print_support(const char* compare_with) {
  bool ok = true;
  const std::string text = support_text(ok);
  if (compare_with == nullptr) {
    fmt::print("{}", text);
    return ok ? 0 : 1;
  }
  std::ifstream in(compare_with);
  const std::string there{std::istreambuf_iterator<char>(in), {}};
  if (there == text) return ok ? 0 : 1;
  fmt::print("{} is not what the harness finds; run: penstock_contract support > docs/support.md\n", compare_with);
  return 1;
}

}  // namespace penstock::contract
