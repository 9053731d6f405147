// Arrays read into the memory of a GPU, their chunks decoded there in waves.
#include <gtest/gtest.h>

#include "array/direct_reads.hpp"
#include "array/model.hpp"
#include "device/gpu.hpp"
#include "penstock/store.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

/// Reads into device memory and brings it back.
Result<std::vector<std::byte>> read_by_gpu(const Array& array, const Region& region, Report& report, Options options) {
  options.decode = CodecPlace::device;
  PENSTOCK_ASSIGN(const Stream stream, Stream::create(kGpu));
  PENSTOCK_ASSIGN(const auto pool, Memory::create(kGpu, 0));
  std::vector<std::byte> out(Model::count(shape_of(region)) * array.dataset().dtype.size_bytes, std::byte{0xEE});
  PENSTOCK_ASSIGN(const Buffer target, pool->allocate(out.size(), 256, stream));
  PENSTOCK_TRY(copy_async(target.data(), kGpu, out.data(), {}, out.size(), stream));
  PENSTOCK_ASSIGN(report, array.read(region, Target{target.data(), {}, kGpu, stream}, options));
  PENSTOCK_TRY(copy_async(out.data(), {}, target.data(), kGpu, out.size(), stream));
  PENSTOCK_TRY(stream.synchronize());
  return out;
}

std::string decode_path(const Report& report) {
  for (const StageReport& stage : report.stages)
    if (stage.stage == "decode") return stage.path;
  return {};
}

/// The same for memory around a target, decoded on the CPU.
Result<Report> read_canvas(const Array& array, const Region& region, Canvas& canvas, Options options) {
  options.decode = CodecPlace::cpu;
  PENSTOCK_ASSIGN(const Stream stream, Stream::create(kGpu));
  PENSTOCK_ASSIGN(const auto pool, Memory::create(kGpu, 0));
  PENSTOCK_ASSIGN(const Buffer memory, pool->allocate(canvas.bytes.size(), 256, stream));
  PENSTOCK_TRY(copy_async(memory.data(), kGpu, canvas.bytes.data(), {}, canvas.bytes.size(), stream));
  Result<Report> report =
      array.read(region, Target{memory.data() + canvas.offset, canvas.strides, kGpu, stream}, options);
  PENSTOCK_TRY(copy_async(canvas.bytes.data(), {}, memory.data(), kGpu, canvas.bytes.size(), stream));
  PENSTOCK_TRY(stream.synchronize());
  return report;
}

}  // namespace

TEST(GpuReads, ChainsGiveWhatTheHostReads) {
  const std::string inner =
      R"([{"name":"bytes","configuration":{"endian":"little"}},{"name":"gzip","configuration":{"level":1}},{"name":"crc32c"}])";
  const std::vector<std::vector<CodecSpec>> chains = {
      {bytes_codec(), zstd_codec()},
      {bytes_codec(), {"numcodecs.lz4", "{}"}, {"crc32c", "{}"}},
      {kBigEndian, {"numcodecs.shuffle", "{}"}, {"gzip", "{}"}},
      {{"transpose", R"({"order":[2,0,1]})"},
       kBigEndian,
       {"blosc", R"({"typesize":2,"cname":"lz4","shuffle":"shuffle"})"}},
      {{"numcodecs.delta", R"({"dtype":"<u2"})"}, bytes_codec(), {"numcodecs.zlib", "{}"}},
      {bytes_codec(), {"numcodecs.fletcher32", "{}"}},
      {sharding("[4,2,3]", "end", inner)},
  };
  std::mt19937_64 random(5);
  for (const auto& chain : chains) {
    const Dataset d = dataset({40, 26, 30}, {8, 4, 6}, chain);
    Array array =
        Array::create(open_store("memory://", StoreMode::create).value(), "", d, Array::IfExists::fail).value();
    SCOPED_TRACE(chain.back().name);
    // Some chunks stay absent.
    const Region filled = {{0, 30, 1}, {0, 26, 1}, {0, 30, 1}};
    ASSERT_TRUE(test::write(array, filled, random_values(filled, 2, random)));
    for (int round = 0; round < 10; ++round) {
      const Region region = round == 0 ? whole(d.shape) : random_region(d.shape, random);
      Report report;
      const auto got = read_by_gpu(array, region, report, threads(2));
      ASSERT_TRUE(got) << got.error().message();
      ASSERT_EQ(*got, test::read(array, region).value()) << to_string(region);
      EXPECT_TRUE(decode_path(report).starts_with("cuda:0")) << decode_path(report);
      if (round == 0) EXPECT_GT(report.peak_device_bytes, 0u);  // others may touch absent chunks only
      EXPECT_LE(report.peak_device_bytes, report.budget_bytes);
    }
  }
}

TEST(GpuReads, OneBadChunkIsNamedOrFilled) {
  for (const CodecSpec& codec : {zstd_codec(), CodecSpec{"gzip", "{}"}, CodecSpec{"numcodecs.lz4", "{}"},
                                 CodecSpec{"blosc", R"({"typesize":2,"cname":"zlib"})"}}) {
    SCOPED_TRACE(codec.name);
    const Dataset d = dataset({40, 30}, {10, 10}, {bytes_codec(), codec});
    auto store = open_store("memory://", StoreMode::create).value();
    Array array = Array::create(store, "", d, Array::IfExists::fail).value();
    std::mt19937_64 random(6);
    ASSERT_TRUE(test::write(array, whole(d.shape), random_values(whole(d.shape), 2, random)));
    Bytes chunk;
    ASSERT_TRUE(store->get("c/1/2", chunk).value());
    ASSERT_TRUE(store->set("c/1/2", chunk.view().first(chunk.size() / 2)));
    Report report;
    Options options = threads(2);
    const auto failed = read_by_gpu(array, whole(d.shape), report, options);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code(), ErrorCode::corrupt_data);
    EXPECT_NE(failed.error().message().find("c/1/2"), std::string::npos) << failed.error().message();
    options.on_error = OnError::fill;
    const auto got = read_by_gpu(array, whole(d.shape), report, options);
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(*got, test::read(array, whole(d.shape), options).value());
    ASSERT_EQ(report.problems.size(), 1u);
    EXPECT_EQ(report.problems[0].key, "c/1/2");
  }
}

TEST(GpuReads, SmallBudgetsMakeSmallWavesOrSaySo) {
  const Dataset d = dataset({64, 256, 256}, {8, 64, 64}, {bytes_codec(), {"numcodecs.lz4", "{}"}});
  Array array = Array::create(open_store("memory://", StoreMode::create).value(), "", d, Array::IfExists::fail).value();
  std::mt19937_64 random(7);
  const Region all = whole(d.shape);
  const auto values = random_values(all, 2, random);
  ASSERT_TRUE(test::write(array, all, values));
  Options options = threads(2);
  options.budget_bytes = 64 << 20;
  Report report;
  const auto got = read_by_gpu(array, all, report, options);
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(*got, values);
  EXPECT_LE(report.peak_device_bytes, options.budget_bytes);
  EXPECT_TRUE(decode_path(report).starts_with("cuda:0")) << decode_path(report);
}

TEST(GpuReads, RawAndHostDecodedChunksMixDirectAndStaged) {
  DirectReads reads(read_canvas);
  reads.edges_and_absent_chunks();
  for (const std::vector<CodecSpec>& codecs :
       {std::vector<CodecSpec>{bytes_codec()}, {kBigEndian}, {bytes_codec(), zstd_codec()}, {kBigEndian, zstd_codec()}})
    reads.mixtures(codecs, 60);
  reads.bad_chunks({bytes_codec()});
  reads.bad_chunks({bytes_codec(), zstd_codec()});
}

// StagingBuffers are used again and again while the device reads from them.
TEST(GpuReads, PiecesAreNotUsedAgainTooEarly) {
  const Dataset d = dataset({256, 512, 512}, {32, 64, 64}, {bytes_codec()});  // 128 MiB
  Array array = Array::create(open_store("memory://", StoreMode::create).value(), "", d, Array::IfExists::fail).value();
  std::mt19937_64 random(13);
  std::vector<std::byte> values(std::size_t{256} << 19);
  for (std::size_t i = 0; i < values.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&values[i], &word, sizeof word);
  }
  ASSERT_TRUE(test::write(array, whole(d.shape), values));
  for (int round = 0; round < 5; ++round) {
    Report report;
    const auto got = read_by_gpu(array, whole(d.shape), report, threads(1 + 5 * round));
    ASSERT_TRUE(got) << got.error().message();
    ASSERT_TRUE(*got == values) << "round " << round;
    EXPECT_EQ(direct_chunks(report), 512u);
    EXPECT_EQ(report.peak_device_bytes, 0u);
  }
}
