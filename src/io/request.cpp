#include "io/request.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/guard.hpp"
#include "io/per_process.hpp"

namespace penstock::io {

Request::Request(Order order) : order_(std::move(order)), process_(forks()) {}

std::shared_ptr<Request> Request::failed(Error error) {
  auto request = std::make_shared<Request>(Order{});
  request->error_ = std::move(error);
  request->state_ = State::over;
  return request;
}

std::uint64_t Request::pieces() const {
  if (order_.part_count() != 1) return order_.part_count();
  const FilePart all = order_.part(0);
  if (all.bytes <= order_.piece_bytes) return 1;
  return (all.offset + all.bytes - 1) / order_.piece_bytes - all.offset / order_.piece_bytes + 1;
}

/// What fits into a piece is one, wherever it lies in the file.
std::uint64_t Request::next_bytes() const {
  const FilePart part = order_.part(part_);
  if (part.bytes <= order_.piece_bytes) return part.bytes;
  return std::min(order_.piece_bytes - next_offset() % order_.piece_bytes, part.bytes - next_);
}

Piece Request::claim(const std::shared_ptr<Request>& self) {
  const FilePart part = order_.part(part_);
  Piece piece{self, order_.memory + part.at + next_, part.offset + next_, next_bytes()};
  next_ += piece.bytes;
  if (next_ == part.bytes) {
    ++part_;
    next_ = 0;
  }
  ++active_;
  ++claimed_;
  return piece;
}

void Request::fail(Status status) {
  if (!status && !error_) error_ = std::move(status).error();
}

bool Request::ended(Status status, double seconds) {
  --active_;
  seconds_ += seconds;
  fail(std::move(status));
  return is_over();
}

void Request::conclude() {
  wall_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  order_.keep.reset();
  std::vector<std::function<void(const Result<Report>&)>> calls;
  if (state_.exchange(State::over) == State::watched) {
    const std::scoped_lock lock(mutex_);
    calls.swap(calls_);
    ended_.notify_all();
  }
  order_.file->end();  // who waits to close the file finds its requests done; a callback may close it
  if (calls.empty()) return;
  const Result<Report> told = result();
  for (const auto& call : calls) call(told);
}

Report Request::report() const {
  const bool reading = order_.direction == Direction::read;
  Report report;
  report.operation = reading ? "read" : "write";
  report.wall_seconds = wall_seconds_;
  report.decoded_bytes = report.stored_bytes = order_.bytes;
  report.requests = claimed_;
  report.threads = std::min(order_.threads, claimed_);
  StageReport stage;
  stage.stage = reading ? "fetch" : "store";
  stage.path = std::string("file, ") + std::string(order_.choice.engine->name) + ", " + order_.device.name();
  stage.reason = order_.choice.why;
  const bool was_direct = order_.choice.engine->kind == IoEngine::direct;
  if (was_direct && order_.file->direct_refused())
    stage.reason += "; then buffered: " + std::string(order_.file->refusal());
  stage.bytes = order_.bytes;
  stage.seconds = seconds_;
  stage.counts.push_back({"pieces", claimed_});
  report.stages.push_back(std::move(stage));
  return report;
}

bool Request::watch() const {
  State before = State::under_way;
  return state_.compare_exchange_strong(before, State::watched) || before == State::watched;
}

bool Request::ends_soon(std::optional<std::chrono::nanoseconds> time) const {
  constexpr std::chrono::microseconds kSpin{50};  // to sleep, and to be woken, takes about so long
  const auto until = std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(kSpin, time.value_or(kSpin));
  while (!done() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  return done();
}

bool Request::wait_for(std::optional<std::chrono::nanoseconds> time) const {
  if (done()) return true;
  if (process_ != forks()) return true;  // it never comes here: `status` says so
  if (order_.bytes <= kSmallBytes && ends_soon(time)) return true;
  std::unique_lock lock(mutex_);
  if (!watch()) return true;
  const auto there = [&] { return done(); };
  if (time) return ended_.wait_for(lock, *time, there);
  ended_.wait(lock, there);
  return true;
}

Status Request::status() const {
  (void)wait_for(std::nullopt);
  if (done()) return error_ ? Status(*error_) : Status();
  return Error(ErrorCode::internal, "this process was forked while the request was under way: its threads are not here")
      .set_hint("Wait for it in the process that started it, or fork before.");
}

Result<Report> Request::result() const {
  PENSTOCK_TRY(status());
  return guarded([&]() -> Result<Report> { return report(); });
}

void Request::then(std::function<void(const Result<Report>&)> call) {
  if (!done() && process_ == forks()) {
    const std::scoped_lock lock(mutex_);
    calls_.push_back(std::move(call));
    if (watch()) return;
    call = std::move(calls_.back());
    calls_.pop_back();
  }
  call(result());
}

void Door::leave(const std::shared_ptr<Request>& request) noexcept {
  request->link_ = request;
  Request* before = last_.load();
  do request->before_ = before;
  while (!last_.compare_exchange_weak(before, request.get()));
}

std::shared_ptr<Request> Door::fetch() noexcept {
  std::shared_ptr<Request> first;
  for (Request* one = last_.exchange(nullptr); one != nullptr; one = one->before_) {
    std::swap(first, one->link_);  // it refers to itself no more, but to the one behind it
  }
  return first;
}

}  // namespace penstock::io
