// Files and memory of a device, on a device that is made of host memory: see fake_cuda.hpp.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "io/fake_cuda.hpp"
#include "io/files.hpp"
#include "io/load.hpp"
#include "penstock/io.hpp"
#include "store/in_child.hpp"

using namespace penstock;
using namespace penstock::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kBytes = (std::uint64_t{3} << 20) + 1001;
constexpr Device kDevice{Device::Type::cuda, 0};

class DeviceFile : public testing::Test {
 protected:
  void SetUp() override {
    put_file(scratch_ / "a", all_);
    file_ = File::open(scratch_ / "a", "r+").value();
  }
  void TearDown() override {
    slow_copies(0us);
    (void)stop_failing_device();
    refuse_pinned(false);
  }
  [[nodiscard]] Block first(std::uint64_t bytes) const { return part(all_, 0, bytes); }
  [[nodiscard]] std::vector<IoEngine> engines() const {
    std::vector<IoEngine> found{IoEngine::buffered};
    for (const EngineAnswer& answer : file_->engines())
      if (answer.engine == "direct" && answer.serves) found.push_back(IoEngine::direct);
    return found;
  }
  [[nodiscard]] File by(IoEngine engine, const std::string& name = "a", const char* flags = "r+") const {
    return File::open(scratch_ / name, flags, {0644, engine, engine}).value();
  }

  ScratchFolder scratch_;
  Block all_ = pattern(kBytes);
  std::optional<File> file_;
};

IoOptions with(std::uint64_t piece_bytes, std::uint64_t threads) {
  IoOptions options;
  options.piece_bytes = piece_bytes;
  options.threads = threads;
  return options;
}

}  // namespace

TEST_F(DeviceFile, ReadsAndWritesTheSame) {
  for (const IoEngine engine : engines())
    for (const std::uint64_t offset : {0, 77, 4096})
      for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{5000}, kBytes - 4096})
        for (const std::uint64_t piece : {0, 4096, 100'000})
          for (const std::uint64_t threads : {0, 1, 3}) {
            const File file = by(engine);
            DeviceMemory memory(bytes);
            const auto report = file.read(memory.data(), bytes, offset, with(piece, threads));
            ASSERT_TRUE(report) << report.error().message();
            ASSERT_EQ(memory.bytes(), part(all_, offset, bytes));
            EXPECT_NE(report->stages.at(0).path.find("cuda:0"), std::string::npos);
            const File out = by(engine, "b", "w+");
            ASSERT_TRUE(out.write(memory.data(), bytes, offset, with(piece, threads)));
            ASSERT_EQ(part(get_file(scratch_ / "b"), offset, bytes), memory.bytes());
          }
}

TEST_F(DeviceFile, NoPieceIsLostWhereTheBusIsSlow) {
  slow_copies(2ms);
  for (const std::uint64_t threads : {1, 2}) {
    DeviceMemory memory(kBytes);
    const IoFuture future = file_->start_read(memory.data(), kBytes, 0, with(65536, threads));
    ASSERT_TRUE(future.wait_for(20s));
    ASSERT_TRUE(future.get());
    EXPECT_EQ(memory.bytes(), all_);
  }
}

TEST_F(DeviceFile, ManySmallRequestsShareMarks) {
  constexpr std::uint64_t kCount = 600, kEach = 4000;
  for (const bool busy : {false, true}) {  // whether the stream has something to do before them
    const Stream stream = Stream::create(kDevice).value();
    std::atomic<bool> go{!busy};
    if (busy)
      put_work(stream, [&] {
        while (!go) std::this_thread::sleep_for(1ms);
      });
    slow_copies(100us);  // requests pile up
    DeviceMemory memory(kCount * kEach);
    const int before = marks();
    std::vector<IoFuture> futures;
    IoOptions options = with(0, 2);
    options.stream = stream;
    for (std::uint64_t i = 0; i < kCount; ++i)
      futures.push_back(file_->start_read(memory.data() + i * kEach, kEach, (i * 7919) % (kBytes - kEach), options));
    go = true;
    for (const IoFuture& future : futures) ASSERT_TRUE(future.get());
    for (std::uint64_t i = 0; i < kCount; ++i)
      ASSERT_EQ(part(memory.bytes(), i * kEach, kEach), part(all_, (i * 7919) % (kBytes - kEach), kEach));
    // One for each load; and one for each request whose stream is busy.
    EXPECT_LT(marks() - before, static_cast<int>((busy ? kCount : 0) + kCount / 2));
  }
}

// Between requests the threads go to sleep, and one may take a request away before the call for it comes.
TEST_F(DeviceFile, NoRequestIsForgottenWhereThreadsFallAsleep) {
  constexpr std::uint64_t kThreads = 3, kCount = 1500, kEach = 512;
  DeviceMemory memory(kThreads * kEach);
  std::atomic<std::uint64_t> forgotten{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (std::uint64_t i = 0; i < kCount && forgotten == 0; ++i) {
        const IoFuture future = file_->start_read(memory.data() + t * kEach, kEach, i, with(0, 2));
        const auto until = std::chrono::steady_clock::now() + 20s;
        while (!future.done() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
        if (!future.done()) ++forgotten;
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 700));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(forgotten, 0);
}

TEST_F(DeviceFile, ManyThreadsSubmitWatchAndClose) {
  constexpr std::uint64_t kThreads = 4, kCount = 500, kEach = 1000;
  for (int round = 0; round < 5; ++round) {
    const File file = by(IoEngine::buffered);
    DeviceMemory memory(kThreads * kCount * kEach);
    std::atomic<std::uint64_t> called{0}, waited{0}, closed{0};
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (std::uint64_t i = 0; i < kCount; ++i) {
          const std::uint64_t at = (t * kCount + i) * kEach;
          const IoFuture future = file.start_read(memory.data() + at, kEach, at % (kBytes - kEach));
          for (std::uint64_t look = i; look > 0 && !future.done(); --look) std::this_thread::yield();
          if (i % 2 == 0) future.then([&](const Result<Report>& told) { told ? ++called : ++closed; });
          if (i % 3 == 0) future.status() ? ++waited : ++closed;
        }
      });
    if (round % 2 == 1) {
      EXPECT_TRUE(file.close());  // some are in time, the others are told
    }
    for (std::thread& thread : threads) thread.join();
    wait_for_io();
    EXPECT_EQ(called + waited + closed, kThreads * (kCount / 2 + (kCount + 2) / 3));
    if (round % 2 == 1) continue;
    EXPECT_EQ(closed, 0);
    for (std::uint64_t i = 0; i < kThreads * kCount; ++i)
      ASSERT_EQ(part(memory.bytes(), i * kEach, kEach), part(all_, i * kEach % (kBytes - kEach), kEach)) << i;
  }
}

TEST_F(DeviceFile, ALargeRequestIsFewCopies) {
  constexpr std::uint64_t kLarge = (std::uint64_t{40} << 20) + 77;
  put_file(scratch_ / "large", pattern(kLarge));
  slow_copies(3ms);  // files are faster than the bus
  for (const IoEngine engine : engines()) {
    DeviceMemory memory(kLarge - 1);
    int before = copies();
    ASSERT_TRUE(by(engine, "large").read(memory.data(), kLarge - 1, 1));
    EXPECT_EQ(memory.bytes(), part(pattern(kLarge), 1, kLarge - 1));
    EXPECT_LE(copies() - before, 12) << "loads of 8 MiB, the first ones less";
    before = copies();
    ASSERT_TRUE(by(engine, "b", "w+").write(memory.data(), kLarge - 1, 5));
    EXPECT_EQ(part(get_file(scratch_ / "b"), 5, kLarge - 1), memory.bytes());
    EXPECT_LE(copies() - before, 12);
  }
}

TEST_F(DeviceFile, NoCopySpansTwoAllocations) {
  constexpr std::uint64_t kCount = 50, kEach = 4096;
  DeviceMemory memory(kCount * kEach, kCount);
  std::vector<IoFuture> futures;
  for (std::uint64_t i = 0; i < kCount; ++i)
    futures.push_back(file_->start_read(memory.data() + i * kEach, kEach, i * kEach));
  for (const IoFuture& future : futures) ASSERT_TRUE(future.get()) << future.get().error().message();
  EXPECT_EQ(memory.bytes(), first(kCount * kEach));
}

TEST_F(DeviceFile, NeighboursInOneAllocationShareCopies) {
  constexpr std::uint64_t kCount = 400, kEach = 4096;
  const Stream stream = Stream::create(kDevice).value();
  for (const std::uint64_t allocations : {std::uint64_t{1}, std::uint64_t{4}}) {
    std::atomic<bool> go{false};
    put_work(stream, [&] {  // so that the requests come together
      while (!go) std::this_thread::sleep_for(1ms);
    });
    DeviceMemory memory(kCount * kEach, allocations);
    IoOptions options = with(0, 1);
    options.stream = stream;
    const int before = copies();
    std::vector<IoFuture> futures;
    for (std::uint64_t i = 0; i < kCount; ++i)
      futures.push_back(file_->start_read(memory.data() + i * kEach, kEach, (i * 7919) % (kBytes - kEach), options));
    go = true;
    for (const IoFuture& future : futures) ASSERT_TRUE(future.get()) << future.get().error().message();
    for (std::uint64_t i = 0; i < kCount; ++i)
      ASSERT_EQ(part(memory.bytes(), i * kEach, kEach), part(all_, (i * 7919) % (kBytes - kEach), kEach)) << i;
    EXPECT_LT(copies() - before, 30) << allocations << " allocations";
    EXPECT_GE(copies() - before, static_cast<int>(allocations));
  }
}

TEST_F(DeviceFile, ManyPartsInOneRequest) {
  for (const IoEngine engine : engines())
    for (const std::uint64_t each : {100, 4096, 70'000}) {
      std::vector<FilePart> parts;
      Block want;
      for (std::uint64_t i = 0; i < 100; ++i) {
        parts.push_back({i * 7919, want.size(), i % 10 == 3 ? 0 : each + i});
        const Block some = part(all_, parts.back().offset, parts.back().bytes);
        want.insert(want.end(), some.begin(), some.end());
      }
      DeviceMemory memory(want.size());
      slow_copies(500us);
      const int before = copies();
      ASSERT_TRUE(by(engine).start_read_many(memory.data(), parts, with(0, 3)).get());
      EXPECT_EQ(memory.bytes(), want);
      if (engine == IoEngine::buffered) {
        EXPECT_LT(copies() - before, 45) << "neighbours in memory are one copy";
      }
      Block host(want.size());
      ASSERT_TRUE(by(engine).start_read_many(host.data(), parts).get());
      EXPECT_EQ(host, want);
      parts.push_back({kBytes - 1, 0, 2});
      EXPECT_EQ(by(engine).start_read_many(memory.data(), parts).get().error().code(), ErrorCode::io_error);
    }
}

TEST_F(DeviceFile, ARequestWhoseStreamIsBusyHoldsNobodyUp) {
  const Stream busy = Stream::create(kDevice).value(), other = Stream::create(kDevice).value();
  std::atomic<bool> go{false};
  put_work(busy, [&] {
    while (!go) std::this_thread::sleep_for(1ms);
  });
  DeviceMemory late(kBytes), soon(kBytes);
  IoOptions options = with(0, 1);
  options.stream = busy;
  const IoFuture waits = file_->start_read(late.data(), kBytes, 0, options);
  options.stream = other;
  const IoFuture goes = file_->start_read(soon.data(), kBytes, 0, options);
  ASSERT_TRUE(goes.wait_for(20s));
  EXPECT_TRUE(goes.get());
  EXPECT_FALSE(waits.done());
  go = true;
  ASSERT_TRUE(waits.wait_for(20s));
  EXPECT_EQ(late.bytes(), all_);
  EXPECT_EQ(soon.bytes(), all_);
}

TEST_F(DeviceFile, ACancelledRequestDoesNotWaitForItsStream) {
  const Stream busy = Stream::create(kDevice).value();
  std::atomic<bool> go{false};
  put_work(busy, [&] {
    while (!go) std::this_thread::sleep_for(1ms);
  });
  DeviceMemory memory(kBytes);
  IoOptions options;
  options.stream = busy;
  const IoFuture future = file_->start_read(memory.data(), kBytes, 0, options);
  options.cancel.cancel();
  ASSERT_TRUE(future.wait_for(20s));
  EXPECT_EQ(future.get().error().code(), ErrorCode::cancelled);
  go = true;
}

TEST_F(DeviceFile, BothDirectionsAtOnce) {
  constexpr int kRounds = 40;
  DeviceMemory in(kBytes * 4), out(kBytes * 4);
  std::ranges::copy(pattern(kBytes * 4, 3), out.bytes().begin());
  const File to = by(IoEngine::buffered, "b", "w+");
  for (int i = 0; i < kRounds; ++i) {
    std::vector<IoFuture> futures;
    for (std::uint64_t k = 0; k < 4; ++k) {
      futures.push_back(file_->start_read(in.data() + k * kBytes, kBytes, 0, with(k == 0 ? 0 : 50'000, k)));
      futures.push_back(to.start_write(out.data() + k * kBytes, kBytes, k * kBytes, with(k == 0 ? 0 : 50'000, k)));
    }
    for (const IoFuture& future : futures) {
      ASSERT_TRUE(future.wait_for(20s));
      ASSERT_TRUE(future.get()) << future.get().error().message();
    }
    for (std::uint64_t k = 0; k < 4; ++k) ASSERT_EQ(part(in.bytes(), k * kBytes, kBytes), all_);
    ASSERT_EQ(get_file(scratch_ / "b"), out.bytes());
  }
}

TEST_F(DeviceFile, OneOfSeveralSmallRequestsFailsAlone) {
  constexpr std::uint64_t kCount = 200, kEach = 4000;
  slow_copies(50us);
  DeviceMemory memory(kCount * kEach);
  std::vector<IoFuture> futures;
  for (std::uint64_t i = 0; i < kCount; ++i)
    futures.push_back(
        file_->start_read(memory.data() + i * kEach, kEach, i % 10 == 3 ? kBytes - 1 : i * kEach, with(0, 1)));
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(futures[i].get().has_value(), i % 10 != 3) << i;
    if (i % 10 != 3) {
      ASSERT_EQ(part(memory.bytes(), i * kEach, kEach), part(all_, i * kEach, kEach));
    }
  }
}

TEST_F(DeviceFile, OneFailingPieceEndsTheRequestAfterAllOthers) {
  slow_copies(1ms);
  for (int i = 0; i < 20; ++i) {
    auto memory = std::make_unique<DeviceMemory>(kBytes + 1);
    const IoFuture read = file_->start_read(memory->data(), kBytes + 1, 0, with(40'000, 3));  // past the end
    ASSERT_TRUE(read.wait_for(20s));
    memory.reset();  // nobody may be at it any more
    ASSERT_FALSE(read.get());
    EXPECT_EQ(read.get().error().code(), ErrorCode::io_error) << read.get().error().message();
  }
}

TEST_F(DeviceFile, EveryCallOfTheDeviceMayFail) {
  for (const bool reading : {true, false})
    for (int skip = 0;; ++skip) {
      DeviceMemory memory(kBytes);
      std::ranges::copy(all_, memory.bytes().begin());
      fail_device_call(skip);
      const IoFuture future = reading ? file_->start_read(memory.data(), kBytes, 0, with(1 << 20, 2))
                                      : file_->start_write(memory.data(), kBytes, 0, with(1 << 20, 2));
      ASSERT_TRUE(future.wait_for(20s)) << "call " << skip << ": for ever";
      const bool failed = stop_failing_device();
      const auto report = future.get();
      if (report) {
        EXPECT_EQ(memory.bytes(), all_);
      } else {
        EXPECT_EQ(report.error().code(), ErrorCode::device_error) << report.error().message();
        EXPECT_NE(report.error().message().find("as it was told to"), std::string::npos);
      }
      const auto again = file_->read(memory.data(), kBytes, 0);  // all is as good as before
      ASSERT_TRUE(again) << again.error().message();
      EXPECT_EQ(memory.bytes(), all_);
      if (!failed) {
        EXPECT_GT(skip, 5) << "so few calls: the test shows nothing";
        break;
      }
    }
}

TEST_F(DeviceFile, WithoutPinnedMemoryRequestsFailAndSayWhy) {
  DeviceMemory memory(kBytes);
  const auto ring = shared_pinned_ring(Device::Type::cuda).value();
  std::this_thread::sleep_for(100ms);  // what requests before had is back
  refuse_pinned(true);
  std::vector<Slab> all;  // that there are: another one must be made
  for (;;) {
    auto slab = ring->try_acquire(io::slab_bytes_of(Device::Type::cuda).value());
    if (!slab || !*slab) break;
    all.push_back(**std::move(slab));
  }
  const auto report = file_->read(memory.data(), kBytes, 0);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::out_of_memory);
  refuse_pinned(false);
  all.clear();
  ASSERT_TRUE(file_->read(memory.data(), kBytes, 0));
  EXPECT_EQ(memory.bytes(), all_);
}

TEST_F(DeviceFile, WaitsForPinnedMemoryThatOthersHave) {
  DeviceMemory memory(kBytes);
  const auto ring = shared_pinned_ring(Device::Type::cuda).value();
  std::this_thread::sleep_for(100ms);
  CancelToken never;
  std::optional<Slab> all = ring->acquire(ring->capacity_bytes(), never).value();
  const IoFuture future = file_->start_read(memory.data(), kBytes, 0);
  const IoFuture other = by(IoEngine::buffered, "b", "w+").start_write(memory.data(), 10, 0);
  EXPECT_FALSE(future.wait_for(50ms) || other.done());
  all.reset();
  ASSERT_TRUE(future.wait_for(20s) && other.wait_for(20s));
  EXPECT_TRUE(future.get() && other.get());
  EXPECT_EQ(memory.bytes(), all_);
}

TEST_F(DeviceFile, ComesAfterTheWorkOfTheStream) {
  const Stream stream = Stream::create(kDevice).value();
  DeviceMemory memory(kBytes);
  put_work(stream, [&] {
    std::this_thread::sleep_for(30ms);
    std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{7});
  });
  IoOptions options;
  options.stream = stream;
  ASSERT_TRUE(file_->read(memory.data(), kBytes, 0, options));
  EXPECT_EQ(memory.bytes(), all_);
}

TEST_F(DeviceFile, RequestsInAStreamKeepItsOrderAndNobodyWaits) {
  const Stream stream = Stream::create(kDevice).value();
  for (const IoEngine engine : engines()) {
    const File from = by(engine), to = by(engine, "b", "w+");
    for (const std::uint64_t bytes : {std::uint64_t{1000}, kBytes}) {
      DeviceMemory memory(bytes);
      std::atomic<bool> go{false};
      put_work(stream, [&] {
        while (!go) std::this_thread::sleep_for(1ms);
      });
      const IoFuture read = from.enqueue_read(memory.data(), bytes, 0, stream);
      put_work(stream, [&] {
        for (std::byte& byte : memory.bytes()) byte ^= std::byte{1};
      });
      const IoFuture written = to.enqueue_write(memory.data(), bytes, 5, stream);
      put_work(stream, [&] { std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{0}); });
      const IoFuture back = to.enqueue_read(memory.data(), bytes, 5, stream);  // what the one before wrote
      EXPECT_FALSE(read.wait_for(20ms)) << "before what the stream had to do";
      EXPECT_FALSE(written.done() || back.done());
      go = true;
      for (const IoFuture* future : {&read, &written, &back}) {
        ASSERT_TRUE(future->wait_for(20s));
        const auto report = future->get();
        ASSERT_TRUE(report) << report.error().message();
      }
      Block want = first(bytes);
      for (std::byte& byte : want) byte ^= std::byte{1};
      EXPECT_EQ(memory.bytes(), want);
      EXPECT_EQ(part(get_file(scratch_ / "b"), 5, bytes), want);
    }
  }
}

TEST_F(DeviceFile, RequestsInAStreamNeedNoThreadThatWaitsForIt) {
  const Stream stream = Stream::create(kDevice).value();
  DeviceMemory one(kBytes), two(kBytes);
  std::atomic<bool> go{false};
  put_work(stream, [&] {
    while (!go) std::this_thread::sleep_for(1ms);
  });
  const IoFuture in_stream = file_->enqueue_read(one.data(), kBytes, 0, stream);
  // All threads for devices fill their slots and wait for the stream, which waits for the request above.
  IoOptions after = with(4096, 2);
  after.stream = stream;
  const IoFuture others = file_->start_read(two.data(), kBytes, 0, after);
  std::this_thread::sleep_for(20ms);
  go = true;
  ASSERT_TRUE(in_stream.wait_for(20s));
  ASSERT_TRUE(others.wait_for(20s));
  EXPECT_EQ(one.bytes(), all_);
  EXPECT_EQ(two.bytes(), all_);
}

TEST_F(DeviceFile, ARequestInAStreamThatFailsSaysSoAndTheStreamGoesOn) {
  const Stream stream = Stream::create(kDevice).value();
  DeviceMemory memory(kBytes);
  const IoFuture past = file_->enqueue_read(memory.data(), kBytes, 1, stream);
  ASSERT_TRUE(past.wait_for(20s));
  EXPECT_EQ(past.get().error().code(), ErrorCode::io_error);
  EXPECT_NE(past.get().error().message().find("the file ends at byte"), std::string::npos);
  bool came = false;
  put_work(stream, [&] { came = true; });
  ASSERT_TRUE(stream.synchronize());
  EXPECT_TRUE(came);
  for (const bool reading : {true, false})
    for (int skip = 0;; ++skip) {
      std::ranges::copy(all_, memory.bytes().begin());
      fail_device_call(skip);
      const IoFuture future = reading ? file_->enqueue_read(memory.data(), kBytes, 0, stream)
                                      : file_->enqueue_write(memory.data(), kBytes, 0, stream);
      ASSERT_TRUE(future.wait_for(20s)) << "call " << skip << ": for ever";
      const bool failed = stop_failing_device();
      const auto report = future.get();
      EXPECT_EQ(report.has_value(), !failed) << skip;
      ASSERT_TRUE(stream.synchronize());
      if (!failed) {
        EXPECT_GT(skip, 5);
        break;
      }
      EXPECT_EQ(report.error().code(), ErrorCode::device_error) << report.error().message();
    }
  EXPECT_EQ(get_file(scratch_ / "a"), all_);
}

TEST_F(DeviceFile, ClosingAndWaitForIoWaitForRequestsInStreams) {
  const Stream stream = Stream::create(kDevice).value();
  auto memory = std::make_shared<DeviceMemory>(kBytes);
  std::ranges::copy(pattern(kBytes, 5), memory->bytes().begin());
  const std::weak_ptr<DeviceMemory> watched = memory;
  put_work(stream, [] { std::this_thread::sleep_for(30ms); });
  IoOptions options;
  options.keep = memory;
  void* const from = memory->data();
  memory.reset();
  (void)file_->enqueue_write(from, kBytes, 0, stream, options);  // a future that nobody has
  options.keep.reset();
  ASSERT_TRUE(file_->close());
  EXPECT_EQ(get_file(scratch_ / "a"), pattern(kBytes, 5));
  wait_for_io();
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(file_->enqueue_read(from, 1, 0, stream).get().error().code(), ErrorCode::closed);
}

TEST_F(DeviceFile, AForkedChildIsToldThatItsParentHasTheRequest) {
  const Stream stream = Stream::create(kDevice).value();
  DeviceMemory memory(kBytes);
  std::atomic<bool> go{false};
  put_work(stream, [&] {
    while (!go) std::this_thread::sleep_for(1ms);
  });
  IoOptions options;
  options.stream = stream;
  const IoFuture future = file_->start_read(memory.data(), kBytes, 0, options);
  EXPECT_EQ(in_child([&]() -> std::string {
              ::alarm(30);  // there is nothing to wait for
              const auto report = future.get();
              if (report || report.error().message().find("forked") == std::string::npos) return "not told";
              bool called = false;
              future.then([&](const Result<Report>& how) { called = !how; });
              return called && file_->close() ? "" : "not called, or not closed";
            }),
            "");
  go = true;
  ASSERT_TRUE(future.get());
  EXPECT_EQ(memory.bytes(), all_);
}

TEST_F(DeviceFile, AForkedChildDoesNotWaitForWhatItsParentHasInAStream) {
  const Stream stream = Stream::create(kDevice).value();
  DeviceMemory memory(kBytes);
  std::atomic<bool> go{false};
  put_work(stream, [&] {
    while (!go) std::this_thread::sleep_for(1ms);
  });
  const IoFuture future = file_->enqueue_read(memory.data(), kBytes, 0, stream);
  EXPECT_EQ(in_child([]() -> std::string {
              ::alarm(30);
              wait_for_io();  // as Python does when it ends
              return "";
            }),
            "");
  go = true;
  ASSERT_TRUE(future.get());
  EXPECT_EQ(memory.bytes(), all_);
}
