#include "copy.hpp"

#include <nanobind/stl/optional.h>
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

#include "errors.hpp"
#include "jobs.hpp"
#include "penstock/copy.hpp"
#include "store.hpp"
#include "transfer.hpp"

namespace penstock::python {
namespace {

using CodecTuple = std::tuple<std::string, std::string>;

Array::IfExists if_exists(bool overwrite) { return overwrite ? Array::IfExists::overwrite : Array::IfExists::fail; }

/// One number stands for all dimensions.
std::optional<Shape> shape_for(std::optional<Shape> shape, const Dataset& dataset) {
  if (shape && shape->size() == 1) shape->resize(dataset.rank(), shape->front());
  return shape;
}

Result<Report> copy_to(const Node& from, const PyStore& to, const std::string& path, const CopyOptions& how,
                       const Options& options) {
  std::error_code error;
  // By its name, a directory that is replaced is written beside it first.
  if (std::filesystem::is_directory(to.store->url(), error)) return copy(from, to.store->url(), path, how, options);
  return copy(from, to.store, path, how, options);
}

PyramidOptions pyramid_options(const std::string& method, int levels, const std::vector<ImageAxis>& axes,
                               const std::vector<double>& scale, const std::string& name,
                               const std::vector<std::uint32_t>& factor, const std::optional<int>& cuda) {
  static const std::map<std::string, Downsample> methods = {{"mean", Downsample::mean},
                                                            {"nearest", Downsample::nearest},
                                                            {"gaussian", Downsample::gaussian},
                                                            {"mode", Downsample::mode}};
  const auto it = methods.find(method);
  if (it == methods.end()) throw nb::value_error("method must be 'mean', 'nearest', 'gaussian' or 'mode'");
  PyramidOptions options{it->second, levels, axes, scale, name};
  options.factor = factor;
  if (cuda) options.device = {Device::Type::cuda, *cuda};
  return options;
}

}  // namespace

void bind_copy(nb::module_& m) {
  m.def(
      "copy",
      [](const Node& from, const PyStore& to, const std::string& path, const std::optional<Ranges>& region,
         std::optional<int> zarr_format, const std::optional<Shape>& chunk_shape,
         const std::optional<Shape>& shard_shape, const std::optional<std::vector<CodecTuple>>& compressors,
         const std::optional<std::string>& separator, bool overwrite, bool resume, const JobOptions& job) {
        CopyOptions how;
        how.changes = [&](const Dataset& dataset) -> Result<CopyChanges> {
          CopyChanges changes;
          if (region) changes.region = to_region(*region);
          changes.zarr_format = zarr_format;
          changes.chunk_shape = shape_for(chunk_shape, dataset);
          changes.shard_shape = shape_for(shard_shape, dataset);
          changes.dimension_separator = separator;
          if (compressors) {
            changes.compressors.emplace();
            for (const auto& [name, configuration] : *compressors)
              changes.compressors->push_back({name, configuration});
          }
          return changes;
        };
        how.zarr_format = zarr_format;
        how.if_exists = if_exists(overwrite);
        how.resume = resume ? Resume::yes : Resume::no;
        return unwrap(run_job(job, [&](const Options& o) { return copy_to(from, to, path, how, o); }),
                      place(*to.store, path));
      },
      nb::arg("source"), nb::arg("store"), nb::arg("path"), nb::arg("region").none(), nb::arg("zarr_format").none(),
      nb::arg("chunk_shape").none(), nb::arg("shard_shape").none(), nb::arg("compressors").none(),
      nb::arg("separator").none(), nb::arg("overwrite"), nb::arg("resume"), nb::arg("options"));
  m.def(
      "write_pyramid",
      [](const Array& from, const PyStore& to, const std::string& path, const std::string& method, int levels,
         const std::vector<ImageAxis>& axes, const std::vector<double>& scale, const std::string& name,
         const std::vector<std::uint32_t>& factor, const std::optional<int>& cuda, bool overwrite,
         const JobOptions& job) {
        const PyramidOptions pyramid = pyramid_options(method, levels, axes, scale, name, factor, cuda);
        const Array held = from;
        return unwrap(run_job(job,
                              [&](const Options& o) {
                                return write_pyramid(held, to.store, path, pyramid, if_exists(overwrite), o);
                              }),
                      place(*to.store, path));
      },
      nb::arg("source"), nb::arg("store"), nb::arg("path"), nb::arg("method"), nb::arg("levels"), nb::arg("axes"),
      nb::arg("scale"), nb::arg("name"), nb::arg("factor"), nb::arg("cuda").none(), nb::arg("overwrite"),
      nb::arg("options"));
  m.def(
      "write_label",
      [](const Group& image, const std::string& label, const Array& from, const std::string& method, int levels,
         bool overwrite, const JobOptions& job) {
        const PyramidOptions pyramid = pyramid_options(method, levels, {}, {}, "", {2}, {});
        const Group held = image;
        const Array source = from;
        return unwrap(run_job(job,
                              [&](const Options& o) {
                                return write_label(held, label, source, pyramid, if_exists(overwrite), o);
                              }),
                      place(*held.store_ptr(), held.path()));
      },
      nb::arg("image"), nb::arg("label"), nb::arg("source"), nb::arg("method"), nb::arg("levels"), nb::arg("overwrite"),
      nb::arg("options"));
}

}  // namespace penstock::python
