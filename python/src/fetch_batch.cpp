#include "fetch_batch.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
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

/// Whether the store is asked for the whole object.  Of a question without bytes that is the answer too: whoever asks
/// it goes on with the version that it finds, and such a store has no other way back to one.
bool is_whole(const ByteRange& range) {
  const bool is_empty =
      (range.kind == ByteRange::Kind::span || range.kind == ByteRange::Kind::last) && range.count == 0;
  return is_empty || range.kind == ByteRange::Kind::whole;
}

const char* kind_name(const ByteRange& range) {
  if (is_whole(range)) return "whole";
  switch (range.kind) {
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

/// The bytes of one version of an object.
struct WholePin final : ObjectPin {
  explicit WholePin(std::shared_ptr<const PyBytes> whole) : bytes(std::move(whole)) {}
  std::shared_ptr<const PyBytes> bytes;
};

FetchAnswer ends_before(const ByteRange& range, std::uint64_t size, const std::string& place) {
  return failed(ErrorCode::corrupt_data, fmt::format("{}: the object has {} bytes, wanted {} bytes from byte {}", place,
                                                     size, range.count, range.offset_bytes));
}

}  // namespace

FetchAnswer answer_from_whole(const ByteRange& range, std::shared_ptr<const PyBytes> whole, const std::string& place) {
  const ByteView all = whole->view();
  const std::uint64_t size = all.size();
  std::uint64_t offset = range.offset_bytes, count = size;
  if (range.kind == ByteRange::Kind::whole) offset = 0;
  if (range.kind == ByteRange::Kind::last) offset = size - std::min(size, range.count);
  if (offset > size) return ends_before(range, size, place);
  count = size - offset;
  if (range.kind == ByteRange::Kind::span) {
    if (range.count > count) return ends_before(range, size, place);
    count = range.count;
  }
  FetchAnswer answer;
  answer.offset_bytes = offset;
  answer.object_bytes = size;
  answer.bytes = all.subspan(offset, count);
  answer.owner = whole;
  answer.version.pin = std::make_shared<const WholePin>(std::move(whole));
  return answer;
}

std::optional<FetchAnswer> answer_from_pin(const FetchRequest& request, const std::string& place) {
  if (request.same_as == nullptr) return std::nullopt;
  const auto* pin = dynamic_cast<const WholePin*>(request.same_as->pin.get());
  if (pin != nullptr) return answer_from_whole(request.range, pin->bytes, place);
  // Nothing else tells the versions of such a store apart.
  return failed(ErrorCode::changed, place + ": nobody can tell whether it is the version that was read");
}

FetchBatch::FetchBatch(std::string url, std::vector<NumberedRequest> requests, FetchSink& sink, CancelToken cancel)
    : url_(std::move(url)),
      requests_(std::move(requests)),
      answered_(requests_.size(), false),
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
  for (const auto& [number, one] : requests_)
    all.append(nb::make_tuple(nb::str(one.key.data(), one.key.size()), kind_name(one.range), one.range.offset_bytes,
                              one.range.count));
  return all;
}

std::string FetchBatch::place(std::size_t index) const {
  return url_ + "/" + std::string(requests_[index].request.key);
}

// What the store did not say is left open: it was asked for bytes only.
FetchAnswer FetchBatch::answer_of(std::size_t index, const nb::object& buffer) const {
  FetchAnswer answer;
  if (buffer.is_none()) {
    answer.absent = true;
    return answer;
  }
  const ByteRange& range = requests_[index].request.range;
  auto bytes = std::make_shared<const PyBytes>(buffer);
  if (is_whole(range)) return answer_from_whole(range, std::move(bytes), place(index));
  answer.bytes = bytes->view();
  answer.owner = bytes;
  answer.object_bytes = kNotTold;
  answer.offset_bytes = range.offset_bytes;
  const std::uint64_t got = answer.bytes.size();
  const bool is_last = range.kind == ByteRange::Kind::last, is_span = range.kind == ByteRange::Kind::span;
  if ((is_span && got != range.count) || (is_last && got > range.count))
    return failed(ErrorCode::corrupt_data, fmt::format("{}: the store gave {} bytes for {} bytes from byte {}",
                                                       place(index), got, range.count, range.offset_bytes));
  if (is_last) {
    const bool is_all = got < range.count;
    answer.offset_bytes = is_all ? 0 : kNotTold;
    if (is_all) answer.object_bytes = got;
  } else if (!is_span && got > 0) {
    answer.object_bytes = range.offset_bytes + got;
  }
  return answer;
}

// What a request points at is gone once it was answered.
bool FetchBatch::is_open(std::size_t index) const {
  if (index >= requests_.size()) throw nb::index_error("no request of this number");
  return !answered_[index];
}

void FetchBatch::deliver(Answers answers) {
  for (const auto& one : answers) answered_[one.first] = true;
  // The sink may wait for its own locks, whose holders may wait for the GIL.
  const nb::gil_scoped_release released;
  for (auto& [index, answer] : answers) sink_.done(requests_[index].number, std::move(answer));
}

void FetchBatch::answer(const std::vector<std::size_t>& indices, const nb::list& buffers) {
  if (buffers.size() != indices.size())
    throw nb::value_error("the store gave another number of answers than it was asked for");
  Answers answers;
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (is_open(indices[i])) answers.emplace_back(indices[i], answer_of(indices[i], nb::borrow(buffers[i])));
  deliver(std::move(answers));
}

void FetchBatch::fail(const std::vector<std::size_t>& indices, const nb::object& why) {
  const std::string text =
      fmt::format("{}: {}", nb::cast<std::string>(nb::str(why.type().attr("__name__"))), nb::str(why).c_str());
  const ErrorCode code = cancelled() ? ErrorCode::cancelled : ErrorCode::io_error;
  Answers answers;
  for (const std::size_t index : indices)
    if (is_open(index))
      answers.emplace_back(index, failed(code, place(index) + ": the store could not read it: " + text));
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
      .def_prop_ro("requests", &FetchBatch::requests,
                   nb::for_getter(nb::sig("def requests(self) -> list[tuple[str, str, int, int]]")),
                   "(key, kind, offset, count); kind: whole, span, from, last")
      .def_prop_ro("cancelled", &FetchBatch::cancelled)
      .def("answer", &FetchBatch::answer, nb::arg("indices"), nb::arg("buffers"),
           nb::sig("def answer(self, indices: Sequence[int], buffers: list[object]) -> None"))
      .def("fail", &FetchBatch::fail, nb::arg("indices"), nb::arg("why"));
  m.def("fetch", &fetch, nb::arg("store"), nb::arg("requests"),
        nb::sig("def fetch(store: Store, requests: Sequence[tuple[str, str, int, int]]) -> list[bytes | None]"),
        "Bytes of many ranges, asked for at once: (key, kind, offset, count) each; None for absent keys.");
}

}  // namespace penstock::python
