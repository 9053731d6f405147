// The first CUDA device for tests: memory on it, a stream, copies to and fro; and which tests a program runs.
#pragma once
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "penstock/device.hpp"

namespace penstock::test {

inline constexpr Device kGpu{Device::Type::cuda, 0};

struct OnGpu : ::testing::Test {
  Stream stream = Stream::create(kGpu).value();
  std::shared_ptr<Memory> memory = Memory::create(kGpu, 0).value();

  template <class T>
  Buffer upload(const std::vector<T>& host) {
    Buffer buffer = memory->allocate(host.size() * sizeof(T), 256, stream).value();
    copy_async(buffer.data(), kGpu, host.data(), {}, buffer.size(), stream).value();
    stream.synchronize().value();
    return buffer;
  }
  template <class T>
  std::vector<T> download(const void* from, std::size_t count) {
    std::vector<T> host(count);
    copy_async(host.data(), {}, from, kGpu, count * sizeof(T), stream).value();
    stream.synchronize().value();
    return host;
  }
};

/// main() of a program whose tests "Gpu*" need a device, and whose tests "NoDevice.*" need that there is none.
inline int run_gpu_tests(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::string reason = cuda_unavailable_reason();
  std::printf("%s\n", reason.empty() ? "CUDA device found: tests of Gpu*"
                                     : ("no CUDA device, " + reason + ": tests of NoDevice").c_str());
  const bool chosen = ::testing::GTEST_FLAG(filter) != "*";
  if (!chosen) ::testing::GTEST_FLAG(filter) = reason.empty() ? "Gpu*" : "NoDevice.*";
  return RUN_ALL_TESTS();
}

}  // namespace penstock::test
