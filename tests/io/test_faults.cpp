// Calls of the system that fail, are interrupted or do less than asked; files that change under a request.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "faults/failing_calls.hpp"
#include "io/files.hpp"
#include "penstock/io.hpp"

using namespace penstock;
using namespace penstock::test;

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
