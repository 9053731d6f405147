#include <gtest/gtest.h>

#include "core/units.hpp"

using namespace penstock;
using namespace std::chrono_literals;

TEST(Units, BytesAreReadStrictly) {
  EXPECT_EQ(parse_bytes("4096").value(), 4096u);
  EXPECT_EQ(parse_bytes("4MiB").value(), 4u << 20);
  EXPECT_EQ(parse_bytes("1.5GiB").value(), 3ull << 29);
  EXPECT_EQ(parse_bytes("2GB").value(), 2'000'000'000u);
  EXPECT_EQ(parse_bytes("0").value(), 0u);
  EXPECT_EQ(parse_bytes("9007199254740993").value(), 9007199254740993u);  // 2^53 + 1: no trip through double
  for (const char* bad : {"", "4M", "4m", "4mib", "4 MiB", " 4MiB", "-4MiB", "+4", "4MiBx", "1e6", "0x10", ".5GiB",
                          "5.GiB", "1.2.3MiB", "nan", "inf", "99999999999TiB", "18446744073709551615"}) {
    const auto r = parse_bytes(bad);
    ASSERT_FALSE(r) << bad;
    EXPECT_EQ(r.error().code(), ErrorCode::invalid_argument);
    EXPECT_NE(r.error().message().find("MiB"), std::string::npos) << "says what is accepted";
  }
}

TEST(Units, DurationsNeedAUnit) {
  EXPECT_EQ(parse_duration("500ms").value(), 500ms);
  EXPECT_EQ(parse_duration("1.5h").value(), 90min);
  EXPECT_EQ(parse_duration("10us").value(), 10us);
  for (const char* bad : {"", "5", "5 s", "-1s", "5m", "1s2", "9999999999h"}) EXPECT_FALSE(parse_duration(bad)) << bad;
}

TEST(Units, PeopleCanReadThem) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(4ull << 30), "4.00 GiB");
  EXPECT_EQ(format_count(1048576), "1,048,576");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_rate(9'800'000'000, 1), "9.80 GB/s");
  EXPECT_EQ(format_rate(107'000'000, 1), "0.107 GB/s");
  EXPECT_EQ(format_rate(53'700'000, 1), "53.7 MB/s");
  EXPECT_EQ(format_rate(9'800, 1), "9.80 kB/s");
  EXPECT_EQ(format_rate(3, 1), "0.003 kB/s");
  EXPECT_EQ(format_seconds(161), "2 min 41 s");
}
