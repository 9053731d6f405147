#include "store.hpp"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace penstock::python {
namespace {

namespace nb = nanobind;

void warn(const std::string& message) {
  if (!Py_IsInitialized()) return;  // the interpreter is going: nobody is left to be warned
  nb::gil_scoped_acquire gil;
  if (PyErr_WarnEx(PyExc_ResourceWarning, message.c_str(), 1) != 0) PyErr_WriteUnraisable(nullptr);
}

void save(Store& store) noexcept {
  if (!store.unsaved()) return;
  const Status saved = store.flush();
  warn(store.url() + (saved ? " was not flushed; it is saved now: write inside `with`, or call flush()"
                            : " was not flushed, and cannot be saved: " + saved.error().message()));
}

/// Deleter of the handles; the store itself lives in it.
struct SaveLast {
  SharedStore store;
  std::shared_ptr<std::atomic<bool>> abandoned = std::make_shared<std::atomic<bool>>(false);
  pid_t process = ::getpid();
  /// Not in the child of a fork: its parent is still writing.
  [[nodiscard]] bool saves() const { return !*abandoned && process == ::getpid(); }
  void operator()(Store*) {
    if (process != ::getpid()) {
      new SharedStore(std::move(store));  // its file is the parent's, and is not to be taken away either
      return;
    }
    if (saves()) save(*store);
    store.reset();
  }
};

struct OpenStores {
  std::mutex mutex;
  std::vector<std::weak_ptr<Store>> all;
};
OpenStores& open_stores() {
  static auto& stores = *new OpenStores;
  return stores;
}

}  // namespace

SharedStore saved_with_last_handle(SharedStore store) {
  if (!store->writable()) return store;
  Store* const plain = store.get();
  SharedStore handle(plain, SaveLast{std::move(store)});
  OpenStores& open = open_stores();
  const std::scoped_lock lock(open.mutex);
  std::erase_if(open.all, [](const auto& known) { return known.expired(); });
  open.all.push_back(handle);
  return handle;
}

void abandon(const SharedStore& store) {
  if (const auto* last = std::get_deleter<SaveLast>(store)) *last->abandoned = true;
}

void save_open_stores() {
  std::vector<SharedStore> still_open;
  {
    OpenStores& open = open_stores();
    const std::scoped_lock lock(open.mutex);
    for (const auto& known : open.all)
      if (SharedStore store = known.lock()) still_open.push_back(std::move(store));
  }
  for (const SharedStore& store : still_open) {
    if (std::get_deleter<SaveLast>(store)->saves()) save(*store);
  }
}

}  // namespace penstock::python
