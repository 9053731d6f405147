// A file that is open, and what is known of it.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "io/posix.hpp"
#include "penstock/io.hpp"

namespace penstock::io {

/// What O_DIRECT needs of a file, found out when it is first asked for.
struct DirectFacts {
  FileDescriptor fd;               ///< of the same file, opened with O_DIRECT; none: not to be had
  std::uint64_t offset_align = 0;  ///< of offsets and lengths in the file
  std::uint64_t memory_align = 0;  ///< of addresses
  std::string why;                 ///< how that is known, or why it is not to be had
};

struct OpenFile {
  std::string path;
  FileDescriptor fd;
  int flags = 0;
  FileOptions options;
  std::uint64_t append_from = 0;  ///< writes count from here
  std::string network;            ///< the kind of file system where it is one over a network

  [[nodiscard]] bool may_read() const { return (flags & 3) != 1; }   // O_ACCMODE, O_WRONLY
  [[nodiscard]] bool may_write() const { return (flags & 3) != 0; }  // O_RDONLY
  /// Looks once, at the first call.
  const DirectFacts& direct();
  /// The system refused O_DIRECT after all: from now on it is not offered.
  void refuse_direct(std::string why);
  [[nodiscard]] bool direct_refused() const { return refused.load(std::memory_order_acquire); }
  /// Why; empty: it did not.
  [[nodiscard]] std::string_view refusal() const { return direct_refused() ? refused_why : std::string_view(); }

  /// Counts a request; false: closed.  Every `begin` that gave true has its `end`.
  bool begin();
  /// Counts a part of a request that is counted; also while the file is being closed.
  void add();
  void end();
  Status close();
  [[nodiscard]] bool closed() const { return (requests.load(std::memory_order_acquire) & kClosed) != 0; }

 private:
  // No lock: thousands of small requests begin in one thread and end in others.
  static constexpr std::uint64_t kClosed = 1, kOne = 2, kProcess = std::uint64_t{1} << 48;
  /// What is counted, without the requests of a process that this one was forked from: they never end here.
  static std::uint64_t here(std::uint64_t counted);
  std::atomic<std::uint64_t> requests{0};  ///< kOne for each that is counted, kClosed, and kProcess for each fork
  std::mutex mutex;                        ///< of who closes it and waits, and of the reason below
  std::condition_variable idle;
  std::once_flag looked;
  DirectFacts facts;
  std::atomic<bool> refused{false};
  std::string refused_why;
};

/// Errors: those of File::open and File::from_descriptor.
Result<std::shared_ptr<OpenFile>> open_path(const std::string& path, std::string_view flags,
                                            const FileOptions& options);
Result<std::shared_ptr<OpenFile>> adopt(int fd, const FileOptions& options);

}  // namespace penstock::io
