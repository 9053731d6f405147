#include "raster.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "errors.hpp"
#include "jobs.hpp"
#include "penstock/raster.hpp"
#include "store.hpp"
#include "transfer.hpp"

namespace nb = nanobind;

namespace penstock::python {
namespace {

using Threads = CallGuard::Threads;
using Box = std::tuple<double, double, double, double>;  // left, bottom, right, top
using Keys = std::tuple<std::vector<std::uint16_t>, std::vector<double>, std::string>;

void bind_info(nb::module_& m) {
  nb::class_<Crs>(m, "Crs")
      .def(
          "__init__",
          [](Crs* self, std::optional<std::uint32_t> epsg, const std::string& name) {
            new (self) Crs{epsg, std::nullopt, name};
          },
          nb::arg("epsg").none(), nb::arg("name") = "")
      .def_ro("epsg", &Crs::epsg)
      .def_ro("vertical_epsg", &Crs::vertical_epsg)
      .def_ro("name", &Crs::name)
      .def_prop_ro("keys",
                   [](const Crs& crs) -> std::optional<Keys> {
                     if (!crs.keys) return std::nullopt;
                     return Keys(crs.keys->directory, crs.keys->numbers, crs.keys->texts);
                   })
      .def("wkt", [](const Crs& crs) { return unwrap(without_gil(Threads::none, [&] { return crs_wkt(crs); })); });
  nb::class_<GroundControlPoint>(m, "RasterGcp")
      .def_ro("row", &GroundControlPoint::row)
      .def_ro("column", &GroundControlPoint::column)
      .def_ro("x", &GroundControlPoint::x)
      .def_ro("y", &GroundControlPoint::y)
      .def_ro("z", &GroundControlPoint::z);
  nb::class_<BandInfo>(m, "RasterBand")
      .def_ro("scale", &BandInfo::scale)
      .def_ro("offset", &BandInfo::offset)
      .def_ro("unit", &BandInfo::unit)
      .def_ro("description", &BandInfo::description)
      .def_ro("tags", &BandInfo::tags)
      .def_ro("domains", &BandInfo::domains)
      .def_ro("color", &BandInfo::color);
  nb::class_<RasterInfo>(m, "RasterInfo")
      .def_ro("transform", &RasterInfo::transform)
      .def_ro("pixel_is_point", &RasterInfo::pixel_is_point)
      .def_ro("crs", &RasterInfo::crs)
      .def_ro("gcps", &RasterInfo::gcps)
      .def_ro("tags", &RasterInfo::tags)
      .def_ro("domains", &RasterInfo::domains)
      .def_ro("bands", &RasterInfo::bands)
      .def_ro("colormap", &RasterInfo::colormap)
      .def_ro("white_is_zero", &RasterInfo::white_is_zero)
      .def_ro("rpc", &RasterInfo::rpc)
      .def_ro("other_images", &RasterInfo::other_images)
      .def_ro("other_fields", &RasterInfo::other_fields)
      .def_ro("sidecars", &RasterInfo::sidecars);
}

}  // namespace

void bind_raster(nb::module_& m) {
  bind_info(m);
  nb::class_<Raster>(m, "Raster", "An image with its levels and masks, and where it lies.")
      .def_static(
          "open",
          [](const PyStore& s, const std::string& path) {
            return unwrap(without_gil(Threads::none, [&] { return Raster::open(s.store, path); }),
                          place(*s.store, path));
          },
          nb::arg("store"), nb::arg("path"))
      .def_prop_ro("info", [](const Raster& r) { return r.info(); })
      .def_prop_ro("level_count", &Raster::level_count)
      .def(
          "level", [](const Raster& r, std::size_t k) { return unwrap(r.level(k)); }, nb::arg("level"))
      .def(
          "mask", [](const Raster& r, std::size_t k) { return unwrap(r.mask(k)); }, nb::arg("level"))
      .def(
          "transform", [](const Raster& r, std::size_t k) { return unwrap(r.transform(k)); }, nb::arg("level"))
      .def("bounds",
           [](const Raster& r) -> std::optional<Box> {
             const auto b = r.bounds();
             return b ? std::optional(Box(b->left, b->bottom, b->right, b->top)) : std::nullopt;
           })
      .def(
          "level_for", [](const Raster& r, double resolution) { return unwrap(r.level_for(resolution)); },
          nb::arg("resolution"))
      .def(
          "window",
          [](const Raster& r, double left, double bottom, double right, double top, std::size_t k) {
            std::vector<std::pair<std::uint64_t, std::uint64_t>> out;  // start, stop
            for (const Range& range : unwrap(r.window({left, bottom, right, top}, k)))
              out.emplace_back(range.start, range.start + range.count);
            return out;
          },
          nb::arg("left"), nb::arg("bottom"), nb::arg("right"), nb::arg("top"), nb::arg("level"));
  m.def(
      "parse_crs",
      [](const std::string& text) {
        return unwrap(without_gil(Threads::none, [&] { return parse_crs(text); }), "crs");
      },
      nb::arg("text"));
  m.def("is_raster", [](const Array& array) { return is_raster(array.dataset()); }, nb::arg("array"));
}

}  // namespace penstock::python
