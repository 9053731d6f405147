// The slow store itself, on which tests of reading stand.
#include "slow_store.hpp"

#include <gtest/gtest.h>

#include "collect.hpp"

using namespace penstock;
using namespace std::chrono_literals;
using penstock::test::Collect;
using penstock::test::SlowStore;

TEST(SlowStore, RequestsUnderWayTogetherTakeTheTimeOfOne) {
  const auto inner = open_store("memory://", StoreMode::create).value();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(inner->set("c/" + std::to_string(i), as_bytes("chunk")));
  SlowStore store(inner, 100ms);
  std::vector<std::string> keys;
  for (int i = 0; i < 100; ++i) keys.push_back("c/" + std::to_string(i));
  std::vector<FetchRequest> requests;
  for (const std::string& key : keys) requests.push_back({key, {}});
  Collect sink;
  const auto begin = std::chrono::steady_clock::now();
  store.fetch(requests, sink, {});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 90ms) << "fetch returns at once";
  ASSERT_TRUE(sink.wait(100));
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, 100ms);
  EXPECT_LT(took, 5s) << "one after the other they take ten";
  EXPECT_EQ(store.requests(), 100u);
  EXPECT_EQ(store.max_under_way(), 100u);
  EXPECT_EQ(store.bytes_fetched(), 500u);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(sink.text(i), "chunk");
}

TEST(SlowStore, AskingAndListingAreRequestsToo) {
  const auto inner = open_store("memory://", StoreMode::create).value();
  SlowStore store(inner, 5ms);
  EXPECT_TRUE(store.list("").value().empty());
  EXPECT_FALSE(store.exists("nothing").value());
  EXPECT_EQ(store.requests(), 2u);
  EXPECT_EQ(store.max_under_way(), 1u);
}

TEST(SlowStore, AnswersWhatIsUnderWayBeforeItEnds) {
  Collect sink;
  const FetchRequest request{"k", {}};
  {
    SlowStore store(open_store("memory://", StoreMode::create).value(), 20ms);
    store.fetch({&request, 1}, sink, {});
  }
  ASSERT_EQ(sink.size(), 1u);
  EXPECT_EQ(sink.text(0), "absent");
}
