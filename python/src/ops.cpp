#include "ops.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "jobs.hpp"
#include "penstock/bound_operators.hpp"
#include "penstock/ops.hpp"
#include "store.hpp"
#include "transfer.hpp"

namespace penstock::python {
namespace {

/// (name, arguments as JSON) of each operator.
using CallTuples = std::vector<std::pair<std::string, std::string>>;
using CodecTuple = std::tuple<std::string, std::string>;

std::vector<OpCall> calls_of(const CallTuples& tuples) {
  std::vector<OpCall> calls;
  for (const auto& [name, arguments] : tuples) calls.push_back({name, arguments});
  return calls;
}

Device device_of(bool is_cuda, int index) { return is_cuda ? Device{Device::Type::cuda, index} : Device{}; }

/// Runs work that gives something, as run_job does those that give a report.
template <class T>
T run_giving(const JobOptions& job, const std::function<Result<T>(const Options&)>& work) {
  std::optional<T> made;
  unwrap(run_job(job, [&](const Options& options) -> Result<Report> {
    PENSTOCK_ASSIGN(made, work(options));
    return Report();
  }));
  return *std::move(made);
}

CopyChanges changes_of(const std::optional<int>& zarr_format, const std::optional<Shape>& chunk_shape,
                       const std::optional<Shape>& shard_shape,
                       const std::optional<std::vector<CodecTuple>>& compressors, std::size_t rank) {
  const auto spread = [&](std::optional<Shape> shape) {
    if (shape && shape->size() == 1) shape->resize(rank, shape->front());
    return shape;
  };
  CopyChanges changes;
  changes.zarr_format = zarr_format;
  changes.chunk_shape = spread(chunk_shape);
  changes.shard_shape = spread(shard_shape);
  if (compressors) {
    changes.compressors.emplace();
    for (const auto& [name, configuration] : *compressors) changes.compressors->push_back({name, configuration});
  }
  return changes;
}

void bind_lazy(nb::module_& m) {
  nb::class_<LazyArray>(m, "LazyArray", "An array that operators make of a stored one.")
      .def_static(
          "make",
          [](const Array& from, const CallTuples& calls) { return unwrap(LazyArray::make(from, calls_of(calls))); },
          nb::arg("source"), nb::arg("calls"))
      .def_prop_ro("dtype", [](const LazyArray& a) { return a.dtype(); })
      .def_prop_ro("shape", [](const LazyArray& a) { return a.shape(); })
      .def_prop_ro("dataset", [](const LazyArray& a) { return unwrap(a.dataset()); })
      .def(
          "read",
          [](const LazyArray& self, const Ranges& ranges, const std::optional<Stream>& stream, const JobOptions& job) {
            Report report;
            Tensor made = run_giving<Tensor>(job, [&](const Options& o) {
              return self.read(to_region(ranges), o, stream.value_or(Stream()), &report);
            });
            return std::make_tuple(std::move(made), std::move(report));
          },
          nb::arg("region"), nb::arg("stream").none(), nb::arg("options"))
      .def(
          "write",
          [](const LazyArray& self, const PyStore& to, const std::string& path, const std::optional<int>& zarr_format,
             const std::optional<Shape>& chunk_shape, const std::optional<Shape>& shard_shape,
             const std::optional<std::vector<CodecTuple>>& compressors, bool overwrite, bool is_cuda, int index,
             const JobOptions& job) {
            const CopyChanges changes =
                changes_of(zarr_format, chunk_shape, shard_shape, compressors, self.shape().size());
            const auto exists = overwrite ? Array::IfExists::overwrite : Array::IfExists::fail;
            return unwrap(run_job(job,
                                  [&](const Options& o) {
                                    return self.write(to.store, path, changes, exists, device_of(is_cuda, index), o);
                                  }),
                          place(*to.store, path));
          },
          nb::arg("store"), nb::arg("path"), nb::arg("zarr_format").none(), nb::arg("chunk_shape").none(),
          nb::arg("shard_shape").none(), nb::arg("compressors").none(), nb::arg("overwrite"), nb::arg("is_cuda"),
          nb::arg("index"), nb::arg("options"))
      .def(
          "explain",
          [](const LazyArray& self, const std::optional<int>& zarr_format, const std::optional<Shape>& chunk_shape,
             const std::optional<Shape>& shard_shape, bool is_cuda, int index, const JobOptions& job) {
            const CopyChanges changes =
                changes_of(zarr_format, chunk_shape, shard_shape, std::nullopt, self.shape().size());
            const Dataset to = unwrap(self.dataset(changes));
            return unwrap(self.explain(to, device_of(is_cuda, index), job.options));
          },
          nb::arg("zarr_format").none(), nb::arg("chunk_shape").none(), nb::arg("shard_shape").none(),
          nb::arg("is_cuda"), nb::arg("index"), nb::arg("options"));
}

StatisticsRequest request_of(const std::vector<double>& percentiles, std::uint32_t bins,
                             const std::optional<std::pair<double, double>>& range, bool otsu, bool summary) {
  StatisticsRequest request;
  request.percentiles = percentiles;
  request.bins = bins;
  request.range = range;
  request.otsu = otsu;
  request.summary = summary;
  return request;
}

void bind_statistics(nb::module_& m) {
  nb::class_<Statistics>(m, "Statistics", "Statistics of the elements of an array.")
      .def_ro("elements", &Statistics::elements)
      .def_ro("nans", &Statistics::nans)
      .def_ro("min", &Statistics::min)
      .def_ro("max", &Statistics::max)
      .def_ro("mean", &Statistics::mean)
      .def_ro("deviation", &Statistics::deviation)
      .def_ro("percentiles", &Statistics::percentiles)
      .def_ro("histogram", &Statistics::histogram)
      .def_ro("histogram_low", &Statistics::histogram_low)
      .def_ro("histogram_high", &Statistics::histogram_high)
      .def_ro("otsu", &Statistics::otsu);
  m.def(
      "statistics_of_tensor",
      [](const Tensor& elements, const std::vector<double>& percentiles, std::uint32_t bins,
         const std::optional<std::pair<double, double>>& range, bool otsu, bool summary, const JobOptions& job) {
        const StatisticsRequest request = request_of(percentiles, bins, range, otsu, summary);
        return run_giving<Statistics>(job, [&](const Options& o) { return statistics(elements.view(), request, o); });
      },
      nb::arg("elements"), nb::arg("percentiles"), nb::arg("bins"), nb::arg("range").none(), nb::arg("otsu"),
      nb::arg("summary"), nb::arg("options"));
  m.def(
      "statistics_of_array",
      [](const Array& array, const std::vector<double>& percentiles, std::uint32_t bins,
         const std::optional<std::pair<double, double>>& range, bool otsu, bool summary, bool is_cuda, int index,
         const JobOptions& job) {
        const StatisticsRequest request = request_of(percentiles, bins, range, otsu, summary);
        const Array held = array;
        return run_giving<Statistics>(
            job, [&](const Options& o) { return statistics(held, request, device_of(is_cuda, index), o); });
      },
      nb::arg("array"), nb::arg("percentiles"), nb::arg("bins"), nb::arg("range").none(), nb::arg("otsu"),
      nb::arg("summary"), nb::arg("is_cuda"), nb::arg("index"), nb::arg("options"));
}

}  // namespace

void bind_ops(nb::module_& m) {
  nb::class_<BoundOperators>(m, "BoundOperators", "Operators, prepared for inputs of one data type and shape.")
      .def_static(
          "make",
          [](const CallTuples& calls, const DType& dtype, const Shape& shape) {
            return unwrap(BoundOperators::make(calls_of(calls), {dtype, shape}));
          },
          nb::arg("calls"), nb::arg("dtype"), nb::arg("shape"))
      .def_prop_ro("dtype", [](const BoundOperators& self) { return self.result().dtype; })
      .def_prop_ro("shape", [](const BoundOperators& self) { return self.result().shape; })
      .def(
          "apply",
          [](const BoundOperators& self, const Tensor& input, const Tensor& output, const JobOptions& job) {
            run_giving<bool>(job, [&](const Options& o) -> Result<bool> {
              PENSTOCK_TRY(self.apply(input.view(), output.view(), o));
              return true;
            });
          },
          nb::arg("input"), nb::arg("output"), nb::arg("options"));
  m.def(
      "map_coordinates",
      [](const Tensor& input, const Tensor& coordinates, const Tensor& output, int order, const std::string& mode,
         double constant, bool prefilter, bool displacement, bool in_double, const JobOptions& job) {
        const Sampling how{order, mode, constant, prefilter, displacement, in_double};
        run_giving<bool>(job, [&](const Options& o) -> Result<bool> {
          PENSTOCK_TRY(map_coordinates(input.view(), coordinates.view(), output.view(), how, o));
          return true;
        });
      },
      nb::arg("input"), nb::arg("coordinates"), nb::arg("output"), nb::arg("order"), nb::arg("mode"),
      nb::arg("constant"), nb::arg("prefilter"), nb::arg("displacement"), nb::arg("in_double"), nb::arg("options"));
  m.def(
      "phase_correlation",
      [](const Tensor& reference, const Tensor& moving, int upsample, bool whiten, const JobOptions& job) {
        const PhaseCorrelation made = run_giving<PhaseCorrelation>(job, [&](const Options& o) {
          return phase_correlation(reference.view(), moving.view(), {upsample, whiten}, o);
        });
        return std::make_tuple(made.shift, made.error, made.phase);
      },
      nb::arg("reference"), nb::arg("moving"), nb::arg("upsample"), nb::arg("whiten"), nb::arg("options"));
  m.def(
      "reduce_array",
      [](const Array& array, const std::string& what, const std::vector<std::size_t>& axes, bool is_cuda, int index,
         const JobOptions& job) {
        const Array held = array;
        return run_giving<Tensor>(
            job, [&](const Options& o) { return reduce_array(held, what, axes, device_of(is_cuda, index), o); });
      },
      nb::arg("array"), nb::arg("what"), nb::arg("axes"), nb::arg("is_cuda"), nb::arg("index"), nb::arg("options"));
  m.def(
      "operators",
      [] {
        std::vector<std::tuple<std::string, std::string, std::string>> rows;
        for (const OpInfo& op : operators()) rows.emplace_back(op.name, op.summary, op.arguments);
        return rows;
      },
      "(name, summary, arguments) of all operators.");
  bind_lazy(m);
  bind_statistics(m);
}

}  // namespace penstock::python
