#include <gtest/gtest.h>

#include <fstream>

#include "store/list.hpp"
#include "store_kinds.hpp"

using namespace penstock;
using penstock::test::TemporaryDirectory;

TEST(OpenStore, UnknownSchemesAreNamed) {
  const auto store = open_store("gopher://host/vol.zarr", StoreMode::read);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code(), ErrorCode::unsupported);
  EXPECT_NE(store.error().message().find("gopher"), std::string::npos);
  for (const StoreKind& kind : store_list())
    EXPECT_NE(store.error().message().find(kind.scheme), std::string::npos) << "says what is known";
}

TEST(OpenStore, AMissingDirectoryIsNotFound) {
  const TemporaryDirectory scratch;
  for (const StoreMode mode : {StoreMode::read, StoreMode::read_write}) {
    const auto store = open_store(scratch / "absent", mode);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code(), ErrorCode::not_found);
    EXPECT_EQ(store.error().system_errno(), ENOENT);
    EXPECT_NE(store.error().message().find(scratch / "absent"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(scratch / "absent"));
}

TEST(OpenStore, FileUrlsAreAbsoluteAndDecoded) {
  const TemporaryDirectory scratch;
  const auto store = open_store("file://" + scratch / "with%20blank", StoreMode::create);
  ASSERT_TRUE(store) << store.error().message();
  EXPECT_EQ((*store)->url(), scratch / "with blank");
  EXPECT_TRUE(std::filesystem::is_directory(scratch / "with blank"));
  EXPECT_EQ(open_store("file://relative/path", StoreMode::read).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(open_store("file:///a%2", StoreMode::read).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(open_store("file:///a%00b", StoreMode::read).error().code(), ErrorCode::invalid_argument);
}

TEST(OpenStore, AFileThatIsNoContainerIsRefused) {
  const TemporaryDirectory scratch;
  std::ofstream(scratch / "plain.txt") << "hello";
  const auto store = open_store(scratch / "plain.txt", StoreMode::read);
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message().find("plain.txt: not a directory"), std::string::npos) << store.error().message();
}

TEST(OpenStore, MemoryStoresAreSharedByNameOrAnonymous) {
  EXPECT_EQ(open_store("memory://test-open-absent", StoreMode::read_write).error().code(), ErrorCode::not_found);
  const auto named = open_store("memory://test-open", StoreMode::create).value();
  ASSERT_TRUE(named->set("k", as_bytes("v")));
  EXPECT_TRUE(open_store("memory://test-open", StoreMode::read).value()->exists("k").value());
  ASSERT_TRUE(named->erase_prefix(""));

  const auto anonymous = open_store("memory://", StoreMode::create).value();
  ASSERT_TRUE(anonymous->set("k", as_bytes("v")));
  EXPECT_FALSE(open_store("memory://", StoreMode::read_write).value()->exists("k").value());
}

namespace {

/// A kind of store that keeps what it was told.
struct Told {
  std::string text, rest;
  StoreOptions options;
} told;
constexpr StoreOptionName kToyOptions[] = {{"region", "where"}, {"access_key", "who"}};
const StoreKind kToys[] = {{"toy", "for a test", nullptr,
                            [](const StoreUrl& url, StoreMode, const StoreOptions& options) {
                              told = {std::string(url.text), std::string(url.rest), options};
                              return open_store("memory://", StoreMode::create);
                            },
                            kToyOptions}};

}  // namespace

TEST(StoreOptionsAndUrls, ReachTheKindOfStoreAsTheyAre) {
  const std::string url = "toy://host/a%20b?x=%2F#y";
  ASSERT_TRUE(open_store_of(kToys, url, StoreMode::read, {.by_name = {{"region", "eu"}, {"access_key", ""}}}));
  EXPECT_EQ(told.text, url);
  EXPECT_EQ(told.rest, "host/a%20b?x=%2F#y");
  EXPECT_EQ(told.options.by_name, (decltype(told.options.by_name){{"region", "eu"}, {"access_key", ""}}));
}

TEST(StoreOptionsAndUrls, UnknownOptionsAreRefusedWithoutTheirValues) {
  const auto near = open_store_of(kToys, "toy://host", StoreMode::read, {.by_name = {{"acces_key", "secret"}}});
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(near.error().message(),
            "a store of the kind 'toy' (for a test) has no option 'acces_key'; did you mean access_key?");
  EXPECT_EQ(near.error().hint(), "its options: region, access_key");
  const TemporaryDirectory scratch;
  const auto none = open_store(scratch / "store", StoreMode::create, {.by_name = {{"region", "secret"}}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message(), "a store of the kind 'file' (a directory) has no option 'region'");
  EXPECT_FALSE(std::filesystem::exists(scratch / "store")) << "nothing is made before";
}

TEST(StoreOptionsAndUrls, NoMessageHoldsASecret) {
  for (const char* url : {"gopher://user:secret@host/a", "file://user:secret@host/a",
                          "memory://x?X-Amz-Signature=secret", "file:///a%2?sig=secret"}) {
    const auto store = open_store(url, StoreMode::read);
    ASSERT_FALSE(store) << url;
    EXPECT_EQ((store.error().message() + store.error().hint()).find("secret"), std::string::npos)
        << store.error().message();
  }
}
