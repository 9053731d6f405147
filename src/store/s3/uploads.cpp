#include "penstock/uploads.hpp"

#include "store/s3/answers.hpp"
#include "store/s3/bucket.hpp"

namespace penstock {
namespace {

using s3::S3Origin;
using s3::Uploads;

/// Whether it is the store's own name or below it: another's may begin with the same letters.
bool is_inside(std::string_view key, std::string_view prefix) {
  if (prefix.empty() || key == prefix) return true;
  return key.starts_with(prefix) && key[prefix.size()] == '/';
}

Result<std::vector<UnfinishedUpload>> list_uploads(const S3Origin& origin) {
  const s3::Place& place = origin.place();
  std::vector<UnfinishedUpload> found;
  for (Uploads page;;) {
    s3::Query query{{"uploads", ""}, {"encoding-type", "url"}};
    if (!place.prefix.empty()) query.emplace_back("prefix", place.prefix);
    if (page.truncated) {
      query.emplace_back("key-marker", page.next_key);
      query.emplace_back("upload-id-marker", page.next_id);
    }
    PENSTOCK_ASSIGN(const http::Reply reply, ask_bucket(origin, query, ""));
    PENSTOCK_ASSIGN_IN(Uploads next, s3::parse_uploads(reply.body), origin.where(""));
    for (Uploads::One& one : next.all)
      if (is_inside(one.key, place.prefix))
        found.push_back({"s3://" + place.bucket + "/" + one.key, std::move(one.id), one.begun_s});
    if (!next.truncated) return found;
    if (next.next_key == page.next_key && next.next_id == page.next_id) return not_going_on(origin, "");
    page = std::move(next);
  }
}

}  // namespace

Result<std::vector<UnfinishedUpload>> unfinished_uploads(const Store& store) {
  const auto* bucket = dynamic_cast<const s3::InBucket*>(&store);
  if (bucket == nullptr) return Error(ErrorCode::unsupported, store.url() + ": only a bucket of S3 has uploads");
  return list_uploads(bucket->bucket());
}

}  // namespace penstock
