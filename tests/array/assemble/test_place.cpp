#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "array/assemble/copy_row.hpp"
#include "array/assemble/job.hpp"
#include "array/assemble/kernel_jobs.hpp"
#include "array/assemble/place.hpp"
#include "array/assemble/random_place.hpp"
#include "device/backend.hpp"
#include "device/launch.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

/// A device refuses what the host forgives: addresses that are no multiple of the vector.
void expect_aligned(const place::KernelJob& job, std::uint64_t vector) {
  std::uint64_t bits = reinterpret_cast<std::uintptr_t>(job.source) | reinterpret_cast<std::uintptr_t>(job.target);
  for (std::uint32_t d = 0; d < job.rank; ++d)
    bits |=
        static_cast<std::uint64_t>(job.loops[d].source_stride) | static_cast<std::uint64_t>(job.loops[d].target_stride);
  ASSERT_EQ(bits % vector, 0u);
}

}  // namespace

TEST(Place, EqualsTheNaiveLoop) {
  std::mt19937 random(7);
  int jobs_of_many = 0;
  for (int round = 0; round < 4000; ++round) {
    RandomPlace p = random_place(random, round % 50 == 0 ? 70 : 12);
    std::vector<std::byte> expected = p.target;
    naive_place(p, expected);
    const PlaceItem item = p.item(p.source.data(), p.target.data());
    ASSERT_TRUE(place_cpu(item));
    ASSERT_EQ(std::memcmp(p.target.data(), expected.data(), expected.size()), 0)
        << "round " << round << " rank " << p.part.size() << " item " << p.item_bytes << " absent " << p.absent;
    PlaceJob job;
    jobs_of_many += !single_job(item, job);
  }
  EXPECT_GT(jobs_of_many, 100);  // the test does reach structures
}

TEST(Place, RowsOfAnyLengthAddressAndOrder) {
  std::vector<std::byte> source(512), target(768), want(768);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + i / 256);
  for (const std::size_t unit : {1u, 2u, 4u, 8u, 16u})
    for (const place::Store store : {place::Store::cached, place::Store::streaming})
      for (std::size_t bytes = 0; bytes <= 336; bytes += unit)
        for (std::size_t shift = 0; shift < 64; shift += bytes % 16 == 0 ? 1 : 13) {
          target.assign(target.size(), std::byte{0xA5});
          place::copy_row(target.data() + 64 + shift, source.data() + shift % 5, bytes, unit, store);
          place::finish_stores();
          want.assign(want.size(), std::byte{0xA5});
          for (std::size_t i = 0; i < bytes; ++i) want[64 + shift + i] = source[shift % 5 + (i ^ (unit - 1))];
          ASSERT_TRUE(target == want) << "unit " << unit << ", " << bytes << " bytes, shift " << shift;
        }
}

TEST(Place, TransposedPlanesOfAnySize) {
  std::mt19937 random(4);
  for (const std::uint32_t item : {1u, 2u, 4u, 8u, 16u})
    for (const std::uint64_t across : {1u, 15u, 16u, 33u, 64u, 100u})
      for (const std::uint64_t along : {2u, 16u, 31u, 256u, 300u})
        for (const bool swap : {false, true}) {
          RandomPlace p;
          p.item_bytes = item;
          p.part = {{0, across, 1}, {0, along, 1}};
          const auto step = static_cast<std::int64_t>(item);
          p.source_strides = {step, step * static_cast<std::int64_t>(across + 1)};
          p.target_strides = {step * static_cast<std::int64_t>(along + 3), step};
          if (swap && item > 1) p.swaps = {{0, item, 1}};
          p.source.resize(item * (across + 1) * along);
          for (std::byte& byte : p.source) byte = static_cast<std::byte>(random());
          p.target.assign(item * across * (along + 3), std::byte{1});
          std::vector<std::byte> expected = p.target;
          naive_place(p, expected);
          PlaceItem item_of = p.item(p.source.data(), p.target.data());
          if (across % 2 == 0) item_of.next_use = PlaceItem::NextUse::soon;
          ASSERT_TRUE(place_cpu(item_of));
          ASSERT_EQ(p.target, expected) << item << " bytes, " << across << " x " << along << (swap ? ", swapped" : "");
        }
}

// Rows that are streamed, and rows that are not: of whole lines or longer than some, at every kind of address.
TEST(Place, EveryUseOfRows) {
  using NextUse = PlaceItem::NextUse;
  constexpr std::size_t kRows = 8, kSource = 600;
  std::mt19937 random(3);
  std::vector<std::byte> source(kSource * kRows), target(4096 + 700 * kRows);
  for (std::byte& byte : source) byte = static_cast<std::byte>(random());
  const std::size_t to_line = 64 - reinterpret_cast<std::uintptr_t>(target.data()) % 64;
  for (const std::size_t row : {2, 32, 62, 64, 128, 130, 256, 258, 512, 600})
    for (const std::size_t pitch : {640, 642, 648, 700})
      for (const std::size_t shift : {0, 2, 32, 64})
        for (const NextUse use : {NextUse::later, NextUse::soon, NextUse::after_all}) {
          std::fill(target.begin(), target.end(), std::byte{1});
          std::vector<std::byte> expected = target;
          for (std::size_t y = 0; y < kRows; ++y)
            std::memcpy(expected.data() + to_line + shift + pitch * y, source.data() + kSource * y, row);
          const Strides from{kSource, 2}, to{static_cast<std::int64_t>(pitch), 2};
          const Region part{{0, kRows, 1}, {0, row / 2, 1}};
          PlaceItem item;
          item.source = source.data();
          item.source_strides = from;
          item.part = part;
          item.target = target.data() + to_line + shift;
          item.target_strides = to;
          item.item_bytes = 2;
          item.next_use = use;
          ASSERT_TRUE(place_cpu(item));
          ASSERT_EQ(target, expected) << row << " bytes, " << pitch << " apart, from " << shift;
        }
}

TEST(Place, LargeTransposeAndRank32) {
  std::mt19937 random(1);
  RandomPlace p;
  p.item_bytes = 2;
  p.part = {{0, 65, 1}, {3, 130, 1}, {0, 33, 1}};
  p.source_strides = {2, 65 * 2, 65 * 2 * 133};  // Fortran order
  p.target_strides = {130 * 33 * 2, 33 * 2, 2};
  p.swaps = {{0, 2, 1}};
  p.source.resize(65 * 133 * 33 * 2);
  for (std::byte& byte : p.source) byte = static_cast<std::byte>(random());
  p.target.assign(65 * 130 * 33 * 2, std::byte{1});
  std::vector<std::byte> expected = p.target;
  naive_place(p, expected);
  ASSERT_TRUE(place_cpu(p.item(p.source.data(), p.target.data())));
  EXPECT_EQ(p.target, expected);

  RandomPlace deep;
  deep.item_bytes = 4;
  deep.part.assign(32, {0, 1, 1});
  deep.source_strides.assign(32, 4);
  deep.target_strides.assign(32, 4);
  for (const std::size_t d : {0u, 9u, 17u, 30u, 31u}) {
    deep.part[d].count = 2;
    deep.source_strides[d] = std::int64_t{4} << (d % 5);
    deep.target_strides[d] = std::int64_t{4} << (4 - d % 5);
  }
  deep.source.resize(4 * 200);
  for (std::byte& byte : deep.source) byte = static_cast<std::byte>(random());
  deep.target.assign(4 * 200, std::byte{1});
  expected = deep.target;
  naive_place(deep, expected);
  const PlaceItem item = deep.item(deep.source.data(), deep.target.data());
  ASSERT_TRUE(place_cpu(item));
  EXPECT_EQ(deep.target, expected);

  // The kernel has fewer loops: ten axes that cannot be merged.
  deep.target.assign(4 * 60000, std::byte{1});
  deep.part.assign(32, {0, 1, 1});
  for (std::size_t d = 0; d < 10; ++d) {
    deep.part[d].count = 2;
    deep.source_strides[d] = std::int64_t{4} << d;
    deep.target_strides[d] = std::int64_t{12} << (9 - d);
  }
  deep.source.assign(4 * 1024, std::byte{2});
  expected = deep.target;
  naive_place(deep, expected);
  const PlaceItem many[] = {deep.item(deep.source.data(), deep.target.data())};
  const place::KernelJobs jobs = place::make_kernel_jobs(many).value();
  EXPECT_EQ(jobs[2].size(), 8u);
  ASSERT_TRUE(place::for_each_batch(jobs, [](const auto& batch, std::uint64_t vectors) -> Status {
    launch_cpu(vectors, batch);
    return {};
  }));
  EXPECT_EQ(deep.target, expected);
}

TEST(Place, LoopsThatContinueEachOtherAreMerged) {
  RandomPlace p;
  p.item_bytes = 2;
  p.part = {{0, 4, 1}, {0, 8, 1}, {0, 16, 1}};
  p.source_strides = {256, 32, 2};
  p.target_strides = {1024, 32, 2};  // rows are together, planes are not
  PlaceJob job;
  std::byte memory{};
  ASSERT_TRUE(single_job(p.item(&memory, &memory), job));
  ASSERT_EQ(job.rank, 2u);
  EXPECT_EQ(job.dims[1].count, 128u);
  p.part = {{3, 4, -1}, {0, 8, 1}, {0, 16, 1}};
  p.target_strides = {-256, 32, 2};  // backwards on both sides is forwards
  ASSERT_TRUE(single_job(p.item(&memory, &memory), job));
  EXPECT_EQ(job.rank, 1u);
}

TEST(Place, TheKernelEqualsTheNaiveLoopOnTheHost) {
  std::mt19937 random(11);
  std::array<std::size_t, 5> used{};  // jobs of each vector size
  for (int round = 0; round < 300; ++round) {
    std::vector<RandomPlace> places;
    for (int i = 0; i <= round % 40; ++i) places.push_back(random_place(random, round % 9 == 0 ? 64 : 11));
    std::vector<std::vector<std::byte>> expected;
    std::vector<PlaceItem> items;
    for (RandomPlace& p : places) {
      expected.push_back(p.target);
      naive_place(p, expected.back());
      items.push_back(p.item(p.source.data(), p.target.data()));
    }
    const place::KernelJobs jobs = place::make_kernel_jobs(items).value();
    for (std::size_t v = 0; v < jobs.size(); ++v) {
      used[v] += jobs[v].size();
      for (const place::KernelJob& job : jobs[v]) expect_aligned(job, std::uint64_t{1} << v);
    }
    ASSERT_TRUE(place::for_each_batch(jobs, [](const auto& batch, std::uint64_t vectors) -> Status {
      launch_cpu(vectors, batch);
      return {};
    }));
    for (std::size_t i = 0; i < places.size(); ++i)
      ASSERT_EQ(places[i].target, expected[i]) << "round " << round << " item " << i << " of " << places[i].item_bytes
                                               << " bytes, absent " << places[i].absent;
  }
  for (std::size_t v = 0; v < used.size(); ++v) EXPECT_GT(used[v], 100u) << v;
}

TEST(Place, TheKernelTakesUsualChunksInWideVectorsAndTransposedOnesInTiles) {
  alignas(16) std::byte memory{};
  RandomPlace p;
  p.item_bytes = 2;
  p.part = {{0, 128, 1}, {0, 128, 1}, {0, 128, 1}};
  p.source_strides = {32768, 256, 2};
  p.target_strides = {2048 * 2048 * 2, 2048 * 2, 2};
  p.swaps = {{0, 2, 1}};
  const PlaceItem usual[] = {p.item(&memory, &memory)};
  const place::KernelJobs wide = place::make_kernel_jobs(usual).value();
  ASSERT_EQ(wide[4].size(), 1u);
  EXPECT_EQ(wide[4][0].count, 128u * 128 * 16);
  p.source_strides = {2, 256, 32768};
  const PlaceItem transposed[] = {p.item(&memory, &memory)};
  const place::KernelJobs tiles = place::make_kernel_jobs(transposed).value();
  ASSERT_EQ(tiles[1].size(), 1u);
  EXPECT_EQ(tiles[1][0].rank, 5u);
  EXPECT_EQ(tiles[1][0].loops[4].target_stride, 2);
  EXPECT_EQ(tiles[1][0].loops[3].source_stride, 2);
}

TEST(Place, RefusesWhatDoesNotFitTogether) {
  std::byte memory[64]{};
  const std::vector<Range> part = {{0, 2, 1}};
  const std::vector<std::int64_t> strides = {4};
  PlaceItem item;
  item.source = memory;
  item.target = memory + 32;
  item.part = part;
  item.source_strides = strides;
  item.target_strides = strides;
  item.item_bytes = 4;
  EXPECT_TRUE(place_cpu(item));
  const auto refused = [](const PlaceItem& bad) {
    return !place_cpu(bad) && place_cpu(bad).error().code() == ErrorCode::invalid_argument;
  };
  PlaceItem bad = item;
  bad.item_bytes = 0;
  EXPECT_TRUE(refused(bad));
  bad = item;
  bad.target_strides = {};
  EXPECT_TRUE(refused(bad));
  bad = item;
  bad.source_strides = {};
  EXPECT_TRUE(refused(bad));
  bad = item;
  const std::vector<Range> many(kMaxRank + 1, Range{0, 1, 1});
  bad.part = many;
  EXPECT_TRUE(refused(bad));
  for (const SwapRun run : {SwapRun{0, 3, 1}, SwapRun{0, 32, 1}, SwapRun{0, 2, 3}, SwapRun{4, 2, 1}, SwapRun{0, 0, 1},
                            SwapRun{0, 4, 0x40000001u}}) {
    bad = item;
    bad.swaps = {&run, 1};
    EXPECT_TRUE(refused(bad)) << run.offset_bytes << " " << run.unit_bytes;
  }
  bad = item;
  bad.source = nullptr;
  bad.fill = ByteView(memory, 3);
  EXPECT_TRUE(refused(bad));
}

TEST(Place, RunsOfDataTypes) {
  using Runs = std::vector<SwapRun>;
  EXPECT_EQ(swap_runs(DType::uint8()), Runs{});
  EXPECT_EQ(swap_runs(DType::uint16()), (Runs{{0, 2, 1}}));
  EXPECT_EQ(swap_runs(DType::complex128()), (Runs{{0, 8, 2}}));
  EXPECT_EQ(swap_runs({Kind::utf32, 12, {}, 1, {}}), (Runs{{0, 4, 3}}));
  DType inner{Kind::structure, 6, {}, 1, {{"a", DType::uint16(), 0, {}}, {"b", DType::uint32(), 2, {}}}};
  DType outer{Kind::structure,
              20,
              {},
              1,
              {{"x", DType::uint8(), 0, {}}, {"y", inner, 1, {2}}, {"z", DType::uint16(), 14, {3}}}};
  EXPECT_EQ(swap_runs(outer), (Runs{{1, 2, 1}, {3, 4, 1}, {7, 2, 1}, {9, 4, 1}, {14, 2, 3}}));
}

TEST(Place, CudaWantsACudaStream) {
  const Error error = place_cuda({}, Stream()).error();
  EXPECT_NE(error.message().find("CUDA"), std::string::npos);
  EXPECT_EQ(error.code(),
            find_backend(Device::Type::cuda) != nullptr ? ErrorCode::invalid_argument : ErrorCode::unsupported);
}
