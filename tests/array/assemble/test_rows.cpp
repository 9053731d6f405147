// Which placements read their source in rows, and that the kernel does so.
#include <gtest/gtest.h>

#include "array/assemble/kernel_jobs.hpp"
#include "array/assemble/random_place.hpp"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr std::uint64_t kLine = 128, kVector = 16;

/// What a job reads, in the order in which it does: whole vectors, each once, in stretches of whole lines.
void expect_rows(const place::KernelJob& job) {
  std::vector<std::int64_t> starts;
  std::int64_t next = 0;
  std::uint64_t run = kLine;  // bytes that followed each other so far
  for (std::uint64_t i = 0; i < job.count; ++i) {
    std::int64_t from = 0, to = 0;
    place::locate(job, i, from, to);
    if (from != next) {
      ASSERT_GE(run, kLine) << "before vector " << i;
      run = 0;
    }
    run += kVector;
    next = from + std::int64_t{kVector};
    starts.push_back(from);
  }
  ASSERT_GE(run, kLine);
  std::sort(starts.begin(), starts.end());
  ASSERT_EQ(std::adjacent_find(starts.begin(), starts.end()), starts.end()) << "a vector is read twice";
}

/// A chunk of 16-bit elements in C order, all of it, on its way into a larger array in C order.
RandomPlace usual(std::uint64_t planes, std::uint64_t rows, std::uint64_t columns) {
  RandomPlace p;
  p.item_bytes = 2;
  p.part = {{0, planes, 1}, {0, rows, 1}, {0, columns, 1}};
  const auto row = static_cast<std::int64_t>(2 * columns);
  p.source_strides = {static_cast<std::int64_t>(rows) * row, row, 2};
  p.target_strides = {1 << 20, 1 << 10, 2};
  return p;
}

alignas(256) std::byte source[64], target[64];  // no one reads or writes them

bool in_rows(const RandomPlace& p, std::size_t source_shift = 0, std::size_t target_shift = 0) {
  return reads_in_rows(p.item(source + source_shift, target + target_shift));
}

}  // namespace

TEST(Rows, UsualChunks) {
  EXPECT_TRUE(in_rows(usual(128, 128, 128)));
  RandomPlace big_endian = usual(32, 32, 32);
  big_endian.swaps = {{0, 2, 1}};
  EXPECT_TRUE(in_rows(big_endian));
  EXPECT_TRUE(in_rows(usual(4, 4, 8))) << "rows of 16 bytes that follow each other";
  EXPECT_TRUE(in_rows(usual(1, 1, 64))) << "one line";
  EXPECT_FALSE(in_rows(usual(1, 1, 56))) << "less than a line";
  EXPECT_FALSE(in_rows(usual(1, 1, 1)));
  RandomPlace complex = usual(4, 4, 8);  // of 16 bytes
  complex.item_bytes = 16;
  complex.source_strides = {512, 128, 16};
  complex.target_strides = {1 << 20, 1 << 10, 16};
  EXPECT_TRUE(in_rows(complex));
}

TEST(Rows, PartsOfChunks) {
  RandomPlace p = usual(8, 8, 128);
  p.part = {{1, 4, 1}, {2, 3, 1}, {64, 64, 1}};
  EXPECT_TRUE(in_rows(p)) << "lines with others between them";
  p.part[2] = {64, 56, 1};
  EXPECT_FALSE(in_rows(p)) << "parts of lines with others between them";
  p.part = {{7, 8, -1}, {7, 8, -2}, {0, 128, 1}};
  EXPECT_TRUE(in_rows(p)) << "whole rows backwards";
  p.part = {{0, 8, 1}, {0, 8, 1}, {127, 128, -1}};
  EXPECT_FALSE(in_rows(p)) << "elements backwards";
  p.part[2] = {0, 64, 2};
  EXPECT_FALSE(in_rows(p)) << "every other element";
  p.part[2] = {0, 120, 1};
  EXPECT_TRUE(in_rows(p));
  p.part[2] = {0, 121, 1};
  EXPECT_FALSE(in_rows(p)) << "rows of 242 bytes";
  p.part[2] = {0, 0, 1};
  EXPECT_FALSE(in_rows(p)) << "nothing";
}

TEST(Rows, WhatIsNot) {
  const RandomPlace chunk = usual(16, 16, 128);
  for (const std::size_t shift : {1u, 2u, 8u}) {
    EXPECT_FALSE(in_rows(chunk, shift, 0)) << shift;
    EXPECT_FALSE(in_rows(chunk, 0, shift)) << shift;
  }
  EXPECT_TRUE(in_rows(chunk, 16, 32));
  RandomPlace p = chunk;
  p.target_strides = {1 << 20, (1 << 10) + 2, 2};
  EXPECT_FALSE(in_rows(p)) << "rows at odd places";
  p.target_strides = {2, 1 << 10, 1 << 20};
  EXPECT_FALSE(in_rows(p)) << "transposed";
  p.target_strides = {1 << 10, 1 << 20, 2};
  EXPECT_TRUE(in_rows(p)) << "whole rows in another order";
  p.target_strides = {1 << 20, 1 << 10, 4};
  EXPECT_FALSE(in_rows(p)) << "a target with gaps";
  p = chunk;
  p.item_bytes = 4;
  p.source_strides = {16 * 512, 512, 4};
  p.target_strides = {1 << 20, 1 << 10, 4};
  EXPECT_TRUE(in_rows(p));
  p.swaps = {{0, 2, 1}};
  EXPECT_FALSE(in_rows(p)) << "a structure of which one field is swapped";
  p = chunk;
  p.absent = true;
  EXPECT_FALSE(in_rows(p)) << "nothing to read";
  p = chunk;
  p.source_strides.pop_back();
  EXPECT_FALSE(in_rows(p)) << "refused by the placement";
}

TEST(Rows, TheKernelReadsThemSo) {
  std::mt19937 random(3);
  int yes = 0, no_but_wide = 0;
  for (int round = 0; round < 20000; ++round) {
    RandomPlace p;
    if (round % 2 == 0) {
      p = random_place(random, 40);
    } else {  // wide ones: some of a chunk, its axes in any order, now and then transposed
      const Shape shape = {1 + random() % 4, 1 + random() % 4, 8 * (1 + random() % 17)};
      p = usual(shape[0], shape[1], shape[2]);
      std::uint64_t bytes = 0;
      p.source_strides = random_order_strides(shape, 2, random, bytes);
      std::swap(p.target_strides[0], p.target_strides[random() % 3 == 0 ? random() % 3 : 0]);
      Range& range = p.part[random() % 3];
      if (random() % 3 == 0) range.count -= random() % range.count;
    }
    const PlaceItem items[] = {p.item(source, target)};
    const place::KernelJobs jobs = place::make_kernel_jobs(items).value();
    if (!reads_in_rows(items[0])) {
      no_but_wide += jobs[4].empty() || p.absent ? 0 : 1;
      continue;
    }
    ++yes;
    ASSERT_EQ(jobs[4].size(), 1u);
    for (std::size_t v = 0; v < 4; ++v) ASSERT_TRUE(jobs[v].empty());
    ASSERT_NO_FATAL_FAILURE(expect_rows(jobs[4][0])) << "round " << round;
  }
  EXPECT_GT(yes, 1000);
  EXPECT_GT(no_but_wide, 300);
}
