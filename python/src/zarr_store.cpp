// A Store whose bytes come from a Python object: the stores of zarr-python that the library cannot read by itself.
#include "zarr_store.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "fetch_batch.hpp"
#include "store.hpp"

namespace nb = nanobind;

namespace penstock::python {
namespace {

/// Runs `call` with the GIL; a Python exception becomes an error about `key`.
template <class Call>
Status with_gil(std::string_view what, std::string_view key, const Call& call) {
  const nb::gil_scoped_acquire gil;
  try {
    call();
    return {};
  } catch (const nb::python_error& e) {
    const nb::object error = nb::borrow(e.value());
    return Error(
        ErrorCode::io_error,
        redacted(fmt::format("{}: the store could not {} it: {}: {}", key, what,
                             nb::cast<std::string>(nb::str(error.type().attr("__name__"))), nb::str(error).c_str())));
  } catch (const nb::cast_error&) {
    return Error(ErrorCode::io_error, fmt::format("{}: the store's answer has a type that was not expected", key));
  }
}

/// Across a network a request costs more time than reading on: ranges this near are one, up to so many bytes.
constexpr std::uint64_t kMergeGapBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMergeMaxBytes = std::uint64_t{16} << 20;

/// A store over a Python object with `url`, `writable`, `in_flight`, fetch(batch), set(key, value) and erase(key).  Its
/// calls come from any thread.
class PythonStore final : public Store {
 public:
  explicit PythonStore(const nb::object& source)
      : source_(source.inc_ref().ptr()),
        url_(redacted(nb::cast<std::string>(source.attr("url")))),
        writable_(nb::cast<bool>(source.attr("writable"))),
        in_flight_(nb::cast<std::uint64_t>(source.attr("in_flight"))) {}
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

  StoreTraits traits(std::string_view) const override {
    StoreTraits traits;
    traits.requests_in_flight = in_flight_;
    if (in_flight_ == 0) {
      traits.reason = "a store of zarr-python that answers in the thread that asks";
      return traits;
    }
    traits.merge_gap_bytes = kMergeGapBytes;
    traits.merge_max_bytes = kMergeMaxBytes;
    traits.reason = "an asynchronous store of zarr-python: requests wait for it together, few large ones cost least";
    return traits;
  }

  // The GIL is taken once for all requests; an asynchronous store answers from its event loop.
  void fetch(std::span<const FetchRequest> requests, FetchSink& sink, const FetchOptions& options) const override {
    std::vector<NumberedRequest> asked;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (const Status status = check_key(requests[i].key); !status) {
        FetchAnswer refused;
        refused.status = status.error();
        sink.done(i, std::move(refused));
      } else if (auto known = answer_from_pin(requests[i], join(requests[i].key))) {
        sink.done(i, *std::move(known));
      } else {
        asked.push_back({i, requests[i]});
      }
    }
    if (asked.empty()) return;
    const nb::gil_scoped_acquire gil;
    const std::size_t count = asked.size();
    const nb::object batch =
        nb::cast(new FetchBatch(url_, std::move(asked), sink, options.cancel), nb::rv_policy::take_ownership);
    try {
      nb::borrow(source_).attr("fetch")(batch);
    } catch (nb::python_error& e) {
      std::vector<std::size_t> all(count);
      std::iota(all.begin(), all.end(), std::size_t{0});
      nb::cast<FetchBatch&>(batch).fail(all, nb::borrow(e.value()));
    }
  }

  Result<std::vector<StoreEntry>> list_dir(std::string_view) const override {
    return Error(ErrorCode::unsupported, url_ + ": a store of zarr-python is not listed here");
  }
  Status set(std::string_view key, ByteView value) override {
    PENSTOCK_TRY(check_key(key));
    return with_gil("write", key,
                    [&] { nb::borrow(source_).attr("set")(std::string(key), nb::bytes(value.data(), value.size())); });
  }
  Status erase(std::string_view key) override {
    PENSTOCK_TRY(check_key(key));
    return with_gil("remove", key, [&] { nb::borrow(source_).attr("erase")(std::string(key)); });
  }

 private:
  std::string join(std::string_view key) const { return url_ + "/" + std::string(key); }

  PyObject* source_;  // not nb::object: it is let go of from threads without the GIL
  std::string url_;
  bool writable_;
  std::uint64_t in_flight_;
};

}  // namespace

void bind_zarr_store(nb::module_& m) {
  m.def(
      "python_store", [](const nb::object& source) { return PyStore{std::make_shared<PythonStore>(source)}; },
      nb::arg("source"),
      "A store over an object with `url`, `writable`, `in_flight` (requests worth having under way; 0: it answers in "
      "the "
      "calling thread), fetch(batch), set(key, value) and erase(key), called from any thread.");
  bind_fetch_batch(m);
}

}  // namespace penstock::python
