#include <fmt/format.h>

#include "contract/checks.hpp"
#include "contract/modes.hpp"
#include "contract/operators.hpp"

namespace penstock::contract {
namespace {

struct Tally {
  int passed = 0, failed = 0, not_supported = 0;

  void count(const Case& c, const ChunkSpec& chunk, std::string_view what, const Check& check) {
    if (count(check))
      fmt::print("FAILED  {} / {} / {} {}: {}\n", c.label, what, type_name(chunk.dtype), to_string(chunk.shape),
                 check.text);
  }
  /// Whether it failed.
  bool count(const Check& check) {
    switch (check.outcome) {
      case Outcome::passed: ++passed; return false;
      case Outcome::not_supported: ++not_supported; return false;
      case Outcome::failed: ++failed;
    }
    return true;
  }
  /// Whether all is well.
  [[nodiscard]] bool print(std::string_view label) const {
    fmt::print("{:<28} {:>4} passed  {:>4} failed  {:>4} not supported\n", label, passed, failed, not_supported);
    return failed == 0 && passed > 0;
  }
};

ChunkSpec chunk_of(const DType& dtype, const Shape& shape, std::byte fill) {
  if (dtype.is_vlen()) return {shape, dtype, {}};
  return {shape, dtype, std::vector<std::byte>(dtype.size_bytes, fill)};
}

void test_case(const Case& c, Tally& tally) {
  for (const DType& dtype : codec_dtypes()) {
    for (const Shape& shape : codec_shapes()) {
      const ChunkSpec chunk = chunk_of(dtype, shape, std::byte{0});
      tally.count(c, chunk, "round trip", check_round_trip(c, chunk));
    }
    const ChunkSpec small = chunk_of(dtype, {3, 37}, std::byte{1});
    tally.count(c, small, "truncation", check_truncation(c, small));
    tally.count(c, small, "device", check_device(c, small, false, {}));
    const ChunkSpec large = chunk_of(dtype, {16, 9, 64}, std::byte{0});
    tally.count(c, large, "device, large", check_device(c, large, false, {}));
  }
  const DType text{Kind::vlen_utf8, sizeof(VlenRef), {}, 1, {}};
  for (const DType& dtype : {DType::boolean(), DType::int16(), DType::float32(), text}) {
    const ChunkSpec small = chunk_of(dtype, {8, 40}, std::byte{1});
    tally.count(c, small, "bit flips", check_bit_flips(c, small));
    tally.count(c, small, "device, bit flips", check_device(c, small, true, {}));
  }
}

}  // namespace

int run_tests(std::string_view name) {
  bool failed = false;
  for (const Case& c : codec_cases()) {
    if (c.label.find(name) == std::string::npos) continue;
    Tally tally;
    test_case(c, tally);
    failed = !tally.print(c.label) || failed;
  }
  for (const OperatorCase& c : operator_cases()) {
    if (c.call.name.find(name) == std::string::npos) continue;
    Tally tally;
    for (const DType& dtype : operator_dtypes()) {
      const Check check = check_operator(c, dtype);
      if (tally.count(check))
        fmt::print("FAILED  {} {} / {}: {}\n", c.call.name, c.call.arguments, type_name(dtype), check.text);
    }
    failed = !tally.print(c.call.name) || failed;
  }
  return failed ? 1 : 0;
}

int print_list() {
  for (const Case& c : codec_cases()) fmt::print("{:<28} {}\n", c.codec, c.label);
  for (const OperatorCase& c : operator_cases()) fmt::print("{:<28} {}\n", c.call.name, c.call.arguments);
  return 0;
}

}  // namespace penstock::contract
