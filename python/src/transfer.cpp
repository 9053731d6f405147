#include "transfer.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

#include "errors.hpp"
#include "jobs.hpp"
#include "tensor.hpp"
#include "vlen.hpp"

namespace penstock::python {

Region to_region(const Ranges& ranges) {
  Region region;
  region.reserve(ranges.size());
  for (const auto& [start, count, step] : ranges) region.push_back({start, count, step});
  return region;
}

std::string place(const Store& store, const std::string& path) {
  return path.empty() ? store.url() : store.url() + "/" + path;
}
std::string place(const Array& array) { return place(*array.store_ptr(), array.path()); }

namespace {

/// Memory as Python describes it; `keep` holds its owner while a call runs.  Objects: PyObject* of str or bytes.
struct PyTarget {
  enum class Holds : std::uint8_t { elements, objects };
  Target target;
  nb::object keep;
  Holds holds = Holds::elements;

  [[nodiscard]] ObjectMemory objects(const Region& region) const {
    return {reinterpret_cast<std::uintptr_t>(target.data), shape_of(region), target.strides};
  }
};

/// The region of `selection` if it is a tuple with a slice for every dimension, else nothing.
std::optional<Region> slices_of(const nb::tuple& shape, nb::handle selection) {
  const std::size_t rank = shape.size();
  if (rank == 0 || !PyTuple_CheckExact(selection.ptr())) return std::nullopt;  // 0-d: the result is a scalar
  const auto slices = nb::borrow<nb::tuple>(selection);
  if (slices.size() != rank) return std::nullopt;
  Region region;
  region.reserve(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    const nb::handle item = slices[d];
    Py_ssize_t extent = 0, start = 0, stop = 0, step = 0;
    if (!PySlice_Check(item.ptr()) || !nb::try_cast(shape[d], extent)) return std::nullopt;
    if (PySlice_Unpack(item.ptr(), &start, &stop, &step) != 0) throw nb::python_error();
    const Py_ssize_t count = PySlice_AdjustIndices(extent, &start, &stop, step);
    region.push_back(count == 0 ? Range{}
                                : Range{static_cast<std::uint64_t>(start), static_cast<std::uint64_t>(count), step});
  }
  return region;
}

nb::tuple counts_of(const Region& region) {
  nb::object counts = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(region.size())));
  for (std::size_t d = 0; d < region.size(); ++d)
    if (PyTuple_SetItem(counts.ptr(), static_cast<Py_ssize_t>(d), PyLong_FromUnsignedLongLong(region[d].count)) != 0)
      throw nb::python_error();
  return nb::borrow<nb::tuple>(counts);
}

/// Reads that run as one job.  Of the many regions of a call most are small: what each costs before it is read counts.
class ReadJob {
 public:
  void add(const Array& array, const Ranges& ranges, const PyTarget& to) {
    items_.push_back({array, to_region(ranges), to});
  }

  /// Adds a region of slices into new memory of `empty(shape, dtype)` and returns that.  None, and nothing is added,
  /// for other selections, for `max_bytes` or more, and where the memory shows no buffer.
  nb::object add_slices(const Array& array, const nb::tuple& shape, nb::handle selection, nb::handle empty,
                        nb::handle dtype, std::uint64_t max_bytes) {
    std::optional<Region> region = slices_of(shape, selection);
    if (!region) return nb::none();
    nb::object memory = empty(counts_of(*region), dtype);
    const std::optional<BufferView> buffer = buffer_of(memory);
    if (!buffer || buffer->bytes >= max_bytes) return nb::none();
    PyTarget to;
    to.target.data = buffer->data;  // no strides: C order
    to.keep = memory;
    items_.push_back({array, std::move(*region), std::move(to)});
    return memory;
  }

  /// Elements of variable length are made into objects when the job is done.
  [[nodiscard]] Report run(const JobOptions& job) const {
    std::vector<ReadItem> made;
    std::vector<std::vector<VlenRef>> refs(items_.size());
    Arena arena;
    made.reserve(items_.size());
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const auto& [array, region, to] = items_[i];
      made.push_back({&array, region, to.target});
      if (to.holds == PyTarget::Holds::elements) continue;
      refs[i].resize(unwrap(element_count(shape_of(region))));
      made.back().target = Target{};
      made.back().target.data = refs[i].data();
    }
    auto report = unwrap(run_job(job, [&](const Options& o) { return read_many(made, o, &arena); }),
                         items_.size() == 1 ? place(items_.front().array) : std::string());
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const auto& [array, region, to] = items_[i];
      if (to.holds == PyTarget::Holds::objects) store_objects(refs[i], array.dataset().dtype.kind, to.objects(region));
    }
    return report;
  }

 private:
  struct Item {
    Array array;  // a copy: the Python object may be dropped or reopened meanwhile
    Region region;
    PyTarget to;
  };
  std::vector<Item> items_;
};

using PyReadItem = std::tuple<const Array*, Ranges, const PyTarget*>;

Report read_several(const std::vector<PyReadItem>& items, const JobOptions& options) {
  ReadJob job;
  for (const auto& [array, ranges, to] : items) job.add(*array, ranges, *to);
  return job.run(options);
}

using PyWriteItem = std::tuple<Array*, Ranges, const PyTarget*>;

/// Several writes as one job.
Report write_several(const std::vector<PyWriteItem>& items, const JobOptions& job) {
  std::vector<Array> held;
  std::vector<WriteItem> made;
  std::vector<std::vector<VlenRef>> refs(items.size());
  std::vector<nb::object> keep;
  held.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& [array, ranges, from] = items[i];
    held.push_back(*array);
    made.push_back({&held.back(), to_region(ranges), from->target});
    if (from->holds == PyTarget::Holds::elements) continue;
    refs[i] = load_objects(from->objects(made.back().region), held.back().dataset().dtype.kind, keep);
    made.back().source = Target{};
    made.back().source.data = refs[i].data();
  }
  return unwrap(run_job(job, [&](const Options& o) { return write_many(made, o); }),
                held.size() == 1 ? place(held.front()) : std::string());
}

void bind_target(nb::module_& m) {
  nb::class_<PyTarget>(m, "Target", "Memory that elements go to or come from.")
      .def(
          "__init__",
          [](PyTarget* self, std::uintptr_t address, Strides strides, nb::object keep, std::optional<Stream> stream,
             bool objects) {
            PyTarget t;
            t.holds = objects ? PyTarget::Holds::objects : PyTarget::Holds::elements;
            t.target.data = reinterpret_cast<void*>(address);
            t.target.strides = std::move(strides);
            if (stream) {
              t.target.device = stream->device();
              t.target.stream = *stream;
            }
            t.keep = std::move(keep);
            new (self) PyTarget(std::move(t));
          },
          nb::arg("address"), nb::arg("strides"), nb::arg("keep").none(), nb::arg("stream") = nb::none(),
          nb::arg("objects") = false,
          "Host memory, or with a stream that of its CUDA device.  Strides in bytes; `keep` stays alive with the "
          "target.  `objects`: references to str or bytes.");
}

void bind_jobs_of_many(nb::module_& m) {
  nb::class_<ReadJob>(m, "ReadJob", "Reads that run as one job.")
      .def(nb::init<>())
      .def("add", &ReadJob::add, nb::arg("array"), nb::arg("region"), nb::arg("target"))
      .def(
          "add_slices", &ReadJob::add_slices, nb::arg("array"), nb::arg("shape"), nb::arg("selection"),
          nb::arg("empty"), nb::arg("dtype"), nb::arg("max_bytes"),
          nb::sig("def add_slices(self, array: Array, shape: tuple[int, ...], selection: object, empty: object, "
                  "dtype: object, max_bytes: int) -> object"),
          "A tuple of slices into new memory of `empty(shape, dtype)`, which is returned.  None, and nothing is added: "
          "another selection, `max_bytes` or more, or memory that shows no buffer.")
      .def("run", &ReadJob::run, nb::arg("options"));
  m.def("read_many", &read_several, nb::arg("items"), nb::arg("options"), "Items: (array, region, target).");
  m.def("write_many", &write_several, nb::arg("items"), nb::arg("options"), "Items: (array, region, source).");
}

}  // namespace

void bind_transfer(nb::module_& m) {
  bind_target(m);
  bind_jobs_of_many(m);
}

}  // namespace penstock::python
