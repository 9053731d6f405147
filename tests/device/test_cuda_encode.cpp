// Encoders on a GPU: the bytes that the same source makes on the host, and arrays written from the GPU's memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "array/model.hpp"
#include "codec/encode_chain.hpp"
#include "device/encoding.hpp"
#include "penstock/store.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr Device kGpu{Device::Type::cuda, 0};
const CodecSpec kLittle{"bytes", R"({"endian":"little"})"}, kLz4{"numcodecs.lz4", "{}"}, kCrc{"crc32c", "{}"},
    kShuffle{"numcodecs.shuffle", R"({"elementsize":2})"}, kZstd{"zstd", R"({"level":3,"checksum":true})"};

/// Encoded chunks, on the host or on the GPU; an empty one could not be encoded.
std::vector<Data> encode(const EncodeChain& chain, const std::vector<Data>& chunks, const Stream& stream) {
  const Device device = stream.device();
  EncodeRun run(chain, static_cast<std::uint32_t>(chunks.size()));
  const ExactBytes host = exact_bytes(run.host_bytes());
  const auto memory = Memory::create(device, 0).value();
  const Buffer buffer = memory->allocate(run.device_bytes(), 256, stream).value();
  run.begin(host.get(), buffer.data(), chain.raw_bytes(), stream).value();
  for (std::uint32_t i = 0; i < chunks.size(); ++i)
    copy_async(run.raw(i), device, chunks[i].data(), {}, chunks[i].size(), stream).value();
  run.encode(stream).value();
  stream.synchronize().value();
  std::vector<Data> made;
  for (std::uint32_t i = 0; i < chunks.size(); ++i) {
    const auto bytes = run.encoded_bytes(i);
    made.emplace_back(bytes ? *bytes : 0);
    if (bytes) copy_async(made.back().data(), {}, run.encoded(i), device, *bytes, stream).value();
  }
  stream.synchronize().value();
  return made;
}

Dataset dataset_of(const Shape& shape, const Shape& chunk, std::vector<CodecSpec> codecs) {
  return dataset(shape, chunk, std::move(codecs));
}

}  // namespace

TEST(GpuEncode, TheBytesThatTheHostMakes) {
  const std::vector<std::vector<CodecSpec>> chains = {{kLz4},
                                                      {kShuffle, kLz4, kCrc},
                                                      {kZstd},
                                                      {kShuffle, kZstd},
                                                      {kShuffle},
                                                      {{"numcodecs.shuffle", R"({"elementsize":4})"}},
                                                      {{"numcodecs.shuffle", R"({"elementsize":8})"}, kCrc},
                                                      {{"numcodecs.adler32", "{}"}, {"numcodecs.fletcher32", "{}"}}};
  std::mt19937 random(4);
  const Stream gpu = Stream::create(kGpu).value();
  for (const auto& codecs : chains)
    for (const std::uint64_t elements :
         {std::uint64_t{4}, std::uint64_t{52}, std::uint64_t{2048}, std::uint64_t{32768}, std::uint64_t{400000}}) {
      std::vector<CodecSpec> specs = {kLittle};
      specs.insert(specs.end(), codecs.begin(), codecs.end());
      const CodecChain cpu = CodecChain::make(specs, {{elements}, DType::uint16(), {}}).value();
      const EncodeChain chain = EncodeChain::make(cpu).value();
      SCOPED_TRACE(chain.text() + ", " + std::to_string(elements));
      std::vector<Data> chunks;
      for (int i = 0; i < 3 * kDataKinds; ++i) chunks.push_back(make_data(i % kDataKinds, 2 * elements, random));
      const auto by_gpu = encode(chain, chunks, gpu), by_host = encode(chain, chunks, Stream());
      ScratchBuffers scratch;
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        ASSERT_FALSE(by_gpu[i].empty());
        ASSERT_EQ(by_gpu[i], by_host[i]) << "chunk " << i;
        Data back(chunks[i].size());
        ASSERT_TRUE(
            cpu.decode(std::as_bytes(std::span(by_gpu[i])), std::as_writable_bytes(std::span(back)), scratch, {}));
        ASSERT_EQ(back, chunks[i]);
      }
    }
}

TEST(GpuEncode, ArraysWrittenFromItsMemory) {
  const std::string inner =
      R"([{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.lz4"},{"name":"crc32c"}])";
  const CodecSpec big{"bytes", R"({"endian":"big"})"};
  const std::vector<Dataset> datasets = {
      dataset_of({40, 130, 170}, {16, 64, 50}, {kLittle, {"numcodecs.shuffle", "{}"}, kLz4, kCrc}),
      dataset_of({40, 130, 170}, {16, 64, 50}, {{"transpose", R"({"order":[2,0,1]})"}, big, kZstd}),
      dataset_of({40, 130, 170}, {16, 64, 60}, {sharding("[8,32,30]", "end", inner)}),
      dataset_of({40, 130, 170}, {7, 9, 11}, {kLittle, kCrc})};
  const Stream stream = Stream::create(kGpu).value();
  const auto pool = Memory::create(kGpu, 0).value();
  for (const auto& [place, encode] : {std::pair("device", CodecPlace::device), std::pair("auto", CodecPlace::automatic),
                                      std::pair("cpu", CodecPlace::cpu)}) {
    for (const Dataset& d : datasets) {
      SCOPED_TRACE(std::string(place) + ", " + d.codecs.back().name);
      std::mt19937_64 random(3);
      Array array =
          Array::create(open_store("memory://", StoreMode::create).value(), "", d, Array::IfExists::fail).value();
      Model model(d);
      for (int round = 0; round < 6; ++round) {
        const Region region = round % 2 == 0 ? whole(d.shape) : random_region(d.shape, random);
        auto values = random_values(region, model.item, random);
        if (round == 2) std::fill(values.begin(), values.end(), std::byte{7});
        if (round == 4) std::fill(values.begin(), values.end(), std::byte{0});
        model.write(region, values);
        const Buffer source = pool->allocate(values.size(), 256, stream).value();
        ASSERT_TRUE(copy_async(source.data(), kGpu, values.data(), {}, values.size(), stream));
        Options options = threads(2);
        options.encode = encode;
        if (round % 2 != 0) options.budget_bytes = 32 << 20;
        const auto written = array.write(region, Target{source.data(), {}, kGpu, stream}, options);
        ASSERT_TRUE(written) << written.error().message();
        for (const StageReport& stage : written->stages) {
          if (stage.stage != "encode") continue;
          const bool on_gpu = stage.path.starts_with("cuda:0");
          EXPECT_TRUE(on_gpu || std::string_view(place) != "device") << stage.path << ": " << stage.reason;
          EXPECT_TRUE(!on_gpu || std::string_view(place) != "cpu") << stage.path;
          if (round == 0) std::printf("%s: %s (%s)\n", place, stage.path.c_str(), stage.reason.c_str());
        }
        ASSERT_EQ(test::read(array, whole(d.shape)).value(), model.data) << to_string(region);
      }
    }
  }
}
