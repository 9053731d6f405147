// One reconstruction at a time in a folder.
#pragma once
#include <string>

#include "io/posix.hpp"

namespace penstock::oct {

/// Held until it ends, also where its process is killed: two runs would take each other's half-written images for
/// whole ones.
class RunLock {
 public:
  /// Makes the folder if absent.  Where the file system has no locks, nothing is held.  Errors: already_exists (another
  /// process has it), those of making the folder and the lock's file, with the path.
  static Result<RunLock> take(const std::string& folder);
  RunLock(RunLock&&) noexcept = default;
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

 private:
  RunLock(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  FileDescriptor file_;
};

}  // namespace penstock::oct
