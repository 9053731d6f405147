#include "types.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/units.hpp"
#include "errors.hpp"
#include "penstock/array.hpp"
#include "penstock/codec.hpp"

namespace penstock::python {
namespace {

constexpr std::array<std::pair<Kind, const char*>, 14> kKinds{{{Kind::boolean, "boolean"},
                                                               {Kind::signed_int, "signed_int"},
                                                               {Kind::unsigned_int, "unsigned_int"},
                                                               {Kind::floating, "floating"},
                                                               {Kind::bfloat, "bfloat"},
                                                               {Kind::complex, "complex"},
                                                               {Kind::opaque, "raw"},
                                                               {Kind::bytes, "bytes"},
                                                               {Kind::utf32, "utf32"},
                                                               {Kind::datetime, "datetime"},
                                                               {Kind::timedelta, "timedelta"},
                                                               {Kind::structure, "structure"},
                                                               {Kind::vlen_utf8, "vlen_utf8"},
                                                               {Kind::vlen_bytes, "vlen_bytes"}}};

Kind kind_of(const std::string& name) {
  for (const auto& [kind, text] : kKinds)
    if (name == text) return kind;
  throw nb::value_error("no such kind of data type");
}

const char* name_of(Kind kind) {
  for (const auto& [k, text] : kKinds)
    if (k == kind) return text;
  return "";
}

using FieldTuple = std::tuple<std::string, DType, std::uint32_t, std::vector<std::uint64_t>>;

void bind_dtype(nb::module_& m) {
  nb::class_<DType>(m, "DType", "A data type, as elements are in memory.")
      .def(
          "__init__",
          [](DType* self, const std::string& kind, std::uint32_t size_bytes, std::string unit, std::uint32_t unit_count,
             const std::vector<FieldTuple>& fields) {
            std::vector<Field> made;
            for (const auto& [name, dtype, offset, shape] : fields) made.push_back({name, dtype, offset, shape});
            new (self) DType{kind_of(kind), size_bytes, std::move(unit), unit_count, std::move(made)};
          },
          nb::arg("kind"), nb::arg("size_bytes"), nb::arg("unit") = "", nb::arg("unit_count") = 1,
          nb::arg("fields") = std::vector<FieldTuple>())
      .def_static(
          "parse", [](const std::string& name) { return unwrap(parse_dtype_name(name)); }, nb::arg("name"))
      .def_prop_ro("kind", [](const DType& d) { return name_of(d.kind); })
      .def_ro("size_bytes", &DType::size_bytes)
      .def_ro("unit", &DType::unit)
      .def_ro("unit_count", &DType::unit_count)
      .def_prop_ro("fields",
                   [](const DType& d) {
                     std::vector<FieldTuple> out;
                     for (const auto& f : d.fields) out.emplace_back(f.name, f.dtype, f.offset_bytes, f.shape);
                     return out;
                   })
      .def_prop_ro("is_vlen", &DType::is_vlen)
      .def_prop_ro("name", &DType::name)
      .def("__repr__", [](const DType& d) { return "<DType " + d.name() + ">"; })
      .def(
          "__eq__", [](const DType& a, const DType& b) { return a == b; }, nb::arg("other"),
          nb::sig("def __eq__(self, other: object, /) -> bool"));
}

using CodecTuple = std::tuple<std::string, std::string>;

std::vector<CodecTuple> codec_tuples(const Dataset& d) {
  std::vector<CodecTuple> out;
  for (const auto& c : d.codecs) out.emplace_back(c.name, c.configuration);
  return out;
}

std::vector<CodecSpec> codec_specs(const std::vector<CodecTuple>& codecs) {
  std::vector<CodecSpec> out;
  for (const auto& [name, configuration] : codecs) out.push_back({name, configuration});
  return out;
}

const KeyEncoding& keys_of(const Dataset& d) {
  if (d.keys() == nullptr) throw nb::value_error("the chunks of this array have no keys: they lie in one object");
  return *d.keys();
}

void bind_dataset(nb::module_& m) {
  nb::class_<Dataset>(m, "Dataset", "An array as its metadata describes it.")
      .def(
          "__init__",
          [](Dataset* self, int zarr_format, Shape shape, const DType& dtype, Shape chunk_shape,
             const std::string& key_kind, const std::string& separator, const std::vector<CodecTuple>& codecs,
             nb::bytes fill, std::vector<std::optional<std::string>> dimension_names, std::string attributes) {
            if (separator != "/" && separator != ".") throw nb::value_error("separator must be '/' or '.'");
            Dataset d;
            d.format.version = zarr_format;
            d.shape = std::move(shape);
            d.dtype = dtype;
            d.chunk_shape = std::move(chunk_shape);
            d.placement =
                KeyEncoding{key_kind == "v2" ? KeyEncoding::Kind::v2 : KeyEncoding::Kind::standard, separator[0]};
            d.codecs = codec_specs(codecs);
            const auto* bytes = static_cast<const std::byte*>(fill.data());
            d.fill.assign(bytes, bytes + fill.size());
            d.dims = named_dimensions(dimension_names);
            d.attributes = std::move(attributes);
            new (self) Dataset(std::move(d));
          },
          nb::arg("zarr_format"), nb::arg("shape"), nb::arg("dtype"), nb::arg("chunk_shape"), nb::arg("key_kind"),
          nb::arg("separator"), nb::arg("codecs"), nb::arg("fill"), nb::arg("dimension_names"), nb::arg("attributes"))
      .def_prop_ro("zarr_format", [](const Dataset& d) { return zarr_format(d.format); })
      .def_ro("shape", &Dataset::shape)
      .def_ro("dtype", &Dataset::dtype)
      .def_ro("chunk_shape", &Dataset::chunk_shape)
      .def_prop_ro("inner_chunk_shape", [](const Dataset& d) { return unwrap(d.inner_chunk_shape()); })
      .def_prop_ro(
          "is_sharded", [](const Dataset& d) { return unwrap(shards(d.codecs, d.rank())); },
          "Whether objects are shards, out of which inner chunks can be read alone.")
      .def_prop_ro("key_kind",
                   [](const Dataset& d) { return keys_of(d).kind == KeyEncoding::Kind::v2 ? "v2" : "default"; })
      .def_prop_ro("separator", [](const Dataset& d) { return std::string(1, keys_of(d).separator); })
      .def_prop_ro("codecs", &codec_tuples, "(name, configuration as JSON) in encoding order, zarr v3 spelling.")
      .def_prop_ro("fill", [](const Dataset& d) { return nb::bytes(d.fill.data(), d.fill.size()); })
      .def_prop_ro("nodata",
                   [](const Dataset& d) {
                     return d.nodata ? std::optional(nb::bytes(d.nodata->data(), d.nodata->size())) : std::nullopt;
                   })
      .def_prop_ro("dimension_names", &Dataset::dimension_names)
      .def_ro("attributes", &Dataset::attributes)
      .def("chunk_key", [](const Dataset& d, const Shape& chunk) { return keys_of(d).key(chunk); }, nb::arg("chunk"));
}

/// "array_array", "array_bytes" or "bytes_bytes" for each codec.
std::vector<std::string> kinds_of(const std::vector<CodecTuple>& codecs, const Shape& chunk_shape, const DType& dtype) {
  constexpr std::array<const char*, 3> kNames = {"array_array", "array_bytes", "bytes_bytes"};
  std::vector<std::string> names;
  for (const CodecKind kind : unwrap(codec_kinds(codec_specs(codecs), chunk_shape, dtype)))
    names.emplace_back(kNames.at(static_cast<std::size_t>(kind)));
  return names;
}

/// The codec of shards of such chunks.
CodecTuple sharding_tuple(const Shape& chunk_shape, const std::vector<CodecTuple>& codecs) {
  const CodecSpec spec = unwrap(sharding_codec(chunk_shape, codec_specs(codecs)));
  return {spec.name, spec.configuration};
}

void bind_report(nb::module_& m) {
  nb::class_<StageReport>(m, "StageReport", "One stage of the data's journey.")
      .def_ro("stage", &StageReport::stage)
      .def_ro("path", &StageReport::path)
      .def_ro("reason", &StageReport::reason)
      .def_ro("bytes", &StageReport::bytes)
      .def_ro("seconds", &StageReport::seconds, "Summed over threads.")
      .def_prop_ro(
          "counts",
          [](const StageReport& s) {
            std::map<std::string, std::uint64_t> counts;
            for (const StageCount& c : s.counts) counts[c.what] = c.count;
            return counts;
          },
          "How often things happened in it: {'requests': 64}.");
  nb::class_<ChunkProblem>(m, "ChunkProblem", "A chunk that could not be read.")
      .def_ro("key", &ChunkProblem::key)
      .def_ro("message", &ChunkProblem::message)
      .def("__repr__", [](const ChunkProblem& p) { return "<" + p.key + ": " + p.message + ">"; });
  nb::class_<Report>(m, "Report", "What happened during an operation.  str(report) is a table for people.")
      .def_ro("operation", &Report::operation)
      .def_ro("wall_seconds", &Report::wall_seconds)
      .def_ro("decoded_bytes", &Report::decoded_bytes)
      .def_ro("stored_bytes", &Report::stored_bytes)
      .def_ro("requests", &Report::requests)
      .def_ro("chunks", &Report::chunks)
      .def_ro("absent_chunks", &Report::absent_chunks)
      .def_ro("threads", &Report::threads)
      .def_ro("budget_bytes", &Report::budget_bytes)
      .def_ro("peak_host_bytes", &Report::peak_host_bytes)
      .def_ro("peak_device_bytes", &Report::peak_device_bytes)
      .def_ro("stages", &Report::stages)
      .def_ro("problems", &Report::problems)
      .def_prop_ro("json", &Report::json, "One JSON object, as text.")
      .def("__str__", &Report::text)
      .def("__repr__", [](const Report& r) { return "<Report of a " + r.operation + ">"; });
  nb::class_<Plan>(m, "Plan", "What a read will do.  str(plan) is a table for people.")
      .def_ro("chunks", &Plan::chunks)
      .def_ro("objects", &Plan::objects)
      .def_ro("index_reads", &Plan::index_reads)
      .def_ro("decoded_bytes", &Plan::decoded_bytes)
      .def_ro("output_bytes", &Plan::output_bytes)
      .def_ro("chunk_bytes", &Plan::chunk_bytes)
      .def_ro("budget_bytes", &Plan::budget_bytes)
      .def_ro("need_bytes", &Plan::need_bytes)
      .def_ro("workers", &Plan::workers)
      .def_ro("stages", &Plan::stages)
      .def_prop_ro("json", &Plan::json, "One JSON object, as text.")
      .def("__str__", &Plan::text);
}

void bind_images(nb::module_& m) {
  nb::class_<ImageAxis>(m, "Axis", "An axis of an OME-NGFF image.")
      .def(
          "__init__",
          [](ImageAxis* self, std::string name, std::string type, std::string unit) {
            new (self) ImageAxis{std::move(name), std::move(type), std::move(unit)};
          },
          nb::arg("name"), nb::arg("type") = "", nb::arg("unit") = "")
      .def_ro("name", &ImageAxis::name)
      .def_ro("type", &ImageAxis::type, "'space', 'time', 'channel', or empty.")
      .def_ro("unit", &ImageAxis::unit, "'micrometer', ..., or empty.")
      .def(
          "__eq__",
          [](const ImageAxis& a, const ImageAxis& b) {
            return a.name == b.name && a.type == b.type && a.unit == b.unit;
          },
          nb::arg("other"), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__",
           [](const ImageAxis& a) { return "Axis('" + a.name + "', type='" + a.type + "', unit='" + a.unit + "')"; });
  nb::class_<ImageLevel>(m, "Level", "One level of an OME-NGFF image.")
      .def_ro("path", &ImageLevel::path)
      .def_ro("scale", &ImageLevel::scale)
      .def_ro("translation", &ImageLevel::translation);
  nb::class_<Multiscale>(m, "Multiscale", "An OME-NGFF multiscale image.")
      .def_ro("version", &Multiscale::version)
      .def_ro("name", &Multiscale::name)
      .def_ro("axes", &Multiscale::axes)
      .def_ro("levels", &Multiscale::levels);
}

}  // namespace

void bind_types(nb::module_& m) {
  bind_dtype(m);
  bind_dataset(m);
  bind_report(m);
  bind_images(m);
  m.def("codec_kinds", &kinds_of, nb::arg("codecs"), nb::arg("chunk_shape"), nb::arg("dtype"));
  m.def("sharding_codec", &sharding_tuple, nb::arg("chunk_shape"), nb::arg("codecs"),
        "(name, configuration) of shards of such chunks, with zarr-python's kind of index.");
  m.def(
      "parse_bytes", [](const std::string& text) { return unwrap(parse_bytes(text)); }, nb::arg("text"),
      "Bytes of '4096', '4KiB', '1.5GiB'.");
}

}  // namespace penstock::python
