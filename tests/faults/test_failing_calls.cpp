// Calls of the system fail under writes of many objects: the error is that of the object, every other is old or new,
// and nothing is left behind.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "core/guard.hpp"
#include "faults/failing_calls.hpp"
#include "faults/many_objects.hpp"
#include "penstock/copy.hpp"

using namespace penstock;
using namespace penstock::test;
namespace fs = std::filesystem;

namespace {

std::shared_ptr<Store> files(const TemporaryDirectory& scratch) {
  return open_store(scratch / "a.zarr", StoreMode::create).value();
}

std::string litter(const TemporaryDirectory& scratch) {
  for (const auto& entry : fs::recursive_directory_iterator(scratch.path()))
    if (entry.path().filename().string().starts_with(".")) return entry.path().string();
  return "";
}

void fail_in_turn(Call call, int why, int rounds) {
  for (const Layout* layout : kLayouts)
    for (const From from : kSources)
      for (const std::uint64_t n : kThreads)
        for (int round = 0; round < rounds; ++round) {
          const int skip = call == Call::memory ? round : 3 * round;  // raw chunks take two buffers
          SCOPED_TRACE(fmt::format("{}, {}, {} threads, call {}", layout->name, name_of(from), n, skip));
          const TemporaryDirectory scratch;
          Case c(files(scratch), *layout, true);
          fail_call(call, skip, why);
          Options options = threads(n);
          options.budget_bytes = std::uint64_t{64} << 20;  // with buffers of its own
          const auto written = c.write(from, options);
          const bool failed = stop_failing();
          EXPECT_TRUE(failed) << "no such call: the test shows nothing";
          EXPECT_FALSE(written) << "success, though a call failed";
          if (!written && why != ENOMEM) {
            EXPECT_NE(written.error().message().find(fmt::format("errno {}", why)), std::string::npos)
                << written.error().message();
          }
          EXPECT_EQ(c.judge(true), "");
          EXPECT_EQ(litter(scratch), "");
          if (testing::Test::HasFailure()) return;
        }
}

/// `put` writes an object to the store; each of its allocations fails in turn.
void fail_allocations_of(Status (*put)(Store&)) {
  const TemporaryDirectory scratch;
  const std::shared_ptr<Store> store = files(scratch);
  ASSERT_TRUE(put(*store));
  for (int skip = 0;; ++skip) {
    SCOPED_TRACE(skip);
    fail_call(Call::allocation, skip, ENOMEM);
    const Status written = guarded([&] { return put(*store); });
    const bool failed = stop_failing();
    EXPECT_EQ(litter(scratch), "");
    if (!failed) {
      EXPECT_TRUE(written);
      EXPECT_GT(skip, 2) << "the test shows nothing";
      return;
    }
    if (!written) {
      EXPECT_EQ(written.error().code(), ErrorCode::out_of_memory) << written.error().message();
    }
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace

TEST(FailingCalls, MakingAFile) { fail_in_turn(Call::create, EMFILE, 2); }
TEST(FailingCalls, WritingAFile) { fail_in_turn(Call::write, ENOSPC, 2); }
TEST(FailingCalls, ClosingAFile) { fail_in_turn(Call::close, EDQUOT, 2); }
TEST(FailingCalls, NamingAFile) { fail_in_turn(Call::rename, EIO, 2); }
TEST(FailingCalls, ReadingOldBytes) { fail_in_turn(Call::read, EIO, 2); }
#ifndef PENSTOCK_TEST_SANITIZED
TEST(FailingCalls, MemoryForEncoding) { fail_in_turn(Call::memory, ENOMEM, 2); }
TEST(FailingCalls, MemoryWhileAFileIsWritten) {
  fail_allocations_of([](Store& store) { return store.set("a/key-that-is-kept-in-no-short-string", as_bytes("x")); });
}
TEST(FailingCalls, MemoryWhileAFileIsWrittenBitByBit) {
  fail_allocations_of([](Store& store) -> Status {
    PENSTOCK_ASSIGN(const auto writer, store.writer("a/key-that-is-kept-in-no-short-string"));
    PENSTOCK_TRY(writer->append(as_bytes("x")));
    return writer->commit();
  });
}
#endif

TEST(FailingCalls, InterruptedOnesAreAskedAgain) {
  for (const Layout* layout : kLayouts)
    for (const std::uint64_t n : {1, 4}) {
      SCOPED_TRACE(fmt::format("{}, {} threads", layout->name, n));
      const TemporaryDirectory scratch;
      Case c(files(scratch), *layout, true);
      interrupt_calls();
      const auto written = c.write(From::host, threads(n));
      const auto now = test::read(c.array, whole(kShape), threads(n));
      const auto verified = c.array.verify(threads(n));
      const auto other = open_store(scratch / "b.zip", StoreMode::create);
      const auto copied = other ? copy(c.array, *other, "", {}, Array::IfExists::fail, Resume::no, threads(n))
                                : Result<Report>(other.error());
      EXPECT_TRUE(stop_failing());
      ASSERT_TRUE(written) << written.error().message();
      ASSERT_TRUE(now) << now.error().message();
      EXPECT_EQ(*now, c.after.data);
      ASSERT_TRUE(verified) << verified.error().message();
      EXPECT_TRUE(verified->problems.empty());
      ASSERT_TRUE(copied) << copied.error().message();
      EXPECT_EQ(
          test::read(Array::open(open_store(scratch / "b.zip", StoreMode::read).value(), "").value(), whole(kShape))
              .value(),
          c.after.data);
      EXPECT_EQ(litter(scratch), "");
    }
}
