#include "penstock/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/json.hpp"
#include "core/units.hpp"

namespace penstock {
namespace {

constexpr std::size_t kMaxProblems = 20;  // in the text; the JSON has all

/// Stages in aligned columns.  The rate is that of one thread: the time is summed over threads.
std::string stage_table(const std::vector<StageReport>& stages) {
  using Row = std::array<std::string, 5>;
  std::vector<Row> rows = {{"stage", "path", "why", "bytes", "rate a thread"}};
  for (const StageReport& s : stages)
    rows.push_back({s.stage, s.path, s.why(), s.bytes > 0 ? format_bytes(s.bytes) : "",
                    s.seconds > 0 && s.bytes > 0 ? format_rate(s.bytes, s.seconds) : ""});
  std::array<std::size_t, 5> widths{};
  for (const Row& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string out;
  for (const Row& row : rows) {
    std::string line = fmt::format(" {:<{}}  {:<{}}  {:<{}}  {:>{}}  {:>{}}", row[0], widths[0], row[1], widths[1],
                                   row[2], widths[2], row[3], widths[3], row[4], widths[4]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string plural(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

void add_counts(std::vector<StageCount>& sums, const std::vector<StageCount>& counts) {
  for (const StageCount& c : counts) {
    const auto same = std::find_if(sums.begin(), sums.end(), [&](const StageCount& s) { return s.what == c.what; });
    if (same == sums.end()) {
      sums.push_back(c);
    } else {
      same->count += c.count;
    }
  }
}

std::string requests_text(const Traffic& t) {
  return fmt::format("{}, {} stored", plural(t.requests, "request"), format_bytes(t.stored_bytes));
}

std::string traffic_text(const Traffic& t) {
  std::string out = plural(t.chunks, "chunk");
  if (t.absent_chunks > 0) out += fmt::format(" ({} absent: fill value)", format_count(t.absent_chunks));
  return fmt::format("{}, {}", out, requests_text(t));
}

/// Place of a stage in the data's journey; stages of other names come last.
std::size_t journey(const StageReport& stage) {
  constexpr std::array<std::string_view, 6> order = {"fetch", "decode", "assemble", "gather", "encode", "store"};
  return static_cast<std::size_t>(std::find(order.begin(), order.end(), stage.stage) - order.begin());
}

Traffic operator-(const Traffic& sum, const Traffic& part) {
  return {sum.chunks - part.chunks, sum.absent_chunks - part.absent_chunks, sum.requests - part.requests,
          sum.stored_bytes - part.stored_bytes};
}

}  // namespace

std::string StageReport::why() const {
  std::string text = reason;
  for (const StageCount& c : counts)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", c.what, format_count(c.count));
  return text;
}

void Report::merge(const Report& part) {
  decoded_bytes += part.decoded_bytes;
  stored_bytes += part.stored_bytes;
  requests += part.requests;
  chunks += part.chunks;
  absent_chunks += part.absent_chunks;
  threads = std::max(threads, part.threads);
  budget_bytes = std::max(budget_bytes, part.budget_bytes);
  peak_host_bytes = std::max(peak_host_bytes, part.peak_host_bytes);
  peak_device_bytes = std::max(peak_device_bytes, part.peak_device_bytes);
  problems.insert(problems.end(), part.problems.begin(), part.problems.end());
  if (part.written) {
    if (!written) written.emplace();
    written->chunks += part.written->chunks;
    written->absent_chunks += part.written->absent_chunks;
    written->requests += part.written->requests;
    written->stored_bytes += part.written->stored_bytes;
  }
  for (const StageReport& s : part.stages) {
    const auto same = std::find_if(stages.begin(), stages.end(),
                                   [&](const StageReport& t) { return t.stage == s.stage && t.path == s.path; });
    if (same == stages.end()) {
      const auto later = std::ranges::find_if(stages, [&](const StageReport& t) { return journey(t) > journey(s); });
      stages.insert(later, s);
    } else {
      same->bytes += s.bytes;
      same->seconds += s.seconds;
      add_counts(same->counts, s.counts);
    }
  }
}

std::string Report::text() const {
  if (!note.empty()) return fmt::format(" {}: {}\n", operation, note);
  std::string out = fmt::format(" {}: {} in {}, {}\n", operation, format_bytes(decoded_bytes),
                                format_seconds(wall_seconds), format_rate(decoded_bytes, wall_seconds));
  const bool of_a_file = chunks == 0 && budget_bytes == 0;  // which has neither (penstock/io.hpp)
  const Traffic all{chunks, absent_chunks, requests, stored_bytes};
  if (written)
    out += fmt::format(" read     {}\n written  {}\n", traffic_text(all - *written), traffic_text(*written));
  else
    out += fmt::format(" {}\n", of_a_file ? requests_text(all) : traffic_text(all));
  if (!stages.empty()) out += stage_table(stages);
  if (!of_a_file) {
    out += fmt::format(" memory {} of a budget of {}", format_bytes(peak_host_bytes), format_bytes(budget_bytes));
    if (peak_device_bytes > 0) out += fmt::format(", {} on the device", format_bytes(peak_device_bytes));
    out += "; ";
  }
  out += fmt::format("{}{}\n", of_a_file ? " " : "", plural(threads, "thread"));
  for (std::size_t i = 0; i < std::min(problems.size(), kMaxProblems); ++i)
    out += fmt::format(" bad  {}  {}\n", problems[i].key, problems[i].message);
  if (problems.size() > kMaxProblems)
    out += fmt::format(" and {} more\n", format_count(problems.size() - kMaxProblems));
  return out;
}

std::string Report::json() const {
  Json document = {{"operation", operation},
                   {"wall_seconds", wall_seconds},
                   {"decoded_bytes", decoded_bytes},
                   {"stored_bytes", stored_bytes},
                   {"requests", requests},
                   {"chunks", chunks},
                   {"absent_chunks", absent_chunks},
                   {"threads", threads},
                   {"budget_bytes", budget_bytes},
                   {"peak_host_bytes", peak_host_bytes},
                   {"peak_device_bytes", peak_device_bytes},
                   {"stages", Json::array()},
                   {"problems", Json::array()}};
  for (const StageReport& s : stages) {
    Json counts = Json::object();
    for (const StageCount& c : s.counts) counts[c.what] = c.count;
    document["stages"].push_back({{"stage", s.stage},
                                  {"path", s.path},
                                  {"reason", s.reason},
                                  {"bytes", s.bytes},
                                  {"thread_seconds", s.seconds},
                                  {"counts", std::move(counts)}});
  }
  if (written)
    document["written"] = {{"chunks", written->chunks},
                           {"absent_chunks", written->absent_chunks},
                           {"requests", written->requests},
                           {"stored_bytes", written->stored_bytes}};
  if (!note.empty()) document["note"] = note;
  for (const ChunkProblem& p : problems) document["problems"].push_back({{"key", p.key}, {"message", p.message}});
  return dump_json(document);
}

}  // namespace penstock
