// Where nodes may be put, and who else is at it.
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "array/model.hpp"
#include "penstock/copy.hpp"
#include "store/store_kinds.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

Array filled(const std::shared_ptr<Store>& store, const std::string& path, const Dataset& d, std::uint8_t value) {
  Array array = Array::create(store, path, d, Array::IfExists::fail).value();
  const std::vector<std::byte> values(Model::count(d.shape) * d.dtype.size_bytes, std::byte{value});
  EXPECT_TRUE(test::write(array, whole(d.shape), values));
  return array;
}

std::shared_ptr<Store> memory() { return open_store("memory://", StoreMode::create).value(); }

template <class T>
ErrorCode refused(const Result<T>& result) {
  return result ? ErrorCode::internal : result.error().code();
}

}  // namespace

TEST(Places, NothingIsPutAmongTheChunksOfAnArray) {
  const TemporaryDirectory scratch;
  for (const bool on_disk : {false, true}) {
    const auto store = on_disk ? open_store(scratch / "s", StoreMode::create).value() : memory();
    const Dataset d = dataset({8, 8}, {4, 4});
    const Array array = filled(store, "g/a", d, 7);
    for (const auto if_exists : {Array::IfExists::fail, Array::IfExists::overwrite})
      for (const char* path : {"g/a/b", "g/a/c", "g/a/c/0", "g/a/c/1/1"}) {
        EXPECT_EQ(refused(Array::create(store, path, d, if_exists)), ErrorCode::already_exists) << path;
        EXPECT_EQ(refused(Group::create(store, path, {}, if_exists)), ErrorCode::already_exists) << path;
        CopyOptions how;
        how.if_exists = if_exists;
        EXPECT_EQ(refused(copy(Node(filled(memory(), "", d, 1)), store, path, how, threads(1))),
                  ErrorCode::already_exists)
            << path;
        if (!on_disk) continue;
        // The store itself may be opened there.
        const auto inside = open_store(scratch / "s/" + path, StoreMode::create);
        if (!inside) continue;  // a chunk is a file
        EXPECT_EQ(refused(Array::create(*inside, "", d, if_exists)), ErrorCode::already_exists) << path;
        EXPECT_EQ(refused(Group::create(*inside, "x", {}, if_exists)), ErrorCode::already_exists) << path;
      }
    EXPECT_EQ(read(array, whole(d.shape)).value(), std::vector<std::byte>(128, std::byte{7}));
  }
}

TEST(Places, TheWaitForOthersWhoWriteMetadataCanBeCancelled) {
  const auto store = memory();
  const Dataset d = dataset({8, 8}, {4, 4});
  Array array = filled(store, "g/a", d, 7);
  Group group = Group::open(store, "g").value();
  for (const char* held : {"g/zarr.json", "g/a/zarr.json"}) {
    const auto lock = store->lock(held, LockUse::change, [] { return Status(); }).value();
    const auto cancelled = [](const auto& call) {
      const CancelToken cancel;
      std::jthread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        cancel.cancel();
      });
      const Status done = call(cancel);
      return done ? ErrorCode::internal : done.error().code();
    };
    EXPECT_EQ(cancelled([&](const CancelToken& c) { return array.set_attributes("{}", c); }), ErrorCode::cancelled);
    EXPECT_EQ(cancelled([&](const CancelToken& c) { return array.resize({4, 8}, c); }), ErrorCode::cancelled);
    if (held == std::string("g/zarr.json")) {
      EXPECT_EQ(cancelled([&](const CancelToken& c) { return group.set_attributes("{}", c); }), ErrorCode::cancelled);
    }
    EXPECT_EQ(cancelled([&](const CancelToken& c) -> Status {
                Options options = threads(1);
                options.cancel = c;
                CopyOptions how;
                how.if_exists = Array::IfExists::overwrite;
                PENSTOCK_TRY(copy(Node(filled(memory(), "", d, 1)), store, "g/a", how, options));
                return {};
              }),
              ErrorCode::cancelled);
  }
}

// A copy into a place where another is under way replaces it as a whole; the other says so and ends.
TEST(Places, CopiesToOnePlaceDoNotMix) {
  const Dataset d = dataset({64, 64}, {4, 4});
  const Array ones = filled(memory(), "", d, 1), twos = filled(memory(), "", d, 2);
  for (const char* path : {"", "in/group"})
    for (const bool standing : {false, true}) {
      SCOPED_TRACE(std::string(path) + (standing ? ", replaces" : ", new"));
      const TemporaryDirectory scratch;
      const std::string url = scratch / "s";
      CopyOptions force;
      force.if_exists = Array::IfExists::overwrite;
      if (standing) {
        ASSERT_TRUE(copy(Node(twos), url, path, {}, threads(1)));
      }
      bool begun = false;
      Options options = threads(1);
      options.progress = [&](const Progress& p) {
        if (begun || p.done == 0) return;
        begun = true;
        const auto other = copy(Node(twos), url, path, force, threads(1));
        EXPECT_TRUE(other) << other.error().message();
      };
      const auto first = copy(Node(ones), url, path, standing ? force : CopyOptions(), options);
      ASSERT_TRUE(begun);
      ASSERT_FALSE(first);
      EXPECT_EQ(first.error().code(), ErrorCode::already_exists) << first.error().message();
      const auto store = open_store(url, StoreMode::read).value();
      const Array there = Array::open(store, path).value();
      EXPECT_EQ(read(there, whole(d.shape)).value(), std::vector<std::byte>(64 * 64 * 2, std::byte{2}));
      for (const auto& entry : std::filesystem::directory_iterator(scratch / ""))
        EXPECT_EQ(entry.path().filename(), "s") << "nothing is left beside it";
    }
}
