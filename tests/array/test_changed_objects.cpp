// Objects that were changed behind the library's back, as writers and verify meet them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "codec/sharding/sharding.hpp"
#include "core/json.hpp"
#include "model.hpp"
#include "penstock/store.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr std::uint64_t kHuge = std::uint64_t{64} << 30;

/// A folder of its own, removed at the end.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(testing::TempDir() + "penstock_changed_" + name) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

Array written(const std::shared_ptr<Store>& store, const Dataset& d) {
  Array array = Array::create(store, "", d, Array::IfExists::fail).value();
  std::mt19937_64 random(3);
  EXPECT_TRUE(test::write(array, whole(d.shape), random_values(whole(d.shape), d.dtype.size_bytes, random)));
  return array;
}

void expect_refused(Array& array, const Region& region, const char* words) {
  const Status status = test::write(array, region, std::vector<std::byte>(2 * Model::count(shape_of(region))));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::corrupt_data) << status.error().message();
  EXPECT_NE(status.error().message().find("c/0/0"), std::string::npos) << status.error().message();
  EXPECT_NE(status.error().message().find(words), std::string::npos) << status.error().message();
}

/// Makes the shard a sparse file whose index says that inner chunk 0 takes nearly all of it.
void enlarge_first_chunk(const Array& array, const std::string& file) {
  const ShardingCodec& sharding = *array.codecs()->sharding();
  std::vector<ShardEntry> entries(sharding.inner_count());
  entries[0] = {0, kHuge - sharding.index_bytes()};
  Bytes index;
  ASSERT_TRUE(sharding.encode_index(entries, index));
  std::filesystem::resize_file(file, kHuge - sharding.index_bytes());
  std::ofstream(file, std::ios::app | std::ios::binary)
      .write(reinterpret_cast<const char*>(index.data()), static_cast<std::streamsize>(index.size()));
}

}  // namespace

TEST(ChangedObjects, SizesThatCannotBeRightAreRefusedByPartialWrites) {
  const Folder folder("sizes");
  for (const bool raw : {false, true}) {
    const auto store = open_store(folder.path(raw ? "raw" : "zstd"), StoreMode::create).value();
    const auto codecs = raw ? std::vector{bytes_codec()} : std::vector{bytes_codec(), zstd_codec()};
    Array array = written(store, dataset({16, 16}, {8, 8}, codecs));
    std::filesystem::resize_file(store->url() + "/c/0/0", kHuge);
    expect_refused(array, {{1, 2, 1}, {0, 4, 1}}, "68719476736 bytes");
    EXPECT_TRUE(test::write(array, {{0, 8, 1}, {0, 8, 1}}, std::vector<std::byte>(128))) << "a whole write mends it";
  }
}

TEST(ChangedObjects, SizesInsideShardsToo) {
  const Folder folder("shards");
  const auto store = open_store(folder.path("a"), StoreMode::create).value();
  Array array = written(store, dataset({16, 16}, {8, 8}, {sharding("[4,4]")}));
  enlarge_first_chunk(array, store->url() + "/c/0/0");
  expect_refused(array, {{1, 2, 1}, {0, 2, 1}}, "inner chunk 0");
  expect_refused(array, {{4, 4, 1}, {4, 4, 1}}, "inner chunk 0");  // which is to be kept
}

/// A raw chunk, and a raw chunk in a shard, has no checksum but that of the archive.
TEST(ChangedObjects, VerifySeesEveryFlippedByteOfAZipMember) {
  const Folder folder("zip");
  const std::string raw_shard = R"([{"name":"bytes","configuration":{"endian":"little"}}])";
  const std::vector<std::vector<CodecSpec>> chains = {{bytes_codec()}, {sharding("[4,4]", "end", raw_shard)}};
  for (const auto& codecs : chains) {
    const std::string file = folder.path(codecs[0].name + ".zip");
    {
      const auto store = open_store(file, StoreMode::create).value();
      written(store, dataset({16, 16}, {8, 8}, codecs));
      ASSERT_TRUE(store->flush());
    }
    const auto verified = [&] { return Array::open(open_store(file, StoreMode::read).value(), "").value().verify({}); };
    EXPECT_TRUE(verified().value().problems.empty());
    std::string archive(std::filesystem::file_size(file), '\0');
    std::ifstream(file, std::ios::binary).read(archive.data(), static_cast<std::streamsize>(archive.size()));
    const std::size_t data = archive.find("c/1/0") + 5;  // its local header; the bytes follow, behind an extra field
    for (const std::size_t at : {data + 40, data + 77, data + 120}) {
      std::string changed = archive;
      changed[at] = static_cast<char>(changed[at] ^ 4);
      std::ofstream(file, std::ios::binary) << changed;
      const Report report = verified().value();
      ASSERT_EQ(report.problems.size(), 1U) << at;
      EXPECT_EQ(report.problems[0].key, "c/1/0");
      EXPECT_NE(report.problems[0].message.find("crc32"), std::string::npos) << report.problems[0].message;
    }
  }
}

TEST(NewArrays, AreWrittenWithAllMembersOfTheirCodecs) {
  const auto codecs_of = [](std::vector<CodecSpec> specs) {
    const auto store = open_store("memory://", StoreMode::create).value();
    EXPECT_TRUE(Array::create(store, "", dataset({8, 8}, {8, 8}, std::move(specs)), Array::IfExists::fail));
    Bytes text;
    EXPECT_TRUE(store->get("zarr.json", text).value());
    return dump_json(parse_json(as_text(text.view())).value()["codecs"]);
  };
  const std::string bytes = R"({"name":"bytes","configuration":{"endian":"little"}})";
  const std::string zstd = R"({"name":"zstd","configuration":{"level":0,"checksum":false}})";
  const std::string crc32c = R"({"name":"crc32c"})";
  EXPECT_EQ(codecs_of({bytes_codec(), {"zstd", "{}"}, {"crc32c", "{}"}}),
            "[" + bytes + "," + zstd + "," + crc32c + "]");
  EXPECT_EQ(codecs_of({{"endian", R"({"endian":"little"})"}, {"gzip", "{}"}}),
            "[" + bytes + R"(,{"name":"gzip","configuration":{"level":5}}])");
  EXPECT_EQ(
      codecs_of({bytes_codec(), {"blosc", R"({"shuffle":2})"}}),
      "[" + bytes +
          R"(,{"name":"blosc","configuration":{"typesize":2,"cname":"lz4","clevel":5,"shuffle":"bitshuffle","blocksize":0}}])");
  EXPECT_EQ(codecs_of({bytes_codec(), {"numcodecs.zstd", "{}"}}),
            "[" + bytes + R"(,{"name":"numcodecs.zstd","configuration":{}}])")
      << "numcodecs has its own defaults";
  EXPECT_EQ(codecs_of({{"sharding_indexed", R"({"chunk_shape":[4,4],"codecs":[{"name":"bytes","configuration":)"
                                            R"({"endian":"little"}},{"name":"zstd"}]})"}}),
            R"([{"name":"sharding_indexed","configuration":{"chunk_shape":[4,4],"codecs":[)" + bytes + "," + zstd +
                R"(],"index_codecs":[)" + bytes + "," + crc32c + R"(],"index_location":"end"}}])");
  // As it was given when it says everything.
  EXPECT_EQ(codecs_of({bytes_codec(), {"zstd", R"({"checksum":true,"level":2})"}}),
            "[" + bytes + R"(,{"name":"zstd","configuration":{"checksum":true,"level":2}}])");
}
