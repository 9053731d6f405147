// Files: bytes between a file and memory of the host or of a device, with all cores, and by the way that suits the
// file.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/api.hpp"
#include "penstock/control.hpp"
#include "penstock/device.hpp"
#include "penstock/error.hpp"
#include "penstock/report.hpp"

namespace penstock {

/// Which way bytes take.  `automatic`: `direct` where the file offers it and it is worth it, else `buffered`.
enum class IoEngine : std::uint8_t {
  automatic,
  buffered,  ///< through the page cache
  direct,    ///< O_DIRECT: past the page cache
};

/// How a file is opened.
struct FileOptions {
  unsigned mode = 0644;                   ///< permissions of a new file
  IoEngine reads = IoEngine::automatic;   ///< an engine by name also where `automatic` would not take it
  IoEngine writes = IoEngine::automatic;  ///< the same
};

/// A part of a file, and where it lies in the memory of a request.
struct FilePart {
  std::uint64_t offset = 0;  ///< byte of the file
  std::uint64_t at = 0;      ///< byte of the memory
  std::uint64_t bytes = 0;
};

/// How one request may use the machine.  Zero means the default.
struct IoOptions {
  std::uint64_t threads = 0;      ///< pieces under way at a time; default: the setting `threads`
  std::uint64_t piece_bytes = 0;  ///< a request is cut at its multiples in the file; default 4 MiB
  /// Work on a device's memory comes after what is in this stream now; what is put into it right after may come before,
  /// too.  nullopt: in the device's default stream.
  std::optional<Stream> stream;
  /// Keeps the memory alive until the request has ended.
  std::shared_ptr<const void> keep;
  CancelToken cancel;
};

namespace io {
class Request;
struct OpenFile;
}  // namespace io

/// A request that has been started.  Copies refer to the same one.  It holds the file and `IoOptions::keep`; to drop it
/// is to let it run.
class PENSTOCK_API IoFuture {
 public:
  IoFuture() = default;
  explicit IoFuture(std::shared_ptr<io::Request> request) : request_(std::move(request)) {}
  [[nodiscard]] bool done() const;
  /// Waits for the end; false: `time` passed before.
  [[nodiscard]] bool wait_for(std::chrono::nanoseconds time) const;
  /// Waits for the end, which comes when no thread uses the memory any more.  Can be asked again.
  /// Errors: those of File::read and File::write; internal (this process was forked meanwhile: the parent has the
  /// request's threads).
  [[nodiscard]] Result<Report> get() const;
  /// As get, for whoever needs no report.
  [[nodiscard]] Status status() const;
  /// That were asked for.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Calls `then` once the request has ended: at once if it has, else from a thread of the library, which it must not
  /// keep for long.  It must not throw.
  void then(std::function<void(const Result<Report>&)> call) const;

 private:
  std::shared_ptr<io::Request> request_;
};

/// What one engine says of a file.
struct EngineAnswer {
  std::string engine;
  bool serves = false;
  std::string why;
};

/// Pages of a part of a file.
struct PageCount {
  std::uint64_t cached = 0;
  std::uint64_t all = 0;
};

/// An open file.  Copies refer to the same one.  Thread-safe.
///
/// All or an error: a request that does not move every byte fails, also where the file ends before.  Where one piece of
/// it fails, the others have ended before the error is seen.  What a failed request leaves in the memory, or in its
/// part of the file, is unspecified.
class PENSTOCK_API File {
 public:
  /// `flags` as of fopen: "r", "r+", "w" (made, emptied), "w+", "a" (made, not emptied: a write's offset counts from
  /// the end that the file had when it was opened), "a+"; a "b" among them says nothing. Errors: invalid_argument
  /// (flags), not_found, permission_denied, is_directory, io_error.
  static Result<File> open(const std::string& path, std::string_view flags = "r", const FileOptions& options = {});
  /// The file behind a descriptor that stays the caller's; how it was opened says what it may do.
  /// Errors: invalid_argument (no descriptor, or none of a regular file or block device).
  static Result<File> from_descriptor(int fd, const FileOptions& options = {});

  /// Fills `bytes` of memory from byte `offset` of the file on; memory of a device is found out by its address.
  /// The report names the engine and why it was taken.
  /// Errors: closed, permission_denied (opened for writing only), io_error (also: the file ends before), cancelled,
  /// out_of_memory, device_error.
  [[nodiscard]] Result<Report> read(void* to, std::uint64_t bytes, std::uint64_t offset,
                                    const IoOptions& options = {}) const;
  /// Writes `bytes` of memory from byte `offset` of the file on.  Not forced to the disk: see flush.
  /// Errors: as of read, and no_space.
  [[nodiscard]] Result<Report> write(const void* from, std::uint64_t bytes, std::uint64_t offset,
                                     const IoOptions& options = {}) const;
  /// The same, started: the memory is in use until the future is done.  Thousands may be under way.
  [[nodiscard]] IoFuture start_read(void* to, std::uint64_t bytes, std::uint64_t offset,
                                    const IoOptions& options = {}) const;
  [[nodiscard]] IoFuture start_write(const void* from, std::uint64_t bytes, std::uint64_t offset,
                                     const IoOptions& options = {}) const;

  /// Reads many parts of the file in one request: far quicker than a request for each where they are small.  What parts
  /// that overlap in `to` leave there is unspecified.
  [[nodiscard]] IoFuture start_read_many(void* to, std::span<const FilePart> parts,
                                         const IoOptions& options = {}) const;

  /// The same in the order of a device's stream: the request begins when the work that is in the stream now is done,
  /// and later work of the stream waits for it.  These calls do not, but for pinned memory when all of it is in use.
  /// `IoOptions::stream` is not looked at.  Where the request fails the future says so, and the stream goes on.
  [[nodiscard]] IoFuture enqueue_read(void* to, std::uint64_t bytes, std::uint64_t offset, const Stream& stream,
                                      const IoOptions& options = {}) const;
  [[nodiscard]] IoFuture enqueue_write(const void* from, std::uint64_t bytes, std::uint64_t offset,
                                       const Stream& stream, const IoOptions& options = {}) const;

  /// Forces what was written to the disk.
  [[nodiscard]] Status flush() const;
  /// Waits for requests under way, then closes; a second call does nothing.  Errors: what the system says on closing.
  [[nodiscard]] Status close() const;
  [[nodiscard]] bool closed() const;
  /// Descriptor of the file; -1 once it is closed.
  [[nodiscard]] int descriptor() const;
  /// As the system has them (O_RDONLY, ...); -1 once it is closed.
  [[nodiscard]] int open_flags() const;
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] Result<std::uint64_t> size_bytes() const;

  /// What every engine says of this file.
  [[nodiscard]] std::vector<EngineAnswer> engines() const;
  /// Pages of `bytes` (0: all the rest) from `offset` on, and how many of them are in the page cache.
  [[nodiscard]] Result<PageCount> page_cache(std::uint64_t offset = 0, std::uint64_t bytes = 0) const;
  /// Forces those pages to the disk and asks the system to drop them.
  [[nodiscard]] Status drop_page_cache(std::uint64_t offset = 0, std::uint64_t bytes = 0) const;

 private:
  explicit File(std::shared_ptr<io::OpenFile> file) : file_(std::move(file)) {}
  std::shared_ptr<io::OpenFile> file_;
};

/// Waits until no request of the process is under way.  A program that ends meanwhile loses what it had not written.
PENSTOCK_API void wait_for_io();

}  // namespace penstock
