// A Store whose bytes come from a Python object: the stores of zarr-python that the library cannot read by itself.
#include "zarr_store.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <optional>
#include <utility>

#include "errors.hpp"
#include "store.hpp"

namespace nb = nanobind;

namespace penstock::python {
namespace {

/// Runs `call` with the GIL; a Python exception becomes an error about `key`.
template <class T, class Call>
Result<T> with_gil(std::string_view what, std::string_view key, const Call& call) {
  const nb::gil_scoped_acquire gil;
  try {
    return call();
  } catch (const nb::python_error& e) {
    const nb::object error = nb::borrow(e.value());
    return Error(ErrorCode::io_error,
                 fmt::format("{}: the store could not {} it: {}: {}", key, what,
                             nb::cast<std::string>(nb::str(error.type().attr("__name__"))), nb::str(error).c_str()));
  } catch (const nb::cast_error&) {
    return Error(ErrorCode::io_error, fmt::format("{}: the store's answer has a type that was not expected", key));
  }
}

/// The bytes of a Python object, kept alive.
class PyBytes {
 public:
  /// Needs the GIL.  Raises what the object raises.
  explicit PyBytes(const nb::object& owner) {
    if (PyObject_GetBuffer(owner.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  PyBytes(const PyBytes&) = delete;
  PyBytes& operator=(const PyBytes&) = delete;
  ~PyBytes() {
    const nb::gil_scoped_acquire gil;
    PyBuffer_Release(&buffer_);
  }
  [[nodiscard]] ByteView view() const {
    return {static_cast<const std::byte*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_{};
};

/// An object that was fetched as a whole when it was opened.
class WholeObject final : public Object {
 public:
  WholeObject(std::unique_ptr<PyBytes> bytes, std::string key) : bytes_(std::move(bytes)), key_(std::move(key)) {}
  std::uint64_t size_bytes() const override { return bytes_->view().size(); }
  Status read(std::uint64_t offset_bytes, ByteSpan into) const override {
    const auto part = view(offset_bytes, into.size());
    if (!part)
      return Error(ErrorCode::corrupt_data, fmt::format("{}: the object ends at byte {}, wanted {} bytes from byte {}",
                                                        key_, size_bytes(), into.size(), offset_bytes));
    if (!into.empty()) std::memcpy(into.data(), part->data(), into.size());
    return {};
  }
  std::optional<ByteView> view(std::uint64_t offset_bytes, std::uint64_t count) const override {
    const ByteView all = bytes_->view();
    if (offset_bytes > all.size() || count > all.size() - offset_bytes) return std::nullopt;
    return all.subspan(offset_bytes, count);
  }

 private:
  std::unique_ptr<PyBytes> bytes_;
  std::string key_;
};

/// An object of which ranges are fetched as they are wanted.
class RangedObject final : public Object {
 public:
  RangedObject(PyObject* source, std::string key, std::uint64_t size_bytes)
      : source_(source), key_(std::move(key)), size_bytes_(size_bytes) {}
  std::uint64_t size_bytes() const override { return size_bytes_; }
  Status read(std::uint64_t offset_bytes, ByteSpan into) const override {
    auto done = with_gil<bool>("read", key_, [&]() -> Result<bool> {
      const nb::object got = nb::borrow(source_).attr("get")(key_, offset_bytes, offset_bytes + into.size());
      if (got.is_none()) return Error(ErrorCode::not_found, key_ + ": the object has vanished during the read");
      const PyBytes bytes(got);
      if (bytes.view().size() != into.size())
        return Error(ErrorCode::corrupt_data, fmt::format("{}: the store gave {} bytes for {} bytes from byte {}", key_,
                                                          bytes.view().size(), into.size(), offset_bytes));
      if (!into.empty()) std::memcpy(into.data(), bytes.view().data(), into.size());
      return true;
    });
    return done ? Status() : Status(std::move(done).error());
  }

 private:
  PyObject* source_;  // the store keeps it; no object outlives its store
  std::string key_;
  std::uint64_t size_bytes_;
};

/// A store over a Python object with `url`, `writable`, `ranged`, size(key), get(key, start, stop), set(key, value) and
/// erase(key).  Its calls come from any thread.
class PythonStore final : public Store {
 public:
  explicit PythonStore(const nb::object& source)
      : source_(source.inc_ref().ptr()),
        url_(nb::cast<std::string>(source.attr("url"))),
        writable_(nb::cast<bool>(source.attr("writable"))),
        ranged_(nb::cast<bool>(source.attr("ranged"))) {}
  PythonStore(const PythonStore&) = delete;
  PythonStore& operator=(const PythonStore&) = delete;
  ~PythonStore() override {
    const nb::gil_scoped_acquire gil;
    Py_DECREF(source_);
  }
  std::string url() const override { return url_; }
  std::string path_taken() const override { return "zarr-python store"; }
  bool writable() const override { return writable_; }
  std::string identity() const override { return "python:" + url_; }

  Result<std::unique_ptr<Object>> open(std::string_view key) const override {
    PENSTOCK_TRY(check_key(key));
    return with_gil<std::unique_ptr<Object>>("read", key, [&]() -> Result<std::unique_ptr<Object>> {
      const std::string name(key);
      const nb::object source = nb::borrow(source_);
      if (ranged_) {
        const nb::object size = source.attr("size")(name);
        if (size.is_none()) return std::unique_ptr<Object>();
        return std::unique_ptr<Object>(std::make_unique<RangedObject>(source_, name, nb::cast<std::uint64_t>(size)));
      }
      const nb::object got = source.attr("get")(name, nb::none(), nb::none());
      if (got.is_none()) return std::unique_ptr<Object>();
      return std::unique_ptr<Object>(std::make_unique<WholeObject>(std::make_unique<PyBytes>(got), name));
    });
  }
  Result<std::vector<StoreEntry>> list_dir(std::string_view) const override {
    return Error(ErrorCode::unsupported, url_ + ": a store of zarr-python is not listed here");
  }
  Status set(std::string_view key, ByteView value) override {
    PENSTOCK_TRY(check_key(key));
    auto done = with_gil<bool>("write", key, [&]() -> Result<bool> {
      nb::borrow(source_).attr("set")(std::string(key), nb::bytes(value.data(), value.size()));
      return true;
    });
    return done ? Status() : Status(std::move(done).error());
  }
  Status erase(std::string_view key) override {
    PENSTOCK_TRY(check_key(key));
    auto done = with_gil<bool>("remove", key, [&]() -> Result<bool> {
      nb::borrow(source_).attr("erase")(std::string(key));
      return true;
    });
    return done ? Status() : Status(std::move(done).error());
  }

 private:
  PyObject* source_;  // not nb::object: it is let go of from threads without the GIL
  std::string url_;
  bool writable_;
  bool ranged_;
};

}  // namespace

void bind_zarr_store(nb::module_& m) {
  m.def(
      "python_store", [](const nb::object& source) { return PyStore{std::make_shared<PythonStore>(source)}; },
      nb::arg("source"),
      "A store over an object with `url`, `writable`, `ranged` (fetch parts of objects), size(key), "
      "get(key, start, stop), set(key, value) and erase(key), called from any thread.");
}

}  // namespace penstock::python
