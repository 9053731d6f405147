// A plan in words and in JSON.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "core/units.hpp"
#include "penstock/array.hpp"

namespace penstock {
namespace {

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

}  // namespace

std::string Plan::text() const {
  const bool sharded = index_reads > 0;
  std::string out = fmt::format(" plan: {}", counted(chunks, "chunk"));
  out += sharded ? fmt::format(" in {}, {}", counted(objects, "shard"), counted(index_reads, "index read"))
                 : fmt::format(" in {}", counted(objects, "object"));
  out += fmt::format("; {} decoded for {} of output\n", format_bytes(decoded_bytes), format_bytes(output_bytes));
  std::size_t stage = 0;
  std::size_t path = 0;
  for (const StageReport& s : stages) {
    stage = std::max(stage, s.stage.size());
    path = std::max(path, s.path.size());
  }
  for (const StageReport& s : stages) {
    std::string line = fmt::format(" {:<{}}  {:<{}}  {}", s.stage, stage, s.path, path, s.reason);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out + fmt::format(" budget {}: {} of {} at a time; at least {} is needed\n", format_bytes(budget_bytes),
                           counted(workers, "chunk"), format_bytes(chunk_bytes), format_bytes(need_bytes));
}

std::string Plan::json() const {
  Json document = {{"region", Json::array()},
                   {"chunks", chunks},
                   {"objects", objects},
                   {"index_reads", index_reads},
                   {"decoded_bytes", decoded_bytes},
                   {"output_bytes", output_bytes},
                   {"chunk_bytes", chunk_bytes},
                   {"budget_bytes", budget_bytes},
                   {"need_bytes", need_bytes},
                   {"workers", workers},
                   {"stages", Json::array()}};
  for (const Range& r : region)
    document["region"].push_back({{"start", r.start}, {"count", r.count}, {"step", r.step}});
  for (const StageReport& s : stages)
    document["stages"].push_back({{"stage", s.stage}, {"path", s.path}, {"reason", s.reason}});
  return dump_json(document);
}

}  // namespace penstock
