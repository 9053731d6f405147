#include "held.hpp"

#include <atomic>

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
std::atomic<bool> is_called{false};

void release(Held* one) {
  if (one->object != nullptr)
    Py_DECREF(one->object);
  else
    PyBuffer_Release(&one->view);
  delete one;
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
  if (is_called.exchange(true) || Py_AddPendingCall(on_main_thread, nullptr) == 0) return;
  is_called.store(false);  // so many calls wait already that there is no room
  nb::gil_scoped_acquire gil;
  release_held();
}

}  // namespace

std::shared_ptr<const void> held(nb::object object) {
  auto one = std::make_unique<Held>();
  one->object = object.release().ptr();
  return {one.release(), let_go};
}

HeldBuffer held_buffer(nb::handle object, int flags) {
  auto one = std::make_unique<Held>();
  if (PyObject_GetBuffer(object.ptr(), &one->view, flags) != 0) throw nb::python_error();
  HeldBuffer made{static_cast<std::byte*>(one->view.buf), static_cast<std::uint64_t>(one->view.len), nullptr};
  made.keep = {one.release(), let_go};
  return made;
}

void release_held() {
  for (Held* one = let_go_first.exchange(nullptr); one != nullptr;) release(std::exchange(one, one->next));
}

}  // namespace penstock::python
