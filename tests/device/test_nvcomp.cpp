// Reads that nvCOMP decodes on a GPU, and what is said where it is not found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "array/model.hpp"
#include "codec/nvcomp/library.hpp"
#include "core/settings.hpp"
#include "device/gpu.hpp"
#include "penstock/store.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

struct Read {
  std::vector<std::byte> values;
  StageReport decode;
  std::vector<std::string> bad;  // keys of chunks that were filled
};

Result<Read> read_by_gpu(const Array& array, OnError on_error = OnError::fail, CodecPlace decode = CodecPlace::nvcomp) {
  const Region region = whole(array.dataset().shape);
  Read read;
  read.values.resize(Model::count(shape_of(region)) * array.dataset().dtype.size_bytes);
  PENSTOCK_ASSIGN(const Stream stream, Stream::create(kGpu));
  PENSTOCK_ASSIGN(const auto pool, Memory::create(kGpu, 0));
  PENSTOCK_ASSIGN(const Buffer target, pool->allocate(read.values.size(), 256, stream));
  Options options;
  options.on_error = on_error;
  options.decode = decode;
  PENSTOCK_ASSIGN(const Report report, array.read(region, Target{target.data(), {}, kGpu, stream}, options));
  PENSTOCK_TRY(copy_async(read.values.data(), {}, target.data(), kGpu, read.values.size(), stream));
  PENSTOCK_TRY(stream.synchronize());
  for (const StageReport& stage : report.stages)
    if (stage.stage == "decode") read.decode = stage;
  for (const auto& problem : report.problems) read.bad.push_back(problem.key);
  return read;
}

/// Values that compress, and those of a volume of which some chunks stay absent.
struct Volume {
  std::shared_ptr<Store> store = open_store("memory://", StoreMode::create).value();
  Array array;
  std::vector<std::byte> values;

  explicit Volume(std::vector<CodecSpec> codecs)
      : array(Array::create(store, "", dataset({40, 96, 100}, {8, 32, 50}, std::move(codecs)), Array::IfExists::fail)
                  .value()) {
    const Region filled = {{0, 30, 1}, {0, 96, 1}, {0, 100, 1}};
    std::vector<std::byte> some(Model::count(shape_of(filled)) * 2);
    std::mt19937 random(3);
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = static_cast<std::byte>(i % 2 == 0 ? random() % 60 : 1);
    test::write(array, filled, some).value();
    values = test::read(array, whole(array.dataset().shape)).value();
  }
};

}  // namespace

TEST(GpuNvcomp, ReadsGiveWhatTheHostReads) {
  const std::vector<std::pair<std::vector<CodecSpec>, std::string>> chains = {
      {{bytes_codec(), zstd_codec()}, "cuda:0, zstd (nvCOMP"},
      {{bytes_codec(), {"numcodecs.lz4", "{}"}}, "cuda:0, lz4 (nvCOMP"},
      {{bytes_codec(), {"gzip", "{}"}}, "cuda:0, gzip (nvCOMP"},
      {{bytes_codec(), {"numcodecs.shuffle", R"({"elementsize":2})"}, {"numcodecs.lz4", "{}"}, {"crc32c", "{}"}},
       "cuda:0, crc32c (own) + lz4 (nvCOMP"},
      {{bytes_codec(), {"zstd", R"({"checksum":true})"}}, "cuda:0, zstd (own)"}};
  for (const auto& [codecs, path] : chains) {
    const Volume volume(codecs);
    const auto read = read_by_gpu(volume.array);
    ASSERT_TRUE(read) << path << ": " << read.error().message();
    EXPECT_EQ(read->values, volume.values) << path;
    EXPECT_TRUE(read->decode.path.starts_with(path)) << read->decode.path;
    EXPECT_TRUE(read->decode.counts.empty()) << read->decode.why();
  }
}

// Headers that say something else never reach nvCOMP, and lz4 it checks itself; a wrong stream of the other formats is
// beyond what it promises, so none is given to it here.
TEST(GpuNvcomp, BadChunksAreNamedAndDoNotDisturbOthers) {
  for (const CodecSpec& codec : {zstd_codec(), CodecSpec{"numcodecs.lz4", "{}"}, CodecSpec{"gzip", "{}"}}) {
    SCOPED_TRACE(codec.name);
    const Volume volume({bytes_codec(), codec});
    Bytes chunk;
    ASSERT_TRUE(volume.store->get("c/1/2/1", chunk).value());
    const bool lz4 = codec.name == "numcodecs.lz4";
    const std::size_t at = lz4 ? chunk.size() / 2 : 0;
    for (std::size_t i = at; i < at + 8; ++i) chunk.data()[i] = std::byte{0xFF};
    ASSERT_TRUE(volume.store->set("c/1/2/1", chunk));
    ASSERT_TRUE(volume.store->set("c/2/0/0", {}));
    Options options;
    options.on_error = OnError::fill;
    const auto wanted = test::read(volume.array, whole(volume.array.dataset().shape), options);
    const auto read = read_by_gpu(volume.array, OnError::fill);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->values, wanted.value());
    EXPECT_NE(std::find(read->bad.begin(), read->bad.end(), "c/2/0/0"), read->bad.end());
    EXPECT_LE(read->bad.size(), 2u);
  }
}

TEST(GpuNvcomp, TakesPartInAChoiceOnceNamed) {
  constexpr CodecPlace kAuto = CodecPlace::automatic;
  const std::string costs = ::testing::TempDir() + "nvcomp-costs.json";
  FILE* const file = std::fopen(costs.c_str(), "w");
  std::fputs(R"({"format": "penstock codec costs 1", "origin": "a test", "machine": "", "date": "", "commit": "",
    "nvcomp": "6.0.0", "rows": [
    {"codec": "zstd", "by": "device", "data": "", "points": [[65536, 1, 2]]},
    {"codec": "zstd", "by": "nvcomp", "data": "", "points": [[65536, 1, 1]]},
    {"codec": "zstd", "by": "core", "data": "", "points": [[65536, 1, 100]]}]})",
             file);
  std::fclose(file);
  setenv("PENSTOCK_CODEC_COSTS", costs.c_str(), 1);
  const Volume volume({bytes_codec(), zstd_codec()});
  const std::string named = nvcomp_library().value();
  unsetenv("PENSTOCK_NVCOMP_LIBRARY");
  EXPECT_TRUE(read_by_gpu(volume.array, OnError::fail, kAuto).value().decode.path.starts_with("cuda:0, zstd (own)"));
  setenv("PENSTOCK_NVCOMP_LIBRARY", named.empty() ? "libnvcomp.so.6" : named.c_str(), 1);
  const Read read = read_by_gpu(volume.array, OnError::fail, kAuto).value();
  EXPECT_TRUE(read.decode.path.starts_with("cuda:0, zstd (nvCOMP")) << read.decode.path;
  EXPECT_EQ(read.values, volume.values);
  if (named.empty()) unsetenv("PENSTOCK_NVCOMP_LIBRARY");
  unsetenv("PENSTOCK_CODEC_COSTS");
}

TEST(GpuNoNvcomp, IsSaidWithWhatToDo) {
  const Volume volume({bytes_codec(), zstd_codec()});
  const auto read = read_by_gpu(volume.array);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("decode=nvcomp: nvCOMP"), std::string::npos) << read.error().message();
  EXPECT_NE(read.error().hint().find("pip install nvidia-libnvcomp"), std::string::npos);
}

TEST(NoDevice, IsNeeded) { EXPECT_FALSE(Stream::create(kGpu)); }

int main(int argc, char** argv) {
  const auto library = nvcomp::load(nvcomp_library().value());
  std::printf("%s\n", library ? ("nvCOMP " + (*library)->version + " found: tests of GpuNvcomp").c_str()
                              : (library.error().message() + ": tests of GpuNoNvcomp").c_str());
  ::testing::GTEST_FLAG(filter) = !cuda_unavailable_reason().empty() ? "NoDevice.*"
                                  : library                          ? "GpuNvcomp.*"
                                                                     : "GpuNoNvcomp.*";
  return run_gpu_tests(argc, argv);
}
