#include "array.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "codec/chain.hpp"
#include "core/settings.hpp"
#include "errors.hpp"
#include "format/format.hpp"
#include "jobs.hpp"
#include "penstock/array.hpp"
#include "store.hpp"
#include "transfer.hpp"

namespace penstock::python {
namespace {

using Threads = CallGuard::Threads;
using CodecTuple = std::tuple<std::string, std::string>;

StoreMode store_mode(const std::string& mode) {
  if (mode == "r") return StoreMode::read;
  if (mode == "r+") return StoreMode::read_write;
  if (mode == "a") return StoreMode::create;
  throw nb::value_error("mode must be 'r' (read only), 'r+' (read and write) or 'a' (create the store if absent)");
}

using Word = std::optional<std::string>;

template <class T>
Result<T> named(Result<T> result, const char* argument) {
  if (!result) result.error().add_context(argument);
  return result;
}

StoreOptions store_options(const Word& durable, const Word& links) {
  StoreOptions options;
  if (durable) options.durable = unwrap(named(parse_durable(*durable), "durable"));
  if (links) options.links = unwrap(named(parse_links(*links), "links"));
  return options;
}

void bind_store(nb::module_& m) {
  nb::class_<PyStore>(m, "Store", "Bytes by key.")
      .def_static(
          "open",
          [](const std::string& url, const std::string& mode, const Word& durable, const Word& links) {
            const auto how = store_mode(mode);
            const StoreOptions options = store_options(durable, links);
            return PyStore{unwrap(without_gil(Threads::none, [&] { return open_store(url, how, options); }), url)};
          },
          nb::arg("url"), nb::arg("mode"), nb::arg("durable") = nb::none(), nb::arg("links") = nb::none())
      .def_prop_ro("url", [](const PyStore& s) { return s.store->url(); })
      .def_prop_ro(
          "options",
          [](const PyStore& s) {
            const StoreOptions o = s.store->options();
            Word durable, links;
            if (o.durable) durable = durable_word(*o.durable);
            if (o.links) links = links_word(*o.links);
            return std::pair(durable, links);
          },
          "(durable, links) as it was opened; None where they do not apply.")
      .def_prop_ro("writable", [](const PyStore& s) { return s.store->writable(); })
      .def("flush", [](const PyStore& s) {
        unwrap(without_gil(Threads::none, [&] { return s.store->flush(); }), s.store->url());
      });
}

/// The array that a metadata document describes, checked to be one that can be read.
Result<Dataset> parse_array(int zarr_format, const std::string& text) {
  Dataset dataset;
  if (zarr_format == 2) {
    PENSTOCK_ASSIGN(dataset, parse_zarr2_array(text, "{}"));
  } else {
    PENSTOCK_ASSIGN(NodeInfo node, parse_zarr3(text));
    if (!std::holds_alternative<Dataset>(node)) return Error(ErrorCode::invalid_argument, "the metadata of a group");
    dataset = std::get<Dataset>(std::move(node));
  }
  PENSTOCK_TRY(CodecChain::make(dataset.codecs, {dataset.chunk_shape, dataset.dtype, dataset.fill}));
  return dataset;
}

Result<Array> with_metadata(const SharedStore& store, const std::string& path, int zarr_format, const std::string& text,
                            const Shape& shape) {
  PENSTOCK_ASSIGN(Dataset dataset, parse_array(zarr_format, text));
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
            unwrap(without_gil(Threads::none, [&] { return a.resize(shape); }), place(a));
          },
          nb::arg("shape"))
      .def(
          "set_attributes",
          [](Array& a, const std::string& json) {
            unwrap(without_gil(Threads::none, [&] { return a.set_attributes(json); }), place(a));
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
            return unwrap(without_gil(Threads::none,
                                      [&] { return Group::create(s.store, path, {zarr_format, attributes, {}}, e); }),
                          place(*s.store, path));
          },
          nb::arg("store"), nb::arg("path"), nb::arg("zarr_format"), nb::arg("attributes"), nb::arg("overwrite"))
      .def_prop_ro("path", &Group::path)
      .def_prop_ro("url", [](const Group& g) { return place(*g.store_ptr(), g.path()); })
      .def_prop_ro("store", [](const Group& g) { return PyStore{g.store_ptr()}; })
      .def_prop_ro("zarr_format", [](const Group& g) { return g.info().zarr_format; })
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
      .def("multiscales",
           [](const Group& g) {
             return unwrap(without_gil(Threads::none, [&] { return g.multiscales(); }),
                           place(*g.store_ptr(), g.path()));
           })
      .def(
          "set_attributes",
          [](Group& g, const std::string& json) {
            unwrap(without_gil(Threads::none, [&] { return g.set_attributes(json); }), place(*g.store_ptr(), g.path()));
          },
          nb::arg("json"));
}

CopyChanges copy_changes(const std::optional<Ranges>& region, std::optional<int> zarr_format,
                         std::optional<Shape> chunk_shape, std::optional<Shape> shard_shape,
                         const std::optional<std::vector<CodecTuple>>& compressors,
                         std::optional<std::string> separator) {
  CopyChanges changes;
  if (region) changes.region = to_region(*region);
  changes.zarr_format = zarr_format;
  changes.chunk_shape = std::move(chunk_shape);
  changes.shard_shape = std::move(shard_shape);
  changes.dimension_separator = std::move(separator);
  if (compressors) {
    changes.compressors.emplace();
    for (const auto& [name, configuration] : *compressors) changes.compressors->push_back({name, configuration});
  }
  return changes;
}

void bind_functions(nb::module_& m) {
  m.def(
      "parse_array", [](int zarr_format, const std::string& text) { return unwrap(parse_array(zarr_format, text)); },
      nb::arg("zarr_format"), nb::arg("metadata"), "The array of a metadata document (zarr.json, .zarray).");
  m.def(
      "open",
      [](const std::string& url, const std::string& mode, const Word& durable, const Word& links) {
        const auto how = store_mode(mode);
        const StoreOptions options = store_options(durable, links);
        return unwrap(without_gil(Threads::none, [&] { return open(url, how, options); }), url);
      },
      nb::arg("url"), nb::arg("mode"), nb::arg("durable") = nb::none(), nb::arg("links") = nb::none());
  m.def(
      "open_node",
      [](const PyStore& s, const std::string& path) {
        return unwrap(without_gil(Threads::none, [&] { return open(s.store, path); }), place(*s.store, path));
      },
      nb::arg("store"), nb::arg("path"), "The array or group at a path of a store.");
  m.def(
      "copy",
      [](const Array& from, const PyStore& to, const std::string& path, const std::optional<Ranges>& region,
         std::optional<int> zarr_format, std::optional<Shape> chunk_shape, std::optional<Shape> shard_shape,
         const std::optional<std::vector<CodecTuple>>& compressors, std::optional<std::string> separator,
         bool overwrite, bool resume, const JobOptions& job) {
        const auto changes = copy_changes(region, zarr_format, std::move(chunk_shape), std::move(shard_shape),
                                          compressors, std::move(separator));
        const Array held = from;
        return unwrap(run_job(job,
                              [&](const Options& o) {
                                return copy(held, to.store, path, changes,
                                            overwrite ? Array::IfExists::overwrite : Array::IfExists::fail,
                                            resume ? Resume::yes : Resume::no, o);
                              }),
                      place(*to.store, path));
      },
      nb::arg("source"), nb::arg("store"), nb::arg("path"), nb::arg("region").none(), nb::arg("zarr_format").none(),
      nb::arg("chunk_shape").none(), nb::arg("shard_shape").none(), nb::arg("compressors").none(),
      nb::arg("separator").none(), nb::arg("overwrite"), nb::arg("resume"), nb::arg("options"));
  m.def(
      "write_pyramid",
      [](const Array& from, const PyStore& to, const std::string& path, const std::string& method, int levels,
         const std::vector<ImageAxis>& axes, const std::vector<double>& scale, const std::string& name, bool overwrite,
         const JobOptions& job) {
        if (method != "mean" && method != "nearest") throw nb::value_error("method must be 'mean' or 'nearest'");
        const PyramidOptions pyramid{method == "mean" ? Downsample::mean : Downsample::nearest, levels, axes, scale,
                                     name};
        const Array held = from;
        return unwrap(run_job(job,
                              [&](const Options& o) {
                                return write_pyramid(held, to.store, path, pyramid,
                                                     overwrite ? Array::IfExists::overwrite : Array::IfExists::fail, o);
                              }),
                      place(*to.store, path));
      },
      nb::arg("source"), nb::arg("store"), nb::arg("path"), nb::arg("method"), nb::arg("levels"), nb::arg("axes"),
      nb::arg("scale"), nb::arg("name"), nb::arg("overwrite"), nb::arg("options"));
}

}  // namespace

void bind_array(nb::module_& m) {
  bind_store(m);
  bind_array_class(m);
  bind_group_class(m);
  bind_functions(m);
}

}  // namespace penstock::python
