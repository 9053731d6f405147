// Single objects of a store, for zarr-python's Store over it.
#include "store_objects.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "jobs.hpp"
#include "py_bytes.hpp"

namespace penstock::python {
namespace {

std::string at(const PyStore& s, const std::string& key) { return s.store->url() + "/" + key; }

/// A question to the store, asked without the GIL.
template <class Ask>
auto asked(const PyStore& s, const std::string& key, const Ask& ask) {
  return unwrap(without_gil(CallGuard::Threads::starts, [&] { return ask(*s.store); }), at(s, key));
}

/// Whether it was written.
bool set_if_absent(const PyStore& s, const std::string& key, const nb::object& value) {
  const PyBytes bytes(value);
  const ByteView part = bytes.view();
  const Status done = without_gil(CallGuard::Threads::starts, [&] {
    return s.store->set_if(key, {&part, 1}, WriteCondition::absent(), CancelToken());
  });
  if (!done && done.error().code() == ErrorCode::changed) return false;
  unwrap(done, at(s, key));
  return true;
}

std::vector<std::pair<std::string, bool>> list_dir(const PyStore& s, const std::string& prefix) {
  std::vector<std::pair<std::string, bool>> names;
  for (StoreEntry& entry : asked(s, prefix, [&](const Store& store) { return store.list_dir(prefix); }))
    names.emplace_back(std::move(entry.name), entry.is_prefix);
  return names;
}

}  // namespace

void bind_store_objects(nb::class_<PyStore>& store) {
  store
      .def(
          "exists",
          [](const PyStore& s, const std::string& key) {
            return asked(s, key, [&](const Store& to) { return to.exists(key); });
          },
          nb::arg("key"))
      .def(
          "size_bytes",
          [](const PyStore& s, const std::string& key) {
            return asked(s, key, [&](const Store& to) { return to.size_bytes(key); });
          },
          nb::arg("key"), "None: there is no such object.")
      .def(
          "set",
          [](const PyStore& s, const std::string& key, const nb::object& value) {
            const PyBytes bytes(value);
            asked(s, key, [&](Store& to) { return to.set(key, bytes.view()); });
          },
          nb::arg("key"), nb::arg("value"))
      .def("set_if_absent", &set_if_absent, nb::arg("key"), nb::arg("value"), "Whether it was written.")
      .def(
          "erase",
          [](const PyStore& s, const std::string& key) { asked(s, key, [&](Store& to) { return to.erase(key); }); },
          nb::arg("key"))
      .def(
          "erase_prefix",
          [](const PyStore& s, const std::string& prefix) {
            asked(s, prefix, [&](Store& to) { return to.erase_prefix(prefix); });
          },
          nb::arg("prefix"))
      .def(
          "list_keys",
          [](const PyStore& s, const std::string& prefix) {
            return asked(s, prefix, [&](const Store& to) { return to.list(prefix); });
          },
          nb::arg("prefix"), "All keys below it.")
      .def("list_dir", &list_dir, nb::arg("prefix"), "(name, whether more lies below it) of what lies directly below.")
      .def_prop_ro(
          "requests_in_flight", [](const PyStore& s) { return s.store->traits("").requests_in_flight; },
          "Requests worth having under way at once; 0: each occupies the thread that makes it.");
}

}  // namespace penstock::python
