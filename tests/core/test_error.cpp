#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "penstock/bytes.hpp"
#include "penstock/dtype.hpp"
#include "penstock/error.hpp"

using namespace penstock;

namespace {
Result<int> fails() { return Error(ErrorCode::corrupt_data, "literals run past the block at byte 4711"); }
Result<int> adds_context() {
  PENSTOCK_ASSIGN_IN(const int x, fails(), "codec zstd");
  return x;
}
Status adds_key() {
  PENSTOCK_TRY_IN(adds_context(), "c/0/3/7");
  return {};
}
}  // namespace

TEST(Error, ContextIsPutInFront) {
  const Status s = adds_key();
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().message(), "c/0/3/7: codec zstd: literals run past the block at byte 4711");
  EXPECT_EQ(s.error().code(), ErrorCode::corrupt_data);
  EXPECT_THROW(s.value(), Exception);
}

TEST(Result, ValueOfATemporaryOutlivesIt) {
  struct Watched {
    bool* gone;
    std::vector<int> items;
    Watched(bool* flag, std::vector<int> values) : gone(flag), items(std::move(values)) {}
    Watched(Watched&& other) noexcept : gone(std::exchange(other.gone, nullptr)), items(std::move(other.items)) {}
    ~Watched() {
      if (gone) *gone = true;
    }
  };
  bool gone = false;
  {
    auto&& kept = Result<Watched>(Watched(&gone, {1, 2, 3})).value();
    EXPECT_FALSE(gone);
    EXPECT_EQ(kept.items.size(), 3u);
  }
  EXPECT_TRUE(gone);
  int sum = 0;
  for (const int x : Result<std::vector<int>>(std::vector<int>{1, 2, 3}).value()) sum += x;
  EXPECT_EQ(sum, 6);
}

TEST(Error, TheTableIsComplete) {
  std::set<std::string_view> names;
#define PENSTOCK_ERROR(name, meaning, python, exit_code)         \
  EXPECT_TRUE(names.insert(error_name(ErrorCode::name)).second); \
  EXPECT_FALSE(error_meaning(ErrorCode::name).empty());          \
  EXPECT_FALSE(error_python_type(ErrorCode::name).empty());      \
  EXPECT_GT(error_exit_code(ErrorCode::name), 0);
#include "penstock/error_codes.def"
#undef PENSTOCK_ERROR
  EXPECT_EQ(error_exit_code(ErrorCode::corrupt_data), 65);
  EXPECT_EQ(error_python_type(ErrorCode::not_found), "FileNotFoundError");
}

TEST(Bytes, AreCountedAndRefuseTheImpossible) {
  const std::uint64_t before = host_bytes_in_use();
  {
    Bytes b;
    ASSERT_TRUE(b.resize(1000));
    EXPECT_GE(host_bytes_in_use(), before + 1000);
    b.data()[0] = std::byte{7};
    ASSERT_TRUE(b.resize(1 << 20));
    EXPECT_EQ(b.data()[0], std::byte{7});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % 64, 0u);
    EXPECT_EQ(b.resize(std::uint64_t{1} << 62).error().code(), ErrorCode::out_of_memory);
    EXPECT_EQ(b.data()[0], std::byte{7}) << "a failed resize leaves the content";
  }
  EXPECT_EQ(host_bytes_in_use(), before);
}

TEST(DType, NamesAreReadAndWritten) {
  for (const char* name : {"bool", "int8", "uint64", "float16", "bfloat16", "complex128", "r24", "string"})
    EXPECT_EQ(parse_dtype_name(name).value().name(), name);
  for (const char* bad : {"", "r7", "r0", "int9", "r99999999999999999999", "uint16 "})
    EXPECT_FALSE(parse_dtype_name(bad)) << bad;
  EXPECT_EQ(DType::complex64().swap_unit(), 4u);
  EXPECT_EQ(DType::uint16().numpy(), "<u2");
}
