// Requests that a store in Python answers, whenever it does.
#pragma once
#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <vector>

#include "penstock/store.hpp"

namespace penstock::python {

/// One call of Store::fetch in the hands of Python.  Whoever holds it answers each request once; those that are left
/// when nobody holds it any more fail.  All members but the destructor need the GIL.
class FetchBatch {
 public:
  FetchBatch(std::string url, std::span<const FetchRequest> requests, FetchSink& sink, CancelToken cancel);
  FetchBatch(const FetchBatch&) = delete;
  FetchBatch& operator=(const FetchBatch&) = delete;
  ~FetchBatch();

  /// (key, kind, offset, count) of each: kind is "whole", "span", "from" or "last".
  [[nodiscard]] nanobind::list requests() const;
  [[nodiscard]] bool cancelled() const { return cancel_.cancelled(); }
  /// Bytes of each of these requests, None where the key is absent; delivered without the GIL.
  void answer(const std::vector<std::size_t>& numbers, const nanobind::list& buffers);
  /// Why these requests failed.
  void fail(const std::vector<std::size_t>& numbers, const nanobind::object& why);

 private:
  using Answers = std::vector<std::pair<std::size_t, FetchAnswer>>;
  [[nodiscard]] FetchAnswer answer_of(std::size_t number, const nanobind::object& buffer) const;
  [[nodiscard]] std::string place(std::size_t number) const;
  [[nodiscard]] bool is_open(std::size_t number) const;
  void deliver(Answers answers);

  const std::string url_;
  const std::vector<FetchRequest> requests_;
  std::vector<bool> answered_;
  FetchSink& sink_;
  const CancelToken cancel_;
};

void bind_fetch_batch(nanobind::module_& m);

}  // namespace penstock::python
