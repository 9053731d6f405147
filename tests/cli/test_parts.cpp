#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "cli/kit/outfile.hpp"
#include "cli/kit/progress.hpp"
#include "cli/kit/table.hpp"
#include "cli/look/datetime.hpp"
#include "cli/look/npy.hpp"
#include "cli/measure/codec_times.hpp"
#include "cli/nodes/slices.hpp"
#include "codec/chain.hpp"
#include "core/suggest.hpp"
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

TEST(Progress, EachPartOfACommandHasARateOfItsOwn) {
  ProgressView view({.terminal = false, .color = false}, at(0ms));
  EXPECT_NE(view.update({"simulate", 1u << 30, 1u << 30}, at(100000ms)), "");
  EXPECT_NE(view.update({"simulate", 1u << 20, 1u << 30}, at(105000ms)).find("0.210 MB/s"), std::string::npos);
  EXPECT_EQ(view.update({"simulate", (1u << 20) - 1, 1u << 30}, at(105001ms)), "") << "a thread that tells late";
  EXPECT_NE(view.update({"simulate", 2u << 20, 1u << 30}, at(110000ms)).find("0.210 MB/s"), std::string::npos);
  EXPECT_NE(view.update({"stack", 1u << 20, 1u << 30}, at(115000ms)).find("0.210 MB/s"), std::string::npos);
}

TEST(Progress, CountsWhatIsNotBytesAndSaysWhatElseCameOfIt) {
  const Progress state{"track", 500, 1000, "seeds", "1,234 streamlines"};
  ProgressView log({.terminal = false, .color = false}, at(0ms));
  EXPECT_EQ(log.update(state, at(5000ms)), "track: 500 seeds of 1,000 seeds (50%), 100 seeds/s, 1,234 streamlines\n");
  for (const std::size_t width : {40u, 60u, 80u, 120u}) {
    ProgressView view({.terminal = true, .width = width}, at(0ms));
    const std::string bar = view.update(state, at(2000ms));
    EXPECT_EQ(bar.find("streamlines") != std::string::npos, width >= 80) << bar;
  }
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

TEST(Table, NarrowsItsWidestColumnsToATerminal) {
  Table table("lll");
  table.row({"codecs", "one two three four five six seven eight nine ten", "ok"});
  table.row({"disk", "ext4", "read only for this user of the machine"});
  EXPECT_EQ(table.text(" ", 44),
            " codecs  one two three     ok\n"
            "         four five six\n"
            "         seven eight nine\n"
            "         ten\n"
            " disk    ext4              read only for\n"
            "                           this user of the\n"
            "                           machine\n");
  EXPECT_EQ(table.text(" ", 200), table.text()) << "nothing is folded that fits";
}

TEST(Table, ColoursHaveNoWidth) { EXPECT_EQ(text_width("\x1b[32mok\x1b[0m"), 2u); }

TEST(Datetime, AsNumPyPrintsThem) {
  const auto text = [](const char* unit, std::int64_t value, std::uint32_t count = 1) {
    DType dtype{Kind::datetime, 8, unit, count, {}};
    return datetime_text(dtype, value);
  };
  EXPECT_EQ(text("s", 1577836800), "2020-01-01T00:00:00");
  EXPECT_EQ(text("s", INT64_MIN), "NaT");
  EXPECT_EQ(text("ns", 1577836800123456789), "2020-01-01T00:00:00.123456789");
  EXPECT_EQ(text("ns", -1), "1969-12-31T23:59:59.999999999");
  EXPECT_EQ(text("ms", 1), "1970-01-01T00:00:00.001");
  EXPECT_EQ(text("us", 1, 25), "1970-01-01T00:00:00.000025");
  EXPECT_EQ(text("m", 61), "1970-01-01T01:01");
  EXPECT_EQ(text("h", 25), "1970-01-02T01");
  EXPECT_EQ(text("D", 18321), "2020-02-29");
  EXPECT_EQ(text("D", -719468), "0000-03-01");
  EXPECT_EQ(text("W", 1), "1970-01-08");
  EXPECT_EQ(text("M", -1), "1969-12");
  EXPECT_EQ(text("Y", 54), "2024");
  EXPECT_EQ(text("as", 1), "1970-01-01T00:00:00.000000000000000001");
  EXPECT_EQ(text("s", INT64_MAX), "292277026596-12-04T15:30:07");
  EXPECT_EQ(text("W", INT64_MAX).substr(0, 5), "17676");
  EXPECT_EQ(text("generic", 7), "7");
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
            " stage   path                       why            bytes  rate a thread\n"
            " fetch   file, 2 threads, buffered  local file  1.00 MiB      4.19 MB/s\n"
            " decode  cpu, zstd                  no GPU       954 MiB      2.00 GB/s\n"
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
  EXPECT_EQ(sum.stages[1].why(), "the store's only path; requests: 3; chunks with a neighbour's: 2");
  EXPECT_EQ(sum.stages[2].why(), "the target is host memory") << "stages stay in order";
  EXPECT_NE(sum.json().find(R"("counts":{"requests":7,"chunks with a neighbour's":2})"), std::string::npos)
      << sum.json();
}

TEST(Report, ACopyTellsReadFromWritten) {
  Report copy, read, written;
  copy.operation = "copy";
  read.chunks = 4;
  read.requests = 2;
  read.stages = {{"fetch", "file", "", 1, 1}, {"decode", "cpu, zstd", "", 1, 1}, {"assemble", "cpu", "", 1, 1}};
  written.chunks = written.requests = 3;
  written.written = Traffic{3, 0, 3, 0};
  written.stages = {{"gather", "cpu", "", 1, 1}, {"encode", "cpu, lz4", "", 1, 1}, {"store", "file", "", 1, 1}};
  copy.merge(read);
  copy.merge(written);
  read.stages[1].path = "cpu, blosc";  // the next array has other codecs
  copy.merge(read);
  copy.merge(written);
  std::string stages;
  for (const StageReport& stage : copy.stages) stages += stage.stage + " ";
  EXPECT_EQ(stages, "fetch decode decode assemble gather encode store ");
  EXPECT_NE(copy.text().find("\n read     8 chunks, 4 requests, 0 B stored\n"
                             " written  6 chunks, 6 requests, 0 B stored\n"),
            std::string::npos)
      << copy.text();
  EXPECT_NE(copy.json().find(R"("written":{"chunks":6,"absent_chunks":0,"requests":6,"stored_bytes":0})"),
            std::string::npos);
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

TEST(Slices, FollowOneAnotherInCOrderWithinTheLimit) {
  const Dataset dataset = small_dataset({7, 5, 6}, {2, 3, 4});
  for (const char* text : {"...", "1:6,::2,::-1", "::-2,4:0:-1,3", "6,:,:", "2:5,1:2,1:3"}) {
    const Region region = parse_region(text, dataset.shape).value();
    for (std::uint64_t max_bytes = 1; max_bytes < 450; max_bytes += 7) {
      for (const std::uint64_t first_bytes : {max_bytes, std::uint64_t{2}, std::uint64_t{26}}) {
        Slices slices(region, dataset);
        std::vector<std::uint64_t> got;
        std::uint64_t limit = first_bytes;  // of the first slice: the others may be larger
        while (const auto slice = slices.next(limit)) {
          ASSERT_TRUE(check_region(*slice, dataset.shape)) << text << " " << max_bytes;
          const auto some = positions(*slice, dataset.shape);
          EXPECT_LE(some.size() * 2, std::max<std::uint64_t>(limit, 2)) << text << " " << max_bytes;
          got.insert(got.end(), some.begin(), some.end());
          limit = max_bytes;
        }
        ASSERT_EQ(got, positions(region, dataset.shape)) << text << " " << max_bytes << " after " << first_bytes;
      }
    }
  }
}

TEST(Slices, EndAtChunkBorders) {
  const Dataset dataset = small_dataset({100, 4}, {10, 4});
  Slices slices(parse_region("3:100", dataset.shape).value(), dataset);
  std::vector<std::uint64_t> ends;
  while (const auto slice = slices.next(25 * 8))  // 25 rows fit
    ends.push_back(slice->front().start + slice->front().count);
  EXPECT_EQ(ends, (std::vector<std::uint64_t>{20, 40, 60, 80, 100}));
}

TEST(Slices, ARowOfChunksIsAsTallAsAChunkOrTheRegion) {
  const Dataset dataset = small_dataset({100, 40, 4}, {10, 20, 4});
  const auto row_bytes = [&](const char* text) {
    return Slices(parse_region(text, dataset.shape).value(), dataset).chunk_row_bytes();
  };
  EXPECT_EQ(row_bytes("..."), 10u * 40 * 4 * 2);
  EXPECT_EQ(row_bytes("0:3"), 3u * 40 * 4 * 2);
  EXPECT_EQ(row_bytes("5"), 20u * 4 * 2) << "of one index the next dimension counts";
  const Dataset huge = small_dataset({100, std::uint64_t{1} << 40, std::uint64_t{1} << 40}, {10, 20, 4});
  EXPECT_EQ(Slices(whole(huge.shape), huge).chunk_row_bytes(), UINT64_MAX);
}
TEST(Slices, ScalarsAndNothing) {
  Slices scalar({}, small_dataset({}, {}));
  EXPECT_EQ(scalar.next(1), Region{});
  EXPECT_EQ(scalar.next(1), std::nullopt);
  Slices nothing({{0, 0, 1}, {0, 4, 1}}, small_dataset({100, 4}, {10, 4}));
  EXPECT_EQ(nothing.next(100), std::nullopt);
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
