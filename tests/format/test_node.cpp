#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "format/support.hpp"
#include "format/zarr/zarr.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

std::shared_ptr<Store> memory() { return open_store("memory://", StoreMode::create).value(); }

void put(Store& store, std::string_view key, std::string_view text) { store.set(key, as_bytes(text)).value(); }

std::string get(const Store& store, std::string_view key) {
  Bytes bytes;
  EXPECT_TRUE(store.get(key, bytes).value()) << key;
  return std::string(as_text(bytes));
}

Dataset array_of(int zarr_format) {
  Dataset d;
  d.format.version = zarr_format;
  d.shape = {4};
  d.chunk_shape = {2};
  d.dtype = DType::uint16();
  d.fill = bytes_of<std::uint16_t>(7);
  d.codecs = {{"bytes", R"({"endian":"little"})"}};
  if (zarr_format == 2) d.placement = KeyEncoding{KeyEncoding::Kind::v2, '.'};
  return d;
}

constexpr std::string_view kGroup3 = R"({"zarr_format": 3, "node_type": "group", "attributes": {"v": 3}})";
constexpr std::string_view kGroup2 = R"({"zarr_format": 2})";

/// A directory that is removed at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "penstock_format_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string at(const std::string& below) const { return path_ + "/" + below; }
  void file(const std::string& below, std::string_view text = "{}") const {
    std::filesystem::create_directories(std::filesystem::path(at(below)).parent_path());
    std::ofstream(at(below)) << text;
  }
  void directory(const std::string& below) const { std::filesystem::create_directories(at(below)); }

 private:
  std::string path_;
};

}  // namespace

TEST(Node, ArraysAndGroupsOfBothVersionsComeBack) {
  for (const int version : {2, 3}) {
    const auto store = memory();
    write_node(*store, "", GroupInfo{{"zarr", version}, R"({"a":1})"}).value();
    write_node(*store, "g/x", array_of(version)).value();
    const NodeInfo root = read_node(*store, "").value();
    EXPECT_EQ(std::get<GroupInfo>(root).attributes, R"({"a":1})");
    EXPECT_EQ(std::get<GroupInfo>(root).format.version, version);
    const NodeInfo array = read_node(*store, "g/x").value();
    EXPECT_EQ(describe(std::get<Dataset>(array)), describe(array_of(version)));
  }
}

TEST(Node, Version3ComesFirst) {
  const auto store = memory();
  put(*store, "zarr.json", kGroup3);
  put(*store, ".zgroup", kGroup2);
  EXPECT_EQ(std::get<GroupInfo>(read_node(*store, "").value()).format.version, 3);
}

TEST(Node, ADirectoryIsAGroupOnlyBelowAVersion2Group) {
  const auto store = memory();
  put(*store, "a/b/x/.zarray", "{}");
  EXPECT_EQ(read_node(*store, "a/b").error().code(), ErrorCode::not_found);
  put(*store, ".zgroup", kGroup2);
  EXPECT_EQ(std::get<GroupInfo>(read_node(*store, "a/b").value()).format.version, 2);
  EXPECT_EQ(read_node(*store, "a/none").error().code(), ErrorCode::not_found);
  put(*store, "a/b/x/0/1", "chunk");
  EXPECT_EQ(read_node(*store, "a/b/x/0").error().code(), ErrorCode::not_found) << "chunks are no group";
}

TEST(Node, ErrorsNameTheDocument) {
  const auto store = memory();
  EXPECT_EQ(read_node(*store, "").error().code(), ErrorCode::not_found);
  put(*store, "a/zarr.json", R"({"zarr_format": 3, "node_type": "array", "shape": [-1]})");
  put(*store, "b/.zarray", R"({"zarr_format": 2)");
  put(*store, "c/.zgroup", kGroup2);
  put(*store, "c/.zattrs", "[]");
  for (const auto& [path, text] :
       std::vector<std::pair<std::string, std::string>>{{"a", "a/zarr.json: shape[0]"},
                                                        {"b", "b/.zarray: not JSON at byte"},
                                                        {"c", ".zattrs: must be a JSON object"}}) {
    const auto r = read_node(*store, path);
    ASSERT_FALSE(r) << path;
    EXPECT_EQ(r.error().code(), ErrorCode::invalid_metadata);
    EXPECT_NE(r.error().message().find(text), std::string::npos) << r.error().message();
  }
  for (const char* path : {"../a", "a/../b", "/a", "a//b", "a/"})
    EXPECT_EQ(read_node(*store, path).error().code(), ErrorCode::invalid_argument) << path;
  EXPECT_FALSE(write_node(*store, "../a", GroupInfo{}));
}

TEST(Consolidated, BothVersionsAreWrittenAndRead) {
  for (const int version : {2, 3}) {
    const auto store = memory();
    write_node(*store, "top", GroupInfo{{"zarr", version}, R"({"a":1})"}).value();
    write_node(*store, "top/g", GroupInfo{{"zarr", version}, R"({"b":2})"}).value();
    write_node(*store, "top/g/x", array_of(version)).value();
    write_node(*store, "top/y", array_of(version)).value();
    put(*store, "top/y/c/0", "chunk");
    put(*store, "top/notes/readme.txt", "no node");
    EXPECT_TRUE(read_consolidated(*store, "top").value().empty());
    for (int times = 0; times < 2; ++times) write_consolidated(*store, "top").value();
    const auto nodes = read_consolidated(*store, "top").value();
    ASSERT_TRUE(nodes.contains("g") && nodes.contains("g/x") && nodes.contains("y")) << version;
    EXPECT_EQ(std::get<GroupInfo>(nodes.at("g").value()).attributes, R"({"b":2})");
    EXPECT_EQ(describe(std::get<Dataset>(nodes.at("g/x").value())), describe(array_of(version)));
    EXPECT_EQ(std::get<GroupInfo>(read_node(*store, "top").value()).attributes, R"({"a":1})");
  }
}

TEST(Consolidated, RefusesPathsThatLeaveTheGroup) {
  const auto store = memory();
  put(*store, "zarr.json", R"({"zarr_format": 3, "node_type": "group", "consolidated_metadata": {"kind": "inline",
      "must_understand": false, "metadata": {"../x": {"zarr_format": 3, "node_type": "group"}}}})");
  const auto nodes = read_consolidated(*store, "").value();
  const Error& error = nodes.at("../x").error();
  EXPECT_EQ(error.code(), ErrorCode::invalid_metadata);
  EXPECT_NE(error.message().find("zarr.json: consolidated_metadata.metadata[\"../x\"]"), std::string::npos)
      << error.message();
  const auto v2 = memory();
  put(*v2, ".zmetadata", R"({"zarr_consolidated_format": 1, "metadata": {"a/../../.zgroup": {"zarr_format": 2}}})");
  EXPECT_FALSE(read_consolidated(*v2, "").value().at("a/../.."));
}

TEST(Consolidated, ANodeThatCannotBeReadDoesNotHideTheOthers) {
  for (const int version : {2, 3}) {
    const auto store = memory();
    for (const char* path : {"top", "top/g"}) write_node(*store, path, GroupInfo{{"zarr", version}, "{}"}).value();
    for (const char* path : {"top/bad", "top/g/x"}) write_node(*store, path, array_of(version)).value();
    write_consolidated(*store, "top").value();
    const std::string key = version == 2 ? "top/.zmetadata" : "top/zarr.json";
    std::string text = get(*store, key);
    const std::string good = version == 2 ? R"("dtype": "<u2")" : R"("data_type": "uint16")";
    const std::size_t at = text.find(good);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, good.size(), version == 2 ? R"("dtype": "zz")" : R"("data_type": "zz")");
    put(*store, key, text);

    const auto nodes = read_consolidated(*store, "top").value();
    ASSERT_EQ(nodes.size(), 3u);
    EXPECT_TRUE(nodes.at("g") && nodes.at("g/x"));
    ASSERT_FALSE(nodes.at("bad"));
    EXPECT_NE(nodes.at("bad").error().message().find(key), std::string::npos);
    EXPECT_NE(nodes.at("bad").error().message().find("bad"), std::string::npos) << "names the node";
  }
  for (const char* text : {R"({"zarr_consolidated_format": 1, "metadata": []})", R"({"metadata": {}})"}) {
    const auto store = memory();
    put(*store, ".zmetadata", text);
    EXPECT_FALSE(read_consolidated(*store, "")) << text;
  }
}

namespace {

/// Refuses to write one key, as if the writer had been killed before it.
class Stops final : public Store {
 public:
  Stops(std::shared_ptr<Store> inner, std::string key) : inner_(std::move(inner)), key_(std::move(key)) {}
  std::string url() const override { return inner_->url(); }
  std::string path_taken() const override { return inner_->path_taken(); }
  bool writable() const override { return true; }
  void fetch(std::span<const FetchRequest> requests, FetchSink& sink, const FetchOptions& options) const override {
    inner_->fetch(requests, sink, options);
  }
  Result<std::vector<StoreEntry>> list_dir(std::string_view prefix) const override { return inner_->list_dir(prefix); }
  Status set(std::string_view key, ByteView value) override {
    if (key == key_) return Error(ErrorCode::io_error, "stopped");
    return inner_->set(key, value);
  }
  Status erase(std::string_view key) override { return inner_->erase(key); }

 private:
  std::shared_ptr<Store> inner_;
  std::string key_;
};

}  // namespace

TEST(Consolidated, AWriterThatStopsLeavesNoneThatIsNotTrue) {
  for (const int version : {2, 3}) {
    const auto store = memory();
    for (const char* path : {"top", "top/g"}) write_node(*store, path, GroupInfo{{"zarr", version}, "{}"}).value();
    write_node(*store, "top/g/x", array_of(version)).value();
    for (const char* path : {"top", "top/g"}) write_consolidated(*store, path).value();
    Dataset longer = array_of(version);
    longer.shape = {9};
    Stops stops(store, version == 2 ? "top/g/x/.zarray" : "top/g/x/zarr.json");
    EXPECT_FALSE(write_node(stops, "top/g/x", longer));
    for (const char* path : {"top", "top/g"}) EXPECT_TRUE(read_consolidated(*store, path).value().empty()) << version;
  }
}

TEST(Consolidated, AChangeBelowMakesThemAnewAtEveryLevel) {
  for (const int version : {2, 3}) {
    const auto store = memory();
    for (const char* path : {"top", "top/g"}) write_node(*store, path, GroupInfo{{"zarr", version}, "{}"}).value();
    write_node(*store, "top/g/x", array_of(version)).value();
    for (const char* path : {"top", "top/g"}) write_consolidated(*store, path).value();
    Dataset longer = array_of(version);
    longer.shape = {9};
    write_node(*store, "top/g/x", longer).value();
    EXPECT_EQ(std::get<Dataset>(read_consolidated(*store, "top").value().at("g/x").value()).shape, Shape{9});
    EXPECT_EQ(std::get<Dataset>(read_consolidated(*store, "top/g").value().at("x").value()).shape, Shape{9});

    put(*store, version == 2 ? "top/bad/.zarray" : "top/bad/zarr.json", "{}");
    write_node(*store, "top/g/x", array_of(version)).value();
    EXPECT_TRUE(read_consolidated(*store, "top").value().empty()) << "what cannot be read is not hidden";
    EXPECT_EQ(read_consolidated(*store, "top/g").value().size(), 1u);
  }
}

TEST(Locate, FindsTheStoreInAPath) {
  const Folder folder;
  folder.file("a.zarr/zarr.json");
  folder.file("a.zarr/img/zarr.json");
  folder.directory("a.zarr/img/c/0");
  folder.file("b.zip", "PK");
  folder.directory("empty");
  const auto expect = [&](const std::string& path, const std::string& store, const std::string& node) {
    const auto found = locate(folder.at(path));
    ASSERT_TRUE(found) << path << ": " << found.error().message();
    EXPECT_EQ(found->store_url, folder.at(store)) << path;
    EXPECT_EQ(found->path, node) << path;
  };
  expect("a.zarr", "a.zarr", "");
  expect("a.zarr/img", "a.zarr/img", "");
  expect("a.zarr//img/./", "a.zarr/img", "");
  expect("a.zarr/img/c/0", "a.zarr/img", "c/0");
  expect("a.zarr/none/x", "a.zarr", "none/x");
  expect("b.zip/x/y", "b.zip", "x/y");
  expect("b.zip", "b.zip", "");
  expect("empty", "empty", "");
  EXPECT_EQ(locate(folder.at("none/../a")).error().code(), ErrorCode::not_found);
  EXPECT_EQ(locate(folder.at("empty/../a.zarr/x")).value().store_url, folder.at("empty/../a.zarr"));
  EXPECT_EQ(locate(folder.at("a.zarr/../empty/x")).value().store_url, folder.at("a.zarr/../empty"))
      << "what stands before '..' is no parent";
  EXPECT_EQ(locate("").error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(locate("file://" + folder.at("a.zarr/img/c")).value().path, "c");
}

TEST(Locate, Urls) {
  EXPECT_EQ(locate("memory://m").value().store_url, "memory://m");
  EXPECT_EQ(locate("memory://m/a//b/").value().store_url, "memory://m");
  EXPECT_EQ(locate("memory://m/a//b/").value().path, "a/b");
  EXPECT_EQ(locate("s3://bucket/a").value().store_url, "s3://bucket/a");
}
