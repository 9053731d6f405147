// A file that appears whole or not at all.
#pragma once
#include <string>

#include "penstock/error.hpp"

namespace penstock::cli {

/// Written under a temporary name beside its place, NAME.penstock-PID-N.part, and locked as long as it has that name;
/// `commit` has it on the disk and gives it its name, the destructor removes what was not committed.  What killed ones
/// left for the same place is removed.
class OutFile {
 public:
  /// Errors: already_exists (unless `replace`), permission_denied, not_found (the folder), io_error.
  static Result<OutFile> create(const std::string& path, bool replace);
  OutFile(OutFile&& other) noexcept;
  OutFile& operator=(OutFile&&) = delete;
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;
  ~OutFile();
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] Status commit();

 private:
  OutFile(std::string path, std::string temporary, int fd, bool replace)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd), replace_(replace) {}
  std::string path_, temporary_;
  int fd_ = -1;
  bool replace_ = false;
};

}  // namespace penstock::cli
