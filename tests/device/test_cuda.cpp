// What needs a GPU.  Without one the tests NoDevice run instead: everything then says, with the same reason, that there
// is none.  `test_cuda` alone shows which of the two it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>

#include "array/assemble/place.hpp"
#include "array/assemble/random_place.hpp"
#include "codec/lz4/device.hpp"
#include "device/backend.hpp"
#include "device/gpu.hpp"
#include "device/lz4_data.hpp"
#include "device/pinned_ring.hpp"
#include "device/team.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Backend& gpu() { return *find_backend(Device::Type::cuda); }

struct Gpu : OnGpu {
  /// Work that takes the device some milliseconds.
  void keep_busy(const Stream& on, const Buffer& large) {
    for (int i = 0; i < 200; ++i)
      gpu().fill_async(large.data(), std::byte{0}, large.size(), on.device().index, on.native()).value();
  }
};

}  // namespace

TEST(NoDevice, EverythingSaysWhy) {
  const std::string reason = cuda_unavailable_reason();
  ASSERT_FALSE(reason.empty());
  bool known = false;
  for (const char* text : {"built without CUDA", "no NVIDIA driver", "finds no GPU", "supports CUDA", "driver failed"})
    known = known || reason.find(text) != std::string::npos;
  EXPECT_TRUE(known) << reason;
  for (const Error& error :
       {Device::parse("cuda").error(), Stream::create(kGpu).error(), Stream::wrap(kGpu, nullptr).error(),
        Memory::create(kGpu, 0).error(), shared_pinned_ring(Device::Type::cuda).error()}) {
    EXPECT_EQ(error.code(), ErrorCode::no_device);
    EXPECT_NE(error.message().find(reason), std::string::npos) << error.message();
  }
  EXPECT_EQ(Device::parse("auto").value(), Device{});
  EXPECT_EQ(devices().size(), 1u);
}

TEST_F(Gpu, IsDescribed) {
  const DeviceInfo info = devices().front();
  EXPECT_EQ(info.device, kGpu);
  EXPECT_GE(info.compute_capability, 80);
  EXPECT_GE(info.driver_version, 13000);
  EXPECT_GT(info.free_bytes, kMiB);
  EXPECT_GE(info.memory_bytes, info.free_bytes);
  std::printf("%s, compute capability %d, driver %d\n", info.description.c_str(), info.compute_capability,
              info.driver_version);
  EXPECT_EQ(Device::parse("auto").value(), kGpu);
  EXPECT_EQ(Device::parse("cuda:63").error().code(), ErrorCode::no_device);
}

TEST_F(Gpu, PoolKeepsItsCap) {
  auto capped = Memory::create(kGpu, 64 * kMiB).value();
  Buffer a = capped->allocate(40 * kMiB, 256, stream).value();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 256, 0u);
  EXPECT_EQ(capped->allocate(25 * kMiB, 256, stream).error().code(), ErrorCode::out_of_memory);
  EXPECT_EQ(capped->allocate(8, 512, stream).error().code(), ErrorCode::unsupported);
  EXPECT_EQ(capped->allocate(8, 8, Stream()).error().code(), ErrorCode::invalid_argument);
  for (int i = 0; i < 100; ++i) {
    const Buffer b = capped->allocate(24 * kMiB, 256, stream).value();
    gpu().fill_async(b.data(), std::byte{1}, b.size(), 0, stream.native()).value();
  }
  EXPECT_EQ(capped->in_use_bytes(), 40 * kMiB);
  a = Buffer();
  EXPECT_EQ(capped->in_use_bytes(), 0u);
  EXPECT_EQ(capped->peak_bytes(), 64 * kMiB);
  EXPECT_TRUE(stream.synchronize());
  // More than the device has: an error, and the device goes on.
  EXPECT_EQ(memory->allocate(std::uint64_t{1} << 45, 256, stream).error().code(), ErrorCode::out_of_memory);
  EXPECT_EQ(memory->in_use_bytes(), 0u);
  EXPECT_TRUE(memory->allocate(kMiB, 256, stream));
}

TEST_F(Gpu, EventsOrderStreams) {
  const Buffer large = memory->allocate(512 * kMiB, 256, stream).value();
  const Buffer word = memory->allocate(4, 256, stream).value();
  const Stream other = Stream::create(kGpu).value();
  Slab host = shared_pinned_ring(Device::Type::cuda).value()->acquire(4, {}).value();
  gpu().fill_async(word.data(), std::byte{1}, 4, 0, stream.native()).value();
  stream.synchronize().value();
  keep_busy(stream, large);
  gpu().fill_async(word.data(), std::byte{2}, 4, 0, stream.native()).value();
  const Event marked = Event::record(stream).value();
  EXPECT_FALSE(marked.done().value());  // the device needs milliseconds, we microseconds
  marked.wait_on(other).value();
  copy_async(host.data(), {}, word.data(), kGpu, 4, other).value();
  other.synchronize().value();
  EXPECT_EQ(std::to_integer<int>(host.data()[3]), 2);
  EXPECT_TRUE(marked.done().value());
  EXPECT_TRUE(marked.synchronize());
  EXPECT_TRUE(marked.wait_on(Stream()));
  const Stream wrapped = Stream::wrap(kGpu, other.native()).value();
  EXPECT_EQ(wrapped.native(), other.native());
  EXPECT_TRUE(wrapped.synchronize());
}

TEST_F(Gpu, BuffersAreReusedInStreamOrder) {
  // A freed buffer may be handed out at once; work of the same stream still sees its own bytes.
  std::vector<std::vector<std::byte>> seen;
  for (int i = 0; i < 50; ++i) {
    const Buffer buffer = memory->allocate(4 * kMiB, 256, stream).value();
    gpu().fill_async(buffer.data(), static_cast<std::byte>(i), buffer.size(), 0, stream.native()).value();
    seen.emplace_back(4 * kMiB);
    copy_async(seen.back().data(), {}, buffer.data(), kGpu, buffer.size(), stream).value();
  }
  stream.synchronize().value();
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], std::vector<std::byte>(4 * kMiB, static_cast<std::byte>(i)));
}

TEST_F(Gpu, RingWaitsForTheEventOfASlab) {
  auto ring = PinnedRing::create(gpu(), 4 * kMiB);
  const Buffer large = memory->allocate(512 * kMiB, 256, stream).value();
  const Buffer target = memory->allocate(64 * 4 * kMiB, 256, stream).value();
  for (std::uint64_t i = 0; i < 64; ++i) {  // one slab: each upload must be done before it is written again
    Slab slab = ring->acquire(4 * kMiB, {}).value();
    std::memset(slab.data(), static_cast<int>(i), slab.size());
    if (i % 16 == 0) keep_busy(stream, large);
    copy_async(target.data() + i * 4 * kMiB, kGpu, slab.data(), {}, 4 * kMiB, stream).value();
    slab.release_after(Event::record(stream).value());
  }
  const auto back = download<std::byte>(target.data(), target.size());
  for (std::uint64_t i = 0; i < 64; ++i)
    for (const std::uint64_t at : {std::uint64_t{0}, 2 * kMiB, 4 * kMiB - 1})
      ASSERT_EQ(back[i * 4 * kMiB + at], static_cast<std::byte>(i)) << i;
  EXPECT_EQ(ring->allocated_bytes(), 4 * kMiB);
}

TEST_F(Gpu, Lz4EqualsTheHostAlsoBesideDamagedChunks) {
  struct Chunk {
    Data data, packed;
    std::size_t in = 0, out = 0;
  };
  std::mt19937 random(21);
  constexpr std::size_t kGap = 64;  // sentinels
  for (const lz4::Framing framing : {lz4::Framing::block, lz4::Framing::numcodecs}) {
    std::vector<Chunk> chunks(600);
    Data input;
    std::size_t out_bytes = kGap;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      Chunk& c = chunks[i];
      const std::size_t n = i % 50 == 0 ? 700001 : random() % 30000;
      c.data = make_data(static_cast<int>(i) % kDataKinds, n, random);
      c.packed = compress(c.data, i % 2 != 0);
      if (framing == lz4::Framing::numcodecs)
        for (int k = 3; k >= 0; --k) c.packed.insert(c.packed.begin(), static_cast<std::uint8_t>(n >> (8 * k)));
      if (i % 3 == 1) c.packed[random() % c.packed.size()] ^= static_cast<std::uint8_t>(1u << (random() % 8));
      if (i % 7 == 2) c.packed.resize(random() % (c.packed.size() + 1));
      c.in = input.size();
      input.insert(input.end(), c.packed.begin(), c.packed.end());
      input.resize(input.size() + random() % 5);  // odd addresses
      c.out = out_bytes;
      out_bytes += n + kGap + random() % 5;
    }
    const Buffer in = upload(input);
    const Buffer out = upload(Data(out_bytes, 0xA5));
    std::vector<DecodeTask> tasks;
    for (const Chunk& c : chunks)
      tasks.push_back({in.data() + c.in, c.packed.size(), out.data() + c.out, c.data.size()});
    const Buffer device_tasks = upload(tasks);
    const Buffer results = upload(std::vector<ChunkStatus>(chunks.size()));
    const DeviceBatch batch{reinterpret_cast<const DecodeTask*>(device_tasks.data()),
                            reinterpret_cast<ChunkStatus*>(results.data()),
                            {static_cast<std::uint32_t>(chunks.size()), 0, 0}};
    lz::decode_cuda(lz4::Format{framing}, batch, stream).value();
    const auto statuses = download<ChunkStatus>(results.data(), chunks.size());
    const Data made = download<std::uint8_t>(out.data(), out_bytes);
    std::size_t good = 0;
    std::vector<bool> covered(out_bytes, false);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const Chunk& c = chunks[i];
      Data expected(c.data.size());
      lz4::SharedOfWarp shared;
      const ChunkStatus host = lz4::decode_chunk(HostTeam<>(),
                                                 {reinterpret_cast<const std::byte*>(c.packed.data()), c.packed.size(),
                                                  reinterpret_cast<std::byte*>(expected.data()), expected.size()},
                                                 framing, shared);
      ASSERT_EQ(statuses[i].status, host.status) << i;
      ASSERT_EQ(statuses[i].position, host.position) << i;
      ASSERT_EQ(statuses[i].output_bytes, host.output_bytes) << i;
      ASSERT_EQ(std::memcmp(made.data() + c.out, expected.data(), host.output_bytes), 0) << i;
      good += host.status == DecodeStatus::ok;
      std::fill_n(covered.begin() + static_cast<std::ptrdiff_t>(c.out), c.data.size(), true);
    }
    for (std::size_t i = 0; i < out_bytes; ++i)
      if (!covered[i]) {
        ASSERT_EQ(made[i], 0xA5) << "written outside a chunk at " << i;
      }
    EXPECT_GT(good, 250u);
    EXPECT_LT(good, 500u);
  }
}

TEST_F(Gpu, PlacementEqualsTheNaiveLoop) {
  std::mt19937 random(31);
  for (int round = 0; round < 40; ++round) {
    std::vector<RandomPlace> places;
    for (int i = 0; i < 1 + round * 5; ++i) places.push_back(random_place(random, round % 10 == 0 ? 64 : 12));
    std::vector<Buffer> sources, targets;
    std::vector<PlaceItem> items;
    for (const RandomPlace& p : places) {
      sources.push_back(upload(p.source));
      targets.push_back(upload(p.target));
      items.push_back(p.item(sources.back().data(), targets.back().data()));
    }
    place_cuda(items, stream).value();
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::vector<std::byte> expected = places[i].target;
      naive_place(places[i], expected);
      ASSERT_EQ(download<std::byte>(targets[i].data(), expected.size()), expected)
          << "round " << round << " item " << i;
    }
  }
}

int main(int argc, char** argv) { return run_gpu_tests(argc, argv); }
