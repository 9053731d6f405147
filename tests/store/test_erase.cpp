// Many objects of a bucket that are removed: by how few requests, and what is told of those that stay.
#include "store/s3/erase.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "remote.hpp"
#include "store_kinds.hpp"

using namespace penstock;
using penstock::test::fetch_text;
using penstock::test::Json;
using penstock::test::Remote;
using penstock::test::rule;

namespace {

class Erase : public Remote {
 protected:
  void put_many(int count) {
    for (int i = 0; i < count; ++i) put("c/" + std::to_string(i), "x");
    server_.rules(Json::array());
  }
  std::size_t count(const std::string& method) {
    std::size_t found = 0;
    for (const auto& one : server_.log()) found += one["method"] == method ? 1 : 0;
    return found;
  }
  static std::string key(const char* name) { return std::string("vol.zarr/c/") + name; }
};

/// The lines of the log that hold this.
std::size_t lines_with(const std::filesystem::path& log, const std::string& what) {
  std::size_t found = 0;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) found += line.find(what) != std::string::npos ? 1 : 0;
  return found;
}

}  // namespace

TEST_F(Erase, AThousandGoWithOneRequest) {
  put_many(1001);
  ASSERT_TRUE(store_->erase_prefix("c"));
  EXPECT_TRUE(store_->list("").value().empty());
  EXPECT_EQ(count("POST"), 2u) << "1,001 keys, and the prefix itself";
  EXPECT_EQ(count("DELETE"), 0u);
}

// versitygw looks at signature, Content-MD5 and XML, and its log counts what came.
TEST_F(Erase, TakesFewRequestsOfAServerThatLooks) {
  const test::TemporaryDirectory scratch;
  const test::Server gateway({"versitygw", scratch.path().string()});
  const auto store = open_store("s3://penstock/v", StoreMode::create, test::s3_options_of(gateway.url())).value();
  // Its listing has other control characters wrong, whatever encoding is asked for.
  std::vector<std::string> keys{"a&b",      "<c>",   "\"d'", "e+f",
                                "g%41%",    "h i",   " j ",  "k\tl\n",
                                "o\x7fp\r", "&amp;", "]]>",  "u\xc3\xbc/\xe6\x97\xa5\xf0\x9f\x98\x80"};
  for (int i = 0; i < 1200; ++i) keys.push_back("c/" + std::to_string(i));
  for (const std::string& one : keys) {
    const Status status = store->set(one, as_bytes(one));
    ASSERT_TRUE(status) << status.error().message();
  }
  std::sort(keys.begin(), keys.end());
  ASSERT_EQ(store->list("").value(), keys);
  const Status status = store->erase_prefix("");
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_TRUE(store->list("").value().empty());
  const auto log = scratch.path() / "requests.log";
  EXPECT_EQ(lines_with(log, " s3_DeleteObjects "), 2u);
  EXPECT_EQ(lines_with(log, " s3_DeleteObject "), 3u) << "keys that XML cannot tell";
}

TEST_F(Erase, KeysOfAnyLettersGo) {
  for (const char* one : {"a&b", "<c>", "e+f", "g%41%", "k\tl", "o\x01p\xef\xbf\xbf", " j ", "j", "&amp;", "u\xc3\xbc"})
    put(one, one);
  put("j2", "stays");
  ASSERT_TRUE(store_->erase_prefix(" j "));
  EXPECT_EQ(text("j"), "j") << "no blank is lost";
  ASSERT_TRUE(store_->erase("j2"));
  ASSERT_TRUE(store_->erase_prefix(""));
  EXPECT_TRUE(store_->list("").value().empty());
}

TEST_F(Erase, WhatTheServerKeepsIsNamed) {
  put_many(20);
  const Json keep = {{key("7"), "AccessDenied"}, {key("9"), "AccessDenied"}, {key("8"), "NoSuchKey"}};
  server_.rules(rule("?delete", {{"keep", keep}}));
  const Status status = store_->erase_prefix("c");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::permission_denied);
  EXPECT_EQ(status.error().message(),
            "s3://bucket/vol.zarr/c/7: the server answers AccessDenied: no; of the same request 1 other object was "
            "not removed either");
  EXPECT_EQ(requests(), 2u) << "a listing and one attempt";
  EXPECT_EQ(store_->list("").value(), (std::vector<std::string>{"c/7", "c/8", "c/9"}));
}

TEST_F(Erase, WhatIsTooBusyIsAskedForAgainAlone) {
  put_many(20);
  server_.rules(rule("?delete", {{"keep", {{key("7"), "SlowDown"}, {key("9"), "InternalError"}}}}));
  ASSERT_TRUE(store_->erase_prefix("c"));
  EXPECT_TRUE(store_->list("").value().empty());
  EXPECT_EQ(count("POST"), 2u);
}

TEST_F(Erase, AServerThatDoesNotKnowListsIsAskedKeyByKey) {
  for (const Json& answer : {Json{{"status", 501}}, Json{{"status", 405}},
                             Json{{"status", 400}, {"body", "<Error><Code>NotImplemented</Code></Error>"}}}) {
    store_ = open_with({});
    put_many(30);
    Json always = answer;
    always["times"] = -1;
    server_.rules(rule("?delete", always));
    EXPECT_EQ(store_->path_taken().find("one by one"), std::string::npos);
    ASSERT_TRUE(store_->erase_prefix("c"));
    EXPECT_TRUE(store_->list("").value().empty());
    EXPECT_EQ(count("POST"), 1u);
    EXPECT_EQ(count("DELETE"), 31u);
    EXPECT_NE(store_->path_taken().find("one by one"), std::string::npos) << store_->path_taken();
    ASSERT_TRUE(store_->erase_prefix("c"));
    EXPECT_EQ(count("POST"), 1u) << "it is not asked again";
  }
}

// A page of a network that wants a login answers 200 to everything.
TEST_F(Erase, AnAnswerThatIsNoneIsAnError) {
  put_many(3);
  for (const char* body : {"<html>please log in</html>", "", "<DeleteResult><Error><Key>k</Key>"}) {
    server_.rules(rule("?delete", {{"times", -1}, {"status", 200}, {"body", body}}));
    EXPECT_EQ(store_->erase_prefix("c").error().code(), ErrorCode::io_error) << body;
  }
  server_.rules(rule("?delete", {{"status", 404}}));
  EXPECT_EQ(store_->erase_prefix("c").error().code(), ErrorCode::not_found);
}

TEST_F(Erase, ABusyServerIsAskedAgain) {
  put_many(3);
  server_.rules(
      Json::array({{{"match", "?delete"}, {"status", 503}},
                   {{"match", "?delete"}, {"reset", true}},
                   {{"match", "?delete"}, {"lose_answer", true}},
                   {{"match", "?delete"}, {"status", 200}, {"body", "<Error><Code>InternalError</Code></Error>"}}}));
  ASSERT_TRUE(store_->erase_prefix("c"));
  EXPECT_TRUE(store_->list("").value().empty());
  EXPECT_EQ(count("POST"), 5u);
}

TEST(EraseList, HasWhatXmlCanSay) {
  const std::vector<std::string> keys{"a&b<c>\"d'", "e"};
  EXPECT_EQ(s3::erase_list(keys),
            "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Object><Key>a&amp;b&lt;c&gt;&quot;d'</Key>"
            "</Object><Object><Key>e</Key></Object><Quiet>true</Quiet></Delete>");
  for (const char* key : {" a", "a ", "a\tb", "a\x01", "\xff", "a\xef\xbf\xbe", ""})
    EXPECT_FALSE(s3::can_be_listed(key)) << key;
  for (const char* key : {"a b", "u\xc3\xbc", "&", "\x7f", "%"}) EXPECT_TRUE(s3::can_be_listed(key)) << key;
}
