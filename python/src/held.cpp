#include "held.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <utility>

namespace penstock::python {
namespace {

/// An object, or a view of its memory.
struct Held {
  Py_buffer view{};
  PyObject* object = nullptr;
  Held* next = nullptr;
};

// Only atomics: a child of a fork goes on with them.
std::atomic<Held*> let_go_first{nullptr};
std::atomic<std::uint64_t> held_now{0};
std::atomic<bool> is_called{false};
std::atomic<std::int64_t> called_ns{0};

// For the next ones, guarded by the GIL: memory that one thread takes and another gives back is slow to come by.
constexpr std::size_t kMaxSpare = 1024;
Held* spare = nullptr;
std::size_t spares = 0;

std::unique_ptr<Held> new_held() {
  if (spare == nullptr) return std::make_unique<Held>();
  --spares;
  std::unique_ptr<Held> one(std::exchange(spare, spare->next));
  *one = Held();
  return one;
}

void release(Held* one) {
  if (one->object != nullptr)
    Py_DECREF(one->object);
  else
    PyBuffer_Release(&one->view);
  if (spares == kMaxSpare) {
    delete one;
    return;
  }
  ++spares;
  one->next = std::exchange(spare, one);
}

/// Whether what waits to be released may wait for more: another one is held, and the last call was just now.
bool may_wait() {
  constexpr std::int64_t kWaitNs = 1'000'000;
  if (held_now.fetch_sub(1) == 1) return false;
  const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  if (now - called_ns.load(std::memory_order_relaxed) < kWaitNs) return true;
  called_ns.store(now, std::memory_order_relaxed);
  return false;
}

int on_main_thread(void* /*unused*/) {
  is_called.store(false);
  release_held();
  return 0;
}

void let_go(Held* one) {
  if (!Py_IsInitialized()) return;  // at the end of the process, together with all there is
  Held* first = let_go_first.load();
  do one->next = first;
  while (!let_go_first.compare_exchange_weak(first, one));
  if (may_wait()) return;
  if (is_called.exchange(true) || Py_AddPendingCall(on_main_thread, nullptr) == 0) return;
  is_called.store(false);  // so many calls wait already that there is no room
  nb::gil_scoped_acquire gil;
  release_held();
}

HeldBuffer shown(std::unique_ptr<Held> one) {
  HeldBuffer made{static_cast<std::byte*>(one->view.buf), static_cast<std::uint64_t>(one->view.len), nullptr};
  ++held_now;
  made.keep = {one.release(), let_go};
  return made;
}

}  // namespace

std::shared_ptr<const void> held(nb::object object) {
  auto one = new_held();
  one->object = object.release().ptr();
  ++held_now;
  return {one.release(), let_go};  // which calls let_go where it finds no memory
}

HeldBuffer held_buffer(nb::handle object, int flags) {
  auto one = new_held();
  if (PyObject_GetBuffer(object.ptr(), &one->view, flags) != 0) throw nb::python_error();
  return shown(std::move(one));
}

std::optional<HeldBuffer> held_bytes(nb::handle object, int flags) {
  auto one = new_held();
  if (PyObject_GetBuffer(object.ptr(), &one->view, flags | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  const bool holds_objects = one->view.format != nullptr && std::strchr(one->view.format, 'O') != nullptr;
  HeldBuffer made = shown(std::move(one));
  if (holds_objects) return std::nullopt;
  return made;
}

void release_held() {
  for (Held* one = let_go_first.exchange(nullptr); one != nullptr;) release(std::exchange(one, one->next));
}

}  // namespace penstock::python
