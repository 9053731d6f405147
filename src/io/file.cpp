// File's face: what was asked for becomes a request.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <utility>

#include "core/checked.hpp"
#include "core/guard.hpp"
#include "core/settings.hpp"
#include "device/backend.hpp"
#include "io/choose.hpp"
#include "io/device_pool.hpp"
#include "io/in_stream.hpp"
#include "io/page_cache.hpp"
#include "io/per_process.hpp"
#include "io/pool.hpp"
#include "penstock/io.hpp"

namespace penstock {
namespace {

using io::Direction;
using io::Order;
using io::Request;

constexpr std::uint64_t kMaxHostPieceBytes = std::uint64_t{1} << 30;

struct Asked {
  void* memory;
  std::uint64_t bytes;
  std::uint64_t offset;
  const IoOptions& options;
  std::span<const FilePart> parts = {};
};

/// Where the memory is.
Device device_of(const Asked& asked) {
  if (asked.options.stream) return asked.options.stream->device();
  Backend* const cuda = find_backend(Device::Type::cuda);
  if (cuda == nullptr || asked.bytes == 0 || cuda->count() == 0) return {};
  const Result<int> index = cuda->index_of(asked.memory);
  return index ? Device{Device::Type::cuda, *index} : Device{};
}

Status check(const io::OpenFile& file, Direction direction, const Asked& asked) {
  const bool reading = direction == Direction::read;
  if (reading ? !file.may_read() : !file.may_write())
    return Error(ErrorCode::permission_denied,
                 file.path + ": opened for " + (reading ? "writing only" : "reading only"));
  const std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  const auto fits = [&](std::uint64_t bytes, std::uint64_t offset) -> Status {
    if (bytes <= most && offset <= most - bytes && file.append_from <= most - bytes - offset) return {};
    return Error(ErrorCode::out_of_range, file.path + ": " + std::to_string(bytes) + " bytes from byte " +
                                              std::to_string(offset) + " are past what a file can hold");
  };
  PENSTOCK_TRY(fits(asked.bytes, asked.offset));
  for (const FilePart& part : asked.parts) PENSTOCK_TRY(fits(part.bytes, part.offset));
  if (asked.memory == nullptr && asked.bytes > 0)
    return Error(ErrorCode::invalid_argument, file.path + ": no memory was given");
  return {};
}

/// The setting, at most 200 ms old: to look it up takes longer than all else that begins a small request.
Result<std::uint64_t> recent_threads() {
  constexpr std::chrono::milliseconds kFresh{200};
  thread_local std::chrono::steady_clock::time_point asked;
  thread_local std::uint64_t answer = 0;
  const auto now = std::chrono::steady_clock::now();
  if (answer == 0 || now - asked > kFresh) {
    PENSTOCK_ASSIGN(answer, default_threads());
    asked = now;
  }
  return answer;
}

/// Pieces so large that a copy takes far longer than it takes to start, and so many that every thread has some.
Status cut(Order& order, const IoOptions& options) {
  order.threads = options.threads;
  if (order.threads == 0) {
    PENSTOCK_ASSIGN(order.threads, order.bytes <= io::kSmallBytes ? recent_threads() : default_threads());
    order.threads = std::max(order.threads, order.choice.engine->min_pieces);
  }
  const bool on_device = order.device.type != Device::Type::cpu;
  const std::uint64_t usual = on_device ? order.choice.engine->device_piece_bytes : io::kMaxStagedBytes;
  order.piece_bytes = options.piece_bytes;
  if (order.piece_bytes == 0)
    order.piece_bytes = std::clamp(order.bytes / (2 * order.threads) / 4096 * 4096, io::kSmallBytes, usual);
  if (!on_device) {
    const bool is_staged = order.choice.offer.offset_align > 1;
    order.piece_bytes = std::min(order.piece_bytes, is_staged ? io::kMaxStagedBytes : kMaxHostPieceBytes);
    return {};
  }
  PENSTOCK_ASSIGN(const std::uint64_t slab, io::slab_bytes_of(order.device.type));
  const std::uint64_t slack = io::slack_bytes_of(order.choice.offer);
  if (slab <= slack)
    return Error(ErrorCode::budget_too_small, "blocks of " + std::to_string(slack) + " bytes do not fit in the " +
                                                  std::to_string(slab) + " bytes of pinned memory for a piece")
        .set_hint("set PENSTOCK_PINNED to more");
  order.piece_bytes = std::min(order.piece_bytes, slab - slack);
  return {};
}

Result<Order> order_of(const std::shared_ptr<io::OpenFile>& file, Direction direction, const Asked& asked) {
  PENSTOCK_TRY(check(*file, direction, asked));
  Order order;
  order.file = file;
  order.direction = direction;
  order.memory = static_cast<std::byte*>(asked.memory);
  order.bytes = asked.bytes;
  order.offset = asked.offset + (direction == Direction::write ? file->append_from : 0);
  order.device = device_of(asked);
  order.keep = asked.options.keep;
  order.stop = asked.options.cancel;
  std::copy_if(asked.parts.begin(), asked.parts.end(), std::back_inserter(order.parts),
               [](const FilePart& part) { return part.bytes > 0; });
  order.after = asked.options.stream ? asked.options.stream->native() : nullptr;
  const FilePart first = order.part_count() > 0 ? order.part(0) : FilePart{};
  PENSTOCK_ASSIGN(order.choice, io::choose(*file, direction, first.offset, first.bytes));
  PENSTOCK_TRY(cut(order, asked.options));
  return order;
}

enum class Wait : std::uint8_t { no, yes };

std::shared_ptr<Request> start(const std::shared_ptr<io::OpenFile>& file, Direction direction, const Asked& asked,
                               Wait wait) {
  if (!file->begin()) return Request::failed(Error(ErrorCode::closed, file->path + ": the file is closed"));
  auto begun = guarded([&]() -> Result<std::shared_ptr<Request>> {
    PENSTOCK_ASSIGN(Order order, order_of(file, direction, asked));
    return std::make_shared<Request>(std::move(order));
  });
  if (!begun) {
    file->end();
    return Request::failed(std::move(begun).error());
  }
  const std::shared_ptr<Request> request = *std::move(begun);
  const Order& made = request->order();
  const bool is_host = made.device.type == Device::Type::cpu;
  if (made.bytes == 0)
    request->conclude();
  else if (is_host && wait == Wait::yes && (request->pieces() == 1 || made.threads == 1))
    io::Pool::run_here(request);
  else if (is_host)
    io::of_this_process<io::Pool>().submit(request);
  else
    io::of_this_process<io::DevicePool>().submit(request);
  return request;
}

std::shared_ptr<Request> start_in_stream(const std::shared_ptr<io::OpenFile>& file, Direction direction, Asked asked,
                                         const Stream& stream) {
  if (stream.device().type == Device::Type::cpu) return start(file, direction, asked, Wait::yes);
  if (!file->begin()) return Request::failed(Error(ErrorCode::closed, file->path + ": the file is closed"));
  Order part;
  auto order = guarded([&]() -> Result<Order> {
    IoOptions options = asked.options;
    options.stream = stream;
    PENSTOCK_ASSIGN(Order all, order_of(file, direction, {asked.memory, asked.bytes, asked.offset, options}));
    part = all;
    part.device = {};
    part.bytes = std::min(all.bytes, io::kStreamPartBytes);
    part.keep.reset();
    PENSTOCK_TRY(cut(part, options));
    all.piece_bytes = all.bytes;
    return all;
  });
  if (!order) {
    file->end();
    return Request::failed(std::move(order).error());
  }
  if (asked.bytes > 0) return io::enqueue(*std::move(order), std::move(part), stream);
  auto request = std::make_shared<Request>(*std::move(order));
  request->conclude();
  return request;
}

}  // namespace

bool IoFuture::done() const { return request_->done(); }
bool IoFuture::wait_for(std::chrono::nanoseconds time) const { return request_->wait_for(time); }
std::uint64_t IoFuture::bytes() const { return request_->order().bytes; }
Status IoFuture::status() const { return request_->status(); }
Result<Report> IoFuture::get() const { return request_->result(); }
void IoFuture::then(std::function<void(const Result<Report>&)> call) const { request_->then(std::move(call)); }

Result<File> File::open(const std::string& path, std::string_view flags, const FileOptions& options) {
  PENSTOCK_ASSIGN(auto file, io::open_path(path, flags, options));
  return File(std::move(file));
}

Result<File> File::from_descriptor(int fd, const FileOptions& options) {
  PENSTOCK_ASSIGN(auto file, io::adopt(fd, options));
  return File(std::move(file));
}

IoFuture File::start_read(void* to, std::uint64_t bytes, std::uint64_t offset, const IoOptions& options) const {
  return IoFuture(start(file_, Direction::read, {to, bytes, offset, options}, Wait::no));
}

IoFuture File::start_read_many(void* to, std::span<const FilePart> parts, const IoOptions& options) const {
  std::uint64_t bytes = 0;
  for (const FilePart& part : parts) bytes = saturating_add(bytes, part.bytes);
  return IoFuture(start(file_, Direction::read, {to, bytes, 0, options, parts}, Wait::no));
}

IoFuture File::start_write(const void* from, std::uint64_t bytes, std::uint64_t offset,
                           const IoOptions& options) const {
  // A write does not write through the pointer; the request is shared with reading.
  return IoFuture(start(file_, Direction::write, {const_cast<void*>(from), bytes, offset, options}, Wait::no));
}

IoFuture File::enqueue_read(void* to, std::uint64_t bytes, std::uint64_t offset, const Stream& stream,
                            const IoOptions& options) const {
  return IoFuture(start_in_stream(file_, Direction::read, {to, bytes, offset, options}, stream));
}

IoFuture File::enqueue_write(const void* from, std::uint64_t bytes, std::uint64_t offset, const Stream& stream,
                             const IoOptions& options) const {
  return IoFuture(start_in_stream(file_, Direction::write, {const_cast<void*>(from), bytes, offset, options}, stream));
}

Result<Report> File::read(void* to, std::uint64_t bytes, std::uint64_t offset, const IoOptions& options) const {
  return start(file_, Direction::read, {to, bytes, offset, options}, Wait::yes)->result();
}

Result<Report> File::write(const void* from, std::uint64_t bytes, std::uint64_t offset,
                           const IoOptions& options) const {
  return start(file_, Direction::write, {const_cast<void*>(from), bytes, offset, options}, Wait::yes)->result();
}

namespace {

/// Does `work` while the file is kept open.
template <class Work>
auto while_open(io::OpenFile& file, const Work& work) -> decltype(work()) {
  if (!file.begin()) return Error(ErrorCode::closed, file.path + ": the file is closed");
  auto result = guarded(work);
  file.end();
  return result;
}

}  // namespace

Status File::flush() const {
  return while_open(*file_, [&]() -> Status {
    if (uninterrupted([&] { return ::fdatasync(file_->fd.get()); }) != 0) return errno_error(errno, file_->path);
    return {};
  });
}

Status File::close() const { return file_->close(); }

bool File::closed() const { return file_->closed(); }

int File::descriptor() const {
  if (!file_->begin()) return -1;
  const int fd = file_->fd.get();
  file_->end();
  return fd;
}

int File::open_flags() const { return closed() ? -1 : file_->flags; }
const std::string& File::path() const { return file_->path; }

Result<std::uint64_t> File::size_bytes() const {
  return while_open(*file_, [&]() -> Result<std::uint64_t> {
    struct stat info{};
    if (uninterrupted([&] { return ::fstat(file_->fd.get(), &info); }) != 0) return errno_error(errno, file_->path);
    return static_cast<std::uint64_t>(info.st_size);
  });
}

std::vector<EngineAnswer> File::engines() const {
  std::vector<EngineAnswer> answers;
  const bool is_open = file_->begin();
  for (const io::Engine& engine : io::engines()) {
    io::Offer offer{false, "the file is closed"};
    if (is_open) offer = engine.offer(*file_);
    const std::string unasked = offer.serves ? engine.unasked(*file_) : std::string();
    answers.push_back({std::string(engine.name), offer.serves, unasked.empty() ? std::string(offer.why) : unasked});
  }
  if (is_open) file_->end();
  return answers;
}

Result<PageCount> File::page_cache(std::uint64_t offset, std::uint64_t bytes) const {
  return while_open(*file_, [&] { return io::count_pages(*file_, offset, bytes); });
}

Status File::drop_page_cache(std::uint64_t offset, std::uint64_t bytes) const {
  return while_open(*file_, [&] { return io::drop_pages(*file_, offset, bytes); });
}

void wait_for_io() {
  io::wait_for_streams();
  io::of_this_process<io::Pool>().wait_idle();
  io::of_this_process<io::DevicePool>().wait_idle();
}

}  // namespace penstock
