// Requests that a store in Python answers, whenever it does.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "penstock/store.hpp"
#include "py_bytes.hpp"

namespace penstock::python {

/// A request with its number in the call that it came by.
struct NumberedRequest {
  std::size_t number = 0;
  FetchRequest request;
};

/// The answer out of a whole object.  Its bytes are its version too: what is asked of that one is read from them.
FetchAnswer answer_from_whole(const ByteRange& range, std::shared_ptr<const PyBytes> whole, const std::string& place);
/// As above when the request is for a version that was fetched whole before; nullopt when it is not.
std::optional<FetchAnswer> answer_from_pin(const FetchRequest& request, const std::string& place);

/// Requests in the hands of Python.  Whoever holds it answers each once; those that are left when nobody holds it any
/// more fail.  All members but the destructor need the GIL.
class FetchBatch {
 public:
  FetchBatch(std::string url, std::vector<NumberedRequest> requests, FetchSink& sink, CancelToken cancel);
  FetchBatch(const FetchBatch&) = delete;
  FetchBatch& operator=(const FetchBatch&) = delete;
  ~FetchBatch();

  /// (key, kind, offset, count) of each: kind is "whole", "span", "from" or "last".
  [[nodiscard]] nanobind::list requests() const;
  [[nodiscard]] bool cancelled() const { return cancel_.cancelled(); }
  /// Bytes of each of these requests, None where the key is absent; delivered without the GIL.
  void answer(const std::vector<std::size_t>& indices, const nanobind::list& buffers);
  /// Why these requests failed.
  void fail(const std::vector<std::size_t>& indices, const nanobind::object& why);

 private:
  using Answers = std::vector<std::pair<std::size_t, FetchAnswer>>;
  [[nodiscard]] FetchAnswer answer_of(std::size_t index, const nanobind::object& buffer) const;
  [[nodiscard]] std::string place(std::size_t index) const;
  [[nodiscard]] bool is_open(std::size_t index) const;
  void deliver(Answers answers);

  const std::string url_;
  const std::vector<NumberedRequest> requests_;
  std::vector<bool> answered_;
  FetchSink& sink_;
  const CancelToken cancel_;
};

void bind_fetch_batch(nanobind::module_& m);

}  // namespace penstock::python
