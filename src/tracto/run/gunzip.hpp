// A gzip file read in order, in bounded memory.
#pragma once
#include <cstdio>
#include <memory>
#include <string>

#include "penstock/bytes.hpp"

namespace penstock::tracto {

class GunzipFile {
 public:
  /// Errors: not_found, permission_denied, io_error.
  static Result<std::unique_ptr<GunzipFile>> open(const std::string& path);
  GunzipFile(const GunzipFile&) = delete;
  GunzipFile& operator=(const GunzipFile&) = delete;
  ~GunzipFile();
  /// The next bytes.  Errors: corrupt_data (cut off, not gzip, a wrong checksum), io_error.
  Status read(ByteSpan into);
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }

 private:
  struct State;
  explicit GunzipFile(std::string path);
  std::string path_;
  std::uint64_t file_bytes_ = 0, given_bytes_ = 0;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::tracto
