#include "fetch_batch.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "errors.hpp"
#include "py_bytes.hpp"
#include "store.hpp"

namespace nb = nanobind;

namespace penstock::python {
namespace {

const char* kind_name(ByteRange::Kind kind) {
  switch (kind) {
    case ByteRange::Kind::whole: return "whole";
    case ByteRange::Kind::span: return "span";
    case ByteRange::Kind::from: return "from";
    case ByteRange::Kind::last: return "last";
  }
  return "";
}

FetchAnswer failed(ErrorCode code, std::string message) {
  FetchAnswer answer;
  answer.status = Error(code, redacted(message));
  return answer;
}

}  // namespace

FetchBatch::FetchBatch(std::string url, std::span<const FetchRequest> requests, FetchSink& sink, CancelToken cancel)
    : url_(std::move(url)),
      requests_(requests.begin(), requests.end()),
      answered_(requests.size(), false),
      sink_(sink),
      cancel_(std::move(cancel)) {}

FetchBatch::~FetchBatch() {
  Answers rest;
  for (std::size_t i = 0; i < requests_.size(); ++i)
    if (!answered_[i])
      rest.emplace_back(i, failed(ErrorCode::io_error, place(i) + ": the event loop ended before the store answered"));
  if (rest.empty()) return;
  const nb::gil_scoped_acquire gil;
  deliver(std::move(rest));
}

nb::list FetchBatch::requests() const {
  nb::list all;
  for (const FetchRequest& one : requests_)
    all.append(nb::make_tuple(nb::str(one.key.data(), one.key.size()), kind_name(one.range.kind),
                              one.range.offset_bytes, one.range.count));
  return all;
}

std::string FetchBatch::place(std::size_t number) const { return url_ + "/" + std::string(requests_[number].key); }

// What the store did not say is left open: it was asked for bytes only.
FetchAnswer FetchBatch::answer_of(std::size_t number, const nb::object& buffer) const {
  const FetchRequest& request = requests_[number];
  // Nothing tells the versions of such a store apart.
  if (request.same_as != nullptr)
    return failed(ErrorCode::changed, place(number) + ": nobody can tell whether it is the version that was read");
  FetchAnswer answer;
  if (buffer.is_none()) {
    answer.absent = true;
    return answer;
  }
  const auto bytes = std::make_shared<const PyBytes>(buffer);
  answer.bytes = bytes->view();
  answer.owner = bytes;
  const ByteRange& range = request.range;
  const std::uint64_t got = answer.bytes.size();
  const auto wrong = [&] {
    return failed(ErrorCode::corrupt_data, fmt::format("{}: the store gave {} bytes for {} bytes from byte {}",
                                                       place(number), got, range.count, range.offset_bytes));
  };
  answer.object_bytes = kNotTold;
  switch (range.kind) {
    case ByteRange::Kind::whole: answer.object_bytes = got; break;
    case ByteRange::Kind::span:
      if (got != range.count) return wrong();
      answer.offset_bytes = range.offset_bytes;
      break;
    case ByteRange::Kind::from:
      answer.offset_bytes = range.offset_bytes;
      if (got > 0) answer.object_bytes = range.offset_bytes + got;
      break;
    case ByteRange::Kind::last:
      if (got > range.count) return wrong();
      if (got < range.count) answer.object_bytes = got;
      answer.offset_bytes = got < range.count ? 0 : kNotTold;
      break;
  }
  return answer;
}

// What a request points at is gone once it was answered.
bool FetchBatch::is_open(std::size_t number) const {
  if (number >= requests_.size()) throw nb::index_error("no request of this number");
  return !answered_[number];
}

void FetchBatch::deliver(Answers answers) {
  for (const auto& one : answers) answered_[one.first] = true;
  // The sink may wait for its own locks, whose holders may wait for the GIL.
  const nb::gil_scoped_release released;
  for (auto& [number, answer] : answers) sink_.done(number, std::move(answer));
}

void FetchBatch::answer(const std::vector<std::size_t>& numbers, const nb::list& buffers) {
  if (buffers.size() != numbers.size())
    throw nb::value_error("the store gave another number of answers than it was asked for");
  Answers answers;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (is_open(numbers[i])) answers.emplace_back(numbers[i], answer_of(numbers[i], nb::borrow(buffers[i])));
  deliver(std::move(answers));
}

void FetchBatch::fail(const std::vector<std::size_t>& numbers, const nb::object& why) {
  const std::string text =
      fmt::format("{}: {}", nb::cast<std::string>(nb::str(why.type().attr("__name__"))), nb::str(why).c_str());
  const ErrorCode code = cancelled() ? ErrorCode::cancelled : ErrorCode::io_error;
  Answers answers;
  for (const std::size_t number : numbers)
    if (is_open(number))
      answers.emplace_back(number, failed(code, place(number) + ": the store could not read it: " + text));
  deliver(std::move(answers));
}

namespace {

using RequestTuple = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>;

Result<ByteRange> range_of(const RequestTuple& request) {
  const auto& [key, kind, offset, count] = request;
  if (kind == "whole") return ByteRange{};
  if (kind == "span") return ByteRange::span(offset, count);
  if (kind == "from") return ByteRange::from(offset);
  if (kind == "last") return ByteRange::last(count);
  return Error(ErrorCode::invalid_argument, "a range is whole, span, from or last, not " + kind);
}

/// Keeps what comes until all is there.
class Waiting final : public FetchSink {
 public:
  explicit Waiting(std::size_t count) : answers_(count), memory_(count) {}
  Result<ByteSpan> room(std::size_t request, std::uint64_t bytes) override {
    PENSTOCK_TRY(memory_[request].resize_discard(bytes));
    return memory_[request].span();
  }
  void done(std::size_t request, FetchAnswer answer) override {
    const std::scoped_lock lock(mutex_);
    answers_[request] = std::move(answer);
    if (++over_ == answers_.size()) all_over_.notify_all();
  }
  const std::vector<FetchAnswer>& wait() {
    std::unique_lock lock(mutex_);
    all_over_.wait(lock, [&] { return over_ == answers_.size(); });
    return answers_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_over_;
  std::size_t over_ = 0;
  std::vector<FetchAnswer> answers_;
  std::vector<Bytes> memory_;
};

nb::list fetch(const PyStore& s, const std::vector<RequestTuple>& wanted) {
  std::vector<FetchRequest> requests;
  for (const RequestTuple& one : wanted) requests.push_back({std::get<0>(one), unwrap(range_of(one)), nullptr});
  Waiting sink(requests.size());
  const std::vector<FetchAnswer>* answers = nullptr;
  {
    const nb::gil_scoped_release released;
    s.store->fetch(requests, sink, {});
    answers = &sink.wait();
  }
  nb::list all;
  for (const FetchAnswer& answer : *answers) {
    unwrap(Status(answer.status));
    if (answer.absent)
      all.append(nb::none());
    else
      all.append(nb::bytes(answer.bytes.data(), answer.bytes.size()));
  }
  return all;
}

}  // namespace

void bind_fetch_batch(nb::module_& m) {
  nb::class_<FetchBatch>(m, "FetchBatch", "Requests to a store that is a Python object.  Each is answered once.")
      .def_prop_ro("requests", &FetchBatch::requests, "(key, kind, offset, count); kind: whole, span, from or last")
      .def_prop_ro("cancelled", &FetchBatch::cancelled)
      .def("answer", &FetchBatch::answer, nb::arg("numbers"), nb::arg("buffers"))
      .def("fail", &FetchBatch::fail, nb::arg("numbers"), nb::arg("why"));
  m.def("fetch", &fetch, nb::arg("store"), nb::arg("requests"),
        "Bytes of many ranges, asked for at once: (key, kind, offset, count) each; None for absent keys.");
}

}  // namespace penstock::python
