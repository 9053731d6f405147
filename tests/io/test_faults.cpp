// Calls of the system that fail, are interrupted or do less than asked; files that change under a request.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "faults/failing_calls.hpp"
#include "io/files.hpp"
#include "penstock/io.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

std::atomic<bool> is_nfs{false};     ///< every file system is one over a network
std::atomic<bool> tells_not{false};  ///< the kernel does not tell what O_DIRECT needs

}  // namespace

extern "C" {

int fstatfs(int fd, struct statfs* info) noexcept {
  static auto* const real = reinterpret_cast<decltype(fstatfs)*>(::dlsym(RTLD_NEXT, "fstatfs"));
  const int done = real(fd, info);
  if (is_nfs) info->f_type = 0x6969;
  return done;
}

int statx(int folder, const char* path, int flags, unsigned mask, struct statx* info) noexcept {
  static auto* const real = reinterpret_cast<decltype(statx)*>(::dlsym(RTLD_NEXT, "statx"));
  const int done = real(folder, path, flags, mask, info);
#ifdef STATX_DIOALIGN
  if (tells_not) info->stx_mask &= ~STATX_DIOALIGN;
#endif
  return done;
}
}

namespace {

constexpr std::uint64_t kBytes = 1 << 20;
constexpr IoEngine kEngines[] = {IoEngine::buffered, IoEngine::direct};

IoOptions pieces_of(std::uint64_t bytes) {
  IoOptions options;
  options.piece_bytes = bytes;
  options.threads = 4;
  return options;
}

struct Opened {
  ScratchFolder scratch;
  Block all = pattern(kBytes + 100);
  std::optional<File> file;
  Opened(IoEngine engine, const char* flags) {
    put_file(scratch / "a", all);
    file = File::open(scratch / "a", flags, {0644, engine, engine}).value();
  }
  [[nodiscard]] bool serves(IoEngine engine) const {
    for (const EngineAnswer& answer : file->engines())
      if (answer.engine == "direct" && engine == IoEngine::direct) return answer.serves;
    return engine == IoEngine::buffered;
  }
};

}  // namespace

TEST(FileFaults, OneFailingPieceEndsTheRequestAfterAllOthers) {
  for (const IoEngine engine : kEngines)
    for (const int skip : {0, 1, 7, 40}) {
      Opened opened(engine, "r");
      if (!opened.serves(engine)) continue;
      Block into(kBytes);
      fail_call(Call::read, skip, EIO);
      const auto report = opened.file->read(into.data(), kBytes, 0, pieces_of(16384));
      EXPECT_TRUE(stop_failing()) << "no such call: the test shows nothing";
      ASSERT_FALSE(report);
      EXPECT_NE(report.error().message().find("errno 5"), std::string::npos) << report.error().message();
      // Nobody writes there any more: the memory could be freed.
      std::fill(into.begin(), into.end(), std::byte{0xAA});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_EQ(into, Block(kBytes, std::byte{0xAA}));
      EXPECT_TRUE(opened.file->read(into.data(), kBytes, 0, pieces_of(16384)));  // the file is as good as before
      EXPECT_EQ(into, part(opened.all, 0, kBytes));
    }
}

TEST(FileFaults, AFullDiskIsTold) {
  for (const IoEngine engine : kEngines)
    for (const int skip : {0, 9}) {
      Opened opened(engine, "r+");
      if (!opened.serves(engine)) continue;
      fail_call(Call::any_write, skip, ENOSPC);
      const auto report = opened.file->write(opened.all.data(), kBytes, 0, pieces_of(16384));
      EXPECT_TRUE(stop_failing());
      ASSERT_FALSE(report);
      EXPECT_EQ(report.error().code(), ErrorCode::no_space);
      EXPECT_TRUE(opened.file->close());
    }
}

TEST(FileFaults, InterruptedAndShortCallsAreAskedAgain) {
  for (const IoEngine engine : kEngines)
    for (const std::uint64_t offset : {0, 77}) {
      Opened opened(engine, "r+");
      if (!opened.serves(engine)) continue;
      const Block fresh = pattern(kBytes, 9);
      Block into(kBytes);
      interrupt_calls();
      // Half of a block is refused by O_DIRECT, which is then not offered any more: each has a file of its own.
      const auto again = [&] { return File::open(opened.scratch / "a", "r+", {0644, engine, engine}).value(); };
      const auto read = again().read(into.data(), kBytes, offset, pieces_of(65536));
      const auto written = again().write(fresh.data(), kBytes, offset, pieces_of(65536));
      const auto flushed = opened.file->flush();
      EXPECT_TRUE(stop_failing());
      ASSERT_TRUE(read) << read.error().message();
      ASSERT_TRUE(written) << written.error().message();
      EXPECT_TRUE(flushed);
      EXPECT_EQ(into, part(opened.all, offset, kBytes));
      EXPECT_TRUE(opened.file->read(into.data(), kBytes, offset));
      EXPECT_EQ(into, fresh);
    }
}

TEST(FileFaults, DirectThatIsRefusedAtRunTimeGoesOnBufferedAndSaysSo) {
  Opened opened(IoEngine::automatic, "r+");
  if (!opened.serves(IoEngine::direct)) {  // refused from the beginning: said, and read all the same
    for (const EngineAnswer& answer : opened.file->engines()) EXPECT_TRUE(answer.serves || !answer.why.empty());
    Block all(kBytes);
    EXPECT_TRUE(opened.file->read(all.data(), kBytes, 0));
    EXPECT_EQ(all, part(opened.all, 0, kBytes));
    return;
  }
  const File file = File::open(opened.scratch / "a", "r+", {0644, IoEngine::direct, IoEngine::direct}).value();
  (void)file.engines();  // the trial read is done
  Block into(kBytes);
  fail_call(Call::read, 3, EINVAL);
  const auto report = file.read(into.data(), kBytes, 0, pieces_of(65536));
  EXPECT_TRUE(stop_failing());
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(into, part(opened.all, 0, kBytes));
  EXPECT_NE(report->stages.at(0).reason.find("refused O_DIRECT"), std::string::npos) << report->stages.at(0).reason;
  const auto next = file.read(into.data(), kBytes, 0);
  ASSERT_FALSE(next) << "asked for by name, and not to be had";
  EXPECT_EQ(next.error().code(), ErrorCode::unsupported);
}

TEST(FileFaults, AFileThatShrinksIsAnErrorOneThatGrowsIsNot) {
  for (const IoEngine engine : kEngines) {
    Opened opened(engine, "r");
    if (!opened.serves(engine)) continue;
    Block into(kBytes);
    EXPECT_TRUE(opened.file->read(into.data(), kBytes, 0));
    std::filesystem::resize_file(opened.scratch / "a", 5000);
    const auto report = opened.file->read(into.data(), kBytes, 0, pieces_of(4096));
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message().find("ends at byte"), std::string::npos) << report.error().message();
    std::filesystem::resize_file(opened.scratch / "a", 2 * kBytes);
    EXPECT_TRUE(opened.file->read(into.data(), kBytes, 0));
    EXPECT_EQ(part(into, 0, 5000), part(opened.all, 0, 5000));
  }
}

TEST(FileFaults, AnUnlinkedFileIsStillThere) {
  for (const IoEngine engine : kEngines) {
    Opened opened(engine, "r");
    if (!opened.serves(engine)) continue;
    std::filesystem::remove(opened.scratch / "a");
    Block into(kBytes);
    EXPECT_TRUE(opened.file->read(into.data(), kBytes, 0));
    EXPECT_EQ(into, part(opened.all, 0, kBytes));
  }
}

TEST(FileFaults, WithoutDescriptorsOpeningFailsAndReadingGoesOn) {
  Opened opened(IoEngine::automatic, "r");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto other = File::open(opened.scratch / "a");
  Block into(kBytes);
  const auto report = opened.file->read(into.data(), kBytes, 0, pieces_of(65536));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().system_errno(), EMFILE);
  EXPECT_NE(other.error().hint().find("ulimit"), std::string::npos);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(into, part(opened.all, 0, kBytes));
}

TEST(FileFaults, AFileThatChangesUnderARequestGivesItsBytesOrAnError) {
  for (const IoEngine engine : kEngines) {
    Opened opened(engine, "r");
    if (!opened.serves(engine)) continue;
    int read = 0, failed = 0;
    std::atomic<bool> over{false};
    std::thread changes([&] {
      while (!over) {  // the bytes below 5000 stay
        std::filesystem::resize_file(opened.scratch / "a", 5000);
        std::filesystem::resize_file(opened.scratch / "a", kBytes + 100);
      }
    });
    for (int round = 0; round < 100; ++round) {
      Block into(kBytes);
      const auto report = opened.file->read(into.data(), kBytes, 0, pieces_of(16384));
      if (!report) {
        EXPECT_NE(report.error().message().find("ends at byte"), std::string::npos) << report.error().message();
        ++failed;
        continue;
      }
      ++read;
      EXPECT_EQ(part(into, 0, 5000), part(opened.all, 0, 5000));
    }
    over = true;
    changes.join();
    EXPECT_EQ(read + failed, 100);
    std::filesystem::resize_file(opened.scratch / "a", kBytes + 100);
    Block into(kBytes);
    const IoFuture future = opened.file->start_read(into.data(), kBytes, 0, pieces_of(4096));
    std::filesystem::remove(opened.scratch / "a");  // meanwhile
    ASSERT_TRUE(future.get());
    EXPECT_EQ(part(into, 0, 5000), part(opened.all, 0, 5000));
  }
}

TEST(FileFaults, DirectIsNotTakenUnaskedOverANetwork) {
  const ScratchFolder scratch;
  const Block all = pattern(8 << 20);
  put_file(scratch / "a", all);
  is_nfs = true;
  const File file = File::open(scratch / "a").value();
  const File asked = File::open(scratch / "a", "r", {0644, IoEngine::direct, IoEngine::direct}).value();
  is_nfs = false;
  for (const EngineAnswer& answer : file.engines()) {
    if (answer.engine == "direct" && answer.serves) {
      EXPECT_NE(answer.why.find("NFS"), std::string::npos) << answer.why;
    }
  }
  ASSERT_TRUE(file.drop_page_cache());
  Block into(all.size());
  const Report report = file.read(into.data(), into.size(), 0).value();
  EXPECT_EQ(report.stages.at(0).path, "file, buffered, cpu");
  EXPECT_EQ(into, all);
  const auto direct = asked.read(into.data(), into.size(), 0);
  if (direct) {
    EXPECT_EQ(direct->stages.at(0).path, "file, direct, cpu");
  } else {
    EXPECT_EQ(direct.error().code(), ErrorCode::unsupported);
  }
}

TEST(FileFaults, WhereTheKernelDoesNotTellATrialReadDoes) {
  Opened opened(IoEngine::direct, "r");
  if (!opened.serves(IoEngine::direct))
    return;  // no file here is read past the page cache: DirectThatIsRefused says so
  tells_not = true;
  const File file = File::open(opened.scratch / "a", "r", {0644, IoEngine::direct, IoEngine::direct}).value();
  const auto answers = file.engines();
  tells_not = false;
  EXPECT_EQ(answers.at(0).engine, "direct");
  EXPECT_TRUE(answers.at(0).serves);
  EXPECT_EQ(answers.at(0).why, "a trial read worked");
  Block into(kBytes);
  ASSERT_TRUE(file.read(into.data(), kBytes, 0));
  EXPECT_EQ(into, part(opened.all, 0, kBytes));
  // And where the trial fails the page cache has it.
  tells_not = true;
  const File other = File::open(opened.scratch / "a").value();
  fail_call(Call::read, 0, EINVAL);
  const auto refused = other.engines();
  EXPECT_TRUE(stop_failing());
  tells_not = false;
  EXPECT_FALSE(refused.at(0).serves);
  EXPECT_NE(refused.at(0).why.find("trial read failed"), std::string::npos) << refused.at(0).why;
  ASSERT_TRUE(other.read(into.data(), kBytes, 0));
  EXPECT_EQ(into, part(opened.all, 0, kBytes));
}
