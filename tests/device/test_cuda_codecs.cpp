// Every codec's device decoder on a GPU: the contract harness's cases, damaged inputs in the same batch.
#include <gtest/gtest.h>

#include <cstdio>

#include "contract/checks.hpp"
#include "device/gpu.hpp"
#include "device/number_filters.hpp"

using namespace penstock;
using namespace penstock::contract;

namespace {

ChunkSpec chunk_of(const DType& dtype, const Shape& shape) {
  return {shape, dtype, std::vector<std::byte>(dtype.size_bytes, std::byte{0})};
}

}  // namespace

TEST(GpuCodecs, EqualTheCpuAlsoBesideDamagedChunks) {
  int passed = 0;
  for (const Case& c : codec_cases()) {
    int here = 0;
    for (const DType& dtype : codec_dtypes()) {
      if (dtype.is_vlen()) continue;
      for (const Shape& shape : {Shape{3, 37}, Shape{8, 40}, Shape{16, 9, 64}, Shape{1}, Shape{0}}) {
        const bool flips = shape == Shape{8, 40};
        const Check check = check_device(c, chunk_of(dtype, shape), flips, test::kGpu);
        EXPECT_NE(check.outcome, Outcome::failed)
            << c.label << " / " << type_name(dtype) << " " << to_string(shape) << ": " << check.text;
        here += check.outcome == Outcome::passed;
      }
    }
    if (here > 0) std::printf("%-28s %d\n", c.label.c_str(), here);
    passed += here;
  }
  EXPECT_GT(passed, 300);
}

TEST(GpuCodecs, EveryCastHasTheBitsOfTheCpu) { test::expect_all_casts(test::kGpu); }
TEST(GpuCodecs, EveryScaledPairHasTheBitsOfTheCpu) { test::expect_all_scaled(test::kGpu); }
