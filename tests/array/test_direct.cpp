// Chunks placed straight from pinned memory, with the CPU as the device.
#include "array/device/read.hpp"
#include "array/direct_reads.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

const auto kRead = [](const Array& array, const Region& region, Canvas& canvas, Options options) {
  options.decode = CodecPlace::cpu;
  const ReadItem item{&array, region, Target{canvas.bytes.data() + canvas.offset, canvas.strides, {}, {}}};
  return read_device({&item, 1}, options);
};

struct Direct : ::testing::Test {
  DirectReads<decltype(kRead)> reads{kRead};
};

}  // namespace

TEST_F(Direct, EdgesAndAbsentChunks) { reads.edges_and_absent_chunks(); }

TEST_F(Direct, Mixtures) {
  for (const std::vector<CodecSpec>& codecs :
       {std::vector<CodecSpec>{bytes_codec()}, {kBigEndian}, {bytes_codec(), zstd_codec()}, {kBigEndian, zstd_codec()}})
    reads.mixtures(codecs, 18);
}

TEST_F(Direct, BadChunks) {
  reads.bad_chunks({bytes_codec()});
  reads.bad_chunks({bytes_codec(), zstd_codec()});
}
