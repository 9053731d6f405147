// Symbolic links in a directory store: followed, or kept inside.
#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>

#include "forbid.hpp"
#include "in_child.hpp"
#include "open_object.hpp"
#include "penstock/array.hpp"
#include "store_kinds.hpp"

using namespace penstock;
using penstock::test::in_child;
using penstock::test::open_object;
using penstock::test::TemporaryDirectory;
namespace fs = std::filesystem;

namespace {

const StoreOptions kInside{std::nullopt, Links::inside, {}};

/// A group with arrays that are linked, whole or in part: "inner" to one in the group, the others out of it.
class LinkedStore : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make("hierarchy", "own"));
    ASSERT_TRUE(make("outside", "secret"));
    for (const char* name : {"chunks", "chunk"}) ASSERT_TRUE(make("hierarchy", name));
    fs::create_directory_symlink("own", root() + "/inner");
    fs::create_directory_symlink("../outside/secret", root() + "/node");
    fs::remove_all(root() + "/chunks/c");
    fs::create_directory_symlink("../../outside/secret/c", root() + "/chunks/c");
    fs::remove(root() + "/chunk/c/0");
    fs::create_symlink("../../../outside/secret/c/0", root() + "/chunk/c/0");
  }
  /// An array of 8 numbers in chunks of 4.
  [[nodiscard]] Status make(const std::string& store, const std::string& path) const {
    PENSTOCK_ASSIGN(auto opened, open_store(scratch_ / store, StoreMode::create));
    Dataset dataset;
    dataset.format.version = 3;
    dataset.shape = {8};
    dataset.chunk_shape = {4};
    dataset.dtype = DType::uint16();
    dataset.codecs = {{"bytes", R"({"endian":"little"})"}};
    dataset.fill.assign(2, std::byte{0});
    PENSTOCK_ASSIGN(Array array, Array::create(opened, path, dataset, Array::IfExists::fail));
    return write(array, 7);
  }
  static Status write(Array& array, std::uint16_t value) {
    std::vector<std::uint16_t> elements(8, value);
    PENSTOCK_TRY(array.write(whole(array.dataset().shape), {elements.data(), {}, {}, {}}, {}));
    return {};
  }
  static Status read(const Array& array) {
    std::vector<std::uint16_t> elements(8);
    PENSTOCK_TRY(array.read(whole(array.dataset().shape), {elements.data(), {}, {}, {}}, {}));
    return elements == std::vector<std::uint16_t>(8, 7) ? Status() : Error(ErrorCode::corrupt_data, "other values");
  }
  std::string root() const { return scratch_ / "hierarchy"; }
  std::string secret() const {
    std::ifstream file(scratch_ / "outside/secret/c/0", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  TemporaryDirectory scratch_;
};

void expect_refused(const Status& status) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::permission_denied) << status.error().message();
  EXPECT_NE(status.error().message().find("a symbolic link leads out of the store"), std::string::npos)
      << status.error().message();
}
template <class T>
void expect_refused(const Result<T>& result) {
  ASSERT_FALSE(result);
  expect_refused(Status(result.error()));
}

}  // namespace

TEST_F(LinkedStore, FollowsThemAllUnlessTold) {
  const auto store = open_store(root(), StoreMode::read_write).value();
  for (const char* path : {"own", "inner", "node", "chunks", "chunk"}) {
    const auto array = Array::open(store, path);
    ASSERT_TRUE(array) << path;
    EXPECT_TRUE(read(*array)) << path;
  }
}

TEST_F(LinkedStore, InsideReadsWhatStaysInside) {
  const auto store = open_store(root(), StoreMode::read_write, kInside).value();
  for (const char* path : {"own", "inner"}) {
    auto array = Array::open(store, path);
    ASSERT_TRUE(array) << path;
    EXPECT_TRUE(read(*array)) << path;
    EXPECT_TRUE(write(*array, 7)) << path;
  }
}

TEST_F(LinkedStore, InsideRefusesToReadOutside) {
  const auto store = open_store(root(), StoreMode::read, kInside).value();
  expect_refused(Array::open(store, "node"));
  for (const char* path : {"chunks", "chunk"}) {
    const Array array = Array::open(store, path).value();
    expect_refused(read(array));
    const auto report = array.verify({});
    ASSERT_FALSE(report && report->problems.empty()) << "verify finds nothing in " << path;
  }
  Bytes out;
  expect_refused(store->get("chunk/c/0", out));
  expect_refused(store->get("node/c/1", out));
  expect_refused(store->exists("chunk/c/0"));
  expect_refused(open_object(*store, "chunks/c/0"));
}

TEST_F(LinkedStore, InsideRefusesToWriteOutside) {
  const std::string before = secret();
  const auto store = open_store(root(), StoreMode::read_write, kInside).value();
  Array chunks = Array::open(store, "chunks").value();
  expect_refused(write(chunks, 9));
  expect_refused(store->set("node/c/0", as_bytes("x")));
  expect_refused(store->set("node/new/deep", as_bytes("x")));
  expect_refused(store->erase("node/c/0"));
  expect_refused(store->erase("chunks/c/0"));
  expect_refused(store->erase_prefix("node/c"));
  expect_refused(store->lock("chunks/c/0", LockUse::change, [] { return Status(); }));
  EXPECT_EQ(secret(), before);
  // A link in the place of an object is replaced, not followed.
  Array chunk = Array::open(store, "chunk").value();
  EXPECT_TRUE(write(chunk, 9));
  EXPECT_EQ(secret(), before);
  EXPECT_FALSE(fs::is_symlink(root() + "/chunk/c/0"));
}

TEST_F(LinkedStore, InsideListsNothingOfTheOutside) {
  const auto store = open_store(root(), StoreMode::read, kInside).value();
  expect_refused(store->list(""));
  expect_refused(store->list_dir("node"));
  expect_refused(store->list("chunks"));
  EXPECT_EQ(store->list("inner").value().size(), 3u);
  const Group group = Group::open(store, "").value();
  const auto members = group.members();
  ASSERT_TRUE(members) << members.error().message();
  EXPECT_EQ(members->size(), 5u) << "the member that leads out is named, opening it says why";
}

TEST_F(LinkedStore, InsideErasesLinksNotWhatTheyLeadTo) {
  const auto store = open_store(root(), StoreMode::read_write, kInside).value();
  const std::string before = secret();
  EXPECT_TRUE(store->erase_prefix("chunks"));
  EXPECT_TRUE(store->erase("chunk/c/0"));
  EXPECT_FALSE(fs::exists(root() + "/chunks"));
  EXPECT_EQ(secret(), before);
}

TEST_F(LinkedStore, InsideHoldsForAPathBelowTheRoot) {
  expect_refused(open(root() + "/node", StoreMode::read, kInside));
  EXPECT_TRUE(open(root() + "/inner", StoreMode::read, kInside));
  EXPECT_TRUE(open(root() + "/node", StoreMode::read, {}));
}

TEST_F(LinkedStore, TheSettingSaysWhatIsNotGiven) {
  ::setenv("PENSTOCK_LINKS", "inside", 1);
  const auto node = open(root() + "/node");
  const auto follow = open(root() + "/node", StoreMode::read, {std::nullopt, Links::follow});
  ::setenv("PENSTOCK_LINKS", "sometimes", 1);
  const auto wrong = open_store(root(), StoreMode::read);
  ::unsetenv("PENSTOCK_LINKS");
  expect_refused(node);
  EXPECT_TRUE(follow);
  EXPECT_EQ(wrong.error().message(), "PENSTOCK_LINKS: 'sometimes' is none of follow, inside");
}

TEST_F(LinkedStore, InsideIsRefusedWhereTheSystemCannotKeepToIt) {
  for (const int why : {ENOSYS, EPERM})
    EXPECT_EQ(in_child([&]() -> std::string {
                if (!test::forbid({{SYS_openat2, why}})) return "no filter";
                const auto follow = open_store(root(), StoreMode::read);
                const auto inside = open_store(root(), StoreMode::read, kInside);
                if (!follow || inside) return "opened";
                return std::string(error_name(inside.error().code())) + "|" + inside.error().message();
              }),
              "unsupported|" + root() +
                  ": links = inside needs the system call openat2 (Linux 5.6), which this system does not have or does "
                  "not allow");
}
