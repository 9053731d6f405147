#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "core/settings.hpp"
#include "device/cpu/backend.hpp"
#include "device/pinned_ring.hpp"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// The CPU, counting pinned memory, able to refuse it.
class FakeBackend final : public Backend {
 public:
  std::atomic<int> pinned{0}, made{0};
  std::atomic<bool> refuse{false};

  [[nodiscard]] Device::Type type() const override { return Device::Type::cpu; }
  [[nodiscard]] int count() const override { return 1; }
  [[nodiscard]] std::vector<DeviceInfo> devices() const override { return cpu_backend().devices(); }
  [[nodiscard]] std::string unavailable_reason() const override { return {}; }
  Result<int> index_of(const void*) override { return 0; }
  Result<std::shared_ptr<void>> create_stream(int) override { return std::shared_ptr<void>(); }
  Status synchronize(int, void*) override { return {}; }
  Result<bool> idle(int, void*) override { return true; }
  Result<std::shared_ptr<void>> record_event(int, void*) override { return std::shared_ptr<void>(); }
  Status wait_event(int, void*, void*) override { return {}; }
  Status synchronize_event(void*) override { return {}; }
  Result<bool> event_done(void*) override { return true; }
  Status call_host(int, void*, void (*call)(void*), void* argument) override {
    call(argument);
    return {};
  }
  Result<std::shared_ptr<Memory>> create_memory(int index, std::uint64_t cap) override {
    return cpu_backend().create_memory(index, cap);
  }
  Status copy_async(void* to, const void* from, std::uint64_t bytes, int, void*) override {
    return cpu_backend().copy_async(to, from, bytes, 0, nullptr);
  }
  Status fill_async(void* to, std::byte value, std::uint64_t bytes, int, void*) override {
    return cpu_backend().fill_async(to, value, bytes, 0, nullptr);
  }
  bool reads_pinned(int) override { return true; }
  Result<void*> allocate_pinned(std::uint64_t bytes) override {
    if (refuse) return Error(ErrorCode::out_of_memory, "no");
    ++pinned;
    ++made;
    return cpu_backend().allocate_pinned(bytes);
  }
  void free_pinned(void* data) noexcept override {
    --pinned;
    cpu_backend().free_pinned(data);
  }
};

}  // namespace

TEST(PinnedRing, ReusesSlabsAndFreesThemAll) {
  FakeBackend backend;
  {
    auto ring = PinnedRing::create(backend, 4 * kMiB);
    EXPECT_EQ(ring->allocated_bytes(), 0u);
    std::byte* first = nullptr;
    for (int i = 0; i < 10; ++i) {
      Slab slab = ring->acquire(1000, {}).value();
      ASSERT_GE(slab.size(), 1000u);
      std::memset(slab.data(), i, slab.size());
      if (i == 0) first = slab.data();
      EXPECT_EQ(slab.data(), first);
    }
    EXPECT_EQ(backend.made, 1);
    EXPECT_EQ(ring->loaned_bytes(), 0u);
    EXPECT_EQ(ring->allocated_bytes(), kMiB);
  }
  EXPECT_EQ(backend.pinned, 0);
}

TEST(PinnedRing, ASlabOutlivesItsOwner) {
  FakeBackend backend;
  auto ring = PinnedRing::create(backend, kMiB);
  Slab slab = ring->acquire(10, {}).value();
  ring.reset();
  std::memset(slab.data(), 0, slab.size());
  slab.release();
  EXPECT_EQ(backend.pinned, 0);
}

TEST(PinnedRing, NeverPassesItsCapacityAndMakesRoomForOtherSizes) {
  FakeBackend backend;
  auto ring = PinnedRing::create(backend, 8 * kMiB);
  for (const std::uint64_t mib : {1, 2, 3, 4, 8, 1, 7, 5, 1, 8, 2}) {
    std::vector<Slab> held;
    for (std::uint64_t used = 0; used + mib <= 8; used += mib) {
      held.push_back(ring->acquire(mib * kMiB, {}).value());
      EXPECT_GE(held.back().size(), mib * kMiB);
      EXPECT_LE(ring->allocated_bytes(), ring->capacity_bytes());
    }
  }
  const Error error = ring->acquire(8 * kMiB + 1, {}).error();
  EXPECT_EQ(error.code(), ErrorCode::budget_too_small);
  EXPECT_NE(error.hint().find("PENSTOCK_PINNED"), std::string::npos);
}

TEST(PinnedRing, WaitsUntilASlabIsReturned) {
  FakeBackend backend;
  auto ring = PinnedRing::create(backend, kMiB);
  Slab held = ring->acquire(10, {}).value();
  std::atomic<bool> got{false};
  std::thread waiter([&] {
    Slab slab = ring->acquire(10, {}).value();
    got = true;
  });
  std::this_thread::sleep_for(30ms);
  EXPECT_FALSE(got);
  held.release();
  waiter.join();
  EXPECT_TRUE(got);
}

TEST(PinnedRing, TryingDoesNotWaitAndLetsWaitersGoFirst) {
  FakeBackend backend;
  auto ring = PinnedRing::create(backend, 2 * kMiB);
  Slab held = ring->acquire(kMiB, {}).value();
  std::optional<Slab> second = ring->try_acquire(kMiB).value();
  ASSERT_TRUE(second);
  EXPECT_FALSE(ring->try_acquire(10).value()) << "the ring is full";
  EXPECT_EQ(ring->try_acquire(2 * kMiB + 1).error().code(), ErrorCode::budget_too_small);
  std::atomic<bool> got{false};
  std::thread waiter([&] {
    Slab both = ring->acquire(2 * kMiB, {}).value();
    got = true;
    while (got) std::this_thread::sleep_for(1ms);
  });
  std::this_thread::sleep_for(30ms);
  second->release();
  EXPECT_FALSE(ring->try_acquire(10).value()) << "another waits for it";
  held.release();
  while (!got) std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(ring->try_acquire(10).value());
  got = false;
  waiter.join();
  EXPECT_TRUE(ring->try_acquire(10).value());
}

TEST(PinnedRing, WaitingCanBeCancelled) {
  FakeBackend backend;
  auto ring = PinnedRing::create(backend, kMiB);
  Slab held = ring->acquire(10, {}).value();
  const CancelToken cancel;
  std::thread stopper([&] {
    std::this_thread::sleep_for(20ms);
    cancel.cancel();
  });
  EXPECT_EQ(ring->acquire(10, cancel).error().code(), ErrorCode::cancelled);
  stopper.join();
  held.release();
  EXPECT_TRUE(ring->acquire(10, {}));  // the one who left does not block the line
}

TEST(PinnedRing, RefusedPinningIsAnErrorAndCountsNothing) {
  FakeBackend backend;
  auto ring = PinnedRing::create(backend, kMiB);
  backend.refuse = true;
  EXPECT_EQ(ring->acquire(10, {}).error().code(), ErrorCode::out_of_memory);
  EXPECT_EQ(ring->allocated_bytes(), 0u);
  EXPECT_EQ(ring->loaned_bytes(), 0u);
  backend.refuse = false;
  EXPECT_TRUE(ring->acquire(10, {}));
}

TEST(PinnedRing, ManyReadersShareItFairly) {
  FakeBackend backend;
  auto ring = PinnedRing::create(backend, 4 * kMiB);
  std::atomic<int> done{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 6; ++t)
    readers.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        Slab slab = ring->acquire(t == 0 ? 4 * kMiB : 1000, {}).value();  // the large one is not starved
        std::memset(slab.data(), t, 1000);
        std::this_thread::yield();
        for (int k = 0; k < 1000; ++k) ASSERT_EQ(slab.data()[k], static_cast<std::byte>(t));
        if (i % 2 == 0) slab.release_after(Event::record(Stream()).value());
      }
      ++done;
    });
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(done, 6);
  EXPECT_EQ(ring->loaned_bytes(), 0u);
  ring.reset();
  EXPECT_EQ(backend.pinned, 0);
}

TEST(PinnedRing, OneForTheProcess) {
  auto ring = shared_pinned_ring(Device::Type::cpu).value();
  EXPECT_EQ(ring, shared_pinned_ring(Device::Type::cpu).value());
  EXPECT_EQ(ring->capacity_bytes(), default_pinned_bytes().value());
  if (!cuda_unavailable_reason().empty()) {
    EXPECT_EQ(shared_pinned_ring(Device::Type::cuda).error().code(), ErrorCode::no_device);
  }
}
