#include "store/file/swap.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "store/file/to_disk.hpp"
#include "store/posix.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool same_file_system(const fs::path& a, const fs::path& b) {
  struct stat first{}, second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev;
}

bool is_inside(const fs::path& path, const fs::path& directory) {
  return std::mismatch(directory.begin(), directory.end(), path.begin(), path.end()).first == directory.end();
}

}  // namespace

std::optional<DirectorySwap> DirectorySwap::of(const std::string& directory) {
  std::error_code error;
  const fs::path whole = fs::canonical(directory, error);
  if (error || !fs::is_directory(whole, error) || !whole.has_relative_path()) return std::nullopt;
  const fs::path parent = whole.parent_path();
  if (::access(parent.c_str(), W_OK | X_OK) != 0 || !same_file_system(whole, parent)) return std::nullopt;
  const fs::path here = fs::current_path(error);
  if (error || is_inside(here, whole)) return std::nullopt;
  DirectorySwap swap;
  swap.directory_ = whole.string();
  swap.beside_ = (parent / (".penstock-new-" + whole.filename().string())).string();
  swap.old_ = swap.beside_;
  return swap;
}

Status DirectorySwap::exchange(Durable durable) {
  PENSTOCK_TRY(rename_both());
  if (durable == Durable::none) return {};
  return force_directory(fs::path(directory_).parent_path().string());
}

Status DirectorySwap::rename_both() {
  if (::renameat2(AT_FDCWD, beside_.c_str(), AT_FDCWD, directory_.c_str(), RENAME_EXCHANGE) == 0) return {};
  if (errno != EINVAL && errno != ENOSYS) return errno_error(errno, directory_);
  const fs::path place(directory_);
  old_ = (place.parent_path() / (".penstock-old-" + place.filename().string())).string();
  PENSTOCK_TRY(remove_old(Durable::none));  // of an earlier one
  if (::rename(directory_.c_str(), old_.c_str()) != 0) return errno_error(errno, directory_);
  if (::rename(beside_.c_str(), directory_.c_str()) == 0) return {};
  const int why = errno;
  (void)::rename(old_.c_str(), directory_.c_str());
  return errno_error(why, directory_);
}

Status DirectorySwap::remove_old(Durable durable) const {
  std::error_code error;
  fs::remove_all(old_, error);
  if (error) return errno_error(error.value(), old_);
  if (durable == Durable::none) return {};
  return force_directory(fs::path(directory_).parent_path().string());
}

}  // namespace penstock
