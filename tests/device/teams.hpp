// Two executors of the Team contract (device/team.hpp) that find mistakes.  For tests and fuzzing only.
#pragma once
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>

#include "device/team.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define PENSTOCK_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PENSTOCK_FIBER_ASAN 1
#endif
#endif
#ifdef PENSTOCK_FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#define PENSTOCK_FIBER_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif

namespace penstock {

/// Runs every region backwards, or in a scattered order over the whole index range (lanes of a real warp may run ahead
/// into the next pass): a region whose result depends on the order has a race.  `seed` chooses the order.
template <int N = 32>
struct PermTeam : HostTeam<N> {
  std::uint32_t seed = 1;
  explicit PermTeam(std::uint32_t order) : seed(order) {}

  template <class F>
  void for_each(std::uint32_t n, F f) const {
    if (seed % 2 == 0) {
      for (std::uint32_t i = n; i-- > 0;) f(i);
      return;
    }
    std::uint64_t size = 1;
    while (size < n) size *= 2;
    std::uint64_t i = seed & (size - 1);  // a generator whose period is all of [0, size)
    for (std::uint64_t k = 0; k < size; ++k, i = (i * 5 + 2 * std::uint64_t{seed} + 1) & (size - 1))
      if (i < n) f(static_cast<std::uint32_t>(i));
  }
  template <int U, class Load, class Store>
  void for_each_batched(std::uint32_t n, Load load, Store store) const {
    for_each(n, [&](std::uint32_t i) { store(i, load(i)); });
  }
  template <class F>
  void each_lane(F f) const {
    for_each(N, f);
  }
  template <class F>
  void leader(F f) const {
    f(PermTeam<32>(seed));
  }
  template <class F>
  auto map(F f) const {
    typename HostTeam<N>::template var<decltype(f(0u))> values;
    for_each(N, [&](std::uint32_t lane) { values[lane] = f(lane); });
    return values;
  }
};

/// N fibres, each of which runs the whole kernel as one lane; they meet at every region and collective.
template <int N = 32>
class FiberWarp {
 public:
  FiberWarp() {
    for (auto& stack : stacks_) stack = std::make_unique<char[]>(kStack);
  }
  FiberWarp(const FiberWarp&) = delete;
  FiberWarp& operator=(const FiberWarp&) = delete;

  /// Runs kernel(warp) on all lanes.  Empty when they stayed together, else what went wrong; then the lanes were
  /// abandoned where they stood and their locals not destroyed.
  template <class Kernel>
  std::string run(Kernel kernel) {
    body_ = [](void* k, FiberWarp& warp) { (*static_cast<Kernel*>(k))(warp); };
    argument_ = &kernel;
    finished_.fill(false);
    for (std::uint32_t lane = 0; lane < N; ++lane) prepare(lane);
    std::string problem;
    for (;;) {
      std::uint32_t done = 0;
      for (lane_ = 0; lane_ < N; ++lane_) {
        if (!finished_[lane_]) enter(lane_);
        done += finished_[lane_];
      }
      if (done == N) break;
      problem = compare(done);
      if (!problem.empty()) break;
    }
#ifdef PENSTOCK_FIBER_TSAN
    for (void* fiber : fibers_) __tsan_destroy_fiber(fiber);
#endif
    return problem;
  }

  [[nodiscard]] std::uint32_t lane() const { return lane_; }
  /// Waits for the other lanes at the same place of the source, with the same uniform argument.
  void meet(const std::source_location& place, std::uint64_t argument) {
    places_[lane_] = place;
    arguments_[lane_] = argument;
    leave();
  }
  std::array<std::array<unsigned char, 16>, N> slots{};  ///< values that collectives exchange

 private:
  static constexpr std::size_t kStack = std::size_t{256} << 10;

  std::string compare(std::uint32_t done) const {
    std::uint32_t one = 0;
    while (finished_[one]) ++one;
    if (done > 0)
      return "divergent exit: " + std::to_string(done) + " lanes returned, lane " + std::to_string(one) +
             " waits at line " + std::to_string(places_[one].line());
    for (std::uint32_t lane = 0; lane < N; ++lane) {
      if (places_[lane].line() != places_[one].line() || places_[lane].column() != places_[one].column() ||
          std::strcmp(places_[lane].file_name(), places_[one].file_name()) != 0)
        return "divergent collective: lane " + std::to_string(one) + " at line " + std::to_string(places_[one].line()) +
               ", lane " + std::to_string(lane) + " at line " + std::to_string(places_[lane].line());
      if (arguments_[lane] != arguments_[one])
        return "argument is not uniform at line " + std::to_string(places_[one].line()) + ": " +
               std::to_string(arguments_[one]) + " in lane " + std::to_string(one) + ", " +
               std::to_string(arguments_[lane]) + " in lane " + std::to_string(lane);
    }
    return {};
  }

  void prepare(std::uint32_t lane) {
    ucontext_t& context = contexts_[lane];
    getcontext(&context);
    context.uc_stack.ss_sp = stacks_[lane].get();
    context.uc_stack.ss_size = kStack;
    context.uc_link = &main_;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context, reinterpret_cast<void (*)()>(&start), 2, static_cast<unsigned>(self),
                static_cast<unsigned>(self >> 32));
#ifdef PENSTOCK_FIBER_TSAN
    fibers_[lane] = __tsan_create_fiber(0);
#endif
  }
  static void start(unsigned low, unsigned high) {
    auto* warp = reinterpret_cast<FiberWarp*>((static_cast<std::uintptr_t>(high) << 32) | low);
#ifdef PENSTOCK_FIBER_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &warp->main_bottom_, &warp->main_size_);
#endif
    warp->body_(warp->argument_, *warp);
    warp->finished_[warp->lane_] = true;
    warp->announce_main(nullptr);
    setcontext(&warp->main_);  // not by return: ThreadSanitizer counts calls and returns of each fibre
  }
  void enter(std::uint32_t lane) {
#ifdef PENSTOCK_FIBER_ASAN
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, stacks_[lane].get(), kStack);
#endif
#ifdef PENSTOCK_FIBER_TSAN
    main_fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fibers_[lane], 0);
#endif
    swapcontext(&main_, &contexts_[lane]);
#ifdef PENSTOCK_FIBER_ASAN
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  }
  void leave() {
    [[maybe_unused]] void* fake = nullptr;
    announce_main(&fake);
    swapcontext(&contexts_[lane_], &main_);
#ifdef PENSTOCK_FIBER_ASAN
    __sanitizer_finish_switch_fiber(fake, &main_bottom_, &main_size_);
#endif
  }
  /// Tells the sanitizers that main_ runs next.  Inlined: a call must not return on another fibre than it was made on.
  [[gnu::always_inline]] void announce_main([[maybe_unused]] void** fake) {
#ifdef PENSTOCK_FIBER_ASAN
    __sanitizer_start_switch_fiber(fake, main_bottom_, main_size_);
#endif
#ifdef PENSTOCK_FIBER_TSAN
    __tsan_switch_to_fiber(main_fiber_, 0);
#endif
  }

  std::array<std::unique_ptr<char[]>, N> stacks_;
  std::array<ucontext_t, N> contexts_{};
  ucontext_t main_{};
  std::array<bool, N> finished_{};
  std::array<std::source_location, N> places_{};
  std::array<std::uint64_t, N> arguments_{};
  std::uint32_t lane_ = 0;
  void (*body_)(void*, FiberWarp&) = nullptr;
  void* argument_ = nullptr;
  const void* main_bottom_ = nullptr;
  std::size_t main_size_ = 0;
#ifdef PENSTOCK_FIBER_TSAN
  std::array<void*, N> fibers_{};
  void* main_fiber_ = nullptr;
#endif
};

/// The Team of a FiberWarp.
template <int N = 32>
struct FiberTeam {
  static constexpr std::uint32_t lanes = N;
  template <class T>
  using var = T;
  using Place = std::source_location;
  FiberWarp<N>* warp;
  explicit FiberTeam(FiberWarp<N>& w) : warp(&w) {}

  template <class F>
  void for_each(std::uint32_t n, F f, Place place = Place::current()) const {
    for (std::uint32_t i = warp->lane(); i < n; i += lanes) f(i);
    warp->meet(place, n);
  }
  template <int U, class Load, class Store>
  void for_each_batched(std::uint32_t n, Load load, Store store, Place place = Place::current()) const {
    for (std::uint32_t i = warp->lane(); i < n; i += lanes) store(i, load(i));
    warp->meet(place, n);
  }
  template <class F>
  void each_lane(F f, Place place = Place::current()) const {
    f(warp->lane());
    warp->meet(place, 0);
  }
  template <class F>
  void leader(F f, Place place = Place::current()) const {
    static_assert(N == 32, "fibres of a part of the team would wait for the others");
    f(*this);
    warp->meet(place, 0);
  }
  template <class F>
  auto map(F f, Place place = Place::current()) const {
    auto value = f(warp->lane());
    warp->meet(place, 0);
    return value;
  }
  template <class T>
  static T& at(T& value, std::uint32_t) {
    return value;
  }
  template <class T>
  T broadcast(T value, std::uint32_t from, Place place = Place::current()) const {
    put(value);
    warp->meet(place, from);
    const T result = get<T>(from);
    warp->meet(place, from);
    return result;
  }
  std::uint32_t first(bool value, Place place = Place::current()) const {
    put(value);
    warp->meet(place, 0);
    std::uint32_t lane = 0;
    while (lane < lanes && !get<bool>(lane)) ++lane;
    warp->meet(place, lane);
    return lane;
  }
  template <class T>
  T inclusive_sum(T value, Place place = Place::current()) const {
    put(value);
    warp->meet(place, 0);
    T sum{};
    for (std::uint32_t lane = 0; lane <= warp->lane(); ++lane) sum = static_cast<T>(sum + get<T>(lane));
    warp->meet(place, 0);
    return sum;
  }
  std::uint32_t largest(std::uint32_t value, Place place = Place::current()) const {
    put(value);
    warp->meet(place, 0);
    std::uint32_t most = 0;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) most = std::max(most, get<std::uint32_t>(lane));
    warp->meet(place, most);
    return most;
  }

 private:
  template <class T>
  void put(const T& value) const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16);
    std::memcpy(warp->slots[warp->lane()].data(), &value, sizeof value);
  }
  template <class T>
  T get(std::uint32_t lane) const {
    T value;
    std::memcpy(&value, warp->slots[lane].data(), sizeof value);
    return value;
  }
};

}  // namespace penstock
