// What every store promises, one body for all kinds.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "collect.hpp"
#include "store_kinds.hpp"

using namespace penstock;
using penstock::test::Collect;
using penstock::test::fetch_text;
using penstock::test::StoreCase;
using penstock::test::TemporaryDirectory;

namespace {

class StoreContract : public testing::TestWithParam<StoreCase> {
 protected:
  void SetUp() override {
    url_ = GetParam().url(scratch_);
    auto opened = open_store(url_, StoreMode::create);
    ASSERT_TRUE(opened) << opened.error().message();
    store_ = *opened;
  }
  void TearDown() override {
    if (store_ == nullptr) return;
    EXPECT_TRUE(store_->erase_prefix("")) << "named memory stores live on";
  }
  void put(std::string_view key, std::string_view text) {
    const Status status = store_->set(key, as_bytes(text));
    ASSERT_TRUE(status) << status.error().message();
  }
  std::string text_of(std::string_view key) {
    Bytes out;
    auto found = store_->get(key, out);
    if (!found) return "error: " + found.error().message();
    return *found ? std::string(as_text(out)) : "absent";
  }
  std::string entries(std::string_view prefix) {
    std::string out;
    const std::vector<StoreEntry> all = store_->list_dir(prefix).value();
    for (const StoreEntry& entry : all)
      out.append(out.empty() ? "" : " ").append(entry.name).append(entry.is_prefix ? "/" : "");
    return out;
  }

  std::uint64_t number() {
    ObjectVersion version;
    fetch_text(*store_, {"k", {}}, &version);
    return version.number;
  }

  TemporaryDirectory scratch_;
  std::string url_;
  std::shared_ptr<Store> store_;
};

}  // namespace

TEST_P(StoreContract, WhatIsSetIsRead) {
  put("a/b/c", "hello");
  put("empty", "");
  EXPECT_EQ(text_of("a/b/c"), "hello");
  EXPECT_EQ(text_of("empty"), "");
  EXPECT_TRUE(store_->exists("a/b/c").value());
  EXPECT_TRUE(store_->exists("empty").value());
  EXPECT_EQ(store_->size_bytes("a/b/c").value(), 5u);
}

TEST_P(StoreContract, AbsentKeysAreValues) {
  put("a/b", "x");
  for (const char* key : {"nothing", "a/c", "a/b/c", "x/y/z"}) {
    EXPECT_EQ(text_of(key), "absent") << key;
    EXPECT_FALSE(store_->exists(key).value()) << key;
  }
  EXPECT_FALSE(store_->exists("a").value()) << "a prefix is not an object";
  EXPECT_EQ(fetch_text(*store_, {"nothing", ByteRange::last(4)}), "absent");
  EXPECT_EQ(store_->size_bytes("nothing").value(), std::nullopt);
  EXPECT_FALSE(store_->is_current("nothing", {}).value());
}

TEST_P(StoreContract, RangesAndSuffixes) {
  put("k", "0123456789");
  const auto text = [&](ByteRange range) { return fetch_text(*store_, {"k", range}); };
  EXPECT_EQ(text(ByteRange::span(7, 3)), "789");
  EXPECT_EQ(text(ByteRange::span(0, 2)), "01");
  EXPECT_EQ(text(ByteRange::span(10, 0)), "");
  EXPECT_EQ(text(ByteRange::from(8)), "89");
  EXPECT_EQ(text(ByteRange::last(4)), "6789");
  EXPECT_EQ(text(ByteRange::last(400)), "0123456789");
  EXPECT_EQ(text(ByteRange::last(0)), "");
}

TEST_P(StoreContract, ReadingPastTheEndIsCorruptDataThatNamesTheKeyAndSize) {
  put("k/chunk", "0123456789");
  for (const std::uint64_t offset : {std::uint64_t{7}, std::uint64_t{11}, ~std::uint64_t{0}, ~std::uint64_t{0} - 3}) {
    const FetchRequest request{"k/chunk", ByteRange::span(offset, 4)};
    Collect sink;
    store_->fetch({&request, 1}, sink, {});
    ASSERT_TRUE(sink.wait(1));
    ASSERT_FALSE(sink[0].status) << offset;
    const Error& error = sink[0].status.error();
    EXPECT_EQ(error.code(), ErrorCode::corrupt_data);
    EXPECT_NE(error.message().find("k/chunk"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("10"), std::string::npos) << error.message();
  }
}

TEST_P(StoreContract, AVersionIsReadAfterItWasReplaced) {
  put("k", "old content");
  ObjectVersion old;
  EXPECT_EQ(fetch_text(*store_, {"k", ByteRange::last(3)}, &old), "ent");
  EXPECT_TRUE(store_->is_current("k", old).value());
  put("k", "new");
  EXPECT_EQ(text_of("k"), "new");
  EXPECT_FALSE(store_->is_current("k", old).value());
  const std::string expected = GetParam().keeps_old_versions ? "old content" : "changed";
  EXPECT_EQ(fetch_text(*store_, {"k", {}, &old}), expected);
  ASSERT_TRUE(store_->erase("k"));
  EXPECT_EQ(fetch_text(*store_, {"k", {}, &old}), expected);
}

TEST_P(StoreContract, PartsAreWrittenOneAfterTheOther) {
  std::string expected;
  std::vector<std::string> texts;
  for (int i = 0; i < 2500; ++i) texts.push_back(std::string(static_cast<std::size_t>(i % 7), static_cast<char>(i)));
  std::vector<ByteView> parts;
  for (const std::string& text : texts) {
    parts.push_back(as_bytes(text));
    expected += text;
  }
  ASSERT_TRUE(store_->set_parts("k", parts));
  EXPECT_EQ(text_of("k"), expected);
  ASSERT_TRUE(store_->set_parts("k", {}));
  EXPECT_EQ(text_of("k"), "");
}

TEST_P(StoreContract, AReplacedObjectNeverHasTheVersionOfTheOld) {
  for (int i = 0; i < 200; ++i) {
    put("k", "same size");
    const std::uint64_t before = number();
    put("other", "x");
    put("k", "SAME SIZE");
    const std::uint64_t after = number();
    ASSERT_TRUE(before != after || after == 0) << i;
  }
}

TEST_P(StoreContract, ListsAreSortedAndWhole) {
  for (const char* key : {"b/c/0", "b/c/1", "b-c", "b/zarr.json", "zarr.json", "a", "b.c/x"}) put(key, "x");
  EXPECT_EQ(entries(""), "a b/ b-c b.c/ zarr.json");
  EXPECT_EQ(entries("b"), "c/ zarr.json");
  EXPECT_EQ(entries("absent"), "");
  EXPECT_EQ(entries("a"), "");
  EXPECT_EQ(store_->list("").value(),
            (std::vector<std::string>{"a", "b-c", "b.c/x", "b/c/0", "b/c/1", "b/zarr.json", "zarr.json"}));
  EXPECT_EQ(store_->list("b").value(), (std::vector<std::string>{"b/c/0", "b/c/1", "b/zarr.json"}));
  EXPECT_TRUE(store_->list("b/zarr").value().empty()) << "a prefix is whole parts";
}

TEST_P(StoreContract, EraseRemovesOneAndErasePrefixAll) {
  for (const char* key : {"g/a/0", "g/a/1", "g/ab", "g/b", "h"}) put(key, "x");
  ASSERT_TRUE(store_->erase("g/b"));
  ASSERT_TRUE(store_->erase("g/b")) << "absent is fine";
  ASSERT_TRUE(store_->erase("g/a")) << "not an object";
  EXPECT_EQ(store_->list("").value(), (std::vector<std::string>{"g/a/0", "g/a/1", "g/ab", "h"}));
  ASSERT_TRUE(store_->erase_prefix("g/a"));
  EXPECT_EQ(store_->list("").value(), (std::vector<std::string>{"g/ab", "h"}));
  ASSERT_TRUE(store_->erase_prefix("h")) << "an object of that very name";
  ASSERT_TRUE(store_->erase_prefix("absent/x"));
  EXPECT_EQ(store_->list("").value(), (std::vector<std::string>{"g/ab"}));
  ASSERT_TRUE(store_->erase_prefix(""));
  EXPECT_TRUE(store_->list("").value().empty());
  put("again", "x");
  EXPECT_EQ(text_of("again"), "x");
}

TEST_P(StoreContract, OddNamesAreKept) {
  std::size_t kept = 0;
  for (const char* key :
       {"a b", "ü/ß", "a\\b", "...", "%2e%2e", ".hidden", "c\xff\xfe", "tab\there", "-rf", "~", "a:b"}) {
    if (!GetParam().keys_are_bytes && std::string_view(key) == "c\xff\xfe") {
      EXPECT_EQ(store_->set(key, {}).error().code(), ErrorCode::invalid_argument);
      continue;
    }
    put(key, key);
    EXPECT_EQ(text_of(key), key);
    ++kept;
  }
  EXPECT_EQ(store_->list("").value().size(), kept);
}

TEST_P(StoreContract, BadNamesAreRefusedByEveryMember) {
  Bytes out;
  for (const char* key : {"", "/a", "a/../../b", "..", "a//b", "a/"}) {
    const auto refused = [&](const auto& result, const char* member) {
      ASSERT_FALSE(result) << member << ' ' << key;
      EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument) << member << ' ' << key;
    };
    refused(store_->get(key, out), "get");
    refused(store_->size_bytes(key), "size_bytes");
    refused(store_->is_current(key, {}), "is_current");
    refused(store_->check(key), "check");
    refused(store_->exists(key), "exists");
    refused(store_->set(key, {}), "set");
    refused(store_->erase(key), "erase");
    if (*key == '\0') continue;
    refused(store_->list(key), "list");
    refused(store_->list_dir(key), "list_dir");
    refused(store_->erase_prefix(key), "erase_prefix");
  }
}

TEST_P(StoreContract, AStoreOpenedForReadingRefusesChanges) {
  put("k", "x");
  ASSERT_TRUE(store_->flush());
  const auto reader = open_store(url_, StoreMode::read).value();
  EXPECT_FALSE(reader->writable());
  EXPECT_TRUE(store_->writable());
  for (const Status& status : {reader->set("k", {}), reader->erase("k"), reader->erase_prefix("")}) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::permission_denied);
    EXPECT_NE(status.error().message().find(reader->url()), std::string::npos);
  }
  Bytes out;
  EXPECT_TRUE(reader->get("k", out).value());
}

TEST_P(StoreContract, FlushedContentIsThereForTheNextOpening) {
  put("a/b", "one");
  put("c", "two");
  ASSERT_TRUE(store_->flush());
  put("c", "three");
  ASSERT_TRUE(store_->flush());
  store_.reset();
  store_ = open_store(url_, StoreMode::read_write).value();
  EXPECT_EQ(text_of("a/b"), "one");
  EXPECT_EQ(text_of("c"), "three");
  EXPECT_EQ(store_->list("").value().size(), 2u);
}

// Readers see whole objects, whatever writers do meanwhile: each value is one letter, repeated as often as it says.
TEST_P(StoreContract, ReadersSeeWholeObjectsWhileWritersReplaceThem) {
  constexpr int kRounds = 300;
  const auto value = [](int i) {
    return std::string(static_cast<std::size_t>(1000 * (i % 20 + 1)), static_cast<char>('a' + i % 20));
  };
  put("k/0", value(0));
  put("k/1", value(0));
  std::atomic<bool> done{false};
  std::atomic<int> bad{0}, reads{0};
  const auto read = [&](const char* key) {
    Bytes out;
    while (!done) {
      const auto found = store_->get(key, out);
      const std::string_view text = found && *found ? as_text(out) : "";
      if (text.empty() || text.size() != 1000 * static_cast<std::size_t>(text[0] - 'a' + 1) ||
          text.find_first_not_of(text[0]) != text.npos)
        ++bad;
      ++reads;
    }
  };
  const auto write = [&](const char* key) {
    for (int i = 0; i < kRounds; ++i)
      if (!store_->set(key, as_bytes(value(i)))) ++bad;
  };
  {
    std::jthread r0(read, "k/0"), r1(read, "k/1"), r2(read, "k/0");
    {
      const std::jthread w0(write, "k/0"), w1(write, "k/1"), w2(write, "k/1");
    }
    done = true;
  }
  EXPECT_EQ(bad, 0);
  EXPECT_GT(reads, 0);
  EXPECT_EQ(store_->list("").value().size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Every, StoreContract, testing::ValuesIn(penstock::test::store_cases()),
                         penstock::test::case_name);
