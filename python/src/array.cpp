#include "array.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "core/settings.hpp"
#include "errors.hpp"
#include "jobs.hpp"
#include "penstock/array.hpp"
#include "penstock/members.hpp"
#include "penstock/ngff.hpp"
#include "penstock/zarr.hpp"
#include "store.hpp"
#include "store_objects.hpp"
#include "transfer.hpp"

namespace penstock::python {
namespace {

using Threads = CallGuard::Threads;

StoreMode store_mode(const std::string& mode) {
  if (mode == "r") return StoreMode::read;
  if (mode == "r+") return StoreMode::read_write;
  if (mode == "a") return StoreMode::create;
  throw nb::value_error("mode must be 'r' (read only), 'r+' (read and write) or 'a' (create the store if absent)");
}

using OptionMap = std::map<std::string, std::string>;
using Word = std::optional<std::string>;

template <class T>
Result<T> named(Result<T> result, const char* argument) {
  if (!result) result.error().add_context(argument);
  return result;
}

StoreOptions store_options(const Word& durable, const Word& links, const OptionMap& by_name) {
  StoreOptions options;
  options.by_name = {by_name.begin(), by_name.end()};
  if (durable) options.durable = unwrap(named(parse_durable(*durable), "durable"));
  if (links) options.links = unwrap(named(parse_links(*links), "links"));
  return options;
}

void bind_store(nb::module_& m) {
  nb::class_<PyStore> stores(m, "Store", "Bytes by key.");
  bind_store_objects(stores);
  stores
      .def_static(
          "open",
          [](const std::string& url, const std::string& mode, const Word& durable, const Word& links,
             const OptionMap& by_name) {
            const auto how = store_mode(mode);
            const StoreOptions options = store_options(durable, links, by_name);
            auto store = unwrap(without_gil(Threads::none, [&] { return open_store(url, how, options); }), url);
            return PyStore{saved_with_last_handle(std::move(store))};
          },
          nb::arg("url"), nb::arg("mode"), nb::arg("durable") = nb::none(), nb::arg("links") = nb::none(),
          nb::arg("options") = OptionMap())
      .def_prop_ro("url", [](const PyStore& s) { return s.store->url(); })
      .def_prop_ro(
          "options",
          [](const PyStore& s) {
            const StoreOptions o = s.store->options();
            Word durable, links;
            if (o.durable) durable = durable_word(*o.durable);
            if (o.links) links = links_word(*o.links);
            return std::tuple(durable, links, OptionMap(o.by_name.begin(), o.by_name.end()));
          },
          "(durable, links, options by name) as it was opened; None where they do not apply.")
      .def_prop_ro("writable", [](const PyStore& s) { return s.store->writable(); })
      .def(
          "reopened",
          [](const PyStore& s) {
            std::error_code error;
            if (!std::filesystem::is_directory(s.store->url(), error)) return s;
            const std::string url = s.store->url();
            const StoreOptions options = s.store->options();
            return PyStore{unwrap(
                without_gil(Threads::none, [&] { return open_store(url, StoreMode::read_write, options); }), url)};
          },
          "The store as it is now, when a directory may have been put in its place.")
      .def(
          "abandon", [](const PyStore& s) { abandon(s.store); }, "What was written since the last flush is not saved.")
      .def("flush", [](const PyStore& s) {
        unwrap(without_gil(Threads::none, [&] { return s.store->flush(); }), s.store->url());
      });
  m.def("save_open_stores", &save_open_stores, nb::call_guard<nb::gil_scoped_release>(),
        "At the end of the process: saves what only a flush makes visible, with a ResourceWarning.");
}

Result<Array> with_metadata(const SharedStore& store, const std::string& path, int zarr_format, const std::string& text,
                            const Shape& shape) {
  PENSTOCK_ASSIGN(Dataset dataset, parse_zarr_array(zarr_format, text));
  dataset.shape = shape;
  return Array::with_metadata(store, path, std::move(dataset));
}

void bind_array_class(nb::module_& m) {
  nb::class_<Array>(m, "Array", "An array in a store.")
      .def_static(
          "open",
          [](const PyStore& s, const std::string& path) {
            return unwrap(without_gil(Threads::none, [&] { return Array::open(s.store, path); }),
                          place(*s.store, path));
          },
          nb::arg("store"), nb::arg("path"))
      .def_static(
          "with_metadata",
          [](const PyStore& s, const std::string& path, int zarr_format, const std::string& metadata,
             const Shape& shape) {
            return unwrap(with_metadata(s.store, path, zarr_format, metadata, shape), place(*s.store, path));
          },
          nb::arg("store"), nb::arg("path"), nb::arg("zarr_format"), nb::arg("metadata"), nb::arg("shape"),
          "An array whose metadata document the caller has; `shape` replaces the document's.")
      .def_static(
          "create",
          [](const PyStore& s, const std::string& path, const Dataset& dataset, bool overwrite) {
            const auto e = overwrite ? Array::IfExists::overwrite : Array::IfExists::fail;
            return unwrap(without_gil(Threads::none, [&] { return Array::create(s.store, path, dataset, e); }),
                          place(*s.store, path));
          },
          nb::arg("store"), nb::arg("path"), nb::arg("dataset"), nb::arg("overwrite"))
      .def_prop_ro("dataset", [](const Array& a) { return a.dataset(); })
      .def(
          "dimensions",
          [](const Array& a) {
            std::vector<
                std::tuple<std::optional<std::string>, std::string, std::optional<double>, std::optional<double>>>
                out;
            for (const Dimension& d : unwrap(without_gil(Threads::none, [&] { return image_dimensions(a); }), place(a)))
              out.emplace_back(d.name, d.unit, d.scale, d.offset);
            return out;
          },
          "(name, unit, scale, offset) of each; of a level of an OME-NGFF image those of the image.")
      .def_prop_ro("path", &Array::path)
      .def_prop_ro("url", [](const Array& a) { return place(a); })
      .def_prop_ro("store", [](const Array& a) { return PyStore{a.store_ptr()}; })
      .def_prop_ro("attributes", [](const Array& a) { return a.dataset().attributes; })
      .def(
          "plan",
          [](const Array& a, const Ranges& ranges, bool is_cuda, int index, const JobOptions& job) {
            const Region region = to_region(ranges);
            const Device device{is_cuda ? Device::Type::cuda : Device::Type::cpu, index};
            return unwrap(without_gil(Threads::none, [&] { return a.plan(region, device, job.options); }), place(a));
          },
          nb::arg("region"), nb::arg("is_cuda"), nb::arg("index"), nb::arg("options"))
      .def(
          "verify",
          [](const Array& array, const JobOptions& job) {
            const Array held = array;
            return unwrap(run_job(job, [&](const Options& o) { return held.verify(o); }), place(array));
          },
          nb::arg("options"))
      .def(
          "resize",
          [](Array& a, const Shape& shape) {
            unwrap(run_waiting([&](const CancelToken& cancel) { return a.resize(shape, cancel); }), place(a));
          },
          nb::arg("shape"))
      .def(
          "set_attributes",
          [](Array& a, const std::string& json) {
            unwrap(run_waiting([&](const CancelToken& cancel) { return a.set_attributes(json, cancel); }), place(a));
          },
          nb::arg("json"));
}

void bind_group_class(nb::module_& m) {
  nb::class_<Group>(m, "Group", "A group in a store.")
      .def_static(
          "open",
          [](const PyStore& s, const std::string& path) {
            return unwrap(without_gil(Threads::none, [&] { return Group::open(s.store, path); }),
                          place(*s.store, path));
          },
          nb::arg("store"), nb::arg("path"))
      .def_static(
          "create",
          [](const PyStore& s, const std::string& path, int zarr_format, const std::string& attributes,
             bool overwrite) {
            const auto e = overwrite ? Array::IfExists::overwrite : Array::IfExists::fail;
            return unwrap(
                without_gil(Threads::none,
                            [&] { return Group::create(s.store, path, {{"zarr", zarr_format}, attributes}, e); }),
                place(*s.store, path));
          },
          nb::arg("store"), nb::arg("path"), nb::arg("zarr_format"), nb::arg("attributes"), nb::arg("overwrite"))
      .def_prop_ro("path", &Group::path)
      .def_prop_ro("url", [](const Group& g) { return place(*g.store_ptr(), g.path()); })
      .def_prop_ro("store", [](const Group& g) { return PyStore{g.store_ptr()}; })
      .def_prop_ro("zarr_format", [](const Group& g) { return g.info().format.version; })
      .def_prop_ro("attributes", [](const Group& g) { return g.info().attributes; })
      .def(
          "members",
          [](const Group& g) {
            auto members =
                unwrap(without_gil(Threads::none, [&] { return g.members(); }), place(*g.store_ptr(), g.path()));
            std::vector<std::pair<std::string, bool>> out;
            for (auto& member : members) out.emplace_back(std::move(member.name), member.is_array);
            return out;
          },
          "(name, is an array) of the direct members.")
      .def(
          "open_members",
          [](const Group& g) {
            auto members =
                unwrap(without_gil(Threads::none, [&] { return open_members(g); }), place(*g.store_ptr(), g.path()));
            std::vector<std::pair<std::string, Node>> out;
            for (auto& member : members) out.emplace_back(std::move(member.name), std::move(member.node));
            return out;
          },
          "(name, node) of the direct members.")
      .def("image_problems",
           [](const Group& g) {
             return unwrap(without_gil(Threads::none, [&] { return g.image_problems(); }),
                           place(*g.store_ptr(), g.path()));
           })
      .def("consolidate",
           [](const Group& g) {
             unwrap(without_gil(Threads::none, [&] { return g.consolidate(); }), place(*g.store_ptr(), g.path()));
           })
      .def("multiscales",
           [](const Group& g) {
             return unwrap(without_gil(Threads::none, [&] { return g.multiscales(); }),
                           place(*g.store_ptr(), g.path()));
           })
      .def(
          "set_attributes",
          [](Group& g, const std::string& json) {
            unwrap(run_waiting([&](const CancelToken& cancel) { return g.set_attributes(json, cancel); }),
                   place(*g.store_ptr(), g.path()));
          },
          nb::arg("json"));
}

void bind_functions(nb::module_& m) {
  m.def(
      "parse_array",
      [](int zarr_format, const std::string& text) { return unwrap(parse_zarr_array(zarr_format, text)); },
      nb::arg("zarr_format"), nb::arg("metadata"), "The array of a metadata document (zarr.json, .zarray).");
  m.def(
      "open",
      [](const std::string& url, const std::string& mode, const Word& durable, const Word& links,
         const OptionMap& by_name) {
        const auto how = store_mode(mode);
        const StoreOptions options = store_options(durable, links, by_name);
        return unwrap(without_gil(Threads::none, [&] { return open(url, how, options); }), url);
      },
      nb::arg("url"), nb::arg("mode"), nb::arg("durable") = nb::none(), nb::arg("links") = nb::none(),
      nb::arg("options") = OptionMap());
  m.def(
      "open_node",
      [](const PyStore& s, const std::string& path) {
        return unwrap(without_gil(Threads::none, [&] { return open(s.store, path); }), place(*s.store, path));
      },
      nb::arg("store"), nb::arg("path"), "The array or group at a path of a store.");
  m.def(
      "open_nodes",
      [](const PyStore& s, const std::vector<std::string>& paths) {
        return unwrap(without_gil(Threads::none, [&] { return open_nodes(s.store, paths); }), s.store->url());
      },
      nb::arg("store"), nb::arg("paths"), "The arrays and groups at several paths, asked for together.");
}

}  // namespace

void bind_array(nb::module_& m) {
  bind_store(m);
  bind_array_class(m);
  bind_group_class(m);
  bind_functions(m);
}

}  // namespace penstock::python
