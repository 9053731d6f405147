// Teams of 32 lanes with what a warp can do besides: a bit of each lane in a word, and values of lanes that are chosen
// lane by lane.  The rest of their contract is in device/team.hpp.
//
//   ballot(var<bool>) -> uint32_t         uniform: a bit for each lane, lane 0 the lowest
//   any_bits(var<uint32_t>) -> uint32_t   uniform: the bits that any lane has
//   shuffle(var, var<uint32_t>) -> var    each lane gets the value of the lane that it names
//
// Executors: CudaWarp (device/cuda/warp.cuh), HostWarp (here), PermWarp and FiberLanes (tests/device/warps.hpp).
#pragma once
#include "device/team.hpp"

namespace penstock {

/// Over a Team whose values per lane are arrays.
template <class Base>
struct WarpOf : Base {
  using Base::Base;
  static_assert(Base::lanes == 32);
  template <class T>
  using var = typename Base::template var<T>;

  std::uint32_t ballot(const var<bool>& values) const {
    std::uint32_t bits = 0;
    for (std::uint32_t lane = 0; lane < Base::lanes; ++lane) bits |= (values[lane] ? 1U : 0U) << lane;
    return bits;
  }
  std::uint32_t any_bits(const var<std::uint32_t>& values) const {
    std::uint32_t bits = 0;
    for (const std::uint32_t value : values) bits |= value;
    return bits;
  }
  template <class T>
  std::array<T, 32> shuffle(const std::array<T, 32>& values, const var<std::uint32_t>& from) const {
    std::array<T, 32> taken;
    for (std::uint32_t lane = 0; lane < Base::lanes; ++lane) taken[lane] = values[from[lane]];
    return taken;
  }
};
using HostWarp = WarpOf<HostTeam<32>>;

}  // namespace penstock
