#include "cli/measure/cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace penstock::cli {
namespace {

namespace fs = std::filesystem;

Error failed(const std::string& path, int number) {
  return Error(ErrorCode::io_error, fmt::format("{}: {} (errno {})", path, std::strerror(number), number))
      .set_errno(number);
}

/// Runs `use(fd, size)` on an open file.
template <class Use>
Status with_file(const std::string& path, const Use& use) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info = {};
  if (fd < 0 || fstat(fd, &info) != 0) {
    const int why = errno;
    if (fd >= 0) close(fd);
    return failed(path, why);
  }
  const int why = use(fd, static_cast<std::size_t>(info.st_size));
  close(fd);
  if (why != 0) return failed(path, why);
  return {};
}

}  // namespace

Result<std::vector<std::string>> files_below(const std::string& path) {
  std::vector<std::string> files;
  std::error_code error;
  if (fs::is_regular_file(path, error)) return std::vector<std::string>{path};
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file(error)) files.push_back(it->path().string());
  if (error) return failed(path, error.value());
  std::ranges::sort(files);
  return files;
}

Result<CacheState> cache_state(const std::vector<std::string>& files) {
  CacheState state;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
  std::vector<unsigned char> pages;
  for (const std::string& file : files) {
    PENSTOCK_TRY(with_file(file, [&](int fd, std::size_t size) {
      if (size == 0) return 0;
      void* map = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
      if (map == MAP_FAILED) return errno;
      pages.resize((size + page - 1) / page);
      const int why = mincore(map, size, pages.data()) == 0 ? 0 : errno;
      munmap(map, size);
      if (why != 0) return why;
      const auto held = static_cast<std::size_t>(
          std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; }));
      state.bytes += size;
      state.cached_bytes += std::min(held * page, size);
      return 0;
    }));
  }
  return state;
}

Status drop_from_cache(const std::vector<std::string>& files) {
  for (const std::string& file : files)
    PENSTOCK_TRY(with_file(file, [](int fd, std::size_t) {
      if (fdatasync(fd) != 0) return errno;  // pages not yet written cannot be dropped
      return posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    }));
  return {};
}

}  // namespace penstock::cli
