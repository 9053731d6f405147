#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "cli/codec_times.hpp"
#include "cli/npy.hpp"
#include "cli/outfile.hpp"
#include "cli/pieces.hpp"
#include "cli/progress.hpp"
#include "cli/suggest.hpp"
#include "cli/table.hpp"
#include "codec/chain.hpp"
#include "penstock/report.hpp"
#include "store/forbid.hpp"
#include "store/in_child.hpp"
#include "store/store_kinds.hpp"

using namespace penstock;
using namespace penstock::cli;
using namespace std::chrono_literals;

namespace {

ProgressView::Clock::time_point at(std::chrono::milliseconds t) { return ProgressView::Clock::time_point(t); }

Progress half() { return {"copy", 1u << 29, 1u << 30}; }

}  // namespace

TEST(Progress, NothingOnATerminalInTheFirstSecond) {
  ProgressView view({.terminal = true}, at(0ms));
  EXPECT_EQ(view.update(half(), at(999ms)), "");
  EXPECT_EQ(view.finish(), "") << "nothing was drawn, nothing to wipe";
  const std::string bar = view.update(half(), at(1000ms));
  EXPECT_EQ(bar.front(), '\r');
  EXPECT_NE(bar.find("50%"), std::string::npos) << bar;
  EXPECT_NE(bar.find("0.537 GB/s"), std::string::npos) << bar;
  EXPECT_NE(bar.find("1.00 s left"), std::string::npos) << bar;
  EXPECT_EQ(bar.find('\n'), std::string::npos);
  EXPECT_EQ(bar.find("\x1b[36m"), std::string::npos) << "no colour unless asked";
  EXPECT_EQ(view.finish(), "\r\x1b[K");
}

TEST(Progress, BarFitsTheTerminal) {
  for (const std::size_t width : {60u, 80u, 200u}) {
    ProgressView view({.terminal = true, .width = width}, at(0ms));
    const std::string bar = view.update(half(), at(2000ms));
    EXPECT_LT(bar.size() - 1 - 3, width) << bar;  // less the carriage return and the wipe
  }
}

TEST(Progress, ALineEveryFiveSecondsInALog) {
  ProgressView view({.terminal = false, .color = false}, at(0ms));
  EXPECT_EQ(view.update(half(), at(4999ms)), "");
  EXPECT_EQ(view.update(half(), at(5000ms)), "copy: 512 MiB of 1.00 GiB (50%), 0.107 GB/s\n");
  EXPECT_EQ(view.update(half(), at(9999ms)), "");
  EXPECT_NE(view.update(half(), at(10000ms)), "");
  EXPECT_EQ(view.finish(), "");
}

TEST(Progress, NoTotalIsNoDivision) {
  ProgressView view({.terminal = true}, at(0ms));
  EXPECT_NE(view.update({"read", 0, 0}, at(2000ms)).find("100%"), std::string::npos);
}

TEST(Suggest, CountsEdits) {
  EXPECT_EQ(edit_distance("zstd", "zstd"), 0u);
  EXPECT_EQ(edit_distance("zstdd", "zstd"), 1u);
  EXPECT_EQ(edit_distance("ifno", "info"), 1u) << "a swap is one slip";
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
}

TEST(Suggest, OnlyNearWords) {
  const std::vector<std::string> known = {"info", "copy", "verify"};
  EXPECT_EQ(nearest("ver", known), "verify") << "a beginning counts";
  EXPECT_EQ(nearest("cpoy", known), "copy");
  EXPECT_EQ(nearest("xyzzy", known), std::nullopt);
  EXPECT_EQ(nearest("", known), std::nullopt);
  EXPECT_EQ(nearest("4", std::vector<std::string>{"2", "3"}), std::nullopt) << "nothing is left of the word";
}

TEST(Table, AlignsByCharactersNotBytes) {
  Table table("lr");
  table.row({"µm", "1"});
  table.row({"abc", "22"});
  table.row({"x", ""});
  EXPECT_EQ(table.text(), " µm    1\n abc  22\n x\n");
}

TEST(Table, WrapsAtWords) {
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("a\n\nb", 7), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(wrap("unbreakable", 3), (std::vector<std::string>{"unbreakable"})) << "a long word is kept whole";
}

TEST(Npy, HeaderIsPaddedTo64AndEndsInNewline) {
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{3, 4}, Shape(32, 18446744073709551615u)}) {
    const std::string header = npy_header(DType::uint16(), shape).value();
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(header.back(), '\n');
    EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    const std::size_t length = static_cast<unsigned char>(header[8]) + 256u * static_cast<unsigned char>(header[9]);
    EXPECT_EQ(length + 10, header.size());
  }
  EXPECT_NE(npy_header(DType::uint16(), Shape{5}).value().find("'shape': (5,), }"), std::string::npos);
  EXPECT_NE(npy_header(DType::uint16(), Shape{}).value().find("'shape': (), }"), std::string::npos);
}

TEST(Npy, StructuresKeepTheirGaps) {
  DType record{Kind::structure, 12, {}, 1, {}};
  record.fields = {{"a", DType::uint8(), 0, {}}, {"b'", DType::float32(), 4, {2}}};
  const std::string header = npy_header(record, Shape{1}).value();
  EXPECT_NE(header.find(R"([('a', '|u1'), ('', '|V3'), ('b\'', '<f4', (2,)), ])"), std::string::npos) << header;
  record.fields[1].name = "\xC2\xB5";
  EXPECT_EQ(npy_header(record, Shape{1}).value()[6], 3) << "names outside ASCII need version 3";
}

TEST(Npy, RefusesWhatNumPyHasNoBytesFor) {
  const auto strings = npy_header({Kind::vlen_utf8, 16, {}, 1, {}}, Shape{1});
  ASSERT_FALSE(strings);
  EXPECT_EQ(strings.error().code(), ErrorCode::unsupported);
  EXPECT_FALSE(npy_header(DType::bfloat16(), Shape{1}));
}

TEST(Report, TextHasStagesAndProblems) {
  Report report;
  report.operation = "read";
  report.wall_seconds = 0.5;
  report.decoded_bytes = 1'000'000'000;
  report.stored_bytes = 1 << 20;
  report.requests = 514;
  report.chunks = 512;
  report.absent_chunks = 3;
  report.threads = 2;
  report.budget_bytes = 1u << 30;
  report.peak_host_bytes = 1 << 20;
  report.stages = {{"fetch", "file, 2 threads, buffered", "local file", 1 << 20, 0.25},
                   {"decode", "cpu, zstd", "no GPU", 1'000'000'000, 0.5}};
  report.problems = {{"c/0/0", "zstd: cut short"}};
  EXPECT_EQ(report.text(),
            " read: 954 MiB in 500 ms, 2.00 GB/s\n"
            " 512 chunks (3 absent: fill value), 514 requests, 1.00 MiB stored\n"
            " stage   path                       why            bytes  GB/s a thread\n"
            " fetch   file, 2 threads, buffered  local file  1.00 MiB           0.00\n"
            " decode  cpu, zstd                  no GPU       954 MiB           2.00\n"
            " memory 1.00 MiB of a budget of 1.00 GiB; 2 threads\n"
            " bad  c/0/0  zstd: cut short\n");
}

TEST(Report, PartsAreSummed) {
  Report sum, part;
  part.requests = 4;
  part.stages = {{"fetch", "file", "the store's only path", 10, 0.5, {{"requests", 4}}},
                 {"decode", "cpu, zstd", "the target is host memory", 20, 1}};
  sum.merge(part);
  part.stages[0].counts = {{"requests", 3}, {"chunks with a neighbour's", 2}};
  sum.merge(part);
  part.stages[0].path = "memory";
  sum.merge(part);
  ASSERT_EQ(sum.stages.size(), 3u);
  EXPECT_EQ(sum.stages[0].why(), "the store's only path; requests: 7; chunks with a neighbour's: 2");
  EXPECT_EQ(sum.stages[0].bytes, 20u);
  EXPECT_EQ(sum.stages[1].why(), "the target is host memory");
  EXPECT_EQ(sum.stages[2].why(), "the store's only path; requests: 3; chunks with a neighbour's: 2");
  EXPECT_NE(sum.json().find(R"("counts":{"requests":7,"chunks with a neighbour's":2})"), std::string::npos)
      << sum.json();
}

TEST(Report, LongListsOfProblemsAreCutInTextOnly) {
  Report report;
  report.problems.resize(1033, {"k", "m"});
  EXPECT_NE(report.text().find(" and 1,013 more\n"), std::string::npos);
  std::size_t count = 0;
  const std::string json = report.json();
  for (std::size_t at = json.find("\"key\""); at != std::string::npos; at = json.find("\"key\"", at + 1)) ++count;
  EXPECT_EQ(count, 1033u);
}

namespace {

/// Positions in C order of all elements of a region of `shape`.
std::vector<std::uint64_t> positions(const Region& region, const Shape& shape) {
  std::vector<std::uint64_t> all = {0};
  for (std::size_t d = 0; d < region.size(); ++d) {
    std::vector<std::uint64_t> longer;
    for (const std::uint64_t base : all)
      for (std::uint64_t i = 0; i < region[d].count; ++i)
        longer.push_back(base * shape[d] + region[d].start + i * static_cast<std::uint64_t>(region[d].step));
    all = std::move(longer);
  }
  return all;
}

Dataset small_dataset(Shape shape, Shape chunks) {
  Dataset dataset;
  dataset.shape = std::move(shape);
  dataset.chunk_shape = std::move(chunks);
  dataset.dtype = DType::uint16();
  return dataset;
}

}  // namespace

TEST(Pieces, FollowOneAnotherInCOrderWithinTheLimit) {
  const Dataset dataset = small_dataset({7, 5, 6}, {2, 3, 4});
  for (const char* text : {"...", "1:6,::2,::-1", "::-2,4:0:-1,3", "6,:,:", "2:5,1:2,1:3"}) {
    const Region region = parse_region(text, dataset.shape).value();
    for (std::uint64_t most = 1; most < 450; most += 7) {
      Pieces pieces(region, dataset, most);
      std::vector<std::uint64_t> got;
      while (const auto piece = pieces.next()) {
        ASSERT_TRUE(check_region(*piece, dataset.shape)) << text << " " << most;
        const auto some = positions(*piece, dataset.shape);
        EXPECT_LE(some.size() * 2, std::max<std::uint64_t>(most, 2)) << text << " " << most;
        got.insert(got.end(), some.begin(), some.end());
      }
      ASSERT_EQ(got, positions(region, dataset.shape)) << text << " " << most;
    }
  }
}

TEST(Pieces, EndAtChunkBorders) {
  const Dataset dataset = small_dataset({100, 4}, {10, 4});
  Pieces pieces(parse_region("3:100", dataset.shape).value(), dataset, 25 * 8);  // 25 rows fit
  std::vector<std::uint64_t> ends;
  while (const auto piece = pieces.next()) ends.push_back(piece->front().start + piece->front().count);
  EXPECT_EQ(ends, (std::vector<std::uint64_t>{20, 40, 60, 80, 100}));
}

TEST(Pieces, ScalarsAndNothing) {
  Pieces scalar({}, small_dataset({}, {}), 1);
  EXPECT_EQ(scalar.next(), Region{});
  EXPECT_EQ(scalar.next(), std::nullopt);
  Pieces nothing({{0, 0, 1}, {0, 4, 1}}, small_dataset({100, 4}, {10, 4}), 100);
  EXPECT_EQ(nothing.next(), std::nullopt);
}

TEST(CodecTimes, EveryCaseIsOfTheDecoderWhoseNameItHasAndTheBuiltInTableKnowsIt) {
  for (const CodecCase& codec : codec_cases())
    for (const Sample sample : codec.samples) {
      const DType dtype = sample_dtype(sample);
      const auto chain = CodecChain::make(codec.chain(), {{4096}, dtype, {}});
      ASSERT_TRUE(chain) << codec.name << ": " << chain.error().message();
      const auto device = DeviceChain::make(*chain);
      ASSERT_TRUE(device) << codec.name << ": " << device.error().message();
      EXPECT_EQ(device->text(), codec.name + " (own)");
      const CodecCosts built_in;
      EXPECT_TRUE(device->device_seconds(built_in, 100)) << codec.name;
      EXPECT_TRUE(device->cpu_seconds(built_in, 100, 4)) << codec.name;
    }
}

// The CPU runs the same source as a device.
TEST(CodecTimes, ABatchOnADeviceIsTimedAndChecked) {
  TimesOptions options;
  options.device = Device{};
  options.device_bytes = 24 << 20;
  const auto& adler = *std::ranges::find(codec_cases(), "adler32", &CodecCase::name);
  const auto rows = CodecTimes(options).measure(adler);
  ASSERT_TRUE(rows) << rows.error().message();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].by, DecodedBy::core);
  EXPECT_EQ((*rows)[1].by, DecodedBy::device);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> batches;
  for (const CostPoint& point : (*rows)[1].points) batches.emplace_back(point.chunk_bytes >> 16, point.chunks);
  EXPECT_EQ(batches,
            (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 1}, {1, 8}, {1, 64}, {16, 1}, {16, 8}, {64, 1}}))
      << "as many as the memory holds";
}

TEST(OutFile, IsMadeWithoutLinksAndNeverOverAnother) {
  const test::TemporaryDirectory scratch;
  const std::string path = scratch / "out.raw";
  const std::vector<std::vector<test::Forbidden>> failing{
      {}, {{SYS_renameat2, EINVAL}}, {{SYS_renameat2, EINVAL}, {SYS_link, EPERM}, {SYS_linkat, EPERM}}};
  for (const auto& calls : failing) {
    EXPECT_EQ(test::in_child([&]() -> std::string {
                if (!calls.empty() && !test::forbid(calls)) return "no filter";
                auto first = cli::OutFile::create(path, false), second = cli::OutFile::create(path, false);
                if (!first || !second) return "not begun";
                if (::write(first->fd(), "1", 1) != 1) return "not written";
                if (const Status done = first->commit(); !done) return done.error().message();
                const Status late = second->commit();
                return late ? "replaced" : late.error().message();
              }),
              path + ": already exists");
    EXPECT_EQ(std::filesystem::file_size(path), 1u);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
    std::filesystem::remove(path);
  }
}

TEST(OutFile, TakesAnotherNameThanOneThatIsHeld) {
  const test::TemporaryDirectory scratch;
  const std::string path = scratch / "out.raw", other = path + ".penstock-" + std::to_string(::getpid()) + "-0.part";
  const int held = ::open(other.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);  // by a container with our number
  ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0);
  auto file = cli::OutFile::create(path, false);
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_TRUE(file->commit());
  EXPECT_TRUE(std::filesystem::exists(other));
  ::close(held);
  ASSERT_TRUE(cli::OutFile::create(path, true));
  EXPECT_FALSE(std::filesystem::exists(other)) << "left behind now";
}
