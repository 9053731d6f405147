// How many system calls a fetch from files costs: the calls of the library come by here.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <string>

#include "collect.hpp"
#include "store_kinds.hpp"

using namespace penstock;
using penstock::test::Collect;
using penstock::test::TemporaryDirectory;

namespace {

struct Calls {
  int opens = 0, stats = 0, reads = 0, closes = 0;
  bool operator==(const Calls&) const = default;
};
thread_local Calls* counting = nullptr;

void count(int Calls::* which) {
  if (counting != nullptr) ++(counting->*which);
}

}  // namespace

// The functions of the C library that the file store uses, over the system calls themselves.
extern "C" {
int openat(int directory, const char* path, int flags, ...) {
  count(&Calls::opens);
  va_list more;
  va_start(more, flags);
  const auto mode = va_arg(more, unsigned);
  va_end(more);
  return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode));
}
int fstat(int fd, struct stat* info) noexcept {
  count(&Calls::stats);
  return static_cast<int>(::syscall(SYS_fstat, fd, info));
}
ssize_t pread(int fd, void* into, std::size_t bytes, off_t offset) {
  count(&Calls::reads);
  return ::syscall(SYS_pread64, fd, into, bytes, offset);
}
int close(int fd) {
  count(&Calls::closes);
  return static_cast<int>(::syscall(SYS_close, fd));
}
}

namespace {

class FetchCalls : public testing::Test {
 protected:
  void SetUp() override {
    store_ = open_store(scratch_ / "store", StoreMode::create).value();
    for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(store_->set(key, as_bytes("0123456789")));
  }
  /// The calls of one fetch, with its answers dropped.
  Calls calls(std::span<const FetchRequest> requests) {
    Calls made;
    {
      Collect sink;
      counting = &made;
      store_->fetch(requests, sink, {});
      for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_TRUE(sink[i].status) << i;
    }
    counting = nullptr;
    return made;
  }
  TemporaryDirectory scratch_;
  std::shared_ptr<Store> store_;
};

}  // namespace

TEST_F(FetchCalls, AWholeObjectIsFour) {
  const FetchRequest request{"a", {}};
  EXPECT_EQ(calls({&request, 1}), (Calls{1, 1, 1, 1}));
}

TEST_F(FetchCalls, ASuffixIsFour) {
  const FetchRequest request{"a", ByteRange::last(4)};
  EXPECT_EQ(calls({&request, 1}), (Calls{1, 1, 1, 1}));
}

TEST_F(FetchCalls, AnAbsentObjectIsOne) {
  const FetchRequest request{"nothing", {}};
  EXPECT_EQ(calls({&request, 1}), (Calls{1, 0, 0, 0}));
}

TEST_F(FetchCalls, RequestsOfOneObjectShareItsOpening) {
  const FetchRequest requests[] = {{"a", ByteRange::span(0, 1)}, {"b", ByteRange::span(0, 1)},
                                   {"a", ByteRange::span(2, 1)}, {"c", {}},
                                   {"a", ByteRange::last(1)},    {"b", ByteRange::from(9)}};
  EXPECT_EQ(calls(requests), (Calls{3, 3, 6, 3}));
}

TEST_F(FetchCalls, APinIsReadWithoutOpening) {
  Collect first;
  const FetchRequest request{"a", ByteRange::last(4)};
  store_->fetch({&request, 1}, first, {});
  const ObjectVersion version = first[0].version;
  const FetchRequest requests[] = {{"a", ByteRange::span(0, 1), &version}, {"a", ByteRange::span(1, 1), &version}};
  EXPECT_EQ(calls(requests), (Calls{0, 0, 2, 0}));
}
