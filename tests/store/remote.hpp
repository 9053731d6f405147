// A store in a bucket, on a server that misbehaves as it is told.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "collect.hpp"
#include "penstock/store.hpp"
#include "servers/server.hpp"

namespace penstock::test {

using Json = nlohmann::json;

inline constexpr auto kSecret = "testsecret";

class Remote : public testing::Test {
 protected:
  void SetUp() override {
    server_.clear();
    store_ = open_with({});
  }
  std::shared_ptr<Store> open_with(const std::map<std::string, std::string>& more) {
    StoreOptions options = test::s3_options_of(server_.url());
    for (const auto& [name, value] : more) options.by_name[name] = value;
    auto store = open_store("s3://bucket/vol.zarr", StoreMode::create, options);
    EXPECT_TRUE(store) << store.error().message();
    return *store;
  }
  void put(std::string_view key, std::string_view text) {
    const Status status = store_->set(key, as_bytes(text));
    ASSERT_TRUE(status) << status.error().message();
  }
  std::string text(std::string_view key, ByteRange range = {}) { return fetch_text(*store_, {key, range}); }
  Error error_of(const Store& store, const FetchRequest& request) {
    Collect sink;
    store.fetch({&request, 1}, sink, {});
    if (!sink.wait(1) || sink[0].status) return {ErrorCode::internal, "no error"};
    const Error error = sink[0].status.error();
    for (const std::string* said : {&error.message(), &error.hint()})
      EXPECT_EQ(said->find(kSecret), std::string::npos) << *said;
    return error;
  }
  Error error(std::string_view key, ByteRange range = {}) { return error_of(*store_, {key, range}); }
  std::size_t requests() { return server_.log().size(); }

  ObjectServer& server_ = ObjectServer::get();
  std::shared_ptr<Store> store_;
};

inline Json rule(const std::string& match, Json fault) {
  fault["match"] = match;
  return Json::array({fault});
}

}  // namespace penstock::test
