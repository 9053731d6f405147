#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "device/backend.hpp"
#include "penstock/device.hpp"

using namespace penstock;

TEST(Device, ReadsNames) {
  EXPECT_EQ(Device::parse("cpu").value(), Device{});
  EXPECT_EQ(Device::parse("cpu").value().name(), "cpu");
  EXPECT_EQ((Device{Device::Type::cuda, 3}.name()), "cuda:3");
  for (const char* bad :
       {"", "gpu", "CPU", "cpu:0", "cuda:", "cuda:-1", "cuda:+1", "cuda:1x", "cuda 0", "cuda0", "auto "})
    EXPECT_EQ(Device::parse(bad).error().code(), ErrorCode::invalid_argument) << bad;
  EXPECT_EQ(Device::parse("cuda:99999999999999").error().code(), ErrorCode::invalid_argument);
}

TEST(Device, ListsTheCpuLastAndAutoTakesTheFirst) {
  const std::vector<DeviceInfo> all = devices();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back().device, Device{});
  EXPECT_GT(all.back().memory_bytes, 0u);
  EXPECT_NE(all.back().description.find("thread"), std::string::npos);
  EXPECT_EQ(Device::parse("auto").value(), all.front().device);
}

TEST(Device, MissingDeviceSaysWhy) {
  const Error error = Device::parse("cuda:1000").error();
  EXPECT_EQ(error.code(), ErrorCode::no_device);
  EXPECT_TRUE(error.message().starts_with("cuda:1000: ")) << error.message();
  // Either there is CUDA and the list is not empty, or there is a reason.
  EXPECT_EQ(devices().size() > 1, cuda_unavailable_reason().empty());
  if (!cuda_unavailable_reason().empty()) {
    EXPECT_NE(error.message().find(cuda_unavailable_reason()), std::string::npos) << error.message();
    EXPECT_EQ(Device::parse("cuda").error().code(), ErrorCode::no_device);
    EXPECT_EQ(Stream::create({Device::Type::cuda, 0}).error().code(), ErrorCode::no_device);
    EXPECT_EQ(Memory::create({Device::Type::cuda, 0}, 0).error().code(), ErrorCode::no_device);
  }
}

TEST(Memory, CapIsKeptAndBytesAreCounted) {
  auto memory = Memory::create({}, 1000).value();
  Buffer a = memory->allocate(600, 64, {}).value();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0u);
  EXPECT_EQ(memory->in_use_bytes(), 600u);
  const Error error = memory->allocate(401, 64, {}).error();
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  EXPECT_NE(error.message().find("cap"), std::string::npos) << error.message();
  {
    const Buffer b = memory->allocate(400, 64, {}).value();
    EXPECT_EQ(memory->in_use_bytes(), 1000u);
  }
  EXPECT_EQ(memory->in_use_bytes(), 600u);
  Buffer c = std::move(a);
  EXPECT_EQ(a.data(), nullptr);
  c = Buffer();
  EXPECT_EQ(memory->in_use_bytes(), 0u);
  EXPECT_EQ(memory->peak_bytes(), 1000u);
}

TEST(Memory, OddRequests) {
  auto memory = Memory::create({}, 0).value();
  EXPECT_EQ(memory->allocate(0, 64, {}).value().size(), 0u);
  EXPECT_EQ(memory->allocate(8, 48, {}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(memory->allocate(8, 0, {}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(memory->allocate(~std::uint64_t{0}, 64, {}).error().code(), ErrorCode::out_of_memory);
  EXPECT_EQ(memory->in_use_bytes(), 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->allocate(1, 4096, {}).value().data()) % 4096, 0u);
}

TEST(Memory, BufferKeepsItsMemoryAlive) {
  auto memory = Memory::create({}, 0).value();
  Buffer buffer = memory->allocate(1 << 20, 64, {}).value();
  memory.reset();
  std::memset(buffer.data(), 1, buffer.size());
}

TEST(Memory, CapHoldsUnderThreads) {
  auto memory = Memory::create({}, 4096).value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) (void)memory->allocate(1500, 64, {});
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory->in_use_bytes(), 0u);
  EXPECT_GE(memory->peak_bytes(), 1500u);
  EXPECT_LE(memory->peak_bytes(), 4096u);
}

TEST(Stream, CpuWorkIsDoneAtOnce) {
  const Stream stream = Stream::create({}).value();
  std::vector<int> from = {1, 2, 3}, to(3);
  EXPECT_TRUE(copy_async(to.data(), {}, from.data(), {}, sizeof(int) * 3, stream));
  EXPECT_EQ(to, from);
  const Event event = Event::record(stream).value();
  EXPECT_TRUE(event.done().value());
  EXPECT_TRUE(event.wait_on(Stream()));
  EXPECT_TRUE(event.synchronize());
  EXPECT_TRUE(stream.synchronize());
  int word = 0;
  EXPECT_TRUE(find_backend(Device::Type::cpu)->fill_async(&word, std::byte{1}, sizeof word, 0, nullptr));
  EXPECT_EQ(word, 0x01010101);
}

TEST(Stream, RefusesWhatIsNotItsOwn) {
  int word = 0;
  EXPECT_EQ(Stream::wrap({}, &word).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(Stream::wrap({}, nullptr).value().device(), Device{});
  EXPECT_EQ(copy_async(&word, {Device::Type::cuda, 0}, &word, {}, 4, Stream()).error().code(),
            ErrorCode::invalid_argument);
}
