#include "cli/look/uploads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "core/units.hpp"
#include "penstock/uploads.hpp"

namespace penstock::cli {
namespace {

constexpr std::size_t kMostShown = 10;
constexpr std::size_t kIdShown = 12;

constexpr auto kWhatToDo =
    "{} parts are charged for and are no objects. Where nobody writes any more, "
    "`aws s3api abort-multipart-upload` (bucket, key and id: --json) or a rule of the bucket "
    "(AbortIncompleteMultipartUpload) removes them";

/// Seconds since it was begun, by the clock of this machine; a server's may be ahead.
std::optional<std::int64_t> age_s(const UnfinishedUpload& upload, std::int64_t now_s) {
  if (!upload.begun_s) return std::nullopt;
  return std::max<std::int64_t>(0, now_s - *upload.begun_s);
}

std::string age_text(std::optional<std::int64_t> age) {
  constexpr std::int64_t kMinute = 60, kHour = 3600, kDay = 86'400;
  if (!age) return "at a time that the server does not tell";
  if (*age < 2 * kMinute) return fmt::format("{} s ago", *age);
  if (*age < 2 * kHour) return fmt::format("{} min ago", *age / kMinute);
  if (*age < 2 * kDay) return fmt::format("{} h ago", *age / kHour);
  return fmt::format("{} days ago", *age / kDay);
}

std::string line_of(const UnfinishedUpload& upload, std::int64_t now_s) {
  const bool is_long = upload.id.size() > kIdShown;
  return fmt::format("begun {}, id {}{}", age_text(age_s(upload, now_s)), upload.id.substr(0, kIdShown),
                     is_long ? "..." : "");
}

/// The part of "s3://bucket/key" behind the bucket.
std::string key_of(const std::string& url) { return url.substr(url.find('/', std::string_view("s3://").size()) + 1); }

Json json_of(const UnfinishedUpload& upload, std::int64_t now_s) {
  const auto age = age_s(upload, now_s);
  return {
      {"url", upload.url}, {"key", key_of(upload.url)}, {"upload_id", upload.id}, {"age_s", age ? Json(*age) : Json()}};
}

}  // namespace

void add_uploads(const Store& bucket, Finding& finding) {
  auto uploads = unfinished_uploads(bucket);
  finding.json["unfinished_uploads"] = Json();  // null: not told
  if (!uploads) {
    finding.detail += "; does not tell unfinished uploads: " + uploads.error().message();
    return;
  }
  // The oldest first: these are the ones that nobody writes any more.
  std::ranges::stable_sort(*uploads, {}, [](const UnfinishedUpload& one) { return one.begun_s.value_or(0); });
  const std::int64_t now_s = std::time(nullptr);
  Json list = Json::array();
  for (const UnfinishedUpload& one : *uploads) list.push_back(json_of(one, now_s));
  finding.json["unfinished_uploads"] = std::move(list);
  if (uploads->empty()) {
    finding.detail += "; no unfinished uploads";
    return;
  }
  for (std::size_t i = 0; i < std::min(uploads->size(), kMostShown); ++i)
    finding.below.emplace_back(redacted((*uploads)[i].url), line_of((*uploads)[i], now_s));
  if (uploads->size() > kMostShown)
    finding.below.emplace_back(fmt::format("and {} more", format_count(uploads->size() - kMostShown)),
                               "--json lists all");
  const std::string count =
      uploads->size() == 1 ? "an unfinished upload: its" : format_count(uploads->size()) + " unfinished uploads: their";
  finding.verdict = fmt::format(kWhatToDo, count);
}

}  // namespace penstock::cli
