// Uploads that were begun and are no objects: told, and left as they are.
#include <gtest/gtest.h>

#include <ctime>

#include "penstock/uploads.hpp"
#include "servers/server.hpp"
#include "store/s3/answers.hpp"

using namespace penstock;
using penstock::test::ObjectServer;
using Json = nlohmann::json;

namespace {

class Uploads : public testing::Test {
 protected:
  void SetUp() override { server_.clear(); }
  std::shared_ptr<Store> open(const std::string& url) {
    return *open_store(url, StoreMode::create, test::s3_options_of(server_.url()));
  }
  /// As a killed writer leaves it: begun, and nothing comes after it.
  void leave(const std::string& url, const std::string& key) {
    const auto writer = open(url)->writer(key).value();
    ASSERT_TRUE(writer->append(as_bytes(std::string(20 << 20, 'x'))));
    server_.rules(Json::array(
        {{{"match", "PUT"}, {"status", 403}, {"times", -1}}, {{"match", "DELETE"}, {"status", 403}, {"times", -1}}}));
    ASSERT_FALSE(writer->commit());
    server_.rules(Json::array());
  }
  std::vector<std::string> urls(const std::string& of) {
    const auto found = unfinished_uploads(*open(of));
    std::vector<std::string> urls;
    if (!found) return {found.error().message()};
    for (const UnfinishedUpload& one : *found) urls.push_back(one.url);
    return urls;
  }
  using Urls = std::vector<std::string>;

  ObjectServer& server_ = ObjectServer::get();
};

}  // namespace

TEST_F(Uploads, OfTheStoreAndOfNoOther) {
  EXPECT_EQ(urls("s3://bucket/vol.zarr"), Urls{});
  leave("s3://bucket/vol.zarr", "a b+\xc3\xbc%20/0");
  leave("s3://bucket/vol.zarr2", "other");
  leave("s3://bucket", "vol.zarr");
  EXPECT_EQ(urls("s3://bucket/vol.zarr"), (Urls{"s3://bucket/vol.zarr", "s3://bucket/vol.zarr/a b+\xc3\xbc%20/0"}));
  EXPECT_EQ(urls("s3://bucket/vol.zarr/a b+\xc3\xbc%20").size(), 1u);
  EXPECT_EQ(urls("s3://bucket/vol.zarr2"), Urls{"s3://bucket/vol.zarr2/other"});
  EXPECT_EQ(urls("s3://bucket").size(), 3u);
  EXPECT_EQ(server_.uploads(), 3u) << "they are left as they are";
}

TEST_F(Uploads, TellWhenTheyWereBegunAndTheirName) {
  const std::int64_t before = std::time(nullptr);
  leave("s3://bucket/vol.zarr", "big");
  const auto found = unfinished_uploads(*open("s3://bucket/vol.zarr")).value();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].id.starts_with("upload-")) << found[0].id;
  ASSERT_TRUE(found[0].begun_s.has_value());
  EXPECT_GE(*found[0].begun_s, before);
  EXPECT_LE(*found[0].begun_s, std::time(nullptr));
}

TEST_F(Uploads, GoOnFromPageToPage) {
  for (int i = 0; i < 5; ++i) leave("s3://bucket/vol.zarr", i < 3 ? "the same" : "k " + std::to_string(i));
  server_.options({{"page", 2}});
  EXPECT_EQ(urls("s3://bucket/vol.zarr"),
            (Urls{"s3://bucket/vol.zarr/k 3", "s3://bucket/vol.zarr/k 4", "s3://bucket/vol.zarr/the same",
                  "s3://bucket/vol.zarr/the same", "s3://bucket/vol.zarr/the same"}));
  EXPECT_EQ(server_.log().size(), 3u);
}

TEST_F(Uploads, AListThatIsNoneOrDoesNotGoOnIsAnError) {
  const auto store = open("s3://bucket/vol.zarr");
  for (const char* body :
       {"", "<html>please log in</html>", "<ListMultipartUploadsResult><Upload><Key>vol.zarr/k</Key>",
        "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated></ListMultipartUploadsResult>",
        "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker>"
        "</ListMultipartUploadsResult>"}) {
    server_.rules(Json::array({{{"match", "uploads"}, {"status", 200}, {"times", -1}, {"body", body}}}));
    EXPECT_EQ(unfinished_uploads(*store).error().code(), ErrorCode::io_error) << body;
  }
}

TEST_F(Uploads, ARefusalIsTheServers) {
  const auto store = open("s3://bucket/vol.zarr");
  const char* const denied = "<Error><Code>AccessDenied</Code><Message>no</Message></Error>";
  server_.rules(Json::array({{{"match", "uploads"}, {"status", 403}, {"times", -1}, {"body", denied}}}));
  EXPECT_EQ(unfinished_uploads(*store).error().code(), ErrorCode::permission_denied);
  server_.rules(Json::array({{{"match", "uploads"}, {"status", 501}, {"times", -1}}}));
  EXPECT_EQ(unfinished_uploads(*store).error().code(), ErrorCode::unsupported);
  EXPECT_EQ(unfinished_uploads(*open_store("memory://", StoreMode::create).value()).error().code(),
            ErrorCode::unsupported);
}

TEST(UploadsTime, IsReadOrNotKnown) {
  EXPECT_EQ(s3::parse_time("1970-01-02T00:00:01Z"), 86'401);
  EXPECT_EQ(s3::parse_time("2026-07-23T10:15:00.123Z"), 1'784'801'700);
  for (const char* text :
       {"", "2026-07-23", "2026-07-23T10:15:00", "2026-07-23T10:15:00+02:00", "2026-13-01T00:00:00Z"})
    EXPECT_EQ(s3::parse_time(text), std::nullopt) << text;
}
