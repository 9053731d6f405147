// One object of many fails: the error is that of the object, and every other is wholly the old one or wholly the new.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "exec/job.hpp"
#include "faults/many_objects.hpp"

using namespace penstock;
using namespace penstock::test;
namespace fs = std::filesystem;

namespace {

std::shared_ptr<Store> memory() { return open_store("memory://", StoreMode::create).value(); }

/// Every layout, source and number of threads, `rounds` times.
void each(int rounds, bool partial, const std::function<void(Case&, From, std::uint64_t threads, int round)>& run) {
  for (const Layout* layout : kLayouts)
    for (const From from : kSources)
      for (const std::uint64_t n : kThreads)
        for (int round = 0; round < rounds; ++round) {
          SCOPED_TRACE(fmt::format("{}, {}, {} threads, round {}", layout->name, name_of(from), n, round));
          Case c(memory(), *layout, partial);
          run(c, from, n, round);
          if (testing::Test::HasFailure()) return;
        }
}

void fails_with(Case& c, From from, std::uint64_t n, ErrorCode code, const std::string& text) {
  const auto written = c.write(from, threads(n));
  ASSERT_FALSE(written) << "an object could not be written";
  EXPECT_EQ(written.error().code(), code) << written.error().message();
  EXPECT_NE(written.error().message().find(text), std::string::npos) << written.error().message();
  c.store->clear();
  EXPECT_EQ(c.judge(true), "");
}

}  // namespace

TEST(FailingWrites, AtTheStoreOfOneObject) {
  each(4, false, [](Case& c, From from, std::uint64_t n, int round) {
    Fault fault;
    fault.op = StoreOp::set;
    if (round % 2 == 0)
      fault.keys = kBadKey;
    else
      fault.skip = 3 * round, fault.keys = "c/*", fault.times = 1;
    fault.error = round % 3 == 0 ? ErrorCode::no_space : ErrorCode::permission_denied;
    c.store->add(fault);
    fails_with(c, from, n, *fault.error, "injected fault in set");
  });
}

TEST(FailingWrites, AtTheStoreOfOneObjectThatIsChangedInPart) {
  each(4, true, [](Case& c, From from, std::uint64_t n, int round) {
    Fault fault;
    fault.op = StoreOp::set;
    fault.keys = "c/*";
    fault.skip = 3 * round;
    fault.times = 1;
    fault.error = ErrorCode::io_error;
    c.store->add(fault);
    fails_with(c, from, n, ErrorCode::io_error, "injected fault in set");
  });
}

TEST(FailingWrites, AtTheReadOfOldBytes) {
  each(4, true, [](Case& c, From from, std::uint64_t n, int round) {
    Fault fault;
    fault.op = round % 2 == 0 ? StoreOp::open : StoreOp::read;
    fault.keys = "c/*";
    fault.skip = 3 * round;
    fault.times = 1;
    fault.error = ErrorCode::io_error;
    c.store->add(fault);
    fails_with(c, from, n, ErrorCode::io_error, fault.op == StoreOp::open ? "fault in open" : "fault in read");
  });
}

// Old bytes that cannot be decoded: the work on one object fails between its reading and its storing.
TEST(FailingWrites, InTheWorkOnOneObject) {
  each(2, true, [](Case& c, From from, std::uint64_t n, int) {
    const std::string key = "c/0/3";  // changed in part
    ASSERT_TRUE(c.inner->set(key, as_bytes("no chunk")));
    const auto written = c.write(from, threads(n));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), ErrorCode::corrupt_data) << written.error().message();
    EXPECT_NE(written.error().message().find(key), std::string::npos) << written.error().message();
    Bytes bytes;
    EXPECT_TRUE(c.inner->get(key, bytes).value());
    EXPECT_EQ(as_text(bytes), "no chunk");
    ASSERT_TRUE(c.inner->erase(key));
    const std::string judged = c.judge(true);
    EXPECT_TRUE(judged.empty() || judged.starts_with(key)) << judged;
  });
}

TEST(FailingWrites, ByCancel) {
  each(4, true, [](Case& c, From from, std::uint64_t n, int round) {
    Options options = threads(n);
    std::atomic<int> seen{0};
    options.progress = [&](const Progress&) {
      if (seen++ == round) options.cancel.cancel();
    };
    Fault slow;
    slow.op = StoreOp::set;
    slow.delay = std::chrono::microseconds(100);
    c.store->add(slow);
    std::jthread other;
    if (round % 2 == 1)
      other = std::jthread([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(200 * round));
        options.cancel.cancel();
      });
    const auto written = c.write(from, options);
    other = {};
    EXPECT_TRUE(written || written.error().code() == ErrorCode::cancelled) << written.error().message();
    EXPECT_EQ(c.judge(true), "");
  });
}

TEST(FailingWrites, ByABudgetThatIsTooSmall) {
  each(1, true, [](Case& c, From from, std::uint64_t n, int) {
    Options options = threads(n);
    options.budget_bytes = 64;
    const auto written = c.write(from, options);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), ErrorCode::budget_too_small) << written.error().message();
    EXPECT_EQ(c.judge(true), "");
  });
}

// In the file system itself: a directory stands in the object's place, so that the rename fails.
TEST(FailingWrites, AtTheRenameOfAFile) {
  for (const Layout* layout : kLayouts)
    for (const std::uint64_t n : kThreads)
      for (int round = 0; round < 2; ++round) {
        SCOPED_TRACE(fmt::format("{}, {} threads, round {}", layout->name, n, round));
        const TemporaryDirectory scratch;
        Case c(open_store(scratch / "a.zarr", StoreMode::create).value(), *layout, false);
        const fs::path bad = scratch.path() / "a.zarr" / kBadKey;
        fs::remove(bad);
        fs::create_directory(bad);
        std::ofstream(bad / "x").put('x');
        const auto written = c.write(From::host, threads(n));
        ASSERT_FALSE(written);
        EXPECT_NE(written.error().message().find(kBadKey), std::string::npos) << written.error().message();
        EXPECT_EQ(c.judge(false), "");
        if (HasFailure()) return;
      }
}

namespace {

/// A loop of loops in which one inner piece fails: no inner loop may say success without having run its pieces.
void one_inner_piece_fails(bool throws) {
  for (const std::uint64_t n : kThreads)
    for (int round = 0; round < 20; ++round) {
      const Options options = threads(n);
      Job job(options, "test", 0, n);
      std::atomic<int> lies{0};
      const Status done = job.run([&] {
        return job.for_each(16, true, [&](std::uint64_t outer) -> Status {
          std::atomic<int> ran{0};
          const Status inner = job.for_each(16, true, [&](std::uint64_t i) -> Status {
            std::this_thread::sleep_for(std::chrono::microseconds(20));
            if (outer == 9 && i == 3) {
              if (throws) throw std::bad_alloc();
              return Error(ErrorCode::io_error, "the real one");
            }
            ++ran;
            return {};
          });
          if (inner && ran != 16) ++lies;
          return inner;
        });
      });
      EXPECT_EQ(lies, 0);
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code(), throws ? ErrorCode::out_of_memory : ErrorCode::io_error) << done.error().message();
    }
}

}  // namespace

TEST(Loops, SucceedOnlyWhenEveryPieceRan) { one_inner_piece_fails(false); }
TEST(Loops, TurnWhatAPieceThrowsIntoAnError) { one_inner_piece_fails(true); }

// Who calls the library from a task of their own may cancel that: a read or write then is no success.
TEST(Loops, OfACancelledCallerAreNoSuccess) {
  for (const std::uint64_t n : {2, 8}) {
    tbb::task_group_context callers;
    std::atomic<int> lies{0};
    tbb::parallel_for(
        0, 1,
        [&](int) {
          callers.cancel_group_execution();
          const Options options = threads(n);
          Job job(options, "test", 0, n);
          std::atomic<int> ran{0};
          const Status done = job.run([&] {
            return job.for_each(100, true, [&](std::uint64_t) -> Status {
              ++ran;
              return {};
            });
          });
          if (done && ran != 100) ++lies;
        },
        callers);
    EXPECT_EQ(lies, 0);
  }
}
