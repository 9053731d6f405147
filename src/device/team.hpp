// Teams: code for cooperating lanes, written once.
//
// A team is N lanes that move together.  An algorithm is a template over a Team and uses nothing else of the machine.
// There are four executors of one contract:
//
//   CudaTeam    device/cuda/team.cuh    one warp, or a block of threads        production, CUDA
//   HostTeam    here                    a loop over the lanes, in order        any compiler
//   PermTeam    device/test_teams.hpp   a loop in a scattered order            tests: shows races inside a region
//   FiberTeam   device/test_teams.hpp   N fibres, each runs the whole code     tests: shows divergence
//
// Contract
//   1. Code outside a region is UNIFORM: every lane computes the same values and takes the same branches.  Regions are
//      reached by all lanes or by none, with the same arguments.
//   2. for_each, each_lane, map and leader are REGIONS: the function runs once per index or lane, in no order.  Inside
//      one region no index reads or writes what another index of it writes, but for the atomics of device/portable.hpp.
//   3. A region ends with a barrier of the team: what it wrote, later code sees.
//   4. A value per lane is a `Team::var<T>`: made by map, read with at(value, lane) inside a region, or turned into a
//      uniform value by broadcast, first, or a scan.
//
// Team
//   lanes                                 N, a power of two
//   for_each(n, f)                        f(i) for i < n
//   for_each_batched<U>(n, load, store)   store(i, load(i)); a lane's next U loads are done before their stores
//   each_lane(f)                          f(lane)
//   leader(f)                             f(team of 32 lanes): the first 32 lanes run it, the others wait for them
//   map(f) -> var<T>                      f(lane) of every lane
//   at(var&, lane) -> T&                  the value of the lane itself (inside a region, lane = the one given to f)
//   broadcast(var, lane) -> T             uniform: the value of one lane
//   first(var<bool>) -> uint32_t          uniform: the first lane that holds true; N when none does
//   inclusive_sum(var) -> var             sum over the lanes up to and with each lane
//   largest(var<uint32_t>) -> uint32_t    uniform: the largest value
// The last four take a warp: a team of a whole block of threads does not have them.
#pragma once
#include <array>
#include <cstdint>

#include "device/portable.hpp"

namespace penstock {

/// N lanes, one after the other in order.  Fast and simple; hides races, so tests use PermTeam as well.
template <int N = 32>
struct HostTeam {
  static constexpr std::uint32_t lanes = N;
  template <class T>
  using var = std::array<T, N>;

  template <class F>
  void for_each(std::uint32_t n, F f) const {
    for (std::uint32_t i = 0; i < n; ++i) f(i);
  }
  template <int, class Load, class Store>
  void for_each_batched(std::uint32_t n, Load load, Store store) const {
    for (std::uint32_t i = 0; i < n; ++i) store(i, load(i));
  }
  template <class F>
  void each_lane(F f) const {
    for (std::uint32_t lane = 0; lane < lanes; ++lane) f(lane);
  }
  template <class F>
  auto map(F f) const {
    var<decltype(f(0u))> values;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) values[lane] = f(lane);
    return values;
  }
  template <class F>
  void leader(F f) const {
    f(HostTeam<32>{});
  }
  template <class T>
  static T& at(std::array<T, N>& values, std::uint32_t lane) {
    return values[lane];
  }
  template <class T>
  T broadcast(const std::array<T, N>& values, std::uint32_t lane) const {
    return values[lane];
  }
  std::uint32_t first(const var<bool>& values) const {
    std::uint32_t lane = 0;
    while (lane < lanes && !values[lane]) ++lane;
    return lane;
  }
  template <class T>
  std::array<T, N> inclusive_sum(std::array<T, N> values) const {
    for (std::uint32_t lane = 1; lane < lanes; ++lane) values[lane] = static_cast<T>(values[lane] + values[lane - 1]);
    return values;
  }
  std::uint32_t largest(const var<std::uint32_t>& values) const {
    std::uint32_t most = 0;
    for (const std::uint32_t value : values) most = value > most ? value : most;
    return most;
  }
};

/// Takes `n` from a counter that many teams share; uniform: what it held before.
template <class Team>
PENSTOCK_HD std::uint32_t team_take(const Team& team, std::uint32_t* counter, std::uint32_t n) {
  auto taken = team.map([&](std::uint32_t lane) { return lane == 0 ? atomic_add(counter, n) : 0u; });
  return team.broadcast(taken, 0);
}

}  // namespace penstock
