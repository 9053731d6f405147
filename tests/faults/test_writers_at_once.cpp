// Several writers at once, alike or not, in threads with a handle each and in processes: nothing that one wrote is
// undone by another.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "array/model.hpp"
#include "core/json.hpp"
#include "faults/fault_store.hpp"
#include "format/format.hpp"
#include "format/zarr/consolidated.hpp"
#include "penstock/copy.hpp"
#include "store/store_kinds.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr std::uint64_t kRows = 64, kColumns = 32;
constexpr int kRepeats = 20;

/// One object of all rows: a shard of chunks of 8 rows, or a chunk.
Dataset one_object(bool sharded) {
  return dataset({kRows, kColumns}, {kRows, kColumns},
                 sharded ? std::vector<CodecSpec>{sharding("[8,32]")} : std::vector<CodecSpec>{bytes_codec()});
}

std::vector<std::byte> row_of(std::uint64_t value, std::uint64_t rows = 1) {
  std::vector<std::byte> bytes(rows * kColumns * 2);
  for (std::size_t i = 0; i < bytes.size(); i += 2)
    bytes[i] = static_cast<std::byte>(value), bytes[i + 1] = std::byte{1};
  return bytes;
}

Region rows(std::uint64_t first, std::uint64_t count = 1) { return {{first, count, 1}, {0, kColumns, 1}}; }

Array opened(const std::string& url) { return Array::open(open_store(url, StoreMode::read_write).value(), "").value(); }

void create(const std::string& url, bool sharded) {
  ASSERT_TRUE(
      Array::create(open_store(url, StoreMode::create).value(), "", one_object(sharded), Array::IfExists::fail));
}

/// Each with a handle of its own: no lock of a handle can help.
Status write_rows(const std::string& url, std::uint64_t first, std::uint64_t step) {
  for (std::uint64_t r = first; r < kRows; r += step) {
    Array array = opened(url);
    PENSTOCK_TRY(test::write(array, rows(r), row_of(r), threads(1)));
  }
  return {};
}

std::uint64_t lost_rows(const std::string& url) {
  const Array array = opened(url);
  std::uint64_t lost = 0;
  for (std::uint64_t r = 0; r < kRows; ++r) lost += test::read(array, rows(r)).value() != row_of(r);
  return lost;
}

pid_t in_process(const std::function<Status()>& work) {
  const pid_t child = ::fork();
  if (child == 0) _exit(work() ? 0 : 1);
  return child;
}

int exit_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST(WritersAtOnce, ThreadsWithAHandleEach) {
  for (int repeat = 0; repeat < kRepeats; ++repeat)
    for (const bool sharded : {false, true})
      for (const StoreCase& kind : store_cases()) {
        if (kind.name == "zip") continue;  // one handle only
        const TemporaryDirectory scratch;
        const std::string url = kind.url(scratch);
        create(url, sharded);
        const auto keep = open_store(url, StoreMode::read).value();
        {
          std::vector<std::jthread> writers;
          for (std::uint64_t t = 0; t < 8; ++t) writers.emplace_back([&, t] { EXPECT_TRUE(write_rows(url, t, 8)); });
        }
        ASSERT_EQ(lost_rows(url), 0u) << kind.name << (sharded ? ", a shard" : ", a chunk");
      }
}

TEST(WritersAtOnce, Processes) {
  for (int repeat = 0; repeat < kRepeats; ++repeat)
    for (const bool sharded : {false, true}) {
      const TemporaryDirectory scratch;
      const std::string url = scratch / "a";
      create(url, sharded);
      std::vector<pid_t> writers;
      for (std::uint64_t p = 0; p < 4; ++p) writers.push_back(in_process([&] { return write_rows(url, p, 4); }));
      for (const pid_t writer : writers) EXPECT_EQ(exit_of(writer), 0);
      ASSERT_EQ(lost_rows(url), 0u) << (sharded ? "a shard" : "a chunk");
    }
}

// A partial write that read before a whole one must not put back what it read.
TEST(WritersAtOnce, AWholeWriteIsNotUndoneByAPartialOne) {
  for (const bool sharded : {false, true})
    for (const StoreCase& kind : store_cases()) {
      if (kind.name == "zip") continue;
      const TemporaryDirectory scratch;
      const std::string url = kind.url(scratch);
      create(url, sharded);
      const auto keep = open_store(url, StoreMode::read).value();
      std::atomic<bool> over{false};
      std::jthread partial([&] {
        Array array = opened(url);
        while (!over) EXPECT_TRUE(test::write(array, rows(5), row_of(200), threads(1)));
      });
      Array array = opened(url);
      int undone = 0;
      for (std::uint64_t i = 1; i <= 150; ++i) {
        EXPECT_TRUE(test::write(array, rows(0, kRows), row_of(i, kRows), threads(1)));
        undone += test::read(array, rows(40), threads(1)).value() != row_of(i);
      }
      over = true;
      EXPECT_EQ(undone, 0) << kind.name << (sharded ? ", a shard" : ", a chunk");
    }
}

// A smaller array loses its chunks outside; one that was made larger again meanwhile must not lose what was written.
TEST(WritersAtOnce, AResizeTakesNothingThatALaterOneBroughtBack) {
  const auto store = std::make_shared<FaultStore>(open_store("memory://", StoreMode::create).value());
  Array first = Array::create(store, "", dataset({40}, {10}, {bytes_codec()}), Array::IfExists::fail).value();
  const std::vector<std::byte> values(80, std::byte{7});
  ASSERT_TRUE(test::write(first, whole(Shape{40}), values));
  Array second = Array::open(store, "").value();
  Fault slow;
  slow.op = StoreOp::list;
  slow.times = 1;
  slow.delay = std::chrono::milliseconds(300);
  store->add(slow);
  std::jthread smaller([&] { EXPECT_TRUE(first.resize({10})); });
  while (Array::open(store, "").value().dataset().shape[0] != 10) std::this_thread::yield();
  ASSERT_TRUE(second.resize({40}));
  ASSERT_TRUE(test::write(second, {{10, 30, 1}}, std::vector<std::byte>(60, std::byte{9})));
  smaller.join();
  EXPECT_EQ(test::read(second, {{10, 30, 1}}).value(), std::vector<std::byte>(60, std::byte{9}));
}

TEST(WritersAtOnce, ResizesAndWritesAndAttributes) {
  const TemporaryDirectory scratch;
  const std::string url = scratch / "a";
  ASSERT_TRUE(Array::create(open_store(url, StoreMode::create).value(), "",
                            dataset({kRows, kColumns}, {16, kColumns}, {bytes_codec()}), Array::IfExists::fail));
  constexpr std::uint64_t kTimes = 60;
  {
    std::jthread sizes([&] {
      Array array = opened(url);
      for (std::uint64_t i = 1; i <= kTimes; ++i)
        EXPECT_TRUE(array.resize({kRows + i % 2 * 40 + (i == kTimes ? 1 : 0), kColumns}));
    });
    std::jthread attributes([&] {
      Array array = opened(url);
      for (std::uint64_t i = 1; i <= kTimes; ++i)
        EXPECT_TRUE(array.set_attributes("{\"n\":" + std::to_string(i) + "}"));
    });
    std::jthread values([&] { EXPECT_TRUE(write_rows(url, 0, 1)); });
  }
  const Array now = opened(url);
  EXPECT_EQ(now.dataset().shape, (Shape{kRows + 1, kColumns}));
  EXPECT_EQ(parse_json(now.dataset().attributes).value()["n"], kTimes);
  EXPECT_EQ(lost_rows(url), 0u);
}

// Consolidated metadata say what the nodes say, however many change at once.
TEST(WritersAtOnce, ConsolidatedMetadataOfSiblings) {
  for (const int format : {2, 3})
    for (const StoreCase& kind : store_cases()) {
      if (kind.name == "zip") continue;
      const TemporaryDirectory scratch;
      const std::string url = kind.url(scratch);
      const auto store = open_store(url, StoreMode::create).value();
      ASSERT_TRUE(Group::create(store, "", GroupInfo{{"zarr", format}, "{}"}, Array::IfExists::fail));
      Dataset d = dataset({8}, {4}, {bytes_codec()});
      d.format.version = format;
      if (format == 2) d.codecs = {bytes_codec()}, d.placement = KeyEncoding{KeyEncoding::Kind::v2, '.'};
      for (const char* name : {"a", "b", "c"})
        ASSERT_TRUE(Array::create(store, name, d, Array::IfExists::fail)) << name;
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        ASSERT_TRUE(write_consolidated(*store, ""));
        {
          std::vector<std::jthread> writers;
          for (const char* name : {"a", "b", "c"})
            writers.emplace_back([&, name] {
              Array array = Array::open(open_store(url, StoreMode::read_write).value(), name).value();
              for (int i = 0; i < 3; ++i)
                EXPECT_TRUE(array.set_attributes("{\"n\":" + std::to_string(10 * repeat + i) + "}"));
            });
        }
        const auto said = read_consolidated(*store, "").value();
        ASSERT_EQ(said.size(), 3u) << kind.name << ", zarr v" << format << ", repeat " << repeat;
        for (const char* name : {"a", "b", "c"})
          EXPECT_EQ(std::get<Dataset>(*said.at(name)).attributes, Array::open(store, name).value().dataset().attributes)
              << kind.name << ", zarr v" << format << ", repeat " << repeat;
        if (HasFailure()) return;
      }
    }
}

TEST(WritersAtOnce, AnArrayInPlaceOfAConsolidatedGroup) {
  const auto store = open_store("memory://", StoreMode::create).value();
  ASSERT_TRUE(Group::create(store, "g", GroupInfo{{"zarr", 3}, "{}"}, Array::IfExists::fail));
  ASSERT_TRUE(write_consolidated(*store, "g"));
  const auto made = Array::create(store, "g", one_object(false), Array::IfExists::overwrite);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_TRUE(Array::open(store, "g"));
}

// Who waits for a process that is stopped can give up, and goes on when it goes on.
TEST(WritersAtOnce, AStoppedProcessIsWaitedForUntilCancelled) {
  const TemporaryDirectory scratch;
  const std::string url = scratch / "a";
  create(url, true);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t holder = in_process([&]() -> Status {
    const auto store = open_store(url, StoreMode::read_write).value();
    PENSTOCK_ASSIGN(auto lock, store->lock("c/0/0", LockUse::change, [] { return Status(); }));
    (void)!::write(ends[1], "x", 1);
    ::raise(SIGSTOP);
    lock.reset();
    Array array = opened(url);
    return test::write(array, rows(1), row_of(1), threads(1));
  });
  char x = 0;
  ASSERT_EQ(::read(ends[0], &x, 1), 1);
  Array array = opened(url);
  Options options = threads(1);
  std::jthread impatient([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    options.cancel.cancel();
  });
  const Status cancelled = test::write(array, rows(0), row_of(0), options);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), ErrorCode::cancelled);
  std::jthread patient([&] { EXPECT_TRUE(test::write(array, rows(0), row_of(0), threads(1))); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ::kill(holder, SIGCONT);
  EXPECT_EQ(exit_of(holder), 0);
  patient.join();
  EXPECT_EQ(test::read(array, rows(0, 2)).value(), [] {
    auto both = row_of(0);
    const auto second = row_of(1);
    both.insert(both.end(), second.begin(), second.end());
    return both;
  }());
  ::close(ends[0]);
  ::close(ends[1]);
}

// A child that was forked while a lock was held has the descriptor too: it must not keep the lock.
TEST(WritersAtOnce, AForkedChildKeepsNoLock) {
  const TemporaryDirectory scratch;
  const std::string url = scratch / "a";
  create(url, false);
  const auto store = open_store(url, StoreMode::read_write).value();
  auto lock = store->lock("c/0/0", LockUse::change, [] { return Status(); }).value();
  const pid_t child = in_process([]() -> Status {
    ::pause();
    return {};
  });
  lock.reset();
  EXPECT_EQ(exit_of(in_process([&] { return write_rows(url, 0, 1); })), 0);
  EXPECT_EQ(lost_rows(url), 0u);
  ::kill(child, SIGKILL);
  EXPECT_EQ(exit_of(child), -SIGKILL);
}

TEST(WritersAtOnce, TheSameCopyTwice) {
  const TemporaryDirectory source;
  create(source / "a", true);
  ASSERT_TRUE(write_rows(source / "a", 0, 1));
  const Array from = opened(source / "a");
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const TemporaryDirectory scratch;
    CopyChanges changes;
    changes.chunk_shape = Shape{8, 8};
    changes.shard_shape = Shape{};
    std::atomic<int> copied{0};
    {
      std::vector<std::jthread> copies;
      for (int i = 0; i < 2; ++i)
        copies.emplace_back([&] {
          const auto done = copy(from, open_store(scratch / "b", StoreMode::create).value(), "", changes,
                                 Array::IfExists::fail, Resume::yes, threads(1));
          copied += done.has_value();
          if (!done) {
            EXPECT_EQ(done.error().code(), ErrorCode::already_exists) << done.error().message();
          }
        });
    }
    EXPECT_GE(copied, 1);
    EXPECT_EQ(lost_rows(scratch / "b"), 0u);
    EXPECT_TRUE(opened(scratch / "b").verify({}).value().problems.empty());
  }
}

// An array made anew beside a writer of the old one: each object is one of the writer's, or none.
TEST(WritersAtOnce, AnArrayMadeAnewBesideAWriter) {
  const TemporaryDirectory scratch;
  const std::string url = scratch / "a";
  create(url, true);
  std::atomic<bool> over{false};
  std::jthread writer([&over, array = opened(url)]() mutable {
    while (!over) {
      const Status written = test::write(array, rows(5), row_of(5), threads(1));
      EXPECT_TRUE(written) << written.error().message();
    }
  });
  for (int i = 0; i < 100; ++i) {
    const auto made =
        Array::create(open_store(url, StoreMode::create).value(), "", one_object(true), Array::IfExists::overwrite);
    ASSERT_TRUE(made) << made.error().message();
  }
  over = true;
  writer.join();
  const Array now = opened(url);
  EXPECT_TRUE(now.verify({}).value().problems.empty());
}
