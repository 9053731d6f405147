// Each rule of the Team contract, and that breaking it is noticed.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "device/teams.hpp"

using namespace penstock;

namespace {

/// Differences undone along a row: a kernel that uses maps, scans and broadcasts.
template <class Team>
void running_sum(const Team& team, std::uint16_t* row, std::uint32_t n) {
  std::uint16_t carry = 0;
  for (std::uint32_t base = 0; base < n; base += Team::lanes) {
    auto value = team.map([&](std::uint32_t lane) { return base + lane < n ? row[base + lane] : std::uint16_t{0}; });
    value = team.inclusive_sum(value);
    team.each_lane([&](std::uint32_t lane) {
      if (base + lane < n) row[base + lane] = static_cast<std::uint16_t>(Team::at(value, lane) + carry);
    });
    carry = static_cast<std::uint16_t>(carry + team.broadcast(value, Team::lanes - 1));
  }
}

/// The classic mistake: an overlapping copy in one region reads what it writes.
template <class Team>
void racy_copy(const Team& team, std::uint8_t* data, std::uint32_t distance, std::uint32_t n) {
  team.for_each(n, [&](std::uint32_t i) { data[distance + i] = data[i]; });
}

template <class Team>
std::uint32_t first_zero(const Team& team, const std::uint8_t* data) {
  return team.first(team.map([&](std::uint32_t lane) { return data[lane] == 0; }));
}

std::vector<std::uint16_t> row_of(std::uint32_t n) {
  std::vector<std::uint16_t> row(n);
  for (std::uint32_t i = 0; i < n; ++i) row[i] = static_cast<std::uint16_t>(i * 2654435761u >> 7);
  return row;
}

}  // namespace

TEST(Team, AllExecutorsAgreeWithThePlainLoop) {
  FiberWarp<> warp;
  for (const std::uint32_t n : {0u, 1u, 31u, 32u, 33u, 64u, 1000u}) {
    std::vector<std::uint16_t> expected = row_of(n), host = row_of(n), perm = row_of(n), fiber = row_of(n);
    std::partial_sum(expected.begin(), expected.end(), expected.begin(),
                     [](std::uint16_t a, std::uint16_t b) { return static_cast<std::uint16_t>(a + b); });
    running_sum(HostTeam<>(), host.data(), n);
    EXPECT_EQ(host, expected);
    running_sum(PermTeam<>(n + 1), perm.data(), n);
    EXPECT_EQ(perm, expected);
    EXPECT_EQ(warp.run([&](FiberWarp<>& w) { running_sum(FiberTeam<>(w), fiber.data(), n); }), "");
    EXPECT_EQ(fiber, expected);
  }
}

TEST(Team, FirstHolder) {
  FiberWarp<> warp;
  for (std::uint32_t at = 0; at <= 32; ++at) {
    std::vector<std::uint8_t> data(32, 1);
    for (std::uint32_t i = at; i < 32; i += 3) data[i] = 0;
    EXPECT_EQ(first_zero(HostTeam<>(), data.data()), at);
    EXPECT_EQ(first_zero(PermTeam<>(3), data.data()), at);
    std::uint32_t found = 99;
    EXPECT_EQ(warp.run([&](FiberWarp<>& w) { found = first_zero(FiberTeam<>(w), data.data()); }), "");
    EXPECT_EQ(found, at);
  }
}

TEST(Team, EveryIndexOnceInAnyOrder) {
  FiberWarp<> warp;
  for (const std::uint32_t n : {0u, 1u, 5u, 32u, 100u}) {
    for (std::uint32_t seed = 0; seed < 6; ++seed) {
      std::vector<int> visits(n, 0), batched(n, 0);
      PermTeam<>(seed).for_each(n, [&](std::uint32_t i) { ++visits[i]; });
      PermTeam<>(seed).for_each_batched<4>(
          n, [](std::uint32_t i) { return i; },
          [&](std::uint32_t i, std::uint32_t v) { batched[i] += 1 + int(v - i); });
      EXPECT_EQ(visits, std::vector<int>(n, 1));
      EXPECT_EQ(batched, std::vector<int>(n, 1));
    }
    std::vector<int> visits(n, 0);
    EXPECT_EQ(warp.run([&](FiberWarp<>& w) { FiberTeam<>(w).for_each(n, [&](std::uint32_t i) { ++visits[i]; }); }), "");
    EXPECT_EQ(visits, std::vector<int>(n, 1));
  }
}

TEST(Team, ARaceIsHiddenInOrderAndShownByPermTeam) {
  std::vector<std::uint8_t> right(100);
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = static_cast<std::uint8_t>(i % 7);
  std::vector<std::uint8_t> start = right;
  for (std::size_t i = 7; i < start.size(); ++i) start[i] = 255;

  std::vector<std::uint8_t> in_order = start;
  racy_copy(HostTeam<>(), in_order.data(), 7, 93);
  EXPECT_EQ(in_order, right);  // looks right, is wrong
  int caught = 0;
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    std::vector<std::uint8_t> scattered = start;
    racy_copy(PermTeam<>(seed), scattered.data(), 7, 93);
    caught += scattered != right;
  }
  EXPECT_EQ(caught, 10);
}

TEST(Team, DivergenceIsReportedByFiberTeam) {
  FiberWarp<> warp;
  const auto collective = [](FiberWarp<>& w) {
    const FiberTeam<> team(w);
    if (w.lane() < 5)
      team.each_lane([](std::uint32_t) {});
    else
      team.each_lane([](std::uint32_t) {});
  };
  EXPECT_NE(warp.run(collective).find("divergent collective: lane 0"), std::string::npos);
  const auto exit = [](FiberWarp<>& w) {
    if (w.lane() == 3) return;
    FiberTeam<>(w).each_lane([](std::uint32_t) {});
  };
  EXPECT_NE(warp.run(exit).find("divergent exit: 1 lanes"), std::string::npos);
  const auto argument = [](FiberWarp<>& w) { FiberTeam<>(w).for_each(w.lane() / 31, [](std::uint32_t) {}); };
  EXPECT_NE(warp.run(argument).find("not uniform"), std::string::npos);
  const auto loop = [](FiberWarp<>& w) {
    for (std::uint32_t i = 0; i < 3 + w.lane() % 2; ++i) FiberTeam<>(w).each_lane([](std::uint32_t) {});
  };
  EXPECT_NE(warp.run(loop), "");
  // The warp is usable again afterwards.
  EXPECT_EQ(warp.run([](FiberWarp<>& w) { FiberTeam<>(w).each_lane([](std::uint32_t) {}); }), "");
}

TEST(Team, BarrierMakesWritesVisible) {
  FiberWarp<> warp;
  std::array<std::uint32_t, 32> a{}, b{};
  EXPECT_EQ(warp.run([&](FiberWarp<>& w) {
    const FiberTeam<> team(w);
    team.each_lane([&](std::uint32_t lane) { a[lane] = lane + 1; });
    team.each_lane([&](std::uint32_t lane) { b[lane] = a[31 - lane]; });
  }),
            "");
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(b[lane], 32 - lane);
}
