// Chunks that the encoder takes piece by piece from the caller's memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "array/write/chunk_blocks.hpp"
#include "model.hpp"
#include "penstock/store.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

CodecSpec blosc_codec() {
  return {"blosc", R"({"typesize":2,"cname":"lz4","clevel":5,"shuffle":"shuffle","blocksize":4096})"};
}

std::vector<std::byte> all_of(Store& store) {
  std::vector<std::byte> all;
  const std::vector<std::string> keys = store.list("").value();
  for (const std::string& key : keys) {
    if (!key.starts_with("a/c/")) continue;
    Bytes object;
    EXPECT_TRUE(store.get(key, object).value());
    all.insert(all.end(), object.data(), object.data() + object.size());
  }
  return all;
}

}  // namespace

TEST(ChunkPieces, AreTheBytesOfTheChunkWhereverTheyBeginAndEnd) {
  std::mt19937_64 random(5);
  for (const Shape& shape : {Shape{7}, Shape{1}, Shape{5, 6}, Shape{4, 1, 9}, Shape{3, 4, 5, 6}, Shape{2, 1, 1, 8}}) {
    constexpr std::size_t kItem = 4;
    const std::uint64_t count = Model::count(shape);
    // A source with gaps, its first axis backwards: element e holds the number e.
    Strides strides(shape.size());
    std::int64_t stride = 12;
    for (std::size_t d = shape.size(); d-- > 0; stride *= static_cast<std::int64_t>(shape[d]) + 1) strides[d] = stride;
    std::vector<std::byte> memory(static_cast<std::size_t>(stride) + kItem);
    strides[0] = -strides[0];
    const std::byte* from = memory.data() + static_cast<std::ptrdiff_t>(shape[0] - 1) * -strides[0];
    std::vector<std::uint32_t> want(count);
    for (std::uint32_t e = 0; e < count; ++e) {
      want[e] = e;
      std::int64_t at = 0;
      for (std::uint64_t d = shape.size(), rest = e; d-- > 0; rest /= shape[d])
        at += static_cast<std::int64_t>(rest % shape[d]) * strides[d];
      std::memcpy(memory.data() + (from - memory.data()) + at, &e, kItem);
    }
    Worker worker(Reuse::no);
    ChunkPieces pieces(worker, shape, strides, kItem, from, {});
    ASSERT_EQ(pieces.size(), count * kItem);
    for (int round = 0; round < 200; ++round) {
      const std::uint64_t first = random() % count, n = random() % (count - first) + 1;
      const auto piece = pieces.piece(first * kItem, n * kItem);
      ASSERT_TRUE(piece) << piece.error().message();
      ASSERT_EQ(piece->size(), n * kItem);
      ASSERT_EQ(std::memcmp(piece->data(), want.data() + first, n * kItem), 0) << to_string(shape) << first << ' ' << n;
    }
    EXPECT_FALSE(pieces.piece(2, kItem)) << "not where an element begins";
    EXPECT_FALSE(pieces.piece(kItem, count * kItem)) << "beyond the chunk";
  }
}

TEST(WritePieces, StoreTheSameFromAnyMemory) {
  const Dataset d = dataset({48, 96, 64}, {16, 32, 32}, {bytes_codec(), blosc_codec()});
  std::mt19937_64 random(8);
  std::vector<std::byte> values = random_values(whole(d.shape), 2, random);
  constexpr std::size_t kFill = std::size_t{2} * 96 * 64 * 2;  // two planes: pieces that look like absent chunks
  for (std::size_t i = 0; i < kFill; ++i) values[i] = i % 2 == 0 ? std::byte{42} : std::byte{0};
  // The same with gaps between rows, and whole chunks one by one from memory of their own.
  constexpr std::size_t kRow = 64 * 2, kWide = kRow + 10;
  std::vector<std::byte> wide(std::size_t{48} * 96 * kWide);
  for (std::size_t row = 0; row < std::size_t{48} * 96; ++row)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(row * kRow), kRow,
                wide.begin() + static_cast<std::ptrdiff_t>(row * kWide));
  std::set<std::vector<std::byte>> stored;
  for (int way = 0; way < 3; ++way) {
    auto store = open_store("memory://", StoreMode::create).value();
    Array array = Array::create(store, "a", d, Array::IfExists::fail).value();
    if (way == 0) {
      ASSERT_TRUE(write(array, whole(d.shape), values));
    } else if (way == 1) {
      const Target target{wide.data(), {96 * kWide, kWide, 2}, {}, {}};
      ASSERT_TRUE(array.write(whole(d.shape), target, threads(2)));
    } else {
      Model model(d);
      model.data = values;
      for (std::uint64_t z = 0; z < 48; z += 16)
        for (std::uint64_t y = 0; y < 96; y += 32)
          for (std::uint64_t x = 0; x < 64; x += 32) {
            const Region chunk{{z, 16, 1}, {y, 32, 1}, {x, 32, 1}};
            ASSERT_TRUE(write(array, chunk, model.read(chunk)));
          }
    }
    EXPECT_EQ(test::read(array, whole(d.shape)).value(), values);
    stored.insert(all_of(*store));
  }
  EXPECT_EQ(stored.size(), 1u) << "one and the same bytes";
}

TEST(WritePieces, TimeOfGatheringIsNotCountedAsEncoding) {
  Worker worker(Reuse::no);
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  {
    const StageClock encode(worker, Stage::encode);
    const StageClock assemble(worker, Stage::assemble, Stage::encode);
    while (elapsed() < 0.02) {
    }
  }
  const double assemble = worker.seconds[static_cast<std::size_t>(Stage::assemble)];
  EXPECT_GT(assemble, 0.01);
  EXPECT_LE(worker.seconds[static_cast<std::size_t>(Stage::encode)] + assemble, elapsed());
}

namespace {

/// Values written at once into an array of shards, and what the report said.
void write_shards(const Dataset& d, const Options& options, const std::function<void(const Report&)>& check) {
  auto store = open_store("memory://", StoreMode::create).value();
  Array array = Array::create(store, "a", d, Array::IfExists::fail).value();
  std::mt19937_64 random(4);
  const auto values = random_values(whole(d.shape), 2, random);
  const auto report = array.write(whole(d.shape), Target{const_cast<std::byte*>(values.data()), {}, {}, {}}, options);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->decoded_bytes, values.size());
  EXPECT_EQ(test::read(array, whole(d.shape)).value(), values);
  check(*report);
}

}  // namespace

TEST(WriteShards, FewAtOnceWriteAllOfThem) {
  Options options = threads(4);
  options.budget_bytes = 2000;
  write_shards(dataset({64, 32}, {8, 8}, {sharding("[4,4]")}), options,
               [](const Report& report) { EXPECT_EQ(report.chunks, 16u * 8); });
}

TEST(WriteShards, TheReportCountsTheShardThatIsPutTogether) {
  Options options = threads(1);
  options.budget_bytes = 1 << 20;  // with buffers of its own
  write_shards(dataset({64, 64}, {64, 64}, {sharding("[8,8]")}), options, [](const Report& report) {
    constexpr std::uint64_t kIndexBytes = 64 * 16 + 4;
    EXPECT_GE(report.peak_host_bytes, report.stored_bytes - kIndexBytes);
    EXPECT_LE(report.peak_host_bytes, 2 * report.decoded_bytes + 4096);
  });
}

TEST(WriteShards, StayWithinTheBudget) {
  // Nothing is made smaller here, and crc32c takes a buffer of its own.
  const std::string codecs = R"([{"name":"bytes","configuration":{"endian":"big"}},{"name":"crc32c"}])";
  const Dataset d = dataset({256, 256}, {64, 64}, {sharding("[32,32]", "end", codecs)});
  constexpr std::uint64_t kChunk = 32 * 32 * 2, kIndex = 4 * 16 + 4;
  for (const std::uint64_t chunks : {12, 16, 24, 32, 64}) {
    SCOPED_TRACE(chunks);
    Options options = threads(4);
    options.budget_bytes = chunks * kChunk;
    write_shards(d, options, [&](const Report& report) {
      EXPECT_EQ(report.stored_bytes, report.decoded_bytes + 16 * (4 * 4 + kIndex));
      EXPECT_LE(report.peak_host_bytes, options.budget_bytes);
    });
  }
}
