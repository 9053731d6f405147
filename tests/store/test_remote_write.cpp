// Objects that are written behind HTTP, and keys that are listed: on a server that misbehaves.
#include <gtest/gtest.h>

#include <thread>

#include "remote.hpp"

using namespace penstock;
using penstock::test::fetch_text;
using penstock::test::Json;
using penstock::test::Remote;
using penstock::test::rule;

TEST_F(Remote, KeysOfAnyLettersAreWrittenReadListedAndRemoved) {
  const std::vector<std::string> keys{"a b/c+d", "t=1/0.0", "u\xc3\xbc/\xe6\x97\xa5", "x%20y", "q?a&b#c",
                                      "~-_.",    "'(!*)"};
  for (const std::string& key : keys) put(key, key);
  for (const std::string& key : keys) EXPECT_EQ(text(key), key);
  std::vector<std::string> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(store_->list("").value(), sorted);
  ASSERT_TRUE(store_->erase_prefix(""));
  EXPECT_TRUE(store_->list("").value().empty());
}

TEST_F(Remote, ListingsGoOnFromPageToPage) {
  std::vector<std::string> keys;
  for (int i = 0; i < 25; ++i) keys.push_back("c/" + std::to_string(100 + i) + "/0");
  for (const std::string& key : keys) put(key, "x");
  server_.options({{"page", 10}});
  server_.rules(Json::array());
  EXPECT_EQ(store_->list("").value(), keys);
  EXPECT_EQ(store_->list_dir("c").value().size(), 25u);
  EXPECT_EQ(requests(), 6u);
}

TEST_F(Remote, AListingThatDoesNotGoOnIsAnError) {
  server_.rules(rule("list-type=2", {{"times", -1},
                                     {"status", 200},
                                     {"body",
                                      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>"
                                      "t</NextContinuationToken><Contents><Key>vol.zarr/k</Key></Contents>"
                                      "</ListBucketResult>"}}));
  EXPECT_EQ(store_->list("").error().code(), ErrorCode::io_error);
  EXPECT_EQ(requests(), 2u);
}

TEST_F(Remote, AListingThatIsCutOrNoneIsAnError) {
  for (const char* body :
       {"<html>please log in</html>", "<ListBucketResult><Contents><Key>vol.zarr/k</Key>", "",
        "<!DOCTYPE a [<!ENTITY e 'x'>]><ListBucketResult><Contents><Key>&e;</Key></Contents></ListBucketResult>"}) {
    server_.rules(rule("list-type=2", {{"times", -1}, {"status", 200}, {"body", body}}));
    EXPECT_EQ(store_->list("").error().code(), ErrorCode::io_error) << body;
  }
}

TEST_F(Remote, AListingMayBeLong) {
  std::string body = "<ListBucketResult>";
  for (int i = 0; i < 1'000'000; ++i) body += "<Contents><Key>vol.zarr/" + std::to_string(i) + "</Key></Contents>";
  server_.rules(rule("list-type=2", {{"status", 200}, {"body", body + "</ListBucketResult>"}}));
  EXPECT_EQ(store_->list("").value().size(), 1'000'000u);
}

// A page of a network that wants a login answers 200 to everything.
TEST_F(Remote, AWriteIsDoneWhenTheServerSaysWhatItTook) {
  const Json page = {{"times", -1}, {"status", 200}, {"body", "<html>please log in</html>"}};
  server_.rules(rule("PUT", page));
  EXPECT_EQ(store_->set("k", as_bytes("value")).error().code(), ErrorCode::io_error);
  const auto writer = store_->writer("big").value();
  ASSERT_TRUE(writer->append(as_bytes(std::string(20 << 20, 'x'))));
  server_.rules(rule("?uploadId", page));
  EXPECT_EQ(writer->commit().error().code(), ErrorCode::io_error);
}

TEST_F(Remote, WritersThatMeetLoseNothing) {
  put("k", "0");
  const auto count = [&] {
    const auto store = open_with({});
    for (int i = 0; i < 20;) {
      ObjectVersion read;
      const std::string next = std::to_string(std::atoi(fetch_text(*store, {"k", {}}, &read).c_str()) + 1);
      const ByteView part = as_bytes(next);
      const Status status = store->set_if("k", {&part, 1}, WriteCondition::same_as(read), CancelToken());
      if (status)
        ++i;
      else
        ASSERT_EQ(status.error().code(), ErrorCode::changed) << status.error().message();
    }
  };
  {
    const std::jthread one(count), two(count), three(count);
  }
  EXPECT_EQ(text("k"), "60");
}

// The answer is lost, not the write: the second attempt meets what the first one wrote.
TEST_F(Remote, AWriteWhoseAnswerIsLostIsNotTakenForAnothers) {
  const std::string value = "mine";
  const ByteView part = as_bytes(value);
  server_.rules(rule("PUT", {{"lose_answer", true}}));
  EXPECT_TRUE(store_->set_if("k", {&part, 1}, WriteCondition::absent(), CancelToken()));
  EXPECT_EQ(text("k"), "mine");
  EXPECT_EQ(store_->set_if("k", {&part, 1}, WriteCondition::absent(), CancelToken()).error().code(),
            ErrorCode::changed);
}

TEST_F(Remote, LargeObjectsGoInPartsAndAreTakenBackWhenOneFails) {
  std::string value(40 << 20, 'x');
  for (std::size_t i = 0; i < value.size(); i += 4096) value[i] = static_cast<char>(i / 4096);
  const auto write = [&] {
    const auto writer = store_->writer("big").value();
    EXPECT_TRUE(writer->append(as_bytes(value)));
    return writer->commit();
  };
  ASSERT_TRUE(write());
  EXPECT_EQ(server_.uploads(), 0u);
  EXPECT_TRUE(text("big") == value);
  ASSERT_TRUE(store_->erase("big"));
  server_.rules(rule("partNumber=2", {{"status", 403}, {"times", -1}}));
  const Status status = write();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::permission_denied);
  EXPECT_EQ(server_.uploads(), 0u) << "taken back";
  EXPECT_EQ(text("big"), "absent");
}

// The parts became the object, and the answer that said so was lost: the next attempt finds no upload.
TEST_F(Remote, AnUploadWhoseLastAnswerIsLostStands) {
  std::string value(20 << 20, 'x');
  for (std::size_t i = 0; i < value.size(); i += 4096) value[i] = static_cast<char>(i / 4096);
  const auto commit = [&](const std::string& replaced_by, const WriteCondition& condition) {
    const auto writer = store_->writer("big").value();
    EXPECT_TRUE(writer->append(as_bytes(value)));
    Json rules = rule("?uploadId", {{"lose_answer", true}});
    if (!replaced_by.empty()) {  // somebody else is quick
      rules.push_back({{"match", "?uploadId"}, {"put", replaced_by}});
    }
    server_.rules(rules);
    return writer->commit(condition, CancelToken());
  };
  EXPECT_TRUE(commit("", WriteCondition::any()));
  EXPECT_TRUE(text("big") == value);
  ASSERT_TRUE(store_->erase("big"));
  EXPECT_TRUE(commit("", WriteCondition::absent()));
  const Status other = commit("another's", WriteCondition::any());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::not_found) << other.error().message();
  EXPECT_EQ(text("big"), "another's");
}
