// File: every engine, every alignment, the same bytes; what a file says of itself; futures.
#include "penstock/io.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "io/files.hpp"
#include "io/pool.hpp"

using namespace penstock;
using namespace penstock::test;
using namespace std::chrono_literals;

namespace {

FileOptions by(IoEngine engine) { return {0644, engine, engine}; }

bool has_direct(const File& file) {
  for (const EngineAnswer& answer : file.engines())
    if (answer.engine == "direct") return answer.serves;
  return false;
}

/// The engines that the file system here has.
std::vector<IoEngine> engines_here(const std::string& path) {
  std::vector<IoEngine> all{IoEngine::automatic, IoEngine::buffered};
  if (has_direct(File::open(path).value())) all.push_back(IoEngine::direct);
  return all;
}

struct Span {
  std::uint64_t offset, bytes;
};
constexpr Span kSpans[] = {{0, 1},          {0, 4096},     {1, 4095},      {511, 2},        {4095, 8194},
                           {8192, 1 << 20}, {777, 300000}, {65536, 65537}, {1048575, 4096}, {1200000, 100}};
constexpr std::uint64_t kBytes = 1300007;

}  // namespace

TEST(File, ReadsTheSameByEveryEngine) {
  const ScratchFolder scratch;
  const Block all = pattern(kBytes);
  put_file(scratch / "a", all);
  for (const IoEngine engine : engines_here(scratch / "a")) {
    const File file = File::open(scratch / "a", "r", by(engine)).value();
    for (const Span& span : kSpans)
      for (const std::uint64_t piece : {0, 199, 4096, 10000, 65536})
        for (const std::uint64_t threads : {0, 1, 5}) {
          if (piece == 199 && span.bytes > 100000) continue;
          for (const std::uint64_t shift : {0, 1}) {  // of the memory's address
            Block got(span.bytes + 2 + shift, std::byte{0xEE});
            IoOptions options;
            options.piece_bytes = piece;
            options.threads = threads;
            const auto report = file.read(got.data() + shift, span.bytes, span.offset, options);
            ASSERT_TRUE(report) << report.error().message();
            ASSERT_EQ(part(got, shift, span.bytes), part(all, span.offset, span.bytes))
                << span.offset << " + " << span.bytes << ", pieces of " << piece;
            ASSERT_EQ(got.back(), std::byte{0xEE});
          }
        }
  }
}

TEST(File, WritesTheSameByEveryEngine) {
  const ScratchFolder scratch;
  const Block old = pattern(kBytes, 2), fresh = pattern(kBytes, 3);
  put_file(scratch / "a", old);
  for (const IoEngine engine : engines_here(scratch / "a"))
    for (const Span& span : kSpans)
      for (const std::uint64_t piece : {0, 999, 8192, 70000}) {
        if (piece == 999 && span.bytes > 100000) continue;
        put_file(scratch / "a", old);
        const File file = File::open(scratch / "a", "r+", by(engine)).value();
        IoOptions options;
        options.piece_bytes = piece;
        const auto report = file.write(fresh.data() + 1, span.bytes, span.offset, options);
        ASSERT_TRUE(report) << report.error().message();
        ASSERT_TRUE(file.flush());
        ASSERT_TRUE(file.close());
        Block want = old;
        std::copy_n(fresh.begin() + 1, span.bytes, want.begin() + static_cast<std::ptrdiff_t>(span.offset));
        ASSERT_EQ(get_file(scratch / "a"), want) << span.offset << " + " << span.bytes << ", pieces of " << piece;
      }
}

TEST(File, ReportNamesTheEngineAndWhy) {
  const ScratchFolder scratch;
  put_file(scratch / "a", pattern(8 << 20));
  Block into(8 << 20);
  const File file = File::open(scratch / "a").value();
  const Report warm = file.read(into.data(), into.size(), 0).value();
  EXPECT_EQ(warm.stages.at(0).path, "file, buffered, cpu");
  EXPECT_NE(warm.stages.at(0).reason.find("warm"), std::string::npos) << warm.stages.at(0).reason;
  EXPECT_EQ(warm.stored_bytes, into.size());
  ASSERT_TRUE(file.drop_page_cache());
  const PageCount pages = file.page_cache().value();
  EXPECT_EQ(pages.all, (8U << 20U) / static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  if (pages.cached > 0 || !has_direct(file)) return;  // a file system that lives in memory
  const Report cold = file.read(into.data(), into.size(), 0).value();
  EXPECT_EQ(cold.stages.at(0).path, "file, direct, cpu");
  EXPECT_NE(cold.stages.at(0).reason.find("cold"), std::string::npos) << cold.stages.at(0).reason;
  EXPECT_LT(file.page_cache().value().cached, pages.all / 8);  // looking may have started a little read-ahead
  EXPECT_EQ(into, pattern(8 << 20));
}

TEST(File, EndOfFileIsAllOrAnError) {
  const ScratchFolder scratch;
  put_file(scratch / "a", pattern(10000));
  for (const IoEngine engine : engines_here(scratch / "a")) {
    const File file = File::open(scratch / "a", "r", by(engine)).value();
    Block into(20000);
    for (const Span& span : {Span{0, 10001}, Span{9999, 2}, Span{10000, 1}, Span{500000, 1}, Span{4096, 8192}}) {
      const auto report = file.read(into.data(), span.bytes, span.offset);
      ASSERT_FALSE(report) << span.offset << " + " << span.bytes;
      EXPECT_EQ(report.error().code(), ErrorCode::io_error);
      EXPECT_NE(report.error().message().find("the file ends at byte "), std::string::npos) << report.error().message();
    }
    EXPECT_TRUE(file.read(into.data(), 0, 500000));  // no bytes are wanted, and all of them came
    EXPECT_TRUE(file.read(into.data(), 10000, 0));
  }
}

TEST(File, FlagsAndDescriptors) {
  const ScratchFolder scratch;
  put_file(scratch / "a", pattern(100));
  Block into(100);
  for (const char* flags : {"", "x", "rr", "+r", "r++", "rwb", "rbb"})
    EXPECT_EQ(File::open(scratch / "a", flags).error().code(), ErrorCode::invalid_argument) << flags;
  EXPECT_EQ(File::open(scratch / "absent").error().code(), ErrorCode::not_found);
  EXPECT_EQ(File::open(scratch.path).error().code(), ErrorCode::is_directory);
  const File reader = File::open(scratch / "a", "rb").value();
  EXPECT_EQ(reader.write(into.data(), 1, 0).error().code(), ErrorCode::permission_denied);
  EXPECT_EQ(get_file(scratch / "a"), pattern(100));
  const File appender = File::open(scratch / "a", "a").value();
  EXPECT_EQ(appender.read(into.data(), 1, 0).error().code(), ErrorCode::permission_denied);
  ASSERT_TRUE(appender.write(pattern(5, 7).data(), 5, 0));
  ASSERT_TRUE(appender.write(pattern(5, 8).data(), 5, 5));
  const Block longer = get_file(scratch / "a");
  ASSERT_EQ(longer.size(), 110U);
  EXPECT_EQ(part(longer, 100, 5), pattern(5, 7));
  EXPECT_EQ(part(longer, 105, 5), pattern(5, 8));

  const int fd = ::open((scratch / "a").c_str(), O_RDONLY);
  const File adopted = File::from_descriptor(fd).value();
  ::close(fd);  // ours is another one
  EXPECT_TRUE(adopted.read(into.data(), 100, 0));
  EXPECT_EQ(into, pattern(100));
  EXPECT_EQ(File::from_descriptor(fd).error().code(), ErrorCode::invalid_argument);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(File::from_descriptor(ends[0]).error().code(), ErrorCode::invalid_argument);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(File, APathWithAZeroByteIsNotCutThere) {
  const ScratchFolder scratch;
  put_file(scratch / "a", pattern(10));
  for (const char* flags : {"r", "w"}) {
    const auto opened = File::open(scratch / "a" + std::string("\0b", 2), flags);
    ASSERT_FALSE(opened) << flags;
    EXPECT_EQ(opened.error().code(), ErrorCode::invalid_argument);
  }
  EXPECT_EQ(get_file(scratch / "a"), pattern(10)) << "not emptied";
}

TEST(File, ClosedOnesAnswerByAnError) {
  const ScratchFolder scratch;
  put_file(scratch / "a", pattern(100));
  const File file = File::open(scratch / "a").value();
  Block into(100);
  EXPECT_TRUE(file.close());
  EXPECT_TRUE(file.close());
  EXPECT_TRUE(file.closed());
  EXPECT_EQ(file.descriptor(), -1);
  EXPECT_EQ(file.read(into.data(), 1, 0).error().code(), ErrorCode::closed);
  EXPECT_EQ(file.start_read(into.data(), 1, 0).get().error().code(), ErrorCode::closed);
  EXPECT_EQ(file.flush().error().code(), ErrorCode::closed);
  EXPECT_EQ(file.size_bytes().error().code(), ErrorCode::closed);
}

TEST(File, ClosingWaitsForWhatIsUnderWay) {
  const ScratchFolder scratch;
  const Block all = pattern(4 << 20);
  put_file(scratch / "a", all);
  for (int round = 0; round < 20; ++round) {
    const File file = File::open(scratch / "a").value();
    Block into(all.size());
    IoOptions options;
    options.piece_bytes = 4096;
    const IoFuture future = file.start_read(into.data(), into.size(), 0, options);
    ASSERT_TRUE(file.close());
    ASSERT_TRUE(future.done());
    ASSERT_TRUE(future.get());
    ASSERT_EQ(into, all);
  }
}

TEST(File, ThousandsUnderWayAndCallbacks) {
  const ScratchFolder scratch;
  const Block all = pattern(1 << 20);
  put_file(scratch / "a", all);
  constexpr std::uint64_t kReads = 5000, kEach = 333;
  Block into(kReads * kEach);
  std::atomic<std::uint64_t> called{0};
  std::vector<IoFuture> futures;
  {
    const File file = File::open(scratch / "a").value();  // the futures keep it
    for (std::uint64_t i = 0; i < kReads; ++i) {
      futures.push_back(file.start_read(into.data() + i * kEach, kEach, (i * 7919) % (all.size() - kEach)));
      futures.back().then([&](const Result<Report>& report) { called += report ? 1U : 0U; });
    }
  }
  for (std::uint64_t i = 0; i < kReads; ++i) {
    ASSERT_TRUE(futures[i].get());
    ASSERT_EQ(part(into, i * kEach, kEach), part(all, (i * 7919) % (all.size() - kEach), kEach));
  }
  wait_for_io();
  EXPECT_EQ(called, kReads);
}

// They come while threads look for them, while these fall asleep, and while they sleep: none is overlooked.
TEST(File, SmallRequestsEndWheneverTheyCome) {
  const ScratchFolder scratch;
  const Block all = pattern(1 << 16);
  put_file(scratch / "a", all);
  const File file = File::open(scratch / "a").value();
  const auto submit = [&](std::uint64_t seed) {
    std::minstd_rand random(static_cast<unsigned>(seed));
    Block into(3 * 1000);
    for (int round = 0; round < 2000; ++round) {
      std::vector<IoFuture> futures;
      for (std::uint64_t k = 0; k < 1 + random() % 3; ++k)
        futures.push_back(file.start_read(into.data() + k * 1000, 1000, k * 5000 + seed));
      for (std::uint64_t k = 0; k < futures.size(); ++k) {
        ASSERT_TRUE(futures[k].wait_for(20s)) << "round " << round;
        ASSERT_TRUE(futures[k].get());
        ASSERT_EQ(part(into, k * 1000, 1000), part(all, k * 5000 + seed, 1000));
      }
      if (round % 3 != 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 120));
    }
  };
  const std::jthread one([&] { submit(1); }), two([&] { submit(2); });
  submit(3);
}

TEST(File, KeepsTheMemoryUntilTheRequestHasEnded) {
  const ScratchFolder scratch;
  put_file(scratch / "a", pattern(1 << 20));
  auto memory = std::make_shared<Block>(1 << 20);
  const std::weak_ptr<Block> watched = memory;
  IoOptions options;
  options.keep = memory;
  options.piece_bytes = 4096;
  void* const to = memory->data();
  memory.reset();
  (void)File::open(scratch / "a").value().start_read(to, 1 << 20, 0, options);  // a future that nobody has
  options.keep.reset();
  wait_for_io();
  EXPECT_TRUE(watched.expired());
}

TEST(File, CancelledOnesEnd) {
  const ScratchFolder scratch;
  put_file(scratch / "a", pattern(1 << 20));
  Block into(1 << 20);
  IoOptions options;
  options.piece_bytes = 4096;
  options.cancel.cancel();
  const auto report = File::open(scratch / "a").value().read(into.data(), into.size(), 0, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::cancelled);
}

TEST(File, SizesPastAnyFileAreRefused) {
  const ScratchFolder scratch;
  put_file(scratch / "a", pattern(10));
  const File file = File::open(scratch / "a", "r+").value();
  Block into(10);
  EXPECT_EQ(file.read(into.data(), UINT64_MAX, 0).error().code(), ErrorCode::out_of_range);
  EXPECT_EQ(file.read(into.data(), 1, UINT64_MAX).error().code(), ErrorCode::out_of_range);
  EXPECT_EQ(file.write(into.data(), 1, INT64_MAX).error().code(), ErrorCode::out_of_range);
  EXPECT_EQ(file.read(nullptr, 1, 0).error().code(), ErrorCode::invalid_argument);
}

TEST(File, AChildOfAForkHasThreadsOfItsOwn) {
  const ScratchFolder scratch;
  const Block all = pattern(2 << 20);
  put_file(scratch / "a", all);
  const File file = File::open(scratch / "a").value();
  Block into(all.size());
  IoOptions options;
  options.piece_bytes = 65536;
  ASSERT_TRUE(file.read(into.data(), into.size(), 0, options));  // the threads of the parent
  const pid_t child = ::fork();
  if (child == 0) {
    std::fill(into.begin(), into.end(), std::byte{0});
    const bool same = file.read(into.data(), into.size(), 0, options).has_value() && into == all;
    ::_exit(same ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
