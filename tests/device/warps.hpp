// The executors that find mistakes (device/teams.hpp), with what a warp can do besides (device/warp.hpp).
#pragma once
#include "device/teams.hpp"
#include "device/warp.hpp"

namespace penstock {

using PermWarp = WarpOf<PermTeam<32>>;

/// Each lane tells all others its value by `broadcast`, so that all must be there.
struct FiberLanes : FiberTeam<32> {
  using FiberTeam<32>::FiberTeam;

  std::uint32_t ballot(bool value, Place place = Place::current()) const {
    std::uint32_t bits = 0;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) bits |= (broadcast(value, lane, place) ? 1U : 0U) << lane;
    return bits;
  }
  std::uint32_t any_bits(std::uint32_t value, Place place = Place::current()) const {
    std::uint32_t bits = 0;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) bits |= broadcast(value, lane, place);
    return bits;
  }
  template <class T>
  T shuffle(T value, std::uint32_t from, Place place = Place::current()) const {
    T taken = value;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const T of = broadcast(value, lane, place);
      if (lane == from) taken = of;
    }
    return taken;
  }
};

}  // namespace penstock
