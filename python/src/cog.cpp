#include "cog.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"
#include "jobs.hpp"
#include "penstock/cog.hpp"
#include "penstock/zarr.hpp"
#include "store.hpp"
#include "transfer.hpp"

namespace nb = nanobind;

namespace penstock::python {
namespace {

using Image = std::variant<Array, Tensor>;

CogInput input_of(const Image& image, const std::optional<Ranges>& ranges) {
  const Region region = ranges ? to_region(*ranges) : Region();
  if (const auto* const array = std::get_if<Array>(&image))
    return unwrap(without_gil(CallGuard::Threads::none, [&] { return cog_input(*array, region); }), place(*array));
  return CogInput{std::get<Tensor>(image).view(), {}, {}, {}, region};
}

/// One value for each band.
template <class T>
void set_each(CogInput& in, const std::vector<T>& values, T BandInfo::* member) {
  in.info.bands.resize(std::max(in.info.bands.size(), values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) in.info.bands[i].*member = values[i];
}

}  // namespace

void bind_cog(nb::module_& m) {
  nb::class_<CogOptions>(m, "CogOptions")
      .def(nb::init<>())
      .def_prop_rw(
          "codec", [](const CogOptions&) { return nb::none(); },
          [](CogOptions& cog, const std::string& word) { cog.codec = unwrap(parse_cog_codec(word)); })
      .def_prop_rw(
          "method", [](const CogOptions&) { return nb::none(); },
          [](CogOptions& cog, const std::string& word) { cog.method = unwrap(parse_overview_method(word)); })
      .def_rw("predictor", &CogOptions::predictor, nb::arg().none())
      .def_rw("codec_level", &CogOptions::codec_level, nb::arg().none())
      .def_rw("block", &CogOptions::block)
      .def_rw("overviews", &CogOptions::overviews, nb::arg().none())
      .def_rw("big_tiff", &CogOptions::big_tiff, nb::arg().none());
  nb::class_<CogInput>(m, "CogInput")
      .def(
          "__init__",
          [](CogInput* self, const Image& image, const std::optional<Ranges>& region) {
            new (self) CogInput(input_of(image, region));
          },
          nb::arg("image"), nb::arg("region").none() = nb::none(), nb::keep_alive<1, 2>())
      .def_prop_ro("crs_of_name_only",
                   [](const CogInput& in) -> std::optional<std::string> {
                     const auto& crs = in.info.crs;
                     const bool has_no_more = crs && !crs->epsg && !crs->keys && in.crs_problem.empty();
                     return has_no_more ? std::optional(crs->name) : std::nullopt;
                   })
      .def("set_crs", [](CogInput& in, const Crs& crs) { in.info.crs = crs; })
      .def("set_transform", [](CogInput& in, const GeoTransform& t) { in.info.transform = t; })
      .def("set_nodata",
           [](CogInput& in, const nb::bytes& element) {
             const auto* const data = reinterpret_cast<const std::byte*>(element.c_str());
             in.nodata.emplace(data, data + element.size());
           })
      .def("set_tags", [](CogInput& in, const Tags& tags) { in.info.tags = tags; })
      .def("set_scales",
           [](CogInput& in, const std::vector<double>& values) { set_each(in, values, &BandInfo::scale); })
      .def("set_offsets",
           [](CogInput& in, const std::vector<double>& values) { set_each(in, values, &BandInfo::offset); })
      .def("set_units",
           [](CogInput& in, const std::vector<std::string>& words) { set_each(in, words, &BandInfo::unit); })
      .def("set_descriptions",
           [](CogInput& in, const std::vector<std::string>& words) { set_each(in, words, &BandInfo::description); })
      .def("set_colorinterp",
           [](CogInput& in, const std::vector<std::string>& words) { set_each(in, words, &BandInfo::color); })
      .def("set_colormap",
           [](CogInput& in, const std::vector<std::array<std::uint16_t, 3>>& colors) { in.info.colormap = colors; })
      .def(
          "set_mask",
          [](CogInput& in, const Image& mask) {
            if (const auto* const array = std::get_if<Array>(&mask))
              in.mask = *array;
            else
              in.mask = std::get<Tensor>(mask).view();
          },
          nb::arg("mask"), nb::keep_alive<1, 2>());
  m.def("names_raster", [](const std::string& url) { return names_raster(url); }, nb::arg("url"));
  m.def(
      "check_zarr_name", [](const std::string& url) { unwrap(check_zarr_name(url)); }, nb::arg("url"),
      "Errors: UnsupportedError (the name of a file of another format).");
  m.def(
      "write_cog",
      [](const CogInput& from, const std::string& url, const CogOptions& cog, bool overwrite, const JobOptions& job) {
        const auto if_exists = overwrite ? Array::IfExists::overwrite : Array::IfExists::fail;
        return unwrap(run_job(job, [&](const Options& o) { return write_cog(from, url, {}, cog, if_exists, o); }), url);
      },
      nb::arg("source"), nb::arg("url"), nb::arg("cog"), nb::arg("overwrite"), nb::arg("options"));
}

}  // namespace penstock::python
