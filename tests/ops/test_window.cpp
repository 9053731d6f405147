// Ranks under a footprint: the loops of the CPU for every set of instructions, and what a device runs, against a sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ops/window/window.hpp"

using namespace penstock;
using namespace penstock::window;

namespace {

template <class K>
struct Work {
  // 3 x 5 rows of 45 outputs; a footprint of up to 3 x 3 x 9 in the extended box.
  static constexpr std::uint64_t kIn[3] = {5, 7, 53}, kOut[3] = {3, 5, 45};
  std::vector<K> in, out, expected;
  std::vector<std::int64_t> offsets;
  RankJob<K> job;

  Work(std::uint32_t count, std::uint32_t rank, std::mt19937& random) : in(5 * 7 * 53), out(3 * 5 * 45) {
    for (K& v : in) v = static_cast<K>(random() % 97);
    std::vector<std::int64_t> all;
    for (std::int64_t z = 0; z < 3; ++z)
      for (std::int64_t y = 0; y < 3; ++y)
        for (std::int64_t x = 0; x < 9; ++x) all.push_back((z * 7 + y) * 53 + x);
    std::shuffle(all.begin(), all.end(), random);
    offsets.assign(all.begin(), all.begin() + count);
    job.in = in.data();
    job.out = out.data();
    job.set_offsets(offsets);
    job.rank = rank;
    job.dimensions = 2;
    job.extent[0] = 3, job.extent[1] = 5;
    job.stride[0] = 7 * 53, job.stride[1] = 53;
    job.rows = 15, job.width = 45;
    for (std::uint64_t i = 0; i < out.size(); ++i) {
      std::vector<K> under;
      const std::uint64_t at = i / 45 / 5 * 7 * 53 + i / 45 % 5 * 53 + i % 45;
      for (const std::int64_t offset : offsets) under.push_back(in[at + static_cast<std::uint64_t>(offset)]);
      std::sort(under.begin(), under.end());
      expected.push_back(under[rank]);
    }
  }
  void expect(const char* what) {
    ASSERT_EQ(out, expected) << what << ": rank " << job.rank << " of " << job.count;
    std::fill(out.begin(), out.end(), K(0));
  }
};

template <class K>
void expect_ranks() {
  std::mt19937 random(6);
  Options options;
  options.threads = 2;
  Job threads(options, "test", 0, 2);
  for (const std::uint32_t count : {1u, 2u, 3u, 9u, 25u, 27u, 64u, 65u, 81u})
    for (const std::uint32_t rank : {0u, count / 4, count / 2, count - 1}) {
      Work<K> work(count, rank, random);
      for (int isa = 0; isa <= static_cast<int>(best_isa()); ++isa) {
        ASSERT_TRUE(run_on_cpu(work.job, threads, static_cast<Isa>(isa)));
        work.expect("loops");
      }
      const auto one_by_one = [&](const auto& element) {
        for (std::uint64_t i = 0; i < work.out.size(); ++i) element(i);
        work.expect("one by one");
      };
      one_by_one(RankElement<K, 0>{work.job});
      if (rank != count / 2) continue;
      if (count == 9) one_by_one(RankElement<K, 9>{work.job});
      if (count == 25) one_by_one(RankElement<K, 25>{work.job});
      if (count == 27) one_by_one(RankElement<K, 27>{work.job});
    }
}

/// The nine columns of 3 x 3 x 3, in rows of any length.
template <class K>
void expect_threes(std::mt19937& random) {
  for (const std::uint64_t width : {1u, 2u, 3u, 4u, 5u, 45u}) {
    Work<K> work(27, 13, random);
    work.offsets.clear();
    for (std::int64_t k = 0; k < 27; ++k) work.offsets.push_back((k / 9 * 7 + k / 3 % 3) * 53 + k % 3);
    work.job.set_offsets(work.offsets);
    work.job.in_threes = true;
    work.job.width = width;
    const MedianOfThrees<K> threes{work.job};
    for (std::uint64_t i = 0; i < 15 * threes.groups(); ++i) threes(i);
    std::vector<K> made(work.out.begin(), work.out.begin() + static_cast<std::ptrdiff_t>(15 * width));
    for (std::uint64_t i = 0; i < 15 * width; ++i) RankElement<K, 0>{work.job}(i);
    work.out.resize(15 * width);
    ASSERT_EQ(made, work.out) << width;
  }
}

}  // namespace

TEST(Window, MediansOfThreesShareTheirColumns) {
  std::mt19937 random(9);
  for (int round = 0; round < 20; ++round) {
    expect_threes<std::uint8_t>(random);
    expect_threes<std::uint16_t>(random);
    expect_threes<std::uint32_t>(random);
    expect_threes<std::uint64_t>(random);
    if (HasFatalFailure()) return;
  }
}

TEST(Window, RanksAreThoseOfASort) {
  expect_ranks<std::uint8_t>();
  expect_ranks<std::uint16_t>();
  expect_ranks<std::uint32_t>();
  expect_ranks<std::uint64_t>();
}
