#include <gtest/gtest.h>

#include "penstock/store.hpp"
#include "store/key.hpp"

using namespace penstock;

TEST(Key, LegalNamesPass) {
  for (const char* key :
       {"a", "zarr.json", "c/0/1/2", "...", "a/..b/c.", " ", "a b/ü/%2e%2e", "a\\b", ".zattrs", "a:b*?"})
    EXPECT_TRUE(check_key(key)) << key;
}

TEST(Key, NamesThatCouldLeaveTheStoreAreRefused) {
  using namespace std::string_view_literals;
  for (const std::string_view key :
       {""sv, "/"sv, "/a"sv, "a/"sv, "a//b"sv, "."sv, ".."sv, "../a"sv, "a/../b"sv, "a/./b"sv, "a/.."sv, "a\0b"sv}) {
    const Status status = check_key(key);
    ASSERT_FALSE(status) << key;
    EXPECT_EQ(status.error().code(), ErrorCode::invalid_argument);
    EXPECT_NE(status.error().message().find(quoted_key(key)), std::string::npos);
  }
}

TEST(Key, MessagesShowUnprintableBytes) { EXPECT_EQ(quoted_key("a\n\x1b[1m"), R"('a\x0a\x1b[1m')"); }
