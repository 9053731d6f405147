// Recognises the rectangle in a batch: zarr-python hands a selection to a codec pipeline chunk by chunk; one native
// call wants it whole.
#include "zarr_batch.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "penstock/array.hpp"

namespace nb = nanobind;

namespace penstock::python {
namespace {

using RangeTuple = std::tuple<std::uint64_t, std::uint64_t, std::int64_t>;

/// One dimension of a chunk's selection: elements start, start + step, ... of the chunk; an integer drops it.
struct Part {
  std::uint64_t start = 0;
  std::uint64_t count = 0;
  std::uint64_t step = 1;
  bool dropped = false;
};

std::optional<Part> part_of(PyObject* item) {
  if (PySlice_Check(item)) {
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(item, &start, &stop, &step) != 0) {
      PyErr_Clear();
      return std::nullopt;
    }
    if (start < 0 || step < 1 || stop < start) return std::nullopt;
    const auto extent = static_cast<std::uint64_t>(stop - start), by = static_cast<std::uint64_t>(step);
    return Part{static_cast<std::uint64_t>(start), (extent + by - 1) / by, by, false};
  }
  if (!PyIndex_Check(item) || PySequence_Check(item)) return std::nullopt;  // arrays are both
  const Py_ssize_t index = PyNumber_AsSsize_t(item, nullptr);
  if (index < 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  return Part{static_cast<std::uint64_t>(index), 1, 1, true};
}

/// What an element of the batch asks for.
struct Piece {
  std::string_view key;
  nb::object key_owner;
  std::vector<Part> in_chunk;
  std::vector<Part> in_out;
};

bool parts_of(PyObject* selection, std::vector<Part>& out) {
  out.clear();
  if (!PyTuple_Check(selection)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_Size(selection); ++i) {
    const auto part = part_of(PyTuple_GetItem(selection, i));
    if (!part) return false;
    out.push_back(*part);
  }
  return true;
}

bool read_piece(PyObject* item, Piece& piece) {
  if (!PyTuple_Check(item) || PyTuple_Size(item) < 4) return false;
  piece.key_owner = nb::steal(PyObject_GetAttrString(PyTuple_GetItem(item, 0), "path"));
  if (!piece.key_owner.is_valid()) {
    PyErr_Clear();
    return false;
  }
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(piece.key_owner.ptr(), &size);
  if (text == nullptr) {
    PyErr_Clear();
    return false;
  }
  piece.key = {text, static_cast<std::size_t>(size)};
  return parts_of(PyTuple_GetItem(item, 2), piece.in_chunk) && parts_of(PyTuple_GetItem(item, 3), piece.in_out);
}

/// Holds the pieces against the region that the first of them implies.
class Rectangle {
 public:
  Rectangle(const Array& array, std::vector<std::uint64_t> first_chunk, const Shape& out_shape)
      : dataset_(array.dataset()), path_(array.path()), chunk_(std::move(first_chunk)), out_shape_(out_shape) {}

  /// Whether the piece is a part of the rectangle, at the place in the output where it belongs, and comes after those
  /// before it.
  bool take(const Piece& piece) {
    if (piece.in_chunk.size() != dataset_.rank()) return false;
    if (ranges_.empty() && dataset_.rank() > 0 && !begin(piece)) return false;
    std::uint64_t elements = 1;
    std::size_t o = 0;
    Shape chunk(dataset_.rank());
    for (std::size_t d = 0; d < dataset_.rank(); ++d) {
      const Part& part = piece.in_chunk[d];
      const Part out = part.dropped ? Part{} : o < piece.in_out.size() ? piece.in_out[o++] : Part{0, 0, 0, true};
      if (part.dropped != dropped_[d] || out.dropped || out.step != 1) return false;
      if (!part.dropped && (out.count != part.count || part.step != ranges_[d].step)) return false;
      const std::uint64_t at = ranges_[d].start + out.start * ranges_[d].step;
      if (at < part.start || (at - part.start) % dataset_.chunk_shape[d] != 0) return false;
      chunk[d] = (at - part.start) / dataset_.chunk_shape[d];
      elements *= part.count;
    }
    if (o != piece.in_out.size()) return false;
    const std::string key = dataset_.keys()->key(chunk);
    if (piece.key != (path_.empty() ? key : path_ + "/" + key)) return false;
    if (taken_ > 0 && !(last_ < chunk)) return false;  // in C order, so that none comes twice
    last_ = std::move(chunk);
    taken_ += 1;
    elements_ += elements;
    return true;
  }

  [[nodiscard]] bool complete() const {
    std::uint64_t wanted = 1;
    for (const std::uint64_t extent : out_shape_) wanted *= extent;
    return elements_ == wanted;
  }

  [[nodiscard]] std::tuple<std::vector<RangeTuple>, std::vector<bool>> result() const {
    std::vector<RangeTuple> ranges;
    for (const Step& r : ranges_) ranges.emplace_back(r.start, r.count, static_cast<std::int64_t>(r.step));
    return {std::move(ranges), dropped_};
  }

 private:
  struct Step {
    std::uint64_t start, count, step;
  };

  bool begin(const Piece& piece) {
    std::size_t o = 0;
    for (std::size_t d = 0; d < dataset_.rank(); ++d) {
      const Part& part = piece.in_chunk[d];
      const std::uint64_t at = chunk_[d] * dataset_.chunk_shape[d] + part.start;
      dropped_.push_back(part.dropped);
      if (part.dropped) {
        ranges_.push_back({at, 1, 1});
        continue;
      }
      if (o >= piece.in_out.size() || o >= out_shape_.size() || piece.in_out[o].start != 0) return false;
      ranges_.push_back({at, out_shape_[o++], part.step});
    }
    return o == out_shape_.size();
  }

  Dataset dataset_;
  std::string path_;
  std::vector<std::uint64_t> chunk_;  // of the first piece
  Shape out_shape_;
  std::vector<Step> ranges_;
  std::vector<bool> dropped_;
  Shape last_;
  std::uint64_t taken_ = 0, elements_ = 0;
};

std::optional<std::tuple<std::vector<RangeTuple>, std::vector<bool>>> rectangle(const Array& array,
                                                                                const nb::list& batch,
                                                                                const Shape& first_chunk,
                                                                                const Shape& out_shape) {
  if (first_chunk.size() != array.dataset().rank()) return std::nullopt;
  Rectangle made(array, first_chunk, out_shape);
  Piece piece;
  for (const nb::handle item : batch)
    if (!read_piece(item.ptr(), piece) || !made.take(piece)) return std::nullopt;
  if (!made.complete()) return std::nullopt;
  return made.result();
}

}  // namespace

void bind_zarr_batch(nb::module_& m) {
  m.def("rectangle", &rectangle, nb::arg("array"), nb::arg("batch"), nb::arg("first_chunk"), nb::arg("out_shape"),
        nb::sig("def rectangle(array: Array, batch: Sequence[object], first_chunk: Sequence[int], out_shape: "
                "Sequence[int]) -> "
                "tuple[list[tuple[int, int, int]], list[bool]] | None"),
        "The region ((start, count, step) and whether it is dropped, of every dimension) that a codec pipeline's batch "
        "makes up; None when it is no rectangle.  first_chunk: grid position of the first element.");
}

}  // namespace penstock::python
